"""Low-rank completion against SoftImpute by singular value decompositions."""

import numpy as np
import pytest
from oracles.slow import soft_impute

from comanifold._fit import low_rank
from comanifold._fit.held_out import HeldOut
from comanifold._fit.low_rank import LowRankCompletion, fill_in


def low_rank_matrix(seed, shape=(40, 30), rank=2, noise=0.1, missing=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1]))
    X += noise * rng.normal(size=shape)
    X -= X.mean()
    return np.where(rng.random(shape) < missing, np.nan, X), X


def completed_by(completion, X):
    return fill_in(X, *completion.factors(X))


@pytest.mark.parametrize("transposed", [False, True])
def test_every_step_of_the_path_solves_its_problem(monkeypatch, transposed):
    monkeypatch.setattr(low_rank, "_STEADY", 1e-9)
    monkeypatch.setattr(low_rank, "_ROUNDS", 5000)
    X = low_rank_matrix(0)[0]
    X = X.T if transposed else X
    penalty = np.linalg.svd(np.nan_to_num(X), compute_uv=False)[0]
    for step, (A, B) in enumerate(low_rank._path(X, False), start=1):
        if step in (1, 3, 5):
            expected = soft_impute(X, penalty * low_rank._FALL**step)
            np.testing.assert_allclose(A @ B.T, expected, atol=1e-4)
        if step == 5:
            break


def test_a_matrix_of_low_rank_is_found_again():
    X, truth = low_rank_matrix(1)
    completion = LowRankCompletion(HeldOut(X))
    completed = completed_by(completion, X)
    missing = np.isnan(X)
    np.testing.assert_array_equal(completed[~missing], X[~missing])
    error = np.sqrt(np.mean((completed - truth)[missing] ** 2))
    assert error < 0.35 * truth.std()
    hidden, (A, B) = HeldOut(X), completion.factors_of_rest
    np.testing.assert_allclose(completion.predicted, (A @ B.T)[hidden.rows, hidden.columns])
    assert np.mean((completion.predicted - hidden.values) ** 2) < 0.35**2 * truth.var()


def test_noise_is_not_followed():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 50))
    X[rng.random(X.shape) < 0.5] = np.nan
    completed = completed_by(LowRankCompletion(HeldOut(X)), X)
    assert np.abs(completed[np.isnan(X)]).mean() < 0.35


def test_transposing_transposes():
    for seed in range(5):
        X = low_rank_matrix(seed, shape=(20, 20))[0]
        first = completed_by(LowRankCompletion(HeldOut(X)), X)
        second = completed_by(LowRankCompletion(HeldOut(X.T)), X.T)
        np.testing.assert_allclose(second, first.T, atol=1e-8)


def test_nothing_to_go_by():
    X = np.zeros((6, 5))
    X[0, 0] = X[3, 2] = np.nan
    np.testing.assert_array_equal(completed_by(LowRankCompletion(HeldOut(X)), X), np.zeros((6, 5)))


@pytest.mark.parametrize("seed", range(5))
def test_products_are_filled_in_and_compared(seed):
    rng = np.random.default_rng(seed)
    product, filled = rng.normal(size=(2, *rng.integers(1, 20, size=2)))
    missing = rng.random(filled.shape) < 0.5
    expected = np.where(missing, product, filled)
    low_rank._fill_in(product, missing, filled)
    np.testing.assert_array_equal(filled, expected)
    one, other = ((rng.normal(size=(6, 3)), rng.normal(size=(4, 3))) for _ in range(2))
    expected = np.sum((one[0] @ one[1].T) * (other[0] @ other[1].T))
    assert low_rank._inner_product(one, other) == pytest.approx(expected)


@pytest.mark.parametrize("shape", [(120, 90), (60, 150)])
def test_iterations_find_the_same_directions(shape):
    X, _ = low_rank_matrix(1, shape, rank=4, noise=0.5)
    hidden = HeldOut(X)
    one, other = LowRankCompletion(hidden), LowRankCompletion(hidden, iterative=True)
    np.testing.assert_allclose(other.predicted, one.predicted, rtol=0, atol=1e-6)
    np.testing.assert_allclose(completed_by(other, X), completed_by(one, X), rtol=0, atol=1e-6)


def first_of_path(X):
    return next(low_rank._path(X, iterative=False))


def test_rounds_end_once_the_matrix_is_steady(monkeypatch):
    X = low_rank_matrix(3)[0]
    few = first_of_path(X)
    monkeypatch.setattr(low_rank, "_ROUNDS", 10 * low_rank._ROUNDS)
    for one, other in zip(few, first_of_path(X), strict=True):
        np.testing.assert_array_equal(one, other)
    monkeypatch.setattr(low_rank, "_STEADY", low_rank._STEADY / 10)
    assert any((one != other).any() for one, other in zip(few, first_of_path(X), strict=True))
