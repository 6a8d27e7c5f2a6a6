"""Diffusion maps against analytic spectra and a plain eigensolver."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist, pdist
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from comanifold import DiffusionMap, masked_distances


@parametrize_with_checks([DiffusionMap(n_components=1)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def points(seed, n_points=30, n_features=4, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_points, n_features))
    X[rng.random(X.shape) < missing] = np.nan
    X[:, 0] = rng.normal(size=n_points)
    return X


def plain(distances, sigma_squared, n_components, time=1.0, power=0.0):
    """Right eigenvectors of the walk by a general eigensolver, as the paper writes them."""
    A = np.exp(-(distances**2) / sigma_squared)
    q = A.sum(axis=1)
    A = A / np.outer(q, q) ** power
    degree = A.sum(axis=1)
    values, vectors = np.linalg.eig(A / degree[:, None])
    order = np.argsort(-values.real)[1 : n_components + 1]
    values, vectors = values[order].real, vectors[:, order].real
    vectors /= np.sqrt((degree[:, None] / degree.sum() * vectors**2).sum(axis=0))
    return values, values**time * vectors


def assert_equal_up_to_sign(first, second, atol):
    signs = np.sign((first * second).sum(axis=0))
    np.testing.assert_allclose(first * signs, second, atol=atol)


@pytest.mark.parametrize("bandwidth", ["median", 1.3, "local", ("local", 3)])
@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("time", [1.0, 2.5])
def test_against_a_plain_eigensolver(bandwidth, power, time):
    X = points(0, missing=0.2)
    distances = masked_distances(X)
    model = DiffusionMap(
        3, bandwidth=bandwidth, diffusion_time=time, density_normalization=power
    ).fit(X)
    if bandwidth == "median":
        sigma_squared = np.median(distances[np.triu_indices(30, 1)]) ** 2
    elif bandwidth == 1.3:
        sigma_squared = 1.3**2
    else:
        sigma = np.sort(distances, axis=1)[:, 7 if bandwidth == "local" else 3]
        sigma_squared = np.outer(sigma, sigma)
    values, embedding = plain(distances, sigma_squared, 3, time, power)
    np.testing.assert_allclose(model.eigenvalues_, values, atol=1e-10)
    assert_equal_up_to_sign(model.embedding_, embedding, 1e-8)
    assert model.embedding_.shape == (30, 3)
    np.testing.assert_allclose(model.affinity_, np.exp(-(distances**2) / sigma_squared))


def test_the_circle():
    # The kernel on equally spaced points of a circle is circulant: its eigenvalues are the
    # Fourier coefficients of a row, its eigenvectors sines and cosines.
    n = 64
    angle = 2 * np.pi * np.arange(n) / n
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    model = DiffusionMap(4, bandwidth=0.7).fit(X)
    row = np.exp(-(cdist(X[:1], X)[0] ** 2 / 2) / 0.7**2)
    exact = np.fft.rfft(row).real / row.sum()
    np.testing.assert_allclose(model.eigenvalues_, np.repeat(exact[1:3], 2), atol=1e-12)
    radius = np.linalg.norm(model.embedding_[:, :2], axis=1)
    np.testing.assert_allclose(radius, np.sqrt(2) * exact[1], atol=1e-10)


def test_the_interval():
    # With the density divided out, the walk tends to the heat flow with reflecting ends:
    # eigenvectors cos(pi k x), eigenvalues exp(-(pi k sigma / 2)^2).
    n, sigma = 1200, 0.02
    x = (np.arange(n) + 0.5) / n
    model = DiffusionMap(3, bandwidth=sigma, density_normalization=1.0).fit(x[:, None])
    order = np.arange(1, 4)
    np.testing.assert_allclose(
        -np.log(model.eigenvalues_), (np.pi * order * sigma / 2) ** 2, rtol=0.03
    )
    for k, coordinate in zip(order, model.embedding_.T, strict=True):
        assert abs(np.corrcoef(coordinate, np.cos(np.pi * k * x))[0, 1]) > 0.999


@pytest.mark.parametrize("bandwidth", ["median", 1.0, "local", "auto"])
@pytest.mark.parametrize("power", [0.0, 1.0])
def test_a_training_point_is_placed_where_it_was(bandwidth, power):
    X = points(1, missing=0.3)
    for time in (1.0, 3.0):
        model = DiffusionMap(
            3, bandwidth=bandwidth, density_normalization=power, diffusion_time=time
        ).fit(X)
        np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-6)
        np.testing.assert_allclose(model.transform(X[3:5]), model.embedding_[3:5], atol=1e-6)


def test_a_new_point_is_placed_between_its_neighbours():
    x = np.linspace(0, 1, 200)[:, None]
    model = DiffusionMap(1, bandwidth=0.1).fit(x)
    between = model.transform([[(x[70, 0] + x[71, 0]) / 2]])[0, 0]
    ends = np.sort(model.embedding_[70:72, 0])
    assert ends[0] < between < ends[1]


def test_a_new_point_with_nothing_in_common_belongs_nowhere():
    X = points(2)
    model = DiffusionMap().fit(X)
    new = np.vstack([X[:1], np.full((1, 4), np.nan)])
    placed = model.transform(new)
    np.testing.assert_allclose(placed[0], model.embedding_[0], atol=1e-6)
    assert np.isnan(placed[1]).all()


@pytest.mark.parametrize("bandwidth", ["median", 1.0, ("local", 4), "auto"])
def test_sparse_distances_with_every_pair_agree_with_dense_ones(bandwidth):
    distances = masked_distances(points(3, n_points=40))
    dense = DiffusionMap(3, metric="precomputed", bandwidth=bandwidth).fit(distances)
    for X in (distances, sparse.csr_array(distances)):
        options = {"bandwidth": bandwidth, "eigen_solver": "arpack"}
        model = DiffusionMap(3, metric="precomputed", **options).fit(X)
        np.testing.assert_allclose(model.eigenvalues_, dense.eigenvalues_, atol=1e-10)
        np.testing.assert_allclose(model.embedding_, dense.embedding_, atol=1e-7)
        np.testing.assert_allclose(model.transform(distances), dense.embedding_, atol=1e-6)
    assert sparse.issparse(model.affinity_)


def test_sparse_distances_leave_out_far_pairs():
    angle = 2 * np.pi * np.arange(60) / 60
    distances = cdist(*2 * (np.column_stack([np.cos(angle), np.sin(angle)]),))
    near = sparse.csr_array(np.where(distances < 1.0, distances, 0.0))
    model = DiffusionMap(2, metric="precomputed", bandwidth=0.3).fit(near)
    dense = DiffusionMap(2, metric="precomputed", bandwidth=0.3).fit(distances)
    np.testing.assert_allclose(model.eigenvalues_, dense.eigenvalues_, atol=1e-4)
    assert model.affinity_.nnz < 60**2 / 2


@given(st.integers(0, 1000), st.floats(1e-3, 1e3))
def test_permuting_permutes_and_scaling_changes_nothing(seed, factor):
    X = points(seed)
    order = np.random.default_rng(seed).permutation(len(X))
    model = DiffusionMap().fit(X)
    other = DiffusionMap().fit(factor * X[order])
    np.testing.assert_allclose(other.eigenvalues_, model.eigenvalues_, atol=1e-10)
    if np.diff(model.eigenvalues_, prepend=1.0, append=-1.0).max() < -1e-3:
        assert_equal_up_to_sign(other.embedding_, model.embedding_[order], 1e-6)


@pytest.mark.parametrize("bandwidth", ["median", "local", "auto", 2.0])
def test_duplicates(bandwidth):
    X = np.repeat(points(4, n_points=3), 12, axis=0)
    model = DiffusionMap(2, bandwidth=bandwidth).fit(X)
    assert np.isfinite(model.embedding_).all()
    np.testing.assert_allclose(model.embedding_[:12], model.embedding_[:1].repeat(12, 0))
    same = DiffusionMap(1, bandwidth=bandwidth).fit(np.ones((5, 2)))
    np.testing.assert_allclose(same.embedding_, 0.0, atol=1e-7)


def test_parts_with_nothing_between_them_are_named():
    X = np.array([[0.0, np.nan], [1.0, np.nan], [np.nan, 0.0], [np.nan, 1.0]])
    with pytest.warns(UserWarning, match="2 connected components"):
        model = DiffusionMap(1).fit(X)
    assert model.eigenvalues_[0] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components must be an integer from 1 to 29"),
        ({"n_components": True}, "n_components must be an integer from 1 to 29"),
        ({"n_components": 30}, "one less than the number of points, got 30"),
        ({"metric": "cosine"}, "metric must be one of 'masked', 'precomputed', got 'cosine'"),
        ({"bandwidth": -1.0}, "bandwidth must be"),
        ({"bandwidth": "wide"}, "bandwidth must be"),
        ({"bandwidth": ("local", 0)}, "bandwidth must be"),
        ({"bandwidth": True}, "bandwidth must be"),
        ({"diffusion_time": -1}, "diffusion_time must be at least 0"),
        ({"density_normalization": 2}, "density_normalization must lie between 0 and 1"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        DiffusionMap(**parameters).fit(points(0))


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
def test_wrong_distances_are_named(wrap):
    model = DiffusionMap(1, metric="precomputed")
    with pytest.raises(ValueError, match="must be square"):
        model.fit(wrap(np.ones((3, 4))))
    with pytest.raises(ValueError, match="must be symmetric"):
        model.fit(wrap(np.array([[0.0, 1.0], [2.0, 0.0]])))
    with pytest.raises(ValueError, match="negative or NaN"):
        model.fit(wrap(np.array([[0.0, -1.0], [-1.0, 0.0]])))


def test_clone_pickle_and_names():
    model = DiffusionMap(2, bandwidth=("local", 5)).fit(points(0))
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(points(1)), model.transform(points(1)))
    assert list(model.get_feature_names_out()) == ["diffusionmap0", "diffusionmap1"]


@pytest.mark.parametrize(
    ("n_points", "neighbor"), [(30, 7), (127, 7), (128, 8), (200, 10), (600, 10)]
)
def test_the_local_bandwidth_widens_with_the_number_of_points(n_points, neighbor):
    X = np.random.default_rng(0).normal(size=(n_points, 3))
    sigma = np.sort(masked_distances(X), axis=1)[:, neighbor]
    np.testing.assert_allclose(DiffusionMap(bandwidth="local").fit(X).bandwidth_, sigma)


def test_a_few_points_that_are_alike_do_not_fall_out_of_the_walk():
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1, 2], 60)
    X = 6 * np.eye(3)[groups] + rng.normal(size=(180, 3))
    X[:9] = X[0] + 1e-3 * rng.normal(size=(9, 3))  # as if filled in alike
    embedding = DiffusionMap(2).fit_transform(X)
    centres = np.array([embedding[groups == g].mean(axis=0) for g in range(3)])
    spread = max(embedding[groups == g].std(axis=0).max() for g in range(3))
    assert pdist(centres).min() > 5 * spread


def test_many_points_along_a_curve():
    # Eigenvalues that lie this close are out of reach of iterations alone.
    t = np.linspace(0.0, 1.0, 3000)
    i = np.arange(3000)
    near = [(i[:-step], i[step:]) for step in range(1, 12)]
    rows, columns = (np.concatenate([pair[k] for pair in near]) for k in range(2))
    upper = sparse.csr_array((np.abs(t[rows] - t[columns]), (rows, columns)), shape=(3000, 3000))
    found = DiffusionMap(3, metric="precomputed").fit(upper + upper.T)
    assert (found.eigenvalues_ > 1 - 1e-3).all()
    for k, values in enumerate(found.embedding_.T, start=1):
        assert abs(np.corrcoef(values, np.cos(k * np.pi * t))[0, 1]) > 0.999
    exact = DiffusionMap(3, metric="precomputed", eigen_solver="dense").fit(upper + upper.T)
    np.testing.assert_allclose(found.eigenvalues_, exact.eigenvalues_, rtol=0, atol=1e-11)


def test_a_local_bandwidth_with_fewer_points_than_the_neighbour_named():
    D = np.abs(np.subtract.outer([0.0, 1.0, 3.0], [0.0, 1.0, 3.0]))
    for wrap in (np.asarray, sparse.csr_array):
        model = DiffusionMap(1, metric="precomputed", bandwidth=("local", 5)).fit(wrap(D))
        np.testing.assert_array_equal(model.bandwidth_, [3.0, 2.0, 3.0])
    D[0, 2] = D[2, 0] = np.inf
    model = DiffusionMap(1, metric="precomputed", bandwidth=("local", 5)).fit(D)
    np.testing.assert_array_equal(model.bandwidth_, [1.0, 2.0, 2.0])


def test_a_coordinate_without_an_eigenvalue_is_zero_at_any_time():
    model = DiffusionMap(3, diffusion_time=0.5).fit(np.linspace(0.0, 1.0, 12)[:, None])
    model.eigenvalues_[2] = 0.0
    placed = model.transform([[0.4]])
    assert placed[0, 2] == 0.0
    assert np.isfinite(placed).all()
