"""Completion by a Gaussian model, against direct solutions of its equations."""

from itertools import islice

import numpy as np
import pytest
from oracles.completion import completion_path

from comanifold._fit import completion
from comanifold._fit.completion import (
    FOR_GRAPHS,
    PATH_KINDS,
    Completion,
    CompletionPath,
    PathKind,
    complete_for_graphs,
    continue_path,
    effects_gain,
    predict_along_path,
    row_and_column_effects,
)
from comanifold.model_selection import HeldOut


def incomplete(seed, shape=(40, 25), rank=2, noise=0.1, missing=0.4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1]))
    X += noise * rng.normal(size=shape)
    return np.where(rng.random(shape) < missing, np.nan, X), X


def log_det(X, ridge):
    """The objective without variances, for a matrix of which a part was missing."""
    large = X if len(X) >= X.shape[1] else X.T
    covariance = large.T @ large / len(large)
    return np.linalg.slogdet(covariance + ridge * np.eye(len(covariance)))[1]


def matrix_of(precision, n_columns):
    """The precision as a matrix."""
    W = np.empty((n_columns, n_columns))
    precision.multiply(np.eye(n_columns), W)
    return W if precision.inverse is None else W + np.diag(precision.inverse)


def gaussian_path(X, variance, n_steps=completion._N_RIDGES):
    """Yield the estimates of a centred matrix for falling ridges."""
    model = completion._GaussianModel(X, variance)
    for number in range(n_steps):
        model.solve(number)
        yield model.filled


def test_steps_end_at_the_regression_on_the_observed_entries(monkeypatch):
    monkeypatch.setattr(completion, "_N_STEPS", 10)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 5))
    missing = rng.random(X.shape) < 0.5
    missing[0], missing[1] = False, True
    precision = completion._Precision.of(rng.normal(size=(30, 5)), np.full(5, 0.1), None)
    filled = X.copy()
    change = completion._regress(filled, missing, precision)
    assert change == pytest.approx(np.sum((filled - X) ** 2))
    W = matrix_of(precision, 5)
    for row, absent, found in zip(X, missing, filled, strict=True):
        expected = row.copy()
        rest = W[np.ix_(absent, ~absent)] @ row[~absent]
        expected[absent] = -np.linalg.solve(W[np.ix_(absent, absent)], rest)
        np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("shape", [(40, 25), (25, 40)])
@pytest.mark.parametrize("missing", [0.2, 0.7])
def test_objective_of_a_ridge_never_rises(shape, missing):
    X, _ = incomplete(1, shape, missing=missing)
    unit = np.nanmean(X**2)
    last = np.nan_to_num(X)
    for number, estimate in enumerate(gaussian_path(X, False)):
        ridge = unit * Completion(False, True, number, 1.0).ridge
        assert log_det(estimate, ridge) <= log_det(last, ridge) + 1e-9
        last = estimate.copy()
    assert number == completion._N_RIDGES - 1


def test_many_steps_reach_a_stationary_point(monkeypatch):
    monkeypatch.setattr(completion, "_MAX_ITER", 500)
    monkeypatch.setattr(completion, "_TOL", 1e-10)
    X, _ = incomplete(2)
    *_, estimate = gaussian_path(X, False, 4)
    ridge = np.nanmean(X**2) * Completion(False, True, 3, 1.0).ridge
    S = estimate.T @ estimate / len(X) + ridge * np.eye(X.shape[1])
    gradient = estimate @ np.linalg.inv(S)
    assert np.abs(gradient[np.isnan(X)]).max() < 1e-6 * np.abs(gradient).max()


def test_variances_are_those_given_all_other_entries(monkeypatch):
    monkeypatch.setattr(completion, "_MAX_ITER", 500)
    monkeypatch.setattr(completion, "_TOL", 1e-10)
    X, _ = incomplete(3)
    missing = np.isnan(X)
    *_, estimate = gaussian_path(X, True, 4)
    ridge = np.nanmean(X**2) * Completion(False, True, 3, 1.0).ridge
    # The fixed point of the mean-field equations.
    variances = np.ones(X.shape[1])
    for _ in range(2000):
        S = estimate.T @ estimate / len(X) + np.diag(ridge + missing.mean(axis=0) * variances)
        variances = 1.0 / np.diag(np.linalg.inv(S))
    gradient = estimate @ np.linalg.inv(S)
    assert np.abs(gradient[missing]).max() < 1e-6 * np.abs(gradient).max()


@pytest.mark.parametrize("diagonal", [0.1, 2.0])
def test_covariance_of_many_columns_is_exact_up_to_its_rank(diagonal, monkeypatch):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(50, 6)) @ rng.normal(size=(6, 40))
    d = diagonal * rng.uniform(1, 2, size=40)
    expected = np.linalg.inv(X.T @ X / 50 + np.diag(d))
    monkeypatch.setattr(completion, "_FEW_COLUMNS", 10)
    monkeypatch.setattr(completion, "_MANY_COLUMNS", 10)
    monkeypatch.setattr(completion, "_RANK", 8)
    monkeypatch.setattr(completion, "_LANCZOS_TOL", 1e-9)
    found = completion._Precision.of(X, d, None)
    again = completion._Precision.of(X, d, found)
    for precision in (found, again):
        assert precision.dense is None
        np.testing.assert_allclose(matrix_of(precision, 40), expected, atol=1e-7)
        np.testing.assert_allclose(precision.diagonal, np.diag(expected), atol=1e-7)


def test_many_columns_are_predicted_as_well(monkeypatch):
    X, truth = incomplete(5, (60, 45), rank=3, noise=0.5)
    missing = np.isnan(X)

    def error():
        estimates = islice(completion_path(X, PathKind(False, True)), 5)
        return min(np.mean((estimate - truth)[missing] ** 2) for estimate in estimates)

    exact = error()
    monkeypatch.setattr(completion, "_FEW_COLUMNS", 10)
    monkeypatch.setattr(completion, "_MANY_COLUMNS", 10)
    monkeypatch.setattr(completion, "_RANK", 10)
    assert error() < 1.1 * exact


def test_directions_are_found_where_rows_cancel():
    # Their sum and the longest one, where the search starts, add up to zero.
    wave = np.cos(np.arange(12.0))
    found = completion._leading_directions(np.outer([3.0, -2.0, -2.0, -2.0], wave), 1)
    assert abs(found[:, 0] @ wave) == pytest.approx(np.linalg.norm(wave))


@pytest.mark.parametrize("kind", PATH_KINDS)
def test_units_order_and_transposition_do_not_matter(kind):
    X, _ = incomplete(6)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(40), rng.permutation(25)
    paths = [
        islice(completion_path(A, kind), 8) for A in (X, -3.0 * X + 5.0, X[rows][:, columns], X.T)
    ]
    for plain, scaled, permuted, transposed in zip(*paths, strict=True):
        np.testing.assert_allclose(scaled, -3.0 * plain + 5.0, atol=1e-6)
        np.testing.assert_allclose(permuted, plain[rows][:, columns], atol=1e-6)
        np.testing.assert_allclose(transposed, plain.T, atol=1e-6)


def test_square_matrices_have_a_preferred_side():
    X, _ = incomplete(7, (20, 20))
    one, other = (list(islice(completion_path(A, PATH_KINDS[3]), 6)) for A in (X, X.T))
    for plain, transposed in zip(one, other, strict=True):
        np.testing.assert_allclose(transposed, plain.T, atol=1e-6)


def test_matrix_without_noise_is_recovered():
    X, truth = incomplete(8, (60, 40), noise=0.0, missing=0.5)
    *_, estimate = completion_path(X, PATH_KINDS[0])
    assert np.abs(estimate - truth)[np.isnan(X)].max() < 1e-3


def test_noise_is_not_fitted():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(60, 50))
    X[rng.random(X.shape) < 0.5] = np.nan
    assert np.abs(complete_for_graphs(X)[np.isnan(X)]).mean() < 0.35


def test_path_ends_where_predictions_no_longer_improve():
    X, _ = incomplete(10, noise=1.0)
    held_out = HeldOut(X)
    found = predict_along_path(held_out, PATH_KINDS[0])
    np.testing.assert_allclose(
        found.errors, np.mean((found.predictions - held_out.values) ** 2, axis=1)
    )
    assert len(found.errors) < completion._N_RIDGES
    assert found.errors[-1] > 0.99 * found.errors.min()
    whole = [
        A[held_out.rows, held_out.columns] for A in completion_path(held_out.rest(), PATH_KINDS[0])
    ]
    np.testing.assert_allclose(found.predictions, whole[: len(found.predictions)], atol=1e-12)
    best = whole[int(np.argmin(found.errors))]
    np.testing.assert_allclose(found.best.at(held_out.rows, held_out.columns), best, atol=1e-12)


def test_large_ridges_that_change_nothing_do_not_end_a_path():
    X, _ = incomplete(14, (120, 90), noise=0.02, missing=0.9)
    held_out = HeldOut(X)
    found = predict_along_path(held_out, PathKind(effects=False, variance=True))
    first_steps = found.errors[:4]
    assert first_steps.max() < 1.05 * first_steps.min()  # a plateau
    assert found.errors.min() < 0.5 * found.errors[0]


def test_paths_of_more_entries_continue_those_of_fewer():
    X, truth = incomplete(15, (60, 40), missing=0.6)
    missing = np.isnan(X)
    for kind in PATH_KINDS:
        found = predict_along_path(HeldOut(X), kind)
        step = int(np.argmin(found.errors))
        before = found.best.estimate()
        path = continue_path(X, found.best, step)
        *_, whole = islice(completion_path(X, kind), step + 1)
        errors = [np.sqrt(np.mean((A - truth)[missing] ** 2)) for A in (path.estimate(), whole)]
        assert errors[0] < 1.03 * errors[1]
        np.testing.assert_array_equal(found.best.estimate(), before)  # it is left as it was
        np.testing.assert_array_equal(path.filled(X)[~missing], X[~missing])


def test_single_precision_predicts_the_same(monkeypatch):
    X, _ = incomplete(16, (80, 60), noise=0.3)
    held_out = HeldOut(X)
    for kind in PATH_KINDS:
        double = predict_along_path(held_out, kind)
        monkeypatch.setattr(completion, "_MOST_IN_DOUBLE", 0)
        single = predict_along_path(held_out, kind)
        monkeypatch.undo()
        n_steps = min(len(single.errors), len(double.errors))
        assert n_steps >= len(double.errors) - 1
        np.testing.assert_allclose(
            single.predictions[:n_steps], double.predictions[:n_steps], atol=2e-3
        )


def test_first_graphs_are_built_from_the_step_that_predicts_best():
    X, _ = incomplete(11)
    found = predict_along_path(HeldOut(X), FOR_GRAPHS)
    path = continue_path(X, found.best, int(np.argmin(found.errors)))
    np.testing.assert_array_equal(complete_for_graphs(X), path.filled(X))


def test_matrix_of_which_nothing_can_be_spared_is_filled_in():
    X = np.array([[1.0, 2.0, np.nan], [np.nan, 2.5, 3.0], [1.5, np.nan, 3.5]])
    path = CompletionPath(X, FOR_GRAPHS)
    path.solve_all(range(5))
    np.testing.assert_array_equal(complete_for_graphs(X), path.filled(X))


def test_gain_of_effects():
    rng = np.random.default_rng(17)
    noise = rng.normal(size=(60, 50))
    noise[rng.random(noise.shape) < 0.4] = np.nan
    assert abs(effects_gain(HeldOut(noise))) < 0.02
    assert effects_gain(HeldOut(noise + rng.normal(size=(60, 1)))) > 0.3


@pytest.mark.parametrize("value", [0.0, 2.5])
def test_constant_matrix(value):
    X = np.full((7, 6), value)
    X[0, 0] = X[3, 2] = np.nan
    for kind in PATH_KINDS:
        for estimate in completion_path(X, kind):
            np.testing.assert_allclose(estimate[np.isnan(X)], value, atol=1e-9)


def test_steps_have_the_ridges_of_their_place():
    assert Completion(True, False, 0, 0.5).ridge == np.inf
    assert Completion(True, False, 1, 0.5).ridge == Completion(True, True, 0, 0.5).ridge == 10.0
    assert Completion(True, True, 2, 0.5).ridge == pytest.approx(1.0)


def sum_of_effects(X):
    mean, rows, columns = row_and_column_effects(X)
    return mean + rows[:, None] + columns


def test_effects_of_many_entries_are_those_of_least_squares():
    rng = np.random.default_rng(12)
    truth = rng.normal(size=(60, 1)) + rng.normal(size=50)
    X = truth + 0.01 * rng.normal(size=truth.shape)
    X[rng.random(X.shape) < 0.3] = np.nan
    rows, columns = np.nonzero(~np.isnan(X))
    design = np.zeros((len(rows), 110))
    design[np.arange(len(rows)), rows] = design[np.arange(len(rows)), 60 + columns] = 1.0
    solution = np.linalg.lstsq(design, X[rows, columns], rcond=None)[0]
    expected = solution[:60, None] + solution[60:]
    np.testing.assert_allclose(sum_of_effects(X), expected, atol=0.01)


def test_effects_of_few_entries_are_shrunk():
    rng = np.random.default_rng(13)
    X = 0.5 * rng.normal(size=(80, 1)) + rng.normal(size=(80, 40))
    X[0, 1:] = np.nan
    X[0, 0] = 5.0
    assert sum_of_effects(X)[0, 1:].max() < 2.0
    noise = rng.normal(size=(80, 40))
    assert sum_of_effects(noise).std() < 0.08


@pytest.mark.parametrize("dtype", [float, np.float32])
def test_inverse_of_a_symmetric_matrix(dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 12))
    A = (X.T @ X / 30).astype(dtype)
    inverse = completion._symmetric_inverse(A)
    assert inverse.dtype == dtype
    np.testing.assert_array_equal(inverse, inverse.T)
    np.testing.assert_allclose(inverse, np.linalg.inv(A.astype(float)), rtol=1e-3, atol=1e-4)
    # Not positive definite, as a covariance may be by rounding.
    A[0, 0] = -0.1
    inverse = completion._symmetric_inverse(A)
    np.testing.assert_array_equal(inverse, inverse.T)
    np.testing.assert_allclose(inverse, np.linalg.inv(A.astype(float)), rtol=1e-3, atol=1e-3)


def test_a_ridge_that_is_given_up_has_no_predictions(monkeypatch):
    X, _ = incomplete(10, noise=1.0)
    held_out = HeldOut(X)
    monkeypatch.setattr(completion, "_HOPELESS", np.inf)
    whole = predict_along_path(held_out, PATH_KINDS[0])
    assert whole.errors[-1] > 1.2 * whole.errors.min()
    monkeypatch.undo()
    found = predict_along_path(held_out, PATH_KINDS[0])
    assert len(found.errors) == len(whole.errors) - 1
    np.testing.assert_array_equal(found.predictions, whole.predictions[:-1])
    np.testing.assert_array_equal(found.best.filled(X), whole.best.filled(X))
