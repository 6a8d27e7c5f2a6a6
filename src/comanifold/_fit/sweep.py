"""From the solution surface to distances: scales are solved, weighted, added up and discarded."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._parallel import StopFlag, in_parallel, share, shared, single_threaded_blas
from ..graphs import Graph, Pairs
from ..metrics import MultiScaleMetric
from ..model_selection import HeldOut
from ..solvers import TRAVERSALS, Scale, Solved, Surface

if TYPE_CHECKING:
    from .settings import Execution, Settings

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

# The weight of a scale falls with this power of its mean squared error on held-out entries.
_SHARPNESS = 10.0

# Weights up to two to this power leave room for distances in any units.
_LARGEST_EXPONENT = 500


class CostWeights:
    """The paper's weights, (row cost times column cost)^alpha."""

    def __init__(self, alpha: float):
        self.alpha = alpha

    def __call__(self, l: int, k: int, *_blocks: Array) -> float:
        exponent = self.alpha * (l + k)
        if abs(exponent) > _LARGEST_EXPONENT:
            raise ValueError(
                f"alpha={self.alpha:g} gives the scale ({l}, {k}) a weight of 2^{exponent:g}, so "
                "that distances overflow or vanish: choose an alpha nearer to 0"
            )
        return 2.0**exponent


class HeldOutWeights:
    """A falling power of the mean squared error with which a scale predicts held-out entries."""

    def __init__(self, held_out: HeldOut):
        self.held_out = held_out

    def __call__(
        self,
        l: int,  # noqa: ARG002
        k: int,  # noqa: ARG002
        values: Array,
        row_labels: Labels,
        column_labels: Labels,
    ) -> float:
        rows, columns = self.held_out.rows, self.held_out.columns
        return self.of_predictions(values[row_labels[rows], column_labels[columns]])

    def of_predictions(self, predicted: Array) -> float:
        """Return the weight of an estimate with these values at the held-out entries."""
        error = float(np.mean((predicted - self.held_out.values) ** 2))
        return (error + self.held_out.floor) ** -_SHARPNESS


class FixedWeights:
    """Weights taken from the scales of another surface of the same matrix, the largest being 1."""

    def __init__(self, scales: list):
        self._solved = np.array([(scale.l, scale.k) for scale in scales])
        weights = np.array([scale.weight for scale in scales])
        self.unit = float(weights.max())
        self._weights = weights / self.unit

    def __call__(self, l: int, k: int, *_blocks: Array) -> float:
        # Beyond the end of a path nothing changes: the nearest scales have the weight.
        steps = np.abs(self._solved - (l, k)).sum(axis=1)
        return float(self._weights[steps == steps.min()].mean())


Weights = Callable[..., float]
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
    """

    X: Array
    row_graph: Graph
    column_graph: Graph
    pairs: PairsOfModes
    stride: int
    surface: Surface
    first: Solved


class Sweep:
    """Accumulates the scales of a surface, or of a part of it.

    Attributes
    ----------
    scales : list of Scale
    blocks : list of Blocks, or None
        The estimate of each scale, if scales are kept.
    metric : MultiScaleMetric, or None
        The sums of the distances, if they are needed.
    """

    def __init__(self, X: Array, pairs: PairsOfModes, *, keep_scales: bool, with_metric: bool):
        self.scales: list[Scale] = []
        self.blocks: list[Blocks] | None = [] if keep_scales else None
        self.metric = MultiScaleMetric(X, pairs) if with_metric else None

    def add(self, solved: Solved, weights: Weights) -> None:
        """Add a scale with the weight that `weights` gives it."""
        iterate, scale = solved.iterate, solved.scale
        blocks = iterate.V, iterate.row_labels, iterate.column_labels
        weight = weights(scale.l, scale.k, *blocks)
        self.scales.append(replace(scale, weight=weight))
        if self.metric is not None:
            self.metric.add(*blocks, weight)
        if self.blocks is not None:
            self.blocks.append(Blocks(*blocks))

    def merge(self, other: "Sweep") -> None:
        """Add the scales of another part of the same surface."""
        self.scales.extend(other.scales)
        if self.blocks is not None:
            self.blocks.extend(other.blocks)
        if self.metric is not None:
            self.metric.merge(other.metric)

    def arrays(self) -> dict[str, Array]:
        """Return everything but the scales as arrays, to be saved."""
        arrays = {} if self.metric is None else self.metric.sums()
        for i, blocks in enumerate(self.blocks or []):
            arrays |= {f"{key}{i}": value for key, value in vars(blocks).items()}
        return arrays

    def restore(self, scales: list[Scale], arrays: dict[str, Array]) -> "Sweep":
        """Restore what `arrays` returned for these scales; return self."""
        keys = ("values", "row_labels", "column_labels")
        needed = {} if self.metric is None else self.metric.sums()
        if self.blocks is not None:
            needed |= {f"{key}{i}": None for key in keys for i in range(len(scales))}
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
        return self


@dataclass(frozen=True)
class _SharedInputs:
    """Inputs that all paths of a surface share."""

    surface: Surface
    X: Array
    pairs: PairsOfModes
    weights: Weights
    keep_scales: bool
    with_metric: bool
    stop: StopFlag

    def empty_sweep(self) -> Sweep:
        return Sweep(self.X, self.pairs, keep_scales=self.keep_scales, with_metric=self.with_metric)


def sweep(
    inputs: PassInputs,
    weights: Weights,
    settings: "Settings",
    execution: "Execution",
    *,
    name: str,
    keep_scales: bool,
    with_metric: bool,
) -> Sweep:
    """Solve a surface from its first scale to one cluster; return the sums over all scales.

    The tasks are the paths of the surface, and their sums are added in the order of the surface,
    so that the result has the same bits for any number of workers. A checkpoint saves finished
    paths under `name`.
    """
    surface, checkpoint, traversal = inputs.surface, execution.checkpoint, settings.traversal
    _, directions = TRAVERSALS[traversal]
    common = _SharedInputs(
        surface, inputs.X, inputs.pairs, weights, keep_scales, with_metric, StopFlag()
    )
    common_argument = share(common)
    places: list[str] = []
    finished = False

    def paths() -> Iterator:
        for solved in surface.chain(inputs.first, traversal):
            for direction in directions:
                if finished:
                    return
                # The scale at which paths start is counted with the first of them.
                with_start = direction == directions[0]
                place = f"{name}-{solved.scale.l}_{solved.scale.k}-{'lk'[direction[1]]}"
                places.append(place)
                if checkpoint is not None and checkpoint.has(place):
                    yield _saved_path, (place,)
                else:
                    yield _solve_path, (common_argument, place, solved, direction, with_start)

    total = common.empty_sweep()
    done: dict[str, Part | None] = {}
    n_added = 0
    parallel = in_parallel(paths(), n_jobs=execution.n_jobs, stop=common.stop, prefer="threads")
    with parallel as results:
        for place, part in results:
            # Saved by this process, because workers may be on another machine.
            if checkpoint is not None and part is not None:
                checkpoint.save(place, *part)
            done[place] = part
            execution.progress.path_done()
            while not finished and n_added < len(places) and places[n_added] in done:
                place = places[n_added]
                scales, arrays = done.pop(place) or checkpoint.load(place)
                total.merge(common.empty_sweep().restore(scales, arrays))
                n_added += 1
                fewest = surface.fewest[0]
                finished = traversal == "paper" and scales[-1].n_row_clusters <= fewest
    return total


def _saved_path(place: str) -> tuple[str, None]:
    """Return the position of a path that the checkpoint contains."""
    return place, None


def _solve_path(
    common_argument: Any,
    place: str,
    start: Solved,
    direction: tuple[int, int],
    with_start: bool,
) -> tuple[str, Part]:
    """Return the sums over the scales of a path, with or without the one it starts from."""
    common: _SharedInputs = shared(common_argument)
    part = common.empty_sweep()
    # The thread limit of the calling process does not apply to other processes.
    with single_threaded_blas():
        if with_start:
            part.add(start, common.weights)
        for solved in common.surface.path(start, direction):
            part.add(solved, common.weights)
            if common.stop.is_up:
                break
    return place, (part.scales, part.arrays())
