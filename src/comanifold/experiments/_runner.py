"""Runs pieces of work side by side, each written down as soon as it is done."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import Parallel, delayed

from .._files import whole_file


@dataclass(frozen=True)
class Unit:
    """A piece of work: a function of a few arguments that gives a table.

    Its table is kept in `table`/`name`.csv, and is not made again while it is there.
    """

    table: str
    function: Callable[..., pd.DataFrame]
    arguments: tuple[Any, ...]

    @property
    def name(self) -> str:
        parts = (f"{part:02d}" if isinstance(part, int) else str(part) for part in self.arguments)
        return "-".join(parts)

    def file(self, folder: Path) -> Path:
        return folder / self.table / f"{self.name}.csv"

    def is_done(self, folder: Path) -> bool:
        return self.file(folder).is_file()


@dataclass(frozen=True)
class Failure:
    """A unit that could not be done, and why."""

    unit: Unit
    reason: str


def run_units(
    units: Sequence[Unit], folder: Path, n_jobs: int = 1
) -> Iterator[tuple[Unit, Failure | None]]:
    """Do the units that are not done yet; yields each when it is finished."""
    todo = [unit for unit in units if not unit.is_done(folder)]
    # One file at a time reaches the disk whole, so that being killed costs the work in hand only.
    run = Parallel(n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="2 * n_jobs")
    for unit, reason in run(delayed(_attempt)(unit, folder) for unit in todo):
        yield unit, None if reason is None else Failure(unit, reason)


def _attempt(unit: Unit, folder: Path) -> tuple[Unit, str | None]:
    try:
        with warnings.catch_warnings():
            # How well each method did is in the table.
            warnings.simplefilter("ignore")
            table = unit.function(*unit.arguments)
        with whole_file(unit.file(folder)) as part:
            table.to_csv(part, index=False)
    except Exception as error:
        return unit, f"{type(error).__name__}: {error}"
    return unit, None


def collect(units: Sequence[Unit], folder: Path) -> pd.DataFrame:
    """The tables of the units that are done, one below the other."""
    done = [unit.file(folder) for unit in units if unit.is_done(folder)]
    return pd.concat([pd.read_csv(file) for file in done], ignore_index=True)
