"""The multi-scale metric of the paper, added up scale by scale."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..graphs import Pairs
from ._pair_distances import add_pair_distances

Array = NDArray[np.float64]

# A square length this small, relative to the squares it is the difference of, has lost digits
# and is added up plainly.
_FEW_DIGITS = 1e-6


class MultiScaleMetric:
    r"""Sums over scales of the distances between the filled-in rows, and columns.

    .. math:: d(i, j) = \sum_s w_s \| \tilde X^{(s)}_{i \cdot} - \tilde X^{(s)}_{j \cdot} \|,
              \qquad \tilde X^{(s)} = P_\Theta(X) + P_{\Theta^c}(U^{(s)})

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        NaN for missing entries.
    pairs : pair of Pairs or None, optional
        The pairs of rows, and of columns, whose distances are wanted; None for all of them.

    Attributes
    ----------
    total_weight : float
    filled : ndarray of shape (n_rows, n_columns)
        The mean of the filled-in matrices by weight.
    """

    def __init__(self, X: Array, pairs: tuple[Pairs | None, Pairs | None] = (None, None)):
        self._X = X
        self._pairs = pairs
        self._missing = np.isnan(X)
        self._complete = not self._missing.any()
        self._rows, self._columns = (
            np.zeros((n_points, n_points)) if some is None else np.zeros(len(some))
            for n_points, some in zip(X.shape, pairs, strict=True)
        )
        self._estimates = np.zeros(X.shape)
        self.total_weight = 0.0

    def add(
        self,
        values: Array,
        row_labels: NDArray[np.intp],
        column_labels: NDArray[np.intp],
        weight: float,
    ) -> None:
        """Add a scale whose estimate is values[row_labels][:, column_labels]."""
        self.total_weight += weight
        if self._complete:  # nothing is filled in: every scale has the same distances
            return
        row_pairs, column_pairs = self._pairs
        if row_pairs is None or column_pairs is None:
            filled = np.empty(self._X.shape)
            _fill_in(self._X, values, row_labels, column_labels, weight, filled, self._estimates)
            # NumPy sees the product with itself, and lets other threads run, unlike SciPy's dsyrk.
            if row_pairs is None:
                _add_distances(filled @ filled.T, filled, weight, self._rows)
            if column_pairs is None:
                _add_distances(filled.T @ filled, filled.T, weight, self._columns)
            del filled
        else:
            _add_estimate(values, row_labels, column_labels, weight, self._estimates)
        if row_pairs is not None:
            blocks = values, row_labels, column_labels
            add_pair_distances(self._X, *blocks, row_pairs, weight, self._rows)
        if column_pairs is not None:
            blocks = values.T, column_labels, row_labels
            add_pair_distances(self._X.T, *blocks, column_pairs, weight, self._columns)

    def merge(self, other: "MultiScaleMetric") -> None:
        """Add the scales of another metric of the same matrix."""
        self._rows += other._rows
        self._columns += other._columns
        self._estimates += other._estimates
        self.total_weight += other.total_weight

    def normalise(self) -> None:
        """Divide all weights by their sum: distances become means over the scales."""
        for sums in (self._rows, self._columns, self._estimates):
            sums /= self.total_weight
        self.total_weight = 1.0

    def sums(self) -> dict[str, Array]:
        """The sums so far, by name."""
        return {
            "rows": self._rows,
            "columns": self._columns,
            "estimates": self._estimates,
            "total_weight": np.array(self.total_weight),
        }

    def restore(self, sums: dict[str, Array]) -> None:
        """Go on from the sums of another metric of the same matrix."""
        self._rows, self._columns = sums["rows"], sums["columns"]
        self._estimates = sums["estimates"]
        self.total_weight = float(sums["total_weight"])

    def distances(self) -> tuple[Any, Any]:
        """The distances between the rows and between the columns; sparse ones at pairs alone."""
        if self._complete:
            for X, sums, pairs in (
                (self._X, self._rows, self._pairs[0]),
                (self._X.T, self._columns, self._pairs[1]),
            ):
                sums[:] = 0.0
                if pairs is None:
                    _add_distances(X @ X.T, X, self.total_weight, sums)
                else:
                    nothing = np.zeros((1, 1)), *(np.zeros(n, dtype=np.intp) for n in X.shape)
                    add_pair_distances(X, *nothing, pairs, self.total_weight, sums)
        by_row, by_column = (
            sums + sums.T if pairs is None else pairs.matrix(sums)
            for sums, pairs in zip((self._rows, self._columns), self._pairs, strict=True)
        )
        return by_row, by_column

    @property
    def filled(self) -> Array:
        return np.where(self._missing, self._estimates / self.total_weight, self._X)


@njit(cache=True, nogil=True)
def _fill_in(X, values, row_labels, column_labels, weight, filled, estimates):
    for i in range(X.shape[0]):
        block = values[row_labels[i]]
        for j in range(X.shape[1]):
            u = block[column_labels[j]]
            filled[i, j] = u if np.isnan(X[i, j]) else X[i, j]
            estimates[i, j] += weight * u


@njit(cache=True, nogil=True)
def _add_estimate(values, row_labels, column_labels, weight, estimates):
    for i in range(estimates.shape[0]):
        block = values[row_labels[i]]
        for j in range(estimates.shape[1]):
            estimates[i, j] += weight * block[column_labels[j]]


# Loops over slices that start at zero, which the compiler turns into vector instructions.
@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def _add_distances(products, X, weight, sums):
    """sums[i, j] += weight |x_i - x_j| for i < j, from the inner products of the rows of X."""
    m, n = X.shape
    squares, lengths = np.empty(m), np.empty(m)
    for i in range(m):
        squares[i] = products[i, i]
    for i in range(m):
        square, others = squares[i], squares[i + 1 :]
        product, length, total = products[i, i + 1 :], lengths[i + 1 :], sums[i, i + 1 :]
        n_inexact = 0
        for j in range(length.shape[0]):
            both = square + others[j]
            length[j] = both - 2.0 * product[j]
            n_inexact += length[j] <= _FEW_DIGITS * both
        if n_inexact > 0:
            for j in range(length.shape[0]):
                if length[j] <= _FEW_DIGITS * (square + others[j]):
                    plain = 0.0
                    for c in range(n):
                        plain += (X[i, c] - X[i + 1 + j, c]) ** 2
                    length[j] = plain
        for j in range(length.shape[0]):
            total[j] += weight * np.sqrt(length[j])
