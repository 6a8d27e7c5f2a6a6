"""Non-linear principal component analysis of an incomplete matrix, by the inverse model."""

import math
import numbers
import sys
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted

from .._estimators import EmbeddingMixin, levels_to_caller, unchanged_on_failure
from .._parallel import single_threaded_blas
from .._validation import check_count, check_stopping
from ._lbfgs import Minimum, minimise
from ._soft_impute import standardise

Array = NDArray[np.float64]

# Iterations after which the starts are compared: only the best is continued.
_TRIAL_ITER = 300

# Damped Gauss-Newton steps for the scores of a row, and the relative step at which they stop.
_MAX_STEPS = 200
_STEP_TOL = 1e-10


class Network(NamedTuple):
    """The network f(z) = tanh(z W + b) V + c."""

    W: Array
    b: Array
    V: Array
    c: Array

    def __call__(self, scores: Array) -> Array:
        """Return the rows for given scores. Components past those given are zero."""
        return np.tanh(scores @ self.W[: scores.shape[1]] + self.b) @ self.V + self.c


class Objective:
    r"""Squared error of the rows of X plus the weight decay.

    .. math:: \tfrac12 \sum_k \| P_\Theta(X - f(Z_{1:k})) \|_F^2
              + \tfrac{\nu}{2} (\| Z \|_F^2 + \| W \|_F^2 + \| V \|_F^2)

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        NaN for missing entries.
    levels : sequence of int
        The numbers k of leading components whose errors are added up.
    weight_decay : float
        :math:`\nu`.
    """

    def __init__(self, X: Array, levels: tuple[int, ...], weight_decay: float):
        self.observed = ~np.isnan(X)
        self.weights = self.observed.astype(float)
        self.X = np.where(self.observed, X, 0.0)
        self.levels = levels
        self.weight_decay = weight_decay

    def value_and_gradient(self, flat: Array, n_hidden: int) -> tuple[float, Array]:
        """Return the objective and its gradient in all scores and weights, by backpropagation."""
        scores, network = unpack(flat, self.X.shape, self.levels[-1], n_hidden)
        gradient = np.empty_like(flat)
        in_scores, in_network = unpack(gradient, self.X.shape, self.levels[-1], n_hidden)
        value = 0.0
        for P, in_P in ((scores, in_scores), (network.W, in_network.W), (network.V, in_network.V)):
            value += 0.5 * self.weight_decay * float(np.vdot(P, P))
            np.multiply(P, self.weight_decay, out=in_P)
        in_network.b[:] = in_network.c[:] = 0.0
        for k in self.levels:
            hidden = np.tanh(scores[:, :k] @ network.W[:k] + network.b)
            residual = self._residual(hidden, network)
            value += 0.5 * float(np.vdot(residual, residual))
            in_network.V[:] += hidden.T @ residual
            in_network.c[:] += residual.sum(axis=0)
            back = (residual @ network.V.T) * (1.0 - hidden**2)
            in_network.W[:k] += scores[:, :k].T @ back
            in_network.b[:] += back.sum(axis=0)
            in_scores[:, :k] += back @ network.W[:k].T
        return value, gradient

    def _residual(self, hidden: Array, network: Network) -> Array:
        """Return the error of every observed entry, zero for others."""
        residual = hidden @ network.V
        residual += network.c
        residual -= self.X
        residual *= self.weights
        return residual

    def values_by_row(self, scores: Array, network: Network) -> Array:
        """Return the part of the objective that depends on the scores of each row."""
        values = 0.5 * self.weight_decay * (scores**2).sum(axis=1)
        for k in self.levels:
            residual = (network(scores[:, :k]) - self.X) * self.observed
            values += 0.5 * (residual**2).sum(axis=1)
        return values

    def nearest_candidates(self, candidates: Array, network: Network) -> Array:
        """Return, for each row, the candidate scores with the smallest objective."""
        values = np.tile(0.5 * self.weight_decay * (candidates**2).sum(axis=1), (len(self.X), 1))
        for k in self.levels:
            rows = network(candidates[:, :k])
            values += 0.5 * self.observed @ (rows**2).T - self.X @ rows.T
        return candidates[values.argmin(axis=1)]

    def fit_scores(self, scores: Array, network: Network) -> Array:
        """Return the scores that minimise the objective, by damped Gauss-Newton from those given.

        Every row has its own damping, so that its scores do not depend on the other rows.
        """
        scores = scores.copy()
        # The minimum of a row without entries, where only the decay counts.
        scores[~self.observed.any(axis=1)] = 0.0
        damping = np.full(len(scores), 1e-3)
        active = np.arange(len(scores))
        for _ in range(_MAX_STEPS):
            part = self._restricted_to(active)
            here = scores[active]
            gradient, curvature = part._normal_equations(here, network)
            diagonal = np.einsum("ikk->ik", curvature)
            diagonal += damping[active, None] * (1.0 + diagonal)
            step = np.linalg.solve(curvature, -gradient[..., None])[..., 0]
            better = part.values_by_row(here + step, network) <= part.values_by_row(here, network)
            scores[active[better]] += step[better]
            damping[active] *= np.where(better, 0.2, 5.0)
            small = np.abs(step).max(axis=1) <= _STEP_TOL * (1.0 + np.abs(here).max(axis=1))
            active = active[~small]
            if not active.size:
                break
        return scores

    def _restricted_to(self, rows: NDArray[np.intp]) -> "Objective":
        """Return the objective of some rows."""
        part = object.__new__(Objective)
        part.observed, part.weights = self.observed[rows], self.weights[rows]
        part.X = self.X[rows]
        part.levels, part.weight_decay = self.levels, self.weight_decay
        return part

    def _normal_equations(self, scores: Array, network: Network) -> tuple[Array, Array]:
        """Return the gradient and the Gauss-Newton matrix in the scores of each row."""
        n_components = scores.shape[1]
        gradient = self.weight_decay * scores
        curvature = np.zeros((len(scores), n_components, n_components))
        curvature += self.weight_decay * np.eye(n_components)
        for k in self.levels:
            hidden = np.tanh(scores[:, :k] @ network.W[:k] + network.b)
            residual = self._residual(hidden, network)
            slopes = (network.W[:k] * (1.0 - hidden**2)[:, None, :]) @ network.V
            slopes *= self.weights[:, None, :]
            gradient[:, :k] += (slopes @ residual[..., None])[..., 0]
            curvature[:, :k, :k] += slopes @ slopes.transpose(0, 2, 1)
        return gradient, curvature


def pack(scores: Array, network: Network) -> Array:
    """Return all scores and weights in one vector."""
    return np.concatenate([scores.ravel(), *(part.ravel() for part in network)])


def unpack(
    flat: Array, shape: tuple[int, int], n_components: int, n_hidden: int
) -> tuple[Array, Network]:
    """Return the scores and the network of a vector, as views: the inverse of `pack`."""
    n_rows, n_columns = shape
    shapes = (
        (n_rows, n_components),
        (n_components, n_hidden),
        (n_hidden,),
        (n_hidden, n_columns),
        (n_columns,),
    )
    parts, end = [], 0
    for s in shapes:
        begin, end = end, end + math.prod(s)
        parts.append(flat[begin:end].reshape(s))
    scores, *weights = parts
    return scores, Network(*weights)


class NLPCA(EmbeddingMixin, BaseEstimator):
    r"""Non-linear principal component analysis of a matrix with missing entries.

    The inverse model of Scholz et al.: a network :math:`f(z) = \tanh(z W + b) V + c` maps the
    scores :math:`z_i` of a row to the row, and the scores are found together with the weights.
    Minimises

    .. math:: \tfrac12 \sum_k \| P_\Theta(X - f(Z_{1:k})) \|_F^2
              + \tfrac{\nu}{2} (\| Z \|_F^2 + \| W \|_F^2 + \| V \|_F^2)

    by L-BFGS with exact gradients. :math:`Z_{1:k}` are the first k components, the others being
    zero. X is centred by column and divided by one number first.

    Parameters
    ----------
    n_components : int, default=2
        Number of scores of a row.
    n_hidden : int, optional
        Number of tanh units, by default 4 + 6 * n_components.
    hierarchical : bool, default=True
        Add up the errors of the first k components for every k, which orders the components.
        Otherwise only that of all together.
    n_restarts : int, default=5
        Number of starts, of which the one that is best after 300 iterations is continued. The
        first has the scores of a linear analysis, the others random ones.
    weight_decay : float, default=0.03
        :math:`\nu`, positive: without it scores and weights have no scale.
    max_iter : int, default=2000
        Limit on the iterations of a start.
    tol : float, default=1e-5
        Relative decrease of the objective at which to stop.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    embedding_ : ndarray of shape (n_rows, n_components)
        The scores.
    filled_ : ndarray of shape (n_rows, n_columns)
        The data where observed, the network's output elsewhere.
    loss_ : float
        The objective of the kept start, of the centred and scaled data.
    n_iter_ : int
        Iterations of the kept start.
    n_features_in_ : int

    References
    ----------
    Scholz, Kaplan, Guy, Kopka and Selbig (2005), Non-linear PCA: a missing data approach,
    Bioinformatics 21(20).

    Examples
    --------
    >>> import numpy as np
    >>> from comanifold.baselines import NLPCA
    >>> t = np.linspace(-1, 1, 80)
    >>> X = np.column_stack([t, t**2, t**3])
    >>> X[::5, 1] = np.nan
    >>> model = NLPCA(1, random_state=0).fit(X)
    >>> bool(np.abs(model.filled_[::5, 1] - t[::5] ** 2).max() < 0.05)
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_hidden: int | None = None,
        hierarchical: bool = True,
        n_restarts: int = 5,
        weight_decay: float = 0.03,
        max_iter: int = 2000,
        tol: float = 1e-5,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.n_components = n_components
        self.n_hidden = n_hidden
        self.hierarchical = hierarchical
        self.n_restarts = n_restarts
        self.weight_decay = weight_decay
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @unchanged_on_failure
    def fit(self, X: ArrayLike, y: Any = None) -> "NLPCA":  # noqa: ARG002
        """Find the scores of the rows of X and the network that leads back to X.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            NaN for missing entries.
        y : ignored
        """
        X = self._read(X, reset=True)
        n_hidden = self._check_parameters()
        max_iter, tol = check_stopping(self.max_iter, self.tol)
        scaled, self._centre, self._scale = standardise(X)
        objective = self._objective(scaled)
        with single_threaded_blas():
            best = self._search(objective, n_hidden, max_iter, tol)
        if not best.converged:
            warnings.warn(
                f"NLPCA stopped after {best.n_iter} iterations, before reaching tol={tol:g}. Raise "
                "max_iter or tol",
                ConvergenceWarning,
                stacklevel=levels_to_caller(),
            )
        self.loss_, self.n_iter_ = best.value, best.n_iter
        self._known, self._network = unpack(best.x, X.shape, self.n_components, n_hidden)
        # As in `transform`, so that the same row always has the same scores.
        self.embedding_ = self._scores(scaled)
        self.filled_ = np.where(np.isnan(X), self.inverse_transform(self.embedding_), X)
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Find the scores of new rows with the fitted network.

        Parameters
        ----------
        X : array-like of shape (n_new, n_columns)
            NaN for missing entries. A row with nothing observed has scores of zero.
        """
        check_is_fitted(self)
        return self._scores((self._read(X, reset=False) - self._centre) / self._scale)

    def inverse_transform(self, X: ArrayLike) -> Array:
        """Return the rows, in the units of the data, that the network gives for scores.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_components)
            Scores.
        """
        check_is_fitted(self)
        scores = check_array(X, dtype=float)
        if scores.shape[1] != self.embedding_.shape[1]:
            raise ValueError(
                f"X must hold {self.embedding_.shape[1]} scores for each row, n_components, got "
                f"{scores.shape[1]}"
            )
        return self._network(scores) * self._scale + self._centre

    def _search(self, objective: Objective, n_hidden: int, max_iter: int, tol: float) -> Minimum:
        """Return the result of the best of several starts."""

        def descend(flat: Array, n_iter: int) -> Minimum:
            return minimise(
                lambda flat: objective.value_and_gradient(flat, n_hidden), flat, tol, n_iter
            )

        random = check_random_state(self.random_state)
        trial, best = min(_TRIAL_ITER, max_iter), None
        for start in range(self.n_restarts):
            flat = _start(objective, self.n_components, n_hidden, random, linear=start == 0)
            found = descend(flat, trial)
            if best is None or found.value < best.value:
                best = found
        if best.converged or best.n_iter >= max_iter:
            return best
        more = descend(best.x, max_iter - best.n_iter)
        return more._replace(n_iter=best.n_iter + more.n_iter)

    def _scores(self, scaled: Array) -> Array:
        """Return the scores of rows that are centred and scaled."""
        objective = self._objective(scaled)
        with single_threaded_blas():
            start = objective.nearest_candidates(self._known, self._network)
            return objective.fit_scores(start, self._network)

    def _objective(self, scaled: Array) -> Objective:
        """Return the objective for centred and scaled rows."""
        first = 1 if self.hierarchical else self.n_components
        levels = tuple(range(first, self.n_components + 1))
        return Objective(scaled, levels, float(self.weight_decay))

    def _check_parameters(self) -> int:
        """Validate the parameters; return the number of hidden units."""
        check_count("n_components", self.n_components)
        n_hidden = 4 + 6 * self.n_components if self.n_hidden is None else self.n_hidden
        n_hidden = check_count("n_hidden", n_hidden)
        check_count("n_restarts", self.n_restarts)
        if not isinstance(self.hierarchical, (bool, np.bool_)):
            raise ValueError(f"hierarchical must be True or False, got {self.hierarchical!r:.60}")
        decay = self.weight_decay
        is_number = isinstance(decay, numbers.Real) and not isinstance(decay, bool)
        if not is_number or not 0 < decay <= sys.float_info.max:
            raise ValueError(f"weight_decay must be a positive number, got {decay!r:.60}")
        return n_hidden


def _start(
    objective: Objective,
    n_components: int,
    n_hidden: int,
    random: np.random.RandomState,
    *,
    linear: bool,
) -> Array:
    """Return initial scores and weights, random but for the scores of a linear analysis."""
    n_rows, n_columns = objective.X.shape
    scores = random.normal(size=(n_rows, n_components))
    if linear:
        U = np.linalg.svd(objective.X, full_matrices=False)[0][:, :n_components]
        scores[:, : U.shape[1]] = U * np.sqrt(n_rows)
    network = Network(
        random.normal(size=(n_components, n_hidden)),
        random.normal(size=n_hidden),
        random.normal(size=(n_hidden, n_columns)) / n_hidden,
        np.zeros(n_columns),
    )
    return pack(scores, network)
