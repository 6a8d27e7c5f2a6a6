"""Co-manifold learning with missing data."""

from .co_clustering import CoCluster, co_cluster
from .graphs import Graph, masked_distances
from .solvers import Certificate, CoClustering, dual_bound, objective

__version__ = "0.1.0.dev0"

__all__ = [
    "Certificate",
    "CoCluster",
    "CoClustering",
    "Graph",
    "co_cluster",
    "dual_bound",
    "masked_distances",
    "objective",
]
