"""Entries of very different size: single ones out of all proportion, and data that reach far."""

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# How many times as far from the median as half of the entries are, and as the next nearer entry.
_FAR, _GAP = 1e5, 100.0

# At most this part of a matrix, and of each of its rows and columns: past that they are no
# mistakes, but columns in other units, or entries of two kinds.
_LARGEST_PART, _LARGEST_PART_OF_LINE = 0.1, 0.5

# Doublings from the usual entry to the largest that are crossed one by one.
_MOST_DOUBLINGS = 20


def find_outliers(X: Array) -> NDArray[np.bool_]:
    """Return which entries are out of all proportion to the others, as codes and typing errors are.

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
    """Return by how many doublings costs have to grow so that there are no more than hundreds.

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


def without_outliers(X: Array) -> Array:
    """Return X with NaN for its outliers; X itself if it has none."""
    outliers = find_outliers(X)
    return np.where(outliers, np.nan, X) if outliers.any() else X
