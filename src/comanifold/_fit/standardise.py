"""A matrix in standard units, without outlying entries and empty rows or columns."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..solvers import mean_and_scale

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# An outlier is this many times as far from the median as half of the entries are, and as the
# next nearer entry.
_FAR, _GAP = 1e5, 100.0

# Outliers are at most this part of a matrix, and of each row and column: more are not mistakes,
# but columns in other units, or entries of two kinds.
_LARGEST_PART, _LARGEST_PART_OF_LINE = 0.1, 0.5

# Doublings from the usual entry to the largest that are crossed one by one.
_MOST_DOUBLINGS = 20


@dataclass(frozen=True)
class StandardisedMatrix:
    """A matrix in standard units.

    Attributes
    ----------
    values : ndarray of shape (n_observed_rows, n_observed_columns)
        Of mean 0 and variance 1 over the observed entries; NaN for missing entries and outliers.
    observed_rows, observed_columns : ndarray of bool
        Which rows and columns of the matrix have an observed entry.
    outliers : ndarray of bool
        Which entries of the matrix count as missing because they are outliers.
    mean, scale : float
        The matrix is scale * values + mean.
    stride : int
        Doublings of a cost from one scale to the next.
    """

    values: Array
    observed_rows: Mask
    observed_columns: Mask
    outliers: Mask
    mean: float
    scale: float
    stride: int


def standardise(X: Array) -> StandardisedMatrix:
    """Return X in standard units, without outliers and empty rows and columns."""
    missing = np.isnan(X)
    rows, columns = ~missing.all(axis=1), ~missing.all(axis=0)
    outliers = find_outliers(X)
    observed = np.where(outliers, np.nan, X) if outliers.any() else X
    if not (rows.all() and columns.all()):
        observed = observed[np.ix_(rows, columns)]
    mean, scale = mean_and_scale(observed)
    return StandardisedMatrix(
        values=(observed - mean) / scale,
        observed_rows=rows,
        observed_columns=columns,
        outliers=outliers,
        mean=mean,
        scale=scale,
        stride=doublings_per_step(observed),
    )


def find_outliers(X: Array) -> Mask:
    """Return a mask of outliers: single entries many orders of magnitude from all others.

    It does not depend on units, nor on the order of rows and columns, and there are none in data
    that reach that far without a gap, such as log-normal ones.
    """
    observed = ~np.isnan(X)
    nowhere = np.zeros(X.shape, dtype=bool)
    values = X[observed]
    if not values.size:
        return nowhere
    centre = np.median(values)
    distances = np.sort(np.abs(values - centre))
    far = distances > _FAR * _middle(distances)
    far[1:] &= distances[1:] > _GAP * distances[:-1]
    if not far.any():
        return nowhere
    with np.errstate(invalid="ignore"):
        outliers = np.abs(X - centre) >= distances[np.argmax(far)]
    if outliers.sum() > _LARGEST_PART * values.size:
        return nowhere
    for axis in (0, 1):
        n_most = _LARGEST_PART_OF_LINE * observed.sum(axis=axis, keepdims=True)
        outliers &= outliers.sum(axis=axis, keepdims=True) <= n_most
    return outliers


def _middle(distances: Array) -> float:
    """Return the median of distances, of those that are not zero if more than half are."""
    middle = np.median(distances)
    if middle == 0.0 and distances.any():
        middle = np.median(distances[distances > 0.0])
    return float(middle)


def doublings_per_step(X: Array) -> int:
    """Return how many doublings of a cost make one step, so that there are only hundreds of scales.

    One, unless the largest entries are more than a million times as far from the median as half of
    the entries are.
    """
    values = X[~np.isnan(X)]
    distances = np.abs(values - np.median(values))
    middle = _middle(distances)
    if middle == 0.0:
        return 1
    # The quotient itself may be too large for a number.
    doublings = math.log2(distances.max()) - math.log2(middle)
    return max(1, math.ceil(doublings / _MOST_DOUBLINGS))
