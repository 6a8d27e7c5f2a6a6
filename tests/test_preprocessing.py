"""Preprocessing of matrices with missing entries."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

from comanifold.preprocessing import Preprocessor


@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans(), st.floats(1e-3, 1e3))
def test_the_inverse_gives_the_data_back(seed, log1p, standardize, scale):
    rng = np.random.default_rng(seed)
    X = scale * rng.random((8, 5))
    X[rng.random(X.shape) < 0.3] = np.nan
    X[0] = scale
    X[:, 0] = 3.0
    preprocessor = Preprocessor(log1p=log1p, standardize=standardize).fit(X)
    Z = preprocessor.transform(X)
    np.testing.assert_allclose(preprocessor.inverse_transform(Z), X, rtol=1e-9, atol=1e-9 * scale)
    np.testing.assert_array_equal(np.isnan(Z), np.isnan(X))
    if standardize:
        np.testing.assert_allclose(np.nanmean(Z, axis=0), 0.0, atol=1e-9)
        deviations = np.nanstd(Z, axis=0)
        assert deviations[0] == pytest.approx(0.0, abs=1e-9)
        # A column may be constant up to rounding.
        assert all(d == pytest.approx(1.0) or d < 1e-6 for d in deviations)
    elif not log1p:
        np.testing.assert_array_equal(Z, X)


def test_columns_without_entries_and_constant_ones_are_not_divided():
    X = np.array([[1.0, np.nan, 1e9], [2.0, np.nan, 1e9], [np.nan, np.nan, 1e9]])
    preprocessor = Preprocessor(standardize=True).fit(X)
    np.testing.assert_array_equal(preprocessor.mean_, [1.5, 0.0, 1e9])
    np.testing.assert_array_equal(preprocessor.scale_, [0.5, 1.0, 1.0])


def test_log1p_needs_values_above_minus_one():
    with pytest.raises(ValueError, match="log1p needs values above -1, and the smallest is -3"):
        Preprocessor(log1p=True).fit([[1.0, np.nan], [-3.0, 2.0]])


@parametrize_with_checks([Preprocessor(standardize=True)])
def test_it_is_an_estimator(estimator, check):
    check(estimator)


def test_new_rows_without_an_observed_entry_stay_missing():
    preprocessor = Preprocessor(log1p=True, standardize=True).fit([[1.0, 2.0], [3.0, 5.0]])
    assert np.isnan(preprocessor.transform([[np.nan, np.nan]])).all()
