"""From the solution surface to the metric: every scale is solved, added up, and let go."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._parallel import StopSign, in_parallel, share, shared, single_threaded_blas
from ..graphs import Pairs
from ..metrics import MultiScaleMetric
from ..solvers import TRAVERSALS, Scale, Solved, Surface
from .checkpoint import Checkpoint

Array = NDArray[np.float64]
Labels = NDArray[np.intp]
Weights = Callable[..., float]
PairsOfModes = tuple[Pairs | None, Pairs | None]

# The scales of an arm and what they add up to, as it is kept and sent.
Part = tuple[list[Scale], dict[str, Array]]


@dataclass(frozen=True)
class Blocks:
    """An estimate that is constant on blocks: values[row_labels][:, column_labels]."""

    values: Array
    row_labels: Labels
    column_labels: Labels

    def expand(self) -> Array:
        return self.values[np.ix_(self.row_labels, self.column_labels)]


@dataclass(frozen=True)
class Sweep:
    """What is left of a surface once all its scales have been added up."""

    scales: list[Scale]
    blocks: list[Blocks] | None
    metric: MultiScaleMetric | None

    def arrays(self) -> dict[str, Array]:
        """All but the scales, to be kept in a file."""
        arrays = {} if self.metric is None else self.metric.sums()
        for i, blocks in enumerate(self.blocks or []):
            arrays |= {f"{key}{i}": value for key, value in vars(blocks).items()}
        return arrays

    def filled_with(self, scales: list[Scale], arrays: dict[str, Array]) -> "Sweep":
        """What `arrays` was taken from."""
        keys = ("values", "row_labels", "column_labels")
        needed = {} if self.metric is None else self.metric.sums()
        if self.blocks is not None:
            needed |= {f"{key}{i}": None for key in keys for i in range(len(scales))}
        for name, like in needed.items():
            if name not in arrays or (like is not None and arrays[name].shape != like.shape):
                raise ValueError(f"{name!r} of a part that was kept does not fit: delete the parts")
        if self.metric is not None:
            self.metric.restore(arrays)
        blocks = (
            self.blocks
            if self.blocks is None
            else [Blocks(*(arrays[f"{key}{i}"] for key in keys)) for i in range(len(scales))]
        )
        return Sweep(scales, blocks, self.metric)

    def add(self, other: "Sweep") -> None:
        """Add the scales of another part of the same surface."""
        self.scales.extend(other.scales)
        if self.blocks is not None:
            self.blocks.extend(other.blocks)
        if self.metric is not None:
            self.metric.merge(other.metric)


@dataclass(frozen=True)
class _Ground:
    """What the arms of a surface have in common."""

    surface: Surface
    X: Array
    weights: Weights
    keep_scales: bool
    with_metric: bool
    pairs: PairsOfModes
    stop: StopSign

    def nothing(self) -> Sweep:
        return Sweep(
            [],
            [] if self.keep_scales else None,
            MultiScaleMetric(self.X, self.pairs) if self.with_metric else None,
        )


def sweep(
    surface: Surface,
    X: Array,
    *,
    first: Solved,
    traversal: str,
    weights: Weights,
    keep_scales: bool,
    n_jobs: int | None,
    arm_done: Callable[[], None],
    with_metric: bool,
    pairs: PairsOfModes,
    checkpoint: Checkpoint | None,
    name: str,
) -> Sweep:
    """Solve the surface from its first scale to one cluster.

    The tasks are the arms of the surface, and their sums are added in the order of the surface:
    the same bits for any number of workers. A checkpoint keeps those that are done, by `name`;
    `arm_done` is called after each. The metric has distances at `pairs` of rows and of columns
    alone, or at all of them.
    """
    _, directions = TRAVERSALS[traversal]
    ground = _Ground(surface, X, weights, keep_scales, with_metric, pairs, StopSign())
    for_all = share(ground)
    places: list[str] = []
    finished = False

    def arms() -> Iterator:
        for solved in surface.chain(first, traversal):
            for direction in directions:
                if finished:
                    return
                # The scale that an arm starts from is counted with the first of its arms.
                own = direction == directions[0]
                place = f"{name}-{solved.scale.l}_{solved.scale.k}-{'lk'[direction[1]]}"
                places.append(place)
                if checkpoint is not None and checkpoint.has(place):
                    yield _kept, (place,)
                else:
                    yield _arm, (for_all, place, solved, direction, own)

    total = ground.nothing()
    done: dict[str, Part | None] = {}
    n_added = 0
    parallel = in_parallel(arms(), n_jobs=n_jobs, stop=ground.stop, prefer="threads")
    with parallel as results:
        for place, part in results:
            # Kept by this process, because others may be on another machine.
            if checkpoint is not None and part is not None:
                checkpoint.save(place, *part)
            done[place] = part
            arm_done()
            while not finished and n_added < len(places) and places[n_added] in done:
                place = places[n_added]
                scales, arrays = done.pop(place) or checkpoint.load(place)
                total.add(ground.nothing().filled_with(scales, arrays))
                n_added += 1
                fewest = surface.fewest[0]
                finished = traversal == "paper" and scales[-1].n_row_clusters <= fewest
    return total


def _kept(place: str) -> tuple[str, None]:
    """An arm that the checkpoint has."""
    return place, None


def _arm(
    for_all: Any,
    place: str,
    start: Solved,
    direction: tuple[int, int],
    own: bool,
) -> tuple[str, Part]:
    """The scales of an arm added up, with the one it starts from if it is its own."""
    ground: _Ground = shared(for_all)
    part = ground.nothing()
    # The limit of the fit does not hold in another process.
    with single_threaded_blas():
        if own:
            _add(part, start, ground.weights)
        for solved in ground.surface.path(start, direction):
            _add(part, solved, ground.weights)
            if ground.stop.is_up:
                break
    return place, (part.scales, part.arrays())


def _add(part: Sweep, solved: Solved, weights: Weights) -> None:
    iterate, scale = solved.iterate, solved.scale
    blocks = iterate.V, iterate.row_labels, iterate.column_labels
    weight = weights(scale.l, scale.k, *blocks)
    part.scales.append(replace(scale, weight=weight))
    if part.metric is not None:
        part.metric.add(*blocks, weight)
    if part.blocks is not None:
        part.blocks.append(Blocks(*blocks))
