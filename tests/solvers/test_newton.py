"""Newton's method on the augmented Lagrangian: its kernels against NumPy, and what it reaches."""

import numpy as np
import pytest
from oracles import slow
from oracles.problems import random_graph, random_problem, standard_problem
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from comanifold import Graph, co_cluster, dual_bound, objective
from comanifold.penalties import Linear
from comanifold.solvers.certificate import Dual, relative_gap
from comanifold.solvers.kernels import newton as kernels
from comanifold.solvers.kernels.blocks import linear_bound
from comanifold.solvers.multipliers import minimise_by_multipliers
from comanifold.solvers.newton import polish
from comanifold.solvers.problem import Edges, Problem

RHO = 3.0


@pytest.fixture(params=range(6))
def rng(request):
    return np.random.default_rng(request.param)


def random_edges(rng, n_nodes):
    graph = random_graph(rng, n_nodes, 2 * n_nodes)
    return Edges.build(n_nodes, graph.edges, graph.weights)


def directions(rng, edges, n):
    """Units, of which some are zero as those of fused edges, and weights that fit them."""
    units = rng.normal(size=(edges.n_edges, n))
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    is_fused = rng.random(edges.n_edges) < 0.3
    units[is_fused] = 0.0
    return units, np.where(is_fused, RHO, rng.uniform(0.1, RHO, edges.n_edges))


def hessian(edges, units, weights):
    """sum_e weight D_e' (1 - u u') D_e as a matrix that acts on V.ravel()."""
    n = units.shape[1]
    total = np.zeros((edges.n_nodes * n, edges.n_nodes * n))
    for d, unit, weight in zip(
        slow.incidence(edges.n_nodes, edges.pairs), units, weights, strict=True
    ):
        D = np.kron(d[None, :], np.eye(n))
        total += weight * D.T @ (np.eye(n) - np.outer(unit, unit)) @ D
    return total


def test_projected_multipliers(rng):
    edges, n = random_edges(rng, 7), 5
    V, vectors = rng.normal(size=(7, n)), rng.normal(size=(edges.n_edges, n))
    caps = rng.uniform(0.5, 8.0, edges.n_edges)
    projected, units = np.empty_like(vectors), np.empty_like(vectors)
    value, lengths, weights = kernels.project_multipliers(
        V, vectors, edges.pairs, caps, RHO, projected, units
    )
    D = slow.incidence(7, edges.pairs)
    x = vectors + RHO * D @ V
    size = np.linalg.norm(x, axis=1)
    is_fused = size <= caps
    huber = np.where(is_fused, 0.5 * size**2, caps * size - 0.5 * caps**2)
    assert value == pytest.approx(huber.sum() / RHO)
    np.testing.assert_allclose(lengths, np.linalg.norm(D @ V, axis=1))
    factors = np.minimum(1.0, caps / size)
    np.testing.assert_allclose(weights, RHO * factors)
    np.testing.assert_allclose(projected, factors[:, None] * x)
    np.testing.assert_allclose(units, np.where(is_fused[:, None], 0.0, x / size[:, None]))


def test_the_curvature_is_the_derivative_of_the_projected_multipliers(rng):
    edges, n, step = random_edges(rng, 7), 5, 1e-6
    V, P = rng.normal(size=(2, 7, n))
    vectors, caps = rng.normal(size=(edges.n_edges, n)), rng.uniform(0.5, 8.0, edges.n_edges)
    D = slow.incidence(7, edges.pairs)
    projected, units = np.empty_like(vectors), np.empty_like(vectors)
    sides = []
    for sign in (1.0, -1.0):
        args = V + sign * step * P, vectors, edges.pairs, caps, RHO
        kernels.project_multipliers(*args, projected, units)
        sides.append(D.T @ projected)
    weights = kernels.project_multipliers(V, vectors, edges.pairs, caps, RHO, projected, units)[2]
    out = np.full_like(V, np.nan)
    kernels.edge_curvature(P, edges.pairs, units, weights, out)
    np.testing.assert_allclose(out, (sides[0] - sides[1]) / (2 * step), atol=1e-6)


def test_edge_curvature_and_its_diagonal(rng):
    edges = random_edges(rng, 6)
    units, weights = directions(rng, edges, 4)
    H = hessian(edges, units, weights)
    P, out = rng.normal(size=(6, 4)), np.empty((6, 4))
    kernels.edge_curvature(P, edges.pairs, units, weights, out)
    np.testing.assert_allclose(out.ravel(), H @ P.ravel(), atol=1e-12)
    diagonal = kernels.curvature_diagonal(6, edges.pairs, units, weights)
    np.testing.assert_allclose(diagonal.ravel(), np.diag(H))


def test_the_forest_spans_the_heavy_edges_with_the_greatest_weight(rng):
    edges = random_edges(rng, 12)
    weights, threshold = rng.uniform(1.0, 2.0, edges.n_edges), 1.4
    order, parent, up = kernels.heavy_forest(edges.pairs, weights, edges.adjacency, threshold)
    np.testing.assert_array_equal(np.sort(order), np.arange(12))
    place = np.argsort(order)
    for node in np.flatnonzero(parent >= 0):
        assert place[parent[node]] < place[node]
        assert sorted(edges.pairs[up[node]]) == sorted([node, parent[node]])
    np.testing.assert_array_equal(parent >= 0, up >= 0)
    heavy = weights > threshold
    i, j = edges.pairs[heavy].T
    graph = coo_array((-weights[heavy], (i, j)), shape=(12, 12)).tocsr()
    assert weights[up[up >= 0]].sum() == pytest.approx(-minimum_spanning_tree(graph).sum())
    assert np.sum(parent < 0) == connected_components(graph, directed=False)[0]


def test_soft_curvature(rng):
    edges, other = random_edges(rng, 9), random_edges(rng, 4)
    units, weights = directions(rng, edges, 4)
    counts = rng.integers(0, 2, size=(9, 4)).astype(float)
    forest = kernels.heavy_forest(edges.pairs, weights, edges.adjacency, 0.5)
    order, parent, up = forest
    is_soft = (up >= 0) & (weights[up] < RHO)
    found = kernels.soft_curvature(
        edges.pairs, units, weights, forest, is_soft, counts, other.pairs, other.weights
    )
    L = slow.graph_laplacian(4, other.pairs, other.weights)
    H = hessian(edges, units, weights) + np.diag(counts.ravel()) + np.kron(np.eye(9), L)
    for node in range(9):
        if not is_soft[node]:
            assert found[node] == 0.0
            continue
        below = np.zeros(9)
        below[node] = 1.0
        for k in order:
            if k != node and parent[k] >= 0:
                below[k] = below[parent[k]]
        q = np.outer(below, units[up[node]]).ravel()
        assert found[node] == pytest.approx(q @ H @ q)


def test_conjugate_gradients_solve_the_newton_system(rng):
    rows, columns = random_edges(rng, 9), random_edges(rng, 5)
    row_units, row_weights = directions(rng, rows, 5)
    column_units, column_weights = directions(rng, columns, 9)
    counts = rng.integers(0, 2, size=(9, 5)) + 0.1
    of_columns = hessian(columns, column_units, column_weights).reshape(5, 9, 5, 9)
    H = hessian(rows, row_units, row_weights) + np.diag(counts.ravel())
    H += of_columns.transpose(1, 0, 3, 2).reshape(45, 45)
    trees = []
    for edges, weights in ((rows, row_weights), (columns, column_weights)):
        forest = kernels.heavy_forest(edges.pairs, weights, edges.adjacency, 0.5)
        is_soft = (forest[2] >= 0) & (weights[forest[2]] < RHO)
        trees.append((*forest, np.where(is_soft, 0.7, 0.0)))
    labels = rng.permutation(9) // 3, rng.permutation(5) // 3
    nested = np.zeros(3, np.intp), np.arange(2)
    none = np.zeros(0, np.intp), np.zeros(0, np.intp)
    levels = (
        (labels, rng.uniform(0.1, 1.0, size=(3, 2))),
        (nested, rng.uniform(0.1, 1.0, size=(1, 2))),
        (none, np.zeros((0, 0))),
    )
    R = rng.normal(size=(9, 5))
    S = kernels.newton_step(
        R.copy(), counts, (rows.pairs, row_units, row_weights),
        (columns.pairs, column_units, column_weights), 1.0 / np.diag(H).reshape(9, 5),
        tuple(trees), levels, np.int64(500), 1e-13,
    )  # fmt: skip
    np.testing.assert_allclose(S.ravel(), np.linalg.solve(H, R.ravel()), atol=1e-9)


@pytest.mark.parametrize("identity", [False, True])
def test_block_sums(rng, identity):
    R = rng.normal(size=(6, 5))
    rows, columns = rng.permutation(6) // 2, np.arange(5) if identity else rng.permutation(5) // 2
    sums = np.full((3, columns.max() + 1), np.nan)
    kernels.block_sums(R, (rows, columns), sums)
    expected = np.zeros_like(sums)
    np.add.at(expected, (rows[:, None], columns[None, :]), R)
    np.testing.assert_allclose(sums, expected)


def test_linear_bound(rng):
    G, x = rng.normal(size=(2, 6, 4))
    observed = rng.random((6, 4)) < 0.6
    expected = np.where(observed, G * x - 0.5 * G**2, np.minimum(-2.0 * G, 3.0 * G)).sum()
    assert linear_bound(G, x, observed.astype(float), -2.0, 3.0) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(8))
def test_a_small_gap_becomes_a_tiny_one(seed):
    problem = standard_problem(seed)
    first = minimise_by_multipliers(problem, problem.means, Linear(), max_iter=5000, tol=1e-3)
    polished = polish(problem, first.iterate.estimate, first.dual, Linear(), max_iter=500, tol=1e-9)
    value = problem.objective(polished.iterate.estimate, Linear())
    assert polished.objective == pytest.approx(value, rel=1e-12)
    assert value <= first.history[-1]
    caps = problem.slopes(Linear(), problem.norms(problem.means))
    for lengths, cap in zip(polished.dual.lengths(), caps, strict=True):
        assert np.all(lengths <= cap * (1 + 1e-12))
    bound = polished.dual.lower_bound(problem)
    assert polished.bound == pytest.approx(bound, rel=1e-12)
    assert relative_gap(problem, Linear(), value, bound) <= 1e-9
    assert polished.n_iter <= 100


def test_no_more_steps_are_made_than_allowed():
    problem = standard_problem(0)
    polished = polish(problem, problem.means, Dual.zeros(problem), Linear(), max_iter=1, tol=1e-12)
    assert polished.n_iter == 1
    assert polished.objective >= polished.bound


def test_newton_steps_from_far_away_are_still_certified():
    p = random_problem(3)
    problem = Problem.build(p.X, p.row_graph, p.column_graph, row_cost=2.0, column_cost=2.0)
    polished = polish(
        problem, 10.0 * problem.means, Dual.zeros(problem), Linear(), max_iter=300, tol=1e-8
    )
    best = minimise_by_multipliers(problem, problem.means, Linear(), max_iter=5000, tol=1e-9)
    assert polished.bound <= best.history[-1] * (1 + 1e-8)
    assert polished.objective >= best.history[-1] * (1 - 1e-8)


def test_an_edge_that_ends_short_takes_few_iterations():
    """Dual vectors grow by rho times the length: sweeps alone need 450 iterations."""
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.normal(size=(40, 12)), axis=0) * 0.2 + rng.normal(size=(40, 12))
    X[rng.random(X.shape) < 0.5] = np.nan
    graphs = Graph.nearest_neighbors(X, 5), Graph.nearest_neighbors(X.T, 5)
    costs = {"row_cost": 0.7, "column_cost": 0.7, "penalty": "linear"}
    result = co_cluster(X, *graphs, **costs, tol=1e-9)
    assert result.status == "converged"
    assert result.n_iter <= 100
    certificate = result.certificate
    bound = dual_bound(X, certificate.row_dual, certificate.column_dual, *graphs, **costs)
    value = objective(X, result.estimate, *graphs, **costs)
    assert -1e-12 * value <= value - bound <= 1.01e-9 * value
