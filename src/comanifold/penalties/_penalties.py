"""The penalties, their base class, and the check of the assumptions on a penalty."""

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._compiled import built_in, uses_kernels


class Penalty(ABC):
    """Base of the penalties: a function Omega of the distance between two rows or two columns.

    A subclass writes two functions, both vectorised over an array of distances `z >= 0`:
    `value(z)`, which is Omega(z), and `derivative(z)`, which is Omega'(z), with the slope at
    the origin for `z == 0`. Assumption 2.2 of the paper must hold:

    - Omega is concave (its derivative never grows),
    - it vanishes at the origin,
    - it is increasing (its derivative is never negative),
    - its slope at the origin is finite.

    The solvers compile both functions with Numba if they use NumPy functions of `z` and numeric
    attributes of `self` only; otherwise they call them in Python, which is slower, and log a note.

    `check_penalty` tests all four. Set `is_linear = True` if Omega is a straight line: the
    problem is then convex and solved to a certified duality gap.

    Examples
    --------
    A penalty that levels off at 1:

    >>> import numpy as np
    >>> from comanifold.penalties import Penalty, check_penalty
    >>> class Exponential(Penalty):
    ...     def value(self, z):
    ...         return -np.expm1(-np.asarray(z))
    ...     def derivative(self, z):
    ...         return np.exp(-np.asarray(z))
    >>> check_penalty(Exponential())
    """

    is_linear: bool = False

    @abstractmethod
    def value(self, z: ArrayLike) -> NDArray[np.float64]:
        """Omega(z)."""

    @abstractmethod
    def derivative(self, z: ArrayLike) -> NDArray[np.float64]:
        """Omega'(z), the slope at the origin for z = 0."""

    def rescaled(self, scale: float) -> tuple["Penalty", float]:
        r"""The penalty for data multiplied by `scale`, and a factor.

        For all z, `penalty.value(z / scale) * scale**2 == factor * rescaled.value(z)`, so that
        multiplying the data by `scale` and both costs by `factor` multiplies the objective by
        `scale**2`.
        """
        return (self, scale) if self.is_linear else (Rescaled(self, scale), 1.0)

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({parameters})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), tuple(sorted(vars(self).items()))))


class Rescaled(Penalty):
    """scale^2 Omega(z / scale): a penalty for data that have been multiplied by `scale`."""

    def __init__(self, penalty: Penalty, scale: float):
        self.penalty = penalty
        self.scale = scale
        self.is_linear = getattr(penalty, "is_linear", False)

    def value(self, z: ArrayLike) -> NDArray[np.float64]:
        return self.penalty.value(np.asarray(z) / self.scale) * self.scale * self.scale

    def derivative(self, z: ArrayLike) -> NDArray[np.float64]:
        return self.penalty.derivative(np.asarray(z) / self.scale) * self.scale


def rescale(penalty: Penalty, scale: float) -> tuple[Penalty, float]:
    """`Penalty.rescaled`, for any object with the methods of a penalty."""
    if isinstance(penalty, Penalty):
        return penalty.rescaled(scale) if scale != 1.0 else (penalty, 1.0)
    return Rescaled(penalty, scale), 1.0


class BuiltIn(Penalty):
    """A penalty whose functions are written in the form that the solvers call: `kernels`."""

    kernels: ClassVar[tuple[Callable, Callable]]
    parameter: ClassVar[str | None] = None  # the name of its parameter, if it has one

    @property
    def parameters(self) -> tuple[float, ...]:
        """The parameters that the kernels are called with."""
        return () if self.parameter is None else (getattr(self, self.parameter),)

    def value(self, z: ArrayLike) -> NDArray[np.float64]:
        return built_in(self).value(z)

    def derivative(self, z: ArrayLike) -> NDArray[np.float64]:
        return built_in(self).derivative(z)

    def _with_parameter(self, value: float, factor: float) -> tuple[Penalty, float] | None:
        """The penalty with another parameter, and the factor; None if either is out of range."""
        in_range = _LEAST_PARAMETER <= value < math.inf and 0.0 < factor < math.inf
        if not in_range or not uses_kernels(type(self)):
            return None
        other = copy(self)
        setattr(other, self.parameter, value)
        return other, factor


# Below it the slope of a penalty at the origin, about 1 / parameter, is no longer finite.
_LEAST_PARAMETER = 1e-300

# Distances at which a penalty is examined: zero, and both far below and far above one.
_PROBES = np.concatenate([[0.0], np.logspace(-12, 12, 1441)])


def check_penalty(penalty: Penalty) -> None:
    """Raise a ValueError that says which part of Assumption 2.2 `penalty` breaks.

    The functions are probed on a fixed grid of distances from 0 to 1e12, so a penalty that
    misbehaves only between two grid points, or only beyond, is not caught.
    """
    name = type(penalty).__name__
    for method in ("value", "derivative"):
        if not callable(getattr(penalty, method, None)):
            raise ValueError(
                f"penalty {name} has no method {method!r}: a penalty needs value(z) and "
                "derivative(z), see comanifold.penalties.Penalty"
            )
    with np.errstate(all="ignore"):
        value = np.asarray(penalty.value(_PROBES.copy()), dtype=float)
        slope = np.asarray(penalty.derivative(_PROBES.copy()), dtype=float)
    for method, result in (("value", value), ("derivative", slope)):
        if result.shape != _PROBES.shape:
            raise ValueError(
                f"penalty {name} is not vectorised: {method}(z) of {_PROBES.size} distances "
                f"has shape {result.shape}"
            )
    if not np.isfinite(slope[0]):
        raise ValueError(
            f"penalty {name} breaks Assumption 2.2 (iv), a finite slope at the origin: "
            f"derivative(0) = {slope[0]}"
        )
    if value[0] != 0.0:
        raise ValueError(
            f"penalty {name} breaks Assumption 2.2 (ii), zero at the origin: value(0) = {value[0]}"
        )
    for method, result in (("value", value), ("derivative", slope)):
        _refuse(name, result, ~np.isfinite(result), f"{method} must be finite")
    rounding = 1e-9
    falls = np.diff(value) < -rounding * np.abs(value[1:])
    grows = np.diff(slope) > rounding * slope[:-1]
    increasing = "breaks Assumption 2.2 (iii), increasing"
    _refuse(name, slope, slope < 0.0, f"{increasing}: its derivative")
    _refuse(name, value[1:], falls, f"{increasing}: its value falls to")
    _refuse(name, slope[1:], grows, "breaks Assumption 2.2 (i), concave: its derivative grows to")
    if getattr(penalty, "is_linear", False) and np.ptp(slope) > rounding * slope[0]:
        raise ValueError(
            f"penalty {name} says is_linear, but its derivative is not constant: it goes from "
            f"{slope[0]:g} at z = 0 to {slope[-1]:g}"
        )
    # Concavity places each difference between the slopes at its two ends; this is also what
    # catches a derivative with a wrong sign or factor.
    step = np.diff(_PROBES)
    rise = np.diff(value)
    slack = 1e-6 * rise + 1e-9 * np.abs(value[1:])
    wrong = (rise > slope[:-1] * step + slack) | (rise < slope[1:] * step - slack)
    problem = "is inconsistent: value does not grow at the rate of derivative; the derivative"
    _refuse(name, slope[1:], wrong, problem)


def _refuse(name, result, wrong, what):
    """Raise a ValueError that shows the first wrong result, if any, of those at the last probes."""
    if np.any(wrong):
        where = int(np.argmax(wrong))
        z = _PROBES[-len(result) :][where]
        raise ValueError(f"penalty {name} {what} {result[where]:g} at z = {z:g}")


def _positive(name: str, value: float) -> float:
    """Validate a parameter of a penalty; return it as a float."""
    if not (isinstance(value, numbers.Real) and _LEAST_PARAMETER <= value < math.inf):
        raise ValueError(f"{name} must be a positive number, at least 1e-300, got {value!r}")
    return float(value)


def _power(scale: float, exponent: float) -> float:
    """scale^exponent, infinite where it overflows."""
    with np.errstate(all="ignore"):
        return float(np.float64(scale) ** exponent)


def _snowflake_value(z, n, parameters, out):
    eps = parameters[0]
    for e in range(n):
        x = np.sqrt(z[e]) / eps
        if x > 1.0:
            value = x - np.log(1.0 + x)
        elif x > 1e-3:
            value = x - np.log1p(x)
        else:  # that difference would lose its digits: the Taylor series
            value = x * x * (1 / 2 - x * (1 / 3 - x * (1 / 4 - x * (1 / 5 - x / 6))))
        out[e] = eps * value


def _snowflake_derivative(z, n, parameters, out):
    for e in range(n):
        out[e] = 0.5 / (np.sqrt(z[e]) + parameters[0])


class Snowflake(BuiltIn):
    r"""The paper's penalty, a smoothed square root of the distance.

    .. math:: \Omega(z) = \frac12 \int_0^z \frac{d\zeta}{\sqrt\zeta + \varepsilon}
              = \sqrt z - \varepsilon \log(1 + \sqrt z / \varepsilon)

    Small differences are smoothed away, large ones are left nearly alone.

    Parameters
    ----------
    eps : float, default=1e-12
        Rounds the square root off at the origin, where the slope is 1 / (2 eps).

    References
    ----------
    Mishne, Chi and Coifman (2019), Co-manifold learning with missing data, section 2.1.

    Examples
    --------
    >>> from comanifold.penalties import Snowflake
    >>> Snowflake().value([0.0, 1.0, 4.0]).round(6)
    array([0., 1., 2.])
    """

    kernels = _snowflake_value, _snowflake_derivative
    parameter = "eps"

    def __init__(self, eps: float = 1e-12):
        self.eps = _positive("eps", eps)

    def rescaled(self, scale: float) -> tuple[Penalty, float]:
        """Snowflake(eps sqrt(scale)), and the factor scale^1.5."""
        changed = self._with_parameter(self.eps * scale**0.5, _power(scale, 1.5))
        return changed or super().rescaled(scale)


def _linear_value(z, n, _, out):
    for e in range(n):
        out[e] = z[e]


def _linear_derivative(_, n, __, out):
    for e in range(n):
        out[e] = 1.0


class Linear(BuiltIn):
    r"""The distance itself, :math:`\Omega(z) = z`: convex clustering and convex biclustering.

    References
    ----------
    Chi, Allen and Baraniuk (2017), Convex biclustering.

    Examples
    --------
    >>> from comanifold.penalties import Linear
    >>> Linear().derivative([0.0, 3.0])
    array([1., 1.])
    """

    is_linear = True
    kernels = _linear_value, _linear_derivative


def _log_value(z, n, parameters, out):
    for e in range(n):
        out[e] = np.log1p(z[e] / parameters[0])


def _log_derivative(z, n, parameters, out):
    for e in range(n):
        out[e] = 1.0 / (z[e] + parameters[0])


class Log(BuiltIn):
    r"""The logarithm, :math:`\Omega(z) = \log(1 + z / \varepsilon)`.

    Parameters
    ----------
    eps : float, default=1.0
        Distances below it are penalised almost linearly, with slope 1 / eps.

    Examples
    --------
    >>> from comanifold.penalties import Log
    >>> Log(eps=0.5).derivative([0.0, 0.5])
    array([2., 1.])
    """

    kernels = _log_value, _log_derivative
    parameter = "eps"

    def __init__(self, eps: float = 1.0):
        self.eps = _positive("eps", eps)

    def rescaled(self, scale: float) -> tuple[Penalty, float]:
        """Log(eps scale), and the factor scale^2."""
        changed = self._with_parameter(self.eps * scale, _power(scale, 2.0))
        return changed or super().rescaled(scale)


def _mcp_value(z, n, parameters, out):
    threshold = parameters[0]
    for e in range(n):
        x = min(z[e], threshold)
        out[e] = x * (1.0 - x / (2.0 * threshold))


def _mcp_derivative(z, n, parameters, out):
    for e in range(n):
        out[e] = max(0.0, 1.0 - z[e] / parameters[0])


class MCP(BuiltIn):
    r"""The minimax concave penalty: linear at the origin, constant from `threshold` on.

    .. math:: \Omega(z) = \int_0^z \max(0, 1 - \zeta / \tau) \, d\zeta

    with the threshold :math:`\tau`. Distances beyond it are not shrunk at all.

    Parameters
    ----------
    threshold : float, default=1.0
        The distance, in the units of the data, from which the penalty stays constant.

    References
    ----------
    Zhang (2010), Nearly unbiased variable selection under minimax concave penalty.

    Examples
    --------
    >>> from comanifold.penalties import MCP
    >>> MCP(threshold=2.0).value([0.0, 1.0, 2.0, 9.0])
    array([0.  , 0.75, 1.  , 1.  ])
    """

    kernels = _mcp_value, _mcp_derivative
    parameter = "threshold"

    def __init__(self, threshold: float = 1.0):
        self.threshold = _positive("threshold", threshold)

    def rescaled(self, scale: float) -> tuple[Penalty, float]:
        """MCP(threshold scale), and the factor scale."""
        changed = self._with_parameter(self.threshold * scale, scale)
        return changed or super().rescaled(scale)
