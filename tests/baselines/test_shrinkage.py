"""Soft-thresholding of singular values against singular value decompositions."""

import numpy as np
import pytest

from comanifold.baselines._low_rank import LowRankSolver, solution_path, solve
from comanifold.baselines._shrinkage import Shrinkage

PENALTY = 20.0


def spectrum(singular_values, shape=(90, 60), seed=0):
    """A matrix with these singular values."""
    rng = np.random.default_rng(seed)
    k = len(singular_values)
    U, V = (np.linalg.qr(rng.normal(size=(n, k)))[0] for n in shape)
    return (U * singular_values) @ V.T


def soft_threshold(F, penalty, max_rank=None):
    U, values, Vt = np.linalg.svd(F, full_matrices=False)
    shrunk = np.maximum(values - penalty, 0.0)
    shrunk[len(shrunk) if max_rank is None else max_rank :] = 0.0
    return (U * shrunk) @ Vt


def shrink(shrinkage, F, penalty=PENALTY, **options):
    Z = np.full(F.shape, np.nan)
    found = shrinkage.shrink(F, penalty, Z, **options)
    A, B = found.factors(Z)
    np.testing.assert_allclose(A @ B.T, Z, atol=1e-9)
    return Z, found


@pytest.mark.parametrize("n_large", [0, 3, 25, 60])
@pytest.mark.parametrize("max_rank", [None, 4])
def test_full_decomposition(n_large, max_rank):
    F = spectrum(np.linspace(40.0, 21.0, n_large))
    F += spectrum(np.linspace(5.0, 0.1, 60), seed=1) if n_large < 60 else 0.0
    Z, found = shrink(Shrinkage(max_rank), F)
    assert found.is_exact
    np.testing.assert_allclose(Z, soft_threshold(F, PENALTY, max_rank), atol=1e-9)


@pytest.mark.parametrize("max_rank", [None, 2])
def test_steps_in_a_subspace_converge_to_the_full_decomposition(max_rank):
    F = spectrum(np.concatenate([[60.0, 50.0, 30.0, 22.0], np.linspace(15.0, 1.0, 56)]))
    shrinkage = Shrinkage(max_rank)
    shrink(shrinkage, F + spectrum(np.ones(60), seed=1))
    errors = []
    for _ in range(15):
        Z, found = shrink(shrinkage, F)
        assert not found.is_exact
        errors.append(np.abs(Z - soft_threshold(F, PENALTY, max_rank)).max())
    assert errors[0] > 1e-4
    assert errors[-1] < 1e-6
    Z, found = shrink(shrinkage, F, exact=True)
    assert found.is_exact
    np.testing.assert_allclose(Z, soft_threshold(F, PENALTY, max_rank), atol=1e-9)


def test_a_subspace_that_is_too_small_is_replaced():
    few = spectrum(np.concatenate([[50.0, 40.0], np.full(58, 1.0)]))
    many = spectrum(np.linspace(60.0, 21.0, 30), seed=1)
    for exact in (False, True):
        shrinkage = Shrinkage()
        assert shrinkage.largest(few) == pytest.approx(50.0)
        Z, found = shrink(shrinkage, many, exact=exact)
        assert found.is_exact
        np.testing.assert_allclose(Z, soft_threshold(many, PENALTY), atol=1e-9)


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_matrices_of_smaller_rank_than_the_subspace(rank):
    shrinkage = Shrinkage()
    shrinkage.largest(spectrum(np.linspace(50.0, 1.0, 60)))
    F = spectrum(np.linspace(50.0, 30.0, rank), seed=1)
    Z, _ = shrink(shrinkage, F)
    np.testing.assert_allclose(Z, soft_threshold(F, PENALTY), atol=1e-9)


def noisy(seed, shape=(250, 200)):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(shape[0], 4)) @ rng.normal(size=(4, shape[1])) + rng.normal(size=shape)
    return np.where(rng.random(shape) < 0.5, np.nan, X)


@pytest.mark.parametrize("penalty", [10.0, 16.0, 30.0])
def test_solutions_by_way_of_subspaces_are_optimal(penalty):
    X = noisy(0)
    solution = solve(X, penalty, LowRankSolver(tol=1e-8, max_iter=2000))
    assert solution.converged
    assert 0 < solution.B.shape[1] < 100
    Z = solution.A @ solution.B.T
    # 0 is in Z - filled + penalty * the subdifferential of the nuclear norm at Z.
    subgradient = (np.where(np.isnan(X), Z, X) - Z) / penalty
    assert np.linalg.norm(subgradient, 2) < 1 + 1e-5
    assert np.vdot(subgradient, Z) == pytest.approx(np.linalg.norm(Z, "nuc"), rel=1e-5)


def test_the_order_of_rows_and_columns_does_not_matter():
    X = noisy(1)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    solver = LowRankSolver(tol=1e-6, max_iter=500)
    A, B = solve(X, 12.0, solver).factors
    C, D = solve(X[rows][:, columns], 12.0, solver).factors
    np.testing.assert_allclose(C @ D.T, (A @ B.T)[rows][:, columns], atol=1e-8)
    C, D = solve(X.T, 12.0, solver).factors
    np.testing.assert_allclose(D @ C.T, A @ B.T, atol=1e-8)


def test_a_path_without_confirmation_is_near_that_with_it():
    X = noisy(2)
    options = {"tol": 1e-3, "max_iter": 200}
    paths = [
        solution_path(X, LowRankSolver(**options, confirm=confirm)) for confirm in (True, False)
    ]
    for _, one, other in zip(range(6), *paths, strict=False):
        Z, other_Z = (solution.A @ solution.B.T for solution in (one, other))
        assert np.linalg.norm(Z - other_Z) < 0.01 * np.linalg.norm(Z)


def test_single_precision_of_a_path():
    X = noisy(3)
    solver = LowRankSolver(tol=1e-3, max_iter=200, confirm=False)
    paths = (solution_path(X, solver, single=single) for single in (False, True))
    for double, single in zip(*paths, strict=True):
        assert single.A.dtype == single.B.dtype == np.float64
        Z, single_Z = (solution.A @ solution.B.T for solution in (double, single))
        assert np.linalg.norm(Z - single_Z) < 1e-3 * np.linalg.norm(Z)


def test_small_penalties_of_a_single_precision_path_are_solved_in_double_precision():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 40))
    X[rng.random(X.shape) < 0.2] = np.nan
    solver = LowRankSolver(tol=1e-3, max_iter=200, confirm=False)
    *_, double = solution_path(X, solver)
    *_, single = solution_path(X, solver, single=True)
    assert single.B.shape == double.B.shape  # in single precision, rounding errors are kept too


def test_a_direction_that_the_subspace_cannot_reach_is_found_before_stopping():
    # Blocks without common rows or columns, and a subspace of the first.
    F = np.zeros((90, 60))
    values = np.concatenate([[50.0, 40.0, 35.0], np.linspace(10.0, 1.0, 37)])
    F[:60, :40] = spectrum(values, shape=(60, 40))
    first = F.copy()
    F[60:, 40:] = spectrum([30.0], shape=(30, 20))
    missing = np.zeros(F.shape, dtype=bool)
    ranks = {}
    for confirm in (False, True):
        shrinkage = Shrinkage()
        shrinkage.largest(first)
        solver = LowRankSolver(tol=1e-5, max_iter=100, confirm=confirm)
        ranks[confirm] = solver.solve(F.copy(), missing, PENALTY, shrinkage).B.shape[1]
    assert ranks == {False: 3, True: 4}


def test_the_momentum_is_restarted():
    X = noisy(0)
    # 363 and 125 iterations without restarts.
    for penalty, limit in ((4.0, 150), (10.0, 70)):
        assert solve(X, penalty, LowRankSolver(tol=1e-8, max_iter=limit)).converged
