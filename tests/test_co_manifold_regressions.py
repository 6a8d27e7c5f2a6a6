"""Faults found by looking for them."""

import warnings

import numpy as np
import pandas as pd
import pytest
from oracles.fits import scales_of
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.decomposition import KernelPCA
from sklearn.manifold import Isomap
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from threadpoolctl import threadpool_info, threadpool_limits

from comanifold import CoManifold, DiffusionMap


def low_rank(seed, shape=(30, 20), missing=0.4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(shape[0], 2)) @ rng.normal(size=(2, shape[1]))
    X += 0.3 * rng.normal(size=shape)
    return np.where(rng.random(shape) < missing, np.nan, X)


def blas_threads():
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]


def test_the_threads_of_linear_algebra_are_given_back():
    X = low_rank(0)
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        for _ in range(5):
            CoManifold(n_jobs=2).fit(X)
            assert blas_threads() == before


def test_the_same_bits_whatever_threads_linear_algebra_has():
    X = low_rank(1, shape=(320, 260))
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            found.append(CoManifold(scale_weights="cost").fit(X).row_embedding_)
    np.testing.assert_array_equal(*found)


def test_rows_that_agree_with_many_are_still_placed_where_they_were():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.integers(1, 6, (30, 20)) * 1.0
        X[rng.random(X.shape) < 0.8] = np.nan
        X[:, 0] = rng.integers(1, 6, 30)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = CoManifold(bandwidth=1.0 if seed % 2 else "auto").fit(X)
            np.testing.assert_allclose(model.transform(X), model.row_embedding_, atol=1e-6)


def test_a_list_has_no_row_labels():
    assert not hasattr(CoManifold().fit(low_rank(0).tolist()), "row_names_in_")


def test_a_sparse_matrix_is_not_changed():
    rows, columns = np.nonzero(~np.isnan(low_rank(0)))
    data = np.ones(2 * len(rows))
    X = sparse.coo_array((data, (np.tile(rows, 2), np.tile(columns, 2))), shape=(30, 20))
    X.data[: len(rows)] = np.arange(len(rows))
    before = X.nnz
    CoManifold(absent="missing").fit(X)
    assert X.nnz == before


def test_a_bandwidth_is_in_the_units_of_the_distances():
    model = CoManifold(bandwidth=300.0).fit(100.0 * low_rank(0))
    expected = np.exp(-((model.row_distances_ / 300.0) ** 2))
    np.testing.assert_allclose(model.row_affinity_, expected, rtol=1e-10)


@pytest.mark.parametrize("first_graphs", ["completed", "masked"])
def test_learned_weights_add_up_to_one(first_graphs):
    model = CoManifold(first_graphs=first_graphs).fit(low_rank(0))
    total = sum(scale.weight for scale in scales_of(model)) + model.completions_["weight"].sum()
    assert total == pytest.approx(1.0)


def test_the_row_tree_of_the_paper_follows_its_scales():
    for seed in range(3):
        X = low_rank(seed, shape=(40, 25), missing=0.6)
        model = CoManifold.as_in_the_paper(keep_scales=True).fit(X)
        first, last = scales_of(model)[0], scales_of(model)[-1]
        assert last.n_row_clusters == 1
        # All joined by the last scale, and not above it.
        n_steps = last.l - first.l + last.k - first.k
        assert model.row_linkage_[:, 2].max() <= 2.0 ** (first.l + n_steps)


def test_an_outlier_does_not_keep_the_surface_from_its_start():
    X = low_rank(0, shape=(60, 40), missing=0.0)
    X[0, 0] = 1e6
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        first = scales_of(CoManifold(scale_weights="cost").fit(X))[0]
    assert (first.n_row_clusters, first.n_column_clusters) == X.shape


@pytest.mark.parametrize("time", [0.0, 0.5, 1.0, 2.0])
def test_negative_eigenvalues(time):
    points = np.random.default_rng(0).normal(size=(30, 3))
    distances = cdist(points, points) ** 3
    model = DiffusionMap(28, metric="precomputed", diffusion_time=time).fit(distances)
    assert model.eigenvalues_.min() < 0
    np.testing.assert_allclose(model.transform(distances), model.embedding_, atol=1e-6)


def test_sparse_distances_that_are_infinite_are_left_out():
    near = sparse.csr_array(np.array([[0, 1, np.inf], [1, 0, 1], [np.inf, 1, 0]]))
    bounded = sparse.csr_array(np.array([[0, 1.0, 0], [1, 0, 1], [0, 1, 0]]))
    models = [DiffusionMap(1, metric="precomputed").fit(X) for X in (near, bounded)]
    np.testing.assert_array_equal(models[0].embedding_, models[1].embedding_)


def test_a_single_new_point_with_nothing_observed():
    model = DiffusionMap().fit(np.random.default_rng(0).normal(size=(20, 4)))
    assert np.isnan(model.transform(np.full((1, 4), np.nan))).all()


@pytest.mark.parametrize("bandwidth", ["median", "local", "auto"])
def test_a_far_new_point_is_placed_at_the_edge(bandwidth):
    X = low_rank(0)
    model = CoManifold(bandwidth=bandwidth).fit(X)
    assert np.isfinite(model.transform(1e6 * X)).all()
    with pytest.raises(ValueError, match="squares overflow"):
        model.transform(np.full((1, 20), 1e300))


def test_every_kind_of_missing_value():
    X = low_rank(0)
    model = CoManifold().fit(X)
    frame = pd.DataFrame(X)
    none = np.where(np.isnan(X), None, X.astype(object))
    hidden = np.ma.masked_array(np.nan_to_num(X, nan=1e6).astype(object), np.isnan(X))
    for other in (frame.astype("Float64"), pd.DataFrame(none), none, none.tolist(), hidden):
        np.testing.assert_array_equal(CoManifold().fit(other).filled_, model.filled_)
        columns = model.transform_columns(other)
        np.testing.assert_allclose(columns, model.column_embedding_, atol=1e-6)
    with pytest.raises(ValueError, match="must hold numbers"):
        model.transform_columns(X.astype(str))
    with pytest.raises(ValueError, match="complex"):
        model.transform_columns(X.astype(complex))


def test_passes_are_run_where_nothing_can_be_held_out(capfd):
    X = np.where(np.eye(4, dtype=bool), np.nan, np.arange(16.0).reshape(4, 4) ** 1.5)
    CoManifold(n_passes=3, verbose=1).fit(X)
    assert "pass 3 of 3" in capfd.readouterr().err


def test_the_traversal_of_the_paper_ends_quietly_with_several_workers():
    X = low_rank(3)
    alone = CoManifold.as_in_the_paper().fit(X)
    together = CoManifold.as_in_the_paper(n_jobs=3).fit(X)
    np.testing.assert_array_equal(together.row_distances_, alone.row_distances_)
    assert len(scales_of(together)) == len(scales_of(alone))


def test_an_embedding_that_would_take_distances_for_features_is_refused():
    X = low_rank(0)
    with pytest.raises(ValueError, match='set metric="precomputed" in Isomap'):
        CoManifold(embedding=Isomap()).fit(X)
    with pytest.raises(ValueError, match="embedding must be"):
        CoManifold(embedding=Isomap).fit(X)


def test_embeddings_of_different_dimension():
    kernel = FunctionTransformer(lambda distances: np.exp(-distances))
    embedding = make_pipeline(kernel, KernelPCA(kernel="precomputed"))
    X = low_rank(0)
    model = CoManifold(embedding=embedding).fit(X)
    assert model.row_embedding_.shape[1] != model.column_embedding_.shape[1]
    placed = model.transform_columns(X)
    np.testing.assert_allclose(placed, model.column_embedding_, atol=1e-6)


def test_rows_with_nothing_observed_join_the_tree_last():
    X = low_rank(0)
    X[[3, 7]] = np.nan
    with pytest.warns(UserWarning, match="no observed entry"):
        model = CoManifold(keep_scales=True).fit(X)
    tree = model.row_linkage_
    assert [{3, 7} & set(row[:2]) for row in tree] == [set()] * (len(tree) - 2) + [{3}, {7}]


def test_columns_with_other_row_labels_are_refused():
    frame = pd.DataFrame(low_rank(0), index=[f"row {i}" for i in range(30)])
    model = CoManifold().fit(frame)
    with pytest.raises(ValueError, match="labels of the rows"):
        model.transform_columns(frame.iloc[::-1])


def test_a_constant_matrix_needs_few_scales():
    model = CoManifold(scale_weights="cost", alpha=3.0).fit(np.full((3, 3), 0.125))
    assert len(scales_of(model)) <= 4
    assert np.isfinite([scale.weight for scale in scales_of(model)]).all()


@pytest.mark.parametrize("alpha", [10.0, -10.0])
def test_an_alpha_whose_weights_leave_the_range_of_numbers_is_named(alpha):
    with pytest.raises(ValueError, match=r"alpha=-?10 gives the scale \(60, 60\) a weight of 2\^"):
        CoManifold(start_scale=60, scale_weights="cost", alpha=alpha).fit(low_rank(0))


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
def test_a_bandwidth_so_small_that_squares_overflow(wrap):
    D = np.abs(np.subtract.outer([0.0, 1.0, 3.0], [0.0, 1.0, 3.0]))
    with pytest.warns(UserWarning, match="3 connected components"):
        model = DiffusionMap(1, metric="precomputed", bandwidth=1e-200).fit(wrap(D))
    np.testing.assert_array_equal(model.affinity_ @ np.ones(3), 1.0)
    # Too far from all points to be near any.
    assert np.isnan(model.transform(wrap(D[:1] + 7.0))).all()


def test_verbose_is_checked_before_the_work(monkeypatch):
    monkeypatch.setattr("comanifold.co_manifold.run_passes", None)
    with pytest.raises(ValueError, match="verbose must be an integer, got 'x'"):
        CoManifold(verbose="x").fit(low_rank(0))


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("shape", [(6, 5), (50, 45)])  # of the larger, few directions are sought
def test_a_constant_matrix_with_gaps_and_sparse_distances(shape):
    X = np.full(shape, 0.125)
    X[np.random.default_rng(0).random(shape) < 0.2] = np.nan
    model = CoManifold(distances="sparse").fit(X)
    np.testing.assert_array_equal(model.filled_, 0.125)
    np.testing.assert_array_equal(model.row_distances_.data, 0.0)
