"""Dense problems along graphs against CVXPY, dense systems and limits."""

import numpy as np
import pytest
from oracles import graph_completion as oracle
from oracles.slow import soft_impute

from comanifold import Graph
from comanifold.baselines._graph_data import UnitGraph, neighbor_graph
from comanifold.baselines._graph_selection import determined_entries
from comanifold.baselines._graph_solvers import (
    SmoothingProblem,
    Stopping,
    conjugate_gradients,
    solve_dirichlet,
    solve_l1,
    solve_nuclear,
    squared_objective,
)

TIGHT = Stopping(1e-10, 20_000)


def small(seed=0, shape=(9, 7), missing=0.4):
    """Residuals, two graphs of them, and the problem."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(shape[0], 2)) @ rng.normal(size=(2, shape[1]))
    X += 0.3 * rng.normal(size=shape)
    X[rng.random(shape) < missing] = np.nan
    rows, columns = neighbor_graph(X, 3), neighbor_graph(X.T, 2)
    rows = Graph(rows.n_nodes, rows.edges, rng.uniform(0.5, 2.0, rows.n_edges))
    return X, rows, columns, SmoothingProblem(X, UnitGraph.of(rows), UnitGraph.of(columns))


COSTS = [(0.3, 0.7), (2.0, 0.05), (0.0, 0.4)]


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("shape", [(9, 7), (5, 10)])
def test_dirichlet_is_the_minimum(costs, shape):
    X, rows, columns, problem = small(1, shape)
    least, U = oracle.convex_completion(X, rows, columns, costs)
    found = solve_dirichlet(problem, costs, TIGHT)
    assert found.converged
    np.testing.assert_allclose(found.U, U, atol=1e-4)
    assert found.history[-1] == pytest.approx(least, abs=1e-6)
    u = np.linalg.lstsq(oracle.system(X, rows, columns, costs), problem.X.ravel(), rcond=None)[0]
    np.testing.assert_allclose(found.U.ravel(), u, atol=1e-7)


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("penalty", [0.1, 1.0])
@pytest.mark.parametrize("shape", [(9, 7), (5, 10)])
def test_nuclear_is_the_minimum(costs, penalty, shape):
    X, rows, columns, problem = small(2, shape)
    least, U = oracle.convex_completion(X, rows, columns, costs, penalty=penalty)
    found = solve_nuclear(problem, costs, penalty, Stopping(1e-7, 5000))
    assert found.converged
    np.testing.assert_allclose(found.U, U, atol=1e-4)
    assert found.history[-1] == pytest.approx(least, abs=1e-6)
    assert found.rank == np.linalg.matrix_rank(found.U, tol=1e-8)


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("shape", [(9, 7), (5, 10)])
def test_l1_is_the_minimum_and_its_objective_never_rises(costs, shape):
    X, rows, columns, problem = small(3, shape)
    X = X.copy()
    found = solve_l1(problem, costs, TIGHT)
    least, U = oracle.convex_completion(X, rows, columns, costs, loss="l1")
    assert found.converged
    assert found.history[-1] == pytest.approx(least, abs=1e-5)
    if min(costs) > 0.0:  # else there are several minima
        np.testing.assert_allclose(found.U, U, atol=1e-4)
    assert (np.diff(found.history) <= 0.0).all()


def test_without_costs_nuclear_is_soft_impute_and_l1_interpolates():
    X, *_, problem = small(4)
    found = solve_nuclear(problem, (0.0, 0.0), 0.7, Stopping(1e-8, 5000))
    np.testing.assert_allclose(found.U, soft_impute(X, 0.7), atol=1e-5)
    np.testing.assert_array_equal(solve_l1(problem, (0.0, 0.0), TIGHT).U, np.nan_to_num(X))


def test_large_costs_give_the_mean():
    X, *_, problem = small(5)
    found = solve_dirichlet(problem, (1e7, 1e7), Stopping(1e-10, 10_000))
    np.testing.assert_allclose(found.U, np.nanmean(X), atol=1e-4)


def test_entries_that_depend_on_no_observed_one_are_zero():
    X = np.array([[1.0, 2.0, 3.0], [1.5, np.nan, 2.0], [np.nan, np.nan, np.nan]])
    rows, columns = Graph(3, [[0, 1]]), Graph(3, [[0, 1], [1, 2]])
    problem = SmoothingProblem(X, UnitGraph.of(rows), UnitGraph.of(columns))
    for found in (
        solve_dirichlet(problem, (0.5, 0.5), TIGHT),
        solve_nuclear(problem, (0.5, 0.5), 0.1, Stopping(1e-8, 5000)),
        solve_l1(problem, (0.5, 0.5), TIGHT),
    ):
        assert found.converged
        assert np.isfinite(found.U).all()
        np.testing.assert_allclose(found.U[2], 0.0, atol=1e-12)


def test_every_step_of_conjugate_gradients_lowers_the_objective():
    _, *_, problem = small(6)
    values = [
        squared_objective(
            problem, solve_dirichlet(problem, (0.3, 3.0), Stopping(1e-15, n)).U, (0.3, 3.0)
        )
        for n in range(1, 12)
    ]
    assert (np.diff(values) < 1e-12).all()
    assert values[0] - values[-1] > 1e-3


def test_conjugate_gradients_say_whether_they_converged():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(8, 8))
    A = A @ A.T + 0.1 * np.eye(8)
    right, zeros, ones = rng.normal(size=8), np.zeros(8), np.ones(8)
    x, n_steps, converged = conjugate_gradients(lambda v: A @ v, right, zeros, ones, TIGHT)
    assert converged
    assert 5 < n_steps < 30
    np.testing.assert_allclose(A @ x, right, atol=1e-8)
    few = conjugate_gradients(lambda v: A @ v, right, zeros, ones, Stopping(1e-10, 2))
    assert few[1:] == (2, False)
    again = conjugate_gradients(lambda v: A @ v, right, x, np.diag(A), Stopping(1e-8, 10))
    assert again[1:] == (0, True)


def test_iterations_end_at_the_limit():
    _, *_, problem = small(7)
    for solve in (
        lambda stopping: solve_dirichlet(problem, (0.3, 0.3), stopping),
        lambda stopping: solve_nuclear(problem, (0.3, 0.3), 0.5, stopping),
        lambda stopping: solve_l1(problem, (0.3, 0.3), stopping),
    ):
        found = solve(Stopping(1e-12, 3))
        assert (found.n_iter, found.converged) == (3, False)


def test_conjugate_gradients_stop_where_no_direction_has_curvature():
    right, start = np.ones((3, 2)), np.full((3, 2), 5.0)
    found = conjugate_gradients(np.zeros_like, right, start, np.ones((3, 2)), Stopping(1e-6, 10))
    np.testing.assert_array_equal(found[0], start)
    assert found[1:] == (0, True)


def hard(case):
    """A matrix and weighted graphs: complete, with a whole row and column missing, or in parts."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(9, 2)) @ rng.normal(size=(2, 8)) + 0.3 * rng.normal(size=(9, 8))
    rows = Graph(9, [[i, i + 1] for i in range(8)], rng.uniform(0.2, 3.0, 8))
    columns = Graph(8, [[i, i + 1] for i in range(7)], rng.uniform(0.2, 3.0, 7))
    if case != "complete":
        X[rng.random(X.shape) < 0.5] = np.nan
    if case == "empty":
        X[4], X[:, 0] = np.nan, np.nan
    if case == "parts":  # the last rows and columns have no neighbours at all
        rows, columns = (
            Graph(g.n_nodes, g.edges[kept], g.weights[kept])
            for g, kept in ((rows, [0, 1, 3, 4, 5, 6]), (columns, [0, 2, 3, 4, 5]))
        )
        X[8], X[:, 7] = np.nan, np.nan
    return X, rows, columns, SmoothingProblem(X, UnitGraph.of(rows), UnitGraph.of(columns))


@pytest.mark.parametrize("case", ["complete", "empty", "parts"])
@pytest.mark.parametrize("costs", [(0.5, 1.5), (0.0, 0.7), (3.0, 0.0), (0.0, 0.0)])
def test_hard_cases_have_the_minimum(case, costs):
    X, rows, columns, problem = hard(case)
    # Where neither data nor edges reach, and of the absolute loss between equal errors, any value
    # is a minimum: zero, or one with the same objective.
    smoothed = costs[0] > 0.0, costs[1] > 0.0
    reached = determined_entries(problem.observed, rows, columns, smoothed)
    least, U = oracle.convex_completion(X, rows, columns, costs)
    found = solve_dirichlet(problem, costs, TIGHT)
    assert found.converged
    np.testing.assert_allclose(found.U[reached], U[reached], atol=1e-4)
    assert not found.U[~reached].any()
    assert found.history[-1] == pytest.approx(least, abs=1e-6)

    least, U = oracle.convex_completion(X, rows, columns, costs, penalty=0.4)
    found = solve_nuclear(problem, costs, 0.4, Stopping(1e-8, 20_000))
    assert found.converged
    np.testing.assert_allclose(found.U, U, atol=1e-4)
    assert found.history[-1] == pytest.approx(least, abs=1e-6)

    least, U = oracle.convex_completion(X, rows, columns, costs, loss="l1")
    found = solve_l1(problem, costs, TIGHT)
    assert found.converged
    assert found.history[-1] == pytest.approx(least, abs=1e-5)
    assert not found.U[~reached].any()
    assert (np.diff(found.history) <= 0.0).all()


@pytest.mark.parametrize("costs", [(30.0, 30.0), (1e3, 1e3), (1e4, 0.01), (1e6, 1e6)])
def test_l1_with_large_costs_is_the_minimum_or_says_that_it_is_not(costs):
    # Steps are short, and so are changes: these alone would look as if they had converged.
    X, rows, columns, problem = hard("parts")
    found = solve_l1(problem, costs, Stopping(1e-5, 1000))
    least, _ = oracle.convex_completion(X, rows, columns, costs, loss="l1")
    assert found.converged == (max(costs) < 1e4)
    if found.converged:
        assert found.history[-1] == pytest.approx(least, rel=1e-5)


def test_conjugate_gradients_are_preconditioned_by_the_diagonal():
    diagonal = np.geomspace(1e-3, 1e3, 12).reshape(4, 3)
    right, start = np.ones((4, 3)), np.zeros((4, 3))
    U, n_steps, converged = conjugate_gradients(
        lambda V: diagonal * V, right, start, diagonal, TIGHT
    )
    assert (n_steps, converged) == (1, True)
    np.testing.assert_allclose(U, 1.0 / diagonal)


@pytest.mark.parametrize("solve", [solve_dirichlet, solve_l1])
def test_copies_of_a_problem_take_as_many_iterations(solve):
    # Tolerances are relative: more rows do not make them tighter, or looser.
    X, rows, columns, problem = small(8)
    found = solve(problem, (0.7, 0.4), Stopping(1e-4, 1000))
    copies = np.concatenate([rows.edges + 9 * k for k in range(20)])
    many = Graph(180, copies, np.tile(rows.weights, 20))
    problem = SmoothingProblem(np.tile(X, (20, 1)), UnitGraph.of(many), UnitGraph.of(columns))
    others = solve(problem, (0.7, 0.4), Stopping(1e-4, 1000))
    assert (others.n_iter, others.converged) == (found.n_iter, True)
    np.testing.assert_allclose(others.U[-9:], found.U, atol=1e-9)


@pytest.mark.parametrize("unit", [1.0, 20.0, 300.0])
def test_the_weight_of_the_constraint_is_adapted(unit):
    X, _, _, problem = small(9)
    problem.X = unit * np.nan_to_num(X)
    found = solve_nuclear(problem, (0.3, 0.3), 0.5 * unit, Stopping(1e-5, 1000))
    assert found.converged
    assert found.n_iter < 80  # with a fixed weight 103, 58 and 560
