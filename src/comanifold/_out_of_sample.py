"""Distances of new rows to the rows of a fitted matrix, in its multi-scale metric."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Rows of the fitted matrix that a new row is compared with, to fill it in.
_NEAREST = 5


def distances_to_new(new: Array, filled: Array, distances: Array, total_weight: float) -> Array:
    """Distances of the rows of `new`, NaN where missing, to the rows of `filled`.

    The surface is not solved again for new rows. A new row is compared with the filled-in rows
    on what it has observed; its gaps take the mean of its nearest ones. Its distance to row j
    is then that of the filled-in rows, times the factor by which the multi-scale distances of
    those nearest rows to j exceed theirs. For a row of the fitted matrix itself that is exactly
    its multi-scale distance.
    """
    result = np.empty((len(new), len(filled)))
    squares = (filled**2).sum(axis=1)
    between = squares[:, None] + squares - 2.0 * filled @ filled.T
    plain = total_weight * np.sqrt(np.maximum(between, 0.0))
    factor = np.divide(distances, plain, out=np.ones_like(plain), where=plain > 1e-7 * plain.max())
    for i, row in enumerate(new):
        observed = ~np.isnan(row)
        if not observed.any():
            result[i] = np.nan
            continue
        gaps = ((filled[:, observed] - row[observed]) ** 2).mean(axis=1)
        nearest = np.argsort(gaps, kind="stable")[:_NEAREST]
        weights = _inverse(gaps[nearest])
        completed = np.where(observed, row, weights @ filled[nearest])
        straight = total_weight * np.linalg.norm(filled - completed, axis=1)
        result[i] = straight * (weights @ factor[nearest])
    return result


def _inverse(squares: Array) -> Array:
    """Weights that fall with the square of the distance, all on those at distance zero."""
    same = squares <= 1e-24
    weights = same.astype(float) if same[0] else squares[0] / squares
    return weights / weights.sum()
