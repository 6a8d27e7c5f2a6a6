"""The compiled descent in plain steps, each of them a function of the library or of NumPy."""

from dataclasses import replace

import numpy as np

from comanifold.solvers import _descent
from comanifold.solvers._fusion import Iterate, collapse
from comanifold.solvers._merging import merge_in_bulk
from comanifold.solvers._quadratic import lower_majoriser, relative_gradient


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


def descend(iterate: Iterate, penalty, *, max_iter, tol):
    """The iterate that the descent ends with, its objectives, and the number of iterations."""
    objective = iterate.objective(penalty)
    history, last = [objective], iterate.V
    reach, merge_at, since_merging = _descent.FIRST_REACH, np.inf, 0
    n_iter = 0
    while True:
        norms = iterate.problem.norms(iterate.V)
        closer, objective = collapse(iterate, penalty, norms, iterate.objective(penalty))
        last, iterate = follow(last, iterate, closer), closer
        if n_iter > 0:
            history.append(objective)
            residual = relative_gradient(iterate, penalty)
            if residual <= merge_at or since_merging == _descent.MERGE_EVERY:
                since_merging = 0
                norms = iterate.problem.norms(iterate.V)
                merged, objective = merge_in_bulk(iterate, penalty, norms, objective)
                if merged is not iterate:
                    last, iterate = follow(last, iterate, merged), merged
                    history.append(objective)
                elif residual <= tol:
                    break
                else:
                    merge_at = max(tol, 0.1 * min(merge_at, residual))
        if n_iter == max_iter:
            break
        n_iter += 1
        since_merging += 1
        problem, V = iterate.problem, iterate.V.copy()
        weights = problem.quadratic_weights(penalty, problem.norms(V))
        lower_majoriser(problem, V, weights)
        lowered = problem.objective(V, penalty)
        if not lowered <= objective:
            break
        farther = V + reach * (V - last)
        last = V
        if problem.objective(farther, penalty) < lowered:
            iterate = replace(iterate, V=farther)
            reach = min(_descent.FARTHER * reach, _descent.FARTHEST)
        else:
            iterate = replace(iterate, V=V)
            reach *= _descent.NEARER
    return iterate, history, n_iter
