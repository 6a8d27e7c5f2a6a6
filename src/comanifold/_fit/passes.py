"""The passes of a fit over a matrix in standard units: graphs, surface, distances, and again."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._parallel import (
    check_backend,
    in_background,
    in_threads,
    is_distributed,
    plain_interrupts,
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
    CompletionPath,
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
_TOL_FOR_WEIGHTS = 1e-2

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
    n_passes = settings.n_passes if np.isnan(X).any() else 1
    settings = replace(settings, n_passes=n_passes)
    execution.progress.expect_passes(n_passes * (1 + len(folds)))
    if is_distributed():
        execution = replace(execution, matrix=SharedMatrix(X))
    if not folds:
        inputs = prepare_first_pass(X, settings, stride, n_jobs=execution.n_jobs)
        inputs = _prepare_last_pass(inputs, settings, execution, "pass")
        alpha = _PAPER_ALPHA if settings.learns_weights else settings.alpha
        swept = _sweep_last_pass(inputs, CostWeights(alpha), settings, execution)
        if settings.learns_weights:
            swept.normalise()
        return _result(inputs, swept, [], _Judgement.empty(X.shape))
    all_kinds = len(folds) > 1  # of small matrices, for which they take little time
    n_jobs = _n_jobs_for(X.shape, execution)
    paths = _complete_folds(folds, n_jobs, all_kinds=all_kinds)
    kind, step = _best_completion(paths)
    rough = replace(settings, tol=max(settings.tol, _TOL_FOR_WEIGHTS), keep_scales=False)

    def prepare(number: int, like: Solved | None) -> PassInputs:
        """Return the inputs of the last pass over the matrix without the entries of a fold."""
        rest = folds[number].rest()
        completed = paths[number][kind].best.filled(rest)
        first_like = _like_of_first_pass(rough, like)
        inputs = prepare_first_pass(rest, rough, stride, completed, first_like)
        return _prepare_last_pass(inputs, rough, execution, f"fold-{number + 1}-pass", like)

    def complete() -> tuple[PathsOfFold, _Graphs]:
        """Return the paths that are left to compute, and the graphs of the whole matrix."""
        more_paths = {} if all_kinds else _paths_with_effects(folds[0], paths[0])
        completed = continue_path(X, paths[0][kind].best, step).filled(X)
        return more_paths, _first_graphs(X, settings, completed)

    # With several workers, the whole matrix is prepared while the surface of the first fold is, and
    # its first scale is solved while the surfaces of the folds are swept.
    with in_background(complete, n_jobs=n_jobs) as result:
        inputs = prepare(0, None)
        more_paths, graphs = result()
    paths[0] = paths[0] | more_paths
    first = inputs.first
    whole = X, graphs, settings, stride, _like_of_first_pass(settings, first)
    judged: list[dict[Member, Array]] = []
    with in_background(_prepare_pass, *whole, n_jobs=n_jobs) as result:
        for number, (fold, path) in enumerate(zip(folds, paths, strict=True)):
            if number > 0:
                inputs = prepare(number, first)
            judged.append(_judge(fold, number + 1, inputs, path, rough, execution))
        inputs = result()
    inputs = _prepare_last_pass(inputs, settings, execution, "pass", first)
    judgement = _combine(folds, judged, X.shape)
    start = first.scale.l, first.scale.k
    weights = ScaleWeights(judgement.scale_weights, start, settings.traversal, stride)
    of_completions = judgement.completion_weights
    with in_background(_first_completions, X, of_completions, paths[0], n_jobs=n_jobs) as result:
        swept = _sweep_last_pass(inputs, weights, settings, execution)
        completions = _add_completions(of_completions, result(), swept)
    return _result(inputs, swept, completions, judgement)


Member = tuple[int, int] | tuple[PathKind, int]


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


def _n_jobs_for(shape: tuple[int, int], execution: Execution) -> int | None:
    """Return the number of workers for steps that need memory for some copies of the matrix."""
    return 1 if shape[0] * shape[1] > _MOST_ENTRIES_AT_ONCE else execution.n_jobs


def _complete_folds(
    folds: list[HeldOut], n_jobs: int | None, *, all_kinds: bool
) -> list[PathsOfFold]:
    """Return completion paths of the matrix without the entries of each fold.

    Unless all kinds are wanted, those without effects of rows and columns; see
    `_paths_with_effects` for the others.
    """
    kinds = [kind for kind in PATH_KINDS if all_kinds or not kind.effects]
    calls = [(predict_along_path, (fold, kind)) for fold in folds for kind in kinds]
    found = iter(in_threads(calls, n_jobs=n_jobs))
    return [{kind: next(found) for kind in kinds} for _ in folds]


def _paths_with_effects(fold: HeldOut, without: PathsOfFold) -> PathsOfFold:
    """Return the completion paths with effects of rows and columns that may be needed.

    `_without_effects` leaves them out where they do not predict better than those `without`.
    """
    if effects_gain(fold) <= _NO_GAIN:
        return {}
    kinds = PathKind(effects=True, variance=False), PathKind(effects=True, variance=True)
    paths = {kinds[0]: predict_along_path(fold, kinds[0])}
    least = without[FOR_GRAPHS].errors.min()
    if paths[kinds[0]].errors.min() >= (1.0 - _NO_GAIN) * least - _NO_ERROR:
        return {}
    return paths | {kinds[1]: predict_along_path(fold, kinds[1])}


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
    execution.progress.begin_pass("learning weights")
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


def _first_completions(
    X: Array, weights: dict[PathKind, dict[int, float]], paths: PathsOfFold
) -> dict[PathKind, CompletionPath]:
    """Return the paths of X at the first completion that has a weight.

    They are solved from those without the entries of a fold.
    """
    return {kind: continue_path(X, paths[kind].best, min(steps)) for kind, steps in weights.items()}


def _add_completions(
    weights: dict[PathKind, dict[int, float]], paths: dict[PathKind, CompletionPath], swept: Sweep
) -> list[Completion]:
    """Add the completions that have a weight to the distances; return them."""
    completions = []
    for kind, steps in weights.items():
        path = paths[kind]
        for step in range(min(steps), max(steps) + 1):
            if step > min(steps):
                path.solve(step)
            if step not in steps:
                continue
            estimate = path.estimate()
            labels = np.arange(estimate.shape[0]), np.arange(estimate.shape[1])
            swept.metric.add(estimate, *labels, steps[step])
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
    execution.progress.begin_pass("solving")
    outputs = Outputs(keep_scales=settings.keep_scales)
    name = f"pass-{settings.n_passes}"
    if isinstance(weights, ScaleWeights):  # saved parts are sums with these weights
        name += f"-{weights.digest}"
    swept = sweep(inputs, weights, settings, execution, name=name, outputs=outputs)
    title = f"pass {settings.n_passes} of {settings.n_passes}"
    execution.progress.end_pass(title, swept.scales)
    return swept


def _like_of_first_pass(settings: Settings, like: Solved | None) -> Solved | None:
    """Return the scale that the first pass begins like, if that is the last pass."""
    return like if settings.n_passes == 1 else None


def _prepare_last_pass(
    inputs: PassInputs,
    settings: Settings,
    execution: Execution,
    name: str,
    like: Solved | None = None,
) -> PassInputs:
    """Return the inputs of the last pass from those of the first, after all passes before it.

    Earlier passes have the weights of the paper.

    Parameters
    ----------
    like : Solved, optional
        The first scale of the last pass over a similar matrix; this one begins with the same.
    """
    alpha = _PAPER_ALPHA if settings.learns_weights else settings.alpha
    for number in range(1, settings.n_passes):
        execution.progress.begin_pass("solving" if name == "pass" else "learning weights")
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
        next_like = like if number == settings.n_passes - 1 else None
        inputs = _prepare_next_pass(inputs, swept, settings, next_like)
    return inputs


@dataclass(frozen=True)
class _Graphs:
    """The graphs of a pass, the pairs that have distances, and the matrix filled in.

    Attributes
    ----------
    of_modes : pair of Graph
        Of the rows and of the columns.
    pairs : pair of Pairs or None
    completed : ndarray of shape (n_rows, n_columns), or None
        See `PassInputs`.
    """

    of_modes: tuple[Graph, Graph]
    pairs: PairsOfModes
    completed: Array | None


def prepare_first_pass(
    X: Array,
    settings: Settings,
    stride: int,
    completed: Array | None = None,
    like: Solved | None = None,
    *,
    n_jobs: int | None = 1,
) -> PassInputs:
    """Return the inputs of the first pass; graphs from X, or from X filled in."""
    first_graphs = _first_graphs(X, settings, completed, n_jobs)
    return _prepare_pass(X, first_graphs, settings, stride, like)


def _first_graphs(
    X: Array, settings: Settings, completed: Array | None, n_jobs: int | None = 1
) -> _Graphs:
    """Return the graphs of the first pass; `completed` is X filled in, if that is known."""
    points = X
    if settings.first_graphs == "completed" and np.isnan(X).any():
        completed = complete_for_graphs(X) if completed is None else completed
        points = completed
    n_candidates = settings.n_candidates(X.shape)
    modes = zip((points, points.T), settings.n_neighbors, n_candidates, strict=True)
    (row_graph, row_pairs), (column_graph, column_pairs) = in_threads(
        ((_first_graph, arguments) for arguments in modes), n_jobs=n_jobs
    )
    return _Graphs((row_graph, column_graph), (row_pairs, column_pairs), completed)


def _prepare_next_pass(
    inputs: PassInputs, swept: Sweep, settings: Settings, like: Solved | None
) -> PassInputs:
    """Return the inputs of the next pass, with graphs from the distances of the last."""
    row_graph, column_graph = (
        Graph.from_distances(distances, n_neighbors)
        for distances, n_neighbors in zip(
            swept.metric.distances(), settings.n_neighbors, strict=True
        )
    )
    graphs = _Graphs((row_graph, column_graph), inputs.pairs, inputs.completed)
    return _prepare_pass(inputs.X, graphs, settings, inputs.stride, like)


def _prepare_pass(
    X: Array,
    graphs: _Graphs,
    settings: Settings,
    stride: int,
    like: Solved | None,
) -> PassInputs:
    """Return the inputs of a pass with these graphs; this solves the first scale."""
    surface = Surface(
        X,
        *graphs.of_modes,
        SolverOptions(settings.penalty, settings.solver, settings.max_iter, settings.tol),
        continuation=settings.continuation,
        stride=stride,
        skip=settings.learns_weights,
    )
    if like is not None and X.size > _LARGE:
        first = surface.solve_like(like)
    elif like is not None:
        first = surface.solve(like.scale.l, like.scale.k)
    elif settings.start is not None:
        first = surface.solve(*settings.start)
    else:
        first = surface.start()
    return PassInputs(X, *graphs.of_modes, graphs.pairs, stride, surface, first, graphs.completed)


def _first_graph(
    X: Array, n_neighbors: int, n_candidates: int | None
) -> tuple[Graph, Pairs | None]:
    """Return the nearest-neighbour graph of the rows, and their pairs if distances are sparse."""
    if n_candidates is None:
        return Graph.nearest_neighbors(X, n_neighbors), None
    candidates = CandidatePairs(X, n_candidates)
    return Graph.from_distances(candidates.distances, n_neighbors), candidates.pairs
