"""Affinities from distances: bandwidths, Gaussian kernels, and their row sums.

Distances are dense or sparse; pairs that a sparse matrix does not store have no affinity.
"""

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._validation import is_integer

Array = NDArray[np.float64]

# The default local bandwidth of a point is the distance to its q-th neighbour, with q the square
# root of half the number of points within these bounds. A smaller q disconnects groups of a few
# very similar points, such as rows with the same filled-in values; a larger q closes curves whose
# ends are near each other.
_NEAREST_LOCAL, _FARTHEST_LOCAL = 7, 10


def refuse_asymmetric(distances: Any) -> None:
    """Raise ValueError if the distances are not symmetric."""
    if sparse.issparse(distances):
        difference = abs(distances - distances.T)
        symmetric = difference.nnz == 0 or difference.max() <= 1e-8 * distances.data.max()
    else:
        symmetric = np.allclose(distances, distances.T, rtol=1e-8, atol=0.0)
    if not symmetric:
        raise ValueError(
            "distances must be symmetric: X differs from its transpose. Take the mean of the two, "
            "if they are meant to be the same"
        )


def find_bandwidth(distances: Any, bandwidth: Any) -> float | Array:
    """Return the bandwidth sigma as a number, or as an array with one for each row."""
    check_bandwidth(bandwidth)
    q = local_neighbor(bandwidth, distances.shape[1])
    if q is not None:
        return _distances_to_neighbor(distances, q)
    if isinstance(bandwidth, str):
        is_sparse = sparse.issparse(distances)
        values = _above_diagonal(distances).data if is_sparse else distances[_above(distances)]
        finite = values[np.isfinite(values)]
        middle = float(np.median(finite)) if finite.size else 0.0
        return middle or float(_smallest_positive(finite[None])[0])
    return float(bandwidth)


def check_bandwidth(bandwidth: Any) -> None:
    """Raise ValueError if the parameter `bandwidth` is invalid."""
    if local_neighbor(bandwidth, n_points=1) is not None:
        return
    if isinstance(bandwidth, str) and bandwidth == "median":
        return
    is_number = isinstance(bandwidth, numbers.Real) and not isinstance(bandwidth, bool)
    if not is_number or not 0 < bandwidth < np.inf:
        raise ValueError(
            'bandwidth must be "local", ("local", q) with a positive integer q, "median" or a '
            f"positive number, got {bandwidth!r}"
        )


def local_neighbor(bandwidth: Any, n_points: int) -> int | None:
    """Return the number q of the neighbour of a local bandwidth; None for other bandwidths."""
    if isinstance(bandwidth, str) and bandwidth == "local":
        return min(max(math.isqrt(n_points // 2), _NEAREST_LOCAL), _FARTHEST_LOCAL)
    is_pair = isinstance(bandwidth, (tuple, list)) and len(bandwidth) == 2
    if is_pair and bandwidth[0] == "local":
        q = bandwidth[1]
        if is_integer(q) and q >= 1:
            return int(q)
    return None


def _distances_to_neighbor(distances: Any, q: int) -> Array:
    """Return the (q + 1)-th smallest distance of each row, or its largest finite one.

    For fitted points that is the distance to the q-th neighbour, since the smallest distance is
    that of a point to itself; for new points the same rule makes the map continuous.
    """
    if sparse.issparse(distances):
        bounds = zip(distances.indptr[:-1], distances.indptr[1:], strict=True)
        rows = [distances.data[start:stop] for start, stop in bounds]
    else:
        rows = distances
    found = np.empty(len(rows))
    for i, row in enumerate(rows):
        finite = row[np.isfinite(row)]
        last = min(q, finite.size - 1)
        found[i] = np.partition(finite, last)[last] if finite.size else 0.0
        if found[i] == 0.0:  # q or more duplicates
            found[i] = _smallest_positive(finite[None])[0]
    return found


def _smallest_positive(distances: Array) -> Array:
    """Return the smallest positive entry of each row, 1 if there is none."""
    positive = np.where(distances > 0, distances, np.inf).min(axis=1, initial=np.inf)
    return np.where(np.isfinite(positive), positive, 1.0)


def _above(distances: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    return np.triu_indices(distances.shape[0], 1)


def _above_diagonal(distances: Any) -> Any:
    return sparse.triu(distances, 1, format="csr")


def without_infinite(distances: Any) -> Any:
    """Return sparse distances without the stored infinite ones."""
    entries = distances.tocoo()
    finite = ~np.isinf(entries.data)
    places = entries.row[finite], entries.col[finite]
    return sparse.csr_array((entries.data[finite], places), shape=distances.shape)


def with_zero_diagonal(distances: Any) -> Any:
    """Return the distances with zeros on the diagonal; in a sparse matrix they are stored."""
    if not sparse.issparse(distances):
        if distances.diagonal().any():
            distances = distances.copy()
            np.fill_diagonal(distances, 0.0)
        return distances
    entries = distances.tocoo()
    off = entries.row != entries.col
    own = np.arange(distances.shape[0])
    rows, columns = (np.concatenate([part[off], own]) for part in (entries.row, entries.col))
    data = np.concatenate([entries.data[off], np.zeros(len(own))])
    return sparse.csr_array((data, (rows, columns)), shape=distances.shape)


def affinities(
    distances: Any,
    row_sigma: float | Array,
    column_sigma: float | Array,
    *,
    relative: bool = False,
) -> Any:
    """Return exp(-d^2 / (sigma_i sigma_j)); with `relative`, divided by the largest of each row.

    Relative affinities do not underflow for a point that is far from all others. If the square
    overflows, the affinity is zero.
    """
    if sparse.issparse(distances):
        entries = distances.tocoo()
        scale = [
            np.broadcast_to(sigma, size)[index]
            for sigma, size, index in (
                (row_sigma, distances.shape[0], entries.row),
                (column_sigma, distances.shape[1], entries.col),
            )
        ]
        with np.errstate(over="ignore"):
            exponents = (entries.data / scale[0]) * (entries.data / scale[1])
        if relative:
            least = np.full(distances.shape[0], np.inf)
            np.minimum.at(least, entries.row, exponents)
            exponents -= _or_zero(least)[entries.row]
        data = np.exp(-exponents)
        return sparse.csr_array((data, (entries.row, entries.col)), shape=distances.shape)
    with np.errstate(over="ignore"):
        affinity = distances / np.reshape(row_sigma, (-1, 1))
        affinity *= distances / column_sigma
    if relative:
        affinity -= _or_zero(affinity.min(axis=1, keepdims=True))
    np.negative(affinity, out=affinity)
    return np.exp(affinity, out=affinity)


def _or_zero(least: Array) -> Array:
    """Return the values with zero for infinite ones."""
    return np.where(np.isfinite(least), least, 0.0)


def row_sums(A: Any) -> Array:
    """Return the sum of each row of a dense or sparse matrix."""
    return np.asarray(A.sum(axis=1)).ravel()


def scaled(A: Any, by_row: Array, by_column: Array | None) -> Any:
    """Return diag(by_row) A diag(by_column)."""
    if sparse.issparse(A):
        entries = A.tocoo()
        data = entries.data * by_row[entries.row]
        if by_column is not None:
            data *= by_column[entries.col]
        return sparse.csr_array((data, (entries.row, entries.col)), shape=A.shape)
    A = A * by_row[:, None]
    return A if by_column is None else np.multiply(A, by_column, out=A)
