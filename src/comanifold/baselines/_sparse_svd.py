"""Biclustering by a sparse singular value decomposition."""

import numbers
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import svds
from sklearn.base import BaseEstimator, BiclusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._embedding.eigenvectors import largest_eigenpairs
from .._estimators import EmbeddingMixin, levels_to_caller, unchanged_on_failure
from .._validation import check_choice, check_count, check_stopping

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Up to this many rows or columns, whichever are fewer, the first vectors come from a dense solver.
_DENSE = 1500

# Coefficients below this part of the largest are zero: the weights of others do not overflow.
_NOTHING = 1e-50

# The weight of missing entries, which count as zeros. Without any, coefficients of rows and columns
# that share next to no observed entries grow without limit. On planted layers with 30 to 90%
# missing, this had the least errors of 1, 0.3, 0.1, 0.03 and 0.01.
_MISSING = 0.01

# From this iteration on penalties do not fall, so that the BIC does not go to and fro between two.
_SETTLING = 20

# No variance is less than this part of the mean square of the data, its rounding errors.
_ROUNDING = (64.0 * np.finfo(float).eps) ** 2


class SparseSVD(BiclusterMixin, EmbeddingMixin, BaseEstimator):
    r"""Biclusters from layers of rank one with few rows and columns each.

    A layer :math:`s u v'` of the matrix, or of what the layers before it have left, is found by
    alternating two regressions with adaptive lasso penalties. With u of unit length and fixed,

    .. math:: \min_v \sum_{i,j} q_{ij} (x_{ij} - u_i v_j)^2
              + \lambda \sum_j \sqrt{a_j} \, |\sqrt{a_j} \hat v_j|^{-\gamma} |v_j|,
              \qquad a_j = \sum_i q_{ij} u_i^2,

    where :math:`\hat v` is the solution without a penalty: a soft threshold of each
    :math:`\hat v_j`. Then u in the same way, for v of unit length. The weights :math:`q_{ij}` are
    1 for observed entries; missing ones are zeros of weight 0.01, which keeps coefficients of rows
    and columns with few entries in common from growing without limit. For complete data all
    :math:`a_j` are 1, and this is the published method. Each :math:`\lambda` is the minimiser of

    .. math:: \mathrm{BIC}(\lambda) = \frac1{N \hat\sigma^2} \sum_{i,j} q_{ij} (x_{ij} - u_i v_j)^2
              + \frac{\log N}{N} \#\{j : v_j \ne 0\}, \qquad N = |\Theta|,

    with :math:`\hat\sigma^2` the variance that :math:`\hat v` leaves; at least one coefficient is
    not zero. At the end s is the least squares factor of :math:`u v'`. Rows and columns with
    coefficients other than zero are a bicluster. Biclusters may overlap, but a layer of largest s
    then is a mixture of those that do.

    Parameters
    ----------
    n_components : int, default=2
        Number of layers.
    center : {None, "mean", "median"}, default=None
        What to subtract from each column first. The mean of a column in which a few rows are large
        is not that of the others, which then are not zero: prefer the median.
    weight_power : float, default=2.0
        :math:`\gamma`; 0 is the lasso.
    max_iter : int, default=100
        Limit on the number of iterations for each layer.
    tol : float, default=1e-4
        Change of u and v in an iteration at which to stop.

    Attributes
    ----------
    rows_ : ndarray of bool of shape (n_components, n_rows)
        The rows of each bicluster.
    columns_ : ndarray of bool of shape (n_components, n_columns)
    row_components_ : ndarray of shape (n_components, n_rows)
        The u; zero for a layer that is left out because nothing remained.
    column_components_ : ndarray of shape (n_components, n_columns)
        The v.
    singular_values_ : ndarray of shape (n_components,)
        The s, not always in descending order.
    row_penalties_, column_penalties_ : ndarray of shape (n_components,)
        The last :math:`\lambda` of u and of v.
    embedding_ : ndarray of shape (n_rows, n_components)
        The products s u.
    center_ : ndarray of shape (n_columns,)
        What was subtracted.
    filled_ : ndarray of shape (n_rows, n_columns)
        The data where observed, the sum of the layers and of `center_` elsewhere.
    n_iter_ : int
        The largest number of iterations of a layer.
    n_features_in_ : int

    References
    ----------
    Lee, Shen, Huang and Marron (2010), Biclustering via sparse singular value decomposition,
    Biometrics 66. Zou (2006), The adaptive lasso and its oracle properties, JASA 101.

    Examples
    --------
    >>> import numpy as np
    >>> from comanifold.baselines import SparseSVD
    >>> X = 0.3 * np.random.default_rng(3).normal(size=(40, 30))
    >>> X[:10, :8] += 2.0
    >>> X[::3, ::4] = np.nan
    >>> model = SparseSVD(1).fit(X)
    >>> model.get_shape(0)
    (10, 8)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        center: str | None = None,
        weight_power: float = 2.0,
        max_iter: int = 100,
        tol: float = 1e-4,
    ):
        self.n_components = n_components
        self.center = center
        self.weight_power = weight_power
        self.max_iter = max_iter
        self.tol = tol

    @unchanged_on_failure
    def fit(self, X: ArrayLike, y: Any = None) -> "SparseSVD":  # noqa: ARG002
        """Find the layers.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            NaN for missing entries. A row or column with nothing observed is in no bicluster.
        y : ignored
        """
        X = self._read(X, reset=True)
        n_components, power = self._check_parameters()
        max_iter, tol = check_stopping(self.max_iter, self.tol)
        self.center_ = _centers(X, self.center)
        observed = ~np.isnan(X)
        rest = np.where(observed, X - self.center_, 0.0)
        unit = float(np.abs(rest).max()) or 1.0  # so that no square overflows
        rest /= unit
        least_variance = _ROUNDING * float(np.sum(rest**2)) / observed.sum()
        layers = []
        for number in range(n_components):
            lasso = AdaptiveLasso(rest, observed, power, least_variance)
            layers.append(_find_layer(lasso, max_iter=max_iter, tol=tol))
            rest = np.where(observed, rest - layers[-1].matrix(), 0.0)
            if not layers[-1].converged:
                warnings.warn(
                    f"SparseSVD stopped after {max_iter} iterations for layer {number}, before "
                    f"reaching tol={tol:g}. Raise max_iter or tol",
                    ConvergenceWarning,
                    stacklevel=levels_to_caller(),
                )
        self.row_components_ = np.stack([layer.u for layer in layers])
        self.column_components_ = np.stack([layer.v for layer in layers])
        self.singular_values_ = unit * np.array([layer.s for layer in layers])
        # In units of the data: lambda has those of |b|^(1 + gamma).
        to_data = unit ** (1.0 + power)
        self.row_penalties_ = to_data * np.array([layer.row_penalty for layer in layers])
        self.column_penalties_ = to_data * np.array([layer.column_penalty for layer in layers])
        self.rows_ = self.row_components_ != 0.0
        self.columns_ = self.column_components_ != 0.0
        self.embedding_ = self.row_components_.T * self.singular_values_
        estimate = self.center_ + self.embedding_ @ self.column_components_
        self.filled_ = np.where(observed, X, estimate)
        self.n_iter_ = max(layer.n_iter for layer in layers)
        self._unit, self._power = unit, power
        self._gains = np.array([layer.gain for layer in layers])
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Return the coefficients s u of new rows, with the penalties of the fit.

        Rows of `fit` have those of `embedding_`.

        Parameters
        ----------
        X : array-like of shape (n_new, n_columns)
            NaN for missing entries. A row without any observed entry has zeros.
        """
        check_is_fitted(self)
        X = self._read(X, reset=False)
        observed = ~np.isnan(X)
        rest = np.where(observed, X - self.center_, 0.0) / self._unit
        penalties = self.row_penalties_ / self._unit ** (1.0 + self._power)
        found = np.zeros((len(X), len(penalties)))
        for k, (v, penalty) in enumerate(zip(self.column_components_, penalties, strict=True)):
            if not v.any():
                break
            b, root = standardised_coefficients(rest, observed, v)
            u = self._gains[k] * soft_threshold(b, penalty, self._power) / root
            rest = np.where(observed, rest - np.outer(u, v), 0.0)
            found[:, k] = self._unit * u
        return found

    def _check_parameters(self) -> tuple[int, float]:
        """Validate n_components, center and weight_power; return the first and the last."""
        n_components = check_count("n_components", self.n_components)
        if self.center is not None:
            check_choice("center", self.center, ["mean", "median"], "None")
        power = self.weight_power
        is_number = isinstance(power, numbers.Real) and not isinstance(power, bool)
        if not is_number or not 0 <= power <= 4:
            raise ValueError(f"weight_power must be a number from 0 to 4, got {power!r}")
        return n_components, float(power)


@dataclass(frozen=True)
class Layer:
    """A layer s u v' of rank one, and the penalties with which it was found.

    `gain` is s divided by the length of the penalised solution of which u is the direction.
    """

    u: Array
    v: Array
    s: float
    gain: float
    row_penalty: float
    column_penalty: float
    n_iter: int
    converged: bool

    def matrix(self) -> Array:
        """Return s u v'."""
        return np.outer(self.s * self.u, self.v)


@dataclass(frozen=True)
class AdaptiveLasso:
    """Sparse regressions of the rows, or columns, of a matrix on a vector.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Zero for missing entries.
    observed : ndarray of bool of shape (n_rows, n_columns)
    power : float
        The exponent of the weights.
    least_variance : float
        Of the errors.
    """

    X: Array
    observed: Mask
    power: float
    least_variance: float

    def transposed(self) -> "AdaptiveLasso":
        """Return the same for the columns."""
        return replace(self, X=self.X.T, observed=self.observed.T)

    def solve(self, v: Array, least_penalty: float = 0.0) -> tuple[Array, float]:
        """Return the coefficients of each row on v, and the penalty that the BIC has chosen.

        A penalty below `least_penalty` is raised to it, if that leaves a coefficient.
        """
        b, root = standardised_coefficients(self.X, self.observed, v)
        n_entries = int(self.observed.sum())
        left = float(np.sum(self.X**2) - b @ b) / max(n_entries - len(b), 1)
        penalty = choose_penalty(b, self.power, max(left, self.least_variance), n_entries)
        if soft_threshold(b, least_penalty, self.power).any():
            penalty = max(penalty, least_penalty)
        return soft_threshold(b, penalty, self.power) / root, penalty


def _find_layer(lasso: AdaptiveLasso, *, max_iter: int, tol: float) -> Layer:
    """Return the sparse layer of rank one of a matrix."""
    X, observed = lasso.X, lasso.observed
    if float(np.sum(X**2)) <= 4.0 * lasso.least_variance * observed.sum():
        n_rows, n_columns = X.shape
        return Layer(np.zeros(n_rows), np.zeros(n_columns), 0.0, 0.0, 0.0, 0.0, 1, True)
    of_columns = lasso.transposed()
    u, v = _leading_vectors(X)
    row_penalty = column_penalty = 0.0
    converged, n_iter = False, 0
    while n_iter < max_iter and not converged:
        n_iter += 1
        settle = n_iter > _SETTLING
        new_v, column_penalty = of_columns.solve(u, column_penalty if settle else 0.0)
        new_v /= np.linalg.norm(new_v)
        new_u, row_penalty = lasso.solve(new_v, row_penalty if settle else 0.0)
        length = float(np.linalg.norm(new_u))
        new_u /= length
        converged = max(np.linalg.norm(new_u - u), np.linalg.norm(new_v - v)) <= tol
        u, v = new_u, new_v
    sign = 1.0 if u[np.abs(u).argmax()] > 0.0 else -1.0
    s = float(u @ X @ v) / float(_weighted_squares(observed, v) @ u**2)
    return Layer(
        sign * u, sign * v, s, s / length, row_penalty, column_penalty, n_iter, bool(converged)
    )


def standardised_coefficients(X: Array, observed: Mask, v: Array) -> tuple[Array, Array]:
    r"""Return :math:`\sqrt{a_i} \hat u_i` of each row of X on v, and :math:`\sqrt{a_i}`."""
    root = np.sqrt(_weighted_squares(observed, v))
    return X @ v / root, root


def _weighted_squares(observed: Mask, v: Array) -> Array:
    """Return the weighted sum of the squares of v for each row."""
    squares = v**2
    return (1.0 - _MISSING) * (observed @ squares) + _MISSING * squares.sum()


def choose_penalty(b: Array, power: float, variance: float, n_entries: int) -> float:
    r"""Return the penalty with the least BIC that leaves a coefficient.

    The sum of squared errors is that without a penalty and :math:`\sum_j (b_j - \tilde b_j)^2`. It
    rises with the penalty, and the number of coefficients only falls at :math:`2 |b_j|^{1 +
    \gamma}`, where one becomes zero: one of these, or 0, has the least.
    """
    sizes = np.sort(np.abs(b))
    sizes = sizes[sizes > _NOTHING * sizes[-1]]
    # With k of them zero, or none: the others are lower by half the penalty times their weights.
    half = np.concatenate([[0.0], sizes[:-1] ** (1.0 + power)])
    zeroed = np.concatenate([[0.0], np.cumsum(sizes[:-1] ** 2)])
    weights = np.cumsum(sizes[::-1] ** (-2.0 * power))[::-1]
    n_kept = np.arange(len(sizes), 0, -1)
    errors = zeroed + half**2 * weights
    best = int(np.argmin(errors / variance + np.log(n_entries) * n_kept))
    return 2.0 * float(half[best])


def soft_threshold(b: Array, penalty: float, power: float) -> Array:
    """Return standardised coefficients lowered by half the penalty times their weights."""
    sizes = np.abs(b)
    # 2 |b|^(1 + gamma) > penalty, in the terms in which `choose_penalty` computes it.
    kept = sizes ** (1.0 + power) > 0.5 * penalty
    found = np.zeros_like(b)
    found[kept] = np.sign(b[kept]) * (sizes[kept] - 0.5 * penalty * sizes[kept] ** -power)
    return found


def _leading_vectors(X: Array) -> tuple[Array, Array]:
    """Return the first pair of singular vectors."""
    if min(X.shape) > _DENSE:
        start = np.random.RandomState(0).uniform(-1.0, 1.0, min(X.shape))
        u, _, v = svds(X, k=1, v0=start)
        return u[:, 0], v[0]
    if X.shape[0] < X.shape[1]:
        v, u = _leading_vectors(X.T)
        return u, v
    v = largest_eigenpairs(X.T @ X, 1)[1][:, 0]
    u = X @ v
    return u / np.linalg.norm(u), v


def _centers(X: Array, center: str | None) -> Array:
    """Return the mean or median of each column; 0 for a column with nothing observed."""
    if center is None:
        return np.zeros(X.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of columns with nothing observed
        found = (np.nanmean if center == "mean" else np.nanmedian)(X, axis=0)
    return np.nan_to_num(found)
