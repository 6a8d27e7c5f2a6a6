"""Distances between rows and between columns over all scales."""

from ._multi_scale import MultiScaleMetric

__all__ = ["MultiScaleMetric"]
