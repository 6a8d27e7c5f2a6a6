import numpy as np
import pytest
from oracles.problems import random_problem

from comanifold.penalties import Linear, Log, Snowflake
from comanifold.solvers import _fast
from comanifold.solvers._certificate import stationarity
from comanifold.solvers._problem import Problem


def standard(seed, **kwargs):
    p = random_problem(seed, **kwargs)
    X = (p.X - np.nanmean(p.X)) / np.nanstd(p.X)
    return Problem.build(X, *p.args[1:], **p.costs)


def test_which_penalties_are_steep():
    problem = standard(0, log_costs=(-1.0, 1.0))
    assert _fast._is_steep(problem, Snowflake())
    assert not _fast._is_steep(problem, Snowflake(eps=0.1))
    assert not _fast._is_steep(problem, Log())
    assert not _fast._is_steep(problem, Linear())


@pytest.mark.parametrize("seed", range(5))
def test_fusions_that_may_not_hold_are_checked_by_their_multipliers(seed, monkeypatch):
    problem = standard(seed)
    taken = _fast.minimise_fast(problem, None, Snowflake(), max_iter=1000, tol=1e-6)
    assert taken.dual is None
    monkeypatch.setattr(_fast, "holds_any_force", lambda *_: False)
    checked = _fast.minimise_fast(problem, None, Snowflake(), max_iter=1000, tol=1e-6)
    estimate = checked.iterate.estimate
    assert stationarity(problem, estimate, Snowflake(), checked.dual) <= 1e-5
    # They hold after all: the multipliers find forces that keep everything where it is.
    np.testing.assert_allclose(estimate, taken.iterate.estimate, atol=1e-4)
    assert np.all(np.diff(checked.history) <= 1e-12 * checked.history[0])


def test_the_start_is_within_the_range_of_the_data_and_not_constant():
    problem = standard(3, missing=(0.5, 0.51))
    U = _fast._smoothed_data(problem, Snowflake())
    observed = problem.means[problem.counts > 0]
    assert observed.min() <= U.min() < U.max() <= observed.max()
