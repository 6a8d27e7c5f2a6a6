"""The experiments of the paper, run in one call: tables, figures and summaries."""

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
from . import _units as units
from ._figures import (
    Figures,
    Tables,
    draw_appendix,
    draw_clustering,
    draw_embeddings,
    draw_filling,
    draw_geometry,
    draw_workflow,
)
from ._methods import DATA_SETS, GROUPED, IMPUTATIONS, METHODS, PAPER
from ._summary import CHECKS, SUMMARISED, Claim, as_markdown, summarise
from ._units import Failure, Unit, collect, run_units

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
    "umap-learn",
)

# Data sets made from points in space.
_IN_SPACE = ("linkage", "linkage2")

# Percent of missing entries where an experiment has only one mask.
_PERCENT = 50


@dataclass(frozen=True)
class Plan:
    """The size of a run: masks for each fraction of missing entries, and fractions in percent."""

    realizations: int = 30
    percents: tuple[int, ...] = (10, 20, 30, 40, 50, 60, 70, 80, 90)

    @property
    def few_masks(self) -> range:
        """Masks for experiments that take long or vary little."""
        return range(max(1, self.realizations // 6))


# All experiments in a quarter of an hour of one core.
QUICK = Plan(realizations=3, percents=(10, 50, 90))


@dataclass(frozen=True)
class Experiment:
    """An experiment: its units of work, and a function that draws figures from their tables."""

    title: str
    units: Callable[[Plan], Sequence[Unit]]
    draw: Callable[[Tables], Figures]


def _workflow(_plan: Plan) -> Sequence[Unit]:
    return [
        Unit("matrices", units.matrices, ("lung500", _PERCENT)),
        Unit("metric", units.metric, ("lung500", _PERCENT)),
        Unit("affinities", units.affinities, ("lung500", _PERCENT)),
        Unit("embedding", units.embedding, ("lung500", _PERCENT, PAPER)),
    ]


def _embeddings(_plan: Plan) -> Sequence[Unit]:
    return _points() + [
        Unit("embedding", units.embedding, (data_set, _PERCENT, method))
        for data_set in DATA_SETS
        for method in METHODS
    ]


def _clustering(plan: Plan) -> Sequence[Unit]:
    return [
        Unit("clustering", units.clustering, (data_set, percent, realization, method))
        for realization in range(plan.realizations)
        for data_set in GROUPED
        for percent in plan.percents
        for method in METHODS
    ]


def _appendix(_plan: Plan) -> Sequence[Unit]:
    return _points() + [Unit("matrices", units.matrices, (name, _PERCENT)) for name in _IN_SPACE]


def _points() -> list[Unit]:
    return [Unit("points", units.points, (data_set,)) for data_set in _IN_SPACE]


def _geometry(plan: Plan) -> Sequence[Unit]:
    return [
        Unit("geometry", units.geometry, (data_set, _PERCENT, realization, method))
        for realization in plan.few_masks
        for data_set in DATA_SETS
        for method in METHODS
    ]


def _filling(plan: Plan) -> Sequence[Unit]:
    return [
        Unit("filling", units.filling, (data_set, percent, realization, method))
        for realization in plan.few_masks
        for data_set in DATA_SETS
        for percent in plan.percents[::2]
        for method in IMPUTATIONS
    ]


EXPERIMENTS = {
    "workflow": Experiment("Figure 1: the three steps of the method", _workflow, draw_workflow),
    "embeddings": Experiment(
        "Figure 2: embeddings of rows and columns, half missing", _embeddings, draw_embeddings
    ),
    "clustering": Experiment(
        "Figure 3: adjusted Rand index for more and more missing", _clustering, draw_clustering
    ),
    "appendix": Experiment("Appendix: points, matrices, filled in", _appendix, draw_appendix),
    "geometry": Experiment("Beyond the paper: Figure 2 in numbers", _geometry, draw_geometry),
    "filling": Experiment("Beyond the paper: error of what is filled in", _filling, draw_filling),
}


@dataclass(frozen=True)
class RunProgress:
    """Numbers of finished units and of all, and the unit that was finished last."""

    n_done: int
    n_units: int
    last: str | None = None


@dataclass(frozen=True)
class RunResults:
    """The files that a run has written, and the units that failed."""

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
    progress: Callable[[RunProgress], None] | None = None,
) -> RunResults:
    """Run experiments of the paper and draw their figures.

    Tables that an earlier run left in `out` are reused, so that a run that was stopped is resumed.

    Parameters
    ----------
    names : iterable of str
        Keys of `EXPERIMENTS`.
    out : path
        A folder for the results: ``data/`` with a table for each unit of work, ``tables/`` and
        ``figures/`` made from them, and ``run.json`` with plan and versions; ``summary.md`` and
        ``claims.md`` cover all experiments that are complete there, of this run or earlier ones.
        Files that no run has written, or that were changed since, are neither used nor replaced:
        one with a name that is needed is an error.
    plan : Plan, optional
        The size of the run; by default that of the paper.
    n_jobs : int, optional
        Number of units run in parallel, in processes unless a `joblib.parallel_config` says
        otherwise. The tables are the same, except for the seconds.
    progress : callable, optional
        Called with a `RunProgress` before the first unit and after each.
    """
    plan = plan or Plan()
    names = list(names)
    for name in names:
        check_choice("names", name, list(EXPERIMENTS))
    experiments = {name: EXPERIMENTS[name] for name in names}
    units_of = {name: experiment.units(plan) for name, experiment in experiments.items()}
    everything = list(dict.fromkeys(unit for several in units_of.values() for unit in several))
    for data_set in dict.fromkeys(unit.arguments[0] for unit in everything):
        DATA_SETS[data_set]()  # data that cannot be loaded are an error now, not after an hour
    with OwnedFolder(out, _KIND) as folder:
        folder.refuse_taken(_planned_files(everything))
        started = time.time()
        n_before = sum(unit.is_done(folder) for unit in everything)
        failures = _run(everything, folder, n_jobs, progress)
        _log(folder, plan, list(experiments), len(everything) - n_before - len(failures), started)
        tables, table_files = _write_tables(everything, folder)
        failed = {failure.unit for failure in failures}
        whole = [name for name in experiments if not failed.intersection(units_of[name])]
        figures = _write_figures([experiments[name] for name in whole], tables, folder)
        texts = _write_texts(plan, folder, tables)
    return RunResults(
        *([out / file for file in files] for files in (figures, table_files, texts)), failures
    )


def _planned_files(todo: Sequence[Unit]) -> list[str]:
    """Return the names of all files to write except figures, which are named when drawn."""
    tables = dict.fromkeys(f"tables/{unit.table}.csv" for unit in todo)
    return [*(unit.file for unit in todo), *tables, "run.json", *_TEXTS]


def _run(
    todo: Sequence[Unit],
    folder: OwnedFolder,
    n_jobs: int | None,
    progress: Callable[[RunProgress], None] | None,
) -> list[Failure]:
    """Run the units that are not done; return the failures."""
    n_done = sum(unit.is_done(folder) for unit in todo)
    failures = []
    if progress:
        progress(RunProgress(n_done, len(todo)))
    for unit, failure in run_units(todo, folder, n_jobs):
        n_done += 1
        if failure:
            failures.append(failure)
        if progress:
            progress(RunProgress(n_done, len(todo), f"{unit.table} {unit.name}"))
    return failures


def _write_tables(done: Sequence[Unit], folder: OwnedFolder) -> tuple[Tables, list[str]]:
    """Write the tables of all finished units; return them and their files."""
    tables, files = {}, []
    for table in dict.fromkeys(unit.table for unit in done):
        of_table = [unit for unit in done if unit.table == table and unit.is_done(folder)]
        if of_table:
            tables[table] = collect(of_table, folder)
            files.append(f"tables/{table}.csv")
            with folder.write(files[-1]) as part:
                tables[table].to_csv(part, index=False)
    return tables, files


def _write_figures(
    experiments: Sequence[Experiment], tables: Tables, folder: OwnedFolder
) -> list[str]:
    """Draw and write the figures of experiments; return their files."""
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
    """Write summaries of all complete experiments, of this run or earlier ones."""
    before = {name: _complete_table(name, name, plan, folder) for name in SUMMARISED}
    complete = {name: table for name, table in before.items() if table is not None}
    texts = {"summary.md": summarise({**complete, **tables})}
    claims = _claims(plan, folder)
    if claims:
        texts["claims.md"] = as_markdown(claims)
        table = pd.DataFrame(map(asdict, claims))
        texts["claims.csv"] = table.to_csv(index=False, lineterminator="\n")
    texts = {name: text for name, text in texts.items() if text}
    for name, text in texts.items():
        with folder.write(name) as part:
            part.write_text(text, encoding="utf-8")
    return list(texts)


def _claims(plan: Plan, folder: OwnedFolder) -> list[Claim]:
    """Return the claims that the complete experiments decide."""
    claims: list[Claim] = []
    for name, (title, check) in CHECKS.items():
        table = _complete_table(name, title, plan, folder)
        if table is not None:
            claims.extend(check(table))
    return claims


def _complete_table(name: str, table: str, plan: Plan, folder: OwnedFolder) -> pd.DataFrame | None:
    """Return a table of an experiment, or None if some of its units are not done."""
    of_name = EXPERIMENTS[name].units(plan)
    if not all(unit.is_done(folder) for unit in of_name):
        return None
    return collect([unit for unit in of_name if unit.table == table], folder)


def _log(folder: OwnedFolder, plan: Plan, names: list[str], n_made: int, started: float) -> None:
    """Add to run.json what was run, with which versions, how many units were made, how long."""
    file = "run.json"
    before = folder.path / file
    runs = json.loads(before.read_text(encoding="utf-8")) if folder.owns(file) else []
    runs.append(
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
        part.write_text(json.dumps(runs, indent=1), encoding="utf-8")
