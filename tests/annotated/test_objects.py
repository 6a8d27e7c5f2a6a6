"""Copies, views and files of annotated data, and mistakes in how they are handed in."""

import subprocess
import sys

import numpy as np
import pytest
from oracles.annotated import anndata, assert_is_result

from comanifold import CoManifold
from comanifold.annotated import co_manifold


def test_a_copy_leaves_the_data_alone(adata):
    before = adata.copy()
    result = co_manifold(adata, copy=True)
    for part in ("obsm", "varm", "obsp", "varp", "layers", "uns"):
        assert set(getattr(adata, part)) == set(getattr(before, part))
        assert len(getattr(result, part)) > len(getattr(adata, part))
    assert co_manifold(adata) is None
    np.testing.assert_array_equal(adata.obsm["X_comanifold"], result.obsm["X_comanifold"])


def test_a_view_becomes_data_of_its_own(adata):
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


def test_a_result_is_the_same_after_a_file(adata, tmp_path):
    co_manifold(adata, n_neighbors=(4, 5), bandwidth=("local", 6), penalty="log")
    adata.write_h5ad(tmp_path / "result.h5ad")
    back = anndata.read_h5ad(tmp_path / "result.h5ad")
    np.testing.assert_array_equal(back.obsm["X_comanifold"], adata.obsm["X_comanifold"])
    np.testing.assert_array_equal(back.varm["comanifold"], adata.varm["comanifold"])
    np.testing.assert_array_equal(
        back.layers["comanifold_filled"], adata.layers["comanifold_filled"]
    )
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
    ],
)
def test_mistakes_are_told_and_change_nothing(adata, options, message):
    with pytest.raises(ValueError, match=message):
        co_manifold(adata, **options)
    assert not adata.uns
    assert not adata.obsm


def test_other_data_are_refused_with_advice(X, adata, tmp_path):
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


def test_it_is_not_imported_before_it_is_needed():
    code = (
        "import sys, comanifold; comanifold.CoManifold, comanifold.annotated.co_manifold; "
        "print([name for name in ('anndata', 'h5py') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
