"""The fast solver: quadratic majorisers with the mask kept in the linear system."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..penalties import Penalty
from ._certificate import holds_any_force
from ._dual import Dual
from ._fusion import Iterate
from ._multipliers import minimise_by_multipliers
from ._outcome import Outcome
from ._problem import Array, Problem
from ._quadratic import lower_majoriser, minimise_by_quadratics

# How much stronger than the data the slope of a penalty at the origin must be for fusions to be
# taken as lasting. It is checked at the end in any case.
_STEEP = 1e3

# Conjugate gradients for the starting point.
_START_STEPS = 20
_START_REDUCTION = 1e-2


def minimise_fast(
    problem: Problem, init: Array | None, penalty: Penalty, *, max_iter: int, tol: float
) -> Outcome:
    """Minimise the objective from `init`, or from a smoothed version of the data."""
    if is_steep(problem, penalty):
        if init is None:
            start = Iterate.start(problem, np.zeros_like(problem.means))
            start = start.fuse(*provably_fused(problem, penalty))
            start = replace(start, V=_smoothed_data(start.problem, penalty))
        else:
            start = Iterate.start(problem, init)
        outcome = minimise_by_quadratics(start, penalty, max_iter=max_iter, tol=tol)
        return secure(outcome, problem, penalty, max_iter=max_iter, tol=tol)
    U = _smoothed_data(problem, penalty) if init is None else init
    outcome = minimise_by_multipliers(problem, U, penalty, max_iter=max_iter, tol=tol)
    constant = all_fused(Iterate.start(problem, problem.means))
    left = max_iter - outcome.n_iter
    if not constant.objective(penalty) < outcome.history[-1] or left <= 0:
        return outcome
    more = minimise_by_multipliers(problem, constant.estimate, penalty, max_iter=left, tol=tol)
    return _append(outcome, more)


def continue_fast(
    iterate: Iterate, problem: Problem, penalty: Penalty, *, max_iter: int, tol: float
) -> Outcome:
    """Minimise the objective of `problem` from the solution at smaller costs.

    `iterate` is that solution on the blocks of `problem` that it has fused, which stay fused:
    the penalty must be steep.
    """
    stop = {"max_iter": max_iter, "tol": tol}
    outcome = minimise_by_quadratics(iterate, penalty, **stop, continued=True)
    return secure(outcome, problem, penalty, **stop)


def secure(
    outcome: Outcome, problem: Problem, penalty: Penalty, *, max_iter: int, tol: float
) -> Outcome:
    """Restart where that must end lower, and go on where nothing surely holds what has fused.

    A concave penalty can leave a descent in a local minimum above the estimate with all that
    is connected fused: then it starts from there.
    """
    constant = all_fused(outcome.iterate)
    left = max_iter - outcome.n_iter
    if constant.objective(penalty) < outcome.history[-1] and left > 0:
        more = minimise_by_quadratics(constant, penalty, max_iter=left, tol=tol)
        outcome = _append(outcome, more)
    if holds_any_force(outcome.iterate, problem, penalty):
        return outcome
    left = max_iter - outcome.n_iter
    if left <= 0:  # nothing is known to hold what has fused
        return replace(outcome, dual=Dual.zeros(problem))
    U = outcome.iterate.estimate
    return _append(outcome, minimise_by_multipliers(problem, U, penalty, max_iter=left, tol=tol))


def all_fused(iterate: Iterate) -> Iterate:
    """The best estimate with all that is connected fused."""
    rows, columns = iterate.problem.rows, iterate.problem.columns
    fused = iterate.fuse(
        rows.components(np.full(len(rows), True)), columns.components(np.full(len(columns), True))
    )
    return replace(fused, V=fused.problem.means.copy())


def _append(first: Outcome, second: Outcome) -> Outcome:
    history = first.history + second.history
    return replace(second, history=history, n_iter=first.n_iter + second.n_iter)


def provably_fused(problem: Problem, penalty: Penalty) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Labels of rows and of columns that are equal in some global minimiser.

    Replacing the rows of a component by their mean shortens every column edge and raises the
    data term by at most ||P(mean - X)|| ||U - mean||, while the row edges cost at least their
    length times the slope of the chord of Omega up to the longest possible distance. Where the
    latter wins, whatever U is, the rows of each component are equal.
    """
    observed = problem.counts > 0
    spread = np.ptp(problem.means[observed])
    n_rows, n_columns = problem.counts.shape
    labels = []
    for edges, n_nodes, n_others in (
        (problem.rows, n_rows, n_columns),
        (problem.columns, n_columns, n_rows),
    ):
        farthest = np.sqrt(n_others) * spread
        pull = np.sqrt(n_nodes * problem.counts.sum()) * spread
        lightest = float(edges.weights.min(initial=np.finfo(float).max))
        cost = lightest * float(penalty.value(np.array([farthest]))[0])
        labels.append(edges.components(np.full(len(edges), cost >= pull * farthest)))
    return labels[0], labels[1]


def is_steep(problem: Problem, penalty: Penalty) -> bool:
    if penalty.is_linear:  # always with a dual point, for its certificate
        return False
    slope = float(penalty.derivative(np.zeros(1))[0])
    lightest = min(
        problem.rows.weights.min(initial=np.inf), problem.columns.weights.min(initial=np.inf)
    )
    size = np.sqrt(max(problem.counts.shape) * problem.counts.sum())
    return bool(slope * lightest >= _STEEP * size)


def _smoothed_data(problem: Problem, penalty: Penalty) -> Array:
    """The quadratic problem with the edges weighted by the penalty at one standard deviation.

    The paper starts from the mean of the observed entries, a constant matrix, with separate
    first weights: at a constant matrix the weights of the penalty would never let it go.
    """
    V = np.zeros_like(problem.means)
    weights = problem.first_slopes(penalty)
    lower_majoriser(problem, V, weights, max_steps=_START_STEPS, reduction=_START_REDUCTION)
    return problem.clip(V)
