"""Limited-memory BFGS against dense updates, L-BFGS-B and known minima."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from comanifold.baselines._lbfgs import minimise, multiply_inverse_hessian


def dense_inverse(S, Y):
    """BFGS updates, one after the other, of a multiple of the identity."""
    B = np.eye(S.shape[1]) * (S[-1] @ Y[-1]) / (Y[-1] @ Y[-1])
    for s, y in zip(S, Y, strict=True):
        V = np.eye(len(s)) - np.outer(y, s) / (s @ y)
        B = V.T @ B @ V + np.outer(s, s) / (s @ y)
    return B


def test_product_with_the_inverse_hessian():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(7, 7))
    S = rng.normal(size=(4, 7))
    Y = S @ (root @ root.T)
    inverses = 1.0 / np.einsum("ij,ij->i", S, Y)
    q = rng.normal(size=7)
    for order in ([0, 1, 2, 3], [2, 3, 0], [1], []):
        out = q.copy()
        multiply_inverse_hessian(S, Y, inverses, np.array(order, dtype=np.intp), out)
        expected = dense_inverse(S[order], Y[order]) @ q if order else q
        np.testing.assert_allclose(out, expected, rtol=1e-10)


def recorded(function, values):
    def value_and_gradient(x):
        value, gradient = function(x)
        values.append(value)
        return value, gradient

    return value_and_gradient


def rosenbrock(x):
    return float(rosen(x)), rosen_der(x)


def test_rosenbrock():
    found = minimise(rosenbrock, np.zeros(12), 0.0, 1000)
    assert found.converged
    np.testing.assert_allclose(found.x, 1.0, atol=1e-6)
    assert found.value == rosen(found.x)


def test_it_takes_the_iterations_of_l_bfgs_b():
    # Where the first trial of a step is accepted, and so for some iterations the points are equal.
    rng = np.random.default_rng(1)
    A = rng.normal(size=(40, 40))
    b = rng.normal(size=40)

    def function(x):
        errors = np.tanh(A @ x) - b
        gradient = A.T @ (errors * (1.0 - np.tanh(A @ x) ** 2)) + 0.1 * x
        return float(0.5 * errors @ errors + 0.05 * x @ x), gradient

    start = 0.1 * rng.normal(size=40)
    for n_iter in (1, 2, 3):
        options = {"maxiter": n_iter, "ftol": 0.0, "gtol": 0.0}
        theirs = minimize(function, start, jac=True, method="L-BFGS-B", options=options)
        ours = minimise(function, start, 0.0, n_iter)
        assert not ours.converged
        assert ours.n_iter == n_iter
        np.testing.assert_allclose(ours.x, theirs.x, rtol=1e-9, atol=1e-12)
    evaluations = []
    ours = minimise(recorded(function, evaluations), start, 1e-9, 1000)
    theirs = minimize(function, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-9})
    assert ours.converged
    assert ours.value == pytest.approx(theirs.fun, rel=1e-2)
    assert len(evaluations) < 1.5 * theirs.nfev


@pytest.mark.parametrize("seed", range(5))
def test_the_value_never_rises_and_steps_satisfy_the_wolfe_conditions(seed):
    # Steps of a narrow valley: the values and gradients where iterations end.
    start = np.random.default_rng(seed).normal(size=6)
    points = [start]
    for n_iter in range(1, 30):
        points.append(minimise(rosenbrock, start, 0.0, n_iter).x)
    for before, after in pairwise(points):
        slope, slope_after = (rosen_der(x) @ (after - before) for x in (before, after))
        assert slope < 0.0
        assert rosen(after) <= rosen(before) + 1e-3 * slope * (1.0 - 1e-9)
        assert abs(slope_after) <= 0.9 * abs(slope) * (1.0 + 1e-9)


def test_a_quadratic_is_solved_to_rounding():
    rng = np.random.default_rng(3)
    diagonal, b = np.logspace(-2, 2, 8), rng.normal(size=8)
    found = minimise(
        lambda x: (float(0.5 * x @ (diagonal * x) - b @ x), diagonal * x - b), np.zeros(8), 0.0, 500
    )
    assert found.converged
    assert found.value == pytest.approx(-0.5 * float(b @ (b / diagonal)), rel=1e-13)


def test_the_tolerance_is_a_relative_decrease():
    values = []
    for n_iter in range(200):
        found = minimise(rosenbrock, np.zeros(6), 1e-3, n_iter)
        values.append(found.value)
        if found.converged:
            break
    decreases = -np.diff(values) / np.maximum(1.0, values[:-1])
    assert found.converged
    assert (decreases[:-1] > 1e-3).all()
    assert decreases[-1] <= 1e-3


def test_at_a_minimum_nothing_is_done():
    found = minimise(rosenbrock, np.ones(4), 1e-5, 10)
    assert (found.n_iter, found.converged, found.value) == (0, True, 0.0)
    np.testing.assert_array_equal(found.x, np.ones(4))


def test_steps_into_overflow_are_shortened():
    # Infinite from 2 on, with the minimum in front of it: the first step leads far beyond.
    def function(x):
        if x[0] >= 2.0:
            return np.inf, np.array([np.nan])
        return float(-x[0] - 1e-3 * np.log(2.0 - x[0])), -1.0 + 1e-3 / (2.0 - x)

    found = minimise(function, np.array([-100.0]), 1e-12, 200)
    assert found.converged
    np.testing.assert_allclose(found.x, 2.0 - 1e-3, atol=1e-5)


def test_a_gradient_that_leads_up_ends_the_search():
    start = np.array([1.0])
    found = minimise(lambda x: (float(x @ x), -2.0 * x), start, 1e-5, 10)
    assert (found.n_iter, found.converged) == (0, True)
    np.testing.assert_array_equal(found.x, start)


def test_steps_without_curvature_are_not_remembered():
    # A slope without end: every step is as long as allowed, and the gradient never changes.
    found = minimise(lambda x: (-float(x.sum()), -np.ones(2)), np.zeros(2), 0.0, 3)
    assert (found.n_iter, found.converged) == (3, False)
    assert np.isfinite(found.x).all()
    assert found.value == -found.x.sum() < 0.0


def test_an_undefined_gradient_ends_the_search():
    found = minimise(lambda x: (0.0, np.full_like(x, np.nan)), np.ones(2), 1e-5, 10)
    assert (found.n_iter, found.converged, found.value) == (0, True, 0.0)
    np.testing.assert_array_equal(found.x, 1.0)


@pytest.mark.parametrize(
    ("gradient", "tried"),
    [
        # Cubic functions, whose minimum along the line is found from two points.
        ((-0.025, 0.0, 0.1), [0.0, 1.0, 0.5]),
        ((-2.5, 0.0, 10.0), [0.0, 1.0, 0.5]),
        ((-0.25, 0.5, 0.75), [0.0, 1.0, 1.0 / 3.0]),
        # Steep after the first step: a longer one.
        ((-10.0, 0.0, 0.1), [0.0, 1.0, 4.0]),
        # A minimum at 0.95 or 0.05 of the interval is too near its end.
        ((-1.0, -16.947368, 18.947368), [0.0, 1.0, 0.9]),
        ((-1.0, 19.5, 10.0), [0.0, 1.0, 0.1]),
    ],
)
def test_the_points_that_a_step_tries(gradient, tried):
    slope, bend, twist = gradient
    points = []

    def function(x):
        points.append(float(x[0]))
        value = slope * x[0] + bend * x[0] ** 2 / 2 + twist * x[0] ** 3 / 3
        return float(value), slope + bend * x + twist * x**2

    minimise(function, np.zeros(1), 1e-9, 1)
    np.testing.assert_allclose(points[:3], tried, rtol=1e-9)
