"""Diffusion maps of points given by incomplete feature vectors or by their distances."""

import numbers
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ._embedding.affinities import (
    affinities,
    count_components,
    refuse_asymmetric,
    row_sums,
    scaled,
    with_zero_diagonal,
    without_infinite,
)
from ._embedding.bandwidths import find_bandwidth
from ._embedding.eigenvectors import leading_eigenvectors
from ._estimators import levels_to_caller, unchanged_on_failure, validate_matrix
from ._validation import check_choice, check_matrix, is_integer, masked_to_nan
from .graphs import masked_distances

Array = NDArray[np.float64]


class DiffusionMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Embed points by the leading eigenvectors of a random walk between them.

    With the affinities :math:`A_{ij} = \exp(-d_{ij}^2 / \sigma^2)` and the row sums :math:`D`,
    the walk :math:`P = D^{-1} A` has eigenvalues :math:`1 = \lambda_0 \ge \lambda_1 \ge \dots`
    and right eigenvectors :math:`\psi`, of unit length under the stationary distribution. The
    point i is placed at :math:`(\lambda_1^t \psi_1(i), \dots, \lambda_d^t \psi_d(i))`.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates, less than the number of points.
    metric : {"masked", "precomputed"}, default="masked"
        "masked": X holds feature vectors, NaN for missing entries, and distances are those of
        `comanifold.masked_distances`. "precomputed": X holds distances; a sparse matrix of
        distances has no affinity where it has no entry.
    bandwidth : "auto", "local", ("local", int), "median" or float, default="auto"
        :math:`\sigma`: the median distance (the paper's choice) or a number. The others scale
        each pair by its own :math:`\sigma_i \sigma_j` instead of :math:`\sigma^2`. "local":
        :math:`\sigma_i` is the distance of i to its q-th neighbour; q is the given number, or
        else the square root of half the number of points, but at least 7 and at most 10.
        "auto": q is a twentieth of the number of points, but at least 9 and at most 25. Then
        :math:`\sigma_i` is raised to the 20% quantile of all, and to 0.6 times their upper
        quartile, so that points that are all but equal keep an affinity to others; and further
        until the affinities of i to other points add up to 5 (to half their number if there
        are fewer than 10), so that outliers do.
    diffusion_time : float, default=1.0
        The exponent t of the eigenvalues.
    density_normalization : float, default=0.0
        Divide affinities by this power of the density at both points first. 0 is the paper, 1
        removes the influence of the density (Coifman and Lafon 2006).
    eigen_solver : {"auto", "dense", "arpack"}, default="auto"
        "dense" computes eigenvectors by LAPACK, "arpack" by Lanczos iterations, with a dense
        solver as a fallback. "auto" is "dense" up to 400 points, and up to 1,500 if few
        iterations do not suffice.
    random_state : int, RandomState or None, default=0
        For the start vector of the Lanczos iterations.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_points, n_components)
    eigenvalues_ : ndarray of shape (n_components,)
        Without the first one, which is 1.
    affinity_ : ndarray or sparse array of shape (n_points, n_points)
    bandwidth_ : float or ndarray of shape (n_points,)
        :math:`\sigma`, or :math:`\sigma_i`.
    n_features_in_ : int

    References
    ----------
    Coifman and Lafon (2006), Diffusion maps. Zelnik-Manor and Perona (2004), Self-tuning
    spectral clustering.

    Examples
    --------
    >>> import numpy as np
    >>> from comanifold import DiffusionMap
    >>> angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> embedding = DiffusionMap(bandwidth=0.3).fit_transform(circle)
    >>> radius = np.linalg.norm(embedding, axis=1)
    >>> bool(np.ptp(radius) < 1e-6 * radius.mean())
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric: str = "masked",
        bandwidth: str | float | tuple[str, int] = "auto",
        diffusion_time: float = 1.0,
        density_normalization: float = 0.0,
        eigen_solver: str = "auto",
        random_state: int | np.random.RandomState | None = 0,
    ):
        self.n_components = n_components
        self.metric = metric
        self.bandwidth = bandwidth
        self.diffusion_time = diffusion_time
        self.density_normalization = density_normalization
        self.eigen_solver = eigen_solver
        self.random_state = random_state

    @unchanged_on_failure
    def fit(self, X: ArrayLike, y: Any = None) -> "DiffusionMap":  # noqa: ARG002
        """Embed the rows of X, or the points whose distances X holds.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features) or (n_points, n_points)
        y : ignored
        """
        distances = self._distances(X, reset=True)
        n_points = distances.shape[0]
        self._check_parameters(n_points)
        self.bandwidth_ = find_bandwidth(distances, self.bandwidth)
        self.affinity_ = affinities(distances, self.bandwidth_, self.bandwidth_)
        self._density = row_sums(self.affinity_)
        walk = self._normalized(self.affinity_, self._density)
        self._degree = row_sums(walk)
        _warn_if_disconnected(walk)
        root = np.sqrt(self._degree)
        eigenvalues, vectors = leading_eigenvectors(
            scaled(walk, 1.0 / root, 1.0 / root),
            self.n_components,
            root / np.linalg.norm(root),
            solver=self.eigen_solver,
            random_state=self.random_state,
        )
        self.eigenvalues_ = eigenvalues
        self._eigenvectors = vectors * np.sqrt(self._degree.sum()) / root[:, None]
        self.embedding_ = self._eigenvectors * self._powers(eigenvalues)
        self._n_features_out = self.n_components
        return self

    def fit_transform(self, X: ArrayLike, y: Any = None) -> Array:  # noqa: ARG002
        """Embed the rows of X; see `fit`."""
        return self.fit(X).embedding_

    def transform(self, X: ArrayLike) -> Array:
        r"""Place new points by the Nyström extension.

        It is :math:`\psi(x) = \sum_j P_{xj} \psi_j / \lambda` with the walk from x. A point of the
        training data is placed where it was. NaN for a point without any affinity: it has no
        finite distance to a fitted point, or is so many bandwidths away that the square overflows.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features) or (n_new, n_points)
            With `metric="precomputed"`, the distances of the new points to those of `fit`. In a
            sparse matrix of them, distances of zero must be stored.
        """
        check_is_fitted(self)
        distances = self._distances(X, reset=False)
        new_bandwidth = (
            self.bandwidth_
            if np.ndim(self.bandwidth_) == 0
            else find_bandwidth(distances, self.bandwidth, self.bandwidth_)
        )
        affinity = affinities(distances, new_bandwidth, self.bandwidth_, relative=True)
        density = row_sums(affinity)
        # NaN for points without any affinity.
        density[density == 0.0] = np.nan
        walk = self._normalized(affinity, density)
        steps = scaled(walk, 1.0 / (row_sums(walk) + 0.0 * density), None)
        # lambda^t psi, with psi = P psi_fit / lambda.
        powers = np.zeros_like(self.eigenvalues_)
        some = self.eigenvalues_ != 0.0
        powers[some] = np.abs(self.eigenvalues_[some]) ** (self.diffusion_time - 1.0)
        return (steps @ self._eigenvectors) * powers

    def _powers(self, eigenvalues: Array) -> Array:
        """Return the eigenvalues to the power t; negative ones keep their sign."""
        return np.sign(eigenvalues) * np.abs(eigenvalues) ** self.diffusion_time

    def _normalized(self, affinity: Any, density: Array) -> Any:
        power = self.density_normalization
        if power == 0.0:
            return affinity
        return scaled(affinity, density**-power, self._density**-power)

    def _distances(self, X: ArrayLike, *, reset: bool) -> Any:
        check_choice("metric", self.metric, ["masked", "precomputed"])
        precomputed = self.metric == "precomputed"
        X = validate_matrix(
            self,
            masked_to_nan(X),
            reset=reset,
            accept_sparse="csr" if precomputed else False,
            dtype=float if precomputed else "numeric",
            ensure_all_finite=False if precomputed else "allow-nan",
            ensure_min_samples=2 if reset else 1,
        )
        if not precomputed:
            X = check_matrix(X, need_observed=reset, need_observed_rows=reset)
            if reset:
                self._fit_X = X
                return masked_distances(X)
            return masked_distances(X, self._fit_X)
        if reset and X.shape[0] != X.shape[1]:
            raise ValueError(
                f'with metric="precomputed" X must be square, the distances between all points, '
                f"got shape {X.shape}"
            )
        if sparse.issparse(X):
            X = without_infinite(X)
        values = X.data if sparse.issparse(X) else X
        if np.isnan(values).any() or (values < 0).any():
            raise ValueError("distances must not be negative or NaN; infinite ones are allowed")
        if reset:
            refuse_asymmetric(X)
            return with_zero_diagonal(X)
        return X

    def _check_parameters(self, n_points: int) -> None:
        check_choice("eigen_solver", self.eigen_solver, ["arpack", "auto", "dense"])
        n_components = self.n_components
        if not is_integer(n_components) or not 1 <= n_components < n_points:
            raise ValueError(
                f"n_components must be an integer from 1 to {n_points - 1}, one less than the "
                f"number of points, got {n_components!r}"
            )
        if not isinstance(self.diffusion_time, numbers.Real) or not self.diffusion_time >= 0:
            raise ValueError(f"diffusion_time must be at least 0, got {self.diffusion_time!r}")
        power = self.density_normalization
        if not isinstance(power, numbers.Real) or not 0 <= power <= 1:
            raise ValueError(f"density_normalization must lie between 0 and 1, got {power!r}")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.metric == "masked"
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.sparse = self.metric == "precomputed"
        return tags


def _warn_if_disconnected(walk: Any) -> None:
    n_parts = count_components(walk)
    if n_parts > 1:
        warnings.warn(
            f"the affinities fall into {n_parts} connected components: the embedding separates "
            "them, and distances between them have no meaning. A larger bandwidth connects them",
            UserWarning,
            stacklevel=levels_to_caller(),
        )
