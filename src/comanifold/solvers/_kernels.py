"""Compiled loops over the edges of a fused problem.

Everything here works on block values V (row clusters x column clusters).
Whatever is written for the rows serves the columns with V transposed.
"""

import numpy as np
from numba import njit

kernel = njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})


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
def _degrees(adjacency, weights):
    start, _, edge = adjacency
    degrees = np.zeros(start.shape[0] - 1)
    for i in range(degrees.shape[0]):
        for k in range(start[i], start[i + 1]):
            degrees[i] += weights[edge[k]]
    return degrees


@kernel
def _apply_edges(V, rows, columns, row_w, column_w, by_rows, by_columns, Vt, LVt):
    """by_rows = Lr(row_w) V and by_columns = V Lc(column_w), with room to transpose in."""
    laplacian(V, rows, row_w, by_rows)
    transpose(V, Vt)
    laplacian(Vt, columns, column_w, LVt)
    transpose(LVt, by_columns)


@kernel
def quadratic_residual(
    V, means, counts, row_sizes, column_sizes, rows, columns, row_w, column_w, R
):
    """R = counts * (means - V) - Lr(row_w) V diag(column_sizes) - diag(row_sizes) V Lc(column_w).

    Minus the gradient, at V, of the data term plus the quadratic with these edge weights.
    """
    m, n = V.shape
    LV, Vt, LVt = np.empty((m, n)), np.empty((n, m)), np.empty((n, m))
    _apply_edges(V, rows, columns, row_w, column_w, R, LV, Vt, LVt)
    for a in range(m):
        v, r, lv, mean, count, size = V[a], R[a], LV[a], means[a], counts[a], row_sizes[a]
        for b in range(n):
            r[b] = count[b] * (mean[b] - v[b]) - column_sizes[b] * r[b] - size * lv[b]


@kernel
def lower_quadratic(
    V, R, counts, row_sizes, column_sizes, rows, columns, row_w, column_w, max_steps, reduction
):
    """Jacobi-preconditioned CG steps on the quadratic majoriser, from V and in place.

    The matrix of the system is  counts * V + Lr(row_w) V diag(column_sizes)
    + diag(row_sizes) V Lc(column_w),  and R its residual at V, which is lost. Every step lowers
    the majoriser. Stops once the preconditioned residual has fallen by the factor `reduction`.
    """
    m, n = V.shape
    row_degree, column_degree = _degrees(rows, row_w), _degrees(columns, column_w)
    Vt, LVt = np.empty((n, m)), np.empty((n, m))
    AP, PL, P, inverse = np.empty((m, n)), np.empty((m, n)), np.empty((m, n)), np.empty((m, n))
    rz = 0.0
    for a in range(m):
        p, r, inv, count, size, degree = (
            P[a],
            R[a],
            inverse[a],
            counts[a],
            row_sizes[a],
            row_degree[a],
        )
        for b in range(n):
            d = count[b] + degree * column_sizes[b] + size * column_degree[b]
            # Where nothing is observed and no edge pulls, V stays as it is.
            inv[b] = 1.0 / d if d > 0.0 else 1.0
            p[b] = r[b] * inv[b]
            rz += r[b] * p[b]
    target = rz * reduction * reduction

    for _ in range(max_steps):
        if not rz > target:
            return
        _apply_edges(P, rows, columns, row_w, column_w, AP, PL, Vt, LVt)
        curvature = 0.0
        for a in range(m):
            p, ap, pl, count, size = P[a], AP[a], PL[a], counts[a], row_sizes[a]
            for b in range(n):
                x = column_sizes[b] * ap[b] + size * pl[b] + count[b] * p[b]
                ap[b] = x
                curvature += p[b] * x
        if not curvature > 0.0:
            return
        alpha = rz / curvature
        rz_new = 0.0
        for a in range(m):
            v, p, r, ap, inv = V[a], P[a], R[a], AP[a], inverse[a]
            for b in range(n):
                v[b] += alpha * p[b]
                x = r[b] - alpha * ap[b]
                r[b] = x
                rz_new += x * x * inv[b]
        beta = rz_new / rz
        rz = rz_new
        for a in range(m):
            p, r, inv = P[a], R[a], inverse[a]
            for b in range(n):
                p[b] = r[b] * inv[b] + beta * p[b]


@kernel
def conjugate_gradients(
    V, rhs, counts, row_sizes, column_sizes, rows, columns, row_w, column_w, max_steps, reduction
):
    """`lower_quadratic` for the system with the right-hand side `rhs`."""
    m, n = V.shape
    R, zeros = np.empty((m, n)), np.zeros((m, n))
    quadratic_residual(V, zeros, counts, row_sizes, column_sizes, rows, columns, row_w, column_w, R)
    R += rhs
    lower_quadratic(
        V, R, counts, row_sizes, column_sizes, rows, columns, row_w, column_w, max_steps, reduction
    )


@kernel
def merge_changes(V, counts, means, sizes, other_sizes, pairs, adjacency, candidates, first):
    """What fusing the two ends of each candidate edge, at their mean, does to the objective.

    Returns the change of the data term, and for the other edges at either end their new length
    and their index, listed from first[c] on for the candidate c.
    """
    start, neighbor, edge = adjacency
    n = V.shape[1]
    data = np.empty(candidates.shape[0])
    lengths = np.empty(first[-1])
    touched = np.empty(first[-1], dtype=np.intp)
    merged = np.empty(n)
    for c in range(candidates.shape[0]):
        e = candidates[c]
        i, j = pairs[e, 0], pairs[e, 1]
        share = sizes[i] / (sizes[i] + sizes[j])
        total = 0.0
        for b in range(n):
            v = share * V[i, b] + (1.0 - share) * V[j, b]
            merged[b] = v
            total += counts[i, b] * (v - V[i, b]) * (v + V[i, b] - 2.0 * means[i, b])
            total += counts[j, b] * (v - V[j, b]) * (v + V[j, b] - 2.0 * means[j, b])
        data[c] = 0.5 * total
        position = first[c]
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
    return data, lengths, touched
