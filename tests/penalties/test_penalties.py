import pickle
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.problems import PENALTIES, Exponential, Uncompiled
from scipy.integrate import quad

from comanifold.penalties import (
    MCP,
    Linear,
    Log,
    Penalty,
    Snowflake,
    check_penalty,
    compile_penalty,
    get_penalty,
)
from comanifold.solvers.kernels.blocks import evaluate

each_penalty = pytest.mark.parametrize("penalty", PENALTIES, ids=repr)


@each_penalty
def test_built_in_penalties_meet_the_assumptions(penalty):
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


def test_penalties_by_name():
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


@pytest.mark.parametrize(
    "penalty", [*PENALTIES, Exponential(2.0), Uncompiled(2.0)], ids=lambda p: repr(p)
)
@given(log_scale=st.floats(-6.0, 6.0), z=st.floats(0.0, 1e6))
def test_rescaled_is_the_same_penalty_in_other_units(penalty, log_scale, z):
    scale = 10.0**log_scale
    other, factor = penalty.rescaled(scale)
    expected = float(penalty.value(z / scale)) * scale**2
    assert factor * float(other.value(z)) == pytest.approx(expected, rel=1e-9, abs=1e-300)
    slope = float(penalty.derivative(z / scale)) * scale
    assert factor * float(other.derivative(z)) == pytest.approx(slope, rel=1e-9, abs=1e-300)
    assert other.is_linear == penalty.is_linear


def test_rescaled_built_in_penalties_have_rescaled_parameters():
    assert Snowflake(0.5).rescaled(4.0) == (Snowflake(1.0), 8.0)
    assert Log(0.5).rescaled(4.0) == (Log(2.0), 16.0)
    assert MCP(0.5).rescaled(4.0) == (MCP(2.0), 4.0)
    assert Linear().rescaled(4.0) == (Linear(), 4.0)


@each_penalty
@pytest.mark.parametrize("scale", [1e-200, 1e-150, 1e150])
def test_rescaled_by_extreme_factors(penalty, scale):
    # Where a parameter or the factor would leave the range of numbers, a wrapper takes over.
    other, factor = penalty.rescaled(scale)
    assert 0.0 < factor < np.inf
    z = np.array([0.0, scale])
    with np.errstate(all="ignore"):
        expected = penalty.value(z / scale) * scale * scale
        np.testing.assert_allclose(factor * other.value(z), expected, rtol=1e-9)


def test_a_subclass_with_other_functions_is_rescaled_by_them():
    class Twice(Log):
        def value(self, z):
            return 2.0 * super().value(z)

        def derivative(self, z):
            return 2.0 * super().derivative(z)

    other, factor = Twice(1.0).rescaled(3.0)
    assert factor * float(other.value(3.0)) == pytest.approx(9.0 * 2.0 * np.log(2.0))


FORMULAS = {
    Snowflake(0.01): (
        lambda z: np.sqrt(z) - 0.01 * np.log1p(np.sqrt(z) / 0.01),
        lambda z: 0.5 / (np.sqrt(z) + 0.01),
    ),
    Linear(): (lambda z: z, np.ones_like),
    Log(0.5): (lambda z: np.log1p(z / 0.5), lambda z: 1 / (z + 0.5)),
    MCP(2.0): (
        lambda z: np.where(z < 2.0, z - z**2 / 4.0, 1.0),
        lambda z: np.maximum(0.0, 1.0 - z / 2.0),
    ),
}


@pytest.mark.parametrize("penalty", FORMULAS, ids=repr)
def test_kernels_against_numpy(penalty):
    z = np.concatenate([[0.0], np.logspace(-3, 3, 200)])
    compiled = compile_penalty(penalty)
    assert compiled.is_compiled
    for found, expected in zip(
        (compiled.value, compiled.derivative), FORMULAS[penalty], strict=True
    ):
        np.testing.assert_allclose(found(z), expected(z), rtol=1e-9, atol=1e-15)


def test_small_values_of_the_snowflake_keep_their_digits():
    x = np.logspace(-6, -1, 200)
    exact = np.array([sum((-v) ** k / k for k in range(60, 1, -1)) for v in x])
    np.testing.assert_allclose(Snowflake(1.0).value(x**2), exact, rtol=2e-11)


def test_arrays_keep_their_shape():
    z = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(Log().value(z.T), np.log1p(z.T), rtol=1e-14)
    assert np.ndim(Log().value(1.0)) == 0
    assert Log().value([]).shape == (0,)


def test_a_users_penalty_is_compiled():
    compiled = compile_penalty(Exponential(2.0))
    assert compiled.is_compiled
    z = np.linspace(0.0, 3.0, 20)
    np.testing.assert_allclose(compiled.value(z), Exponential(2.0).value(z), rtol=1e-12)
    # Compiled once for the class, with the attributes of each object.
    other = compile_penalty(Exponential(3.0))
    np.testing.assert_allclose(other.derivative(z), Exponential(3.0).derivative(z), rtol=1e-12)
    assert other.kernel.value == compiled.kernel.value
    rescaled, factor = Exponential(2.0).rescaled(5.0)
    assert compile_penalty(rescaled).is_compiled
    expected = 25.0 * Exponential(2.0).value(z / 5.0)
    np.testing.assert_allclose(factor * compile_penalty(rescaled).value(z), expected, rtol=1e-12)


def test_a_users_penalty_that_cannot_be_compiled_is_called_back():
    compiled = compile_penalty(Uncompiled(2.0))
    assert not compiled.is_compiled
    z = np.linspace(0.0, 3.0, 20)
    np.testing.assert_array_equal(compiled.value(z), Uncompiled(2.0).value(z))
    np.testing.assert_array_equal(compiled.derivative(z), Uncompiled(2.0).derivative(z))


def test_compiled_penalties_can_be_pickled():
    for penalty in (Log(0.5), Exponential(2.0), Uncompiled(2.0)):
        again = pickle.loads(pickle.dumps(compile_penalty(penalty)))
        assert again.penalty == penalty
        np.testing.assert_array_equal(again.value([1.0]), compile_penalty(penalty).value([1.0]))


def test_compiled_methods_that_differ_from_python_are_not_used():
    class Switching(Penalty):
        """Its function depends on an object that compiled code does not see change."""

        def value(self, z):
            return factor[0] * np.asarray(z)

        def derivative(self, z):
            return factor[0] * np.ones_like(np.asarray(z))

    factor = (1.0,)
    first = compile_penalty(Switching()).value([2.0])
    factor = (3.0,)
    assert first[0] == 2.0
    assert compile_penalty(Switching()).value([2.0])[0] == 6.0


def test_an_error_is_raised_in_the_thread_whose_call_caused_it():
    class Refusing(Uncompiled):
        def value(self, z):
            if np.any(np.asarray(z) == 7.0):
                raise RuntimeError("no sevens")
            return super().value(z)

    compiled = compile_penalty(Refusing(1.0))
    with ThreadPoolExecutor(1) as thread:
        thread.submit(evaluate, compiled.kernel.value, np.array([7.0]), np.empty(0)).result()
        compiled.raise_errors()  # this thread has made no such call
        with pytest.raises(RuntimeError, match="no sevens"):
            thread.submit(compiled.raise_errors).result()
        thread.submit(compiled.raise_errors).result()


def test_objects_with_other_attributes_have_their_own_compiled_methods():
    class Optional(Penalty):
        def __init__(self, **attributes):
            vars(self).update(attributes)

        def value(self, z):
            return np.log1p(np.asarray(z))

        def derivative(self, z):
            return 1.0 / (1.0 + np.asarray(z))

    first, second, third = (compile_penalty(Optional(**a)) for a in ({}, {"a": 1.0}, {}))
    assert first.kernel.value == third.kernel.value != second.kernel.value


def test_properties_that_raise_are_not_attributes_of_a_penalty():
    class Unfinished(Exponential):
        @property
        def later(self):
            raise RuntimeError("not yet")

    assert compile_penalty(Unfinished(1.0)).is_compiled


def test_methods_may_change_the_distances_that_they_are_given():
    class InPlace(Penalty):
        def value(self, z):
            z /= 2.0
            return np.log1p(z)

        def derivative(self, z):
            z += 2.0
            return 1.0 / z

    for _ in range(3):
        check_penalty(InPlace())
        assert compile_penalty(InPlace()).value([2.0])[0] == pytest.approx(np.log(2.0))
    check_penalty(Exponential(1.0))
