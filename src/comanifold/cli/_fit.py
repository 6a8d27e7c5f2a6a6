"""`comanifold fit` and `comanifold demo`: from a table to a folder of results."""

import os
import re
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._inspect import describe
from ._options import (
    FILE,
    FOLDER,
    GroupedCommand,
    OptionGroup,
    Output,
    RunBar,
    duration,
    model_options,
    output_options,
    preprocessing_options,
    reading_options,
    say_resumable,
)
from ._results import (
    ANNOTATIONS,
    FILES,
    KIND,
    MARKER,
    REPORT,
    FitResults,
    Run,
    expected_bytes,
    merge_annotations,
    preprocessing_note,
    read_annotations,
    write_pages,
    write_results,
)

if TYPE_CHECKING:
    from .. import CoManifold
    from ..model_selection import HeldOutErrors
    from ..preprocessing import Preprocessor
    from ..tables import Table

# Rows and columns of the demonstration, and the fraction of its entries that is missing.
DEMO_SHAPE = (200, 150)
_DEMO_MISSING = 0.5

# The smallest number of held-out entries on which an error is measured, and the seed by which
# they are chosen: not a usual one, with which users may have removed just these entries.
_MIN_HELD_OUT = 20
_SEED = 7_310_524_681

# Seconds to compare with KNN and SoftImpute, where that is done, to write tables and the model, and
# to draw figure and report: for any table, and for each entry. Measured from 500 x 56 to
# 3,000 x 1,000.
_COMPARING = 0.1, {"knn": 5e-6, "soft_impute": 1.2e-6}
_WRITING, _DRAWING = (0.1, 1.3e-6), (2.4, 1.3e-6)

# A method with an error that is lower by more than this part is recommended instead.
_CLEARLY_BETTER = 0.02
_IMPLEMENTED_BY = {
    "KNN": "sklearn.impute.KNNImputer",
    "SoftImpute": "comanifold.baselines.SoftImpute",
}


@dataclass(frozen=True)
class FitOptions:
    """Where the results of a fit go, and what they contain."""

    out: Path
    force: bool = False
    annotations: Path | None = None
    title: str | None = None
    check: bool = True
    checkpoint: Path | None = None
    checkpoint_after: float = 120.0


@click.command(
    cls=GroupedCommand,
    groups=[
        OptionGroup(
            "options",
            "Results",
            FitOptions,
            [
                click.Option(
                    ["--out", "-o"],
                    type=FOLDER,
                    required=True,
                    metavar="DIR",
                    help="Folder for the results, new or empty.",
                ),
                click.Option(
                    ["--force"],
                    is_flag=True,
                    help="Replace the results of an earlier fit in DIR. Other files there stay.",
                ),
                ANNOTATIONS,
                click.Option(
                    ["--title"], help="Title of the report; by default the name of the file."
                ),
                click.Option(
                    ["--check/--no-check"],
                    default=True,
                    help="Whether to measure the error on held-out entries, and that of simple "
                    "methods. A complete table, or --scale-weights cost, needs a second fit for "
                    "it.",
                ),
                click.Option(
                    ["--checkpoint"],
                    type=FOLDER,
                    metavar="DIR",
                    help="Save finished parts of the fit to this folder, so that the same command "
                    "resumes after an interruption.",
                ),
                click.Option(
                    ["--checkpoint-after"],
                    type=float,
                    default=FitOptions.checkpoint_after,
                    show_default=True,
                    metavar="SECONDS",
                    help="Without --checkpoint, fits that are expected to take longer save "
                    "finished parts in the results folder, and delete them at the end.",
                ),
            ],
        ),
        preprocessing_options,
        reading_options,
        model_options,
        output_options,
    ],
    short_help="Embed, cluster and fill in a table, with a report.",
    examples=[
        "comanifold fit genes.csv --out results",
        "comanifold fit counts.tsv.gz --log1p --standardize --out results",
        'comanifold fit survey.csv --missing "99,refused" --columns 3-58 --out results',
        "comanifold fit cells.h5ad --layer counts --absent missing --out results",
    ],
)
@click.argument("file", type=FILE)
def fit(
    file: Path,
    options: FitOptions,
    preprocessor: "Preprocessor",
    reading: dict[str, Any],
    model: "CoManifold",
    output: Output,
) -> None:
    """Embed, cluster and fill in the table in FILE, its rows and its columns.

    FILE is CSV, TSV, XLSX, Parquet, NPY, NPZ, H5AD or Matrix Market (MTX); text and MTX also
    compressed with gzip. Empty cells are missing entries; text columns colour the report. Labels
    of a 10x Genomics matrix.mtx are read from features.tsv and barcodes.tsv beside it. See
    `comanifold inspect` for how a file is read.

    The results are an interactive report (report.html), the embeddings of rows and columns, the
    matrix with missing entries filled in, clusters, all scales, and the model for `comanifold
    transform` and for Python.
    """
    from ..tables import read_table

    check_out(options)
    table = read_table(file, **reading)
    describe(output, file, table, preprocessor)
    if options.annotations:
        added, note = read_annotations(options.annotations, table.row_names, table.column_names)
        table = replace(table, annotations=merge_annotations(table.annotations, added))
        output.say(f"  {note}")
    options = replace(options, title=options.title or file.name)
    result = fit_table(table, options, preprocessor, model, output)
    output.result({"file": file.name, "out": str(options.out), **result})


@click.command(
    cls=GroupedCommand,
    groups=[
        OptionGroup(
            "out",
            "Results",
            lambda *, out: out,
            [
                click.Option(
                    ["--out", "-o"],
                    type=FOLDER,
                    default=Path("results") / "demo",
                    show_default=True,
                    metavar="DIR",
                    help="Folder for the results. Those of an earlier demo are replaced.",
                )
            ],
        ),
        output_options,
    ],
    short_help="Fit built-in data and write all results.",
    examples=["comanifold demo", "comanifold demo --out my_demo"],
)
def demo(out: Path, output: Output) -> None:
    """Fit a built-in matrix with half of its entries missing, and write all results.

    Each entry is the distance, with noise, between a point on a helix (row) and a point on a bent
    sheet inside it (column). Rows and columns are shuffled and half of the entries removed. From
    the rest, the helix is recovered as a curve and the sheet as a surface, and the matrix is
    organised and filled in.
    """
    from .. import CoManifold
    from ..preprocessing import Preprocessor

    title = "Demonstration: a helix and a sheet, half missing"
    options = FitOptions(out, force=True, title=title)
    check_out(options)
    output.say(
        f"Distances between {DEMO_SHAPE[0]} points of a helix (rows) and {DEMO_SHAPE[1]} of a bent "
        f"sheet (columns), shuffled, {_DEMO_MISSING:.0%} missing"
    )
    model = CoManifold(n_jobs=os.cpu_count())
    result = fit_table(_demo_table(), options, Preprocessor(), model, output)
    output.result({"file": "demo", "out": str(out), **result})


def _demo_table() -> "Table":
    """Return the table of the demonstration, annotated with the true positions."""
    from ..datasets import make_linkage, remove_entries
    from ..tables import Table

    data = make_linkage(*DEMO_SHAPE, noise=0.1, random_state=0)
    along, across = data.column_position.T
    return Table(
        remove_entries(data.X, _DEMO_MISSING, random_state=0),
        [f"helix {i}" for i in range(1, DEMO_SHAPE[0] + 1)],
        [f"sheet {j}" for j in range(1, DEMO_SHAPE[1] + 1)],
        annotations={
            "rows": {"position on the helix": data.row_position[:, 0].tolist()},
            "columns": {
                "position along the sheet": along.tolist(),
                "position across the sheet": across.tolist(),
            },
        },
    )


def check_out(options: FitOptions) -> None:
    """Raise FileExistsError if results cannot be written. Nothing is changed."""
    from .._io import check_folder

    try:
        check_folder(options.out, kind=KIND, overwrite=options.force)
    except FileExistsError as error:
        message = str(error).replace("or overwrite it", "or replace its results with --force")
        raise FileExistsError(message) from error


def fit_table(
    table: "Table",
    options: FitOptions,
    preprocessor: "Preprocessor",
    model: "CoManifold",
    output: Output,
) -> dict[str, Any]:
    """Fit a table, write all results to a folder, print a summary, and return the findings."""
    from .._io import OwnedFolder, check_space

    X = preprocessor.fit_transform(table.values)
    if note := preprocessing_note(preprocessor):
        output.say(f"  {note}")
    model.set_params(keep_scales=True)
    steps = ["fit", "check"] if options.check and _needs_second_fit(model, X) else ["fit"]
    seconds = len(steps) * model.expected_seconds(X.shape)
    parts = _expected_parts(model, X.shape, steps, check=options.check)
    say_expected_time(output, sum(parts.values()))
    with OwnedFolder(options.out, KIND) as folder, RunBar(parts, quiet=output.quiet) as bar:
        # Better before the fit than after it.
        folder.refuse_taken(FILES)
        check_space(folder.path, expected_bytes(model, X.shape))
        checkpoints = {}
        if options.checkpoint is not None or seconds > options.checkpoint_after:
            checkpoints = {
                step: _checkpoint(folder.path, options, model, X, step) for step in steps
            }
        try:
            model.set_params(checkpoint=checkpoints.get("fit"))
            bar.begin("fitting")
            fitted = fit_model(model, X, bar)
            errors = _held_out_errors(model, X, checkpoints, bar) if options.check else None
        except KeyboardInterrupt:
            if checkpoints:
                say_resumable(options.checkpoint or options.out)
            raise
        bar.begin("writing")
        model.set_params(checkpoint=None)
        model.set_names(rows=table.row_names, columns=table.column_names)
        results = FitResults(
            table,
            preprocessor,
            model,
            {mode: model.find_clusters(mode) for mode in ("row", "column")},
            errors,
            [*fitted.warnings, *_warnings(table, preprocessor, model, errors)],
            fitted.seconds,
        )
        with folder.publish(last=MARKER) as temporary:
            run = Run.of(results, options.title or "")
            files = write_results(temporary.file, results, run)
            bar.begin("drawing")
            pages, skipped = write_pages(temporary.file, model, run)
        if options.checkpoint is None:
            _remove_checkpoints(folder.path)
    findings = {**run.findings, "notes": results.notes(), "files": [*pages, *files]}
    _say_summary(output, findings, options.out)
    for message in skipped:
        output.say(message)
    if REPORT in pages:
        output.say(f"Open {options.out / REPORT} in a browser.")
    return {**findings, "skipped": skipped}


@dataclass(frozen=True)
class Fitted:
    """The warnings and the time of a fit."""

    warnings: list[str]
    seconds: float


def fit_model(model: "CoManifold", X: Any, bar: RunBar) -> Fitted:
    """Fit a model and show the progress; warnings are collected."""
    started = time.perf_counter()
    _, messages = collect_warnings(
        lambda: model.fit(X, progress=lambda at: bar.update(at.fraction, at.stage))
    )
    return Fitted(messages, time.perf_counter() - started)


def _expected_parts(
    model: "CoManifold", shape: tuple[int, int], steps: list[str], *, check: bool
) -> dict[str, float]:
    """Return the parts of a run, with about the seconds that each takes."""
    from .._fit.expected_time import speed_factor
    from ..model_selection import compared_methods

    seconds, factor = model.expected_seconds(shape), speed_factor()
    n_entries = shape[0] * shape[1]
    parts = {"fitting": seconds}
    if check:
        least, of_methods = _COMPARING
        per_entry = sum(of_methods.get(name, 0.0) for name in compared_methods(shape))
        # A second fit is compared as well.
        again = seconds if "check" in steps else 0.0
        parts["checking"] = again + factor * (least + per_entry * n_entries)
    for name, (least, per_entry) in (("writing", _WRITING), ("drawing", _DRAWING)):
        parts[name] = factor * (least + per_entry * n_entries)
    return parts


def collect_warnings(function: Callable[[], Any]) -> tuple[Any, list[str]]:
    """Call a function; return its result, and the distinct warnings that it gave."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function()
    return result, list(dict.fromkeys(str(warning.message) for warning in caught))


def say_expected_time(output: Output, seconds: float) -> None:
    """Print about how long a fit will take, and that the first one compiles."""
    from .._fit.progress import is_compiled

    output.say(f"Expected time: about {duration(seconds)}")
    if not is_compiled():
        output.say("  plus half a minute to compile: this is the first fit after installation")


def _needs_second_fit(model: "CoManifold", X: Any) -> bool:
    """Whether the error on held-out entries is that of a second fit: the first holds out none.

    As far as is known before the fit: an outlier, which counts as missing, is found by it.
    """
    import numpy as np

    missing = np.isnan(X)
    filled_in = missing & ~missing.all(axis=0) & ~missing.all(axis=1, keepdims=True)
    return model.scale_weights != "learned" or not filled_in.any()


def _held_out_errors(
    model: "CoManifold", X: Any, checkpoints: dict[str, Path], bar: RunBar
) -> "HeldOutErrors | None":
    """Return errors on entries held out by the fit, or from a second fit; None if too few are."""
    import numpy as np
    from sklearn.base import clone

    from ..model_selection import compare_held_out, held_out_errors, hold_out

    n_held_out = len(model.held_out_["value"])
    if n_held_out:
        bar.begin("checking")
        return compare_held_out(model) if n_held_out >= _MIN_HELD_OUT else None
    seed = np.random.RandomState(np.random.PCG64(_SEED))
    held_out = hold_out(X, min_held_out=_MIN_HELD_OUT, random_state=seed)
    if held_out is None:
        return None
    second = clone(model).set_params(keep_scales=False, checkpoint=checkpoints.get("check"))
    bar.begin("checking")
    fit_model(second, held_out.rest(), bar)
    return held_out_errors(held_out, second.filled_)


def _warnings(
    table: "Table",
    preprocessor: "Preprocessor",
    model: "CoManifold",
    errors: "HeldOutErrors | None",
) -> list[str]:
    """Return warnings about structure and the error on held-out entries, and doubts about data."""
    from .._embedding.structure import structure_warnings
    from ..tables import find_doubts

    doubts = find_doubts(table, **preprocessor.get_params())
    noise = structure_warnings(model.row_p_value_, model.column_p_value_)
    return [*noise, *unreliable_estimates(errors), *table.doubts, *doubts]


def unreliable_estimates(errors: "HeldOutErrors | None") -> list[str]:
    """Return a warning if the filled-in values are no better than means, or others clearly are."""
    if errors is None:
        return []
    found = []
    means = {"column": errors.column_means, "row": errors.row_means}
    mode = min(means, key=means.__getitem__)
    if errors.model >= means[mode]:
        found.append(
            f"the filled-in values are no better than {mode} means (error {errors.model:.2f} "
            f"against {means[mode]:.2f}): do not rely on them"
        )
    best = min(errors.others, key=errors.others.__getitem__)
    error = errors.others[best]
    if best in _IMPLEMENTED_BY and error < (1.0 - _CLEARLY_BETTER) * errors.model:
        found.append(
            f"{best} fills in this table better (error {error:.3g} against {errors.model:.3g}): "
            f"take filled-in values from {_IMPLEMENTED_BY[best]}, or try other parameters, such as "
            "--neighbors"
        )
    return found


def _say_summary(output: Output, findings: dict[str, Any], out: Path) -> None:
    """Print what was found, a line or two for each finding, and where the files are."""
    clusters, structure = findings["clusters"], findings["structure"]
    held_out, messages = findings["held_out"], findings["warnings"] or ["none"]
    output.say(f"Fitted in {duration(findings['seconds'])}, {findings['n_scales']} scales:")
    output.say(f"  clusters   {clusters['rows']['summary']}")
    output.say(f"             {clusters['columns']['summary']}")
    output.say(f"  structure  {structure['rows']['summary']}; {structure['columns']['summary']}")
    output.say(f"  held out   {held_out['summary'] if held_out else 'not measured'}")
    output.say(f"  warnings   {messages[0]}")
    for message in messages[1:]:
        output.say(f"             {message}")
    output.say(f"  files      in {out}: {', '.join(findings['files'])}")


def _checkpoint(out: Path, options: FitOptions, model: "CoManifold", X: Any, step: str) -> Path:
    """Return the checkpoint folder of a step, the fit or the check.

    Unless given by the user it is inside the results folder and named after data and parameters,
    so that the same fit finds its own again.
    """
    if options.checkpoint is not None:
        return options.checkpoint / step
    parameters = sorted(
        (name, value) for name, value in model.get_params().items() if name != "n_jobs"
    )
    key = sha256(X.tobytes() + repr(parameters).encode()).hexdigest()
    return _unused_path(out / f"checkpoint-{key[:8]}-{step}")


def _unused_path(path: Path) -> Path:
    """Return a path, numbered if needed, at which there is nothing or a checkpoint of ours."""
    from .._io import kind_of_folder

    name, number = path.name, 1
    while os.path.lexists(path) and kind_of_folder(path) != "checkpoint":
        number += 1
        path = path.with_name(f"{name}-{number}")
    return path


def _remove_checkpoints(out: Path) -> None:
    """Delete the automatic checkpoints of this fit, and of interrupted ones before it."""
    from .._io import OwnedFolder, kind_of_folder

    for path in out.iterdir():
        is_automatic = re.fullmatch("checkpoint-[0-9a-f]{8}-(fit|check)(-[0-9]+)?", path.name)
        if is_automatic and not path.is_symlink() and kind_of_folder(path) == "checkpoint":
            with suppress(OSError, RuntimeError, ValueError):
                OwnedFolder(path, "checkpoint").remove()
