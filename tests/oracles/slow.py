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


def directional_derivative(X, U, V, row_graph, column_graph, row_cost, column_cost, penalty):
    """The derivative of the objective at U in the direction V, as the paper's appendix B has it."""
    observed = ~np.isnan(X)
    total = ((U - X) * V)[observed].sum()
    for cost, graph, estimate, direction in (
        (row_cost, row_graph, U, V),
        (column_cost, column_graph, U.T, V.T),
    ):
        for (i, j), weight in zip(graph.edges, graph.weights, strict=True):
            apart, move = estimate[i] - estimate[j], direction[i] - direction[j]
            length = np.linalg.norm(apart)
            slope = cost * weight * float(penalty.derivative(length))
            total += slope * (apart @ move / length if length > 0 else np.linalg.norm(move))
    return total


def merge_change(problem, V, penalty, pair):
    """The change of the objective when two rows are fused at their mean, columns left out."""
    i, j = pair
    sizes = problem.row_sizes
    merged = V.copy()
    merged[[i, j]] = (sizes[i] * V[i] + sizes[j] * V[j]) / (sizes[i] + sizes[j])

    def part(W):
        lengths = problem.norms(W)[0]
        data = 0.5 * (problem.counts * (W - problem.means) ** 2).sum()
        return data + problem.rows.weights @ penalty.value(lengths)

    return part(merged) - part(V)


def agglomerate(problem, V, penalty, least_gain):
    """Rows fused greedily by the quadratic majoriser, computed from scratch at every turn."""
    pairs = problem.rows.pairs
    lengths = problem.norms(V)[0]
    costs = problem.rows.weights * penalty.value(lengths)
    weights = problem.rows.weights * penalty.derivative(lengths) / lengths
    label = np.arange(len(V))

    def fused(i, j):
        return np.where(label == label[j], label[i], label)

    def bound(labels):
        U = V.copy()
        for a in np.unique(labels):
            members = labels == a
            U[members] = np.average(V[members], axis=0, weights=problem.row_sizes[members])
        squares = problem.norms(U)[0] ** 2
        apart = labels[pairs[:, 0]] != labels[pairs[:, 1]]
        edges = costs + 0.5 * weights * (squares - lengths**2)
        return 0.5 * (problem.counts * (U - problem.means) ** 2).sum() + edges[apart].sum()

    start = bound(label)
    merged = True
    while merged:
        merged = False
        now = bound(label)
        changes = [bound(fused(i, j)) - now for i, j in pairs]
        for e in np.argsort(changes, kind="stable"):
            if not changes[e] < -least_gain:
                break
            i, j = pairs[e]
            if label[i] != label[j] and bound(fused(i, j)) - bound(label) < -least_gain:
                label = fused(i, j)
                merged = True
    return label, start - bound(label)


def pair_distances(X, values, row_labels, column_labels, pairs):
    """Distances between the filled-in rows of X at pairs (i, j)."""
    filled = np.where(np.isnan(X), values[np.ix_(row_labels, column_labels)], X)
    return np.array([np.linalg.norm(filled[i] - filled[j]) for i, j in pairs])


def soft_impute(X, penalty, n_rounds=3000):
    """Mazumder, Hastie and Tibshirani (2010): fill in, shrink the singular values, repeat."""
    missing = np.isnan(X)
    Z = np.zeros_like(X)
    for _ in range(n_rounds):
        U, values, Vt = np.linalg.svd(np.where(missing, Z, X), full_matrices=False)
        Z = (U * np.maximum(values - penalty, 0.0)) @ Vt
    return Z
