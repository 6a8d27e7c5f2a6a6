"""The method of multipliers with Newton's method, for the last digits of the convex problem.

Edges that end short but not fused need many sweeps: their dual vectors grow by rho times the length
in each. A larger rho needs fewer, but then a majoriser is a poor model of the augmented Lagrangian

    1/2 ||P(X - V)||^2 + sum_e huber_e(dual_e + rho D_e V) / rho,

and its linear systems are badly conditioned. Here it is minimised by Newton's method (semismooth:
the second derivative jumps where an edge fuses), with rho growing from stage to stage, as in the
solver of Sun, Toh and Yuan for convex clustering (Journal of Machine Learning Research 22, 2021).
The preconditioner of `kernels.newton` keeps the number of conjugate gradient steps small.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..penalties import Penalty
from .certificate import Dual, bound_from_divergence, gap_scale, observed_range
from .kernels.newton import (
    block_sums,
    curvature_diagonal,
    heavy_forest,
    newton_step,
    project_multipliers,
    soft_curvature,
)
from .problem import Array, Edges, Iterate, Problem

# The penalty parameter at the first stage, how much it grows between stages, and its limit, in
# units of the weight of an observed entry.
_FIRST_RHO = 50.0
_GROWTH = 8.0
_LARGEST_RHO = 1e8

# A stage ends when what the residual adds to the duality gap is at most this share of what the
# edges add, or of the tolerance, or after so many steps.
_SHARE = 10.0
_TOLERANCE_SHARE = 0.5
_MAX_STEPS = 20

# Conjugate gradient steps for one Newton step, and how far they lower the residual: further once
# the fused edges are those of the step before, since then Newton's method converges fast.
_CG_STEPS = np.int64(60)
_CG_REDUCTION = 0.1
_SETTLED_REDUCTION = 0.003

# Edges heavier than this, in units of the weight of an observed entry, are part of the trees and
# blocks of the preconditioner. On lung500, 30 took a fifth more conjugate gradient steps, and 3 up
# to three times as many.
_HEAVY = 10.0

# Keeps the curvature positive where nothing is observed and no edge has a weight.
_DAMPING = 1e-9

# A Newton step is halved until it lowers the augmented Lagrangian by this share of what its slope
# promises, at most so often.
_LEAST_DECREASE = 1e-4
_MAX_HALVINGS = 20

# Relative rounding error of the augmented Lagrangian: near its minimum only the gradient falls.
_ROUNDING = 1e-14


@dataclass(frozen=True)
class Polished:
    """The best estimate with its objective, and the last dual point with its bound."""

    iterate: Iterate
    objective: float
    dual: Dual
    bound: float
    n_iter: int


def polish(
    problem: Problem, V: Array, dual: Dual, penalty: Penalty, *, max_iter: int, tol: float
) -> Polished:
    """Lower the relative duality gap of a linear penalty to `tol`, from one that is small already.

    Returns what it has where Newton's method makes no progress. `problem` must have nothing fused;
    the arrays of `dual` are overwritten.
    """
    lagrangian = _AugmentedLagrangian(problem, penalty, dual)
    point = lagrangian.evaluate(V)
    best, objective = Iterate.start(problem, V), point.objective
    allowed = tol * gap_scale(problem, penalty, objective)
    n_iter = 0
    while True:
        for _ in range(_MAX_STEPS):
            n_iter += 1
            point, is_lower = lagrangian.step(point)
            is_last = not is_lower or n_iter == max_iter
            # What would be left of the gap if the gradient vanished.
            left = min(point.slack, objective - point.bound - point.residual)
            share = _SHARE if left > _TOLERANCE_SHARE * allowed else 0.0
            is_solved = point.residual <= max(share * point.slack, _TOLERANCE_SHARE * allowed)
            if not (is_solved or is_last or point.residual <= allowed):
                continue
            plain = Iterate.start(problem, point.V)
            fused = plain.fuse(*lagrangian.components())
            value = problem.objective(fused.estimate, penalty)
            for candidate, lowered in ((fused, value), (plain, point.objective)):
                if lowered < objective:
                    best, objective = candidate, lowered
            gap = objective - point.bound
            if gap <= allowed or is_last:
                return Polished(best, objective, lagrangian.projected, point.bound, n_iter)
            if is_solved:
                break
        if not is_solved or lagrangian.rho >= _LARGEST_RHO:
            return Polished(best, objective, lagrangian.projected, point.bound, n_iter)
        lagrangian.advance(min(_GROWTH, max(2.0, 2.0 * left / allowed)))
        # A larger rho multiplies what is left of the differences of fused edges.
        point = lagrangian.evaluate(fused.estimate if value < point.objective else point.V)


class _Point(NamedTuple):
    """An estimate, the augmented Lagrangian and its gradient, and the parts of the duality gap.

    The gap, objective - bound, is the sum of `slack`, what the edges add to it, and `residual`,
    what the gradient adds.
    """

    V: Array
    value: float
    gradient: Array
    objective: float
    bound: float
    slack: float
    residual: float


class _AugmentedLagrangian:
    """The augmented Lagrangian with given multipliers, and its second derivative.

    `projected`, `units` and `weights` belong to the point that was evaluated last: the multipliers
    after a step of rho from there, and the curvature of the edges (see `kernels.newton`).
    """

    def __init__(self, problem: Problem, penalty: Penalty, dual: Dual):
        self.problem, self.penalty = problem, penalty
        self.caps = problem.slopes(penalty, dual.lengths())  # that of a linear penalty is constant
        self.rho = _FIRST_RHO
        self.multipliers = dual
        self.projected, self.units = Dual.zeros(problem), Dual.zeros(problem)
        self.weights = self.caps
        self.range = observed_range(problem)
        self.is_fused = self.preconditioner = None

    def evaluate(self, V: Array) -> _Point:
        """Value, gradient and duality gap at V."""
        problem, rho, caps = self.problem, self.rho, self.caps
        Vt = np.ascontiguousarray(V.T)
        row_value, row_lengths, row_weights = project_multipliers(
            V, self.multipliers.rows, problem.rows.pairs, caps[0], rho,
            self.projected.rows, self.units.rows,
        )  # fmt: skip
        column_value, column_lengths, column_weights = project_multipliers(
            Vt, self.multipliers.columns, problem.columns.pairs, caps[1], rho,
            self.projected.columns, self.units.columns,
        )  # fmt: skip
        self.weights = row_weights, column_weights
        residuals = problem.counts * (V - problem.means)
        data = 0.5 * np.vdot(residuals, residuals)
        divergence = self.projected.divergence(problem)
        edges = caps[0] @ row_lengths + caps[1] @ column_lengths
        slack = edges - np.vdot(divergence, V)
        bound = bound_from_divergence(problem, divergence, self.range)
        return _Point(
            V=V,
            value=data + row_value + column_value,
            gradient=residuals + divergence,
            objective=data + edges,
            bound=bound,
            slack=slack,
            residual=data + edges - slack - bound,
        )

    def step(self, point: _Point) -> tuple[_Point, bool]:
        """A Newton step from the point that was evaluated last; whether it lowers the value."""
        S = self._direction(point)
        slope = np.vdot(point.gradient, S)
        highest = point.value + _ROUNDING * abs(point.value)
        size = 1.0
        for _ in range(_MAX_HALVINGS):
            new = self.evaluate(point.V + size * S)
            if new.value <= highest + _LEAST_DECREASE * size * slope:
                return new, True
            size *= 0.5
        return new, False

    def _direction(self, point: _Point) -> Array:
        """The Newton direction, solved more accurately once the fused edges have settled."""
        problem, units, weights = self.problem, self.units, self.weights
        rows = problem.rows.pairs, units.rows, weights[0]
        columns = problem.columns.pairs, units.columns, weights[1]
        is_fused = np.concatenate(weights) >= self.rho
        has_settled = self.preconditioner is not None and np.array_equal(is_fused, self.is_fused)
        if not has_settled:
            self.is_fused = is_fused
            self.preconditioner = self._precondition(rows, columns)
        data_weights, inverse, trees, levels = self.preconditioner
        reduction = _SETTLED_REDUCTION if has_settled else _CG_REDUCTION
        return newton_step(
            -point.gradient, data_weights, rows, columns, inverse, trees, levels,
            _CG_STEPS, reduction,
        )  # fmt: skip

    def _precondition(self, rows: tuple, columns: tuple) -> tuple:
        """The weights of the entries, and what `newton_step` needs for its preconditioner."""
        problem = self.problem
        m, n = problem.counts.shape
        diagonal = problem.counts + curvature_diagonal(m, *rows)
        diagonal += curvature_diagonal(n, *columns).T
        damping = _DAMPING * diagonal.mean()
        trees = (
            self._tree(problem.rows, rows, problem.counts, columns),
            self._tree(problem.columns, columns, np.ascontiguousarray(problem.counts.T), rows),
        )
        return problem.counts + damping, 1.0 / (diagonal + damping), trees, self._levels()

    def _tree(self, edges: Edges, own: tuple, counts: Array, other: tuple) -> tuple:
        """Moves along heavy edges for the preconditioner; empty if there are none."""
        pairs, units, weights = own
        forest = heavy_forest(pairs, weights, edges.adjacency, _HEAVY)
        up = forest[2]
        is_soft = up >= 0
        is_soft[is_soft] = weights[up[is_soft]] < self.rho
        if not is_soft.any():
            return *forest, np.zeros(0)
        curvature = soft_curvature(
            pairs, units, weights, forest, is_soft, counts, other[0], other[2]
        )
        order, parent, up = forest
        in_tree = parent >= 0
        in_tree[parent[in_tree]] = True
        return order[in_tree[order]], parent, up, _inverse(curvature)

    def _levels(self) -> tuple:
        """Labels of nested blocks that heavy edges join, and the inverse of their curvature."""
        problem, weights = self.problem, self.weights
        counts, before = problem.counts, None
        levels = []
        for threshold in (self.rho, np.sqrt(_HEAVY * self.rho), _HEAVY):
            labels = (
                problem.rows.components(weights[0] >= threshold),
                problem.columns.components(weights[1] >= threshold),
            )
            modes = [
                _sizes_and_degrees(edges, weight, label)
                for edges, weight, label in zip(
                    (problem.rows, problem.columns), weights, labels, strict=True
                )
            ]
            (row_sizes, row_degrees), (column_sizes, column_degrees) = modes
            shape = len(row_sizes), len(column_sizes)
            if shape == counts.shape:
                continue
            inner = labels if before is None else tuple(map(_relabel, before, labels))
            sums = np.empty(shape)
            block_sums(counts, inner, sums)
            counts, before = sums, labels
            # Two blocks are joined by an edge for each of their columns, or of their rows.
            curvature = np.outer(row_degrees, column_sizes) + np.outer(row_sizes, column_degrees)
            levels.append((inner, _inverse(curvature + counts)))
        none = np.zeros(0, np.intp), np.zeros(0, np.intp)
        return tuple(levels + [(none, np.zeros((0, 0)))] * (3 - len(levels)))

    def components(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Labels of the rows and of the columns that fused edges connect."""
        rows, columns = self.problem.rows, self.problem.columns
        return (
            rows.components(self.weights[0] >= self.rho),
            columns.components(self.weights[1] >= self.rho),
        )

    def advance(self, growth: float) -> None:
        """Take the step of the multipliers, and raise rho."""
        self.multipliers, self.projected = self.projected, self.multipliers
        self.rho *= growth
        self.preconditioner = None


def _sizes_and_degrees(
    edges: Edges, weights: Array, labels: NDArray[np.intp]
) -> tuple[Array, Array]:
    """The number of nodes with each label, and the weights of the edges to other labels."""
    ends = labels[edges.pairs]
    between = ends[:, 0] != ends[:, 1]
    ends, weights = ends[between], weights[between]
    sizes = np.bincount(labels).astype(float)
    return sizes, np.bincount(ends.ravel(), np.repeat(weights, 2), minlength=len(sizes))


def _relabel(before: NDArray[np.intp], labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """The label of each of the smaller clusters that `before` labels."""
    inner = np.empty(before.max() + 1, np.intp)
    inner[before] = labels
    return inner


def _inverse(curvature: Array) -> Array:
    """1 / curvature, zero where there is none."""
    return np.divide(1.0, curvature, out=np.zeros_like(curvature), where=curvature > 0)
