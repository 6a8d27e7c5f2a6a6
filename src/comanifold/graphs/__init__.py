"""Distances between incomplete rows, and the graphs built from them."""

from ._graph import Graph
from ._masked_distances import masked_distances
from ._pairs import N_SPREAD, CandidatePairs, Pairs

__all__ = ["N_SPREAD", "CandidatePairs", "Graph", "Pairs", "masked_distances"]
