"""Single scales of a fit that has kept them."""

import numpy as np
import pandas as pd
import pytest
from oracles.fits import random_matrix, scales_of
from scipy.cluster.hierarchy import fcluster, is_valid_linkage
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from comanifold import CoManifold, co_cluster
from comanifold.penalties import MCP, Penalty


@pytest.fixture(scope="module")
def model():
    return CoManifold(keep_scales=True).fit(random_matrix(7, 20, 16))


def test_estimates_are_constant_on_their_blocks(model):
    for scale in scales_of(model):
        U = model.estimate_at(scale.l, scale.k)
        rows = model.row_labels_at(scale.l, scale.k)
        columns = model.column_labels_at(scale.l, scale.k)
        assert rows.max() + 1 == scale.n_row_clusters
        assert columns.max() + 1 == scale.n_column_clusters
        assert len(np.unique(U.round(12), axis=0)) <= scale.n_row_clusters
        for label in range(scale.n_row_clusters):
            assert np.ptp(U[rows == label], axis=0).max() == 0
        filled = model.filled_at(scale.l, scale.k)
        observed = ~np.isnan(model.data_)
        np.testing.assert_array_equal(filled[observed], model.data_[observed])
        np.testing.assert_array_equal(filled[~observed], U[~observed])


def test_the_filled_in_matrix_is_the_weighted_mean_of_the_scales():
    parameters = {"keep_scales": True, "scale_weights": "cost", "first_graphs": "masked"}
    model = CoManifold(**parameters).fit(random_matrix(7, 20, 16))
    assert not len(model.completions_["weight"])
    weights = [s.weight for s in scales_of(model)]
    stack = [model.filled_at(s.l, s.k) for s in scales_of(model)]
    np.testing.assert_allclose(model.filled_, np.average(stack, axis=0, weights=weights))


@pytest.mark.parametrize("traversal", ["symmetric", "paper"])
def test_trees_cut_at_a_cost_give_the_clusters_there(traversal):
    X = random_matrix(7, 20, 16)
    model = CoManifold(keep_scales=True, traversal=traversal).fit(X)
    first = scales_of(model)[0]
    for tree, n in ((model.row_linkage_, 20), (model.column_linkage_, 16)):
        assert is_valid_linkage(tree)
        assert len(tree) == n - 1
    for step in range(3):
        l = first.l + step
        k = first.k + step if traversal == "symmetric" else first.k
        cut = fcluster(model.row_linkage_, 2.0**l, "distance")
        assert adjusted_rand_score(cut, model.row_labels_at(l, k)) == 1.0


def test_scales_that_are_not_there_are_named(model):
    with pytest.raises(ValueError, match=r"there is no scale \(99, 0\): l runs from"):
        model.estimate_at(99, 0)
    with pytest.raises(ValueError, match="fit with keep_scales=True"):
        CoManifold().fit(random_matrix(0)).row_labels_at(0, 0)
    assert not hasattr(CoManifold().fit(random_matrix(0)), "row_linkage_")
    for method in ("estimate_at", "costs_at"):
        with pytest.raises(NotFittedError):
            getattr(CoManifold(), method)(0, 0)


def test_scales_are_a_table(model):
    frame = pd.DataFrame(model.scales_)
    assert list(frame.columns) == list(model.scales_)
    assert (frame.row_cost == 2.0**frame.l).all()
    assert (frame.column_cost == 2.0**frame.k).all()
    assert set(frame.status) == {"converged"}
    assert (frame.stationarity <= 1e-3).all()
    assert frame.weight.sum() + model.completions_["weight"].sum() == pytest.approx(1.0)
    assert "gap" not in frame
    linear = CoManifold(penalty="linear", scale_weights="cost").fit(random_matrix(7, 12, 10))
    assert (linear.scales_["gap"] <= 1e-3).all()


def test_scales_by_index(model):
    for i, scale in enumerate(scales_of(model)):
        place = scale.l, scale.k
        np.testing.assert_array_equal(model.estimate_at(index=i), model.estimate_at(*place))
        np.testing.assert_array_equal(model.filled_at(index=i), model.filled_at(*place))
        np.testing.assert_array_equal(model.row_labels_at(index=i), model.row_labels_at(*place))
        blocks = model.blocks_at(index=i)
        np.testing.assert_array_equal(blocks.column_labels, model.column_labels_at(*place))
        assert blocks.values.shape == (scale.n_row_clusters, scale.n_column_clusters)
        np.testing.assert_allclose(blocks.expand(), model.estimate_at(*place), rtol=1e-12)
    np.testing.assert_array_equal(model.estimate_at(index=-1), model.estimate_at(*place))
    n_scales = len(model.scales_["l"])
    with pytest.raises(ValueError, match=f"index must be less than {n_scales}, got {n_scales}"):
        model.estimate_at(index=n_scales)
    with pytest.raises(ValueError, match="not by both"):
        model.estimate_at(*place, index=0)
    with pytest.raises(ValueError, match=r"index must be an integer, got 1\.5"):
        model.costs_at(index=1.5)
    for incomplete in ({}, {"l": 0}, {"k": 0}):
        with pytest.raises(ValueError, match="both l and k, or index, are needed"):
            model.estimate_at(**incomplete)


class Exponential(Penalty):
    def value(self, z):
        return -np.expm1(-np.asarray(z))

    def derivative(self, z):
        return np.exp(-np.asarray(z))


@pytest.mark.parametrize("penalty", ["snowflake", "linear", "log", "mcp", MCP(2.0), Exponential()])
@pytest.mark.parametrize("unit", [1.0, 37.0])
def test_a_scale_handed_to_co_cluster_gives_the_same_estimate(penalty, unit):
    X = unit * random_matrix(3, 14, 11) + 5.0 * unit
    options = {"keep_scales": True, "scale_weights": "cost", "continuation": False, "tol": 1e-6}
    model = CoManifold(1, penalty=penalty, **options).fit(X)
    n_scales = len(model.scales_["l"])
    assert model.scale_ == pytest.approx(np.nanstd(X))
    for i in (0, n_scales // 3, n_scales // 2, n_scales - 1):
        row_cost, column_cost = model.costs_at(index=i)
        graphs = model.row_graph_, model.column_graph_
        costs = {"row_cost": row_cost, "column_cost": column_cost}
        result = co_cluster(model.data_, *graphs, **costs, penalty=model.penalty_, tol=1e-6)
        estimate = model.estimate_at(index=i)
        np.testing.assert_allclose(result.estimate, estimate, atol=1e-4 * model.scale_)
        standard = model.scales_["objective"][i] * model.scale_**2
        assert result.objective == pytest.approx(standard, rel=1e-6)


def test_costs_grow_with_the_units():
    X = random_matrix(3, 14, 11)
    for penalty, power in (("snowflake", 1.5), ("linear", 1.0)):
        one, other = (CoManifold(1, penalty=penalty).fit(u * X) for u in (1.0, 16.0))
        ratio = np.array(other.costs_at(index=0)) / one.costs_at(index=0)
        np.testing.assert_allclose(ratio, 16.0**power, rtol=1e-9)
    assert not hasattr(CoManifold(), "penalty_")


class NotAPenalty:
    """Has the methods of a penalty and nothing else."""

    def value(self, z):
        return np.log1p(np.asarray(z))

    def derivative(self, z):
        return 1.0 / (1.0 + np.asarray(z))


def test_units_of_a_penalty_that_is_no_subclass():
    model = CoManifold(1, penalty=NotAPenalty()).fit(37.0 * random_matrix(3, 14, 11))
    z, scale = np.linspace(0.0, 90.0, 7), model.scale_
    factor = model.costs_at(index=0)[0] / model.scales_["row_cost"][0]
    expected = scale**2 * np.log1p(z / scale)
    np.testing.assert_allclose(factor * model.penalty_.value(z), expected, rtol=1e-12)


def test_parameters_that_are_set_after_a_fit_do_not_change_it():
    model = CoManifold(1).fit(16.0 * random_matrix(3, 14, 11))
    penalty, costs = model.penalty_, model.costs_at(index=0)
    model.set_params(penalty="linear")
    assert model.penalty_ == penalty
    assert model.costs_at(index=0) == costs


@pytest.mark.parametrize("traversal", ["symmetric", "paper"])
def test_a_complete_matrix_needs_one_scale(traversal):
    X = np.random.default_rng(0).normal(size=(20, 15))
    model = CoManifold(traversal=traversal).fit(X)
    whole = CoManifold(traversal=traversal, keep_scales=True).fit(X)
    assert len(model.scales_["l"]) == 1 < len(whole.scales_["l"])
    assert model.scales_["weight"].tolist() == [1.0]
    for name in ("row_distances_", "column_distances_", "row_embedding_", "filled_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(whole, name))
    exact = np.linalg.norm(X[:, None] - X, axis=-1)
    np.testing.assert_allclose(model.row_distances_, exact, atol=1e-10)
