"""Diffusion maps of filled-in matrices against the two steps by hand."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from comanifold import DiffusionMap
from comanifold.baselines import FilledDiffusionMap, SoftImpute


@parametrize_with_checks([FilledDiffusionMap("mean", 1), FilledDiffusionMap("soft", 1)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def ring(seed=0, n_rows=60, n_columns=10, missing=0.2):
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(n_rows) / n_rows
    X = np.cos(angle[:, None] - rng.uniform(0, 2 * np.pi, n_columns))
    X[rng.random(X.shape) < missing] = np.nan
    return X


@pytest.mark.parametrize("bandwidth", ["median", "auto", 0.5])
def test_column_means_and_then_a_diffusion_map(bandwidth):
    X = ring()
    model = FilledDiffusionMap("mean", 3, bandwidth=bandwidth, diffusion_time=2.0).fit(X)
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    np.testing.assert_allclose(model.filled_, filled)
    by_hand = DiffusionMap(3, bandwidth=bandwidth, diffusion_time=2.0).fit(filled)
    np.testing.assert_allclose(model.embedding_, by_hand.embedding_, atol=1e-10)
    np.testing.assert_allclose(model.eigenvalues_, by_hand.eigenvalues_, atol=1e-10)


@pytest.mark.parametrize(
    ("name", "imputer"), [("knn", KNNImputer()), ("soft", SoftImpute()), ("mean", SimpleImputer())]
)
def test_imputers_by_name(name, imputer):
    X = ring(1)
    model = FilledDiffusionMap(name).fit(X)
    np.testing.assert_allclose(model.filled_, imputer.fit_transform(X))
    given = FilledDiffusionMap(imputer).fit(X)
    np.testing.assert_allclose(given.embedding_, model.embedding_, atol=1e-10)
    assert given.imputer_ is not imputer
    np.testing.assert_allclose(model.transform(X[:5]), model.embedding_[:5], atol=1e-3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_iterative_regressions_fill_in_better_than_means():
    X, full = ring(2), ring(2, missing=0.0)
    missing = np.isnan(X)
    error = {
        name: np.abs(FilledDiffusionMap(name).fit(X).filled_ - full)[missing].mean()
        for name in ("iterative", "mean")
    }
    assert error["iterative"] < 0.2 * error["mean"]


def test_columns_without_entries_are_kept():
    X = ring(3)
    X[:, 4] = np.nan
    for name in ("mean", "knn", "soft"):
        assert FilledDiffusionMap(name).fit(X).filled_.shape == X.shape


def test_wrong_imputers_are_named():
    for wrong in ("median", 3, None):
        with pytest.raises(ValueError, match='imputer must be "mean", "knn", "soft"'):
            FilledDiffusionMap(wrong).fit(ring())
    with pytest.raises(ValueError, match="imputer must return a complete matrix"):
        FilledDiffusionMap(StandardScaler()).fit(ring())
    with pytest.raises(ValueError, match="n_components must be an integer"):
        FilledDiffusionMap("mean", 0).fit(ring())
    with pytest.raises(ValueError, match="bandwidth must be"):
        FilledDiffusionMap(bandwidth=-1.0).fit(ring())


def test_clone_pickle_and_names():
    model = FilledDiffusionMap("knn").fit(ring())
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(ring(5)), model.transform(ring(5)))
    assert list(model.get_feature_names_out()) == ["filleddiffusionmap0", "filleddiffusionmap1"]
