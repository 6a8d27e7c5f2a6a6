"""MuData objects: each modality, or one of them."""

import numpy as np
import pytest
from oracles.annotated import annotated, assert_is_result

from comanifold import CoManifold
from comanifold.annotated import co_manifold
from comanifold.datasets import make_checkerboard, remove_entries

mudata = pytest.importorskip("mudata")
# Of what mudata itself calls.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


@pytest.fixture
def matrices():
    boards = {"rna": (40, 30), "protein": (40, 12)}
    return {
        name: remove_entries(make_checkerboard(*shape, random_state=0).X, 0.3, random_state=0)
        for name, shape in boards.items()
    }


@pytest.fixture
def mdata(matrices):
    modalities = {name: annotated(X.copy()) for name, X in matrices.items()}
    for name, part in modalities.items():
        part.var_names = [f"{name} {j}" for j in range(part.n_vars)]
    return mudata.MuData(modalities)


def test_each_modality_has_its_own_result(mdata, matrices):
    assert co_manifold(mdata) is None
    for name, X in matrices.items():
        assert_is_result(mdata[name], CoManifold().fit(X))
        np.testing.assert_array_equal(mdata[name].X, X)
    mdata.pull_obs()
    assert {"rna:comanifold_clusters", "protein:comanifold_clusters"} <= set(mdata.obs)


def test_one_modality_can_be_chosen_and_copied(mdata, matrices):
    copied = co_manifold(mdata, modality="protein", copy=True, key_added="cm")
    assert isinstance(copied, mudata.MuData)
    assert_is_result(copied["protein"], CoManifold().fit(matrices["protein"]), key="cm")
    assert "cm" not in copied["rna"].uns
    assert "cm" not in mdata["protein"].uns


def test_results_survive_a_file(mdata, matrices, tmp_path):
    co_manifold(mdata)
    mdata.write(tmp_path / "result.h5mu")
    back = mudata.read(tmp_path / "result.h5mu")
    assert_is_result(back["rna"], CoManifold().fit(matrices["rna"]))


def test_a_failure_changes_no_modality(mdata):
    mdata["protein"].X = np.full((40, 12), np.nan)
    with pytest.raises(ValueError, match="no observed entry"):
        co_manifold(mdata)
    assert "comanifold" not in mdata["rna"].uns
    with pytest.raises(
        ValueError, match="modality 'atac' is not among those of adata: 'rna', 'pro"
    ):
        co_manifold(mdata, modality="atac")
