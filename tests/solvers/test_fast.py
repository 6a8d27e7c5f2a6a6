"""The fast solver: descent, then a check of what is fused."""

import logging

import numpy as np
import pytest
from oracles import descent as slow
from oracles.fits import incomplete
from oracles.problems import Exponential, Uncompiled, path, random_problem, standard_problem

from comanifold import Graph, co_cluster
from comanifold.penalties import MCP, Linear, Log, Penalty, Snowflake, compile_penalty
from comanifold.solvers import fast
from comanifold.solvers.certificate import Dual, stationarity
from comanifold.solvers.problem import Iterate, Problem

PENALTIES = [Snowflake(), Snowflake(0.1), Log(), Log(0.05), MCP(2.0), Exponential(0.5)]


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("seed", range(12))
def test_the_objective_falls_to_a_stationary_point(seed, penalty):
    problem = standard_problem(seed, sizes=(4, 12), log_costs=(-1.0, 1.0))
    outcome = fast.minimise_fast(problem, None, penalty, max_iter=10_000, tol=1e-5)
    assert np.all(np.diff(outcome.history) <= 1e-12 * outcome.history[0])
    if outcome.dual is None:
        assert slow.relative_gradient(outcome.iterate, penalty) <= 1e-5
    else:
        assert stationarity(problem, outcome.iterate.estimate, penalty, outcome.dual) <= 1e-5


@pytest.mark.parametrize("penalty", [Log(0.3), MCP(3.0), Linear(), Exponential(0.5)], ids=repr)
def test_clusters_that_the_penalty_cannot_keep_together_are_split(penalty):
    n_split = 0
    for seed in range(10):
        problem = standard_problem(seed, sizes=(5, 10), log_costs=(-1.5, -0.5))
        compiled = compile_penalty(penalty)
        wrong = fast.all_fused(Iterate.start(problem, problem.means))
        constant = wrong.objective(penalty)
        outcome = fast.continue_fast(
            wrong, problem, compiled, constant, None, max_iter=10_000, tol=1e-6
        )
        estimate = outcome.iterate.estimate
        best = fast.minimise_fast(problem, None, penalty, max_iter=10_000, tol=1e-6)
        if best.history[-1] < 0.999 * constant:
            n_split += outcome.history[-1] < constant
        if penalty.is_linear:
            assert outcome.history[-1] == pytest.approx(best.history[-1], rel=1e-5)
        elif outcome.dual is not None:
            assert stationarity(problem, estimate, penalty, outcome.dual) <= 1e-6
    assert n_split >= 5


@pytest.mark.parametrize("seed", range(8))
def test_compiled_and_uncompiled_penalties_give_the_same_result(seed):
    p = random_problem(seed, log_costs=(-1.0, 1.0))
    compiled = co_cluster(*p.args, **p.costs, penalty=Exponential(0.5), tol=1e-6)
    uncompiled = co_cluster(*p.args, **p.costs, penalty=Uncompiled(0.5), tol=1e-6)
    np.testing.assert_allclose(uncompiled.estimate, compiled.estimate, atol=1e-6)
    np.testing.assert_array_equal(uncompiled.row_labels, compiled.row_labels)
    assert uncompiled.objective == pytest.approx(compiled.objective, rel=1e-9)


class _Failing(Penalty):
    """Has no compiled form, and raises once it is called with many distances from compiled code."""

    def __init__(self):
        self.calls = []

    def value(self, z):
        self.calls.append(len(np.atleast_1d(z)))
        if len(self.calls) > 40:
            raise RuntimeError("no more values")
        return np.log1p(z)

    def derivative(self, z):
        return 1.0 / (1.0 + np.asarray(z))


def test_an_error_in_a_penalty_reaches_the_caller():
    p = random_problem(0, log_costs=(-1.0, 0.0))
    with pytest.raises(RuntimeError, match="no more values"):
        co_cluster(*p.args, **p.costs, penalty=_Failing(), tol=1e-12)


def test_a_penalty_that_cannot_be_compiled_is_noted(caplog):
    class Unknown(Uncompiled):
        pass

    p = random_problem(0)
    with caplog.at_level(logging.WARNING, logger="comanifold"):
        for _ in range(2):
            co_cluster(*p.args, **p.costs, penalty=Unknown(1.0), tol=1e-3)
    notes = [record.getMessage() for record in caplog.records]
    assert len(notes) == 1
    assert "penalty Unknown cannot be compiled" in notes[0]
    assert "slower" in notes[0]


@pytest.mark.parametrize("seed", range(5))
def test_without_the_bound_dual_vectors_show_that_fused_edges_are_optimal(seed, monkeypatch):
    problem = standard_problem(seed)
    taken = fast.minimise_fast(problem, None, Snowflake(), max_iter=1000, tol=1e-6)
    assert taken.dual is None
    monkeypatch.setattr(fast, "carries_gradient_up_to", lambda *_: False)
    monkeypatch.setattr(fast, "certain_modes", lambda *_: (False, False))
    checked = fast.minimise_fast(problem, None, Snowflake(), max_iter=1000, tol=1e-6)
    estimate = checked.iterate.estimate
    assert stationarity(problem, estimate, Snowflake(), checked.dual) <= 1e-5
    # They hold after all: there are dual vectors that keep everything where it is.
    np.testing.assert_allclose(estimate, taken.iterate.estimate, atol=1e-4)
    assert np.all(np.diff(checked.history) <= 1e-12 * checked.history[0])


def test_the_start_is_within_the_range_of_the_data_and_not_constant():
    problem = standard_problem(3, missing=(0.5, 0.51))
    U = fast._smoothed_data(problem, Snowflake())
    observed = problem.means[problem.counts > 0]
    assert observed.min() <= U.min() < U.max() <= observed.max()


def test_merging_leaves_a_lower_objective(monkeypatch):
    lower = 0
    for seed in range(30):
        problem = standard_problem(seed, sizes=(8, 16), log_costs=(-1.0, 0.5))
        stop = {"max_iter": 1000, "tol": 1e-6}
        merged = fast.minimise_fast(problem, None, Snowflake(), **stop)
        with monkeypatch.context() as patch:
            never = fast._from_scratch(1e-6)._replace(merge_at=-1.0)
            patch.setattr(fast, "_from_scratch", lambda _, never=never: never)
            plain = fast.minimise_fast(problem, None, Snowflake(), max_iter=200, tol=1e-6)
        assert merged.history[-1] <= plain.history[-1] * 1.05
        lower += merged.history[-1] < plain.history[-1] * (1 - 1e-6)
    assert lower >= 5


@pytest.mark.parametrize("seed", [68, 252, 299, 351])
def test_a_descent_that_ends_above_the_constant_estimate_restarts_from_it(seed):
    # Found by search: the descent from the smoothed data ends above the constant estimate.
    problem = standard_problem(seed, sizes=(4, 12), log_costs=(-0.5, 1.5))
    constant = 0.5 * (problem.counts * problem.means**2).sum()
    start = Iterate.start(problem, fast._smoothed_data(problem, Snowflake()))
    schedule = fast._from_scratch(1e-6)
    stuck = fast.run_descent(start, Snowflake(), schedule, max_iter=1000, tol=1e-6).outcome
    assert stuck.history[-1] > 1.01 * constant
    outcome = fast.minimise_fast(problem, None, Snowflake(), max_iter=1000, tol=1e-6)
    assert outcome.history[-1] <= constant * (1 + 1e-12)


@pytest.mark.parametrize("penalty", [Snowflake(), Log(), Linear()], ids=repr)
def test_no_more_iterations_are_made_than_allowed(penalty):
    problem = standard_problem(2, sizes=(8, 12), log_costs=(-1.0, 0.0))
    for max_iter in (1, 2, 5, 9):
        outcome = fast.minimise_fast(problem, None, penalty, max_iter=max_iter, tol=1e-12)
        assert outcome.n_iter <= max_iter


def test_without_iterations_left_the_certificate_has_dual_vectors_of_zero(monkeypatch):
    problem = standard_problem(2)
    enough = fast.minimise_fast(problem, None, Snowflake(), max_iter=1000, tol=1e-6).n_iter
    monkeypatch.setattr(fast, "carries_gradient_up_to", lambda *_: False)
    monkeypatch.setattr(fast, "certain_modes", lambda *_: (False, False))
    outcome = fast.minimise_fast(problem, None, Snowflake(), max_iter=enough, tol=1e-6)
    assert isinstance(outcome.dual, Dual)
    assert outcome.n_iter <= enough


@pytest.mark.parametrize("seed", [0, 13, 21])
def test_the_method_of_multipliers_starts_where_the_last_descent_has_ended(seed, monkeypatch):
    problem, penalty = standard_problem(seed, sizes=(8, 12), log_costs=(-1.0, 0.0)), MCP(2.0)
    reached, starts = [], []

    def descend(*args, **options):
        done = run_descent(*args, **options)
        reached.append(done.outcome.history[-1])
        return done

    def by_multipliers(problem, U, penalty, **options):
        starts.append(problem.objective(U, penalty))
        return minimise_by_multipliers(problem, U, penalty, **options)

    run_descent, minimise_by_multipliers = fast.run_descent, fast.minimise_by_multipliers
    monkeypatch.setattr(fast, "run_descent", descend)
    monkeypatch.setattr(fast, "minimise_by_multipliers", by_multipliers)
    monkeypatch.setattr(fast, "_MAX_SPLITS", 1)
    fast.minimise_fast(problem, None, penalty, max_iter=2000, tol=1e-8)
    assert len(reached) == 2
    assert starts[0] == pytest.approx(min(reached), rel=1e-12)


def test_neighbours_are_close_in_the_order_of_many_blocks(monkeypatch):
    monkeypatch.setattr(fast, "_MANY_BLOCKS", 1)
    rng = np.random.default_rng(0)
    order = rng.permutation(50)
    shuffled = Graph(50, np.stack([order[:-1], order[1:]], axis=1))
    X = incomplete(0, (50, 6), 0.3)
    costs = {"row_cost": 0.3, "column_cost": 0.2}
    start = Iterate.start(Problem.build(X, shuffled, path(6), **costs), rng.normal(size=X.shape))
    moved = fast.with_neighbors_close(start)
    assert np.ptp(moved.problem.rows.pairs, axis=1).tolist() == [1] * 49
    np.testing.assert_array_equal(moved.estimate, start.estimate)
    assert moved.objective(Snowflake()) == pytest.approx(start.objective(Snowflake()), rel=1e-12)


@pytest.mark.parametrize("penalty", [Snowflake(), Log(0.3)], ids=repr)
@pytest.mark.parametrize("seed", range(6))
def test_the_order_of_blocks_does_not_matter(seed, penalty, monkeypatch):
    p = random_problem(seed, sizes=(8, 14), log_costs=(-1.0, 1.0))
    results = []
    for many in (2**17, 1):
        monkeypatch.setattr(fast, "_MANY_BLOCKS", many)
        results.append(co_cluster(*p.args, **p.costs, penalty=penalty, tol=1e-7))
    one, other = results
    np.testing.assert_allclose(other.estimate, one.estimate, atol=1e-5)
    np.testing.assert_array_equal(other.row_labels, one.row_labels)  # in the order they appear
    assert other.objective == pytest.approx(one.objective, rel=1e-9)
    assert other.certificate.stationarity <= 1e-7
