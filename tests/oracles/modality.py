"""One group or two along a coordinate, by slow and general methods."""

import warnings

import cvxpy as cp
import numpy as np


def log_concave_likelihood(counts):
    """The greatest log-likelihood of counts under log-concave probabilities, by a convex solver."""
    if np.count_nonzero(counts) == 1:
        return 0.0  # all probability in one bin
    theta = cp.Variable(len(counts))
    # In shares, so that the tolerances of the solver do not depend on the number of points.
    value = (counts / counts.sum()) @ theta - cp.log_sum_exp(theta)
    # Bounded, as the maximum for few bins is only attained at infinity.
    concave = [theta[:-2] - 2.0 * theta[1:-1] + theta[2:] <= 0.0]
    bounds = [cp.abs(theta) <= 2000.0]
    problem = cp.Problem(cp.Maximize(value), concave + bounds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return counts.sum() * problem.value


def maximise_mixture(counts, centres, weights, means, deviations, n_iterations, least):
    """The log-likelihood and parameters of a Gaussian mixture after iterations of EM."""

    def components():
        parts = np.exp(-0.5 * ((centres - means[:, None]) / deviations[:, None]) ** 2)
        return weights[:, None] * parts / np.maximum(parts.sum(axis=1, keepdims=True), 1e-300)

    for _ in range(n_iterations):
        parts = components()
        shares = counts * parts / np.maximum(parts.sum(axis=0), 1e-300)
        sizes = shares.sum(axis=1) + 1e-9
        means = shares @ centres / sizes
        deviations = np.sqrt(np.maximum(shares @ centres**2 / sizes - means**2, 0.0) + least**2)
        weights = sizes / sizes.sum()
    likelihood = counts @ np.log(np.maximum(components().sum(axis=0), 1e-300))
    return likelihood, weights, means, deviations
