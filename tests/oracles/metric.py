"""Metric repair and kernel correction as published: plain loops, and a general convex solver."""

import cvxpy as cp
import numpy as np


def increase_only(D):
    """One pass of the repair that only increases distances."""
    D = D.copy()
    n = len(D)
    for k in range(n):
        for i in range(n):
            for j in range(i):
                if len({i, j, k}) == 3 and D[i, j] > D[i, k] + D[j, k]:
                    D[i, k] = D[k, i] = D[i, j] - D[j, k]
    return D


def shortest_paths(D):
    """The shortest of all paths, with one more edge at a time."""
    lengths = D
    for _ in range(len(D)):
        lengths = np.min(lengths[:, :, None] + D[None], axis=1)
    return lengths


def excess(D):
    """By how much the triangle inequality is broken, relative to the largest distance."""
    detours = np.min(D[:, :, None] + D[None], axis=1)
    return float(np.max(D - detours) / (D.max() or 1.0))


def nearest_correlation(K):
    """The nearest positive semi-definite matrix with unit diagonal and entries from 0 to 1."""
    C = cp.Variable(K.shape, PSD=True)
    problem = cp.Problem(cp.Minimize(cp.norm(C - K, "fro")), [cp.diag(C) == 1, C >= 0, C <= 1])
    problem.solve(solver="CLARABEL")
    return C.value
