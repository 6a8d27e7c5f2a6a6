"""Connected components of the edges of a graph."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Indices = NDArray[np.intp]


def component_labels(n_nodes: int, edges: Indices) -> Indices:
    """Return the connected component of each node, numbered from 0 in the order of first nodes."""
    edges = np.ascontiguousarray(edges, dtype=np.intp)
    return chosen_components(n_nodes, edges, np.ones(len(edges), dtype=np.bool_))


@njit(cache=True, nogil=True)
def chosen_components(n_nodes, edges, chosen):
    """Return the components of the chosen edges, numbered in the order of their first nodes."""
    root = np.arange(n_nodes)
    for e in range(edges.shape[0]):
        if not chosen[e]:
            continue
        i, j = edges[e, 0], edges[e, 1]
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        while root[j] != j:
            root[j] = root[root[j]]
            j = root[j]
        if i < j:
            root[j] = i
        else:
            root[i] = j
    labels = np.empty(n_nodes, dtype=np.intp)
    n_components = 0
    for i in range(n_nodes):
        # The root of a component is its first node, so its label is there already.
        if root[i] == i:
            labels[i] = n_components
            n_components += 1
        else:
            j = root[i]
            while root[j] != j:
                j = root[j]
            labels[i] = labels[j]
    return labels
