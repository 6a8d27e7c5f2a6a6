"""From the solution surface to the metric: every scale is solved, added up, and let go."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from ._checkpoint import Checkpoint
from ._threads import single_threaded_blas
from .graphs import Pairs
from .metrics import MultiScaleMetric
from .solvers import TRAVERSALS, Scale, Solved, Surface

Array = NDArray[np.float64]
Labels = NDArray[np.intp]
Weights = Callable[..., float]
PairsOfModes = tuple[Pairs | None, Pairs | None]


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
        if self.metric is not None:
            self.metric.restore(arrays)
        keys = ("values", "row_labels", "column_labels")
        blocks = (
            self.blocks
            if self.blocks is None
            else [Blocks(*(arrays[f"{key}{i}"] for key in keys)) for i in range(len(scales))]
        )
        return Sweep(scales, blocks, self.metric)


def _nothing(X: Array, keep_scales: bool, with_metric: bool, pairs: PairsOfModes) -> Sweep:
    metric = MultiScaleMetric(X, pairs) if with_metric else None
    return Sweep([], [] if keep_scales else None, metric)


def sweep(
    surface: Surface,
    X: Array,
    *,
    start: tuple[int, int] | None,
    traversal: str,
    weights: Weights,
    keep_scales: bool,
    n_jobs: int | None,
    with_metric: bool = True,
    pairs: PairsOfModes = (None, None),
    checkpoint: Checkpoint | None = None,
    name: str = "",
) -> Sweep:
    """Solve the surface from `start`, or from where nothing is fused yet, to one cluster.

    The tasks are the arms of the surface, and their sums are added in the order of the surface:
    the same bits for any number of workers. A checkpoint keeps those that are done, by `name`.
    The metric has distances at `pairs` of rows and of columns alone, or at all of them.
    """
    _, directions = TRAVERSALS[traversal]
    total = _nothing(X, keep_scales, with_metric, pairs)

    finished = False

    def tasks() -> Iterator:
        first = surface.start() if start is None else surface.solve(*start)
        for solved in surface.chain(first, traversal):
            if finished:
                return
            for direction in directions:
                # The scale that an arm starts from is counted with the first of its arms.
                own = direction == directions[0]
                part = _nothing(X, keep_scales, with_metric, pairs)
                place = f"{name}-{solved.scale.l}_{solved.scale.k}-{'lk'[direction[1]]}"
                yield delayed(_kept_arm)(
                    checkpoint, place, surface, part, solved, direction, own, weights
                )

    parallel = Parallel(n_jobs=n_jobs, return_as="generator", prefer="threads")
    for part in parallel(tasks()):
        if finished:  # begun before the end was known
            continue
        total.scales.extend(part.scales)
        if total.blocks is not None:
            total.blocks.extend(part.blocks)
        if total.metric is not None:
            total.metric.merge(part.metric)
        if traversal == "paper" and part.scales[-1].n_row_clusters <= surface.fewest[0]:
            finished = True
    return total


def _kept_arm(checkpoint: Checkpoint | None, place: str, surface: Surface, part: Sweep, *rest):
    """The arm, from the checkpoint if it is there; otherwise it is solved and put there."""
    if checkpoint is None:
        return _arm(surface, part, *rest)
    kept = checkpoint.load(place)
    if kept is not None:
        return part.filled_with(*kept)
    done = _arm(surface, part, *rest)
    checkpoint.save(place, done.scales, done.arrays())
    return done


def _arm(
    surface: Surface,
    part: Sweep,
    start: Solved,
    direction: tuple[int, int],
    own: bool,
    weights: Weights,
) -> Sweep:
    """Add the scales of an arm to `part`, with the one it starts from if it is its own."""
    # The limit of the fit does not hold in another process.
    with single_threaded_blas():
        if own:
            _add(part, start, weights)
        for solved in surface.arm(start, direction):
            _add(part, solved, weights)
    return part


def _add(part: Sweep, solved: Solved, weights: Weights) -> None:
    iterate, scale = solved.iterate, solved.scale
    blocks = iterate.V, iterate.row_labels, iterate.column_labels
    weight = weights(scale.l, scale.k, *blocks)
    part.scales.append(replace(scale, weight=weight))
    if part.metric is not None:
        part.metric.add(*blocks, weight)
    if part.blocks is not None:
        part.blocks.append(Blocks(*blocks))
