"""The multi-scale metric of the paper, added up scale by scale."""

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk

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
        filled = np.empty(self._X.shape)
        _fill_in(self._X, values, row_labels, column_labels, weight, filled, self._estimates)
        _add_distances(_products(filled), filled, weight, self._rows)
        _add_distances(_products(filled.T), filled.T, weight, self._columns)

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
                sums[:] = 0.0
                _add_distances(_products(X), X, self.total_weight, sums)
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


def _products(X: Array) -> Array:
    """The inner products of the rows of X on and above the diagonal; below it, anything."""
    # BLAS thinks in columns, so that its lower triangle is our upper one.
    products = np.empty((len(X), len(X)), order="F")
    if X.flags.c_contiguous:
        return dsyrk(1.0, X.T, trans=1, lower=1, c=products, overwrite_c=1).T
    return dsyrk(1.0, X, lower=1, c=products, overwrite_c=1).T


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
