"""The descent by quadratic majorisers, for every penalty.

Each iteration lowers the majoriser that touches the objective at the estimate, by a few steps of
conjugate gradients, then extrapolates, fuses what has become close and merges clusters where that
lowers the objective. It is one compiled loop: most scales of a surface have a few dozen blocks
left, and to call their kernels one by one would take longer than the kernels. The penalty is called
by its address, so the loop is compiled once for all of them.
"""

from typing import Any, NamedTuple

import numpy as np

from ..problem import contract, from_plain, plain
from . import inlined, kernel
from .blocks import (
    block_means,
    column_edge_norms,
    component_labels,
    edge_costs,
    edge_norms,
    is_identity,
    majoriser_weights,
    n_labels,
    new_tile,
    transpose,
)
from .merge import agglomerate, gradient_norms, independent_edges, may_pay, pair_bounds
from .quadratic import lower_quadratic_in, quadratic_residual

# Steps of conjugate gradients per majoriser, and the factor by which they should lower its
# residual: the majoriser moves on before an exact solution would pay.
CG_STEPS = np.int64(4)  # not an int: compiled code would treat it as a type of its own
CG_REDUCTION = 0.3

# Root mean square difference, in standard deviations of the data, below which two rows or
# columns are tried as one. Ten times less was slower and found slightly worse minima.
CLOSE = 3e-3

# The least gain, relative to the objective, for which clusters are merged.
LEAST_GAIN = 1e-9

# How the extrapolation step grows and shrinks, according to whether it lowered the objective.
LONGER = 1.5
LONGEST = 4.0
SHORTER = 0.3


# Arrays as long as the estimate that a descent works in: the residual, two of conjugate gradients,
# and three estimates. Given from outside, since memory that compiled code asks for is mapped anew,
# page by page, each time.
N_ROOMS = 6


class Schedule(NamedTuple):
    """When the descent extrapolates and merges.

    Attributes
    ----------
    merge_at : float
        Relative residual from which on merging is tried.
    merge_every : int
        Iterations after which it is tried again, whatever the residual.
    extrapolation : float
        First extrapolation step, as a share of the last change; 0 for none.
    merge_pairs : bool
        Whether to merge single pairs where no merger in bulk lowers the objective.
    """

    merge_at: float
    merge_every: int
    extrapolation: float
    merge_pairs: bool


class State(NamedTuple):
    """An estimate, the lengths of its edges, and its objective.

    Without the problem, whose many arrays would be copied with every state: that takes long to
    compile.
    """

    V: Any
    row_norms: Any
    column_norms: Any
    objective: float


@kernel
def evaluated(problem, V, penalty):
    """The state of the estimate V."""
    row_norms = edge_norms(V, problem.rows.pairs, problem.column_sizes)
    tile = new_tile(V.shape[0], V.shape[1])
    column_norms = column_edge_norms(V, problem.columns.pairs, problem.row_sizes, tile)
    counts, means = problem.counts, problem.means
    data = 0.0
    for a in range(V.shape[0]):
        v, count, mean = V[a], counts[a], means[a]
        for b in range(V.shape[1]):
            difference = v[b] - mean[b]
            data += count[b] * difference * difference
    cost = 0.0
    for x in edge_costs(row_norms, problem.rows.weights, penalty):
        cost += x
    column_cost = 0.0
    for x in edge_costs(column_norms, problem.columns.weights, penalty):
        column_cost += x
    objective = problem.constant + 0.5 * data + cost + column_cost
    return State(V, row_norms, column_norms, objective)


@inlined
def collapsed(problem, state, penalty, close):
    """Fuse close clusters, at the largest threshold that does not raise the objective.

    Returns the problem, the state, and labels of the clusters.
    """
    V = state.V
    m, n = V.shape
    row_unit, column_unit = np.sqrt(problem.column_sizes.sum()), np.sqrt(problem.row_sizes.sum())
    for factor in (1.0, 0.1, 0.01, 0.0):
        row_threshold, column_threshold = factor * close * row_unit, factor * close * column_unit
        rows = component_labels(m, problem.rows.pairs, state.row_norms <= row_threshold)
        columns = component_labels(n, problem.columns.pairs, state.column_norms <= column_threshold)
        if is_identity(rows) and is_identity(columns):
            break
        blocks, values = contract(problem, V, rows, columns)
        smaller = from_plain(blocks)
        fused = evaluated(smaller, values, penalty)
        if factor == 0.0 or fused.objective <= state.objective:
            return smaller, fused, rows, columns
    return problem, state, np.arange(m), np.arange(n)


@inlined
def merged(problem, state, penalty, least_gain, by_pairs):
    """The problem and the state with clusters merged where that lowers the objective; their labels.

    Neighbours one after the other, by a bound that is cheap and somewhat loose, so also chains of
    mergers that only pay together; or, by a tighter bound, pairs that are not adjacent to each
    other (`by_pairs`).
    """
    V = state.V
    m, n = V.shape
    least_gain = least_gain * state.objective
    rows, columns = problem.rows, problem.columns
    row_sizes, column_sizes = problem.row_sizes, problem.column_sizes
    row_costs = edge_costs(state.row_norms, rows.weights, penalty)
    column_costs = edge_costs(state.column_norms, columns.weights, penalty)
    row_w = majoriser_weights(state.row_norms, rows.weights, penalty)
    column_w = majoriser_weights(state.column_norms, columns.weights, penalty)
    rows_may = columns_may = True
    if not by_pairs:
        row_slopes, column_slopes = gradient_norms(
            V, problem.counts, problem.means, row_sizes, column_sizes, rows.adjacency,
            columns.adjacency, row_w, column_w,
        )  # fmt: skip
        rows_may = may_pay(
            rows, row_sizes, state.row_norms, row_costs, row_w, row_slopes, least_gain
        )
        columns_may = may_pay(
            columns, column_sizes, state.column_norms, column_costs, column_w, column_slopes,
            least_gain,
        )  # fmt: skip
    row_labels, row_gain = np.arange(m), 0.0
    column_labels, column_gain = np.arange(n), 0.0
    if not (rows_may or columns_may):
        return problem, state, row_labels, column_labels
    Vt, counts, means = np.empty((n, m)), np.empty((n, m)), np.empty((n, m))
    if columns_may:
        transpose(V, Vt)
        transpose(problem.counts, counts)
        transpose(problem.means, means)
    if by_pairs:
        bounds = pair_bounds(
            V, problem.counts, problem.means, row_sizes, column_sizes,
            rows, state.row_norms, penalty,
        )  # fmt: skip
        chosen, change = independent_edges(bounds, least_gain, rows)
        row_labels, row_gain = component_labels(m, rows.pairs, chosen), -change
        bounds = pair_bounds(
            Vt, counts, means, column_sizes, row_sizes, columns, state.column_norms, penalty
        )
        chosen, change = independent_edges(bounds, least_gain, columns)
        column_labels, column_gain = component_labels(n, columns.pairs, chosen), -change
    else:
        if rows_may:
            row_labels, row_gain = agglomerate(
                V, problem.counts, problem.means, row_sizes, column_sizes, rows, state.row_norms,
                row_costs, row_w, least_gain,
            )  # fmt: skip
        if columns_may:
            column_labels, column_gain = agglomerate(
                Vt, counts, means, column_sizes, row_sizes, columns, state.column_norms,
                column_costs, column_w, least_gain,
            )  # fmt: skip
    # Both modes, or one: the bounds of the two do not add up.
    rows_apart, columns_apart = np.arange(m), np.arange(n)
    rows_first = row_gain >= column_gain
    for choice in range(3):
        only_rows = choice == (1 if rows_first else 2)
        chosen_rows = row_labels if choice == 0 or only_rows else rows_apart
        chosen_columns = column_labels if choice == 0 or not only_rows else columns_apart
        if n_labels(chosen_rows) == m and n_labels(chosen_columns) == n:
            continue
        blocks, values = contract(problem, V, chosen_rows, chosen_columns)
        smaller = from_plain(blocks)
        fused = evaluated(smaller, values, penalty)
        if fused.objective < state.objective:
            return smaller, fused, chosen_rows, chosen_columns
    return problem, state, rows_apart, columns_apart


@kernel
def _residual(problem, state, penalty, room):
    """Majoriser weights of the edges, and minus the gradient of the objective."""
    row_w = majoriser_weights(state.row_norms, problem.rows.weights, penalty)
    column_w = majoriser_weights(state.column_norms, problem.columns.weights, penalty)
    R = _shaped(room, state.V)
    quadratic_residual(
        state.V, problem.means, problem.counts, problem.row_sizes, problem.column_sizes,
        problem.rows.adjacency, problem.columns.adjacency, row_w, column_w, R,
    )  # fmt: skip
    return row_w, column_w, R


@inlined
def _relative_norm(problem, R, n_observed):
    """Norm of the gradient over the estimates constant on the blocks, relative to the data's."""
    total = 0.0
    for a in range(R.shape[0]):
        r = R[a]
        row = 0.0
        for b in range(R.shape[1]):
            row += r[b] * r[b] / problem.column_sizes[b]
        total += row / problem.row_sizes[a]
    return np.sqrt(total / n_observed)


@inlined
def _gradient_bound(problem, state, row_w, column_w):
    """At least the norm of the gradient on all entries: the sum of the norms of its parts."""
    counts, means, V = problem.counts, problem.means, state.V
    data = 2.0 * problem.constant
    for a in range(V.shape[0]):
        for b in range(V.shape[1]):
            data += counts[a, b] * (V[a, b] - means[a, b]) ** 2
    slopes = 0.0
    for e in range(row_w.shape[0]):
        slopes += row_w[e] * state.row_norms[e]
    for e in range(column_w.shape[0]):
        slopes += column_w[e] * state.column_norms[e]
    return np.sqrt(data) + np.sqrt(2.0) * slopes


@inlined
def _clip(problem, V):
    """Clip V to the range of the observed means, in place; return whether that changed it."""
    low, high = np.inf, -np.inf
    for a in range(V.shape[0]):
        for b in range(V.shape[1]):
            if problem.counts[a, b] > 0.0:
                low, high = min(low, problem.means[a, b]), max(high, problem.means[a, b])
    clipped = False
    for a in range(V.shape[0]):
        for b in range(V.shape[1]):
            if not low <= V[a, b] <= high:
                V[a, b] = min(max(V[a, b], low), high)
                clipped = True
    return clipped


@kernel
def _follow(last, labels, sizes, rows, columns):
    """An estimate on clusters of some sizes, and the labels of all rows and columns, fused."""
    m, n = n_labels(rows), n_labels(columns)
    last = block_means(last, sizes[0], sizes[1], rows, columns, m, n)
    row_labels, column_labels = labels[0].copy(), labels[1].copy()
    for i in range(row_labels.shape[0]):
        row_labels[i] = rows[row_labels[i]]
    for j in range(column_labels.shape[0]):
        column_labels[j] = columns[column_labels[j]]
    return last, (row_labels, column_labels)


@inlined
def _shaped(room, like):
    """The first part of an array, as a matrix of the same shape as another."""
    return room[: like.size].reshape(like.shape)


@inlined
def _other_slot(one, other):
    """One of the three rooms for estimates that is not among two of them."""
    for slot in range(3, 6):
        if slot != one and slot != other:
            return slot
    return -1


@inlined
def _extrapolated(V, last, step, farther):
    """farther = V + step (V - last)."""
    for a in range(V.shape[0]):
        for b in range(V.shape[1]):
            farther[a, b] = V[a, b] + step * (V[a, b] - last[a, b])


@kernel
def descend(problem, V, penalty, schedule, max_iter, tol, room):
    """Lower the objective from V until its relative gradient is below `tol` and no merger pays.

    At the end the estimate is clipped to the range of the data and what is close is fused. With
    max_iter = 0 that is all. Returns the problem and the values of the remaining blocks, labels
    of their rows and columns, the objectives, the number of iterations, the relative norm of the
    gradient, and an upper bound on its norm on all entries of the matrix. `room` has `N_ROOMS` rows
    as long as V.
    """
    n_observed = problem.counts.sum()
    labels = np.arange(V.shape[0]), np.arange(V.shape[1])
    state = evaluated(problem, V, penalty)
    last = V  # where the last majoriser has led, to extrapolate from
    state_slot = last_slot = -1  # their rooms, if they are in one
    history = [state.objective]
    merge_at, since_merging, step = schedule.merge_at, 0, schedule.extrapolation
    n_iter = 0
    is_done = False
    while True:
        lowest, sizes = state.objective, (problem.row_sizes, problem.column_sizes)
        problem, state, rows, columns = collapsed(problem, state, penalty, CLOSE)
        if state.V.shape != last.shape:
            last, labels = _follow(last, labels, sizes, rows, columns)
            state_slot = last_slot = -1
        row_w, column_w, R = _residual(problem, state, penalty, room[0])
        residual = _relative_norm(problem, R, n_observed)
        if is_done:
            break
        if n_iter > 0:
            history.append(min(state.objective, lowest))
            if residual <= merge_at or since_merging == schedule.merge_every:
                since_merging = 0
                sizes = problem.row_sizes, problem.column_sizes
                for by_pairs in (False, True):
                    if state.V.shape == last.shape and (schedule.merge_pairs or not by_pairs):
                        problem, state, rows, columns = merged(
                            problem, state, penalty, LEAST_GAIN, by_pairs
                        )
                if state.V.shape != last.shape:
                    last, labels = _follow(last, labels, sizes, rows, columns)
                    state_slot = last_slot = -1
                    history.append(state.objective)
                    row_w, column_w, R = _residual(problem, state, penalty, room[0])
                elif residual <= tol:
                    is_done = True
                else:
                    merge_at = max(tol, 0.1 * min(merge_at, residual))
        is_done = is_done or n_iter == max_iter
        if not is_done:
            n_iter += 1
            since_merging += 1
            following = _other_slot(state_slot, last_slot)
            V = _shaped(room[following], state.V)
            _extrapolated(state.V, state.V, 0.0, V)
            lower_quadratic_in(
                V, R, problem.counts, problem.row_sizes, problem.column_sizes,
                problem.rows.adjacency, problem.columns.adjacency, row_w, column_w, CG_STEPS,
                CG_REDUCTION, _shaped(room[1], V), _shaped(room[2], V),
            )  # fmt: skip
            lower = evaluated(problem, V, penalty)
            if lower.objective <= state.objective:
                state, state_slot = lower, following
                if step > 0.0:
                    slot = _other_slot(following, last_slot)
                    beyond = _shaped(room[slot], V)
                    _extrapolated(V, last, step, beyond)
                    farther = evaluated(problem, beyond, penalty)
                    if farther.objective < lower.objective:
                        state, state_slot = farther, slot
                        step = min(LONGER * step, LONGEST)
                    else:
                        step *= SHORTER
                last, last_slot = V, following
            else:  # nothing left to gain but rounding errors
                is_done = True
        if is_done:
            V = state.V.copy()
            if _clip(problem, V):
                state = evaluated(problem, V, penalty)
    if state.objective < history[-1]:
        history.append(state.objective)
    bound = _gradient_bound(problem, state, row_w, column_w)
    V = state.V.copy()  # not in the room, which can be much larger
    return plain(problem), V, labels, np.array(history), n_iter, residual, bound
