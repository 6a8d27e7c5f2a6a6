"""The data of the paper, synthetic matrices with known geometry, and removal of entries."""

from ._loaders import load_lung500, load_president
from ._synthetic import (
    make_checkerboard,
    make_clusters,
    make_curve,
    make_linkage,
    make_linkage2,
    remove_entries,
)

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
