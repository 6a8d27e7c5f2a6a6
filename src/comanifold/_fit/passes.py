"""The passes of a fit over a matrix in standard units: graphs, surface, distances, and again."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._parallel import check_backend, is_distributed, plain_interrupts
from .._tasks import Task, Tasks
from ..graphs import Graph
from ..metrics import MultiScaleMetric, add_variances
from ..model_selection import HeldOut, held_out_folds
from ..solvers import Scale
from ..trees import PartitionTree
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
from .prepare import CompletedMatrix, FirstScale, begin_passes, complete, prepare_next_pass
from .settings import Execution, Settings
from .sweep import (
    Blocks,
    CostWeights,
    Outputs,
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

# Each step takes memory for some copies of the matrix: those of larger matrices are taken one after
# the other, and only the paths of a surface at the same time.
MOST_ENTRIES_AT_ONCE = 10_000_000

# Completions without effects of rows and columns.
_PLAIN = tuple(kind for kind in PATH_KINDS if not kind.effects)


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
        same as `filled` if nothing is missing.
    row_distances, column_distances : ndarray or sparse array
    row_variances, column_variances : ndarray
        What is added to the squared distances of each row and column.
    held_out : HeldOutPredictions
    errors : ErrorModel
    row_tree, column_tree : PartitionTree, or None
        Over which the distances of the other mode are, if they are those of the tree metric.
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
    row_tree: PartitionTree | None = None
    column_tree: PartitionTree | None = None


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
    # If nothing is missing, distances are Euclidean for any weights, and lead to the same graphs:
    # there is one pass, and unless scales are kept, the first one is enough.
    has_missing = bool(np.isnan(X).any())
    settings = replace(settings, n_passes=settings.n_passes if has_missing else 1)
    execution.progress.expect(settings, X.shape, n_folds=len(folds), has_missing=has_missing)
    if is_distributed():
        execution = replace(execution, matrix=SharedMatrix(X))
    if folds:
        return _run_with_folds(X, folds, settings, execution, stride)
    matrix = execution.tasks.add(complete, X, settings)
    begun = begin_passes(matrix, settings, stride, execution.tasks)
    inputs = _prepare_last_pass(begun, settings, execution, "pass")
    weights: CostWeights | ScaleWeights
    weights = CostWeights(_PAPER_ALPHA if settings.learns_weights else settings.alpha)
    if settings.learns_weights and not has_missing and not settings.keep_scales:
        start = inputs.first.scale.l, inputs.first.scale.k
        weights = ScaleWeights({start: 1.0}, start, settings.traversal, stride)
    swept = _sweep_last_pass(inputs, weights, settings, execution)
    if settings.learns_weights:
        swept.normalise()
    execution.progress.begin_step("distances")
    nowhere = np.zeros(0, dtype=np.intp)
    held_out = HeldOutPredictions(nowhere, nowhere, nowhere, np.zeros(0))
    errors = ErrorModel.fit(np.zeros(0), nowhere, nowhere, X.shape)
    return _result(inputs, swept, [], held_out, errors)


def _run_with_folds(
    X: Array, folds: list[HeldOut], settings: Settings, execution: Execution, stride: int
) -> SurfaceResult:
    """Return the result of the last pass, with weights learned from the folds.

    What does not need a whole surface is a task, and begins as soon as it can (`Tasks`). This
    thread waits for them in the order of the stages, and solves the surfaces with the help of the
    others.
    """
    tasks, progress = execution.tasks, execution.progress
    rough = replace(settings, tol=max(settings.tol, _TOL_FOR_WEIGHTS), keep_scales=False)

    # The folds: completions, the best of them, graphs, first scale.
    paths = [{kind: tasks.add(predict_along_path, fold, kind) for kind in _PLAIN} for fold in folds]
    plain = [tasks.gather(of_fold) for of_fold in paths]
    choice = tasks.add(_best_completion, *plain)
    begun: list[Task] = []
    first = None
    for fold, of_fold in zip(folds, plain, strict=True):
        matrix = tasks.add(_complete_fold, fold, of_fold, choice)
        begun.append(begin_passes(matrix, rough, stride, tasks, first, is_fold=True))
        if settings.n_passes == 1:
            first = first or tasks.add(FirstScale.of, begun[0])
    del matrix  # results live as long as their tasks
    # Completions with effects, which only the weights need.
    kinds = PATH_KINDS if len(folds) > 1 else _PLAIN
    for fold, of_fold in zip(folds, paths, strict=True):
        of_fold |= _add_effects(fold, of_fold[FOR_GRAPHS], tasks, always=kinds == PATH_KINDS)
    # The whole matrix: completion, graphs, first scale.
    completed = tasks.add(_complete_from_fold, X, plain[0], choice)
    whole = begin_passes(completed, settings, stride, tasks, first)
    del plain

    for of_fold in paths:
        progress.begin_step("completing")
        for number, kind in enumerate(kinds, start=1):
            of_fold[kind].result()
            progress.part_done(number / len(kinds))
    judged: list[dict[Member, Array]] = []
    for number, fold in enumerate(folds, start=1):
        name = f"fold-{number}-pass"
        inputs = _prepare_last_pass(begun.pop(0), rough, execution, name, first)
        first = first or tasks.add(FirstScale.of, inputs)
        first.result()  # needs the inputs no longer
        inputs = replace(inputs, completed=None)
        judged.append(_judge(fold, number, inputs, rough, execution))
        del inputs  # as large as several copies of the matrix
    progress.begin_step("completing")
    needed = [_known(of_fold) for of_fold in paths]
    stacking, learned = _combine(folds, list(map(_members, needed, judged)))
    completions = [
        tasks.add(_add_completions, whole, needed[0][kind], steps, choice)
        for kind, steps in learned.completions.items()
    ]
    # Each path has a copy of the matrix; from here on only those with a weight are needed.
    del paths, needed, judged
    held_out = tasks.add(_predict_held_out, folds, stacking)
    errors = tasks.add(_fit_errors, folds, held_out, X.shape)
    completed.result()
    inputs = _prepare_last_pass(whole, settings, execution, "pass", first)
    start = first.result()
    weights = ScaleWeights(learned.scales, (start.l, start.k), settings.traversal, stride)
    del completed, whole, first, start
    swept = _sweep_last_pass(inputs, weights, settings, execution)
    progress.begin_step("distances")
    added: list[Completion] = []
    for number, task in enumerate(completions):
        metric, of_kind = task.result()
        completions[number] = None  # the sums are as large as the distances
        swept.metric.merge(metric)
        added += of_kind
    return _result(inputs, swept, added, held_out.result(), errors.result())


Member = tuple[int, int] | tuple[PathKind, int]


class _Weights(NamedTuple):
    """The weights of the members by scale, and by the kind and the step of a completion."""

    scales: dict[tuple[int, int], float]
    completions: dict[PathKind, dict[int, float]]


PathsOfFold = dict[PathKind, PredictedPath]

# The kind of a completion, and its step.
Choice = tuple[PathKind, int]


def _add_effects(fold: HeldOut, plain: Task, tasks: Tasks, *, always: bool) -> dict[PathKind, Task]:
    """Add the completion paths with effects of rows and columns to the tasks.

    Unless they are wanted always, the result is None for paths that are not needed:
    `_without_effects` would leave them out because they do not predict better than `plain`.
    """
    with_variance = PathKind(effects=True, variance=True)
    without_variance = PathKind(effects=True, variance=False)
    if always:
        kinds = without_variance, with_variance
        return {kind: tasks.add(predict_along_path, fold, kind) for kind in kinds}
    path = tasks.add(_predict_if_better, fold, without_variance, plain)
    return {
        without_variance: path,
        with_variance: tasks.add(_predict_if_needed, fold, with_variance, path),
    }


def _predict_if_better(fold: HeldOut, kind: PathKind, plain: PredictedPath) -> PredictedPath | None:
    """Return what a path predicts, or None if another predicts as well."""
    if not effects_gain(fold) > _NO_GAIN:
        return None
    path = predict_along_path(fold, kind)
    is_better = path.errors.min() < (1.0 - _NO_GAIN) * plain.errors.min() - _NO_ERROR
    return path if is_better else None


def _predict_if_needed(
    fold: HeldOut, kind: PathKind, other: PredictedPath | None
) -> PredictedPath | None:
    """Return what a path predicts, or None if there is none of another kind."""
    return None if other is None else predict_along_path(fold, kind)


def _known(tasks: dict[PathKind, Task]) -> PathsOfFold:
    """Return the paths that were needed."""
    paths = {kind: task.result() for kind, task in tasks.items()}
    return {kind: path for kind, path in paths.items() if path is not None}


def _best_completion(*paths: PathsOfFold) -> Choice:
    """Return the kind and the step of the completion with the least error over all folds.

    Without effects of rows and columns: see `_without_effects`.
    """
    found = []
    for kind in _PLAIN:
        errors = [of_fold[kind].errors for of_fold in paths]
        total = sum(error[: min(map(len, errors))] for error in errors)
        found.append((float(total.min()), kind, int(np.argmin(total))))
    _, kind, step = min(found, key=lambda one: one[0])
    return kind, step


def _complete_fold(fold: HeldOut, paths: PathsOfFold, choice: Choice) -> CompletedMatrix:
    """Return the matrix without the entries of a fold, completed at the best step of a path."""
    rest = fold.rest()
    return CompletedMatrix(rest, paths[choice[0]].best.filled(rest))


def _complete_from_fold(X: Array, paths: PathsOfFold, choice: Choice) -> CompletedMatrix:
    """Return the whole matrix, completed at a step of a path from that of a fold."""
    kind, step = choice
    return CompletedMatrix(X, continue_path(X, paths[kind].best, step).filled(X))


def _judge(
    fold: HeldOut, number: int, inputs: PassInputs, settings: Settings, execution: Execution
) -> dict[Member, Array]:
    """Return what each scale predicts for the entries of a fold, fitted without them."""
    execution.progress.begin_step("learning weights")
    name = f"fold-{number}-pass-{settings.n_passes}"
    outputs = Outputs(metric=False, entries=(fold.rows, fold.columns))
    weights = CostWeights(_PAPER_ALPHA)
    swept = sweep(inputs, weights, settings, execution, name=name, outputs=outputs)
    execution.progress.end_pass(f"fold {number}", swept.scales)
    return {
        (scale.l, scale.k): predicted
        for scale, predicted in zip(swept.scales, swept.predictions, strict=True)
    }


def _members(paths: PathsOfFold, scales: dict[Member, Array]) -> dict[Member, Array]:
    """Return the predictions of the completions and scales of a fold."""
    completions: dict[Member, Array] = {
        (kind, step): predicted
        for kind, path in paths.items()
        for step, predicted in enumerate(path.predictions)
    }
    return completions | scales


def _combine(folds: list[HeldOut], judged: list[dict[Member, Array]]) -> tuple[Stacking, _Weights]:
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
    learned = _Weights({}, {})
    for member, weight in zip(members, weights, strict=True):
        if weight <= 0.0:
            continue
        if isinstance(member[0], PathKind):
            learned.completions.setdefault(member[0], {})[member[1]] = float(weight)
        else:
            learned.scales[member] = float(weight)
    return stacking, learned


def _predict_held_out(folds: list[HeldOut], stacking: Stacking) -> HeldOutPredictions:
    """Return what the combination predicts for the entries of all folds."""
    rows, columns = (np.concatenate([getattr(f, at) for f in folds]) for at in ("rows", "columns"))
    numbers = np.concatenate([np.full(len(f.values), i) for i, f in enumerate(folds)])
    return HeldOutPredictions(rows, columns, numbers, stacking.cross_fitted())


def _fit_errors(
    folds: list[HeldOut], held_out: HeldOutPredictions, shape: tuple[int, int]
) -> ErrorModel:
    """Return the errors of filled-in entries, from those of the entries of all folds."""
    residuals = held_out.predicted - np.concatenate([fold.values for fold in folds])
    return ErrorModel.fit(residuals, held_out.rows, held_out.columns, shape)


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
    inputs: PassInputs, of_fold: PredictedPath, weights: dict[int, float], choice: Choice
) -> tuple[MultiScaleMetric, list[Completion]]:
    """Return the sums of the steps of a completion path that have a weight, and these steps.

    They are solved from those without the entries of a fold. By `choice` the matrix is completed
    already.
    """
    X, kind = inputs.X, of_fold.best.kind
    metric, completions = MultiScaleMetric(X, inputs.pairs), []
    labels = np.arange(X.shape[0]), np.arange(X.shape[1])
    if choice[0] == kind and weights.keys() == {choice[1]}:
        ((step, weight),) = weights.items()
        metric.add(inputs.completed, *labels, weight)
        return metric, [Completion(kind.effects, kind.variance, step, weight)]
    path = continue_path(X, of_fold.best, min(weights))
    for step in range(min(weights), max(weights) + 1):
        if step > min(weights):
            path.solve(step)
        if step in weights:
            metric.add(path.estimate(), *labels, weights[step])
            completions.append(Completion(kind.effects, kind.variance, step, weights[step]))
    return metric, completions


def _result(
    inputs: PassInputs,
    swept: Sweep,
    completions: list[Completion],
    held_out: HeldOutPredictions,
    errors: ErrorModel,
) -> SurfaceResult:
    """Return the result of a fit."""
    metric = swept.metric
    filled, missing = metric.filled, np.isnan(inputs.X)
    of_modes = [
        metric.total_weight**2 * mode_variances(errors, missing, mode) for mode in ("row", "column")
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
        filled=filled,
        completed=_completed(inputs) if missing.any() else filled,
        row_distances=row_distances,
        column_distances=column_distances,
        row_variances=of_modes[0],
        column_variances=of_modes[1],
        held_out=held_out,
        errors=errors,
    )


def _completed(inputs: PassInputs) -> Array:
    """Return the matrix filled in by a Gaussian model."""
    return complete_for_graphs(inputs.X) if inputs.completed is None else inputs.completed


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
    begun: Task,
    settings: Settings,
    execution: Execution,
    name: str,
    like: Task | None = None,
) -> PassInputs:
    """Return the inputs of the last pass, after all passes before it.

    Earlier passes have the weights of the paper.

    Parameters
    ----------
    begun : Task
        The inputs of the first pass.
    like : Task, optional
        The first scale of the last pass over a similar matrix; this one begins with the same.
    """
    execution.progress.begin_step("graphs")
    inputs = begun.result()
    alpha = _PAPER_ALPHA if settings.learns_weights else settings.alpha
    for number in range(1, settings.n_passes):
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
        is_last = number == settings.n_passes - 1
        first = like.result() if is_last and like is not None else None
        inputs = prepare_next_pass(inputs, swept, settings, first)
    return inputs
