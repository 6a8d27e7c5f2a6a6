"""Embedding of incomplete rows by regressions to and from their coordinates."""

import numbers
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigvalsh
from scipy.sparse import SparseEfficiencyWarning
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.manifold import Isomap
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted

from .._estimators import EmbeddingMixin, levels_to_caller, unchanged_on_failure
from .._parallel import single_threaded_blas
from .._validation import check_count, check_stopping
from ..model_selection import HeldOut
from ._radial_basis import RadialBasis, RadialMap
from ._soft_impute import SoftImpute, standardise

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Penalties that "auto" compares on held-out entries, after at most so many iterations, and the one
# for matrices too small to hold any out.
_PENALTIES = (10.0, 1.0, 0.1, 0.01, 1e-3, 1e-4)
_TRIAL_ITER = 20
_DEFAULT_PENALTY = 0.1

# The Gaussians of F relative to those of f: there are fewer rows for each dimension.
_RELATIVE_WIDTH = 2.0

# Narrower ones are rounding errors, and wider ones constant.
_WIDTHS = 1e-6, 1e6

# Isomap takes time in the cube of the number of rows: of more, others follow these.
_MAX_ISOMAP = 1500

# Eigenvalues of the geodesics below this part of the largest are no coordinates.
_LEAST_EIGENVALUE = 1e-6

# A step is halved until it lowers the error by this share of what its slope promises, at most so
# often; a point that finds no such step stays.
_LEAST_DECREASE = 1e-4
_MAX_HALVINGS = 15

# Keeps the systems of the steps positive definite, relative to their trace.
_DAMPING = 1e-9

# Steps to place rows with fixed maps, the relative step at which they stop, the bounds of their
# sizes, and the relative rounding error of the error of a row.
_MAX_STEPS = 200
_STEP_TOL = 1e-10
_STEP_SIZES = 0.1, 4.0
_ROUNDING = 1e-12

# Numbers in one array of slopes, by which the number of rows that are moved at once is limited.
_SLOPES_AT_ONCE = 500_000


@dataclass(frozen=True)
class Maps:
    """The maps f, from coordinates X to rows Y, and F, back, with their penalties."""

    f: RadialMap
    F: RadialMap
    penalties: tuple[float, float]

    @classmethod
    def regress(
        cls,
        bases: tuple[RadialBasis, RadialBasis],
        X: Array,
        Y: Array,
        penalties: tuple[float, float],
    ) -> "Maps":
        """Return the maps that minimise the objective for given X and Y."""
        f, F = bases[0].regress(X, Y, penalties[0]), bases[1].regress(Y, X, penalties[1])
        return cls(f, F, penalties)

    def errors(self, X: Array, Y: Array) -> Array:
        """Return the error of each row, ||y - f(x)||^2 + ||x - F(y)||^2."""
        return ((Y - self.f(X)) ** 2).sum(axis=1) + ((X - self.F(Y)) ** 2).sum(axis=1)

    def objective(self, X: Array, Y: Array) -> float:
        """Return the errors of all rows and the penalties of the maps."""
        roughness = self.penalties[0] * self.f.roughness + self.penalties[1] * self.F.roughness
        return float(self.errors(X, Y).sum()) + roughness

    def gradients(self, X: Array, Y: Array) -> tuple[Array, Array]:
        """Return the gradients of the errors in X and in Y."""
        return _Linearisation.at(self, X, Y).gradients

    def step(self, X: Array, Y: Array, missing: Mask) -> tuple[Array, Array]:
        """Return X and Y after a Gauss-Newton step with a line search for each row.

        The error of no row rises.
        """
        return self._in_parts(self._step_of_part, X, Y, missing)

    def place(self, X: Array, Y: Array, missing: Mask) -> tuple[Array, Array]:
        """Return X and the missing entries of Y that minimise the error of each row."""
        return self._in_parts(self._place_part, X, Y, missing)

    def _in_parts(
        self, move: Callable[..., tuple[Array, Array]], X: Array, Y: Array, missing: Mask
    ) -> tuple[Array, Array]:
        """Return X and Y after `move` of as many rows at once as memory allows."""
        new_X, new_Y = X.copy(), Y.copy()
        size = max(1, _SLOPES_AT_ONCE // (X.shape[1] * max(Y.shape[1], len(self.f.weights))))
        for first in range(0, len(X), size):
            rows = slice(first, first + size)
            new_X[rows], new_Y[rows] = move(X[rows], Y[rows], missing[rows])
        return new_X, new_Y

    def _step_of_part(self, X: Array, Y: Array, missing: Mask) -> tuple[Array, Array]:
        """Return X and Y after a step whose size is halved for a row until its error falls."""
        local = _Linearisation.at(self, X, Y)
        move_X, move_Y = local.direction(missing)
        slope = local.slope_along(move_X, move_Y)
        X, Y = X.copy(), Y.copy()
        left, size = np.arange(len(X)), 1.0
        for _ in range(_MAX_HALVINGS):
            new_X, new_Y = X[left] + size * move_X[left], Y[left] + size * move_Y[left]
            allowed = local.errors[left] + _LEAST_DECREASE * size * slope[left]
            is_lower = self.errors(new_X, new_Y) <= allowed
            X[left[is_lower]], Y[left[is_lower]] = new_X[is_lower], new_Y[is_lower]
            left, size = left[~is_lower], 0.5 * size
            if not left.size:
                break
        return X, Y

    def _place_part(self, X: Array, Y: Array, missing: Mask) -> tuple[Array, Array]:
        """Return X and Y after steps until these are small.

        Their size is that at which the slope along the step vanishes if it changes linearly: near
        a minimum the errors themselves differ by less than their rounding errors.
        """
        X, Y = X.copy(), Y.copy()
        active = np.arange(len(X))
        for _ in range(_MAX_STEPS):
            if not active.size:
                break
            x, y, absent = X[active], Y[active], missing[active]
            local = _Linearisation.at(self, x, y)
            moves = local.direction(absent)
            slope = local.slope_along(*moves)
            after = _Linearisation.at(self, x + moves[0], y + moves[1]).slope_along(*moves)
            size = np.divide(slope, slope - after, out=np.ones_like(slope), where=after > slope)
            size = np.clip(size, *_STEP_SIZES)[:, None]
            new_x, new_y = x + size * moves[0], y + size * moves[1]
            worse = self.errors(new_x, new_y) > (1.0 + _ROUNDING) * local.errors
            if worse.any():
                new_x[worse], new_y[worse] = self._step_of_part(x[worse], y[worse], absent[worse])
            X[active], Y[active] = new_x, new_y
            moved = np.abs(new_x - x).max(axis=1)
            active = active[moved > _STEP_TOL * (1.0 + np.abs(x).max(axis=1))]
        return X, Y


@dataclass(frozen=True)
class _Linearisation:
    r"""The residuals y - f(x) and x - F(y) of some rows, and the slopes of both maps.

    `down` holds the slopes of f and `up` those of F, both as (n_rows, n_components, n_columns).
    """

    of_rows: Array
    of_coordinates: Array
    down: Array
    up: Array

    @classmethod
    def at(cls, maps: Maps, X: Array, Y: Array) -> "_Linearisation":
        """Return that of the given maps at X and Y."""
        rows, down = maps.f.with_slopes(X)
        coordinates, up = maps.F.with_slopes(Y)
        return cls(Y - rows, X - coordinates, down.transpose(0, 2, 1), up)

    @cached_property
    def errors(self) -> Array:
        """The error of each row."""
        return (self.of_rows**2).sum(axis=1) + (self.of_coordinates**2).sum(axis=1)

    @cached_property
    def gradients(self) -> tuple[Array, Array]:
        """The gradients of the errors in X and in Y."""
        in_X = self.of_coordinates - (self.down @ self.of_rows[..., None])[..., 0]
        in_Y = self.of_rows - (self.of_coordinates[:, None, :] @ self.up)[:, 0]
        return 2.0 * in_X, 2.0 * in_Y

    def slope_along(self, move_X: Array, move_Y: Array) -> Array:
        """Return the derivative of the error of each row along a move."""
        in_X, in_Y = self.gradients
        return (in_X * move_X).sum(axis=1) + (in_Y * move_Y).sum(axis=1)

    def direction(self, missing: Mask) -> tuple[Array, Array]:
        r"""Return the Gauss-Newton step in X and in the missing entries of Y, zero in others.

        With the slopes :math:`J` of f and :math:`K` of F in the missing entries u it solves

        .. math:: \begin{pmatrix} 1 + J_y' J_y & -J' - K \\ -J - K' & 1 + K' K \end{pmatrix}
                  \begin{pmatrix} \Delta x \\ \Delta u \end{pmatrix} = -\tfrac12 \nabla

        where :math:`J_y` has all entries. The lower right block is the identity and a matrix of the
        rank of x: its inverse is :math:`1 - K' (1 + K K')^{-1} K`, so that all systems are of
        the size of x, however many entries are missing.
        """
        in_X, in_Y = (0.5 * gradient for gradient in self.gradients)
        in_Y = in_Y * missing
        K = self.up * missing[:, None, :]
        mixed = -(self.down * missing[:, None, :]) - K
        small = _with_ridge(K @ K.transpose(0, 2, 1), 1.0)

        def solve_lower(B: Array) -> Array:
            """Return B times the inverse of the lower right block."""
            inner = np.linalg.solve(small, K @ B.transpose(0, 2, 1))
            return B - inner.transpose(0, 2, 1) @ K

        eliminated = solve_lower(mixed)
        upper = _with_ridge(self.down @ self.down.transpose(0, 2, 1), 1.0)
        damping = _DAMPING * np.einsum("nkk->n", upper)
        schur = _with_ridge(upper - eliminated @ mixed.transpose(0, 2, 1), damping)
        right = in_X - (eliminated @ in_Y[..., None])[..., 0]
        move_X = -np.linalg.solve(schur, right[..., None])[..., 0]
        right = in_Y + (move_X[:, None, :] @ mixed)[:, 0]
        return move_X, -solve_lower(right[:, None, :])[:, 0]


def _with_ridge(matrices: Array, ridge: float | Array) -> Array:
    """Add a number, one or one for each matrix, to the diagonals; return the matrices."""
    np.einsum("nkk->nk", matrices)[...] += np.reshape(ridge, (-1, 1))
    return matrices


class UnsupervisedRegression(EmbeddingMixin, BaseEstimator):
    r"""Embedding and imputation by two regressions, from coordinates to rows and back.

    Minimises

    .. math:: \sum_n \| y_n - f(x_n) \|^2 + \| x_n - F(y_n) \|^2
              + \lambda_f \operatorname{tr}(W_f G_f W_f')
              + \lambda_F \operatorname{tr}(W_F G_F W_F')

    over the coordinates :math:`x_n`, the missing entries of the rows :math:`y_n` and the weights
    of both maps, :math:`f(x) = W_f \phi(x)` and :math:`F(y) = W_F \psi(y)`. These have Gaussian
    basis functions of one width at centres from k-means, and :math:`G_{lm}` is the function l at
    the centre m. The start is a low-rank filling (`SoftImpute`) and its Isomap. Then the maps,
    :math:`W = Y \Phi' (\Phi \Phi' + \lambda G)^{-1}`, alternate with a Gauss-Newton step with
    a line search for each :math:`x_n` and the missing part of :math:`y_n`; the objective never
    rises. X is centred by column and divided by one number first.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates of a row, less than the number of rows.
    n_centers : int, default=100
        Basis functions of each map; at most as many as there are rows.
    width : float, default=0.5
        Width of the basis functions of f, in units of the median distance between their centres,
        from 1e-6 to 1e6. Those of F are twice as wide in units of theirs.
    penalty : "auto", float or pair of float, default="auto"
        :math:`\lambda_f` and :math:`\lambda_F`, positive; one number is for both. "auto" takes
        the one of 10, 1, ..., 1e-4 that predicts held-out entries best.
    n_neighbors : int, default=10
        Neighbours of each row for Isomap; at most all other rows are used.
    max_iter : int, default=500
        Limit on the number of iterations.
    tol : float, default=1e-3
        Relative decrease of the objective in an iteration at which to stop.
    random_state : int, RandomState or None, default=None
        For k-means, and for the rows that Isomap embeds if there are more than 1,500.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_rows, n_components)
    filled_ : ndarray of shape (n_rows, n_columns)
        The data where observed, the missing entries of the minimum elsewhere.
    penalty_ : tuple of float
        :math:`\lambda_f` and :math:`\lambda_F`, chosen or given.
    objective_history_ : ndarray of shape (n_iterations + 1,)
        The objective before the first and after each iteration, of the centred and scaled data.
    n_iter_ : int
    n_features_in_ : int

    References
    ----------
    Carreira-Perpiñán and Lu (2011), Manifold learning and missing data recovery through
    unsupervised regression, ICDM.

    Examples
    --------
    >>> import numpy as np
    >>> from comanifold.baselines import UnsupervisedRegression
    >>> t = np.linspace(0, 6, 120)
    >>> curve = np.column_stack([np.sin(t), np.cos(t), t / 3, np.sin(t + 1), np.cos(t / 2)])
    >>> X = curve.copy()
    >>> X[::3, 0], X[1::4, 3] = np.nan, np.nan
    >>> model = UnsupervisedRegression(1, random_state=0).fit(X)
    >>> bool(np.abs(model.filled_ - curve).max() < 0.1)
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_centers: int = 100,
        width: float = 0.5,
        penalty: str | float | tuple[float, float] = "auto",
        n_neighbors: int = 10,
        max_iter: int = 500,
        tol: float = 1e-3,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.n_components = n_components
        self.n_centers = n_centers
        self.width = width
        self.penalty = penalty
        self.n_neighbors = n_neighbors
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @unchanged_on_failure
    def fit(self, X: ArrayLike, y: Any = None) -> "UnsupervisedRegression":  # noqa: ARG002
        """Find the coordinates of the rows of X, its missing entries and both maps.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            NaN for missing entries. A row with nothing observed has coordinates of zero and is
            filled with means.
        y : ignored
        """
        X = self._read(X, reset=True)
        is_known = ~np.isnan(X).all(axis=1)
        penalties = self._check_parameters(int(is_known.sum()))
        max_iter, tol = check_stopping(self.max_iter, self.tol)
        random = check_random_state(self.random_state)
        scaled, self._centre, self._scale = standardise(X)
        with single_threaded_blas():
            self.penalty_ = penalties or self._choose_penalties(scaled[is_known], random)
            start = self._start(scaled[is_known], random)
            found = _alternate(start, self.penalty_, max_iter, tol)
            self._maps, self._known = found.maps, found.X
            self.objective_history_ = np.array(found.history)
            self.n_iter_ = len(found.history) - 1
            # As in `transform`, so that the same row always has the same coordinates.
            self.embedding_, filled = self._place(scaled)
        if not found.converged:
            warnings.warn(
                f"UnsupervisedRegression stopped after {max_iter} iterations, before reaching "
                f"tol={tol:g}. Raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=levels_to_caller(),
            )
        self.filled_ = np.where(np.isnan(X), filled * self._scale + self._centre, X)
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Find the coordinates of new rows, with the fitted maps.

        Parameters
        ----------
        X : array-like of shape (n_new, n_columns)
            NaN for missing entries. A row with nothing observed has coordinates of zero.
        """
        check_is_fitted(self)
        with single_threaded_blas():
            return self._place((self._read(X, reset=False) - self._centre) / self._scale)[0]

    def inverse_transform(self, X: ArrayLike) -> Array:
        """Return the rows f(x), in the units of the data, for coordinates x.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_components)
            Coordinates.
        """
        check_is_fitted(self)
        coordinates = check_array(X, dtype=float)
        if coordinates.shape[1] != self.embedding_.shape[1]:
            raise ValueError(
                f"X must hold {self.embedding_.shape[1]} coordinates for each row, n_components, "
                f"got {coordinates.shape[1]}"
            )
        return self._maps.f(coordinates) * self._scale + self._centre

    def _start(self, scaled: Array, random: np.random.RandomState) -> "_Start":
        """Return the filling, embedding and basis functions to start from."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # it is only a start
            Y = SoftImpute().fit_transform(scaled)
        X = _isomap(Y, self.n_components, self.n_neighbors, random)
        bases = (
            RadialBasis.of_points(X, self.n_centers, self.width, random),
            RadialBasis.of_points(Y, self.n_centers, _RELATIVE_WIDTH * self.width, random),
        )
        return _Start(X, Y, np.isnan(scaled), bases)

    def _choose_penalties(
        self, scaled: Array, random: np.random.RandomState
    ) -> tuple[float, float]:
        """Return the penalties that predict held-out entries best."""
        held_out = HeldOut(scaled, from_complete=True)
        if not held_out.values.size:
            return _DEFAULT_PENALTY, _DEFAULT_PENALTY
        start = self._start(held_out.rest(), random)
        _, tol = check_stopping(self.max_iter, self.tol)

        def error(penalty: float) -> float:
            found = _alternate(start, (penalty, penalty), min(_TRIAL_ITER, self.max_iter), tol)
            predicted = found.Y[held_out.rows, held_out.columns]
            return float(np.sum((predicted - held_out.values) ** 2))

        best = min(_PENALTIES, key=error)
        return best, best

    def _place(self, scaled: Array) -> tuple[Array, Array]:
        """Return the coordinates of centred and scaled rows, and the rows filled in."""
        missing = np.isnan(scaled)
        known = ~missing.all(axis=1)
        X, Y = np.zeros((len(scaled), self._known.shape[1])), np.where(missing, 0.0, scaled)
        # Start from the fitted row that is nearest in the observed entries.
        candidates = self._maps.f(self._known)
        distances = ~missing @ (candidates**2).T - 2.0 * Y @ candidates.T
        nearest = distances.argmin(axis=1)
        filled = np.where(missing, candidates[nearest], Y)
        X[known], Y[known] = self._maps.place(
            self._known[nearest[known]], filled[known], missing[known]
        )
        return X, Y

    def _check_parameters(self, n_rows: int) -> tuple[float, float] | None:
        """Validate the parameters; return both penalties, or None if they are to be chosen."""
        for name in ("n_components", "n_centers", "n_neighbors"):
            check_count(name, getattr(self, name))
        if self.n_components >= n_rows:
            raise ValueError(
                f"n_components must be less than the number of rows with observed entries, "
                f"{n_rows}, got {self.n_components}"
            )
        if not _is_positive(self.width) or not _WIDTHS[0] <= self.width <= _WIDTHS[1]:
            raise ValueError(
                f"width must be a number from {_WIDTHS[0]:g} to {_WIDTHS[1]:g}, got "
                f"{self.width!r:.60}"
            )
        penalty = self.penalty
        if isinstance(penalty, str) and penalty == "auto":
            return None
        both = tuple(penalty) if isinstance(penalty, (list, tuple)) else (penalty, penalty)
        if len(both) != 2 or not all(_is_positive(number) for number in both):
            raise ValueError(
                f'penalty must be "auto", a positive number or two of them, got {penalty!r:.60}'
            )
        return float(both[0]), float(both[1])


@dataclass(frozen=True)
class _Start:
    """Coordinates, rows filled in, where they are missing, and the basis functions of f and F."""

    X: Array
    Y: Array
    missing: Mask
    bases: tuple[RadialBasis, RadialBasis]


@dataclass(frozen=True)
class _Found:
    """Coordinates, rows filled in, the maps, and the objective after each iteration."""

    X: Array
    Y: Array
    maps: Maps
    history: list[float]
    converged: bool


def _alternate(start: _Start, penalties: tuple[float, float], max_iter: int, tol: float) -> _Found:
    """Minimise the objective over the points and over the maps in turn."""
    X, Y = start.X, start.Y
    maps = Maps.regress(start.bases, X, Y, penalties)
    history = [maps.objective(X, Y)]
    converged = False
    for _ in range(max_iter):
        stepped = maps.step(X, Y, start.missing)
        value = maps.objective(*stepped)
        if value > history[-1]:  # rounding errors hide what is left
            history.append(history[-1])
            converged = True
            break
        X, Y = stepped
        new = Maps.regress(start.bases, X, Y, penalties)
        lowered = new.objective(X, Y)
        if lowered < value:  # but for rounding it always is
            maps, value = new, lowered
        history.append(value)
        if history[-2] - value <= tol * history[-2]:
            converged = True
            break
    return _Found(X, Y, maps, history, converged)


def _isomap(Y: Array, n_components: int, n_neighbors: int, random: np.random.RandomState) -> Array:
    """Return the Isomap of rows, centred and of variance one; of many, from some of them."""
    chosen = np.arange(len(Y))
    if len(Y) > _MAX_ISOMAP:
        chosen = random.permutation(len(Y))[:_MAX_ISOMAP]
    n_neighbors = min(n_neighbors, len(chosen) - 1)
    try:
        isomap = _fitted_isomap(Y[chosen], n_components, n_neighbors)
    except ValueError:
        # The geodesics are not Euclidean, and have fewer coordinates: the others are zero.
        isomap = _fitted_isomap(Y[chosen], 1, n_neighbors)
        n_positive = _count_coordinates(isomap.dist_matrix_)
        isomap = _fitted_isomap(Y[chosen], min(n_components, n_positive), n_neighbors)
    found = isomap.embedding_ if len(chosen) == len(Y) else isomap.transform(Y)
    X = np.zeros((len(Y), n_components))
    X[:, : found.shape[1]] = found - found.mean(axis=0)
    return X / (X.std() or 1.0)


def _fitted_isomap(Y: Array, n_components: int, n_neighbors: int) -> Isomap:
    """Return scikit-learn's Isomap of rows."""
    isomap = Isomap(
        n_components=n_components,
        n_neighbors=n_neighbors,
        # The iterative solver starts at random and is not reproducible.
        eigen_solver="dense",
    )
    with warnings.catch_warnings():
        # About how scikit-learn links connected components: nothing a user can change.
        warnings.simplefilter("ignore", SparseEfficiencyWarning)
        warnings.filterwarnings("ignore", "The number of connected components", UserWarning)
        return isomap.fit(Y)


def _count_coordinates(distances: Array) -> int:
    """Return the number of positive eigenvalues in classical scaling."""
    squares = distances**2
    squares -= squares.mean(axis=0)
    values = eigvalsh(-0.5 * (squares - squares.mean(axis=1)[:, None]))
    return max(1, int(np.sum(values > _LEAST_EIGENVALUE * values[-1])))


def _is_positive(value: Any) -> bool:
    """Return True for a finite number above zero."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return is_number and 0 < value <= sys.float_info.max
