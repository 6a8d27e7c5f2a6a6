"""Sweeps over a surface: the weights of scales."""

import numpy as np

from comanifold._fit.sweep import CostWeights, FixedWeights, HeldOutWeights
from comanifold.model_selection import HeldOut
from comanifold.solvers import Certificate, Scale


def test_weights_by_cost():
    assert CostWeights(-0.5)(2, 4) == (4.0 * 16.0) ** -0.5
    assert CostWeights(0.0)(2, 4) == 1.0


def test_weights_fall_with_the_held_out_error():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 15))
    X[rng.random(X.shape) < 0.3] = np.nan
    held_out = HeldOut(X)
    rows, columns = np.arange(20), np.arange(15)
    weigh = HeldOutWeights(held_out)
    truth = np.nan_to_num(X)
    weights = [weigh(0, 0, truth + error, rows, columns) for error in (0.5, 1.0, 2.0)]
    errors = np.array([0.5, 1.0, 2.0]) ** 2 + held_out.floor
    np.testing.assert_allclose(weights, errors**-10.0)
    assert np.isfinite(weigh(0, 0, truth, rows, columns))


def test_fixed_weights_are_those_of_the_nearest_scale():
    def scale(l, k, weight):
        return Scale(l, k, 1, 1, 0.0, Certificate(0.0), 1, "converged", 0.0, weight)

    weigh = FixedWeights([scale(0, 0, 2.0), scale(0, 1, 4.0), scale(1, 0, 8.0)])
    assert (weigh(0, 0), weigh(0, 1), weigh(1, 0)) == (0.25, 0.5, 1.0)
    assert weigh(0, 5) == 0.5
    assert weigh(1, 1) == 0.75  # as far from both: their mean
