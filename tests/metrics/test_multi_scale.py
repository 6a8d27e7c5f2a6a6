"""The metric against a loop over pairs, the weights against what they promise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.fits import random_blocks
from scipy.spatial.distance import pdist, squareform

from comanifold._fit.held_out import HeldOut
from comanifold._fit.scale_weights import CostWeights, FixedWeights, HeldOutWeights
from comanifold.metrics import MultiScaleMetric
from comanifold.solvers import Certificate, Scale


@given(st.integers(0, 10**6), st.floats(0.0, 0.9))
def test_distances_against_a_loop(seed, missing):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rng.integers(1, 12), rng.integers(1, 9)))
    X[rng.random(X.shape) < missing] = np.nan
    X[-1] = X[0]
    first, second = MultiScaleMetric(X), MultiScaleMetric(X)
    expected, mean, total = {"rows": 0.0, "columns": 0.0}, 0.0, 0.0
    for scale in range(4):
        values, rows, columns = random_blocks(rng, X.shape)
        weight = float(rng.uniform(0.1, 2.0))
        (first if scale % 2 else second).add(values, rows, columns, weight)
        filled = np.where(np.isnan(X), values[np.ix_(rows, columns)], X)
        expected["rows"] = expected["rows"] + weight * squareform(pdist(filled))
        expected["columns"] = expected["columns"] + weight * squareform(pdist(filled.T))
        mean, total = mean + weight * filled, total + weight
    first.merge(second)
    by_row, by_column = first.distances()
    np.testing.assert_allclose(by_row, expected["rows"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(by_column, expected["columns"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(first.filled, mean / total, rtol=1e-12, atol=1e-12)
    assert first.total_weight == pytest.approx(total)
    observed = ~np.isnan(X)
    np.testing.assert_array_equal(first.filled[observed], X[observed])


@pytest.mark.parametrize("difference", [1e-9, 1e-2])
def test_rows_that_hardly_differ_keep_their_digits(difference):
    rng = np.random.default_rng(0)
    X = 100.0 + rng.normal(size=(2, 50))
    X[1] = X[0] + difference
    X = np.vstack([X, rng.normal(size=50)])
    X[2, 0] = np.nan
    metric = MultiScaleMetric(X)
    metric.add(np.zeros((1, 1)), np.zeros(3, dtype=int), np.zeros(50, dtype=int), 1.0)
    expected = np.linalg.norm(X[0] - X[1])
    assert metric.distances()[0][0, 1] == pytest.approx(expected, rel=1e-12)


def test_weights_by_cost():
    assert CostWeights(-0.5)(2, 4) == (4.0 * 16.0) ** -0.5
    assert CostWeights(0.0)(2, 4) == 1.0


def test_weights_by_error_fall_with_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 15))
    X[rng.random(X.shape) < 0.3] = np.nan
    hidden = HeldOut(X)
    rows, columns = np.arange(20), np.arange(15)
    weigh = HeldOutWeights(hidden)
    truth = np.nan_to_num(X)
    weights = [weigh(0, 0, truth + error, rows, columns) for error in (0.5, 1.0, 2.0)]
    errors = np.array([0.5, 1.0, 2.0]) ** 2 + hidden.floor
    np.testing.assert_allclose(weights, errors**-10.0)
    assert np.isfinite(weigh(0, 0, truth, rows, columns))


def test_weights_as_before_look_at_the_nearest_scale():
    def scale(l, k, weight):
        return Scale(l, k, 1, 1, 0.0, Certificate(0.0), 1, "converged", 0.0, weight)

    weigh = FixedWeights([scale(0, 0, 2.0), scale(0, 1, 4.0), scale(1, 0, 8.0)])
    assert (weigh(0, 0), weigh(0, 1), weigh(1, 0)) == (0.25, 0.5, 1.0)
    assert weigh(0, 5) == 0.5
    assert weigh(1, 1) == 0.75  # as far from both: their mean
