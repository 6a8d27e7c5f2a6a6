"""Non-linear principal components of an incomplete matrix."""

import numbers
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted

from .._estimators import levels_to_caller, unchanged_on_failure
from .._parallel import single_threaded_blas
from .._validation import check_count, check_stopping
from ._incomplete import IncompleteMixin, column_means
from ._network import Network, Problem, pack, unpack

Array = NDArray[np.float64]

# Iterations after which the starts are compared: only the best is followed to the end.
_TRIAL = 300


class NLPCA(IncompleteMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Non-linear principal component analysis of a matrix with missing entries.

    The inverse model of Scholz et al.: a network :math:`f(z) = \tanh(z W + b) V + c` leads from
    the scores :math:`z_i` of a row to the row, and the scores are found together with the
    weights. Minimises

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
        Starts, of which the one that is best after 300 iterations is followed to the end. The
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
        self._centre = column_means(X)
        scaled = X - self._centre
        self._scale = float(np.sqrt(np.nanmean(scaled**2))) or 1.0
        scaled /= self._scale
        problem = self._problem(scaled)
        with single_threaded_blas():
            best, n_iter = self._search(problem, n_hidden, max_iter, tol)
        if n_iter >= max_iter and not best.success:
            warnings.warn(
                f"NLPCA stopped after {n_iter} iterations, before reaching tol={tol:g}. Raise "
                "max_iter or tol",
                ConvergenceWarning,
                stacklevel=levels_to_caller(),
            )
        self.loss_, self.n_iter_ = float(best.fun), n_iter
        self._known, self._network = unpack(best.x, X.shape, self.n_components, n_hidden)
        # Placed as new rows are, so that the same row always has the same scores.
        self.embedding_ = self._place(scaled)
        self.filled_ = np.where(np.isnan(X), self.inverse_transform(self.embedding_), X)
        self._n_features_out = self.n_components
        return self

    def fit_transform(self, X: ArrayLike, y: Any = None) -> Array:  # noqa: ARG002
        """The scores of the rows of X; see `fit`."""
        return self.fit(X).embedding_

    def transform(self, X: ArrayLike) -> Array:
        """Find the scores of new rows, with the network as it is.

        Parameters
        ----------
        X : array-like of shape (n_new, n_columns)
            NaN for missing entries. A row with nothing observed has scores of zero.
        """
        check_is_fitted(self)
        return self._place((self._read(X, reset=False) - self._centre) / self._scale)

    def inverse_transform(self, X: ArrayLike) -> Array:
        """The rows, in the units of the data, that the network gives for scores.

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

    def _search(
        self, problem: Problem, n_hidden: int, max_iter: int, tol: float
    ) -> tuple[Any, int]:
        """The best of several starts, followed to the end, and how many iterations it took."""

        def descend(flat: Array, n_iter: int) -> Any:
            return minimize(
                problem.value_and_gradient,
                flat,
                args=(n_hidden,),
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": n_iter, "maxfun": 10 * n_iter, "ftol": tol, "gtol": 1e-9},
            )

        random = check_random_state(self.random_state)
        trial, best = min(_TRIAL, max_iter), None
        for start in range(self.n_restarts):
            flat = _start(problem, self.n_components, n_hidden, random, linear=start == 0)
            found = descend(flat, trial)
            if best is None or found.fun < best.fun:
                best = found
        if best.success or best.nit >= max_iter:
            return best, int(best.nit)
        n_iter = int(best.nit)
        best = descend(best.x, max_iter - n_iter)
        return best, n_iter + int(best.nit)

    def _place(self, scaled: Array) -> Array:
        problem = self._problem(scaled)
        with single_threaded_blas():
            return problem.place(problem.best_of(self._known, self._network), self._network)

    def _problem(self, scaled: Array) -> Problem:
        first = 1 if self.hierarchical else self.n_components
        levels = tuple(range(first, self.n_components + 1))
        return Problem(scaled, levels, float(self.weight_decay))

    def _check_parameters(self) -> int:
        check_count("n_components", self.n_components)
        n_hidden = 4 + 6 * self.n_components if self.n_hidden is None else self.n_hidden
        n_hidden = check_count("n_hidden", n_hidden)
        check_count("n_restarts", self.n_restarts)
        decay = self.weight_decay
        if isinstance(decay, bool) or not isinstance(decay, numbers.Real) or not 0 < decay < np.inf:
            raise ValueError(f"weight_decay must be a positive number, got {decay!r}")
        return n_hidden


def _start(
    problem: Problem,
    n_components: int,
    n_hidden: int,
    random: np.random.RandomState,
    *,
    linear: bool,
) -> Array:
    n_rows, n_columns = problem.X.shape
    scores = random.normal(size=(n_rows, n_components))
    if linear:
        U = np.linalg.svd(problem.X, full_matrices=False)[0][:, :n_components]
        scores[:, : U.shape[1]] = U * np.sqrt(n_rows)
    network = Network(
        random.normal(size=(n_components, n_hidden)),
        random.normal(size=n_hidden),
        random.normal(size=(n_hidden, n_columns)) / n_hidden,
        np.zeros(n_columns),
    )
    return pack(scores, network)
