"""Shared support of the baselines: validation of incomplete matrices, and column means."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import validate_data

from .._validation import check_matrix, masked_to_nan

Array = NDArray[np.float64]


class IncompleteMixin:
    """Mixin for estimators of matrices with at least two rows, where NaN is a missing entry."""

    def _read(self, X: ArrayLike, *, reset: bool, need_observed_rows: bool = False) -> Array:
        """Validate X; return it as a new array of floats with NaN for missing entries."""
        X = validate_data(
            self,
            masked_to_nan(X),
            reset=reset,
            ensure_all_finite="allow-nan",
            ensure_min_samples=2 if reset else 1,
        )
        return check_matrix(X, need_observed=reset, need_observed_rows=reset and need_observed_rows)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def column_means(X: Array) -> Array:
    """Return the mean of each column; that of all entries for a column with none observed."""
    observed = ~np.isnan(X)
    counts = observed.sum(axis=0)
    means = np.where(observed, X, 0.0).sum(axis=0) / np.maximum(counts, 1)
    return np.where(counts > 0, means, X[observed].mean())
