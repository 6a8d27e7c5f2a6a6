"""A fit that does not return leaves the estimator as it was: fitted as before, or not at all."""

import copy

import numpy as np
import pandas as pd
import pytest
from oracles.fits import holes
from sklearn.exceptions import NotFittedError
from sklearn.manifold import Isomap
from sklearn.utils.validation import check_is_fitted

import comanifold._fit.passes
import comanifold._fit.sweep
import comanifold.co_clustering
import comanifold.diffusion_map
from comanifold import CoCluster, CoManifold, DiffusionMap
from comanifold.baselines import (
    NLPCA,
    ConvexClustering,
    FilledDiffusionMap,
    GraphCompletion,
    MaskedIsomap,
    Questionnaire,
    RepairedDistances,
    SoftImpute,
    SparseSVD,
    UnsupervisedRegression,
)
from comanifold.baselines import _graph_fit as graph_fit
from comanifold.baselines import _masked_isomap as masked_isomap
from comanifold.baselines import _nlpca as nlpca
from comanifold.baselines import _questionnaire as questionnaire
from comanifold.baselines import _repaired_distances as repaired
from comanifold.baselines import _soft_impute as soft_impute
from comanifold.baselines import _sparse_svd as sparse_svd
from comanifold.baselines import _unsupervised_regression as unsupervised_regression

ESTIMATORS = [
    CoManifold(keep_scales=True),
    CoManifold(embedding=Isomap(metric="precomputed")),
    CoCluster(),
    DiffusionMap(),
    SoftImpute(),
    MaskedIsomap(),
    NLPCA(1, n_restarts=1, max_iter=50, tol=0.1, random_state=0),
    ConvexClustering(),
    FilledDiffusionMap("knn"),
    RepairedDistances(),
    SparseSVD(),
    Questionnaire(n_trees=2),
    GraphCompletion(),
    GraphCompletion("factors", rank=2),
    UnsupervisedRegression(1, random_state=0),
]


def frame(seed=0, n_columns=12):
    X = holes(16, n_columns, seed=seed, missing=0.2)
    return pd.DataFrame(X, columns=[f"c{j}" for j in range(n_columns)])


def assert_unchanged(estimator, before):
    """The same attributes, and the same objects with the same contents."""
    assert list(vars(estimator)) == list(before)
    for name, (value, copied) in before.items():
        assert vars(estimator)[name] is value
        assert_same(value, copied)


def assert_same(value, copied):
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        np.testing.assert_array_equal(value, copied)
    elif isinstance(value, np.ndarray):
        assert (value == copied).all()
    elif isinstance(value, dict):
        assert list(value) == list(copied)
        for key in value:
            assert_same(value[key], copied[key])
    elif isinstance(value, (list, tuple)):
        assert len(value) == len(copied)
        for one, other in zip(value, copied, strict=True):
            assert_same(one, other)
    elif hasattr(value, "__dict__") and not callable(value):
        assert_same(vars(value), vars(copied))


def snapshot(estimator):
    return {name: (value, copy.deepcopy(value)) for name, value in vars(estimator).items()}


@pytest.fixture(params=ESTIMATORS, ids=lambda e: type(e).__name__)
def fitted(request):
    return copy.deepcopy(request.param).fit(frame())


def bad_inputs():
    infinite = frame(n_columns=9)
    infinite.iloc[3, 4] = np.inf
    words = frame(n_columns=9).astype(object)
    words.iloc[2, 2] = "much"
    return [infinite, words, frame(n_columns=9).iloc[:0], frame(n_columns=9) * np.nan, [1.0]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", range(5))
def test_input_that_is_refused_leaves_the_fit_as_it_was(fitted, number):
    before = snapshot(fitted)
    with pytest.raises((ValueError, TypeError)):
        fitted.fit(bad_inputs()[number])
    assert_unchanged(fitted, before)
    if hasattr(fitted, "transform"):
        assert np.isfinite(fitted.transform(frame(1))).all()


STAGES = {
    CoManifold: [
        (comanifold._fit.passes, "held_out_folds"),
        (comanifold._fit.passes, "continue_path"),
        (comanifold._fit.passes, "predict_along_path"),
        (comanifold._fit.passes.Stacking, "weights"),
        (comanifold._fit.passes.Graph, "nearest_neighbors"),
        (comanifold._fit.sweep.Surface, "solve"),
        (comanifold._fit.sweep.MultiScaleMetric, "add"),
        (comanifold._fit.sweep.MultiScaleMetric, "distances"),
        (comanifold.co_manifold, "embedding_order"),
    ],
    CoCluster: [
        (comanifold.co_clustering.Graph, "nearest_neighbors"),
        (comanifold.co_clustering, "solve"),
    ],
    DiffusionMap: [
        (comanifold.diffusion_map, "masked_distances"),
        (comanifold.diffusion_map, "find_bandwidth"),
        (comanifold.diffusion_map, "leading_eigenvectors"),
    ],
    SoftImpute: [(soft_impute, "_choose_penalty"), (soft_impute.LowRankSolver, "solve")],
    MaskedIsomap: [(masked_isomap, "nan_euclidean_distances"), (masked_isomap, "Isomap")],
    NLPCA: [(nlpca, "minimise"), (nlpca.Objective, "fit_scores")],
    ConvexClustering: [(comanifold.co_clustering, "solve")],
    FilledDiffusionMap: [(comanifold.diffusion_map, "leading_eigenvectors")],
    SparseSVD: [(sparse_svd, "find_layer"), (sparse_svd, "choose_penalty")],
    RepairedDistances: [
        (repaired, "nearest_correlation"),
        (comanifold.diffusion_map, "leading_eigenvectors"),
    ],
    Questionnaire: [(questionnaire, "flexible_tree"), (questionnaire.DiffusionMap, "fit")],
    GraphCompletion: [(graph_fit, "HeldOut"), (graph_fit, "effects_of_matrix")],
    UnsupervisedRegression: [
        (unsupervised_regression, "Isomap"),
        (unsupervised_regression.Maps, "step"),
        (unsupervised_regression.Maps, "place"),
    ],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_fit_that_is_interrupted_leaves_the_fit_as_it_was(fitted, error, monkeypatch):
    before = snapshot(fitted)
    expected = fitted.transform(frame(1)) if hasattr(fitted, "transform") else None

    def interrupt(*_arguments, **_options):
        raise error

    for where, name in STAGES[type(fitted)]:
        with monkeypatch.context() as patch:
            patch.setattr(where, name, interrupt)
            with pytest.raises(error):
                fitted.fit(frame(2, n_columns=10))
        assert_unchanged(fitted, before)
    if expected is not None:
        np.testing.assert_array_equal(fitted.transform(frame(1)), expected)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_an_estimator_whose_first_fit_fails_is_not_fitted(estimator, monkeypatch):
    estimator = copy.deepcopy(estimator)
    before = snapshot(estimator)

    def interrupt(*_arguments, **_options):
        raise KeyboardInterrupt

    where, name = STAGES[type(estimator)][-1]
    with monkeypatch.context() as patch:
        patch.setattr(where, name, interrupt)
        with pytest.raises(KeyboardInterrupt):
            estimator.fit(frame())
    assert_unchanged(estimator, before)
    with pytest.raises(NotFittedError):
        check_is_fitted(estimator)


def test_a_callback_that_raises_leaves_the_fit_as_it_was():
    model = CoManifold().fit(frame())

    def stop(progress):
        if progress.n_done == 5:
            raise RuntimeError("no more")

    before = snapshot(model)
    with pytest.raises(RuntimeError, match="no more"):
        model.fit(frame(2, n_columns=10), progress=stop)
    assert_unchanged(model, before)
