"""AnnData in, embeddings and graphs where scanpy expects them."""

import subprocess
import sys

import numpy as np
import pytest
from oracles.annotated import anndata, annotated, assert_is_result
from scipy import sparse
from sklearn.cluster import SpectralClustering
from sklearn.manifold import Isomap
from sklearn.metrics import adjusted_rand_score

from comanifold import CoManifold
from comanifold.annotated import co_manifold
from comanifold.datasets import make_checkerboard, remove_entries

# The same numbers as those of a fit to the array


def test_results_equal_those_of_a_fit_to_the_array(fitted, X):
    model = CoManifold().fit(X)
    assert_is_result(fitted, model)
    about = fitted.uns["comanifold"]
    np.testing.assert_array_equal(about["obs_eigenvalues"], model.row_eigenvalues_)
    np.testing.assert_array_equal(about["var_eigenvalues"], model.column_eigenvalues_)
    assert about["scales"]["n_row_clusters"].tolist() == model.scales_["n_row_clusters"].tolist()
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
def test_zeros_are_observed_or_missing_in_dense_and_sparse_matrices(board, form, zeros):
    counts = np.where(np.quantile(board.X, 0.4, axis=1)[:, None] < board.X, board.X + 5.0, 0.0)
    with_nan = counts.copy()
    with_nan[2, 3] = np.nan
    stored = form(with_nan)
    if sparse.issparse(stored):
        stored.data[7] = 0.0  # stored zeros count as zeros
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
def test_graphs_contain_the_nearest_neighbours_and_their_affinities(adata, X, distances):
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


def test_named_embeddings(adata, X):
    co_manifold(adata, embedding="tsne")
    expected = CoManifold(embedding="tsne").fit(X)
    np.testing.assert_array_equal(adata.obsm["X_comanifold"], expected.row_embedding_)
    np.testing.assert_array_equal(adata.varm["comanifold"], expected.column_embedding_)
    assert "obs_eigenvalues" not in adata.uns["comanifold"]
    assert adata.uns["comanifold"]["parameters"]["embedding"] == "tsne"


def test_duplicates_are_neighbours_at_distance_zero(board):
    X = board.X.copy()
    X[1] = X[0]
    adata = annotated(X)
    co_manifold(adata)
    near = adata.obsp["comanifold_distances"]
    assert (np.diff(near.indptr) == 14).all()
    assert 1 in near[[0]].indices
    assert adata.obsp["comanifold_connectivities"][0, 1] == 1.0


def test_small_data_have_fewer_neighbours(board):
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
    for frame, lost in ((adata.obs, 4), (adata.var, 6)):
        for name in ("comanifold_clusters", "comanifold_confidence"):
            assert np.flatnonzero(frame[name].isna()).tolist() == [lost]
    for graph, lost in (
        (adata.obsp["comanifold_distances"], 4),
        (adata.obsp["comanifold_connectivities"], 4),
        (adata.varp["comanifold_connectivities"], 6),
    ):
        assert np.flatnonzero(np.diff(graph.indptr) == 0).tolist() == [lost]
        assert lost not in graph.indices
        assert np.isfinite(graph.data).all()


# Clustering on the graphs


def test_groups_are_found_on_the_connectivities(fitted, board):
    graph = fitted.obsp["comanifold_connectivities"]
    labels = SpectralClustering(4, affinity="precomputed", random_state=0).fit_predict(graph)
    assert adjusted_rand_score(board.row_labels, labels) > 0.9


def test_as_many_clusters_as_asked_for_are_written(adata, X):
    co_manifold(adata, n_clusters=(4, 2))
    assert adata.obs["comanifold_clusters"].nunique() == 4
    assert adata.var["comanifold_clusters"].nunique() == 2
    assert_is_result(adata, CoManifold(n_clusters=(4, 2)).fit(X))


def test_more_neighbours_than_sparse_distances_are_an_error():
    adata = annotated(
        remove_entries(make_checkerboard(150, 20, random_state=0).X, 0.3, random_state=0)
    )
    with pytest.raises(ValueError, match=r"n_connected=140 is more than the \d+ distances"):
        co_manifold(adata, distances="sparse", scale_weights="cost", n_connected=140)


# Copies, views, files, and invalid arguments


def test_a_copy_leaves_adata_unchanged(adata):
    before = adata.copy()
    result = co_manifold(adata, copy=True)
    for part in ("obs", "var", "obsm", "varm", "obsp", "varp", "layers", "uns"):
        assert set(getattr(adata, part)) == set(getattr(before, part))
        assert set(getattr(result, part)) > set(getattr(adata, part))
    assert co_manifold(adata) is None
    np.testing.assert_array_equal(adata.obsm["X_comanifold"], result.obsm["X_comanifold"])


def test_a_view_becomes_an_object_of_its_own(adata):
    part = adata[:25, 3:]
    assert part.is_view
    expected = CoManifold().fit(np.asarray(part.X))
    co_manifold(part)
    assert_is_result(part, expected)
    assert not part.is_view
    assert "comanifold" not in adata.uns
    assert "X_comanifold" not in adata.obsm


def test_a_second_call_replaces_the_first(adata, fitted):
    co_manifold(adata, n_components=3, n_connected=5)
    co_manifold(adata)
    np.testing.assert_array_equal(adata.obsm["X_comanifold"], fitted.obsm["X_comanifold"])
    assert adata.uns["comanifold"]["params"] == fitted.uns["comanifold"]["params"]
    assert abs(adata.obsp["comanifold_distances"] - fitted.obsp["comanifold_distances"]).nnz == 0


def test_results_can_be_subset(fitted):
    part = fitted[:12, :9].copy()
    assert part.obsm["X_comanifold"].shape == (12, 2)
    assert part.obsp["comanifold_connectivities"].shape == (12, 12)
    assert part.varp["comanifold_distances"].shape == (9, 9)


def test_results_survive_a_file(adata, tmp_path):
    co_manifold(adata, n_neighbors=(4, 5), bandwidth=("local", 6), penalty="log")
    adata.write_h5ad(tmp_path / "result.h5ad")
    back = anndata.read_h5ad(tmp_path / "result.h5ad")
    np.testing.assert_array_equal(back.obsm["X_comanifold"], adata.obsm["X_comanifold"])
    np.testing.assert_array_equal(back.varm["comanifold"], adata.varm["comanifold"])
    np.testing.assert_array_equal(
        back.layers["comanifold_filled"], adata.layers["comanifold_filled"]
    )
    for frame, read in ((adata.obs, back.obs), (adata.var, back.var)):
        for name in ("comanifold_clusters", "comanifold_confidence"):
            assert read[name].equals(frame[name])
    for part in ("obsp", "varp"):
        for name, graph in getattr(adata, part).items():
            assert abs(getattr(back, part)[name] - graph).nnz == 0
    about, written = back.uns["comanifold"], adata.uns["comanifold"]
    assert about["params"] == written["params"]
    assert set(about) == set(written)
    assert about["parameters"]["bandwidth"] == str(("local", 6))
    assert about["parameters"]["penalty"] == "log"
    np.testing.assert_array_equal(about["scales"]["weight"], written["scales"]["weight"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layer": "counts"}, "layer 'counts' is not among the layers of adata: none"),
        ({"zeros": "drop"}, "zeros must be one of 'observed', 'missing', got 'drop'"),
        ({"absent": "zero"}, "absent is not used here: set zeros"),
        ({"key_added": ""}, "key_added must be a name, got ''"),
        ({"n_connected": 1}, "n_connected must be an integer of at least 2, got 1"),
        ({"n_connected": 2.5}, "n_connected must be an integer of at least 2, got 2.5"),
        ({"traversal": "none"}, "traversal must be one of"),
        ({"modality": "rna"}, "modality is for MuData, got modality='rna' and AnnData"),
    ],
)
def test_invalid_arguments_are_errors_and_change_nothing(adata, options, message):
    with pytest.raises(ValueError, match=message):
        co_manifold(adata, **options)
    assert not adata.uns
    assert not adata.obsm


def test_other_types_are_errors_with_advice(X, adata, tmp_path):
    with pytest.raises(ValueError, match="adata must be an AnnData, got ndarray: use CoManifold"):
        co_manifold(X)
    with pytest.raises(ValueError, match="X is None: name the layer"):
        co_manifold(anndata.AnnData(obs=adata.obs, var=adata.var))
    adata.write_h5ad(tmp_path / "data.h5ad")
    backed = anndata.read_h5ad(tmp_path / "data.h5ad", backed="r")
    with pytest.raises(ValueError, match=r"backed by a file.*adata\.to_memory\(\)"):
        co_manifold(backed)
    backed.file.close()


def test_without_anndata_the_extra_is_named(monkeypatch, X):
    monkeypatch.setitem(sys.modules, "anndata", None)
    with pytest.raises(ImportError, match=r"pip install 'comanifold\[anndata\]'"):
        co_manifold(X)


def test_anndata_is_not_imported_before_it_is_needed():
    code = (
        "import sys, comanifold; comanifold.CoManifold, comanifold.annotated.co_manifold; "
        "print([name for name in ('anndata', 'h5py') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
