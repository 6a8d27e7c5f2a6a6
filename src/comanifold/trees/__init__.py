"""Partition trees: nested clusters, the distances they define, and their Haar bases."""

from ._distances import tree_distances
from ._flexible import flexible_tree
from ._haar import bi_haar_transform, denoise, haar_basis, inverse_bi_haar_transform
from ._partition_tree import Folder, PartitionTree

__all__ = [
    "Folder",
    "PartitionTree",
    "bi_haar_transform",
    "denoise",
    "flexible_tree",
    "haar_basis",
    "inverse_bi_haar_transform",
    "tree_distances",
]
