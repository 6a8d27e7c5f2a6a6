"""The questionnaire against its steps by hand, and on matrices whose structure is known."""

import pickle

import numpy as np
import pytest
from scipy.cluster.hierarchy import is_valid_linkage
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from comanifold import DiffusionMap, masked_distances
from comanifold.baselines import Questionnaire
from comanifold.datasets import make_checkerboard, remove_entries
from comanifold.trees import PartitionTree, flexible_tree, tree_distances


@parametrize_with_checks([Questionnaire(1), Questionnaire(1, n_trees=2)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def waves(n_rows=50, n_columns=40, missing=0.2, seed=0):
    rng = np.random.default_rng(seed)
    t, s = np.sort(rng.uniform(0, 3, n_rows)), np.sort(rng.uniform(0, 3, n_columns))
    X = np.cos(t[:, None] - s) + 0.1 * rng.normal(size=(n_rows, n_columns))
    X[rng.random(X.shape) < missing] = np.nan
    return t, s, X


def test_the_first_round_is_the_steps_by_hand():
    _, _, X = waves(20, 15)
    D = masked_distances(X.T)
    m = np.array([np.median(np.sort(np.delete(row, j))[:5]) for j, row in enumerate(D)])
    column_tree = flexible_tree(np.exp(-(D**2) / np.outer(m, m)))
    rows = tree_distances(X, column_tree, alpha=0.2, beta=0.7)
    row_tree = flexible_tree(np.exp(-rows / np.median(rows[np.triu_indices(20, 1)])))
    columns = tree_distances(X.T, row_tree, alpha=0.2, beta=0.7)
    model = Questionnaire(n_rounds=1, alpha=0.2, beta=0.7, bandwidth="local").fit(X)
    assert (model.row_tree_, model.column_tree_) == (row_tree, column_tree)
    np.testing.assert_allclose(model.row_distances_, rows)
    np.testing.assert_allclose(model.column_distances_, columns)
    by_hand = DiffusionMap(2, metric="precomputed", bandwidth="local").fit_transform(columns)
    np.testing.assert_allclose(model.column_embedding_, by_hand, atol=1e-10)
    # The next round begins with the distances between the columns.
    second = Questionnaire(n_rounds=2, alpha=0.2, beta=0.7).fit(X)
    median = np.median(columns[np.triu_indices(15, 1)])
    assert second.column_tree_ == flexible_tree(np.exp(-columns / median))


def test_both_modes_of_a_smooth_matrix_are_ordered():
    t, s, X = waves()
    model = Questionnaire().fit(X)
    assert abs(np.corrcoef(model.row_embedding_[:, 0], t)[0, 1]) > 0.95
    assert abs(np.corrcoef(model.column_embedding_[:, 0], s)[0, 1]) > 0.95
    assert model.embedding_ is model.row_embedding_
    for linkage, tree in (
        (model.row_linkage_, model.row_tree_),
        (model.column_linkage_, model.column_tree_),
    ):
        assert is_valid_linkage(linkage)
        assert PartitionTree.from_linkage(linkage, np.arange(tree.n_levels)) == tree


def test_blocks_are_folders_of_the_trees():
    data = make_checkerboard(60, 50, noise=0.1, random_state=0)
    model = Questionnaire().fit(remove_entries(data.X, 0.2, random_state=0))
    for tree, labels in (
        (model.row_tree_, data.row_labels),
        (model.column_tree_, data.column_labels),
    ):
        folders = {frozenset(folder.members.tolist()) for folder in tree.folders}
        assert {frozenset(np.flatnonzero(labels == a).tolist()) for a in labels} <= folders


def test_new_rows_are_placed_over_the_column_trees():
    t, _, X = waves(60, 40)
    model = Questionnaire(n_trees=2).fit(X[::2])
    np.testing.assert_allclose(model.transform(X[::2]), model.embedding_, atol=1e-10)
    sign = np.sign(np.corrcoef(model.embedding_[:, 0], t[::2])[0, 1])
    assert np.corrcoef(sign * model.transform(X[1::2])[:, 0], t[1::2])[0, 1] > 0.95
    nothing = model.transform(np.vstack([X[:1], np.full((1, 40), np.nan)]))
    assert np.isfinite(nothing[0]).all()
    assert np.isnan(nothing[1]).all()


@pytest.mark.parametrize("missing", [0.0, 0.95])
def test_as_many_coordinates_as_possible_with_constant_rows_and_columns(missing):
    _, _, X = waves(40, 30, missing)
    X[np.arange(40), np.arange(40) % 30] = 0.5  # so that none is without an entry
    X[3], X[:, 7] = 2.0, -1.0
    model = Questionnaire(29).fit(X)
    assert (model.row_embedding_.shape, model.column_embedding_.shape) == ((40, 29), (30, 29))
    assert np.isfinite(model.row_embedding_).all()
    assert np.isfinite(model.column_embedding_).all()
    np.testing.assert_allclose(model.transform(X[:9]), model.embedding_[:9], atol=1e-6)
    with pytest.raises(ValueError, match="30 coordinate"):
        Questionnaire(30).fit(X)


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("unit", [2.0**-400, 2.0**20, 2.0**400])
def test_units_do_not_matter(unit, copies):
    _, _, X = waves(30, 25)
    if copies:  # of most columns more than the nearest ones that give the bandwidth
        X = np.hstack([np.repeat(X[:, ::3], 6, axis=1), X[:, 1:4]])
    model, scaled = (Questionnaire(n_rounds=1).fit(factor * X) for factor in (1.0, unit))
    assert scaled.column_tree_ == model.column_tree_
    assert scaled.row_tree_ == model.row_tree_
    np.testing.assert_allclose(scaled.row_distances_, unit * model.row_distances_, rtol=1e-9)
    np.testing.assert_allclose(scaled.embedding_, model.embedding_, atol=1e-9)


def test_several_trees_are_averaged():
    _, _, X = waves()
    model = Questionnaire(n_trees=3, random_state=1).fit(X)
    assert len(set(model.row_trees_)) == len(set(model.column_trees_)) == 3
    assert model.row_tree_ == model.row_trees_[0]
    np.testing.assert_allclose(model.row_distances_, tree_distances(X, model.column_trees_))
    again = Questionnaire(n_trees=3, random_state=1).fit(X)
    assert again.row_trees_ == model.row_trees_
    assert Questionnaire(n_trees=3, random_state=2).fit(X).row_trees_ != model.row_trees_


def test_the_order_of_rows_and_columns_does_not_matter():
    _, _, X = waves(30, 25)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(30), rng.permutation(25)
    one, other = Questionnaire().fit(X), Questionnaire().fit(X[np.ix_(rows, columns)])
    np.testing.assert_allclose(
        other.row_distances_, one.row_distances_[np.ix_(rows, rows)], rtol=1e-9
    )


@pytest.mark.filterwarnings("ignore:the affinities fall into:UserWarning")
@pytest.mark.parametrize(
    "X",
    [
        np.zeros((6, 5)),
        np.kron(np.eye(2), np.ones((4, 3))),
        np.where(np.kron(np.eye(2), np.ones((4, 3))) > 0, 1.0, np.nan),  # share nothing
        np.where(np.eye(5) > 0, np.arange(5.0), np.nan),
        np.vstack([np.zeros((8, 4)), np.ones((1, 4))]),
        1e150 * np.vander(np.linspace(-1, 1, 7), 4) * 1e-5,
    ],
    ids=["constant", "copies", "disjoint", "diagonal", "outlier", "large"],
)
def test_degenerate_matrices_have_finite_results(X):
    model = Questionnaire(1).fit(X)
    for name in ("row_embedding_", "column_embedding_", "row_distances_", "column_distances_"):
        assert np.isfinite(getattr(model, name)).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components must be a positive integer, got 0"),
        ({"n_components": 40}, r"X has 40 column\(s\) with an observed entry"),
        ({"n_rounds": 0}, "n_rounds must be a positive integer, got 0"),
        ({"n_trees": 1.5}, "n_trees must be a positive integer, got 1.5"),
        ({"alpha": None}, "alpha must be a finite number"),
        ({"beta": np.inf}, "beta must be a finite number"),
        ({"bandwidth": -1.0}, "bandwidth must be"),
        ({"random_state": "seed"}, "seed"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        Questionnaire(**parameters).fit(waves()[2])


def test_rows_and_columns_without_entries_are_refused():
    _, _, X = waves()
    X[:, 7] = np.nan
    with pytest.raises(ValueError, match="columns with no observed entry: 7"):
        Questionnaire().fit(X)
    with pytest.raises(ValueError, match=r"rows with no observed entry.*7"):
        Questionnaire().fit(X.T)


def test_clone_pickle_and_output():
    _, _, X = waves()
    model = Questionnaire(n_trees=2).set_output(transform="pandas").fit(X)
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    assert again.row_trees_ == model.row_trees_
    placed = again.transform(X[:3])
    assert list(placed.columns) == ["questionnaire0", "questionnaire1"]
    np.testing.assert_array_equal(placed, model.transform(X[:3]))
