"""Fusing neighbours, however far apart, where that lowers the objective."""

import numpy as np
from numpy.typing import NDArray

from ..penalties import Penalty
from ._edge_kernels import independent_edges
from ._fusion import Iterate
from ._kernels import merge_changes
from ._merge_kernels import agglomerate
from ._problem import Array, Edges

Labels = NDArray[np.intp]

# The least gain, relative to the objective, for which clusters are merged.
LEAST_GAIN = 1e-9


def merge_in_bulk(
    iterate: Iterate, penalty: Penalty, norms: tuple[Array, Array], objective: float
) -> tuple[Iterate, float]:
    """Fuse clusters one after the other, by a bound that is cheap and somewhat loose.

    All at once, and chains of fusions that only pay one after the other.
    """
    problem = iterate.problem
    stiffness = problem.quadratic_weights(penalty, norms)
    rows, row_gain = agglomerate(
        iterate.V,
        problem.counts,
        problem.means,
        problem.row_sizes,
        problem.column_sizes,
        problem.rows.pairs,
        problem.rows.weights * penalty.value(norms[0]),
        stiffness[0],
        LEAST_GAIN * objective,
    )
    columns, column_gain = agglomerate(
        *(np.ascontiguousarray(A.T) for A in (iterate.V, problem.counts, problem.means)),
        problem.column_sizes,
        problem.row_sizes,
        problem.columns.pairs,
        problem.columns.weights * penalty.value(norms[1]),
        stiffness[1],
        LEAST_GAIN * objective,
    )
    return _take_what_lowers(
        iterate, penalty, objective, rows, columns, rows_first=row_gain >= column_gain
    )


def merge_apart(
    iterate: Iterate, penalty: Penalty, norms: tuple[Array, Array], objective: float
) -> tuple[Iterate, float]:
    """Fuse pairs of clusters that are apart from each other, so that their bounds add up.

    The change that is computed for each edge leaves out the edges of the other mode, which a
    fusion only shortens; apart from that it is exact.
    """
    problem = iterate.problem
    row_change = _merge_bounds(
        iterate.V,
        problem.counts,
        problem.means,
        problem.row_sizes,
        problem.column_sizes,
        problem.rows,
        penalty,
        norms[0],
    )
    column_change = _merge_bounds(
        iterate.V.T,
        problem.counts.T,
        problem.means.T,
        problem.column_sizes,
        problem.row_sizes,
        problem.columns,
        penalty,
        norms[1],
    )
    rows = _best_apart(row_change, problem.rows, LEAST_GAIN * objective)
    columns = _best_apart(column_change, problem.columns, LEAST_GAIN * objective)
    return _take_what_lowers(
        iterate,
        penalty,
        objective,
        problem.rows.components(rows),
        problem.columns.components(columns),
        rows_first=row_change[rows].sum() <= column_change[columns].sum(),
    )


def _take_what_lowers(
    iterate: Iterate,
    penalty: Penalty,
    objective: float,
    rows: Labels,
    columns: Labels,
    *,
    rows_first: bool,
) -> tuple[Iterate, float]:
    """Fuse both modes, or one: the bounds of the two do not add up."""
    rows_apart, columns_apart = np.arange(len(rows)), np.arange(len(columns))
    one_mode = [(rows, columns_apart), (rows_apart, columns)]
    for labels in [(rows, columns), *(one_mode if rows_first else one_mode[::-1])]:
        fused = iterate.fuse(*labels)
        if fused is iterate:
            continue
        fused_objective = fused.objective(penalty)
        if fused_objective < objective:
            return fused, fused_objective
    return iterate, objective


def _merge_bounds(
    V: Array,
    counts: Array,
    means: Array,
    sizes: Array,
    other_sizes: Array,
    edges: Edges,
    penalty: Penalty,
    norms: Array,
) -> Array:
    """An upper bound on the change of the objective when the ends of each edge are fused.

    Infinite for an edge that is the shortest at neither of its ends: those are three quarters of
    all edges, and hardly ever pay.
    """
    nearest = np.full(len(sizes), np.inf)
    for end in edges.pairs.T:
        np.minimum.at(nearest, end, norms)
    candidates = np.flatnonzero(norms <= nearest[edges.pairs].max(axis=1))
    degrees = np.diff(edges.adjacency[0])
    n_touched = degrees[edges.pairs[candidates]].sum(axis=1) - 2
    first = np.concatenate([[0], np.cumsum(n_touched)])
    V, counts, means = (np.ascontiguousarray(A) for A in (V, counts, means))
    data, lengths, touched = merge_changes(
        V, counts, means, sizes, other_sizes, edges.pairs, edges.adjacency, candidates, first
    )
    penalties = penalty.value(norms)
    stretch = edges.weights[touched] * (penalty.value(lengths) - penalties[touched])
    owner = np.repeat(np.arange(len(candidates)), n_touched)
    bounds = np.full(len(edges), np.inf)
    bounds[candidates] = (
        data
        - edges.weights[candidates] * penalties[candidates]
        + np.bincount(owner, stretch, minlength=len(candidates))
    )
    return bounds


def _best_apart(change: Array, edges: Edges, least_gain: float) -> NDArray[np.bool_]:
    order = np.argsort(change, kind="stable")
    order = order[change[order] < -least_gain]
    return independent_edges(order, edges.pairs, edges.adjacency)
