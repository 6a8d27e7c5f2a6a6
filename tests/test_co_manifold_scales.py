"""Single scales of a fit that has kept them."""

import numpy as np
import pytest
from oracles.fits import random_matrix, scales_of
from scipy.cluster.hierarchy import fcluster, is_valid_linkage
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from comanifold import CoManifold


@pytest.fixture(scope="module")
def model():
    return CoManifold(keep_scales=True).fit(random_matrix(7, 20, 16))


def test_estimates_are_constant_on_their_blocks(model):
    for scale in scales_of(model):
        U = model.estimate_at(scale.l, scale.k)
        rows = model.row_labels_at(scale.l, scale.k)
        columns = model.column_labels_at(scale.l, scale.k)
        assert rows.max() + 1 == scale.n_row_clusters
        assert columns.max() + 1 == scale.n_column_clusters
        assert len(np.unique(U.round(12), axis=0)) <= scale.n_row_clusters
        for label in range(scale.n_row_clusters):
            assert np.ptp(U[rows == label], axis=0).max() == 0
        filled = model.filled_at(scale.l, scale.k)
        observed = ~np.isnan(model.data_)
        np.testing.assert_array_equal(filled[observed], model.data_[observed])
        np.testing.assert_array_equal(filled[~observed], U[~observed])


def test_the_filled_in_matrix_is_the_weighted_mean_of_the_scales():
    model = CoManifold(keep_scales=True, first_graphs="masked").fit(random_matrix(7, 20, 16))
    assert model.low_rank_weight_ == 0.0
    weights = [s.weight for s in scales_of(model)]
    stack = [model.filled_at(s.l, s.k) for s in scales_of(model)]
    np.testing.assert_allclose(model.filled_, np.average(stack, axis=0, weights=weights))


@pytest.mark.parametrize("traversal", ["symmetric", "paper"])
def test_trees_cut_at_a_cost_give_the_clusters_there(traversal):
    X = random_matrix(7, 20, 16)
    model = CoManifold(keep_scales=True, traversal=traversal).fit(X)
    first = scales_of(model)[0]
    for tree, n in ((model.row_linkage_, 20), (model.column_linkage_, 16)):
        assert is_valid_linkage(tree)
        assert len(tree) == n - 1
    for step in range(3):
        l = first.l + step
        k = first.k + step if traversal == "symmetric" else first.k
        cut = fcluster(model.row_linkage_, 2.0**l, "distance")
        assert adjusted_rand_score(cut, model.row_labels_at(l, k)) == 1.0


def test_scales_that_are_not_there_are_named(model):
    with pytest.raises(ValueError, match=r"there is no scale \(99, 0\): l runs from"):
        model.estimate_at(99, 0)
    with pytest.raises(ValueError, match="fit with keep_scales=True"):
        CoManifold().fit(random_matrix(0)).row_labels_at(0, 0)
    assert not hasattr(CoManifold().fit(random_matrix(0)), "row_linkage_")
    with pytest.raises(NotFittedError):
        CoManifold().estimate_at(0, 0)
