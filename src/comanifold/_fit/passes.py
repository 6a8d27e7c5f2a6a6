"""The passes of a fit over a matrix in standard units: graphs, surface, distances, and again."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._parallel import check_backend, in_parallel, plain_interrupts, single_threaded_blas
from ..graphs import CandidatePairs, Graph, Pairs
from ..model_selection import HeldOut
from ..solvers import Scale, SolverOptions, Surface
from .low_rank import Factors, LowRankCompletion, LowRankSolver, fill_in
from .settings import Execution, Settings
from .sweep import (
    Blocks,
    CostWeights,
    FixedWeights,
    HeldOutWeights,
    PairsOfModes,
    PassInputs,
    Sweep,
    Weights,
    sweep,
)

Array = NDArray[np.float64]

# The tolerance for scales that are solved only to learn their weights: an estimate predicts as
# well long before it is exact.
_TOL_FOR_WEIGHTS = 1e-2

_PAPER_ALPHA = -0.5


@dataclass(frozen=True)
class SurfaceResult:
    """The result of the last pass.

    Attributes
    ----------
    row_graph, column_graph : Graph
    scales : list of Scale
    blocks : list of Blocks, or None
        The estimate of each scale, if scales were kept.
    low_rank_weight : float
        Weight of the low-rank completion, as one more scale.
    total_weight : float
        The sum of the weights of all scales and of the low-rank completion.
    filled : ndarray of shape (n_rows, n_columns)
        The weighted mean of the filled-in matrices of all scales.
    row_distances, column_distances : ndarray or sparse array
    """

    row_graph: Graph
    column_graph: Graph
    scales: list[Scale]
    blocks: list[Blocks] | None
    low_rank_weight: float
    total_weight: float
    filled: Array
    row_distances: Any
    column_distances: Any


@plain_interrupts()
def run_passes(
    X: Array, settings: Settings, execution: Execution, *, stride: int = 1
) -> SurfaceResult:
    """Return the result of the last pass over X, in which no row or column is empty.

    With learned weights, all passes run twice: on the matrix without held-out entries, to learn
    the weights of the scales by their errors, and on the whole matrix with those weights. A cost
    doubles `stride` times from one scale to the next.
    """
    check_backend()
    is_sparse = any(n is not None for n in settings.n_candidates(X.shape))
    held_out = HeldOut(X, in_parts=is_sparse)
    if not len(held_out.values):
        # Either nothing is missing: distances are Euclidean for any weights, and lead to the same
        # graphs in every pass. Or there are too few entries to hold any out.
        n_passes = settings.n_passes if np.isnan(X).any() else 1
        alpha = _PAPER_ALPHA if settings.learns_weights else settings.alpha
        weights: list[Weights] = [CostWeights(alpha)] * n_passes
        inputs = prepare_first_pass(X, None, settings, stride)
        last = _run(inputs, weights, settings, execution)[-1]
        return _result(*last, normalise=settings.learns_weights)
    completion, factors = None, None
    if settings.first_graphs == "low-rank":
        completion = LowRankCompletion(held_out, LowRankSolver(iterative=is_sparse))
        factors = completion.factors(X)
    if not settings.learns_weights:
        weights = [CostWeights(settings.alpha)] * settings.n_passes
        inputs = prepare_first_pass(X, factors, settings, stride)
        last = _run(inputs, weights, settings, execution)[-1]
        return _result(*last, normalise=False)
    # No pass sees the entries by which its scales are weighted.
    rough = replace(settings, tol=max(settings.tol, _TOL_FOR_WEIGHTS), keep_scales=False)
    rest = held_out.rest()
    rest_factors = None if completion is None else completion.factors_of_rest
    tasks = [(rest, rest_factors, rough, stride), (X, factors, settings, stride)]
    prepared = _prepare_first_passes(tasks, execution.n_jobs, is_sparse)
    del rest, tasks
    by_error = HeldOutWeights(held_out)
    judged = _run(
        next(prepared), [by_error] * settings.n_passes, rough, execution, for_weights=True
    )
    weights = [FixedWeights(swept.scales) for _, swept in judged]
    last_inputs, last_sweep = _run(next(prepared), weights, settings, execution)[-1]
    weight = 0.0
    if completion is not None:
        # The completion is a filled-in matrix as well, and counts as one more scale.
        weight = by_error.of_predictions(completion.predicted) / weights[-1].unit
        labels = np.arange(X.shape[0]), np.arange(X.shape[1])
        last_sweep.metric.add(fill_in(X, *factors), *labels, weight)
    return _result(last_inputs, last_sweep, low_rank_weight=weight, normalise=True)


def _result(
    inputs: PassInputs, swept: Sweep, *, low_rank_weight: float = 0.0, normalise: bool
) -> SurfaceResult:
    """Return the result of a pass; with `normalise`, the weights sum to one."""
    metric, scales = swept.metric, swept.scales
    if normalise:
        total = metric.total_weight
        metric.normalise()
        scales = [replace(scale, weight=scale.weight / total) for scale in scales]
        low_rank_weight /= total
    row_distances, column_distances = metric.distances()
    return SurfaceResult(
        row_graph=inputs.row_graph,
        column_graph=inputs.column_graph,
        scales=scales,
        blocks=swept.blocks,
        low_rank_weight=low_rank_weight,
        total_weight=metric.total_weight,
        filled=metric.filled,
        row_distances=row_distances,
        column_distances=column_distances,
    )


def _run(
    inputs: PassInputs,
    weights: list[Weights],
    settings: Settings,
    execution: Execution,
    *,
    for_weights: bool = False,
) -> list[tuple[PassInputs, Sweep]]:
    """Run one pass for each of the weights; only the last keeps its scales.

    A pass that only weights are learned from needs distances only if another follows.
    """
    stage = "learning weights" if for_weights else "solving"
    name = "pass-with-entries-held-out" if for_weights else "pass"
    done: list[tuple[PassInputs, Sweep]] = []
    for number, weight in enumerate(weights, start=1):
        is_last = number == len(weights)
        execution.progress.begin_pass(stage)
        swept = sweep(
            inputs,
            weight,
            settings,
            execution,
            name=f"{name}-{number}",
            keep_scales=settings.keep_scales and is_last,
            with_metric=not (for_weights and is_last),
        )
        title = f"{name.replace('-', ' ')} {number} of {len(weights)}"
        execution.progress.end_pass(title, swept.scales)
        done.append((inputs, swept))
        if not is_last:
            inputs = _prepare_next_pass(inputs, swept, settings)
    return done


def prepare_first_pass(
    X: Array, factors: Factors | None, settings: Settings, stride: int
) -> PassInputs:
    """Return the inputs of the first pass; graphs from X, or from X filled in by factors."""
    points = X if factors is None else fill_in(X, *factors)
    for_rows, for_columns = settings.n_neighbors
    row_candidates, column_candidates = settings.n_candidates(X.shape)
    row_graph, row_pairs = _first_graph(points, for_rows, row_candidates)
    column_graph, column_pairs = _first_graph(points.T, for_columns, column_candidates)
    del points
    pairs = row_pairs, column_pairs
    return _prepare_pass(X, (row_graph, column_graph), pairs, settings, stride)


def _prepare_next_pass(inputs: PassInputs, swept: Sweep, settings: Settings) -> PassInputs:
    """Return the inputs of the next pass, with graphs from the distances of the last."""
    row_graph, column_graph = (
        Graph.from_distances(distances, n_neighbors)
        for distances, n_neighbors in zip(
            swept.metric.distances(), settings.n_neighbors, strict=True
        )
    )
    graphs = row_graph, column_graph
    return _prepare_pass(inputs.X, graphs, inputs.pairs, settings, inputs.stride)


def _prepare_pass(
    X: Array, graphs: tuple[Graph, Graph], pairs: PairsOfModes, settings: Settings, stride: int
) -> PassInputs:
    """Return the inputs of a pass with these graphs; this solves the first scale."""
    surface = Surface(
        X,
        *graphs,
        SolverOptions(settings.penalty, settings.solver, settings.max_iter, settings.tol),
        continuation=settings.continuation,
        stride=stride,
    )
    first = surface.start() if settings.start is None else surface.solve(*settings.start)
    return PassInputs(X, *graphs, pairs, stride, surface, first)


def _prepare_first_passes(
    tasks: list[tuple[Array, Factors | None, Settings, int]], n_jobs: int | None, is_sparse: bool
) -> Iterator[PassInputs]:
    """Yield the inputs of the first pass of each task, in their order.

    They are prepared in parallel; one by one, when they are asked for, if distances are sparse,
    which is when there may be no memory for two.
    """
    if is_sparse:
        left = list(tasks)  # each is released once it has been prepared
        return (prepare_first_pass(*left.pop(0)) for _ in range(len(tasks)))
    calls = ((_prepare_numbered, (number, *task)) for number, task in enumerate(tasks))
    with in_parallel(calls, n_jobs=n_jobs, prefer="threads") as results:
        prepared = dict(results)
    return (prepared.pop(number) for number in range(len(tasks)))


def _prepare_numbered(
    number: int, X: Array, factors: Factors | None, settings: Settings, stride: int
) -> tuple[int, PassInputs]:
    with single_threaded_blas():
        return number, prepare_first_pass(X, factors, settings, stride)


def _first_graph(
    X: Array, n_neighbors: int, n_candidates: int | None
) -> tuple[Graph, Pairs | None]:
    """Return the nearest-neighbour graph of the rows, and their pairs if distances are sparse."""
    if n_candidates is None:
        return Graph.nearest_neighbors(X, n_neighbors), None
    candidates = CandidatePairs(X, n_candidates)
    return Graph.from_distances(candidates.distances, n_neighbors), candidates.pairs
