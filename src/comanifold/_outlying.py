"""Entries that are many orders of magnitude larger than the others.

One of them would set the units of a whole matrix: in units in which all entries have variance one,
the others would hardly differ, and hundreds of pairs of costs would lie between those at which the
others fuse and those at which it does. So units are those of the other entries, and costs at which
nothing fuses are skipped (see `solvers._surface`). The data are left as they are.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# An entry is outlying if it is so many times farther from the median than half of the entries are.
_FAR = 1e5

# A matrix of which more than this part is far from the median has no outlying entries: it has
# entries of two kinds.
_LARGEST_PART = 0.1


def outlying_entries(X: Array) -> NDArray[np.bool_]:
    """Which entries of X are outlying: all or none of equal ones, in any units and any order."""
    observed = X[~np.isnan(X)]
    nowhere = np.zeros(X.shape, dtype=bool)
    if not observed.size:
        return nowhere
    centre = np.median(observed)
    distances = np.abs(observed - centre)
    spread = np.median(distances)
    if spread == 0.0:  # more than half of the entries are equal
        distances = distances[distances > 0.0]
        spread = np.median(distances) if distances.size else 0.0
    if not distances.size or distances.max() <= _FAR * spread:
        return nowhere
    with np.errstate(invalid="ignore"):
        outlying = np.abs(X - centre) > _FAR * spread
    return outlying if outlying.sum() <= _LARGEST_PART * observed.size else nowhere


def without_outlying(X: Array) -> Array:
    """X with outlying entries missing; X itself where it has none."""
    outlying = outlying_entries(X)
    return np.where(outlying, np.nan, X) if outlying.any() else X
