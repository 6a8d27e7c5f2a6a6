"""Slow, obvious versions of what the library computes."""

import numpy as np


def masked_distance(x, y):
    shared = ~np.isnan(x) & ~np.isnan(y)
    if not shared.any():
        return np.inf
    return np.sqrt(np.mean((x[shared] - y[shared]) ** 2))


def masked_distances(X):
    return np.array([[0.0 if i == j else masked_distance(x, y) for j, y in enumerate(X)]
                     for i, x in enumerate(X)])  # fmt: skip


def objective(X, U, row_graph, column_graph, row_cost, column_cost, penalty):
    total = 0.0
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            if not np.isnan(X[i, j]):
                total += 0.5 * (X[i, j] - U[i, j]) ** 2
    for (i, j), weight in zip(row_graph.edges, row_graph.weights, strict=True):
        total += row_cost * weight * float(penalty.value(np.linalg.norm(U[i] - U[j])))
    for (i, j), weight in zip(column_graph.edges, column_graph.weights, strict=True):
        total += column_cost * weight * float(penalty.value(np.linalg.norm(U[:, i] - U[:, j])))
    return total


def graph_laplacian(n_nodes, pairs, weights):
    L = np.zeros((n_nodes, n_nodes))
    for (i, j), w in zip(pairs, weights, strict=True):
        L[i, i] += w
        L[j, j] += w
        L[i, j] -= w
        L[j, i] -= w
    return L


def incidence(n_nodes, pairs):
    D = np.zeros((len(pairs), n_nodes))
    for e, (i, j) in enumerate(pairs):
        D[e, i] += 1.0
        D[e, j] -= 1.0
    return D
