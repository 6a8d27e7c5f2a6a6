"""Multi-scale distances between rows and between columns, summed scale by scale."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from .graphs import Pairs

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

# A squared distance this small, relative to the squared norms it is the difference of, has lost
# digits to cancellation and is summed entry by entry.
_FEW_DIGITS = 1e-6

# Columns filled in at the same time for distances at some pairs: some megabytes for many rows.
_AT_ONCE = 128


class MultiScaleMetric:
    r"""Sums over scales of the distances between the filled-in rows, and columns.

    .. math:: d(i, j) = \sum_s w_s \| \tilde X^{(s)}_{i \cdot} - \tilde X^{(s)}_{j \cdot} \|,
              \qquad \tilde X^{(s)} = P_\Theta(X) + P_{\Theta^c}(U^{(s)})

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        NaN for missing entries.
    pairs : pair of Pairs or None, optional
        The pairs of rows and of columns whose distances are computed; None for all pairs.

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
        row_labels: Labels,
        column_labels: Labels,
        weight: float,
    ) -> None:
        """Add a scale with the estimate values[row_labels][:, column_labels]."""
        self.total_weight += weight
        if self._complete:  # nothing is filled in: every scale has the same distances
            return
        row_pairs, column_pairs = self._pairs
        if row_pairs is None or column_pairs is None:
            filled = np.empty(self._X.shape)
            _fill_in(self._X, values, row_labels, column_labels, filled)
            # NumPy sees the product with itself, and lets other threads run, unlike SciPy's dsyrk.
            if row_pairs is None:
                _add_distances(filled @ filled.T, filled, weight, self._rows)
            if column_pairs is None:
                # A copy, so that the kernel is compiled for one memory layout only.
                _add_distances(filled.T @ filled, filled.T.copy(), weight, self._columns)
            del filled
        _add_estimate(values, row_labels, column_labels, weight, self._estimates)
        if row_pairs is not None:
            blocks = values, row_labels, column_labels
            _add_pair_distances(self._X, *blocks, row_pairs, weight, self._rows)
        if column_pairs is not None:
            blocks = values.T, column_labels, row_labels
            _add_pair_distances(self._X.T, *blocks, column_pairs, weight, self._columns)

    def merge(self, other: "MultiScaleMetric") -> None:
        """Add the scales of another metric of the same matrix."""
        self._rows += other._rows
        self._columns += other._columns
        self._estimates += other._estimates
        self.total_weight += other.total_weight

    def normalise(self) -> None:
        """Divide all weights by their sum, so that distances are means over the scales."""
        for sums in (self._rows, self._columns, self._estimates):
            sums /= self.total_weight
        self.total_weight = 1.0

    def sums(self) -> dict[str, Array]:
        """Return the sums so far by name, to be saved."""
        return {
            "rows": self._rows,
            "columns": self._columns,
            "estimates": self._estimates,
            "total_weight": np.array(self.total_weight),
        }

    def restore(self, sums: dict[str, Array]) -> None:
        """Restore saved sums of the same matrix."""
        self._rows, self._columns = sums["rows"], sums["columns"]
        self._estimates = sums["estimates"]
        self.total_weight = float(sums["total_weight"])

    def distances(self) -> tuple[Any, Any]:
        """Return the distances between rows and between columns, sparse if at some pairs only."""
        if self._complete:
            for X, sums, pairs in (
                (self._X, self._rows, self._pairs[0]),
                (self._X.T, self._columns, self._pairs[1]),
            ):
                sums[:] = 0.0
                if pairs is None:
                    _add_distances(X @ X.T, np.ascontiguousarray(X), self.total_weight, sums)
                else:
                    nothing = np.zeros((1, 1)), *(np.zeros(n, dtype=np.intp) for n in X.shape)
                    _add_pair_distances(X, *nothing, pairs, self.total_weight, sums)
        by_row, by_column = (
            sums + sums.T if pairs is None else pairs.matrix(sums)
            for sums, pairs in zip((self._rows, self._columns), self._pairs, strict=True)
        )
        return by_row, by_column

    @property
    def filled(self) -> Array:
        """The mean of the filled-in matrices by weight."""
        return np.where(self._missing, self._estimates / self.total_weight, self._X)


def add_variances(distances: Any, variances: Array) -> Any:
    """Return sqrt(d_ij^2 + v_i + v_j - 2 min v) for i != j, dense or sparse as the distances are.

    What all points have in common is left out: it changes no order of distances, but would make
    them more alike.
    """
    variances = variances - variances.min()
    if not variances.any():
        return distances
    if sparse.issparse(distances):
        rows = np.repeat(np.arange(len(variances)), np.diff(distances.indptr))
        columns = distances.indices
        added = np.where(rows == columns, 0.0, variances[rows] + variances[columns])
        data = np.sqrt(distances.data**2 + added)
        return sparse.csr_array((data, columns, distances.indptr), shape=distances.shape)
    squares = distances**2
    for row, variance in zip(squares, variances, strict=True):
        row += variance + variances
    np.fill_diagonal(squares, 0.0)
    return np.sqrt(squares, out=squares)


@njit(cache=True, nogil=True)
def _fill_in(X, values, row_labels, column_labels, filled):
    """filled = X, with missing entries taken from values[row_labels][:, column_labels]."""
    for i in range(X.shape[0]):
        block = values[row_labels[i]]
        for j in range(X.shape[1]):
            x = X[i, j]
            filled[i, j] = block[column_labels[j]] if np.isnan(x) else x


@njit(cache=True, nogil=True)
def _add_estimate(values, row_labels, column_labels, weight, estimates):
    """estimates += weight values[row_labels][:, column_labels]."""
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


def _add_pair_distances(
    X: Array,
    values: Array,
    row_labels: Labels,
    column_labels: Labels,
    pairs: Pairs,
    weight: float,
    sums: Array,
) -> None:
    """sums[p] += weight |x_i - x_j| for the pairs p = (i, j) of rows of the filled-in X.

    Missing entries are filled in by values[row_labels][:, column_labels], a few columns at a time.
    """
    squares = np.zeros(len(pairs))
    for start in range(0, X.shape[1], _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        filled = np.empty((len(X), len(column_labels[part])))
        _fill_in(X[:, part], values, row_labels, column_labels[part], filled)
        _add_squares(filled, pairs.starts, pairs.others, squares)
    np.sqrt(squares, out=squares)
    squares *= weight
    sums += squares


# Sums may be taken in another order than written, which lets several be taken at once.
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _add_squares(X, starts, others, squares):
    """squares[p] += |x_i - x_j|^2 for the pairs p = (i, j) of rows of X."""
    for i in range(X.shape[0]):
        for p in range(starts[i], starts[i + 1]):
            j = others[p]
            total = 0.0
            for c in range(X.shape[1]):
                total += (X[i, c] - X[j, c]) ** 2
            squares[p] += total
