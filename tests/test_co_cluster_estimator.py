import pickle

import numpy as np
import pandas as pd
import pytest
from oracles.problems import random_problem
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

from comanifold import CoCluster, Graph, co_cluster
from comanifold.penalties import Log


def checks(estimator):
    """scikit-learn's checks, but for the one of other array libraries, which is not supported."""
    for instance, check in estimator_checks_generator(estimator):
        name = getattr(check, "func", check).__name__
        if "array_api" not in name:
            yield pytest.param(instance, check, id=f"{estimator}-{name}")


@pytest.mark.parametrize(
    ("estimator", "check"),
    [*checks(CoCluster()), *checks(CoCluster(penalty="linear", tol=1e-3))],
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    X = np.kron([[0.0, 4.0], [8.0, 2.0]], np.ones((7, 5))) + 0.1 * rng.normal(size=(14, 10))
    X[rng.random(X.shape) < 0.3] = np.nan
    return X


def test_finds_planted_biclusters(X):
    model = CoCluster().fit(X)
    np.testing.assert_array_equal(model.row_labels_, np.repeat([0, 1], 7))
    np.testing.assert_array_equal(model.column_labels_, np.repeat([0, 1], 5))
    assert model.rows_.shape == (4, 14)
    assert model.columns_.shape == (4, 10)
    assert len(model.biclusters_) == 2
    covered = np.zeros(X.shape, dtype=int)
    for k in range(4):
        rows, columns = model.get_indices(k)
        covered[np.ix_(rows, columns)] += 1
        assert np.ptp(model.estimate_[np.ix_(rows, columns)]) == 0.0
    np.testing.assert_array_equal(covered, 1)


def test_is_co_cluster_on_nearest_neighbors(X):
    model = CoCluster(0.3, 0.2, n_neighbors=(3, 2)).fit(X)
    result = co_cluster(
        X,
        Graph.nearest_neighbors(X, 3),
        Graph.nearest_neighbors(X.T, 2),
        row_cost=0.3,
        column_cost=0.2,
    )
    np.testing.assert_array_equal(model.estimate_, result.estimate)
    np.testing.assert_array_equal(model.filled_, result.filled)
    assert model.objective_ == result.objective
    assert model.certificate_.stationarity == result.certificate.stationarity
    assert model.n_iter_ == result.n_iter
    assert model.status_ == "converged"


def test_takes_graphs():
    p = random_problem(0)
    model = CoCluster(
        p.row_cost, p.column_cost, row_graph=p.row_graph, column_graph=p.column_graph
    ).fit(p.X)
    assert model.row_graph_ is p.row_graph
    expected = co_cluster(*p.args, **p.costs)
    np.testing.assert_array_equal(model.estimate_, expected.estimate)


def test_clone_pickle_and_refit(X):
    model = CoCluster(penalty=Log(eps=0.1), row_graph=Graph.nearest_neighbors(X)).fit(X)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.estimate_, model.estimate_)
    fresh = clone(model)
    assert not hasattr(fresh, "estimate_")
    assert fresh.penalty == model.penalty
    np.testing.assert_array_equal(fresh.fit(X).fit(X).estimate_, model.estimate_)


def test_data_frames(X):
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    model = CoCluster().fit(frame)
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    np.testing.assert_array_equal(model.estimate_, CoCluster().fit(X).estimate_)


@pytest.mark.parametrize("mode", ["row", "column"])
def test_a_row_or_column_with_nothing_observed_is_named(X, mode):
    if mode == "row":
        X[4] = np.nan
    else:
        X[:, 4] = np.nan
    with pytest.raises(ValueError, match=f"{mode}s with no observed entry.*: 4.*{mode}_graph"):
        CoCluster().fit(X)


@pytest.mark.parametrize("n_neighbors", [(1, 2, 3), 0, (2, 0), "5"])
def test_bad_numbers_of_neighbors_are_refused(X, n_neighbors):
    with pytest.raises(ValueError, match="n_neighbors must be"):
        CoCluster(n_neighbors=n_neighbors).fit(X)
