"""How well an embedding shows what is known of the points."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr
from sklearn.cluster import KMeans
from sklearn.manifold import trustworthiness
from sklearn.metrics import adjusted_rand_score, silhouette_score

from ..graphs import Graph

Array = NDArray[np.float64]
Labels = NDArray[np.int_]

_NEIGHBOURS = 10


def rand_index(points: Array, labels: Labels) -> float:
    """Adjusted Rand index of k-means with the true number of groups."""
    n_groups = len(np.unique(labels))
    found = KMeans(n_groups, n_init=20, random_state=0).fit_predict(points)
    return float(adjusted_rand_score(labels, found))


def separation(points: Array, labels: Labels, group: int) -> float:
    """Silhouette of one group against all others together."""
    return float(silhouette_score(points, labels == group))


def neighbours_kept(points: Array, truth: Array) -> float:
    """Trustworthiness: whether the near points of the embedding are near in truth."""
    return float(trustworthiness(truth, points, n_neighbors=_NEIGHBOURS))


def distance_correlation(points: Array, truth: Array) -> float:
    """Rank correlation of the distances in the embedding with those in another."""
    return float(spearmanr(pdist(points), pdist(truth)).statistic)


def geodesic_correlation(points: Array, truth: Array) -> float:
    """Rank correlation of the lengths of shortest paths among near points, in both."""
    return float(spearmanr(_geodesics(points), _geodesics(truth)).statistic)


def _geodesics(points: Array) -> Array:
    distances = squareform(pdist(points))
    graph = Graph.from_distances(distances, _NEIGHBOURS)  # connected, by its shortest links
    # The path solver takes a stored zero for an absent edge.
    least = np.finfo(float).tiny
    lengths = np.zeros_like(distances)
    lengths[tuple(graph.edges.T)] = np.maximum(distances[tuple(graph.edges.T)], least)
    paths = shortest_path(lengths, directed=False)
    return paths[np.triu_indices(len(points), 1)]
