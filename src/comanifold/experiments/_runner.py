"""Runs pieces of work side by side, each written down as soon as it is done."""

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
    """A piece of work: a function of a few arguments that gives a table.

    Its table is kept in data/`table`/`name`.csv, and is not made again while it is there.
    """

    table: str
    function: Callable[..., pd.DataFrame]
    arguments: tuple[Any, ...]

    @property
    def name(self) -> str:
        parts = (f"{part:02d}" if isinstance(part, int) else str(part) for part in self.arguments)
        return "-".join(parts)

    @property
    def file(self) -> str:
        return f"data/{self.table}/{self.name}.csv"

    def is_done(self, folder: OwnedFolder) -> bool:
        """Whether its table is there as it was written."""
        return folder.owns(self.file)


@dataclass(frozen=True)
class Failure:
    """A unit that could not be done, and why."""

    unit: Unit
    reason: str


def run_units(
    units: Sequence[Unit], folder: OwnedFolder, n_jobs: int | None = None
) -> Iterator[tuple[Unit, Failure | None]]:
    """Do the units that are not done yet; yields each when it is finished.

    They run in processes unless a `joblib.parallel_config` says otherwise.
    """
    todo = [unit for unit in units if not unit.is_done(folder)]
    with ExitStack() as stack:
        with _ignore_sigint():
            calls = ((_attempt, (unit,)) for unit in todo)
            results = stack.enter_context(in_parallel(calls, n_jobs=n_jobs))
        for unit, table, reason in results:
            if table is not None:
                # By this process, because others may be on another machine, and because a disk
                # that is full is the end of the run and not of one unit. One file at a time
                # reaches the disk whole, so that being killed costs the work in hand only.
                with folder.write(unit.file) as part:
                    table.to_csv(part, index=False)
            yield unit, None if reason is None else Failure(unit, reason)


def _attempt(unit: Unit) -> tuple[Unit, pd.DataFrame | None, str | None]:
    try:
        # A unit is one task, also where the workers could share its parts; and on one thread, so
        # that its sums are added in the same order in any process and with any number of them.
        with (
            warnings.catch_warnings(),
            parallel_config("sequential"),
            single_threaded_blas(),
            threadpool_limits(1, user_api="openmp"),
        ):
            # How well each method did is in the table.
            warnings.simplefilter("ignore")
            return unit, unit.function(*unit.arguments), None
    except Exception as error:
        return unit, None, f"{type(error).__name__}: {error}"


@contextmanager
def _ignore_sigint() -> Iterator[None]:
    """Start processes that ignore Ctrl-C: this one handles it, and ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard_by = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, heard_by)


def collect(units: Sequence[Unit], folder: OwnedFolder) -> pd.DataFrame:
    """The tables of the units that are done, one below the other."""
    done = [folder.path / unit.file for unit in units if unit.is_done(folder)]
    return pd.concat([pd.read_csv(file) for file in done], ignore_index=True)
