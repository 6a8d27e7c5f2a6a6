"""The combination of members and its errors, against slow solutions and simulations."""

import cvxpy as cp
import numpy as np
import pytest

from comanifold._fit import combination
from comanifold._fit.combination import ErrorModel, Stacking, mode_variances


def members(seed, n_entries=400, n_members=12):
    """Predictions of different accuracy and the true values."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=n_entries)
    errors = rng.uniform(0.3, 1.5, size=n_members) * rng.normal(size=(n_entries, n_members))
    return values[:, None] + errors, values, np.full(n_members, 1.0 / n_members)


@pytest.mark.parametrize("n_entries", [5, 60, 2000])
def test_weights_solve_the_problem_on_the_simplex(n_entries):
    predictions, values, prior = members(n_entries, n_entries)
    prior = prior * np.linspace(0.5, 1.5, len(prior))
    prior /= prior.sum()
    found = Stacking(predictions, values, prior).weights()
    kept = found > 0.0

    def solve(penalty, some):
        w = cp.Variable(int(some.sum()))
        objective = cp.sum_squares(predictions[:, some] @ w - values)
        objective += penalty * cp.sum_squares(w - prior[some])
        cp.Problem(cp.Minimize(objective), [w >= 0, cp.sum(w) == 1]).solve(solver=cp.CLARABEL)
        return w.value

    def penalty(weights):
        return 900.0 * np.mean((predictions @ weights - values) ** 2) / n_entries

    first = solve(penalty(prior), np.ones(len(prior), dtype=bool))
    expected = solve(penalty(first), kept)
    np.testing.assert_allclose(found[kept], expected, atol=1e-4)
    assert found.sum() == pytest.approx(1.0)
    assert (found >= 0.0).all()


def test_few_entries_leave_the_prior_and_many_find_the_best_member():
    rng = np.random.default_rng(0)
    values = rng.normal(size=4000)
    good = values + 1e-4 * rng.normal(size=4000)
    predictions = np.column_stack([good, *(values + rng.normal(size=(5, 4000)))])
    prior = np.array([0.0, 0.2, 0.2, 0.2, 0.2, 0.2])
    distances = [
        np.linalg.norm(Stacking(predictions[:n], values[:n], prior).weights() - prior)
        for n in (2, 8, 30, 100, 1000, 4000)
    ]
    assert distances[0] < 0.02
    assert (np.diff(distances) >= 0.0).all()  # nothing jumps, and nothing turns back
    weights = Stacking(predictions, values, prior).weights()
    np.testing.assert_allclose(weights, [1.0, 0, 0, 0, 0, 0], atol=1e-3)
    np.testing.assert_array_equal(Stacking(predictions[:0], values[:0], prior).weights(), prior)


def test_members_with_negligible_weights_are_left_out():
    predictions, values, prior = members(1, 3000, 40)
    weights = Stacking(predictions, values, prior).weights()
    assert (weights > 0.0).sum() < 40
    rest = predictions @ weights - values
    best = min(np.mean((predictions - values[:, None]) ** 2, axis=0))
    assert np.mean(rest**2) < best


def test_no_entry_has_a_part_in_the_weights_it_is_predicted_with():
    predictions, values, prior = members(2, 100, 8)
    before = Stacking(predictions, values, prior).cross_fitted()
    order = np.argsort(values)
    place = order[50]
    part = np.empty(100, dtype=int)
    part[np.lexsort((predictions @ prior, values))] = np.arange(100) % 5
    changed = values.copy()
    changed[place] = 0.5 * (values[order[50]] + values[order[51]])  # the order is the same
    after = Stacking(predictions, changed, prior).cross_fitted()
    same = part == part[place]
    np.testing.assert_array_equal(after[same], before[same])
    assert (after[~same] != before[~same]).any()


def heteroscedastic(seed, shape=(60, 40), n=1500):
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(shape[0], size=n), rng.integers(shape[1], size=n)
    a, b = np.exp(0.5 * rng.normal(size=shape[0])), np.exp(0.5 * rng.normal(size=shape[1]))
    return a[rows] * b[columns] * rng.standard_t(4, size=n), rows, columns, a, b


def test_deviations_follow_rows_and_columns():
    residuals, rows, columns, a, b = heteroscedastic(0, n=20_000)
    model = ErrorModel.fit(residuals, rows, columns, (60, 40))
    truth = np.log(a[:, None] * b)
    found = np.log(model.deviations())
    assert np.corrcoef(truth.ravel(), found.ravel())[0, 1] > 0.9
    assert np.mean(model.deviations()[rows, columns] ** 2) == pytest.approx(
        np.mean(residuals**2), rel=0.05
    )


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95])
def test_intervals_cover_new_errors(coverage):
    rates = []
    for seed in range(20):
        residuals, rows, columns, _, _ = heteroscedastic(seed)
        model = ErrorModel.fit(residuals[:1000], rows[:1000], columns[:1000], (60, 40))
        reach = model.score_at(coverage) * model.deviations()[rows[1000:], columns[1000:]]
        rates.append(np.mean(np.abs(residuals[1000:]) <= reach))
    assert np.mean(rates) == pytest.approx(coverage, abs=0.012)


def test_equal_deviations_are_found_to_be_equal():
    rng = np.random.default_rng(5)
    rows, columns = rng.integers(60, size=500), rng.integers(40, size=500)
    model = ErrorModel.fit(rng.normal(size=500), rows, columns, (60, 40))
    assert model.deviations().std() < 0.1 * model.deviation


def test_a_residual_is_not_compared_with_itself(monkeypatch):
    monkeypatch.setattr(combination, "_N_USUAL", (10.0,))
    residuals, rows, columns, _, _ = heteroscedastic(3, n=300)
    model = ErrorModel.fit(residuals, rows, columns, (60, 40))
    squares = (residuals / model.deviation) ** 2
    expected = []
    for e in range(300):
        variance = 1.0
        for mode, other in (
            ((rows, model.row_factors), (columns, model.column_factors)),
            ((columns, model.column_factors), (rows, model.row_factors)),
        ):
            peers = np.flatnonzero(mode[0] == mode[0][e])
            peers = peers[peers != e]
            relative = squares[peers] / other[1][other[0][peers]] ** 2
            variance *= (10.0 + relative.sum()) / (10.0 + len(peers))
        expected.append(np.sqrt(squares[e] / variance))
    np.testing.assert_allclose(model.scores, np.sort(expected), rtol=0.02)


def test_too_few_residuals_have_infinite_intervals():
    nowhere = np.zeros(0, dtype=int)
    empty = ErrorModel.fit(np.zeros(0), nowhere, nowhere, (3, 2))
    assert empty.score_at(0.9) == np.inf
    np.testing.assert_array_equal(empty.deviations(), 0.0)
    eight = ErrorModel.fit(np.arange(1.0, 9.0), np.arange(8), np.zeros(8, dtype=int), (8, 1))
    assert eight.score_at(0.9) == np.inf
    assert eight.score_at(0.8) == eight.scores[-1]
    exact = ErrorModel.fit(np.zeros(20), np.arange(20), np.zeros(20, dtype=int), (20, 1))
    assert exact.score_at(0.9) == 0.0


def test_variances_of_modes_count_missing_entries_only():
    residuals, rows, columns, _, _ = heteroscedastic(4)
    model = ErrorModel.fit(residuals, rows, columns, (60, 40))
    missing = np.random.default_rng(0).random((60, 40)) < 0.3
    for i in (0, 7):
        expected = 0.75 * model.deviation**2 * (model.column_factors[missing[i]] ** 2).sum()
        assert mode_variances(model, missing, "row")[i] == pytest.approx(expected)
        expected = 0.75 * model.deviation**2 * (model.row_factors[missing[:, i]] ** 2).sum()
        assert mode_variances(model, missing, "column")[i] == pytest.approx(expected)
