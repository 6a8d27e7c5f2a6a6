"""Clusters and the order of the points of one mode."""

from dataclasses import dataclass
from itertools import pairwise
from math import dist, isqrt

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse.csgraph import connected_components

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

# Clusters that stay the same while the cost doubles at least so often are reported.
_LEAST_DOUBLINGS = 2


@dataclass(frozen=True)
class Clusters:
    """The clusters of one mode that persist longest as the cost grows; one if none persist.

    Attributes
    ----------
    labels : ndarray of int
        From 1, in the order in which they first appear in the organised matrix; 0 for rows or
        columns with nothing observed.
    n_clusters : int
    n_doublings : int
        How often the cost doubles while these clusters stay the same; 0 for one cluster.
    """

    labels: Labels
    n_clusters: int
    n_doublings: int

    def as_text(self) -> list[str]:
        """Return the label of each row or column as text; empty where nothing is observed."""
        return [str(label or "") for label in self.labels.tolist()]


def find_clusters(tree: Array, observed: NDArray[np.bool_], order: Labels) -> Clusters:
    """Return the clusters that persist over the most doublings of the cost.

    Clusters join one after the other as the cost grows. Groups that are well separated join only
    at a much higher cost than their members, so their number persists. On planted groups this
    finds theirs, where the scale of the largest weight is often one with nothing fused; along a
    curve no number persists, and the answer is one cluster. More clusters than the square root of
    the number of points are not considered; of two numbers that persist equally long the larger
    is returned.

    Parameters
    ----------
    tree : ndarray of shape (n_points - 1, 4)
        A SciPy linkage matrix whose heights are costs.
    observed : ndarray of bool of shape (n_points,)
        Which points have an observed entry; the others belong to no cluster.
    order : ndarray of int of shape (n_points,)
        The order of the points in the organised matrix.
    """
    heights = np.unique(tree[:, 2][np.isfinite(tree[:, 2])])
    most = max(isqrt(int(observed.sum())), 2)
    best: tuple[int, int, Labels] = 0, 1, observed.astype(np.intp)
    for height, following in pairwise(heights):
        labels = fcluster(tree, height, criterion="distance")
        n_clusters = len(np.unique(labels[observed]))
        n_doublings = round(np.log2(following / height))
        persists = n_doublings >= _LEAST_DOUBLINGS and 1 < n_clusters <= most
        if persists and (n_doublings, n_clusters) > best[:2]:
            best = n_doublings, n_clusters, np.where(observed, labels, 0)
    n_doublings, n_clusters, labels = best
    return Clusters(_renumber(labels, order), n_clusters, n_doublings)


def _renumber(labels: Labels, order: Labels) -> Labels:
    """Return labels that count from 1 along an order; 0 stays 0."""
    numbers = {0: 0}
    for label in labels[order]:
        numbers.setdefault(int(label), len(numbers))
    return np.array([numbers[int(label)] for label in labels])


def nested_linkage(labels: list[Labels], heights: list[float]) -> Array:
    """Return a SciPy linkage matrix of clusters that grow from one list of labels to the next.

    Clusters that come together between two entries of `labels` are joined at the height of the
    second; whatever is still apart after the last, at twice its height. Where labels are not
    nested, clusters that have been joined once stay joined.
    """
    n_points = len(labels[0])
    cluster = np.arange(n_points)
    sizes = np.ones(2 * n_points - 1)
    rows: list[tuple[float, float, float, float]] = []
    everything = np.zeros(n_points, dtype=np.intp)
    for label, height in [*zip(labels, heights, strict=True), (everything, 2.0 * heights[-1])]:
        for members in _groups(cluster, label):
            joined = members[0]
            for other in members[1:]:
                new = n_points + len(rows)
                sizes[new] = sizes[joined] + sizes[other]
                rows.append((min(joined, other), max(joined, other), height, sizes[new]))
                joined = new
            cluster[np.isin(cluster, members)] = joined
    return np.array(rows, dtype=float).reshape(-1, 4)


def _groups(cluster: Labels, label: Labels) -> list[list[int]]:
    """Return the groups of several clusters whose points share a label."""
    names, node = np.unique(cluster, return_inverse=True)
    label = np.unique(label, return_inverse=True)[1]
    n_nodes = len(names) + int(label.max()) + 1
    links = sparse.coo_array(
        (np.ones(len(node)), (node.astype(np.int32), (len(names) + label).astype(np.int32))),
        shape=(n_nodes, n_nodes),
    )
    group = connected_components(links, directed=False)[1][: len(names)]
    order = np.argsort(group, kind="stable")
    parts = np.split(names[order], np.flatnonzero(np.diff(group[order])) + 1)
    return [part.tolist() for part in parts if len(part) > 1]


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
