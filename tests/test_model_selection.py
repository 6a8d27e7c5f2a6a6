"""Holding entries out, and errors on them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comanifold.model_selection import held_out_errors, hold_out


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 0.9))
def test_rows_and_columns_keep_some_entries(seed, share):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 15))
    X[rng.random(X.shape) < share] = np.nan
    held_out = hold_out(X, min_held_out=20, random_state=0)
    if held_out is None:
        return
    rest, chosen = held_out.rest(), np.zeros(X.shape, dtype=bool)
    chosen[held_out.rows, held_out.columns] = True
    assert chosen.sum() >= 20
    assert not np.isnan(X[chosen]).any()
    assert np.isnan(rest[chosen]).all()
    np.testing.assert_array_equal(rest[~chosen], X[~chosen])
    for axis in (0, 1):
        touched = chosen.any(axis=axis)
        assert ((~np.isnan(rest)).sum(axis=axis)[touched] >= 3).all()


def test_errors_are_in_standard_deviations_of_the_held_out_entries():
    X = np.random.default_rng(0).normal(size=(30, 20))
    held_out = hold_out(X, random_state=0)
    errors = held_out_errors(held_out, X + 0.5)
    truth = X[held_out.rows, held_out.columns]
    assert errors.model == pytest.approx(0.5 / truth.std())
    by_row = np.nanmean(held_out.rest(), axis=1)[held_out.rows]
    error = np.sqrt(np.mean((by_row - truth) ** 2)) / truth.std()
    assert errors.row_means == pytest.approx(error)
    assert errors.n_held_out == len(truth)


def test_too_few_or_equal_entries_have_no_errors():
    X = np.random.default_rng(0).normal(size=(30, 20))
    assert hold_out(X[:4, :4], min_held_out=20, random_state=0) is None
    assert held_out_errors(hold_out(np.ones((30, 20)), random_state=0), np.ones((30, 20))) is None
    held_out = hold_out(X, random_state=0)
    assert held_out_errors(held_out, held_out.rest()) is None
