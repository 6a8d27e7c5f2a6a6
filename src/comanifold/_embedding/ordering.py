"""The order of the points of one mode, in which neighbours are adjacent."""

from math import dist

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage

Array = NDArray[np.float64]
Labels = NDArray[np.intp]


def embedding_order(embedding: Array, max_tree_points: int = 5000) -> Labels:
    """Return a permutation of the points in which neighbours in the embedding are adjacent.

    It is the order of the leaves of an average-linkage tree on the embedding (after Ankenman 2014).
    The two branches at a node are flipped so that their nearest ends touch, and the whole order so
    that the first coordinate grows. Points without coordinates (NaN) come last. For more than
    `max_tree_points`, whose tree would need too much memory, points are sorted by the first
    coordinate.
    """
    placed = np.flatnonzero(~np.isnan(embedding).any(axis=1))
    unplaced = np.setdiff1d(np.arange(len(embedding)), placed)
    points = embedding[placed]
    if len(points) <= 2 or len(points) > max_tree_points:
        order = np.argsort(points[:, 0], kind="stable")
    else:
        order = _leaves(linkage(points, "average"), points)
    return np.concatenate([placed[order], unplaced])


def _leaves(tree: Array, points: Array) -> Labels:
    """Return the leaves of a tree, branches flipped so that near ends touch at every node."""
    branches = [[leaf] for leaf in range(len(points))]
    places = points.tolist()  # of few coordinates each: faster without arrays
    for a, b in tree[:, :2].astype(int):
        one, other = branches[a], branches[b]
        # Distances between the ends of the two branches, unflipped ones first.
        ends = [
            dist(places[i], places[j]) for i in (one[-1], one[0]) for j in (other[0], other[-1])
        ]
        turn_one, turn_other = divmod(ends.index(min(ends)), 2)
        one = one[::-1] if turn_one else one
        branches.append(one + (other[::-1] if turn_other else other))
        branches[a] = branches[b] = []
    order = np.array(branches[-1])
    middle = len(order) // 2
    grows = points[order[:middle], 0].mean() <= points[order[-middle:], 0].mean()
    return order if grows else order[::-1]
