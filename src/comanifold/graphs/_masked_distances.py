"""Distances between incomplete rows: the root mean square difference over shared columns."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from .._validation import check_matrix

_BLOCK = 1024


def masked_distances(X: ArrayLike, Y: ArrayLike | None = None) -> NDArray[np.float64]:
    r"""Return the distances between the rows of a matrix with missing entries, or of two.

    .. math:: d(i, j)^2 = \frac{1}{|\Theta_i \cap \Theta_j|}
              \sum_{k \in \Theta_i \cap \Theta_j} (x_{ik} - x_{jk})^2

    with :math:`\Theta_i` the columns observed in row i: the root mean square difference over
    the columns observed in both rows; infinite when they share none.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        NaN marks a missing entry.
    Y : array-like of shape (n_others, n_columns), optional
        Other rows, to which the distances are computed instead.

    Returns
    -------
    distances : ndarray of shape (n_rows, n_rows) or (n_rows, n_others)
        Without Y symmetric, with a zero diagonal.

    References
    ----------
    Ram, Elad and Cohen (2013), Image processing using smooth ordering of its patches.

    Examples
    --------
    >>> from comanifold import masked_distances
    >>> masked_distances([[1.0, 2.0, float("nan")], [4.0, float("nan"), 5.0]])
    array([[0., 3.],
           [3., 0.]])
    """
    X = check_matrix(X, need_observed=Y is None)
    if Y is not None:
        Y = check_matrix(Y, name="Y")
        if X.shape[1] != Y.shape[1]:
            raise ValueError(
                f"X and Y must have as many columns, got {X.shape[1]} and {Y.shape[1]}"
            )
        blocks = distance_blocks(np.concatenate([X, Y]), n_rows=len(X))
        return np.concatenate([block[:, len(X) :] for _, _, block in blocks])
    distances = np.empty((X.shape[0], X.shape[0]))
    for start, stop, block in distance_blocks(X):
        # The part above the diagonal, mirrored: the other half may differ by rounding errors.
        block[:, start:stop] = np.triu(block[:, start:stop])
        distances[start:stop, start:] = block[:, start:]
        distances[start:, start:stop] = block[:, start:].T
        distances[start:stop, start:stop] = block[:, start:stop] + block[:, start:stop].T
    return distances


def distance_blocks(
    X: NDArray[np.float64], n_rows: int | None = None
) -> Iterator[tuple[int, int, NDArray[np.float64]]]:
    """Yield (start, stop, distances of rows start:stop to all rows), in order, up to n_rows."""
    n_rows = X.shape[0] if n_rows is None else n_rows
    rows = Rows(X)
    for start in range(0, n_rows, _BLOCK):
        stop = min(start + _BLOCK, n_rows)
        block = rows.distances(np.arange(start, stop))
        block[np.arange(stop - start), np.arange(start, stop)] = 0.0
        yield start, stop, block


class Rows:
    """The rows of a matrix, scaled and centred once for all their distances.

    Attributes
    ----------
    X : ndarray
        The matrix, scaled and centred, zero for missing entries.
    scale : float
        What the matrix was divided by.
    """

    def __init__(self, X: NDArray[np.float64]):
        X = np.ascontiguousarray(X)  # kernels are compiled for one memory layout
        self._observed = ~np.isnan(X)
        # Scaling keeps the squares within range. Shifting a column changes no difference, and
        # centred values cancel least.
        self.scale = float(np.abs(X).max(where=self._observed, initial=0.0)) or 1.0
        self.X = np.where(self._observed, X / self.scale, 0.0)
        self.X -= self.X.sum(axis=0) / np.maximum(self._observed.sum(axis=0), 1)
        self.X[~self._observed] = 0.0
        self._squared_norms = np.einsum("ij,ij->i", self.X, self.X)
        self._complete = bool(self._observed.all())
        if not self._complete:
            self._mask, self._squares = self._observed.astype(float), self.X**2

    def __len__(self) -> int:
        return len(self.X)

    def with_nan(self) -> NDArray[np.float64]:
        """Return X with NaN for missing entries."""
        return self.X if self._complete else np.where(self._observed, self.X, np.nan)

    def distances(self, of: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the distances of some rows to all."""
        block = self._mean_squares(of)
        np.sqrt(block, out=block)
        block *= self.scale
        return block

    def columns(self, columns: NDArray[np.intp]) -> "Rows":
        """Return the rows with some of their columns, which have no missing entries."""
        some = Rows.__new__(Rows)
        # In memory row by row, unlike self.X[:, columns].
        some.X = np.take(self.X, columns, axis=1)
        some.scale, some._complete = self.scale, True
        some._observed = self._observed[:, columns]
        some._squared_norms = np.einsum("ij,ij->i", some.X, some.X)
        return some

    def rough_squares(
        self, of: NDArray[np.intp], among: NDArray[np.intp] | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.float64], float]:
        """Return squared distances of some rows to all or some, in single precision and units of X.

        They are sums over columns, or means over shared ones, perhaps negative by rounding errors.
        Two of them, u < v, are in the right order if v - u exceeds slack + relative_slack * u.

        Returns
        -------
        squares : ndarray of shape (n_some, n_rows)
        slack : ndarray of shape (n_some,)
        relative_slack : float
        """
        if not self._complete:
            rounding = float(np.finfo(np.float32).eps)
            squares = self._mean_squares(of)
            squares = squares if among is None else squares[:, among]
            return squares.astype(np.float32), np.zeros(len(of)), 2.0 * rounding
        # |v - d^2| <= error (|x_i|^2 + |x_j|^2). Errors of K terms add up to about root K of them;
        # with four times as many, all errors stayed below, of random, smooth, heavy-tailed and
        # constant rows.
        error = float(np.finfo(np.float32).eps) * (4.0 + 2.0 * np.sqrt(self.X.shape[1]))
        left, right = self._single_precision
        # |x_j|^2 <= 2 |x_i|^2 + 2 d^2, and the errors of two distances may differ in sign.
        slack = 6.1 * error * self._squared_norms[of]
        right = right if among is None else right[among]
        # All numbers are finite: a warning of invalid values in this product would be spurious.
        with np.errstate(invalid="ignore"):
            return left[of] @ right.T, slack, 4.1 * error

    @cached_property
    def _single_precision(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Two matrices whose product holds the squared distances."""
        n_columns = self.X.shape[1]
        left = np.empty((len(self), n_columns + 2), dtype=np.float32)
        left[:, :n_columns] = self.X
        right = left.copy()
        left[:, :n_columns] *= -2.0
        left[:, -2], left[:, -1] = self._squared_norms, 1.0
        right[:, -2], right[:, -1] = 1.0, self._squared_norms
        return left, right

    def _mean_squares(self, of: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the mean squared differences of some rows to all, in units of X."""
        shared: NDArray[np.float64] | float = float(self.X.shape[1])
        # In place wherever possible: a block may be as large as there is room for.
        if self._complete:
            sizes = self._squared_norms[of, None] + self._squared_norms
        else:
            shared = self._mask[of] @ self._mask.T
            sizes = self._squares[of] @ self._mask.T
            sizes += self._mask[of] @ self._squares.T
        block = self.X[of] @ self.X.T
        block *= -2.0
        block += sizes
        # A difference of large numbers keeps few digits when it is small: add those up plainly.
        sizes *= 1e-6
        _sum_small_differences(self.X, self._observed, of, block, sizes)
        np.maximum(block, 0.0, out=block)
        with np.errstate(divide="ignore", invalid="ignore"):
            block /= shared
        if not self._complete:
            block[shared == 0] = np.inf
        return block


@njit(cache=True, nogil=True)
def _sum_small_differences(X, observed, of, block, threshold):
    """Recompute squared distances of rows of[i] to all where they are below a threshold."""
    for i in range(block.shape[0]):
        a = of[i]
        for j in range(block.shape[1]):
            if block[i, j] <= threshold[i, j]:
                total = 0.0
                for k in range(X.shape[1]):
                    if observed[a, k] and observed[j, k]:
                        total += (X[a, k] - X[j, k]) ** 2
                block[i, j] = total
