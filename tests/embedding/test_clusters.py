"""Trees of nested clusters, the clusters that persist in them, and orders of points."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, is_valid_linkage

from comanifold import CoManifold
from comanifold._embedding.clusters import embedding_order, nested_linkage
from comanifold.datasets import make_checkerboard, remove_entries


@pytest.fixture(scope="module")
def board():
    """A checkerboard of four by three groups with holes."""
    data = make_checkerboard(60, 40, noise=0.3, random_state=0)
    return data, remove_entries(data.X, 0.3, random_state=0)


def test_nested_labels_become_a_tree_that_can_be_cut():
    labels = [np.arange(6), np.array([0, 0, 1, 2, 2, 2]), np.array([0, 0, 0, 1, 1, 1])]
    tree = nested_linkage(labels, [1.0, 2.0, 4.0])
    assert is_valid_linkage(tree)
    for label, height in zip(labels, (1.0, 2.0, 4.0), strict=True):
        cut = fcluster(tree, height, "distance")
        np.testing.assert_array_equal(cut[:, None] == cut, label[:, None] == label)
    assert tree[-1, 2] == 8.0  # what never came together is joined above the last height
    assert tree[-1, 3] == 6


def test_what_was_joined_stays_joined():
    labels = [np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2])]
    tree = nested_linkage(labels, [1.0, 2.0])
    assert is_valid_linkage(tree)
    assert list(fcluster(tree, 2.0, "distance")) in ([1, 1, 1, 2], [2, 2, 2, 1])


def test_one_point_has_no_tree():
    assert nested_linkage([np.array([0])], [1.0]).shape == (0, 4)


def test_planted_groups_are_found(board):
    data, X = board
    model = CoManifold(keep_scales=True).fit(X)
    for mode, truth in (("row", data.row_labels), ("column", data.column_labels)):
        found = model.find_clusters(mode)
        assert found.n_clusters == len(np.unique(truth)) == found.labels.max()
        assert len(set(zip(found.labels, truth, strict=True))) == found.n_clusters
        assert found.n_doublings >= 2
        assert found.labels[getattr(model, f"{mode}_order_")][0] == 1
        assert found.as_text() == [str(label) for label in found.labels]


def test_in_noise_there_is_one_cluster():
    X = remove_entries(np.random.default_rng(0).normal(size=(60, 40)), 0.3, random_state=0)
    found = CoManifold(keep_scales=True).fit(X).find_clusters("row")
    assert (found.n_clusters, found.n_doublings) == (1, 0)
    assert (found.labels == 1).all()


@pytest.mark.filterwarnings("ignore:.*no observed entry")
def test_rows_without_an_observed_entry_are_in_no_cluster(board):
    X = board[1].copy()
    X[7] = np.nan
    found = CoManifold(keep_scales=True).fit(X).find_clusters("row")
    assert found.labels[7] == 0
    assert found.as_text()[7] == ""
    assert found.n_clusters == 4
    assert (np.delete(found.labels, 7) > 0).all()


def test_clusters_need_a_mode_and_kept_scales(board):
    model = CoManifold().fit(board[1])
    with pytest.raises(AttributeError, match="keep_scales=True"):
        model.find_clusters("row")
    with pytest.raises(ValueError, match="mode must be one of"):
        model.find_clusters("rows")


def test_points_on_a_line_are_ordered_along_it():
    t = np.random.default_rng(0).permutation(50)
    line = np.column_stack([t, 0.1 * t])
    np.testing.assert_array_equal(t[embedding_order(line)], np.arange(50))


@pytest.mark.parametrize("most", [0, 5000])
def test_orders_with_and_without_a_tree(most):
    points = np.random.default_rng(1).normal(size=(30, 2))
    points[[4, 9]] = np.nan
    order = embedding_order(points, most)
    assert sorted(order) == list(range(30))
    assert list(order[-2:]) == [4, 9]
    if most == 0:
        np.testing.assert_array_equal(np.diff(points[order[:-2], 0]) >= 0, True)


def test_groups_stay_together_where_the_first_coordinate_alone_mixes_them():
    rng = np.random.default_rng(2)
    groups = rng.integers(2, size=40)
    points = np.column_stack([rng.normal(size=40), 20.0 * groups])
    assert (np.diff(groups[embedding_order(points)]) != 0).sum() == 1
    assert (np.diff(groups[np.argsort(points[:, 0])]) != 0).sum() > 5


@pytest.mark.parametrize("opening", [0.1, 1.0, 3.0])
def test_points_along_an_arc_stay_in_a_row(opening):
    rng = np.random.default_rng(0)
    angle = rng.permutation(np.linspace(0, 2 * np.pi - opening, 200))
    order = embedding_order(np.column_stack([np.cos(angle), np.sin(angle)]))
    # One cut at most, wherever the tree opens the arc; else from each point to the next but few.
    jumps = np.abs(np.diff(angle[order])) > 10 * angle.max() / 200
    assert jumps.sum() <= 1
