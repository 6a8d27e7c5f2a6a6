"""The solution surface: co-clusterings over a grid of costs that grow by powers of two.

At the scale (l, k) the costs are 2^l for rows and 2^k for columns. A chain of scales is solved
one after the other; from each of its scales start paths, along which one cost grows alone until
one cluster is left in that mode. Every scale starts from the solution before it (a warm start), and
paths depend on nothing but their own start: they can be solved in any order, or at the same time.

- "symmetric": along the chain both costs grow, from each of its scales one path goes up in l and
  one in k. Transposing the matrix transposes the surface.
- "paper": along the chain l grows, and from each of its scales a path goes up in k. Algorithm 2
  of the paper ends with the first path that leaves one row cluster.

Past one cluster a cost changes nothing: those scales would repeat others and are left out. With a
stride, every step multiplies a cost by so many powers of two at once. A surface that skips takes
two steps at once where little of a large matrix is fused: the estimates change slowly there, and
take most of the time.
"""

import time
from collections.abc import Collection, Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..graphs import Graph
from ..penalties import compile_penalty
from .certificate import Certificate, Potentials
from .fast import all_fused, continue_fast, tidy, with_neighbors_close
from .problem import Array, Edges, Iterate, Outcome, Problem, contract, own
from .solve import SolverOptions, certify, status_of

Step = tuple[int, int]

# The step along the chain, and those along the paths that start from its scales.
TRAVERSALS: dict[str, tuple[Step, tuple[Step, ...]]] = {
    "symmetric": ((1, 1), ((1, 0), (0, 1))),
    "paper": ((1, 0), ((0, 1),)),
}

# First guess of the start: so many halvings below the cost at which a lone pair would fuse.
_BELOW_FUSION = 8

# Edges whose ends are compared at the same time, for the memory that takes.
_EDGES_AT_ONCE = 1024

# The share of rows and columns that may be fused at the first guess.
_FEW_FUSED = 0.01

# How often the costs are quartered in search of a start.
_MOST_DESCENTS = 25

# Costs at which all is one cluster are reached long before.
_MOST_STEPS = 200

# Two steps at once are taken with so many blocks or more, which are this share of all entries.
_MANY_BLOCKS = 8192
_LARGE_SHARE = 0.5

# Starts of paths with more blocks than this share of all entries have their problem contracted from
# that of the surface, so that workers of a cluster can do it and need not be sent it.
_LARGE_START = 1 / 16


@dataclass(frozen=True)
class Scale:
    """One solved pair of costs.

    Attributes
    ----------
    l, k : int
        The exponents: the costs are 2^l for rows and 2^k for columns, in units in which the
        observed entries have variance one.
    row_cost, column_cost : float
    n_row_clusters, n_column_clusters : int
    objective : float
        In the same units.
    certificate : Certificate
        How far the estimate is from a solution, without the dual point.
    n_iter : int
    status : {"converged", "max_iter", "stalled"}
    seconds : float
    weight : float
        How much it counts in the metric.
    """

    l: int
    k: int
    n_row_clusters: int
    n_column_clusters: int
    objective: float
    certificate: Certificate
    n_iter: int
    status: str
    seconds: float
    weight: float = 0.0

    @property
    def row_cost(self) -> float:
        return 2.0**self.l

    @property
    def column_cost(self) -> float:
        return 2.0**self.k


@dataclass(frozen=True)
class Solved:
    """A scale, its estimate and, where they were needed, the dual vectors of its fused edges.

    `is_rebased` says whether its problem was contracted at once; see `Surface.rebased`.
    """

    scale: Scale
    iterate: Iterate
    potentials: Potentials | None = None
    is_rebased: bool = False


class Surface:
    """The scales of one matrix in standard units.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
    row_graph, column_graph : Graph
    method : SolverOptions
    continuation : bool
        Start each scale from the one before.
    stride : int, default=1
        Doublings of a cost in a step.
    skip : bool, default=False
        Take two steps at once where little is fused.

    Attributes
    ----------
    fewest : pair of int
        The numbers of connected components of the two graphs.
    stride : int
    """

    def __init__(
        self,
        X: Array,
        row_graph: Graph,
        column_graph: Graph,
        method: SolverOptions,
        *,
        continuation: bool,
        stride: int = 1,
        skip: bool = False,
    ):
        self._problem = Problem.build(X, row_graph, column_graph, row_cost=1.0, column_cost=1.0)
        self.fewest = row_graph.n_components, column_graph.n_components
        self._method = method
        self._penalty = compile_penalty(method.penalty)
        self._continuation = continuation
        self.stride = stride
        self._n_large = max(_MANY_BLOCKS, _LARGE_SHARE * X.size) if skip else np.inf
        self._first_step: tuple[Solved | None, Solved | None] = None, None

    def solve(self, l: int, k: int, start: Solved | None = None) -> Solved:
        """Solve the scale (l, k), from the solution `start` at smaller costs if there is one."""
        began = time.perf_counter()
        problem = self._problem.scaled(2.0**l, 2.0**k)
        if start is None or not self._continuation:
            outcome = self._minimise(problem, None)
        elif self._method.solver == "fast":
            growth = 2.0 ** (l - start.scale.l), 2.0 ** (k - start.scale.k)
            guess = start.potentials.scaled(*growth) if start.potentials else None
            outcome = self._continue(start.iterate.scaled(*growth), problem, guess)
        else:
            outcome = self._minimise(problem, start.iterate.estimate)
        return self._certified(l, k, outcome, problem, began)

    def solve_from(self, l: int, k: int, estimate: Array) -> Solved:
        """Solve the scale (l, k) from an estimate, such as that of a similar matrix."""
        began = time.perf_counter()
        problem = self._problem.scaled(2.0**l, 2.0**k)
        if self._method.solver == "fast":
            start = with_neighbors_close(Iterate.start(problem, estimate))
            outcome = self._continue(start, problem, None)
        else:
            outcome = self._minimise(problem, estimate)
        return self._certified(l, k, outcome, problem, began)

    def rebased(self, solved: Solved) -> Solved:
        """The same scale, its problem contracted from that of the surface at once.

        It may differ in the last digits from the one contracted step by step.
        """
        if solved.is_rebased:
            return solved
        iterate, scale = solved.iterate, solved.scale
        labels = iterate.row_labels, iterate.column_labels
        problem = self._problem.scaled(scale.row_cost, scale.column_cost)
        if not all(np.array_equal(some, np.arange(len(some))) for some in labels):
            problem = contract(problem.owned(), own(labels[0]), own(labels[1]))
        return replace(solved, iterate=Iterate(problem, iterate.V, *labels), is_rebased=True)

    def is_large(self, solved: Solved) -> bool:
        """Whether a scale has so many blocks that paths start from it with its problem rebased."""
        return solved.iterate.V.size > _LARGE_START * self._problem.counts.size

    def as_start(self, solved: Solved) -> Solved:
        """The scale as paths start from it, rebased if it is large."""
        return self.rebased(solved) if self.is_large(solved) else solved

    def without_problem(self) -> "Surface":
        """A copy without the matrix and the graphs, to be sent to other processes."""
        other = copy(self)
        other._problem, other._first_step = None, (None, None)
        return other

    def with_problem(self, X: Array, row_graph: Graph, column_graph: Graph) -> "Surface":
        """A copy with the matrix and the graphs that it was built with."""
        other = copy(self)
        other._problem = Problem.build(X, row_graph, column_graph, row_cost=1.0, column_cost=1.0)
        return other

    def _continue(self, iterate: Iterate, problem: Problem, guess: Potentials | None) -> Outcome:
        constant = self._constant_objective
        return continue_fast(iterate, problem, self._penalty, constant, guess, **self._method.stop)

    def _certified(
        self, l: int, k: int, outcome: Outcome, problem: Problem, began: float
    ) -> Solved:
        """The outcome of a scale with its record and certificate."""
        if outcome.stationarity is None or outcome.dual is not None:
            outcome = tidy(outcome, self._penalty)
        certificate = certify(outcome, problem, self._penalty, outcome.history[-1])
        certificate = replace(certificate, row_dual=None, column_dual=None)
        return self._record(l, k, outcome, certificate, began)

    @cached_property
    def _constant_objective(self) -> float:
        """The objective with each connected component fused, the same at any cost."""
        start = Iterate.start(self._problem, self._problem.means)
        return all_fused(start).objective(self._penalty)

    def _record(
        self, l: int, k: int, outcome: Outcome, certificate: Certificate, began: float
    ) -> Solved:
        """The outcome of a scale with its record."""
        objective = outcome.history[-1]
        n_row_clusters, n_column_clusters = outcome.iterate.V.shape
        scale = Scale(
            l=l,
            k=k,
            n_row_clusters=n_row_clusters,
            n_column_clusters=n_column_clusters,
            objective=objective,
            certificate=certificate,
            n_iter=outcome.n_iter,
            status=status_of(certificate, outcome.n_iter, self._method),
            seconds=time.perf_counter() - began,
        )
        dual = outcome.dual
        return Solved(scale, outcome.iterate, dual if isinstance(dual, Potentials) else None)

    def _minimise(self, problem: Problem, init: Array | None) -> Outcome:
        """Solve on all rows and columns, and again from one cluster if its objective is lower.

        Otherwise a penalty that levels off could stay above it at any cost.
        """
        minimise = self._method.minimise
        outcome = minimise(problem, init, self._penalty)
        constant = all_fused(outcome.iterate)
        if constant.objective(self._penalty) < outcome.history[-1]:
            outcome = minimise(problem, constant.estimate, self._penalty)
        return outcome

    def chain(self, start: Solved, traversal: str, stops: Collection[int] = ()) -> Iterator[Solved]:
        """Yield `start` and the other scales that paths start from.

        `stops` are numbers of steps from the start at which no scale is skipped.
        """
        step = TRAVERSALS[traversal][0]
        start = self.as_start(start)
        yield start
        # Once a mode is one cluster, going on would repeat the path of the other.
        yield from self._walk(start, step, stops, are_starts=True)

    def ends_at(self, solved: Solved, n_steps: int, traversal: str) -> bool:
        """Whether the chain ends at a scale, which is a number of steps from its start."""
        return self._is_end(solved, n_steps, _growing(TRAVERSALS[traversal][0]))

    def path(self, start: Solved, step: Step, stops: Collection[int] = ()) -> Iterator[Solved]:
        """Yield the scales beyond `start`, until the mode whose cost grows has one cluster left.

        `stops` are numbers of steps from the start at which no scale is skipped.
        """
        yield from self._walk(start, step, stops)

    def _walk(
        self, start: Solved, step: Step, stops: Collection[int], *, are_starts: bool = False
    ) -> Iterator[Solved]:
        """Yield the scales in a direction, until a mode whose cost grows has one cluster left."""
        n_steps, modes = 0, _growing(step)
        while not self._is_end(start, n_steps, modes):
            n_more = 1 if n_steps + 1 in stops else self._n_steps_from(start)
            start = self._step(start, step, n_more)
            if are_starts:
                start = self.as_start(start)
            n_steps += n_more
            yield start

    def _is_end(self, solved: Solved, n_steps: int, modes: list[int]) -> bool:
        """Whether one of the modes has one cluster left, or there are too many steps."""
        return n_steps >= _MOST_STEPS or any(self.is_fused(solved, mode) for mode in modes)

    def start(self) -> Solved:
        """The coarsest scale on a line, both costs growing, at which nothing is fused yet.

        Rows that agree wherever both are observed fuse at any cost, and of pairs that share few
        entries some nearly do: where little is fused, it is also enough that much smaller costs
        would separate hardly more. A first guess with very little fused is taken as it is.
        """
        counts = self._problem.counts
        n_points = sum(counts.shape)
        # The cost at which two rows fuse grows with the power 3/4 of what is observed of them.
        guess = [
            round(0.75 * np.log2(max(counts.sum(axis=mode).mean(), 1.0))) - _BELOW_FUSION
            for mode in (1, 0)
        ]
        here = self.solve(*guess)
        if 0 < self._n_fused(here) <= _FEW_FUSED * n_points:
            return here
        for descent in range(_MOST_DESCENTS):
            if self._n_fused(here) <= 0:
                break
            lower = self.solve(here.scale.l - 2, here.scale.k - 2)
            separated = self._n_fused(here) - self._n_fused(lower)
            is_rest = descent >= 2 and 0 < self._n_fused(lower) <= 0.1 * n_points
            if is_rest and separated <= 0.02 * n_points:
                return here
            here = lower
        else:
            return here
        for _ in range(_MOST_STEPS):
            if all(self.is_fused(here, mode) for mode in range(2)):
                break  # all rows are equal, and all columns
            higher = self._step(here, (1, 1), self._n_steps_from(here))
            if self._n_fused(higher) > 0:
                self._first_step = here, higher
                break
            here = higher
        return here

    def _n_fused(self, solved: Solved) -> int:
        """How many rows and columns are fused with others that they differ from."""
        return self._n_different - sum(solved.iterate.V.shape)

    @cached_property
    def _n_different(self) -> int:
        """The number of rows and columns; neighbours that agree where both are observed are one."""
        problem = self._problem
        return sum(
            _n_different(counts > 0, means, edges)
            for counts, means, edges in (
                (problem.counts, problem.means, problem.rows),
                (problem.counts.T, problem.means.T, problem.columns),
            )
        )

    def _n_steps_from(self, start: Solved) -> int:
        """The number of steps that are taken at once from a scale."""
        return 2 if start.iterate.V.size >= self._n_large else 1

    def _step(self, start: Solved, step: Step, n_steps: int) -> Solved:
        """Solve the scale that is some steps away in a direction."""
        # The search for the start has looked ahead.
        before, after = self._first_step
        is_before = before is not None and start.scale is before.scale
        if is_before and step == (1, 1) and n_steps == self._n_steps_from(start):
            self._first_step = None, None  # as large as several matrices, and needed once
            return after
        away = self.stride * n_steps
        return self.solve(start.scale.l + away * step[0], start.scale.k + away * step[1], start)

    def is_fused(self, solved: Solved, mode: int) -> bool:
        """Whether each connected component of a mode is one cluster."""
        return solved.iterate.V.shape[mode] <= self.fewest[mode]


def _growing(step: Step) -> list[int]:
    """The modes whose cost grows in a step."""
    return [mode for mode in range(2) if step[mode]]


def _n_different(observed: NDArray[np.bool_], X: Array, edges: Edges) -> int:
    """The number of components of the edges whose ends agree wherever both are observed."""
    agree = np.empty(edges.n_edges, dtype=bool)
    for start in range(0, edges.n_edges, _EDGES_AT_ONCE):
        some = slice(start, start + _EDGES_AT_ONCE)
        i, j = edges.pairs[some].T
        agree[some] = ~((X[i] != X[j]) & observed[i] & observed[j]).any(axis=1)
    return int(edges.components(agree).max()) + 1
