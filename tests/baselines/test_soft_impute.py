"""SoftImpute against the plain iteration, and its choice of the penalty."""

import pickle

import numpy as np
import pytest
from oracles.slow import soft_impute
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from comanifold.baselines import SoftImpute
from comanifold.baselines._soft_impute import standardise


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([SoftImpute(), SoftImpute(2, penalty=0.5)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def low_rank(seed, shape=(30, 20), rank=2, noise=0.05, missing=0.3):
    rng = np.random.default_rng(seed)
    clean = rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1])) + 3.0
    X = clean + noise * rng.normal(size=shape)
    X[rng.random(shape) < missing] = np.nan
    return clean, X


@pytest.mark.parametrize("penalty", [0.3, 2.0, 8.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_against_the_plain_iteration(penalty, seed):
    _, X = low_rank(seed)
    model = SoftImpute(penalty=penalty, tol=1e-10, max_iter=20_000).fit(X)
    means = np.nanmean(X, axis=0)
    Z = soft_impute(X - means, penalty)
    np.testing.assert_allclose(model.filled_, np.where(np.isnan(X), means + Z, X), atol=1e-5)
    assert model.rank_ == np.linalg.matrix_rank(Z, tol=1e-8)
    assert model.penalty_ == penalty


def test_new_rows_are_ridge_regressions_and_known_rows_are_unchanged():
    _, X = low_rank(2)
    model = SoftImpute(penalty=1.0, tol=1e-10, max_iter=20_000).fit(X)
    np.testing.assert_allclose(model.transform(X), model.filled_, atol=1e-5)
    row = np.where(np.arange(20) < 12, X[0], np.nan)
    seen = ~np.isnan(row)
    means = np.nanmean(X, axis=0)
    _, values, Vt = np.linalg.svd(soft_impute(X - means, 1.0), full_matrices=False)
    B = Vt[: model.rank_].T * np.sqrt(values[: model.rank_])
    a = np.linalg.lstsq(
        np.vstack([B[seen], np.eye(model.rank_)]),
        np.concatenate([(row - means)[seen], np.zeros(model.rank_)]),
        rcond=None,
    )[0]
    np.testing.assert_allclose(
        model.transform(row[None])[0], np.where(seen, row, means + B @ a), atol=1e-5
    )


def test_auto_penalty_predicts_missing_entries():
    clean, X = low_rank(3, shape=(60, 40))
    missing = np.isnan(X)
    error = {}
    for penalty in ("auto", 0.01, 100.0):
        filled = SoftImpute(penalty=penalty).fit_transform(X)
        error[penalty] = np.sqrt(np.mean((filled - clean)[missing] ** 2))
    assert error["auto"] < 0.2
    assert error["auto"] < 1.5 * error[0.01]
    assert error["auto"] < 0.2 * error[100.0]


def test_a_complete_matrix_is_unchanged_and_fills_in_new_rows():
    clean, _ = low_rank(4, shape=(60, 20), noise=0.0)
    model = SoftImpute().fit(clean[:50])
    np.testing.assert_array_equal(model.filled_, clean[:50])
    new = clean[50:].copy()
    new[:, ::4] = np.nan
    assert np.sqrt(np.mean((model.transform(new) - clean[50:]) ** 2)) < 0.1 * clean.std()


def test_the_rank_is_limited():
    clean, X = low_rank(5, rank=2, noise=0.0, shape=(40, 30))
    # One more than that of the data: the means of what is observed are not quite their means.
    model = SoftImpute(3, penalty=0.01, tol=1e-7, max_iter=20_000).fit(X)
    assert model.rank_ == 3
    np.testing.assert_allclose(model.filled_, clean, atol=0.05)
    # So large a penalty leaves nothing: every gap takes the mean of its column.
    nothing = SoftImpute(penalty=1e6).fit(X)
    assert nothing.rank_ == 0
    np.testing.assert_allclose(nothing.filled_, np.where(np.isnan(X), np.nanmean(X, axis=0), X))
    np.testing.assert_allclose(nothing.transform(X), nothing.filled_)


def test_rows_and_columns_without_entries():
    _, X = low_rank(6)
    X[3], X[:, 5] = np.nan, np.nan
    model = SoftImpute().fit(X)
    assert np.isfinite(model.filled_).all()
    np.testing.assert_allclose(np.delete(model.filled_[3], 5), np.nanmean(np.delete(X, 5, 1), 0))
    assert model.filled_[0, 5] == pytest.approx(np.nanmean(X))


def test_a_warning_says_that_iterations_did_not_converge():
    X = low_rank(0)[1]
    with pytest.warns(ConvergenceWarning, match="SoftImpute stopped after 2 iterations"):
        SoftImpute(penalty=0.1, max_iter=2).fit(X)
    needed = SoftImpute(penalty=0.1).fit(X).n_iter_
    assert SoftImpute(penalty=0.1, max_iter=needed).fit(X).n_iter_ == needed  # and no warning


@pytest.mark.parametrize("unit", [1e-60, 1e60])
def test_units_of_large_matrices(unit):
    # Large enough for single precision, which has no such numbers.
    _, X = low_rank(7, shape=(400, 300), noise=1.0)
    model, scaled = SoftImpute().fit(X), SoftImpute().fit(unit * X)
    assert scaled.penalty_ == pytest.approx(unit * model.penalty_, rel=1e-6)
    assert scaled.rank_ == model.rank_
    np.testing.assert_allclose(scaled.filled_ / unit, model.filled_, atol=1e-4)


def test_large_matrices_in_any_order():
    _, X = low_rank(8, shape=(400, 300), noise=1.0)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(400), rng.permutation(300)
    model = SoftImpute().fit(X)
    np.testing.assert_array_equal(SoftImpute().fit(X).filled_, model.filled_)
    permuted = SoftImpute().fit(X[rows][:, columns])
    assert permuted.penalty_ == pytest.approx(model.penalty_, rel=1e-6)
    np.testing.assert_allclose(permuted.filled_, model.filled_[rows][:, columns], atol=1e-4)


def test_a_penalty_that_hardly_improves_the_prediction_is_not_preferred():
    # Correlated columns: the error falls as long as the penalty does, by less and less.
    rng = np.random.default_rng(0)
    covariance = np.exp(-np.abs(np.subtract.outer(np.arange(30), np.arange(30))) / 3.0)
    X = rng.multivariate_normal(np.zeros(30), covariance, size=300)
    X[rng.random(X.shape) < 0.5] = np.nan
    model = SoftImpute().fit(X)
    assert model.penalty_ > 0.01 * np.linalg.norm(np.nan_to_num(X), 2)
    assert model.n_iter_ < 200


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_rank": 0}, "max_rank must be a positive integer or None, got 0"),
        ({"penalty": 10**400}, 'penalty must be "auto" or a number of at least 0'),
        ({"penalty": True}, 'penalty must be "auto" or a number of at least 0'),
        ({"penalty": np.nan}, 'penalty must be "auto" or a number of at least 0'),
        ({"max_rank": True}, "max_rank must be a positive integer or None"),
        ({"penalty": -1.0}, 'penalty must be "auto" or a number of at least 0'),
        ({"penalty": "best"}, 'penalty must be "auto" or a number of at least 0'),
        ({"max_iter": 0}, "max_iter must be a positive integer"),
        ({"tol": -1.0}, "tol must be a number between 0 and 1"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        SoftImpute(**parameters).fit(low_rank(0)[1])


def test_clone_and_pickle():
    _, X = low_rank(0)
    model = SoftImpute().fit(X)
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1.0, 1e140])
def test_standardise(unit):
    _, X = low_rank(9)
    scaled, means, scale = standardise(unit * X)
    np.testing.assert_allclose(means, unit * np.nanmean(X, axis=0), rtol=1e-12)
    np.testing.assert_allclose(scale * scaled + means, unit * X, rtol=1e-12)
    assert np.sqrt(np.nanmean(scaled**2)) == pytest.approx(1.0)
    # Rounding errors of the means are nothing, and small differences are not.
    zeros, _, scale = standardise(np.full((10, 2), unit * 0.1))
    np.testing.assert_array_equal(zeros, 0.0)
    assert scale == 1.0
    scaled, _, _ = standardise(unit * (1e6 + X))
    assert np.sqrt(np.nanmean(scaled**2)) == pytest.approx(1.0)
