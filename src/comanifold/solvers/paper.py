"""Algorithm 1 of the paper: majorise, fill in, solve a convex biclustering problem, reweight.

What it shares with the fast solver is the objective, the blocks of fused rows and columns, and
the certificate; not the descent, so that each can be compared with the other. The convex
biclustering problem inside is solved by accelerated projected ascent on its dual, to a certified
duality gap.
"""

import numpy as np

from ..penalties import Penalty
from .certificate import Dual, relative_gap, stationarity, tangent_objective
from .kernels.blocks import ascend_dual
from .problem import Array, Edges, Iterate, Outcome, Problem

# Ascent steps between two looks at the inner duality gap, and their limit for one problem.
_CHECK_EVERY = 10
_MAX_STEPS = 20_000

# A convex problem is solved to this relative duality gap, and to this share of what solving it
# has gained; below the floor, per observed entry, the gap is rounding error.
_GAP = 1e-6
_SHARE = 0.1
_FLOOR = 1e-14

# What rounding may add to the objective, relatively.
_ROUNDING = 1e-12

# How many solutions in a row may fail to lower the objective.
_MAX_REJECTED = 10

# An edge whose dual vector stays this much below its cap joins equal rows or columns.
_INSIDE = 1.0 - 1e-3


def minimise_paper(
    problem: Problem,
    init: Array | None,
    penalty: Penalty,
    *,
    max_iter: int,
    tol: float,
) -> Outcome:
    """Algorithm 1, from `init` or from the mean of the observed entries, which is zero.

    Stops at a relative duality gap of `tol` for a linear penalty, at a relative stationarity
    residual of `tol` for others. At the mean, where the slopes of the penalty would never let
    go, the first weights are one, in units of the penalty at one standard deviation; the
    objective then falls from the first iterate on.
    """
    dual = Dual.zeros(problem)
    n_rejected = 0
    if init is None:
        best = Iterate.start(problem, np.zeros_like(problem.means))
        caps = problem.first_slopes(penalty)
        history = []
    else:
        best = Iterate.start(problem, init)
        norms = problem.norms(init)
        caps = problem.slopes(penalty, norms)
        history = [problem.objective(init, penalty, norms)]
    for n_iter in range(1, max_iter + 1):
        filled = np.where(problem.counts > 0, problem.means, best.estimate)
        solution, dual = _convex_bicluster(problem, filled, best, caps, dual)
        objective = problem.objective(solution.estimate, penalty)
        if not history or objective <= (1.0 + _ROUNDING) * history[-1]:
            best, n_rejected = solution, 0
            history.append(min([objective, *history[-1:]]))
        else:  # the convex problem is solved no better; its dual point may still improve
            n_rejected += 1
            if n_rejected == _MAX_REJECTED:
                return Outcome(best, history, n_iter, dual)
        if penalty.is_linear:
            bound = dual.lower_bound(problem)
            if relative_gap(problem, penalty, history[-1], bound) <= tol:
                return Outcome(best, history, n_iter, dual)
        elif stationarity(problem, best.estimate, penalty, dual) <= tol:
            return Outcome(best, history, n_iter, dual)
        caps = problem.slopes(penalty, problem.norms(best.estimate))
    return Outcome(best, history, max_iter, dual)


def _convex_bicluster(
    problem: Problem, filled: Array, start: Iterate, caps: tuple[Array, Array], dual: Dual
) -> tuple[Iterate, Dual]:
    """min_U 1/2 ||filled - U||^2 + sum_e caps_e ||D_e U||, from a dual point near its solution.

    The solution belongs to the dual point: U = filled - sum_e D_e' dual_e. Stops when the
    relative duality gap is small, also against what the solution gains on `start`.
    """
    complete = Problem(
        counts=np.ones_like(filled),
        means=filled,
        row_sizes=problem.row_sizes,
        column_sizes=problem.column_sizes,
        rows=problem.rows,
        columns=problem.columns,
    )
    rows, columns = problem.rows, problem.columns
    row_steps, column_steps = _step_lengths(rows), _step_lengths(columns)
    before = tangent_objective(complete, start.estimate, caps)
    dual = dual.project(caps)
    leading = Dual(dual.rows.copy(), dual.columns.copy())
    clock = 1.0
    for step in range(1, _MAX_STEPS + 1):
        U = filled - leading.divergence(problem)
        next_clock = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * clock**2))
        momentum = (clock - 1.0) / next_clock
        wrong_way = ascend_dual(
            U, dual.rows, leading.rows, rows.pairs, caps[0], row_steps, momentum
        ) + ascend_dual(
            np.ascontiguousarray(U.T),
            dual.columns,
            leading.columns,
            columns.pairs,
            caps[1],
            column_steps,
            momentum,
        )
        clock = next_clock
        if wrong_way > 0.0:
            clock = 1.0
            leading = Dual(dual.rows.copy(), dual.columns.copy())
        if step % _CHECK_EVERY == 0:
            U = filled - dual.divergence(problem)
            solution = _fuse(complete, U, dual, caps)
            value = tangent_objective(complete, solution.estimate, caps)
            gap = value - dual.lower_bound(complete)
            if gap <= max(
                min(_GAP * value, _SHARE * (before - value)), _FLOOR * problem.counts.sum()
            ):
                break
    # The same blocks, with the problem that has the mask.
    on_mask = Iterate.start(problem, solution.estimate)
    return on_mask.fuse(solution.row_labels, solution.column_labels), dual


def _step_lengths(edges: Edges) -> Array:
    """Steps with which the dual ascent rises: (D D')_e <= degree_i + degree_j, for each mode."""
    degrees = np.diff(edges.adjacency[0])
    return 0.5 / degrees[edges.pairs].sum(axis=1)


def _fuse(complete: Problem, U: Array, dual: Dual, caps: tuple[Array, Array]) -> Iterate:
    """The solution with rows and columns made equal where the dual point says that they are."""
    row_lengths, column_lengths = dual.lengths()
    plain = Iterate.start(complete, U)
    fused = plain.fuse(
        complete.rows.components(row_lengths < _INSIDE * caps[0]),
        complete.columns.components(column_lengths < _INSIDE * caps[1]),
    )
    if tangent_objective(complete, fused.estimate, caps) <= tangent_objective(complete, U, caps):
        return fused
    return plain
