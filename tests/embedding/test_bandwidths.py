"""The bandwidth "auto": neither points that have fused nor outliers fall out of the walk."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from comanifold import DiffusionMap
from comanifold._embedding.bandwidths import find_bandwidth

LEAST_SUM = 5.0


def distances_of(X):
    return cdist(X, X)


def stored(distances):
    """Sparse distances in which all finite pairs are stored, those at distance zero too."""
    places = np.nonzero(np.isfinite(distances))
    return sparse.csr_array((distances[places], places), shape=distances.shape)


def three_groups(seed, n_points=180, n_features=10, apart=1.5):
    rng = np.random.default_rng(seed)
    groups = np.arange(n_points) % 3
    centres = apart * rng.normal(size=(3, n_features))
    return centres[groups] + rng.normal(size=(n_points, n_features)), groups


def with_outliers(seed, n_outliers, n_points=180):
    X, groups = three_groups(seed, n_points)
    X[:n_outliers] += 8.0 * np.random.default_rng(seed + 1).normal(size=(n_outliers, X.shape[1]))
    return X, groups


def lower_bounds(distances, q):
    """The distance to the q-th neighbour, but no less than two quantiles allow."""
    sigma = np.sort(distances, axis=1)[:, q]
    ordered = np.sort(sigma)
    low, high = (ordered[int(share * (len(sigma) - 1))] for share in (0.2, 0.75))
    return np.maximum(sigma, max(low, 0.6 * high))


def found_groups(embedding, n_groups=3):
    return KMeans(n_groups, n_init=10, random_state=0).fit_predict(embedding)


@pytest.mark.parametrize(("n_points", "q"), [(30, 9), (199, 9), (240, 12), (600, 25)])
def test_a_twentieth_of_the_points_is_within_the_bandwidth(n_points, q):
    distances = distances_of(np.random.default_rng(0).normal(size=(n_points, 30)))
    # Each point has so many others at a similar distance that nothing is raised.
    np.testing.assert_allclose(find_bandwidth(distances, "auto"), lower_bounds(distances, q))


@given(
    st.integers(0, 10_000), st.integers(0, 8), st.integers(1, 4), st.sampled_from([2, 5, 25, 60])
)
def test_the_conditions_of_an_optimum(seed, n_outliers, n_features, n_points):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_points, n_features))
    X[:n_outliers] *= 30.0
    distances = distances_of(X)
    sigma = find_bandwidth(distances, "auto")
    bounds = lower_bounds(distances, min(9, n_points - 1))
    sums = np.exp(-(distances**2) / np.outer(sigma, sigma)).sum(axis=1) - 1.0
    enough = min(LEAST_SUM, (n_points - 1) / 2)
    # Each point has its lower bound and enough affinity, or more than it and exactly enough.
    assert (sigma >= bounds * (1 - 1e-12)).all()
    assert (sums >= enough * (1 - 1e-9)).all()
    raised = sigma > bounds * (1 + 1e-9)
    np.testing.assert_allclose(sums[raised], enough, rtol=1e-9)


def test_outliers_do_not_take_the_first_coordinates():
    for seed in range(3):
        X, groups = with_outliers(seed, n_outliers=3)
        model = DiffusionMap(2).fit(X)
        others = np.arange(len(X)) >= 3
        assert adjusted_rand_score(groups[others], found_groups(model.embedding_[others])) > 0.9
        # No coordinate has most of its square on the outliers.
        squares = model.embedding_**2
        assert (squares[:3].sum(axis=0) < 0.5 * squares.sum(axis=0)).all()
        local = DiffusionMap(2, bandwidth="local").fit(X).embedding_ ** 2
        assert (local[:3].sum(axis=0) > 0.5 * local.sum(axis=0)).any()


@pytest.mark.parametrize("n_alike", [11, 15, 30])
def test_points_that_have_fused_do_not_fall_out_of_the_walk(n_alike):
    X, groups = three_groups(0)
    rng = np.random.default_rng(0)
    for start in range(0, 30, n_alike):  # a sixth of all, in sets of points that are all but equal
        some = np.flatnonzero(groups == 0)[start : start + n_alike]
        X[some] = X[some[0]] + 1e-4 * rng.normal(size=(len(some), X.shape[1]))
    found = found_groups(DiffusionMap(2).fit_transform(X))
    assert adjusted_rand_score(groups, found) > 0.9
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # many connected components
        nearest = found_groups(DiffusionMap(2, bandwidth="local").fit_transform(X))
    assert adjusted_rand_score(groups, nearest) < 0.7


def test_a_quarter_and_more_of_all_points_may_be_duplicates():
    X, groups = three_groups(1)
    X[:60] = X[groups[:60]]
    distances = distances_of(X)
    sigma = find_bandwidth(distances, "auto")
    assert sigma.min() >= 0.6 * np.sort(sigma)[134]
    assert adjusted_rand_score(groups, found_groups(DiffusionMap(2).fit_transform(X))) > 0.9


@given(st.integers(0, 1000), st.floats(1e-6, 1e6))
def test_units_and_order_do_not_matter(seed, factor):
    X = with_outliers(seed, n_outliers=3, n_points=40)[0]
    order = np.random.default_rng(seed).permutation(40)
    sigma = find_bandwidth(distances_of(X), "auto")
    other = find_bandwidth(factor * distances_of(X[order]), "auto")
    np.testing.assert_allclose(other, factor * sigma[order], rtol=1e-9)


@pytest.mark.parametrize("n_outliers", [0, 5])
def test_sparse_distances_with_every_pair_have_the_same_bandwidths(n_outliers):
    distances = distances_of(with_outliers(3, n_outliers)[0])
    sigma = find_bandwidth(distances, "auto")
    np.testing.assert_allclose(find_bandwidth(stored(distances), "auto"), sigma, rtol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, stored])
def test_fitted_points_have_the_same_bandwidth_as_new_ones(form):
    X = with_outliers(4, n_outliers=6)[0]
    X[20:40] = X[20]
    distances = distances_of(X)
    sigma = find_bandwidth(distances, "auto")
    np.testing.assert_allclose(
        find_bandwidth(form(distances)[3:50], "auto", sigma), sigma[3:50], rtol=1e-9
    )
    model = DiffusionMap(3).fit(X)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-8)


def test_a_new_point_far_from_all_others_has_affinity_to_several():
    X = three_groups(5)[0]
    model = DiffusionMap(2).fit(X)
    far = X[0] + 1e3 * np.eye(X.shape[1])[0]
    distances = cdist(far[None], X) / np.sqrt(X.shape[1])
    sigma = find_bandwidth(distances, "auto", model.bandwidth_)
    affinity = np.exp(-(distances**2) / (sigma[:, None] * model.bandwidth_))[0]
    assert affinity.sum() - affinity.max() == pytest.approx(LEAST_SUM)
    assert np.isfinite(model.transform(far[None])).all()


@pytest.mark.parametrize("form", [np.asarray, stored])
def test_points_with_few_finite_distances(form):
    distances = np.full((6, 6), np.inf)
    distances[:3, :3] = [[0.0, 1.0, 2.0], [1.0, 0.0, 4.0], [2.0, 4.0, 0.0]]
    distances[3:5, 3:5] = [[0.0, 3.0], [3.0, 0.0]]
    np.fill_diagonal(distances, 0.0)
    sigma = find_bandwidth(form(distances), "auto")
    assert np.isfinite(sigma).all()
    assert (sigma > 0).all()
    with np.errstate(over="ignore"):
        sums = np.exp(-(distances**2) / np.outer(sigma, sigma)).sum(axis=1) - 1.0
    assert (sums[:3] >= 1.0 - 1e-9).all()
    assert (sums[3:5] >= 0.5 - 1e-9).all()


def test_a_curve_stays_open_and_in_order():
    t = np.linspace(0.0, 1.0, 300)
    angle = 1.7 * np.pi * t
    noise = 0.02 * np.random.default_rng(0).normal(size=(300, 10))
    X = np.column_stack([np.cos(angle), np.sin(angle), np.zeros((300, 8))]) + noise
    first = DiffusionMap(1).fit_transform(X)[:, 0]
    ranks = np.argsort(np.argsort(first))
    assert abs(np.corrcoef(ranks, np.arange(300))[0, 1]) > 0.99
