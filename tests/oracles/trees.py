"""Slow versions of what partition trees compute: transport, joins, means over folders."""

import numpy as np
from scipy.optimize import linprog


def path_lengths(labels, edge_length):
    """Return the lengths of paths between all nodes of a tree, level by level, and the nodes.

    Nodes are (level from below, label) and "outside", which is above the root. `edge_length` takes
    the number of a level, 1 for the root, and the share of the points that the folder has.
    """
    n_levels, n_points = labels.shape
    nodes = ["outside"]
    nodes += [(place, int(a)) for place in range(n_levels) for a in np.unique(labels[place])]
    number = {node: i for i, node in enumerate(nodes)}
    lengths = np.full((len(nodes), len(nodes)), np.inf)
    np.fill_diagonal(lengths, 0.0)
    for place in range(n_levels):
        for a in np.unique(labels[place]):
            members = np.flatnonzero(labels[place] == a)
            above = "outside"
            if place + 1 < n_levels:
                above = (place + 1, int(labels[place + 1][members[0]]))
            length = edge_length(n_levels - place, len(members) / n_points)
            i, j = number[place, int(a)], number[above]
            lengths[i, j] = lengths[j, i] = length
    for k in range(len(nodes)):  # Floyd and Warshall
        lengths = np.minimum(lengths, lengths[:, k, None] + lengths[k])
    leaves = [number[0, int(labels[0][p])] for p in range(n_points)]
    return lengths, leaves, number["outside"]


def transport_distance(x, y, labels, alpha=0.0, beta=1.0):
    """Return the least cost of turning x / n into y / n along a tree, by linear programming.

    Mass can be brought from and to the outside, above the root.
    """
    n_points = len(x)
    lengths, leaves, outside = path_lengths(
        labels, lambda level, share: 2.0 ** (alpha * (1 - level)) * share ** (beta - 1.0)
    )
    excess = np.append((x - y) / n_points, 0.0)
    excess[-1] = -excess.sum()
    places = [*leaves, outside]
    ground = lengths[np.ix_(places, places)]
    n = len(places)
    supply, demand = np.maximum(excess, 0.0), np.maximum(-excess, 0.0)
    equations = np.zeros((2 * n, n * n))
    for i in range(n):
        equations[i, i * n : (i + 1) * n] = 1.0
        equations[n + i, i::n] = 1.0
    found = linprog(
        ground.ravel(), A_eq=equations, b_eq=np.concatenate([supply, demand]), method="highs"
    )
    assert found.status == 0
    return found.fun


def distance_by_folders(x, y, labels, alpha=0.0, beta=1.0):
    """Return the sum over the folders of all levels, with means of observed entries."""
    n_levels, n_points = labels.shape
    total = 0.0
    above = [np.full(n_points, np.nan), np.full(n_points, np.nan)]
    for level in range(1, n_levels + 1):
        of_level = labels[n_levels - level]
        here = [part.copy() for part in above]
        for a in np.unique(of_level):
            members = np.flatnonzero(of_level == a)
            for row, means, inherited in zip((x, y), here, above, strict=True):
                known = row[members][~np.isnan(row[members])]
                means[members] = known.mean() if known.size else inherited[members[0]]
            difference = abs(here[0][members[0]] - here[1][members[0]])
            total += 2.0 ** (alpha * (1 - level)) * (len(members) / n_points) ** beta * difference
        above = here
    return total


def join_folders(distances, constant, least_joined=0.1):
    """Return the groups of folders at the next level of a flexible tree, by sets."""
    n = len(distances)
    pairs = sorted((distances[i, j], i, j) for i in range(n) for j in range(i + 1, n))
    median = np.median([d for d, _, _ in pairs])
    groups = [{i} for i in range(n)]
    n_joined = 0
    for d, i, j in pairs:
        if d >= median and n_joined >= np.ceil(least_joined * n):
            break
        one = next(group for group in groups if i in group)
        other = next(group for group in groups if j in group)
        if one is other:
            continue
        product = len(one) * len(other)
        if product == 1 or d < median / constant * 2.0 ** (1 - product):
            groups.remove(other)
            one |= other
            n_joined += 1
    return {frozenset(group) for group in groups}
