"""Unsupervised regression against finite differences, dense systems and known curves."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.manifold import trustworthiness
from sklearn.utils.estimator_checks import parametrize_with_checks

from comanifold.baselines import SoftImpute, UnsupervisedRegression
from comanifold.baselines import _unsupervised_regression as module
from comanifold.baselines._radial_basis import RadialBasis
from comanifold.datasets import make_curve, make_linkage, make_linkage2
from comanifold.datasets import remove_entries as remove


@parametrize_with_checks([UnsupervisedRegression(1, tol=0.01, random_state=0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def maps_and_points(seed, n_rows=9, n_columns=7, n_components=2):
    """Maps that were fitted to other points than those returned, so that residuals are large."""
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(n_rows, n_components)), rng.normal(size=(n_rows, n_columns))
    bases = RadialBasis(X[:5], 1.5), RadialBasis(Y[:4], 3.0)
    maps = module.Maps.regress(bases, X, Y, (0.1, 0.2))
    missing = rng.random(Y.shape) < 0.5
    return maps, X + 0.3 * rng.normal(size=X.shape), Y + 0.3 * rng.normal(size=Y.shape), missing


def smooth(n_rows, n_columns, seed, noise=0.05):
    """Smooth functions of two parameters: the parameters, the functions, and with noise."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(size=(n_rows, 2))
    waves = np.cos(t @ rng.normal(size=(2, 60)) / 0.4 + rng.uniform(0, 2 * np.pi, 60))
    clean = waves @ rng.normal(size=(60, n_columns))
    clean /= clean.std()
    return t, clean, clean + noise * rng.normal(size=clean.shape)


def rms(difference):
    return np.sqrt(np.mean(difference**2))


def test_ridge_regression_against_the_formula():
    rng = np.random.default_rng(0)
    points, values, centers = (rng.normal(size=size) for size in ((30, 3), (30, 4), (8, 3)))
    found = RadialBasis(centers, 1.2).regress(points, values, 0.3)
    Phi = np.exp(-cdist(centers, points, "sqeuclidean") / (2 * 1.2**2))
    G = np.exp(-cdist(centers, centers, "sqeuclidean") / (2 * 1.2**2))
    W = values.T @ Phi.T @ np.linalg.inv(Phi @ Phi.T + 0.3 * G)
    np.testing.assert_allclose(found.weights, W.T, atol=1e-9)
    assert found.roughness == pytest.approx(np.trace(W @ G @ W.T))
    np.testing.assert_allclose(found(points), (W @ Phi).T, atol=1e-10)


def test_equal_centres_and_wide_functions_are_no_obstacle():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(20, 2))
    for centers in (np.repeat(points[:3], 2, axis=0), np.zeros((4, 2)), points):
        found = RadialBasis(centers, 50.0).regress(points, points, 1e-6)
        assert np.isfinite(found(points)).all()
        assert np.isfinite(found.roughness)


@pytest.mark.parametrize("shape", [(2, 6), (6, 2), (3, 3)])
def test_slopes_against_finite_differences(shape):
    rng = np.random.default_rng(2)
    n_inputs, n_outputs = shape
    points, values = rng.normal(size=(6, n_inputs)), rng.normal(size=(6, n_outputs))
    found = RadialBasis(points[:4], 1.5).regress(points, values, 0.1)
    at, slopes = found.with_slopes(points)
    np.testing.assert_allclose(at, found(points), atol=1e-12)
    for i in range(6):
        numeric = approx_fprime(points[i], lambda x: found(x[None])[0], 1e-7)
        np.testing.assert_allclose(slopes[i], numeric, rtol=1e-4, atol=1e-5)


def test_gradients_against_finite_differences():
    maps, X, Y, _ = maps_and_points(0)
    in_X, in_Y = maps.gradients(X, Y)
    numeric = approx_fprime(X.ravel(), lambda x: maps.objective(x.reshape(X.shape), Y), 1e-7)
    np.testing.assert_allclose(in_X.ravel(), numeric, rtol=1e-4, atol=1e-5)
    numeric = approx_fprime(Y.ravel(), lambda y: maps.objective(X, y.reshape(Y.shape)), 1e-7)
    np.testing.assert_allclose(in_Y.ravel(), numeric, rtol=1e-4, atol=1e-5)


def test_the_objective_written_out():
    maps, X, Y, _ = maps_and_points(1)
    expected = rms(Y - maps.f(X)) ** 2 * Y.size + rms(X - maps.F(Y)) ** 2 * X.size
    expected += 0.1 * maps.f.roughness + 0.2 * maps.F.roughness
    assert maps.objective(X, Y) == pytest.approx(expected)


@given(seed=st.integers(0, 1000), n_components=st.integers(1, 3))
def test_the_direction_solves_the_dense_system(seed, n_components):
    maps, X, Y, missing = maps_and_points(seed, n_components=n_components)
    missing[0], missing[1] = False, True
    move_X, move_Y = module._Linearisation.at(maps, X, Y).direction(missing)
    for i in range(len(X)):
        d, absent = n_components, np.flatnonzero(missing[i])
        J = maps.f.with_slopes(X[i : i + 1])[1][0]
        K = maps.F.with_slopes(Y[i : i + 1])[1][0]
        jacobian = np.block([[-J, np.eye(Y.shape[1])[:, absent]], [np.eye(d), -K[:, absent]]])
        residual = np.concatenate([Y[i] - maps.f(X[i : i + 1])[0], X[i] - maps.F(Y[i : i + 1])[0]])
        found = np.concatenate([move_X[i], move_Y[i, absent]])
        # The normal equations, relative to the size of their terms.
        normal = jacobian.T @ jacobian
        gradient = jacobian.T @ residual
        scale = np.abs(normal) @ np.abs(found) + np.abs(gradient)
        np.testing.assert_array_less(np.abs(normal @ found + gradient), 1e-6 * (1.0 + scale))
        assert (move_Y[i, ~missing[i]] == 0.0).all()


def test_a_step_lowers_the_error_of_every_row_and_keeps_what_is_observed():
    maps, X, Y, missing = maps_and_points(2, n_rows=40)
    new_X, new_Y = maps.step(X, Y, missing)
    assert (maps.errors(new_X, new_Y) < maps.errors(X, Y)).all()
    np.testing.assert_array_equal(new_Y[~missing], Y[~missing])
    assert (new_Y[missing] != Y[missing]).all()
    # Near the minimum, where full steps overshoot.
    for _ in range(20):
        before = maps.errors(new_X, new_Y)
        new_X, new_Y = maps.step(new_X, new_Y, missing)
        assert (maps.errors(new_X, new_Y) <= before * (1 + 1e-13)).all()


def test_steps_of_parts_are_those_of_all_rows(monkeypatch):
    maps, X, Y, missing = maps_and_points(3, n_rows=40)
    whole = maps.step(X, Y, missing)
    monkeypatch.setattr(module, "_SLOPES_AT_ONCE", 100)
    for one, other in zip(maps.step(X, Y, missing), whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_the_gradient_vanishes_at_placed_rows():
    _, _, noisy = smooth(60, 8, 0)
    model = UnsupervisedRegression(penalty=0.1, random_state=0).fit(remove(noisy, 0.3))
    Y = (model.filled_ - model._centre) / model._scale
    in_X, in_Y = model._maps.gradients(model.embedding_, Y)
    missing = model.filled_ != noisy
    np.testing.assert_allclose(in_X, 0.0, atol=2e-6)
    np.testing.assert_allclose(in_Y[missing], 0.0, atol=2e-6)
    shifted, _ = model._maps.gradients(model.embedding_ + 0.01, Y)
    assert np.median(np.abs(shifted)) > 0.01


@pytest.mark.parametrize("penalty", [10.0, 0.1, (1e-6, 1e-3)])
@pytest.mark.parametrize("missing", [0.0, 0.4, 0.8])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_objective_never_rises(penalty, missing):
    _, _, noisy = smooth(60, 12, 1, noise=0.3)
    X = remove(noisy, missing, random_state=0)
    model = UnsupervisedRegression(
        penalty=penalty, n_centers=20, tol=1e-6, max_iter=40, random_state=0
    ).fit(X)
    history = model.objective_history_
    assert (np.diff(history) <= 1e-12 * history[0]).all()
    assert model.objective_history_[-1] < 0.95 * model.objective_history_[0]
    assert len(model.objective_history_) == model.n_iter_ + 1
    # The last placement of the rows, with the maps fixed, is a part of the descent.
    filled = (model.filled_ - model._centre) / model._scale
    last = model._maps.objective(model.embedding_, filled)
    assert last <= model.objective_history_[-1] * (1 + 1e-6)


@given(
    seed=st.integers(0, 10_000),
    penalty=st.sampled_from([1e-300, 1e-8, 0.1, 10.0, 1e300, (1e-9, 1e4), (1e4, 1e-9)]),
    width=st.sampled_from([1e-6, 0.05, 0.5, 5.0, 1e6]),
    n_centers=st.sampled_from([1, 3, 100]),
    n_components=st.integers(1, 3),
)
@settings(max_examples=25)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_objective_never_rises_whatever_the_matrix(
    seed, penalty, width, n_centers, n_components
):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(rng.integers(5, 25), rng.integers(1, 9))), rng.integers(0, 9))
    X[rng.random(X.shape) < rng.choice([0.0, 0.3, 0.6])] = np.nan
    X[:, 0] = rng.normal(size=len(X))  # no row is empty
    model = UnsupervisedRegression(
        n_components,
        penalty=penalty,
        width=width,
        n_centers=n_centers,
        tol=1e-9,
        max_iter=10,
        random_state=0,
    ).fit(X)
    history = model.objective_history_
    assert (np.diff(history) <= 1e-13 * history[0]).all()
    assert np.isfinite(history).all()
    assert np.isfinite(model.filled_).all()
    np.testing.assert_array_equal(model.transform(X), model.embedding_)


@pytest.mark.filterwarnings("error")
def test_many_equal_rows():
    # Fewer are distinct than there are centres, and most distances between centres are zero.
    rng = np.random.default_rng(0)
    rows = np.vstack([np.zeros((140, 5)), rng.normal(size=(10, 5))])
    model = UnsupervisedRegression(1, penalty=0.1, random_state=0).fit(rows)
    assert model._maps.f.basis.width > 0.1
    assert model._maps.F.basis.width > 0.1
    assert len(np.unique(model.embedding_[:140].round(6))) == 1
    predicted = model.inverse_transform(model.embedding_)
    assert rms(predicted[:140]) < 0.1
    for n_centers in (1, 2):  # one has no distance to others at all
        few = UnsupervisedRegression(1, n_centers=n_centers, penalty=0.1, random_state=0).fit(rows)
        assert np.isfinite(few.filled_).all()


@pytest.mark.parametrize("shape", [(30, 5), (30, 2)])
def test_more_coordinates_than_the_geodesics_have(shape):
    X = np.random.default_rng(0).normal(size=shape)
    X[0, 0] = np.nan
    model = UnsupervisedRegression(20, penalty=0.1, random_state=0).fit(X)
    assert model.embedding_.shape == (30, 20)
    assert (np.abs(model.embedding_).max(axis=0) > 1e-3).sum() >= shape[1]
    assert np.isfinite(model.filled_).all()


@pytest.mark.parametrize("make", [make_linkage, make_linkage2])
def test_surfaces_with_half_of_the_entries_missing(make):
    data = make(100, 150, random_state=1)
    X = remove(data.X, 0.5, random_state=1).T
    model = UnsupervisedRegression(random_state=0).fit(X)
    assert trustworthiness(data.column_points, model.embedding_, n_neighbors=10) > 0.99
    assert rms((model.filled_ - data.X.T)[np.isnan(X)]) < 0.02 * data.X.std()


@pytest.mark.parametrize("seed", [2, 3])
def test_a_curved_sheet_is_filled_in_better_than_by_a_low_rank(seed):
    t, clean, noisy = smooth(200, 20, seed)
    X = remove(noisy, 0.5, random_state=seed)
    missing = np.isnan(X)
    model = UnsupervisedRegression(random_state=0).fit(X)
    low_rank = rms((SoftImpute().fit_transform(X) - clean)[missing])
    assert rms((model.filled_ - clean)[missing]) < 0.5 * low_rank
    assert trustworthiness(t, model.embedding_, n_neighbors=10) > 0.98
    np.testing.assert_array_equal(model.filled_[~missing], X[~missing])


def test_more_columns_than_rows_with_most_of_them_missing():
    data = make_curve(30, 400, random_state=0)
    X = remove(data.X, 0.7, random_state=0)
    model = UnsupervisedRegression(1, random_state=0).fit(X)
    missing = np.isnan(X)
    assert rms((model.filled_ - data.X)[missing]) < 0.8 * rms(data.X[missing])
    assert trustworthiness(data.row_position, model.embedding_, n_neighbors=5) > 0.95


def test_new_rows():
    _, clean, noisy = smooth(200, 15, 4)
    X = remove(noisy, 0.3, random_state=0)
    model = UnsupervisedRegression(random_state=0).fit(X[:160])
    placed = model.transform(X[160:])
    assert rms(model.inverse_transform(placed) - clean[160:]) < 0.2
    np.testing.assert_allclose(model.transform(X[:160]), model.embedding_, atol=1e-5)
    # A row has the same coordinates in any company.
    np.testing.assert_allclose(model.transform(X[170:171]), placed[10:11], atol=1e-5)


def test_rows_and_columns_without_entries():
    _, _, noisy = smooth(60, 10, 5)
    X = remove(noisy, 0.2, random_state=0)
    plain = UnsupervisedRegression(random_state=0).fit(X)
    with_row = UnsupervisedRegression(random_state=0).fit(np.insert(X, 7, np.nan, axis=0))
    others = np.arange(61) != 7
    np.testing.assert_allclose(with_row.embedding_[others], plain.embedding_, atol=1e-6)
    assert (with_row.embedding_[7] == 0.0).all()
    np.testing.assert_allclose(with_row.filled_[7], np.nanmean(X, axis=0))
    assert (plain.transform(np.full((1, 10), np.nan)) == 0.0).all()
    X[:, 3] = np.nan
    assert np.isfinite(UnsupervisedRegression(random_state=0).fit(X).filled_).all()


def test_constant_data_and_two_rows():
    for value in (2.0, 0.1):  # the mean of so many 0.1 is another number
        same = UnsupervisedRegression(1, random_state=0).fit(np.full((10, 3), value))
        np.testing.assert_allclose(same.inverse_transform(same.embedding_), value)
        np.testing.assert_allclose(same.embedding_, 0.0, atol=1e-6)
        assert same._scale == 1.0  # and not a rounding error
    pair = UnsupervisedRegression(1, random_state=0).fit([[0.0, 1.0, np.nan], [2.0, 0.0, 1.0]])
    assert np.isfinite(pair.filled_).all()
    assert pair.embedding_[0, 0] != pair.embedding_[1, 0]


def test_the_same_seed_gives_the_same_bits_and_units_do_not_matter():
    _, _, noisy = smooth(150, 10, 6)
    X = remove(noisy, 0.3, random_state=0)
    model = UnsupervisedRegression(n_centers=40, random_state=7).fit(X)
    again = UnsupervisedRegression(n_centers=40, random_state=7).fit(X)
    np.testing.assert_array_equal(model.embedding_, again.embedding_)
    shifted = UnsupervisedRegression(n_centers=40, random_state=7).fit(1024.0 * X)
    np.testing.assert_array_equal(shifted.embedding_, model.embedding_)
    np.testing.assert_allclose(shifted.filled_, 1024.0 * model.filled_, rtol=1e-12)
    assert shifted.penalty_ == model.penalty_


@pytest.mark.parametrize("unit", [1e-200, 1e-150, 1e-8, 1e8, 1e145])
def test_units(unit):
    _, _, noisy = smooth(60, 8, 6)
    X = remove(noisy, 0.3, random_state=0)
    model = UnsupervisedRegression(penalty=0.1, random_state=0).fit(X)
    scaled = UnsupervisedRegression(penalty=0.1, random_state=0).fit(unit * (X + 1e4))
    np.testing.assert_allclose(scaled.embedding_, model.embedding_, atol=1e-3)
    np.testing.assert_allclose(scaled.filled_ / unit - 1e4, model.filled_, atol=1e-3)
    np.testing.assert_array_equal(scaled.transform(unit * (X + 1e4)), scaled.embedding_)


def test_the_order_of_rows_does_not_matter_where_every_row_is_a_centre():
    _, _, noisy = smooth(60, 10, 7)
    X = remove(noisy, 0.2, random_state=0)
    model = UnsupervisedRegression(penalty=0.1, random_state=0).fit(X)
    other = UnsupervisedRegression(penalty=0.1, random_state=0).fit(X[::-1])
    np.testing.assert_allclose(other.filled_[::-1], model.filled_, atol=1e-4)


def test_many_rows_are_embedded_from_some_of_them(monkeypatch):
    t, _, noisy = smooth(300, 12, 8)
    monkeypatch.setattr(module, "_MAX_ISOMAP", 120)
    model = UnsupervisedRegression(penalty=0.1, random_state=0).fit(remove(noisy, 0.2))
    assert trustworthiness(t, model.embedding_, n_neighbors=10) > 0.98


def test_penalties_chosen_and_given():
    _, _, noisy = smooth(120, 12, 9, noise=0.5)
    noisy = remove(noisy, 0.3, random_state=0)
    _, _, exact = smooth(120, 12, 9, noise=0.0)
    chosen = [
        UnsupervisedRegression(random_state=0).fit(X).penalty_
        for X in (noisy, remove(exact, 0.3, random_state=0))
    ]
    assert chosen[0][0] == chosen[0][1] > chosen[1][0]  # the noisier, the larger
    given_pair = UnsupervisedRegression(penalty=(0.2, 3), random_state=0).fit(noisy)
    assert given_pair.penalty_ == (0.2, 3.0)


def test_a_warning_says_that_iterations_did_not_converge():
    _, _, noisy = smooth(60, 10, 0)
    with pytest.warns(ConvergenceWarning, match="UnsupervisedRegression stopped after 2 iter"):
        model = UnsupervisedRegression(max_iter=2, tol=1e-9, random_state=0).fit(noisy)
    assert model.n_iter_ == 2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components must be a positive integer, got 0"),
        ({"n_components": 6}, "n_components must be less than the number of rows .*, 6, got 6"),
        ({"n_centers": 2.5}, "n_centers must be a positive integer, got 2.5"),
        ({"n_neighbors": 0}, "n_neighbors must be a positive integer, got 0"),
        ({"width": -1.0}, "width must be a number from 1e-06 to 1e.06, got -1.0"),
        ({"width": np.nan}, "width must be a number from .* got nan"),
        ({"width": 1e-200}, "width must be a number from .* got 1e-200"),
        ({"width": 1e200}, "width must be a number from .* got 1e.200"),
        ({"width": True}, "width must be a number from .* got True"),
        ({"width": np.ones(2)}, "width must be a number from"),
        ({"penalty": 10**400}, "penalty must be .* got 1000"),
        ({"penalty": (True, 1.0)}, "penalty must be "),
        ({"penalty": (1.0, np.nan)}, "penalty must be "),
        ({"penalty": np.ones(2)}, "penalty must be "),
        ({"penalty": 0.0}, 'penalty must be "auto", a positive number or two of them, got 0.0'),
        ({"penalty": "much"}, "penalty must be .* got 'much'"),
        ({"penalty": (1.0, 2.0, 3.0)}, "penalty must be .* two of them"),
        ({"max_iter": 0}, "max_iter must be a positive integer"),
        ({"tol": 2.0}, "tol must be a number between 0 and 1"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        UnsupervisedRegression(**parameters).fit(np.eye(6))


def test_clone_pickle_names_and_output():
    _, _, noisy = smooth(50, 8, 0)
    X = remove(noisy, 0.2, random_state=0)
    model = UnsupervisedRegression(random_state=0).fit(X)
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    names = ["unsupervisedregression0", "unsupervisedregression1"]
    assert list(model.get_feature_names_out()) == names
    assert list(model.set_output(transform="pandas").transform(X).columns) == names
    with pytest.raises(ValueError, match="must hold 2 coordinates"):
        model.inverse_transform(np.ones((3, 5)))
