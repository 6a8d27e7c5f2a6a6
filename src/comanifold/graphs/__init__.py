"""Distances between incomplete rows, and the graphs built from them."""

from ._graph import Graph
from ._masked_distances import masked_distances

__all__ = ["Graph", "masked_distances"]
