"""Distances between filled-in rows at some pairs, at the cost of those pairs alone."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..graphs import Pairs

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

# Columns that are filled in at the same time: some megabytes for many rows.
_AT_ONCE = 128


def add_pair_distances(
    X: Array,
    values: Array,
    row_labels: Labels,
    column_labels: Labels,
    pairs: Pairs,
    weight: float,
    sums: Array,
) -> None:
    """sums[p] += weight |x_i - x_j| over the pairs p = (i, j) of rows of X, filled in.

    Where X is NaN, it is filled in by values[row_labels][:, column_labels]. No more of that is
    formed than a few columns at a time.
    """
    squares = np.zeros(len(pairs))
    for start in range(0, X.shape[1], _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        filled = np.empty((len(X), len(column_labels[part])))
        _fill_in_part(X[:, part], values, row_labels, column_labels[part], filled)
        _add_squares(filled, pairs.starts, pairs.others, squares)
    np.sqrt(squares, out=squares)
    squares *= weight
    sums += squares


@njit(cache=True, nogil=True)
def _fill_in_part(X, values, row_labels, column_labels, filled):
    for i in range(X.shape[0]):
        a = row_labels[i]
        for j in range(X.shape[1]):
            x = X[i, j]
            filled[i, j] = values[a, column_labels[j]] if np.isnan(x) else x


# Sums may be taken in another order than written, which lets several be taken at once.
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _add_squares(X, starts, others, squares):
    for i in range(X.shape[0]):
        for p in range(starts[i], starts[i + 1]):
            j = others[p]
            total = 0.0
            for c in range(X.shape[1]):
                total += (X[i, c] - X[j, c]) ** 2
            squares[p] += total
