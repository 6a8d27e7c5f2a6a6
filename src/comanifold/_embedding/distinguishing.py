"""What distinguishes clusters: standardised differences of the observed entries."""

import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validation import is_missing_value

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

# Observed entries that a column needs on either side.
_FEWEST = 2
# The variance of a column counts as much as this many observations towards the median variance:
# that of a few entries may be tiny by chance.
_PRIOR_OBSERVATIONS = 3.0
# Half the width of a 95% confidence interval, in standard errors.
_HALF_WIDTH = 1.96


def distinguishing(X: Array, labels: Labels) -> dict[str, NDArray]:
    r"""Return by how much the columns of each cluster of rows differ from those of other rows.

    .. math:: g = \Bigl(1 - \frac{3}{4 \nu - 1}\Bigr) \frac{\bar x_1 - \bar x_0}{s}, \qquad
              s^2 = \frac{\nu \hat s^2 + 3 \tilde s^2}{\nu + 3}

    with the means :math:`\bar x_1` and :math:`\bar x_0` of the observed entries inside and outside
    of the cluster, their pooled variance :math:`\hat s^2` with :math:`\nu = n_1 + n_0 - 2` degrees
    of freedom, and the median :math:`\tilde s^2` of the pooled variances of all columns.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        NaN for missing entries.
    labels : ndarray of shape (n_rows,)
        The cluster of each row, from 0; -1 for rows to ignore.

    Returns
    -------
    table : dict of ndarray
        One entry for each cluster and column with two observed entries inside and outside, by
        cluster, first the largest `certain`: "cluster", "index" of the column, "effect" g,
        "standard_error" of it, "certain" (the end of its 95% confidence interval that is nearer to
        zero, as an absolute value; 0 if zero is inside), "inside" and "outside" (the means),
        "n_inside" and "n_outside".
    """
    columns = [_of_one_cluster(X[labels >= 0], labels[labels >= 0], g) for g in _clusters(labels)]
    return {name: np.concatenate([part[name] for part in columns]) for name in columns[0]}


def check_groups(labels: ArrayLike, n_points: int, mode: str) -> tuple[NDArray[Any], Labels]:
    """Validate the group of each point; return the groups and their codes, -1 for no group."""
    labels = np.asarray(labels, dtype=object)
    if labels.shape != (n_points,):
        raise ValueError(
            f"labels must have one label for each of the {n_points} {mode}s, got shape "
            f"{labels.shape}"
        )
    is_in_one = np.array([not _is_in_none(label) for label in labels], dtype=bool)
    try:
        groups, codes = np.unique(np.array(list(labels[is_in_one])), return_inverse=True)
    except (TypeError, ValueError) as error:
        raise ValueError(f"labels must be all numbers or all text: {error}") from error
    every = np.full(n_points, -1)
    every[is_in_one] = codes
    return groups, every


def _is_in_none(label: Any) -> bool:
    return is_missing_value(label) or (isinstance(label, numbers.Real) and label < 0)


def _clusters(labels: Labels) -> range:
    return range(int(labels.max(initial=0)) + 1)


def _of_one_cluster(X: Array, labels: Labels, cluster: int) -> dict[str, NDArray]:
    """Return the part of the table that belongs to one cluster."""
    (n_inside, inside, squares_inside), (n_outside, outside, squares_outside) = (
        _moments(X[labels == cluster]),
        _moments(X[labels != cluster]),
    )
    index = np.flatnonzero((n_inside >= _FEWEST) & (n_outside >= _FEWEST))
    n_inside, n_outside = n_inside[index], n_outside[index]
    inside, outside = inside[index], outside[index]
    freedom = n_inside + n_outside - 2.0
    squares = (squares_inside + squares_outside)[index]
    prior = np.median(squares / freedom) if index.size else 0.0
    variance = (squares + _PRIOR_OBSERVATIONS * prior) / (freedom + _PRIOR_OBSERVATIONS)
    difference = inside - outside
    # Columns that are constant on both sides: their difference is infinitely many deviations.
    ratio = np.divide(
        difference,
        np.sqrt(variance),
        out=np.sign(difference) * np.finfo(float).max ** 0.25,
        where=variance > 0.0,
    )
    ratio[difference == 0.0] = 0.0
    effect = (1.0 - 3.0 / (4.0 * freedom - 1.0)) * ratio
    total = n_inside + n_outside
    standard_error = np.sqrt(total / (n_inside * n_outside) + effect**2 / (2.0 * total))
    certain = np.maximum(np.abs(effect) - _HALF_WIDTH * standard_error, 0.0)
    order = np.lexsort((index, -np.abs(effect), -certain))
    table = {
        "cluster": np.full(index.size, cluster),
        "index": index,
        "effect": effect,
        "standard_error": standard_error,
        "certain": certain,
        "inside": inside,
        "outside": outside,
        "n_inside": n_inside.astype(int),
        "n_outside": n_outside.astype(int),
    }
    return {name: values[order] for name, values in table.items()}


def _moments(X: Array) -> tuple[Array, Array, Array]:
    """Return the counts, means and sums of squared deviations of the observed entries."""
    is_there = ~np.isnan(X)
    counts = is_there.sum(axis=0).astype(float)
    means = np.divide(
        np.where(is_there, X, 0.0).sum(axis=0), counts, out=np.zeros_like(counts), where=counts > 0
    )
    squares = (np.where(is_there, X - means, 0.0) ** 2).sum(axis=0)
    return counts, means, squares
