"""What a fit has to tell its user: warnings, and progress on standard error."""

import sys
import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ._estimator_support import levels_to_caller
from ._outlying import outlying_entries
from ._sweep import Sweep
from ._validation import listing
from .solvers import Scale


def warn_of_unobserved(mode: str, unobserved: NDArray[np.intp]) -> None:
    if unobserved.size:
        warnings.warn(
            f"{mode}s with no observed entry get no coordinates (NaN): {listing(unobserved)}",
            UserWarning,
            stacklevel=levels_to_caller(),
        )


def warn_of_outlying(
    X: NDArray[np.float64], row_names: NDArray | None, column_names: NDArray | None
) -> None:
    """Name the largest of the entries that are out of all proportion to the others."""
    outlying = outlying_entries(X)
    if not outlying.any():
        return
    centre = np.nanmedian(X)
    i, j = np.unravel_index(np.argmax(np.where(outlying, np.abs(X - centre), -1.0)), X.shape)
    where = ", ".join(
        f"{mode} {place}" if names is None else f"{mode} {str(names[place])!r:.40} ({place})"
        for mode, place, names in (("row", i, row_names), ("column", j, column_names))
    )
    others = int(outlying.sum()) - 1
    also = f", and {others} more entries are so large" if others else ""
    warnings.warn(
        f"X has {X[i, j]:.6g} in {where}, more than 100,000 times as far from the median as half "
        f"of the entries are{also}: its row and column will be far from all others. If it is an "
        "error, mark it missing with NaN; if not, consider a logarithm or ranks",
        UserWarning,
        stacklevel=levels_to_caller(),
    )


def warn_of_unconverged(scales: list[Scale], tol: float) -> None:
    unfinished = [scale for scale in scales if scale.status != "converged"]
    if unfinished:
        worst = max(scale.certificate.stationarity for scale in unfinished)
        warnings.warn(
            f"{len(unfinished)} of {len(scales)} scales stopped before reaching tol={tol:g}, the "
            f"worst at {worst:.2g}; scales_ names them. Raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=levels_to_caller(),
        )


def report_pass(verbose: int, name: str, sweep: Sweep) -> None:
    if verbose < 1:
        return
    seconds = sum(scale.seconds for scale in sweep.scales)
    lines = [f"{name}: {len(sweep.scales)} scales, {seconds:.2f} s of solving"]
    if verbose > 1:
        lines += [f"    {scale}" for scale in sweep.scales]
    print("\n".join(lines), file=sys.stderr)
