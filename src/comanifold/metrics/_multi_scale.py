"""The multi-scale metric of the paper, added up scale by scale."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

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

    Attributes
    ----------
    total_weight : float
    filled : ndarray of shape (n_rows, n_columns)
        The mean of the filled-in matrices by weight.
    """

    def __init__(self, X: Array):
        n_rows, n_columns = X.shape
        self._X = X
        self._missing = np.isnan(X)
        self._complete = not self._missing.any()
        self._rows = np.zeros((n_rows, n_rows))
        self._columns = np.zeros((n_columns, n_columns))
        self._estimates = np.zeros((n_rows, n_columns))
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
        filled = np.empty_like(self._X)
        _fill_in(self._X, values, row_labels, column_labels, weight, filled, self._estimates)
        _add_distances(filled @ filled.T, filled, weight, self._rows)
        filled = np.ascontiguousarray(filled.T)
        _add_distances(filled @ filled.T, filled, weight, self._columns)

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

    def distances(self) -> tuple[Array, Array]:
        """The distances between the rows and between the columns."""
        if self._complete:
            for X, sums in ((self._X, self._rows), (self._X.T, self._columns)):
                X = np.ascontiguousarray(X)
                sums[:] = 0.0
                _add_distances(X @ X.T, X, self.total_weight, sums)
        return self._rows + self._rows.T, self._columns + self._columns.T

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
def _add_distances(products, X, weight, sums):
    """sums[i, j] += weight |x_i - x_j| for i < j, from the inner products of the rows of X."""
    m, n = X.shape
    length = np.empty(m)
    for i in range(m):
        squares = products[i, i]
        for j in range(i + 1, m):
            length[j] = squares + products[j, j] - 2.0 * products[i, j]
        for j in range(i + 1, m):
            if length[j] <= _FEW_DIGITS * (squares + products[j, j]):
                total = 0.0
                for c in range(n):
                    total += (X[i, c] - X[j, c]) ** 2
                length[j] = total
        for j in range(i + 1, m):
            sums[i, j] += weight * np.sqrt(length[j])
