"""Clusters that persist while the cost grows."""

import numpy as np
import pytest

from comanifold import CoManifold
from comanifold.datasets import make_checkerboard, make_curve, remove_entries


@pytest.fixture(scope="module")
def board():
    return make_checkerboard(40, 30, noise=0.3, random_state=0)


@pytest.fixture
def X(board):
    return remove_entries(board.X, 0.3, random_state=0)


def test_planted_groups_are_found(board, X):
    model = CoManifold(keep_scales=True).fit(X)
    for mode, truth in (("row", board.row_labels), ("column", board.column_labels)):
        found = model.find_clusters(mode)
        assert found.n_clusters == len(np.unique(truth)) == found.labels.max()
        assert len(set(zip(found.labels, truth, strict=True))) == found.n_clusters
        assert found.labels[getattr(model, f"{mode}_order_")][0] == 1
        assert found.n_doublings >= 2


def test_points_along_a_curve_are_one_cluster():
    X = remove_entries(make_curve(60, 40, random_state=0).X, 0.3, random_state=0)
    found = CoManifold(keep_scales=True).fit(X).find_clusters("row")
    assert found.n_clusters == 1
    assert (found.labels == 1).all()


@pytest.mark.filterwarnings("ignore:.*no observed entry")
def test_unobserved_rows_are_in_no_cluster(X):
    X[7] = np.nan
    found = CoManifold(keep_scales=True).fit(X).find_clusters("row")
    assert found.labels[7] == 0
    assert found.as_text()[7] == ""
    assert found.n_clusters == 4
    assert (np.delete(found.labels, 7) > 0).all()
