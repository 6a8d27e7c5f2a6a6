"""Units of work, run in parallel, each written as soon as it is done."""

import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import pandas as pd
from joblib import parallel_config
from threadpoolctl import threadpool_limits

from .._io import OwnedFolder
from .._parallel import in_parallel, single_threaded_blas


@dataclass(frozen=True)
class Unit:
    """A unit of work: a function of a few arguments that returns a table.

    The table is written to data/`table`/`name`.csv, and reused while that file exists.
    """

    table: str
    function: Callable[..., pd.DataFrame]
    arguments: tuple[Any, ...]

    @property
    def name(self) -> str:
        """The arguments, joined by hyphens."""
        parts = (f"{part:02d}" if isinstance(part, int) else str(part) for part in self.arguments)
        return "-".join(parts)

    @property
    def file(self) -> str:
        """The path of the table in the folder of results."""
        return f"data/{self.table}/{self.name}.csv"

    def is_done(self, folder: OwnedFolder) -> bool:
        """Return whether its table exists as it was written."""
        return folder.owns(self.file)


@dataclass(frozen=True)
class Failure:
    """A unit that failed, and why."""

    unit: Unit
    reason: str


def run_units(
    units: Sequence[Unit], folder: OwnedFolder, n_jobs: int | None = None
) -> Iterator[tuple[Unit, Failure | None]]:
    """Run the units that are not done; yield each when it is finished.

    They run in processes unless a `joblib.parallel_config` says otherwise.
    """
    todo = [unit for unit in units if not unit.is_done(folder)]
    with ExitStack() as stack:
        with _ignore_sigint():
            calls = ((_attempt, (unit,)) for unit in todo)
            results = stack.enter_context(in_parallel(calls, n_jobs=n_jobs))
        for unit, table, reason in results:
            if table is not None:
                # By this process, because workers may be on another machine, and because a full
                # disk ends the run and not one unit. Each file is written atomically, so that a
                # killed run loses unfinished units only.
                with folder.write(unit.file) as part:
                    table.to_csv(part, index=False)
            yield unit, None if reason is None else Failure(unit, reason)


def _attempt(unit: Unit) -> tuple[Unit, pd.DataFrame | None, str | None]:
    """Run a unit; return it with its table, or with the reason of its failure."""
    try:
        # A unit runs sequentially, even where workers could share its parts, and on one thread, so
        # that its sums have the same order in any process and with any number of processes.
        with (
            warnings.catch_warnings(),
            parallel_config("sequential"),
            single_threaded_blas(),
            threadpool_limits(1, user_api="openmp"),
        ):
            # The scores in the table tell how well each method converged.
            warnings.simplefilter("ignore")
            return unit, unit.function(*unit.arguments), None
    except Exception as error:
        return unit, None, f"{type(error).__name__}: {error}"


@contextmanager
def _ignore_sigint() -> Iterator[None]:
    """Start processes that ignore Ctrl-C: this one handles it and ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def collect(units: Sequence[Unit], folder: OwnedFolder) -> pd.DataFrame:
    """Return the concatenated tables of the units that are done."""
    done = [folder.path / unit.file for unit in units if unit.is_done(folder)]
    return pd.concat([pd.read_csv(file) for file in done], ignore_index=True)
