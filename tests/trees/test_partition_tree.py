"""Partition trees against SciPy's linkages, and against their own definition."""

import copy
import pickle
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.fits import holes
from scipy.cluster.hierarchy import fcluster, is_monotonic, is_valid_linkage, linkage

from comanifold import CoManifold
from comanifold.trees import PartitionTree

LINKAGES = ["single", "complete", "average", "weighted", "centroid", "median", "ward"]


def same_partition(one, other):
    one, other = np.asarray(one), np.asarray(other)
    return np.array_equal(one[:, None] == one, other[:, None] == other)


def some_linkage(n_points, method="average", seed=0, rounded=False):
    points = np.random.default_rng(seed).normal(size=(n_points, 3))
    return linkage(np.round(points) if rounded else points, method)


def assert_is_tree(tree):
    """Assert what defines a partition tree, from its folders and labels alone."""
    n = tree.n_points
    assert not tree.labels.flags.writeable
    np.testing.assert_array_equal(tree.labels[0], np.arange(n))
    assert not tree.labels[-1].any()
    counts = [len(np.unique(level)) for level in tree.labels]
    assert all(a > b for a, b in pairwise(counts))
    sets = {frozenset(np.flatnonzero(level == a)) for level in tree.labels for a in level}
    assert {frozenset(folder.members.tolist()) for folder in tree.folders} == sets
    assert len(tree.folders) == len(sets) <= 2 * n - 1
    for i, folder in enumerate(tree.folders):
        assert folder.size == len(folder.members)
        for level in range(1, tree.n_levels + 1):
            labels = tree.labels[tree.n_levels - level]
            whole = np.flatnonzero(labels == labels[folder.members[0]])
            is_here = np.array_equal(whole, folder.members)
            assert is_here == (folder.level <= level <= folder.last_level)
        parts = [tree.folders[child] for child in tree.children(i)]
        assert all(part.parent == i for part in parts)
        if folder.size > 1:
            joined = np.sort(np.concatenate([part.members for part in parts]))
            np.testing.assert_array_equal(joined, folder.members)
            assert {part.level for part in parts} == {folder.last_level + 1}
        else:
            assert not parts
    assert tree.folders[0].parent == -1
    np.testing.assert_array_equal(tree.membership.sum(axis=1), [f.size for f in tree.folders])


@given(st.integers(1, 25), st.integers(1, 5), st.integers(0, 10_000))
def test_nested_labels_are_a_tree(n_points, n_levels, seed):
    rng = np.random.default_rng(seed)
    levels = [rng.integers(n_points, size=n_points)]
    for _ in range(n_levels - 1):
        merged = rng.integers(max(n_points // 2, 1), size=n_points)
        levels.append(merged[levels[-1]])
    tree = PartitionTree.from_labels(levels)
    assert_is_tree(tree)
    for level in levels:
        assert any(same_partition(level, own) for own in tree.labels)
    assert PartitionTree(tree.labels) == tree
    assert PartitionTree.from_linkage(tree.to_linkage(), np.arange(tree.n_levels)) == tree


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("method", LINKAGES)
def test_any_linkage_of_scipy_is_a_tree(method, rounded):
    Z = some_linkage(60, method, rounded=rounded)
    tree = PartitionTree.from_linkage(Z)
    assert_is_tree(tree)
    counts = tree.labels.max(axis=1) + 1
    assert all(b <= a / 2 for a, b in pairwise(counts))
    heights = np.quantile(Z[:, 2], [0.2, 0.5, 0.9])
    cut = PartitionTree.from_linkage(Z, heights)
    for height in heights:
        expected = fcluster(Z, height, "distance")
        assert any(same_partition(expected, own) for own in cut.labels)
    assert_is_tree(cut)


def test_centroid_linkage_of_the_test_has_inversions():
    assert not is_monotonic(some_linkage(60, "centroid"))


def test_a_tree_as_a_linkage():
    tree = PartitionTree.from_labels([[0, 0, 0, 1, 2, 2], [0, 0, 0, 0, 1, 1]])
    Z = tree.to_linkage()
    assert is_valid_linkage(Z)
    assert is_monotonic(Z)
    np.testing.assert_array_equal(Z[:, 2], [1, 1, 1, 2, 3])
    for place, labels in enumerate(tree.labels):
        assert same_partition(fcluster(Z, place, "distance"), labels)
    high = tree.to_linkage([0.0, 0.5, 4.0, 5.0])
    np.testing.assert_array_equal(high[:, 2], [0.5, 0.5, 0.5, 4.0, 5.0])
    for wrong in ([0, 1, 2], [0, 2, 1, 3], [-1, 0, 1, 2], [0, 1, 2, np.inf]):
        with pytest.raises(ValueError, match="heights must be 4 rising numbers"):
            tree.to_linkage(wrong)


def test_the_tree_of_a_model_has_the_clusters_of_its_scales():
    X = holes(30, 20, seed=1, missing=0.2)
    X[3] = np.nan
    with pytest.warns(UserWarning, match="no observed entry"):
        model = CoManifold(keep_scales=True, scale_weights="cost").fit(X)
    observed = np.arange(30) != 3
    tree = PartitionTree.from_model(model)
    assert_is_tree(tree)
    chain = [
        i
        for i, (l, k) in enumerate(zip(model.scales_["l"], model.scales_["k"], strict=True))
        if l - model.scales_["l"][0] == k - model.scales_["k"][0]
    ]
    found = [
        any(
            same_partition(model.row_labels_at(index=i)[observed], own[observed])
            for own in tree.labels
        )
        for i in chain
    ]
    # Fine scales divide what the clusters of the model keep together.
    assert sum(found) >= len(chain) - 1
    assert PartitionTree.from_model(model, "column").n_points == 20
    with pytest.raises(AttributeError, match="keep_scales=True"):
        PartitionTree.from_model(CoManifold(scale_weights="cost").fit(X[observed]))
    with pytest.raises(ValueError, match="mode must be one of"):
        PartitionTree.from_model(model, "rows")


def test_labels_that_are_not_nested():
    levels = [[0, 0, 1, 2], [0, 1, 1, 2]]
    with pytest.raises(ValueError, match=r"labels must be nested.*split at level 1"):
        PartitionTree.from_labels(levels)
    tree = PartitionTree.from_labels(levels, join=True)
    np.testing.assert_array_equal(tree.labels[2], [0, 0, 0, 1])
    assert_is_tree(tree)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1, 2], r"labels must have shape \(n_levels, n_points\)"),
        ([[]], r"labels must have shape \(n_levels, n_points\)"),
        ([[0, 1], [0]], "labels must have one length"),
        ([[0.5, 1.0]], "labels must be integers"),
        ([[0, 0, 1], [0, 0, 0]], "different for all points at the first level"),
        ([[0, 1, 2], [0, 0, 1]], "the same at the last"),
        ([[0, 1, 2], [0, 1, 2], [0, 0, 0]], "coarser at each level, .* at levels 0 and 1"),
        ([[0, 1, 2], [0, 0, 1], [0, 1, 1], [0, 0, 0]], "must be nested, .* split at level 2"),
    ],
)
def test_wrong_labels_are_named(labels, message):
    with pytest.raises(ValueError, match=message):
        PartitionTree(labels)


@pytest.mark.parametrize(
    "Z", [np.zeros((3, 3)), np.zeros(4), [[0, 0, 1.0, 2]], [[0, 1, np.nan, 2]]]
)
def test_what_is_not_a_linkage_is_refused(Z):
    with pytest.raises(ValueError, match="Z must be a linkage matrix"):
        PartitionTree.from_linkage(Z)


def test_the_error_says_what_is_wrong_with_a_linkage():
    Z = some_linkage(5)
    Z[0, 2] = -1.0
    with pytest.raises(ValueError, match=r"Z must be a linkage matrix.*negative distances"):
        PartitionTree.from_linkage(Z)
    with pytest.raises(ValueError, match="Z must be numbers, got 'abc'"):
        PartitionTree.from_linkage("abc")


def test_wrong_heights_are_named():
    for wrong in ([1.0, np.nan], "high"):
        with pytest.raises(ValueError, match="heights must be numbers"):
            PartitionTree.from_linkage(some_linkage(5), wrong)
    with pytest.raises(ValueError, match="heights must be numbers, got 'high'"):
        PartitionTree.from_labels([[0, 0, 1]]).to_linkage("high")


@pytest.mark.parametrize("rising", [True, False])
def test_a_chain_of_many_points(rising):
    # As single linkage gives: every point joins the cluster of all before.
    n = 20_000
    joined = np.arange(2.0, n + 1)
    Z = np.column_stack([np.append(0, np.arange(n, 2 * n - 2)), joined - 1, joined, joined])
    Z[:, 2] = joined if rising else joined[::-1]  # with inversions, all join at the first height
    tree = PartitionTree.from_linkage(Z)
    counts = tree.labels.max(axis=1) + 1
    assert tree.n_points == n
    assert (counts[1:] <= counts[:-1] / 2).all()
    assert tree.n_levels == (15 if rising else 2)
    again = PartitionTree.from_linkage(tree.to_linkage(), np.arange(tree.n_levels))
    assert again == tree


def test_a_tree_cannot_be_changed_and_can_be_copied():
    tree = PartitionTree.from_labels([[0, 0, 1]])
    with pytest.raises(ValueError, match="read-only"):
        tree.labels[0, 0] = 7
    with pytest.raises(AttributeError):
        tree.labels = np.zeros((1, 1), dtype=int)
    for other in (pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)):
        assert other == tree
        assert hash(other) == hash(tree)
        assert not other.labels.flags.writeable
    assert tree != PartitionTree.from_labels([[0, 1, 1]])
    assert tree != "tree"
    assert repr(tree) == "PartitionTree(3 points; folders by level: 1, 2, 3)"


def test_copies_are_the_tree_itself():
    tree = PartitionTree.from_labels([[0, 0, 1]])
    assert copy.copy(tree) is tree
    assert copy.deepcopy(tree) is tree


def test_a_model_of_one_row_has_the_tree_of_one_point():
    model = SimpleNamespace(row_linkage_=np.empty((0, 4)))
    assert PartitionTree.from_model(model) == PartitionTree([[0]])
