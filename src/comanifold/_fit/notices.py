"""Warnings that a fit issues, at the line that called it."""

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from .._estimators import levels_to_caller
from .._validation import listing
from ..solvers import Scale


def warn_of_unobserved(mode: str, unobserved: NDArray[np.intp]) -> None:
    """Warn that rows or columns without an observed entry are not embedded."""
    if unobserved.size:
        warnings.warn(
            f"{mode}s with no observed entry get no coordinates (NaN): {listing(unobserved)}",
            UserWarning,
            stacklevel=levels_to_caller(),
        )


def warn_of_outliers(
    X: NDArray[np.float64],
    outliers: NDArray[np.bool_],
    row_names: NDArray | None,
    column_names: NDArray | None,
) -> None:
    """Warn of entries that are left out of a fit as outliers; the farthest is named."""
    if not outliers.any():
        return
    away = np.where(outliers, np.abs(X - np.nanmedian(X)), -1.0)
    i, j = np.unravel_index(np.argmax(away), X.shape)
    where = ", ".join(
        f"{mode} {place}" if names is None else f"{mode} {str(names[place])!r:.40} ({place})"
        for mode, place, names in (("row", i, row_names), ("column", j, column_names))
    )
    n_others = int(outliers.sum()) - 1
    others = f", and {n_others} more are as far off (ignored_entries_)" if n_others else ""
    warnings.warn(
        f"the entry {X[i, j]:.6g} in {where} is more than 100,000 times as far from the median as "
        f"half of the entries are{others}: left out of the fit, as if it were missing. Correct it "
        "or mark it missing with NaN; if it is right, take logarithms or ranks",
        UserWarning,
        stacklevel=levels_to_caller(),
    )


def warn_of_stride(stride: int) -> None:
    """Warn that costs grow in larger steps."""
    if stride > 1:
        warnings.warn(
            "the largest entries are more than a million times as far from the median as half of "
            f"the entries are: costs grow by factors of {2**stride} instead of 2. Standardise "
            "columns that are in different units; else consider a logarithm",
            UserWarning,
            stacklevel=levels_to_caller(),
        )


def warn_of_unconverged(scales: list[Scale], tol: float) -> None:
    """Warn of scales that stopped before reaching the tolerance."""
    unfinished = [scale for scale in scales if scale.status != "converged"]
    if unfinished:
        worst = max(scale.certificate.stationarity for scale in unfinished)
        warnings.warn(
            f"{len(unfinished)} of {len(scales)} scales stopped before reaching tol={tol:g}, the "
            f"worst at {worst:.2g}; scales_ names them. Raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=levels_to_caller(),
        )
