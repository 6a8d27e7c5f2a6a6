"""What co_cluster takes, and what it refuses."""

import warnings

import numpy as np
import pandas as pd
import pytest
from oracles.co_clustering import each_solver, one_of_each_penalty, solve
from oracles.problems import path, random_problem
from sklearn.exceptions import ConvergenceWarning

from comanifold import Graph, co_cluster
from comanifold.penalties import Linear, Snowflake

X4 = np.arange(12.0).reshape(4, 3) % 5
ROWS, COLUMNS = path(4), path(3)
COSTS = {"row_cost": 1.0, "column_cost": 1.0}


class TestInput:
    @pytest.mark.parametrize(
        ("X", "message"),
        [
            (np.full((4, 3), np.nan), "no observed entry"),
            (np.where(X4 == 3.0, np.inf, X4), r"infinite value \(inf\) in row 1, column 0"),
            (np.where(X4 == 3.0, -np.inf, X4), "infinite value"),
            (X4.astype(str), "must hold numbers"),
            (np.where(X4 == 3.0, "three", X4.astype(object)), r"got 'three' at \(1, 0\)"),
            (X4.astype(complex), "complex"),
            (X4.ravel(), "two dimensions"),
            (X4[None], "two dimensions"),
            (3.0, "two dimensions"),
            (np.empty((0, 3)), "empty"),
            (np.empty((4, 0)), "empty"),
            (1e200 * (1.0 + X4), "overflow"),
            (1e-200 * X4, "vanishes"),
        ],
    )
    def test_bad_data_are_refused(self, X, message):
        with pytest.raises(ValueError, match=message):
            co_cluster(X, ROWS, COLUMNS, **COSTS)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"row_cost": -1.0}, "row_cost must be a finite number"),
            ({"column_cost": np.nan}, "column_cost must be a finite number"),
            ({"row_cost": np.inf}, "row_cost must be a finite number"),
            ({"row_cost": "1"}, "row_cost must be a finite number"),
            ({"row_cost": None}, "row_cost must be a finite number"),
            ({"row_graph": path(5)}, "row_graph has 5 nodes, but X has 4 rows"),
            ({"column_graph": path(4)}, "column_graph has 4 nodes, but X has 3 columns"),
            ({"row_graph": [[0, 1]]}, r"row_graph must be a comanifold\.Graph"),
            ({"solver": "slow"}, "solver must be one of"),
            ({"solver": None}, "solver must be one of"),
            ({"penalty": "ridge"}, "penalty must be one of"),
            ({"penalty": 1.0}, "no method 'value'"),
            ({"init": np.zeros((3, 3))}, r"init must have shape \(4, 3\)"),
            ({"init": np.full((4, 3), np.nan)}, "init must be complete"),
            ({"init": "mean"}, "init must hold numbers"),
            ({"max_iter": 0}, "max_iter must be a positive integer"),
            ({"max_iter": 1.5}, "max_iter must be a positive integer"),
            ({"tol": 0.0}, "tol must be a number between 0 and 1"),
            ({"tol": np.nan}, "tol must be a number between 0 and 1"),
        ],
    )
    def test_bad_arguments_are_refused(self, changes, message):
        arguments = {"row_graph": ROWS, "column_graph": COLUMNS, **COSTS, **changes}
        with pytest.raises(ValueError, match=message):
            co_cluster(X4, **arguments)

    def test_a_cost_that_overflows_with_its_weight_is_refused(self):
        heavy = Graph(4, ROWS.edges, np.full(3, 1e300))
        with pytest.raises(ValueError, match="row_cost times the largest weight"):
            co_cluster(X4, heavy, COLUMNS, row_cost=1e10, column_cost=1.0)

    @each_solver
    @one_of_each_penalty
    @pytest.mark.parametrize("scale", [1e-150, 1e-20, 1e20, 1e150])
    def test_extreme_magnitudes(self, solver, penalty, scale):
        X = scale * np.where(X4 == 2.0, np.nan, X4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            result = co_cluster(
                X, ROWS, COLUMNS, **COSTS, penalty=penalty, solver=solver, max_iter=200
            )
        assert np.all(np.isfinite(result.estimate))
        assert np.isfinite(result.objective)
        low, high = np.nanmin(X), np.nanmax(X)
        slack = 1e-6 * (high - low)
        assert low - slack <= result.estimate.min() <= result.estimate.max() <= high + slack
        if scale >= 1e20:  # nothing worth smoothing
            observed = ~np.isnan(X)
            np.testing.assert_allclose(result.estimate[observed], X[observed], atol=1e-6 * scale)
        else:
            assert (result.n_row_clusters, result.n_column_clusters) == (1, 1)

    @each_solver
    @one_of_each_penalty
    def test_all_values_equal(self, solver, penalty):
        X = np.full((4, 3), 0.1)
        X[1, 1] = np.nan
        result = co_cluster(X, ROWS, COLUMNS, **COSTS, penalty=penalty, solver=solver)
        np.testing.assert_array_equal(result.estimate, 0.1)
        assert result.objective == 0.0
        assert result.status == "converged"
        assert (result.n_row_clusters, result.n_column_clusters) == (1, 1)

    @each_solver
    @one_of_each_penalty
    @pytest.mark.parametrize("shape", [(1, 6), (6, 1), (1, 1)])
    def test_one_row_or_column(self, solver, penalty, shape):
        rng = np.random.default_rng(0)
        X = rng.normal(size=shape)
        if X.size > 1:
            X.flat[2] = np.nan
        result = co_cluster(
            X, path(shape[0]), path(shape[1]), row_cost=0.2, column_cost=0.2,
            penalty=penalty, solver=solver,
        )  # fmt: skip
        assert np.all(np.isfinite(result.estimate))
        assert result.status == "converged"

    @each_solver
    def test_a_row_and_a_column_with_nothing_observed(self, solver):
        X = X4.copy()
        X[1] = X[:, 2] = np.nan
        for penalty in (Snowflake(), Linear()):
            result = co_cluster(X, ROWS, COLUMNS, **COSTS, penalty=penalty, solver=solver)
            assert np.all(np.isfinite(result.estimate))
            assert result.estimate.min() >= np.nanmin(X) - 1e-6
            assert result.estimate.max() <= np.nanmax(X) + 1e-6

    def test_one_observed_entry(self):
        X = np.full((4, 3), np.nan)
        X[2, 1] = 7.0
        result = co_cluster(X, ROWS, COLUMNS, **COSTS)
        np.testing.assert_array_equal(result.estimate, 7.0)

    @pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, bool])
    def test_dtypes(self, dtype):
        X = (X4 > 2).astype(dtype)
        expected = co_cluster(X.astype(float), ROWS, COLUMNS, **COSTS).estimate
        np.testing.assert_array_equal(co_cluster(X, ROWS, COLUMNS, **COSTS).estimate, expected)

    def test_layouts_and_containers(self):
        X = np.where(X4 == 2.0, np.nan, X4)
        expected = co_cluster(X, ROWS, COLUMNS, **COSTS).estimate
        read_only = X.copy()
        read_only.flags.writeable = False
        nullable = pd.DataFrame(X).astype("Float64")
        for same in (
            X.tolist(),
            np.asfortranarray(X),
            np.repeat(X, 2, axis=0)[::2],
            read_only,
            pd.DataFrame(X),
            nullable,
            np.ma.masked_invalid(X),
            np.where(np.isnan(X), None, X),
        ):
            result = co_cluster(same, ROWS, COLUMNS, **COSTS)
            np.testing.assert_array_equal(result.estimate, expected)

    def test_sparse_matrices_are_refused_with_the_reason(self):
        from scipy.sparse import csr_array

        with pytest.raises(ValueError, match="zero or missing"):
            co_cluster(csr_array(X4), ROWS, COLUMNS, **COSTS)

    def test_stopping_early_warns_and_says_so(self):
        p = random_problem(1, log_costs=(-1.0, -0.9))
        with pytest.warns(ConvergenceWarning, match=r"status 'max_iter' after 1 iter") as told:
            result = co_cluster(*p.args, **p.costs, max_iter=1)
        assert told[0].filename == __file__  # whose line it is
        assert result.status == "max_iter"
        assert result.certificate.stationarity > 1e-6

    def test_results_are_frozen(self):
        result = co_cluster(X4, ROWS, COLUMNS, **COSTS)
        with pytest.raises(AttributeError):
            result.objective = 0.0

    def test_a_users_own_penalty(self):
        from comanifold.penalties import Penalty

        class Exponential(Penalty):
            def value(self, z):
                return -np.expm1(-np.asarray(z))

            def derivative(self, z):
                return np.exp(-np.asarray(z))

        p = random_problem(4)
        for solver in ("fast", "paper"):
            result = solve(p, penalty=Exponential(), solver=solver)
            assert result.status == "converged"
            assert np.all(np.diff(result.objective_history) <= 1e-12)
