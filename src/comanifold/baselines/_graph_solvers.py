r"""Dense matrices smoothed along two graphs: three convex problems, one for each function.

With the residuals X, the observed set :math:`\Theta`, the Laplacians :math:`L_r` and :math:`L_c`
and the costs :math:`\gamma_r` and :math:`\gamma_c`, all have the quadratic

.. math:: Q(U) = \tfrac{\gamma_r}2 \operatorname{tr}(U' L_r U)
                 + \tfrac{\gamma_c}2 \operatorname{tr}(U L_c U').

`solve_dirichlet` minimises :math:`\tfrac12 \| P_\Theta(U - X) \|_F^2 + Q(U)`, a linear system;
`solve_nuclear` adds a multiple of the nuclear norm of U; `solve_l1` minimises
:math:`\| P_\Theta(U - X) \|_1 + 2 Q(U)`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..solvers.kernels.quadratic import quadratic_residual
from ._graph_data import UnitGraph
from ._shrinkage import Shrinkage, Shrunk

Array = NDArray[np.float64]
Costs = tuple[float, float]


@dataclass(frozen=True)
class Stopping:
    """When to stop: a relative tolerance and a limit on the number of iterations."""

    tol: float
    max_iter: int


# The absolute part of tolerances, for entries of variance one, over the relative part.
_ABSOLUTE = 0.2

# Subgradients of the absolute loss that are rounding errors, over the norm of U.
_ROUNDING = 1e-6

# The squared loss is the start of the absolute one; so it is solved.
_ROUGHLY = Stopping(1e-3, 200)

# Of the alternating directions: conjugate gradient steps in a round, and by how much they lower
# the residual; every how many rounds the weight of the constraint is adapted, if one residual is
# how many times the other.
_STEPS_IN_ROUND, _TOL_IN_ROUND = 30, 1e-5
_ADAPT_EVERY, _UNBALANCED = 5, 3.0


class Solution(NamedTuple):
    """An estimate, whether its tolerance was reached, and the objective along the iterations."""

    U: Array
    n_iter: int
    converged: bool
    history: tuple[float, ...]
    rank: int | None = None


class SmoothingProblem:
    """Residuals and two graphs.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        NaN for missing entries.
    row_graph, column_graph : UnitGraph

    Attributes
    ----------
    X : ndarray
        Zero for missing entries.
    observed : ndarray of bool
    weights : ndarray
        One for observed entries, zero for others.
    """

    def __init__(self, X: Array, row_graph: UnitGraph, column_graph: UnitGraph):
        self.observed = ~np.isnan(X)
        self.weights = self.observed.astype(float)
        self.X = np.where(self.observed, X, 0.0)
        self._edges = row_graph.edges, column_graph.edges
        self._zeros = np.zeros_like(self.X)
        self._ones = tuple(np.ones(n) for n in X.shape)
        self._degrees = row_graph.laplacian.diagonal(), column_graph.laplacian.diagonal()

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns."""
        return self.X.shape

    def multiply(self, U: Array, weights: Array, costs: Costs) -> Array:
        r"""Return weights * U + :math:`\gamma_r L_r U + \gamma_c U L_c`."""
        product = np.empty_like(U)
        edge_weights = (
            cost * edges.weights for cost, edges in zip(costs, self._edges, strict=True)
        )
        adjacency = (edges.adjacency for edges in self._edges)
        quadratic_residual(U, self._zeros, weights, *self._ones, *adjacency, *edge_weights, product)
        return np.negative(product, out=product)

    def smooth(self, U: Array, costs: Costs) -> Array:
        """Return the gradient of Q at U."""
        return self.multiply(U, self._zeros, costs)

    def slopes(self, U: Array, V: Array) -> Array:
        r"""Return :math:`\operatorname{tr}(U' L_r V)` and :math:`\operatorname{tr}(U L_c V')`."""
        return np.array(
            [np.vdot(U, self.smooth(V, (1.0, 0.0))), np.vdot(U, self.smooth(V, (0.0, 1.0)))]
        )

    def diagonal(self, weights: Array, costs: Costs) -> Array:
        """Return the diagonal of the matrix that `multiply` multiplies by; one where it is zero."""
        of_rows, of_columns = (
            cost * degrees for cost, degrees in zip(costs, self._degrees, strict=True)
        )
        diagonal = weights + of_rows[:, None] + of_columns
        return np.where(diagonal > 0.0, diagonal, 1.0)

    def solve(
        self, right: Array, costs: Costs, stopping: Stopping, *, start: Array, ridge: float = 0.0
    ) -> tuple[Array, int, bool]:
        """Solve (weights + ridge) * U + Lr U + U Lc = right from an initial U.

        Returns the solution, the number of steps, and whether the residual fell to tol |right|.
        """
        weights = self.weights + ridge if ridge else self.weights
        return conjugate_gradients(
            lambda V: self.multiply(V, weights, costs),
            right,
            start,
            self.diagonal(weights, costs),
            stopping,
        )


def conjugate_gradients(
    product: Callable[[Array], Array],
    right: Array,
    start: Array,
    diagonal: Array,
    stopping: Stopping,
) -> tuple[Array, int, bool]:
    """Solve product(U) = right for a positive semi-definite product.

    Conjugate gradients, preconditioned by the diagonal. Every step lowers the quadratic
    <U, product(U)> / 2 - <U, right>.

    Returns
    -------
    U : ndarray
        A new array.
    n_steps : int
    converged : bool
        Whether the norm of the residual is at most tol times that of `right`.
    """
    U = start.copy()
    residual = right - product(U)
    target = stopping.tol**2 * np.vdot(right, right)
    direction = residual / diagonal
    size = np.vdot(residual, direction)
    for n_steps in range(stopping.max_iter):
        if np.vdot(residual, residual) <= target:
            return U, n_steps, True
        image = product(direction)
        curvature = np.vdot(direction, image)
        if not curvature > 0.0:  # no direction is left that changes anything
            return U, n_steps, True
        length = size / curvature
        U += length * direction
        residual -= length * image
        scaled = residual / diagonal
        new = np.vdot(residual, scaled)
        direction *= new / size
        direction += scaled
        size = new
    return U, stopping.max_iter, bool(np.vdot(residual, residual) <= target)


def solve_dirichlet(
    problem: SmoothingProblem, costs: Costs, stopping: Stopping, start: Array | None = None
) -> Solution:
    """Return the minimum of the squared loss and Q, by conjugate gradients.

    Entries that depend on no observed one are zero.
    """
    start = np.zeros(problem.shape) if start is None else start
    U, n_steps, converged = problem.solve(problem.X, costs, stopping, start=start)
    return Solution(U, n_steps, converged, (squared_objective(problem, U, costs),))


def squared_objective(problem: SmoothingProblem, U: Array, costs: Costs) -> float:
    """Return half the squared loss plus Q."""
    errors = problem.weights * (U - problem.X)
    return 0.5 * float(np.vdot(errors, errors) + np.vdot(U, problem.smooth(U, costs)))


def solve_nuclear(
    problem: SmoothingProblem,
    costs: Costs,
    penalty: float,
    stopping: Stopping,
    start: Array | None = None,
) -> Solution:
    """Return the minimum of the squared loss, Q and the nuclear norm times the penalty.

    The alternating direction method of multipliers for U = Y, of which U has the nuclear norm and
    Y the rest. The weight of the constraint is adapted so that both residuals fall alike.
    """
    size = np.sqrt(np.prod(problem.shape))
    Y = np.zeros(problem.shape) if start is None else start.copy()
    multiplier = np.zeros(problem.shape)
    weight = max(0.1, penalty / size)
    inner = Stopping(min(_TOL_IN_ROUND, stopping.tol), _STEPS_IN_ROUND)
    shrinkage, U, is_exact = _Shrinking(problem.shape), Y, False
    converged = False
    for n_iter in range(1, stopping.max_iter + 1):
        found = shrinkage.shrink(Y - multiplier, penalty / weight, exact=is_exact)
        U = shrinkage.result
        right = problem.X + weight * (U + multiplier)
        before = Y
        Y, _, _ = problem.solve(right, costs, inner, start=Y, ridge=weight)
        multiplier = multiplier + (U - Y)
        primal = np.linalg.norm(U - Y)
        dual = weight * np.linalg.norm(Y - before)
        scales = max(np.linalg.norm(U), np.linalg.norm(Y)), weight * np.linalg.norm(multiplier)
        allowed = [stopping.tol * (_ABSOLUTE * size + scale) for scale in scales]
        within = bool(primal <= allowed[0] and dual <= allowed[1])
        converged = within and found.is_exact
        if converged:
            break
        is_exact = within  # confirm by a full decomposition
        if n_iter % _ADAPT_EVERY == 0:
            ratio = (primal / allowed[0]) / max(dual / allowed[1], 1e-300)
            factor = 2.0 if ratio > _UNBALANCED else 0.5 if ratio < 1.0 / _UNBALANCED else 1.0
            weight *= factor
            multiplier /= factor
    value = squared_objective(problem, U, costs) + penalty * float(found.values.sum())
    return Solution(U, n_iter, converged, (value,), len(found.values))


class _Shrinking:
    """Soft-thresholding of singular values of matrices of any shape."""

    def __init__(self, shape: tuple[int, int]):
        self._is_wide = shape[0] < shape[1]
        self._shrinkage = Shrinkage()
        self.result = np.empty(shape)

    def shrink(self, F: Array, penalty: float, *, exact: bool) -> Shrunk:
        """Set `result`, a new array; see `Shrinkage.shrink`."""
        F = np.ascontiguousarray(F.T) if self._is_wide else F
        Z = np.empty_like(F)
        found = self._shrinkage.shrink(F, penalty, Z, exact=exact)
        self.result = np.ascontiguousarray(Z.T) if self._is_wide else Z
        return found


def solve_l1(
    problem: SmoothingProblem, costs: Costs, stopping: Stopping, start: Array | None = None
) -> Solution:
    """Return the minimum of the absolute loss and 2 Q, by accelerated proximal gradient steps.

    A step that would raise the objective is taken again without momentum, so that it never rises.
    Stops where the change of U and a subgradient are small, both of them: steps are as short as
    costs are large.
    """
    if not sum(costs) > 0.0:  # nothing is smoothed
        return Solution(problem.X.copy(), 0, True, (0.0,))
    doubled = 2.0 * costs[0], 2.0 * costs[1]
    step = 1.0 / sum(doubled)
    U = solve_dirichlet(problem, doubled, _ROUGHLY).U if start is None else start
    image = problem.smooth(U, doubled)  # the gradient, kept by linearity also where extrapolated
    history = [_absolute_objective(problem, U, image)]
    V, V_image, momentum = U, image, 1.0
    unit = np.sqrt(problem.X.size)
    for n_iter in range(1, stopping.max_iter + 1):
        new = _proximal_step(problem, V - step * V_image, step)
        new_image = problem.smooth(new, doubled)
        value = _absolute_objective(problem, new, new_image)
        size = np.linalg.norm(new) + _ABSOLUTE * unit
        subgradient = np.linalg.norm((V - new) / step + (new_image - V_image))
        if value > history[-1]:
            if momentum == 1.0:  # a plain step can only fail by rounding
                converged = bool(subgradient <= max(stopping.tol, _ROUNDING) * size)
                return Solution(U, n_iter, converged, tuple(history))
            V, V_image, momentum = U, image, 1.0
            continue
        history.append(value)
        change = np.linalg.norm(new - U)
        faster = 0.5 + np.sqrt(0.25 + momentum**2)
        factor = (momentum - 1.0) / faster
        V, V_image = new + factor * (new - U), new_image + factor * (new_image - image)
        U, image, momentum = new, new_image, faster
        if max(change, subgradient) <= stopping.tol * size:
            return Solution(U, n_iter, True, tuple(history))
    return Solution(U, stopping.max_iter, False, tuple(history))


def _proximal_step(problem: SmoothingProblem, U: Array, step: float) -> Array:
    """Move observed entries of U towards X by `step`, not beyond it."""
    move = np.clip(problem.X - U, -step, step)
    return U + np.where(problem.observed, move, 0.0)


def _absolute_objective(problem: SmoothingProblem, U: Array, image: Array) -> float:
    """Return the absolute loss plus 2 Q; `image` is the gradient of 2 Q at U."""
    errors = np.abs(problem.X - U)
    return float(np.vdot(problem.weights, errors) + 0.5 * np.vdot(U, image))
