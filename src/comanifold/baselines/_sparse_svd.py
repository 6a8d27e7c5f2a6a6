"""Biclustering by a sparse singular value decomposition."""

import numbers
import warnings
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
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
_NOTHING = 1e-30

# Coefficients that differ by less than this part are equal, and vanish together.
_EQUAL = 1e-12

# The weight of missing entries, which count as zeros. Without any, coefficients of rows and columns
# that share next to no observed entries grow without limit. On planted layers with 30 to 90%
# missing, this had the least errors of 1, 0.3, 0.1, 0.03 and 0.01.
_MISSING = 0.01

# The penalties go round in a cycle if a bicluster has returned so often after others, among the
# last so many iterations. In 4,000 layers of simulated matrices it did at most 3 times where the
# iterations converge, and in 3,900 of them never; 23 more had a cycle, of length 2 to 25.
_N_RETURNS, _MEMORY = 5, 100

# Below this part of the sum of squares, errors are not computed by a difference.
_CANCELLED = 1e-6

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

    Rarely, in about one layer of two hundred, the penalties do not settle: u and v go round in a
    cycle. It ends when the same bicluster has returned five times after others. The layer of the
    last round is kept that has the least joint criterion

    .. math:: \log \Bigl( \frac1N \sum_{i,j} q_{ij} (x_{ij} - s u_i v_j)^2 \Bigr)
              + \frac{\log N}{N} \bigl( \#\{i : u_i \ne 0\} + \#\{j : v_j \ne 0\} \bigr).

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
        The last :math:`\lambda` of u and of v, in the units of the data to the power
        :math:`1 + \gamma`: inf or 0 where floating point does not reach so far.
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
        # Of the data with their centres, which rounding errors of `rest` are relative to.
        least_variance = _ROUNDING * float(np.mean((X[observed] / unit) ** 2))
        layers = []
        for number in range(n_components):
            lasso = AdaptiveLasso(rest, observed, power, least_variance)
            layers.append(find_layer(lasso, max_iter=max_iter, tol=tol))
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
        self._penalties = np.array([layer.row_penalty for layer in layers])
        self.row_penalties_ = _in_units(self._penalties, unit, power)
        self.column_penalties_ = _in_units([layer.column_penalty for layer in layers], unit, power)
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
        found = np.zeros((len(X), len(self._penalties)))
        by_layer = zip(self.column_components_, self._penalties, strict=True)
        for k, (v, penalty) in enumerate(by_layer):
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


def _in_units(penalties: Sequence[float] | Array, unit: float, power: float) -> Array:
    """Return penalties of data divided by `unit` in units of the data."""
    exponent = 1.0 + power  # lambda has the units of |b|^(1 + gamma)
    with np.errstate(over="ignore", under="ignore"):
        return (unit * np.asarray(penalties) ** (1.0 / exponent)) ** exponent


@dataclass(frozen=True)
class Layer:
    """A layer s u v' of rank one, and the penalties with which it was found.

    `length` is that of the penalised solution of which u is the direction, and `criterion` a
    number by which layers of a cycle are compared, the lower the better.
    """

    u: Array
    v: Array
    s: float = 0.0
    length: float = 1.0
    criterion: float = 0.0
    row_penalty: float = 0.0
    column_penalty: float = 0.0
    n_iter: int = 1
    converged: bool = True

    @property
    def gain(self) -> float:
        """The factor from the penalised solution to s u."""
        return self.s / self.length

    def matrix(self) -> Array:
        """Return s u v'."""
        return np.outer(self.s * self.u, self.v)

    def is_near(self, other: "Layer", tol: float) -> bool:
        """Return whether neither u nor v differ by more than `tol`."""
        changes = np.linalg.norm(self.u - other.u), np.linalg.norm(self.v - other.v)
        return bool(max(changes) <= tol)

    @cached_property
    def bicluster(self) -> bytes:
        """The rows and columns other than zero, as a value to compare."""
        return np.concatenate([self.u, self.v]).astype(bool).tobytes()


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

    @cached_property
    def transposed(self) -> "AdaptiveLasso":
        """The same for the columns."""
        return replace(self, X=self.X.T, observed=self.observed.T)

    @cached_property
    def sum_of_squares(self) -> float:
        """The sum of all squared entries."""
        return float(np.sum(self.X**2))

    @cached_property
    def n_entries(self) -> int:
        """The number of observed entries."""
        return int(self.observed.sum())

    def solve(self, v: Array) -> tuple[Array, float]:
        """Return the coefficients of each row on v, and the penalty that the BIC has chosen."""
        b, root = standardised_coefficients(self.X, self.observed, v)
        left = self.squared_errors(b / root, v, float(b @ b)) / max(self.n_entries - len(b), 1)
        penalty = choose_penalty(b, self.power, max(left, self.least_variance), self.n_entries)
        return soft_threshold(b, penalty, self.power) / root, penalty

    def squared_errors(self, u: Array, v: Array, explained: float) -> float:
        """Return the weighted sum of the squared errors of u v'.

        It is the sum of squares less those that are explained, if this loses no digits.
        """
        left = self.sum_of_squares - explained
        if left > _CANCELLED * self.sum_of_squares:
            return left
        fitted = np.outer(u, v)
        return float(np.where(self.observed, (self.X - fitted) ** 2, _MISSING * fitted**2).sum())

    def improve(self, layer: Layer) -> Layer:
        """Return the layer after one more regression of the columns, and one of the rows."""
        v, column_penalty = self.transposed.solve(layer.u)
        v /= np.linalg.norm(v)
        u, row_penalty = self.solve(v)
        length = float(np.linalg.norm(u))
        u /= length
        fitted, squares = float(u @ self.X @ v), float(_weighted_squares(self.observed, v) @ u**2)
        s = fitted / squares
        left = self.squared_errors(s * u, v, s * fitted) / self.n_entries
        left = max(left, self.least_variance)
        n_nonzero = np.count_nonzero(u) + np.count_nonzero(v)
        return Layer(
            u,
            v,
            s=s,
            length=length,
            criterion=float(np.log(left) + np.log(self.n_entries) / self.n_entries * n_nonzero),
            row_penalty=row_penalty,
            column_penalty=column_penalty,
            n_iter=layer.n_iter + 1,
            converged=False,
        )


def find_layer(lasso: AdaptiveLasso, *, max_iter: int, tol: float) -> Layer:
    """Return the sparse layer of rank one of a matrix."""
    if lasso.sum_of_squares <= 4.0 * lasso.least_variance * lasso.n_entries:
        n_rows, n_columns = lasso.X.shape
        return Layer(np.zeros(n_rows), np.zeros(n_columns))
    layer = Layer(*_leading_vectors(lasso.X), n_iter=0, converged=False)
    past = deque([layer], maxlen=_MEMORY)
    n_returns = 0
    while layer.n_iter < max_iter and not layer.converged:
        layer = lasso.improve(layer)
        if layer.is_near(past[-1], tol):
            layer = replace(layer, converged=True)
        elif round_ := _last_round(layer, past):
            n_returns += 1
            if n_returns == _N_RETURNS:
                best = min(round_, key=lambda member: member.criterion)
                layer = replace(best, n_iter=layer.n_iter, converged=True)
        past.append(layer)
    sign = 1.0 if layer.u[np.abs(layer.u).argmax()] > 0.0 else -1.0
    return replace(layer, u=sign * layer.u, v=sign * layer.v)


def _last_round(layer: Layer, past: Sequence[Layer]) -> list[Layer]:
    """Return the layers since the last of the same bicluster; none if that is the latest layer."""
    for n_before in range(1, len(past) + 1):
        if past[-n_before].bicluster == layer.bicluster:
            return [] if n_before == 1 else [*islice(past, len(past) - n_before + 1, None), layer]
    return []


def standardised_coefficients(X: Array, observed: Mask, v: Array) -> tuple[Array, Array]:
    r"""Return :math:`\sqrt{a_i} \hat u_i` of each row of X on v, and :math:`\sqrt{a_i}`."""
    root = np.sqrt(_weighted_squares(observed, v))
    return X @ v / root, root


def _weighted_squares(observed: Mask, v: Array) -> Array:
    """Return the weighted sum of the squares of v for each row."""
    nonzero = np.flatnonzero(v)  # few: a product with all of a Boolean matrix is slow
    squares = v[nonzero] ** 2
    return (1.0 - _MISSING) * (observed[:, nonzero] @ squares) + _MISSING * squares.sum()


def choose_penalty(b: Array, power: float, variance: float, n_entries: int) -> float:
    r"""Return the penalty with the least BIC that leaves a coefficient.

    The sum of squared errors is that without a penalty and :math:`\sum_j (b_j - \tilde b_j)^2`. It
    rises with the penalty, and the number of coefficients only falls at :math:`2 |b_j|^{1 +
    \gamma}`, where one becomes zero: one of these, or 0, has the least.
    """
    largest = float(np.abs(b).max())
    sizes = np.sort(np.abs(b)) / largest
    n_nothing = int(np.searchsorted(sizes, _NOTHING, side="right"))
    nothing = sizes[n_nothing - 1] if n_nothing else 0.0
    sizes = sizes[n_nothing:]
    limits = sizes[: np.searchsorted(sizes, 1.0 - 2.0 * _EQUAL)]  # all but the largest may vanish
    # With k of them zero, or none: the others are lower by half the penalty times their weights.
    half = np.concatenate([[0.0], limits ** (1.0 + power)])
    zeroed = np.concatenate([[0.0], np.cumsum(limits**2)])
    weights = np.cumsum(sizes[::-1] ** (-2.0 * power))[::-1][: len(half)]
    n_kept = len(sizes) - np.arange(len(half))
    errors = (zeroed + half**2 * weights) * (largest**2 / variance)
    best = int(np.argmin(errors + np.log(n_entries) * n_kept))
    limit = largest * (limits[best - 1] if best else nothing)
    return 2.0 * float(limit) ** (1.0 + power)


def soft_threshold(b: Array, penalty: float, power: float) -> Array:
    """Return standardised coefficients lowered by half the penalty times their weights."""
    limit = (0.5 * penalty) ** (1.0 / (1.0 + power))
    kept = np.abs(b) > (1.0 + _EQUAL) * limit
    found = np.zeros_like(b)
    found[kept] = b[kept] * (1.0 - (limit / np.abs(b[kept])) ** (1.0 + power))
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
