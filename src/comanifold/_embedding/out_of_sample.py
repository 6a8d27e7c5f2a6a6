"""Distances from new rows to the rows of a fitted matrix, without solving the surface again."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# Rows of the fitted matrix from which a new row is filled in.
_N_NEAREST = 5


@dataclass(frozen=True)
class ModeVariances:
    """What missing entries add to squared distances.

    Attributes
    ----------
    of_points : ndarray of shape (n_rows,)
        Of each fitted row.
    of_entries : ndarray of shape (n_columns,)
        Of a missing entry of a new row, by its column.
    """

    of_points: Array
    of_entries: Array


def distances_to_new(
    new: Array, filled: Array, distances: Any, total_weight: float, variances: ModeVariances
) -> Any:
    """Return the distances of new rows to the fitted ones, dense or sparse as `distances` are.

    A new row is compared with the filled-in rows on its observed entries; its missing entries
    take the weighted mean of the nearest rows. Its distance to row j is the Euclidean distance of
    the filled-in rows, times the factor by which the multi-scale distances of the nearest rows to
    j exceed their Euclidean ones; the variances of missing entries, beyond those of the row with
    the least, are added to its square. With sparse distances, a new row has distances to those rows
    to which its nearest rows have one.

    Parameters
    ----------
    new : ndarray of shape (n_new, n_columns)
        NaN for missing entries; every row has an observed one.
    filled : ndarray of shape (n_rows, n_columns)
        The filled-in matrix of the fit, in the units of `new`.
    distances : ndarray or sparse array of shape (n_rows, n_rows)
        The multi-scale distances of the fit.
    total_weight : float
        The sum of the weights of all scales.
    variances : ModeVariances
    """
    rows = [_distances_of_row(row, filled, distances, total_weight, variances) for row in new]
    if not sparse.issparse(distances):
        return np.array([apart for _, apart in rows])
    columns, data = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    starts = np.cumsum([0, *(len(places) for places, _ in rows)])
    return sparse.csr_array((data, columns, starts), shape=(len(new), len(filled)))


def _distances_of_row(
    row: Array, filled: Array, distances: Any, total_weight: float, variances: ModeVariances
) -> tuple[Indices, Array]:
    """Return the fitted rows to which a new row has a distance, and the distances."""
    nearest, weights, completed = _complete(row, filled)
    of_points = variances.of_points - variances.of_points.min()
    factors, sums = np.zeros(len(filled)), np.zeros(len(filled))
    for j, weight in zip(nearest, weights, strict=True):
        places, apart = stored_distances(distances, j)
        added = of_points[places] + of_points[j]
        apart = np.sqrt(np.maximum(apart**2 - added, 0.0))
        plain = total_weight * np.linalg.norm(filled[places] - filled[j], axis=1)
        differ = plain > 1e-7 * plain.max()
        factors[places] += weight * np.divide(apart, plain, out=np.ones_like(apart), where=differ)
        sums[places] += weight
    places = np.flatnonzero(sums)
    straight = total_weight * np.linalg.norm(filled[places] - completed, axis=1)
    apart = straight * factors[places] / sums[places]
    own = float(variances.of_entries[np.isnan(row)].sum()) - variances.of_points.min()
    return places, np.sqrt(apart**2 + max(own, 0.0) + of_points[places])


def stored_distances(distances: Any, i: int) -> tuple[Indices, Array]:
    """Return the points to which point i has a distance, and the distances."""
    if not sparse.issparse(distances):
        return np.arange(distances.shape[1]), distances[i]
    own = slice(distances.indptr[i], distances.indptr[i + 1])
    return distances.indices[own].astype(np.intp), distances.data[own]


def _complete(row: Array, filled: Array) -> tuple[Indices, Array, Array]:
    """Return the nearest filled-in rows of a new row, their weights, and the row filled in."""
    observed = ~np.isnan(row)
    squares = ((filled[:, observed] - row[observed]) ** 2).mean(axis=1)
    nearest = np.argsort(squares, kind="stable")[:_N_NEAREST]
    weights = _inverse_square_weights(squares[nearest])
    return nearest, weights, np.where(observed, row, weights @ filled[nearest])


def complete_rows(new: Array, filled: Array) -> tuple[Indices, Array]:
    """Return the nearest filled-in rows of each new row, and the new rows filled in from them."""
    found = [_complete(row, filled) for row in new]
    return np.array([nearest for nearest, _, _ in found]), np.array([row for _, _, row in found])


def _inverse_square_weights(squares: Array) -> Array:
    """Return weights that fall with the squared distance; all on those at distance zero."""
    weights = (squares == 0.0).astype(float) if squares[0] == 0.0 else squares[0] / squares
    return weights / weights.sum()


def find_equal_rows(
    new: Array, fitted: Array, labels: NDArray[Any] | None, names: NDArray[Any] | None
) -> Indices:
    """Return for each row of `new` an equal row of `fitted`, missing entries included, or -1.

    Among equal rows of `fitted`, it is the one whose name is the label of the new row; without
    such, the first occurrence in `new` gets the first, the second the second, and so on
    cyclically.
    """
    equal: dict[bytes, list[int]] = {}
    contents = _row_bytes(fitted)
    for i, content in enumerate(contents):
        equal.setdefault(content, []).append(i)
    named: dict[Any, int | None] = {}
    for i, name in enumerate([] if labels is None or names is None else names):
        named[name] = None if name in named else i  # a name of two rows identifies neither
    n_seen = dict.fromkeys(equal, 0)
    found = np.full(len(new), -1)
    for i, content in enumerate(_row_bytes(new)):
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


def _row_bytes(X: Array) -> list[bytes]:
    """Return each row as bytes, equal for equal rows whichever NaN or zero they hold."""
    X = np.where(np.isnan(X), np.nan, X + 0.0)
    return [row.tobytes() for row in X]
