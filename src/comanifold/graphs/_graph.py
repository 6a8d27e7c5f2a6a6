"""The graph that says which rows, or which columns, are drawn together."""

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from .._validation import check_count, check_matrix
from ._masked_distances import distance_blocks
from ._sparse_knn import NOT_DISTANCES, check_sparse_distances, nearest_sparse

Array = NDArray[np.float64]
DistanceBlocks = Callable[[], Iterator[tuple[int, int, Array]]]
Fallback = Callable[[int, int], Array]


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
        How many edges were added to those of the nearest neighbours to connect what they left
        apart.

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
        """Join each row of X to its nearest rows, and what then stays apart by shortest links.

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
        """Join each node to its nearest nodes, and what then stays apart by shortest links.

        Parameters
        ----------
        distances : array-like or sparse matrix of shape (n_nodes, n_nodes)
            Symmetric and finite. Of a sparse matrix only stored distances count: nodes that
            they do not connect stay apart.
        n_neighbors : int, default=5
            At most n_nodes - 1 are used.
        """
        if sparse.issparse(distances):
            D = check_sparse_distances(distances)
            n_nodes = D.shape[0]
            edges, n_links = nearest_sparse(D, _at_most_all_others(n_neighbors, n_nodes))
            graph = cls(n_nodes, edges)
            graph.n_added_links = n_links
            return graph
        D = np.asarray(distances, dtype=float)
        if D.ndim != 2 or D.shape[0] != D.shape[1] or not D.size:
            raise ValueError(f"distances must be a square matrix, got shape {D.shape}")
        if not np.isfinite(D).all() or not np.allclose(D, D.T, rtol=1e-8, atol=0.0):
            raise ValueError(NOT_DISTANCES)
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
        """The graph of the nearest nodes by the distances that blocks() yields.

        fallback(start, stop) says how far nodes are whose distance is infinite.
        """
        n_neighbors = _at_most_all_others(n_neighbors, n_nodes)
        edges = _neighbor_pairs(n_nodes, n_neighbors, blocks)
        links = _shortest_links(_components(n_nodes, edges), blocks, fallback)
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
        return _components(self.n_nodes, self.edges)

    def __repr__(self) -> str:
        return f"Graph(n_nodes={self.n_nodes}, n_edges={self.n_edges})"


def _at_most_all_others(n_neighbors, n_nodes):
    return min(check_count("n_neighbors", n_neighbors), n_nodes - 1)


def _check_edges(n_nodes, edges):
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


def _components(n_nodes, edges):
    ends = edges.T.astype(np.int32)  # older versions of SciPy read no other integers
    adjacency = sparse.coo_array((np.ones(len(edges)), tuple(ends)), shape=(n_nodes, n_nodes))
    return connected_components(adjacency, directed=False)[1].astype(np.intp)


def _neighbor_pairs(n_nodes, n_neighbors, blocks):
    """Each node paired with its nearest at a finite distance, each pair once, sorted."""
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


def _shortest_links(labels, blocks, fallback):
    """A minimum spanning tree of the shortest links between the components `labels`."""
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
    # Ranks, because a spanning tree routine reads a zero length as no edge; links between
    # components that share no column come after all others.
    unlinked = np.isinf(shortest)
    length = np.where(unlinked, shortest_fallback, shortest)
    rank = np.empty(n_components**2)
    rank[np.lexsort((length.ravel(), unlinked.ravel()))] = np.arange(1, n_components**2 + 1)
    tree = minimum_spanning_tree(np.triu(rank.reshape(n_components, n_components), 1)).tocoo()
    chosen = np.where(unlinked[..., None], fallback_link, link)[tree.row, tree.col]
    return np.sort(chosen, axis=1)


def _keep_shortest(block, order, first, labels, start, shortest, link):
    """Lower shortest[c, d], and its link, to the least length in a block of rows."""
    for i, row in enumerate(block):
        c = labels[start + i]
        least = np.minimum.reduceat(row, first)
        for d in np.flatnonzero(least < shortest[c]):
            shortest[c, d] = least[d]
            stop = first[d + 1] if d + 1 < len(first) else len(row)
            link[c, d] = start + i, order[first[d] + np.argmin(row[first[d] : stop])]
