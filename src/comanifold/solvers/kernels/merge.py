"""Merging clusters where that lowers the objective f, however far apart they are.

`agglomerate` merges neighbours one after the other, each time by an upper bound on the change of
f. The bound is that of the quadratic majoriser: an edge of length z0 and penalty g costs at most
g + q / 2 (z^2 - z0^2) at length z, with q = weight Omega'(z0) / z0, and nothing once its ends
are one. Fusing the clusters a and b at the mean of their members moves them by

    delta_a = s_b / (s_a + s_b) (v_b - v_a),    delta_b = -s_a / (s_a + s_b) (v_b - v_a),

so with the gradient G_a = sum_c q_ac (v_a - v_c) and the degree Q_a = sum_c q_ac of all edges
but those between a and b, the bound changes by

    <G_a, delta_a> + Q_a |delta_a|^2 / 2 + <G_b, delta_b> + Q_b |delta_b|^2 / 2 - g_ab

plus the change of the data term, whose gradient is kept together with that of the edges as F_a.
Edges of the other mode only get shorter and are left out. Nothing but the bound's own
coefficients is needed, so the penalty can be any.

`pair_bounds` computes the change for one pair at a time, exact but for the edges of the other
mode.
"""

import numpy as np

from . import inlined, kernel
from .blocks import column_laplacian, evaluate, first_come_labels, new_tile, row_laplacian


@kernel
def _root(parent, i):
    """The root of i in a union-find forest, whose paths are halved on the way."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def _bound(V, counts, sizes, other_sizes, F, Q, a, b, shared, own):
    """The change of the bound when a and b are fused.

    `shared` is the majoriser weight of the edges between them, `own` what those edges cost.
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
    return slope + 0.5 * curvature + _stretch(sizes, Q, a, b, shared) * square - own


@inlined
def _stretch(sizes, Q, a, b, shared):
    """By how much fusing a and b raises the bound of their other edges, per square of length."""
    total = sizes[a] + sizes[b]
    to_a, to_b = sizes[b] / total, sizes[a] / total
    return shared + 0.5 * (to_a * to_a * (Q[a] - shared) + to_b * to_b * (Q[b] - shared))


@kernel
def _between(parent, first, following, edge_of, other_of, n_ends, q, g, a, b):
    """The majoriser weight and the cost of all edges between a and b."""
    if n_ends[a] > n_ends[b]:
        a, b = b, a
    shared, own = 0.0, 0.0
    end = first[a]
    while end >= 0:
        if _root(parent, other_of[end]) == b:
            shared += q[edge_of[end]]
            own += g[edge_of[end]]
        end = following[end]
    return shared, own


@kernel
def _move(V, F, q, g, fresh, other_sizes, parent, first, following, edge_of, other_of, a, b, delta):
    """Update gradients and edge costs for a move of a by delta, except for edges to b."""
    v = V[a]
    end = first[a]
    while end >= 0:
        c = _root(parent, other_of[end])
        if c != a and c != b:
            e = edge_of[end]
            fresh[c] = True
            growth = 0.0
            vc, fc = V[c], F[c]
            for j in range(V.shape[1]):
                weighted = other_sizes[j] * delta[j]
                growth += weighted * (2.0 * (v[j] - vc[j]) + delta[j])
                fc[j] -= q[e] * weighted
            g[e] += 0.5 * q[e] * growth
        end = following[end]


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
def gradient_norms(V, counts, means, row_sizes, column_sizes, rows, columns, row_w, column_w):
    """The norms of F_a, dual to that of lengths, of the row clusters and of the column clusters."""
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
            lr, lc = by_rows[a - first], by_columns[a - first]
            total = 0.0
            for b in range(n):
                data = count[b] * (v[b] - mean[b])
                of_row = data + column_sizes[b] * lr[b]
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
    start, _, edge = adjacency
    Q = np.zeros(sizes.shape[0])
    for i in range(Q.shape[0]):
        for k in range(start[i], start[i + 1]):
            Q[i] += majoriser[edge[k]]
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
def agglomerate(V, counts, means, sizes, other_sizes, pairs, costs, majoriser, least_gain):
    """Labels of clusters that lower the bound when fused, and by how much they lower it.

    Goes through the edges from the best to the worst, again and again until none is left that
    lowers the bound by `least_gain`. No two edges have the same ends. V, counts and means are
    overwritten.
    """
    m, n = V.shape
    n_edges = pairs.shape[0]
    sizes = sizes.copy()
    q, g = majoriser, costs.copy()
    F, Q = means, np.zeros(m)
    for i in range(m):
        f, v, count = F[i], V[i], counts[i]
        for j in range(n):
            f[j] = count[j] * (v[j] - f[j])
    parent = np.arange(m)
    # The edges of each cluster as a linked list: two clusters become one by joining theirs.
    first, last = np.full(m, -1), np.full(m, -1)
    following = np.full(2 * n_edges, -1)
    edge_of, other_of = np.empty(2 * n_edges, dtype=np.intp), np.empty(2 * n_edges, dtype=np.intp)
    n_ends = np.zeros(m, dtype=np.intp)
    squares, delta, step, gradient = np.empty(n_edges), np.empty(n), np.empty(n), np.empty(n)
    for e in range(n_edges):
        for side in range(2):
            i = pairs[e, side]
            end = 2 * e + side
            edge_of[end], other_of[end] = e, pairs[e, 1 - side]
            following[end] = first[i]
            first[i] = end
            if last[i] < 0:
                last[i] = end
            n_ends[i] += 1
            Q[i] += q[e]
        a, b = pairs[e, 0], pairs[e, 1]
        va, vb, fa, fb = V[a], V[b], F[a], F[b]
        square = 0.0
        for j in range(n):
            d = va[j] - vb[j]
            square += other_sizes[j] * d * d
            delta[j] = q[e] * other_sizes[j] * d
        for j in range(n):
            fa[j] += delta[j]
        for j in range(n):
            fb[j] -= delta[j]
        squares[e] = square
    # The norm of the gradient of each cluster, dual to that of lengths.
    norms = np.empty(m)
    for i in range(m):
        f = F[i]
        total = 0.0
        for j in range(n):
            total += f[j] * f[j] / other_sizes[j]
        norms[i] = np.sqrt(total)
    possible = np.empty(n_edges, dtype=np.bool_)
    for e in range(n_edges):
        a, b = pairs[e, 0], pairs[e, 1]
        length = np.sqrt(squares[e])
        possible[e] = _is_possible(sizes, Q, a, b, q[e], g[e], length, norms, least_gain)

    gained = 0.0
    change = np.empty(n_edges)
    fresh = np.ones(m, dtype=np.bool_)
    while True:
        # Only where a cluster or its neighbour has moved can a fusion have come to pay.
        for e in range(n_edges):
            a, b = _root(parent, pairs[e, 0]), _root(parent, pairs[e, 1])
            change[e] = 0.0
            if a != b and (fresh[a] or fresh[b]) and possible[e]:
                shared, own = _between(
                    parent, first, following, edge_of, other_of, n_ends, q, g, a, b
                )
                change[e] = _bound(V, counts, sizes, other_sizes, F, Q, a, b, shared, own)
        possible[:] = True
        order = _sorted_below(change, -least_gain)
        if order.shape[0] == 0:
            break
        fresh[:] = False
        merged = False
        for e in order:
            a, b = _root(parent, pairs[e, 0]), _root(parent, pairs[e, 1])
            if a == b:
                continue
            shared, own = _between(parent, first, following, edge_of, other_of, n_ends, q, g, a, b)
            lowered = _bound(V, counts, sizes, other_sizes, F, Q, a, b, shared, own)
            if not lowered < -least_gain:
                continue
            merged = True
            gained -= lowered
            to_a, to_b = sizes[b] / (sizes[a] + sizes[b]), sizes[a] / (sizes[a] + sizes[b])
            # The gradient of the edges between a and b goes, all else follows the move.
            va, vb, fa, fb, na, nb = V[a], V[b], F[a], F[b], counts[a], counts[b]
            rest = (Q[a] - shared) * to_a - (Q[b] - shared) * to_b
            for j in range(n):
                d = vb[j] - va[j]
                step[j] = d
                gradient[j] = fa[j] + fb[j] + d * (to_a * na[j] - to_b * nb[j])
                gradient[j] += other_sizes[j] * d * rest
            for moved, fixed, share in ((a, b, to_a), (b, a, -to_b)):
                for j in range(n):
                    delta[j] = share * step[j]
                _move(
                    V, F, q, g, fresh, other_sizes, parent, first, following, edge_of, other_of,
                    moved, fixed, delta,
                )  # fmt: skip
            for j in range(n):
                va[j] += to_a * step[j]
                na[j] += nb[j]
                fa[j] = gradient[j]
            sizes[a] += sizes[b]
            Q[a] += Q[b] - 2.0 * shared
            parent[b] = a
            following[last[a]] = first[b]
            last[a] = last[b]
            n_ends[a] += n_ends[b]
            fresh[a] = True
        if not merged:
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
