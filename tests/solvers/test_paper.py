"""Algorithm 1 of the paper."""

import numpy as np
import pytest
from oracles.convex import convex_bicluster
from oracles.problems import random_problem, standard_problem, standardised

from comanifold.penalties import MCP, Linear, Log, Snowflake
from comanifold.solvers.certificate import relative_gap, stationarity
from comanifold.solvers.paper import minimise_paper
from comanifold.solvers.problem import Problem

COSTS = {"log_costs": (-1.5, 0.0)}


@pytest.mark.parametrize("penalty", [Snowflake(0.1), Linear(), Log(), MCP(2.0)], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_it_descends_until_the_stopping_criterion_is_met(seed, penalty):
    problem = standard_problem(seed, **COSTS)
    outcome = minimise_paper(problem, None, penalty, max_iter=2000, tol=1e-4)
    assert np.all(np.diff(outcome.history) <= 0)
    assert outcome.history[-1] == pytest.approx(outcome.iterate.objective(penalty), rel=1e-9)
    if penalty.is_linear:
        bound = outcome.dual.lower_bound(problem)
        assert relative_gap(problem, penalty, outcome.history[-1], bound) <= 1e-4
    else:
        assert stationarity(problem, outcome.iterate.estimate, penalty, outcome.dual) <= 1e-4


@pytest.mark.parametrize("seed", range(3))
def test_convex_biclustering_against_a_general_purpose_solver(seed):
    p = standardised(random_problem(seed, sizes=(3, 8), **COSTS))
    problem = Problem.build(*p.args, **p.costs)
    minimum, _ = convex_bicluster(*p.args, *p.costs.values())
    outcome = minimise_paper(problem, None, Linear(), max_iter=2000, tol=1e-6)
    assert outcome.history[-1] == pytest.approx(minimum, rel=1e-5, abs=1e-7)
    assert outcome.dual.lower_bound(problem) <= minimum + 1e-7


def test_the_history_begins_at_a_given_estimate():
    problem = standard_problem(1, **COSTS)
    outcome = minimise_paper(problem, problem.means, Log(), max_iter=3, tol=1e-12)
    assert outcome.history[0] == problem.objective(problem.means, Log())
    assert outcome.n_iter <= 3


def test_equal_rows_and_columns_have_one_label():
    problem = standard_problem(0, log_costs=(0.0, 0.5))
    iterate = minimise_paper(problem, None, Linear(), max_iter=500, tol=1e-6).iterate
    n_rows, n_columns = iterate.V.shape
    assert n_rows * n_columns < problem.means.size
    for mode, labels in ((0, iterate.row_labels), (1, iterate.column_labels)):
        for i in range(len(labels)):
            same = np.take(iterate.estimate, np.flatnonzero(labels == labels[i]), axis=mode)
            assert np.ptp(same, axis=mode).max() == 0.0
