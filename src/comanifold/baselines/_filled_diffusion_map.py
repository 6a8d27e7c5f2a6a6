"""Imputation followed by a diffusion map."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.utils.validation import check_is_fitted

from .._estimators import EmbeddingMixin, unchanged_on_failure
from ..diffusion_map import DiffusionMap
from ._soft_impute import SoftImpute

Array = NDArray[np.float64]

# "iterative" regresses a column on at most this many others: on all it would take minutes.
_MAX_PREDICTORS = 50


class FilledDiffusionMap(EmbeddingMixin, BaseEstimator):
    r"""Fill in a matrix, then embed its rows by a diffusion map.

    The rows of the filled-in matrix :math:`\hat X` have affinities
    :math:`\exp(-\| \hat x_i - \hat x_j \|^2 / (p \sigma^2))`, p being the number of columns, and
    are embedded by the eigenvectors of the random walk between them, as `DiffusionMap` does.
    For the columns hand in the transpose.

    Parameters
    ----------
    imputer : {"mean", "knn", "soft", "iterative"} or estimator, default="mean"
        What fills in the matrix. "mean" is the comparison of the paper; see `choose_imputer`.
    n_components : int, default=2
        Number of coordinates.
    bandwidth : "auto", "local", ("local", int), "median" or float, default="auto"
    diffusion_time : float, default=1.0
    density_normalization : float, default=0.0
        As in `DiffusionMap`.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_rows, n_components)
    eigenvalues_ : ndarray of shape (n_components,)
    filled_ : ndarray of shape (n_rows, n_columns)
    imputer_ : estimator
        The fitted imputer.
    diffusion_map_ : DiffusionMap
    n_features_in_ : int

    References
    ----------
    Mishne, Chi and Coifman (2019), Co-manifold learning with missing data. Coifman and Lafon
    (2006), Diffusion maps.

    Examples
    --------
    >>> import numpy as np
    >>> from comanifold.baselines import FilledDiffusionMap
    >>> angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> X = np.cos(angle[:, None] - np.arange(8))
    >>> X[::7, 3] = np.nan
    >>> FilledDiffusionMap("knn").fit_transform(X).shape
    (60, 2)
    """

    def __init__(
        self,
        imputer: Any = "mean",
        n_components: int = 2,
        *,
        bandwidth: str | float | tuple[str, int] = "auto",
        diffusion_time: float = 1.0,
        density_normalization: float = 0.0,
    ):
        self.imputer = imputer
        self.n_components = n_components
        self.bandwidth = bandwidth
        self.diffusion_time = diffusion_time
        self.density_normalization = density_normalization

    @unchanged_on_failure
    def fit(self, X: ArrayLike, y: Any = None) -> "FilledDiffusionMap":  # noqa: ARG002
        """Fill in X and embed its rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            NaN for missing entries.
        y : ignored
        """
        X = self._read(X, reset=True)
        self.imputer_ = choose_imputer(self.imputer, X.shape[1])
        self.filled_ = _complete(self.imputer_.fit_transform(X), X.shape)
        self.diffusion_map_ = DiffusionMap(
            self.n_components,
            bandwidth=self.bandwidth,
            diffusion_time=self.diffusion_time,
            density_normalization=self.density_normalization,
        ).fit(self.filled_)
        self.embedding_ = self.diffusion_map_.embedding_
        self.eigenvalues_ = self.diffusion_map_.eigenvalues_
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Fill in new rows and place them by the Nyström extension.

        Parameters
        ----------
        X : array-like of shape (n_new, n_columns)
            NaN for missing entries.
        """
        check_is_fitted(self)
        X = self._read(X, reset=False)
        return self.diffusion_map_.transform(_complete(self.imputer_.transform(X), X.shape))


def _complete(filled: ArrayLike, shape: tuple[int, int]) -> Array:
    """Validate that an imputer left no entry missing; return its result as floats."""
    filled = np.asarray(filled, dtype=float)
    if filled.shape != shape or not np.isfinite(filled).all():
        raise ValueError(
            f"imputer must return a complete matrix of shape {shape}, got shape {filled.shape} "
            f"with {np.count_nonzero(~np.isfinite(filled))} entries missing or infinite"
        )
    return filled


def choose_imputer(imputer: Any, n_columns: int) -> Any:
    """Return the imputer of a name, or a clone of a given one, for `n_columns` columns.

    Parameters
    ----------
    imputer : {"mean", "knn", "soft", "iterative"} or estimator
        The means of the columns, scikit-learn's KNNImputer, `SoftImpute`, scikit-learn's
        IterativeImputer with regressions on up to 50 columns, or any transformer that leaves
        no entry missing. The named ones also fill in columns without an observed entry.
    n_columns : int

    Returns
    -------
    imputer : estimator
        Not fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from comanifold.baselines import choose_imputer
    >>> choose_imputer("mean", 2).fit_transform([[1.0, np.nan], [3.0, 4.0]])
    array([[1., 4.],
           [3., 4.]])
    """
    if isinstance(imputer, str):
        if imputer == "mean":
            return SimpleImputer(keep_empty_features=True)
        if imputer == "knn":
            return KNNImputer(keep_empty_features=True)
        if imputer == "soft":
            return SoftImpute()
        if imputer == "iterative":
            return _iterative(n_columns)
    elif hasattr(imputer, "fit_transform") and hasattr(imputer, "transform"):
        return clone(imputer)
    raise ValueError(
        'imputer must be "mean", "knn", "soft", "iterative" or an estimator with fit_transform '
        f"and transform, got {imputer!r}"
    )


def _iterative(n_columns: int) -> Any:
    """Return the IterativeImputer for matrices with `n_columns` columns."""
    # scikit-learn calls it experimental and requires this import first.
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    return IterativeImputer(
        n_nearest_features=_MAX_PREDICTORS if n_columns > _MAX_PREDICTORS else None,
        keep_empty_features=True,
        random_state=0,
    )
