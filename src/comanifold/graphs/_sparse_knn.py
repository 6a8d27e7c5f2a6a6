"""Neighbours among the stored entries of a sparse matrix of distances."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree

NOT_DISTANCES = (
    "distances must be finite and symmetric: leave unknown ones out of a sparse matrix, and take "
    "the mean of the matrix and its transpose where the two differ"
)


def check_sparse_distances(distances: Any) -> Any:
    """The distances as a CSR array, if they are those of a symmetric and finite matrix."""
    D = sparse.csr_array(distances, dtype=float)
    if D.shape[0] != D.shape[1] or not D.shape[0]:
        raise ValueError(f"distances must be a square matrix, got shape {D.shape}")
    D.sum_duplicates()
    # Stored zeros are distances as well: transposing keeps them, adding matrices might not.
    T = D.T.tocsr()
    T.sort_indices()
    same_places = np.array_equal(D.indptr, T.indptr) and np.array_equal(D.indices, T.indices)
    if (
        not np.isfinite(D.data).all()
        or not same_places
        or not np.allclose(D.data, T.data, rtol=1e-8, atol=0.0)
    ):
        raise ValueError(NOT_DISTANCES)
    return D


def nearest_sparse(D: Any, n_neighbors: int) -> tuple[NDArray[np.intp], int]:
    """Each node with its nearest, and the shortest links between what that leaves apart.

    Returns the edges, each once, links last, and how many links there are.
    """
    entries = D.tocoo()
    off = entries.row != entries.col
    i, j, length = (part[off] for part in (entries.row, entries.col, entries.data))
    i, j = i.astype(np.intp), j.astype(np.intp)
    order = np.lexsort((length, i))
    rank = np.arange(len(i)) - np.searchsorted(i[order], np.arange(D.shape[0]))[i[order]]
    near = np.zeros(len(i), dtype=bool)
    near[order] = rank < n_neighbors
    pairs, first = np.unique(np.minimum(i, j) * D.shape[0] + np.maximum(i, j), return_inverse=True)
    chosen = np.zeros(len(pairs), dtype=bool)
    chosen[first[near]] = True
    apart = np.empty(len(pairs))
    apart[first] = length
    i, j = np.divmod(pairs, D.shape[0])
    # A spanning tree that takes chosen pairs first: what else it takes are the shortest links.
    # Ranks, because the routine reads a zero length as no edge.
    rank = np.empty(len(pairs))
    rank[np.lexsort((apart, ~chosen))] = np.arange(1, len(pairs) + 1)
    places = i.astype(np.int32), j.astype(np.int32)
    tree = minimum_spanning_tree(sparse.coo_array((rank, places), shape=D.shape).tocsr())
    links = np.zeros(len(pairs), dtype=bool)
    links[np.isin(rank, tree.data)] = True
    links &= ~chosen
    edges = np.stack([np.concatenate([part[chosen], part[links]]) for part in (i, j)], axis=1)
    return edges, int(links.sum())
