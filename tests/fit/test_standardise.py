"""Entries out of all proportion count as missing; data that reach far have larger steps."""

import warnings

import numpy as np
import pandas as pd
import pytest
from oracles.fits import holes, scales_of

from comanifold import CoManifold


def groups(seed=0, missing=0.3):
    """Four groups of rows and four of columns, with noise."""
    rng = np.random.default_rng(seed)
    X = np.kron(rng.normal(size=(4, 4)), np.ones((10, 8))) + 0.3 * rng.normal(size=(40, 32))
    X[rng.random(X.shape) < missing] = np.nan
    X[3, 4], X[20, 17] = 0.1, -0.2
    return X


def one(X):
    X[3, 4] = 1e12


def million(X):
    X[3, 4] = 1e6


def two(X):
    X[3, 4], X[20, 17] = 1e12, -1e9


def row(X):
    X[3] *= 1e10


def column(X):
    X[:, 4] *= 1e10


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("change", [one, million, two])
def test_a_huge_cell_counts_as_missing_and_is_named(change, missing):
    X = groups(missing=missing)
    change(X)
    with pytest.warns(UserWarning, match="in row 3, column 4.*as if it were missing"):
        model = CoManifold().fit(X)
    expected = [[3, 4], [20, 17]][: 2 if change is two else 1]
    np.testing.assert_array_equal(model.ignored_entries_, expected)
    assert model.filled_[3, 4] == X[3, 4]
    X[tuple(model.ignored_entries_.T)] = np.nan
    without = CoManifold().fit(X)
    assert len(without.ignored_entries_) == 0
    np.testing.assert_array_equal(model.row_distances_, without.row_distances_)
    np.testing.assert_array_equal(model.row_embedding_, without.row_embedding_)


def test_a_huge_cell_takes_no_more_than_twice_the_work():
    """100 x 80 with one cell of 1e12: 2,204 scales before."""
    X = np.random.default_rng(0).normal(size=(100, 80))
    without = CoManifold(keep_scales=True).fit(X)
    X[3, 4] = 1e12
    with pytest.warns(UserWarning, match=r"1e\+12 in row 3, column 4"):
        model = CoManifold(keep_scales=True).fit(X)
    assert len(scales_of(model)) <= 2 * len(scales_of(without))
    assert model.n_iter_ <= 2 * without.n_iter_ + 10


@pytest.mark.filterwarnings("ignore:the affinities fall into")
@pytest.mark.parametrize("change", [row, column])
def test_a_column_in_other_units_is_kept_and_makes_hundreds_of_scales_at_most(change):
    X = groups()
    change(X)
    with pytest.warns(UserWarning, match="costs grow by factors of 4 instead of 2"):
        model = CoManifold(keep_scales=True).fit(X)
    assert len(model.ignored_entries_) == 0
    assert len(scales_of(model)) < 600
    last = scales_of(model)[-1]
    assert (last.n_row_clusters, last.n_column_clusters) == (1, 1)
    steps = {(scale.l - scales_of(model)[0].l) % 2 for scale in scales_of(model)}
    assert steps == {0}
    for linkage, n_points in ((model.row_linkage_, 40), (model.column_linkage_, 32)):
        assert linkage.shape == (n_points - 1, 4)
        assert (np.diff(linkage[:, 2]) >= 0).all()


@pytest.mark.parametrize("draw", ["cauchy", "lognormal"])
@pytest.mark.filterwarnings("ignore:the largest entries")
def test_heavy_tails_are_not_outliers(draw):
    rng = np.random.default_rng(0)
    X = rng.standard_cauchy((60, 50)) if draw == "cauchy" else np.exp(5 * rng.normal(size=(60, 50)))
    model = CoManifold().fit(X)
    assert len(model.ignored_entries_) == 0
    assert len(scales_of(model)) < 600


@pytest.mark.filterwarnings("ignore")
def test_units_order_and_transposition_change_nothing():
    X = groups()
    one(X)
    rng = np.random.default_rng(1)
    model = CoManifold().fit(X)
    rows, columns = rng.permutation(40), rng.permutation(32)
    permuted = CoManifold().fit(X[rows][:, columns])
    expected = model.row_distances_[np.ix_(rows, rows)]
    np.testing.assert_allclose(permuted.row_distances_, expected, rtol=1e-3)
    transposed = CoManifold().fit(X.T)
    np.testing.assert_allclose(transposed.column_distances_, model.row_distances_, rtol=1e-3)
    scaled = CoManifold().fit(4.0 * X)
    np.testing.assert_allclose(scaled.row_distances_, 4.0 * model.row_distances_, rtol=1e-3)
    places = [(scale.l, scale.k) for scale in scales_of(model)]
    assert [(scale.l, scale.k) for scale in scales_of(scaled)] == places
    assert sorted((scale.k, scale.l) for scale in scales_of(transposed)) == sorted(places)


@pytest.mark.filterwarnings("ignore:the affinities fall into")
def test_the_warning_has_the_names_and_the_number_of_other_entries():
    X = groups()
    two(X)
    frame = pd.DataFrame(X, [f"gene {i}" for i in range(40)], [f"s{j}" for j in range(32)])
    words = r"1e\+12 in row 'gene 3' \(3\), column 's4' \(4\).*and 1 more.*NaN.*logarithm"
    with pytest.warns(UserWarning, match=words) as told:
        CoManifold().fit(frame)
    assert told[0].filename == __file__


@pytest.mark.filterwarnings("ignore:the entry")
def test_a_model_with_ignored_entries_is_saved_and_places_its_rows(tmp_path):
    X = groups()
    two(X)
    model = CoManifold(keep_scales=True).fit(X)
    model.save(tmp_path / "model")
    loaded = CoManifold.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.ignored_entries_, [[3, 4], [20, 17]])
    np.testing.assert_array_equal(loaded.transform(X), model.row_embedding_)
    np.testing.assert_array_equal(loaded.filled_, model.filled_)


def test_ordinary_matrices_have_no_outliers():
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.2, size=(40, 30)) * rng.integers(1, 1000, size=(40, 30))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for X in (holes(), groups(), counts, np.log1p(counts), (holes() > 0).astype(float)):
            CoManifold().fit(X)


def test_the_quotient_of_the_largest_entry_and_the_usual_one_may_overflow():
    X = np.random.default_rng(0).normal(size=(8, 6)) * 1e-310
    X[1] = 7.0
    with pytest.warns(UserWarning, match="times as far from the median"):
        model = CoManifold().fit(X)
    assert np.isfinite(model.row_embedding_).all()
