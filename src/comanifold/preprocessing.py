"""Preprocessing of a matrix with missing entries, and its inverse."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from ._estimators import validate_matrix

__all__ = ["Preprocessor"]

Array = NDArray[np.float64]


class Preprocessor(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Take log(1 + x), standardise the columns, or both; missing entries (NaN) stay missing.

    Parameters
    ----------
    log1p : bool, default=False
        Whether to take the logarithm of 1 + x, as for counts. All values must be above -1.
    standardize : bool, default=False
        Whether to give every column mean 0 and standard deviation 1 over its observed entries,
        after the logarithm. Constant columns are only centred.

    Attributes
    ----------
    mean_, scale_ : ndarray of shape (n_columns,)
        What is subtracted from each column, and what it is then divided by.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from comanifold.preprocessing import Preprocessor
    >>> X = np.array([[0.0, 1.0], [np.nan, 3.0], [2.0, 5.0]])
    >>> preprocessor = Preprocessor(standardize=True)
    >>> preprocessor.fit_transform(X)[:, 0]
    array([-1., nan,  1.])
    >>> preprocessor.inverse_transform([[0.0, 0.0]])
    array([[1., 3.]])
    """

    def __init__(self, *, log1p: bool = False, standardize: bool = False):
        self.log1p = log1p
        self.standardize = standardize

    def fit(self, X: ArrayLike, y: Any = None) -> "Preprocessor":  # noqa: ARG002
        """Learn mean and scale of the columns of X."""
        X = self._log1p(self._validate(X, reset=True))
        self.mean_, self.scale_ = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if self.standardize:
            observed = ~np.isnan(X).all(axis=0)
            scaler = StandardScaler().fit(X[:, observed])
            self.mean_[observed], self.scale_[observed] = scaler.mean_, scaler.scale_
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Return X preprocessed."""
        check_is_fitted(self)
        return (self._log1p(self._validate(X, reset=False)) - self.mean_) / self.scale_

    def inverse_transform(self, X: ArrayLike) -> Array:
        """Return X in the original units."""
        check_is_fitted(self)
        X = np.asarray(X, dtype=np.float64) * self.scale_ + self.mean_
        return np.expm1(X) if self.log1p else X

    def _validate(self, X: ArrayLike, *, reset: bool) -> Array:
        return validate_matrix(self, X, reset=reset, dtype=np.float64)

    def _log1p(self, X: Array) -> Array:
        """Return log(1 + X), or X itself without `log1p`."""
        if not self.log1p:
            return X
        lowest = np.nanmin(X, initial=np.inf)
        if lowest <= -1:
            raise ValueError(
                f"log1p needs values above -1, and the smallest is {lowest:g}: do not use log1p"
            )
        return np.log1p(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
