"""Connected components of a graph, and the shortest links that join them."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

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
