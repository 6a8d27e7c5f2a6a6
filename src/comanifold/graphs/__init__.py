"""Distances between incomplete rows, and the graphs built from them."""

from ._graph import Graph, nearest_neighbor_graph
from ._masked_distances import Rows, masked_distances
from ._nearest import rows_at_ranks
from ._pairs import N_SPREAD, CandidatePairs, Pairs

__all__ = [
    "N_SPREAD",
    "CandidatePairs",
    "Graph",
    "Pairs",
    "Rows",
    "masked_distances",
    "nearest_neighbor_graph",
    "rows_at_ranks",
]
