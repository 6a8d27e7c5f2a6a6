"""Diffusion maps where eigenvalues coincide: of the shape asked for, and true eigenvectors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.fits import holes
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackNoConvergence

from comanifold import DiffusionMap
from comanifold._embedding import eigenvectors as _eigenvectors
from comanifold._embedding.affinities import count_components
from comanifold.baselines._low_rank import LowRankSolver, solve

pytestmark = pytest.mark.filterwarnings("ignore:the affinities fall into")


def assert_is_a_diffusion_map(model, n_points, n_components):
    """Orthonormal right eigenvectors of the walk, of the largest eigenvalues but the first."""
    assert model.embedding_.shape == (n_points, n_components)
    assert model.eigenvalues_.shape == (n_components,)
    assert np.isfinite(model.embedding_).all()
    assert (np.diff(model.eigenvalues_) <= 0).all()
    assert np.abs(model.eigenvalues_).max() <= 1.0
    A = model.affinity_.toarray() if sparse.issparse(model.affinity_) else model.affinity_
    degree = A.sum(axis=1)
    vectors, share = model._eigenvectors, degree / degree.sum()
    np.testing.assert_allclose(
        vectors.T @ (share[:, None] * vectors), np.eye(n_components), atol=1e-6
    )
    np.testing.assert_allclose(share @ vectors, 0.0, atol=1e-6)
    np.testing.assert_allclose(
        A @ vectors / degree[:, None], vectors * model.eigenvalues_, atol=1e-5
    )
    root = np.sqrt(degree)
    exact = np.linalg.eigvalsh(A / root / root[:, None])[::-1][1 : n_components + 1]
    np.testing.assert_allclose(model.eigenvalues_, exact, atol=1e-7)


@pytest.mark.parametrize(
    ("seed", "n_points", "n_components", "bandwidth"),
    [
        (287, 37, 1, 0.0701399051031067),
        (346, 23, 1, 0.0044399049426203634),
        (685, 36, 2, 0.001588686588070737),
        (808, 34, 1, 0.013960364600089438),
        (1061, 39, 3, 0.009752971958435004),
        (1190, 25, 4, 0.008121547704063748),
    ],
)
def test_a_small_bandwidth_gives_as_many_coordinates_as_were_asked_for(
    seed, n_points, n_components, bandwidth
):
    rng = np.random.default_rng(seed)
    rng.integers(3, 40)  # leads to points that showed it
    X = rng.normal(size=(n_points, rng.integers(1, 4)))
    model = DiffusionMap(n_components, bandwidth=bandwidth).fit(X)
    assert_is_a_diffusion_map(model, n_points, n_components)


def subset_solver_that(result):
    """LAPACK's solver of all eigenvectors, and of some of them one that gives `result`."""
    original = linalg.eigh

    def eigh(A, subset_by_index=None, eigvals_only=False, **options):
        if eigvals_only:
            return np.empty(0)
        found = original(A, **options)
        return found if subset_by_index is None else result(*found)

    return eigh


def too_few(values, vectors):
    return values[-1:], vectors[:, -1:]


def not_numbers(values, vectors):
    return values[-3:], np.full_like(vectors[:, -3:], np.nan)


def not_orthogonal(values, vectors):
    return values[[-1, -1, -1]], vectors[:, [-1, -1, -1]]


def no_convergence(*_found):
    raise linalg.LinAlgError("no convergence")


@pytest.mark.parametrize("fault", [too_few, not_numbers, not_orthogonal, no_convergence])
def test_a_dense_solver_that_fails_is_replaced(fault, monkeypatch):
    X = np.random.default_rng(0).normal(size=(30, 3))
    exact = DiffusionMap(3).fit(X)
    monkeypatch.setattr(_eigenvectors.linalg, "eigh", subset_solver_that(fault))
    model = DiffusionMap(3).fit(X)
    np.testing.assert_allclose(model.embedding_, exact.embedding_, atol=1e-9)


@pytest.mark.parametrize("fault", [too_few, no_convergence])
def test_a_completion_of_low_rank_has_all_its_directions(fault, monkeypatch):
    X = holes()
    exact = solve(X, 0.5, LowRankSolver(4)).factors
    monkeypatch.setattr(_eigenvectors.linalg, "eigh", subset_solver_that(fault))
    found = solve(X, 0.5, LowRankSolver(4)).factors
    np.testing.assert_allclose(found[0] @ found[1].T, exact[0] @ exact[1].T, atol=1e-8)


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("fault", ["error", "fewer", "nan"])
def test_iterations_that_fail_are_replaced(wrap, fault, monkeypatch):
    X = np.random.default_rng(1).normal(size=(40, 3))
    distances = wrap(np.linalg.norm(X[:, None] - X, axis=-1))
    exact = DiffusionMap(3, metric="precomputed").fit(distances)

    def eigsh(A, k, **_options):
        if fault == "error":
            raise ArpackNoConvergence("no convergence", np.empty(0), np.empty((40, 0)))
        columns = k - 1 if fault == "fewer" else k
        return np.zeros(columns), np.full((A.shape[0], columns), np.nan)

    monkeypatch.setattr(_eigenvectors, "eigsh", eigsh)
    iterative = DiffusionMap(3, metric="precomputed", eigen_solver="arpack")
    model = iterative.fit(distances)
    np.testing.assert_allclose(model.embedding_, exact.embedding_, atol=1e-9)
    monkeypatch.setattr(_eigenvectors, "_MOST_DENSE", 20)
    with pytest.raises(linalg.LinAlgError, match="eigenvectors of 40 points did not converge"):
        iterative.fit(distances)


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("seed", range(10))
def test_iterations_miss_no_copy_of_an_eigenvalue(wrap, seed):
    # Equal points at whole distances: parts that almost nothing joins.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2))
    distances = np.round(np.linalg.norm(X[:, None] - X, axis=-1))
    distances = np.where(distances == 0.0, 0.0 if wrap is np.asarray else 1e-9, distances)
    options = {"bandwidth": 0.1, "eigen_solver": "arpack"}
    model = DiffusionMap(4, metric="precomputed", **options).fit(wrap(distances))
    assert_is_a_diffusion_map(model, 60, 4)


def test_an_eigenvector_of_zeros_keeps_its_entries_and_sign():
    # A diagonal matrix: every other eigenvector is a unit vector, up to the known one.
    known = np.full(4, 0.5)
    values, vectors = _eigenvectors.leading_eigenvectors(np.eye(4), 3, known)
    np.testing.assert_allclose(values, 1.0)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(3), atol=1e-12)


def test_a_distance_of_a_point_to_itself_counts_for_nothing():
    X = np.random.default_rng(2).normal(size=(20, 3))
    distances = np.linalg.norm(X[:, None] - X, axis=-1)
    exact = DiffusionMap(2, metric="precomputed", bandwidth=1.0).fit(distances)
    other = distances.copy()
    np.fill_diagonal(other, np.inf)
    model = DiffusionMap(2, metric="precomputed", bandwidth=1.0).fit(other)
    np.testing.assert_array_equal(model.embedding_, exact.embedding_)
    assert np.isinf(other.diagonal()).all()  # what was handed in is left alone


@st.composite
def point_sets(draw):
    """Points with duplicates, some far away, and how to embed them."""
    n_points = draw(st.integers(2, 25))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = rng.normal(size=(n_points, draw(st.integers(1, 3))))
    if draw(st.booleans()):
        X = X[rng.integers(0, n_points, size=n_points)]
    if draw(st.booleans()):
        X = np.round(X)
    X *= 10.0 ** draw(st.integers(-3, 3))
    number = st.floats(-8, 8).map(lambda power: 10.0**power)
    bandwidth = draw(st.one_of(st.sampled_from(["auto", "local", "median"]), number))
    return X, draw(st.integers(1, n_points - 1)), bandwidth


@pytest.mark.parametrize("form", ["vectors", "distances", "sparse"])
@given(case=point_sets())
def test_any_points_at_any_bandwidth_have_a_diffusion_map(form, case):
    X, n_components, bandwidth = case
    metric = "masked" if form == "vectors" else "precomputed"
    if form != "vectors":
        X = np.linalg.norm(X[:, None] - X, axis=-1)
    if form == "sparse":
        X = sparse.csr_array(X)
    model = DiffusionMap(n_components, metric=metric, bandwidth=bandwidth).fit(X)
    assert_is_a_diffusion_map(model, X.shape[0], n_components)


def test_preconditioned_iterations_along_a_curve():
    n_points = 2000
    place = np.arange(n_points) + 0.3 * np.random.default_rng(0).normal(size=n_points)
    A = np.exp(-((np.subtract.outer(place, place) / 2.0) ** 2))
    root = np.sqrt(A.sum(axis=1))
    S, known = A / np.outer(root, root), root / np.linalg.norm(root)
    expected, vectors = _eigenvectors.leading_eigenvectors(S, 3, known, solver="dense")
    assert expected[0] > 1.0 - 1e-5
    found, of_sparse = _eigenvectors._preconditioned(
        sparse.csr_array(np.where(A > 1e-17, S, 0.0)), 3, known
    )
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(np.abs(of_sparse), np.abs(vectors), atol=1e-6)


def walk_of(points, width):
    """The symmetric walk of a Gaussian kernel, and its known eigenvector."""
    A = np.exp(-((np.linalg.norm(points[:, None] - points, axis=-1) / width) ** 2))
    root = np.sqrt(A.sum(axis=1))
    return A / np.outer(root, root), root / np.linalg.norm(root)


@pytest.mark.parametrize("shape", ["cloud", "curve", "apart"])
def test_some_hundred_points_have_the_eigenvectors_of_a_dense_solver(shape, monkeypatch):
    """Whether few iterations suffice (a cloud) or not (a curve, parts that are not connected)."""
    n_points = 420
    assert _eigenvectors._FEW_POINTS < n_points <= _eigenvectors._DENSE
    rng = np.random.default_rng(0)
    points = rng.normal(size=(n_points, 3)) * [3.0, 2.0, 1.0]
    if shape == "curve":
        points = np.arange(n_points)[:, None] + 0.3 * rng.normal(size=(n_points, 1))
    elif shape == "apart":
        points += 1e3 * (np.arange(n_points) % 3)[:, None]
    S, known = walk_of(points, 2.0)
    exact, vectors = _eigenvectors.leading_eigenvectors(S, 3, known, solver="dense")
    dense, n_dense = _eigenvectors._dense, []
    monkeypatch.setattr(_eigenvectors, "_dense", lambda *args: n_dense.append(1) or dense(*args))
    values, found = _eigenvectors.leading_eigenvectors(S, 3, known)
    np.testing.assert_allclose(values, exact, atol=1e-10)
    assert bool(n_dense) == (shape != "cloud")
    if shape != "apart":  # equal eigenvalues have no eigenvectors of their own
        np.testing.assert_allclose(found, vectors, atol=1e-7)
    np.testing.assert_allclose(S @ found, found * values, atol=1e-9)


@given(seed=st.integers(0, 10**6), n_points=st.integers(1, 30), n_links=st.integers(0, 40))
def test_components_are_counted_alike_in_dense_and_sparse_affinities(seed, n_points, n_links):
    rng = np.random.default_rng(seed)
    A = np.eye(n_points)
    for i, j in rng.integers(n_points, size=(n_links, 2)):
        A[i, j] = A[j, i] = rng.choice([1e-20, 0.5])
    np.fill_diagonal(A, 1.0)
    for least in (0.0, 1e-17):
        reached = np.greater(A, least)
        for _ in range(n_points):
            reached = reached @ reached
        expected = len(np.unique(reached, axis=0))
        for form in (A, sparse.csr_array(A)):
            assert count_components(form, least) == expected
