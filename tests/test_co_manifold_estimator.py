"""CoManifold as a scikit-learn estimator."""

import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.manifold import MDS, Isomap, SpectralEmbedding
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from comanifold import CoManifold


@parametrize_with_checks([CoManifold(n_components=1), CoManifold(n_components=1, absent="zero")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def blocks(n_rows=24, n_columns=18, missing=0.4, seed=0):
    """Two groups of rows by two of columns, noise, and entries missing."""
    rng = np.random.default_rng(seed)
    X = np.kron([[0.0, 4.0], [8.0, 2.0]], np.ones((n_rows // 2, n_columns // 2)))
    X += 0.5 * rng.normal(size=X.shape)
    X[rng.random(X.shape) < missing] = np.nan
    return X


def test_clone_pickle_and_refit():
    X = blocks()
    model = CoManifold(n_neighbors=(4, 3), bandwidth=("local", 3), keep_scales=True).fit(X)
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    np.testing.assert_array_equal(again.row_linkage_, model.row_linkage_)
    first = model.row_embedding_.copy()
    other = model.fit(blocks(seed=1)).row_embedding_.copy()
    assert not np.allclose(first, other)
    np.testing.assert_array_equal(model.fit(X).row_embedding_, first)


def test_the_input_is_not_changed():
    X = blocks()
    before = X.copy()
    model = CoManifold().fit(X)
    model.transform(X)
    model.transform_columns(X)
    np.testing.assert_array_equal(X, before)


def test_labels_of_a_data_frame_are_kept():
    X = pd.DataFrame(blocks(), index=[f"gene {i}" for i in range(24)])
    X.columns = [f"patient {j}" for j in range(18)]
    model = CoManifold().set_output(transform="pandas")
    embedding = model.fit_transform(X)
    assert list(embedding.index) == list(X.index)
    assert list(embedding.columns) == ["comanifold0", "comanifold1"]
    assert list(model.get_feature_names_out()) == ["comanifold0", "comanifold1"]
    assert list(model.row_names_in_) == list(X.index)
    assert list(model.feature_names_in_) == list(X.columns)
    np.testing.assert_allclose(model.transform(X), embedding, atol=1e-6)
    plain = CoManifold().fit(X.to_numpy())
    np.testing.assert_array_equal(plain.row_embedding_, model.row_embedding_)
    assert not hasattr(plain, "row_names_in_")


def test_in_a_pipeline_and_a_grid_search():
    X = blocks(n_rows=40)
    y = np.repeat([0, 1], 20)
    pipeline = make_pipeline(StandardScaler(), CoManifold(), KNeighborsClassifier(3))
    assert pipeline.fit(X, y).score(X, y) == 1.0
    search = GridSearchCV(
        make_pipeline(CoManifold(), LogisticRegression()),
        {"comanifold__n_components": [1, 2], "comanifold__scale_weights": ["learned", "cost"]},
        cv=2,
    )
    assert search.fit(X, y).best_score_ > 0.9


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_a_sparse_matrix_needs_a_meaning_of_what_is_absent(kind):
    X = blocks() + 1.0
    X[0, 0] = 0.0  # stored as it is: an observed zero
    rows, columns = np.nonzero(~np.isnan(X))
    stored = sparse.coo_array((X[rows, columns], (rows, columns)), shape=X.shape)
    with pytest.raises(ValueError, match='set absent="zero" or absent="missing"'):
        CoManifold().fit(kind(stored))
    missing = CoManifold(absent="missing").fit(kind(stored))
    np.testing.assert_array_equal(missing.filled_, CoManifold().fit(X).filled_)
    zero = CoManifold(absent="zero").fit(kind(stored))
    np.testing.assert_array_equal(zero.filled_, np.nan_to_num(X))


def test_masked_arrays_integers_and_single_precision():
    X = np.round(blocks() * 10)
    model = CoManifold().fit(X)
    masked = np.ma.masked_invalid(X)
    np.testing.assert_array_equal(CoManifold().fit(masked).filled_, model.filled_)
    integers = np.ma.masked_array(np.nan_to_num(X).astype(int), np.isnan(X))
    np.testing.assert_array_equal(CoManifold().fit(integers).filled_, model.filled_)
    np.testing.assert_array_equal(CoManifold().fit(X.astype(np.float32)).filled_, model.filled_)
    complete = np.nan_to_num(X).astype(int)
    np.testing.assert_array_equal(CoManifold().fit(complete).filled_, complete)


def test_any_estimator_of_distances_can_embed():
    X = blocks()
    isomap = CoManifold(embedding=Isomap(metric="precomputed", n_components=3, n_neighbors=15)).fit(
        X
    )
    assert isomap.row_embedding_.shape == (24, 3)
    assert isomap.column_embedding_.shape == (18, 3)
    expected = Isomap(metric="precomputed", n_components=3, n_neighbors=15).fit_transform(
        isomap.row_distances_
    )
    ratio = pdist(isomap.row_embedding_) / pdist(expected)
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)
    assert isomap.transform(X[:2]).shape == (2, 3)
    assert not hasattr(isomap, "row_eigenvalues_")
    assert not hasattr(isomap, "row_affinity_")
    assert list(isomap.get_feature_names_out()) == [f"comanifold{i}" for i in range(3)]


def _mds():
    """A random start of its own, and no transform."""
    parameters = {"n_init": 1, "init": "random"}
    try:
        return MDS(metric="precomputed", **parameters)
    except TypeError:  # older versions
        return MDS(dissimilarity="precomputed", n_init=1)


def test_an_estimator_that_places_no_new_points():
    mds = _mds()
    model = CoManifold(embedding=mds, random_state=3).fit(blocks())
    again = CoManifold(embedding=mds, random_state=3).fit(blocks())
    np.testing.assert_array_equal(model.row_embedding_, again.row_embedding_)
    assert not hasattr(model, "transform_columns")
    with pytest.raises(AttributeError, match="transform"):
        model.transform(blocks())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components must be a positive integer"),
        ({"n_components": 18}, "X has 18 column"),
        ({"n_neighbors": 0}, "n_neighbors must be a positive integer, got 0"),
        ({"n_neighbors": "5", "distances": "sparse"}, "n_neighbors must be a positive integer"),
        ({"n_neighbors": (1, 2, 3)}, "n_neighbors must be"),
        ({"penalty": "cubic"}, "penalty"),
        ({"solver": "slow"}, "solver must be one of 'fast', 'paper'"),
        ({"start_scale": 0.5}, "start_scale must be"),
        ({"start_scale": (1, 2, 3)}, "start_scale must be"),
        ({"alpha": "none"}, "alpha must be a number"),
        ({"alpha": np.nan}, "alpha must be a number"),
        ({"n_passes": 0}, "n_passes must be a positive integer"),
        ({"n_passes": True}, "n_passes must be a positive integer"),
        ({"embedding": "pca"}, "embedding must be one of 'diffusion', 'umap', 'tsne'"),
        ({"embedding": 3}, "embedding must be"),
        ({"embedding": SimpleNamespace(fit_transform=abs)}, "with fit_transform and get_params"),
        ({"bandwidth": 0.0}, "bandwidth must be"),
        ({"distances": "some"}, "distances must be one of 'auto', 'dense', 'sparse'"),
        ({"metric": "cosine"}, "metric must be one of 'multi-scale', 'tree'"),
        ({"first_graphs": "full"}, "first_graphs must be one of 'completed', 'masked'"),
        ({"traversal": "diagonal"}, "traversal must be one of 'paper', 'symmetric'"),
        ({"tol": 0.0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        CoManifold(**parameters).fit(blocks())


def test_wrong_new_points_are_named():
    model = CoManifold().fit(blocks())
    with pytest.raises(ValueError, match="18 features"):
        model.transform(np.zeros((2, 5)))
    with pytest.raises(ValueError, match="must have the 24 rows"):
        model.transform_columns(np.zeros((18, 24)))
    with pytest.raises(ValueError, match="inf"):
        model.transform(np.full((1, 18), np.inf))
    with pytest.raises(ValueError, match="inf"):
        model.transform_columns(np.full((24, 1), np.inf))


def test_verbose_reports_on_standard_error(capfd):
    CoManifold(verbose=2, n_passes=1, scale_weights="cost").fit(blocks())
    out, err = capfd.readouterr()
    assert out == ""
    assert "pass 1 of 1" in err
    assert "n_row_clusters=24" in err
    CoManifold().fit(blocks())
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("make", [lambda: SpectralEmbedding(affinity="precomputed"), _mds])
def test_what_cannot_transform_has_no_such_method(make):
    X, embedding = blocks(), make()
    model = CoManifold(embedding=embedding, random_state=0)
    for unfitted in (model, clone(model), clone(model).set_output(transform="pandas")):
        assert not hasattr(unfitted, "transform")
        assert not hasattr(unfitted, "transform_columns")
    with pytest.raises(AttributeError, match=r"CoManifold.*transform"):
        model.transform(X)
    model.set_output(transform="pandas").fit(X)
    assert list(model.fit_transform(X).columns) == ["comanifold0", "comanifold1"]
    assert not hasattr(model, "transform")
    pipeline = make_pipeline(StandardScaler(), clone(model))
    assert pipeline.fit_transform(X).shape == (len(X), 2)
    assert not hasattr(pipeline, "transform")
    with pytest.raises(TypeError, match="intermediate steps"):
        make_pipeline(clone(model), StandardScaler()).fit(X)
    # What was fitted counts.
    assert not hasattr(model.set_params(embedding="diffusion"), "transform")
    assert hasattr(clone(model), "transform")
    fitted = CoManifold().fit(X).set_params(embedding=embedding)
    assert fitted.transform(X + 0.01).shape == (len(X), 2)


def test_names_can_be_set_after_the_fit(tmp_path):
    model = CoManifold().fit(blocks())
    assert not hasattr(model, "row_names_in_")
    rows = [f"gene {i}" for i in range(24)]
    assert model.set_names(rows=rows) is model
    assert list(model.row_names_in_) == rows
    assert not hasattr(model, "feature_names_in_")
    model.set_names(columns=[f"patient {j}" for j in range(18)])
    model.save(tmp_path / "model")
    loaded = CoManifold.load(tmp_path / "model")
    assert list(loaded.row_names_in_) == rows
    assert list(loaded.feature_names_in_)[:2] == ["patient 0", "patient 1"]
    with pytest.raises(ValueError, match=r"rows must have one label for each of the 24 rows"):
        model.set_names(rows=["a"])


@pytest.mark.parametrize("container", ["pandas", "polars", "default"])
def test_new_columns_come_in_the_container_that_is_set(container):
    if container == "polars":
        pytest.importorskip("polars")
    X = pd.DataFrame(blocks())
    X.columns = [f"patient {j}" for j in range(18)]
    model = CoManifold().fit(X).set_output(transform=container)
    new = (X.iloc[:, :3] + 0.01).rename(columns=lambda name: f"new {name}")
    placed = model.transform_columns(new)
    plain = CoManifold().fit(X).transform_columns(new)
    np.testing.assert_array_equal(np.asarray(placed), plain)
    if container == "default":
        assert type(placed) is np.ndarray
        return
    assert list(placed.columns) == list(model.get_feature_names_out())
    if container == "pandas":
        assert list(placed.index) == list(new.columns)
        with sklearn.config_context(transform_output="pandas"):
            again = CoManifold().fit(X).transform_columns(new)
        pd.testing.assert_frame_equal(again, placed)


def test_single_precision_is_computed_in_double_precision():
    X = blocks().astype(np.float32)
    model, other = CoManifold().fit(X), CoManifold().fit(X.astype(float))
    for name in ("row_embedding_", "column_distances_", "filled_", "data_"):
        assert getattr(model, name).dtype == np.float64
        np.testing.assert_array_equal(getattr(model, name), getattr(other, name))
    assert model.transform(X).dtype == np.float64


def test_attributes_of_an_earlier_fit_do_not_stay():
    X = pd.DataFrame(blocks(), index=[f"gene {i}" for i in range(24)])
    X.columns = [f"patient {j}" for j in range(18)]
    model = CoManifold(keep_scales=True).fit(X)
    model.set_params(embedding=Isomap(metric="precomputed", n_neighbors=15), keep_scales=False)
    model.fit(X.to_numpy())
    gone = ("row_names_in_", "feature_names_in_", "row_eigenvalues_", "row_linkage_")
    assert not any(hasattr(model, name) for name in gone)
