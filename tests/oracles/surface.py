"""Algorithm 2 of the paper, scale by scale, with nothing carried in blocks."""

import numpy as np

from comanifold import co_cluster


def solver(X, row_graph, column_graph, parameters):
    """A function that solves one scale, and the estimates that it has found."""
    estimates = {}

    def solve(l, k, init):
        done = co_cluster(
            X, row_graph, column_graph, row_cost=2.0**l, column_cost=2.0**k, init=init, **parameters
        )
        estimates[l, k] = done.estimate
        return done

    return solve, estimates


def traverse(X, row_graph, column_graph, start, **parameters):
    """The estimates over the paper's surface: for every l, k until one column cluster is left.

    Ends with the first l at whose end one row cluster is left. X has variance one.
    """
    solve, estimates = solver(X, row_graph, column_graph, parameters)
    l, k0 = start
    first = solve(l, k0, None)
    while True:
        done, k = first, k0
        while done.n_column_clusters > 1:
            k += 1
            done = solve(l, k, done.estimate)
        if done.n_row_clusters == 1:
            return estimates
        l += 1
        first = solve(l, k0, first.estimate)


def distances(X, estimates, alpha):
    """Multi-scale distances between the rows."""
    total = np.zeros((len(X), len(X)))
    for (l, k), U in estimates.items():
        filled = np.where(np.isnan(X), U, X)
        for i in range(len(X)):
            for j in range(len(X)):
                total[i, j] += (2.0**l * 2.0**k) ** alpha * np.linalg.norm(filled[i] - filled[j])
    return total


def traverse_symmetric(X, row_graph, column_graph, start, **parameters):
    """The estimates along the diagonal, and from each of its scales along both paths."""
    solve, estimates = solver(X, row_graph, column_graph, parameters)
    l, k = start
    corner = solve(l, k, None)
    while True:
        done, step = corner, 0
        while done.n_row_clusters > 1:
            step += 1
            done = solve(l + step, k, done.estimate)
        done, step = corner, 0
        while done.n_column_clusters > 1:
            step += 1
            done = solve(l, k + step, done.estimate)
        if 1 in (corner.n_row_clusters, corner.n_column_clusters):
            return estimates
        l, k = l + 1, k + 1
        corner = solve(l, k, corner.estimate)
