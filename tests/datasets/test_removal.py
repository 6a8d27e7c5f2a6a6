"""Removed entries: their pattern and their number."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comanifold.datasets import remove_entries

PATTERNS = ["random", "block", "rows", "value"]


def matrix(seed=0, shape=(40, 30)):
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("pattern", PATTERNS)
@given(st.integers(0, 999), st.floats(0.0, 0.99), st.integers(1, 12), st.integers(1, 12))
def test_the_rest_is_unchanged_and_nothing_becomes_empty(
    pattern, seed, fraction, n_rows, n_columns
):
    X = matrix(seed, (n_rows, n_columns))
    before = X.copy()
    removed = remove_entries(X, fraction, pattern=pattern, random_state=seed)
    np.testing.assert_array_equal(X, before)
    left = ~np.isnan(removed)
    np.testing.assert_array_equal(removed[left], X[left])
    assert left.any(axis=0).all()
    assert left.any(axis=1).all()
    wanted = round(fraction * X.size)
    assert (~left).sum() <= wanted
    if fraction <= 0.5 and min(n_rows, n_columns) > 4 and pattern == "random":
        assert (~left).sum() == wanted


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_number_is_exact_where_rows_may_become_empty(pattern):
    removed = remove_entries(matrix(), 0.9, pattern=pattern, allow_empty=True, random_state=0)
    assert np.isnan(removed).sum() == round(0.9 * 1200)


def test_only_observed_entries_count():
    X = matrix()
    X[:20] = np.nan
    X[0, 0] = 1.0
    removed = remove_entries(X, 0.5, random_state=0)
    assert (~np.isnan(removed)).sum() == 601 - round(0.5 * 601)


def test_a_block_is_a_rectangle():
    gone = np.isnan(remove_entries(matrix(), 0.25, pattern="block", random_state=0))
    rows, columns = gone.any(axis=1), gone.any(axis=0)
    inside = gone[np.ix_(rows, columns)]
    assert inside.mean() > 0.9
    assert (rows.sum(), columns.sum()) == pytest.approx((20, 15), abs=1)


def test_rows_lose_different_fractions():
    by_rows, at_random = (
        np.isnan(remove_entries(matrix(), 0.5, pattern=p, random_state=0)).mean(axis=1).std()
        for p in ("rows", "random")
    )
    assert by_rows > 2 * at_random


def test_large_values_are_removed_more_often():
    X = matrix()
    gone = np.isnan(remove_entries(X, 0.5, pattern="value", random_state=0))
    large = np.median(X) < X
    assert gone[large].mean() > 0.7
    assert 0.05 < gone[~large].mean() < 0.3


def test_seeds():
    X = matrix()
    first, again, other = (remove_entries(X, 0.5, random_state=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(np.isnan(first), np.isnan(other))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fraction": 1.0}, "fraction must be at least 0 and less than 1"),
        ({"fraction": -0.1}, "fraction must be at least 0"),
        ({"fraction": "half"}, "fraction must be a number"),
        ({"fraction": 0.5, "pattern": "diagonal"}, "pattern must be one of"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        remove_entries(matrix(), **arguments)
