r"""Unconstrained minimisation by the BFGS method with limited memory.

The direction is :math:`-B \nabla f`, with B the inverse Hessian that the last changes s of x and y
of the gradient suggest, by the two-loop recursion. A step satisfies the Wolfe conditions. The
iterations are those of L-BFGS-B without bounds, whose work for bounds takes longer than objectives
that are a few products of small matrices.

References
----------
Nocedal and Wright (2006), Numerical optimization, Algorithms 7.4 and 7.5.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..solvers.kernels import kernel

Array = NDArray[np.float64]
Function = Callable[[Array], tuple[float, Array]]

# Pairs of changes that are remembered.
_MEMORY = 10

# The Wolfe conditions: the part of the expected decrease that a step must reach, and the part of
# the initial slope below which the slope must fall.
_DECREASE, _SLOPE = 1e-3, 0.9

# Points that are tried for a step, by how much it grows while the slope is steep, and how near the
# ends of an interval the next point may be.
_MAX_TRIALS, _GROWTH, _MARGIN = 20, 4.0, 0.1

# The largest entry of the gradient at which nothing is left to do.
_MIN_GRADIENT = 1e-9


class Minimum(NamedTuple):
    """The point that was found, its value, and whether `tol` was reached."""

    x: Array
    value: float
    n_iter: int
    converged: bool


class _Point(NamedTuple):
    x: Array
    value: float
    gradient: Array


class _Memory:
    """The last changes of x and of the gradient."""

    def __init__(self, size: int):
        self._changes = np.empty((2, _MEMORY, size))
        self._inverses = np.empty(_MEMORY)  # 1 / s'y
        self._n_kept = self._n_seen = 0

    @property
    def is_empty(self) -> bool:
        return self._n_kept == 0

    def clear(self) -> None:
        self._n_kept = self._n_seen = 0

    def add(self, before: _Point, after: _Point) -> None:
        """Remember the change between two points, if it is one of positive curvature."""
        place = self._n_seen % _MEMORY
        S, Y = self._changes
        np.subtract(after.x, before.x, out=S[place])
        np.subtract(after.gradient, before.gradient, out=Y[place])
        curvature = float(S[place] @ Y[place])
        # As in L-BFGS-B; else rounding decides.
        if curvature <= np.finfo(float).eps * float(Y[place] @ Y[place]):
            self._n_kept = min(self._n_kept, _MEMORY - 1)  # what was oldest is overwritten
            return
        self._inverses[place] = 1.0 / curvature
        self._n_seen += 1
        self._n_kept = min(self._n_kept + 1, _MEMORY)

    def direction(self, gradient: Array) -> Array:
        """Return -B times the gradient."""
        order = np.arange(self._n_seen - self._n_kept, self._n_seen) % _MEMORY
        direction = -gradient
        multiply_inverse_hessian(*self._changes, self._inverses, order, direction)
        return direction


def minimise(function: Function, start: Array, tol: float, max_iter: int) -> Minimum:
    """Lower a function from a starting point; its value never rises.

    Stops when an iteration lowers the value by at most tol times the value, or tol if it is below
    one.

    Parameters
    ----------
    function : callable
        Given a vector, returns the value and the gradient, a new array.
    start : ndarray
    tol : float
    max_iter : int
    """
    here = _Point(start, *function(start))
    memory = _Memory(start.size)
    for n_iter in range(max_iter):
        if np.abs(here.gradient).max(initial=0.0) <= _MIN_GRADIENT:
            return Minimum(here.x, here.value, n_iter, True)
        there = _next_point(function, here, memory)
        if there is None and not memory.is_empty:
            memory.clear()
            there = _next_point(function, here, memory)
        if there is None:  # rounding hides what is left
            return Minimum(here.x, here.value, n_iter, True)
        memory.add(here, there)
        decrease = here.value - there.value
        enough = tol * max(abs(here.value), abs(there.value), 1.0)
        here = there
        if decrease <= enough:
            return Minimum(here.x, here.value, n_iter + 1, True)
    return Minimum(here.x, here.value, max_iter, False)


class _Trial(NamedTuple):
    """A step along a direction, and the value and slope of the function there."""

    step: float
    value: float
    slope: float


def _next_point(function: Function, here: _Point, memory: _Memory) -> _Point | None:
    """Return a point along the direction that satisfies the strong Wolfe conditions, or None.

    An interval of steps that contains such points is divided until one is found.
    """
    direction = memory.direction(here.gradient)
    first = low = _Trial(0.0, here.value, float(direction @ here.gradient))
    if not first.slope < 0.0:
        return None
    step = 1.0 / np.sqrt(-first.slope) if memory.is_empty else 1.0
    high, lowest = None, None
    for _ in range(_MAX_TRIALS):
        x = here.x + step * direction
        if np.array_equal(x, here.x):  # so short that rounding hides it
            break
        value, gradient = function(x)
        trial = _Trial(step, value, float(gradient @ direction))
        if not value <= first.value + _DECREASE * step * first.slope:
            high = trial
        else:
            lowest = _Point(x, value, gradient)
            if abs(trial.slope) <= -_SLOPE * first.slope:
                return lowest
            if trial.slope < 0.0:
                low = trial
            else:
                high = trial
        step = _GROWTH * step if high is None else _between(low, high)
    return lowest


def _between(low: _Trial, high: _Trial) -> float:
    """Return the minimum of the cubic through values and slopes at two steps, away from both."""
    width = high.step - low.step
    mean = (high.value - low.value) / width
    bend = low.slope + high.slope - 3.0 * mean
    root = np.sqrt(max(bend * bend - low.slope * high.slope, 0.0))
    divisor = high.slope - low.slope + 2.0 * root
    part = (root - low.slope + bend) / divisor if divisor > 0.0 else 0.5
    part = part if np.isfinite(part) else 0.5
    return low.step + width * float(np.clip(part, _MARGIN, 1.0 - _MARGIN))


@kernel
def multiply_inverse_hessian(S, Y, inverses, order, q):
    """q = B q, by the two-loop recursion over the pairs in `order`, the oldest first.

    `inverses` has 1 / s'y of each pair. B is that of BFGS updates of a multiple of the identity,
    s'y / y'y of the last pair.
    """
    count, size = order.shape[0], q.shape[0]
    if count == 0:
        return
    parts = np.empty(count)
    for k in range(count - 1, -1, -1):
        s, y = S[order[k]], Y[order[k]]
        part = 0.0
        for i in range(size):
            part += s[i] * q[i]
        part *= inverses[order[k]]
        for i in range(size):
            q[i] -= part * y[i]
        parts[k] = part
    last = order[count - 1]
    square = 0.0
    for i in range(size):
        square += Y[last, i] ** 2
    scale = 1.0 / (inverses[last] * square)
    for i in range(size):
        q[i] *= scale
    for k in range(count):
        s, y = S[order[k]], Y[order[k]]
        part = 0.0
        for i in range(size):
            part += y[i] * q[i]
        part = parts[k] - part * inverses[order[k]]
        for i in range(size):
            q[i] += part * s[i]
