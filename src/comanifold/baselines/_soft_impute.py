"""Low-rank matrix completion with a nuclear norm penalty."""

import numbers
import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._estimators import IncompleteMixin, levels_to_caller, unchanged_on_failure
from .._parallel import single_threaded_blas
from .._validation import check_stopping, is_integer
from ..model_selection import HeldOut
from ._low_rank import Factors, LowRankCompletion, LowRankSolver, solve

Array = NDArray[np.float64]

# Where to stop while the penalty is chosen.
_PATH_TOL = 1e-3
_PATH_MAX_ITER = 200

# Deviations from the means that are rounding errors, relative to the largest entry.
_ROUNDING = 64.0 * np.finfo(float).eps


class SoftImpute(IncompleteMixin, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Imputation by a low-rank matrix with a nuclear norm penalty.

    Minimises :math:`\tfrac12 \| P_\Theta(X - M - Z) \|_F^2 + \lambda \| Z \|_*`, with M the means
    of the columns, by proximal gradient steps :math:`Z \leftarrow S_\lambda(P_\Theta(X - M) +
    P_{\bar\Theta}(Z))` with Nesterov's extrapolation. :math:`S_\lambda` lowers all singular values
    by :math:`\lambda`, down to zero; where Z has a low rank, by subspace iterations, of which the
    last is confirmed by a full decomposition.

    Parameters
    ----------
    max_rank : int, optional
        Largest rank of Z, by default any. A limit that is met makes the problem non-convex.
    penalty : "auto" or float, default="auto"
        :math:`\lambda`, in the units of the data. "auto" takes the one of a falling path
        that predicts held-out entries best, where a smaller one has to lower the sum of squared
        errors by a thousandth; for a matrix too small to hold any out, a tenth of the largest
        singular value.
    max_iter : int, default=2000
        Limit on the number of iterations.
    tol : float, default=1e-5
        Relative change of Z in an iteration at which to stop.

    Attributes
    ----------
    penalty_ : float
        The penalty, chosen or given.
    rank_ : int
        The rank of Z.
    filled_ : ndarray of shape (n_rows, n_columns)
        The data where observed, M + Z elsewhere.
    n_iter_ : int
    n_features_in_ : int

    References
    ----------
    Mazumder, Hastie and Tibshirani (2010), Spectral regularization algorithms for learning
    large incomplete matrices, JMLR 11.

    Examples
    --------
    >>> import numpy as np
    >>> from comanifold.baselines import SoftImpute
    >>> table = np.outer(np.arange(-4.0, 5.0), np.arange(1.0, 7.0))
    >>> X = table.copy()
    >>> X[[1, 6], [2, 3]] = np.nan
    >>> filled = SoftImpute(penalty=0.01).fit_transform(X)
    >>> bool(np.abs(filled - table).max() < 0.1)
    True
    """

    def __init__(
        self,
        max_rank: int | None = None,
        *,
        penalty: str | float = "auto",
        max_iter: int = 2000,
        tol: float = 1e-5,
    ):
        self.max_rank = max_rank
        self.penalty = penalty
        self.max_iter = max_iter
        self.tol = tol

    @unchanged_on_failure
    def fit(self, X: ArrayLike, y: Any = None) -> "SoftImpute":  # noqa: ARG002
        """Find the low-rank matrix.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            NaN for missing entries. A row or column with nothing observed is filled with means.
        y : ignored
        """
        X = self._read(X, reset=True)
        max_rank = self._check_parameters()
        max_iter, tol = check_stopping(self.max_iter, self.tol)
        self._means = column_means(X)
        centred = X - self._means
        solver = LowRankSolver(max_rank, tol=tol, max_iter=max_iter)
        with single_threaded_blas():
            start = None
            if self.penalty == "auto":
                self.penalty_, start = _choose_penalty(centred, max_rank)
            else:
                self.penalty_ = float(self.penalty)
            solution = solve(centred, self.penalty_, solver, start)
        if not solution.converged:
            warnings.warn(
                f"SoftImpute stopped after {max_iter} iterations, before reaching tol={tol:g}. "
                "Raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=levels_to_caller(),
            )
        self.n_iter_ = solution.n_iter
        self.rank_ = solution.B.shape[1]
        self._factor = solution.B
        self.filled_ = np.where(np.isnan(X), self._means + solution.A @ solution.B.T, X)
        return self

    def fit_transform(self, X: ArrayLike, y: Any = None) -> Array:  # noqa: ARG002
        """Return X with its missing entries filled in; see `fit`."""
        return self.fit(X).filled_

    def transform(self, X: ArrayLike) -> Array:
        r"""Fill in new rows.

        With :math:`Z = U D V'` and :math:`B = V D^{1/2}`, a row takes
        :math:`a = \arg\min \tfrac12 \| P_\Theta(x - m - B a) \|^2 + \tfrac\lambda2 \| a \|^2`
        and is filled in by m + B a. For the rows of `fit` these are their entries of `filled_`, as
        far as the iterations have converged.

        Parameters
        ----------
        X : array-like of shape (n_new, n_columns)
            NaN for missing entries.
        """
        check_is_fitted(self)
        X = self._read(X, reset=False)
        observed = ~np.isnan(X)
        centred = np.where(observed, X - self._means, 0.0)
        B = self._factor
        # A tiny ridge keeps the system solvable without a penalty.
        ridge = max(self.penalty_, 1e-10 * float((B**2).sum()), 1e-300) * np.eye(self.rank_)
        gram = (B.T * observed[:, None, :]) @ B + ridge
        a = np.linalg.solve(gram, (centred @ B)[..., None])[..., 0]
        return np.where(observed, X, self._means + a @ B.T)

    def _check_parameters(self) -> int | None:
        """Validate max_rank and penalty; return max_rank."""
        rank, penalty = self.max_rank, self.penalty
        if rank is not None and (not is_integer(rank) or rank < 1):
            raise ValueError(f"max_rank must be a positive integer or None, got {rank!r}")
        if isinstance(penalty, str) and penalty == "auto":
            return rank
        is_number = isinstance(penalty, numbers.Real) and not isinstance(penalty, bool)
        if not is_number or not 0 <= penalty <= sys.float_info.max:
            raise ValueError(f'penalty must be "auto" or a number of at least 0, got {penalty!r}')
        return rank


def _choose_penalty(X: Array, max_rank: int | None) -> tuple[float, Factors | None]:
    """Return the penalty that predicts held-out entries best, and its solution without them."""
    held_out = HeldOut(X, from_complete=True)
    if not held_out.values.size or not np.nan_to_num(held_out.rest()).any():
        return 0.1 * float(np.linalg.norm(np.nan_to_num(X), 2)), None
    solver = LowRankSolver(max_rank, tol=_PATH_TOL, max_iter=_PATH_MAX_ITER, confirm=False)
    completion = LowRankCompletion(held_out, solver)
    error = np.sum((completion.predicted - held_out.values) ** 2)
    if error >= np.sum(held_out.values**2):  # column means predict better
        return completion.max_penalty, None
    return completion.penalty, completion.factors_of_rest


def column_means(X: Array) -> Array:
    """Return the mean of each column; that of all entries for a column with none observed."""
    observed = ~np.isnan(X)
    counts = observed.sum(axis=0)
    means = np.where(observed, X, 0.0).sum(axis=0) / np.maximum(counts, 1)
    return np.where(counts > 0, means, X[observed].mean())


def standardise(X: Array) -> tuple[Array, Array, float]:
    """Return X less its column means and divided by one number, the means, and the number.

    That number is the root mean square. Where nothing but rounding errors is left it is 1, and all
    entries are zero.
    """
    means = column_means(X)
    scaled = X - means
    # A power of two, which changes no bit, so that no square vanishes.
    size = float(np.ldexp(1.0, int(np.frexp(np.nanmax(np.abs(X)))[1])))
    scale = size * float(np.sqrt(np.nanmean((scaled / size) ** 2)))
    if scale <= _ROUNDING * size:
        return np.where(np.isnan(X), np.nan, 0.0), means, 1.0
    return scaled / scale, means, scale
