"""Neighbour graphs of rows with missing entries, made connected by their shortest links."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from .._validation import check_count, check_matrix
from ._masked_distances import distance_blocks

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


def component_labels(n_nodes: int, edges: Indices) -> Indices:
    """Return the connected component of each node, numbered from 0."""
    ends = edges.T.astype(np.int32)  # older versions of SciPy read no other integers
    adjacency = sparse.coo_array((np.ones(len(edges)), tuple(ends)), shape=(n_nodes, n_nodes))
    return connected_components(adjacency, directed=False)[1].astype(np.intp)


def shortest_links(labels: Indices, links: Indices, lengths: Array) -> Indices:
    """Return which links form a minimum spanning forest of the components.

    Parameters
    ----------
    labels : ndarray of int of shape (n_nodes,)
        The component of each node, numbered from 0.
    links : ndarray of int of shape (n_links, 2)
        Pairs of nodes that may be linked.
    lengths : ndarray of shape (n_links,)
        Of equally long links the first is taken.

    Returns
    -------
    chosen : ndarray of int
        Indices of links, in rising order.
    """
    n_components = int(labels.max(initial=0)) + 1
    if n_components == 1:
        return np.empty(0, np.intp)
    low, high = np.sort(labels[links], axis=1).T
    order = np.argsort(lengths, kind="stable")
    order = order[(low != high)[order]]
    # The shortest link of each pair of components. Ranks replace lengths, because the spanning
    # tree routine reads a length of zero as no edge.
    keys, rank = np.unique(low[order] * n_components + high[order], return_index=True)
    ends = (keys // n_components).astype(np.int32), (keys % n_components).astype(np.int32)
    shape = (n_components, n_components)
    tree = minimum_spanning_tree(sparse.coo_array((rank + 1.0, ends), shape=shape).tocsr())
    return np.sort(order[tree.data.astype(np.intp) - 1])


DistanceBlocks = Callable[[], Iterator[tuple[int, int, Array]]]
Fallback = Callable[[int, int], Array]

_NOT_SYMMETRIC = (
    "distances must be symmetric: take the mean of the matrix and its transpose where the two "
    "differ"
)


class Graph:
    """An undirected graph with positive edge weights.

    Parameters
    ----------
    n_nodes : int
        Number of nodes: rows, or columns, of the matrix.
    edges : array-like of shape (n_edges, 2)
        Pairs of node indices, each pair once.
    weights : array-like of shape (n_edges,), optional
        Positive edge weights, 1 by default.

    Attributes
    ----------
    n_nodes, n_edges, n_components : int
        Numbers of nodes, of edges, and of connected components.
    edges, weights : ndarray
        As given, read only.
    is_connected : bool
    component_labels : ndarray of int of shape (n_nodes,)
        The connected component of each node.
    n_added_links : int
        Number of edges that were added to those of the nearest neighbours to connect the graph.

    Examples
    --------
    >>> from comanifold import Graph
    >>> path = Graph(3, [[0, 1], [1, 2]], weights=[1.0, 0.5])
    >>> path.is_connected
    True
    """

    def __init__(self, n_nodes: int, edges: ArrayLike, weights: ArrayLike | None = None):
        self.n_nodes = check_count("n_nodes", n_nodes)
        self.edges = _check_edges(self.n_nodes, edges)
        self.weights = _check_weights(len(self.edges), weights)
        self.n_added_links = 0

    @classmethod
    def nearest_neighbors(cls, X: ArrayLike, n_neighbors: int = 5) -> "Graph":
        """Return the graph of the nearest neighbours of each row of X, linked to be connected.

        Distances are those of `masked_distances`. Two rows are joined if either is among the
        nearest of the other. The components of that graph are joined by a minimum spanning
        tree of the shortest links between them (Assumption 2.1 of the paper asks for a
        connected graph); components that share no observed column are linked through the rows
        whose means are closest.

        Parameters
        ----------
        X : array-like of shape (n_nodes, n_features)
            NaN marks a missing entry. Every row needs an observed entry.
        n_neighbors : int, default=5
            At most n_nodes - 1 are used.
        """
        X = check_matrix(X, need_observed_rows=True)
        means = np.nanmean(X, axis=1)
        return cls._join_nearest(
            X.shape[0],
            n_neighbors,
            lambda: distance_blocks(X),
            lambda start, stop: np.abs(means[start:stop, None] - means),
        )

    @classmethod
    def from_distances(cls, distances: ArrayLike, n_neighbors: int = 5) -> "Graph":
        """Return the graph of the nearest neighbours of each node, linked to be connected.

        Parameters
        ----------
        distances : array-like or sparse matrix of shape (n_nodes, n_nodes)
            Symmetric, finite and not negative. Of a sparse matrix only stored distances count,
            stored zeros too: nodes that they do not connect stay apart.
        n_neighbors : int, default=5
            At most n_nodes - 1 are used.
        """
        if sparse.issparse(distances):
            D = _check_sparse_distances(distances)
            n_neighbors = _at_most_all_others(n_neighbors, D.shape[0])
            return cls._linked(D.shape[0], *_nearest_stored(D, n_neighbors))
        D = np.asarray(distances, dtype=float)
        if D.ndim != 2 or D.shape[0] != D.shape[1] or not D.size:
            raise ValueError(f"distances must be a square matrix, got shape {D.shape}")
        _check_values(D, D.T)
        return cls._join_nearest(
            len(D),
            n_neighbors,
            lambda: iter([(0, len(D), D.copy())]),
            lambda start, stop: D[start:stop],
        )

    @classmethod
    def _join_nearest(
        cls, n_nodes: int, n_neighbors: int, blocks: DistanceBlocks, fallback: Fallback
    ) -> "Graph":
        """Return the graph of the nearest nodes by the distances that blocks() yields.

        fallback(start, stop) returns distances for nodes at an infinite distance.
        """
        n_neighbors = _at_most_all_others(n_neighbors, n_nodes)
        edges = _neighbor_pairs(n_nodes, n_neighbors, blocks)
        links = _links_of_blocks(component_labels(n_nodes, edges), blocks, fallback)
        return cls._linked(n_nodes, edges, links)

    @classmethod
    def _linked(cls, n_nodes: int, edges: Indices, links: Indices) -> "Graph":
        """Return the graph with added links."""
        graph = cls(n_nodes, np.concatenate([edges, links]))
        graph.n_added_links = len(links)
        return graph

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.edges)

    @cached_property
    def n_components(self) -> int:
        """Number of connected components."""
        return int(self.component_labels.max()) + 1

    @property
    def is_connected(self) -> bool:
        """Whether there is one connected component."""
        return self.n_components == 1

    @cached_property
    def component_labels(self) -> NDArray[np.intp]:
        """The connected component of each node."""
        return component_labels(self.n_nodes, self.edges)

    def __repr__(self) -> str:
        return f"Graph(n_nodes={self.n_nodes}, n_edges={self.n_edges})"


def _at_most_all_others(n_neighbors, n_nodes):
    """Validate n_neighbors; return it, or the number of other nodes if that is less."""
    return min(check_count("n_neighbors", n_neighbors), n_nodes - 1)


def _check_edges(n_nodes, edges):
    """Validate edges; return them as a read-only array of integers."""
    try:
        edges = np.asarray(edges)
    except ValueError as error:
        raise ValueError(f"edges must have shape (n_edges, 2): {error}") from error
    if edges.shape in ((0,), (0, 2)):
        edges = np.empty((0, 2), dtype=np.intp)
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise ValueError(f"edges must have shape (n_edges, 2), got {edges.shape}")
    if edges.dtype.kind not in "iu":
        raise ValueError(f"edges must hold integers, got dtype {edges.dtype}")
    outside = (edges < 0) | (edges >= n_nodes)
    if outside.any():
        e = int(np.argmax(outside.any(axis=1)))
        raise ValueError(
            f"edges must lie between 0 and n_nodes - 1 = {n_nodes - 1}: edge {e} is "
            f"{edges[e].tolist()}"
        )
    edges = edges.astype(np.intp)
    loops = edges[:, 0] == edges[:, 1]
    if loops.any():
        e = int(np.argmax(loops))
        raise ValueError(f"edges must join two different nodes: edge {e} is {edges[e].tolist()}")
    low, high = edges.min(axis=1), edges.max(axis=1)
    _, first = np.unique(low * n_nodes + high, return_index=True)
    if len(first) < len(edges):
        e = int(np.setdiff1d(np.arange(len(edges)), first)[0])
        raise ValueError(
            f"edges must list each pair once, in either direction: edge {e}, "
            f"{edges[e].tolist()}, is a repetition"
        )
    edges.flags.writeable = False
    return edges


def _check_weights(n_edges, weights):
    """Validate edge weights; return them as a read-only array of floats."""
    if weights is None:
        weights = np.ones(n_edges)
    weights = np.asarray(weights)
    if weights.dtype.kind not in "iuf":
        raise ValueError(f"weights must be real numbers, got dtype {weights.dtype}")
    if weights.shape != (n_edges,):
        raise ValueError(f"weights must have shape ({n_edges},), got {weights.shape}")
    weights = weights.astype(float)
    wrong = ~(np.isfinite(weights) & (weights > 0))
    if wrong.any():
        e = int(np.argmax(wrong))
        raise ValueError(
            f"weights must be positive and finite: weight {e} is {weights[e]}. Leave out an "
            "edge rather than give it no weight"
        )
    weights.flags.writeable = False
    return weights


def _check_sparse_distances(distances: Any) -> Any:
    """Validate sparse distances; return them as a CSR array."""
    D = sparse.csr_array(distances, dtype=float)
    if D.shape[0] != D.shape[1] or not D.shape[0]:
        raise ValueError(f"distances must be a square matrix, got shape {D.shape}")
    D.sum_duplicates()
    # Stored zeros are distances as well: transposing keeps them, adding matrices might not.
    T = D.T.tocsr()
    T.sort_indices()
    if not (np.array_equal(D.indptr, T.indptr) and np.array_equal(D.indices, T.indices)):
        raise ValueError(_NOT_SYMMETRIC)
    _check_values(D.data, T.data)
    return D


def _check_values(distances: Array, transposed: Array) -> None:
    """Raise ValueError unless distances are finite, symmetric and not negative."""
    if not np.isfinite(distances).all():
        raise ValueError(
            "distances must be finite: leave unknown ones out of a sparse matrix, got NaN or inf"
        )
    if not np.allclose(distances, transposed, rtol=1e-8, atol=0.0):
        raise ValueError(_NOT_SYMMETRIC)
    if distances.min(initial=0.0) < 0.0:
        raise ValueError(f"distances must not be negative, got {distances.min():g}")


def _nearest_stored(D: Any, n_neighbors: int) -> tuple[Indices, Indices]:
    """Return edges to the nearest nodes by stored distances, and links between components."""
    n_nodes = D.shape[0]
    entries = D.tocoo()
    off = entries.row != entries.col
    i, j, length = (part[off] for part in (entries.row, entries.col, entries.data))
    i, j = i.astype(np.intp), j.astype(np.intp)
    order = np.lexsort((length, i))
    rank = np.arange(len(i)) - np.searchsorted(i[order], np.arange(n_nodes))[i[order]]
    near = np.zeros(len(i), dtype=bool)
    near[order] = rank < n_neighbors
    keys, pair_of = np.unique(np.minimum(i, j) * n_nodes + np.maximum(i, j), return_inverse=True)
    chosen = np.zeros(len(keys), dtype=bool)
    chosen[pair_of[near]] = True
    lengths = np.empty(len(keys))
    lengths[pair_of] = length
    pairs = np.stack(np.divmod(keys, n_nodes), axis=1)
    labels = component_labels(n_nodes, pairs[chosen])
    return pairs[chosen], pairs[shortest_links(labels, pairs, lengths)]


def _neighbor_pairs(n_nodes, n_neighbors, blocks):
    """Return the pairs of each node and its nearest at a finite distance, each once, sorted."""
    pairs = [np.empty((0, 2), dtype=np.intp)]
    if n_neighbors == 0:
        return pairs[0]
    for start, stop, block in blocks():
        block[np.arange(stop - start), np.arange(start, stop)] = np.inf
        nearest = np.argpartition(block, n_neighbors - 1, axis=1)[:, :n_neighbors]
        rows = np.repeat(np.arange(start, stop), n_neighbors)
        found = np.isfinite(np.take_along_axis(block, nearest, axis=1)).ravel()
        pairs.append(np.sort(np.stack([rows, nearest.ravel()], axis=1)[found], axis=1))
    pairs = np.concatenate(pairs)
    keys = np.unique(pairs[:, 0] * n_nodes + pairs[:, 1])
    return np.stack([keys // n_nodes, keys % n_nodes], axis=1)


def _links_of_blocks(labels, blocks, fallback):
    """Return the shortest links between components; fallback distances come after all others."""
    n_components = labels.max() + 1
    if n_components == 1:
        return np.empty((0, 2), dtype=np.intp)
    # Nodes sorted by component: the shortest link from a node to each component is then a
    # minimum over a run of columns.
    order = np.argsort(labels, kind="stable")
    first = np.searchsorted(labels[order], np.arange(n_components))
    shortest = np.full((n_components, n_components), np.inf)
    link = np.zeros((n_components, n_components, 2), dtype=np.intp)
    shortest_fallback = np.full((n_components, n_components), np.inf)
    fallback_link = np.zeros_like(link)
    for start, stop, block in blocks():
        _keep_shortest(block[:, order], order, first, labels, start, shortest, link)
        gaps = fallback(start, stop)[:, order]
        _keep_shortest(gaps, order, first, labels, start, shortest_fallback, fallback_link)
    above = np.triu_indices(n_components, 1)
    is_far = np.isinf(shortest[above])
    lengths = np.where(is_far, shortest_fallback[above], shortest[above])
    links = np.where(is_far[:, None], fallback_link[above], link[above])
    ranks = np.empty(len(links))
    ranks[np.lexsort((lengths, is_far))] = np.arange(len(links))
    return np.sort(links[shortest_links(labels, links, ranks)], axis=1)


def _keep_shortest(block, order, first, labels, start, shortest, link):
    """Lower shortest[c, d], and its link, to the smallest length in a block of rows."""
    for i, row in enumerate(block):
        c = labels[start + i]
        least = np.minimum.reduceat(row, first)
        for d in np.flatnonzero(least < shortest[c]):
            shortest[c, d] = least[d]
            stop = first[d + 1] if d + 1 < len(first) else len(row)
            link[c, d] = start + i, order[first[d] + np.argmin(row[first[d] : stop])]
