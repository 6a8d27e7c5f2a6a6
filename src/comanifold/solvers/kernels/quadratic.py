"""The quadratic majoriser: its gradient, and conjugate gradients that lower it.

Omega(sqrt(s)) is concave in s, so at an edge of length z the parabola with the weight
Omega'(z) / z lies above Omega and touches it there. Together with the data term these parabolas
have the linear system

    counts * V + Lr(row_w) V diag(column_sizes) + diag(row_sizes) V Lc(column_w) = counts * means

with the graph Laplacians Lr and Lc: the mask stays in it, and nothing is filled in.
"""

import numpy as np

from . import kernel
from .blocks import ZERO, column_laplacian, new_tile, row_laplacian


@kernel
def degrees(adjacency, weights):
    """The sum of the weights of the edges of each node."""
    start, _, edge = adjacency
    degrees = np.zeros(start.shape[0] - 1)
    for i in range(degrees.shape[0]):
        for k in range(start[i], start[i + 1]):
            degrees[i] += weights[edge[k]]
    return degrees


@kernel
def quadratic_residual(
    V, means, counts, row_sizes, column_sizes, rows, columns, row_w, column_w, R
):
    """R = counts * (means - V) - Lr(row_w) V diag(column_sizes) - diag(row_sizes) V Lc(column_w).

    Minus the gradient, at V, of the data term plus the quadratic with these edge weights. Returns
    its squared norm over the estimates constant on the blocks.
    """
    m, n = V.shape
    tile, image = new_tile(m, n), new_tile(m, n)
    n_lanes = tile.shape[1]
    by_rows, by_columns = np.empty((n_lanes, n)), np.empty((n_lanes, n))
    square = 0.0
    for first in range(0, m, n_lanes):
        stop = min(first + n_lanes, m)
        row_laplacian(V, first, stop, rows, row_w, by_rows, first)
        column_laplacian(V, first, columns, column_w, tile, image, by_columns)
        for a in range(first, stop):
            v, r, mean, count, size = V[a], R[a], means[a], counts[a], row_sizes[a]
            lr, lc = by_rows[a - first], by_columns[a - first]
            of_row = 0.0
            for b in range(n):
                x = count[b] * (mean[b] - v[b]) - column_sizes[b] * lr[b] - size * lc[b]
                r[b] = x
                of_row += x * x / column_sizes[b]
            square += of_row / size
    return square


@kernel
def lower_quadratic(
    V, R, counts, row_sizes, column_sizes, rows, columns, row_w, column_w, max_steps, reduction
):
    """Conjugate gradient steps on the quadratic majoriser; see `lower_quadratic_in`."""
    lower_quadratic_in(
        V, R, counts, row_sizes, column_sizes, rows, columns, row_w, column_w, max_steps,
        reduction, np.empty(V.shape), np.empty(V.shape),
    )  # fmt: skip


@kernel
def lower_quadratic_in(
    V, R, counts, row_sizes, column_sizes, rows, columns, row_w, column_w, max_steps, reduction,
    P, AP,
):  # fmt: skip
    """Jacobi-preconditioned CG steps on the quadratic majoriser, from V and in place.

    The matrix of the system is  counts * V + Lr(row_w) V diag(column_sizes)
    + diag(row_sizes) V Lc(column_w),  and R its residual at V, which is overwritten. Every step
    lowers the majoriser. Stops once the preconditioned residual has fallen by `reduction`. P and
    AP are room for two more matrices.
    """
    m, n = V.shape
    row_degree, column_degree = degrees(rows, row_w), degrees(columns, column_w)
    tile, image = new_tile(m, n), new_tile(m, n)
    n_lanes = tile.shape[1]
    by_columns = np.empty((n_lanes, n))
    rz = 0.0
    for a in range(m):
        p, r, count, size, degree = P[a], R[a], counts[a], row_sizes[a], row_degree[a]
        for b in range(n):
            d = count[b] + degree * column_sizes[b] + size * column_degree[b]
            # Where nothing is observed and no edge has a weight, V stays as it is.
            p[b] = r[b] / d if d > 0.0 else r[b]
            rz += r[b] * p[b]
    target = rz * reduction * reduction

    for _ in range(max_steps):
        if not rz > target:
            return
        curvature = 0.0
        for first in range(0, m, n_lanes):
            stop = min(first + n_lanes, m)
            row_laplacian(P, first, stop, rows, row_w, AP, ZERO)
            column_laplacian(P, first, columns, column_w, tile, image, by_columns)
            for a in range(first, stop):
                p, ap, pl, count, size = P[a], AP[a], by_columns[a - first], counts[a], row_sizes[a]
                for b in range(n):
                    x = column_sizes[b] * ap[b] + size * pl[b] + count[b] * p[b]
                    ap[b] = x
                    curvature += p[b] * x
        if not curvature > 0.0:
            return
        alpha = rz / curvature
        rz_new = 0.0
        for a in range(m):
            v, p, r, ap, count = V[a], P[a], R[a], AP[a], counts[a]
            size, degree = row_sizes[a], row_degree[a]
            for b in range(n):
                d = count[b] + degree * column_sizes[b] + size * column_degree[b]
                v[b] += alpha * p[b]
                x = r[b] - alpha * ap[b]
                r[b] = x
                x = x / d if d > 0.0 else x
                ap[b] = x  # from here on the preconditioned residual
                rz_new += x * r[b]
        beta = rz_new / rz
        rz = rz_new
        for a in range(m):
            p, ap = P[a], AP[a]
            for b in range(n):
                p[b] = ap[b] + beta * p[b]
