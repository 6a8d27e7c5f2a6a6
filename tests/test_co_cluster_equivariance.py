"""Other orders, units and sizes give the same co-clustering."""

import numpy as np
import pytest
from oracles.co_clustering import each_solver, solve
from oracles.problems import random_problem

from comanifold import Graph, co_cluster, masked_distances
from comanifold.penalties import MCP, Linear, Log, Snowflake


class TestEquivariance:
    @each_solver
    @pytest.mark.parametrize("seed", range(10))
    def test_linear(self, solver, seed):
        p = random_problem(seed, log_costs=(-1.0, 1.0))
        expected = co_cluster(*p.args, **p.costs, penalty="linear", solver=solver)
        t = p.transposed()
        transposed = co_cluster(*t.args, **t.costs, penalty="linear", solver=solver)
        np.testing.assert_allclose(transposed.estimate.T, expected.estimate, atol=1e-6)
        rng = np.random.default_rng(seed)
        orders = [rng.permutation(size) for size in p.X.shape]
        q = p.permuted(*orders)
        permuted = co_cluster(*q.args, **q.costs, penalty="linear", solver=solver)
        np.testing.assert_allclose(permuted.estimate, expected.estimate[np.ix_(*orders)], atol=1e-6)

    @pytest.mark.parametrize(
        ("penalty", "solver"),
        [
            (Snowflake(), "fast"),
            (Log(eps=0.05), "fast"),
            (MCP(2.0), "fast"),
            (Snowflake(), "paper"),
        ],
        ids=repr,
    )
    def test_concave(self, penalty, solver):
        n_equal = 0
        for seed in range(100):
            p = random_problem(seed, sizes=(3, 9), log_costs=(-1.0, 1.5))
            expected = solve(p, penalty=penalty, solver=solver)
            orders = [np.random.default_rng(seed).permutation(size) for size in p.X.shape]
            changed = solve(p.permuted(*orders).transposed(), penalty=penalty, solver=solver)
            assert changed.objective == pytest.approx(expected.objective, rel=1e-3)
            back = expected.estimate[np.ix_(*orders)].T
            n_equal += bool(np.abs(changed.estimate - back).max() <= 1e-6)
        assert n_equal >= 95

    @pytest.mark.parametrize("seed", range(5))
    @pytest.mark.parametrize(
        ("scale", "shift"), [(1.0, 1e4), (-3.0, 0.0), (1e-6, 0.0), (1e6, -7e6)]
    )
    def test_shifting_and_scaling(self, seed, scale, shift):
        # Under Omega(z) = sqrt(z), X -> a X needs costs a^(3/2) times as large.
        p = random_problem(seed)
        expected = co_cluster(*p.args, **p.costs)
        factor = abs(scale) ** 1.5
        result = co_cluster(
            scale * p.X + shift,
            *p.args[1:],
            row_cost=factor * p.row_cost,
            column_cost=factor * p.column_cost,
        )
        np.testing.assert_allclose((result.estimate - shift) / scale, expected.estimate, atol=1e-4)
        assert result.objective == pytest.approx(scale**2 * expected.objective, rel=1e-4)

    def test_weights_and_costs_are_interchangeable(self):
        p = random_problem(6)
        doubled = Graph(p.row_graph.n_nodes, p.row_graph.edges, 2.0 * p.row_graph.weights)
        one = co_cluster(p.X, doubled, p.column_graph, row_cost=1.0, column_cost=1.0)
        two = co_cluster(p.X, p.row_graph, p.column_graph, row_cost=2.0, column_cost=1.0)
        np.testing.assert_array_equal(one.estimate, two.estimate)

    def test_the_same_bits_every_time(self):
        p = random_problem(7)
        for penalty in (Snowflake(), Linear()):
            first = co_cluster(*p.args, **p.costs, penalty=penalty)
            second = co_cluster(*p.args, **p.costs, penalty=penalty)
            np.testing.assert_array_equal(first.estimate, second.estimate)


@pytest.fixture(scope="module")
def lung_problem(lung500):
    rng = np.random.default_rng(0)
    X = np.where(rng.random(lung500.shape) < 0.5, np.nan, lung500)
    X = (X - np.nanmean(X)) / np.nanstd(X)
    return X, Graph.nearest_neighbors(X), Graph.nearest_neighbors(X.T)


class TestLung500:
    """The paper's data, half of it missing. The whole grid is in benchmarks/one_scale.py."""

    @pytest.mark.parametrize("costs", [(0.25, 1.0), (1.0, 1.0), (4.0, 0.25), (64.0, 64.0)])
    def test_fast_is_no_worse_than_the_paper(self, lung_problem, costs):
        at = dict(zip(("row_cost", "column_cost"), costs, strict=True))
        fast = co_cluster(*lung_problem, **at)
        paper = co_cluster(*lung_problem, **at, solver="paper")
        assert fast.certificate.stationarity <= 1e-6
        assert paper.certificate.stationarity <= 1e-6
        assert fast.objective <= 1.001 * paper.objective

    def test_every_scale_is_stationary(self, lung_problem):
        scales = 2.0 ** np.arange(-4, 11, 2)
        for row_cost in scales:
            for column_cost in scales:
                result = co_cluster(*lung_problem, row_cost=row_cost, column_cost=column_cost)
                assert result.certificate.stationarity <= 1e-6

    @pytest.mark.parametrize("cost", [0.02, 0.5, 2.0, 8.0, 64.0, 4096.0])
    def test_convex_problems_are_certified(self, lung_problem, cost):
        X = lung_problem[0]
        graphs = []
        for values, graph in ((X, lung_problem[1]), (X.T, lung_problem[2])):
            squares = masked_distances(values)[tuple(graph.edges.T)] ** 2
            weights = np.exp(-squares / np.median(squares))
            graphs.append(Graph(graph.n_nodes, graph.edges, weights))
        result = co_cluster(X, *graphs, row_cost=cost, column_cost=cost, penalty="linear", tol=1e-5)
        assert result.certificate.gap <= 1e-5
        if cost <= 0.02:
            assert result.n_row_clusters == 500
        if cost >= 4096.0:
            assert (result.n_row_clusters, result.n_column_clusters) == (1, 1)
