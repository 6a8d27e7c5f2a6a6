"""What the commands say was found, and what they do to the data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comanifold import CoManifold
from comanifold.cli._preparation import Preparation
from comanifold.cli._summary import (
    HeldOut,
    find_clusters,
    hide_some,
    score_hidden,
    unreliable_estimates,
)
from comanifold.datasets import make_curve, remove_entries


def test_planted_groups_are_found(board):
    model = CoManifold(keep_scales=True).fit(board.table.values)
    for mode, truth in (("row", board.row_labels), ("column", board.column_labels)):
        found = find_clusters(model, mode)
        assert found.n_clusters == len(np.unique(truth)) == found.labels.max()
        assert len(set(zip(found.labels, truth, strict=True))) == found.n_clusters
        first = found.labels[getattr(model, f"{mode}_order_")]
        assert first[0] == 1
        assert f"{mode}s: {found.n_clusters}, steady" in found.told(f"{mode}s")


def test_along_a_curve_nothing_is_said_to_be_clear():
    X = remove_entries(make_curve(60, 40, random_state=0).X, 0.3, random_state=0)
    found = find_clusters(CoManifold(keep_scales=True).fit(X), "row")
    assert found.n_clusters == 1
    assert (found.labels == 1).all()
    assert found.told("rows") == "rows: no clear ones"


@pytest.mark.filterwarnings("ignore:.*no observed entry")
def test_what_was_not_observed_is_in_no_cluster(board):
    X = board.table.values.copy()
    X[7] = np.nan
    found = find_clusters(CoManifold(keep_scales=True).fit(X), "row")
    assert found.labels[7] == 0
    assert found.n_clusters == 4
    assert (np.delete(found.labels, 7) > 0).all()


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 0.9))
def test_hidden_entries_leave_enough_behind(seed, share):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 15))
    X[rng.random(X.shape) < share] = np.nan
    hidden = hide_some(X)
    if hidden is None:
        return
    rest, places = hidden
    assert not np.isnan(X[places]).any()
    assert np.isnan(rest[places]).all()
    np.testing.assert_array_equal(rest[~places], X[~places])
    for axis in (0, 1):
        touched = places.any(axis=axis)
        assert ((~np.isnan(rest)).sum(axis=axis)[touched] >= 3).all()


def test_holes_made_with_a_usual_seed_leave_entries_to_hide():
    # The holes were just what the generator of the same seed would have hidden.
    holes = np.random.default_rng(0).random((50, 40)) < 0.5
    _, places = hide_some(np.where(holes, np.nan, 1.0))
    assert 0.05 < places[~holes].mean() < 0.15


def test_errors_are_what_they_say():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 20))
    rest, places = hide_some(X)
    score = score_hidden(X, rest, places, X + 0.5)
    assert score.comanifold == pytest.approx(0.5 / X[places].std())
    by_row = np.nanmean(rest, axis=1)[np.nonzero(places)[0]]
    error = np.sqrt(np.mean((by_row - X[places]) ** 2)) / X[places].std()
    assert score.row_means == pytest.approx(error)
    assert score.n_hidden == places.sum()
    assert hide_some(X[:4, :4]) is None


def test_filled_in_values_no_better_than_means_are_told():
    assert unreliable_estimates(None) == []
    assert unreliable_estimates(HeldOut(50, 0.7, 1.0, 0.9)) == []
    (told,) = unreliable_estimates(HeldOut(50, 1.02, 1.3, 0.99))
    assert told == (
        "the filled-in values are no better than column means (error 1.02 against 0.99): do not "
        "rely on them"
    )
    assert "row means" in unreliable_estimates(HeldOut(50, 0.9, 0.9, 1.2))[0]


@given(
    st.integers(0, 2**32 - 1),
    st.booleans(),
    st.booleans(),
    st.floats(1e-3, 1e3),
)
def test_what_is_done_to_the_data_is_undone(seed, log1p, standardize, scale):
    rng = np.random.default_rng(seed)
    X = scale * rng.random((8, 5))
    X[rng.random(X.shape) < 0.3] = np.nan
    X[0] = scale
    X[:, 0] = 3.0
    preparation = Preparation.of(X, log1p=log1p, standardize=standardize)
    ready = preparation.apply(X)
    np.testing.assert_allclose(preparation.undo(ready), X, rtol=1e-9, atol=1e-9 * scale)
    if standardize:
        np.testing.assert_allclose(np.nanmean(ready, axis=0), 0.0, atol=1e-9)
        deviations = np.nanstd(ready, axis=0)
        assert deviations[0] == pytest.approx(0.0, abs=1e-9)
        # A column may be constant up to rounding.
        assert all(d == pytest.approx(1.0) or d < 1e-6 for d in deviations)
    filled = preparation.fill_in(X, np.nan_to_num(ready))
    np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
    assert np.isfinite(filled).all()
