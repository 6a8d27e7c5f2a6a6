"""Embedding by repaired distances over shared entries."""

import numbers
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if

from .._embedding.affinities import affinities
from .._embedding.bandwidths import find_bandwidth
from .._embedding.layouts import classical_mds, geodesics
from .._estimators import EmbeddingMixin, levels_to_caller, unchanged_on_failure
from .._validation import check_choice, check_count, check_stopping, listing
from ..diffusion_map import DiffusionMap
from ..graphs import Graph, masked_distances
from ._metric_repair import lower_to_metric, nearest_correlation, raise_to_metric

Array = NDArray[np.float64]

_METHODS = ["decrease-only", "increase-only", "kernel"]

# Entries of a kernel matrix that are less than the rounding error of 1 count as that: a distance
# is at most 6 sigma.
_LEAST_AFFINITY = float(np.finfo(float).eps)


def _embeds_rows(estimator: Any) -> bool:
    return estimator.mode != "column"


class RepairedDistances(EmbeddingMixin, BaseEstimator):
    r"""Repair distances over shared entries, then embed.

    Distances over the entries that two rows share, :math:`\Theta_i \cap \Theta_j`, are of no
    metric: three rows are compared over different columns. What is measured, and how it is
    repaired:

    - "kernel": the kernel matrix :math:`K_{ij} = \exp(-d_{ij}^2 / \sigma^2)` of the mean squares
      :math:`d_{ij}^2` of `comanifold.masked_distances`, with :math:`\sigma` the median of the
      distances times `bandwidth_factor`, is replaced by the nearest one that points can have,

      .. math:: \min_C \| C - K \|_F \quad\text{subject to}\quad
                C \succeq 0, \; C_{ii} = 1, \; 0 \le C_{ij} \le 1,

      and the distances are :math:`\sigma \sqrt{-\log C_{ij}}`. The kernel matrix of the complete
      rows is one of the C, so that the result is nearer to it than K is. The triangle inequality
      is not enforced. A pair that shares nothing has the median distance at first. If the median
      is zero, the least positive distance takes its place.
    - "increase-only" (MR-MISSING): sums :math:`d_{ij}^2 = \sum_{k \in \Theta_i \cap \Theta_j}
      (x_{ik} - x_{jk})^2`, which are never too large, and zero for a pair that shares nothing. For
      each point k, then for each i, :math:`d_{ik} \leftarrow \max(d_{ik}, \max_{j < i} d_{ij} -
      d_{jk})`. The result is a metric after this one pass, and depends on the order of the rows.
    - "decrease-only": root mean squares, of `comanifold.masked_distances`, are replaced by the
      lengths of shortest paths. A pair that shares nothing has the length of the path through
      others; if there is none, twice the largest length.

    For complete data, all of these return the Euclidean distances, those with mean squares divided
    by the root of the number of columns, and "kernel" only those up to :math:`6 \sigma`, with
    errors of about :math:`10^{-8} \sigma`. There is no `transform`: a new row would change the
    distances between others.

    Parameters
    ----------
    method : {"kernel", "increase-only", "decrease-only"}, default="kernel"
        How distances are repaired.
    n_components : int, default=2
        Number of coordinates.
    mode : {"row", "column"}, default="row"
        What is embedded. With "column", `embedding_` and what `fit_transform` returns have a row
        for each column of X, and there is no `set_output`, since the index of a data frame would
        not fit.
    embedding : {"auto", "diffusion", "isomap"}, default="auto"
        "diffusion": `comanifold.DiffusionMap` with its default bandwidth. "isomap": classical MDS
        of the lengths of shortest paths between nearest neighbours. "auto" is "diffusion" for
        "kernel", and else "isomap", as published. Other embeddings take `distances_`.
    n_neighbors : int, default=12
        Neighbours of each point, for "isomap". At most all others are used.
    bandwidth_factor : float, default=1.0
        :math:`\sigma` in medians of the distances, for "kernel". Positive. About 1.4 lowers the
        error of the distances as a whole, but near neighbours are mostly found best with 1, and
        those of points along a smooth curve with a half or less.
    max_iter : int, default=500
        Limit on the number of projections, for "kernel". The result is a kernel matrix of points
        after any number.
    tol : float, default=1e-5
        Relative change of the kernel matrix in an iteration at which to stop.

    Attributes
    ----------
    distances_ : ndarray of shape (n_points, n_points)
        The repaired distances, finite; with "kernel" at most about :math:`6 \sigma`, where
        the entries of the kernel matrix are rounding errors.
    embedding_ : ndarray of shape (n_points, n_components)
    kernel_ : ndarray of shape (n_points, n_points)
        C, positive semi-definite; only for "kernel".
    bandwidth_ : float
        :math:`\sigma`; only for "kernel".
    n_iter_ : int
        Number of projections; 1, a single pass, for the others.
    n_features_in_ : int

    Notes
    -----
    Time grows with the cube of the number of points n, and memory with its square: about
    :math:`6 \cdot 8 n^2` bytes, and :math:`11 \cdot 8 n^2` for "kernel", which takes tens of
    eigendecompositions. The number of entries of each point hardly matters.

    References
    ----------
    Gilbert and Jain (2017), If it ain't broke, don't fix it: sparse metric repair. Gilbert and
    Sonthalia (2018), Unsupervised metric learning in presence of missing data. Yu et al. (2023),
    Boosting spectral clustering on incomplete data via kernel correction and affinity learning.

    Examples
    --------
    >>> import numpy as np
    >>> from comanifold.baselines import RepairedDistances
    >>> angle = np.linspace(0, 1, 40)
    >>> X = np.cos(3 * angle[:, None] + np.arange(20))
    >>> X[np.random.default_rng(0).random(X.shape) < 0.5] = np.nan
    >>> line = RepairedDistances("increase-only", 1).fit_transform(X)[:, 0]
    >>> bool(abs(np.corrcoef(line, angle)[0, 1]) > 0.98)
    True
    """

    def __init__(
        self,
        method: str = "kernel",
        n_components: int = 2,
        *,
        mode: str = "row",
        embedding: str = "auto",
        n_neighbors: int = 12,
        bandwidth_factor: float = 1.0,
        max_iter: int = 500,
        tol: float = 1e-5,
    ):
        self.method = method
        self.n_components = n_components
        self.mode = mode
        self.embedding = embedding
        self.n_neighbors = n_neighbors
        self.bandwidth_factor = bandwidth_factor
        self.max_iter = max_iter
        self.tol = tol

    @unchanged_on_failure
    def fit(self, X: ArrayLike, y: Any = None) -> "RepairedDistances":  # noqa: ARG002
        """Repair the distances between the rows of X, or its columns, and embed them.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            NaN for missing entries. What is embedded needs an observed entry each.
        y : ignored
        """
        X = self._read(X, reset=True)
        points = self._points(X)
        self._check_parameters(len(points))
        for name in ("kernel_", "bandwidth_"):
            vars(self).pop(name, None)  # of an earlier fit
        self.n_iter_ = 1
        if self.method == "kernel":
            self._correct_kernel(masked_distances(points))
        elif self.method == "increase-only":
            self.distances_ = raise_to_metric(_lengths_over_shared(points))
        else:
            self.distances_ = _all_finite(lower_to_metric(masked_distances(points)))
        self.embedding_ = self._embed(self.distances_)
        return self

    def _points(self, X: Array) -> Array:
        """Return the rows of X, or its columns, as rows; each must have an observed entry."""
        check_choice("mode", self.mode, ["column", "row"])
        points = X if self.mode == "row" else X.T
        if len(points) < 2:
            raise ValueError(f"X must have at least two {self.mode}s, got {len(points)}")
        empty = np.flatnonzero(np.isnan(points).all(axis=1))
        if empty.size:
            raise ValueError(
                f"X has {self.mode}s with no observed entry, which have no distance to others: "
                f"{listing(empty)}"
            )
        return points

    def _check_parameters(self, n_points: int) -> None:
        check_choice("method", self.method, _METHODS)
        check_choice("embedding", self.embedding, ["auto", "diffusion", "isomap"])
        if check_count("n_components", self.n_components) >= n_points:
            raise ValueError(
                f"n_components must be less than the number of {self.mode}s, {n_points}, got "
                f"{self.n_components}"
            )
        check_count("n_neighbors", self.n_neighbors)
        factor = self.bandwidth_factor
        is_number = isinstance(factor, numbers.Real) and not isinstance(factor, bool)
        if not is_number or not 0.0 < factor < np.inf:
            raise ValueError(
                f"bandwidth_factor must be a positive finite number, got {factor!r:.60}"
            )
        check_stopping(self.max_iter, self.tol)

    def _correct_kernel(self, distances: Array) -> None:
        """Set the kernel matrix nearest to that of the distances, and its own distances."""
        median = float(find_bandwidth(distances, "median"))
        sigma = float(self.bandwidth_factor) * median
        if not 0.0 < sigma < np.inf:
            raise ValueError(
                f"bandwidth_factor={self.bandwidth_factor:g} times the median distance "
                f"{median:.3g} is out of range: use a number nearer to 1"
            )
        unknown = np.isinf(distances)
        # Zero, and not the 1 that takes the place of the median, if all known distances are zero.
        guess = min(median, float(distances.max(where=~unknown, initial=0.0)))
        measured = affinities(np.where(unknown, guess, distances), sigma, sigma)
        self.kernel_, self.n_iter_, converged = nearest_correlation(
            measured, max_iter=self.max_iter, tol=self.tol
        )
        if not converged:
            warnings.warn(
                f"RepairedDistances stopped after {self.max_iter} iterations, before reaching "
                f"tol={self.tol:g}. Raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=levels_to_caller(),
            )
        self.bandwidth_ = sigma
        self.distances_ = sigma * np.sqrt(-np.log(np.maximum(self.kernel_, _LEAST_AFFINITY)))

    def _embed(self, distances: Array) -> Array:
        """Return the coordinates of points with these distances."""
        kind = self.embedding
        if kind == "auto":
            kind = "diffusion" if self.method == "kernel" else "isomap"
        if kind == "diffusion":
            return DiffusionMap(self.n_components, metric="precomputed").fit_transform(distances)
        unit = float(distances.max()) or 1.0  # so that no square overflows
        relative = distances / unit
        lengths = geodesics(relative, Graph.from_distances(relative, self.n_neighbors))
        return unit * classical_mds(lengths, self.n_components)

    @available_if(_embeds_rows)
    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return the names of the coordinates; only with `mode="row"`.

        Parameters
        ----------
        input_features : ignored
        """
        return super().get_feature_names_out(input_features)


def _lengths_over_shared(X: Array) -> Array:
    """Return the root of the sum of squares over shared columns, 0 if there are none."""
    observed = (~np.isnan(X)).astype(float)
    n_shared = observed @ observed.T
    lengths = masked_distances(X)
    lengths[n_shared == 0.0] = 0.0
    lengths *= np.sqrt(n_shared)
    return lengths


def _all_finite(distances: Array) -> Array:
    """Return the distances with twice the largest finite one in place of infinite ones."""
    infinite = np.isinf(distances)
    distances[infinite] = 2.0 * distances.max(where=~infinite, initial=0.0)
    return distances
