"""Criteria for costs: gradients, the trace, and that the minimum is found."""

import numpy as np
import pytest
from oracles import graph_completion as oracle
from oracles.fits import holes

from comanifold import Graph
from comanifold.baselines._graph_data import UnitGraph, neighbor_graph
from comanifold.baselines._graph_selection import (
    MAX_COST,
    MIN_COST,
    BicCriterion,
    HeldOutCriterion,
    Settings,
    determined_entries,
    minimise_over_costs,
    search_pattern,
)
from comanifold.baselines._graph_solvers import SmoothingProblem, Stopping
from comanifold.model_selection import HeldOut

TIGHT = Stopping(1e-12, 1000)


def setup(shape=(10, 8), seed=0):
    X = holes(*shape, seed=seed)
    graphs = neighbor_graph(X, 3), neighbor_graph(X.T, 3)
    return X, graphs, SmoothingProblem(X, *(UnitGraph.of(graph) for graph in graphs))


def held_out_criterion(shape=(12, 10)):
    X = holes(*shape, seed=1)
    held = HeldOut(X)
    rest = held.rest()
    graphs = neighbor_graph(rest, 3), neighbor_graph(rest.T, 3)
    problem = SmoothingProblem(rest, *(UnitGraph.of(graph) for graph in graphs))
    return held, graphs, HeldOutCriterion(problem, held.rows, held.columns, held.values, TIGHT)


def assert_gradient(criterion, costs):
    _, gradient = criterion(costs)
    for mode in (0, 1):
        step = 1e-3 * costs[mode]
        above, below = list(costs), list(costs)
        above[mode] += step
        below[mode] -= step
        slope = (criterion(tuple(above))[0] - criterion(tuple(below))[0]) / (2 * step)
        assert gradient[mode] == pytest.approx(slope, rel=1e-4, abs=1e-8)


@pytest.mark.parametrize("costs", [(0.1, 0.3), (2.0, 0.02)])
def test_gradients_are_those_of_finite_differences(costs):
    _, _, problem = setup()
    everywhere = np.ones(problem.shape, dtype=bool)
    bic = BicCriterion(problem, everywhere, np.random.RandomState(0), stopping=TIGHT)
    assert_gradient(bic, costs)
    assert_gradient(held_out_criterion()[2], costs)


def test_held_out_error():
    held, graphs, criterion = held_out_criterion()
    rest = held.rest()
    u = np.linalg.solve(oracle.system(rest, *graphs, (0.2, 0.5)), np.nan_to_num(rest).ravel())
    predicted = u.reshape(rest.shape)[held.rows, held.columns]
    expected = np.mean((predicted - held.values) ** 2)
    assert criterion((0.2, 0.5))[0] == pytest.approx(expected, rel=1e-5)


def test_bic_with_many_probes_is_that_of_the_inverse():
    X, graphs, problem = setup()
    everywhere = np.ones(X.shape, dtype=bool)
    criterion = BicCriterion(problem, everywhere, np.random.RandomState(0), n_probes=2000)
    expected = oracle.bic(X, *graphs, (0.3, 0.6))
    assert criterion((0.3, 0.6))[0] == pytest.approx(expected, rel=0.01)
    few = BicCriterion(problem, everywhere, np.random.RandomState(0))
    again = BicCriterion(problem, everywhere, np.random.RandomState(0))
    assert few((0.3, 0.6))[0] == again((0.3, 0.6))[0]


def test_the_minimum_is_better_than_a_grid():
    _, _, problem = setup((20, 15))
    everywhere = np.ones(problem.shape, dtype=bool)
    bic = BicCriterion(problem, everywhere, np.random.RandomState(0))
    for criterion in (bic, held_out_criterion((24, 20))[2]):
        costs, least = minimise_over_costs(criterion, (None, None))
        assert all(MIN_COST * 0.999 <= cost <= MAX_COST * 1.001 for cost in costs)
        grid = [
            criterion((row_cost, column_cost))[0]
            for row_cost in np.geomspace(1e-3, 1e3, 7)
            for column_cost in np.geomspace(1e-3, 1e3, 7)
        ]
        assert least <= min(grid) + 1e-3 * abs(min(grid))
        assert criterion(costs)[0] == pytest.approx(least, rel=1e-3)


def test_given_costs_are_kept():
    criterion = held_out_criterion()[2]
    costs, value = minimise_over_costs(criterion, (0.7, None))
    assert costs[0] == 0.7
    assert value <= min(criterion((0.7, cost))[0] for cost in (0.03, 1.0, 30.0)) * (1 + 1e-6)
    assert minimise_over_costs(criterion, (0.7, 0.2)) == ((0.7, 0.2), criterion((0.7, 0.2))[0])


def test_determined_entries():
    observed = np.zeros((4, 3), dtype=bool)
    observed[0, 0] = observed[2, 1] = True
    rows, columns = Graph(4, [[0, 1]]), Graph(3, [[1, 2]])
    found = determined_entries(observed, rows, columns, (True, True))
    expected = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 1], [0, 0, 0]], dtype=bool)
    np.testing.assert_array_equal(found, expected)
    expected = np.array([[1, 0, 0], [0, 0, 0], [0, 1, 1], [0, 0, 0]], dtype=bool)
    np.testing.assert_array_equal(
        determined_entries(observed, rows, columns, (False, True)), expected
    )


def test_pattern_search():
    best = np.log([0.02, 3.0, 40.0])
    tried = []

    def error(settings, solution):
        assert solution is None or solution in tried
        tried.append(settings)
        distance = np.sum((np.log(settings) - best) ** 2)
        return 1.0 + distance, settings

    found = search_pattern(error, Settings(1.0, 1.0, 1.0), (True, True, True))
    assert np.abs(np.log(found.settings) - best).max() < np.log(2.0)
    assert found.solution == found.settings
    assert len(tried) == len(set(tried)) < 45
    tried.clear()
    found = search_pattern(error, Settings(1.0, 0.5, 1.0), (True, False, True))
    assert found.settings.column_cost == 0.5


def test_settings():
    settings = Settings(None, 0.5, None)
    assert settings.free == (True, False, True)
    assert settings.completed(1.0, 2.0, 3.0) == Settings(1.0, 0.5, 3.0)


@pytest.mark.parametrize("costs", [(0.4, 0.9), (0.0, 0.9)])
def test_bic_of_a_singular_system_is_that_of_its_regular_part(costs):
    X, _, _ = setup()
    X[7], X[:, 0] = np.nan, np.nan
    rows = Graph(10, [[0, 1], [1, 2], [2, 3], [4, 5], [5, 6], [8, 9]])  # the row 7 has no edge
    columns = Graph(8, [[0, 1], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7]])
    problem = SmoothingProblem(X, UnitGraph.of(rows), UnitGraph.of(columns))
    determined = determined_entries(
        problem.observed, rows, columns, (costs[0] > 0.0, costs[1] > 0.0)
    )
    regular = determined.ravel()
    S = oracle.system(X, rows, columns, costs)
    assert np.linalg.matrix_rank(S) < X.size
    inverse = np.linalg.inv(S[np.ix_(regular, regular)])
    errors = (X.ravel()[regular] - inverse @ problem.X.ravel()[regular])[
        problem.observed[determined]
    ]
    n_observed = problem.observed.sum()
    expected = n_observed * np.log(errors @ errors) + np.log(n_observed) * np.trace(inverse)
    state = np.random.RandomState
    many = BicCriterion(problem, determined, state(0), n_probes=3000, stopping=TIGHT)
    assert many(costs)[0] == pytest.approx(expected, rel=0.01)
    few = BicCriterion(problem, determined, state(0), stopping=TIGHT)
    step = 1e-4
    _, gradient = few(costs)
    above, below = ((costs[0], costs[1] + sign * step) for sign in (1, -1))
    slope = (few(above)[0] - few(below)[0]) / (2 * step)
    assert gradient[1] == pytest.approx(slope, rel=1e-4)
    found, _ = minimise_over_costs(few, (costs[0] or None, None))
    assert np.isfinite(found).all()
