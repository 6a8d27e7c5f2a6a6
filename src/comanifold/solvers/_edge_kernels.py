"""Compiled loops over the edges of a graph alone: components, neighbours, contraction."""

import numpy as np

from ._kernels import kernel


@kernel
def first_come_labels(representative):
    """Labels 0, 1, ... of equal entries, in the order in which they first appear."""
    n_nodes = representative.shape[0]
    label_of = np.full(n_nodes, -1)
    labels = np.empty(n_nodes, dtype=np.intp)
    n_labels = 0
    for i in range(n_nodes):
        r = representative[i]
        if label_of[r] < 0:
            label_of[r] = n_labels
            n_labels += 1
        labels[i] = label_of[r]
    return labels


@kernel
def component_labels(n_nodes, pairs, chosen):
    """Connected components of the chosen edges, numbered in the order of their first node."""
    root = np.arange(n_nodes)
    for e in range(pairs.shape[0]):
        if not chosen[e]:
            continue
        i, j = pairs[e, 0], pairs[e, 1]
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


@kernel
def adjacency_lists(n_nodes, pairs):
    """The neighbours of each node, and the edges to them, in compressed rows."""
    start = np.zeros(n_nodes + 1, dtype=np.intp)
    for e in range(pairs.shape[0]):
        start[pairs[e, 0] + 1] += 1
        start[pairs[e, 1] + 1] += 1
    for i in range(n_nodes):
        start[i + 1] += start[i]
    place = start.copy()
    neighbor = np.empty(2 * pairs.shape[0], dtype=np.intp)
    edge = np.empty(2 * pairs.shape[0], dtype=np.intp)
    for e in range(pairs.shape[0]):
        for end in range(2):
            k = place[pairs[e, end]]
            neighbor[k] = pairs[e, 1 - end]
            edge[k] = e
            place[pairs[e, end]] += 1
    return start, neighbor, edge


@kernel
def contract_edges(pairs, weights, labels, n_clusters):
    """The edges between clusters, in lexicographic order, parallel ones added up."""
    n_edges = 0
    low = np.empty(pairs.shape[0], dtype=np.intp)
    high = np.empty(pairs.shape[0], dtype=np.intp)
    weight = np.empty(pairs.shape[0])
    for e in range(pairs.shape[0]):
        i, j = labels[pairs[e, 0]], labels[pairs[e, 1]]
        if i != j:
            low[n_edges], high[n_edges] = min(i, j), max(i, j)
            weight[n_edges] = weights[e]
            n_edges += 1
    # Sorted by counting, first by the higher end, then by the lower.
    order = np.arange(n_edges)
    for keys in (high, low):
        place = np.zeros(n_clusters + 1, dtype=np.intp)
        for e in range(n_edges):
            place[keys[e] + 1] += 1
        for i in range(n_clusters):
            place[i + 1] += place[i]
        sorted_order = np.empty(n_edges, dtype=np.intp)
        for e in order:
            sorted_order[place[keys[e]]] = e
            place[keys[e]] += 1
        order = sorted_order
    new_pairs = np.empty((n_edges, 2), dtype=np.intp)
    new_weights = np.empty(n_edges)
    n_new = 0
    for e in order:
        last = n_new - 1
        if n_new > 0 and new_pairs[last, 0] == low[e] and new_pairs[last, 1] == high[e]:
            new_weights[last] += weight[e]
        else:
            new_pairs[n_new, 0], new_pairs[n_new, 1] = low[e], high[e]
            new_weights[n_new] = weight[e]
            n_new += 1
    return new_pairs[:n_new].copy(), new_weights[:n_new].copy()


@kernel
def independent_edges(order, pairs, adjacency):
    """Mark edges of `order`, first come first served, no two of which touch or are adjacent."""
    start, neighbor, _ = adjacency
    taken = np.zeros(pairs.shape[0], dtype=np.bool_)
    blocked = np.zeros(start.shape[0] - 1, dtype=np.bool_)
    for e in order:
        if blocked[pairs[e, 0]] or blocked[pairs[e, 1]]:
            continue
        taken[e] = True
        for end in range(2):
            node = pairs[e, end]
            blocked[node] = True
            for k in range(start[node], start[node + 1]):
                blocked[neighbor[k]] = True
    return taken
