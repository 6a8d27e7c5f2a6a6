"""Distances between incomplete rows: the root mean square difference over shared columns."""

from collections.abc import Iterator

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
    squared_norms = (rows.X**2).sum(axis=1)
    for start in range(0, n_rows, _BLOCK):
        stop = min(start + _BLOCK, n_rows)
        block = rows.distances(start, stop, squared_norms)
        block[np.arange(stop - start), np.arange(start, stop)] = 0.0
        yield start, stop, block


class Rows:
    """The rows of a matrix, scaled and centred once for all their distances.

    Attributes
    ----------
    X : ndarray
        The matrix, scaled and centred, zero for missing entries.
    """

    def __init__(self, X: NDArray[np.float64]):
        self._observed = ~np.isnan(X)
        # Scaling keeps the squares within range. Shifting a column changes no difference, and
        # centred values cancel least.
        self._scale = float(np.abs(X).max(where=self._observed, initial=0.0)) or 1.0
        self.X = np.where(self._observed, X / self._scale, 0.0)
        self.X -= self.X.sum(axis=0) / np.maximum(self._observed.sum(axis=0), 1)
        self.X[~self._observed] = 0.0
        self._complete = bool(self._observed.all())
        if not self._complete:
            self._mask, self._squares = self._observed.astype(float), self.X**2

    def __len__(self) -> int:
        return len(self.X)

    def distances(
        self, start: int, stop: int, squared_norms: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the distances of rows start:stop to all, given the squared norms of the rows."""
        rows = slice(start, stop)
        shared: NDArray[np.float64] | float = float(self.X.shape[1])
        # In place wherever possible: a block may be as large as there is room for.
        if self._complete:
            sizes = squared_norms[rows, None] + squared_norms
        else:
            shared = self._mask[rows] @ self._mask.T
            sizes = self._squares[rows] @ self._mask.T
            sizes += self._mask[rows] @ self._squares.T
        block = self.X[rows] @ self.X.T
        block *= -2.0
        block += sizes
        # A difference of large numbers keeps few digits when it is small: add those up plainly.
        sizes *= 1e-6
        _sum_small_differences(self.X, self._observed, start, block, sizes)
        np.maximum(block, 0.0, out=block)
        with np.errstate(divide="ignore", invalid="ignore"):
            block /= shared
        np.sqrt(block, out=block)
        block *= self._scale
        if not self._complete:
            block[shared == 0] = np.inf
        return block


@njit(cache=True, nogil=True)
def _sum_small_differences(X, observed, start, block, threshold):
    """Recompute squared distances of rows start + i to all where they are below a threshold."""
    for i in range(block.shape[0]):
        a = start + i
        for j in range(block.shape[1]):
            if block[i, j] <= threshold[i, j]:
                total = 0.0
                for k in range(X.shape[1]):
                    if observed[a, k] and observed[j, k]:
                        total += (X[a, k] - X[j, k]) ** 2
                block[i, j] = total
