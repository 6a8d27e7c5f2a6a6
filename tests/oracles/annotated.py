"""Annotated data, and what a fit leaves in them."""

import numpy as np
import pytest

# Whatever imports this is skipped without them.
anndata = pytest.importorskip("anndata")
pd = pytest.importorskip("pandas")


def annotated(X, labels=None):
    obs = pd.DataFrame(index=[f"cell{i}" for i in range(X.shape[0])])
    var = pd.DataFrame(index=[f"gene{j}" for j in range(X.shape[1])])
    if labels is not None:
        obs["group"] = pd.Categorical([f"group {label}" for label in labels])
    return anndata.AnnData(X, obs=obs, var=var)


def assert_is_result(adata, model, key="comanifold"):
    np.testing.assert_array_equal(adata.obsm[f"X_{key}"], model.row_embedding_)
    np.testing.assert_array_equal(adata.varm[key], model.column_embedding_)
    np.testing.assert_array_equal(adata.varm[f"X_{key}"], model.column_embedding_)
    np.testing.assert_array_equal(adata.layers[f"{key}_filled"], model.filled_)
    for mode, frame in (("row", adata.obs), ("column", adata.var)):
        clusters = model.find_clusters(mode)
        found = frame[f"{key}_clusters"]
        assert found.astype(object).fillna("").tolist() == clusters.as_text()
        assert found.cat.categories.tolist() == [str(i + 1) for i in range(clusters.n_clusters)]
        np.testing.assert_array_equal(frame[f"{key}_confidence"], clusters.point_confidence)
