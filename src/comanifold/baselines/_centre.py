"""Means of incomplete columns."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def column_means(X: Array) -> Array:
    """The mean of what is observed in each column; of everything where that is nothing."""
    observed = ~np.isnan(X)
    counts = observed.sum(axis=0)
    means = np.where(observed, X, 0.0).sum(axis=0) / np.maximum(counts, 1)
    return np.where(counts > 0, means, X[observed].mean())
