"""What must hold for one pair of costs, whatever the solver."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import slow
from oracles.co_clustering import each_penalty, each_solver, one_of_each_penalty, solve
from oracles.convex import convex_bicluster
from oracles.problems import path, problems, random_graph, random_problem

from comanifold import Graph, co_cluster, objective
from comanifold.penalties import MCP, Linear, Log, Snowflake


class TestAgainstConvexSolver:
    @pytest.mark.parametrize("seed", range(36))
    @each_solver
    def test_linear_penalty_reaches_the_minimum(self, seed, solver):
        p = random_problem(seed, sizes=(3, 10), log_costs=(-2.0, 2.0))
        minimum, _ = convex_bicluster(*p.args, p.row_cost, p.column_cost)
        result = co_cluster(*p.args, **p.costs, penalty="linear", solver=solver)
        assert result.objective == pytest.approx(minimum, rel=1e-6)
        assert result.certificate.gap <= 1e-6
        assert result.certificate.lower_bound <= minimum * (1 + 1e-8)

    def test_the_problems_range_from_nothing_to_everything_fused(self):
        n_nothing = n_some = n_everything = 0
        for seed in range(36):
            p = random_problem(seed, sizes=(3, 10), log_costs=(-2.0, 2.0))
            result = co_cluster(*p.args, **p.costs, penalty="linear")
            n_clusters = result.n_row_clusters, result.n_column_clusters
            n_nothing += n_clusters == p.X.shape
            n_everything += n_clusters == (1, 1)
            n_some += 1 < n_clusters[0] < p.X.shape[0] or 1 < n_clusters[1] < p.X.shape[1]
        assert min(n_nothing, n_some, n_everything) >= 3

    @pytest.mark.parametrize("seed", range(4))
    def test_estimate_and_clusters(self, seed):
        p = random_problem(seed, sizes=(4, 9), missing=(0.0, 0.3), log_costs=(0.0, 1.0))
        _, expected = convex_bicluster(*p.args, p.row_cost, p.column_cost)
        result = co_cluster(*p.args, **p.costs, penalty="linear", tol=1e-9)
        observed = ~np.isnan(p.X)
        np.testing.assert_allclose(result.estimate[observed], expected[observed], atol=1e-3)
        for graph, values, labels in (
            (p.row_graph, expected, result.row_labels),
            (p.column_graph, expected.T, result.column_labels),
        ):
            i, j = graph.edges.T
            together = labels[i] == labels[j]
            lengths = np.linalg.norm(values[i] - values[j], axis=1)
            assert np.all(lengths[together] < 1e-3)
            assert np.all(lengths[~together] > 1e-6)


class TestDescent:
    @each_solver
    @each_penalty
    @given(p=problems(sizes=(2, 10), log_costs=(-2.0, 2.0)))
    def test_the_objective_never_rises_and_is_the_objective(self, solver, penalty, p):
        result = solve(p, penalty=penalty, solver=solver, max_iter=60)
        history = result.objective_history
        assert np.all(np.diff(history) <= 1e-12 * history[0])
        recomputed = objective(p.X, result.estimate, *p.args[1:], **p.costs, penalty=penalty)
        assert result.objective == recomputed
        assert history[-1] == pytest.approx(recomputed, rel=1e-9, abs=1e-12)

    @each_solver
    @each_penalty
    @given(p=problems(sizes=(2, 9)), seed=st.integers(0, 99))
    def test_a_given_start_is_never_made_worse(self, solver, penalty, p, seed):
        init = np.random.default_rng(seed).normal(size=p.X.shape) * 3.0
        before = objective(p.X, init, *p.args[1:], **p.costs, penalty=penalty)
        result = solve(p, penalty=penalty, solver=solver, init=init, max_iter=30)
        assert result.objective_history[0] == pytest.approx(before)
        assert result.objective <= before * (1 + 1e-12)

    @each_penalty
    @given(p=problems(sizes=(2, 10)))
    def test_what_is_called_converged_meets_the_tolerance(self, penalty, p):
        result = solve(p, penalty=penalty, tol=1e-4)
        reached = result.certificate
        value = reached.gap if penalty.is_linear else reached.stationarity
        assert (result.status == "converged") == (value <= 1e-4)

    @each_solver
    @pytest.mark.parametrize("penalty", [Snowflake(), Log(eps=0.05), MCP(2.0)], ids=repr)
    @pytest.mark.parametrize("seed", range(5))
    def test_no_direction_leads_down_from_a_converged_estimate(self, solver, penalty, seed):
        p = random_problem(seed, log_costs=(-1.0, 1.0))
        result = solve(p, penalty=penalty, solver=solver, tol=1e-5)
        assert result.certificate.stationarity <= 1e-5
        rng = np.random.default_rng(seed)
        size = np.sqrt(np.nansum((p.X - np.nanmean(p.X)) ** 2))
        m, n = p.X.shape
        row_labels, column_labels = result.row_labels, result.column_labels
        for _ in range(50):
            blocks = rng.normal(size=(result.n_row_clusters, result.n_column_clusters))
            directions = [
                blocks[np.ix_(row_labels, column_labels)],
                np.outer(rng.integers(2, size=m), rng.normal(size=n)),
                np.outer(rng.normal(size=m), np.arange(n) == rng.integers(n)),
                np.outer(row_labels == rng.integers(result.n_row_clusters), rng.normal(size=n)),
                rng.normal(size=(m, n)),
            ]
            for direction in directions:
                slope = slow.directional_derivative(
                    p.X, result.estimate, direction, *p.args[1:], p.row_cost, p.column_cost, penalty
                )
                assert slope >= -2e-5 * size * np.linalg.norm(direction)

    def test_starting_at_the_solution_stays_there(self):
        p = random_problem(8)
        result = co_cluster(*p.args, **p.costs)
        again = co_cluster(*p.args, **p.costs, init=result.estimate)
        assert again.n_iter <= 3
        np.testing.assert_allclose(again.estimate, result.estimate, atol=1e-5)
        np.testing.assert_array_equal(again.row_labels, result.row_labels)

    def test_fused_rows_of_a_start_can_part_under_a_linear_penalty(self):
        p = random_problem(9, log_costs=(-1.0, -0.9))
        constant = np.full(p.X.shape, np.nanmean(p.X))
        from_constant = co_cluster(*p.args, **p.costs, penalty="linear", init=constant)
        expected = co_cluster(*p.args, **p.costs, penalty="linear")
        assert from_constant.objective == pytest.approx(expected.objective, rel=1e-6)
        assert from_constant.n_row_clusters > 1


class TestLabels:
    @each_solver
    @each_penalty
    @given(p=problems(sizes=(2, 10)))
    def test_labels_agree_with_the_estimate(self, solver, penalty, p):
        result = solve(p, penalty=penalty, solver=solver, max_iter=60)
        for values, labels, n_clusters, graph in (
            (result.estimate, result.row_labels, result.n_row_clusters, p.row_graph),
            (result.estimate.T, result.column_labels, result.n_column_clusters, p.column_graph),
        ):
            assert set(labels.tolist()) == set(range(n_clusters))
            _, first = np.unique(labels, return_index=True)
            np.testing.assert_array_equal(values, values[first][labels])
            assert np.all(np.diff(first) > 0)
            i, j = graph.edges.T
            apart = labels[i] != labels[j]
            assert np.all(np.any(values[i] != values[j], axis=1)[apart])

    @each_solver
    @given(p=problems())
    def test_filled_is_the_data_where_observed(self, solver, p):
        before = p.X.copy()
        result = solve(p, solver=solver, max_iter=10)
        observed = ~np.isnan(p.X)
        np.testing.assert_array_equal(result.filled[observed], p.X[observed])
        np.testing.assert_array_equal(result.filled[~observed], result.estimate[~observed])
        np.testing.assert_array_equal(p.X, before)


def two_paths(n_nodes):
    """A graph of two components, and the first node of the second."""
    half = n_nodes // 2
    edges = path(n_nodes).edges
    return Graph(n_nodes, edges[edges[:, 1] != half]), half


class TestClusteringOfRowsAlone:
    """A column cost of zero: convex clustering, and clustering with concave penalties."""

    groups = np.repeat([0, 1, 2, 3], 6)

    def solve(self, penalty, row_cost):
        rng = np.random.default_rng(0)
        X = 2.0 * rng.normal(size=(4, 5))[self.groups] + 0.3 * rng.normal(size=(24, 5))
        pairs = Graph(24, list(combinations(range(24), 2)))
        options = {"row_cost": row_cost, "column_cost": 0.0, "penalty": penalty}
        return X, co_cluster(X, pairs, Graph(5, []), **options)

    @pytest.mark.parametrize("penalty", [MCP(3.0), Log(), Linear(), Snowflake()], ids=repr)
    def test_the_objective_is_a_sum_over_pairs_of_rows(self, penalty):
        X, result = self.solve(penalty, 0.05)
        rows = result.estimate
        lengths = np.array([np.linalg.norm(a - b) for a, b in combinations(rows, 2)])
        expected = 0.5 * np.sum((X - rows) ** 2) + 0.05 * penalty.value(lengths).sum()
        assert result.objective == pytest.approx(expected, rel=1e-9)
        assert result.n_column_clusters == 5

    def test_mcp_finds_the_means_of_groups_and_a_linear_penalty_shrinks_them(self):
        X, by_mcp = self.solve(MCP(3.0), 0.2)
        X, by_linear = self.solve(Linear(), 0.2)
        for result in (by_mcp, by_linear):
            np.testing.assert_array_equal(
                result.row_labels[:, None] == result.row_labels,
                self.groups[:, None] == self.groups,
            )
        means = np.array([X[self.groups == group].mean(axis=0) for group in self.groups])
        np.testing.assert_allclose(by_mcp.estimate, means, atol=1e-6)
        middle = X.mean(axis=0)
        assert np.linalg.norm(by_linear.estimate - middle) < 0.5 * np.linalg.norm(means - middle)

    def test_the_limit_of_a_truncated_lasso_is_that_of_mcp_at_twice_the_threshold(self):
        tau = 1.5
        assert MCP(2 * tau).derivative(np.array([0.0]))[0] == pytest.approx(1.0)
        np.testing.assert_allclose(MCP(2 * tau).value(np.array([2 * tau, 50.0])), tau)


class TestLimits:
    @each_solver
    @one_of_each_penalty
    def test_no_cost_gives_the_data(self, solver, penalty):
        p = random_problem(0, missing=(0.3, 0.31))
        result = co_cluster(*p.args, row_cost=0.0, column_cost=0.0, penalty=penalty, solver=solver)
        observed = ~np.isnan(p.X)
        np.testing.assert_allclose(result.estimate[observed], p.X[observed], rtol=1e-12)
        np.testing.assert_allclose(result.estimate[~observed], np.nanmean(p.X), rtol=1e-12)
        assert result.objective == pytest.approx(0.0, abs=1e-20)
        assert result.n_row_clusters == p.X.shape[0]

    @one_of_each_penalty
    @pytest.mark.parametrize("cost", [1e-12, 1e-7])
    def test_a_cost_near_zero_gives_nearly_the_data(self, penalty, cost):
        p = random_problem(1, missing=(0.2, 0.21))
        result = co_cluster(*p.args, row_cost=cost, column_cost=cost, penalty=penalty)
        observed = ~np.isnan(p.X)
        np.testing.assert_allclose(result.estimate[observed], p.X[observed], atol=1e-5)

    @each_solver
    @pytest.mark.parametrize("penalty", [Snowflake(), Linear(), Log()], ids=repr)
    @pytest.mark.parametrize("cost", [1e4, 1e12])
    def test_a_large_cost_gives_the_mean(self, solver, penalty, cost):
        p = random_problem(2)
        result = co_cluster(
            *p.args, row_cost=cost, column_cost=cost, penalty=penalty, solver=solver
        )
        np.testing.assert_allclose(result.estimate, np.nanmean(p.X), rtol=1e-6)
        assert (result.n_row_clusters, result.n_column_clusters) == (1, 1)

    @each_solver
    def test_two_components_fuse_to_two(self, solver):
        p = random_problem(3, sizes=(8, 12))
        halves, half = two_paths(p.X.shape[0])
        result = co_cluster(
            p.X, halves, p.column_graph, row_cost=1e4, column_cost=1e4, solver=solver, tol=1e-8
        )
        assert (result.n_row_clusters, result.n_column_clusters) == (2, 1)
        for rows in (slice(half), slice(half, None)):
            np.testing.assert_allclose(result.estimate[rows], np.nanmean(p.X[rows]), rtol=1e-6)

    @pytest.mark.parametrize("seed", range(4))
    def test_no_row_cost_is_convex_clustering_of_the_columns(self, seed):
        p = random_problem(seed, missing=(0.0, 1e-9), log_costs=(0.0, 0.5))
        empty = Graph(p.X.shape[0], [])
        minimum, _ = convex_bicluster(p.X, empty, p.column_graph, 1.0, p.column_cost)
        result = co_cluster(*p.args, row_cost=0.0, column_cost=p.column_cost, penalty="linear")
        assert result.objective == pytest.approx(minimum, rel=1e-6)

    def test_no_row_cost_decouples_matrices_that_share_no_penalty(self):
        # Columns in two components: each half can be solved alone.
        p = random_problem(5, sizes=(8, 12))
        halves, half = two_paths(p.X.shape[1])
        whole = co_cluster(
            p.X, p.row_graph, halves, row_cost=0.0, column_cost=0.5, penalty="linear", tol=1e-10
        )
        for columns in (slice(half), slice(half, None)):
            part = p.X[:, columns]
            alone = co_cluster(
                part,
                p.row_graph,
                path(part.shape[1]),
                row_cost=0.0,
                column_cost=0.5,
                penalty="linear",
                tol=1e-10,
            )
            observed = ~np.isnan(part)
            np.testing.assert_allclose(
                whole.estimate[:, columns][observed], alone.estimate[observed], atol=1e-4
            )

    def test_two_points_in_closed_form(self):
        # min 1/2 (x - u)^2 + 1/2 (y - v)^2 + c |u - v|: both move by c until they meet.
        pair, single = Graph(2, [[0, 1]]), Graph(1, [])
        for cost, expected in ((0.5, [0.5, 3.5]), (2.0, [2.0, 2.0]), (5.0, [2.0, 2.0])):
            result = co_cluster(
                [[0.0], [4.0]], pair, single, row_cost=cost, column_cost=0.0, penalty="linear",
                tol=1e-12,
            )  # fmt: skip
            np.testing.assert_allclose(result.estimate[:, 0], expected, atol=1e-6)

    def test_a_row_with_nothing_observed_takes_the_values_of_its_neighbour(self):
        X = np.array([[1.0, 5.0], [np.nan, np.nan], [9.0, 2.0]])
        graph = Graph(3, [[0, 1]])
        for penalty in (Snowflake(), Linear()):
            result = co_cluster(X, graph, path(2), row_cost=0.1, column_cost=0.01, penalty=penalty)
            np.testing.assert_allclose(result.estimate[1], result.estimate[0], atol=1e-6)


def test_weights_from_one_to_a_trillion():
    rng = np.random.default_rng(0)
    p = random_problem(3)
    weights = 10.0 ** rng.uniform(-12, 0, p.row_graph.n_edges)
    graph = Graph(p.row_graph.n_nodes, p.row_graph.edges, weights)
    for penalty in ("snowflake", "linear"):
        result = co_cluster(p.X, graph, p.column_graph, **p.costs, penalty=penalty)
        assert np.all(np.isfinite(result.estimate))


def test_random_graph_makes_connected_graphs():
    assert all(random_graph(np.random.default_rng(i), 9, 0).is_connected for i in range(20))
