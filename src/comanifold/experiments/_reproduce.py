"""From nothing to tables, figures and the table of claims, in one call."""

import json
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import matplotlib as mpl
import pandas as pd

from .._io import OwnedFolder
from .._validation import check_choice
from ..plotting._style import SETTINGS
from ._cases import complete
from ._claims import CHECKS, Claim, as_markdown
from ._experiments import EXPERIMENTS, Experiment, Plan
from ._figures import Tables
from ._runner import Failure, Unit, collect, run_units
from ._summary import SUMMARISED, summarise

_KIND = "set of experiments"

_TEXTS = ("summary.md", "claims.md", "claims.csv")

_SHOWN_VERSIONS = (
    "comanifold",
    "joblib",
    "matplotlib",
    "numba",
    "numpy",
    "pandas",
    "scikit-learn",
    "scipy",
)


@dataclass(frozen=True)
class Progress:
    """How far a run is: pieces done of all, and the one that has just been finished."""

    n_done: int
    n_units: int
    last: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What a run has left behind."""

    figures: list[Path]
    tables: list[Path]
    texts: list[Path]
    failures: list[Failure]


def reproduce(
    names: Iterable[str],
    out: Path,
    *,
    plan: Plan | None = None,
    n_jobs: int | None = None,
    report: Callable[[Progress], None] | None = None,
) -> Outcome:
    """Run experiments of the paper and draw their figures.

    What an earlier run has left in `out` is used, not made again, so that a run that was stopped
    goes on where it was.

    Parameters
    ----------
    names : iterable of str
        Of `EXPERIMENTS`.
    out : path
        A folder for the results: ``data/`` with a table for each piece of work, ``tables/`` and
        ``figures/`` made from them, and ``run.json`` with plan and versions; ``summary.md`` and
        ``claims.md`` are about everything that is complete there, asked for now or before. Files
        that were not written here, or were changed since, are neither used nor replaced: one that
        is in the way is an error.
    plan : Plan, optional
        How much to do; by default all of it.
    n_jobs : int, optional
        Pieces of work done side by side, in processes unless a `joblib.parallel_config` says
        otherwise. The tables are the same, but for the seconds.
    report : callable, optional
        Told of the progress.
    """
    plan = plan or Plan()
    names = list(names)
    for name in names:
        check_choice("names", name, list(EXPERIMENTS))
    experiments = {name: EXPERIMENTS[name] for name in names}
    units = {name: experiment.units(plan) for name, experiment in experiments.items()}
    everything = list(dict.fromkeys(unit for several in units.values() for unit in several))
    for data_set in dict.fromkeys(unit.arguments[0] for unit in everything):
        complete(data_set)  # what cannot be had is better said now than after an hour
    with OwnedFolder(out, _KIND) as folder:
        folder.refuse_taken(_planned_files(everything))
        started = time.time()
        n_before = sum(unit.is_done(folder) for unit in everything)
        failures = _run(everything, folder, n_jobs, report)
        _log(folder, plan, list(experiments), len(everything) - n_before - len(failures), started)
        tables, table_files = _write_tables(everything, folder)
        failed = {failure.unit for failure in failures}
        whole = [name for name in experiments if not failed.intersection(units[name])]
        figures = _write_figures([experiments[name] for name in whole], tables, folder)
        texts = _write_texts(plan, folder, tables)
    return Outcome(
        *([out / file for file in files] for files in (figures, table_files, texts)), failures
    )


def _planned_files(units: Sequence[Unit]) -> list[str]:
    """Names of all that will be written, but for figures, which are named when they are drawn."""
    tables = dict.fromkeys(f"tables/{unit.table}.csv" for unit in units)
    return [*(unit.file for unit in units), *tables, "run.json", *_TEXTS]


def _run(
    units: Sequence[Unit],
    folder: OwnedFolder,
    n_jobs: int | None,
    report: Callable[[Progress], None] | None,
) -> list[Failure]:
    n_done = sum(unit.is_done(folder) for unit in units)
    failures = []
    if report:
        report(Progress(n_done, len(units)))
    for unit, failure in run_units(units, folder, n_jobs):
        n_done += 1
        if failure:
            failures.append(failure)
        if report:
            report(Progress(n_done, len(units), f"{unit.table} {unit.name}"))
    return failures


def _write_tables(units: Sequence[Unit], folder: OwnedFolder) -> tuple[Tables, list[str]]:
    tables, files = {}, []
    for table in dict.fromkeys(unit.table for unit in units):
        of_table = [unit for unit in units if unit.table == table and unit.is_done(folder)]
        if of_table:
            tables[table] = collect(of_table, folder)
            files.append(f"tables/{table}.csv")
            with folder.write(files[-1]) as part:
                tables[table].to_csv(part, index=False)
    return tables, files


def _write_figures(
    experiments: Sequence[Experiment], tables: Tables, folder: OwnedFolder
) -> list[str]:
    files = []
    with mpl.rc_context(SETTINGS):
        for experiment in experiments:
            for stem, figure in experiment.draw(tables).items():
                for kind in ("png", "pdf"):
                    files.append(f"figures/{stem}.{kind}")
                    with folder.write(files[-1]) as part:
                        figure.savefig(part, format=kind)
    return files


def _write_texts(plan: Plan, folder: OwnedFolder, tables: Tables) -> list[str]:
    """The means, and the claims that can be checked, of what there is, asked for now or not."""
    before = {name: _complete_table(name, name, plan, folder) for name in SUMMARISED}
    there = {name: table for name, table in before.items() if table is not None}
    texts = {}
    summary = summarise({**there, **tables})
    if summary:
        texts["summary.md"] = summary
    claims = _claims(plan, folder)
    if claims:
        texts["claims.md"] = as_markdown(claims)
        with folder.write("claims.csv") as part:
            pd.DataFrame([asdict(claim) for claim in claims]).to_csv(part, index=False)
    for name, text in texts.items():
        with folder.write(name) as part:
            part.write_text(text, encoding="utf-8")
    return list(texts)


def _claims(plan: Plan, folder: OwnedFolder) -> list[Claim]:
    """What the paper says, by all experiments that are complete."""
    claims: list[Claim] = []
    for name, (title, check) in CHECKS.items():
        table = _complete_table(name, title, plan, folder)
        if table is not None:
            claims.extend(check(table))
    return claims


def _complete_table(name: str, table: str, plan: Plan, folder: OwnedFolder) -> pd.DataFrame | None:
    """A table of an experiment if all pieces of that one are done."""
    units = EXPERIMENTS[name].units(plan)
    if not all(unit.is_done(folder) for unit in units):
        return None
    return collect([unit for unit in units if unit.table == table], folder)


def _log(folder: OwnedFolder, plan: Plan, names: list[str], n_made: int, started: float) -> None:
    """One line for each sitting: what was asked for, with what, how much was made, how long."""
    file = "run.json"
    before = folder.path / file
    sittings = json.loads(before.read_text(encoding="utf-8")) if folder.owns(file) else []
    sittings.append(
        {
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
            "seconds": round(time.time() - started, 1),
            "experiments": names,
            "plan": asdict(plan),
            "units_made": n_made,
            "python": platform.python_version(),
            "versions": {name: version(name) for name in _SHOWN_VERSIONS},
        }
    )
    with folder.write(file) as part:
        part.write_text(json.dumps(sittings, indent=1), encoding="utf-8")
