"""Entries out of all proportion: few scales, a warning that names them, the others as before."""

import warnings

import numpy as np
import pandas as pd
import pytest
from oracles.fits import holes

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


@pytest.mark.filterwarnings("ignore:the affinities fall into")
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize(("change", "times"), [(one, 1), (million, 1), (two, 1)])
def test_a_huge_cell_does_not_make_thousands_of_scales(change, times, missing):
    X = groups(missing=missing)
    without = CoManifold().fit(X)
    change(X)
    with pytest.warns(UserWarning, match="in row 3, column 4"):
        model = CoManifold().fit(X)
    assert len(model.scales_) <= times * len(without.scales_)
    assert sum(scale.n_iter for scale in model.scales_) <= 10 * without.n_iter_ + 200


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("change", [row, column])
def test_a_huge_row_or_column_does_not_make_thousands_of_scales(change):
    X = groups()
    change(X)
    assert len(CoManifold().fit(X).scales_) < 600


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("draw", ["cauchy", "lognormal"])
def test_heavy_tails_do_not_make_thousands_of_scales(draw):
    rng = np.random.default_rng(0)
    X = rng.standard_cauchy((60, 50)) if draw == "cauchy" else np.exp(5 * rng.normal(size=(60, 50)))
    assert len(CoManifold().fit(X).scales_) < 600


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("change", [one, million, row])
def test_the_other_rows_keep_their_distances(change):
    X = groups()
    without = CoManifold().fit(X).row_distances_
    change(X)
    model = CoManifold().fit(X)
    others = np.delete(np.arange(40), [3, 20])
    above = np.triu_indices(38, 1)
    pair = [D[np.ix_(others, others)][above] for D in (without, model.row_distances_)]
    assert np.corrcoef(*pair)[0, 1] > 0.9


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
    places = [(scale.l, scale.k) for scale in model.scales_]
    assert [(scale.l, scale.k) for scale in scaled.scales_] == places
    assert sorted((scale.k, scale.l) for scale in transposed.scales_) == sorted(places)


@pytest.mark.filterwarnings("ignore:the affinities fall into")
def test_the_warning_has_the_names_and_the_number_of_other_entries():
    X = groups()
    two(X)
    frame = pd.DataFrame(X, [f"gene {i}" for i in range(40)], [f"s{j}" for j in range(32)])
    words = r"1e\+12 in row 'gene 3' \(3\), column 's4' \(4\).*1 more entries.*NaN.*logarithm"
    with pytest.warns(UserWarning, match=words) as told:
        CoManifold().fit(frame)
    assert told[0].filename == __file__


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("traversal", ["symmetric", "paper"])
def test_scales_that_are_skipped_leave_linkages_whole(traversal, tmp_path):
    X = groups()
    one(X)
    model = CoManifold(keep_scales=True, traversal=traversal).fit(X)
    for linkage, n_points in ((model.row_linkage_, 40), (model.column_linkage_, 32)):
        assert linkage.shape == (n_points - 1, 4)
        assert (np.diff(linkage[:, 2]) >= 0).all()
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(
        CoManifold.load(tmp_path / "model").row_embedding_, model.row_embedding_
    )


def test_ordinary_matrices_have_no_outlying_entries():
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.2, size=(40, 30)) * rng.integers(1, 1000, size=(40, 30))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for X in (holes(), groups(), counts, np.log1p(counts), (holes() > 0).astype(float)):
            CoManifold().fit(X)
