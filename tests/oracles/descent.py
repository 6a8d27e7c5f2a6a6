"""The descent in plain steps of NumPy, for any penalty."""

from dataclasses import replace

import numpy as np

from comanifold.solvers import descent
from comanifold.solvers.problem import Iterate, Problem

from . import slow


def transposed(problem):
    return Problem(
        np.ascontiguousarray(problem.counts.T),
        np.ascontiguousarray(problem.means.T),
        problem.column_sizes,
        problem.row_sizes,
        problem.columns,
        problem.rows,
        problem.constant,
    )


def collapse(iterate, penalty, close=descent.CLOSE):
    """Fuse what is close, at the widest of a few thresholds that does not raise the objective."""
    problem, V = iterate.problem, iterate.V
    units = np.sqrt(problem.column_sizes.sum()), np.sqrt(problem.row_sizes.sum())
    norms = problem.norms(V)
    for threshold in (close, 0.1 * close, 0.01 * close, 0.0):
        chosen = [norm <= threshold * unit for norm, unit in zip(norms, units, strict=True)]
        if not (chosen[0].any() or chosen[1].any()):
            break
        fused = iterate.fuse(
            problem.rows.components(chosen[0]), problem.columns.components(chosen[1])
        )
        if threshold == 0.0 or fused.objective(penalty) <= iterate.objective(penalty):
            return fused
    return iterate


def merge(iterate, penalty, *, by_pairs=False):
    """Merge clusters where that lowers the objective: both modes, or one."""
    problem, V = iterate.problem, iterate.V
    objective = iterate.objective(penalty)
    find = best_pairs if by_pairs else slow.agglomerate
    least_gain = descent.LEAST_GAIN * objective
    rows, row_gain = find(problem, V, penalty, least_gain)
    Vt = np.ascontiguousarray(V.T)
    columns, column_gain = find(transposed(problem), Vt, penalty, least_gain)
    rows, columns = first_come(rows), first_come(columns)
    apart = np.arange(len(rows)), np.arange(len(columns))
    one_mode = [(rows, apart[1]), (apart[0], columns)]
    for labels in [(rows, columns), *(one_mode if row_gain >= column_gain else one_mode[::-1])]:
        fused = iterate.fuse(*labels)
        if fused is not iterate and fused.objective(penalty) < objective:
            return fused
    return iterate


def first_come(labels):
    """Labels numbered in the order in which they first appear."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def pair_bounds(problem, V, penalty):
    """The change of the objective by merging the ends of each edge that is the shortest at one."""
    lengths, pairs = problem.norms(V)[0], problem.rows.pairs
    bounds = np.full(len(pairs), np.inf)
    for e, (i, j) in enumerate(pairs):
        at_i, at_j = (lengths[(pairs == end).any(axis=1)].min() for end in (i, j))
        if lengths[e] <= max(at_i, at_j):
            bounds[e] = slow.merge_change(problem, V, penalty, (i, j))
    return bounds


def best_pairs(problem, V, penalty, least_gain):
    """Labels of rows with the best pairs merged, no two of them adjacent, and their total gain."""
    bounds, pairs = pair_bounds(problem, V, penalty), problem.rows.pairs
    labels, blocked, gain = np.arange(len(V)), set(), 0.0
    for e in np.argsort(bounds, kind="stable"):
        i, j = pairs[e]
        if not bounds[e] < -least_gain or i in blocked or j in blocked:
            continue
        gain -= bounds[e]
        labels[j] = i
        for pair in pairs:
            if i in pair or j in pair:
                blocked.update(pair)
    return labels, gain


def system(problem, row_weights, column_weights):
    """The matrix of the quadratic majoriser, for V as a vector."""
    m, n = problem.counts.shape
    Lr = slow.graph_laplacian(m, problem.rows.pairs, row_weights)
    Lc = slow.graph_laplacian(n, problem.columns.pairs, column_weights)
    by_rows = np.kron(Lr, np.diag(problem.column_sizes))
    by_columns = np.kron(np.diag(problem.row_sizes), Lc)
    return np.diag(problem.counts.ravel()) + by_rows + by_columns


def lower_majoriser(problem, V, weights):
    """A few steps of preconditioned conjugate gradients on the dense system."""
    A = system(problem, *weights)
    diagonal = np.diag(A).copy()
    inverse = np.divide(1.0, diagonal, out=np.ones_like(diagonal), where=diagonal > 0)
    x = V.ravel().copy()
    r = (problem.counts * problem.means).ravel() - A @ x
    p = inverse * r
    rz = r @ p
    target = rz * descent.CG_REDUCTION**2
    for _ in range(descent.CG_STEPS):
        curvature = p @ A @ p
        if not (rz > target and curvature > 0):
            break
        alpha = rz / curvature
        x, r = x + alpha * p, r - alpha * (A @ p)
        rz, last = r @ (inverse * r), rz
        p = inverse * r + rz / last * p
    return x.reshape(V.shape)


def relative_gradient(iterate, penalty):
    """Norm of the gradient over the estimates constant on the blocks, relative to the data's."""
    problem = iterate.problem
    gradient = problem.gradient(iterate.V, penalty)
    sizes = np.outer(problem.row_sizes, problem.column_sizes)
    return np.sqrt((gradient**2 / sizes).sum() / problem.counts.sum())


def gradient_bound(iterate, penalty):
    """The sum of the norms of the parts of the gradient on all entries."""
    problem, V = iterate.problem, iterate.V
    data = 2.0 * problem.constant + (problem.counts * (V - problem.means) ** 2).sum()
    slopes = problem.slopes(penalty, problem.norms(V))
    return np.sqrt(data) + np.sqrt(2.0) * (slopes[0].sum() + slopes[1].sum())


def labels_between(before, after):
    """In which clusters of a later iterate the row and the column clusters of one are."""
    for old, new in (
        (before.row_labels, after.row_labels),
        (before.column_labels, after.column_labels),
    ):
        labels = np.zeros(old.max() + 1, dtype=np.intp)
        labels[old] = new
        yield labels


def follow(last, before, after):
    """An estimate on the clusters of one iterate, averaged over those of a later one."""
    if before.V.shape == after.V.shape:
        return last
    labels = list(labels_between(before, after))
    sizes = np.outer(before.problem.row_sizes, before.problem.column_sizes)
    means = np.empty_like(after.V)
    for a in range(means.shape[0]):
        for b in range(means.shape[1]):
            block = np.ix_(labels[0] == a, labels[1] == b)
            means[a, b] = np.average(last[block], weights=sizes[block])
    return means


def descend(iterate: Iterate, penalty, schedule, *, max_iter, tol):
    """The iterate that the descent ends with, its objectives, and the number of iterations."""
    objective = iterate.objective(penalty)
    history, last = [objective], iterate.V
    merge_at, since_merging, step = schedule.merge_at, 0, schedule.extrapolation
    n_iter = 0
    while True:
        closer = collapse(iterate, penalty)
        last, iterate = follow(last, iterate, closer), closer
        objective = iterate.objective(penalty)
        if n_iter > 0:
            history.append(objective)
            residual = relative_gradient(iterate, penalty)
            if residual <= merge_at or since_merging == schedule.merge_every:
                since_merging = 0
                merged = merge(iterate, penalty)
                if merged is iterate and schedule.merge_pairs:
                    merged = merge(iterate, penalty, by_pairs=True)
                if merged is not iterate:
                    last, iterate = follow(last, iterate, merged), merged
                    objective = iterate.objective(penalty)
                    history.append(objective)
                elif residual <= tol:
                    break
                else:
                    merge_at = max(tol, 0.1 * min(merge_at, residual))
        if n_iter == max_iter:
            break
        n_iter += 1
        since_merging += 1
        problem = iterate.problem
        weights = problem.majoriser_weights(penalty, problem.norms(iterate.V))
        V = lower_majoriser(problem, iterate.V, weights)
        lowered = problem.objective(V, penalty)
        if not lowered <= objective:
            break
        farther = V + step * (V - last)
        last = V
        if step > 0 and problem.objective(farther, penalty) < lowered:
            iterate = replace(iterate, V=farther)
            step = min(descent.LONGER * step, descent.LONGEST)
        else:
            iterate = replace(iterate, V=V)
            step *= descent.SHORTER
    iterate = collapse(replace(iterate, V=iterate.problem.clip(iterate.V)), penalty)
    return iterate, history, n_iter
