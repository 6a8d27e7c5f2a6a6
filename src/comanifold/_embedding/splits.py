r"""Whether a cloud of points falls into two groups, and into which.

Smoothing makes clumps of its own, and a linear projection of a bent curve has a valley although
the curve has none. So the coordinate on which two groups are looked for is found in three steps:

1. The points are halved along the slowest mode of a random walk between neighbours, and a linear
   discriminant of the two halves is fitted; each point gets the value that is predicted without
   it.
2. That value is relaxed: it diffuses between neighbours for a part of the slowest relaxation time,
   :math:`\tilde u = \sum_k e^{-t \lambda_k / \lambda_1} \langle u, \psi_k \rangle \psi_k`. Noise
   goes; what varies slowly stays.
3. It is straightened: its differences between neighbours are divided by their distances, so that
   a unit of the coordinate is a unit of length everywhere. Along a curve with evenly spaced points
   it is then uniform, however the curve bends.

The evidence for two groups is that of `modality` on this coordinate.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ..graphs import nearest_neighbor_graph
from .eigenvectors import largest_eigenpairs, leading_eigenvectors
from .modality import compare_one_and_two_groups

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

# Principal coordinates that are kept of the whole cloud; discriminants have fewer, and at least so
# many points for each of them.
_N_PRINCIPAL = 50
_N_DISCRIMINANT = 10
_POINTS_PER_DIRECTION = 5
_RIDGE = 0.05

# Modes of the random walk; faster ones do not count.
_N_MODES = 19

# Of more points, modes are computed by Lanczos iterations.
_MOST_DENSE = 400

# The number of neighbours is the square root of the number of points times one of these, within
# bounds. With fewer, chance gaps between few points look like valleys.
_FEWEST_NEIGHBORS, _MOST_NEIGHBORS = 8, 25

# The speed of a coordinate is averaged over this part of all edges, and at least so many.
_SHARE_OF_EDGES = 0.1
_FEWEST_EDGES = 20

# Neighbours nearer than this part of the median distance count as that far: there are duplicates.
_LEAST_DISTANCE = 1e-3

# Squared distances below this part of the squared norms are rounding errors: the points are equal.
_ROUNDING = 1e-12


class Split(NamedTuple):
    """The evidence for two groups, and which points are in the first one."""

    evidence: float
    first: Mask


@dataclass(frozen=True)
class Cloud:
    """Points, as principal coordinates and distances.

    Attributes
    ----------
    coordinates : ndarray of shape (n_points, n_coordinates)
        The leading principal coordinates.
    distances : ndarray of shape (n_points, n_points)
        Euclidean.
    """

    coordinates: Array
    distances: Array
    _walks: dict[int, "_Walk"] = field(default_factory=dict)

    @classmethod
    def of(cls, X: Array) -> "Cloud":
        """Return the cloud of the rows of a matrix without missing entries."""
        X = X - X.mean(axis=0)
        products = X @ X.T
        squares = np.diag(products)
        norms = squares[:, None] + squares
        distances = norms - 2.0 * products
        norms *= _ROUNDING
        distances[distances <= norms] = 0.0
        np.sqrt(distances, out=distances)
        few_columns = X.shape[1] < X.shape[0]
        coordinates = _principal(X.T @ X if few_columns else products, X if few_columns else None)
        distances = distances + distances.T
        distances *= 0.5
        return cls(coordinates, distances)

    def __len__(self) -> int:
        return len(self.distances)

    def part(self, points: Indices) -> "Cloud":
        """Return the cloud of some of the points."""
        return Cloud(self.coordinates[points], self.distances[np.ix_(points, points)])

    def walk(self, factor: float) -> "_Walk":
        """Return the walk for a number of neighbours of `factor` times root of the points.

        Factors that come to the same number, within its bounds, have the same walk.
        """
        wanted = round(factor * np.sqrt(len(self)))
        n_neighbors = min(max(wanted, _FEWEST_NEIGHBORS), _MOST_NEIGHBORS, len(self) - 1)
        if n_neighbors not in self._walks:
            self._walks[n_neighbors] = _Walk.of(self.distances, n_neighbors)
        return self._walks[n_neighbors]

    @cached_property
    def equal(self) -> Indices:
        """A number for each point, the same for equal points."""
        n_points = len(self)
        if np.count_nonzero(self.distances) == n_points * (n_points - 1):
            return np.arange(n_points)
        return connected_components(self.distances == 0.0, directed=False)[1]


def _principal(products: Array, X: Array | None) -> Array:
    """Return leading principal coordinates from X'X and X, or from XX' alone."""
    values, vectors = largest_eigenpairs(products, min(_N_PRINCIPAL, len(products)))
    values, vectors = values[::-1], vectors[:, ::-1]
    if X is not None:
        return X @ vectors
    return vectors * np.sqrt(np.maximum(values, 0.0))


def split_in_two(
    cloud: Cloud, *, factors: Sequence[float], times: Sequence[float], min_size: int
) -> Split:
    """Return the evidence that points form two groups rather than one, and the best two groups.

    Parameters
    ----------
    cloud : Cloud
        At least ``2 * min_size`` points.
    factors : sequence of float
        For the number of neighbours, relative to the square root of the number of points.
    times : sequence of float
        Relaxation times, relative to the slowest one. The evidence is the mean over all factors
        and times; the groups are those of the first ones.
    min_size : int
        The least number of points of a group.

    If only equal points could be divided, the evidence is minus infinity.
    """
    if not cloud.distances.max() > 0.0:
        return Split(-np.inf, np.arange(len(cloud)) < min_size)
    directions = _discriminant_directions(cloud.coordinates)
    evidences: list[float] = []
    first = previous = None
    for factor in factors:
        walk = cloud.walk(factor)
        if walk is previous:
            evidences += evidences[-len(times) :]
            continue
        previous = walk
        halves = _halve(walk.slowest(), min_size)
        scores = _leave_one_out(directions, halves.astype(float))
        for time in times:
            coordinate = _averaged(walk.straighten(walk.relax(scores, time)), cloud.equal)
            evidence, valley = compare_one_and_two_groups(coordinate)
            evidences.append(evidence)
            if first is None:
                first = coordinate <= valley
                if min(first.sum(), (~first).sum()) < min_size:
                    first = halves
    share = _averaged(first.astype(float), cloud.equal)
    if ((share > 0.0) & (share < 1.0)).any():
        return Split(-np.inf, first)
    return Split(float(np.mean(evidences)), first)


def _averaged(x: Array, equal: Indices) -> Array:
    """Return x averaged over points that are equal, so that they are on the same side."""
    return (np.bincount(equal, x) / np.bincount(equal))[equal]


def _discriminant_directions(coordinates: Array) -> Array:
    """Return the principal coordinates of points, as many as a discriminant can have."""
    n_points = len(coordinates)
    X = coordinates - coordinates.mean(axis=0)
    n_directions = min(_N_DISCRIMINANT, max(1, n_points // _POINTS_PER_DIRECTION), X.shape[1])
    _, vectors = np.linalg.eigh(X.T @ X)
    return X @ vectors[:, ::-1][:, :n_directions]


def _leave_one_out(X: Array, y: Array) -> Array:
    """Return predictions of y - mean(y) by ridge regression, each without the point itself.

    For two groups, that is their linear discriminant. The intercept is fitted without the point as
    well, and is not penalised; the penalty is that for all points.
    """
    X = X - X.mean(axis=0)
    y = y - y.mean()
    products = X.T @ X
    products[np.diag_indices(len(products))] += _RIDGE * np.trace(products) / len(products)
    solved = np.linalg.solve(products, X.T)
    leverage = (X * solved.T).sum(axis=1) + 1.0 / len(X)
    return (X @ (solved @ y) - leverage * y) / (1.0 - leverage)


def _halve(x: Array, min_size: int) -> Mask:
    """Return the two groups of a coordinate with the least variance within."""
    n_points = len(x)
    order = np.argsort(x, kind="stable")
    sums = np.cumsum(x[order] - x.mean())[:-1]
    sizes = np.arange(1, n_points)
    between = sums**2 / sizes + sums**2 / (n_points - sizes)
    between[: min_size - 1] = between[n_points - min_size :] = -1.0
    first = np.zeros(n_points, dtype=bool)
    first[order[: np.argmax(between) + 1]] = True
    return first


@dataclass(frozen=True)
class _Walk:
    """The random walk between nearest neighbours.

    Attributes
    ----------
    edges : ndarray of int of shape (n_edges, 2)
    lengths : ndarray of shape (n_edges,)
    root : ndarray of shape (n_points,)
        Square roots of the numbers of neighbours.
    rates : ndarray of shape (n_modes,)
        Of the slowest modes, in rising order: one minus the eigenvalue.
    modes : ndarray of shape (n_points, n_modes)
        Eigenvectors of the symmetric walk.
    """

    edges: Indices
    lengths: Array
    root: Array
    rates: Array
    modes: Array

    @classmethod
    def of(cls, distances: Array, n_neighbors: int) -> "_Walk":
        """Return the walk of points with these distances between so many nearest neighbours."""
        n_points = len(distances)
        i, j = nearest_neighbor_graph(distances, n_neighbors).edges.T
        degrees = np.bincount(i, minlength=n_points) + np.bincount(j, minlength=n_points)
        root = np.sqrt(degrees)
        weights = (1.0 / root)[i] * (1.0 / root)[j]
        steps: Any = np.zeros(distances.shape) if n_points <= _MOST_DENSE else None
        if steps is None:
            ends = np.concatenate([i, j]), np.concatenate([j, i])
            steps = sparse.csr_array((np.tile(weights, 2), ends), shape=distances.shape)
        else:
            steps[i, j] = steps[j, i] = weights
        values, modes = leading_eigenvectors(
            steps,
            min(_N_MODES, n_points - 2),
            root / np.linalg.norm(root),
            solver="arpack" if n_points > _MOST_DENSE else "dense",
        )
        edges = np.stack([i, j], axis=1)
        lengths = _not_too_short(distances[i, j], distances)
        return cls(edges, lengths, root, np.maximum(1.0 - values, 0.0), modes)

    def slowest(self) -> Array:
        """Return the slowest mode as a function of the points."""
        return self.modes[:, 0] / self.root

    def relax(self, x: Array, time: float) -> Array:
        """Return a function of the points after diffusion for a time."""
        relative = self.rates / max(self.rates[0], 1e-12)
        amplitudes = np.exp(-time * relative) * (self.modes.T @ (self.root * x))
        return (self.modes @ amplitudes) / self.root

    def straighten(self, x: Array) -> Array:
        """Return a monotone function of x that changes by one per unit of length."""
        i, j = self.edges.T
        middle = 0.5 * (x[i] + x[j])
        order = np.argsort(middle, kind="stable")
        squares = ((x[i] - x[j]) / self.lengths)[order] ** 2
        n_edges = len(order)
        half = max(int(_SHARE_OF_EDGES * n_edges), _FEWEST_EDGES) // 2
        sums = np.concatenate([[0.0], np.cumsum(squares)])
        start = np.maximum(np.arange(n_edges) - half, 0)
        stop = np.minimum(np.arange(n_edges) + half, n_edges)
        speed = np.sqrt((sums[stop] - sums[start]) / (stop - start))
        levels = np.sort(x)
        at_levels = np.interp(levels, middle[order], speed)
        at_levels = np.maximum(at_levels, 1e-12 * max(float(at_levels.max()), 1e-300))
        steps = 2.0 * np.diff(levels) / (at_levels[1:] + at_levels[:-1])
        return np.interp(x, levels, np.concatenate([[0.0], np.cumsum(steps)]))


def _not_too_short(lengths: Array, distances: Array) -> Array:
    """Return the lengths, raised to a part of the median of the positive distances."""
    if lengths.min(initial=np.inf) >= _LEAST_DISTANCE * distances.max():
        return lengths  # no need to find the median
    return np.maximum(lengths, _LEAST_DISTANCE * np.median(distances[distances > 0.0]))
