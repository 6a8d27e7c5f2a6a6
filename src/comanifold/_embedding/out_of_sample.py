"""New rows and columns, placed in the embeddings of a fitted matrix."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._fit.notices import warn_of_unobserved
from .._validation import (
    read_floats,
    refuse_infinite,
    restrict_to_observed,
    row_names,
    sparse_to_nan,
)
from .embedded import as_read_by

Array = NDArray[np.float64]

# Rows of the fitted matrix that a new row is compared with, to fill it in.
_NEAREST = 5


def _places_new_points(self: Any) -> bool:
    # What was fitted counts, whatever the parameter has become since.
    embedding = getattr(self, "_maps", {}).get("row", self.embedding)
    if isinstance(embedding, str) or hasattr(embedding, "transform"):
        return True
    raise AttributeError(f"{type(embedding).__name__} has no transform for new points")


class PlacingMixin(TransformerMixin):
    """`transform` and `transform_columns`, on what `CoManifold.fit` leaves."""

    def transform(self, X: ArrayLike) -> Array:
        """Place new rows in the embedding of the rows.

        It is NaN for a row with nothing observed, and for one that is more bandwidths away from all
        others than can be squared.

        Parameters
        ----------
        X : array-like of shape (n_new, n_columns)
            NaN for missing entries. A row of the fitted matrix, gaps and all, is placed exactly
            where it was. Of rows that are equal in the fitted matrix, and may have different
            places where their neighbours were tied, it is the one with the same label in a
            DataFrame, else the first one for its first occurrence in X, the second one for its
            second, and so on: the fitted matrix itself gets `row_embedding_`.
        """
        check_is_fitted(self)
        labels = row_names(X)
        new = np.asarray(self._read(X, reset=False), dtype=float)
        refuse_infinite(new, "X")
        return self._place(new[:, self._columns], "row", labels)

    @available_if(_places_new_points)
    def transform_columns(self, X: ArrayLike) -> Array:
        """Place new columns in the embedding of the columns; NaN where nothing is observed.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_new)
            New columns for the rows of the fitted matrix. NaN for missing entries. A column of
            the fitted matrix is placed exactly where it was, as in `transform`.
        """
        check_is_fitted(self)
        labels = np.asarray(X.columns) if hasattr(X, "columns") else None
        names = row_names(X)
        known = self.row_names_in_
        if names is not None and known is not None and list(names) != list(known):
            raise ValueError(
                "the labels of the rows of X differ from those of the fit: put its rows into the "
                "order of row_names_in_"
            )
        X = read_floats(sparse_to_nan(X, self.absent), "X")
        if X.ndim != 2 or X.shape[0] != len(self._rows) or not X.shape[1]:
            raise ValueError(
                f"X must have the {len(self._rows)} rows of the fitted matrix and some columns, "
                f"got shape {X.shape}"
            )
        refuse_infinite(X, "X")
        return self._place(X.T[:, self._rows], "column", labels)

    def _place(self, new: Array, mode: str, labels: NDArray[Any] | None) -> Array:
        """Coordinates of rows, or of columns that are the rows of `new`."""
        seen = ~np.isnan(new).all(axis=1)
        warn_of_unobserved(f"new {mode}", np.flatnonzero(~seen))
        coordinates = getattr(self, f"{mode}_embedding_")
        placed = np.full((len(new), coordinates.shape[1]), np.nan)
        X, filled, known, names = self._X, self._filled, self._rows, self.row_names_in_
        if mode == "column":
            X, filled, known = X.T, filled.T, self._columns
            names = getattr(self, "feature_names_in_", None)
        fitted = X[:, self._columns if mode == "row" else self._rows]
        same = find_equal_rows(new, fitted, labels, names)
        is_fitted = seen & (same >= 0)
        placed[is_fitted] = coordinates[same[is_fitted]]
        others = np.flatnonzero(seen & (same < 0))
        if others.size:
            distances = getattr(self, f"{mode}_distances_")
            to_new = stored_distances_to_new if sparse.issparse(distances) else distances_to_new
            apart = to_new(
                new[others],
                self._scale * filled + self._mean,
                restrict_to_observed(distances, known),
                self._total_weight,
            )
            embedding = self._maps[mode]
            placed[others] = embedding.transform(as_read_by(embedding, apart))
        return placed


# Not in the class, where scikit-learn would wrap it into a method that is always there.
PlacingMixin.transform = available_if(_places_new_points)(PlacingMixin.transform)


def find_equal_rows(
    new: Array, fitted: Array, labels: NDArray[Any] | None, names: NDArray[Any] | None
) -> NDArray[np.intp]:
    """For each row of `new` an equal row of `fitted`, gaps and all, or -1.

    Among equal rows of `fitted`, it is the one whose name is the label of the new row; without
    such, its first occurrence gets the first, the second the second, and so on in a circle.
    """
    equal: dict[bytes, list[int]] = {}
    contents = _contents(fitted)
    for i, content in enumerate(contents):
        equal.setdefault(content, []).append(i)
    named: dict[Any, int | None] = {}
    for i, name in enumerate([] if labels is None or names is None else names):
        named[name] = None if name in named else i  # a name that two rows have says nothing
    n_seen = dict.fromkeys(equal, 0)
    found = np.full(len(new), -1)
    for i, content in enumerate(_contents(new)):
        candidates = equal.get(content)
        if candidates is None:
            continue
        of_label = named.get(labels[i]) if named else None
        if of_label is not None and contents[of_label] == content:
            found[i] = of_label
        else:
            found[i] = candidates[n_seen[content] % len(candidates)]
            n_seen[content] += 1
    return found


def _contents(X: Array) -> list[bytes]:
    """The rows as bytes that are equal where the rows are, whichever NaN or zero is in them."""
    X = np.where(np.isnan(X), np.nan, X + 0.0)
    return [row.tobytes() for row in X]


def distances_to_new(new: Array, filled: Array, distances: Array, total_weight: float) -> Array:
    """Distances of the rows of `new` to those of the fit, which are `filled` in.

    The surface is not solved again for new rows. A new row is compared with the filled-in rows
    on what it has observed; its gaps take the mean of its nearest ones. Its distance to row j
    is then that of the filled-in rows, times the factor by which the multi-scale distances of
    those nearest rows to j exceed theirs.
    """
    result = np.empty((len(new), len(filled)))
    centre = filled.mean(axis=0)
    squares = ((filled - centre) ** 2).sum(axis=1)
    between = squares[:, None] + squares - 2.0 * (filled - centre) @ (filled - centre).T
    plain = total_weight * np.sqrt(np.maximum(between, 0.0))
    factor = np.divide(distances, plain, out=np.ones_like(plain), where=plain > 1e-7 * plain.max())
    for i, row in enumerate(new):
        nearest, weights, completed = _complete(row, filled)
        straight = total_weight * np.linalg.norm(filled - completed, axis=1)
        result[i] = straight * (weights @ factor[nearest])
    return result


def stored_distances_to_new(new: Array, filled: Array, distances: Any, total_weight: float) -> Any:
    """The same for sparse distances: a new row has one to what its nearest rows have one to."""
    rows = [_stored_row(row, filled, distances, total_weight) for row in new]
    columns, data = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    starts = np.cumsum([0, *(len(places) for places, _ in rows)])
    return sparse.csr_array((data, columns, starts), shape=(len(new), len(filled)))


def _stored_row(
    row: Array, filled: Array, distances: Any, total_weight: float
) -> tuple[NDArray[np.intp], Array]:
    """Where one new row has distances, and these."""
    nearest, weights, completed = _complete(row, filled)
    factors, sums = np.zeros(len(filled)), np.zeros(len(filled))
    for j, weight in zip(nearest, weights, strict=True):
        places, apart = _entries(distances, j)
        plain = total_weight * np.linalg.norm(filled[places] - filled[j], axis=1)
        differ = plain > 1e-7 * plain.max()
        factors[places] += weight * np.divide(apart, plain, out=np.ones_like(apart), where=differ)
        sums[places] += weight
    places = np.flatnonzero(sums)
    straight = total_weight * np.linalg.norm(filled[places] - completed, axis=1)
    return places, straight * factors[places] / sums[places]


def _entries(A: Any, i: int) -> tuple[NDArray[np.intp], Array]:
    own = slice(A.indptr[i], A.indptr[i + 1])
    return A.indices[own].astype(np.intp), A.data[own]


def _complete(row: Array, filled: Array) -> tuple[NDArray[np.intp], Array, Array]:
    """The nearest filled-in rows of a new one, their weights, and it with gaps filled in."""
    observed = ~np.isnan(row)
    gaps = ((filled[:, observed] - row[observed]) ** 2).mean(axis=1)
    nearest = np.argsort(gaps, kind="stable")[:_NEAREST]
    weights = _falling(gaps[nearest])
    return nearest, weights, np.where(observed, row, weights @ filled[nearest])


def _falling(squares: Array) -> Array:
    """Weights that fall with the square of the distance, all on those at distance zero."""
    weights = (squares == 0.0).astype(float) if squares[0] == 0.0 else squares[0] / squares
    return weights / weights.sum()
