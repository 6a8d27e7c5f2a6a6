"""Held-out entries: how many, which, and that the choice follows the data alone."""

import numpy as np
import pytest

from comanifold._fit.held_out import HeldOut


def matrix(seed=0, missing=0.4, shape=(30, 20)):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape)
    X[rng.random(X.shape) < missing] = np.nan
    return X


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_a_tenth_is_held_out_at_even_steps_of_the_values(missing):
    X = matrix(missing=missing)
    held_out = HeldOut(X, from_complete=True)
    n_observed = (~np.isnan(X)).sum()
    assert 0.07 * n_observed <= len(held_out.values) <= 0.11 * n_observed
    np.testing.assert_array_equal(held_out.values, X[held_out.rows, held_out.columns])
    assert np.isnan(held_out.rest()[held_out.rows, held_out.columns]).all()
    others = np.ones(X.shape, dtype=bool)
    others[held_out.rows, held_out.columns] = False
    np.testing.assert_array_equal(held_out.rest()[others], X[others])
    ranks = np.searchsorted(np.sort(X[~np.isnan(X)]), held_out.values)
    # Every tenth from both ends, the outermost left alone.
    assert set(np.minimum(ranks, n_observed - 1 - ranks) % 10) == {5}
    ranks = ranks / n_observed
    assert np.abs(np.sort(ranks) - np.linspace(0, 1, len(ranks))).max() < 0.1


def test_every_row_and_column_keeps_two():
    for seed in range(20):
        X = matrix(seed, missing=0.85)
        before, after = ~np.isnan(X), ~np.isnan(HeldOut(X).rest())
        for axis in (0, 1):
            assert (after.sum(axis) >= np.minimum(before.sum(axis), 2)).all()


def test_the_choice_depends_on_neither_order_nor_units():
    X = matrix(1)
    rng = np.random.default_rng(2)
    rows, columns = rng.permutation(30), rng.permutation(20)
    chosen = np.isnan(HeldOut(X).rest())
    changed = np.isnan(HeldOut(-3.0 * X[rows][:, columns] + 5.0).rest())
    np.testing.assert_array_equal(changed, chosen[rows][:, columns])
    np.testing.assert_array_equal(np.isnan(HeldOut(X.T).rest()), chosen.T)


def test_the_choice_is_the_same_in_parts():
    for shape in ((300, 270), (270, 300)):
        X = np.round(matrix(3, shape=shape))  # many ties
        one, other = HeldOut(X), HeldOut(X, in_parts=True)
        np.testing.assert_array_equal(one.rest(), other.rest())


def test_nothing_is_held_out_of_a_complete_or_tiny_matrix():
    assert len(HeldOut(np.random.default_rng(0).normal(size=(9, 9))).values) == 0
    tiny = np.array([[1.0, 2.0, np.nan], [np.nan, 3.0, 4.0], [8.0, np.nan, 9.0]])
    assert len(HeldOut(tiny).values) == 0
