"""Observed entries held out of a matrix, to measure how well they are predicted."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# The weight of a scale falls with this power of its squared error on hidden entries.
_SHARPNESS = 10.0

# One entry in so many is hidden.
_HIDE_EVERY = 10

# Rows and columns keep at least so many entries.
_KEEP = 2

# Columns that are multiplied at the same time, where all at once would need too much memory.
_COLUMNS_AT_ONCE = 256


class HeldOut:
    """Observed entries taken out of a matrix, to see how well they are predicted.

    They are taken at even steps in the order of their values, from both ends: which ones does
    not depend on the order of rows and columns, nor on the units (but for entries that are equal
    and in equal rows and columns). None are taken from a matrix with nothing missing, or where
    hardly any can be spared.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
    in_parts : bool, default=False
        Form no square matrix of the rows or the columns on the way.

    Attributes
    ----------
    rows, columns : ndarray of int
    values : ndarray of float
    floor : float
        An error too small to matter, for matrices that are predicted exactly.
    """

    def __init__(self, X: Array, *, in_parts: bool = False):
        rows, columns = np.nonzero(~np.isnan(X))
        if len(rows) == X.size:
            rows, columns = rows[:0], columns[:0]
        values = X[rows, columns]
        ties = np.zeros(len(values))
        if len(np.unique(values)) < len(values):
            # Equal values by an entry of X X' X, which follows the data as they do: it has the
            # same order for any order of rows and columns, and the reverse one for -X.
            Z = np.nan_to_num(X)
            if in_parts:
                cube = _cube_in_parts(Z)
            else:
                cube = Z @ (Z.T @ Z) if X.shape[0] >= X.shape[1] else (Z @ Z.T) @ Z
            ties = np.round(cube / np.abs(cube).max(initial=1e-300), 10)[rows, columns]
        order = np.lexsort((ties, values))
        rank = np.arange(len(order))
        rank = np.minimum(rank, rank[::-1])
        candidates = order[rank % _HIDE_EVERY == _HIDE_EVERY // 2]
        # All candidates of a row or column, or none: whichever order they are looked at in.
        chosen = candidates
        for places, size in ((rows, X.shape[0]), (columns, X.shape[1])):
            left = np.bincount(places, minlength=size)
            left -= np.bincount(places[candidates], minlength=size)
            chosen = chosen[left[places[chosen]] >= _KEEP]
        if len(chosen) < len(candidates) / 3:  # too few to judge by
            chosen = chosen[:0]
        self.rows, self.columns = rows[chosen], columns[chosen]
        self.values = X[self.rows, self.columns]
        self._X = X
        self.floor = 1e-6 * float(np.nanvar(X)) or 1.0

    def rest(self) -> Array:
        """A copy of the matrix without them: not kept, because it is large and soon let go."""
        rest = self._X.copy()
        rest[self.rows, self.columns] = np.nan
        return rest

    def weigh(self, predicted: Array) -> float:
        """The weight of what predicts these values of the hidden entries."""
        error = float(np.mean((predicted - self.values) ** 2))
        return (error + self.floor) ** -_SHARPNESS


def _cube_in_parts(Z: Array) -> Array:
    """Z Z' Z, some columns at a time, or some rows where these are fewer."""
    if Z.shape[0] < Z.shape[1]:
        return _cube_in_parts(Z.T).T
    cube = np.empty_like(Z)
    for start in range(0, Z.shape[1], _COLUMNS_AT_ONCE):
        part = slice(start, start + _COLUMNS_AT_ONCE)
        cube[:, part] = Z @ (Z.T @ Z[:, part])
    return cube
