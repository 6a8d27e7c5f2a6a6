"""Fusing neighbours one after the other, each time by an upper bound on the change of f.

The bound is that of the quadratic majoriser: an edge of length z0 and penalty g costs at most
g + q / 2 (z^2 - z0^2) at length z, with q = weight Omega'(z0) / z0, and nothing once its ends
are one. Fusing the clusters a and b at the mean of their members moves them by

    delta_a = s_b / (s_a + s_b) (v_b - v_a),    delta_b = -s_a / (s_a + s_b) (v_b - v_a),

so with the pull G_a = sum_c q_ac (v_a - v_c) and the stiffness Q_a = sum_c q_ac of all edges
but those between a and b, the bound changes by

    <G_a, delta_a> + Q_a |delta_a|^2 / 2 + <G_b, delta_b> + Q_b |delta_b|^2 / 2 - g_ab

plus the change of the data term, whose gradient is kept together with the pull as the force F_a.
Edges of the other mode only get shorter and are left out. Nothing but the bound's own
coefficients is needed, so the penalty can be any.
"""

import numpy as np

from ._edge_kernels import first_come_labels
from ._kernels import kernel


@kernel
def _root(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def _bound(V, counts, sizes, other_sizes, F, Q, a, b, shared, own):
    """The change of the bound when a and b are fused.

    `shared` is the stiffness of the edges between them, `own` what those edges cost.
    """
    total = sizes[a] + sizes[b]
    to_a, to_b = sizes[b] / total, sizes[a] / total
    va, vb, fa, fb, na, nb = V[a], V[b], F[a], F[b], counts[a], counts[b]
    square, force, curvature = 0.0, 0.0, 0.0
    for j in range(V.shape[1]):
        d = vb[j] - va[j]
        square += other_sizes[j] * d * d
        force += d * (to_a * fa[j] - to_b * fb[j])
        curvature += d * d * (to_a * to_a * na[j] + to_b * to_b * nb[j])
    return force + 0.5 * curvature + _stretch(sizes, Q, a, b, shared) * square - own


@kernel
def _stretch(sizes, Q, a, b, shared):
    """By how much fusing a and b raises the bound of their other edges, per square of length."""
    total = sizes[a] + sizes[b]
    to_a, to_b = sizes[b] / total, sizes[a] / total
    return shared + 0.5 * (to_a * to_a * (Q[a] - shared) + to_b * to_b * (Q[b] - shared))


@kernel
def _between(parent, first, following, edge_of, other_of, n_ends, q, g, a, b):
    """The stiffness and the cost of all edges between a and b."""
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
    """Lengthen or shorten the edges of a, but for those to b, by moving a by delta."""
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
def agglomerate(V, counts, means, sizes, other_sizes, pairs, costs, stiffness, least_gain):
    """Labels of clusters that lower the bound when fused, and by how much they lower it.

    Goes through the edges from the best to the worst, again and again until none is left that
    lowers the bound by `least_gain`. No two edges have the same ends.
    """
    m, n = V.shape
    n_edges = pairs.shape[0]
    V, counts, sizes = V.copy(), counts.copy(), sizes.copy()
    q, g = stiffness, costs.copy()
    F, Q = counts * (V - means), np.zeros(m)
    parent = np.arange(m)
    # The edges of each cluster as a linked list: two clusters become one by joining theirs.
    first, last = np.full(m, -1), np.full(m, -1)
    following = np.full(2 * n_edges, -1)
    edge_of, other_of = np.empty(2 * n_edges, dtype=np.intp), np.empty(2 * n_edges, dtype=np.intp)
    n_ends = np.zeros(m, dtype=np.intp)
    squares, delta = np.empty(n_edges), np.empty(n)
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
        va, vb, fa, fb, stiff = V[a], V[b], F[a], F[b], q[e]
        square = 0.0
        for j in range(n):
            d = va[j] - vb[j]
            square += other_sizes[j] * d * d
            delta[j] = stiff * other_sizes[j] * d
        for j in range(n):
            fa[j] += delta[j]
        for j in range(n):
            fb[j] -= delta[j]
        squares[e] = square
    # How strongly each cluster is pulled at all, in the norm that goes with that of lengths.
    strength = np.empty(m)
    for i in range(m):
        f = F[i]
        total = 0.0
        for j in range(n):
            total += f[j] * f[j] / other_sizes[j]
        strength[i] = np.sqrt(total)
    possible = np.empty(n_edges, dtype=np.bool_)
    for e in range(n_edges):
        a, b = pairs[e, 0], pairs[e, 1]
        total = sizes[a] + sizes[b]
        pulled = (sizes[b] * strength[a] + sizes[a] * strength[b]) / total * np.sqrt(squares[e])
        stretched = _stretch(sizes, Q, a, b, q[e]) * squares[e]
        possible[e] = not stretched - pulled - g[e] >= -least_gain

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
        worth = np.flatnonzero(change < -least_gain)
        if worth.size == 0:
            break
        order = worth[np.argsort(change[worth], kind="mergesort")]
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
            step = V[b] - V[a]
            # The pull of the edges between a and b goes, all other forces follow the move.
            force = F[a] + F[b]
            force += step * (to_a * counts[a] - to_b * counts[b])
            force += other_sizes * step * ((Q[a] - shared) * to_a - (Q[b] - shared) * to_b)
            for moved, fixed, share in ((a, b, to_a), (b, a, -to_b)):
                for j in range(n):
                    delta[j] = share * step[j]
                _move(
                    V,
                    F,
                    q,
                    g,
                    fresh,
                    other_sizes,
                    parent,
                    first,
                    following,
                    edge_of,
                    other_of,
                    moved,
                    fixed,
                    delta,
                )
            V[a] += to_a * step
            counts[a] += counts[b]
            sizes[a] += sizes[b]
            F[a] = force
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
