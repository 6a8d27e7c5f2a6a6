"""The scales of a fitted model: as a table, by their exponents, and the tree of their clusters."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._embedding.trees import nested_linkage, steps_around, with_leaves
from .._validation import is_integer
from ..solvers import TRAVERSALS, Scale
from .state import FittedState

Array = NDArray[np.float64]
Place = int | None  # an exponent of the costs of a scale, or its position


def scales_as_arrays(scales: Sequence[Scale]) -> dict[str, NDArray[Any]]:
    """Return scales as a dict of arrays."""
    names = ("l", "k", "row_cost", "column_cost", "n_row_clusters", "n_column_clusters")
    names += ("objective", "n_iter", "status", "seconds", "weight")
    columns = {name: np.array([getattr(scale, name) for scale in scales]) for name in names}
    for name in ("stationarity", "gap"):
        values = [getattr(scale.certificate, name) for scale in scales]
        if None not in values:
            columns[name] = np.array(values)
    return columns


def scale_index(scales: Sequence[Scale], l: Place, k: Place, index: Place) -> int:
    """Return the position of a scale that is given by l and k, or by that position."""
    if index is not None:
        if l is not None or k is not None:
            raise ValueError("a scale is given by l and k or by index, not by both")
        if not is_integer(index):
            raise ValueError(f"index must be an integer, got {index!r:.60}")
        if not -len(scales) <= index < len(scales):
            raise ValueError(f"index must be less than {len(scales)}, got {index}")
        return int(index)
    if l is None or k is None:
        raise ValueError(f"both l and k, or index, are needed: got l={l}, k={k}")
    for i, scale in enumerate(scales):
        if (scale.l, scale.k) == (l, k):
            return i
    first, last = (
        [end(getattr(scale, name) for scale in scales) for name in "lk"] for end in (min, max)
    )
    raise ValueError(
        f"there is no scale ({l}, {k}): l runs from {first[0]} to {last[0]}, k from "
        f"{first[1]} to {last[1]}, and scales that would repeat others are left out; scales_ "
        "lists them"
    )


def linkage_of_scales(state: FittedState, name: str) -> Array:
    """Return the tree of clusters along a path of scales that ends with one cluster.

    The path follows the chain of scales while the cost of the mode, "row" or "column", grows along
    it, then this cost grows alone, then the other.
    """
    mode = ("row", "column").index(name)
    kept = {(scale.l, scale.k): i for i, scale in enumerate(state.scales)}
    chain, own, other = TRAVERSALS[state.traversal][0], (1 - mode, mode), (mode, 1 - mode)
    path = [(state.scales[0].l, state.scales[0].k)]
    for step in ([chain, own] if chain[mode] else [own]) + [other]:
        while (ahead := _next_scale(kept, path[-1], step)) is not None:
            path.append(ahead)
    # Costs as long as they grow, and doubled for every step after that.
    heights = [2.0 ** path[0][mode]]
    for place in path[1:]:
        heights.append(max(2.0 * heights[-1], 2.0 ** place[mode]))
    of_mode, observed = state.mode(name)
    labels = [getattr(state.blocks[kept[place]], f"{name}_labels") for place in path]
    points = state.filled if name == "row" else state.filled.T
    tree = nested_linkage(*steps_around(labels, heights, of_mode.labels), points)
    return with_leaves(tree, observed)


def _next_scale(
    kept: Collection[tuple[int, int]], start: tuple[int, int], step: tuple[int, int]
) -> tuple[int, int] | None:
    """Return the nearest scale in a direction; None if there is none."""
    ahead = [
        (l, k)
        for l, k in kept
        if (n := max(l - start[0], k - start[1])) > 0
        and (l, k) == (start[0] + n * step[0], start[1] + n * step[1])
    ]
    return min(ahead, default=None)
