"""What a fit has to tell its user: warnings, and progress on standard error."""

import sys
import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ._estimator_support import levels_to_caller
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
