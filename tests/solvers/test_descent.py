"""The compiled descent against the same steps in Python, and what it promises."""

from dataclasses import replace

import numpy as np
import pytest
from oracles import descent as slow
from oracles.problems import path, random_problem, standardised

from comanifold.penalties import Log, Snowflake
from comanifold.solvers import _descent_kernels as kernels
from comanifold.solvers._certificate import _bound_on_forces
from comanifold.solvers._descent import _as_blocks, can_descend, descend
from comanifold.solvers._fast import minimise_fast
from comanifold.solvers._merging import LEAST_GAIN, merge_in_bulk
from comanifold.solvers._outcome import Outcome
from comanifold.solvers._problem import Problem
from comanifold.solvers._quadratic import relative_gradient
from comanifold.solvers._solve import tidy


def start(seed, *, factor=2.0):
    """The solution of a random problem, at doubled costs."""
    p = standardised(random_problem(seed, sizes=(8, 16), log_costs=(-1.5, 0.0)))
    problem = Problem.build(*p.args, **p.costs)
    outcome = minimise_fast(problem, None, Snowflake(), max_iter=1000, tol=1e-6)
    return outcome.iterate.scaled(factor, factor)


@pytest.mark.parametrize("eps", [1e-12, 1e-6])
@pytest.mark.parametrize("seed", range(12))
def test_against_the_same_steps_in_python(seed, eps):
    iterate, penalty = start(seed), Snowflake(eps)
    found = descend(iterate, penalty, max_iter=100, tol=1e-6)
    expected, history, n_iter = slow.descend(iterate, penalty, max_iter=100, tol=1e-6)
    assert found.outcome.n_iter == n_iter
    np.testing.assert_allclose(found.outcome.history[: len(history)], history, rtol=1e-9)
    expected = tidy(Outcome(expected, history, n_iter), penalty).iterate
    np.testing.assert_array_equal(found.outcome.iterate.row_labels, expected.row_labels)
    np.testing.assert_array_equal(found.outcome.iterate.column_labels, expected.column_labels)
    np.testing.assert_allclose(found.outcome.iterate.V, expected.V, atol=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_what_it_reports_is_so(seed):
    iterate, penalty = start(seed), Snowflake()
    given = iterate.V.copy()
    found = descend(iterate, penalty, max_iter=1000, tol=1e-4)
    np.testing.assert_array_equal(iterate.V, given)
    done = found.outcome.iterate
    assert np.all(np.diff(found.outcome.history) <= 0)
    assert found.outcome.history[-1] == pytest.approx(done.objective(penalty), rel=1e-12)
    assert found.stationarity == pytest.approx(relative_gradient(done, penalty), rel=1e-6)
    assert found.stationarity <= 1e-4
    assert found.forces == pytest.approx(_bound_on_forces(done, penalty), rel=1e-9)
    # The blocks are those of the labels.
    again = iterate.fuse(*slow.labels_between(iterate, done))
    np.testing.assert_allclose(again.problem.counts, done.problem.counts)
    np.testing.assert_allclose(again.problem.means, done.problem.means, atol=1e-12)
    np.testing.assert_allclose(again.problem.rows.weights, done.problem.rows.weights)
    np.testing.assert_array_equal(again.problem.columns.pairs, done.problem.columns.pairs)
    assert again.problem.constant == pytest.approx(done.problem.constant, abs=1e-9)


def test_clusters_are_merged_as_in_python():
    penalty, kinds = Snowflake(), set()
    for seed in range(30):
        iterate = start(seed, factor=1.5)
        n_clusters = iterate.V.shape
        apart = [np.arange(n) for n in n_clusters]
        state = kernels.fused_state(
            _as_blocks(iterate.problem), iterate.V.copy(), *apart, penalty.eps
        )
        norms = state.row_norms, state.column_norms
        fused, *labels = kernels.merged_in_bulk(state, penalty.eps, LEAST_GAIN)
        expected, objective = merge_in_bulk(iterate, penalty, norms, state.objective)
        assert fused.objective == pytest.approx(objective, rel=1e-12)
        np.testing.assert_array_equal(labels[0][iterate.row_labels], expected.row_labels)
        np.testing.assert_array_equal(labels[1][iterate.column_labels], expected.column_labels)
        kinds.add(tuple(size < n for size, n in zip(expected.V.shape, n_clusters, strict=True)))
    assert {(True, False), (False, True), (False, False)} <= kinds


def test_small_costs_keep_their_digits():
    x = np.logspace(-6, 0, 200)
    weights = np.ones_like(x)
    exact = np.array([sum((-v) ** k / k for k in range(60, 1, -1)) for v in x[x < 0.1]])
    found = kernels.snowflake_costs(x**2, weights, 1.0)[x < 0.1]
    np.testing.assert_allclose(found, exact, rtol=2e-11)
    np.testing.assert_allclose(Snowflake(1.0).value(x**2)[x < 0.1], exact, rtol=2e-11)


def test_arrays_that_are_read_only_are_left_alone():
    iterate = start(0)
    problem = iterate.problem
    for array in (problem.counts, problem.means, problem.rows.pairs, problem.rows.weights):
        array.flags.writeable = False
    found = descend(replace(iterate, problem=problem), Snowflake(), max_iter=1, tol=1e-9)
    assert found.outcome.n_iter == 1


def test_which_penalties_have_compiled_code():
    class Other(Snowflake):
        pass

    assert can_descend(Snowflake(1e-6))
    assert not can_descend(Log())
    assert not can_descend(Other())


@pytest.mark.parametrize("eps", [1e-12, 1e-2, 10.0])
def test_snowflake_in_compiled_code(eps):
    norms = np.concatenate([[0.0], np.logspace(-30, 6, 200)])
    weights = np.random.default_rng(0).uniform(1, 2, size=norms.size)
    penalty = Snowflake(eps)
    np.testing.assert_allclose(
        kernels.snowflake_costs(norms, weights, eps), weights * penalty.value(norms), rtol=1e-10
    )
    stiffness = kernels.snowflake_stiffness(norms, weights, eps)
    assert stiffness[0] == 0.0
    expected = weights[1:] * penalty.derivative(norms[1:]) / norms[1:]
    np.testing.assert_allclose(stiffness[1:], expected, rtol=1e-12)


def test_only_what_is_equal_is_fused_where_more_would_raise_the_objective():
    X = np.array([[0.0, 1.0, 3.0], [0.1, 1.1, 3.2], [0.1, 1.1, 3.2], [5.0, 2.0, 7.0]])
    problem = Problem.build(X, path(4), path(3), row_cost=1e-9, column_cost=1e-9)
    state = kernels.measured(_as_blocks(problem), X.copy(), 1e-12)
    fused, rows, columns = kernels.collapsed(state, 1e-12, close=10.0)
    np.testing.assert_array_equal(rows, [0, 1, 1, 2])
    np.testing.assert_array_equal(columns, [0, 1, 2])
    assert fused.objective <= state.objective
