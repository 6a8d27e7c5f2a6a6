"""New rows and columns, placed in the embeddings of a fit."""

import numpy as np
import pytest
from oracles.fits import holes, random_matrix
from sklearn.manifold import Isomap

from comanifold import CoManifold


@pytest.mark.parametrize("missing", [0.2, 0.6])
def test_rows_and_columns_of_the_matrix_are_placed_where_they_were(missing):
    X = random_matrix(8, 40, 30, missing)
    model = CoManifold().fit(X)
    np.testing.assert_array_equal(model.transform(X), model.row_embedding_)
    np.testing.assert_array_equal(model.transform_columns(X), model.column_embedding_)


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


def with_equal_rows(seed=3):
    """Few entries of two values, so that many rows are equal and neighbours are tied."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(40, 12)).astype(float)
    X[rng.random(X.shape) < 0.7] = np.nan
    return X[rng.integers(0, 25, size=60)]


OPTIONS = [{}, {"first_graphs": "masked"}, {"distances": "sparse"}, {"penalty": "mcp"}]
OPTIONS += [{"metric": "tree"}, {"metric": "tree", "distances": "sparse"}]
OPTIONS += [{"embedding": Isomap(metric="precomputed")}, {"n_components": 4, "bandwidth": 0.5}]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_equal_rows_and_columns_are_placed_where_each_of_them_was(options):
    X = with_equal_rows()
    for matrix in (X, X.T):
        model = CoManifold(**options).fit(matrix)
        np.testing.assert_array_equal(model.transform(matrix), model.row_embedding_)
        np.testing.assert_array_equal(model.transform_columns(matrix), model.column_embedding_)


@pytest.mark.filterwarnings("ignore")
def test_rows_that_share_a_place_among_others_have_one_of_the_places_of_their_equals():
    X = with_equal_rows()
    model = CoManifold(first_graphs="masked").fit(X)
    contents = [row.tobytes() for row in X]
    for i in range(len(X)):
        places = model.row_embedding_[[j for j in range(len(X)) if contents[j] == contents[i]]]
        placed = model.transform(X[[i]])[0]
        if np.isnan(X[i]).all():
            assert np.isnan(placed).all()
        else:
            assert (places == placed).all(axis=1).any()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("names", ["text", "numbers", "repeated"])
def test_labels_tell_equal_rows_and_columns_apart(names):
    pd = pytest.importorskip("pandas")
    X = with_equal_rows()
    labels = {
        "text": [f"r{i}" for i in range(60)],
        "numbers": np.arange(100, 160),
        "repeated": ["all"] * 60,
    }[names]
    frame = pd.DataFrame(X, index=labels, columns=[f"c{j}" for j in range(12)])
    model = CoManifold(first_graphs="masked").fit(frame)
    order = np.random.default_rng(0).permutation(60)[:45]
    if names == "repeated":
        np.testing.assert_array_equal(model.transform(frame), model.row_embedding_)
        return
    np.testing.assert_array_equal(model.transform(frame.iloc[order]), model.row_embedding_[order])
    columns = np.array([7, 3, 5])
    np.testing.assert_array_equal(
        model.transform_columns(frame.iloc[:, columns]), model.column_embedding_[columns]
    )


def test_a_label_of_the_fit_on_other_values_says_nothing():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(holes(), columns=[f"c{j}" for j in range(20)])
    model = CoManifold().fit(frame)
    other = pd.DataFrame(holes(seed=4), columns=frame.columns)
    np.testing.assert_array_equal(
        model.transform(other), model.transform(other.set_axis(list("x" * 30)))
    )


def test_zeros_of_either_sign_are_equal():
    X = holes()
    X[4, ~np.isnan(X[4])] = 0.0
    model = CoManifold().fit(X)
    np.testing.assert_array_equal(model.transform(-X[[4]]), model.row_embedding_[[4]])
