"""Descent by quadratic majorisers, for penalties so steep at the origin that fusions last.

Omega(sqrt(s)) is concave in s, so at an edge of length z the parabola with curvature
Omega'(z) / z lies above Omega and touches it there. The sum of these parabolas and the data
term is minimised by one linear system, in which the mask stays: no filling-in. A few steps of
conjugate gradients lower it, and with it the objective.
"""

from dataclasses import replace

import numpy as np

from ..penalties import Penalty
from ._fusion import Iterate, collapse
from ._kernels import conjugate_gradients
from ._merging import merge_apart, merge_in_bulk
from ._outcome import Outcome
from ._problem import Array, Problem

# Steps of conjugate gradients per majoriser, and the factor by which they should lower its
# residual: the majoriser moves on before an exact solution would pay.
CG_STEPS = np.int64(10)  # not an int: compiled code would treat it as a type of its own
CG_REDUCTION = 0.1

# Residual at which merging is tried first. Sooner is faster; from a start that is no solution
# of a similar problem, it ends in worse minima.
_MERGE_AT = 1e-2


def minimise_by_quadratics(
    iterate: Iterate, penalty: Penalty, *, max_iter: int, tol: float, continued: bool = False
) -> Outcome:
    """Lower the objective until its relative gradient is below `tol` and no merger lowers it.

    From the solution at a slightly smaller cost (`continued`), mergers are tried from the
    beginning, and only in bulk.
    """
    norms = iterate.problem.norms(iterate.V)
    objective = iterate.problem.objective(iterate.V, penalty, norms)
    history = [objective]
    iterate, objective, norms = _collapse(iterate, penalty, norms, objective)
    merge_at = np.inf if continued else max(tol, _MERGE_AT)
    for n_iter in range(1, max_iter + 1):
        problem = iterate.problem
        V = iterate.V.copy()
        lower_majoriser(problem, V, problem.quadratic_weights(penalty, norms))
        norms = problem.norms(V)
        lowered = problem.objective(V, penalty, norms)
        if not lowered <= objective:  # nothing left to gain but rounding errors
            return Outcome(iterate, history, n_iter)
        iterate = replace(iterate, V=V)
        iterate, objective, norms = _collapse(iterate, penalty, norms, lowered)
        history.append(objective)
        residual = relative_gradient(iterate, penalty, norms)
        if residual <= merge_at:
            merged, objective = merge_in_bulk(iterate, penalty, norms, objective)
            if merged is iterate and not continued:
                merged, objective = merge_apart(iterate, penalty, norms, objective)
            if merged is iterate:
                if residual <= tol:
                    return Outcome(iterate, history, n_iter)
                merge_at = max(tol, 0.1 * min(merge_at, residual))
            else:
                iterate, norms = merged, merged.problem.norms(merged.V)
                history.append(objective)
    return Outcome(iterate, history, max_iter)


def _collapse(
    iterate: Iterate, penalty: Penalty, norms: tuple[Array, Array], objective: float
) -> tuple[Iterate, float, tuple[Array, Array]]:
    fused, objective = collapse(iterate, penalty, norms, objective)
    return fused, objective, norms if fused is iterate else fused.problem.norms(fused.V)


def lower_majoriser(
    problem: Problem,
    V: Array,
    weights: tuple[Array, Array],
    *,
    pull: Array | float = 0.0,
    max_steps: int = CG_STEPS,
    reduction: float = CG_REDUCTION,
) -> None:
    """Lower in place the data term plus <pull, V> plus the quadratic with these edge weights."""
    conjugate_gradients(
        V,
        problem.counts * problem.means - pull,
        problem.counts,
        problem.row_sizes,
        problem.column_sizes,
        problem.rows.adjacency,
        problem.columns.adjacency,
        *weights,
        max_steps,
        reduction,
    )


def relative_gradient(
    iterate: Iterate, penalty: Penalty, norms: tuple[Array, Array] | None = None
) -> float:
    """Norm of the gradient over the estimates constant on the blocks, relative to the data's.

    The data are centred and scaled to unit variance, so the norm of the gradient of the data
    term at the mean is the square root of the number of observed entries.
    """
    problem = iterate.problem
    gradient = problem.gradient(iterate.V, penalty, norms)
    block_sizes = problem.row_sizes[:, None] * problem.column_sizes
    return float(np.sqrt((gradient**2 / block_sizes).sum() / problem.counts.sum()))
