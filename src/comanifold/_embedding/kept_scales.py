"""Looking at single scales of a fit that has kept them."""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .._fit.sweep import Blocks
from .._validation import expand_to_full
from ..solvers import TRAVERSALS
from .ordering import nested_linkage

Array = NDArray[np.float64]
Labels = NDArray[np.intp]


class KeptScalesMixin:
    """What `CoManifold(keep_scales=True)` can say about each pair of costs."""

    def row_labels_at(self, l: int, k: int) -> Labels:
        """Clusters of the rows at the scale (l, k); -1 for rows without an observed entry."""
        return _in_place(self._blocks_at(l, k).row_labels, self._rows)

    def column_labels_at(self, l: int, k: int) -> Labels:
        """Clusters of the columns at the scale (l, k); -1 where nothing is observed."""
        return _in_place(self._blocks_at(l, k).column_labels, self._columns)

    def estimate_at(self, l: int, k: int) -> Array:
        """The smooth estimate at the scale (l, k), in the units of the data."""
        estimate = self._blocks_at(l, k).expand() * self._scale + self._mean
        return expand_to_full(estimate, self._rows, self._columns)

    def filled_at(self, l: int, k: int) -> Array:
        """The data, filled in with the estimate at the scale (l, k)."""
        estimate = self.estimate_at(l, k)
        return np.where(np.isnan(self._X), estimate, self._X)

    @property
    def row_linkage_(self) -> Array:
        """Row clusters as they join while both costs grow; heights are row costs."""
        return self._linkage(0)

    @property
    def column_linkage_(self) -> Array:
        """Column clusters as they join while both costs grow; heights are column costs."""
        return self._linkage(1)

    def _linkage(self, mode: int) -> Array:
        """Along the chain of scales, from its end along the arm of this mode, then the other."""
        try:
            kept = self._kept()
        except ValueError as error:
            raise AttributeError(str(error)) from error
        chain, own, other = TRAVERSALS[self._traversal][0], (1 - mode, mode), (mode, 1 - mode)
        path = [(self.scales_[0].l, self.scales_[0].k)]
        for step in ([chain, own] if chain[mode] else [own]) + [other]:
            while (ahead := _next_along(kept, path[-1], step)) is not None:
                path.append(ahead)
        at = (self._all_row_labels, self._all_column_labels)[mode]
        # Costs as long as they grow, and doubled for every step after that.
        heights = [2.0 ** path[0][mode]]
        for scale in path[1:]:
            heights.append(max(2.0 * heights[-1], 2.0 ** scale[mode]))
        return nested_linkage([at(*scale) for scale in path], heights)

    def _all_row_labels(self, l: int, k: int) -> Labels:
        return _apart(self.row_labels_at(l, k))

    def _all_column_labels(self, l: int, k: int) -> Labels:
        return _apart(self.column_labels_at(l, k))

    def _kept(self) -> dict[tuple[int, int], Blocks]:
        check_is_fitted(self)
        if self._blocks is None:
            raise ValueError("the scales were not kept: fit with keep_scales=True to look at them")
        return self._blocks

    def _blocks_at(self, l: int, k: int) -> Blocks:
        kept = self._kept()
        if (l, k) not in kept:
            ends = [f"{min(values)} to {max(values)}" for values in zip(*kept, strict=True)]
            raise ValueError(
                f"there is no scale ({l}, {k}): l runs from {ends[0]}, k from {ends[1]}, and "
                "scales that would repeat others are left out; scales_ lists those there are"
            )
        return kept[l, k]


def _next_along(
    kept: Collection[tuple[int, int]], start: tuple[int, int], step: tuple[int, int]
) -> tuple[int, int] | None:
    """The nearest scale in a direction; None if there is none."""
    ahead = [
        (l, k)
        for l, k in kept
        if (n := max(l - start[0], k - start[1])) > 0
        and (l, k) == (start[0] + n * step[0], start[1] + n * step[1])
    ]
    return min(ahead, default=None)


def _in_place(labels: Labels, known: NDArray[np.bool_]) -> Labels:
    everything = np.full(len(known), -1)
    everything[known] = labels
    return everything


def _apart(labels: Labels) -> Labels:
    """The labels, with one of its own for everything that has none."""
    lost = np.flatnonzero(labels < 0)
    labels[lost] = labels.max() + 1 + np.arange(len(lost))
    return labels
