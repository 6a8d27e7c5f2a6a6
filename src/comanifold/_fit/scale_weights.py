"""Weights of the scales in the multi-scale distances."""

import numpy as np
from numpy.typing import NDArray

from .held_out import HeldOut

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
