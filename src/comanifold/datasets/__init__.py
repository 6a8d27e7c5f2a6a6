"""The paper's data sets, planted structures, and ways to remove entries."""

from ._loaders import load_lung500, load_president
from ._planted import make_checkerboard, make_clusters, make_curve, make_linkage, make_linkage2
from ._removal import remove_entries

__all__ = [
    "load_lung500",
    "load_president",
    "make_checkerboard",
    "make_clusters",
    "make_curve",
    "make_linkage",
    "make_linkage2",
    "remove_entries",
]
