"""Edges of a graph: connected components, contraction, lengths, costs and majoriser weights.

A penalty comes as a `PenaltyKernel`, whose functions are called by their addresses.
"""

import ctypes

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic

from . import kernel

# Slopes are at most this: an infinite one times a length of zero would not be a number.
STEEPEST = 1e300


@intrinsic
def _call(_, address, z, parameters, out, n):  # noqa: ARG001, types
    """Call a function of `PenaltyKernel` on contiguous arrays."""
    arrays = z, parameters, out

    def generate(context, builder, __, arguments):
        at, n, *values = arguments[0], arguments[4], *arguments[1:4]
        pointers = [
            context.make_array(array)(context, builder, value).data
            for array, value in zip(arrays, values, strict=True)
        ]
        passed = [pointers[0], n, pointers[1], pointers[2]]
        function = ir.FunctionType(ir.VoidType(), [value.type for value in passed])
        builder.call(builder.inttoptr(at, function.as_pointer()), passed)
        return context.get_dummy_value()

    return types.void(types.intp, *arrays, types.intp), generate


if config.DISABLE_JIT:  # for coverage and debugging: the same call in Python
    _prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)

    def _call(address, z, parameters, out, n):
        _prototype(address)(z.ctypes.data, n, parameters.ctypes.data, out.ctypes.data)


@kernel
def evaluate(address, z, parameters):
    """A function of a `PenaltyKernel` at the distances z."""
    out = np.empty(z.shape[0])
    _call(address, z, parameters, out, z.shape[0])
    return out


@kernel
def edge_costs(norms, weights, penalty):
    """weight Omega(z) for every edge."""
    costs = evaluate(penalty.value, norms, penalty.parameters)
    for e in range(norms.shape[0]):
        costs[e] *= weights[e]
    return costs


@kernel
def majoriser_weights(norms, weights, penalty):
    """weight Omega'(z) / z for every edge, zero for one of length zero."""
    slopes = evaluate(penalty.derivative, norms, penalty.parameters)
    for e in range(norms.shape[0]):
        z = norms[e]
        slopes[e] = min(weights[e] * slopes[e], STEEPEST) / z if z > 0.0 else 0.0
    return slopes


@kernel
def edge_norms(V, edges, sizes):
    """z[e] = sqrt(sum_b sizes[b] (V[i, b] - V[j, b])^2) for e = (i, j)."""
    norms = np.empty(edges.shape[0])
    for e in range(edges.shape[0]):
        vi, vj = V[edges[e, 0]], V[edges[e, 1]]
        total = 0.0
        for b in range(V.shape[1]):
            d = vi[b] - vj[b]
            total += sizes[b] * d * d
        norms[e] = np.sqrt(total)
    return norms


@kernel
def laplacian(V, adjacency, weights, out):
    """out = L(weights) V, as sums of differences: w (v_i - v_j) keeps its digits for large w."""
    start, neighbor, edge = adjacency
    m, n = V.shape
    for i in range(m):
        v, o = V[i], out[i]
        for b in range(n):
            o[b] = 0.0
        k, end = start[i], start[i + 1]
        while k + 3 < end:
            v0, v1 = V[neighbor[k]], V[neighbor[k + 1]]
            v2, v3 = V[neighbor[k + 2]], V[neighbor[k + 3]]
            w0, w1 = weights[edge[k]], weights[edge[k + 1]]
            w2, w3 = weights[edge[k + 2]], weights[edge[k + 3]]
            for b in range(n):
                x = v[b]
                o[b] += w0 * (x - v0[b]) + w1 * (x - v1[b]) + w2 * (x - v2[b]) + w3 * (x - v3[b])
            k += 4
        while k < end:
            v0, w0 = V[neighbor[k]], weights[edge[k]]
            for b in range(n):
                o[b] += w0 * (v[b] - v0[b])
            k += 1


@kernel
def n_labels(labels):
    """The number of labels 0, 1, ..."""
    largest = -1
    for label in labels:
        largest = max(largest, label)
    return largest + 1


@kernel
def is_identity(labels):
    """Whether every node has its own index for a label."""
    n_moved = 0
    for i in range(labels.shape[0]):
        n_moved += labels[i] != i
    return n_moved == 0


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
