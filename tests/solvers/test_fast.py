import numpy as np
import pytest
from oracles.problems import path, random_problem, standardised

from comanifold.penalties import Linear, Log, Snowflake
from comanifold.solvers import _fast, _quadratic
from comanifold.solvers._certificate import relative_gap, stationarity
from comanifold.solvers._fusion import Iterate
from comanifold.solvers._multipliers import minimise_by_multipliers
from comanifold.solvers._problem import Problem


def standard(seed, **kwargs):
    p = standardised(random_problem(seed, **kwargs))
    return Problem.build(*p.args, **p.costs)


def test_which_penalties_are_steep():
    problem = standard(0, log_costs=(-1.0, 1.0))
    assert _fast.is_steep(problem, Snowflake())
    assert not _fast.is_steep(problem, Snowflake(eps=0.1))
    assert not _fast.is_steep(problem, Log())
    assert not _fast.is_steep(problem, Linear())


@pytest.mark.parametrize("mode", [0, 1])
def test_steep_is_a_slope_that_holds_all_entries_by_far(mode):
    X = np.random.default_rng(0).normal(size=(6, 4))
    needed = _fast._STEEP * np.sqrt(6 * 24) / Snowflake(0.01).derivative(np.zeros(1))[0]
    graphs = path(6), path(4)
    for factor, expected in ((1.01, True), (0.99, False)):
        costs = [1e3 * needed, 1e3 * needed]
        costs[mode] = factor * needed
        problem = Problem.build(X, *graphs, row_cost=costs[0], column_cost=costs[1])
        assert _fast.is_steep(problem, Snowflake(0.01)) is expected


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


def test_merging_leaves_fewer_clusters_and_a_lower_objective(monkeypatch):
    lower = 0
    for seed in range(30):
        problem = standard(seed, sizes=(8, 16), log_costs=(-1.0, 0.5))
        stop = {"max_iter": 1000, "tol": 1e-6}
        merged = _fast.minimise_fast(problem, None, Snowflake(), **stop)
        with monkeypatch.context() as patch:
            for merge in ("merge_in_bulk", "merge_apart"):
                patch.setattr(_quadratic, merge, lambda iterate, *_: (iterate, _[-1]))
            plain = _fast.minimise_fast(problem, None, Snowflake(), **stop)
        assert merged.history[-1] <= plain.history[-1] * 1.05
        lower += merged.history[-1] < plain.history[-1] * (1 - 1e-6)
    assert lower >= 5


@pytest.mark.parametrize("seed", [68, 252, 299, 351])
def test_an_estimate_above_the_constant_one_is_given_up(seed):
    # Found by search: the descent from the smoothed data ends above the constant estimate.
    problem = standard(seed, sizes=(4, 12), log_costs=(-0.5, 1.5))
    constant = 0.5 * (problem.counts * problem.means**2).sum()
    start = Iterate.start(problem, _fast._smoothed_data(problem, Snowflake()))
    stuck = _quadratic.minimise_by_quadratics(start, Snowflake(), max_iter=1000, tol=1e-6)
    assert stuck.history[-1] > 1.01 * constant
    outcome = _fast.minimise_fast(problem, None, Snowflake(), max_iter=1000, tol=1e-6)
    assert outcome.history[-1] <= constant * (1 + 1e-12)


def test_a_step_that_raises_the_objective_is_not_taken(monkeypatch):
    problem = standard(0)
    start = Iterate.start(problem, _fast._smoothed_data(problem, Snowflake()))

    def spoil(_, V, *__, **___):
        V += np.random.default_rng(0).normal(size=V.shape)

    monkeypatch.setattr(_quadratic, "lower_majoriser", spoil)
    outcome = _quadratic.minimise_by_quadratics(start, Snowflake(), max_iter=20, tol=1e-6)
    assert np.all(np.diff(outcome.history) <= 0.0)
    assert outcome.iterate.objective(Snowflake()) <= outcome.history[0]


def test_the_gap_is_relative_to_the_objective_unless_that_vanishes():
    problem = standard(0)
    assert relative_gap(problem, Linear(), 2.0, 1.5) == pytest.approx(0.25)
    assert relative_gap(problem, Linear(), 1e-3, 0.5e-3) == pytest.approx(0.5)
    assert relative_gap(problem, Linear(), 1e-30, 0.0) < 1e-20
    assert np.isnan(relative_gap(problem, Linear(), 1.0, np.nan))


def test_out_of_iterations_nothing_is_said_to_hold_unchecked(monkeypatch):
    problem = standard(2)
    enough = _fast.minimise_fast(problem, None, Snowflake(), max_iter=1000, tol=1e-6).n_iter
    monkeypatch.setattr(_fast, "holds_any_force", lambda *_: False)
    outcome = _fast.minimise_fast(problem, None, Snowflake(), max_iter=enough, tol=1e-6)
    assert outcome.dual is not None
    assert outcome.n_iter <= enough


def test_how_steep_is_steep():
    X = np.zeros((4, 9))
    slope = 1e3 * np.sqrt(9 * 36)  # of a penalty at the origin, at weights of one
    problem = Problem.build(X, path(4), path(9), row_cost=1.0, column_cost=1.0)
    assert _fast.is_steep(problem, Snowflake(eps=0.5 / (1.01 * slope)))
    assert not _fast.is_steep(problem, Snowflake(eps=0.5 / (0.99 * slope)))


def test_a_single_iteration_is_made():
    p = random_problem(1)
    problem = Problem.build(p.X, p.row_graph, p.column_graph, row_cost=0.1, column_cost=0.1)
    start = np.zeros_like(problem.means)
    outcome = minimise_by_multipliers(problem, start, Linear(), max_iter=1, tol=1e-12)
    assert len(outcome.history) == 2
    assert outcome.history[1] < outcome.history[0]
