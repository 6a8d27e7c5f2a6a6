"""Convex biclustering with missing entries, by a general-purpose convex solver."""

import warnings

import cvxpy as cp
import numpy as np


def convex_bicluster(X, row_graph, column_graph, row_cost, column_cost):
    """The minimum of the objective with a linear penalty, and an estimate that attains it."""
    observed = ~np.isnan(X)
    U = cp.Variable(X.shape)
    cost = 0.5 * cp.sum_squares(cp.multiply(observed, U) - np.where(observed, X, 0.0))
    for (i, j), weight in zip(row_graph.edges, row_graph.weights, strict=True):
        cost += row_cost * weight * cp.norm(U[i] - U[j])
    for (i, j), weight in zip(column_graph.edges, column_graph.weights, strict=True):
        cost += column_cost * weight * cp.norm(U[:, i] - U[:, j])
    problem = cp.Problem(cp.Minimize(cost))
    with warnings.catch_warnings():
        # It warns when it stops short of tolerances that are tighter than the tests need.
        warnings.simplefilter("ignore")
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return problem.value, U.value
