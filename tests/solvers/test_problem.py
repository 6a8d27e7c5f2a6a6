import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import slow
from oracles.problems import PENALTIES, problems, random_blocks, random_problem

from comanifold import objective
from comanifold.solvers.problem import Problem

each_penalty = pytest.mark.parametrize("penalty", PENALTIES, ids=repr)


@each_penalty
@given(p=problems())
def test_objective_against_a_loop(penalty, p):
    U = np.random.default_rng(0).normal(size=p.X.shape)
    expected = slow.objective(*p.args[:1], U, *p.args[1:], p.row_cost, p.column_cost, penalty)
    assert objective(p.X, U, *p.args[1:], **p.costs, penalty=penalty) == pytest.approx(expected)


@each_penalty
@given(p=problems(), seed=st.integers(0, 99))
def test_fused_objective_is_the_objective_of_the_fused_estimate(penalty, p, seed):
    row_labels, column_labels, V = random_blocks(p, seed)
    U = V[row_labels][:, column_labels]
    problem = Problem.build(*p.args, **p.costs)
    fused, values = problem.contract(U, row_labels, column_labels)
    np.testing.assert_allclose(values, V, rtol=1e-12)
    expected = slow.objective(p.X, U, *p.args[1:], p.row_cost, p.column_cost, penalty)
    assert fused.objective(V, penalty) == pytest.approx(expected, rel=1e-10)


def test_fusing_twice_is_fusing_once():
    p = random_problem(3)
    problem = Problem.build(*p.args, **p.costs)
    U = np.random.default_rng(0).normal(size=p.X.shape)
    first = [np.minimum(np.arange(size) // 2, 2) for size in p.X.shape]
    second = [np.minimum(np.arange(label.max() + 1), 1) for label in first]
    once, V_once = problem.contract(U, second[0][first[0]], second[1][first[1]])
    half, V_half = problem.contract(U, *first)
    twice, V_twice = half.contract(V_half, *second)
    np.testing.assert_allclose(V_twice, V_once)
    for name in ("counts", "means", "row_sizes", "column_sizes", "constant"):
        np.testing.assert_allclose(getattr(twice, name), getattr(once, name), atol=1e-12)
    np.testing.assert_array_equal(twice.rows.pairs, once.rows.pairs)
    np.testing.assert_allclose(twice.rows.weights, once.rows.weights)


@each_penalty
def test_gradient_is_the_finite_difference(penalty):
    p = random_problem(5)
    row_labels, column_labels, V = random_blocks(p, 1)
    problem, _ = Problem.build(*p.args, **p.costs).contract(
        V[row_labels][:, column_labels], row_labels, column_labels
    )
    gradient = problem.gradient(V, penalty)
    for index in np.ndindex(V.shape):
        step = np.zeros_like(V)
        step[index] = 1e-6
        difference = problem.objective(V + step, penalty) - problem.objective(V - step, penalty)
        assert gradient[index] == pytest.approx(difference / 2e-6, rel=1e-4, abs=1e-5)


@given(p=problems(), seed=st.integers(0, 99))
def test_fusing_rows_at_their_mean_shortens_the_column_edges(p, seed):
    problem = Problem.build(*p.args, **p.costs)
    U = np.random.default_rng(seed).normal(size=p.X.shape)
    row_labels, _, _ = random_blocks(p, seed)
    fused, V = problem.contract(U, row_labels, np.arange(p.X.shape[1]))
    before, after = problem.norms(U)[1], fused.norms(V)[1]
    assert np.all(after <= before + 1e-12)
