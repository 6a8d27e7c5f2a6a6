"""The penalties: how the cost of keeping two rows or columns apart grows with their distance."""

import numbers

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import Penalty


def _positive(name: str, value: float) -> float:
    # Below 1e-300 the slope at the origin, about 1 / value, is no longer finite.
    if not (isinstance(value, numbers.Real) and np.isfinite(value) and value >= 1e-300):
        raise ValueError(f"{name} must be a positive number, at least 1e-300, got {value!r}")
    return float(value)


class Snowflake(Penalty):
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

    def __init__(self, eps: float = 1e-12):
        self.eps = _positive("eps", eps)

    def value(self, z: ArrayLike) -> NDArray[np.float64]:
        x = np.sqrt(np.asarray(z, dtype=float)) / self.eps
        value = np.asarray(x - np.log1p(x))
        # That difference loses its digits for small x: there the Taylor series.
        small = x < 1e-3
        if small.any():
            y = x[small]
            value[small] = y**2 * (1 / 2 - y * (1 / 3 - y * (1 / 4 - y * (1 / 5 - y / 6))))
        return self.eps * value

    def derivative(self, z: ArrayLike) -> NDArray[np.float64]:
        return 0.5 / (np.sqrt(np.asarray(z, dtype=float)) + self.eps)


class Linear(Penalty):
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

    def value(self, z: ArrayLike) -> NDArray[np.float64]:
        return np.array(z, dtype=float)

    def derivative(self, z: ArrayLike) -> NDArray[np.float64]:
        return np.ones_like(np.asarray(z, dtype=float))


class Log(Penalty):
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

    def __init__(self, eps: float = 1.0):
        self.eps = _positive("eps", eps)

    def value(self, z: ArrayLike) -> NDArray[np.float64]:
        return np.log1p(np.asarray(z, dtype=float) / self.eps)

    def derivative(self, z: ArrayLike) -> NDArray[np.float64]:
        return 1.0 / (np.asarray(z, dtype=float) + self.eps)


class MCP(Penalty):
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

    def __init__(self, threshold: float = 1.0):
        self.threshold = _positive("threshold", threshold)

    def value(self, z: ArrayLike) -> NDArray[np.float64]:
        z = np.minimum(np.asarray(z, dtype=float), self.threshold)
        return z * (1.0 - z / (2.0 * self.threshold))

    def derivative(self, z: ArrayLike) -> NDArray[np.float64]:
        return np.maximum(0.0, 1.0 - np.asarray(z, dtype=float) / self.threshold)
