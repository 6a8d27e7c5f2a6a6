"""The fast solver: descent by quadratic majorisers on fused blocks, then a check of the clusters.

The descent is the same for every concave penalty. Under a penalty that is very steep at the origin
fused clusters are never split. With a moderate slope (logarithmic, MCP) the fused edges must meet
their optimality condition: the solver searches for dual vectors that show it, and where there are
none it splits clusters along a direction of descent and continues.

With a linear penalty the problem is convex, and the certificate is a duality gap. That is left to
the method of multipliers, which has dual vectors from the start: on the 17 problems of
`benchmarks/convex.py` it takes at most 0.13 s, a descent and then a search for them up to 0.6 s.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from ..penalties import CompiledPenalty, Penalty, compile_penalty
from .certificate import (
    Dual,
    Potentials,
    carries_gradient_up_to,
    certain_modes,
    find_potentials,
)
from .descent import Descent, Schedule, run_descent
from .kernels.quadratic import lower_quadratic_in, quadratic_residual
from .multipliers import minimise_by_multipliers
from .problem import Array, Iterate, Outcome, Problem

# From a start that is no solution of a similar problem, sooner merging or extrapolation would be
# faster, and end in worse minima.
_MERGE_AT = 1e-2

# From the solution at smaller costs, merging is tried from the beginning, and again every few
# iterations: pairs that are to fuse can approach each other very slowly.
CONTINUED = Schedule(merge_at=np.inf, merge_every=3, extrapolation=0.5, merge_pairs=False)

# Conjugate gradients for the starting point.
_START_STEPS = np.int64(20)
_START_REDUCTION = 1e-2

# Reweightings in one search for dual vectors, and how often clusters are split before the method
# of multipliers takes over.
_MAX_REWEIGHTINGS = 12
_MAX_SPLITS = 8

# Relative error of an objective: sums may be taken in another order.
_ROUNDING = 1e-12

# Halvings of the step along which clusters are split.
_MAX_HALVINGS = 20

# So many blocks are more than fit into a cache of a megabyte.
_MANY_BLOCKS = 2**17

# Longer rows gain nothing from the order of others, and another order needs copies of the matrix.
_LONGEST_ROW = 256


def minimise_fast(
    problem: Problem, init: Array | None, penalty: Penalty, *, max_iter: int, tol: float
) -> Outcome:
    """Minimise the objective from `init`, or from a smoothed version of the data."""
    penalty = compile_penalty(penalty)
    if penalty.is_linear:
        U = _smoothed_data(problem, penalty) if init is None else init
        return minimise_by_multipliers(problem, U, penalty, max_iter=max_iter, tol=tol)
    if init is None:
        start = Iterate.start(problem, np.zeros_like(problem.means))
        start = with_neighbors_close(start.fuse(*provably_fused(problem, penalty)))
        start = replace(start, V=_smoothed_data(start.problem, penalty))
    else:
        start = with_neighbors_close(Iterate.start(problem, init))
    done = run_descent(start, penalty, _from_scratch(tol), max_iter=max_iter, tol=tol)
    constant = all_fused(done.outcome.iterate).objective(penalty)
    return _secure(done, problem, penalty, constant, max_iter=max_iter, tol=tol)


def continue_fast(
    iterate: Iterate,
    problem: Problem,
    penalty: CompiledPenalty,
    constant: float,
    guess: Potentials | None,
    *,
    max_iter: int,
    tol: float,
) -> Outcome:
    """Minimise the objective of `problem` from the solution at smaller costs.

    `iterate` is that solution on the blocks of `problem` that it has fused, `guess` its dual
    vectors, and `constant` the objective with each connected component fused.
    """
    if penalty.is_linear:
        U = iterate.estimate
        return minimise_by_multipliers(problem, U, penalty, max_iter=max_iter, tol=tol)
    done = run_descent(iterate, penalty, CONTINUED, max_iter=max_iter, tol=tol)
    if guess is not None and done.outcome.iterate.V.shape != iterate.V.shape:
        guess = guess.centred(problem, iterate)
    return _secure(done, problem, penalty, constant, guess, max_iter=max_iter, tol=tol)


def tidy(outcome: Outcome, penalty: Penalty) -> Outcome:
    """Clip to the range of the data, and fuse what differs only because the solver stopped.

    Neither raises the objective.
    """
    done = run_descent(outcome.iterate, penalty, CONTINUED, max_iter=0, tol=0.0).outcome
    history = outcome.history
    if done.history[-1] < history[-1]:
        history = [*history, done.history[-1]]
    return replace(outcome, iterate=done.iterate, history=history, stationarity=done.stationarity)


def _from_scratch(tol: float) -> Schedule:
    """The schedule for a start that is not the solution of a similar problem."""
    return Schedule(
        merge_at=max(tol, _MERGE_AT), merge_every=-1, extrapolation=0.0, merge_pairs=True
    )


def _secure(
    done: Descent,
    problem: Problem,
    penalty: CompiledPenalty,
    constant: float,
    guess: Potentials | None = None,
    *,
    max_iter: int,
    tol: float,
) -> Outcome:
    """Continue a descent until the fused edges meet their optimality condition.

    With a concave penalty it can end in a local minimum above `constant`, the objective with each
    connected component fused: then it restarts from that estimate.
    """
    left = max_iter - done.outcome.n_iter
    if constant < (1.0 - _ROUNDING) * done.outcome.history[-1] and left > 0:
        start = all_fused(done.outcome.iterate)
        more = run_descent(start, penalty, _from_scratch(tol), max_iter=left, tol=tol)
        done = Descent(_append(done.outcome, more.outcome), more.gradient_bound)
    for _ in range(_MAX_SPLITS):
        outcome = done.outcome
        if carries_gradient_up_to(done.gradient_bound, problem, penalty):
            return outcome
        certain = certain_modes(outcome.iterate, problem, penalty)
        if all(certain):
            return outcome
        left = max_iter - outcome.n_iter
        if left <= 0:
            return replace(outcome, dual=guess or Dual.zeros(problem))
        if any(certain):
            outcome, is_optimal, start = _check_other_mode(
                outcome, problem, penalty, certain, max_iter=left, tol=tol
            )
            if is_optimal:
                return outcome
            left = max_iter - outcome.n_iter
            if left <= 0:
                return replace(outcome, dual=guess or Dual.zeros(problem))
            if start is not None:
                more = run_descent(start, penalty, CONTINUED, max_iter=left, tol=tol)
                done = Descent(_append(outcome, more.outcome), more.gradient_bound)
                continue
        U = outcome.iterate.estimate
        guess, residual, n_iter = find_potentials(
            problem, U, penalty, guess, tol=tol, max_iter=min(left, _MAX_REWEIGHTINGS)
        )
        outcome = replace(outcome, n_iter=outcome.n_iter + n_iter, dual=guess)
        left = max_iter - outcome.n_iter
        if residual <= tol or left <= 0:
            return outcome
        start = _split(outcome.iterate, problem, penalty, guess)
        if start is None:
            done = done._replace(outcome=outcome)
            break
        more = run_descent(start, penalty, CONTINUED, max_iter=left, tol=tol)
        done = Descent(_append(outcome, more.outcome), more.gradient_bound)
    outcome = replace(done.outcome, dual=guess)
    left = max_iter - outcome.n_iter
    if left <= 0:
        return outcome
    U = outcome.iterate.estimate
    more = minimise_by_multipliers(problem, U, penalty, max_iter=left, tol=tol, dual=guess)
    return _append(outcome, more)


def _check_other_mode(
    outcome: Outcome,
    problem: Problem,
    penalty: CompiledPenalty,
    certain: tuple[bool, bool],
    *,
    max_iter: int,
    tol: float,
) -> tuple[Outcome, bool, Iterate | None]:
    """Check the fused edges of the mode that is not certain, with the clusters of the other as one.

    Returns the outcome, whether these edges meet their condition, and if not the estimate with
    clusters split, or None if no split lowers the objective.
    """
    iterate = outcome.iterate
    smaller, local = _contract(iterate, problem, certain)
    potentials, residual, n_iter = find_potentials(
        smaller, local.estimate, penalty, tol=tol, max_iter=min(max_iter, _MAX_REWEIGHTINGS)
    )
    outcome = replace(outcome, n_iter=outcome.n_iter + n_iter)
    if residual <= tol:
        return replace(outcome, stationarity=max(residual, outcome.stationarity)), True, None
    split = _split(local, smaller, penalty, potentials)
    return outcome, False, None if split is None else _expand(split, iterate, certain)


def _contract(
    iterate: Iterate, problem: Problem, modes: tuple[bool, bool]
) -> tuple[Problem, Iterate]:
    """Return the problem with the clusters of some modes as one, and the iterate on it."""
    own_labels = [np.arange(size) for size in iterate.V.shape]
    labels, local = [], []
    for mode, of_points in enumerate((iterate.row_labels, iterate.column_labels)):
        labels.append(of_points if modes[mode] else np.arange(len(of_points)))
        local.append(own_labels[mode] if modes[mode] else of_points)
    smaller = problem.contract(iterate.estimate, *labels)[0]
    return smaller, Iterate(iterate.problem, iterate.V, *local)


def _expand(local: Iterate, iterate: Iterate, modes: tuple[bool, bool]) -> Iterate:
    """Return an iterate on a problem of `_contract` as one on the whole problem."""
    rows, columns = local.row_labels, local.column_labels
    return replace(
        local,
        row_labels=rows[iterate.row_labels] if modes[0] else rows,
        column_labels=columns[iterate.column_labels] if modes[1] else columns,
    )


def _split(
    iterate: Iterate, problem: Problem, penalty: CompiledPenalty, potentials: Potentials
) -> Iterate | None:
    """Split clusters along the potentials; None if that does not lower the objective.

    Edges whose dual vectors are shorter than their caps stay fused.
    """
    U = iterate.estimate
    lengths = potentials.lengths(problem)
    fused = problem.norms(U)
    rows = problem.rows.components((fused[0] == 0) & (lengths[0] <= 1.0))
    columns = problem.columns.components((fused[1] == 0) & (lengths[1] <= 1.0))
    start = Iterate.start(problem, U).fuse(rows, columns)
    if start.V.shape == iterate.V.shape:
        return None
    direction = problem.contract(potentials.values, rows, columns)[1]
    objective = iterate.objective(penalty)
    step = 1.0 / np.abs(direction).max()
    best = None
    for _ in range(_MAX_HALVINGS):
        V = start.V + step * direction
        lowered = start.problem.objective(V, penalty)
        if lowered < objective:
            best, objective = replace(start, V=V), lowered
        elif best is not None:
            break
        step *= 0.5
    return best


def all_fused(iterate: Iterate) -> Iterate:
    """The best estimate with each connected component of rows and of columns fused."""
    rows, columns = iterate.problem.rows, iterate.problem.columns
    fused = iterate.fuse(
        rows.components(np.full(rows.n_edges, True)),
        columns.components(np.full(columns.n_edges, True)),
    )
    return replace(fused, V=fused.problem.means.copy())


def with_neighbors_close(iterate: Iterate) -> Iterate:
    """The same estimate with its row clusters, if they are many, in another order.

    In that of Cuthill and McKee neighbours are close to each other in memory, and so are clusters
    of them: all kernels go through the edges.
    """
    if iterate.V.size < _MANY_BLOCKS or iterate.V.shape[1] > _LONGEST_ROW:
        return iterate
    rows = iterate.problem.rows
    start, neighbor, _ = (part.astype(np.int32) for part in rows.adjacency)
    shape = rows.n_nodes, rows.n_nodes
    adjacency = sparse.csr_matrix((np.ones(len(neighbor), np.int8), neighbor, start), shape=shape)
    labels = np.empty(rows.n_nodes, np.intp)
    labels[reverse_cuthill_mckee(adjacency, symmetric_mode=True)] = np.arange(rows.n_nodes)
    problem, V = iterate.problem.contract(iterate.V, labels, np.arange(iterate.V.shape[1]))
    return replace(iterate, problem=problem, V=V, row_labels=labels[iterate.row_labels])


def _append(first: Outcome, second: Outcome) -> Outcome:
    """The second outcome, with the history and the iterations of both."""
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
        data_slope = np.sqrt(n_nodes * problem.counts.sum()) * spread
        lightest = float(edges.weights.min(initial=np.finfo(float).max))
        cost = lightest * float(penalty.value(np.array([farthest]))[0])
        labels.append(edges.components(np.full(edges.n_edges, cost >= data_slope * farthest)))
    return labels[0], labels[1]


def _smoothed_data(problem: Problem, penalty: Penalty) -> Array:
    """The solution of the quadratic problem with edges weighted by Omega at one standard deviation.

    The paper starts from the mean of the observed entries, with separate first weights: under the
    weights of the penalty itself a constant matrix would be a stationary point.
    """
    V = np.zeros_like(problem.means)
    R, *room = (np.empty_like(V) for _ in range(3))
    sizes = problem.row_sizes, problem.column_sizes
    adjacency = problem.rows.adjacency, problem.columns.adjacency
    weights = problem.first_slopes(penalty)
    quadratic_residual(V, problem.means, problem.counts, *sizes, *adjacency, *weights, R)
    stop = _START_STEPS, _START_REDUCTION
    lower_quadratic_in(V, R, problem.counts, *sizes, *adjacency, *weights, *stop, *room)
    return problem.clip(V)
