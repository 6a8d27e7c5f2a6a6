"""Degenerate, huge, tiny and unusual inputs: a result or a plain error."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from oracles.fits import random_matrix, scales_of
from oracles.problems import path
from scipy.cluster.hierarchy import is_valid_linkage

from comanifold import (
    CoCluster,
    CoManifold,
    Graph,
    co_cluster,
    dual_bound,
    masked_distances,
    objective,
)
from comanifold.penalties import Log, Penalty, Snowflake


def test_rows_and_columns_with_nothing_observed_stay_in_place():
    X = random_matrix(0, 20, 16)
    with_gaps = np.insert(np.insert(X, [3, 10], np.nan, axis=0), 5, np.nan, axis=1)
    lost_rows, lost_column = [3, 11], 5
    with (
        pytest.warns(UserWarning, match=r"rows with no observed entry.*: 3, 11"),
        pytest.warns(UserWarning, match=r"columns with no observed entry.*: 5") as told,
    ):
        model = CoManifold(keep_scales=True).fit(with_gaps)
    assert {warning.filename for warning in told} == {__file__}  # whose line it is
    np.testing.assert_array_equal(model.unobserved_rows_, lost_rows)
    np.testing.assert_array_equal(model.unobserved_columns_, [lost_column])
    plain = CoManifold(keep_scales=True).fit(X)
    rows = np.setdiff1d(np.arange(22), lost_rows)
    columns = np.setdiff1d(np.arange(17), [lost_column])
    assert np.isnan(model.row_embedding_[lost_rows]).all()
    assert np.isnan(model.column_embedding_[lost_column]).all()
    np.testing.assert_array_equal(model.row_embedding_[rows], plain.row_embedding_)
    np.testing.assert_array_equal(model.column_embedding_[columns], plain.column_embedding_)
    np.testing.assert_array_equal(model.row_distances_[np.ix_(rows, rows)], plain.row_distances_)
    assert np.isnan(model.row_distances_[3]).all()
    np.testing.assert_array_equal(model.filled_[np.ix_(rows, columns)], plain.filled_)
    assert sorted(model.row_order_) == list(range(22))
    assert list(model.row_order_[-2:]) == lost_rows
    first = scales_of(model)[0]
    assert list(model.row_labels_at(first.l, first.k)[lost_rows]) == [-1, -1]
    assert np.isnan(model.estimate_at(first.l, first.k)[3]).all()
    assert is_valid_linkage(model.row_linkage_)
    assert len(model.row_linkage_) == 21
    new = model.transform(with_gaps[rows])
    np.testing.assert_allclose(new, model.row_embedding_[rows], atol=1e-6)


def test_two_rows_that_share_no_column():
    X = random_matrix(1, 20, 16)
    X[0, :8], X[0, 8:] = np.arange(8.0), np.nan
    X[1, :8], X[1, 8:] = np.nan, np.arange(8.0)
    model = CoManifold().fit(X)
    assert np.isfinite(model.row_distances_).all()
    assert np.isfinite(model.row_embedding_).all()


def test_a_whole_block_missing():
    X = random_matrix(2, 30, 24, missing=0.1)
    X[:15, :12] = np.nan
    model = CoManifold().fit(X)
    assert np.isfinite(model.filled_).all()
    assert np.isfinite(model.row_embedding_).all()
    assert np.nanmin(X) <= model.filled_.min() <= model.filled_.max() <= np.nanmax(X)


def test_two_blocks_that_share_nothing():
    X = np.full((20, 16), np.nan)
    X[:10, :8], X[10:, 8:] = random_matrix(3, 10, 8, 0.1), random_matrix(4, 10, 8, 0.1)
    model = CoManifold().fit(X)
    assert np.isfinite(model.row_embedding_).all()
    assert np.isfinite(model.filled_).all()


def test_duplicated_rows():
    X = np.repeat(random_matrix(3, 8, 12, 0.3), 4, axis=0)
    model = CoManifold().fit(X)
    apart = model.row_distances_.reshape(8, 4, 8, 4)
    for i in range(8):
        # Not zero: what is missing of both, which may differ, counts.
        assert apart[i, :, i].max() <= 0.02 * model.row_distances_.max()
        assert apart[i, :, i].max() < np.delete(apart[i], i, axis=1).min()


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_constant_matrix(missing):
    X = np.full((8, 6), 3.25)
    X[np.random.default_rng(0).random(X.shape) < missing] = np.nan
    model = CoManifold().fit(X)
    np.testing.assert_array_equal(model.filled_, 3.25)
    np.testing.assert_array_equal(model.row_distances_, 0.0)
    np.testing.assert_allclose(model.row_embedding_, 0.0, atol=1e-7)


def test_three_by_three():
    X = np.array([[1.0, 2.0, np.nan], [np.nan, 3.0, 4.0], [8.0, np.nan, 9.0]])
    model = CoManifold().fit(X)
    assert model.row_embedding_.shape == (3, 2)
    assert np.isfinite(model.row_embedding_).all()
    assert np.isfinite(model.filled_).all()


@pytest.mark.parametrize("X", [np.ones((1, 5)), np.ones((5, 1)), np.ones((2, 2))])
def test_too_few_rows_or_columns(X):
    with pytest.raises(ValueError, match=r"X has [12] (row|column)\(s\) .* at least 3 are"):
        CoManifold().fit(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.full((4, 4), np.nan), "no observed entry"),
        ([[1.0, np.inf, 2.0]] * 3, "infinity|inf"),
        ([["a", "b", "c"]] * 3, "could not convert|numeric"),
        (np.ones((3, 3, 3)), "dim"),
    ],
)
def test_invalid_matrices_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        CoManifold().fit(X)


nan = np.nan
X = np.arange(12.0).reshape(4, 3)


def test_the_estimator_honours_the_mask_of_a_masked_array():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(10, 8))
    Y[rng.random(Y.shape) < 0.3] = nan
    masked = np.ma.masked_array(np.where(np.isnan(Y), 99.0, Y), mask=np.isnan(Y))
    np.testing.assert_array_equal(CoCluster().fit(masked).estimate_, CoCluster().fit(Y).estimate_)


def test_the_estimator_refuses_text():
    with pytest.raises(ValueError, match="numeric"):
        CoCluster().fit([["1", "2"], ["3", "4.5"], ["1", "1"]])


@pytest.mark.parametrize("function", [masked_distances, Graph.nearest_neighbors])
def test_values_whose_squares_overflow_are_refused(function):
    with pytest.raises(ValueError, match="squares overflow"):
        function([[1.7e308], [-1.7e308]])


def test_odd_numbers_for_a_cost():
    costs = {"row_cost": Fraction(1, 3), "column_cost": np.float32(0.5)}
    result = co_cluster(X, path(4), path(3), **costs)
    assert result.status == "converged"
    with pytest.raises(ValueError, match="row_cost must be a finite number"):
        co_cluster(X, path(4), path(3), row_cost=10**400, column_cost=1)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        (X.astype(complex), "complex"),
        (X.astype(str), "init must hold numbers"),
        (np.ma.masked_array(X, mask=X > 3), "init must be complete"),
    ],
)
def test_odd_starts_are_refused(init, message):
    with pytest.raises(ValueError, match=message):
        co_cluster(X, path(4), path(3), row_cost=1, column_cost=1, init=init)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.array([[10**400, 1], [2, 3]], dtype=object), "X must hold numbers, got 1000"),
        (np.array([[Decimal("sNaN"), 1], [2, 3]], dtype=object), "X must hold numbers"),
        ([[1.0, 2.0], [3.0]], "X must be a matrix with rows of one length"),
        (None, "two dimensions"),
    ],
)
def test_odd_data_are_refused(data, message):
    with pytest.raises(ValueError, match=message):
        masked_distances(data)


def test_odd_edges_are_refused():
    with pytest.raises(ValueError, match="edges must have shape"):
        Graph(3, [[0, 1], [1]])
    with pytest.raises(ValueError, match="edges must have shape"):
        Graph(3, np.empty((0, 3), dtype=int))


def test_an_object_in_place_of_a_graph_needs_weights():
    class Thing:
        n_nodes = 4
        edges = np.array([[0, 1]])

    with pytest.raises(ValueError, match=r"row_graph must be a comanifold\.Graph"):
        co_cluster(X, Thing(), path(3), row_cost=1, column_cost=1)


def test_a_false_claim_of_linearity_is_refused():
    class Fake(Log):
        is_linear = True

    with pytest.raises(ValueError, match="says is_linear, but"):
        co_cluster(X, path(4), path(3), row_cost=1, column_cost=1, penalty=Fake())


def test_a_linear_penalty_of_another_slope():
    class Double(Penalty):
        is_linear = True

        def value(self, z):
            return 2.0 * np.asarray(z)

        def derivative(self, z):
            return np.full(np.shape(z), 2.0)

    graphs = path(4), path(3)
    costs = {"row_cost": 0.3, "column_cost": 0.2}
    result = co_cluster(X, *graphs, **costs, penalty=Double())
    c = result.certificate
    bound = dual_bound(X, c.row_dual, c.column_dual, *graphs, **costs, penalty=Double())
    assert bound == pytest.approx(c.lower_bound)
    twice = co_cluster(X, *graphs, row_cost=0.6, column_cost=0.4, penalty="linear")
    assert result.objective == pytest.approx(twice.objective, rel=1e-6)
    with pytest.raises(ValueError, match="needs a linear penalty"):
        dual_bound(X, c.row_dual, c.column_dual, *graphs, **costs, penalty="log")


def test_a_penalty_need_not_inherit():
    class Duck:
        def value(self, z):
            return np.log1p(np.asarray(z))

        def derivative(self, z):
            return 1.0 / (1.0 + np.asarray(z))

    problem = X, path(4), path(3)
    result = co_cluster(*problem, row_cost=1, column_cost=1, penalty=Duck())
    expected = co_cluster(*problem, row_cost=1, column_cost=1, penalty="log")
    np.testing.assert_allclose(result.estimate, expected.estimate, rtol=1e-14)


def test_objective_refuses_costs_that_overflow():
    heavy = path(4, np.full(3, 1e300))
    with pytest.raises(ValueError, match="row_cost times the largest weight"):
        objective(X, X, heavy, path(3), row_cost=1e300, column_cost=1.0)


@pytest.mark.parametrize("make", [Snowflake, Log])
def test_slopes_that_overflow_are_refused(make):
    with pytest.raises(ValueError, match="at least 1e-300"):
        make(1e-310)
    with pytest.raises(ValueError, match="must be a positive number"):
        make(None)
