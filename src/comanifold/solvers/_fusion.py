"""Fusing rows and columns, only ever where that does not raise the objective."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..penalties import Penalty
from ._edge_kernels import independent_edges
from ._kernels import merge_changes
from ._problem import Array, Edges, Problem

# Root mean square difference, in standard deviations of the data, below which two rows or
# columns are tried as one. Ten times less was slower and found slightly worse minima.
_CLOSE = 3e-3


@dataclass(frozen=True)
class Iterate:
    """An estimate that is constant on blocks, and the problem that its block values solve."""

    problem: Problem
    V: Array
    row_labels: NDArray[np.intp]
    column_labels: NDArray[np.intp]

    @classmethod
    def start(cls, problem: Problem, U: Array) -> "Iterate":
        n_rows, n_columns = U.shape
        return cls(problem, U, np.arange(n_rows), np.arange(n_columns))

    @property
    def estimate(self) -> Array:
        return self.V[np.ix_(self.row_labels, self.column_labels)]

    def objective(self, penalty: Penalty) -> float:
        return self.problem.objective(self.V, penalty)

    def fuse(self, row_labels: NDArray[np.intp], column_labels: NDArray[np.intp]) -> "Iterate":
        """The clusters of each label as one; clusters are labelled in their order."""
        n_clusters = int(row_labels.max()) + 1, int(column_labels.max()) + 1
        if n_clusters == self.V.shape:
            return self
        problem, V = self.problem.contract(self.V, row_labels, column_labels)
        return Iterate(problem, V, row_labels[self.row_labels], column_labels[self.column_labels])


def collapse(
    iterate: Iterate, penalty: Penalty, norms: tuple[Array, Array], objective: float
) -> tuple[Iterate, float]:
    """Fuse what is close, at the widest of a few thresholds that does not raise the objective."""
    problem = iterate.problem
    row_unit = np.sqrt(problem.column_sizes.sum())
    column_unit = np.sqrt(problem.row_sizes.sum())
    for threshold in (_CLOSE, 0.1 * _CLOSE, 0.01 * _CLOSE, 0.0):
        close_rows = norms[0] <= threshold * row_unit
        close_columns = norms[1] <= threshold * column_unit
        if not (close_rows.any() or close_columns.any()):
            break
        fused = iterate.fuse(
            problem.rows.components(close_rows), problem.columns.components(close_columns)
        )
        fused_objective = fused.objective(penalty)
        if fused_objective <= objective or threshold == 0.0:
            return fused, min(fused_objective, objective)
    return iterate, objective


def merge(
    iterate: Iterate, penalty: Penalty, norms: tuple[Array, Array], objective: float
) -> tuple[Iterate, float]:
    """Fuse neighbours, however far apart, whose fusion lowers the objective.

    The change that is computed for each edge leaves out the edges of the other mode, which a
    fusion only shortens, so it is an upper bound; edges fused together are chosen apart from
    each other, so that their bounds add up.
    """
    problem = iterate.problem
    least_gain = 1e-9 * objective
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
    rows = _best_apart(row_change, problem.rows, least_gain)
    columns = _best_apart(column_change, problem.columns, least_gain)
    # The bounds of the two modes do not add up: both together first, then the better one.
    choices = [(rows, columns)]
    if rows.any() and columns.any():
        alone = [(rows, np.zeros_like(columns)), (np.zeros_like(rows), columns)]
        rows_gain_more = row_change[rows].sum() <= column_change[columns].sum()
        choices += alone if rows_gain_more else alone[::-1]
    for chosen_rows, chosen_columns in choices:
        if not (chosen_rows.any() or chosen_columns.any()):
            break
        fused = iterate.fuse(
            problem.rows.components(chosen_rows), problem.columns.components(chosen_columns)
        )
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
