"""Matrices, graphs, costs and penalties of odd kinds: taken for what they are, or refused."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from oracles.problems import path

from comanifold import CoCluster, Graph, co_cluster, dual_bound, masked_distances, objective
from comanifold.penalties import Log, Penalty, Snowflake

nan = np.nan
X = np.arange(12.0).reshape(4, 3)


def test_the_estimator_honours_the_mask_of_a_masked_array():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(10, 8))
    Y[rng.random(Y.shape) < 0.3] = nan
    masked = np.ma.masked_array(np.where(np.isnan(Y), 99.0, Y), mask=np.isnan(Y))
    np.testing.assert_array_equal(CoCluster().fit(masked).estimate_, CoCluster().fit(Y).estimate_)


def test_the_estimator_refuses_text():
    with pytest.raises(ValueError, match="numeric"):
        CoCluster().fit([["1", "2"], ["3", "4.5"], ["1", "1"]])


@pytest.mark.parametrize("function", [masked_distances, Graph.nearest_neighbors])
def test_values_whose_squares_overflow_are_refused(function):
    with pytest.raises(ValueError, match="squares overflow"):
        function([[1.7e308], [-1.7e308]])


def test_odd_numbers_for_a_cost():
    costs = {"row_cost": Fraction(1, 3), "column_cost": np.float32(0.5)}
    result = co_cluster(X, path(4), path(3), **costs)
    assert result.status == "converged"
    with pytest.raises(ValueError, match="row_cost must be a finite number"):
        co_cluster(X, path(4), path(3), row_cost=10**400, column_cost=1)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        (X.astype(complex), "complex"),
        (X.astype(str), "init must hold numbers"),
        (np.ma.masked_array(X, mask=X > 3), "init must be complete"),
    ],
)
def test_odd_starts_are_refused(init, message):
    with pytest.raises(ValueError, match=message):
        co_cluster(X, path(4), path(3), row_cost=1, column_cost=1, init=init)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.array([[10**400, 1], [2, 3]], dtype=object), "X must hold numbers, got 1000"),
        (np.array([[Decimal("sNaN"), 1], [2, 3]], dtype=object), "X must hold numbers"),
        ([[1.0, 2.0], [3.0]], "X must be a matrix with rows of one length"),
        (None, "two dimensions"),
    ],
)
def test_odd_data_are_refused(data, message):
    with pytest.raises(ValueError, match=message):
        masked_distances(data)


def test_odd_edges_are_refused():
    with pytest.raises(ValueError, match="edges must have shape"):
        Graph(3, [[0, 1], [1]])
    with pytest.raises(ValueError, match="edges must have shape"):
        Graph(3, np.empty((0, 3), dtype=int))


def test_a_stand_in_for_a_graph_needs_weights():
    class Thing:
        n_nodes = 4
        edges = np.array([[0, 1]])

    with pytest.raises(ValueError, match=r"row_graph must be a comanifold\.Graph"):
        co_cluster(X, Thing(), path(3), row_cost=1, column_cost=1)


def test_a_false_claim_of_linearity_is_refused():
    class Fake(Log):
        is_linear = True

    with pytest.raises(ValueError, match="says is_linear, but"):
        co_cluster(X, path(4), path(3), row_cost=1, column_cost=1, penalty=Fake())


def test_a_linear_penalty_of_another_slope():
    class Double(Penalty):
        is_linear = True

        def value(self, z):
            return 2.0 * np.asarray(z)

        def derivative(self, z):
            return np.full(np.shape(z), 2.0)

    graphs = path(4), path(3)
    costs = {"row_cost": 0.3, "column_cost": 0.2}
    result = co_cluster(X, *graphs, **costs, penalty=Double())
    c = result.certificate
    bound = dual_bound(X, c.row_dual, c.column_dual, *graphs, **costs, penalty=Double())
    assert bound == pytest.approx(c.lower_bound)
    twice = co_cluster(X, *graphs, row_cost=0.6, column_cost=0.4, penalty="linear")
    assert result.objective == pytest.approx(twice.objective, rel=1e-6)
    with pytest.raises(ValueError, match="needs a linear penalty"):
        dual_bound(X, c.row_dual, c.column_dual, *graphs, **costs, penalty="log")


def test_a_penalty_need_not_inherit():
    class Duck:
        def value(self, z):
            return np.log1p(np.asarray(z))

        def derivative(self, z):
            return 1.0 / (1.0 + np.asarray(z))

    problem = X, path(4), path(3)
    result = co_cluster(*problem, row_cost=1, column_cost=1, penalty=Duck())
    expected = co_cluster(*problem, row_cost=1, column_cost=1, penalty="log")
    np.testing.assert_array_equal(result.estimate, expected.estimate)


def test_objective_refuses_costs_that_overflow():
    heavy = path(4, np.full(3, 1e300))
    with pytest.raises(ValueError, match="row_cost times the largest weight"):
        objective(X, X, heavy, path(3), row_cost=1e300, column_cost=1.0)


@pytest.mark.parametrize("make", [Snowflake, Log])
def test_slopes_that_overflow_are_refused(make):
    with pytest.raises(ValueError, match="at least 1e-300"):
        make(1e-310)
    with pytest.raises(ValueError, match="must be a positive number"):
        make(None)
