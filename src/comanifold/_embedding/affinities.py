"""Affinities from distances: Gaussian kernels and their row sums.

Distances are dense or sparse; pairs that a sparse matrix does not store have no affinity.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

Array = NDArray[np.float64]


def refuse_asymmetric(distances: Any) -> None:
    """Raise ValueError if the distances are not symmetric."""
    if sparse.issparse(distances):
        T = distances.T.tocsr()  # its indices are in order
        if (
            np.array_equal(distances.indptr, T.indptr)
            and np.array_equal(distances.indices, T.indices)
            and np.array_equal(distances.data, T.data)
        ):
            return
        difference = abs(distances - T)
        symmetric = difference.nnz == 0 or difference.max() <= 1e-8 * distances.data.max()
    else:
        symmetric = np.array_equal(distances, distances.T) or np.allclose(
            distances, distances.T, rtol=1e-8, atol=0.0
        )
    if not symmetric:
        raise ValueError(
            "distances must be symmetric: X differs from its transpose. Take the mean of the two, "
            "if they are meant to be the same"
        )


def without_infinite(distances: Any) -> Any:
    """Return sparse distances without the stored infinite ones."""
    if distances.format == "csr" and not np.isinf(distances.data).any():
        return distances
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
    is_stored = np.count_nonzero(~off) == distances.shape[0]
    if distances.format == "csr" and is_stored and not entries.data[~off].any():
        return distances
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
        return _with_data(distances, entries, np.exp(-exponents))
    with np.errstate(over="ignore"):
        affinity = distances / np.reshape(row_sigma, (-1, 1))
        affinity *= distances / column_sigma
    if relative:
        affinity -= _or_zero(affinity.min(axis=1, keepdims=True))
    np.negative(affinity, out=affinity)
    return np.exp(affinity, out=affinity)


def _with_data(A: Any, entries: Any, data: Array) -> Any:
    """Return a CSR array with other values for the entries of A, which are `entries` in COO."""
    if A.format == "csr":  # its entries are in the same order
        return sparse.csr_array((data, A.indices, A.indptr), shape=A.shape)
    return sparse.csr_array((data, (entries.row, entries.col)), shape=A.shape)


def _or_zero(least: Array) -> Array:
    """Return the values with zero for infinite ones."""
    return np.where(np.isfinite(least), least, 0.0)


def count_components(A: Any, least: float = 0.0) -> int:
    """Return the number of connected components of points with affinities above `least`.

    Parameters
    ----------
    A : ndarray or sparse array of shape (n_points, n_points)
        Symmetric.
    least : float, default=0.0
    """
    if sparse.issparse(A):
        is_linked = A.data > least
        linked = A if is_linked.all() else least < A
    else:
        linked = least < A
        if _reaches_all(linked):  # faster than to make a sparse matrix of many entries
            return 1
        linked = sparse.csr_array(linked)
    return int(connected_components(linked, directed=False)[0])


def _reaches_all(linked: NDArray[np.bool_]) -> bool:
    """Return True if every point can be reached from the first."""
    reached = np.zeros(len(linked), dtype=bool)
    last = np.zeros(1, dtype=np.intp)
    reached[0] = True
    while last.size:
        new = linked[last].any(axis=0) & ~reached
        reached |= new
        last = np.flatnonzero(new)
    return bool(reached.all())


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
        return _with_data(A, entries, data)
    A = A * by_row[:, None]
    return A if by_column is None else np.multiply(A, by_column, out=A)
