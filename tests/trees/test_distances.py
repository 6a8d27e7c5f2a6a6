"""Earth mover's distances over trees against linear programming and against their definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.trees import distance_by_folders, transport_distance
from scipy import sparse
from scipy.cluster.hierarchy import linkage

from comanifold.trees import PartitionTree, tree_distances


def random_tree(n_points, seed=0):
    points = np.random.default_rng(seed).normal(size=(n_points, 2))
    if n_points == 1:
        return PartitionTree([[0]])
    return PartitionTree.from_linkage(linkage(points, "average"))


def rows(n_rows, n_columns, missing=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    gaps = rng.random(X.shape) < missing
    gaps[np.arange(n_rows), rng.integers(n_columns, size=n_rows)] = False
    X[gaps] = np.nan
    return X


@pytest.mark.parametrize(("alpha", "beta"), [(0.0, 1.0), (1.0, 1.0), (-0.5, 1.0), (0.3, 0.5)])
@pytest.mark.parametrize("seed", range(3))
def test_distances_are_least_costs_of_transport(alpha, beta, seed):
    tree = random_tree(9, seed)
    X = rows(3, 9, seed=seed)
    found = tree_distances(X, tree, alpha=alpha, beta=beta)
    for i in range(3):
        for j in range(3):
            expected = transport_distance(X[i], X[j], tree.labels, alpha, beta)
            assert found[i, j] == pytest.approx(expected, abs=1e-9)


def test_moving_mass_costs_as_much_as_the_path_is_long():
    # Two levels up and down between folders, one within a folder; the root is no way.
    tree = PartitionTree.from_labels([[0, 0, 1, 1]])
    X = 4.0 * np.eye(4)
    expected = [[0, 2, 4, 4], [2, 0, 4, 4], [4, 4, 0, 2], [4, 4, 2, 0]]
    np.testing.assert_allclose(tree_distances(X, tree), expected)


@settings(deadline=None)
@given(
    st.integers(1, 8),
    st.integers(1, 15),
    st.floats(0, 0.9),
    st.floats(-2, 2),
    st.floats(-1, 2),
    st.integers(0, 1000),
)
def test_means_are_those_of_observed_entries(n_rows, n_columns, missing, alpha, beta, seed):
    tree, X = random_tree(n_columns, seed), rows(n_rows, n_columns, missing, seed)
    found = tree_distances(X, tree, alpha=alpha, beta=beta)
    for i in range(n_rows):
        for j in range(n_rows):
            expected = distance_by_folders(X[i], X[j], tree.labels, alpha, beta)
            assert found[i, j] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_other_rows_pairs_and_several_trees():
    X, trees = rows(12, 10, 0.3), [random_tree(10, seed) for seed in range(3)]
    dense = tree_distances(X, trees)
    np.testing.assert_allclose(dense, np.mean([tree_distances(X, t) for t in trees], axis=0))
    np.testing.assert_array_equal(dense, dense.T)
    np.testing.assert_allclose(tree_distances(X[:5], trees, X), dense[:5], atol=1e-14)
    pairs = np.array([[0, 3], [3, 0], [7, 2], [4, 4], [10, 11]])
    some = tree_distances(X, trees, pairs=pairs)
    assert sparse.issparse(some)
    assert some.nnz == 2 * 3 + 12
    for i, j in [(0, 3), (3, 0), (2, 7), (10, 11)]:
        assert some[i, j] == pytest.approx(dense[i, j], rel=1e-12)
    assert not some.diagonal().any()


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_many_rows_and_folders(missing):
    # More than are added up at the same time.
    tree, X, Y = random_tree(350), rows(35, 350, missing), rows(34, 350, missing, seed=1)
    assert len(tree.folders) > 512
    both, means, expected = np.vstack([X, Y]), None, np.zeros((69, 69))
    for labels in tree.labels[::-1]:
        share, above = np.bincount(labels) / 350, means
        means = np.empty((69, len(share)))
        for a in range(len(share)):
            known = ~np.isnan(both[:, labels == a])
            sums = np.nansum(both[:, labels == a], axis=1)
            inherited = 0.0 if above is None else above[:, labels == a][:, 0]
            means[:, a] = np.where(known.any(axis=1), sums / np.maximum(known.sum(axis=1), 1), 0.0)
            means[:, a] += np.where(known.any(axis=1), 0.0, inherited)
        expected += np.abs((means[:, None] - means) * share**0.5) @ np.ones(len(share))
        means = means[:, labels]  # of each column, for the level below
    within, between = tree_distances(X, tree, beta=0.5), tree_distances(X, tree, Y, beta=0.5)
    np.testing.assert_allclose(within, expected[:35, :35], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(between, expected[:35, 35:], rtol=1e-10)
    pairs = np.argwhere(np.random.default_rng(0).random((35, 35)) < 0.3)
    some = tree_distances(X, tree, beta=0.5, pairs=pairs).toarray()
    i, j = pairs.T
    np.testing.assert_allclose(some[i, j], within[i, j], rtol=1e-10)
    # The distances of a row do not depend on which other rows are given with it.
    np.testing.assert_array_equal(tree_distances(X[5:8], tree, X, beta=0.5), within[5:8])


def test_infinite_distances_are_refused():
    X = 1e140 * rows(4, 10)
    for options in ({}, {"Y": X}, {"pairs": [[0, 1]]}):
        with pytest.raises(ValueError, match="beta=-170 give infinite distances"):
            tree_distances(X, random_tree(10), beta=-170.0, **options)


def test_distances_are_a_metric_and_change_with_the_units():
    X, tree = rows(15, 12), random_tree(12)
    D = tree_distances(X, tree)
    assert (D[:, None, :] <= D[:, :, None] + D[None, :, :] + 1e-12).all()
    np.testing.assert_allclose(tree_distances(3.0 * X + 5.0, tree), 3.0 * D)
    order = np.random.default_rng(0).permutation(12)
    permuted = PartitionTree.from_labels(tree.labels[:, order])
    np.testing.assert_allclose(tree_distances(X[:, order], permuted), D)


def test_a_star_is_the_mean_absolute_difference_and_that_of_the_means():
    X = rows(4, 7)
    star = PartitionTree.from_labels([np.zeros(7, dtype=int)])
    expected = np.abs(X[0] - X[1]).mean() + abs(X[0].mean() - X[1].mean())
    assert tree_distances(X, star)[0, 1] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tree": "tree"}, "tree must be a PartitionTree"),
        ({"tree": []}, "tree must be a PartitionTree"),
        ({"tree": None}, "tree must be a PartitionTree"),
        ({"tree": 5}, "tree must be a PartitionTree"),
        ({"tree": random_tree(4)}, "tree must have the columns of X for its points, 5, got 4"),
        ({"alpha": np.nan}, "alpha must be a finite number"),
        ({"beta": "1"}, "beta must be a finite number"),
        ({"alpha": -1e4}, "alpha=-10000 and beta=1 give folders"),
        ({"Y": np.ones((2, 4))}, "X and Y must have as many columns, got 5 and 4"),
        ({"Y": [[1.0] * 5, [np.nan] * 5]}, "Y has rows with no observed entry"),
        ({"Y": np.ones((2, 5)), "pairs": [[0, 1]]}, "pairs are pairs of rows of X: leave out Y"),
        ({"pairs": [[0, 9]]}, "pairs must be rows from 0 to 2"),
        ({"pairs": [0, 1]}, "pairs must be integers of shape"),
        ({"pairs": [[0.5, 1.0]]}, "pairs must be integers of shape"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    tree = options.pop("tree", random_tree(5))
    with pytest.raises(ValueError, match=message):
        tree_distances(rows(3, 5), tree, **options)


def test_a_row_without_entries_is_refused():
    X = rows(3, 5)
    X[1] = np.nan
    with pytest.raises(ValueError, match=r"rows with no observed entry.*1"):
        tree_distances(X, random_tree(5))
