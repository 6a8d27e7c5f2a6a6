"""Orders and nested clusters of the points of one mode."""

from math import dist

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.cluster.hierarchy import linkage
from scipy.sparse.csgraph import connected_components

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

# Past this many points the tree that orders them would need too much memory.
_MOST_FOR_A_TREE = 5000


def embedding_order(embedding: Array) -> Labels:
    """An order of points in which neighbours in the embedding are near each other.

    The leaves of an average-linkage tree on the embedding (after Ankenman 2014), the branches
    that meet at a node turned so that their nearest ends touch, and the whole so that the first
    coordinate grows. Points without coordinates (NaN) come last.
    """
    placed = np.flatnonzero(~np.isnan(embedding).any(axis=1))
    lost = np.setdiff1d(np.arange(len(embedding)), placed)
    points = embedding[placed]
    if len(points) <= 2 or len(points) > _MOST_FOR_A_TREE:
        order = np.argsort(points[:, 0], kind="stable")
    else:
        order = _leaves(linkage(points, "average"), points)
    return np.concatenate([placed[order], lost])


def _leaves(tree: Array, points: Array) -> Labels:
    """The leaves of a tree, ends that are near each other joined at every node."""
    branches = [[leaf] for leaf in range(len(points))]
    places = points.tolist()  # of few coordinates each: faster without arrays
    for a, b in tree[:, :2].astype(int):
        one, other = branches[a], branches[b]
        # Which end of each touches: the last of one and the first of the other, or otherwise.
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


def nested_linkage(labels: list[Labels], heights: list[float]) -> Array:
    """A SciPy linkage matrix of clusters that grow from one list of labels to the next.

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
    """The clusters that points of one label hold together, where there are several."""
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
