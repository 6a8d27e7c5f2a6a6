"""Graphs, surface, metric, and again: the passes of a fit, on a matrix in standard units."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._parallel import check_backend, in_parallel, plain_interrupts, single_threaded_blas
from ..graphs import CandidatePairs, Graph, Pairs
from ..penalties import Penalty
from ..solvers import Method, Solved, Surface
from .checkpoint import Checkpoint
from .held_out import Hidden
from .low_rank import Factors, LowRankCompletion, fill_in
from .progress import Progress
from .scale_weights import CostWeights, ErrorWeights, FixedWeights
from .sweep import PairsOfModes, Sweep, Weights, sweep

Array = NDArray[np.float64]
Report = Callable[[str, Sweep], None]

# Where scales that are only judged stop.
_TOL_TO_JUDGE = 1e-2

# The paper's weights.
_PAPER_ALPHA = -0.5


@dataclass(frozen=True)
class Settings:
    """The parameters of a fit, checked."""

    n_neighbors: tuple[int, int]
    first_graphs: str
    start: tuple[int, int] | None
    alpha: float | None
    n_passes: int
    traversal: str
    penalty: Penalty
    solver: str
    continuation: bool
    max_iter: int
    tol: float
    n_jobs: int | None
    # Doublings of a cost from one scale to the next.
    stride: int = 1
    # Neighbours of each row and of each column whose distances are kept, None for all.
    n_candidates: tuple[int | None, int | None] = (None, None)
    checkpoint: Checkpoint | None = None
    progress: Progress = field(default_factory=Progress)

    @property
    def n_sweeps(self) -> int:
        """How many surfaces are solved at most: with learned weights, each pass has two."""
        return self.n_passes * (2 if self.alpha is None else 1)

    @property
    def is_sparse(self) -> bool:
        return any(n is not None for n in self.n_candidates)


@dataclass(frozen=True)
class Pass:
    """The graphs of a pass and what came of its surface."""

    row_graph: Graph
    column_graph: Graph
    sweep: Sweep
    low_rank_weight: float = 0.0


@dataclass(frozen=True)
class Beginning:
    """What a pass begins with: its graphs and the first scale of its surface.

    The pairs are those whose distances are kept, None for all.
    """

    row_graph: Graph
    column_graph: Graph
    pairs: PairsOfModes
    surface: Surface
    first: Solved


@plain_interrupts()
def run_passes(X: Array, settings: Settings, *, keep_scales: bool, report: Report) -> Pass:
    """The last pass over X, every row and column of which has an observed entry."""
    check_backend()
    hidden = Hidden(X, in_parts=settings.is_sparse)
    options: dict[str, Any] = {"report": report, "keep_scales": keep_scales}
    if not len(hidden.values):
        # Nothing is missing, and the metric is the Euclidean distance whatever the weights, and
        # leads to the same graphs; or too little is there to judge by.
        alpha = _PAPER_ALPHA if settings.alpha is None else settings.alpha
        is_complete = not np.isnan(X).any()
        weights: list[Weights] = [CostWeights(alpha)] * (1 if is_complete else settings.n_passes)
        last = _passes(X, begin(X, None, settings), settings, weights, "pass", **options)[-1]
        return last if settings.alpha is not None else _with_unit_weight(last)
    factors: Factors | None = None
    low_rank = settings.first_graphs == "low-rank"
    if low_rank:
        completion = LowRankCompletion(hidden, iterative=settings.is_sparse)
        factors = completion.factors(X)
    if settings.alpha is not None:
        weights = [CostWeights(settings.alpha)] * settings.n_passes
        return _passes(X, begin(X, factors, settings), settings, weights, "pass", **options)[-1]
    # No pass sees the entries it is judged by: all of them run on the rest of the matrix.
    judge: list[Weights] = [ErrorWeights(hidden)] * settings.n_passes
    # An estimate predicts as well long before it is exact.
    rough = replace(settings, tol=max(settings.tol, _TOL_TO_JUDGE))
    rest = hidden.rest()
    beginnings = _beginnings(
        (rest, completion.factors_of_rest if low_rank else None, rough), (X, factors, settings)
    )
    name = "pass with entries hidden"
    judged = _passes(rest, next(beginnings), rough, judge, name, report=report, for_embedding=False)
    del rest
    weights = [FixedWeights(done.sweep.scales) for done in judged]
    last = _passes(X, next(beginnings), settings, weights, "pass", **options)[-1]
    if not low_rank:
        return _with_unit_weight(last)
    # The completion is a filled-in matrix as well, and counts as one more scale.
    weight = hidden.weigh(completion.predicted) / weights[-1].unit
    last.sweep.metric.add(fill_in(X, *factors), np.arange(len(X)), np.arange(X.shape[1]), weight)
    return _with_unit_weight(replace(last, low_rank_weight=weight))


def _with_unit_weight(done: Pass) -> Pass:
    """The same with weights that add up to one."""
    total = done.sweep.metric.total_weight
    scales = [replace(scale, weight=scale.weight / total) for scale in done.sweep.scales]
    done.sweep.metric.normalise()
    return replace(
        done,
        sweep=replace(done.sweep, scales=scales),
        low_rank_weight=done.low_rank_weight / total,
    )


def _passes(
    X: Array,
    beginning: Beginning,
    settings: Settings,
    weights: list[Weights],
    name: str,
    *,
    report: Report,
    for_embedding: bool = True,
    keep_scales: bool = False,
) -> list[Pass]:
    """One pass for each of the weights; only the last keeps its scales.

    Without an embedding to come, the last needs no metric.
    """
    done: list[Pass] = []
    for number, weight in enumerate(weights, start=1):
        settings.progress.begin_pass(name)
        result = sweep(
            beginning.surface,
            X,
            first=beginning.first,
            traversal=settings.traversal,
            weights=weight,
            keep_scales=keep_scales and number == len(weights),
            n_jobs=settings.n_jobs,
            arm_done=settings.progress.arm_done,
            with_metric=for_embedding or number < len(weights),
            pairs=beginning.pairs,
            checkpoint=settings.checkpoint,
            name=f"{name.replace(' ', '-')}-{number}",
        )
        settings.progress.end()
        report(f"{name} {number} of {len(weights)}", result)
        done.append(Pass(beginning.row_graph, beginning.column_graph, result))
        if number < len(weights):
            beginning = _begin_again(X, result, beginning.pairs, settings)
    return done


def begin(X: Array, factors: Factors | None, settings: Settings) -> Beginning:
    """The first pass: neighbours are near in X, or in X filled in by a product of factors."""
    points = X if factors is None else fill_in(X, *factors)
    for_rows, for_columns = settings.n_neighbors
    row_graph, row_pairs = _first_graph(points, for_rows, settings.n_candidates[0])
    column_graph, column_pairs = _first_graph(points.T, for_columns, settings.n_candidates[1])
    del points
    return _begin(X, row_graph, column_graph, (row_pairs, column_pairs), settings)


def _begin_again(X: Array, before: Sweep, pairs: PairsOfModes, settings: Settings) -> Beginning:
    """A pass after another, whose distances say who is near."""
    graphs = (
        Graph.from_distances(distances, n_neighbors)
        for distances, n_neighbors in zip(
            before.metric.distances(), settings.n_neighbors, strict=True
        )
    )
    return _begin(X, *graphs, pairs, settings)


def _begin(
    X: Array, row_graph: Graph, column_graph: Graph, pairs: PairsOfModes, settings: Settings
) -> Beginning:
    surface = Surface(
        X,
        row_graph,
        column_graph,
        Method(settings.penalty, settings.solver, settings.max_iter, settings.tol),
        continuation=settings.continuation,
        stride=settings.stride,
    )
    first = surface.start() if settings.start is None else surface.solve(*settings.start)
    return Beginning(row_graph, column_graph, pairs, surface, first)


def _beginnings(*tasks: tuple[Array, Factors | None, Settings]) -> Iterator[Beginning]:
    """One of each task, in their order.

    They are made side by side, but one by one when needed if distances are sparse, which is when
    there is no memory for two.
    """
    settings = tasks[-1][-1]
    if settings.is_sparse:
        left = list(tasks)  # each is let go of once it has begun
        return (begin(*left.pop(0)) for _ in range(len(tasks)))
    calls = (
        (_numbered, (number, X, factors, replace(of_task, checkpoint=None, progress=Progress())))
        for number, (X, factors, of_task) in enumerate(tasks)
    )
    with in_parallel(calls, n_jobs=settings.n_jobs, prefer="threads") as results:
        found = dict(results)
    return (found.pop(number) for number in range(len(tasks)))


def _numbered(
    number: int, X: Array, factors: Factors | None, settings: Settings
) -> tuple[int, Beginning]:
    with single_threaded_blas():
        return number, begin(X, factors, settings)


def _first_graph(
    X: Array, n_neighbors: int, n_candidates: int | None
) -> tuple[Graph, Pairs | None]:
    """The graph of the nearest rows, and the pairs whose distances are kept if not all are."""
    if n_candidates is None:
        return Graph.nearest_neighbors(X, n_neighbors), None
    candidates = CandidatePairs(X, n_candidates)
    return Graph.from_distances(candidates.distances, n_neighbors), candidates.pairs
