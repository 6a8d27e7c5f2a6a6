"""How well missing entries are predicted: holding observed entries out, and errors on them."""

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ._fit.held_out import HeldOut
from ._validation import check_count, check_matrix

__all__ = ["HeldOut", "HeldOutErrors", "held_out_errors", "hold_out"]

Array = NDArray[np.float64]


def hold_out(
    X: ArrayLike,
    fraction: float = 0.1,
    *,
    min_observed: int = 3,
    min_held_out: int = 1,
    random_state: Any = None,
) -> HeldOut | None:
    """Hold out observed entries of X at random.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        NaN for missing entries.
    fraction : float, default=0.1
        The probability with which an observed entry is held out.
    min_observed : int, default=3
        Rows and columns that would keep fewer entries lose none.
    min_held_out : int, default=1
        The smallest number of entries to hold out.
    random_state : int, RandomState or None

    Returns
    -------
    held_out : HeldOut or None
        With `rows`, `columns` and `values` of the held-out entries, and `rest()`, the matrix
        without them. None if there would be fewer than `min_held_out`.

    Examples
    --------
    >>> import numpy as np
    >>> from comanifold.model_selection import hold_out
    >>> held_out = hold_out(np.arange(80.0).reshape(10, 8), random_state=0)
    >>> rest = held_out.rest()
    >>> bool(np.isnan(rest[held_out.rows, held_out.columns]).all())
    True
    """
    X = check_matrix(X)
    is_number = isinstance(fraction, numbers.Real) and not isinstance(fraction, bool)
    if not is_number or not 0 < fraction < 1:
        raise ValueError(f"fraction must be a number between 0 and 1, got {fraction!r:.60}")
    check_count("min_observed", min_observed)
    check_count("min_held_out", min_held_out)
    observed = ~np.isnan(X)
    chosen = observed & (check_random_state(random_state).random_sample(X.shape) < fraction)
    rest = observed & ~chosen
    for axis in (0, 1):
        too_few = np.expand_dims(rest.sum(axis=axis) < min_observed, axis)
        chosen &= ~too_few
    if chosen.sum() < min_held_out:
        return None
    return HeldOut(X, chosen)


@dataclass(frozen=True)
class HeldOutErrors:
    """Root-mean-square errors on held-out entries, in standard deviations of these.

    Attributes
    ----------
    n_held_out : int
    model : float
        The error of the filled-in matrix.
    row_means, column_means : float
        The errors of the means of the other entries of the row and of the column.
    """

    n_held_out: int
    model: float
    row_means: float
    column_means: float


def held_out_errors(held_out: HeldOut, filled: Array) -> HeldOutErrors | None:
    """Return the errors of a filled-in matrix, and of row and column means, on held-out entries.

    None if the held-out entries are all equal, or if `filled` has no value for some of them.

    Parameters
    ----------
    held_out : HeldOut
    filled : ndarray of shape (n_rows, n_columns)
        `held_out.rest()`, with its missing entries filled in.
    """
    rest = held_out.rest()
    observed = ~np.isnan(rest)
    predicted = filled[held_out.rows, held_out.columns]
    if not held_out.values.std() > 0.0 or not np.isfinite(predicted).all():
        return None

    def error_of_means(axis: int) -> float:
        sums = np.where(observed, rest, 0.0).sum(axis=axis, keepdims=True)
        means = sums / np.maximum(observed.sum(axis=axis, keepdims=True), 1)
        means = np.broadcast_to(means, rest.shape)
        return held_out.relative_error(means[held_out.rows, held_out.columns])

    return HeldOutErrors(
        len(held_out.values),
        held_out.relative_error(predicted),
        row_means=error_of_means(1),
        column_means=error_of_means(0),
    )
