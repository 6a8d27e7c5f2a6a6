"""Messages of a fit: progress, log and warnings."""

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from .._estimators import levels_to_caller
from .._validation import listing
from ..solvers import Scale
from .expected_time import PASSES, TimeLeft, expected_steps
from .settings import Settings

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:
        """Empty replacement of the mixin of scikit-learn 1.9."""

    def with_callbacks(method: Callable) -> Callable:
        return method


logger = logging.getLogger("comanifold")

# The handler of verbose fits, their levels, and the level of the logger without them.
_lock = Lock()
_handler: logging.Handler | None = None
_levels: list[int] = []
_level_before = logging.NOTSET

# Paths of a surface, before any surface has been solved.
_USUAL_PATHS = 24

# The first paths of a surface, with the least costs, take longest: so many take about half of the
# time, so many again half of the rest.
_HALF_OF_SURFACE = 2

# The largest fraction before the end of a fit.
_NOT_YET_ALL = 0.999


@dataclass(frozen=True)
class FitProgress:
    """Progress of a fit, the argument of the `progress` callback of `CoManifold.fit`.

    Attributes
    ----------
    stage : str
        What is being done:

        - "completing": the matrix is completed by Gaussian models, with entries held out
        - "graphs": nearest neighbours, and the first scale of a surface
        - "learning weights": the solution surface with entries held out
        - "solving": the solution surface with all entries
        - "distances": distances of completions, variances of filled-in entries
        - "structure": the test for structure beyond effects of rows and columns
        - "embedding": rows or columns are embedded and ordered
        - "clusters": clusters of rows or columns, and how sure they are

        Stages come more than once, and those that a fit does not need are left out.
    n_done : int
        Paths of the solution surface that are solved, over all stages.
    n_expected : int
        How many there will be in all, as far as is known: surfaces differ in length. At the end
        of the fit it is `n_done`.
    fraction : float
        The finished part of the time of the fit, from 0 to 1. It never falls, and is 1 at the end
        only.
    seconds_left : float
        How long the rest is expected to take: from the shape of the matrix at first, then more and
        more from what the finished steps took.
    """

    stage: str
    n_done: int
    n_expected: int
    fraction: float = 0.0
    seconds_left: float = 0.0


class ProgressReporter:
    """Reports the steps of a fit, and their parts, to a callable and to scikit-learn's callbacks.

    Paths may be solved by other processes and are reported from this one once they are done. An
    exception that the callable raises ends the fit. Callbacks of scikit-learn cannot stop it,
    because a fit has no result before it has seen all scales.

    Parameters
    ----------
    listener : callable, optional
        Called with a `FitProgress`.
    model : estimator, optional
        The estimator whose scikit-learn callbacks are called (scikit-learn 1.9 and newer).
    """

    def __init__(self, listener: Callable[[FitProgress], None] | None = None, model: Any = None):
        if listener is not None and not callable(listener):
            raise ValueError(f"progress must be a callable or None, got {listener!r:.60}")
        self._listener = listener
        self._model = model
        self._stage = ""
        self._is_in_step = False
        self._time_left = TimeLeft()
        self._n_passes = 0
        self._n_paths: list[int] = []  # of each pass so far
        self._tasks: list[Any] = []
        if hasattr(model, "_init_callback_context"):
            self._tasks.append(model._init_callback_context(max_subtasks=None))

    def begin_fit(self, X: Any) -> None:
        """Report the start of a fit to X."""
        for task in self._tasks:
            task.call_on_fit_task_begin(estimator=self._model, X=X)

    def expect(
        self, settings: Settings, shape: tuple[int, int], *, n_folds: int, has_missing: bool
    ) -> None:
        """Set the steps that are to come, once they are known."""
        steps = expected_steps(
            settings,
            shape,
            n_folds=n_folds,
            has_missing=has_missing,
            embedding=getattr(self._model, "embedding", "diffusion"),
            n_jobs=getattr(self._model, "n_jobs", None),
        )
        self._time_left.replan(steps)
        self._n_passes = len(self._n_paths) + sum(step.stage in PASSES for step in steps)

    def begin_step(self, stage: str) -> None:
        """Report the start of a step, which ends the one before."""
        self._end_step()
        self._stage, self._is_in_step = stage, True
        self._time_left.begin(stage)
        if stage in PASSES:
            self._n_paths.append(0)
        self._begin_task(stage, max_subtasks=None)
        self._notify()

    def path_done(self) -> None:
        """Report a solved path of a surface."""
        if not self._n_paths:
            self._n_paths.append(0)
        self._n_paths[-1] += 1
        self._begin_task("path")
        self._end_task()
        self._time_left.update(1.0 - 0.5 ** (self._n_paths[-1] / _HALF_OF_SURFACE))
        self._notify()

    def part_done(self, share: float) -> None:
        """Report that a share of the step is done."""
        self._begin_task("part")
        self._end_task()
        self._time_left.update(share)
        self._notify()

    def end_pass(self, name: str, scales: list[Scale]) -> None:
        """Report the end of a pass, and log its scales."""
        self._end_step()
        seconds = sum(scale.seconds for scale in scales)
        logger.info("%s: %d scales, %.2f s of solving", name, len(scales), seconds)
        for scale in scales:
            logger.debug("    %s", scale)

    def end_fit(self, X: Any) -> None:
        """Report the end of a fit."""
        self._end_step()
        self._time_left.finish()
        n_done = sum(self._n_paths)
        if self._listener is not None:
            self._listener(FitProgress(self._stage, n_done, n_done, 1.0))
        self._end_task(X)

    def _end_step(self) -> None:
        if self._is_in_step:
            self._is_in_step = False
            self._end_task()

    def _expected_paths(self) -> int:
        """Return about how many paths the current surface has: as many as the one before."""
        usual = self._n_paths[-2] if len(self._n_paths) > 1 else _USUAL_PATHS
        return max(usual, self._n_paths[-1] + 1)

    def _notify(self) -> None:
        """Call the listener."""
        if self._listener is None:
            return
        n_done, n_expected = sum(self._n_paths), self._n_passes * _USUAL_PATHS
        if self._n_paths:
            current = self._expected_paths()
            n_later = max(self._n_passes - len(self._n_paths), 0) * current
            n_expected = n_done + current - self._n_paths[-1] + n_later
        # Only the end of the fit is reported as such.
        fraction = min(self._time_left.fraction, _NOT_YET_ALL)
        self._listener(
            FitProgress(self._stage, n_done, n_expected, fraction, self._time_left.seconds)
        )

    def _begin_task(self, name: str, **options: Any) -> None:
        if self._tasks:
            self._tasks.append(self._tasks[-1].subcontext(task_name=name, **options))
            self._tasks[-1].call_on_fit_task_begin(estimator=self._model)

    def _end_task(self, X: Any = None) -> None:
        if self._tasks:
            self._tasks.pop().call_on_fit_task_end(estimator=self._model, X=X)


@contextmanager
def log_to_stderr(verbose: int) -> Iterator[None]:
    """Show the log on standard error: passes for verbose=1, every scale for more.

    Nothing is added where the user has configured logging for the level asked for. Of several fits
    at the same time the first adds the handler, and the last removes it.
    """
    global _handler, _level_before
    level = logging.INFO if verbose == 1 else logging.DEBUG
    with _lock:
        is_configured = _handler is None and logger.hasHandlers() and logger.isEnabledFor(level)
        if verbose <= 0 or is_configured:
            level = None
        elif _handler is None:
            _handler, _level_before = logging.StreamHandler(), logger.level
            _handler.setFormatter(logging.Formatter("%(message)s"))
            logger.addHandler(_handler)
        if level is not None:
            _levels.append(level)
            logger.setLevel(min(_levels))
    try:
        yield
    finally:
        if level is not None:
            with _lock:
                _levels.remove(level)
                logger.setLevel(min(_levels, default=_level_before))
                if not _levels:
                    logger.removeHandler(_handler)
                    _handler = None


def is_compiled() -> bool:
    """Return whether the kernels have been compiled on this machine before."""
    from .. import metrics

    kernel = metrics._add_distances
    return any(Path(kernel.stats.cache_path).glob("metrics._add_distances*.nbi"))


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
