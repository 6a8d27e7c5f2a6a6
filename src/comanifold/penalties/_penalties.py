"""The penalties: how the cost of keeping two rows or columns apart grows with their distance."""

import numbers

import numpy as np

from ._base import BuiltIn, Penalty


def _positive(name: str, value: float) -> float:
    # Below 1e-300 the slope at the origin, about 1 / value, is no longer finite.
    if not (isinstance(value, numbers.Real) and np.isfinite(value) and value >= 1e-300):
        raise ValueError(f"{name} must be a positive number, at least 1e-300, got {value!r}")
    return float(value)


def _power(scale: float, exponent: float) -> float:
    """A power that overflows to infinity."""
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

    def __init__(self, eps: float = 1e-12):
        self.eps = _positive("eps", eps)

    @property
    def parameters(self) -> tuple[float, ...]:
        return (self.eps,)

    def rescaled(self, scale: float) -> tuple[Penalty, float]:
        """Snowflake(eps sqrt(scale)), and the factor scale^1.5."""
        changed = self._with_parameter("eps", self.eps * scale**0.5, factor=_power(scale, 1.5))
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

    def __init__(self, eps: float = 1.0):
        self.eps = _positive("eps", eps)

    @property
    def parameters(self) -> tuple[float, ...]:
        return (self.eps,)

    def rescaled(self, scale: float) -> tuple[Penalty, float]:
        """Log(eps scale), and the factor scale^2."""
        changed = self._with_parameter("eps", self.eps * scale, factor=_power(scale, 2.0))
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

    def __init__(self, threshold: float = 1.0):
        self.threshold = _positive("threshold", threshold)

    @property
    def parameters(self) -> tuple[float, ...]:
        return (self.threshold,)

    def rescaled(self, scale: float) -> tuple[Penalty, float]:
        """MCP(threshold scale), and the factor scale."""
        changed = self._with_parameter("threshold", self.threshold * scale, factor=scale)
        return changed or super().rescaled(scale)
