"""The method of multipliers."""

import numpy as np
import pytest
from oracles.problems import random_problem, standard_problem

from comanifold.penalties import MCP, Linear, Log
from comanifold.solvers.certificate import relative_gap, stationarity
from comanifold.solvers.multipliers import minimise_by_multipliers
from comanifold.solvers.problem import Problem


def test_a_single_iteration_is_made():
    p = random_problem(1)
    problem = Problem.build(p.X, p.row_graph, p.column_graph, row_cost=0.1, column_cost=0.1)
    start = np.zeros_like(problem.means)
    outcome = minimise_by_multipliers(problem, start, Linear(), max_iter=1, tol=1e-12)
    assert len(outcome.history) == 2
    assert outcome.history[1] < outcome.history[0]


@pytest.mark.parametrize("penalty", [Linear(), Log(), MCP(2.0)], ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_the_stopping_criterion_is_met(seed, penalty):
    problem = standard_problem(seed)
    outcome = minimise_by_multipliers(problem, problem.means, penalty, max_iter=5000, tol=1e-5)
    assert np.all(np.diff(outcome.history) <= 0)
    if penalty.is_linear:
        bound = outcome.dual.lower_bound(problem)
        assert relative_gap(problem, penalty, outcome.history[-1], bound) <= 1e-5
    else:
        assert stationarity(problem, outcome.iterate.estimate, penalty, outcome.dual) <= 1e-5


def test_a_solution_with_its_dual_point_is_left_as_it_is():
    problem = standard_problem(0)
    stop = {"max_iter": 5000, "tol": 1e-6}
    first = minimise_by_multipliers(problem, problem.means, Linear(), **stop)
    again = minimise_by_multipliers(
        problem, first.iterate.estimate, Linear(), **stop, dual=first.dual
    )
    assert again.n_iter < first.n_iter
    assert again.history[-1] == pytest.approx(first.history[-1], rel=1e-6)
