"""Arrays as the page has them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from oracles.pages import observed_on_page, organised, unpack

from comanifold.report._packing import pack, pack_observed
from comanifold.report._page_data import page_data


@pytest.mark.parametrize("kind", ["Float64Array", "Float32Array", "Int32Array", "Uint8Array"])
def test_what_is_packed_can_be_unpacked(kind):
    values = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(unpack(pack(values, kind)).reshape(3, 4), values)


@given(
    arrays(
        float,
        array_shapes(min_dims=2, max_dims=2, max_side=6),
        elements=st.one_of(st.just(np.nan), st.floats(-1e9, 1e9)),
    )
)
def test_entries_are_rounded_to_a_small_part_of_the_range_of_their_column(X):
    found = observed_on_page(pack_observed(X, X.size))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(X))
    seen = np.where(np.isnan(X), 0.0, X)
    span = np.where(np.isnan(X), -np.inf, X).max(axis=0) - np.where(np.isnan(X), np.inf, X).min(
        axis=0
    )
    error = np.abs(np.nan_to_num(found) - seen)
    assert (error <= np.maximum(span, 0.0) / 65_534 / 2 + 1e-9 * np.abs(seen)).all()


def test_large_matrices_have_one_byte_for_each_entry(monkeypatch):
    monkeypatch.setattr("comanifold.report._packing._MAX_TWO_BYTES", 11)
    X = np.array([[0.0, 1.5, -3.0, np.nan], [1.0, 2.5, 250.0, np.nan], [np.nan, 2.0, 7.0, np.nan]])
    packed = pack_observed(X, 12)
    assert packed["codes"]["type"] == "Uint8Array"
    found = observed_on_page(packed)
    # Integers are exact.
    np.testing.assert_array_equal(found[:, [0, 2, 3]], X[:, [0, 2, 3]])
    np.testing.assert_allclose(found[:, 1], X[:, 1], atol=1.0 / 254 / 2)


def test_the_page_has_the_observed_entries_of_the_model(model):
    values = page_data(model)["values"]
    found, expected = observed_on_page(values), organised(model, model.data_)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert page_data(model, max_entries=999)["values"] is None
