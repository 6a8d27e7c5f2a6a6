import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.convex import convex_bicluster
from oracles.problems import path, random_problem

from comanifold import Graph, co_cluster, dual_bound, objective
from comanifold.penalties import MCP, Linear, Log, Snowflake, compile_penalty
from comanifold.solvers.certificate import (
    Dual,
    Potentials,
    _fits_tree,
    carries_gradient_up_to,
    certain_modes,
    find_potentials,
    relative_gap,
    stationarity,
)
from comanifold.solvers.fast import _check_other_mode, all_fused, provably_fused
from comanifold.solvers.problem import Iterate, Outcome, Problem


@pytest.mark.parametrize("seed", range(8))
def test_any_dual_point_bounds_the_minimum(seed):
    p = random_problem(seed, sizes=(3, 7))
    minimum, _ = convex_bicluster(*p.args, p.row_cost, p.column_cost)
    rng = np.random.default_rng(seed)
    shapes = (p.row_graph.n_edges, p.X.shape[1]), (p.column_graph.n_edges, p.X.shape[0])
    for scale in (0.0, 0.01, 0.3, 100.0):
        duals = [scale * rng.normal(size=shape) for shape in shapes]
        bound = dual_bound(p.X, *duals, *p.args[1:], **p.costs)
        assert bound <= minimum * (1 + 1e-9)


@pytest.mark.parametrize("solver", ["fast", "paper"])
@pytest.mark.parametrize("seed", range(6))
def test_the_gap_can_be_recomputed_from_the_dual_point(solver, seed):
    p = random_problem(seed, log_costs=(-1.0, 1.0))
    result = co_cluster(*p.args, **p.costs, penalty="linear", solver=solver)
    c = result.certificate
    bound = dual_bound(p.X, c.row_dual, c.column_dual, *p.args[1:], **p.costs)
    assert bound == pytest.approx(c.lower_bound, rel=1e-9)
    assert (result.objective - bound) / result.objective == pytest.approx(c.gap, abs=1e-9)
    for dual, cost, graph in (
        (c.row_dual, p.row_cost, p.row_graph),
        (c.column_dual, p.column_cost, p.column_graph),
    ):
        assert np.all(np.linalg.norm(dual, axis=1) <= cost * graph.weights * (1 + 1e-9))


def test_the_bound_of_a_wrong_estimate_exposes_it():
    p = random_problem(1)
    result = co_cluster(*p.args, **p.costs, penalty="linear")
    wrong = np.nan_to_num(p.X, nan=np.nanmean(p.X))
    value = objective(p.X, wrong, *p.args[1:], **p.costs, penalty="linear")
    assert value > result.certificate.lower_bound * 1.001


def test_stationarity_vanishes_at_the_solution_and_nowhere_near_it():
    p = random_problem(2)
    X = (p.X - np.nanmean(p.X)) / np.nanstd(p.X)
    problem = Problem.build(X, *p.args[1:], **p.costs)
    result = co_cluster(X, *p.args[1:], **p.costs, penalty="linear", tol=1e-12, max_iter=100_000)
    dual = Dual(result.certificate.row_dual, result.certificate.column_dual)
    assert stationarity(problem, result.estimate, Linear(), dual) < 1e-5
    moved = result.estimate + 0.1 * np.random.default_rng(0).normal(size=X.shape)
    assert stationarity(problem, moved, Linear(), dual) > 0.05


def test_a_gradient_that_a_steep_penalty_carries_and_a_flat_one_does_not():
    X = np.array([[-1.0, -1.0], [1.0, 1.0]])
    pair = Graph(2, [[0, 1]])
    problem = Problem.build(X, pair, pair, row_cost=1.0, column_cost=1.0)
    fused = Iterate.start(problem, np.zeros((2, 2))).fuse(np.zeros(2, int), np.zeros(2, int))
    assert all(certain_modes(fused, problem, Snowflake()))
    assert not all(certain_modes(fused, problem, Linear()))


@given(st.integers(0, 10_000), st.floats(-3.0, 6.0))
def test_what_is_proved_to_fuse_does_fuse(seed, log_cost):
    p = random_problem(seed, sizes=(3, 6))
    costs = {"row_cost": 10.0**log_cost, "column_cost": p.column_cost}
    problem = Problem.build(*p.args, **costs)
    row_labels, column_labels = provably_fused(problem, Linear())
    if row_labels.max() == 0 or column_labels.max() == 0:
        result = co_cluster(*p.args, **costs, penalty="linear", tol=1e-9)
        assert row_labels.max() > 0 or result.n_row_clusters == 1
        assert column_labels.max() > 0 or result.n_column_clusters == 1


def test_a_large_cost_is_proved_to_fuse_everything():
    p = random_problem(4)
    problem = Problem.build(*p.args, row_cost=1e9, column_cost=1e9)
    for penalty in (Linear(), Snowflake()):
        for labels in provably_fused(problem, penalty):
            assert labels.max() == 0


@pytest.mark.parametrize("mode", [0, 1])
def test_the_least_cap_says_what_gradient_is_carried(mode):
    costs = [1e6, 1e6]
    costs[mode] = 8.0
    problem = Problem.build(
        np.zeros((4, 4)), path(4), path(4), row_cost=costs[0], column_cost=costs[1]
    )
    slope = 0.5 / Snowflake(0.1).eps
    held = 8.0 * slope / (2.0 * np.sqrt(4))
    assert carries_gradient_up_to(0.99 * held, problem, Snowflake(0.1))
    assert not carries_gradient_up_to(1.01 * held, problem, Snowflake(0.1))


@pytest.mark.parametrize("costs", [(1e-6, 1e9), (1e9, 1e-6)])
def test_the_edges_of_both_modes_must_carry_their_part(costs):
    X = np.random.default_rng(0).normal(size=(4, 5))
    problem = Problem.build(X, path(4), path(5), row_cost=costs[0], column_cost=costs[1])
    mean = all_fused(Iterate.start(problem, X))
    assert not all(certain_modes(mean, problem, Snowflake(0.1)))
    strong = Problem.build(X, path(4), path(5), row_cost=1e9, column_cost=1e9)
    assert all(certain_modes(mean, strong, Snowflake(0.1)))


@given(st.integers(0, 10_000), st.floats(-1.0, 2.5), st.sampled_from([Log(), Linear(), MCP(9.0)]))
def test_where_a_bound_says_that_the_gradient_is_carried_dual_vectors_show_it(seed, cost, penalty):
    p = random_problem(seed, sizes=(3, 8))
    X = (p.X - np.nanmean(p.X)) / np.nanstd(p.X)
    problem = Problem.build(X, *p.args[1:], row_cost=10.0**cost, column_cost=10.0**cost)
    fused = all_fused(Iterate.start(problem, problem.means))
    if all(certain_modes(fused, problem, penalty)):
        U = fused.estimate
        dual, residual, _ = find_potentials(problem, U, penalty, tol=1e-4, max_iter=50)
        assert residual <= 1e-4
        assert stationarity(problem, U, penalty, dual) == pytest.approx(residual, rel=1e-6)


@pytest.mark.parametrize("penalty", [Linear(), Log(0.5)], ids=repr)
@pytest.mark.parametrize("seed", range(6))
def test_potentials_are_dual_vectors_within_their_caps(seed, penalty):
    p = random_problem(seed)
    X = (p.X - np.nanmean(p.X)) / np.nanstd(p.X)
    problem = Problem.build(X, *p.args[1:], row_cost=0.5, column_cost=0.5)
    U = all_fused(Iterate.start(problem, problem.means)).estimate
    potentials, _, n_iter = find_potentials(problem, U, penalty, tol=1e-3, max_iter=20)
    assert n_iter <= 20
    norms = problem.norms(U)
    caps = problem.slopes(penalty, norms)
    dual = potentials.expand(problem, U, penalty)
    for lengths, cap in zip(dual.lengths(), caps, strict=True):
        assert np.all(lengths <= cap * (1 + 1e-9))
    np.testing.assert_allclose(
        dual.fused_divergence(problem, norms, caps),
        potentials.fused_divergence(problem, norms, caps),
        atol=1e-9,
    )
    # The same vectors, written for other costs.
    doubled = problem.scaled(2.0, 4.0)
    again = potentials.scaled(2.0, 4.0).expand(doubled, U, penalty)
    within = [length < 1.0 for length in potentials.lengths(problem)]
    np.testing.assert_allclose(again.rows[within[0]], dual.rows[within[0]], atol=1e-9)
    np.testing.assert_allclose(again.columns[within[1]], dual.columns[within[1]], atol=1e-9)


def test_a_guess_that_is_worse_than_none_is_dropped():
    p = random_problem(3)
    X = (p.X - np.nanmean(p.X)) / np.nanstd(p.X)
    problem = Problem.build(X, *p.args[1:], row_cost=100.0, column_cost=100.0)
    U = all_fused(Iterate.start(problem, problem.means)).estimate
    noise = Potentials(1e3 * np.random.default_rng(0).normal(size=X.shape))
    _, residual, _ = find_potentials(problem, U, Linear(), noise, tol=1e-4, max_iter=20)
    assert residual <= 1e-4


def test_the_gap_is_relative_to_the_objective_unless_that_vanishes():
    p = random_problem(0)
    X = (p.X - np.nanmean(p.X)) / np.nanstd(p.X)
    problem = Problem.build(X, *p.args[1:], **p.costs)
    assert relative_gap(problem, Linear(), 2.0, 1.5) == pytest.approx(0.25)
    assert relative_gap(problem, Linear(), 1e-3, 0.5e-3) == pytest.approx(0.5)
    assert relative_gap(problem, Linear(), 1e-30, 0.0) < 1e-20
    assert np.isnan(relative_gap(problem, Linear(), 1.0, np.nan))


@given(st.integers(0, 10_000))
def test_along_a_path_the_dual_vectors_are_running_sums(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    G = rng.normal(size=(n, 3))
    G -= G.mean(axis=0)
    longest = np.linalg.norm(np.cumsum(G, axis=0)[:-1], axis=1).max()
    problem = Problem.build(np.zeros((n, 3)), path(n), path(3), row_cost=1.0, column_cost=1.0)
    one = np.zeros(n, dtype=np.intp)
    assert _fits_tree(G, one, problem.rows, 1.001 * longest)
    assert not _fits_tree(G, one, problem.rows, 0.999 * longest)
    # Clusters of one point have nothing to carry.
    assert _fits_tree(np.zeros((n, 3)), np.arange(n), problem.rows, 0.0)


@given(st.integers(0, 10_000), st.floats(-1.5, 0.5), st.booleans())
def test_a_mode_that_is_certain_leaves_a_smaller_problem_with_the_same_residual(seed, cost, swap):
    p = random_problem(seed, sizes=(4, 8))
    X = (p.X - np.nanmean(p.X)) / np.nanstd(p.X)
    costs = (10.0**cost, 1e4) if not swap else (1e4, 10.0**cost)
    problem = Problem.build(X, *p.args[1:], row_cost=costs[0], column_cost=costs[1])
    fused = all_fused(Iterate.start(problem, problem.means))
    certain = certain_modes(fused, problem, Log())
    assert certain[1 - swap]
    if all(certain):
        return
    outcome = Outcome(fused, [1.0], 0, stationarity=0.0)
    stop = {"max_iter": 200, "tol": 1e-4}
    checked, is_optimal, _ = _check_other_mode(
        outcome, problem, compile_penalty(Log()), certain, **stop
    )
    _, residual, _ = find_potentials(problem, fused.estimate, Log(), **stop)
    assert is_optimal == (residual <= 1e-4) or abs(np.log(residual / 1e-4)) < 0.5
    if is_optimal:
        assert checked.stationarity <= 1e-4
