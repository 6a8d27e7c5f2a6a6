"""The descent by quadratic majorisers, for every penalty.

Each iteration lowers the majoriser that touches the objective at the estimate, by a few steps of
conjugate gradients, then extrapolates, fuses what has become close and merges clusters where that
lowers the objective. The penalty is called by its address, so that nothing is compiled again for
another one.

The loop is in Python and its parts are compiled, each by itself: as one compiled function it would
take the compiler about as long again as all of its parts, and save some 0.1 ms per iteration.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..penalties import Penalty, PenaltyKernel, compile_penalty
from .kernels.blocks import block_means, edge_costs, majoriser_weights, n_labels, transpose
from .kernels.descent import evaluated, extrapolate, observed_range
from .kernels.merge import (
    agglomerate,
    gradient_norms,
    independent_edges,
    may_pay,
    pair_bounds,
    to_gradients,
)
from .kernels.quadratic import lower_quadratic_in, quadratic_residual
from .problem import Array, Iterate, Outcome, Problem, contract, own

Labels = NDArray[np.intp]

# Steps of conjugate gradients per majoriser, and the factor by which they should lower its
# residual: the majoriser moves on before an exact solution would pay.
CG_STEPS = 4
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


class Descent(NamedTuple):
    """The result of a descent.

    `gradient_bound` is at least the norm of the gradient on all entries of the matrix.
    """

    outcome: Outcome
    gradient_bound: float


class State(NamedTuple):
    """An estimate, the problem that it is an estimate of, the lengths of its edges, its objective.

    `data` is the part of the objective that the observed entries cause.
    """

    problem: Problem
    V: Array
    row_norms: Array
    column_norms: Array
    data: float
    objective: float

    @classmethod
    def of(cls, problem: Problem, V: Array, penalty: PenaltyKernel) -> "State":
        """Evaluate the objective at V."""
        counts, means, row_sizes, column_sizes, rows, columns, constant = problem
        row_norms, column_norms, squares, cost = evaluated(
            V, counts, means, row_sizes, column_sizes, rows.pairs, rows.weights, columns.pairs,
            columns.weights, penalty,
        )  # fmt: skip
        data = constant + 0.5 * squares
        return cls(problem, V, row_norms, column_norms, data, data + cost)

    def fused(
        self, rows: Labels, columns: Labels, penalty: PenaltyKernel, work: "WorkArrays"
    ) -> "State":
        """The state with the clusters of each label as one, its estimate in a work array.

        The value of a new block is the mean over its entries.
        """
        problem = contract(self.problem, rows, columns)
        (V,) = work.get(1, problem.counts.shape)
        sizes = self.problem.row_sizes, self.problem.column_sizes
        block_means(self.V, *sizes, rows, columns, V)
        return State.of(problem, V, penalty)


class Fused(NamedTuple):
    """A state with fewer clusters, and the labels of the clusters before."""

    state: State
    rows: Labels
    columns: Labels


class WorkArrays:
    """Matrices to compute in, used again and again: new memory is mapped page by page.

    Parameters
    ----------
    size : int
        The number of entries of the largest.
    """

    def __init__(self, size: int):
        self._size = size
        self._rooms: list[Array] = []
        self._kept: set[int] = set()

    def keep(self, *matrices: Array) -> None:
        """Set which matrices still have values that are needed."""
        self._kept = {id(V.base) for V in matrices}

    def get(self, n_matrices: int, shape: tuple[int, int]) -> list[Array]:
        """Matrices of a shape, with any values, none of those that are kept."""
        size = shape[0] * shape[1]
        free = [room for room in self._rooms if id(room) not in self._kept]
        while len(free) < n_matrices:
            free.append(np.empty(self._size))
            self._rooms.append(free[-1])
        return [room[:size].reshape(shape) for room in free[:n_matrices]]

    def shrink(self, size: int) -> None:
        """Let no matrix be larger from now on, and free those that are more than twice as large."""
        self._size = size
        self._rooms = [
            room for room in self._rooms if room.size <= 2 * size or id(room) in self._kept
        ]


def run_descent(
    iterate: Iterate, penalty: Penalty, schedule: Schedule, *, max_iter: int, tol: float
) -> Descent:
    """Descend from an iterate on its own blocks, which stay fused.

    The descent ends when the relative gradient is at most `tol` and no merger lowers the objective,
    or after `max_iter` iterations. At the end the estimate is clipped to the range of the data, and
    what is close is fused. With max_iter = 0 that is all.
    """
    compiled = compile_penalty(penalty)
    run = _Run(iterate.problem.owned(), own(iterate.V), compiled.kernel, schedule, tol)
    while not run.is_done and run.n_iter < max_iter:
        run.step()
    run.finish()
    compiled.raise_errors()
    state = run.state
    fused = replace(iterate, problem=state.problem, V=state.V)
    if state.V.shape != iterate.V.shape:
        fused = replace(
            fused,
            row_labels=run.row_labels[iterate.row_labels],
            column_labels=run.column_labels[iterate.column_labels],
        )
    outcome = Outcome(fused, run.history, run.n_iter, stationarity=run.residual)
    return Descent(outcome, run.gradient_bound())


class _Run:
    """A descent under way.

    Attributes
    ----------
    state : State
    row_labels, column_labels : ndarray of int
        The clusters of those that it began with.
    history : list of float
        The objective at the start and from then on.
    n_iter : int
    residual : float
        The norm of the gradient over the estimates constant on the blocks, relative to the data's;
        computed when it is asked for.
    is_done : bool
    """

    def __init__(
        self, problem: Problem, V: Array, penalty: PenaltyKernel, schedule: Schedule, tol: float
    ):
        self._penalty, self._schedule, self._tol = penalty, schedule, tol
        self._n_observed = float(problem.counts.sum())
        self._work = WorkArrays(V.size)
        self._close = close_lengths(problem)
        self.state = State.of(problem, V, penalty)
        self.row_labels, self.column_labels = np.arange(V.shape[0]), np.arange(V.shape[1])
        self.history = [self.state.objective]
        self.n_iter = 0
        self.is_done = False
        self._R: Array | None = None
        self._gradient_at: State | None = None  # where R, the weights and the residual belong
        self._last = V  # where the last majoriser has led, to extrapolate from
        self._merge_at, self._since_merging = schedule.merge_at, 0
        self._extrapolation = schedule.extrapolation
        self._settled: State | None = None
        self._settle()

    def step(self) -> None:
        """Take an iteration, fuse what is close, and merge clusters where it is time to."""
        self.n_iter += 1
        self._since_merging += 1
        if not self._lower():  # nothing left to gain but rounding errors
            self.is_done = True
            return
        lowest = self.state.objective
        self._settle()
        self.history.append(min(self.state.objective, lowest))
        is_time = self._since_merging == self._schedule.merge_every
        if not (is_time or self.residual <= self._merge_at):
            return
        self._since_merging = 0
        if self._merge():
            self.history.append(self.state.objective)
        elif self.residual <= self._tol:
            self.is_done = True
        else:
            self._merge_at = max(self._tol, 0.1 * min(self._merge_at, self.residual))

    def finish(self) -> None:
        """Clip to the range of the data, fuse what is close, and leave the work arrays."""
        problem, V = self.state.problem, self.state.V
        low, high = observed_range(problem.counts, problem.means)
        if V.min() < low or V.max() > high:
            self.state = State.of(problem, np.clip(V, low, high), self._penalty)
        self._settle()
        if self.state.objective < self.history[-1]:
            self.history.append(self.state.objective)
        self._find_gradient()
        V = self.state.V
        del self._work, self._last, self._R
        if V.base is not None and V.base.size > V.size:  # a part of a larger work array
            self.state = self._gradient_at = self.state._replace(V=V.copy())

    @property
    def residual(self) -> float:
        self._find_gradient()
        return self._residual

    def gradient_bound(self) -> float:
        """At least the norm of the gradient on all entries: the sum of the norms of its parts."""
        state, (row_w, column_w) = self.state, self._weights
        slopes = row_w @ state.row_norms + column_w @ state.column_norms
        return float(np.sqrt(2.0 * state.data) + np.sqrt(2.0) * slopes)

    def _settle(self) -> None:
        """Fuse what is close; nothing if that is done."""
        if self.state is self._settled:
            return
        self._keep()
        closer = collapsed(self.state, self._penalty, self._close, self._work)
        if closer is not None:
            self._go_to(closer)
        self._settled = self.state

    def _keep(self) -> None:
        """Keep the estimate, the last one and the gradient from being used as work arrays."""
        of_gradient = () if self._R is None else (self._R,)
        self._work.keep(self.state.V, self._last, *of_gradient)

    def _go_to(self, fused: Fused) -> None:
        """Go to a state with fewer clusters."""
        before, self.state = self.state.problem, fused.state
        self._settled = self._gradient_at = None  # they have the larger problem
        self._work.keep(self.state.V, self._last)
        (last,) = self._work.get(1, self.state.V.shape)
        sizes = before.row_sizes, before.column_sizes
        block_means(self._last, *sizes, fused.rows, fused.columns, last)
        self._last, self._R = last, None
        self._work.keep(self.state.V, last)
        self._work.shrink(last.size)
        self.row_labels = fused.rows[self.row_labels]
        self.column_labels = fused.columns[self.column_labels]

    def _find_gradient(self) -> None:
        """Compute the majoriser weights of the edges and minus the gradient, if they are not known.

        Where clusters merge at once they are not needed.
        """
        if self._gradient_at is self.state:
            return
        problem, V = self.state.problem, self.state.V
        self._weights = _majoriser_weights(self.state, self._penalty)
        if self._R is None:
            self._work.keep(V, self._last)
            (self._R,) = self._work.get(1, V.shape)
        square = quadratic_residual(
            V, problem.means, problem.counts, problem.row_sizes, problem.column_sizes,
            problem.rows.adjacency, problem.columns.adjacency, *self._weights, self._R,
        )  # fmt: skip
        self._residual = float(np.sqrt(square / self._n_observed))
        self._gradient_at = self.state

    def _lower(self) -> bool:
        """Lower the majoriser, and extrapolate if that lowers the objective further.

        Returns False, and changes nothing, if the objective would rise.
        """
        state, penalty = self.state, self._penalty
        problem = state.problem
        self._find_gradient()
        self._keep()
        V, P, AP = self._work.get(3, state.V.shape)
        V[:] = state.V
        lower_quadratic_in(
            V, self._R, problem.counts, problem.row_sizes, problem.column_sizes,
            problem.rows.adjacency, problem.columns.adjacency, *self._weights, CG_STEPS,
            CG_REDUCTION, P, AP,
        )  # fmt: skip
        lower = State.of(problem, V, penalty)
        if not lower.objective <= state.objective:
            return False
        self.state = lower
        if self._extrapolation > 0.0:
            extrapolate(V, self._last, self._extrapolation, P)
            farther = State.of(problem, P, penalty)
            if farther.objective < lower.objective:
                self.state = farther
                self._extrapolation = min(LONGER * self._extrapolation, LONGEST)
            else:
                self._extrapolation *= SHORTER
        self._last = V
        return True

    def _merge(self) -> bool:
        """Merge clusters where that lowers the objective; return whether there are any."""
        self._keep()
        found = merged(self.state, self._penalty, self._work)
        if found is None and self._schedule.merge_pairs:
            found = merged(self.state, self._penalty, self._work, by_pairs=True)
        if found is None:
            return False
        self._go_to(found)
        return True


def close_lengths(problem: Problem, close: float = CLOSE) -> tuple[float, float]:
    """The lengths of edges of the rows and of the columns up to which their ends are close."""
    n_rows, n_columns = problem.row_sizes.sum(), problem.column_sizes.sum()
    return close * float(np.sqrt(n_columns)), close * float(np.sqrt(n_rows))


def collapsed(
    state: State, penalty: PenaltyKernel, lengths: tuple[float, float], work: WorkArrays
) -> Fused | None:
    """Fuse close clusters, at the largest threshold that does not raise the objective.

    Returns None if there are none. `lengths` are those of `close_lengths`.
    """
    problem = state.problem
    for factor in (1.0, 0.1, 0.01, 0.0):
        rows_close = state.row_norms <= factor * lengths[0]
        columns_close = state.column_norms <= factor * lengths[1]
        if not (rows_close.any() or columns_close.any()):
            break
        rows = problem.rows.components(rows_close)
        columns = problem.columns.components(columns_close)
        fused = state.fused(rows, columns, penalty, work)
        if factor == 0.0 or fused.objective <= state.objective:
            return Fused(fused, rows, columns)
    return None


def merged(
    state: State, penalty: PenaltyKernel, work: WorkArrays, *, by_pairs: bool = False
) -> Fused | None:
    """Merge clusters where that lowers the objective; None if no merger does.

    Neighbours one after the other, by a bound that is cheap and somewhat loose, so also chains of
    mergers that only pay together; or, by a tighter bound, pairs that are not adjacent to each
    other (`by_pairs`).
    """
    find = _pairs if by_pairs else _neighbors
    (rows, row_gain), (columns, column_gain) = find(state, penalty, work)
    is_smaller = [n_labels(labels) < len(labels) for labels in (rows, columns)]
    if not any(is_smaller):
        return None
    # Both modes, or one: the bounds of the two do not add up.
    choices = [(rows, columns)]
    if all(is_smaller):
        one_mode = [(rows, np.arange(len(columns))), (np.arange(len(rows)), columns)]
        choices += one_mode if row_gain >= column_gain else one_mode[::-1]
    for labels in choices:
        fused = state.fused(*labels, penalty, work)
        if fused.objective < state.objective:
            return Fused(fused, *labels)
    return None


# The clusters of one mode after some mergers, and by how much these lower a bound.
Mergers = tuple[Labels, float]


def _neighbors(state: State, penalty: PenaltyKernel, work: WorkArrays) -> tuple[Mergers, Mergers]:
    """Find neighbours to merge one after the other, in the rows and in the columns."""
    V, (counts, means, row_sizes, column_sizes, rows, columns, _) = state.V, state.problem
    row_norms, column_norms = state.row_norms, state.column_norms
    least_gain = LEAST_GAIN * state.objective
    row_costs = edge_costs(row_norms, rows.weights, penalty)
    column_costs = edge_costs(column_norms, columns.weights, penalty)
    row_w, column_w = _majoriser_weights(state, penalty)
    F, V_copy, counts_copy = work.get(3, V.shape)
    row_slopes, column_slopes = gradient_norms(
        V, counts, means, row_sizes, column_sizes, rows.adjacency, columns.adjacency, row_w,
        column_w, F,
    )  # fmt: skip
    of_rows: Mergers = np.arange(V.shape[0]), 0.0
    of_columns: Mergers = np.arange(V.shape[1]), 0.0
    if may_pay(rows, row_sizes, row_norms, row_costs, row_w, row_slopes, least_gain):
        V_copy[:], counts_copy[:] = V, counts
        of_rows = agglomerate(
            V_copy, counts_copy, F, row_slopes, row_sizes, column_sizes, rows, row_norms,
            row_costs, row_w, least_gain,
        )  # fmt: skip
    if may_pay(
        columns, column_sizes, column_norms, column_costs, column_w, column_slopes, least_gain
    ):
        Vt, counts_t, F = _transposed((V, counts, means), work)
        to_gradients(Vt, counts_t, F, row_sizes, columns.adjacency, column_w)
        of_columns = agglomerate(
            Vt, counts_t, F, column_slopes, column_sizes, row_sizes, columns, column_norms,
            column_costs, column_w, least_gain,
        )  # fmt: skip
    return of_rows, of_columns


def _pairs(state: State, penalty: PenaltyKernel, work: WorkArrays) -> tuple[Mergers, Mergers]:
    """Find pairs to merge, none adjacent to another, in the rows and in the columns."""
    V, (counts, means, row_sizes, column_sizes, rows, columns, _) = state.V, state.problem
    least_gain = LEAST_GAIN * state.objective
    bounds = pair_bounds(V, counts, means, row_sizes, column_sizes, rows, state.row_norms, penalty)
    chosen, change = independent_edges(bounds, least_gain, rows)
    of_rows = rows.components(chosen), -change
    bounds = pair_bounds(
        *_transposed((V, counts, means), work), column_sizes, row_sizes, columns,
        state.column_norms, penalty,
    )  # fmt: skip
    chosen, change = independent_edges(bounds, least_gain, columns)
    return of_rows, (columns.components(chosen), -change)


def _transposed(matrices: tuple[Array, ...], work: WorkArrays) -> list[Array]:
    """The transposed matrices, in work arrays."""
    m, n = matrices[0].shape
    flipped = work.get(len(matrices), (n, m))
    for matrix, out in zip(matrices, flipped, strict=True):
        transpose(matrix, out)
    return flipped


def _majoriser_weights(state: State, penalty: PenaltyKernel) -> tuple[Array, Array]:
    """weight Omega'(z) / z for every edge of the rows and of the columns."""
    rows, columns = state.problem.rows, state.problem.columns
    return (
        majoriser_weights(state.row_norms, rows.weights, penalty),
        majoriser_weights(state.column_norms, columns.weights, penalty),
    )
