"""Neighbour graphs of rows with missing entries, made connected by their shortest links."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree

from .._validation import check_count, check_matrix
from ._components import component_labels
from ._masked_distances import Rows
from ._nearest import rows_at_ranks

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


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


# Of some nodes, the nearest in another component, and how far it is; -1 and infinity if there is
# none. Given the nodes and the component of every node.
NearestOutside = Callable[[Indices, Indices], tuple[Indices, Array]]

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
        n_nodes = X.shape[0]
        rows = Rows(X)
        ranks = np.arange(_at_most_all_others(n_neighbors, n_nodes))
        edges = each_once(rows_at_ranks(rows, ranks)[0])

        def nearest_outside(of: Indices, labels: Indices) -> tuple[Indices, Array]:
            chosen, lengths = rows_at_ranks(rows, np.zeros(1, np.intp), of=of, groups=labels)
            return chosen[:, 0], lengths[:, 0]

        links = _shortest_links_outside(n_nodes, edges, nearest_outside)
        labels = component_labels(n_nodes, np.concatenate([edges, links]))
        if labels.any():
            links = np.concatenate([links, links_by_means(labels, X)])
        return cls._linked(n_nodes, edges, links)

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
            D = sparse.triu(_check_sparse_distances(distances), 1).tocoo()
            n_neighbors = _at_most_all_others(n_neighbors, D.shape[0])
            pairs = D.row.astype(np.intp), D.col.astype(np.intp)
            return nearest_stored(D.shape[0], *pairs, D.data, n_neighbors)
        D = np.asarray(distances, dtype=float)
        if D.ndim != 2 or D.shape[0] != D.shape[1] or not D.size:
            raise ValueError(f"distances must be a square matrix, got shape {D.shape}")
        _check_values(D, D.T)
        return nearest_neighbor_graph(D, _at_most_all_others(n_neighbors, len(D)))

    @classmethod
    def _linked(cls, n_nodes: int, edges: Indices, links: Indices) -> "Graph":
        """Return the graph with added links, which are valid and not checked again."""
        graph = cls.__new__(cls)
        graph.n_nodes = n_nodes
        graph.edges = np.concatenate([edges, links])
        graph.weights = np.ones(len(graph.edges))
        graph.edges.flags.writeable = graph.weights.flags.writeable = False
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


def nearest_neighbor_graph(distances: Array, n_neighbors: int) -> Graph:
    """Return the graph of `Graph.from_distances` for dense distances that need no checks."""
    D = distances.copy()
    np.fill_diagonal(D, np.inf)
    n_nodes = len(D)
    adjacent = np.zeros(D.shape, dtype=bool)
    nearest = np.argpartition(D, max(n_neighbors - 1, 0), axis=1)[:, :n_neighbors]
    adjacent[np.arange(n_nodes)[:, None], nearest] = True
    adjacent |= adjacent.T
    edges = np.argwhere(np.triu(adjacent))

    def nearest_outside(of: Indices, labels: Indices) -> tuple[Indices, Array]:
        outside = np.where(labels[of, None] == labels, np.inf, D[of])
        nearest = outside.argmin(axis=1)
        return nearest, outside[np.arange(len(of)), nearest]

    return Graph._linked(n_nodes, edges, _shortest_links_outside(n_nodes, edges, nearest_outside))


def nearest_stored(n_nodes: int, i: Indices, j: Indices, lengths: Array, n_neighbors: int) -> Graph:
    """Return the graph of the nearest nodes by the distances of some pairs i < j, each once.

    Components are joined by the shortest of these pairs.
    """
    # The pairs of each node in the order of their lengths, as the rows of a matrix whose columns
    # are the sorted pairs: faster than sorting by nodes and lengths.
    order = np.argsort(lengths, kind="stable")
    ends = np.concatenate([i[order], j[order]]), np.tile(np.arange(len(i)), 2)
    shape = (n_nodes, max(len(i), 1))
    by_node = sparse.coo_array((np.ones(2 * len(i), dtype=bool), ends), shape=shape).tocsr()
    rank = np.arange(2 * len(i)) - np.repeat(by_node.indptr[:-1], np.diff(by_node.indptr))
    is_near = np.zeros(len(i), dtype=bool)
    is_near[order[by_node.indices[rank < n_neighbors]]] = True
    edges = np.stack([i[is_near], j[is_near]], axis=1)
    return link_by_pairs(n_nodes, edges, i, j, lengths)


def link_by_pairs(n_nodes: int, edges: Indices, i: Indices, j: Indices, lengths: Array) -> Graph:
    """Return the graph of the edges, its components joined by the shortest of the pairs i, j."""
    labels = component_labels(n_nodes, edges)
    links = np.empty((0, 2), dtype=np.intp)
    if labels.any():
        pairs = np.stack([i, j], axis=1)
        links = pairs[shortest_links(labels, pairs, lengths)]
    return Graph._linked(n_nodes, edges, links)


def each_once(nearest: Indices) -> Indices:
    """Return the pairs i < j of each node and its nearest, each once, sorted; -1 is none."""
    n_nodes, n_neighbors = nearest.shape
    i, j = np.repeat(np.arange(n_nodes), n_neighbors), nearest.ravel()
    keys = np.unique((np.minimum(i, j) * n_nodes + np.maximum(i, j))[j >= 0])
    return np.stack(np.divmod(keys, n_nodes), axis=1)


def _shortest_links_outside(
    n_nodes: int, edges: Indices, nearest_outside: NearestOutside
) -> Indices:
    """Return the minimum spanning forest of the shortest links between components.

    Borůvka's algorithm: the shortest link of each component to any other is in it. That of the
    largest component, for which most nodes would be searched, is not needed.
    """
    links = np.empty((0, 2), dtype=np.intp)
    labels = component_labels(n_nodes, edges)
    while labels.any():
        of = np.flatnonzero(labels != np.bincount(labels).argmax())
        nearest, lengths = nearest_outside(of, labels)
        order = np.argsort(lengths, kind="stable")
        order = order[np.isfinite(lengths[order])]
        first = np.unique(labels[of[order]], return_index=True)[1]
        order = order[np.sort(first)]
        candidates = np.sort(np.stack([of[order], nearest[order]], axis=1), axis=1)
        chosen = shortest_links(labels, candidates, lengths[order])
        if not chosen.size:
            break
        links = np.concatenate([links, candidates[chosen]])
        labels = component_labels(n_nodes, np.concatenate([edges, links]))
    return links


def links_by_means(labels: Indices, X: Array) -> Indices:
    """Return links between components of rows, by the gaps between the means of the rows.

    On a line the minimum spanning tree is made of neighbours: only these are candidates.
    """
    means = np.nanmean(X, axis=1)
    order = np.argsort(means, kind="stable")
    links = np.stack([order[:-1], order[1:]], axis=1)
    chosen = shortest_links(labels, links, np.diff(means[order]))
    return np.sort(links[chosen], axis=1)
