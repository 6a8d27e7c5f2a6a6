"""Low-rank completion against SoftImpute by singular value decompositions."""

from itertools import islice

import numpy as np
import pytest
from oracles.slow import soft_impute

from comanifold.baselines import _low_rank
from comanifold.baselines._low_rank import (
    PENALTY_RATIO,
    LowRankCompletion,
    LowRankSolver,
    solution_path,
    solve,
)
from comanifold.model_selection import HeldOut

TIGHT = LowRankSolver(tol=1e-9, max_iter=5000)


def low_rank_matrix(seed, shape=(40, 30), rank=2, noise=0.1, missing=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1]))
    X += noise * rng.normal(size=shape)
    X -= X.mean()
    return np.where(rng.random(shape) < missing, np.nan, X), X


def completed(X):
    """X, filled in at the penalty that predicts entries held out of it best."""
    chosen = LowRankCompletion(HeldOut(X))
    A, B = solve(X, chosen.penalty, LowRankSolver(), chosen.factors_of_rest).factors
    return np.where(np.isnan(X), A @ B.T, X)


@pytest.mark.parametrize("transposed", [False, True])
def test_path_solves_the_problem_of_each_penalty(transposed):
    X = low_rank_matrix(0)[0]
    X = X.T if transposed else X
    penalty = np.linalg.svd(np.nan_to_num(X), compute_uv=False)[0]
    for step, solution in enumerate(islice(solution_path(X, TIGHT), 5), start=1):
        assert solution.converged
        assert solution.penalty == pytest.approx(penalty * PENALTY_RATIO**step)
        if step in (1, 3, 5):
            expected = soft_impute(X, solution.penalty)
            np.testing.assert_allclose(solution.A @ solution.B.T, expected, atol=1e-4)


@pytest.mark.parametrize("start", [None, (np.ones((40, 1)), np.ones((30, 1)))])
@pytest.mark.parametrize("penalty", [0.5, 3.0])
def test_solution_satisfies_the_optimality_condition(start, penalty):
    X = low_rank_matrix(4)[0]
    A, B = solve(X, penalty, TIGHT, start).factors
    Z = A @ B.T
    # 0 is in Z - filled + penalty * the subdifferential of the nuclear norm at Z.
    subgradient = (np.where(np.isnan(X), Z, X) - Z) / penalty
    assert np.linalg.norm(subgradient, 2) < 1 + 1e-6
    assert np.vdot(subgradient, Z) == pytest.approx(np.linalg.norm(Z, "nuc"), rel=1e-6)


def test_rank_limit():
    X = low_rank_matrix(5)[0]
    A, B = solve(X, 0.1, LowRankSolver(3)).factors
    assert A.shape[1] == B.shape[1] == 3


def test_low_rank_matrix_is_recovered():
    X, truth = low_rank_matrix(1)
    completion = LowRankCompletion(HeldOut(X))
    missing = np.isnan(X)
    error = np.sqrt(np.mean((completed(X) - truth)[missing] ** 2))
    assert error < 0.35 * truth.std()
    held_out, (A, B) = HeldOut(X), completion.factors_of_rest
    np.testing.assert_allclose(completion.predicted, (A @ B.T)[held_out.rows, held_out.columns])
    assert np.mean((completion.predicted - held_out.values) ** 2) < 0.35**2 * truth.var()


def test_noise_is_not_fitted():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 50))
    X[rng.random(X.shape) < 0.5] = np.nan
    assert np.abs(completed(X)[np.isnan(X)]).mean() < 0.35


def test_transposing_transposes():
    for seed in range(5):
        X = low_rank_matrix(seed, shape=(20, 20))[0]
        np.testing.assert_allclose(completed(X.T), completed(X).T, atol=1e-8)


def test_zero_matrix():
    X = np.zeros((6, 5))
    X[0, 0] = X[3, 2] = np.nan
    np.testing.assert_array_equal(completed(X), np.zeros((6, 5)))


@pytest.mark.parametrize("seed", range(5))
def test_extrapolation_kernel(seed):
    rng = np.random.default_rng(seed)
    Z, before, filled = rng.normal(size=(3, rng.integers(1, 200)))
    missing = rng.random(filled.shape) < 0.5
    change, expected = Z - before, np.where(missing, Z + 0.7 * (Z - before), filled)
    slope = np.sum(((filled - Z) * change)[missing])
    found = _low_rank._extrapolate(Z, before, 0.7, missing, filled)
    np.testing.assert_allclose(found, (np.sum(change**2), slope), atol=1e-12)
    np.testing.assert_allclose(filled, expected, rtol=1e-14)


def test_iterations_stop_at_the_tolerance():
    X = low_rank_matrix(3)[0]

    def first_of_path(**options):
        return next(solution_path(X, LowRankSolver(**options)))

    found, longer = first_of_path(), first_of_path(max_iter=1000)
    assert found.converged
    for one, other in zip(found.factors, longer.factors, strict=True):
        np.testing.assert_array_equal(one, other)
    assert first_of_path(tol=1e-5).n_iter > found.n_iter
    assert not first_of_path(tol=1e-5, max_iter=2).converged
