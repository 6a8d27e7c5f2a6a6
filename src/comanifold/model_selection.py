"""Observed entries held out of a matrix, and how well they are predicted."""

import numbers
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ._validation import check_count, check_matrix

if TYPE_CHECKING:
    from .co_manifold import CoManifold

__all__ = ["HeldOut", "HeldOutErrors", "compare_held_out", "held_out_errors", "hold_out"]

Array = NDArray[np.float64]

# One entry in so many is held out, of large matrices one in more: at most so many in a fold.
_HOLD_OUT_EVERY = 10
_LARGEST_FOLD = 20_000

# There are so many folds that they have this number of entries together, and at most so many:
# which of each ten entries, in the order of their values, the folds are.
_ENOUGH_HELD_OUT = 2_000
_PLACES_OF_FOLDS = (5, 2, 8, 0, 3)

# Rows and columns keep at least so many entries.
_MIN_KEPT = 2

# Columns that are multiplied at the same time, where all at once would need too much memory.
_COLUMNS_AT_ONCE = 256

# Larger matrices are not compared with these methods, so that the comparison takes a sixth to two
# fifths of the time of the fit. For m x n entries a fit with learned weights takes 2e-5 m n seconds
# or more, KNN 5e-9 m^2 n, and SoftImpute 5e-9 m n min(m, n).
_MAX_ROWS_FOR_KNN = 1_000
_MAX_SIDE_FOR_SOFT_IMPUTE = 500


class HeldOut:
    """Observed entries of a matrix, held out to measure prediction errors.

    By default a tenth of them, at even steps in the order of their values, from both ends: which
    ones does not depend on the order of rows and columns, nor on the units (but for entries that
    are equal and in equal rows and columns). There are none if hardly any can be spared, and none
    from a complete matrix unless asked for.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
    mask : ndarray of bool of shape (n_rows, n_columns), optional
        Which entries to hold out instead.
    in_parts : bool, default=False
        Form no square matrix of the rows or the columns on the way.
    from_complete : bool, default=False
        Hold entries out of a complete matrix, too.

    Attributes
    ----------
    rows, columns : ndarray of int
        Indices of the held-out entries.
    values : ndarray of float
    shape : tuple of int
        That of the matrix.
    """

    def __init__(
        self,
        X: Array,
        mask: NDArray[np.bool_] | None = None,
        *,
        in_parts: bool = False,
        from_complete: bool = False,
    ):
        if mask is None:
            self.rows, self.columns = _evenly_spread(X, in_parts, from_complete)
        else:
            self.rows, self.columns = np.nonzero(mask & ~np.isnan(X))
        self.values = X[self.rows, self.columns]
        self.shape = X.shape
        self._X = X

    def rest(self) -> Array:
        """Return a copy of the matrix without the held-out entries; it is not kept."""
        rest = self._X.copy()
        rest[self.rows, self.columns] = np.nan
        return rest

    def relative_error(self, predicted: Array) -> float:
        """Return the root-mean-square error of predictions, in standard deviations of the entries.

        NaN if all held-out entries are equal.
        """
        spread = float(self.values.std())
        error = float(np.sqrt(np.mean((predicted - self.values) ** 2)))
        return error / spread if spread > 0.0 else np.nan


def held_out_folds(X: Array, *, in_parts: bool = False) -> list[HeldOut]:
    """Return disjoint sets of entries held out of X; none of a complete matrix.

    Each is a tenth of the observed entries, less of large matrices. Small matrices have several
    folds, large ones a single one. As for `HeldOut`, they do not depend on the order of rows and
    columns; rows and columns keep at least one entry in each.
    """
    rows, columns = np.nonzero(~np.isnan(X))
    if not 0 < len(rows) < X.size:
        return []
    every = _hold_out_every(len(rows))
    n_folds = expected_folds(len(rows))
    rank, order = _ranks(X, rows, columns, in_parts)
    folds = []
    for place in _PLACES_OF_FOLDS[:n_folds]:
        candidates = order[rank % every == place]
        chosen = _spare(X.shape, rows, columns, candidates, n_kept=1)
        mask = np.zeros(X.shape, dtype=bool)
        mask[rows[chosen], columns[chosen]] = True
        folds.append(HeldOut(X, mask))
    return [fold for fold in folds if fold.values.size]


def expected_folds(n_observed: int) -> int:
    """Return the number of folds for a number of observed entries."""
    n_folds = round(_ENOUGH_HELD_OUT * _hold_out_every(n_observed) / max(n_observed, 1))
    return min(max(n_folds, 1), len(_PLACES_OF_FOLDS))


def _hold_out_every(n_observed: int) -> int:
    return max(_HOLD_OUT_EVERY, -(-n_observed // _LARGEST_FOLD))


def _evenly_spread(
    X: Array, in_parts: bool, from_complete: bool
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return rows and columns of the entries that `HeldOut` holds out by default."""
    rows, columns = np.nonzero(~np.isnan(X))
    if len(rows) == X.size and not from_complete:
        rows, columns = rows[:0], columns[:0]
    rank, order = _ranks(X, rows, columns, in_parts)
    candidates = order[rank % _HOLD_OUT_EVERY == _HOLD_OUT_EVERY // 2]
    chosen = _spare(X.shape, rows, columns, candidates, n_kept=_MIN_KEPT)
    if len(chosen) < len(candidates) / 3:  # too few to judge by
        chosen = chosen[:0]
    return rows[chosen], columns[chosen]


def _ranks(
    X: Array, rows: NDArray[np.intp], columns: NDArray[np.intp], in_parts: bool
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the ranks of entries, counted from the nearer end, and their order by value."""
    values = X[rows, columns]
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    if (ordered[1:] == ordered[:-1]).any():
        # Equal values are ordered by their entries of X X' X, which do not depend on the
        # order of rows and columns and change sign with X.
        Z = np.nan_to_num(X)
        # A power of two changes no digit, and products neither overflow nor vanish.
        np.ldexp(Z, -np.frexp(np.abs(Z).max())[1], out=Z)
        if in_parts:
            cube = _cube_in_parts(Z)
        else:
            cube = Z @ (Z.T @ Z) if X.shape[0] >= X.shape[1] else (Z @ Z.T) @ Z
        ties = np.round(cube / np.abs(cube).max(initial=1e-300), 10)[rows, columns]
        order = np.lexsort((ties, values))
    rank = np.arange(len(order))
    return np.minimum(rank, rank[::-1]), order


def _spare(
    shape: tuple[int, ...],
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    candidates: NDArray[np.intp],
    *,
    n_kept: int,
) -> NDArray[np.intp]:
    """Return the candidates of rows and columns that keep at least `n_kept` entries.

    All candidates of a row or column, or none, whichever order they are looked at in.
    """
    chosen = candidates
    for places, size in zip((rows, columns), shape, strict=True):
        left = np.bincount(places, minlength=size)
        left -= np.bincount(places[candidates], minlength=size)
        chosen = chosen[left[places[chosen]] >= n_kept]
    return chosen


def _cube_in_parts(Z: Array) -> Array:
    """Return Z Z' Z, computed some columns at a time, or some rows where these are fewer."""
    if Z.shape[0] < Z.shape[1]:
        return _cube_in_parts(Z.T).T
    cube = np.empty_like(Z)
    for start in range(0, Z.shape[1], _COLUMNS_AT_ONCE):
        part = slice(start, start + _COLUMNS_AT_ONCE)
        cube[:, part] = Z @ (Z.T @ Z[:, part])
    return cube


def hold_out(
    X: ArrayLike,
    fraction: float = 0.1,
    *,
    min_observed: int = 3,
    min_held_out: int = 1,
    random_state: Any = None,
) -> HeldOut | None:
    """Hold out observed entries of X at random.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        NaN for missing entries.
    fraction : float, default=0.1
        The probability with which an observed entry is held out.
    min_observed : int, default=3
        Rows and columns that would keep fewer entries lose none.
    min_held_out : int, default=1
        The smallest number of entries to hold out.
    random_state : int, RandomState or None

    Returns
    -------
    held_out : HeldOut or None
        With `rows`, `columns` and `values` of the held-out entries, and `rest()`, the matrix
        without them. None if there would be fewer than `min_held_out`.

    Examples
    --------
    >>> import numpy as np
    >>> from comanifold.model_selection import hold_out
    >>> held_out = hold_out(np.arange(80.0).reshape(10, 8), random_state=0)
    >>> rest = held_out.rest()
    >>> bool(np.isnan(rest[held_out.rows, held_out.columns]).all())
    True
    """
    X = check_matrix(X)
    is_number = isinstance(fraction, numbers.Real) and not isinstance(fraction, bool)
    if not is_number or not 0 < fraction < 1:
        raise ValueError(f"fraction must be a number between 0 and 1, got {fraction!r:.60}")
    check_count("min_observed", min_observed)
    check_count("min_held_out", min_held_out)
    observed = ~np.isnan(X)
    chosen = observed & (check_random_state(random_state).random_sample(X.shape) < fraction)
    rest = observed & ~chosen
    for axis in (0, 1):
        too_few = np.expand_dims(rest.sum(axis=axis) < min_observed, axis)
        chosen &= ~too_few
    if chosen.sum() < min_held_out:
        return None
    return HeldOut(X, chosen)


@dataclass(frozen=True)
class HeldOutErrors:
    """Root-mean-square errors on held-out entries, in standard deviations of these.

    Attributes
    ----------
    n_held_out : int
    model : float
        The error of the filled-in matrix.
    row_means, column_means : float
        The errors of the means of the other entries of the row and of the column.
    knn, soft_impute : float or None
        The errors of scikit-learn's `KNNImputer` and of `comanifold.baselines.SoftImpute`. None
        if they were not measured: for large matrices they take too long.
    """

    n_held_out: int
    model: float
    row_means: float
    column_means: float
    knn: float | None = None
    soft_impute: float | None = None

    @property
    def others(self) -> dict[str, float]:
        """The measured errors of other methods, by name."""
        errors = {
            "KNN": self.knn,
            "SoftImpute": self.soft_impute,
            "row means": self.row_means,
            "column means": self.column_means,
        }
        return {name: error for name, error in errors.items() if error is not None}


def held_out_errors(held_out: HeldOut, filled: Array) -> HeldOutErrors | None:
    """Return the errors of a filled-in matrix, and of simple methods, on held-out entries.

    None if the held-out entries are all equal, or if `filled` has no value for some of them.

    Parameters
    ----------
    held_out : HeldOut
    filled : ndarray of shape (n_rows, n_columns)
        `held_out.rest()`, with its missing entries filled in.
    """
    return _errors(held_out, [held_out], filled, _methods(filled.shape))


def compare_held_out(model: "CoManifold", *, only_means: bool = False) -> HeldOutErrors | None:
    """Return the errors of a fitted model, and of simple methods, on what the fit held out.

    The fit has predicted these entries, `model.held_out_`, one fold after the other and each
    without its own entries; so do the other methods here. Entries that the fit ignored as outliers
    are missing for all of them. None if no entries were held out, or if they are all equal.

    Parameters
    ----------
    model : CoManifold
        Fitted.
    only_means : bool, default=False
        Compare with row and column means alone, which takes no time.

    Examples
    --------
    >>> from comanifold import CoManifold
    >>> from comanifold.datasets import make_checkerboard, remove_entries
    >>> from comanifold.model_selection import compare_held_out
    >>> board = make_checkerboard(60, 40, noise=0.5, random_state=0)
    >>> model = CoManifold().fit(remove_entries(board.X, 0.4, random_state=0))
    >>> errors = compare_held_out(model)
    >>> list(errors.others)
    ['KNN', 'SoftImpute', 'row means', 'column means']
    >>> errors.model < min(errors.others.values())
    True
    """
    check_is_fitted(model)
    entries = model.held_out_
    places = entries["row"], entries["column"]
    # In standard units, where squares neither overflow nor cancel.
    X = (model.data_ - model.mean_) / model.scale_
    X[tuple(model.ignored_entries_.T)] = np.nan
    filled = np.full(X.shape, np.nan)
    filled[places] = (entries["predicted"] - model.mean_) / model.scale_
    fold_of = np.full(X.shape, -1)
    fold_of[places] = entries["fold"]
    folds = [HeldOut(X, fold_of == fold) for fold in np.unique(entries["fold"])]
    methods = _methods(X.shape, only_means=only_means)
    return _errors(HeldOut(X, fold_of >= 0), folds, filled, methods)


Method = Callable[[Array], Array]  # returns a matrix with its missing entries filled in


def _errors(
    held_out: HeldOut, folds: Sequence[HeldOut], filled: Array, methods: dict[str, Method]
) -> HeldOutErrors | None:
    """Return the errors of filled-in values, and of methods that fill in each fold in turn.

    `held_out` has the entries of all folds.
    """
    if not len(held_out.values) or not held_out.values.std() > 0.0:
        return None

    def error_of(filled: Array) -> float | None:
        error = held_out.relative_error(filled[held_out.rows, held_out.columns])
        return error if np.isfinite(error) else None

    error = error_of(filled)
    if error is None:
        return None
    predicted = {name: np.full(filled.shape, np.nan) for name in methods}
    for fold in folds:
        rest = fold.rest()
        for name, method in methods.items():
            predicted[name][fold.rows, fold.columns] = method(rest)[fold.rows, fold.columns]
    errors = {name: error_of(values) for name, values in predicted.items()}
    return HeldOutErrors(len(held_out.values), error, **errors)


def _methods(shape: tuple[int, int], *, only_means: bool = False) -> dict[str, Method]:
    """Return the methods to compare with, by the names of their errors: not those that are slow."""
    methods: dict[str, Method] = {
        "row_means": lambda X: fill_with_means(X, axis=1),
        "column_means": lambda X: fill_with_means(X, axis=0),
    }
    if not only_means and shape[0] <= _MAX_ROWS_FOR_KNN:
        methods["knn"] = fill_with_knn
    if not only_means and min(shape) <= _MAX_SIDE_FOR_SOFT_IMPUTE:
        methods["soft_impute"] = fill_with_soft_impute
    return methods


def compared_methods(shape: tuple[int, int]) -> list[str]:
    """Return the names of the methods that a model of a matrix of this shape is compared with."""
    return list(_methods(shape))


def fill_with_means(X: Array, axis: int) -> Array:
    """Return the means over an axis in place of all entries; zero where nothing is observed."""
    observed = ~np.isnan(X)
    sums = np.where(observed, X, 0.0).sum(axis=axis, keepdims=True)
    means = sums / np.maximum(observed.sum(axis=axis, keepdims=True), 1)
    return np.broadcast_to(means, X.shape)


def fill_with_knn(X: Array) -> Array:
    """Return X filled in by scikit-learn's `KNNImputer`."""
    from sklearn.impute import KNNImputer

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return KNNImputer(keep_empty_features=True).fit_transform(X)


def fill_with_soft_impute(X: Array) -> Array:
    """Return X filled in by `SoftImpute`."""
    from .baselines import SoftImpute

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SoftImpute().fit_transform(X)
