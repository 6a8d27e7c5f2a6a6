"""Bandwidths of Gaussian kernels: one number, or one for each point.

The kernel is exp(-d_ij^2 / (sigma_i sigma_j)). With the distance to the q-th neighbour as sigma_i
(Zelnik-Manor and Perona 2004) two kinds of points fall out of the random walk. Points that are all
but equal, such as rows filled in alike, have next to no sigma, and no affinity to anything else.
Outliers have a large sigma, but their neighbours do not, and the product is small compared with
the squared distance. Either becomes a component of its own, and takes a coordinate. So "auto"
bounds sigma from below, and then raises it where affinities add up to too little.
"""

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._validation import is_integer
from .affinities import affinities, row_sums

Array = NDArray[np.float64]

# "local": q is the square root of half the number of points, within these bounds.
_LOCAL_NEIGHBORS = 7, 10

# "auto": q is a twentieth of the number of points, within these bounds. A larger q connects turns
# of a curve that pass each other, and the neighbours of sparse distances are limited.
_AUTO_NEIGHBORS = 9, 25
_AUTO_FRACTION = 20

# "auto": no sigma is less than the low quantile of all, nor than this share of the high one. The
# second bound is for matrices in which more points have fused than the first allows for.
_LOW_QUANTILE, _HIGH_QUANTILE = 0.2, 0.75
_LEAST_OF_HIGH = 0.6

# "auto": affinities to other points add up to at least this, which is about what they do at the
# ends of a curve. Points with fewer than twice as many others have half of those instead.
_LEAST_SUM = 5.0

# The iterations for sigma end when its logarithm changes by no more than this.
_TOLERANCE = 1e-13
_MOST_ITERATIONS = 2000

# Above this sigma is not raised, so that quotients of distances are finite.
_LARGEST = 1e300


def check_bandwidth(bandwidth: Any) -> None:
    """Raise ValueError if the parameter `bandwidth` is invalid."""
    if local_neighbor(bandwidth, n_points=1) is not None:
        return
    if isinstance(bandwidth, str) and bandwidth == "median":
        return
    is_number = isinstance(bandwidth, numbers.Real) and not isinstance(bandwidth, bool)
    if not is_number or not 0 < bandwidth < np.inf:
        raise ValueError(
            'bandwidth must be "auto", "local", ("local", q) with a positive integer q, "median" '
            f"or a positive number, got {bandwidth!r}"
        )


def local_neighbor(bandwidth: Any, n_points: int) -> int | None:
    """Return the number q of the neighbour of a bandwidth per point; None for other bandwidths."""
    if isinstance(bandwidth, str) and bandwidth == "auto":
        least, most = _AUTO_NEIGHBORS
        return min(max(n_points // _AUTO_FRACTION, least), most)
    if isinstance(bandwidth, str) and bandwidth == "local":
        least, most = _LOCAL_NEIGHBORS
        return min(max(math.isqrt(n_points // 2), least), most)
    is_pair = isinstance(bandwidth, (tuple, list)) and len(bandwidth) == 2
    if is_pair and bandwidth[0] == "local":
        q = bandwidth[1]
        if is_integer(q) and q >= 1:
            return int(q)
    return None


def find_bandwidth(distances: Any, bandwidth: Any, fitted: Array | None = None) -> float | Array:
    """Return the bandwidth sigma as a number, or as an array with one for each row.

    Parameters
    ----------
    distances : ndarray or sparse array of shape (n_rows, n_points)
        Between all points; or, if `fitted` is given, of new points to those of the fit.
    bandwidth : "auto", "local", ("local", int), "median" or float
    fitted : ndarray of shape (n_points,), optional
        The bandwidths of the points of the fit. A point of the fit, given as a new one, gets the
        bandwidth that it has there.
    """
    check_bandwidth(bandwidth)
    q = local_neighbor(bandwidth, distances.shape[1])
    if q is not None:
        sigma = _distances_to_neighbor(distances, q)
        is_auto = isinstance(bandwidth, str) and bandwidth == "auto"
        return _widened(distances, sigma, fitted) if is_auto else sigma
    if isinstance(bandwidth, str):
        is_sparse = sparse.issparse(distances)
        values = _above_diagonal(distances).data if is_sparse else distances[_above(distances)]
        finite = values[np.isfinite(values)]
        middle = float(np.median(finite)) if finite.size else 0.0
        return middle or float(_smallest_positive(finite[None])[0])
    return float(bandwidth)


def _distances_to_neighbor(distances: Any, q: int) -> Array:
    """Return the (q + 1)-th smallest distance of each row, or its largest finite one.

    For fitted points that is the distance to the q-th neighbour, since the smallest distance is
    that of a point to itself; for new points the same rule makes the map continuous.
    """
    if not sparse.issparse(distances) and distances.size and np.isfinite(distances).all():
        last = min(q, distances.shape[1] - 1)
        found = np.partition(distances, last, axis=1)[:, last]
        same = np.flatnonzero(found == 0.0)  # q or more duplicates
        found[same] = _smallest_positive(distances[same])
        return found
    if sparse.issparse(distances):
        bounds = zip(distances.indptr[:-1], distances.indptr[1:], strict=True)
        rows = [distances.data[start:stop] for start, stop in bounds]
    else:
        rows = distances
    found = np.empty(len(rows))
    for i, row in enumerate(rows):
        finite = row[np.isfinite(row)]
        last = min(q, finite.size - 1)
        found[i] = np.partition(finite, last)[last] if finite.size else 0.0
        if found[i] == 0.0:  # q or more duplicates
            found[i] = _smallest_positive(finite[None])[0]
    return found


def _widened(distances: Any, sigma: Array, fitted: Array | None) -> Array:
    """Return sigma raised to its lower bound, and until affinities add up to enough.

    The bandwidths of fitted points depend on each other. With u = log sigma they minimise

        sum over pairs of g_ij(u_i + u_j) - sum over i of T_i u_i,   g_ij'(v) = exp(-d_ij^2 e^-v),

    subject to the lower bound, T_i being the sum that affinities should have at least. That is
    convex, so that there is one solution: a point either has the lower bound and enough
    affinity, or exactly T_i.
    """
    if fitted is None:
        low, high = np.quantile(sigma, [_LOW_QUANTILE, _HIGH_QUANTILE], method="lower")
        floor = max(low, _LEAST_OF_HIGH * high)
    else:
        floor = fitted.min()
    sigma = np.maximum(sigma, floor)
    others = sigma if fitted is None else fitted
    affinity = affinities(distances, sigma, others)
    # The largest affinity is that of a point to itself, or of a new point to its nearest one.
    sums = row_sums(affinity) - _row_maxima(affinity)
    low = np.flatnonzero(sums < _LEAST_SUM)
    entries = _Entries.of(distances, low, others)
    if entries.of_row.size:
        low = low[entries.kept]
        u, v = np.log(sigma[low]), np.log(others)
        u = _raise_until_enough(entries, u, v, low if fitted is None else None)
        sigma[low] = np.minimum(np.exp(np.minimum(u, math.log(_LARGEST))), _LARGEST)
    return sigma


class _Entries:
    """Finite distances of some rows, without the one of largest affinity in each row.

    Attributes
    ----------
    kept : ndarray of shape (n_kept,)
        The places among the given rows of those that have another finite distance.
    of_row, column : ndarray of shape (n_entries,)
        The place among the kept rows, ascending, and the column.
    log_square : ndarray of shape (n_entries,)
        The logarithm of the squared distance; -inf for duplicates.
    starts, count : ndarray of shape (n_kept,)
        Where each row starts, and how many entries it has.
    """

    def __init__(self, of_row: Any, column: Any, log_square: Array, n_rows: int):
        counts = np.bincount(of_row, minlength=n_rows)
        self.kept = np.flatnonzero(counts)
        self.count = counts[self.kept]
        self.of_row = np.repeat(np.arange(self.kept.size), self.count)
        self.starts = np.cumsum(self.count) - self.count
        self.column, self.log_square = column, log_square

    @classmethod
    def of(cls, distances: Any, rows: Any, others: Array) -> "_Entries":
        if sparse.issparse(distances):
            some = distances[rows].tocoo()
            order = np.argsort(some.row, kind="stable")
            of_row, column, values = some.row[order], some.col[order], some.data[order]
        else:
            some = distances[rows]
            of_row = np.repeat(np.arange(len(rows)), some.shape[1])
            column, values = np.tile(np.arange(some.shape[1]), len(rows)), some.ravel()
        finite = np.isfinite(values)
        of_row, column, values = of_row[finite], column[finite], values[finite]
        with np.errstate(divide="ignore"):
            log_square = 2.0 * np.log(values)
        # The first in each row of those with the least d^2 / sigma_j.
        order = np.lexsort((log_square - np.log(others[column]), of_row))
        is_first = np.diff(of_row[order], prepend=-1) > 0
        is_other = np.ones(of_row.size, dtype=bool)
        is_other[order[is_first]] = False
        return cls(of_row[is_other], column[is_other], log_square[is_other], len(rows))


def _raise_until_enough(entries: _Entries, u: Array, v: Array, places: Any) -> Array:
    """Return log sigma of the rows for which affinities add up to T, or a larger sum at u.

    Newton's method for the logarithm of the sums, with a diagonal matrix that bounds the matrix of
    second derivatives from above, so that rows may change at the same time.

    Parameters
    ----------
    entries : _Entries
    u : ndarray of shape (n_rows,)
        The lower bounds, and the start.
    v : ndarray of shape (n_points,)
        The logarithms of the bandwidths of the other points.
    places : ndarray of shape (n_rows,) or None
        Where in `v` the rows are, if they are among the other points.
    """
    bound, v = u, v.copy()
    log_target = np.log(np.minimum(_LEAST_SUM, entries.count / 2))
    weight = np.ones(v.size)
    if places is not None:
        weight[places] = 2.0  # a pair of rows that both change
    weight = weight[entries.column]
    for _ in range(_MOST_ITERATIONS):
        log_x = entries.log_square - u[entries.of_row] - v[entries.column]
        x = np.exp(np.minimum(log_x, 690.0))
        least = np.minimum.reduceat(x, entries.starts)
        relative = np.exp(least[entries.of_row] - x)
        total = np.add.reduceat(relative, entries.starts)
        slope = np.add.reduceat(weight * x * relative, entries.starts) / total
        missing = log_target - (np.log(total) - least)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = np.where(missing == 0.0, 0.0, np.clip(missing / slope, -1.0, 1.0))
        new = np.maximum(u + step, bound)
        change = np.abs(new - u).max()
        u = new
        if places is not None:
            v[places] = u
        if change <= _TOLERANCE * max(1.0, np.abs(u).max()):
            break
    return u


def _row_maxima(A: Any) -> Array:
    if not sparse.issparse(A):
        return A.max(axis=1, initial=0.0)
    largest = np.zeros(A.shape[0])
    entries = A.tocoo()
    np.maximum.at(largest, entries.row, entries.data)
    return largest


def _smallest_positive(distances: Array) -> Array:
    """Return the smallest positive entry of each row, 1 if there is none."""
    positive = np.where(distances > 0, distances, np.inf).min(axis=1, initial=np.inf)
    return np.where(np.isfinite(positive), positive, 1.0)


def _above(distances: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    return np.triu_indices(distances.shape[0], 1)


def _above_diagonal(distances: Any) -> Any:
    return sparse.triu(distances, 1, format="csr")
