"""Distances between incomplete rows: the root mean square difference over what both have."""

from collections.abc import Iterator

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from .._validation import check_matrix

_BLOCK = 1024


def masked_distances(X: ArrayLike, Y: ArrayLike | None = None) -> NDArray[np.float64]:
    r"""Distances between the rows of a matrix with missing entries, or of two.

    .. math:: d(i, j)^2 = \frac{1}{|\Theta_i \cap \Theta_j|}
              \sum_{k \in \Theta_i \cap \Theta_j} (x_{ik} - x_{jk})^2

    with :math:`\Theta_i` the columns observed in row i: the root mean square difference over
    the columns that both rows have; infinite when they share none.

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
    observed = ~np.isnan(X)
    # Scaling keeps the squares within range. Shifting a column changes no difference, and
    # centred values cancel least.
    scale = np.abs(X).max(where=observed, initial=0.0) or 1.0
    centred = np.where(observed, X / scale, 0.0)
    centred -= centred.sum(axis=0) / np.maximum(observed.sum(axis=0), 1)
    centred[~observed] = 0.0
    mask = observed.astype(float)
    squares = centred**2
    is_complete = observed.all()
    lengths = squares.sum(axis=1)
    for start in range(0, n_rows, _BLOCK):
        stop = min(start + _BLOCK, n_rows)
        rows = slice(start, stop)
        if is_complete:
            shared = np.full((stop - start, len(X)), float(X.shape[1]))
            sizes = lengths[rows, None] + lengths
        else:
            shared = mask[rows] @ mask.T
            sizes = squares[rows] @ mask.T + mask[rows] @ squares.T
        block = sizes - 2.0 * (centred[rows] @ centred.T)
        # A difference of large numbers keeps few digits when it is small: add those up plainly.
        sum_small_differences(centred, observed, start, block, 1e-6 * sizes)
        with np.errstate(divide="ignore", invalid="ignore"):
            block = np.sqrt(np.maximum(block, 0.0) / shared)
        block *= scale
        block[shared == 0] = np.inf
        block[np.arange(stop - start), np.arange(start, stop)] = 0.0
        yield start, stop, block


@njit(cache=True, nogil=True)
def sum_small_differences(X, observed, start, block, threshold):
    """Squared distances of the rows start + i to all, anew where they are below a threshold."""
    for i in range(block.shape[0]):
        a = start + i
        for j in range(block.shape[1]):
            if block[i, j] <= threshold[i, j]:
                total = 0.0
                for k in range(X.shape[1]):
                    if observed[a, k] and observed[j, k]:
                        total += (X[a, k] - X[j, k]) ** 2
                block[i, j] = total
