"""Fusing neighbours one after the other, each time by an upper bound on the change of f.

The bound is that of the quadratic majoriser: an edge of length z0 and penalty g costs at most
g + q / 2 (z^2 - z0^2) at length z, with q = weight Omega'(z0) / z0, and nothing once its ends
are one. Fusing the clusters a and b at the mean of their members moves them by

    delta_a = s_b / (s_a + s_b) (v_b - v_a),    delta_b = -s_a / (s_a + s_b) (v_b - v_a),

so with the pull G_a = sum_c q_ac (v_a - v_c) and the stiffness Q_a = sum_c q_ac of all edges
but those between a and b, the bound changes by

    <G_a, delta_a> + Q_a |delta_a|^2 / 2 + <G_b, delta_b> + Q_b |delta_b|^2 / 2 - g_ab

plus the change of the data term. Edges of the other mode only get shorter and are left out.
Nothing but the bound's own coefficients is needed, so the penalty can be any.
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
def _bound(V, residual, counts, sizes, other_sizes, G, Q, a, b, shared, own):
    """The change of the bound when a and b are fused.

    `shared` is the stiffness of the edges between them, `own` what those edges cost.
    """
    total = sizes[a] + sizes[b]
    to_a, to_b = sizes[b] / total, sizes[a] / total
    va, vb, ga, gb = V[a], V[b], G[a], G[b]
    ra, rb, na, nb = residual[a], residual[b], counts[a], counts[b]
    pull_a, pull_b, square, data, curvature = 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(V.shape[1]):
        d = vb[j] - va[j]
        weighted = other_sizes[j] * d
        pull_a += ga[j] * weighted
        pull_b += gb[j] * weighted
        square += d * weighted
        data += d * (to_a * ra[j] - to_b * rb[j])
        curvature += d * d * (to_a * to_a * na[j] + to_b * to_b * nb[j])
    stiffness = to_a * to_a * (Q[a] - shared) + to_b * to_b * (Q[b] - shared)
    return (
        data
        + 0.5 * curvature
        + to_a * pull_a
        - to_b * pull_b
        + shared * square
        + 0.5 * stiffness * square
        - own
    )


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
def _move(V, G, q, g, fresh, other_sizes, parent, first, following, edge_of, other_of, a, b, delta):
    """Lengthen or shorten the edges of a, but for those to b, by moving a by delta."""
    v = V[a]
    end = first[a]
    while end >= 0:
        c = _root(parent, other_of[end])
        if c != a and c != b:
            e = edge_of[end]
            fresh[c] = True
            growth = 0.0
            vc, gc = V[c], G[c]
            for j in range(V.shape[1]):
                growth += other_sizes[j] * delta[j] * (2.0 * (v[j] - vc[j]) + delta[j])
                gc[j] -= q[e] * delta[j]
            g[e] += 0.5 * q[e] * growth
        end = following[end]


@kernel
def agglomerate(V, counts, means, sizes, other_sizes, pairs, costs, stiffness, least_gain):
    """Labels of clusters that lower the bound when fused, and by how much they lower it.

    Goes through the edges from the best to the worst, again and again until none is left that
    lowers the bound by `least_gain`.
    """
    m, n = V.shape
    n_edges = pairs.shape[0]
    V, counts, sizes = V.copy(), counts.copy(), sizes.copy()
    q, g = stiffness, costs.copy()
    residual = counts * (V - means)
    parent = np.arange(m)
    # The edges of each cluster as a linked list: two clusters become one by joining theirs.
    first, last = np.full(m, -1), np.full(m, -1)
    following = np.full(2 * n_edges, -1)
    edge_of, other_of = np.empty(2 * n_edges, dtype=np.intp), np.empty(2 * n_edges, dtype=np.intp)
    n_ends = np.zeros(m, dtype=np.intp)
    G, Q = np.zeros((m, n)), np.zeros(m)
    for e in range(n_edges):
        for side in range(2):
            i, c = pairs[e, side], pairs[e, 1 - side]
            end = 2 * e + side
            edge_of[end], other_of[end] = e, c
            following[end] = first[i]
            first[i] = end
            if last[i] < 0:
                last[i] = end
            n_ends[i] += 1
            Q[i] += q[e]
            gi, vi, vc = G[i], V[i], V[c]
            for j in range(n):
                gi[j] += q[e] * (vi[j] - vc[j])

    gained = 0.0
    change = np.empty(n_edges)
    delta = np.empty(n)
    fresh = np.ones(m, dtype=np.bool_)
    while True:
        # Only where a cluster or its neighbour has moved can a fusion have come to pay.
        for e in range(n_edges):
            a, b = _root(parent, pairs[e, 0]), _root(parent, pairs[e, 1])
            change[e] = 0.0
            if a != b and (fresh[a] or fresh[b]):
                shared, own = _between(
                    parent, first, following, edge_of, other_of, n_ends, q, g, a, b
                )
                change[e] = _bound(V, residual, counts, sizes, other_sizes, G, Q, a, b, shared, own)
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
            lowered = _bound(V, residual, counts, sizes, other_sizes, G, Q, a, b, shared, own)
            if not lowered < -least_gain:
                continue
            merged = True
            gained -= lowered
            to_a, to_b = sizes[b] / (sizes[a] + sizes[b]), sizes[a] / (sizes[a] + sizes[b])
            step = V[b] - V[a]
            # The pull of the edges between a and b goes, that of the others follows the move.
            pull = G[a] + shared * step + (Q[a] - shared) * to_a * step
            pull += G[b] - shared * step - (Q[b] - shared) * to_b * step
            for moved, fixed, share in ((a, b, to_a), (b, a, -to_b)):
                for j in range(n):
                    delta[j] = share * step[j]
                _move(
                    V,
                    G,
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
            residual[a] += residual[b] + step * (to_a * counts[a] - to_b * counts[b])
            V[a] += to_a * step
            counts[a] += counts[b]
            sizes[a] += sizes[b]
            G[a] = pull
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
