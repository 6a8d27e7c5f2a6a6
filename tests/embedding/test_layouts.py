"""Embeddings by name, against known layouts and scikit-learn."""

import builtins
import importlib.util
import pickle

import numpy as np
import pytest
from oracles.fits import holes
from scipy import sparse
from scipy.spatial import procrustes
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.manifold import Isomap, SpectralEmbedding
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from comanifold import CoManifold, DiffusionMap
from comanifold._embedding.layouts import TITLES, make_embedding
from comanifold.datasets import make_checkerboard, remove_entries

NAMES = ("umap", "tsne", "isomap", "mds")
SPARSE = ("umap", "tsne", "isomap")


def layout(name, distances, n_components=2, random_state=None):
    estimator = make_embedding(
        name, n_components=n_components, bandwidth="local", random_state=random_state
    )
    return estimator.fit_transform(distances)


def plane(n_points=120, seed=0):
    """Points in a rectangle, and their distances."""
    points = np.random.default_rng(seed).uniform(size=(n_points, 2)) * [2.0, 1.0]
    return points, squareform(pdist(points))


def groups(n_groups=4, size=25, seed=0):
    """Distances of points in groups that are far apart, and the groups."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(n_groups), size)
    centres = 20.0 * np.eye(n_groups)
    points = np.hstack([centres[labels], rng.normal(size=(len(labels), 3))])
    return squareform(pdist(points)), labels


def stored(distances, n_near, n_far=30):
    """Sparse distances to the nearest points and to some others, as of a fit."""
    n_points = len(distances)
    keep = np.zeros(distances.shape, dtype=bool)
    far = np.linspace(n_near + 1, n_points - 1, n_far).astype(int)
    for i, row in enumerate(distances):
        keep[i, np.argsort(row)[np.r_[0 : n_near + 1, far]]] = True
    i, j = np.nonzero(keep | keep.T)
    return sparse.csr_array((distances[i, j], (i, j)), shape=distances.shape)


@pytest.mark.parametrize("name", ["isomap", "mds"])
def test_points_in_the_plane_are_recovered(name):
    points, distances = plane(400 if name == "isomap" else 60)
    found = layout(name, distances)
    difference = procrustes(points, found)[2]
    # Isomap walks along edges, which are longer than straight lines.
    assert difference < (0.01 if name == "isomap" else 1e-10)


@pytest.mark.parametrize("name", ["isomap", "mds"])
def test_coordinates_are_in_the_units_of_the_distances(name):
    _, distances = plane(50)
    ratio = pdist(layout(name, distances)).mean() / squareform(distances).mean()
    assert 0.99 < ratio < 1.2
    for unit in (1e-150, 1e150):
        np.testing.assert_allclose(
            layout(name, unit * distances), unit * layout(name, distances), rtol=1e-6, atol=0.0
        )


@pytest.mark.parametrize("name", ["umap", "tsne"])
def test_the_units_of_the_distances_do_not_matter(name):
    distances, _ = groups(size=10)
    for unit in (2.0**-500, 2.0**500):
        np.testing.assert_array_equal(layout(name, unit * distances), layout(name, distances))


def test_isomap_unrolls_a_curve():
    angle = np.linspace(0.0, 1.5 * np.pi, 200)
    distances = squareform(pdist(np.column_stack([np.cos(angle), np.sin(angle)])))
    line = layout("isomap", distances, n_components=1)[:, 0]
    assert abs(np.corrcoef(line, angle)[0, 1]) > 0.9999
    assert np.ptp(line) == pytest.approx(1.5 * np.pi, rel=1e-3)


@pytest.mark.parametrize("n_components", [1, 2, 5])
def test_isomap_is_that_of_scikit_learn_where_the_graph_is_connected(n_components):
    points, distances = plane(150)
    ours = make_embedding("isomap", n_components=n_components, bandwidth="local", random_state=None)
    theirs = Isomap(n_components=n_components, metric="precomputed", eigen_solver="dense")
    one, other = ours.fit_transform(distances), theirs.fit_transform(distances)
    np.testing.assert_allclose(np.abs(one), np.abs(other), atol=1e-8)
    new = np.random.default_rng(1).uniform(size=(20, 2)) * [2.0, 1.0]
    apart = np.linalg.norm(new[:, None] - points, axis=2)
    signs = np.sign((one * other).sum(axis=0))
    np.testing.assert_allclose(ours.transform(apart), signs * theirs.transform(apart), atol=1e-8)


def test_isomap_puts_fitted_points_where_they_were():
    _, distances = plane(80)
    for given in (distances, stored(distances, 20)):
        isomap = make_embedding("isomap", n_components=2, bandwidth="local", random_state=None)
        coordinates = isomap.fit_transform(given)
        np.testing.assert_allclose(isomap.transform(given), coordinates, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_groups_that_are_far_apart_are_separated(name):
    distances, labels = groups(n_groups=3)
    if name != "mds":
        distances, labels = groups(n_groups=6)
    found = KMeans(labels.max() + 1, n_init=10, random_state=0).fit_predict(layout(name, distances))
    assert adjusted_rand_score(labels, found) == 1.0


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_distances_do_as_well(name):
    distances, labels = groups(n_groups=3, size=60)
    few = stored(distances, 45)
    assert few.nnz < 0.7 * distances.size
    found = KMeans(3, n_init=10, random_state=0).fit_predict(layout(name, few))
    assert adjusted_rand_score(labels, found) == 1.0


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_distances_that_are_all_stored_are_dense_ones(name):
    _, distances = plane(40)
    i, j = np.indices(distances.shape).reshape(2, -1)
    everything = sparse.csr_array((distances.ravel(), (i, j)), shape=distances.shape)
    found = layout(name, everything)
    if name == "isomap":
        np.testing.assert_allclose(found, layout(name, distances), atol=1e-12)
    # UMAP and t-SNE start elsewhere, and end alike.
    near = np.argsort(squareform(pdist(found)), axis=1)[:, 1]
    rank = np.argsort(np.argsort(distances, axis=1), axis=1)
    assert np.median(rank[np.arange(40), near]) <= 2


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_points", [2, 3, 4, 5, 8, 17])
def test_few_points(name, n_points):
    _, distances = plane(n_points)
    for n_components in {1, min(2, n_points - 1), n_points - 1}:
        found = layout(name, distances, n_components)
        assert found.shape == (n_points, n_components)
        assert found.dtype == np.float64
        assert np.isfinite(found).all()
        assert len(np.unique(found, axis=0)) == n_points


@pytest.mark.parametrize("name", NAMES)
def test_points_that_coincide(name):
    """Rows that fuse at every scale have no distance."""
    for n_copies in (3, 20):
        distances = np.kron(plane(10)[1], np.ones((n_copies, n_copies)))
        assert np.isfinite(layout(name, distances)).all()
    assert np.isfinite(layout(name, np.zeros((12, 12)))).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_bits(name):
    distances, _ = groups(size=10)
    default = layout(name, distances)
    np.testing.assert_array_equal(default, layout(name, distances, random_state=0))
    np.testing.assert_array_equal(default, layout(name, distances.copy()))
    differs = not np.array_equal(default, layout(name, distances, random_state=1))
    assert differs == (name in ("umap", "tsne"))


@pytest.mark.parametrize("name", NAMES)
def test_distances_are_left_as_they_are(name):
    distances, _ = groups(size=10)
    before = distances.copy()
    layout(name, distances)
    layout(name, distances, n_components=4)
    np.testing.assert_array_equal(distances, before)


@pytest.mark.parametrize("name", [*NAMES, "diffusion"])
def test_fit_and_embed_agree(name):
    X = holes(40, 30, seed=3)
    X[4], X[:, 7] = np.nan, np.nan
    with pytest.warns(UserWarning, match="no observed entry"):
        fitted, plain = CoManifold(embedding=name).fit(X), CoManifold().fit(X)
    before = pickle.dumps(plain)
    for mode, lost in (("row", 4), ("column", 7)):
        found = plain.embed(name, mode=mode)
        np.testing.assert_array_equal(found, getattr(fitted, f"{mode}_embedding_"))
        np.testing.assert_array_equal(np.flatnonzero(np.isnan(found).any(axis=1)), [lost])
        assert plain.embed(name, mode=mode, n_components=1).shape == (len(found), 1)
    assert pickle.dumps(plain) == before
    assert fitted.embedding_name_ == name
    assert hasattr(fitted, "row_eigenvalues_") == (name == "diffusion")


def test_embed_takes_estimators():
    X = holes(40, 30, seed=3)
    model = CoManifold(random_state=0).fit(X)
    spectral = SpectralEmbedding(affinity="precomputed", n_components=3)
    assert model.embed(spectral).shape == (40, 3)
    assert model.embed(spectral, n_components=1, mode="column").shape == (30, 1)
    assert spectral.n_components == 3
    own = DiffusionMap(metric="precomputed", bandwidth="median")
    np.testing.assert_array_equal(
        model.embed(own), clone(model).set_params(bandwidth="median").fit(X).row_embedding_
    )


def test_the_seed_of_the_model_is_that_of_embed():
    X = holes(40, 30, seed=3)
    model = CoManifold(random_state=5).fit(X)
    np.testing.assert_array_equal(model.embed("tsne"), model.embed("tsne", random_state=5))
    assert not np.array_equal(model.embed("tsne"), model.embed("tsne", random_state=0))


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (("pca",), {}, "embedding must be one of 'diffusion', 'umap', 'tsne', 'isomap', 'mds'"),
        ((3,), {}, "embedding must be one of"),
        ((Isomap(),), {}, 'set metric="precomputed" in Isomap'),
        (("mds",), {"mode": "rows"}, "mode must be one of 'row', 'column'"),
        (("mds",), {"n_components": 0}, "n_components must be a positive integer"),
        (("mds",), {"n_components": 24}, "less than the number of rows with an observed"),
    ],
)
def test_wrong_arguments_of_embed_are_named(arguments, options, words):
    model = CoManifold().fit(holes(24, 18))
    with pytest.raises(ValueError, match=words):
        model.embed(*arguments, **options)


@pytest.mark.parametrize("name", SPARSE)
def test_fits_with_sparse_distances(name):
    board = make_checkerboard(90, 80, random_state=0)
    X = remove_entries(board.X, 0.3, random_state=0)
    model = CoManifold(embedding=name, distances="sparse").fit(X)
    assert sparse.issparse(model.row_distances_)
    found = KMeans(4, n_init=10, random_state=0).fit_predict(model.row_embedding_)
    assert adjusted_rand_score(board.row_labels, found) == 1.0
    # Those of a diffusion map have fewer.
    found = CoManifold(distances="sparse").fit(X).embed(name)
    found = KMeans(4, n_init=10, random_state=0).fit_predict(found)
    assert adjusted_rand_score(board.row_labels, found) == 1.0


def test_more_neighbours_are_kept_for_t_sne():
    X = holes(200, 130)
    model = CoManifold(embedding="tsne", distances="sparse", scale_weights="cost").fit(X)
    assert np.diff(model.row_distances_.indptr).min() > 91 + 30
    fewer = CoManifold(distances="sparse", scale_weights="cost").fit(X)
    assert np.diff(fewer.row_distances_.indptr).min() < 91


@pytest.mark.parametrize(("name", "n_components"), [("mds", 2), ("tsne", 4)])
def test_what_needs_all_distances(name, n_components):
    X = holes(40, 30)
    with pytest.raises(ValueError, match=rf'"{name}".* does not: use distances="dense"'):
        CoManifold(n_components, embedding=name, distances="sparse").fit(X)
    model = CoManifold(distances="sparse").fit(X)
    with pytest.raises(ValueError, match=r'the rows were fitted with sparse.*distances="dense"'):
        model.embed(name, n_components=n_components)
    assert CoManifold().fit(X).embed(name, n_components=n_components).shape == (40, n_components)


@pytest.mark.parametrize("name", NAMES)
def test_small_matrices(name):
    rng = np.random.default_rng(0)
    for shape in ((4, 4), (4, 9), (7, 5)):
        model = CoManifold(embedding=name).fit(rng.normal(size=shape))
        assert np.isfinite(model.row_embedding_).all()
        assert np.isfinite(model.column_embedding_).all()
        assert sorted(model.row_order_) == list(range(shape[0]))


@pytest.mark.parametrize("name", NAMES)
def test_new_points_are_placed_by_isomap_only(name):
    X = holes(40, 30, seed=3)
    unfitted = CoManifold(embedding=name)
    assert hasattr(unfitted, "transform") == (name == "isomap")
    model = unfitted.fit(X)
    if name == "isomap":
        np.testing.assert_array_equal(model.transform(X), model.row_embedding_)
        placed = model.transform(X[::5] + 1e-6)
        near = np.linalg.norm(model.row_embedding_ - placed[:, None], axis=2).argmin(axis=1)
        # Not the same row exactly, since missing entries count as far.
        assert np.abs(near - np.arange(0, 40, 5)).max() <= 3
        assert model.transform_columns(X[:, :3] + 0.01).shape == (3, 2)
        return
    for method in ("transform", "transform_columns"):
        assert not hasattr(model, method)
        with pytest.raises(AttributeError) as caught:
            getattr(model, method)
        words = f"{caught.value} {caught.value.__cause__}"
        assert f"the embedding '{name}' has no transform for new points" in words


@pytest.mark.parametrize("name", NAMES)
def test_clone_and_pickle(name):
    X = holes(30, 20)
    model = CoManifold(embedding=name).fit(X)
    assert clone(model).embedding == name
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.row_embedding_, model.row_embedding_)
    np.testing.assert_array_equal(again.embed(name), model.row_embedding_)


def test_umap_that_is_not_installed(monkeypatch):
    found, imported = importlib.util.find_spec, builtins.__import__

    def find(name, *rest):
        return None if name == "umap" else found(name, *rest)

    def refuse(name, *rest, **more):
        if name == "umap":
            raise ModuleNotFoundError(name=name)
        return imported(name, *rest, **more)

    monkeypatch.setattr("comanifold._embedding.layouts.find_spec", find)
    monkeypatch.setattr(builtins, "__import__", refuse)
    X = holes(30, 20)
    words = r"umap-learn: pip install 'comanifold\[umap\]'"
    with pytest.raises(ImportError, match=words):
        CoManifold(embedding="umap").fit(X)
    model = CoManifold().fit(X)
    with pytest.raises(ImportError, match=words):
        model.embed("umap")
    assert model.embed("tsne").shape == (30, 2)


@parametrize_with_checks(
    [CoManifold(1, embedding=name) for name in ("tsne", "isomap", "mds")],
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_every_name_has_a_title():
    assert set(TITLES) == {"diffusion", *NAMES}
