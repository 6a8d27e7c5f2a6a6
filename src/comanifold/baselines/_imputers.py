"""Ways to fill in a matrix, by name."""

from typing import Any

from sklearn.base import clone
from sklearn.impute import KNNImputer, SimpleImputer

from ._soft_impute import SoftImpute

# Columns that a column is regressed on at most by "iterative", which would take minutes else.
_MOST_PREDICTORS = 50


def choose_imputer(imputer: Any, n_columns: int) -> Any:
    """The imputer of a name, or a copy of a given one, for matrices of `n_columns` columns.

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
        Not fitted yet.

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
    # scikit-learn calls it experimental and asks for this import first.
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    return IterativeImputer(
        n_nearest_features=_MOST_PREDICTORS if n_columns > _MOST_PREDICTORS else None,
        keep_empty_features=True,
        random_state=0,
    )
