"""The known geometry can be seen in the complete matrix."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from sklearn.cluster import KMeans
from sklearn.manifold import trustworthiness
from sklearn.metrics import adjusted_rand_score

from comanifold import DiffusionMap
from comanifold.datasets import (
    make_checkerboard,
    make_clusters,
    make_curve,
    make_linkage,
    make_linkage2,
)

FUNCTIONS = ["distance", "elastic", "coulomb"]


def correlations(embedding, position):
    """How well each coordinate is a linear function of the embedding."""
    A = np.column_stack([embedding, np.ones(len(embedding))])
    fits = A @ np.linalg.lstsq(A, position, rcond=None)[0]
    return [np.corrcoef(a, b)[0, 1] for a, b in zip(fits.T, position.T, strict=True)]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_curve_and_a_surface_are_seen_in_linkage(function, seed):
    data = make_linkage(function=function, random_state=seed)
    assert data.X.shape == (200, 300)
    rows = DiffusionMap().fit_transform(data.X)
    columns = DiffusionMap().fit_transform(data.X.T)
    assert trustworthiness(data.row_position, rows, n_neighbors=10) > 0.95
    assert abs(spearmanr(rows[:, 0], data.row_position[:, 0])[0]) > 0.95
    assert trustworthiness(data.column_position, columns, n_neighbors=10) > 0.95
    assert min(correlations(columns, data.column_position)) > 0.95


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_three_clouds_and_a_surface_are_seen_in_linkage2(function, seed):
    data = make_linkage2(function=function, random_state=seed)
    rows = DiffusionMap().fit_transform(data.X)
    columns = DiffusionMap().fit_transform(data.X.T)
    found = KMeans(3, n_init=10, random_state=0).fit_predict(rows)
    assert adjusted_rand_score(data.row_labels, found) > 0.95
    assert trustworthiness(data.column_position, columns, n_neighbors=10) > 0.95
    assert min(correlations(columns, data.column_position)) > 0.95


def test_entries_are_functions_of_the_distance():
    for make in (make_linkage, make_linkage2):
        data = make(20, 30, random_state=3)
        distances = cdist(data.row_points, data.column_points)
        np.testing.assert_allclose(data.X, distances)
        squares = make(20, 30, function="elastic", random_state=3)
        np.testing.assert_allclose(squares.X, distances**2)
        inverse = make(20, 30, function="coulomb", random_state=3)
        np.testing.assert_allclose(inverse.X, 1 / distances)
        noisy = make(200, 300, noise=0.5, random_state=3)
        clean = make(200, 300, random_state=3)
        assert (noisy.X - clean.X).std() == pytest.approx(0.5 * clean.X.std(), rel=0.02)


def test_checkerboard():
    data = make_checkerboard(30, 20, noise=0.0, random_state=1)
    np.testing.assert_array_equal(data.X, data.levels[np.ix_(data.row_labels, data.column_labels)])
    for points in (data.levels, data.levels.T):
        assert cdist(points, points)[np.triu_indices(len(points), 1)].min() >= 1.0
    noisy = make_checkerboard(300, 200, noise=0.5, random_state=1)
    levels = noisy.levels[np.ix_(noisy.row_labels, noisy.column_labels)]
    assert (noisy.X - levels).std() == pytest.approx(0.5, rel=0.02)


def test_many_groups_of_few_columns_are_apart():
    levels = make_checkerboard(n_row_groups=12, n_column_groups=1, random_state=0).levels
    assert np.diff(np.sort(levels[:, 0])).min() >= 1.0


def test_clusters_and_curve():
    data = make_clusters(noise=0.0, random_state=0)
    assert len(np.unique(data.X.round(9), axis=0)) == 5
    assert np.linalg.matrix_rank(data.X) == 3
    curve = make_curve(noise=0.0, random_state=0)
    order = np.argsort(curve.row_position[:, 0])
    steps = np.linalg.norm(np.diff(curve.X[order], axis=0), axis=1)
    assert steps.max() < 0.5 * np.linalg.norm(curve.X - curve.X.mean(axis=0), axis=1).mean()


@pytest.mark.parametrize(
    "make", [make_linkage, make_linkage2, make_checkerboard, make_clusters, make_curve]
)
def test_the_same_seed_gives_the_same_data(make):
    first, again, other = make(random_state=5), make(random_state=5), make(random_state=6)
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)


def test_an_unknown_function_is_named():
    with pytest.raises(ValueError, match="function must be one of"):
        make_linkage(function="gravity")
