"""Masked distances against a loop and against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from oracles import slow
from sklearn.metrics.pairwise import nan_euclidean_distances

from comanifold import masked_distances
from comanifold.graphs import _masked_distances


@given(
    arrays(
        float,
        array_shapes(min_dims=2, max_dims=2, max_side=9),
        elements=st.one_of(st.just(np.nan), st.floats(-100, 100)),
    )
)
def test_against_a_loop(X):
    X.flat[0] = 1.0
    np.testing.assert_allclose(masked_distances(X), slow.masked_distances(X), rtol=1e-7, atol=1e-12)


def test_against_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 40)) + 7.0
    X[rng.random(X.shape) < 0.5] = np.nan
    expected = nan_euclidean_distances(X) / np.sqrt(X.shape[1])
    np.testing.assert_allclose(masked_distances(X), expected, rtol=1e-12, atol=1e-14)


def test_blocks_agree_with_one_block(monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(23, 7))
    X[rng.random(X.shape) < 0.4] = np.nan
    whole = masked_distances(X)
    monkeypatch.setattr(_masked_distances, "_BLOCK", 5)
    np.testing.assert_allclose(masked_distances(X), whole, rtol=1e-13)


def test_symmetric_with_zero_diagonal():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 9))
    X[rng.random(X.shape) < 0.3] = np.nan
    D = masked_distances(X)
    np.testing.assert_array_equal(D, D.T)
    np.testing.assert_array_equal(np.diag(D), 0.0)


def test_rows_that_share_no_column_are_infinitely_far_apart():
    D = masked_distances([[1.0, np.nan], [np.nan, 1.0], [2.0, 3.0]])
    assert D[0, 1] == np.inf
    assert D[0, 2] == 1.0


def test_rows_without_entries():
    nothing = np.full((1, 2), np.nan)
    with pytest.raises(ValueError, match="no observed entry"):
        masked_distances(nothing)
    np.testing.assert_array_equal(masked_distances(nothing, [[1.0, 2.0]]), [[np.inf]])


def test_duplicates_are_at_distance_zero_however_large_the_values():
    rng = np.random.default_rng(3)
    X = np.repeat(1e6 + rng.normal(size=(5, 8)), 2, axis=0)
    D = masked_distances(X)
    np.testing.assert_array_equal(D[np.arange(0, 10, 2), np.arange(1, 10, 2)], 0.0)


def test_nearly_equal_rows_keep_their_digits():
    x = np.linspace(1e3, 2e3, 50)
    assert masked_distances([x, x + 1e-6, -x])[0, 1] == pytest.approx(1e-6, rel=1e-5)


@pytest.mark.parametrize("scale", [1e-200, 1e150])
def test_scales_with_the_data(scale):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(8, 6))
    np.testing.assert_allclose(masked_distances(scale * X), scale * masked_distances(X), rtol=1e-12)


def test_does_not_change_its_input():
    X = np.array([[1.0, np.nan], [2.0, 3.0]])
    before = X.copy()
    masked_distances(X)
    np.testing.assert_array_equal(X, before)


def test_distances_to_other_rows_are_a_part_of_all_distances():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9, 6))
    X[rng.random(X.shape) < 0.4] = np.nan
    X[:, 0] = 1.0
    np.testing.assert_allclose(
        masked_distances(X[:4], X[4:]), masked_distances(X)[:4, 4:], rtol=1e-12
    )
    with pytest.raises(ValueError, match="as many columns, got 6 and 5"):
        masked_distances(X, X[:, :5])
