"""The clusters of one mode: how many there are, or as many as are asked for.

Whether points form groups is decided by `splits`: a cloud of points is divided in two if the
evidence is strong enough, and then each part again. One cluster is a possible answer. The evidence
must be there in the filled-in matrix, and must not be contradicted by a completion that is linear
in the data: the estimates of the surface are constant on blocks, and make groups of their own.
"""

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .._tasks import Tasks
from ..graphs import Rows, rows_at_ranks
from .splits import Cloud, split_in_two

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

# Clusters have at least so many points, and fewer points than this are one cluster.
_MIN_SIZE = 5
_MIN_POINTS = 10

# The p-value of structure above which there are no clusters.
_LEVEL = 0.05

# Neighbours of a point, relative to the root of the number of points, for the evidence in the
# filled-in matrix and in the linear completion; and relaxation times: of the filled-in matrix for
# the first division and for later ones, and of the linear completion. Chosen on lung500, wine,
# linkage2, checkerboards, noise, rank-one matrices and curves, with the results on digits, breast
# cancer, cells, effects and surfaces in view.
_FACTORS, _LINEAR_FACTORS = (1.15, 1.5), (1.3,)
_FIRST_TIME, _LATER_TIME, _LINEAR_TIMES = (0.1,), (0.05,), (0.1, 0.15, 0.25)

# The evidence in the filled-in matrix must exceed a + b / n for n points: two Gaussians are a
# narrower model than any log-concave density, and chance gaps are wider among few points. Normal,
# uniform, heavy-tailed and log-normal points stay below. That in the linear completion must exceed
# c n; a uniform density gives -0.05 n.
_EVIDENCE_OF_MANY, _EVIDENCE_OF_FEW = -1.5, 100.0
_LINEAR_EVIDENCE = -0.03

# Of more points, clusters are found in so many of them, and the others join the nearest.
_MOST_POINTS = 1500

# Confidence: parts of the other mode that are drawn, and the neighbours that vote.
_N_DRAWS = 10
_N_VOTES = 15

# k-means has this many coordinates for each cluster, and so many starts for few clusters.
_COORDINATES_PER_CLUSTER = 2
_N_STARTS = 10
_FEW_CLUSTERS = 20


@dataclass(frozen=True)
class Clusters:
    """Clusters of the rows or of the columns.

    Attributes
    ----------
    labels : ndarray of int of shape (n_points,)
        From 0, in the order in which clusters first appear in the organised matrix; -1 for rows or
        columns with nothing observed.
    evidence : float
        How strong the weakest division is, if the number of clusters was found: by how much the
        log-likelihood ratio of two groups against one exceeds the least that is accepted. 0 for
        one cluster, and for a number that was asked for.
    point_confidence : ndarray of shape (n_points,)
        How often a point stays with its cluster if half of the columns (for rows) are left out:
        the share of draws in which most of its nearest neighbours belong to its cluster. NaN where
        nothing is observed.
    """

    labels: Labels
    evidence: float
    point_confidence: Array

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.labels.max()) + 1

    @property
    def confidence(self) -> float:
        """Mean of the confidence of all points."""
        return float(np.nanmean(self.point_confidence))

    def as_text(self) -> list[str]:
        """Return the number of each cluster from 1 as text; empty where nothing is observed."""
        return [str(label + 1) if label >= 0 else "" for label in self.labels.tolist()]


def find_groups(filled: Array, linear: Array, p_value: float) -> tuple[Labels, float]:
    """Return the clusters of the rows of a matrix, and the evidence for the weakest division.

    Parameters
    ----------
    filled : ndarray of shape (n_points, n_features)
        The filled-in matrix.
    linear : ndarray of shape (n_points, n_features)
        The matrix filled in by a method that is linear in the data.
    p_value : float
        Of structure; if it is above 0.05 there is one cluster.
    """
    n_points = len(filled)
    chosen = _sample(filled)
    one = np.zeros(n_points, dtype=np.intp)
    if n_points < _MIN_POINTS or p_value > _LEVEL:
        return one, 0.0
    same = linear is filled
    filled_part = filled[chosen]
    search = _Search(filled_part, filled_part if same else linear[chosen])
    groups, evidence = search.divide(np.arange(len(chosen)), _FIRST_TIME)
    if len(groups) == 1:
        return one, 0.0
    found = np.empty(len(chosen), dtype=np.intp)
    for number, points in enumerate(groups):
        found[points] = number
    if len(chosen) == n_points:
        return found, evidence
    nearest, _ = rows_at_ranks(Rows(filled), np.arange(_N_VOTES), among=chosen)
    labels = np.empty(n_points, dtype=np.intp)
    labels[chosen] = found
    labels = _vote(labels[nearest], np.full(n_points, _N_VOTES))
    labels[chosen] = found
    return labels, evidence


def _sample(points: Array) -> Labels:
    """Return all points, or 1,500 at even steps in the order of their means."""
    n_points = len(points)
    if n_points <= _MOST_POINTS:
        return np.arange(n_points)
    steps = np.unique(np.linspace(0, n_points - 1, _MOST_POINTS).astype(np.intp))
    return np.sort(np.argsort(points.mean(axis=1), kind="stable")[steps])


class _Search:
    """The search for groups of points, in the filled-in matrix and in a linear completion."""

    def __init__(self, filled: Array, linear: Array):
        self.filled = Cloud.of(filled)
        self._linear_points = None if linear is filled else linear

    @cached_property
    def linear(self) -> Cloud:
        """The points of the linear completion; few searches get so far."""
        points = self._linear_points
        return self.filled if points is None else Cloud.of(points)

    def divide(self, points: Labels, times: tuple[float, ...]) -> tuple[list[Labels], float]:
        """Return the groups that points are divided into, and the least excess of evidence."""
        n_points = len(points)
        if n_points < _MIN_POINTS:
            return [points], np.inf
        cloud = self.filled.part(points)
        split = split_in_two(cloud, factors=_FACTORS, times=times, min_size=_MIN_SIZE)
        excess = split.evidence - _EVIDENCE_OF_MANY - _EVIDENCE_OF_FEW / n_points
        if not excess > 0.0:
            return [points], np.inf
        of_linear = split_in_two(
            cloud if self.linear is self.filled else self.linear.part(points),
            factors=_LINEAR_FACTORS,
            times=_LINEAR_TIMES,
            min_size=_MIN_SIZE,
        )
        if not of_linear.evidence > _LINEAR_EVIDENCE * n_points:
            return [points], np.inf
        groups = []
        for part in (points[split.first], points[~split.first]):
            found, least = self.divide(part, _LATER_TIME)
            groups += found
            excess = min(excess, least)
        return groups, float(excess)


def group_into(filled: Array, n_clusters: int, random_state: int) -> Labels:
    """Return exactly so many clusters of the rows of a matrix, by k-means on leading coordinates.

    Parameters
    ----------
    filled : ndarray of shape (n_points, n_features)
    n_clusters : int
        From 1 to the number of points.
    random_state : int
    """
    n_components = min(_COORDINATES_PER_CLUSTER * n_clusters, *filled.shape)
    points = filled
    if np.ptp(filled, axis=0).any():
        points = PCA(n_components, random_state=random_state).fit_transform(filled)
    n_starts = _N_STARTS if n_clusters <= _FEW_CLUSTERS else 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than clusters
        model = KMeans(n_clusters, n_init=n_starts, random_state=random_state).fit(points)
    labels = np.unique(model.labels_, return_inverse=True)[1]
    while (n_found := labels.max() + 1) < n_clusters:
        largest = np.flatnonzero(labels == np.argmax(np.bincount(labels)))
        apart = np.linalg.norm(points[largest] - points[largest].mean(axis=0), axis=1)
        labels[largest[np.argmax(apart)]] = n_found
    return labels


def point_confidence(
    filled: Array, labels: Labels, random_state: int, tasks: Tasks | None = None
) -> Array:
    """Return how often each row stays with its cluster if half of the columns are left out.

    It is the share of draws in which its cluster has the most votes among its nearest neighbours,
    of which there are at most as many as other points in its cluster. 0 for a point on its own.
    The draws are shared among the threads of `tasks`.
    """
    n_points, n_features = filled.shape
    if labels.max() == 0:
        return np.ones(n_points)
    rng = check_random_state(random_state)
    voters = _sample(filled)
    sizes = np.bincount(labels[voters], minlength=labels.max() + 1)
    is_voter = np.zeros(n_points, dtype=bool)
    is_voter[voters] = True
    n_votes = np.clip(sizes[labels] - is_voter, 1, _N_VOTES)
    ranks = np.arange(min(int(n_votes.max()), len(voters) - 1))
    rows = Rows(filled)

    def stays(columns: Labels) -> NDArray[np.bool_]:
        nearest, _ = rows_at_ranks(rows.columns(columns), ranks, among=voters)
        return _vote(labels[nearest], n_votes, labels) == labels

    tasks = Tasks(1) if tasks is None else tasks
    n_drawn = max(n_features // 2, 1)
    draws = [tasks.add(stays, rng.permutation(n_features)[:n_drawn]) for _ in range(_N_DRAWS)]
    return sum(draw.result().astype(float) for draw in draws) / _N_DRAWS


def _vote(nearest: Labels, n_votes: Labels, first: Labels | None = None) -> Labels:
    """Return the label with the most votes for each point.

    Parameters
    ----------
    nearest : ndarray of int of shape (n_points, n_ranks)
        The labels of the nearest voters, the nearest first.
    n_votes : ndarray of int of shape (n_points,)
        How many of them count.
    first : ndarray of int of shape (n_points,), optional
        The labels that a tie is decided for.
    """
    n_points, n_ranks = nearest.shape
    n_labels = 1 + max(labels.max() for labels in (nearest, first) if labels is not None)
    counts = np.arange(n_ranks) < n_votes[:, None]
    places = np.arange(n_points)[:, None] * n_labels + nearest
    votes = np.bincount(places[counts], minlength=n_points * n_labels).astype(float)
    votes = votes.reshape(n_points, n_labels)
    if first is not None:
        votes[np.arange(n_points), first] += 0.5
    return votes.argmax(axis=1)


def renumbered(labels: Labels, order: Labels) -> Labels:
    """Return labels that count from 0 along an order; -1 stays."""
    numbers = {-1: -1}
    for label in labels[order]:
        numbers.setdefault(int(label), len(numbers) - 1)
    return np.array([numbers[int(label)] for label in labels])
