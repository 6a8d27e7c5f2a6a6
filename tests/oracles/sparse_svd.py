"""The sparse singular value decomposition as published, for complete data, in plain loops."""

import cvxpy as cp
import numpy as np


def soft(x, threshold):
    return np.sign(x) * max(abs(x) - threshold, 0.0)


def published_half_step(X, u, power):
    """The new v, of unit length, and its penalty: every penalty at which a coefficient vanishes."""
    n, d = X.shape
    ols = np.array([sum(X[i, j] * u[i] for i in range(n)) for j in range(d)])
    variance = np.sum((X - np.outer(u, ols)) ** 2) / (n * d - d)
    best = None
    for penalty in sorted([0.0, *(2 * abs(ols) ** (1 + power))])[:-1]:
        v = np.array([soft(b, 0.5 * penalty * abs(b) ** -power) for b in ols])
        v[2 * abs(ols) ** (1 + power) <= penalty * (1 + 1e-12)] = 0.0
        error = np.sum((X - np.outer(u, v)) ** 2)
        bic = error / (n * d * variance) + np.log(n * d) / (n * d) * np.count_nonzero(v)
        if best is None or bic < best[0]:
            best = bic, v, penalty
    return best[1] / np.linalg.norm(best[1]), best[2]


def published_layer(X, power=2.0, n_iter=50):
    """The u, s and v of the first layer."""
    u = np.linalg.svd(X)[0][:, 0]
    for _ in range(n_iter):
        v, _ = published_half_step(X, u, power)
        u, _ = published_half_step(X.T, v, power)
    return u, u @ X @ v, v


def lasso(X, weights, u, l1):
    """The v that minimises sum q (x - u v)^2 + sum l1 |v|, by a general convex solver."""
    v = cp.Variable(X.shape[1])
    residual = cp.multiply(np.sqrt(weights), X - cp.outer(u, v))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(residual) + l1 @ cp.abs(v)))
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return v.value
