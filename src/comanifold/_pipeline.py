"""Graphs, surface, metric, and again: the passes of a fit, on a matrix in standard units."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._callbacks import Progress
from ._checkpoint import Checkpoint
from ._sweep import Sweep, Weights, sweep
from .graphs import CandidatePairs, Graph, Pairs
from .low_rank import LowRankCompletion, fill_in
from .metrics import CostWeights, ErrorWeights, Hidden, WeightsAsBefore
from .penalties import Penalty
from .solvers import Surface

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


def run_passes(X: Array, settings: Settings, *, keep_scales: bool, report: Report) -> Pass:
    """The last pass over X, every row and column of which has an observed entry."""
    hidden = Hidden(X, in_parts=settings.is_sparse)
    if not len(hidden.values):
        # Nothing is missing, and the metric is the Euclidean distance whatever the weights, and
        # leads to the same graphs; or too little is there to judge by.
        alpha = _PAPER_ALPHA if settings.alpha is None else settings.alpha
        is_complete = not np.isnan(X).any()
        weights: list[Weights] = [CostWeights(alpha)] * (1 if is_complete else settings.n_passes)
        last = _passes(X, lambda: X, settings, weights, "pass", report, keep_scales=keep_scales)[-1]
        return last if settings.alpha is not None else _with_unit_weight(last)
    low_rank = settings.first_graphs == "low-rank"
    # Both made where they are needed, and not kept: each is as large as the data.
    compared, compared_rest = (lambda: X), (lambda: hidden.rest)
    if low_rank:
        completion = LowRankCompletion(hidden, iterative=settings.is_sparse)
        factors = completion.factors(X)
        compared, compared_rest = (lambda: fill_in(X, *factors)), (lambda: completion.rest)
    if settings.alpha is not None:
        weights = [CostWeights(settings.alpha)] * settings.n_passes
        return _passes(X, compared, settings, weights, "pass", report, keep_scales=keep_scales)[-1]
    # No pass sees the entries it is judged by: all of them run on the rest of the matrix.
    judge: list[Weights] = [ErrorWeights(hidden)] * settings.n_passes
    name = "pass with entries hidden"
    # An estimate predicts as well long before it is exact.
    rough = replace(settings, tol=max(settings.tol, _TOL_TO_JUDGE))
    judged = _passes(hidden.rest, compared_rest, rough, judge, name, report, for_embedding=False)
    weights = [WeightsAsBefore(done.sweep.scales) for done in judged]
    last = _passes(X, compared, settings, weights, "pass", report, keep_scales=keep_scales)[-1]
    if not low_rank:
        return _with_unit_weight(last)
    # The completion is a filled-in matrix as well, and counts as one more scale.
    weight = hidden.weigh(compared_rest()[hidden.rows, hidden.columns]) / weights[-1].unit
    last.sweep.metric.add(compared(), np.arange(len(X)), np.arange(X.shape[1]), weight)
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
    compared: Callable[[], Array],
    settings: Settings,
    weights: list[Weights],
    name: str,
    report: Report,
    *,
    for_embedding: bool = True,
    keep_scales: bool = False,
) -> list[Pass]:
    """One pass for each of the weights; only the last keeps its scales.

    Without an embedding to come, the last needs no metric.

    The rows and columns of `compared()` are what the neighbours in the first graphs are found by.
    """
    options: dict[str, Any] = {
        "penalty": settings.penalty,
        "solver": settings.solver,
        "continuation": settings.continuation,
        "max_iter": settings.max_iter,
        "tol": settings.tol,
    }
    for_rows, for_columns = settings.n_neighbors
    points = compared()
    row_graph, row_pairs = _first_graph(points, for_rows, settings.n_candidates[0])
    column_graph, column_pairs = _first_graph(points.T, for_columns, settings.n_candidates[1])
    del points
    done: list[Pass] = []
    for number, weight in enumerate(weights, start=1):
        if done:
            by_row, by_column = done[-1].sweep.metric.distances()
            row_graph = Graph.from_distances(by_row, for_rows)
            column_graph = Graph.from_distances(by_column, for_columns)
        settings.progress.begin_pass(name)
        result = sweep(
            Surface(X, row_graph, column_graph, **options),
            X,
            start=settings.start,
            traversal=settings.traversal,
            weights=weight,
            keep_scales=keep_scales and number == len(weights),
            n_jobs=settings.n_jobs,
            arm_done=settings.progress.arm_done,
            with_metric=for_embedding or number < len(weights),
            pairs=(row_pairs, column_pairs),
            checkpoint=settings.checkpoint,
            name=f"{name.replace(' ', '-')}-{number}",
        )
        settings.progress.end()
        report(f"{name} {number} of {len(weights)}", result)
        done.append(Pass(row_graph, column_graph, result))
    return done


def _first_graph(
    X: Array, n_neighbors: int, n_candidates: int | None
) -> tuple[Graph, Pairs | None]:
    """The graph of the nearest rows, and the pairs whose distances are kept if not all are."""
    if n_candidates is None:
        return Graph.nearest_neighbors(X, n_neighbors), None
    candidates = CandidatePairs(X, n_candidates)
    return Graph.from_distances(candidates.distances, n_neighbors), candidates.pairs
