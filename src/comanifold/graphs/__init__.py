"""Distances between incomplete rows, and the graphs built from them."""

from ._candidates import CandidatePairs
from ._graph import Graph
from ._masked_distances import masked_distances
from ._pairs import Pairs

__all__ = ["CandidatePairs", "Graph", "Pairs", "masked_distances"]
