import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.problems import PENALTIES
from scipy.integrate import quad

from comanifold.penalties import (
    MCP,
    Linear,
    Log,
    Penalty,
    Snowflake,
    check_penalty,
    get_penalty,
)

each_penalty = pytest.mark.parametrize("penalty", PENALTIES, ids=repr)


@each_penalty
def test_meets_the_assumptions(penalty):
    check_penalty(penalty)


@each_penalty
@given(z=st.floats(1e-6, 1e6))
def test_derivative_is_the_finite_difference(penalty, z):
    # Concave, so the difference quotient lies between the slopes at its ends.
    h = 1e-4 * z
    quotient = float(penalty.value(z + h) - penalty.value(z - h)) / (2 * h)
    rounding = 1e-12 * float(penalty.value(z)) / h
    assert float(penalty.derivative(z + h)) <= quotient + rounding
    assert float(penalty.derivative(z - h)) >= quotient - rounding


@each_penalty
def test_slope_at_the_origin(penalty):
    slope = float(penalty.derivative(0.0))
    h = 1e-9 / slope**2 if isinstance(penalty, Snowflake) else 1e-9 / slope
    assert float(penalty.value(h)) / h == pytest.approx(slope, rel=1e-3)


@each_penalty
@given(z=st.floats(1e-9, 1e6), other=st.floats(1e-9, 1e6))
def test_both_majorisers_lie_above_and_touch(penalty, z, other):
    value, slope = float(penalty.value(z)), float(penalty.derivative(z))
    tangent = value + slope * (other - z)
    parabola = value + slope / (2 * z) * (other**2 - z**2)
    above = float(penalty.value(other))
    rounding = 1e-9 * max(abs(tangent), abs(parabola), above)
    assert above <= tangent + rounding
    assert above <= parabola + rounding


@pytest.mark.parametrize("eps", [1e-12, 1e-3, 1.0])
@pytest.mark.parametrize("z", [1e-8, 1e-3, 1.0, 50.0])
def test_snowflake_is_the_integral_of_the_paper(eps, z):
    # With zeta = t^2 the integrand has no singularity, but it turns sharply at eps.
    turns = [factor * eps for factor in (1, 10, 100, 1e4) if factor * eps < np.sqrt(z)]
    integral, _ = quad(lambda t: t / (t + eps), 0.0, np.sqrt(z), points=turns, epsabs=0.0)
    assert float(Snowflake(eps).value(z)) == pytest.approx(integral, rel=1e-9)


def test_snowflake_keeps_its_digits_near_zero():
    # sqrt(z) << eps: Omega(z) = z / (2 eps) - z^(3/2) / (3 eps^2) + ...
    z = np.logspace(-30, -16, 29)
    x = np.sqrt(z)
    series = z / 2 - x**3 / 3 + z**2 / 4
    np.testing.assert_allclose(Snowflake(1.0).value(z), series, rtol=1e-12)


def test_snowflake_tends_to_the_square_root():
    z = np.logspace(-6, 6, 25)
    np.testing.assert_allclose(Snowflake().value(z), np.sqrt(z), rtol=1e-7)


def test_mcp_is_constant_from_its_threshold_on():
    np.testing.assert_array_equal(MCP(3.0).value([3.0, 4.0, 1e9]), 1.5)
    np.testing.assert_array_equal(MCP(3.0).derivative([3.0, 4.0]), 0.0)


class Broken(Penalty):
    """A penalty made of two functions."""

    def __init__(self, value, derivative):
        self.functions = value, derivative

    def value(self, z):
        return self.functions[0](np.asarray(z))

    def derivative(self, z):
        return self.functions[1](np.asarray(z))


@pytest.mark.parametrize(
    ("value", "derivative", "message"),
    [
        (lambda z: z**2, lambda z: 2 * z, r"\(i\), concave"),
        (lambda z: 1.0 + z, np.ones_like, r"\(ii\), zero at the origin: value\(0\) = 1"),
        (lambda z: -z, lambda z: -np.ones_like(z), r"\(iii\), increasing"),
        (lambda z: z / (1 + z**2), lambda z: (1 - z**2) / (1 + z**2) ** 2, r"\(iii\), increasing"),
        (np.sqrt, lambda z: 0.5 / np.sqrt(z), r"\(iv\), a finite slope"),
        (lambda z: z, lambda z: 0.5 * np.ones_like(z), "inconsistent"),
        (lambda z: z, lambda z: 2.0 * np.ones_like(z), "inconsistent"),
        (lambda z: np.log1p(z), lambda z: 1.0 / (1.0 + z) ** 2, "inconsistent"),
        (lambda z: z, lambda _: 1.0, "not vectorised"),
        (lambda z: np.where(z > 5, np.nan, z), np.ones_like, "value must be finite"),
    ],
)
def test_check_says_which_part_is_broken(value, derivative, message):
    penalty = Broken(value, derivative)
    with pytest.raises(ValueError, match=message):
        check_penalty(penalty)
    with pytest.raises(ValueError, match=message):
        get_penalty(penalty)


@pytest.mark.parametrize(
    ("value", "derivative"),
    [
        (lambda z: z**2, lambda z: 2.0 * z),
        (lambda z: np.log1p(z), lambda z: 1.0 / (1.0 + z) ** 2),
        (lambda z: z / (1 + z**2), lambda z: (1 - z**2) / (1 + z**2) ** 2),
        (lambda z: np.log1p(z), lambda z: np.where(z < 1.0, 1.0, 0.5) / (1.0 + z)),
    ],
)
def test_check_names_a_slope_and_the_place_that_has_it(value, derivative):
    with pytest.raises(ValueError, match="at z = ") as caught:
        check_penalty(Broken(value, derivative))
    slope, place = re.search(r"(\S+) at z = (\S+)$", str(caught.value)).groups()
    assert float(slope) == pytest.approx(derivative(float(place)), rel=1e-4)


def test_an_object_without_the_two_functions_is_refused():
    with pytest.raises(ValueError, match="no method 'value'"):
        get_penalty(3.0)


def test_names():
    assert get_penalty("snowflake") == Snowflake()
    assert get_penalty("linear") == Linear()
    assert get_penalty("log") == Log()
    assert get_penalty("mcp") == MCP()
    with pytest.raises(ValueError, match=r"'snowflake'.*got 'huber'"):
        get_penalty("huber")
    with pytest.raises(ValueError, match="the class Snowflake: call it"):
        get_penalty(Snowflake)


@pytest.mark.parametrize("make", [Snowflake, Log, MCP])
@pytest.mark.parametrize("parameter", [0.0, -1.0, np.nan, np.inf])
def test_bad_parameters_are_refused(make, parameter):
    with pytest.raises(ValueError, match="must be a positive number"):
        make(parameter)


@each_penalty
def test_compares_prints_and_pickles(penalty):
    assert pickle.loads(pickle.dumps(penalty)) == penalty
    assert hash(pickle.loads(pickle.dumps(penalty))) == hash(penalty)
    assert eval(repr(penalty)) == penalty
    assert penalty != Log(eps=123.0)
