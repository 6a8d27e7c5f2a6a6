"""How far an estimate is from solving its problem: numbers that can be checked afterwards."""

from dataclasses import dataclass

import numpy as np

from ..penalties import Penalty
from ._dual import Dual
from ._fusion import Iterate
from ._problem import Array, Problem


@dataclass(frozen=True, eq=False)
class Certificate:
    """What is known about the distance of an estimate from a solution.

    Attributes
    ----------
    stationarity : float
        Norm of the residual of the stationarity condition, relative to the norm of the centred
        data: P(U - X) plus the pull of all edges. An edge of positive length pulls with
        cost x weight x Omega'(length) along itself; an edge of length zero with any vector up
        to cost x weight x Omega'(0), the one that was found. For a penalty so steep at the
        origin that those vectors can carry every force in the problem, they are not computed
        and the residual is that of the fused problem.
    gap : float or None
        For a linear penalty: (objective - lower_bound) / objective. Where the objective all but
        vanishes, below 1e-6 of what it is at the mean or of what differences of one standard
        deviation along all edges cost, it is relative to that.
    lower_bound : float or None
        For a linear penalty: a bound below which no estimate has its objective, computed from
        the dual point.
    row_dual, column_dual : ndarray or None
        For a linear penalty: the dual point. One vector for each edge of the row graph, of
        shape (n_row_edges, n_columns), and of the column graph, (n_column_edges, n_rows),
        none longer than cost x weight x slope. `comanifold.dual_bound` computes the bound from
        them.
    """

    stationarity: float
    gap: float | None = None
    lower_bound: float | None = None
    row_dual: Array | None = None
    column_dual: Array | None = None

    def __repr__(self) -> str:
        gap = (
            "" if self.gap is None else f", gap={self.gap:.3g}, lower_bound={self.lower_bound:.9g}"
        )
        return f"Certificate(stationarity={self.stationarity:.3g}{gap})"


def relative_gap(problem: Problem, penalty: Penalty, value: float, bound: float) -> float:
    """The gap that `Certificate` describes, for data in standard units."""
    n_rows, n_columns = problem.counts.shape
    unit = penalty.value(np.sqrt([n_columns, n_rows]))
    roughness = unit[0] * problem.rows.weights.sum() + unit[1] * problem.columns.weights.sum()
    at_mean = 0.5 * problem.counts.sum()
    floor = 1e-6 * float(min(roughness, at_mean) if roughness > 0.0 else at_mean)
    gap = value - bound
    return 0.0 if gap <= 0.0 else gap / max(value, floor)


def stationarity(problem: Problem, U: Array, penalty: Penalty, dual: Dual) -> float:
    """The residual that `Certificate` describes, for data in standard units."""
    norms = problem.norms(U)
    fused = [lengths == 0 for lengths in norms]
    held = Dual(dual.rows * fused[0][:, None], dual.columns * fused[1][:, None])
    residual = problem.gradient(U, penalty, norms)
    residual += held.project(problem.slopes(penalty, norms)).pull(problem)
    return float(np.linalg.norm(residual) / np.sqrt(problem.counts.sum()))


def holds_any_force(iterate: Iterate, problem: Problem, penalty: Penalty) -> bool:
    """Whether the fused edges can surely carry the forces that act on their clusters.

    Within a cluster of rows, the edges of a spanning tree can carry any forces that add up to
    zero, none of them more than the total; the forces on an entry that do not add up to zero
    over the rows of its block do so over its columns.
    """
    # A bound on all forces together, from the blocks alone, nearly always settles it.
    if holds_forces_up_to(_bound_on_forces(iterate, penalty), problem, penalty):
        return True
    row_strength, column_strength = _strengths(problem, penalty)
    forces = problem.gradient(iterate.estimate, penalty)
    return bool(
        row_strength >= 2.0 * np.linalg.norm(forces, axis=1).sum()
        and column_strength >= 2.0 * np.linalg.norm(forces, axis=0).sum()
    )


def holds_forces_up_to(strongest: float, problem: Problem, penalty: Penalty) -> bool:
    """`holds_any_force` for forces whose norm on all entries together is at most `strongest`."""
    n_rows, n_columns = problem.counts.shape
    row_strength, column_strength = _strengths(problem, penalty)
    return (
        row_strength >= 2.0 * np.sqrt(n_rows) * strongest
        and column_strength >= 2.0 * np.sqrt(n_columns) * strongest
    )


def _strengths(problem: Problem, penalty: Penalty) -> tuple[float, float]:
    """How strongly the weakest edge of each mode can hold what it has fused."""
    slope = float(penalty.derivative(np.zeros(1))[0])
    return (
        slope * problem.rows.weights.min(initial=np.inf),
        slope * problem.columns.weights.min(initial=np.inf),
    )


def _bound_on_forces(iterate: Iterate, penalty: Penalty) -> float:
    """At least the norm of the gradient on all entries: the sum of the norms of its parts."""
    problem, V = iterate.problem, iterate.V
    data = 2.0 * problem.constant + np.vdot(problem.counts, (V - problem.means) ** 2)
    row_slopes, column_slopes = problem.slopes(penalty, problem.norms(V))
    return float(np.sqrt(data) + np.sqrt(2.0) * (row_slopes.sum() + column_slopes.sum()))
