"""Non-linear components against finite differences, known curves and linear components."""

import pickle

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from comanifold.baselines import NLPCA
from comanifold.baselines._nlpca import Objective, pack, unpack


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([NLPCA(1, n_restarts=1, max_iter=300, random_state=0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def curve(kind, seed, n_rows=150, n_columns=20, noise=0.05, missing=0.3):
    """A curve in a random subspace: without noise, and with noise and gaps."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1, 1, n_rows)
    turn = np.pi * t if kind == "circle" else 1.5 * np.pi * t
    points = np.column_stack([np.cos(turn), np.sin(turn), 2 * t])
    if kind == "circle":
        points = points[:, :2]
    clean = points @ rng.normal(size=(points.shape[1], n_columns)) + rng.normal(size=n_columns)
    X = clean + noise * rng.normal(size=clean.shape)
    X[rng.random(X.shape) < missing] = np.nan
    return clean, X


def linear_fill(X, n_components, n_rounds=300):
    """Gaps filled by principal components, over and over."""
    missing = np.isnan(X)
    filled = np.where(missing, np.nanmean(X, axis=0), X)
    for _ in range(n_rounds):
        mean = filled.mean(axis=0)
        U, values, Vt = np.linalg.svd(filled - mean, full_matrices=False)
        low_rank = mean + (U[:, :n_components] * values[:n_components]) @ Vt[:n_components]
        filled = np.where(missing, low_rank, X)
    return filled


def rms(difference):
    return np.sqrt(np.mean(difference**2))


@pytest.mark.parametrize("levels", [(1, 2, 3), (3,)])
def test_the_gradient_against_finite_differences(levels):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 5))
    X[rng.random(X.shape) < 0.3] = np.nan
    objective = Objective(X, levels, 0.2)
    flat = rng.normal(size=6 * 3 + 3 * 4 + 4 + 4 * 5 + 5)
    value, gradient = objective.value_and_gradient(flat, 4)
    numeric = approx_fprime(flat, lambda v: objective.value_and_gradient(v, 4)[0], 1e-7)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-5)
    # The same objective, written out.
    scores, network = unpack(flat, X.shape, 3, 4)
    np.testing.assert_array_equal(pack(scores, network), flat)
    W, b, V, c = network
    expected = 0.1 * ((scores**2).sum() + (W**2).sum() + (V**2).sum())
    for k in levels:
        cut = scores * (np.arange(3) < k)
        expected += 0.5 * np.nansum((X - np.tanh(cut @ W + b) @ V - c) ** 2)
    assert value == pytest.approx(expected)


@pytest.mark.parametrize("levels", [(1, 2), (2,)])
def test_the_gradient_vanishes_at_fitted_scores(levels):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(8, 5))
    X[rng.random(X.shape) < 0.3] = np.nan
    X[3] = np.nan
    objective = Objective(X, levels, 0.1)
    flat = rng.normal(size=8 * 2 + 2 * 4 + 4 + 4 * 5 + 5)
    start, network = unpack(flat, X.shape, 2, 4)
    scores = objective.fit_scores(start, network)
    gradient = objective.value_and_gradient(pack(scores, network), 4)[1][:16]
    np.testing.assert_allclose(gradient, 0.0, atol=1e-7)
    assert (scores[3] == 0.0).all()
    assert (
        objective.values_by_row(scores, network) <= objective.values_by_row(start, network)
    ).all()


@pytest.mark.parametrize("kind", ["circle", "helix"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_curve_with_missing_entries_is_found_better_than_by_lines(kind, seed):
    clean, X = curve(kind, seed)
    missing = np.isnan(X)
    model = NLPCA(1, random_state=seed).fit(X)
    error = rms((model.filled_ - clean)[missing])
    assert error < 2 * 0.05
    assert error < 0.3 * rms((linear_fill(X, 1) - clean)[missing])
    np.testing.assert_array_equal(model.filled_[~missing], X[~missing])


def test_a_curved_surface_is_better_than_a_plane():
    rng = np.random.default_rng(2)
    a, b = rng.uniform(-1, 1, (2, 150))
    points = np.column_stack([a, b, a * b, a**2 - b**2])
    clean = points @ rng.normal(size=(4, 20))
    X = clean + 0.05 * rng.normal(size=clean.shape)
    X[rng.random(X.shape) < 0.3] = np.nan
    missing = np.isnan(X)
    linear = rms((linear_fill(X, 2) - clean)[missing])
    for hierarchical in (True, False):
        model = NLPCA(hierarchical=hierarchical, n_restarts=2, random_state=0).fit(X)
        assert rms((model.filled_ - clean)[missing]) < 0.5 * linear


def test_hierarchical_components_are_ordered():
    rng = np.random.default_rng(3)
    X = np.outer(rng.normal(size=60), 3 * rng.normal(size=8))
    X += np.outer(rng.normal(size=60), rng.normal(size=8))
    model = NLPCA(n_restarts=2, random_state=0).fit(X)
    first = model.inverse_transform(model.embedding_ * [1.0, 0.0])
    assert rms(first - X) < 1.2 * rms(linear_components(X, 1) - X)


def linear_components(X, n_components):
    mean = X.mean(axis=0)
    U, values, Vt = np.linalg.svd(X - mean, full_matrices=False)
    return mean + (U[:, :n_components] * values[:n_components]) @ Vt[:n_components]


def test_new_rows():
    clean, X = curve("circle", 4)
    model = NLPCA(1, random_state=0).fit(X[:120])
    placed = model.inverse_transform(model.transform(X[120:]))
    assert rms(placed - clean[120:]) < 0.1
    np.testing.assert_allclose(model.transform(X[:120]), model.embedding_, atol=1e-8)
    # A row has the same scores in any company, and an empty one none.
    np.testing.assert_allclose(model.transform(X[130:131]), model.transform(X[120:])[10:11])
    assert model.transform(np.full((1, 20), np.nan))[0, 0] == 0.0


def test_the_same_seed_gives_the_same_bits_and_units_do_not_matter():
    _, X = curve("circle", 5, n_rows=60)
    model = NLPCA(1, n_restarts=2, random_state=7).fit(X)
    again = NLPCA(1, n_restarts=2, random_state=7).fit(X)
    np.testing.assert_array_equal(model.embedding_, again.embedding_)
    shifted = NLPCA(1, n_restarts=2, random_state=7).fit(1024.0 * X)
    np.testing.assert_allclose(shifted.filled_, 1024.0 * model.filled_, rtol=1e-8)


def test_columns_without_entries_and_constant_data():
    _, X = curve("circle", 6, n_rows=30)
    X[:, 4] = np.nan
    model = NLPCA(1, n_restarts=1, random_state=0).fit(X)
    assert np.isfinite(model.filled_).all()
    for value in (2.0, 0.1):  # the mean of so many 0.1 is another number
        same = NLPCA(1, n_restarts=1, random_state=0).fit(np.full((10, 3), value))
        np.testing.assert_allclose(same.inverse_transform(same.embedding_), value, atol=0.05)
        np.testing.assert_allclose(same.embedding_, 0.0, atol=0.01)
        assert same._scale == 1.0  # and not a rounding error


def test_a_warning_says_that_iterations_did_not_converge():
    with pytest.warns(ConvergenceWarning, match="NLPCA stopped after 3 iterations"):
        model = NLPCA(1, max_iter=3, random_state=0).fit(curve("circle", 0)[1])
    assert model.n_iter_ == 3


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components must be a positive integer, got 0"),
        ({"n_components": "two"}, "n_components must be a positive integer, got 'two'"),
        ({"n_hidden": -1}, "n_hidden must be a positive integer"),
        ({"n_restarts": 1.5}, "n_restarts must be a positive integer"),
        ({"weight_decay": 0.0}, "weight_decay must be a positive number"),
        ({"weight_decay": np.nan}, "weight_decay must be a positive number, got nan"),
        ({"weight_decay": True}, "weight_decay must be a positive number, got True"),
        ({"weight_decay": 10**400}, "weight_decay must be a positive number, got 1000"),
        ({"hierarchical": "no"}, "hierarchical must be True or False, got 'no'"),
        ({"hierarchical": np.ones(2)}, "hierarchical must be True or False, got array"),
        ({"max_iter": 0}, "max_iter must be a positive integer"),
        ({"tol": 2.0}, "tol must be a number between 0 and 1"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        NLPCA(**parameters).fit(np.eye(4))


def test_clone_pickle_and_names():
    _, X = curve("circle", 0, n_rows=40)
    model = NLPCA(n_restarts=1, random_state=0).fit(X)
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    assert list(model.get_feature_names_out()) == ["nlpca0", "nlpca1"]
    with pytest.raises(ValueError, match="must hold 2 scores"):
        model.inverse_transform(np.ones((3, 5)))
