"""Convex clustering against two rows solved by hand, and its limits."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from comanifold import Graph, co_cluster, masked_distances
from comanifold.baselines import ConvexClustering


@parametrize_with_checks([ConvexClustering()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def groups(seed=0, missing=0.3):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(3), 10)
    X = 4 * rng.normal(size=(3, 8))[labels] + 0.2 * rng.normal(size=(30, 8))
    X[rng.random(X.shape) < missing] = np.nan
    return labels, X


@pytest.mark.parametrize("cost", [0.0, 1.0, 4.0, 7.0])
def test_two_rows(cost):
    # The only edge has weight exp(-1). Each row moves towards the other by that times the cost.
    X = np.array([[0.0, 0.0], [3.0, 4.0]])
    model = ConvexClustering(cost, n_neighbors=1).fit(X)
    step = min(np.exp(-1.0) * cost / 5.0, 0.5) * (X[1] - X[0])
    # A relative gap of 1e-6 in an objective up to 12.5 allows for errors of sqrt(2 gap).
    np.testing.assert_allclose(model.estimate_, [X[0] + step, X[1] - step], atol=5e-3)
    assert model.n_clusters_ == (1 if np.exp(-1.0) * cost >= 2.5 else 2)


def test_groups_with_missing_entries_are_found():
    labels, X = groups()
    model = ConvexClustering(2.0)
    assert adjusted_rand_score(labels, model.fit_predict(X)) > 0.9
    np.testing.assert_array_equal(model.filled_[~np.isnan(X)], X[~np.isnan(X)])
    assert np.isfinite(model.filled_).all()


def test_a_large_cost_leaves_the_means_of_columns():
    _, X = groups(1)
    model = ConvexClustering(1e6).fit(X)
    assert (model.labels_ == 0).all()
    np.testing.assert_allclose(model.estimate_, np.tile(np.nanmean(X, axis=0), (30, 1)), atol=1e-5)
    # And none at all leaves the rows as they are.
    complete = groups(1, missing=0.0)[1]
    apart = ConvexClustering(0.0).fit(complete)
    assert apart.n_clusters_ == 30
    np.testing.assert_allclose(apart.estimate_, complete)


def test_weights_are_gaussian_and_the_rest_is_co_clustering():
    _, X = groups(2)
    model = ConvexClustering(0.5, n_neighbors=3).fit(X)
    graph = Graph.nearest_neighbors(X, 3)
    lengths = masked_distances(X)[tuple(graph.edges.T)]
    weights = np.exp(-(np.minimum(lengths / np.median(lengths), 2.5) ** 2))
    np.testing.assert_allclose(model.graph_.weights, weights)
    result = co_cluster(
        X,
        Graph(30, graph.edges, weights),
        Graph(8, []),
        row_cost=0.5,
        column_cost=0.0,
        penalty="linear",
    )
    assert model.objective_ == pytest.approx(result.objective)


def test_equal_rows_and_rows_that_share_no_column():
    same = ConvexClustering().fit(np.ones((6, 2)))
    assert same.n_clusters_ == 1
    X = np.array([[0.0, np.nan], [0.1, np.nan], [np.nan, 5.0], [np.nan, 5.2]])
    apart = ConvexClustering(0.1, n_neighbors=1).fit(X)
    assert np.isfinite(apart.graph_.weights).all()
    assert apart.labels_[0] == apart.labels_[1]
    nothing = ConvexClustering().fit([[1.0, np.nan], [np.nan, 2.0]])
    assert np.isfinite(nothing.estimate_).all()


@pytest.mark.parametrize("cost", [-1.0, np.inf, "high", True, None])
def test_a_wrong_cost_is_named(cost):
    with pytest.raises(ValueError, match="cost must be a finite number of at least 0, got"):
        ConvexClustering(cost).fit(groups()[1])


def test_other_wrong_input_is_named():
    with pytest.raises(ValueError, match="n_neighbors must be a positive integer, got 0"):
        ConvexClustering(n_neighbors=0).fit(groups()[1])
    X = groups()[1]
    X[4] = np.nan
    with pytest.raises(ValueError, match=r"rows with no observed entry.*4"):
        ConvexClustering().fit(X)
