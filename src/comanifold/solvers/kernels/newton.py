"""Newton steps for the augmented Lagrangian of the convex problem.

With x_e = vectors_e + rho D_e V the term of an edge is a Huber function of x_e. Its second
derivative in D_e V is rho where ||x_e|| <= caps_e, and elsewhere, with the direction
u_e = x_e / ||x_e||,

    weight_e (1 - u_e u_e'),  weight_e = rho caps_e / ||x_e||.

Such an edge resists every change of its difference but one along u_e. Conjugate gradients need many
steps for what is heavy across and free along a direction, so the preconditioner has these changes
as vectors of its own: the nodes on one side of the edge, in a spanning tree of the heavy edges,
moved along u_e.
"""

import numpy as np

from . import kernel
from .blocks import is_identity, transpose

# Edges of one path in the tree for which `soft_curvature` compares directions.
_LONGEST_PATH = 8


@kernel
def project_multipliers(V, vectors, pairs, caps, rho, projected, units):
    """Multipliers after a step of rho from V, and the derivatives of the augmented Lagrangian.

    projected[e] = x_e shortened to caps[e]; units[e] = u_e, or zero where x_e needs no shortening.
    Returns the sum of the Huber functions, the lengths ||V_i - V_j|| and the weights.
    """
    n = V.shape[1]
    value = 0.0
    lengths, weights = np.empty(pairs.shape[0]), np.empty(pairs.shape[0])
    for e in range(pairs.shape[0]):
        vi, vj, vector = V[pairs[e, 0]], V[pairs[e, 1]], vectors[e]
        unit, shortened = units[e], projected[e]
        squares, total = 0.0, 0.0
        for b in range(n):
            d = vi[b] - vj[b]
            x = vector[b] + rho * d
            squares += d * d
            total += x * x
            shortened[b] = x
        lengths[e] = np.sqrt(squares)
        length = np.sqrt(total)
        if length <= caps[e]:
            value += 0.5 * total
            weights[e] = rho
            for b in range(n):
                unit[b] = 0.0
        else:
            value += caps[e] * (length - 0.5 * caps[e])
            weights[e] = rho * caps[e] / length
            for b in range(n):
                unit[b] = shortened[b] / length
                shortened[b] = caps[e] * unit[b]
    return value / rho, lengths, weights


@kernel
def edge_curvature(P, pairs, units, weights, out):
    """out = sum_e weights[e] D_e' (1 - u_e u_e') D_e P."""
    n = P.shape[1]
    for i in range(out.shape[0]):
        o = out[i]
        for b in range(n):
            o[b] = 0.0
    for e in range(pairs.shape[0]):
        pi, pj, unit = P[pairs[e, 0]], P[pairs[e, 1]], units[e]
        oi, oj = out[pairs[e, 0]], out[pairs[e, 1]]
        along = 0.0
        for b in range(n):
            along += unit[b] * (pi[b] - pj[b])
        w = weights[e]
        for b in range(n):
            y = w * ((pi[b] - pj[b]) - along * unit[b])
            oi[b] += y
            oj[b] -= y


@kernel
def curvature_diagonal(n_nodes, pairs, units, weights):
    """The diagonal of `edge_curvature`."""
    n = units.shape[1]
    diagonal = np.zeros((n_nodes, n))
    for e in range(pairs.shape[0]):
        unit, w = units[e], weights[e]
        di, dj = diagonal[pairs[e, 0]], diagonal[pairs[e, 1]]
        for b in range(n):
            y = w * (1.0 - unit[b] * unit[b])
            di[b] += y
            dj[b] += y
    return diagonal


@kernel
def heavy_forest(pairs, weights, adjacency, threshold):
    """A spanning forest of the edges heavier than `threshold`, of the greatest weight.

    Returns the nodes with parents before their children, the parent of each node and the edge to
    it, both -1 for a root.
    """
    start, neighbor, edge = adjacency
    n_nodes = start.shape[0] - 1
    heavy = np.flatnonzero(weights > threshold)
    root = np.arange(n_nodes)
    chosen = np.zeros(pairs.shape[0], dtype=np.bool_)
    for e in heavy[np.argsort(-weights[heavy])]:
        i, j = pairs[e, 0], pairs[e, 1]
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        while root[j] != j:
            root[j] = root[root[j]]
            j = root[j]
        root[j] = i
        chosen[e] = i != j
    order = np.empty(n_nodes, dtype=np.intp)
    parent, up = np.full(n_nodes, -1), np.full(n_nodes, -1)
    is_placed = np.zeros(n_nodes, dtype=np.bool_)
    done, n_placed = 0, 0
    for first in range(n_nodes):
        if not is_placed[first]:
            is_placed[first] = True
            order[n_placed] = first
            n_placed += 1
        while done < n_placed:
            i = order[done]
            done += 1
            for k in range(start[i], start[i + 1]):
                j = neighbor[k]
                if chosen[edge[k]] and not is_placed[j]:
                    is_placed[j] = True
                    parent[j], up[j] = i, edge[k]
                    order[n_placed] = j
                    n_placed += 1
    return order, parent, up


@kernel
def soft_curvature(pairs, units, weights, forest, is_soft, counts, other_pairs, other_weights):
    """The second derivative when a node and all below it move along the edge to its parent.

    Only for the nodes of `is_soft`, zero for others. What the other mode adds is an upper bound.
    """
    order, parent, up = forest
    m, n = counts.shape
    below, size, depth = counts.copy(), np.ones(m), np.zeros(m)
    curvature = np.zeros(m)
    for k in range(m):
        i = order[k]
        if parent[i] >= 0:
            depth[i] = depth[parent[i]] + 1
    for k in range(m - 1, -1, -1):
        i = order[k]
        if is_soft[i]:
            unit, count = units[up[i]], below[i]
            data, other = 0.0, 0.0
            for b in range(n):
                data += count[b] * unit[b] * unit[b]
            for e in range(other_pairs.shape[0]):
                d = unit[other_pairs[e, 0]] - unit[other_pairs[e, 1]]
                other += other_weights[e] * d * d
            curvature[i] = data + size[i] * other
        if parent[i] >= 0:
            size[parent[i]] += size[i]
            count, total = below[i], below[parent[i]]
            for b in range(n):
                total[b] += count[b]
    # An edge is stretched by all moves on the path between its ends in the tree.
    for e in range(pairs.shape[0]):
        i, j = pairs[e, 0], pairs[e, 1]
        n_compared = 0
        while i != j:
            if j < 0 or (i >= 0 and depth[i] >= depth[j]):
                child = i
                i = parent[i]
            else:
                child = j
                j = parent[j]
            if is_soft[child] and up[child] != e:
                along = 0.0
                if n_compared < _LONGEST_PATH:
                    unit, other_unit = units[up[child]], units[e]
                    for b in range(n):
                        along += unit[b] * other_unit[b]
                    n_compared += 1
                curvature[child] += weights[e] * (1.0 - along * along)
    return curvature


@kernel
def _add_soft(R, units, tree, Z, sums):
    """Z += sum_i q_i inverse_i <q_i, R>: q_i moves a node and all below it along its edge."""
    order, parent, up, inverse = tree
    m, n = R.shape
    amount = np.zeros(m)
    for i in order:
        r, total = R[i], sums[i]
        for b in range(n):
            total[b] = r[b]
    for k in range(order.shape[0] - 1, -1, -1):
        i = order[k]
        if parent[i] < 0:
            continue
        below, total = sums[i], sums[parent[i]]
        if inverse[i] > 0.0:
            unit, along = units[up[i]], 0.0
            for b in range(n):
                along += below[b] * unit[b]
            amount[i] = along * inverse[i]
        for b in range(n):
            total[b] += below[b]
    for i in order:
        moved = sums[i]
        if parent[i] < 0:
            for b in range(n):
                moved[b] = 0.0
            continue
        above, z, a, unit = sums[parent[i]], Z[i], amount[i], units[max(up[i], 0)]
        for b in range(n):
            moved[b] = above[b] + a * unit[b]
            z[b] += moved[b]


@kernel
def block_sums(R, labels, sums):
    """sums = sums of R over the blocks that row and column labels form."""
    row_labels, column_labels = labels
    in_place = is_identity(column_labels)
    for a in range(sums.shape[0]):
        total = sums[a]
        for b in range(sums.shape[1]):
            total[b] = 0.0
    for i in range(R.shape[0]):
        r, total = R[i], sums[row_labels[i]]
        if in_place:
            for b in range(R.shape[1]):
                total[b] += r[b]
        else:
            for b in range(R.shape[1]):
                total[column_labels[b]] += r[b]


@kernel
def _add_to_blocks(values, labels, Z):
    """Z += the value of the block of each entry."""
    row_labels, column_labels = labels
    in_place = is_identity(column_labels)
    for i in range(Z.shape[0]):
        z, value = Z[i], values[row_labels[i]]
        if in_place:
            for b in range(Z.shape[1]):
                z[b] += value[b]
        else:
            for b in range(Z.shape[1]):
                z[b] += value[column_labels[b]]


@kernel
def _add_blocks(R, levels, sums, Z):
    """Z += sums of R over blocks, times the inverse of their curvature, for up to three levels.

    The blocks of a level are made of those of the level before; a level without blocks is the end.
    """
    n_levels = 0
    for k in range(3):
        labels, inverse = levels[k]
        if inverse.shape[0] == 0:
            break
        n_levels += 1
        block_sums(R if k == 0 else sums[k - 1], labels, sums[k])
    for k in range(n_levels - 1, -1, -1):
        labels, inverse = levels[k]
        for a in range(inverse.shape[0]):
            total, inv = sums[k][a], inverse[a]
            for b in range(inverse.shape[1]):
                total[b] *= inv[b]
        if k < n_levels - 1:
            _add_to_blocks(sums[k + 1], levels[k + 1][0], sums[k])
    if n_levels > 0:
        _add_to_blocks(sums[0], levels[0][0], Z)


@kernel
def _precondition(R, inverse, rows, columns, trees, levels, scratch, Z):
    """Z = the preconditioner times R: entries, blocks that heavy edges join, and moves along them.

    Returns the inner product of R and Z.
    """
    m, n = R.shape
    sums, Rt, Zt, room, room_t = scratch
    for i in range(m):
        r, z, inv = R[i], Z[i], inverse[i]
        for b in range(n):
            z[b] = inv[b] * r[b]
    _add_blocks(R, levels, sums, Z)
    if trees[0][3].shape[0] > 0:
        _add_soft(R, rows[1], trees[0], Z, room)
    if trees[1][3].shape[0] > 0:
        transpose(R, Rt)
        for b in range(n):
            zt = Zt[b]
            for i in range(m):
                zt[i] = 0.0
        _add_soft(Rt, columns[1], trees[1], Zt, room_t)
        transpose(Zt, room)
        for i in range(m):
            z, more = Z[i], room[i]
            for b in range(n):
                z[b] += more[b]
    product = 0.0
    for i in range(m):
        r, z = R[i], Z[i]
        for b in range(n):
            product += r[b] * z[b]
    return product


@kernel
def newton_step(
    R, data_weights, rows, columns, inverse, trees, levels, max_steps, reduction
):  # fmt: skip
    """Solve (data_weights + edge curvature) S = R by preconditioned conjugate gradients.

    `rows` and `columns` are pairs, units and weights. R is overwritten by the residual. Stops once
    the preconditioned residual has fallen by `reduction`.
    """
    m, n = R.shape
    S, P, AP, PL = np.zeros((m, n)), np.empty((m, n)), np.empty((m, n)), np.empty((m, n))
    Pt, LPt = np.empty((n, m)), np.empty((n, m))
    sums = (np.empty_like(levels[0][1]), np.empty_like(levels[1][1]), np.empty_like(levels[2][1]))
    scratch = sums, Pt, LPt, PL, np.empty((n, m))
    rz = _precondition(R, inverse, rows, columns, trees, levels, scratch, P)
    target = rz * reduction * reduction
    Z = np.empty((m, n))
    for _ in range(max_steps):
        if not rz > target:
            break
        edge_curvature(P, rows[0], rows[1], rows[2], AP)
        transpose(P, Pt)
        edge_curvature(Pt, columns[0], columns[1], columns[2], LPt)
        transpose(LPt, PL)
        curvature = 0.0
        for i in range(m):
            p, ap, pl, weight = P[i], AP[i], PL[i], data_weights[i]
            for b in range(n):
                x = ap[b] + pl[b] + weight[b] * p[b]
                ap[b] = x
                curvature += p[b] * x
        if not curvature > 0.0:
            break
        alpha = rz / curvature
        for i in range(m):
            s, p, r, ap = S[i], P[i], R[i], AP[i]
            for b in range(n):
                s[b] += alpha * p[b]
                r[b] -= alpha * ap[b]
        rz_new = _precondition(R, inverse, rows, columns, trees, levels, scratch, Z)
        beta = rz_new / rz
        rz = rz_new
        for i in range(m):
            p, z = P[i], Z[i]
            for b in range(n):
                p[b] = z[b] + beta * p[b]
    return S
