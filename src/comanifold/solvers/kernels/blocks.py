"""Blocks of a fused matrix, the edges between them, and dual vectors of the edges.

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

# As an argument of a compiled function: for a plain 0 it would be compiled once more.
ZERO = np.int64(0)

# Numbers in a tile of rows: a quarter of a megabyte.
TILE_SIZE = 1 << 15


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
def column_edge_norms(V, edges, sizes, tile):
    """z[e] = sqrt(sum_a sizes[a] (V[a, i] - V[a, j])^2) for e = (i, j), by tiles of rows."""
    n_lanes = tile.shape[1]
    size = np.zeros(n_lanes)
    norms = np.zeros(edges.shape[0])
    for first in range(0, V.shape[0], n_lanes):
        load_tile(V, first, tile)
        for lane in range(n_lanes):
            size[lane] = sizes[first + lane] if first + lane < V.shape[0] else 0.0
        for e in range(edges.shape[0]):
            vi, vj = tile[edges[e, 0]], tile[edges[e, 1]]
            total = 0.0
            for lane in range(n_lanes):
                d = vi[lane] - vj[lane]
                total += size[lane] * d * d
            norms[e] += total
    for e in range(edges.shape[0]):
        norms[e] = np.sqrt(norms[e])
    return norms


@kernel
def laplacian(V, adjacency, weights, out):
    """out = L(weights) V."""
    row_laplacian(V, ZERO, V.shape[0], adjacency, weights, out, ZERO)


@kernel
def row_laplacian(V, first, stop, adjacency, weights, out, offset):
    """out[i - offset] = row i of L(weights) V for some rows, as sums of differences.

    w (v_i - v_j) keeps its digits for large w.
    """
    start, neighbor, edge = adjacency
    n = V.shape[1]
    for i in range(first, stop):
        v, o = V[i], out[i - offset]
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
def new_tile(m, n):
    """Room for some rows of an m x n matrix, as columns: a multiple of 8, that fit the caches."""
    n_lanes = min(max(TILE_SIZE // n, 8), 64, m + 7)
    return np.empty((n, n_lanes - n_lanes % 8))


@kernel
def load_tile(V, first, tile):
    """tile = rows of V from `first` on, as columns; past the last row, that row again."""
    last = V.shape[0] - 1
    for i in range(0, tile.shape[1], 8):
        k = first + i
        v0, v1 = V[min(k, last)], V[min(k + 1, last)]
        v2, v3 = V[min(k + 2, last)], V[min(k + 3, last)]
        v4, v5 = V[min(k + 4, last)], V[min(k + 5, last)]
        v6, v7 = V[min(k + 6, last)], V[min(k + 7, last)]
        for j in range(tile.shape[0]):
            t = tile[j, i : i + 8]
            t[0], t[1], t[2], t[3] = v0[j], v1[j], v2[j], v3[j]
            t[4], t[5], t[6], t[7] = v4[j], v5[j], v6[j], v7[j]


@kernel
def column_laplacian(V, first, adjacency, weights, tile, image, out):
    """out = rows of V L(weights) from `first` on, as many as a tile has; `image` is room for it."""
    load_tile(V, first, tile)
    row_laplacian(tile, ZERO, tile.shape[0], adjacency, weights, image, ZERO)
    for i in range(0, tile.shape[1], 8):
        o0, o1, o2, o3 = out[i], out[i + 1], out[i + 2], out[i + 3]
        o4, o5, o6, o7 = out[i + 4], out[i + 5], out[i + 6], out[i + 7]
        for j in range(tile.shape[0]):
            t = image[j, i : i + 8]
            o0[j], o1[j], o2[j], o3[j] = t[0], t[1], t[2], t[3]
            o4[j], o5[j], o6[j], o7[j] = t[4], t[5], t[6], t[7]


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
def transpose(V, out):
    """out = V', eight rows at a time so that both are read and written by the cache line."""
    m, n = V.shape
    whole = m - m % 8
    for i in range(0, whole, 8):
        v0, v1, v2, v3 = V[i], V[i + 1], V[i + 2], V[i + 3]
        v4, v5, v6, v7 = V[i + 4], V[i + 5], V[i + 6], V[i + 7]
        for j in range(n):
            o = out[j, i : i + 8]
            o[0], o[1], o[2], o[3] = v0[j], v1[j], v2[j], v3[j]
            o[4], o[5], o[6], o[7] = v4[j], v5[j], v6[j], v7[j]
    for i in range(whole, m):
        for j in range(n):
            out[j, i] = V[i, j]


@kernel
def members(labels, n_clusters):
    """The nodes of each label in their order, and where those of each begin."""
    start = np.zeros(n_clusters + 1, dtype=np.intp)
    for label in labels:
        start[label + 1] += 1
    for a in range(n_clusters):
        start[a + 1] += start[a]
    place = start.copy()
    nodes = np.empty(labels.shape[0], dtype=np.intp)
    for i in range(labels.shape[0]):
        nodes[place[labels[i]]] = i
        place[labels[i]] += 1
    return start, nodes


@kernel
def shares(sizes, labels, n_clusters):
    """The share of each node in the size of its cluster."""
    total, share = np.zeros(n_clusters), np.empty(sizes.shape[0])
    for i in range(sizes.shape[0]):
        total[labels[i]] += sizes[i]
    for i in range(sizes.shape[0]):
        share[i] = sizes[i] / total[labels[i]]
    return share


@kernel
def block_means(V, row_sizes, column_sizes, row_labels, column_labels, means):
    """means = the mean of V over each of the blocks that two sets of labels form."""
    m, n = means.shape
    start, rows = members(row_labels, m)
    row_share = shares(row_sizes, row_labels, m)
    column_share = shares(column_sizes, column_labels, n)
    sums = np.empty(V.shape[1])
    for a in range(m):
        for j in range(sums.shape[0]):
            sums[j] = 0.0
        for i in rows[start[a] : start[a + 1]]:
            share, v = row_share[i], V[i]
            for j in range(sums.shape[0]):
                sums[j] += share * column_share[j] * v[j]
        mean = means[a]
        for b in range(n):
            mean[b] = 0.0
        for j in range(sums.shape[0]):
            mean[column_labels[j]] += sums[j]


@kernel
def contract_blocks(counts, means, row_labels, column_labels, n_row_blocks, n_column_blocks):
    """Counts and means of the blocks that two sets of labels form.

    Also half the sum of the squares by which the means of the parts of a block differ from its
    own: what the data term cannot get below.
    """
    start, rows = members(row_labels, n_row_blocks)
    new_counts = np.zeros((n_row_blocks, n_column_blocks))
    new_means = np.zeros((n_row_blocks, n_column_blocks))
    n = means.shape[1]
    number, total, apart = np.empty(n), np.empty(n), np.empty(n)
    spread = 0.0
    for a in range(n_row_blocks):
        for j in range(n):
            number[j] = total[j] = 0.0
        for i in rows[start[a] : start[a + 1]]:
            count, mean = counts[i], means[i]
            for j in range(n):
                number[j] += count[j]
                total[j] += count[j] * mean[j]
        new_count, new_mean = new_counts[a], new_means[a]
        for j in range(n):
            b = column_labels[j]
            new_count[b] += number[j]
            new_mean[b] += total[j]
        for b in range(n_column_blocks):
            if new_count[b] > 0.0:
                new_mean[b] /= new_count[b]
        for j in range(n):
            apart[j] = new_mean[column_labels[j]]
        for i in rows[start[a] : start[a + 1]]:
            count, mean = counts[i], means[i]
            for j in range(n):
                difference = mean[j] - apart[j]
                spread += count[j] * difference * difference
    return new_counts, new_means, 0.5 * spread


@kernel
def divergence(vectors, factors, pairs, adjacency, out):
    """out[i] = sum of factors[e] vectors[e] over the edges that start at i, less those that end."""
    start, _, edge = adjacency
    n = vectors.shape[1]
    for i in range(out.shape[0]):
        o = out[i]
        for b in range(n):
            o[b] = 0.0
        for k in range(start[i], start[i + 1]):
            e = edge[k]
            factor = factors[e] if pairs[e, 0] == i else -factors[e]
            vector = vectors[e]
            for b in range(n):
                o[b] += factor * vector[b]


@kernel
def shrink_factors(V, vectors, pairs, caps, rho):
    """min(1, caps[e] / ||vectors[e] + rho (V_i - V_j)||) for e = (i, j)."""
    factors = np.empty(pairs.shape[0])
    for e in range(pairs.shape[0]):
        vi, vj, vector = V[pairs[e, 0]], V[pairs[e, 1]], vectors[e]
        total = 0.0
        for b in range(V.shape[1]):
            x = vector[b] + rho * (vi[b] - vj[b])
            total += x * x
        length = np.sqrt(total)
        factors[e] = 1.0 if length <= caps[e] else caps[e] / length
    return factors


@kernel
def advance_multipliers(V, vectors, leading, pairs, caps, rho, momentum):
    """One accelerated step of the multipliers, in place.

    vectors[e] becomes leading[e] + rho (V_i - V_j), shortened to caps[e]; leading[e] goes
    past it by `momentum` times its change. Returns the squared length of the step from leading
    to vectors, and which edges needed no shortening.
    """
    n = V.shape[1]
    moved = 0.0
    inside = np.empty(pairs.shape[0], dtype=np.bool_)
    for e in range(pairs.shape[0]):
        vi, vj, vector, lead = V[pairs[e, 0]], V[pairs[e, 1]], vectors[e], leading[e]
        total = 0.0
        for b in range(n):
            x = lead[b] + rho * (vi[b] - vj[b])
            total += x * x
        length = np.sqrt(total)
        inside[e] = length <= caps[e]
        factor = 1.0 if inside[e] else caps[e] / length
        for b in range(n):
            x = factor * (lead[b] + rho * (vi[b] - vj[b]))
            moved += (x - lead[b]) * (x - lead[b])
            lead[b] = x + momentum * (x - vector[b])
            vector[b] = x
    return moved, inside


@kernel
def ascend_dual(V, vectors, leading, pairs, caps, steps, momentum):
    """One accelerated step of projected dual ascent, in place, as `advance_multipliers`.

    Returns the inner product of the step back from leading with the last change of vectors, in
    the metric of the steps: positive when the momentum points the wrong way.
    """
    n = V.shape[1]
    wrong_way = 0.0
    for e in range(pairs.shape[0]):
        vi, vj, vector, lead = V[pairs[e, 0]], V[pairs[e, 1]], vectors[e], leading[e]
        total = 0.0
        for b in range(n):
            x = lead[b] + steps[e] * (vi[b] - vj[b])
            total += x * x
        length = np.sqrt(total)
        factor = 1.0 if length <= caps[e] else caps[e] / length
        product = 0.0
        for b in range(n):
            x = factor * (lead[b] + steps[e] * (vi[b] - vj[b]))
            change = x - vector[b]
            product += (lead[b] - x) * change
            lead[b] = x + momentum * change
            vector[b] = x
        wrong_way += product / steps[e]
    return wrong_way


@kernel
def linear_bound(G, means, counts, low, high):
    """Sum of G x - G^2 / 2 where x is observed, and of min(low G, high G) elsewhere."""
    m, n = G.shape
    total = 0.0
    for i in range(m):
        g, x, count = G[i], means[i], counts[i]
        for j in range(n):
            observed = g[j] * (x[j] - 0.5 * g[j])
            total += observed if count[j] > 0.0 else min(low * g[j], high * g[j])
    return total
