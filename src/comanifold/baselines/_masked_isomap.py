"""Isomap on distances over shared columns."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import SparseEfficiencyWarning
from sklearn.base import BaseEstimator
from sklearn.manifold import Isomap
from sklearn.metrics.pairwise import nan_euclidean_distances
from sklearn.utils.validation import check_is_fitted

from .._estimators import EmbeddingMixin, unchanged_on_failure
from .._validation import check_count

Array = NDArray[np.float64]


class MaskedIsomap(EmbeddingMixin, BaseEstimator):
    r"""Isomap on the distances over the columns observed in both rows.

    scikit-learn's Isomap on its `nan_euclidean_distances`,

    .. math:: d(i, j)^2 = \frac{p}{|\Theta_i \cap \Theta_j|}
              \sum_{k \in \Theta_i \cap \Theta_j} (x_{ik} - x_{jk})^2

    with p columns, of which row i has :math:`\Theta_i`. Rows that share none are twice as far
    from each other as any that do.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates.
    n_neighbors : int, default=5
        Neighbours of each row; at most all other rows are used.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_rows, n_components)
    isomap_ : sklearn.manifold.Isomap
        The fitted Isomap.
    n_features_in_ : int

    References
    ----------
    Tenenbaum, de Silva and Langford (2000), A global geometric framework for nonlinear
    dimensionality reduction.

    Examples
    --------
    >>> import numpy as np
    >>> from comanifold.baselines import MaskedIsomap
    >>> t = np.linspace(0, 1, 50)
    >>> X = np.column_stack([t, 2 * t, -t])
    >>> X[::6, 2] = np.nan
    >>> line = MaskedIsomap(1).fit_transform(X)[:, 0]
    >>> bool(abs(np.corrcoef(line, t)[0, 1]) > 0.999)
    True
    """

    def __init__(self, n_components: int = 2, *, n_neighbors: int = 5):
        self.n_components = n_components
        self.n_neighbors = n_neighbors

    @unchanged_on_failure
    def fit(self, X: ArrayLike, y: Any = None) -> "MaskedIsomap":  # noqa: ARG002
        """Embed the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            NaN for missing entries. Every row needs an observed entry.
        y : ignored
        """
        X = self._read(X, reset=True, need_observed_rows=True)
        check_count("n_components", self.n_components)
        n_neighbors = check_count("n_neighbors", self.n_neighbors)
        if self.n_components >= len(X):
            raise ValueError(
                f"n_components must be less than the number of rows, {len(X)}, got "
                f"{self.n_components}"
            )
        self._fit_X = X
        distances = nan_euclidean_distances(X)
        self._far = 2.0 * float(np.nanmax(distances))
        self.isomap_ = Isomap(
            n_components=self.n_components,
            n_neighbors=min(n_neighbors, len(X) - 1),
            metric="precomputed",
            # The iterative solver starts at random and is not reproducible.
            eigen_solver="dense",
        )
        with warnings.catch_warnings():
            # About how scikit-learn links connected components: nothing a user can change.
            warnings.simplefilter("ignore", SparseEfficiencyWarning)
            self.embedding_ = self.isomap_.fit_transform(self._replace_unknown(distances))
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Embed new rows by their geodesic distances to those of `fit`.

        Parameters
        ----------
        X : array-like of shape (n_new, n_columns)
            NaN for missing entries. A row that shares no column with any row of `fit` gets NaN.
        """
        check_is_fitted(self)
        distances = nan_euclidean_distances(self._read(X, reset=False), self._fit_X)
        embedded = self.isomap_.transform(self._replace_unknown(distances))
        embedded[np.isnan(distances).all(axis=1)] = np.nan
        return embedded

    def _replace_unknown(self, distances: Array) -> Array:
        """Return the distances with a large one between rows that share no column."""
        return np.where(np.isnan(distances), self._far, distances)
