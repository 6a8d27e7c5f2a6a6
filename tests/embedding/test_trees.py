"""Trees of nested clusters, and how they are cut."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, is_valid_linkage

from comanifold._embedding import trees
from comanifold._embedding.trees import cut_tree, nested_linkage, steps_around, with_leaves


def assert_same_partition(one, other):
    one, other = np.asarray(one), np.asarray(other)
    np.testing.assert_array_equal(one[:, None] == one, other[:, None] == other)


def assert_is_tree(tree, n_points):
    """Assert that a linkage is valid, that its heights rise, and that every cut is exact."""
    assert tree.shape == (n_points - 1, 4)
    assert is_valid_linkage(tree)
    assert np.isfinite(tree).all()
    assert (np.diff(tree[:, 2]) > 0.0).all()
    assert tree[-1, 3] == n_points
    for k in range(1, n_points + 1):
        labels = cut_tree(tree, k)
        assert len(np.unique(labels)) == k == labels.max() + 1


def points_of(n_points, seed=0):
    return np.random.default_rng(seed).normal(size=(n_points, 3))


def test_nested_labels_become_a_tree_that_can_be_cut():
    labels = [np.arange(6), np.array([0, 0, 1, 2, 2, 2]), np.array([0, 0, 0, 1, 1, 1])]
    heights = [1.0, 2.0, 4.0]
    tree = nested_linkage(labels, heights, points_of(6))
    assert_is_tree(tree, 6)
    for label, height in zip(labels, heights, strict=True):
        assert_same_partition(fcluster(tree, height, "distance"), label)
    assert tree[-1, 2] == 8.0  # what never came together is joined above the last height


def test_clusters_of_one_scale_join_by_distance():
    points = np.array([[0.0], [1.0], [10.0], [12.0], [40.0]])
    tree = nested_linkage([np.arange(5), np.zeros(5, dtype=int)], [1.0, 2.0], points)
    assert_same_partition(cut_tree(tree, 2), [0, 0, 0, 0, 1])
    assert_same_partition(cut_tree(tree, 3), [0, 0, 1, 1, 2])
    assert_same_partition(cut_tree(tree, 4), [0, 0, 1, 2, 3])


def test_what_was_joined_stays_joined():
    labels = [np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2])]
    tree = nested_linkage(labels, [1.0, 2.0], points_of(4))
    assert_is_tree(tree, 4)
    assert_same_partition(fcluster(tree, 2.0, "distance"), [0, 0, 0, 1])


def test_one_point_has_no_tree():
    tree = nested_linkage([np.array([0])], [1.0], points_of(1))
    assert tree.shape == (0, 4)
    assert list(cut_tree(tree, 1)) == [0]


@st.composite
def labels_of_scales(draw):
    """Labels of points at several scales, nested or not; found clusters, and points with ties."""
    n_points = draw(st.integers(2, 14))
    labels = [np.arange(n_points)] if draw(st.booleans()) else []
    nested = draw(st.booleans())
    for _ in range(draw(st.integers(1, 4))):
        numbers = draw(st.lists(st.integers(0, 5), min_size=n_points, max_size=n_points))
        label = np.unique(numbers, return_inverse=True)[1]
        if nested and labels:
            # All clusters of the scale before whose first points share a label.
            before = labels[-1]
            first = np.unique(before, return_index=True)[1]
            label = np.unique(label[first][before], return_inverse=True)[1]
        labels.append(label)
    found = draw(st.lists(st.integers(0, 4), min_size=n_points, max_size=n_points))
    points = points_of(n_points, draw(st.integers(0, 3)))
    if draw(st.booleans()):
        points = np.round(points)
    return labels, np.unique(found, return_inverse=True)[1], points, nested


@settings(max_examples=200, deadline=None, derandomize=True)
@given(labels_of_scales(), st.sampled_from([2.0**-7, 1.0, 0.3]))
def test_every_tree_is_valid_and_found_clusters_are_its_nodes(drawn, first_height):
    labels, found, points, nested = drawn
    n_points = len(points)
    heights = [first_height * 2.0**i for i in range(len(labels))]
    tree = nested_linkage(labels, heights, points)
    assert_is_tree(tree, n_points)
    if nested:
        for label, height in zip(labels, heights, strict=True):
            assert_same_partition(fcluster(tree, height, "distance"), label)
    around = nested_linkage(*steps_around(labels, heights, found), points)
    assert_is_tree(around, n_points)
    assert_same_partition(cut_tree(around, found.max() + 1), found)
    if found.max() == 0:
        np.testing.assert_array_equal(around, tree)


def test_scales_above_whole_clusters_stay_as_they_are():
    labels = [np.arange(6), np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 0, 0, 1, 1])]
    found = np.array([0, 0, 1, 1, 2, 2])
    tree = nested_linkage(*steps_around(labels, [1.0, 2.0, 4.0], found), points_of(6))
    assert_same_partition(fcluster(tree, 2.0, "distance"), found)
    assert_same_partition(fcluster(tree, 4.0, "distance"), labels[2])


@pytest.mark.parametrize("n_unobserved", [0, 1, 2, 1500])
@pytest.mark.parametrize("n_observed", [1, 5])
def test_points_without_an_entry_join_last(n_observed, n_unobserved):
    n_points = n_observed + n_unobserved
    observed = np.zeros(n_points, dtype=bool)
    observed[np.random.default_rng(0).permutation(n_points)[:n_observed]] = True
    labels = [np.arange(n_observed)]
    tree = nested_linkage(labels, [1.0], points_of(n_observed))
    whole = with_leaves(tree, observed)
    assert len(whole) == n_points - 1
    assert np.isfinite(whole).all()
    assert (np.diff(whole[:, 2]) > 0.0).all()
    if len(whole):
        assert is_valid_linkage(whole)
    for k in range(1, n_observed + 1):
        cut = cut_tree(whole, k + n_unobserved)
        assert len(np.unique(cut)) == k + n_unobserved
        assert_same_partition(cut[observed], cut_tree(tree, k))


def test_very_many_clusters_join_in_their_order():
    n_points = trees._MOST_JOINED + 1
    labels = [np.arange(n_points), np.arange(n_points) // trees._MOST_JOINED]
    tree = nested_linkage(labels, [1.0, 2.0], points_of(n_points))
    assert is_valid_linkage(tree)
    assert (np.diff(tree[:, 2]) > 0.0).all()
    one = nested_linkage([np.arange(n_points)], [1.0], points_of(n_points))
    assert is_valid_linkage(one)
    assert (np.diff(one[:, 2]) > 0.0).all()
    np.testing.assert_array_equal(cut_tree(one, 2) == cut_tree(one, 2)[0], [True] * 5000 + [False])
