"""Trees of nested clusters, as SciPy linkage matrices, and how they are cut."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse.csgraph import connected_components

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

# More clusters than this that join at one scale are joined in their order, not by distance.
_MOST_JOINED = 5000


def nested_linkage(labels: list[Labels], heights: list[float], points: Array) -> Array:
    """Return a SciPy linkage matrix of clusters that grow from one list of labels to the next.

    Clusters that come together between two entries of `labels` are joined by average linkage of
    their means, at heights that rise up to that of the second entry and are all different; whatever
    is still apart after the last, up to twice its height. Where labels are not nested, clusters
    that have been joined once stay joined.

    Parameters
    ----------
    labels : list of ndarray of int of shape (n_points,)
    heights : list of float
        Positive and rising.
    points : ndarray of shape (n_points, n_features)
    """
    n_points = len(points)
    cluster = np.arange(n_points)
    sizes = np.ones(2 * n_points - 1)
    rows: list[tuple[float, float, float, float]] = []
    everything = np.zeros(n_points, dtype=np.intp)
    steps = [*zip(labels, heights, strict=True), (everything, 2.0 * heights[-1])]
    below = 0.5 * heights[0]
    for label, height in steps:
        joins = [
            join for members in _groups(cluster, label) for join in _joins(cluster, members, points)
        ]
        joins.sort(key=lambda join: join[0])
        node: dict[int, int] = {}
        for rank, (_, one, other) in enumerate(joins, start=1):
            one, other = _root(node, one), _root(node, other)
            new = n_points + len(rows)
            node[one] = node[other] = new
            sizes[new] = sizes[one] + sizes[other]
            at = height if rank == len(joins) else below + (height - below) * rank / len(joins)
            rows.append((min(one, other), max(one, other), at, sizes[new]))
        cluster = np.array([_root(node, int(c)) for c in cluster])
        below = height
    return np.array(rows, dtype=float).reshape(-1, 4)


def _root(node: dict[int, int], cluster: int) -> int:
    """Return the cluster that a cluster has become part of; shorten the way to it."""
    passed = []
    while cluster in node:
        passed.append(cluster)
        cluster = node[cluster]
    for part in passed:
        node[part] = cluster
    return cluster


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


def _joins(cluster: Labels, members: list[int], points: Array) -> list[tuple[float, int, int]]:
    """Return the distances at which clusters are joined, and a member of either side."""
    if len(members) > _MOST_JOINED:
        return [(float(i), one, other) for i, (one, other) in enumerate(pairwise(members))]
    means = np.array([points[cluster == member].mean(axis=0) for member in members])
    of_node = list(members)
    joins = []
    for one, other, distance, _ in linkage(means, "average"):
        joins.append((float(distance), of_node[int(one)], of_node[int(other)]))
        of_node.append(of_node[int(one)])
    return joins


def steps_around(
    labels: list[Labels], heights: list[float], found: Labels
) -> tuple[list[Labels], list[float]]:
    """Return labels and heights of a tree in which the found clusters are nodes.

    Below the height H at which every found cluster is whole, points of different ones are not
    joined; the found clusters follow between H / 2 and H, and then the labels as they are. If
    clusters are never whole, they follow after the last labels.

    Parameters
    ----------
    labels : list of ndarray of int
    heights : list of float
        Each at least twice the one before.
    found : ndarray of int
    """
    if found.max() == 0:
        return labels, heights
    n_found = found.max() + 1
    whole = [len(np.unique(np.stack([label, found]), axis=1).T) == n_found for label in labels]
    first = whole.index(True) if any(whole) else len(labels)
    apart = [label * n_found + found for label in labels[:first]]
    at = heights[first] if first < len(heights) else 2.0 * heights[-1]
    return [*apart, found, *labels[first:]], [*heights[:first], 0.75 * at, *heights[first:]]


def cut_tree(tree: Array, n_clusters: int) -> Labels:
    """Return exactly so many clusters of a tree whose heights are all different."""
    if len(tree) == 0:
        return np.zeros(1, dtype=np.intp)
    return fcluster(tree, n_clusters, criterion="maxclust").astype(np.intp) - 1


def with_leaves(tree: Array, observed: NDArray[np.bool_]) -> Array:
    """Return the tree of all points: those without an observed entry join last, one by one.

    The first joins at twice the last height, and each one after it higher by as much again.

    Parameters
    ----------
    tree : ndarray of shape (n_observed - 1, 4)
    observed : ndarray of bool of shape (n_points,)
    """
    n_points, n_observed = len(observed), int(observed.sum())
    if n_points == n_observed:
        return tree
    # Leaves keep their number among all points, and nodes follow them.
    numbers = np.concatenate([np.flatnonzero(observed), n_points + np.arange(len(tree))])
    whole = tree.copy()
    whole[:, :2] = np.sort(numbers[tree[:, :2].astype(np.intp)], axis=1)
    top, height = numbers[-1], float(tree[-1, 2]) if len(tree) else 1.0
    last = []
    for rank, leaf in enumerate(np.flatnonzero(~observed), start=1):
        last.append((min(leaf, top), max(leaf, top), height * (rank + 1), n_observed + rank))
        top = top + 1 if top >= n_points else n_points
    return np.concatenate([whole, np.array(last, dtype=float)])
