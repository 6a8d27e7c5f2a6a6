"""The passes of a fit over a matrix in standard units: graphs, surface, distances, and again."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._parallel import (
    check_backend,
    in_threads,
    is_distributed,
    plain_interrupts,
    single_threaded_blas,
)
from ..graphs import CandidatePairs, Graph, Pairs
from ..metrics import add_variances
from ..model_selection import HeldOut, held_out_folds
from ..solvers import Scale, Solved, SolverOptions, Surface
from .combination import (
    ErrorModel,
    HeldOutPredictions,
    Stacking,
    mode_variances,
)
from .completion import (
    FOR_GRAPHS,
    PATH_KINDS,
    Completion,
    PathKind,
    PredictedPath,
    complete_for_graphs,
    continue_path,
    effects_gain,
    predict_along_path,
)
from .messages import SharedMatrix
from .settings import Execution, Settings
from .sweep import (
    Blocks,
    CostWeights,
    Outputs,
    PairsOfModes,
    PassInputs,
    ScaleWeights,
    Sweep,
    sweep,
)

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# The tolerance for scales that are solved only to learn their weights: an estimate predicts as
# well long before it is exact.
_TOL_FOR_WEIGHTS = 5e-2

_PAPER_ALPHA = -0.5

# Members with effects of rows and columns are used if they lower the mean squared error by more
# than this part and this number, in which observed entries have variance one. Members that do not
# lower it by themselves are not tried.
_NO_GAIN, _NO_ERROR = 2e-3, 1e-6

# The first scale of larger matrices is solved from that of a fold. From the start, which takes
# longer, the estimates predict slightly better.
_LARGE = 200_000

# Completion paths of larger matrices are computed one after the other.
_MOST_ENTRIES_AT_ONCE = 10_000_000


@dataclass(frozen=True)
class SurfaceResult:
    """The result of the last pass.

    Attributes
    ----------
    row_graph, column_graph : Graph
    scales : list of Scale
    blocks : list of Blocks, or None
        The estimate of each scale, if scales were kept.
    completions : list of Completion
    total_weight : float
        The sum of the weights of all scales and completions.
    filled : ndarray of shape (n_rows, n_columns)
        The weighted mean of the filled-in matrices.
    completed : ndarray of shape (n_rows, n_columns)
        The matrix filled in by a Gaussian model, which is linear in the observed entries; the
        matrix itself if nothing is missing.
    row_distances, column_distances : ndarray or sparse array
    row_variances, column_variances : ndarray
        What is added to the squared distances of each row and column.
    held_out : HeldOutPredictions
    errors : ErrorModel
    """

    row_graph: Graph
    column_graph: Graph
    scales: list[Scale]
    blocks: list[Blocks] | None
    completions: list[Completion]
    total_weight: float
    filled: Array
    completed: Array
    row_distances: Any
    column_distances: Any
    row_variances: Array
    column_variances: Array
    held_out: HeldOutPredictions
    errors: ErrorModel


@plain_interrupts()
def run_passes(
    X: Array, settings: Settings, execution: Execution, *, stride: int = 1
) -> SurfaceResult:
    """Return the result of the last pass over X, in which no row or column is empty.

    With learned weights, all passes also run on the matrix without held-out entries, once for each
    fold, to find the combination of scales and completions that predicts these entries best. A cost
    doubles `stride` times from one scale to the next.
    """
    check_backend()
    folds: list[HeldOut] = []
    if settings.learns_weights:
        is_sparse = any(n is not None for n in settings.n_candidates(X.shape))
        folds = held_out_folds(X, in_parts=is_sparse)
    # If nothing is missing, distances are Euclidean for any weights, and lead to the same graphs.
    has_missing = bool(np.isnan(X).any())
    settings = replace(settings, n_passes=settings.n_passes if has_missing else 1)
    execution.progress.expect(settings, X.shape, n_folds=len(folds), has_missing=has_missing)
    if is_distributed():
        execution = replace(execution, matrix=SharedMatrix(X))
    if not folds:
        inputs = _prepare_last_pass(X, settings, execution, stride, "pass")
        alpha = _PAPER_ALPHA if settings.learns_weights else settings.alpha
        swept = _sweep_last_pass(inputs, CostWeights(alpha), settings, execution)
        if settings.learns_weights:
            swept.normalise()
        execution.progress.begin_step("distances")
        return _result(inputs, swept, [], _Judgement.empty(X.shape))
    is_small = len(folds) > 1
    paths = [_complete_fold(fold, execution, all_kinds=is_small) for fold in folds]
    kind, step = _best_completion(paths)
    rough = replace(settings, tol=max(settings.tol, _TOL_FOR_WEIGHTS), keep_scales=False)
    judged: list[dict[Member, Array]] = []
    first: FirstScale | None = None
    for number, (fold, of_fold) in enumerate(zip(folds, paths, strict=True), start=1):
        inputs = _prepare_fold(fold, number, of_fold[kind], rough, execution, stride, first)
        first = first or FirstScale.of(inputs.first)
        judged.append(_judge(fold, number, inputs, of_fold, rough, execution))
        del inputs  # as large as several copies of the matrix
    judgement = _combine(folds, judged, X.shape)
    del judged  # has the predictions of every scale
    execution.progress.begin_step("completing")
    completed = continue_path(X, paths[0][kind].best, step).filled(X)
    inputs = _prepare_last_pass(
        X, settings, execution, stride, "pass", like=first, complete=lambda _: completed
    )
    start = first.l, first.k
    del first
    # Each has a copy of the matrix; from here on only those with a weight are needed.
    of_weights = {one: paths[0][one] for one in judgement.completion_weights}
    del paths
    weights = ScaleWeights(judgement.scale_weights, start, settings.traversal, stride)
    swept = _sweep_last_pass(inputs, weights, settings, execution)
    execution.progress.begin_step("distances")
    completions = _add_completions(X, judgement.completion_weights, of_weights, swept)
    return _result(inputs, swept, completions, judgement)


Member = tuple[int, int] | tuple[PathKind, int]


class FirstScale(NamedTuple):
    """The exponents of the first scale of a surface, and its estimate."""

    l: int
    k: int
    blocks: Blocks

    @classmethod
    def of(cls, solved: Solved) -> "FirstScale":
        return cls(solved.scale.l, solved.scale.k, Blocks.of(solved))


@dataclass(frozen=True)
class _Judgement:
    """What the folds have told: the weights of the members, and the errors to expect."""

    scale_weights: dict[tuple[int, int], float]
    completion_weights: dict[PathKind, dict[int, float]]
    held_out: HeldOutPredictions
    errors: ErrorModel

    @classmethod
    def empty(cls, shape: tuple[int, int]) -> "_Judgement":
        """Return the judgement where nothing could be held out."""
        nowhere = np.zeros(0, dtype=np.intp)
        errors = ErrorModel.fit(np.zeros(0), nowhere, nowhere, shape)
        return cls({}, {}, HeldOutPredictions(nowhere, nowhere, nowhere, np.zeros(0)), errors)


PathsOfFold = dict[PathKind, PredictedPath]


def _complete_fold(fold: HeldOut, execution: Execution, *, all_kinds: bool) -> PathsOfFold:
    """Return the completion paths of a matrix without the entries of a fold.

    Unless all kinds are wanted, only such paths with effects of rows and columns that may be
    needed: `_without_effects` leaves them out where they do not predict better.
    """
    # A path needs memory for some copies of the matrix.
    is_large = fold.shape[0] * fold.shape[1] > _MOST_ENTRIES_AT_ONCE
    n_jobs = 1 if is_large else execution.n_jobs

    def predict(kinds: Iterable[PathKind], n_before: int = 0) -> PathsOfFold:
        kinds = list(kinds)
        calls = [(_predict, (fold, kind)) for kind in kinds]
        found = {}
        for kind, path in zip(kinds, in_threads(calls, n_jobs=n_jobs), strict=True):
            found[kind] = path
            n_expected = len(PATH_KINDS) if n_before else len(kinds)
            execution.progress.part_done((n_before + len(found)) / n_expected)
        return found

    execution.progress.begin_step("completing")
    if all_kinds:
        return predict(PATH_KINDS)
    with_variance = PathKind(effects=True, variance=True)
    without_variance = PathKind(effects=True, variance=False)
    kinds = [kind for kind in PATH_KINDS if not kind.effects]
    if effects_gain(fold) > _NO_GAIN:
        kinds.append(without_variance)
    paths = predict(kinds)
    if without_variance in paths:
        least = paths[FOR_GRAPHS].errors.min()
        if paths[without_variance].errors.min() < (1.0 - _NO_GAIN) * least - _NO_ERROR:
            paths |= predict([with_variance], len(paths))
        else:
            del paths[without_variance]
    return paths


def _predict(fold: HeldOut, kind: PathKind) -> PredictedPath:
    with single_threaded_blas():
        return predict_along_path(fold, kind)


def _best_completion(paths: list[PathsOfFold]) -> tuple[PathKind, int]:
    """Return the kind and the step of the completion with the least error over all folds.

    Without effects of rows and columns: see `_without_effects`.
    """
    found = []
    for kind in (kind for kind in PATH_KINDS if not kind.effects):
        errors = [of_fold[kind].errors for of_fold in paths]
        total = sum(error[: min(map(len, errors))] for error in errors)
        found.append((float(total.min()), kind, int(np.argmin(total))))
    _, kind, step = min(found, key=lambda one: one[0])
    return kind, step


def _prepare_fold(
    fold: HeldOut,
    number: int,
    path: PredictedPath,
    settings: Settings,
    execution: Execution,
    stride: int,
    first: FirstScale | None,
) -> PassInputs:
    """Return the inputs of the last pass over a matrix without the entries of a fold.

    The first graphs are built from the best step of a completion path.
    """
    return _prepare_last_pass(
        fold.rest(), settings, execution, stride, f"fold-{number}-pass", like=first,
        complete=path.best.filled,
    )  # fmt: skip


def _judge(
    fold: HeldOut,
    number: int,
    inputs: PassInputs,
    paths: PathsOfFold,
    settings: Settings,
    execution: Execution,
) -> dict[Member, Array]:
    """Return what each member predicts for the entries of a fold, fitted without them."""
    predictions: dict[Member, Array] = {
        (kind, step): predicted
        for kind, path in paths.items()
        for step, predicted in enumerate(path.predictions)
    }
    execution.progress.begin_step("learning weights")
    name = f"fold-{number}-pass-{settings.n_passes}"
    outputs = Outputs(metric=False, entries=(fold.rows, fold.columns))
    weights = CostWeights(_PAPER_ALPHA)
    swept = sweep(inputs, weights, settings, execution, name=name, outputs=outputs)
    execution.progress.end_pass(f"fold {number}", swept.scales)
    for scale, predicted in zip(swept.scales, swept.predictions, strict=True):
        predictions[scale.l, scale.k] = predicted
    return predictions


def _combine(
    folds: list[HeldOut], judged: list[dict[Member, Array]], shape: tuple[int, int]
) -> _Judgement:
    """Return the weights of the members, learned from their predictions in all folds.

    Members that a fold does not have, past the end of a path, are left out.
    """
    members = [member for member in judged[0] if all(member in fold for fold in judged)]
    predictions = np.column_stack(
        [np.concatenate([p[member] for p in judged]) for member in members]
    )
    values = np.concatenate([fold.values for fold in folds])
    of_paper = CostWeights(_PAPER_ALPHA)
    prior = np.array([0.0 if isinstance(m[0], PathKind) else of_paper(*m) for m in members])
    prior /= prior.sum()
    has_effects = np.array([isinstance(m[0], PathKind) and m[0].effects for m in members])
    stacking, weights = _without_effects(Stacking(predictions, values, prior), has_effects)
    scale_weights: dict[tuple[int, int], float] = {}
    completion_weights: dict[PathKind, dict[int, float]] = {}
    for member, weight in zip(members, weights, strict=True):
        if weight <= 0.0:
            continue
        if isinstance(member[0], PathKind):
            completion_weights.setdefault(member[0], {})[member[1]] = float(weight)
        else:
            scale_weights[member] = float(weight)
    rows, columns = (np.concatenate([getattr(f, at) for f in folds]) for at in ("rows", "columns"))
    numbers = np.concatenate([np.full(len(f.values), i) for i, f in enumerate(folds)])
    predicted = stacking.cross_fitted()
    return _Judgement(
        scale_weights,
        completion_weights,
        HeldOutPredictions(rows, columns, numbers, predicted),
        ErrorModel.fit(predicted - values, rows, columns, shape),
    )


def _without_effects(stacking: Stacking, has_effects: NDArray[np.bool_]) -> tuple[Stacking, Array]:
    """Return the stacking of all members, or of those without effects if these predict as well.

    With it, the weights of all members. Effects of rows and columns extrapolate worse into a
    missing block than means do, which held-out entries elsewhere do not show.
    """
    weights = stacking.weights()
    if not has_effects.any():
        return stacking, weights
    fewer = stacking.restrict(~has_effects)
    of_fewer = fewer.weights()
    allowed = (1.0 + _NO_GAIN) * stacking.mean_square(weights) + _NO_ERROR
    if fewer.mean_square(of_fewer) > allowed:
        return stacking, weights
    weights = np.zeros(len(has_effects))
    weights[~has_effects] = of_fewer
    return fewer, weights


def _add_completions(
    X: Array, weights: dict[PathKind, dict[int, float]], paths: PathsOfFold, swept: Sweep
) -> list[Completion]:
    """Add the completions that have a weight to the distances; return them.

    They are solved from those without the entries of a fold.
    """
    completions = []
    labels = np.arange(X.shape[0]), np.arange(X.shape[1])
    for kind, steps in weights.items():
        path = continue_path(X, paths[kind].best, min(steps))
        for step in range(min(steps), max(steps) + 1):
            if step > min(steps):
                path.solve(step)
            if step not in steps:
                continue
            swept.metric.add(path.estimate(), *labels, steps[step])
            completions.append(Completion(kind.effects, kind.variance, step, steps[step]))
    return completions


def _result(
    inputs: PassInputs, swept: Sweep, completions: list[Completion], judgement: _Judgement
) -> SurfaceResult:
    """Return the result of a fit."""
    metric = swept.metric
    missing = np.isnan(inputs.X)
    of_modes = [
        metric.total_weight**2 * mode_variances(judgement.errors, missing, mode)
        for mode in ("row", "column")
    ]
    row_distances, column_distances = (
        add_variances(distances, variance)
        for distances, variance in zip(metric.distances(), of_modes, strict=True)
    )
    return SurfaceResult(
        row_graph=inputs.row_graph,
        column_graph=inputs.column_graph,
        scales=swept.scales,
        blocks=swept.blocks,
        completions=completions,
        total_weight=metric.total_weight,
        filled=metric.filled,
        completed=_completed(inputs, missing),
        row_distances=row_distances,
        column_distances=column_distances,
        row_variances=of_modes[0],
        column_variances=of_modes[1],
        held_out=judgement.held_out,
        errors=judgement.errors,
    )


def _completed(inputs: PassInputs, missing: NDArray[np.bool_]) -> Array:
    """Return the matrix filled in by a Gaussian model."""
    if inputs.completed is not None:
        return inputs.completed
    return complete_for_graphs(inputs.X) if missing.any() else inputs.X


def _sweep_last_pass(
    inputs: PassInputs,
    weights: CostWeights | ScaleWeights,
    settings: Settings,
    execution: Execution,
) -> Sweep:
    """Return the sums over the scales of the last pass over the whole matrix."""
    execution.progress.begin_step("solving")
    outputs = Outputs(keep_scales=settings.keep_scales)
    name = f"pass-{settings.n_passes}"
    if isinstance(weights, ScaleWeights):  # saved parts are sums with these weights
        name += f"-{weights.digest}"
    swept = sweep(inputs, weights, settings, execution, name=name, outputs=outputs)
    title = f"pass {settings.n_passes} of {settings.n_passes}"
    execution.progress.end_pass(title, swept.scales)
    return swept


def _prepare_last_pass(
    X: Array,
    settings: Settings,
    execution: Execution,
    stride: int,
    name: str,
    *,
    like: FirstScale | None = None,
    complete: Callable[[Array], Array] | None = None,
) -> PassInputs:
    """Return the inputs of the last pass, after all passes before it.

    Earlier passes have the weights of the paper.

    Parameters
    ----------
    like : FirstScale, optional
        That of the last pass over a similar matrix; this one begins with the same.
    complete : callable, optional
        Returns X filled in.
    """
    likes = [None] * (settings.n_passes - 1) + [like]
    execution.progress.begin_step("graphs")
    # The last pass over a fold has no distances.
    needs_pairs = name == "pass" or settings.n_passes > 1
    inputs = prepare_first_pass(X, settings, stride, complete, likes[0], needs_pairs=needs_pairs)
    alpha = _PAPER_ALPHA if settings.learns_weights else settings.alpha
    for number, next_like in enumerate(likes[1:], start=1):
        execution.progress.begin_step("solving" if name == "pass" else "learning weights")
        swept = sweep(
            inputs,
            CostWeights(alpha),
            settings,
            execution,
            name=f"{name}-{number}",
            outputs=Outputs(),
        )
        title = f"{name.replace('-', ' ')} {number} of {settings.n_passes}"
        execution.progress.end_pass(title, swept.scales)
        execution.progress.begin_step("graphs")
        inputs = _prepare_next_pass(inputs, swept, settings, next_like)
    return inputs


def prepare_first_pass(
    X: Array,
    settings: Settings,
    stride: int,
    complete: Callable[[Array], Array] | None = None,
    like: FirstScale | None = None,
    *,
    needs_pairs: bool = True,
) -> PassInputs:
    """Return the inputs of the first pass; graphs from X, or from X filled in.

    Unless `needs_pairs`, without the pairs for sparse distances and without X filled in.
    """
    is_completed = settings.first_graphs == "completed" and bool(np.isnan(X).any())
    if complete is None and is_completed:
        complete = complete_for_graphs
    completed = None if complete is None else complete(X)
    points = completed if is_completed else X
    for_rows, for_columns = settings.n_neighbors
    row_candidates, column_candidates = None, None
    if needs_pairs:
        row_candidates, column_candidates = settings.n_candidates(X.shape)
    row_graph, row_pairs = _first_graph(points, for_rows, row_candidates)
    column_graph, column_pairs = _first_graph(points.T, for_columns, column_candidates)
    pairs = row_pairs, column_pairs
    del points
    if not needs_pairs:
        completed = None  # as large as X, and the first scale needs memory
    inputs = _prepare_pass(X, (row_graph, column_graph), pairs, settings, stride, like)
    return replace(inputs, completed=completed)


def _prepare_next_pass(
    inputs: PassInputs, swept: Sweep, settings: Settings, like: FirstScale | None
) -> PassInputs:
    """Return the inputs of the next pass, with graphs from the distances of the last."""
    row_graph, column_graph = (
        Graph.from_distances(distances, n_neighbors)
        for distances, n_neighbors in zip(
            swept.metric.distances(), settings.n_neighbors, strict=True
        )
    )
    graphs = row_graph, column_graph
    new = _prepare_pass(inputs.X, graphs, inputs.pairs, settings, inputs.stride, like)
    return replace(new, completed=inputs.completed)


def _prepare_pass(
    X: Array,
    graphs: tuple[Graph, Graph],
    pairs: PairsOfModes,
    settings: Settings,
    stride: int,
    like: FirstScale | None,
) -> PassInputs:
    """Return the inputs of a pass with these graphs; this solves the first scale."""
    surface = Surface(
        X,
        *graphs,
        SolverOptions(settings.penalty, settings.solver, settings.max_iter, settings.tol),
        continuation=settings.continuation,
        stride=stride,
        # Graphs of later passes are from distances over all scales.
        skip=settings.learns_weights and settings.n_passes == 1,
    )
    if like is not None and X.size > _LARGE:
        first = surface.solve_from(like.l, like.k, like.blocks.expand())
    elif like is not None:
        first = surface.solve(like.l, like.k)
    elif settings.start is not None:
        first = surface.solve(*settings.start)
    else:
        first = surface.start()
    return PassInputs(X, *graphs, pairs, stride, surface, surface.as_start(first))


def _first_graph(
    X: Array, n_neighbors: int, n_candidates: int | None
) -> tuple[Graph, Pairs | None]:
    """Return the nearest-neighbour graph of the rows, and their pairs if distances are sparse."""
    if n_candidates is None:
        return Graph.nearest_neighbors(X, n_neighbors), None
    candidates = CandidatePairs(X, n_candidates)
    return candidates.graph(n_neighbors), candidates.pairs
