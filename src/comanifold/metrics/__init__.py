"""Distances between rows and between columns over all scales."""

from ._multi_scale import MultiScaleMetric
from ._weights import CostWeights, ErrorWeights, FixedWeights, Hidden

__all__ = ["CostWeights", "ErrorWeights", "FixedWeights", "Hidden", "MultiScaleMetric"]
