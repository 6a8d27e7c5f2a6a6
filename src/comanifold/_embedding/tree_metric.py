"""The tree metric: earth mover's distances between filled-in rows, over a tree of the columns.

The trees are flexible trees of the multi-scale affinities of the surface. Its own nested clusters
give trees as well (`PartitionTree.from_model`), but need all scales, and have few levels where
noise keeps points apart until all fuse at once: distances over them found fewer true neighbours
in noise.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..graphs import Pairs
from ..trees import PartitionTree, flexible_tree, tree_distances
from .affinities import affinities
from .bandwidths import find_bandwidth
from .out_of_sample import complete_rows, stored_distances

Array = NDArray[np.float64]

# The exponent of the sizes of folders. With 1, the earth mover's distance proper, coarse folders
# outweigh what tells rows apart if there is little noise; with 1/2 noise of a folder's mean, which
# falls with the root of its size, counts about the same at all levels.
_BETA = 0.5


def with_tree_metric(result: Any) -> Any:
    """Return the result of a surface with distances over trees instead of multi-scale ones.

    Missing entries add no variances to these distances.

    Parameters
    ----------
    result : SurfaceResult
    """
    trees = {mode: _tree(getattr(result, f"{mode}_distances")) for mode in ("row", "column")}
    filled = {"row": result.filled, "column": result.filled.T}
    changed: dict[str, Any] = {}
    for mode, other in (("row", "column"), ("column", "row")):
        changed[f"{mode}_tree"] = trees[mode]
        changed[f"{mode}_distances"] = _distances(
            filled[mode], trees[other], getattr(result, f"{mode}_distances")
        )
        changed[f"{mode}_variances"] = np.zeros(len(filled[mode]))
    return replace(result, **changed)


def _tree(distances: Any) -> PartitionTree:
    """Return the tree of points with these distances."""
    bandwidth = find_bandwidth(distances, "auto")
    return flexible_tree(affinities(distances, bandwidth, bandwidth))


def _distances(filled: Array, tree: PartitionTree, like: Any) -> Any:
    """Return the distances between rows over a tree of the columns, for the pairs in `like`."""
    if not sparse.issparse(like):
        return tree_distances(filled, tree, beta=_BETA)
    entries = like.tocoo()
    pairs = Pairs.of(len(filled), entries.row.astype(np.intp), entries.col.astype(np.intp))
    return tree_distances(filled, tree, beta=_BETA, pairs=pairs)


def tree_distances_to_new(new: Array, filled: Array, distances: Any, tree: PartitionTree) -> Any:
    """Return the distances of new rows to the fitted ones over a tree of the columns.

    Missing entries of a new row take the weighted mean of the nearest filled-in rows. With sparse
    distances, it has distances to those rows to which its nearest rows have one.

    Parameters
    ----------
    new : ndarray of shape (n_new, n_columns)
        NaN for missing entries; every row has an observed one.
    filled : ndarray of shape (n_rows, n_columns)
        The filled-in matrix of the fit, in the units of `new`.
    distances : ndarray or sparse array of shape (n_rows, n_rows)
        Those of the fit.
    tree : PartitionTree
        Of the columns.
    """
    nearest, completed = complete_rows(new, filled)
    if not sparse.issparse(distances):
        return tree_distances(completed, tree, filled, beta=_BETA)
    others = [
        np.unique(np.concatenate([stored_distances(distances, j)[0] for j in near]))
        for near in nearest
    ]
    # As pairs of rows of one matrix, of which the new rows come first.
    i = np.repeat(np.arange(len(new)), [len(places) for places in others])
    pairs = Pairs.of(len(new) + len(filled), i, len(new) + np.concatenate(others))
    both = tree_distances(np.concatenate([completed, filled]), tree, beta=_BETA, pairs=pairs)
    return both[: len(new), len(new) :]
