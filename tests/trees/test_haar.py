"""Haar bases: orthonormal, complete, sparse coefficients of smooth matrices, and denoising."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.cluster.hierarchy import linkage

from comanifold.trees import (
    PartitionTree,
    bi_haar_transform,
    denoise,
    haar_basis,
    inverse_bi_haar_transform,
)


def random_tree(n_points, seed, levels=3):
    rng = np.random.default_rng(seed)
    labels = [rng.integers(max(n_points // 2, 1), size=n_points)]
    for _ in range(levels - 1):
        labels.append(rng.integers(3, size=max(n_points, 3))[labels[-1]])
    return PartitionTree.from_labels(labels)


def dyadic_tree(exponent):
    points = np.arange(2**exponent)
    return PartitionTree.from_labels([points >> k for k in range(exponent + 1)])


@given(st.integers(1, 40), st.integers(1, 4), st.integers(0, 10_000))
def test_the_basis_is_orthonormal_and_complete(n_points, levels, seed):
    tree = random_tree(n_points, seed, levels)
    basis = haar_basis(tree)
    assert sparse.issparse(basis)
    assert basis.shape == (n_points, n_points)
    np.testing.assert_allclose((basis.T @ basis).toarray(), np.eye(n_points), atol=1e-12)
    np.testing.assert_allclose((basis @ basis.T).toarray(), np.eye(n_points), atol=1e-12)
    supports = np.diff(basis.indptr)
    assert (np.diff(supports) <= 0).all()
    # Every folder is spanned by the vectors that are not within it, or by one of them.
    for folder in tree.folders:
        indicator = np.zeros(n_points)
        indicator[folder.members] = 1.0
        used = np.flatnonzero(np.abs(basis.T @ indicator) > 1e-9)
        inside = [set(basis[:, [k]].nonzero()[0]) < set(folder.members) for k in used]
        assert not any(inside)


@pytest.mark.parametrize("method", ["single", "centroid", "ward"])
def test_trees_of_linkages_have_bases(method):
    Z = linkage(np.random.default_rng(0).normal(size=(70, 2)), method)
    basis = haar_basis(PartitionTree.from_linkage(Z))
    np.testing.assert_allclose((basis.T @ basis).toarray(), np.eye(70), atol=1e-12)


def test_a_star_has_a_sparse_basis():
    basis = haar_basis(PartitionTree.from_labels([np.zeros(1024, dtype=int)]))
    assert basis.nnz <= 11 * 1024


@given(st.integers(1, 20), st.integers(1, 20), st.integers(0, 10_000))
def test_the_transform_is_inverted_exactly(n_rows, n_columns, seed):
    trees = random_tree(n_rows, seed), random_tree(n_columns, seed + 1)
    X = np.random.default_rng(seed).normal(size=(n_rows, n_columns))
    C = bi_haar_transform(X, *trees)
    np.testing.assert_allclose(inverse_bi_haar_transform(C, *trees), X, atol=1e-12)
    np.testing.assert_allclose(bi_haar_transform(inverse_bi_haar_transform(X, *trees), *trees), X)
    assert np.linalg.norm(C) == pytest.approx(np.linalg.norm(X))
    assert C[0, 0] == pytest.approx(X.mean() * np.sqrt(X.size))


def test_coefficients_of_smooth_matrices_fall_with_the_supports():
    rows, columns = dyadic_tree(7), dyadic_tree(6)
    x, y = (np.arange(n) / n for n in (128, 64))
    X = np.sin(3 * x[:, None] + 2 * y)  # the mixed derivative is at most 6
    C = np.abs(bi_haar_transform(X, rows, columns))
    sizes = [np.diff(haar_basis(tree).indptr) for tree in (rows, columns)]
    support = np.outer(*sizes)[1:, 1:] / X.size
    # A difference between halves at half the width in each direction, times the norm.
    bound = 6.0 * (support / 4.0) * np.sqrt(support * X.size)
    assert (C[1:, 1:] <= bound * (1 + 1e-9)).all()
    # A tree that does not follow the order has no such decay.
    order = np.random.default_rng(0).permutation(128)
    worse = np.abs(bi_haar_transform(X[order], rows, columns))
    assert (worse[1:, 1:] > bound).mean() > 0.5


def test_denoising_keeps_blocks_and_removes_noise():
    rng = np.random.default_rng(0)
    groups = [np.sort(rng.integers(4, size=n)) for n in (80, 60)]
    trees = [PartitionTree.from_labels([group]) for group in groups]
    truth = rng.normal(size=(4, 4))[np.ix_(*groups)]
    noisy = truth + 0.5 * rng.normal(size=truth.shape)
    error = {
        name: np.sqrt(np.mean((matrix - truth) ** 2))
        for name, matrix in {"noisy": noisy, "denoised": denoise(noisy, *trees)}.items()
    }
    assert error["denoised"] < 0.2 * error["noisy"]
    np.testing.assert_allclose(denoise(noisy, *trees, threshold=0.0), noisy, atol=1e-12)
    np.testing.assert_allclose(
        denoise(noisy, *trees, threshold=1e9), np.full(truth.shape, noisy.mean())
    )
    # Of a matrix without noise nothing is removed by its own threshold.
    np.testing.assert_allclose(denoise(truth, *trees), truth, atol=1e-12)


def test_the_threshold_of_supports_that_are_all_equal():
    # All coefficients are 1/2 in absolute value, and the threshold is 1/2 / 0.67 * sqrt(2 log 4).
    tree = PartitionTree.from_labels([[0, 0]])
    np.testing.assert_allclose(denoise([[1.0, 0.0], [0.0, 0.0]], tree, tree), 0.25)


def test_small_supports_are_removed():
    tree = dyadic_tree(4)
    X = np.random.default_rng(0).normal(size=(16, 16))
    means = X.reshape(4, 4, 4, 4).mean(axis=(1, 3))
    coarse = denoise(X, tree, tree, threshold=0.0, min_support=1.0)
    C = bi_haar_transform(coarse, tree, tree)
    assert np.count_nonzero(np.abs(C) > 1e-12) == 4  # constant or halves in either direction
    assert not np.allclose(np.kron(means, np.ones((4, 4))), coarse)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"X": np.full((4, 4), np.nan)}, "X has no observed entry"),
        ({"X": np.where(np.eye(4), np.nan, 1.0)}, "X must be complete"),
        ({"X": np.ones((3, 4))}, "row_tree must have the 3 rows of X for its points, got 4"),
        ({"column_tree": "tree"}, "column_tree must be a PartitionTree, got str"),
        ({"threshold": -1.0}, "threshold must be a number of at least 0"),
        ({"threshold": "soft"}, "threshold must be a number of at least 0"),
        ({"min_support": np.inf}, "min_support must be a number of at least 0"),
        ({"min_support": None}, "min_support must be a number of at least 0"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    given = {"X": np.ones((4, 4)), "row_tree": dyadic_tree(2), "column_tree": dyadic_tree(2)}
    given |= options
    with pytest.raises(ValueError, match=message):
        denoise(given.pop("X"), given.pop("row_tree"), given.pop("column_tree"), **given)


def test_a_basis_needs_a_tree():
    with pytest.raises(ValueError, match="tree must be a PartitionTree, got list"):
        haar_basis([[0, 1]])
