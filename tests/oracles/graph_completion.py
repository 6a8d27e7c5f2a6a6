"""Completion along graphs: by a general convex solver, by dense matrices, and by plain loops."""

import cvxpy as cp
import numpy as np


def laplacian(graph):
    """The dense Laplacian divided by its largest eigenvalue."""
    A = np.zeros((graph.n_nodes, graph.n_nodes))
    for (i, j), weight in zip(graph.edges, graph.weights, strict=True):
        A[i, j] = A[j, i] = weight
    L = np.diag(A.sum(axis=1)) - A
    return L / max(np.linalg.eigvalsh(L)[-1], 1e-300)


def convex_completion(X, row_graph, column_graph, costs, *, penalty=0.0, loss="squared"):
    """The minimum of the objective of `GraphCompletion`, and the matrix that attains it."""
    observed = ~np.isnan(X)
    # Q(U) = |Br U|^2 + |U Bc'|^2 with the roots of the Laplacians.
    row_root, column_root = (root(laplacian(graph)) for graph in (row_graph, column_graph))
    U = cp.Variable(X.shape)
    errors = cp.multiply(observed.astype(float), U) - np.where(observed, X, 0.0)
    smooth = costs[0] * cp.sum_squares(row_root @ U) + costs[1] * cp.sum_squares(U @ column_root)
    if loss == "l1":
        value = cp.sum(cp.abs(errors)) + smooth
    else:
        value = 0.5 * cp.sum_squares(errors) + 0.5 * smooth + penalty * cp.normNuc(U)
    problem = cp.Problem(cp.Minimize(value))
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return problem.value, U.value


def weighted_nuclear_completion(X, A, B):
    """The minimum of |P(U - X)|^2 / 2 + |A^(1/2) U B^(1/2)|_*, and the matrix that attains it."""
    observed = ~np.isnan(X)
    U = cp.Variable(X.shape)
    errors = cp.multiply(observed.astype(float), U) - np.where(observed, X, 0.0)
    value = 0.5 * cp.sum_squares(errors) + cp.normNuc(root(A) @ U @ root(B))
    problem = cp.Problem(cp.Minimize(value))
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return problem.value, U.value


def root(L):
    """The symmetric root of a positive semi-definite matrix."""
    values, vectors = np.linalg.eigh(L)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def system(X, row_graph, column_graph, costs):
    """S of S u = P x, for a matrix as the vector of its rows."""
    m, n = X.shape
    rows = np.kron(laplacian(row_graph), np.eye(n))
    columns = np.kron(np.eye(m), laplacian(column_graph))
    observed = (~np.isnan(X)).ravel().astype(float)
    return np.diag(observed) + costs[0] * rows + costs[1] * columns


def bic(X, row_graph, column_graph, costs):
    """|Theta| log |P(x - u)|^2 + log |Theta| tr S^-1, with the inverse."""
    inverse = np.linalg.inv(system(X, row_graph, column_graph, costs))
    observed = (~np.isnan(X)).ravel()
    x = np.nan_to_num(X).ravel()
    errors = (x - inverse @ x)[observed]
    return observed.sum() * np.log(errors @ errors) + np.log(observed.sum()) * np.trace(inverse)


def masked_product(X, D, H):
    """P(D H') H."""
    return np.where(np.isnan(X), 0.0, D @ H.T) @ H


def factor_hessian(X, H, row_matrix):
    """The Hessian of `factor_objective` in W, for W as the vector of its rows."""
    blocks = [H[~np.isnan(row)].T @ H[~np.isnan(row)] for row in X]
    hessian = np.kron(row_matrix, np.eye(H.shape[1]))
    for i, block in enumerate(blocks):
        place = slice(i * H.shape[1], (i + 1) * H.shape[1])
        hessian[place, place] += block
    return hessian


def factor_objective(X, W, H, row_matrix, column_matrix):
    """|P(X - W H')|^2 / 2 + tr(W' A W) / 2 + tr(H' B H) / 2."""
    square = np.nansum((X - W @ H.T) ** 2)
    return 0.5 * (square + np.trace(W.T @ row_matrix @ W) + np.trace(H.T @ column_matrix @ H))
