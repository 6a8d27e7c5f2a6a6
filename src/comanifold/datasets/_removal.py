"""Removal of entries at random, in several missing-data patterns."""

import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from .._validation import check_choice, check_matrix

Array = NDArray[np.float64]


def remove_entries(
    X: ArrayLike,
    fraction: float,
    *,
    pattern: str = "random",
    allow_empty: bool = False,
    random_state: Any = None,
) -> Array:
    """Return a copy of X with a fraction of its observed entries replaced by NaN.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        May have missing entries already.
    fraction : float
        The fraction of observed entries to remove, from 0 to less than 1. Fewer are removed if
        rows or columns would become empty.
    pattern : {"random", "block", "rows", "value"}, default="random"
        "random": uniformly. "block": one rectangle, its sides in proportion to those of
        the matrix, of rows and columns chosen at random. "rows": some rows lose much more than
        others. "value": the larger an entry, the more often it is missing.
    allow_empty : bool, default=False
        Whether a row or column may lose all its entries.
    random_state : int, RandomState or None

    Examples
    --------
    >>> import numpy as np
    >>> from comanifold.datasets import remove_entries
    >>> X = remove_entries(np.ones((10, 8)), 0.25, random_state=0)
    >>> int(np.isnan(X).sum())
    20
    """
    X = check_matrix(X)
    if isinstance(fraction, bool) or not isinstance(fraction, numbers.Real):
        raise ValueError(f"fraction must be a number, got {fraction!r}")
    if not 0 <= fraction < 1:
        raise ValueError(f"fraction must be at least 0 and less than 1, got {fraction!r}")
    check_choice("pattern", pattern, sorted(_PRIORITIES))
    rng = check_random_state(random_state)
    observed = ~np.isnan(X)
    n_removed = round(fraction * observed.sum())
    # Entries of the highest priority are removed first.
    priority = _PRIORITIES[pattern](X, rng)
    order = np.argsort(-priority[observed], kind="stable")
    rows, columns = (index[order] for index in np.nonzero(observed))
    if not allow_empty:
        rows, columns = _keep_last(rows, columns)
    X[rows[:n_removed], columns[:n_removed]] = np.nan
    return X


def _random(X: Array, rng: np.random.RandomState) -> Array:
    """Return uniform priorities."""
    return rng.uniform(size=X.shape)


def _block(X: Array, rng: np.random.RandomState) -> Array:
    """Return priorities that fall with the distance from a corner, in the larger direction."""
    ranks = [rng.permutation(size) / size for size in X.shape]
    return -np.maximum(ranks[0][:, None], ranks[1])


def _rows(X: Array, rng: np.random.RandomState) -> Array:
    """Return priorities that vary between rows as much as within a row."""
    return rng.uniform(size=(len(X), 1)) + rng.uniform(size=X.shape)


def _value(X: Array, rng: np.random.RandomState) -> Array:
    """Return priorities that rise with the value."""
    ranks = np.argsort(np.argsort(np.where(np.isnan(X), -np.inf, X), axis=None)).reshape(X.shape)
    return ranks / X.size + rng.uniform(size=X.shape)


_PRIORITIES = {"random": _random, "block": _block, "rows": _rows, "value": _value}


def _keep_last(
    rows: NDArray[np.intp], columns: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the entries that can be removed in this order, one of each row and column kept."""
    left_in_row, left_in_column = np.bincount(rows), np.bincount(columns)
    removed = np.zeros(len(rows), dtype=bool)
    for e, (i, j) in enumerate(zip(rows, columns, strict=True)):
        if left_in_row[i] > 1 and left_in_column[j] > 1:
            left_in_row[i] -= 1
            left_in_column[j] -= 1
            removed[e] = True
    return rows[removed], columns[removed]
