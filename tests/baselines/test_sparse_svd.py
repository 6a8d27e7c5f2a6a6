"""Sparse SVD against the published loops and a convex solver, and on planted biclusters."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from oracles.sparse_svd import lasso, published_half_step, published_layer
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from comanifold.baselines import SparseSVD
from comanifold.baselines._sparse_svd import (
    AdaptiveLasso,
    choose_penalty,
    find_layer,
    soft_threshold,
    standardised_coefficients,
)


@parametrize_with_checks([SparseSVD(), SparseSVD(1, center="mean"), SparseSVD(3, weight_power=0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def simulation(seed=0, missing=0.0, noise=1.0):
    """The rank-one design of Lee et al.: 25 of 100 rows and 16 of 50 columns, s = 50."""
    u = np.array([*range(10, 2, -1), *[2] * 17, *[0] * 75], dtype=float)
    v = np.array([10, -10, 8, -8, 5, -5, *[3] * 5, *[-3] * 5, *[0] * 34], dtype=float)
    layer = 50 * np.outer(u / np.linalg.norm(u), v / np.linalg.norm(v))
    rng = np.random.default_rng(seed)
    X = layer + noise * rng.normal(size=layer.shape)
    X[rng.random(X.shape) < missing] = np.nan
    return X, layer


def layer_of(model, k=0):
    return model.singular_values_[k] * np.outer(
        model.row_components_[k], model.column_components_[k]
    )


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_half_step_against_the_published_loop(seed, power):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(14, 9))
    X[:, :4] += rng.normal(size=(14, 1))
    u = rng.normal(size=14)
    u /= np.linalg.norm(u)
    found, penalty = AdaptiveLasso(X.T, np.ones((9, 14), dtype=bool), power, 0.0).solve(u)
    expected, expected_penalty = published_half_step(X, u, power)
    np.testing.assert_allclose(found / np.linalg.norm(found), expected, atol=1e-12)
    assert penalty == pytest.approx(expected_penalty)


@pytest.mark.parametrize("seed", range(3))
def test_half_step_with_missing_entries_against_a_convex_solver(seed):
    rng = np.random.default_rng(seed)
    X, observed = rng.normal(size=(12, 8)), rng.random((12, 8)) < 0.6
    X = np.where(observed, X, 0.0)
    u = rng.normal(size=12)
    weights = np.where(observed, 1.0, 0.01)
    a = (weights * u[:, None] ** 2).sum(axis=0)
    ols = (X * u[:, None]).sum(axis=0) / a
    b, root = standardised_coefficients(X.T, observed.T, u)
    np.testing.assert_allclose(b / root, ols)
    for penalty in (0.5, 1.0):
        found = soft_threshold(b, penalty, 2.0) / root
        l1 = penalty * np.sqrt(a) * np.abs(np.sqrt(a) * ols) ** -2.0
        expected = lasso(X, weights, u, l1)
        assert 0 < np.count_nonzero(found) < 8
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_penalty_has_the_least_bic_of_a_fine_grid():
    rng = np.random.default_rng(0)
    for _ in range(20):
        b = rng.normal(size=30) * np.where(rng.random(30) < 0.3, 6.0, 1.0)
        variance, n_entries = rng.uniform(0.5, 2), 600

        def bic(penalty, b=b, variance=variance, n_entries=n_entries):
            kept = soft_threshold(b, penalty, 2.0)
            return np.sum((b - kept) ** 2) / variance + np.log(n_entries) * np.count_nonzero(kept)

        grid = np.concatenate([[0.0], np.geomspace(1e-6, 2 * np.sort(np.abs(b))[-2] ** 3, 3000)])
        assert bic(choose_penalty(b, 2.0, variance, n_entries)) <= min(map(bic, grid)) + 1e-9


def test_a_layer_against_the_published_method():
    X, _ = simulation(seed=3)
    model = SparseSVD(1, tol=1e-10, max_iter=50).fit(X)
    u, s, v = published_layer(X)
    np.testing.assert_allclose(layer_of(model), s * np.outer(u, v), atol=1e-8)
    assert model.singular_values_[0] == pytest.approx(s)


def test_planted_layer_is_recovered():
    # Lee et al. report about one wrong row and no wrong column in a hundred.
    wrong_rows, wrong_columns, errors = [], [], []
    for seed in range(10):
        X, layer = simulation(seed)
        model = SparseSVD(1).fit(X)
        wrong_rows.append(np.mean(model.rows_[0] != layer.any(axis=1)))
        wrong_columns.append(np.mean(model.columns_[0] != layer.any(axis=0)))
        errors.append(np.linalg.norm(layer_of(model) - layer) / np.linalg.norm(layer))
    assert np.mean(wrong_rows) < 0.03
    assert np.mean(wrong_columns) < 0.02
    # The first singular vectors without a penalty have 0.24.
    assert np.mean(errors) < 0.18


@pytest.mark.parametrize(("missing", "error"), [(0.3, 0.12), (0.6, 0.25)])
def test_planted_layer_with_missing_entries(missing, error):
    X, layer = simulation(1, missing=missing, noise=0.3)
    model = SparseSVD(1).fit(X)
    gaps = np.isnan(X)
    np.testing.assert_array_equal(model.filled_[~gaps], X[~gaps])
    assert np.mean(model.rows_[0] != layer.any(axis=1)) < 0.05
    assert np.mean(model.columns_[0] != layer.any(axis=0)) < 0.05
    assert np.linalg.norm((model.filled_ - layer)[gaps]) < error * np.linalg.norm(layer[gaps])


def test_sparse_observations_do_not_let_coefficients_grow():
    for seed in range(5):
        X, layer = simulation(seed, missing=0.9)
        model = SparseSVD(2).fit(X)
        assert np.abs(model.filled_[np.isnan(X)]).max() < 2 * np.abs(layer).max()


def test_two_biclusters_and_their_interface():
    rng = np.random.default_rng(0)
    X = 0.5 * rng.normal(size=(80, 60))
    X[:20, :15] += 4.0
    X[30:50, 25:50] -= 2.0
    X[rng.random(X.shape) < 0.3] = np.nan
    model = SparseSVD(2).fit(X)
    assert model.rows_.shape == (2, 80)
    assert model.columns_.shape == (2, 60)
    by_size = np.argsort(model.columns_.sum(axis=1))
    assert [model.get_shape(k) for k in by_size] == [(20, 15), (20, 25)]
    np.testing.assert_array_equal(model.get_indices(by_size[0])[0], np.arange(20))
    np.testing.assert_array_equal(model.get_indices(by_size[1])[1], np.arange(25, 50))
    assert model.biclusters_[0] is model.rows_
    # The largest coefficient of a row is positive.
    assert (model.row_components_.max(axis=1) > -model.row_components_.min(axis=1)).all()


def test_rows_of_the_fit_and_new_rows():
    X, _ = simulation(2, missing=0.2)
    X[10:40, 5:20] += 4.0  # overlaps the first bicluster
    model = SparseSVD(3, center="median").fit(X)
    assert (model.columns_[0] & model.columns_[1]).any()
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-8)
    np.testing.assert_array_equal(model.transform(X) != 0.0, model.rows_.T)
    np.testing.assert_allclose(
        model.embedding_, (model.row_components_ * model.singular_values_[:, None]).T
    )
    X, _ = simulation(2, missing=0.2)
    placed = SparseSVD(1).fit(X[::2]).transform(X[1::2])
    assert ((placed[:, 0] != 0) == (np.arange(1, 100, 2) < 25)).mean() > 0.9
    np.testing.assert_array_equal(model.transform(np.full((1, 50), np.nan)), 0.0)


def test_a_matrix_of_rank_one_leaves_nothing():
    u = np.where(np.arange(20) < 6, np.arange(1.0, 21.0), 0.0)
    v = np.where(np.arange(15) > 10, 2.0, 0.0)
    model = SparseSVD(3).fit(np.outer(u, v))
    np.testing.assert_array_equal(model.rows_[0], u != 0)
    np.testing.assert_array_equal(model.columns_[0], v != 0)
    np.testing.assert_allclose(layer_of(model), np.outer(u, v), atol=1e-9)
    assert not model.rows_[1:].any()
    assert not model.singular_values_[1:].any()
    np.testing.assert_allclose(model.transform(np.outer(u, v)), model.embedding_, atol=1e-9)
    nothing = SparseSVD(2).fit(np.zeros((5, 4)))
    assert not nothing.rows_.any()
    assert not nothing.embedding_.any()


def test_center():
    X, _ = simulation(4, missing=0.1, noise=0.3)
    shift = np.linspace(-20, 20, 50)
    plain = SparseSVD(1, center="median").fit(X)
    shifted = SparseSVD(1, center="median").fit(X + shift)
    np.testing.assert_allclose(layer_of(shifted), layer_of(plain), atol=1e-8)
    np.testing.assert_allclose(shifted.filled_ - shift, plain.filled_, atol=1e-8)
    np.testing.assert_allclose(plain.center_, np.nanmedian(X, axis=0))
    np.testing.assert_allclose(
        SparseSVD(1, center="mean").fit(X).center_, np.nanmean(X, axis=0), atol=1e-12
    )
    np.testing.assert_array_equal(SparseSVD(1).fit(X).center_, 0.0)
    X[:, 7] = np.nan
    empty = SparseSVD(1, center="median").fit(X)
    assert not empty.columns_[0, 7]
    np.testing.assert_array_equal(empty.filled_[:, 7], 0.0)


def test_rows_and_columns_without_entries_are_in_no_bicluster():
    X, _ = simulation(0, missing=0.2)
    X[3], X[:, 5] = np.nan, np.nan
    model = SparseSVD(2).fit(X)
    assert not model.rows_[:, 3].any()
    assert not model.columns_[:, 5].any()
    assert np.isfinite(model.filled_).all()


@pytest.mark.parametrize("unit", [1e-150, 1e-60, 1e60, 1e150])
def test_units_and_order(unit):
    X, _ = simulation(5, missing=0.3)
    model, scaled = SparseSVD(2).fit(X), SparseSVD(2).fit(unit * X)
    np.testing.assert_array_equal(scaled.rows_, model.rows_)
    np.testing.assert_allclose(scaled.filled_ / unit, model.filled_, atol=1e-8)
    np.testing.assert_allclose(scaled.transform(unit * X) / unit, model.embedding_, atol=1e-8)
    for name in ("row_penalties_", "column_penalties_"):
        assert (getattr(model, name) > 0).all()
        # inf or 0 if there is no such number.
        with np.errstate(over="ignore", under="ignore"):
            expected = getattr(model, name) * unit * unit * unit
        np.testing.assert_allclose(getattr(scaled, name), expected, rtol=1e-9)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(100), rng.permutation(50)
    permuted = SparseSVD(2).fit(X[rows][:, columns])
    np.testing.assert_allclose(permuted.filled_, model.filled_[rows][:, columns], atol=1e-8)


def test_many_rows_and_columns():
    # Above the limit of the dense solver for the first vectors.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1600, 1510))
    X[:200, :100] += 1.5
    model = SparseSVD(1).fit(X)
    assert np.mean(model.rows_[0] != (np.arange(1600) < 200)) < 0.01
    assert np.mean(model.columns_[0] != (np.arange(1510) < 100)) < 0.01


def test_a_warning_says_that_iterations_did_not_converge():
    X, _ = simulation(0, missing=0.5)
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations for layer 0"):
        SparseSVD(1, max_iter=1).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert 1 < SparseSVD(1).fit(X).n_iter_ < 100


@pytest.mark.parametrize(("power", "shape"), [(0.0, (8, 6)), (0.0, (12, 9)), (2.0, (8, 6))])
def test_a_cycle_ends_with_the_best_of_its_layers(power, shape):
    n_cycles = 0
    for seed in range(250):
        X = np.random.default_rng(seed).normal(size=shape)
        lasso = AdaptiveLasso(X, np.ones(shape, dtype=bool), power, 0.0)
        layer = find_layer(lasso, max_iter=100, tol=1e-7)
        assert layer.converged
        following = lasso.improve(layer)
        if following.is_near(layer, 1e-6):
            continue
        # The published iterations leave this layer and come back to it, again and again.
        u, away = layer.u, []
        for _ in range(101):
            away.append(np.linalg.norm(u - layer.u))
            v, _ = published_half_step(X, u, power)
            u, _ = published_half_step(X.T, v, power)
        assert max(away) > 0.01
        assert min(away[1:]) < 1e-4
        n_cycles += 1
        # No layer on the way is better.
        for _ in range(25):
            assert following.criterion > layer.criterion - 1e-3
            following = lasso.improve(following)
        fitted = layer.s * np.outer(layer.u, layer.v)
        n_nonzero = np.count_nonzero(layer.u) + np.count_nonzero(layer.v)
        expected = np.log(np.mean((X - fitted) ** 2)) + np.log(X.size) / X.size * n_nonzero
        assert layer.criterion == pytest.approx(expected)
    assert n_cycles


def test_a_cycle_is_no_reason_to_warn():
    X, layer = simulation(5, missing=0.5)
    lasso = AdaptiveLasso(np.nan_to_num(X), ~np.isnan(X), 2.0, 0.0)
    found = find_layer(lasso, max_iter=100, tol=1e-4)
    assert not lasso.improve(found).is_near(found, 0.01)
    model = SparseSVD(1).fit(X)  # and no warning
    assert model.n_iter_ < 50
    assert np.linalg.norm(layer_of(model) - layer) < 0.4 * np.linalg.norm(layer)
    again = SparseSVD(1).fit(8.0 * X)
    np.testing.assert_allclose(again.embedding_, 8.0 * model.embedding_, rtol=1e-9)


def test_equal_coefficients_vanish_together():
    # A circulant matrix: its first singular vectors are constant.
    X = np.where((np.arange(8)[:, None] - np.arange(8)) % 8 < 2, 1.0, 0.1)
    model = SparseSVD(1).fit(X)
    assert model.rows_.all()
    assert model.columns_.all()
    assert model.singular_values_[0] == pytest.approx(2.6)
    b = np.array([1.0, 1.0 + 1e-15, -1.0, 0.3, -0.3, 0.3 * (1 - 1e-15)])
    penalty = choose_penalty(b, 2.0, 1.0, 36)
    np.testing.assert_array_equal(soft_threshold(b, penalty, 2.0) != 0, np.abs(b) > 0.5)
    assert soft_threshold(b, choose_penalty(b, 2.0, 1e3, 36), 2.0).any()
    X, _ = simulation(0, missing=0.3)
    twice = SparseSVD(1).fit(np.repeat(X, 2, axis=0))
    np.testing.assert_array_equal(twice.rows_[0, ::2], twice.rows_[0, 1::2])


@pytest.mark.parametrize("size", [1e3, 1e8, 1e9, 1e11])
def test_a_layer_that_is_much_larger_than_the_next(size):
    # The errors of the first are so few digits of the sum of squares that a difference has none.
    rng = np.random.default_rng(0)
    u, v = np.zeros(60), np.zeros(40)
    u[:10], v[:8] = 3 + rng.normal(size=10), 3 + rng.normal(size=8)
    X = size * np.outer(u, v) + 1e-3 * rng.normal(size=(60, 40))
    X[20:35, 20:30] += 1.0
    model = SparseSVD(2).fit(X)
    assert [model.get_shape(k) for k in range(2)] == [(10, 8), (15, 10)]


@pytest.mark.parametrize("power", [0.0, 2.0, 4.0])
def test_coefficients_of_very_different_size(power):
    b = np.array([3.0, -2.0, 1e-20, 1e-45, 0.0])
    penalty = choose_penalty(b, power, 1e-30, 100)
    np.testing.assert_allclose(
        soft_threshold(b, penalty, power), [3.0, -2.0, 0.0, 0.0, 0.0], atol=2e-20
    )
    penalty = choose_penalty(b, power, 1e-50, 100)
    np.testing.assert_allclose(soft_threshold(b, penalty, power), [3.0, -2.0, 1e-20, 0.0, 0.0])
    # Those of new rows may be smaller than any of the fit.
    np.testing.assert_allclose(soft_threshold(np.array([1e-200, 1.0]), 0.0, power), [1e-200, 1.0])
    X = np.random.default_rng(0).normal(size=(30, 12)) * np.logspace(-100, 100, 12)
    model = SparseSVD(2, weight_power=power).fit(X)
    assert model.singular_values_[0] == pytest.approx(np.linalg.norm(X[:, -1]))
    assert np.isfinite(model.filled_).all()


def test_a_constant_column_is_nothing_once_centred():
    # The mean of the same numbers is not exactly that number.
    X = np.full((10, 5), 0.1)
    assert X.mean(axis=0)[0] != 0.1
    model = SparseSVD(1, center="mean").fit(X)
    assert not model.rows_.any()
    X[:, 0] = np.arange(10)
    model = SparseSVD(2, center="mean").fit(X)
    assert list(model.columns_.sum(axis=1)) == [1, 0]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components must be a positive integer, got 0"),
        ({"center": "mode"}, "center must be one of 'mean', 'median' or None, got 'mode'"),
        ({"weight_power": -1}, "weight_power must be a number from 0 to 4, got -1"),
        ({"weight_power": "2"}, "weight_power must be a number from 0 to 4, got '2'"),
        ({"max_iter": 0}, "max_iter must be a positive integer"),
        ({"tol": 0}, "tol must be a number between 0 and 1"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        SparseSVD(**parameters).fit(simulation()[0])


def test_clone_pickle_and_data_frames():
    X, _ = simulation(0, missing=0.2)
    model = SparseSVD().fit(X)
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(50)])
    found = SparseSVD().set_output(transform="pandas").fit_transform(frame)
    assert list(found.columns) == ["sparsesvd0", "sparsesvd1"]
    assert len(found) == 100


def test_standardised_coefficients_of_complete_rows():
    X = np.random.default_rng(0).normal(size=(6, 4))
    v = np.array([0.5, 0.5, 0.5, -0.5])
    b, root = standardised_coefficients(X, np.ones(X.shape, dtype=bool), v)
    np.testing.assert_allclose(root, 1.0)
    np.testing.assert_allclose(b, X @ v)
