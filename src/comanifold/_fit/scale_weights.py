"""How much each scale counts in the metric."""

import numpy as np
from numpy.typing import NDArray

from .held_out import HeldOut

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

# Weights up to two to this power leave room for distances in any units.
_LARGEST_EXPONENT = 500


class CostWeights:
    """(row cost times column cost)^alpha, the paper's weights."""

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
    """A falling power of the error with which a scale predicts entries hidden from it."""

    def __init__(self, hidden: HeldOut):
        self.hidden = hidden

    def __call__(
        self,
        l: int,  # noqa: ARG002
        k: int,  # noqa: ARG002
        values: Array,
        row_labels: Labels,
        column_labels: Labels,
    ) -> float:
        hidden = self.hidden
        return hidden.weigh(values[row_labels[hidden.rows], column_labels[hidden.columns]])


class FixedWeights:
    """Weights by scale taken from another sweep of a similar surface, relative to the largest."""

    def __init__(self, scales: list):
        self._solved = np.array([(scale.l, scale.k) for scale in scales])
        weights = np.array([scale.weight for scale in scales])
        self.unit = float(weights.max())
        self._weights = weights / self.unit

    def __call__(self, l: int, k: int, *_blocks: Array) -> float:
        # Past the end of an arm nothing changes any more: the nearest scales stand for it.
        steps = np.abs(self._solved - (l, k)).sum(axis=1)
        return float(self._weights[steps == steps.min()].mean())
