"""New rows and columns, placed in the embeddings of a fit."""

import numpy as np
import pytest
from oracles.fits import holes, random_matrix

from comanifold import CoManifold


@pytest.mark.parametrize("missing", [0.2, 0.6])
def test_rows_and_columns_of_the_matrix_are_placed_where_they_were(missing):
    X = random_matrix(8, 40, 30, missing)
    model = CoManifold().fit(X)
    np.testing.assert_allclose(model.transform(X), model.row_embedding_, atol=1e-6)
    np.testing.assert_allclose(model.transform_columns(X), model.column_embedding_, atol=1e-6)


def test_new_rows_of_a_curve_fall_between_their_neighbours():
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(0, 3, 120))
    X = np.cos(t[:, None] - np.linspace(0, 3, 60)) + 0.05 * rng.normal(size=(120, 60))
    X[rng.random(X.shape) < 0.4] = np.nan
    model = CoManifold(1).fit(X[::2])
    position = model.transform(X[1::2])[:, 0]
    inside = np.interp(t[1::2], t[::2], model.row_embedding_[:, 0])
    assert np.corrcoef(position, inside)[0, 1] > 0.99


def test_a_new_row_with_nothing_observed_gets_no_place():
    X = random_matrix(9, 20, 16)
    model = CoManifold().fit(X)
    with pytest.warns(UserWarning, match="new rows with no observed entry.*: 1") as told:
        placed = model.transform(np.vstack([X[0], np.full(16, np.nan)]))
    assert told[0].filename == __file__  # whose line it is
    assert np.isnan(placed[1]).all()
    np.testing.assert_allclose(placed[0], model.row_embedding_[0], atol=1e-6)


@pytest.mark.usefixtures("few")
def test_with_sparse_distances_points_of_the_fit_are_placed_where_they_were():
    X = holes(40, 30, seed=6)
    model = CoManifold(distances="sparse").fit(X)
    np.testing.assert_allclose(model.transform(X), model.row_embedding_, atol=1e-9)
    np.testing.assert_allclose(model.transform_columns(X), model.column_embedding_, atol=1e-9)


def test_with_sparse_distances_points_left_out_come_near_where_they_belong():
    X = holes(120, 60, seed=7)
    out = np.arange(5, 120, 10)
    model = CoManifold(1, distances="sparse").fit(np.delete(X, out, axis=0))
    known = np.delete(np.arange(120), out)
    placed = model.transform(X[out])[:, 0]
    order = np.interp(out, known, model.row_embedding_[:, 0])
    assert np.abs(np.corrcoef(placed, order)[0, 1]) > 0.99


@pytest.mark.usefixtures("few")
def test_with_sparse_distances_nothing_observed_has_no_place():
    X = holes(40, 30, seed=8)
    model = CoManifold(distances="sparse").fit(X)
    new = X[:3].copy()
    new[1] = np.nan
    with pytest.warns(UserWarning, match="new rows with no observed entry"):
        placed = model.transform(new)
    np.testing.assert_allclose(placed[[0, 2]], model.row_embedding_[[0, 2]], atol=1e-9)
    assert np.isnan(placed[1]).all()


@pytest.mark.filterwarnings("ignore:.*no observed entry")
@pytest.mark.parametrize("value", [np.inf, 1e200])
def test_a_new_column_with_a_value_that_is_too_large_is_refused_by_its_place(value):
    X = holes()
    X[2] = np.nan  # so that places among the observed rows are others
    model = CoManifold().fit(X)
    new = holes(seed=1)[:, :4]
    new[7, 3] = value
    place = "row 7, column 3" if np.isinf(value) else "values up to 1e[+]200"
    with pytest.raises(ValueError, match=place):
        model.transform_columns(new)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("distances", ["dense", "sparse"])
def test_no_new_columns_are_refused(distances):
    model = CoManifold(distances=distances).fit(holes(40, 30))
    with pytest.raises(ValueError, match=r"and some columns, got shape \(40, 0\)"):
        model.transform_columns(np.empty((40, 0)))
