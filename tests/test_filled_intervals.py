"""Standard errors, intervals and support of filled-in entries, and held-out entries."""

import numpy as np
import pytest
from oracles.fits import holes, permute
from scipy.spatial.distance import cdist

from comanifold import CoManifold
from comanifold._embedding.out_of_sample import ModeVariances, distances_to_new
from comanifold.datasets import make_checkerboard, make_clusters, make_curve, remove_entries


@pytest.fixture(scope="module")
def fitted():
    truth = make_curve(100, 60, noise=0.4, random_state=0).X
    X = remove_entries(truth, 0.4, random_state=0)
    return truth, X, CoManifold().fit(X)


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_intervals_cover_missing_entries(coverage):
    rates = []
    for seed in range(6):
        make = (make_curve, make_clusters, make_checkerboard)[seed % 3]
        truth = make(80, 50, noise=0.5, random_state=seed).X
        X = remove_entries(truth, 0.4, random_state=seed)
        lower, upper = CoManifold().fit(X).filled_interval(coverage)
        rates.append(np.mean(((lower <= truth) & (truth <= upper))[np.isnan(X)]))
    assert np.mean(rates) == pytest.approx(coverage, abs=0.02)


def test_observed_entries_are_their_own_bounds(fitted):
    _, X, model = fitted
    lower, upper = model.filled_interval()
    observed = ~np.isnan(X)
    np.testing.assert_array_equal(lower[observed], X[observed])
    np.testing.assert_array_equal(upper[observed], X[observed])
    np.testing.assert_array_equal(model.filled_std_[observed], 0.0)
    np.testing.assert_allclose(lower + upper, 2 * model.filled_, rtol=1e-12)
    wider = model.filled_interval(0.99)
    assert (wider[1] - wider[0] > upper - lower)[~observed].all()


def test_standard_errors_are_as_large_as_the_errors(fitted):
    truth, X, model = fitted
    missing = np.isnan(X)
    error = np.sqrt(np.mean((model.filled_ - truth)[missing] ** 2))
    expected = np.sqrt(np.mean(model.filled_std_[missing] ** 2))
    assert expected == pytest.approx(error, rel=0.1)


def test_held_out_entries_are_observed_and_predicted_without_them(fitted):
    _, X, model = fitted
    held_out = model.held_out_
    assert set(held_out) == {"row", "column", "fold", "value", "predicted"}
    np.testing.assert_array_equal(X[held_out["row"], held_out["column"]], held_out["value"])
    residuals = held_out["predicted"] - held_out["value"]
    assert 0.3 < np.std(residuals) < 0.6  # the noise alone is 0.4
    assert len(set(zip(held_out["row"], held_out["column"], strict=True))) == len(residuals)


def test_a_row_with_few_entries_has_little_support_and_is_near_to_nobody():
    X = remove_entries(make_clusters(100, 60, noise=1.0, random_state=1).X, 0.2, random_state=1)
    X[0, 2:] = np.nan
    X[1] = np.where(np.isnan(X[1]), 0.0, X[1])
    model = CoManifold().fit(X)
    support = model.row_support_
    assert np.argmin(support) == 0
    assert support[1] == 1.0
    assert ((support >= 0.0) & (support <= 1.0)).all()
    assert model.column_support_.shape == (60,)
    # Filled in by something like a mean it would otherwise be the nearest of many.
    distances = model.row_distances_ + np.diag(np.full(100, np.inf))
    assert np.sum(np.argmin(distances, axis=1) == 0) <= 1


def test_units_and_order_do_not_matter(fitted):
    _, X, model = fitted
    lower, _ = model.filled_interval()
    scaled = CoManifold().fit(100.0 * X + 7.0)
    np.testing.assert_allclose(scaled.filled_interval()[0], 100.0 * lower + 7.0, rtol=1e-5)
    np.testing.assert_allclose(scaled.filled_std_, 100.0 * model.filled_std_, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(scaled.row_support_, model.row_support_, rtol=1e-5)
    permuted, rows, columns, _ = permute(X, np.random.default_rng(0))
    again = CoManifold().fit(permuted)
    np.testing.assert_allclose(again.filled_std_, model.filled_std_[rows][:, columns], rtol=1e-4)
    transposed = CoManifold().fit(X.T)
    np.testing.assert_allclose(transposed.filled_std_, model.filled_std_.T, rtol=1e-4)
    np.testing.assert_allclose(transposed.column_support_, model.row_support_, rtol=1e-4)


def test_complete_matrices_have_exact_bounds():
    X = np.nan_to_num(holes())
    model = CoManifold().fit(X)
    lower, upper = model.filled_interval()
    np.testing.assert_array_equal(lower, X)
    np.testing.assert_array_equal(upper, X)
    np.testing.assert_array_equal(model.row_support_, 1.0)


def test_too_few_held_out_entries_give_infinite_bounds():
    X = holes(6, 5, missing=0.3)
    model = CoManifold().fit(X)
    with pytest.warns(UserWarning, match="too few for intervals of coverage 0.99"):
        lower, upper = model.filled_interval(0.99)
    missing = np.isnan(X)
    np.testing.assert_array_equal(upper[missing], np.inf)
    np.testing.assert_array_equal(lower[missing], -np.inf)
    np.testing.assert_array_equal(lower[~missing], X[~missing])
    paper = CoManifold.as_in_the_paper().fit(holes())
    with pytest.warns(UserWarning, match='use scale_weights="learned"'):
        paper.filled_interval()
    assert np.isnan(paper.filled_std_[np.isnan(holes())]).all()
    share_observed = 1.0 - np.isnan(holes()).mean(axis=1)
    np.testing.assert_allclose(paper.row_support_, share_observed)


@pytest.mark.filterwarnings("ignore:.*no observed entry")
def test_rows_without_an_observed_entry_have_no_bounds_and_no_support():
    X = holes()
    X[4] = np.nan
    model = CoManifold().fit(X)
    lower, upper = model.filled_interval()
    assert np.isnan(lower[4]).all()
    assert np.isnan(upper[4]).all()
    assert model.row_support_[4] == 0.0
    assert np.isfinite(np.delete(lower, 4, axis=0)).all()


@pytest.mark.parametrize("coverage", [0.0, 1.0, -1, 90, "much", True, np.nan])
def test_coverage_is_checked(fitted, coverage):
    with pytest.raises(ValueError, match="coverage must be a number between 0 and 1"):
        fitted[2].filled_interval(coverage)


def test_saved_models_have_the_same_intervals(fitted, tmp_path):
    model = fitted[2]
    model.save(tmp_path / "model")
    again = CoManifold.load(tmp_path / "model")
    for one, other in zip(again.filled_interval(), model.filled_interval(), strict=True):
        np.testing.assert_array_equal(one, other)
    for name, values in model.held_out_.items():
        np.testing.assert_array_equal(again.held_out_[name], values)
    for name, values in model.completions_.items():
        np.testing.assert_array_equal(again.completions_[name], values)


def test_missing_entries_of_new_rows_add_to_their_distances():
    rng = np.random.default_rng(0)
    filled = rng.normal(size=(12, 8))
    plain = cdist(filled, filled)
    of_points = rng.uniform(1.0, 2.0, size=12)
    of_entries = rng.uniform(0.5, 1.0, size=8)
    new = rng.normal(size=(1, 8))
    new[0, [2, 5]] = np.nan
    without = distances_to_new(new, filled, plain, 1.0, ModeVariances(np.zeros(12), np.zeros(8)))
    beyond = of_points - of_points.min()
    distances = np.sqrt(plain**2 + beyond[:, None] + beyond) * (1 - np.eye(12))
    found = distances_to_new(new, filled, distances, 1.0, ModeVariances(of_points, of_entries))
    own = of_entries[[2, 5]].sum() - of_points.min()
    np.testing.assert_allclose(found**2, np.maximum(without**2 + own + beyond, 0.0), rtol=1e-9)
