"""Flexible trees: joins against a slow version, groups that are found, and an end for any input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.trees import join_folders
from scipy import sparse
from scipy.spatial.distance import pdist, squareform

from comanifold.trees import PartitionTree, _flexible, flexible_tree
from comanifold.trees._flexible import _diffusion_coordinates, _folder_distances, _next_level


def groups_of(labels):
    return {frozenset(np.flatnonzero(labels == a).tolist()) for a in np.unique(labels)}


@given(
    st.integers(2, 25),
    st.sampled_from([0.5, 1.0, 2.0]),
    st.sampled_from([None, 0, 1]),
    st.integers(0, 10_000),
)
def test_folders_are_joined_as_described(n_folders, constant, decimals, seed):
    rng = np.random.default_rng(seed)
    D = squareform(rng.gamma(2.0, size=n_folders * (n_folders - 1) // 2))
    D = D if decimals is None else np.round(D, decimals)  # ties
    labels = _next_level(D, constant)
    assert groups_of(labels) == join_folders(D, constant)
    assert labels.max() + 1 <= n_folders - np.ceil(0.1 * n_folders)


def test_as_many_folders_as_required_are_joined_beyond_the_median():
    # All at the same distance: no pair is nearer than the median.
    n_folders = 31
    D = 1.0 - np.eye(n_folders)
    labels = _next_level(D, 1.0)
    # Four at least, each a pair of single folders: larger groups would have to be nearer.
    assert sorted(np.bincount(labels)) == [1] * (n_folders - 8) + [2] * 4
    assert groups_of(labels) == join_folders(D, 1.0)


def test_distances_of_folders_are_means_over_their_points():
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(9, 2)), np.array([0, 1, 2, 0, 0, 1, 2, 2, 2])
    found = _folder_distances(pdist(points), labels)
    for a in range(3):
        for b in range(3):
            between = [
                np.linalg.norm(points[i] - points[j])
                for i in np.flatnonzero(labels == a)
                for j in np.flatnonzero(labels == b)
            ]
            assert a == b or found[a, b] == pytest.approx(np.mean(between))


def affinity_of(points, width=1.0):
    return np.exp(-(squareform(pdist(points)) ** 2) / width**2)


def test_coordinates_are_right_eigenvectors_of_the_random_walk():
    # Of points of very different degrees, and orthonormal in the stationary distribution.
    affinity = affinity_of(np.random.default_rng(0).normal(size=(30, 2))) ** 3
    degree = affinity.sum(axis=1)
    values, vectors = _diffusion_coordinates(affinity, 6)
    np.testing.assert_allclose(affinity @ vectors / degree[:, None], values * vectors, atol=1e-12)
    inner = vectors.T @ (vectors * (degree / degree.sum())[:, None])
    np.testing.assert_allclose(inner, np.eye(6), atol=1e-12)


def test_groups_are_folders():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(4), 10)
    centres = np.array([[0, 0], [0, 6], [30, 0], [30, 6]])
    points = centres[group] + rng.normal(size=(40, 2))
    tree = flexible_tree(affinity_of(points, 6.0))
    found = {frozenset(folder.members.tolist()) for folder in tree.folders}
    assert groups_of(group) <= found
    assert groups_of(group // 2) <= found


@pytest.mark.parametrize(
    "affinity",
    [
        np.ones((30, 30)),
        np.eye(30),
        np.zeros((30, 30)),
        np.kron(np.eye(3), np.ones((10, 10))),
        1.0 - np.eye(30),
        np.exp(-1e3 * np.abs(np.subtract.outer(np.arange(30.0), np.arange(30.0)))),
        np.diag(np.logspace(-300, 300, 30)),
        affinity_of(np.array([[0.0], [1e-9], *([[k] for k in np.ones(28) * 5.0])])),
        np.full((30, 30), 1e308),
        np.where(np.eye(30, k=1) + np.eye(30, k=-1) > 0, 1e-320, 0.0),
        np.array([[1.0]]),
        np.array([[1.0, 0.0], [0.0, 1.0]]),
        np.zeros((2, 2)),
    ],
    ids=[
        *["ones", "alone", "zeros", "blocks", "bipartite", "far", "scales", "copies", "huge"],
        *["tiny", "one", "two", "two zeros"],
    ],
)
@pytest.mark.parametrize("constant", [0.1, 1.0, 100.0])
def test_every_affinity_gives_a_tree_of_few_levels(affinity, constant):
    tree = flexible_tree(affinity, constant=constant)
    assert tree.n_points == len(affinity)
    assert tree.n_levels <= 2 + np.log(max(len(affinity), 2)) / -np.log(0.9)
    assert PartitionTree(tree.labels) == tree


def test_the_order_of_points_does_not_matter():
    rng = np.random.default_rng(1)
    affinity = affinity_of(rng.normal(size=(50, 3)))
    order = rng.permutation(50)
    one, other = flexible_tree(affinity), flexible_tree(affinity[np.ix_(order, order)])
    assert [groups_of(level[order]) for level in one.labels] == [
        groups_of(level) for level in other.labels
    ]


def test_units_and_memory_order_of_affinities_do_not_matter():
    points = np.arange(20.0)[:, None]  # with ties, which rounding errors decide
    affinity = affinity_of(points, 3.0)
    tree = flexible_tree(affinity)
    for exponent in (-500, -10, 10, 1020):
        assert flexible_tree(np.ldexp(affinity, exponent)) == tree
    assert flexible_tree(np.asfortranarray(affinity)) == tree
    given = affinity.copy()
    flexible_tree(given)
    np.testing.assert_array_equal(given, affinity)


def test_random_trees_and_sparse_affinities():
    affinity = affinity_of(np.random.default_rng(2).normal(size=(60, 3)))
    assert flexible_tree(affinity) == flexible_tree(sparse.csr_array(affinity))
    assert flexible_tree(affinity, random_state=1) == flexible_tree(affinity, random_state=1)
    several = {flexible_tree(affinity, random_state=seed) for seed in (None, 1, 2)}
    assert len(several) == 3


@pytest.mark.parametrize(
    ("affinity", "message"),
    [
        (np.ones((2, 3)), "affinity must be a square matrix"),
        (np.ones((0, 0)), "affinity must be a square matrix"),
        ([["a"]], "affinity must hold numbers"),
        ([[1.0, -0.1], [-0.1, 1.0]], "affinity must not be negative, NaN or infinite"),
        ([[1.0, np.nan], [np.nan, 1.0]], "affinity must not be negative, NaN or infinite"),
        ([[1.0, 0.1], [0.2, 1.0]], "affinity must be symmetric"),
    ],
)
def test_wrong_affinities_are_named(affinity, message):
    with pytest.raises(ValueError, match=message):
        flexible_tree(affinity)


def test_wrong_parameters_are_named():
    with pytest.raises(ValueError, match="n_eigenvectors must be a positive integer"):
        flexible_tree(np.eye(3), n_eigenvectors=0)
    for wrong in (0.0, np.inf, np.nan, True, "1"):
        with pytest.raises(ValueError, match="constant must be a positive finite number"):
            flexible_tree(np.eye(3), constant=wrong)
    for constant in (0.5, np.float32(0.5), np.int64(2)):
        assert flexible_tree(np.eye(3), constant=constant).n_points == 3
    for wrong in (-1, 0.5, "seed"):
        with pytest.raises(ValueError, match="random_state must be an integer of at least 0"):
            flexible_tree(np.eye(3), random_state=wrong)


def test_a_point_without_affinities_has_an_affinity_with_itself():
    # The walk stays at such a point, as at one with an affinity with itself alone.
    rng = np.random.default_rng(0)
    affinity = np.exp(-squareform(pdist(rng.normal(size=(12, 2)))))
    affinity[4] = affinity[:, 4] = 0.0
    alone = _diffusion_coordinates(affinity, 5)
    affinity[4, 4] = 1.0
    for found, expected in zip(alone, _diffusion_coordinates(affinity, 5), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert alone[0][0] == pytest.approx(1.0)  # two components that never mix


def test_many_points_are_grouped_first(monkeypatch):
    monkeypatch.setattr(_flexible, "_MOST_PAIRWISE", 60)
    monkeypatch.setattr(_flexible, "_N_GROUPS", 40)
    group = np.repeat(np.arange(4), 25)
    points = 8.0 * group[:, None] + np.random.default_rng(0).normal(size=(100, 2))
    affinity = affinity_of(points, 6.0)
    tree = flexible_tree(sparse.csr_array(affinity))
    assert tree.labels[1].max() + 1 == 40
    order = np.random.default_rng(1).permutation(100)
    permuted = flexible_tree(affinity[np.ix_(order, order)])
    assert groups_of(tree.labels[1][order]) == groups_of(permuted.labels[1])
    assert groups_of(group) <= {frozenset(folder.members.tolist()) for folder in tree.folders}
