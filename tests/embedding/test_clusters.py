"""Clusters of the rows and of the columns: their number, labels and confidence."""

import warnings

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.metrics import adjusted_rand_score

from comanifold import CoManifold
from comanifold._embedding.clusters import (
    Clusters,
    find_groups,
    group_into,
    point_confidence,
    renumbered,
)
from comanifold.datasets import (
    make_checkerboard,
    make_clusters,
    make_linkage,
    make_linkage2,
    remove_entries,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*no observed entry")


@pytest.fixture(scope="module")
def board():
    """A checkerboard of four by three groups with holes."""
    data = make_checkerboard(80, 60, noise=0.3, random_state=0)
    return data, remove_entries(data.X, 0.3, random_state=0)


@pytest.fixture(scope="module")
def fitted(board):
    return CoManifold(keep_scales=True).fit(board[1])


@pytest.fixture(scope="module")
def small():
    """A model of few rows, some of them equal and one without an entry."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(4, 9)), 4, axis=0)
    X[12:] = rng.normal(size=(4, 9))
    X[5] = np.nan
    return CoManifold(keep_scales=True).fit(X), X


def same_partition(one, other):
    one, other = np.asarray(one), np.asarray(other)
    return np.array_equal(one[:, None] == one, other[:, None] == other)


def groups(sizes, n_features=20, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(sizes), n_features))[labels]
    return X + noise * rng.normal(size=X.shape), labels


def test_planted_groups_are_found_in_both_modes(board, fitted):
    for mode, truth in (("row", board[0].row_labels), ("column", board[0].column_labels)):
        found = fitted.find_clusters(mode)
        assert found.n_clusters == len(np.unique(truth))
        assert same_partition(found.labels, truth)
        assert found.evidence > 0.0
        assert found.confidence > 0.95
        np.testing.assert_array_equal(found.labels, getattr(fitted, f"{mode}_labels_"))
        np.testing.assert_array_equal(
            found.point_confidence, getattr(fitted, f"{mode}_confidence_")
        )


def test_groups_of_rows_of_low_rank_are_found():
    data = make_clusters(120, 60, n_groups=4, noise=0.5, random_state=0)
    model = CoManifold().fit(remove_entries(data.X, 0.3, random_state=0))
    assert adjusted_rand_score(data.row_labels, model.row_labels_) > 0.95


@pytest.mark.parametrize("seed", range(3))
def test_three_clouds_against_a_surface_are_three_clusters(seed):
    data = make_linkage2(120, 100, random_state=seed)
    model = CoManifold().fit(remove_entries(data.X, 0.3, random_state=seed))
    assert same_partition(model.row_labels_, data.row_labels)
    assert model.column_labels_.max() == 0


@pytest.mark.parametrize("seed", range(3))
def test_clouds_of_few_points_are_not_mixed(seed):
    # Clouds of thirty points are sometimes divided further.
    data = make_linkage2(90, 80, random_state=seed)
    found = CoManifold().fit(remove_entries(data.X, 0.3, random_state=seed)).row_labels_
    assert len(set(zip(found, data.row_labels, strict=True))) == found.max() + 1 >= 3


def noise(rng):
    return rng.normal(size=(100, 50))


def row_offsets(rng):
    return 2.0 * rng.normal(size=(100, 1)) + rng.normal(size=(100, 50))


def rank_one(rng):
    return np.outer(rng.normal(size=100), rng.normal(size=50)) + 0.3 * rng.normal(size=(100, 50))


def curve(rng):
    t, s = rng.uniform(0.0, 3.0, 100), rng.uniform(0.0, 3.0, 50)
    return np.cos(t[:, None] - s) + 0.2 * rng.normal(size=(100, 50))


def surface(rng):
    X = make_linkage(100, 50, random_state=int(rng.integers(1000))).X
    return X + 0.1 * X.std() * rng.normal(size=X.shape)


@pytest.mark.parametrize("make", [noise, row_offsets, rank_one, curve, surface])
def test_what_has_no_groups_is_one_cluster(make):
    # Twelve answers for each kind: at a level of 5 %, more than three false findings would have a
    # probability below 1 % if they were independent; those of one matrix are not.
    false = []
    for seed in range(3):
        X = make(np.random.default_rng(seed))
        for missing in (0.2, 0.6):
            model = CoManifold().fit(remove_entries(X, missing, random_state=seed))
            for mode, labels in (("row", model.row_labels_), ("column", model.column_labels_)):
                if labels.max() > 0:
                    false.append((seed, missing, mode, int(labels.max()) + 1))
    assert len(false) <= binom.ppf(0.99, 12, 0.05), false


def test_every_number_of_clusters_is_exact(small):
    model, X = small
    for mode, observed in (("row", ~np.isnan(X).all(axis=1)), ("column", np.ones(9, bool))):
        order = getattr(model, f"{mode}_order_")
        for k in range(1, observed.sum() + 1):
            found = model.find_clusters(mode, k)
            assert found.n_clusters == k
            for labels in (found.labels, model.cut(mode, k)):
                np.testing.assert_array_equal(labels >= 0, observed)
                np.testing.assert_array_equal(np.unique(labels[observed]), np.arange(k))
                in_order = labels[order][observed[order]]
                first = np.unique(in_order, return_index=True)[1]
                assert (np.diff(first) > 0).all()
            np.testing.assert_array_equal(np.isnan(found.point_confidence), ~observed)
            known = found.point_confidence[observed]
            assert ((known >= 0.0) & (known <= 1.0)).all()


def test_a_fit_has_exactly_as_many_clusters_as_asked_for(small):
    _, X = small
    for k in range(1, 16):
        pair = (k, min(k, 9))
        model = CoManifold(n_clusters=pair, keep_scales=True).fit(X)
        for mode, number in zip(("row", "column"), pair, strict=True):
            labels = getattr(model, f"{mode}_labels_")
            np.testing.assert_array_equal(np.unique(labels[labels >= 0]), np.arange(number))
            np.testing.assert_array_equal(model.cut(mode, number), labels)
    assert model.row_labels_[5] == -1
    assert np.isnan(model.row_confidence_[5])


def test_the_number_is_that_of_both_modes_or_of_each(board, fitted):
    both = CoManifold(n_clusters=2).fit(board[1])
    assert (both.row_labels_.max(), both.column_labels_.max()) == (1, 1)
    np.testing.assert_array_equal(both.row_labels_, fitted.find_clusters("row", 2).labels)
    assert both.find_clusters("row").evidence == 0.0
    one = CoManifold(n_clusters=(None, 2)).fit(board[1])
    np.testing.assert_array_equal(one.row_labels_, fitted.row_labels_)
    np.testing.assert_array_equal(one.column_labels_, both.column_labels_)


@pytest.mark.parametrize("value", [0, -1, 2.5, True, "two", (1, 2, 3), (2, 0), (None, "2"), [], ()])
def test_impossible_numbers_are_refused_by_name(board, value):
    with pytest.raises(ValueError, match="n_clusters must be None, a positive integer"):
        CoManifold(n_clusters=value).fit(board[1])


def test_more_clusters_than_points_are_refused(small):
    model, X = small
    with pytest.raises(ValueError, match="n_clusters must be at most 15, the number of rows"):
        CoManifold(n_clusters=(16, 2)).fit(X)
    with pytest.raises(ValueError, match="n_clusters must be at most 9, the number of columns"):
        CoManifold(n_clusters=10).fit(X)
    for method in (model.find_clusters, model.cut):
        for value in (0, 16, 2.5, True, "two"):
            with pytest.raises(ValueError, match="n_clusters must be an integer from 1 to 15"):
                method("row", value)
        with pytest.raises(ValueError, match="mode must be one of"):
            method("rows", 2)


@pytest.mark.parametrize("n_clusters", [None, 5, (None, 2)])
def test_a_loaded_model_has_the_same_clusters(board, tmp_path, n_clusters):
    X = board[1].copy()
    X[7] = np.nan
    model = CoManifold(n_clusters=n_clusters, keep_scales=True).fit(X)
    model.save(tmp_path / "model")
    again = CoManifold.load(tmp_path / "model")
    assert again.n_clusters == n_clusters
    for mode in ("row", "column"):
        for k in (None, 3):
            one, other = model.find_clusters(mode, k), again.find_clusters(mode, k)
            np.testing.assert_array_equal(one.labels, other.labels)
            np.testing.assert_array_equal(one.point_confidence, other.point_confidence)
            assert one.evidence == other.evidence
        np.testing.assert_array_equal(model.cut(mode, 6), again.cut(mode, 6))
    assert again.row_labels_[7] == -1
    assert model.find_clusters("column").evidence > 0.0 or n_clusters is not None


def test_cuts_need_kept_scales(board):
    model = CoManifold().fit(board[1])
    assert model.find_clusters("row").n_clusters == 4
    with pytest.raises(AttributeError, match="keep_scales=True"):
        model.cut("row", 2)


def test_the_tree_has_the_clusters(fitted):
    for mode in ("row", "column"):
        labels = getattr(fitted, f"{mode}_labels_")
        np.testing.assert_array_equal(fitted.cut(mode, labels.max() + 1), labels)


def test_units_and_the_order_of_rows_and_columns_do_not_matter(board, fitted):
    X = board[1]
    again = CoManifold().fit(-1000.0 * X + 7.0)
    assert same_partition(again.row_labels_, fitted.row_labels_)
    assert same_partition(again.column_labels_, fitted.column_labels_)
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(80), rng.permutation(60)
    again = CoManifold().fit(X[np.ix_(rows, columns)])
    assert same_partition(again.row_labels_, fitted.row_labels_[rows])
    assert same_partition(again.column_labels_, fitted.column_labels_[columns])


def test_clusters_are_deterministic(board, fitted):
    again = CoManifold().fit(board[1])
    for name in ("row_labels_", "column_labels_", "row_confidence_", "column_confidence_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(fitted, name))
    for k in (3, 7):
        one, other = again.find_clusters("row", k), fitted.find_clusters("row", k)
        np.testing.assert_array_equal(one.labels, other.labels)
        np.testing.assert_array_equal(one.point_confidence, other.point_confidence)


def test_a_random_state_can_be_an_instance(board):
    fits = [
        CoManifold(n_clusters=5, random_state=np.random.RandomState(3)).fit(board[1])
        for _ in range(2)
    ]
    assert fits[0].row_labels_.max() == 4
    np.testing.assert_array_equal(fits[0].row_labels_, fits[1].row_labels_)
    np.testing.assert_array_equal(fits[0].row_confidence_, fits[1].row_confidence_)


def test_groups_of_a_sample_are_extended_to_all_points():
    X, truth = groups([900, 700, 400])
    order = np.random.default_rng(0).permutation(2000)
    labels, evidence = find_groups(X[order], X[order], 0.005)
    assert same_partition(labels, truth[order])
    assert evidence > 0.0
    np.testing.assert_array_equal(np.unique(labels), np.arange(3))


def test_small_groups_of_a_sample_are_not_outvoted():
    X, truth = groups([1700, 290, 10], noise=0.02)
    labels, _ = find_groups(X, X, 0.005)
    np.testing.assert_array_equal(np.unique(labels), np.arange(labels.max() + 1))
    assert adjusted_rand_score(labels, truth) > 0.95


def test_without_structure_there_is_one_cluster():
    X, truth = groups([40, 40])
    assert same_partition(find_groups(X, X, 0.05)[0], truth)
    labels, evidence = find_groups(X, X, 0.0501)
    assert (labels == 0).all()
    assert evidence == 0.0


def test_groups_that_the_linear_completion_does_not_have_are_not_found():
    X, truth = groups([40, 40])
    linear = np.random.default_rng(0).permutation(80)[:, None] * np.ones(20)  # even along a line
    assert same_partition(find_groups(X, X.copy(), 0.005)[0], truth)
    assert (find_groups(X, linear, 0.005)[0] == 0).all()
    assert (find_groups(X, np.ones_like(X), 0.005)[0] == 0).all()


@pytest.mark.parametrize("sizes", [[30, 30], [40, 40, 40], [100, 25], [200, 21]])
def test_groups_of_equal_points_are_found_and_not_divided(sizes):
    X, truth = groups(sizes, noise=0.0)
    assert same_partition(find_groups(X, X, 0.005)[0], truth)


def test_equal_points_share_a_cluster():
    rng = np.random.default_rng(0)
    X = np.vstack([np.tile(rng.normal(size=(1, 20)), (80, 1)), rng.normal(size=(20, 20))])
    assert len(np.unique(find_groups(X, X, 0.005)[0][:80])) == 1


@pytest.mark.parametrize("k", [1, 2, 3, 29, 30])
@pytest.mark.parametrize("n_distinct", [1, 2, 30])
def test_equal_points_are_grouped_into_any_number(k, n_distinct):
    X = np.random.default_rng(0).normal(size=(n_distinct, 6))[np.arange(30) % n_distinct]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        labels = group_into(X, k, 0)
    np.testing.assert_array_equal(np.unique(labels), np.arange(k))


@pytest.mark.parametrize("sizes", [[40, 30], [40, 6], [30, 2]])
def test_separated_groups_are_sure(sizes):
    X, labels = groups(sizes)
    np.testing.assert_array_equal(point_confidence(X, labels, 0), 1.0)


def test_a_point_half_way_between_two_groups_is_less_sure():
    X, labels = groups([40, 40], noise=0.3)
    X = np.vstack([X, 0.5 * (X[labels == 0].mean(axis=0) + X[labels == 1].mean(axis=0))])
    labels = np.append(labels, 0)
    confidence = point_confidence(X, labels, 0)
    assert confidence[:-1].min() > 0.9
    assert confidence[-1] < 0.9
    np.testing.assert_array_equal(confidence, point_confidence(X, labels, 0))


def test_one_cluster_is_sure_and_a_point_on_its_own_is_not():
    X, labels = groups([30, 30])
    np.testing.assert_array_equal(point_confidence(X, np.zeros(60, dtype=int), 0), 1.0)
    labels[0] = 2
    assert point_confidence(X, labels, 0)[0] == 0.0


def test_clusters_outside_the_sample_of_voters_have_a_confidence():
    X, labels = groups([1000, 600])
    sampled = np.unique(np.linspace(0, 1599, 1500).astype(int))
    labels[np.setdiff1d(np.arange(1600), sampled)[0]] = 2
    confidence = point_confidence(X, labels, 0)
    assert (confidence[labels < 2] == 1.0).all()
    assert confidence[labels == 2] == 0.0


def test_labels_are_numbered_along_an_order():
    labels, order = np.array([7, 2, -1, 7, 4]), np.array([4, 0, 3, 1, 2])
    np.testing.assert_array_equal(renumbered(labels, order), [1, 2, -1, 1, 0])


def test_clusters_as_text():
    found = Clusters(np.array([0, -1, 1]), 0.5, np.array([1.0, np.nan, 0.5]))
    assert found.as_text() == ["1", "", "2"]
    assert (found.n_clusters, found.confidence) == (2, 0.75)
