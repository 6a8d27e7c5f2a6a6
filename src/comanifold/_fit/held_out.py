"""Observed entries held out of a matrix, to measure how well they are predicted."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# One entry in so many is held out.
_HOLD_OUT_EVERY = 10

# Rows and columns keep at least so many entries.
_MIN_KEPT = 2

# Columns that are multiplied at the same time, where all at once would need too much memory.
_COLUMNS_AT_ONCE = 256


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
    floor : float
        An error too small to matter, for matrices that are predicted exactly.
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
        self._X = X
        self.floor = 1e-6 * float(np.nanvar(X)) or 1.0

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


def _evenly_spread(
    X: Array, in_parts: bool, from_complete: bool
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return rows and columns of the entries that `HeldOut` holds out by default."""
    rows, columns = np.nonzero(~np.isnan(X))
    if len(rows) == X.size and not from_complete:
        rows, columns = rows[:0], columns[:0]
    values = X[rows, columns]
    ties = np.zeros(len(values))
    if len(np.unique(values)) < len(values):
        # Equal values are ordered by their entries of X X' X, which do not depend on the
        # order of rows and columns and change sign with X.
        Z = np.nan_to_num(X)
        if in_parts:
            cube = _cube_in_parts(Z)
        else:
            cube = Z @ (Z.T @ Z) if X.shape[0] >= X.shape[1] else (Z @ Z.T) @ Z
        ties = np.round(cube / np.abs(cube).max(initial=1e-300), 10)[rows, columns]
    order = np.lexsort((ties, values))
    rank = np.arange(len(order))
    rank = np.minimum(rank, rank[::-1])
    candidates = order[rank % _HOLD_OUT_EVERY == _HOLD_OUT_EVERY // 2]
    # All candidates of a row or column, or none, whichever order they are looked at in.
    chosen = candidates
    for places, size in ((rows, X.shape[0]), (columns, X.shape[1])):
        left = np.bincount(places, minlength=size)
        left -= np.bincount(places[candidates], minlength=size)
        chosen = chosen[left[places[chosen]] >= _MIN_KEPT]
    if len(chosen) < len(candidates) / 3:  # too few to judge by
        chosen = chosen[:0]
    return rows[chosen], columns[chosen]


def _cube_in_parts(Z: Array) -> Array:
    """Return Z Z' Z, computed some columns at a time, or some rows where these are fewer."""
    if Z.shape[0] < Z.shape[1]:
        return _cube_in_parts(Z.T).T
    cube = np.empty_like(Z)
    for start in range(0, Z.shape[1], _COLUMNS_AT_ONCE):
        part = slice(start, start + _COLUMNS_AT_ONCE)
        cube[:, part] = Z @ (Z.T @ Z[:, part])
    return cube
