"""The quadratic majoriser: its gradient, and conjugate gradients that lower it.

Omega(sqrt(s)) is concave in s, so at an edge of length z the parabola with the weight
Omega'(z) / z lies above Omega and touches it there. Together with the data term these parabolas
have the linear system

    counts * V + Lr(row_w) V diag(column_sizes) + diag(row_sizes) V Lc(column_w) = counts * means

with the graph Laplacians Lr and Lc: the mask stays in it, and nothing is filled in.
"""

import numpy as np

from . import inlined, kernel
from .blocks import laplacian, transpose


@kernel
def _degrees(adjacency, weights):
    """The sum of the weights of the edges of each node."""
    start, _, edge = adjacency
    degrees = np.zeros(start.shape[0] - 1)
    for i in range(degrees.shape[0]):
        for k in range(start[i], start[i + 1]):
            degrees[i] += weights[edge[k]]
    return degrees


@inlined
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
    + diag(row_sizes) V Lc(column_w),  and R its residual at V, which is overwritten. Every step
    lowers the majoriser. Stops once the preconditioned residual has fallen by `reduction`.
    """
    m, n = V.shape
    row_degree, column_degree = _degrees(rows, row_w), _degrees(columns, column_w)
    Vt, LVt = np.empty((n, m)), np.empty((n, m))
    AP, PL, P, inverse = np.empty((m, n)), np.empty((m, n)), np.empty((m, n)), np.empty((m, n))
    rz = 0.0
    for a in range(m):
        p, r, inv, count = P[a], R[a], inverse[a], counts[a]
        size, degree = row_sizes[a], row_degree[a]
        for b in range(n):
            d = count[b] + degree * column_sizes[b] + size * column_degree[b]
            # Where nothing is observed and no edge has a weight, V stays as it is.
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
