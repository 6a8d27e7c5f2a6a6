"""Matrices that are degenerate, huge, tiny, or none: a result or a plain error."""

import numpy as np
import pytest
from oracles.fits import random_matrix, scales_of
from scipy.cluster.hierarchy import is_valid_linkage

from comanifold import CoManifold


def test_rows_and_columns_with_nothing_observed_stay_in_place():
    X = random_matrix(0, 20, 16)
    with_gaps = np.insert(np.insert(X, [3, 10], np.nan, axis=0), 5, np.nan, axis=1)
    lost_rows, lost_column = [3, 11], 5
    with (
        pytest.warns(UserWarning, match=r"rows with no observed entry.*: 3, 11"),
        pytest.warns(UserWarning, match=r"columns with no observed entry.*: 5") as told,
    ):
        model = CoManifold(keep_scales=True).fit(with_gaps)
    assert {warning.filename for warning in told} == {__file__}  # whose line it is
    np.testing.assert_array_equal(model.unobserved_rows_, lost_rows)
    np.testing.assert_array_equal(model.unobserved_columns_, [lost_column])
    plain = CoManifold(keep_scales=True).fit(X)
    rows = np.setdiff1d(np.arange(22), lost_rows)
    columns = np.setdiff1d(np.arange(17), [lost_column])
    assert np.isnan(model.row_embedding_[lost_rows]).all()
    assert np.isnan(model.column_embedding_[lost_column]).all()
    np.testing.assert_array_equal(model.row_embedding_[rows], plain.row_embedding_)
    np.testing.assert_array_equal(model.column_embedding_[columns], plain.column_embedding_)
    np.testing.assert_array_equal(model.row_distances_[np.ix_(rows, rows)], plain.row_distances_)
    assert np.isnan(model.row_distances_[3]).all()
    np.testing.assert_array_equal(model.filled_[np.ix_(rows, columns)], plain.filled_)
    assert sorted(model.row_order_) == list(range(22))
    assert list(model.row_order_[-2:]) == lost_rows
    first = scales_of(model)[0]
    assert list(model.row_labels_at(first.l, first.k)[lost_rows]) == [-1, -1]
    assert np.isnan(model.estimate_at(first.l, first.k)[3]).all()
    assert is_valid_linkage(model.row_linkage_)
    assert len(model.row_linkage_) == 21
    new = model.transform(with_gaps[rows])
    np.testing.assert_allclose(new, model.row_embedding_[rows], atol=1e-6)


def test_two_rows_that_share_no_column():
    X = random_matrix(1, 20, 16)
    X[0, :8], X[0, 8:] = np.arange(8.0), np.nan
    X[1, :8], X[1, 8:] = np.nan, np.arange(8.0)
    model = CoManifold().fit(X)
    assert np.isfinite(model.row_distances_).all()
    assert np.isfinite(model.row_embedding_).all()


def test_a_whole_block_missing():
    X = random_matrix(2, 30, 24, missing=0.1)
    X[:15, :12] = np.nan
    model = CoManifold().fit(X)
    assert np.isfinite(model.filled_).all()
    assert np.isfinite(model.row_embedding_).all()
    assert np.nanmin(X) <= model.filled_.min() <= model.filled_.max() <= np.nanmax(X)


def test_two_blocks_that_share_nothing():
    X = np.full((20, 16), np.nan)
    X[:10, :8], X[10:, 8:] = random_matrix(3, 10, 8, 0.1), random_matrix(4, 10, 8, 0.1)
    model = CoManifold().fit(X)
    assert np.isfinite(model.row_embedding_).all()
    assert np.isfinite(model.filled_).all()


def test_duplicated_rows():
    X = np.repeat(random_matrix(3, 8, 12, 0.3), 4, axis=0)
    model = CoManifold().fit(X)
    apart = model.row_distances_.reshape(8, 4, 8, 4)
    for i in range(8):
        assert apart[i, :, i].max() <= 1e-9 * model.row_distances_.max()


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_constant_matrix(missing):
    X = np.full((8, 6), 3.25)
    X[np.random.default_rng(0).random(X.shape) < missing] = np.nan
    model = CoManifold().fit(X)
    np.testing.assert_array_equal(model.filled_, 3.25)
    np.testing.assert_array_equal(model.row_distances_, 0.0)
    np.testing.assert_allclose(model.row_embedding_, 0.0, atol=1e-7)


def test_three_by_three():
    X = np.array([[1.0, 2.0, np.nan], [np.nan, 3.0, 4.0], [8.0, np.nan, 9.0]])
    model = CoManifold().fit(X)
    assert model.row_embedding_.shape == (3, 2)
    assert np.isfinite(model.row_embedding_).all()
    assert np.isfinite(model.filled_).all()


@pytest.mark.parametrize("X", [np.ones((1, 5)), np.ones((5, 1)), np.ones((2, 2))])
def test_too_few_rows_or_columns(X):
    with pytest.raises(ValueError, match=r"X has [12] (row|column)\(s\) .* at least 3 are"):
        CoManifold().fit(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.full((4, 4), np.nan), "no observed entry"),
        ([[1.0, np.inf, 2.0]] * 3, "infinity|inf"),
        ([["a", "b", "c"]] * 3, "could not convert|numeric"),
        (np.ones((3, 3, 3)), "dim"),
    ],
)
def test_what_is_no_matrix_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        CoManifold().fit(X)
