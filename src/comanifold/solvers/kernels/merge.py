"""Merging clusters where that lowers the objective f, however far apart they are.

`agglomerate` merges neighbours one after the other, each time by an upper bound on the change of
f. The bound is that of the quadratic majoriser: an edge of length z0 and penalty g costs at most
p + q / 2 z^2 at length z, with q = weight Omega'(z0) / z0 and p = g - q / 2 z0^2, and nothing once
its ends are one; the parabolas of parallel edges add up. Fusing the clusters a and b at the mean of
their members moves them by

    delta_a = s_b / (s_a + s_b) (v_b - v_a),    delta_b = -s_a / (s_a + s_b) (v_b - v_a),

so with the gradient G_a = sum_c q_ac (v_a - v_c) and the degree Q_a = sum_c q_ac of all edges
but those between a and b, the bound changes by

    <G_a, delta_a> + Q_a |delta_a|^2 / 2 + <G_b, delta_b> + Q_b |delta_b|^2 / 2
    - p_ab - q_ab |v_a - v_b|^2 / 2

plus the change of the data term, whose gradient is kept together with that of the edges as F_a.
Edges of the other mode only get shorter and are left out. Nothing but the bound's own
coefficients is needed, so the penalty can be any.

`pair_bounds` computes the change for one pair at a time, exact but for the edges of the other
mode.
"""

from typing import Any, NamedTuple

import numpy as np

from . import inlined, kernel
from .blocks import column_laplacian, evaluate, first_come_labels, new_tile, row_laplacian
from .quadratic import degrees

# Rows whose gradients are computed at a time.
_LANES = np.int64(16)  # not an int: compiled code would treat it as a type of its own


@kernel
def _root(parent, i):
    """The root of i in a union-find forest, whose paths are halved on the way."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def _bound(V, counts, sizes, other_sizes, F, Q, a, b, shared, offset):
    """The change of the bound when a and b are fused.

    `shared` and `offset` are the q and the p of the edge between them.
    """
    total = sizes[a] + sizes[b]
    to_a, to_b = sizes[b] / total, sizes[a] / total
    va, vb, fa, fb, na, nb = V[a], V[b], F[a], F[b], counts[a], counts[b]
    square, slope, curvature = 0.0, 0.0, 0.0
    for j in range(V.shape[1]):
        d = vb[j] - va[j]
        square += other_sizes[j] * d * d
        slope += d * (to_a * fa[j] - to_b * fb[j])
        curvature += d * d * (to_a * to_a * na[j] + to_b * to_b * nb[j])
    own = offset + 0.5 * shared * square
    return slope + 0.5 * curvature + _stretch(sizes, Q, a, b, shared) * square - own


@inlined
def _stretch(sizes, Q, a, b, shared):
    """By how much fusing a and b raises the bound of their other edges, per square of length."""
    total = sizes[a] + sizes[b]
    to_a, to_b = sizes[b] / total, sizes[a] / total
    return shared + 0.5 * (to_a * to_a * (Q[a] - shared) + to_b * to_b * (Q[b] - shared))


class _Ends(NamedTuple):
    """The edges of each cluster, as circular lists of ends that are linked in both directions.

    An end of an edge is a place in the adjacency lists: `node` is the node across, which may since
    be part of a cluster. Two clusters are joined by one edge at most.

    Attributes
    ----------
    start, node, edge : ndarray of int
        The adjacency lists of the nodes.
    following, preceding : ndarray of int of shape (2 n_edges,)
    first : ndarray of int of shape (n_nodes,)
        An end of each cluster, -1 if it has none.
    q, p : ndarray of shape (n_edges,)
        The parabola of each edge.
    same : ndarray of int of shape (n_edges,)
        A union-find forest: the edge that an edge was added to when they became parallel.
    """

    start: Any
    node: Any
    edge: Any
    following: Any
    preceding: Any
    first: Any
    q: Any
    p: Any
    same: Any


@kernel
def _linked_ends(edges, lengths, costs, majoriser):
    """The lists of ends with nothing fused."""
    start, neighbor, edge = edges.adjacency
    n_ends = edge.shape[0]
    following, preceding = np.arange(1, n_ends + 1), np.arange(-1, n_ends - 1)
    first = start[:-1].copy()
    for i in range(first.shape[0]):
        if start[i] == start[i + 1]:
            first[i] = -1
        else:
            following[start[i + 1] - 1], preceding[start[i]] = start[i], start[i + 1] - 1
    p = costs - 0.5 * majoriser * lengths**2
    same = np.arange(costs.shape[0])
    return _Ends(start, neighbor, edge, following, preceding, first, majoriser.copy(), p, same)


@kernel
def _unlink(ends, cluster, end):
    """Remove an end from the list of a cluster."""
    before, after = ends.preceding[end], ends.following[end]
    ends.following[before], ends.preceding[after] = after, before
    if ends.first[cluster] == end:
        ends.first[cluster] = after if after != end else -1


@kernel
def _move_and_join(ends, F, parent, pulls, met, met_before, fresh, a, b):
    """Update the gradients of the neighbours of a and b, and join the edges of b to those of a.

    `pulls` are the moves of a and b, times the sizes of the columns. `met` has an entry for each
    cluster, all below `met_before`, which stay below `met_before` plus the number of edges.
    """
    for side in range(2):
        own, other, pull = (b, a, pulls[1]) if side else (a, b, pulls[0])
        end = ends.first[own]
        stop = ends.preceding[end]
        while True:
            after, is_last = ends.following[end], end == stop
            e, c = ends.edge[end], _root(parent, ends.node[end])
            if c == other:  # the edge between the two goes, one end at each turn
                _unlink(ends, own, end)
            else:
                f, weight = F[c], ends.q[e]
                for j in range(f.shape[0]):
                    f[j] -= weight * pull[j]
                fresh[c] = True
                if side == 0:
                    met[c] = met_before + e
                elif met[c] >= met_before:  # a has an edge to it as well
                    kept = met[c] - met_before
                    ends.q[kept] += weight
                    ends.p[kept] += ends.p[e]
                    ends.same[e] = kept
                    _unlink(ends, b, end)
                    across = ends.start[ends.node[end]]
                    while ends.edge[across] != e:
                        across += 1
                    _unlink(ends, c, across)
            if is_last:
                break
            end = after
    head, added = ends.first[a], ends.first[b]
    if head < 0:
        ends.first[a] = added
    elif added >= 0:
        tail, last = ends.preceding[head], ends.preceding[added]
        ends.following[tail], ends.preceding[added] = added, tail
        ends.following[last], ends.preceding[head] = head, last


@kernel
def _sorted_below(values, bound):
    """Indices of the values below a bound, in ascending order of value, by a stable merge sort."""
    n = 0
    order, other = np.empty(values.shape[0], np.intp), np.empty(values.shape[0], np.intp)
    for e in range(values.shape[0]):
        if values[e] < bound:
            order[n] = e
            n += 1
    width = 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            left, right = low, middle
            for k in range(low, high):
                if right == high or (left < middle and values[order[left]] <= values[order[right]]):
                    other[k] = order[left]
                    left += 1
                else:
                    other[k] = order[right]
                    right += 1
        order, other = other, order
        width *= 2
    return order[:n]


@kernel
def gradient_norms(V, counts, means, row_sizes, column_sizes, rows, columns, row_w, column_w, F):
    """The norms of F_a, dual to that of lengths, of the row clusters and of the column clusters.

    F becomes the F_a of the row clusters.
    """
    m, n = V.shape
    tile, image = new_tile(m, n), new_tile(m, n)
    n_lanes = tile.shape[1]
    by_rows, by_columns = np.empty((n_lanes, n)), np.empty((n_lanes, n))
    row_norms, column_norms = np.zeros(m), np.zeros(n)
    for first in range(0, m, n_lanes):
        stop = min(first + n_lanes, m)
        row_laplacian(V, first, stop, rows, row_w, by_rows, first)
        column_laplacian(V, first, columns, column_w, tile, image, by_columns)
        for a in range(first, stop):
            v, count, mean, size = V[a], counts[a], means[a], row_sizes[a]
            lr, lc, f = by_rows[a - first], by_columns[a - first], F[a]
            total = 0.0
            for b in range(n):
                data = count[b] * (v[b] - mean[b])
                of_row = data + column_sizes[b] * lr[b]
                f[b] = of_row
                total += of_row * of_row / column_sizes[b]
                of_column = data + size * lc[b]
                column_norms[b] += of_column * of_column / size
            row_norms[a] = np.sqrt(total)
    for b in range(n):
        column_norms[b] = np.sqrt(column_norms[b])
    return row_norms, column_norms


@kernel
def may_pay(edges, sizes, lengths, costs, majoriser, gradients, least_gain):
    """Whether fusing the ends of an edge could lower the bound by `least_gain`, by their norms."""
    pairs, _, adjacency = edges
    Q = degrees(adjacency, majoriser)
    for e in range(pairs.shape[0]):
        a, b = pairs[e, 0], pairs[e, 1]
        if _is_possible(sizes, Q, a, b, majoriser[e], costs[e], lengths[e], gradients, least_gain):
            return True
    return False


@inlined
def _is_possible(sizes, Q, a, b, shared, own, length, gradients, least_gain):
    """Whether the least that the bound can change by when a and b are fused is low enough.

    Not counted is the curvature of the data term, which is not negative.
    """
    slope = (sizes[b] * gradients[a] + sizes[a] * gradients[b]) / (sizes[a] + sizes[b]) * length
    stretch = _stretch(sizes, Q, a, b, shared) * length * length
    return not stretch - slope - own >= -least_gain


@kernel
def to_gradients(V, counts, means, other_sizes, adjacency, majoriser):
    """Replace the means by the gradients F_a of the row clusters."""
    m, n = V.shape
    n_lanes = min(m, _LANES)
    laplacian = np.empty((n_lanes, n))
    for first in range(0, m, n_lanes):
        stop = min(first + n_lanes, m)
        row_laplacian(V, first, stop, adjacency, majoriser, laplacian, first)
        for i in range(first, stop):
            l, f, v, count = laplacian[i - first], means[i], V[i], counts[i]
            for j in range(n):
                f[j] = other_sizes[j] * l[j] + count[j] * (v[j] - f[j])


@kernel
def agglomerate(
    V, counts, F, norms, sizes, other_sizes, edges, lengths, costs, majoriser, least_gain
):
    """Labels of clusters that lower the bound when fused, and by how much they lower it.

    Goes through the edges from the best to the worst, again and again until none is left that
    lowers the bound by `least_gain`. No two edges have the same ends. F are the gradients F_a and
    `norms` their norms; V, counts and F are overwritten.
    """
    m, n = V.shape
    pairs, n_edges = edges.pairs, costs.shape[0]
    Q = degrees(edges.adjacency, majoriser)
    ends = _linked_ends(edges, lengths, costs, majoriser)
    candidates, n_candidates = np.empty(n_edges, np.intp), 0
    for e in range(n_edges):
        a, b = pairs[e, 0], pairs[e, 1]
        if _is_possible(sizes, Q, a, b, majoriser[e], costs[e], lengths[e], norms, least_gain):
            candidates[n_candidates] = e
            n_candidates += 1
    sizes = sizes.copy()
    parent, met, n_mergers = np.arange(m), np.full(m, -1), 0
    change, pulls, gained = np.empty(n_edges), np.empty((2, n)), 0.0
    fresh = np.empty(m, dtype=np.bool_)
    while n_candidates > 0:
        for k in range(n_candidates):
            e = candidates[k]
            a, b = _root(parent, pairs[e, 0]), _root(parent, pairs[e, 1])
            change[k] = _bound(V, counts, sizes, other_sizes, F, Q, a, b, ends.q[e], ends.p[e])
        fresh[:] = False
        for k in _sorted_below(change[:n_candidates], -least_gain):
            e = _root(ends.same, candidates[k])
            a, b = _root(parent, pairs[e, 0]), _root(parent, pairs[e, 1])
            if a == b:
                continue
            shared = ends.q[e]
            lowered = _bound(V, counts, sizes, other_sizes, F, Q, a, b, shared, ends.p[e])
            if not lowered < -least_gain:
                continue
            gained -= lowered
            to_a, to_b = sizes[b] / (sizes[a] + sizes[b]), sizes[a] / (sizes[a] + sizes[b])
            # The gradient of the edge between a and b goes, all else follows the move.
            va, vb, fa, fb, na, nb = V[a], V[b], F[a], F[b], counts[a], counts[b]
            rest = (Q[a] - shared) * to_a - (Q[b] - shared) * to_b
            for j in range(n):
                d = vb[j] - va[j]
                weighted = other_sizes[j] * d
                pulls[0, j], pulls[1, j] = to_a * weighted, -to_b * weighted
                fa[j] += fb[j] + d * (to_a * na[j] - to_b * nb[j]) + weighted * rest
                va[j] += to_a * d
                na[j] += nb[j]
            _move_and_join(ends, F, parent, pulls, met, n_mergers * n_edges, fresh, a, b)
            sizes[a] += sizes[b]
            Q[a] += Q[b] - 2.0 * shared
            parent[b] = a
            fresh[a] = True
            n_mergers += 1
        # Only where a cluster or its neighbour has moved can a fusion have come to pay.
        n_candidates = 0
        for i in range(m):
            if not fresh[i] or parent[i] != i or ends.first[i] < 0:
                continue
            end = ends.first[i]
            while True:
                other = _root(parent, ends.node[end])
                if i < other or not fresh[other]:  # of two fresh ends the first
                    candidates[n_candidates] = ends.edge[end]
                    n_candidates += 1
                end = ends.following[end]
                if end == ends.first[i]:
                    break
    for i in range(m):
        parent[i] = _root(parent, i)
    return first_come_labels(parent), gained


@kernel
def pair_bounds(V, counts, means, sizes, other_sizes, edges, norms, penalty):
    """Upper bounds on the change of the objective when the ends of each edge are merged.

    Edges of the other mode, which get shorter, are left out; apart from that the change is exact.
    Infinite for an edge that is the shortest at neither of its ends: those are three quarters of
    all edges, and hardly ever pay.
    """
    pairs, weights, adjacency = edges
    start, neighbor, edge = adjacency
    n_edges, n = pairs.shape[0], V.shape[1]
    nearest = np.full(V.shape[0], np.inf)
    for e in range(n_edges):
        for end in range(2):
            nearest[pairs[e, end]] = min(nearest[pairs[e, end]], norms[e])
    # The other edges at either end of the candidate e are listed from first[e] on.
    first = np.zeros(n_edges + 1, dtype=np.intp)
    bounds = np.full(n_edges, np.inf)
    for e in range(n_edges):
        i, j = pairs[e, 0], pairs[e, 1]
        first[e + 1] = first[e]
        if norms[e] <= max(nearest[i], nearest[j]):
            first[e + 1] += start[i + 1] - start[i] + start[j + 1] - start[j] - 2
            bounds[e] = 0.0
    lengths = np.empty(first[n_edges])
    touched = np.empty(first[n_edges], dtype=np.intp)
    merged = np.empty(n)
    for e in range(n_edges):
        if bounds[e] == np.inf:
            continue
        i, j = pairs[e, 0], pairs[e, 1]
        share = sizes[i] / (sizes[i] + sizes[j])
        total = 0.0
        for b in range(n):
            v = share * V[i, b] + (1.0 - share) * V[j, b]
            merged[b] = v
            total += counts[i, b] * (v - V[i, b]) * (v + V[i, b] - 2.0 * means[i, b])
            total += counts[j, b] * (v - V[j, b]) * (v + V[j, b] - 2.0 * means[j, b])
        bounds[e] = 0.5 * total
        position = first[e]
        for end in range(2):
            node = pairs[e, end]
            for k in range(start[node], start[node + 1]):
                if edge[k] == e:
                    continue
                other = V[neighbor[k]]
                total = 0.0
                for b in range(n):
                    d = merged[b] - other[b]
                    total += other_sizes[b] * d * d
                lengths[position] = np.sqrt(total)
                touched[position] = edge[k]
                position += 1
    before = evaluate(penalty.value, norms, penalty.parameters)
    after = evaluate(penalty.value, lengths, penalty.parameters)
    for e in range(n_edges):
        if bounds[e] == np.inf:
            continue
        stretch = 0.0
        for k in range(first[e], first[e + 1]):
            stretch += weights[touched[k]] * (after[k] - before[touched[k]])
        bounds[e] += stretch - weights[e] * before[e]
    return bounds


@kernel
def independent_edges(bounds, least_gain, edges):
    """Mark edges with a bound below -least_gain, best first, no two of them touching or adjacent.

    Also returns the sum of their bounds.
    """
    pairs, _, adjacency = edges
    start, neighbor, _ = adjacency
    taken = np.zeros(pairs.shape[0], dtype=np.bool_)
    blocked = np.zeros(start.shape[0] - 1, dtype=np.bool_)
    total = 0.0
    for e in _sorted_below(bounds, -least_gain):
        if blocked[pairs[e, 0]] or blocked[pairs[e, 1]]:
            continue
        taken[e] = True
        total += bounds[e]
        for end in range(2):
            node = pairs[e, end]
            blocked[node] = True
            for k in range(start[node], start[node + 1]):
                blocked[neighbor[k]] = True
    return taken, total
