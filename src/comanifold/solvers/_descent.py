"""The compiled descent from the solution at smaller costs, and what is known of where it ends."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..penalties import Penalty, Snowflake
from ._block_kernels import block_means
from ._descent_kernels import (
    Blocks,
    Links,
    collapsed,
    measured,
    merged_in_bulk,
    relative_residual,
    snowflake_stiffness,
)
from ._fusion import CLOSE, Iterate
from ._kernels import kernel, lower_quadratic, quadratic_residual
from ._merging import LEAST_GAIN
from ._outcome import Outcome
from ._problem import Array, Edges, Problem
from ._quadratic import CG_REDUCTION, CG_STEPS

# Iterations after which mergers are tried again, whatever the residual: pairs that are to fuse
# can approach each other very slowly.
MERGE_EVERY = 3

# After each majoriser the estimate goes on in the direction of its last change, by so much of
# it at first, and farther or less far according to whether that lowered the objective.
FIRST_REACH = 0.5
FARTHER = 1.5
FARTHEST = 4.0
NEARER = 0.3


class Descent(NamedTuple):
    """Where a descent has ended.

    `forces` is at least the norm of the gradient on all entries of the matrix.
    """

    outcome: Outcome
    stationarity: float
    forces: float


def can_descend(penalty: Penalty) -> bool:
    """Whether there is compiled code for a penalty."""
    return type(penalty) is Snowflake


def descend(iterate: Iterate, penalty: Snowflake, *, max_iter: int, tol: float) -> Descent:
    """`minimise_by_quadratics` from the solution at smaller costs, then `tidy`."""
    problem = iterate.problem
    blocks, V, row_labels, column_labels, history, n_iter, residual, forces = _descend(
        _as_blocks(problem), _own(iterate.V), penalty.eps, problem.counts.sum(), max_iter, tol
    )
    fused = replace(iterate, problem=_as_problem(blocks), V=V)
    if V.shape != iterate.V.shape:
        fused = replace(
            fused,
            row_labels=row_labels[iterate.row_labels],
            column_labels=column_labels[iterate.column_labels],
        )
    return Descent(Outcome(fused, history.tolist(), n_iter), residual, forces)


def _as_blocks(problem: Problem) -> Blocks:
    return Blocks(
        _own(problem.counts),
        _own(problem.means),
        _own(problem.row_sizes),
        _own(problem.column_sizes),
        _as_links(problem.rows),
        _as_links(problem.columns),
        float(problem.constant),
    )


def _as_links(edges: Edges) -> Links:
    start, neighbor, edge = edges.adjacency
    return Links(_own(edges.pairs), _own(edges.weights), (_own(start), _own(neighbor), _own(edge)))


def _own(array: Array) -> Array:
    """The array, or a copy if it is read-only: to compiled code those are of another type."""
    flags = array.flags  # `np.require` would take several times as long
    return array if flags.writeable and flags.c_contiguous else np.array(array, order="C")


def _as_problem(blocks: tuple) -> Problem:
    *arrays, rows, columns, constant = blocks
    return Problem(*arrays, rows=Edges(*rows), columns=Edges(*columns), constant=constant)


@kernel
def _followed(blocks, last, rows, columns):
    """An estimate fused as another has been."""
    m, n = rows.max() + 1, columns.max() + 1
    return block_means(last, blocks.row_sizes, blocks.column_sizes, rows, columns, m, n)


@kernel
def _clip(blocks, V):
    """V within the range of the observed means, in place; whether that changed anything."""
    low, high = np.inf, -np.inf
    for a in range(V.shape[0]):
        for b in range(V.shape[1]):
            if blocks.counts[a, b] > 0.0:
                low, high = min(low, blocks.means[a, b]), max(high, blocks.means[a, b])
    clipped = False
    for a in range(V.shape[0]):
        for b in range(V.shape[1]):
            if not low <= V[a, b] <= high:
                V[a, b] = min(max(V[a, b], low), high)
                clipped = True
    return clipped


@kernel
def _stiffness(state, eps):
    blocks = state.blocks
    return (
        snowflake_stiffness(state.row_norms, blocks.rows.weights, eps),
        snowflake_stiffness(state.column_norms, blocks.columns.weights, eps),
    )


@kernel
def _residual(state, stiffness):
    blocks = state.blocks
    R = np.empty(state.V.shape)
    quadratic_residual(
        state.V,
        blocks.means,
        blocks.counts,
        blocks.row_sizes,
        blocks.column_sizes,
        blocks.rows.adjacency,
        blocks.columns.adjacency,
        stiffness[0],
        stiffness[1],
        R,
    )
    return R


@kernel
def _lowered(state, R, stiffness, eps):
    """The state after some steps of conjugate gradients on the majoriser."""
    blocks = state.blocks
    V = state.V.copy()
    lower_quadratic(
        V,
        R,
        blocks.counts,
        blocks.row_sizes,
        blocks.column_sizes,
        blocks.rows.adjacency,
        blocks.columns.adjacency,
        stiffness[0],
        stiffness[1],
        CG_STEPS,
        CG_REDUCTION,
    )
    return measured(blocks, V, eps)


@kernel
def _bound_on_forces(state, stiffness):
    """At least the norm of the gradient on all entries: the sum of the norms of its parts."""
    counts, means, V = state.blocks.counts, state.blocks.means, state.V
    data = 2.0 * state.blocks.constant
    for a in range(V.shape[0]):
        for b in range(V.shape[1]):
            data += counts[a, b] * (V[a, b] - means[a, b]) ** 2
    slopes = (stiffness[0] * state.row_norms).sum() + (stiffness[1] * state.column_norms).sum()
    return np.sqrt(data) + np.sqrt(2.0) * slopes


@kernel
def _descend(blocks, V, eps, n_observed, max_iter, tol):
    row_labels, column_labels = np.arange(V.shape[0]), np.arange(V.shape[1])
    state = measured(blocks, V, eps)
    last = V
    history = [state.objective]
    reach, merge_at, since_merging = FIRST_REACH, np.inf, 0
    n_iter = 0
    while True:
        lowest = state.objective
        before = state.blocks
        state, rows, columns = collapsed(state, eps, CLOSE)
        if state.V.shape != last.shape:
            last = _followed(before, last, rows, columns)
            row_labels, column_labels = rows[row_labels], columns[column_labels]
        stiffness = _stiffness(state, eps)
        R = _residual(state, stiffness)
        if n_iter > 0:
            history.append(min(state.objective, lowest))
            residual = relative_residual(state.blocks, R, n_observed)
            if residual <= merge_at or since_merging == MERGE_EVERY:
                since_merging = 0
                before = state.blocks
                state, rows, columns = merged_in_bulk(state, eps, LEAST_GAIN)
                if state.V.shape != last.shape:
                    last = _followed(before, last, rows, columns)
                    row_labels, column_labels = rows[row_labels], columns[column_labels]
                    history.append(state.objective)
                    stiffness = _stiffness(state, eps)
                    R = _residual(state, stiffness)
                elif residual <= tol:
                    break
                else:
                    merge_at = max(tol, 0.1 * min(merge_at, residual))
        if n_iter == max_iter:
            break
        n_iter += 1
        since_merging += 1
        lower = _lowered(state, R, stiffness, eps)
        if not lower.objective <= state.objective:  # nothing left to gain but rounding errors
            break
        state = measured(lower.blocks, lower.V + reach * (lower.V - last), eps)
        last = lower.V
        if state.objective < lower.objective:
            reach = min(FARTHER * reach, FARTHEST)
        else:
            state = lower
            reach *= NEARER

    V = state.V.copy()
    if _clip(state.blocks, V):
        state = measured(state.blocks, V, eps)
    state, rows, columns = collapsed(state, eps, CLOSE)
    row_labels, column_labels = rows[row_labels], columns[column_labels]
    if state.objective < history[-1]:
        history.append(state.objective)
    stiffness = _stiffness(state, eps)
    residual = relative_residual(state.blocks, _residual(state, stiffness), n_observed)
    forces = _bound_on_forces(state, stiffness)
    return (
        _plain(state.blocks),
        state.V,
        row_labels,
        column_labels,
        np.array(history),
        n_iter,
        residual,
        forces,
    )


@kernel
def _plain(blocks):
    """Blocks as nested tuples.

    To hand out a named tuple, compiled code calls its class, where an interrupt may be waiting:
    that it is not prepared for, and the process would crash.
    """
    by_row, by_column = blocks.rows, blocks.columns
    return (
        blocks.counts,
        blocks.means,
        blocks.row_sizes,
        blocks.column_sizes,
        (by_row.pairs, by_row.weights, by_row.adjacency),
        (by_column.pairs, by_column.weights, by_column.adjacency),
        blocks.constant,
    )
