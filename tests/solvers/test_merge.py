"""Merging clusters: compiled code against plain NumPy, and what it promises."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import descent, slow
from oracles.problems import PENALTIES, path, problems, random_blocks, random_problem

from comanifold.penalties import Snowflake, compile_penalty
from comanifold.solvers import descent as solver
from comanifold.solvers.kernels.merge import agglomerate, pair_bounds, to_gradients
from comanifold.solvers.problem import Iterate, Problem

each_penalty = pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
by_pairs_or_not = pytest.mark.parametrize("by_pairs", [False, True])


def merge(problem, U, penalty, *, by_pairs):
    """The labels of what is merged, the objective before, and that after."""
    kernel = compile_penalty(penalty).kernel
    state = solver.State.of(problem.owned(), U, kernel)
    found = solver.merged(state, kernel, solver.WorkArrays(state.V.size), by_pairs=by_pairs)
    fused, *labels = found or (state, *map(np.arange, U.shape))
    return labels, state.objective, fused.objective


@each_penalty
@by_pairs_or_not
@given(p=problems(log_costs=(-1.0, 2.0)), seed=st.integers(0, 99))
def test_mergers_never_raise_the_objective(penalty, by_pairs, p, seed):
    rng = np.random.default_rng(seed)
    problem = Problem.build(*p.args, **p.costs)
    U = rng.normal(size=p.X.shape) * 10.0 ** rng.uniform(-5, 0)
    labels, before, after = merge(problem, U, penalty, by_pairs=by_pairs)
    assert after <= before
    fused = Iterate.start(problem, U).fuse(*labels)
    recomputed = problem.objective(fused.estimate, penalty)
    assert recomputed == pytest.approx(after, rel=1e-9, abs=1e-12)
    assert recomputed <= before * (1 + 1e-9)


@each_penalty
@given(p=problems(), seed=st.integers(0, 99))
def test_agglomeration_against_one_that_recomputes_all_bounds_after_every_merger(penalty, p, seed):
    row_labels, column_labels, V = random_blocks(p, seed, 7, 4)
    problem, _ = Problem.build(*p.args, **p.costs).contract(
        V[np.ix_(row_labels, column_labels)], row_labels, column_labels
    )
    norms = problem.norms(V)
    value = problem.objective(V, penalty, norms)
    majoriser = problem.majoriser_weights(penalty, norms)[0]
    F = problem.means.copy()
    to_gradients(V, problem.counts, F, problem.column_sizes, problem.rows.adjacency, majoriser)
    labels, gain = agglomerate(
        V.copy(), problem.counts.copy(), F, np.sqrt((F**2 / problem.column_sizes).sum(axis=1)),
        problem.row_sizes, problem.column_sizes, problem.rows, norms[0],
        problem.rows.weights * penalty.value(norms[0]), majoriser, 1e-9,
    )  # fmt: skip
    expected, expected_gain = slow.agglomerate(problem, V, penalty, 1e-9)
    assert gain == pytest.approx(expected_gain, rel=1e-6, abs=1e-9)
    np.testing.assert_array_equal(labels[:, None] == labels, expected[:, None] == expected)
    assert labels.max() + 1 == len(np.unique(labels))
    assert np.all(np.diff(np.unique(labels, return_index=True)[1]) > 0)  # first come, first named
    fused, W = problem.contract(V, labels, np.arange(V.shape[1]))
    assert fused.objective(W, penalty) <= value - gain + 1e-9 * value


@each_penalty
@given(p=problems(), seed=st.integers(0, 99))
def test_merge_bounds_against_a_loop(penalty, p, seed):
    row_labels, column_labels, V = random_blocks(p, seed, 6, 4)
    problem, _ = Problem.build(*p.args, **p.costs).contract(
        V[np.ix_(row_labels, column_labels)], row_labels, column_labels
    )
    kernel = compile_penalty(penalty).kernel
    sizes = problem.row_sizes, problem.column_sizes
    blocks = V, problem.counts, problem.means, *sizes
    found = pair_bounds(*blocks, problem.rows, problem.norms(V)[0], kernel)
    expected = descent.pair_bounds(problem, V, penalty)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@by_pairs_or_not
def test_merging_finds_the_pair_that_lowers_the_objective(by_pairs):
    # Two equal rows held apart by a bad start, a third one far away.
    X = np.zeros((3, 4)) + np.array([[0.0], [0.0], [9.0]])
    problem = Problem.build(X, path(3), path(4), row_cost=1.0, column_cost=0.0)
    U = X + np.array([[0.1], [-0.1], [0.0]])
    labels, _, _ = merge(problem, U, Snowflake(), by_pairs=by_pairs)
    np.testing.assert_array_equal(labels[0], [0, 0, 1])


def test_merging_both_modes_at_once_is_rejected_where_it_raises_the_objective():
    # Found by search: fusing the chosen rows lowers the objective, so does fusing the chosen
    # columns, and both together raise it by a fifth.
    seed = 3684
    p = random_problem(seed, sizes=(2, 7), log_costs=(-1.0, 1.5))
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=p.X.shape) * 10.0 ** rng.uniform(-2.0, 0.5)
    U = np.where(np.isnan(p.X), 3.0, p.X) + noise
    problem = Problem.build(*p.args, **p.costs)
    (rows, columns), before, after = merge(problem, U, Snowflake(), by_pairs=True)
    assert after < before
    assert rows.max() + 1 < p.X.shape[0] or columns.max() + 1 < p.X.shape[1]
    assert rows.max() + 1 == p.X.shape[0] or columns.max() + 1 == p.X.shape[1]
