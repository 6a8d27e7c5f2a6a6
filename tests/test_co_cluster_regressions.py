"""Faults that were found by trying to break the solvers."""

import warnings

import numpy as np
import pytest
from oracles.problems import path
from sklearn.exceptions import ConvergenceWarning

from comanifold import CoCluster, Graph, co_cluster, dual_bound, objective
from comanifold.penalties import MCP, Snowflake

nan = np.nan
X = np.arange(12.0).reshape(4, 3)


def complete(n_nodes, weights):
    return Graph(n_nodes, [[i, j] for i in range(n_nodes) for j in range(i)], weights)


def test_stiffness_stays_finite_where_the_optimum_is_zero():
    rng = np.random.default_rng(73)
    Y = np.full((6, 3), nan)
    Y[1, 1], Y[3, 2] = rng.normal(size=2) * 3
    graph = complete(6, 10 ** rng.uniform(-2, 2, 15))
    result = co_cluster(Y, graph, path(3), row_cost=0.01, column_cost=0.0, penalty="linear")
    assert np.isfinite(result.certificate.gap)
    assert np.isfinite(result.certificate.row_dual).all()
    assert np.isfinite(result.certificate.lower_bound)


@pytest.mark.parametrize("solver", ["fast", "paper"])
@pytest.mark.parametrize("seed", range(5))
def test_an_optimum_of_zero_is_recognised(solver, seed):
    rng = np.random.default_rng(seed)
    Y = np.full((5, 5), nan)
    for j in range(5):
        Y[rng.integers(5), j] = 3 * rng.normal()
    result = co_cluster(
        Y, path(5), path(5), row_cost=2.0, column_cost=0.0, penalty="linear", solver=solver
    )
    assert result.status == "converged"
    assert result.objective == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("costs", [(1e5, 1e5), (0.0, 0.0), (1e12, 0.1), (0.0, 1e9)])
def test_a_linear_penalty_always_comes_with_a_dual_point(costs):
    result = co_cluster(
        X, path(4), path(3), row_cost=costs[0], column_cost=costs[1], penalty="linear"
    )
    c = result.certificate
    assert c.gap <= 1e-6
    assert c.row_dual.shape == (3, 3)
    assert c.column_dual.shape == (2, 4)
    bound = dual_bound(
        X, c.row_dual, c.column_dual, path(4), path(3), row_cost=costs[0], column_cost=costs[1]
    )
    assert bound == pytest.approx(c.lower_bound, abs=1e-9)


def test_equal_values_in_a_mode_without_edges():
    for fitted in (
        CoCluster().fit([[1.0]]),
        CoCluster(row_cost=0).fit(np.ones((4, 3))),
        CoCluster().fit(np.ones((1, 3))),
    ):
        np.testing.assert_array_equal(fitted.estimate_, 1.0)


def test_nothing_is_filled_in_outside_the_range_of_the_data():
    Y = np.array(
        [
            [nan, nan, nan, nan, nan, 3.77, nan, 4.12, nan, nan],
            [0.82, 0.53, nan, 0.6, nan, 4.35, nan, nan, nan, 4.37],
            [1.02, nan, nan, 1.1, nan, nan, -0.98, nan, -0.78, nan],
        ]
    )
    weights = [
        8.92958328e11,
        1.06707291,
        5.42841719e11,
        21.7447277,
        1.21401266e9,
        3.90339124e8,
        8.07348411e9,
        4.74262052e-10,
        8.07193138e-10,
    ]
    for penalty in (Snowflake(1.0), MCP(), "snowflake", "linear"):
        result = co_cluster(
            Y, path(3), path(10, weights), row_cost=0.0, column_cost=0.001, penalty=penalty
        )
        assert -0.98 - 1e-9 <= result.estimate.min() <= result.estimate.max() <= 4.37 + 1e-9


def test_the_gap_is_that_of_the_returned_estimate():
    # The estimate itself cannot be stored any better beside an offset of 1e15.
    with pytest.warns(match="stopped with status"):
        result = co_cluster(
            1e15 + X, path(4), path(3), row_cost=0.1, column_cost=0.1, penalty="linear"
        )
    gap = (result.objective - result.certificate.lower_bound) / result.objective
    assert result.certificate.gap == pytest.approx(gap, rel=1e-6)


@pytest.mark.parametrize("solver", ["fast", "paper"])
@pytest.mark.parametrize("penalty", ["snowflake", "linear"])
def test_a_start_far_outside_the_range_of_the_data(solver, penalty):
    init = 1e10 * np.random.default_rng(0).normal(size=X.shape)
    problem = (path(4), path(3))
    costs = {"row_cost": 1.0, "column_cost": 1.0, "penalty": penalty}
    result = co_cluster(X, *problem, **costs, solver=solver, init=init)
    assert result.status == "converged"
    assert result.objective_history[0] == objective(X, init, *problem, **costs)
    with pytest.raises(ValueError, match="init has values up to"):
        co_cluster(X, *problem, **costs, solver=solver, init=1e200 * X)


@pytest.mark.parametrize("penalty", ["snowflake", "linear", "log"])
@pytest.mark.parametrize("solver", ["fast", "paper"])
@pytest.mark.parametrize("cost", [1e100, 1e300])
def test_costs_near_the_end_of_the_number_range(penalty, solver, cost):
    result = co_cluster(
        X, path(4), path(3), row_cost=cost, column_cost=cost, penalty=penalty, solver=solver
    )
    np.testing.assert_allclose(result.estimate, X.mean(), rtol=1e-6)
    assert result.status == "converged"


@pytest.mark.parametrize("penalty", ["linear", "log", "mcp", Snowflake(0.01), "snowflake"])
def test_max_iter_is_a_limit(penalty):
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(8, 6))
    for cost in (0.5, 5.0):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            result = co_cluster(
                Y, path(8), path(6), row_cost=cost, column_cost=cost, penalty=penalty, max_iter=7
            )
        assert result.n_iter <= 7


@pytest.mark.parametrize("penalty", ["linear", "log", "mcp"])
def test_the_history_ends_with_the_objective_where_the_estimate_was_clipped(penalty):
    rng = np.random.default_rng(1)
    Y = rng.normal(size=(7, 6))
    Y[rng.random(Y.shape) < 0.6] = nan
    heavy = [path(n, 10.0 ** rng.uniform(-9, 9, n - 1)) for n in Y.shape]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = co_cluster(Y, *heavy, row_cost=0.1, column_cost=0.1, penalty=penalty, max_iter=5)
    assert result.objective_history[-1] == pytest.approx(result.objective, rel=1e-9)


def test_a_certificate_prints_its_numbers_and_not_its_arrays():
    result = co_cluster(X, path(4), path(3), row_cost=1, column_cost=1, penalty="linear")
    assert len(repr(result.certificate)) < 120
    assert result.certificate == result.certificate


@pytest.mark.parametrize("solver", ["fast", "paper"])
@pytest.mark.parametrize("penalty", ["snowflake", "linear", "log"])
def test_a_cost_whose_slope_overflows(penalty, solver):
    tiny = np.array([[7e-18, -3e-18]])
    model = CoCluster(0.0, 1e300, penalty=penalty, solver=solver).fit(tiny)
    np.testing.assert_allclose(model.estimate_, tiny.mean())


@pytest.mark.parametrize("penalty", ["snowflake", "linear", "log"])
def test_a_cost_whose_slope_overflows_where_nothing_differs(penalty):
    result = co_cluster(
        np.full((2, 2), 0.125), path(2), path(2), row_cost=1e-300, column_cost=3.6e296,
        penalty=penalty,
    )  # fmt: skip
    assert result.objective == 0.0
    assert result.status == "converged"
