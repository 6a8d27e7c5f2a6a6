"""Tools and plots of scanpy on a result, as they stand."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from oracles.annotated import annotated
from sklearn.metrics import adjusted_rand_score

from comanifold.annotated import co_manifold
from comanifold.datasets import make_checkerboard, remove_entries

sc = pytest.importorskip("scanpy")

# Of what scanpy itself calls in Matplotlib.
pytestmark = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")

_KEY = {"neighbors_key": "comanifold"}


@pytest.fixture(scope="module")
def board():
    return make_checkerboard(80, 30, noise=0.6, random_state=0)


@pytest.fixture(scope="module")
def result(board):
    """Annotated data with missing entries, and what was found in them."""
    X = remove_entries(board.X + 5.0, 0.5, random_state=0)
    adata = annotated(X, board.row_labels)
    return co_manifold(adata, n_components=5, copy=True)


@pytest.fixture
def adata(result):
    plt.switch_backend("agg")
    yield result.copy()
    plt.close("all")


def _separation(points, labels):
    """How far groups are apart, in units of how wide they are."""
    centres = np.array([points[labels == label].mean(axis=0) for label in set(labels)])
    within = np.mean([points[labels == label].std(axis=0).mean() for label in set(labels)])
    return centres.std(axis=0).mean() / within


def test_an_embedding_is_drawn_with_its_groups(adata):
    points = adata.obsm["X_comanifold"]
    ax = sc.pl.embedding(adata, basis="comanifold", color="group", show=False)
    points = np.concatenate(
        [part.get_offsets() for part in ax.collections if len(part.get_offsets())]
    )
    assert len(points) >= 80
    assert {tuple(point) for point in points} == {
        tuple(point) for point in adata.obsm["X_comanifold"][:, :2]
    }


def test_clusters_are_groups_of_a_plot(adata):
    sc.pl.embedding(adata, basis="comanifold", color="comanifold_clusters", show=False)
    n_clusters = len(adata.obs["comanifold_clusters"].cat.categories)
    assert n_clusters > 1
    assert len(adata.uns["comanifold_clusters_colors"]) == n_clusters


def test_edges_of_the_graph_are_drawn(adata):
    adata.obsm["X_comanifold"] = adata.obsm["X_comanifold"][:, :2]  # of more, it takes all
    axes = sc.pl.embedding(adata, basis="comanifold", edges=True, show=False, **_KEY)
    assert len(axes.collections) == 2


def test_umap_starts_from_the_graph(adata, board):
    sc.tl.umap(adata, **_KEY)
    assert np.isfinite(adata.obsm["X_umap"]).all()
    assert _separation(adata.obsm["X_umap"], board.row_labels) > 2.0


def test_diffusion_maps_and_pseudotime_of_the_graph(adata):
    adata.uns["iroot"] = 0
    sc.tl.diffmap(adata, n_comps=5, **_KEY)
    sc.tl.dpt(adata, n_dcs=5, **_KEY)
    assert adata.obsm["X_diffmap"].shape == (80, 5)
    assert adata.obs["dpt_pseudotime"].iloc[0] == 0.0


def test_dendrograms_and_matrices_of_the_filled_in_layer(adata):
    sc.tl.dendrogram(adata, groupby="group", use_rep="X_comanifold")
    assert sorted(adata.uns["dendrogram_group"]["categories_ordered"]) == sorted(
        adata.obs["group"].cat.categories
    )
    axes = sc.pl.matrixplot(
        adata,
        list(adata.var_names[:6]),
        groupby="group",
        layer="comanifold_filled",
        dendrogram=True,
        show=False,
    )
    assert "mainplot_ax" in axes


def test_groups_differ_in_the_filled_in_layer(adata):
    sc.tl.rank_genes_groups(adata, "group", layer="comanifold_filled", method="t-test")
    assert len(adata.uns["rank_genes_groups"]["names"]) == 30


def test_leiden_finds_the_groups(adata, board):
    pytest.importorskip("igraph", reason="clustering in scanpy needs igraph, which is GPL")
    sc.tl.leiden(adata, flavor="igraph", n_iterations=2, resolution=0.3, **_KEY)
    assert adjusted_rand_score(board.row_labels, adata.obs["leiden"]) > 0.9


# The variables: all of this on the transpose.


def test_genes_are_drawn_and_embedded_as_the_cells_are(adata):
    genes = adata.T
    ax = sc.pl.embedding(genes, basis="comanifold", color="comanifold_clusters", show=False)
    drawn = [part.get_offsets() for part in ax.collections if len(part.get_offsets())]
    assert {tuple(point) for point in np.concatenate(drawn)} == {
        tuple(point) for point in adata.varm["comanifold"][:, :2]
    }
    sc.tl.umap(genes, **_KEY)
    assert np.isfinite(genes.obsm["X_umap"]).all()
    genes.uns["iroot"] = 0
    sc.tl.diffmap(genes, n_comps=5, **_KEY)
    assert genes.obsm["X_diffmap"].shape == (30, 5)
    assert genes.obsp["comanifold_connectivities"].shape == (30, 30)
