"""Embeddings of repaired distances: rows, columns, pairs that share nothing, and parameters."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from oracles.fits import holes
from oracles.metric import excess, increase_only, shortest_paths
from oracles.slow import masked_distances
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.manifold import Isomap
from sklearn.utils.estimator_checks import parametrize_with_checks

from comanifold import DiffusionMap
from comanifold.baselines import RepairedDistances
from comanifold.datasets import make_curve, remove_entries

METHODS = ["kernel", "increase-only", "decrease-only"]


@parametrize_with_checks(
    [RepairedDistances(method, 1) for method in METHODS]
    + [
        RepairedDistances("kernel", 1, embedding="isomap"),
        RepairedDistances("increase-only", 1, embedding="diffusion"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def lengths_over_shared(X):
    """The root of the sum of squares over shared columns; 0 if there are none."""
    return np.sqrt([[np.nansum((x - y) ** 2) for y in X] for x in X])


def shared_by_no_pair():
    """Rows of which some pairs share no column, but are linked through others."""
    X = holes(12, 10, seed=1, missing=0.3)
    X[:3, 5:], X[3:6, :5] = np.nan, np.nan
    X[[0, 1, 2], 0] = 1.0, 2.0, 3.0
    X[[3, 4, 5], 9] = 1.0, 2.0, 3.0
    return X


@pytest.mark.parametrize("mode", ["row", "column"])
@pytest.mark.parametrize("X", [holes(20, 15), shared_by_no_pair()], ids=["some", "none shared"])
def test_repaired_distances_of_both_modes(X, mode):
    points = X if mode == "row" else X.T
    lengths = lengths_over_shared(points)
    raised = RepairedDistances("increase-only", mode=mode).fit(X).distances_
    np.testing.assert_allclose(raised, increase_only(lengths), atol=1e-12)
    assert (raised >= lengths - 1e-12).all()
    assert excess(raised) < 1e-14
    lowered = RepairedDistances("decrease-only", mode=mode).fit(X).distances_
    np.testing.assert_allclose(lowered, shortest_paths(masked_distances(points)), atol=1e-12)
    assert excess(lowered) < 1e-14
    model = RepairedDistances("kernel", mode=mode).fit(X)
    C = model.kernel_
    assert np.linalg.eigvalsh(C)[0] > -1e-13
    np.testing.assert_array_equal(C.diagonal(), 1.0)
    assert 0.0 <= C.min() <= C.max() <= 1.0
    back = np.exp(-((model.distances_ / model.bandwidth_) ** 2))
    np.testing.assert_allclose(back, C, atol=1e-12)
    finite = masked_distances(points)[np.triu_indices(len(points), 1)]
    assert model.bandwidth_ == pytest.approx(np.median(finite[np.isfinite(finite)]))
    for distances in (raised, lowered, model.distances_):
        assert distances.shape == (len(points), len(points))
        assert np.isfinite(distances).all()
        np.testing.assert_array_equal(distances, distances.T)
        assert not distances.diagonal().any()


@pytest.mark.parametrize("method", METHODS)
def test_columns_are_the_rows_of_the_transpose(method):
    X = holes(20, 15)
    model = RepairedDistances(method, mode="column").fit(X)
    of_transpose = RepairedDistances(method).fit(X.T)
    np.testing.assert_array_equal(model.distances_, of_transpose.distances_)
    np.testing.assert_array_equal(model.embedding_, of_transpose.embedding_)
    assert model.n_features_in_ == 15
    np.testing.assert_array_equal(
        RepairedDistances(method, mode="column").fit_transform(X), model.embedding_
    )


def test_groups_of_rows_that_share_nothing():
    X = np.full((8, 6), np.nan)
    X[:4, :3] = np.random.default_rng(0).normal(size=(4, 3))
    X[4:, 3:] = np.random.default_rng(1).normal(size=(4, 3))
    lowered = RepairedDistances("decrease-only").fit(X).distances_
    within = max(lowered[:4, :4].max(), lowered[4:, 4:].max())
    np.testing.assert_array_equal(lowered[:4, 4:], 2.0 * within)
    assert excess(lowered) < 1e-14
    # Sums over nothing are zero, and are raised as little as the others allow.
    raised = RepairedDistances("increase-only").fit(X)
    assert excess(raised.distances_) < 1e-14
    assert 0 < raised.distances_[:4, 4:].max() <= lengths_over_shared(X).max()
    model = RepairedDistances("kernel").fit(X)
    np.testing.assert_allclose(model.distances_[:4, 4:], model.bandwidth_, rtol=0.3)
    for fitted in (raised, model):
        assert np.isfinite(fitted.embedding_).all()


@pytest.mark.parametrize("method", METHODS)
def test_complete_rows_have_euclidean_distances(method):
    X = np.random.default_rng(0).normal(size=(25, 4))
    euclidean = squareform(pdist(X))
    unit = 1.0 if method == "increase-only" else np.sqrt(4)
    found = RepairedDistances(method).fit(X).distances_
    np.testing.assert_allclose(unit * found, euclidean, atol=1e-6)


def test_embeddings_are_those_of_the_distances():
    X = holes(40, 30, missing=0.5)
    model = RepairedDistances("increase-only", n_neighbors=7).fit(X)
    isomap = Isomap(n_neighbors=7, metric="precomputed", eigen_solver="dense")
    expected = isomap.fit_transform(model.distances_)
    np.testing.assert_allclose(np.abs(model.embedding_), np.abs(expected), atol=1e-6)
    model = RepairedDistances("kernel", 3).fit(X)
    expected = DiffusionMap(3, metric="precomputed").fit_transform(model.distances_)
    np.testing.assert_array_equal(model.embedding_, expected)
    other = RepairedDistances("kernel", 3, embedding="isomap").fit(X)
    assert not np.allclose(other.embedding_, expected)


def test_kernel_correction_is_nearer_to_the_complete_kernel():
    rng = np.random.default_rng(0)
    complete = np.cos(rng.uniform(0, 6, size=(60, 1)) + rng.uniform(0, 6, size=40))
    X = np.where(rng.random(complete.shape) < 0.7, np.nan, complete)
    model = RepairedDistances("kernel").fit(X)

    def kernel(distances):
        return np.exp(-((distances / model.bandwidth_) ** 2))

    truth = kernel(masked_distances(complete))
    error = np.linalg.norm(model.kernel_ - truth)
    assert error < 0.7 * np.linalg.norm(kernel(masked_distances(X)) - truth)


def test_errors_of_lung500_subjects(lung500):
    """With 90% missing: distances are nearer to those of the complete subjects, up to a factor."""
    X = lung500.T.copy()
    complete = masked_distances(X)[np.triu_indices(len(X), 1)]
    X[np.random.default_rng(0).random(X.shape) < 0.9] = np.nan

    def error(distances):
        d = distances[np.triu_indices(len(X), 1)]
        known = np.isfinite(d)
        d, truth = d[known], complete[known]
        return np.linalg.norm(d * (d @ truth) / (d @ d) - truth) / np.linalg.norm(truth)

    errors = [error(RepairedDistances(method).fit(X).distances_) for method in METHODS]
    measured = error(masked_distances(X))
    assert measured > 0.33
    assert errors[0] < 0.26
    assert errors[1] < 0.31


def test_the_bandwidth_is_a_number_of_medians():
    X = holes(30, 40, missing=0.6)
    upper = np.triu_indices(30, 1)
    measured = masked_distances(X)[upper]
    median = np.median(measured[np.isfinite(measured)])
    models = {factor: RepairedDistances(bandwidth_factor=factor).fit(X) for factor in (0.5, 1, 1.4)}
    for factor, model in models.items():
        assert model.bandwidth_ == pytest.approx(factor * median)
        back = np.exp(-((model.distances_ / (factor * median)) ** 2))
        np.testing.assert_allclose(back, model.kernel_, atol=1e-12)
    np.testing.assert_array_equal(models[1].distances_, RepairedDistances().fit(X).distances_)
    complete = np.random.default_rng(0).normal(size=(25, 4))
    model = RepairedDistances(bandwidth_factor=np.float32(2.0)).fit(complete)
    assert type(model.bandwidth_) is float
    np.testing.assert_allclose(2.0 * model.distances_, squareform(pdist(complete)), atol=1e-6)


def test_a_larger_bandwidth_lowers_the_error_of_the_distances():
    complete = make_curve(100, 60, noise=0.5, random_state=0).X
    X = remove_entries(complete, 0.8, random_state=0)
    upper = np.triu_indices(len(X), 1)
    truth, errors = masked_distances(complete)[upper], []
    for factor in (1.0, 1.4):
        d = RepairedDistances(bandwidth_factor=factor).fit(X).distances_[upper]
        d = d * (d @ truth) / (d @ d)
        errors.append(np.linalg.norm(d - truth) / np.linalg.norm(truth))
    assert errors[1] < 0.95 * errors[0]


def test_distances_beyond_six_bandwidths_are_cut_off():
    X = np.append(np.linspace(0.0, 1.0, 20), 1000.0)[:, None]
    model = RepairedDistances().fit(X)
    np.testing.assert_allclose(model.distances_[-1, :-1], 6.0 * model.bandwidth_, rtol=1e-3)
    np.testing.assert_allclose(model.distances_[:-1, :-1], abs(X - X.T)[:-1, :-1], atol=1e-6)


def test_equal_rows_that_share_nothing_are_at_distance_zero():
    X = np.where(np.random.default_rng(0).random((20, 6)) < 0.6, np.nan, 3.0)
    X[np.arange(20), np.arange(20) % 6] = 3.0
    assert np.isinf(masked_distances(X)).any()
    for method in METHODS:
        np.testing.assert_allclose(RepairedDistances(method).fit(X).distances_, 0.0, atol=1e-7)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("embedding", ["diffusion", "isomap"])
@pytest.mark.filterwarnings("ignore:the affinities fall into")
def test_equal_rows_and_few_rows(method, embedding):
    # In the last, most rows are next to equal: the others are many medians away.
    nearly = np.append(np.arange(9.0) * 1e-200, 1.0)[:, None]
    for X in (np.ones((5, 3)), np.array([[0.0, 1.0], [2.0, np.nan]]), np.eye(3), nearly):
        model = RepairedDistances(method, 1, embedding=embedding).fit(X)
        assert np.isfinite(model.embedding_).all()
        assert np.isfinite(model.distances_).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("unit", [1e-100, 1e100])
def test_units(method, unit):
    X = holes(20, 15)
    model, scaled = (RepairedDistances(method).fit(factor * X) for factor in (1.0, unit))
    np.testing.assert_allclose(scaled.distances_ / unit, model.distances_, atol=1e-7)


def test_a_warning_says_that_iterations_did_not_converge():
    X = holes(40, 12, missing=0.6)
    with pytest.warns(ConvergenceWarning, match="stopped after 2 iterations"):
        model = RepairedDistances(max_iter=2).fit(X)
    assert model.n_iter_ == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert 2 < RepairedDistances().fit(X).n_iter_ < 500


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "raise"}, "method must be one of 'decrease-only', 'increase-only', 'kernel'"),
        ({"mode": "columns"}, "mode must be one of 'column', 'row', got 'columns'"),
        ({"embedding": "umap"}, "embedding must be one of 'auto', 'diffusion', 'isomap'"),
        ({"n_components": 0}, "n_components must be a positive integer, got 0"),
        ({"n_components": 30}, "n_components must be less than the number of rows, 30"),
        (
            {"n_components": 20, "mode": "column"},
            "n_components must be less than the number of columns, 20",
        ),
        ({"n_neighbors": 0}, "n_neighbors must be a positive integer, got 0"),
        ({"bandwidth_factor": 0.0}, "bandwidth_factor must be a positive finite number, got 0.0"),
        ({"bandwidth_factor": np.nan}, "bandwidth_factor must be a positive finite number"),
        ({"bandwidth_factor": np.inf}, "bandwidth_factor must be a positive finite number"),
        ({"bandwidth_factor": True}, "bandwidth_factor must be a positive finite number"),
        ({"bandwidth_factor": "auto"}, "bandwidth_factor must be a positive finite number"),
        ({"max_iter": 0}, "max_iter must be a positive integer"),
        ({"tol": 2.0}, "tol must be a number between 0 and 1"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        RepairedDistances(**parameters).fit(holes())


@pytest.mark.parametrize(("factor", "unit"), [(1e300, 1e20), (1e-300, 1e-50)])
def test_a_bandwidth_out_of_range_is_refused(factor, unit):
    with pytest.raises(ValueError, match=r"bandwidth_factor=.* is out of range"):
        RepairedDistances(bandwidth_factor=factor).fit(unit * holes())


def test_what_has_no_entry_is_refused_by_mode():
    X = holes(12, 9)
    X[4], X[:, 7] = np.nan, np.nan
    with pytest.raises(ValueError, match=r"rows with no observed entry.*: 4"):
        RepairedDistances().fit(X)
    with pytest.raises(ValueError, match=r"columns with no observed entry.*: 7"):
        RepairedDistances(mode="column").fit(X)
    with pytest.raises(ValueError, match="at least two columns, got 1"):
        RepairedDistances(mode="column").fit(X[:4, :1])


def test_clone_pickle_and_refit():
    X = holes()
    model = RepairedDistances().fit(X)
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.embedding_, model.embedding_)
    model.set_params(method="increase-only").fit(X)
    assert not hasattr(model, "kernel_")
    assert not hasattr(model, "bandwidth_")
    assert model.n_iter_ == 1


def test_data_frames():
    X = pd.DataFrame(holes(12, 9), index=list("abcdefghijkl"))
    X.columns = [f"c{j}" for j in range(9)]
    frame = RepairedDistances().set_output(transform="pandas").fit_transform(X)
    assert list(frame.index) == list("abcdefghijkl")
    assert list(frame.columns) == ["repaireddistances0", "repaireddistances1"]
    # Of columns there is no frame with the index of X.
    of_columns = RepairedDistances(mode="column")
    assert not hasattr(of_columns, "set_output")
    assert of_columns.fit_transform(X).shape == (9, 2)
    assert not hasattr(of_columns, "get_feature_names_out")
