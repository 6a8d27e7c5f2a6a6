"""The descent against the same steps in NumPy, and what it promises."""

import numpy as np
import pytest
from oracles import descent as slow
from oracles.problems import Exponential, path, random_problem, standardised

from comanifold.penalties import MCP, Linear, Log, Snowflake, compile_penalty
from comanifold.solvers import descent, fast
from comanifold.solvers.kernels import blocks, merge, quadratic
from comanifold.solvers.kernels import descent as descent_kernels
from comanifold.solvers.problem import Iterate, Problem

PENALTIES = [Snowflake(), Snowflake(1e-6), Log(), Log(0.05), MCP(2.0), Linear(), Exponential(2.0)]
each_penalty = pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
FROM_SCRATCH = fast._from_scratch(1e-6)


def start(seed, penalty, *, factor=2.0):
    """Where the descent on a random problem ends, at doubled costs."""
    p = standardised(random_problem(seed, sizes=(8, 16), log_costs=(-1.5, 0.0)))
    problem = Problem.build(*p.args, **p.costs)
    first = Iterate.start(problem, fast._smoothed_data(problem, penalty))
    found = fast.run_descent(first, penalty, FROM_SCRATCH, max_iter=1000, tol=1e-4)
    return found.outcome.iterate.scaled(factor, factor)


def state_of(iterate, penalty):
    kernel = compile_penalty(penalty).kernel
    return descent.State.of(iterate.problem.owned(), iterate.V.copy(), kernel), kernel


def n_compiled():
    """How many versions of each kernel of the descent are compiled."""
    return {
        kernel: len(kernel.signatures)
        for module in (blocks, merge, quadratic, descent_kernels)
        for kernel in vars(module).values()
        if hasattr(kernel, "signatures")
    }


@each_penalty
@pytest.mark.parametrize("schedule", [fast.CONTINUED, FROM_SCRATCH], ids=["warm", "cold"])
@pytest.mark.parametrize("seed", range(4))
def test_against_the_same_steps_in_numpy(seed, schedule, penalty):
    iterate = start(seed, penalty)
    stop = {"max_iter": 20, "tol": 1e-4}
    found = fast.run_descent(iterate, penalty, schedule, **stop).outcome
    expected, history, n_iter = slow.descend(iterate, penalty, schedule, **stop)
    assert found.n_iter == n_iter
    np.testing.assert_allclose(found.history[: len(history)], history, rtol=1e-7)
    np.testing.assert_array_equal(found.iterate.row_labels, expected.row_labels)
    np.testing.assert_array_equal(found.iterate.column_labels, expected.column_labels)
    np.testing.assert_allclose(found.iterate.V, expected.V, atol=1e-5)


@each_penalty
@pytest.mark.parametrize("seed", range(6))
def test_it_descends_to_a_stationary_point_and_reports_its_residual(seed, penalty):
    iterate = start(seed, penalty)
    given = iterate.V.copy()
    done = fast.run_descent(iterate, penalty, fast.CONTINUED, max_iter=5000, tol=1e-4)
    np.testing.assert_array_equal(iterate.V, given)
    outcome, found = done.outcome, done.outcome.iterate
    assert np.all(np.diff(outcome.history) <= 0)
    assert outcome.history[-1] == pytest.approx(found.objective(penalty), rel=1e-12)
    assert outcome.stationarity == pytest.approx(slow.relative_gradient(found, penalty), rel=1e-6)
    assert outcome.stationarity <= 1e-4
    assert done.gradient_bound == pytest.approx(slow.gradient_bound(found, penalty), rel=1e-9)
    # The blocks are those of the labels.
    again = iterate.fuse(*slow.labels_between(iterate, found))
    np.testing.assert_allclose(again.problem.counts, found.problem.counts)
    np.testing.assert_allclose(again.problem.means, found.problem.means, atol=1e-12)
    np.testing.assert_allclose(again.problem.rows.weights, found.problem.rows.weights)
    np.testing.assert_array_equal(again.problem.columns.pairs, found.problem.columns.pairs)
    assert again.problem.constant == pytest.approx(found.problem.constant, abs=1e-9)


@pytest.mark.parametrize("by_pairs", [False, True])
def test_clusters_are_merged_as_in_numpy(by_pairs):
    penalty, kinds = Snowflake(), set()
    for seed in range(30):
        iterate = start(seed, penalty, factor=1.5)
        n_clusters = iterate.V.shape
        state, kernel = state_of(iterate, penalty)
        found = descent.merged(state, kernel, descent.WorkArrays(state.V.size), by_pairs=by_pairs)
        fused, rows, columns = found or (state, *map(np.arange, n_clusters))
        expected = slow.merge(iterate, penalty, by_pairs=by_pairs)
        assert fused.objective == pytest.approx(expected.objective(penalty), rel=1e-12)
        np.testing.assert_array_equal(rows[iterate.row_labels], expected.row_labels)
        np.testing.assert_array_equal(columns[iterate.column_labels], expected.column_labels)
        kinds.add(tuple(size < n for size, n in zip(expected.V.shape, n_clusters, strict=True)))
    assert {(True, False), (False, True), (False, False)} <= kinds


def test_arrays_that_are_read_only_are_left_alone():
    iterate = start(0, Snowflake())
    problem = iterate.problem
    for array in (problem.counts, problem.means, problem.rows.pairs, problem.rows.weights):
        array.flags.writeable = False
    fast.run_descent(start(1, Snowflake()), Snowflake(), fast.CONTINUED, max_iter=1, tol=1e-9)
    before = n_compiled()
    found = fast.run_descent(iterate, Snowflake(), fast.CONTINUED, max_iter=1, tol=1e-9)
    assert found.outcome.n_iter == 1
    assert n_compiled() == before


def test_it_is_compiled_once_for_all_penalties():
    iterate = start(0, Snowflake())
    fast.run_descent(iterate, Snowflake(), fast.CONTINUED, max_iter=1, tol=1e-3)
    before = n_compiled()
    assert before[descent_kernels.evaluated] == 1
    for penalty in PENALTIES:
        fast.run_descent(iterate, penalty, fast.CONTINUED, max_iter=1, tol=1e-3)
    assert n_compiled() == before


def test_only_what_is_equal_is_fused_where_more_would_raise_the_objective():
    X = np.array([[0.0, 1.0, 3.0], [0.1, 1.1, 3.2], [0.1, 1.1, 3.2], [5.0, 2.0, 7.0]])
    problem = Problem.build(X, path(4), path(3), row_cost=1e-9, column_cost=1e-9)
    state, kernel = state_of(Iterate.start(problem, X), Snowflake())
    lengths = descent.close_lengths(problem, 10.0)
    fused, rows, columns = descent.collapsed(
        state, kernel, lengths, descent.WorkArrays(state.V.size)
    )
    np.testing.assert_array_equal(rows, [0, 1, 1, 2])
    np.testing.assert_array_equal(columns, [0, 1, 2])
    assert fused.objective <= state.objective


@each_penalty
def test_with_no_iterations_it_clips_and_fuses_what_is_close(penalty):
    X = np.array([[0.0, 2.0], [1e-9, 2.0], [9.0, 4.0]])
    problem = Problem.build(X, path(3), path(2), row_cost=1e-3, column_cost=1e-3)
    U = X + np.array([[0.0, 0.0], [0.0, 0.0], [3.0, 0.0]])
    outcome = fast.run_descent(
        Iterate.start(problem, U), penalty, fast.CONTINUED, max_iter=0, tol=0.0
    ).outcome
    assert outcome.n_iter == 0
    np.testing.assert_array_equal(outcome.iterate.row_labels, [0, 0, 1])
    assert outcome.iterate.V.max() == 9.0
