"""Shared by estimators: validation, failed fits that change nothing, warnings at the caller."""

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, validate_data

from ._frames import frame_to_floats, is_frame, with_names
from ._validation import check_matrix, masked_to_nan

Array = NDArray[np.float64]

# Packages whose frames are skipped to find the line of the user.
_BETWEEN = ("comanifold", "contextlib", "sklearn")


def unchanged_on_failure(fit: Callable) -> Callable:
    """Decorate a fit method so that the estimator is unchanged if it raises.

    A fitted estimator keeps its previous fit, an unfitted one stays unfitted, whether an error,
    Ctrl-C or a lack of memory ended the new fit. The method must assign new objects to attributes
    and never modify existing ones.
    """

    @wraps(fit)
    def guarded(self: Any, *arguments: Any, **options: Any) -> Any:
        before = vars(self).copy()
        try:
            return fit(self, *arguments, **options)
        except BaseException:
            self.__dict__ = before  # one assignment, which a second Ctrl-C cannot cut in half
            raise

    return guarded


def levels_to_caller() -> int:
    """Return the `stacklevel` with which the calling function warns at the line of the user."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in _BETWEEN:
        level, frame = level + 1, frame.f_back
    return level


def validate_matrix(estimator: Any, X: Any, *, reset: bool = True, **checks: Any) -> Any:
    """Validate X as scikit-learn does, with NaN allowed; the names of its columns are learned.

    Frames of polars and pyarrow become arrays with NaN for null. `checks` are those of
    `sklearn.utils.check_array`.
    """
    checks = {"ensure_all_finite": "allow-nan", **checks}
    values = frame_to_floats(X, "X")
    if not is_frame(X):
        return validate_data(estimator, X, reset=reset, **checks)
    # The names of the columns, and their number.
    validate_data(estimator, with_names(X), reset=reset, skip_check_array=True)
    return check_array(values, input_name="X", estimator=estimator, **checks)


class IncompleteMixin:
    """Mixin for estimators of matrices with at least two rows, where NaN is a missing entry."""

    def _read(self, X: ArrayLike, *, reset: bool, need_observed_rows: bool = False) -> Array:
        """Validate X; return it as a new array of floats with NaN for missing entries."""
        X = validate_matrix(
            self, masked_to_nan(X), reset=reset, ensure_min_samples=2 if reset else 1
        )
        return check_matrix(X, need_observed=reset, need_observed_rows=reset and need_observed_rows)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class EmbeddingMixin(IncompleteMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Mixin for estimators that embed the rows of a matrix: `fit` sets `embedding_`."""

    def fit_transform(self, X: ArrayLike, y: Any = None) -> Array:  # noqa: ARG002
        """Return the embedding of the rows of X; see `fit`."""
        return self.fit(X).embedding_

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]
