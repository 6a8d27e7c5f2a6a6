"""Annotated data in, embeddings and graphs where scanpy looks for them."""

import numpy as np
import pytest
from oracles.annotated import annotated, assert_is_result
from scipy import sparse
from sklearn.cluster import SpectralClustering
from sklearn.manifold import Isomap
from sklearn.metrics import adjusted_rand_score

from comanifold import CoManifold
from comanifold.annotated import co_manifold
from comanifold.datasets import make_checkerboard, remove_entries

# The same numbers as those of the array


def test_it_is_the_fit_to_the_array_bit_for_bit(fitted, X):
    model = CoManifold().fit(X)
    assert_is_result(fitted, model)
    about = fitted.uns["comanifold"]
    np.testing.assert_array_equal(about["obs_eigenvalues"], model.row_eigenvalues_)
    np.testing.assert_array_equal(about["var_eigenvalues"], model.column_eigenvalues_)
    assert about["scales"]["n_row_clusters"].tolist() == [s.n_row_clusters for s in model.scales_]
    np.testing.assert_array_equal(fitted.X, X)


def test_layers_keys_and_parameters(adata, board):
    adata.layers["complete"] = board.X
    co_manifold(adata, layer="complete", key_added="cm", n_components=3, n_neighbors=(4, 6))
    model = CoManifold(3, n_neighbors=(4, 6)).fit(board.X)
    assert_is_result(adata, model, key="cm")
    about = adata.uns["cm"]
    assert about["layer"] == "complete"
    assert about["parameters"]["n_components"] == 3
    assert about["parameters"]["n_neighbors"].tolist() == [4, 6]
    assert {"cm_distances", "cm_connectivities"} == set(adata.obsp) == set(adata.varp)
    assert about["connectivities_key"] == "cm_connectivities"
    assert about["params"]["use_rep"] == "X_cm"


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
@pytest.mark.parametrize("zeros", ["observed", "missing"])
def test_zeros_mean_what_is_said_in_every_form(board, form, zeros):
    counts = np.where(np.quantile(board.X, 0.4, axis=1)[:, None] < board.X, board.X + 5.0, 0.0)
    with_nan = counts.copy()
    with_nan[2, 3] = np.nan
    stored = form(with_nan)
    if sparse.issparse(stored):
        stored.data[7] = 0.0  # a zero that is stored is a zero
        with_nan = stored.toarray()
    adata = annotated(stored)
    co_manifold(adata, zeros=zeros)
    expected = with_nan if zeros == "observed" else np.where(with_nan == 0, np.nan, with_nan)
    assert_is_result(adata, CoManifold().fit(expected))
    assert adata.uns["comanifold"]["zeros"] == zeros
    assert sparse.issparse(adata.X) == sparse.issparse(stored)


def test_integers_and_single_precision(board):
    counts = np.round(10 * (board.X - board.X.min())).astype(np.int64)
    for X in (counts, counts.astype(np.float32), sparse.csr_matrix(counts)):
        adata = annotated(X)
        co_manifold(adata)
        assert_is_result(adata, CoManifold().fit(counts))


# The graphs


@pytest.mark.parametrize("distances", ["dense", "sparse"])
def test_graphs_hold_the_nearest_and_their_affinities(adata, X, distances):
    co_manifold(adata, distances=distances, n_connected=8)
    model = CoManifold(distances=distances).fit(X)
    for mode, pairs in (("row", adata.obsp), ("column", adata.varp)):
        D, A = getattr(model, f"{mode}_distances_"), getattr(model, f"{mode}_affinity_")
        if sparse.issparse(D):
            stored = np.full(D.shape, np.inf)
            entries = D.tocoo()
            stored[entries.row, entries.col] = entries.data
            D, A = stored, A.toarray()
        near, affinity = pairs["comanifold_distances"], pairs["comanifold_connectivities"]
        D = D + np.diag(np.full(len(D), np.inf))
        assert near.format == affinity.format == "csr"
        for i in range(len(D)):
            row = near[[i]]
            np.testing.assert_allclose(np.sort(row.data), np.sort(D[i])[:7], rtol=1e-12)
            np.testing.assert_array_equal(D[i, row.indices], row.data)
        pattern = near.astype(bool).toarray()
        pattern |= pattern.T
        np.testing.assert_array_equal(affinity.toarray(), np.where(pattern, A, 0.0))
        assert affinity.data.min() > 0.0
        assert affinity.data.max() <= 1.0
        assert not affinity.diagonal().any()
        assert abs(affinity - affinity.T).nnz == 0


def test_graphs_of_other_embeddings_have_local_bandwidths(adata, fitted):
    co_manifold(adata, embedding=Isomap(metric="precomputed", n_neighbors=20))
    for name in ("comanifold_distances", "comanifold_connectivities"):
        expected = fitted.obsp[name].toarray()
        np.testing.assert_allclose(adata.obsp[name].toarray(), expected, rtol=1e-10)
    assert "obs_eigenvalues" not in adata.uns["comanifold"]
    assert adata.uns["comanifold"]["parameters"]["embedding"].startswith("Isomap")


def test_duplicates_are_neighbours_at_no_distance(board):
    X = board.X.copy()
    X[1] = X[0]
    adata = annotated(X)
    co_manifold(adata)
    near = adata.obsp["comanifold_distances"]
    assert (np.diff(near.indptr) == 14).all()
    assert 1 in near[[0]].indices
    assert adata.obsp["comanifold_connectivities"][0, 1] == 1.0


def test_few_points_have_as_many_neighbours_as_there_are(board):
    adata = annotated(board.X[:10, :8])
    co_manifold(adata)
    assert adata.uns["comanifold"]["params"]["n_neighbors"] == 10
    assert (np.diff(adata.obsp["comanifold_distances"].indptr) == 9).all()


def test_unobserved_rows_and_columns_stay_in_place_without_neighbours(X):
    X = X.copy()
    X[4] = np.nan
    X[:, 6] = np.nan
    adata = annotated(X)
    with pytest.warns(UserWarning, match="no observed entry"):
        co_manifold(adata)
    assert np.flatnonzero(np.isnan(adata.obsm["X_comanifold"]).any(axis=1)).tolist() == [4]
    assert np.flatnonzero(np.isnan(adata.varm["comanifold"]).any(axis=1)).tolist() == [6]
    for graph, lost in (
        (adata.obsp["comanifold_distances"], 4),
        (adata.obsp["comanifold_connectivities"], 4),
        (adata.varp["comanifold_connectivities"], 6),
    ):
        assert np.flatnonzero(np.diff(graph.indptr) == 0).tolist() == [lost]
        assert lost not in graph.indices
        assert np.isfinite(graph.data).all()


# What comes after


def test_groups_are_found_on_the_connectivities(fitted, board):
    graph = fitted.obsp["comanifold_connectivities"]
    labels = SpectralClustering(4, affinity="precomputed", random_state=0).fit_predict(graph)
    assert adjusted_rand_score(board.row_labels, labels) > 0.9


def test_more_neighbours_than_sparse_distances_are_refused():
    adata = annotated(
        remove_entries(make_checkerboard(150, 20, random_state=0).X, 0.3, random_state=0)
    )
    with pytest.raises(ValueError, match=r"n_connected=140 is more than the \d+ distances"):
        co_manifold(adata, distances="sparse", scale_weights="cost", n_connected=140)
