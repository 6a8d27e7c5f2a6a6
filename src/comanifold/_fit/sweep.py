"""From the solution surface to distances: scales are solved, weighted, added up and discarded."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._parallel import (
    StopFlag,
    in_parallel,
    is_distributed,
    map_in_threads,
    share,
    shared,
    single_threaded_blas,
)
from ..graphs import Graph, Pairs
from ..metrics import MultiScaleMetric
from ..solvers import TRAVERSALS, Scale, Solved, Step, Surface
from .messages import PackedMatrix, SentBlocks, SentStart, SentSurface, SharedMatrix

if TYPE_CHECKING:
    from .settings import Execution, Settings

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

# Weights of the scales of paths, by direction and then by the number of steps.
PathWeights = dict[Step, dict[int, float]]

# Weights up to two to this power leave room for distances in any units.
_LARGEST_EXPONENT = 500


class CostWeights:
    """The paper's weights, (row cost times column cost)^alpha."""

    def __init__(self, alpha: float):
        self.alpha = alpha

    def __call__(self, l: int, k: int) -> float:
        exponent = self.alpha * (l + k)
        if abs(exponent) > _LARGEST_EXPONENT:
            raise ValueError(
                f"alpha={self.alpha:g} gives the scale ({l}, {k}) a weight of 2^{exponent:g}, so "
                "that distances overflow or vanish: choose an alpha nearer to 0"
            )
        return 2.0**exponent


class ScaleWeights:
    """Weights of single scales; all others have none and need not be solved.

    Parameters
    ----------
    weights : dict of float by (l, k)
    first : tuple of int
        The exponents (l, k) of the first scale.
    traversal : str
    stride : int
        Doublings of a cost from one scale to the next.

    Attributes
    ----------
    starts : frozenset of int
        Numbers of steps along the chain from which paths are needed.
    digest : str
        Different for different weights.
    """

    def __init__(
        self,
        weights: dict[tuple[int, int], float],
        first: tuple[int, int],
        traversal: str,
        stride: int,
    ):
        self._chain, self._directions = TRAVERSALS[traversal]
        # The steps along the chain to the start, and from there in l and in k.
        self._places: list[tuple[int, Step, float]] = []
        for (l, k), weight in weights.items():
            steps = (l - first[0]) // stride, (k - first[1]) // stride
            number = min(n for n, chained in zip(steps, self._chain, strict=True) if chained)
            left = steps[0] - number * self._chain[0], steps[1] - number * self._chain[1]
            self._places.append((number, left, weight))
        self.starts = frozenset(number for number, *_ in self._places) or frozenset([0])
        self.digest = sha256(repr(sorted(self._places)).encode()).hexdigest()[:8]

    def from_start(self, number: int, fused: tuple[bool, bool], is_last: bool) -> PathWeights:
        """Return the weights of the scales of each path from a start of the chain.

        They are given by the number of steps from that start. The surface may end earlier than
        those by which the weights were learned: the last start takes the places past the end of
        the chain, and the cost of a mode that is one cluster makes no difference.

        Parameters
        ----------
        number : int
            The steps along the chain to the start.
        fused : pair of bool
            Whether the rows, and the columns, are one cluster there.
        is_last : bool
            Whether the chain ends there.
        """
        on_paths: PathWeights = {direction: {} for direction in self._directions}
        for place, left, weight in self._places:
            past = place - number
            if past != 0 and not (is_last and past > 0):
                continue
            l, k = (0 if fused[mode] else past * self._chain[mode] + left[mode] for mode in (0, 1))
            direction = (0, 1) if k else (1, 0) if l else self._directions[0]
            on_path = on_paths[direction]
            on_path[max(l, k)] = on_path.get(max(l, k), 0.0) + weight
        return on_paths


Weights = CostWeights | ScaleWeights
PairsOfModes = tuple[Pairs | None, Pairs | None]

# The scales of a path and their sums, as they are saved and sent between processes.
Part = tuple[list[Scale], dict[str, Array]]


@dataclass(frozen=True)
class Blocks:
    """An estimate that is constant on blocks: values[row_labels][:, column_labels].

    Attributes
    ----------
    values : ndarray of shape (n_row_clusters, n_column_clusters)
    row_labels, column_labels : ndarray of int
        The cluster of each row and of each column.
    """

    values: Array
    row_labels: Labels
    column_labels: Labels

    @classmethod
    def of(cls, solved: Solved) -> "Blocks":
        """Return the estimate of a scale."""
        iterate = solved.iterate
        return cls(iterate.V, iterate.row_labels, iterate.column_labels)

    def at(self, rows: Labels, columns: Labels) -> Array:
        """Return the estimate of some entries."""
        return self.values[self.row_labels[rows], self.column_labels[columns]]

    def expand(self) -> Array:
        """Return the estimate as a full matrix."""
        return self.values[np.ix_(self.row_labels, self.column_labels)]


@dataclass(frozen=True)
class PassInputs:
    """The inputs of a pass over a matrix in standard units.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_columns)
    row_graph, column_graph : Graph
    pairs : pair of Pairs or None
        The pairs of rows and of columns whose distances are computed; None for all pairs.
    stride : int
        Doublings of a cost from one scale to the next.
    surface : Surface
    first : Solved
        The first scale of the surface.
    completed : ndarray of shape (n_rows, n_columns), or None
        X filled in by a Gaussian model, if the first graphs were built from that.
    """

    X: Array
    row_graph: Graph
    column_graph: Graph
    pairs: PairsOfModes
    stride: int
    surface: Surface
    first: Solved
    completed: Array | None = None


@dataclass(frozen=True)
class Outputs:
    """What a sweep returns besides its scales.

    Attributes
    ----------
    keep_scales : bool
        The estimate of each scale, as blocks.
    metric : bool
        Sums of distances and of estimates.
    entries : pair of ndarray of int, or None
        Rows and columns of entries at which each scale is evaluated.
    """

    keep_scales: bool = False
    metric: bool = True
    entries: tuple[Labels, Labels] | None = None

    def needs(self, weight: float) -> bool:
        """Return whether the estimate of a scale with this weight is needed."""
        return self.keep_scales or self.entries is not None or (self.metric and weight > 0.0)


class Sweep:
    """Accumulates the scales of a surface, or of a part of it.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
    pairs : pair of Pairs or None
    outputs : Outputs

    Attributes
    ----------
    scales : list of Scale
    blocks : list of Blocks, or None
        The estimate of each scale, if scales are kept.
    metric : MultiScaleMetric, or None
        The sums of the distances, if they are needed.
    predictions : list of ndarray, or None
        The estimate of each scale at the entries that are asked for.
    """

    def __init__(self, X: Array, pairs: PairsOfModes, outputs: Outputs):
        self.scales: list[Scale] = []
        self.blocks: list[Blocks] | None = [] if outputs.keep_scales else None
        self.metric = MultiScaleMetric(X, pairs) if outputs.metric else None
        self.predictions: list[Array] | None = None if outputs.entries is None else []
        self._entries = outputs.entries

    def add(self, scale: Scale, blocks: Blocks) -> None:
        """Add a scale, which has its weight, and its estimate."""
        self.scales.append(scale)
        if self.metric is not None and scale.weight > 0.0:
            self.metric.add(blocks.values, blocks.row_labels, blocks.column_labels, scale.weight)
        if self.blocks is not None:
            self.blocks.append(blocks)
        if self.predictions is not None:
            self.predictions.append(blocks.at(*self._entries))

    def add_predictions(self, scale: Scale, predictions: Array) -> None:
        """Add a scale of which nothing but predictions is needed."""
        self.scales.append(scale)
        self.predictions.append(predictions)

    def merge(self, other: "Sweep") -> None:
        """Add the scales of another part of the same surface."""
        self.scales.extend(other.scales)
        if self.blocks is not None:
            self.blocks.extend(other.blocks)
        if self.metric is not None:
            self.metric.merge(other.metric)
        if self.predictions is not None:
            self.predictions.extend(other.predictions)

    def normalise(self) -> None:
        """Divide all weights by their sum, so that distances are means over the scales."""
        total = self.metric.total_weight
        self.metric.normalise()
        self.scales = [replace(scale, weight=scale.weight / total) for scale in self.scales]

    def arrays(self) -> dict[str, Array]:
        """Return everything but the scales as arrays, to be saved."""
        arrays = {} if self.metric is None else self.metric.sums()
        for i, blocks in enumerate(self.blocks or []):
            arrays |= {f"{key}{i}": value for key, value in vars(blocks).items()}
        if self.predictions is not None:
            n_entries = len(self._entries[0])
            arrays["predictions"] = np.reshape(self.predictions, (len(self.scales), n_entries))
        return arrays

    def restore(self, scales: list[Scale], arrays: dict[str, Array]) -> "Sweep":
        """Restore what `arrays` returned for these scales; return self."""
        keys = ("values", "row_labels", "column_labels")
        needed = {} if self.metric is None else self.metric.sums()
        if self.blocks is not None:
            needed |= {f"{key}{i}": None for key in keys for i in range(len(scales))}
        if self.predictions is not None:
            needed["predictions"] = np.empty((len(scales), len(self._entries[0])))
        for name, like in needed.items():
            if name not in arrays or (like is not None and arrays[name].shape != like.shape):
                raise ValueError(f"{name!r} of a saved part does not fit: delete the saved parts")
        self.scales = scales
        if self.metric is not None:
            self.metric.restore(arrays)
        if self.blocks is not None:
            self.blocks = [
                Blocks(*(arrays[f"{key}{i}"] for key in keys)) for i in range(len(scales))
            ]
        if self.predictions is not None:
            self.predictions = list(arrays["predictions"])
        return self


@dataclass(frozen=True)
class _SharedInputs:
    """Inputs that all paths of a surface share."""

    surface: Surface
    X: Array
    pairs: PairsOfModes
    outputs: Outputs
    stop: StopFlag

    def empty_sweep(self) -> Sweep:
        return Sweep(self.X, self.pairs, self.outputs)


def sweep(
    inputs: PassInputs,
    weights: Weights,
    settings: "Settings",
    execution: "Execution",
    *,
    name: str,
    outputs: Outputs,
) -> Sweep:
    """Solve a surface from its first scale to one cluster; return the sums over all scales.

    With `ScaleWeights`, and unless scales are kept, only the ways to the scales that have a weight
    are solved. The tasks are the paths of the surface, and their sums are added in the order of the
    surface, so that the result has the same bits for any number of workers. A checkpoint saves
    finished paths under `name`.
    """
    surface, checkpoint, traversal = inputs.surface, execution.checkpoint, settings.traversal
    _, directions = TRAVERSALS[traversal]
    common = _SharedInputs(surface, inputs.X, inputs.pairs, outputs, StopFlag())
    tasks = (_RemoteTasks if is_distributed() else _LocalTasks)(common, inputs, execution)
    needed = weights.starts if isinstance(weights, ScaleWeights) else frozenset()
    farthest = max(needed) if needed and not outputs.keep_scales else np.inf
    starts = _numbered(surface, inputs.first, traversal, needed, farthest)
    places: list[str] = []
    numbers: list[int] = []  # of the starts of the paths
    finished = False

    def paths() -> Iterator:
        for number, solved, is_last in starts:
            fused = surface.is_fused(solved, 0), surface.is_fused(solved, 1)
            start = _Start(number, solved, surface.is_large(solved))
            if isinstance(weights, ScaleWeights):
                of_paths = weights.from_start(number, fused, is_last)
            for direction in directions:
                if finished:
                    return
                # The scale at which paths start is counted with the first of them.
                with_start = direction == directions[0]
                of_path: CostWeights | dict[int, float] = weights
                if isinstance(weights, ScaleWeights):
                    of_path = of_paths[direction]
                    is_first = with_start and number == 0  # there is at least one scale
                    if not (outputs.keep_scales or of_path or is_first):
                        continue
                place = f"{name}-{solved.scale.l}_{solved.scale.k}-{'lk'[direction[1]]}"
                places.append(place)
                numbers.append(number)
                if checkpoint is not None and checkpoint.has(place):
                    yield _saved_path, (place,)
                else:
                    yield tasks.call(start, _Path(place, direction, with_start, of_path))
            del start, solved  # large, and not needed while the next is solved

    total = common.empty_sweep()
    done: dict[str, Part | None] = {}
    n_added = 0
    parallel = in_parallel(
        paths(), n_jobs=execution.n_jobs, stop=common.stop, tasks=execution.tasks
    )
    with parallel as results:
        for place, part in tasks.parts(results):
            # Saved by this process, because workers may be on another machine.
            if checkpoint is not None and part is not None:
                checkpoint.save(place, *part)
            done[place] = part
            execution.progress.path_done()
            while not finished and n_added < len(places) and places[n_added] in done:
                place = places[n_added]
                scales, arrays = done.pop(place) or checkpoint.load(place)
                total.merge(common.empty_sweep().restore(scales, arrays))
                # Algorithm 2 ends with the first path that leaves one row cluster.
                finished = (
                    traversal == "paper"
                    and scales[-1].n_row_clusters <= surface.fewest[0]
                    and numbers[n_added] >= max(needed, default=0)
                )
                n_added += 1
                # Some copies of the matrix: joblib keeps a result until it has the next.
                arrays.clear()
    return total


def _numbered(
    surface: Surface, first: Solved, traversal: str, needed: Collection[int], farthest: float
) -> Iterator[tuple[int, Solved, bool]]:
    """Yield the number of steps to each scale of a chain, the scale, and whether it is the last.

    No further than a number of steps. No scale is solved before it is asked for: the paths from
    the one before it need the memory.
    """
    for solved in surface.chain(first, traversal, needed):
        n_steps = _steps_between(surface, first, solved)
        is_last = n_steps >= farthest or surface.ends_at(solved, n_steps, traversal)
        yield n_steps, solved, is_last
        if is_last:
            return


def _steps_between(surface: Surface, start: Solved, solved: Solved) -> int:
    """Return the number of steps from one scale to another in one direction."""
    return max(solved.scale.l - start.scale.l, solved.scale.k - start.scale.k) // surface.stride


def _saved_path(place: str) -> tuple[str, None]:
    """Return the position of a path that the checkpoint contains."""
    return place, None


@dataclass(frozen=True)
class _Start:
    """A scale of the chain, its number of steps from the first, and whether it has many blocks."""

    number: int
    solved: Solved
    is_large: bool


@dataclass(frozen=True)
class _Path:
    """A path of a surface: its position, direction, whether its start counts, and its weights."""

    place: str
    direction: Step
    with_start: bool
    weights: CostWeights | dict[int, float]


class _LocalTasks:
    """Calls that solve paths in this process, or in others of this machine."""

    def __init__(self, common: _SharedInputs, inputs: PassInputs, execution: "Execution"):  # noqa: ARG002
        self._common = common

    def call(self, start: _Start, path: _Path) -> tuple[Any, tuple]:
        """Return the function that solves a path, and its arguments."""
        return _solve_path, (self._common, start.solved, path)

    def parts(self, results: Iterator[tuple[str, Part | None]]) -> Iterator:
        """Yield the position and the sums of each path from its result."""
        return results


def _solve_path(common: _SharedInputs, start: Solved, path: _Path) -> tuple[str, Part]:
    """Return the sums over the scales of a path, with or without the one it starts from."""
    part = common.empty_sweep()
    # The thread limit of the calling process does not apply to other processes.
    with single_threaded_blas():
        for solved, weight in _weighted(common, start, path):
            part.add(replace(solved.scale, weight=weight), Blocks.of(solved))
            if common.stop.is_up:
                break
    return path.place, (part.scales, part.arrays())


# The estimate of a scale as a cluster returns it: blocks, predictions, or None for one that is not
# needed or known already because it is the start of the path.
_Estimate = SentBlocks | Array | None


class _RemoteTasks:
    """Calls that solve paths on the workers of a cluster, and send little.

    Sums of distances have the size of some copies of the matrix for each path. The workers send
    estimates on blocks instead, and threads of this process take the sums.
    """

    def __init__(self, common: _SharedInputs, inputs: PassInputs, execution: "Execution"):
        matrix = execution.matrix or SharedMatrix(inputs.X)
        graphs = inputs.row_graph, inputs.column_graph
        sent = SentSurface(inputs.surface, matrix.left_out(inputs.X), graphs, inputs.first)
        self._common, self._n_jobs = common, execution.n_jobs
        self._shared = matrix.handle, share(sent), share(common.outputs)
        # The starts of paths that are not finished; shared ones are sent once for all directions.
        self._starts: dict[str, Solved] = {}
        self._last: tuple[_Start | None, Any] = None, None

    def call(self, start: _Start, path: _Path) -> tuple[Any, tuple]:
        """Return the function that solves a path, and its arguments."""
        self._starts[path.place] = start.solved
        if self._last[0] is not start:
            self._last = start, self._sent(start)
        return _solve_remote_path, (*self._shared, self._last[1], path)

    def _sent(self, start: _Start) -> Any:
        if start.number == 0 and start.is_large:
            return None  # sent with the surface
        sent = SentStart.pack(start.solved, with_problem=not start.is_large)
        return share(sent) if start.is_large else sent

    def parts(self, results: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Part | None]]:
        """Yield the position and the sums of each path from its result."""
        return map_in_threads(self._sums, results, n_jobs=self._n_jobs)

    def _sums(self, place: str, part: Any) -> tuple[str, Part | None]:
        start = self._starts.pop(place, None)
        if part is None:
            return place, None
        sums = self._common.empty_sweep()
        for scale, estimate in zip(*part, strict=True):
            if isinstance(estimate, np.ndarray):
                sums.add_predictions(scale, estimate)
            elif isinstance(estimate, SentBlocks):
                sums.add(scale, Blocks(*estimate.unpack()))
            else:  # the start, or of no weight
                sums.add(scale, Blocks.of(start))
        return place, (sums.scales, sums.arrays())


def _solve_remote_path(
    matrix: Any, surface: Any, outputs: Any, start: Any, path: _Path
) -> tuple[str, tuple[list[Scale], list[_Estimate]]]:
    """Return the scales of a path and their estimates.

    The arguments are handles, or what is sent: a `PackedMatrix`, a `SentSurface`, the `Outputs`,
    and a `SentStart` or None for the first scale of the surface.
    """
    packed: PackedMatrix = shared(matrix)
    X, unpacked, first = shared(surface).unpack(packed)
    of_sweep: Outputs = shared(outputs)
    common = _SharedInputs(unpacked, X, (None, None), of_sweep, StopFlag())
    solved_start = first if start is None else shared(start).unpack(unpacked)
    scales: list[Scale] = []
    estimates: list[_Estimate] = []
    with single_threaded_blas():
        for solved, weight in _weighted(common, solved_start, path):
            scales.append(replace(solved.scale, weight=weight))
            is_needed = of_sweep.needs(weight) and solved is not solved_start
            estimates.append(_sent_estimate(Blocks.of(solved), of_sweep) if is_needed else None)
    return path.place, (scales, estimates)


def _sent_estimate(blocks: Blocks, outputs: Outputs) -> _Estimate:
    """Return blocks or predictions, whichever has fewer bytes."""
    sent = SentBlocks.pack(blocks.values, blocks.row_labels, blocks.column_labels)
    if outputs.keep_scales or outputs.metric or outputs.entries is None:
        return sent
    n_entries = len(outputs.entries[0])
    return sent if sent.nbytes < 8 * n_entries else blocks.at(*outputs.entries)


def _weighted(
    common: _SharedInputs, start: Solved, of_path: _Path
) -> Iterator[tuple[Solved, float]]:
    """Yield the scales of a path with their weights; those past its end go to its last scale."""
    surface, weights = common.surface, of_path.weights
    direction, with_start = of_path.direction, of_path.with_start
    if isinstance(weights, CostWeights):
        path = chain([start] if with_start else [], surface.path(start, direction))
        yield from ((solved, weights(solved.scale.l, solved.scale.k)) for solved in path)
        return
    path = surface.path(start, direction, weights.keys())
    last, is_counted, left = start, with_start, dict(weights)
    while True:
        n_steps = _steps_between(surface, start, last)
        is_enough = not common.outputs.keep_scales and n_steps >= max(weights, default=0)
        solved = None if is_enough else next(path, None)
        if solved is None:
            break
        if is_counted:
            yield last, left.pop(n_steps, 0.0)
        last, is_counted = solved, True
    if is_counted:
        yield last, sum(left.values(), 0.0)
