"""`comanifold fit`: from a file to a folder with all there is to see."""

import os
import re
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._help import SectionedCommand, examples, option
from ._model_options import make_model, model_options
from ._output import Output, duration, output_options, plain_errors, say_kept
from ._preparation import Preparation, preparing_options
from ._reading_options import describe, read, reading_options

if TYPE_CHECKING:
    from ..tables import Table
    from ._annotations import Annotations
    from ._results import NewFile

# Fits that take longer than this are kept so that they can go on after a stop.
_LONG = 120.0


@click.command(
    cls=SectionedCommand,
    short_help="From a table to its geometry, clusters, filled-in entries and a report.",
    epilog=examples(
        "comanifold fit genes.csv --out results",
        "comanifold fit counts.tsv.gz --log1p --standardize --out results",
        'comanifold fit survey.csv --missing "99,refused" --columns 3-58 --out results',
        "comanifold fit cells.h5ad --layer counts --absent missing --out results",
    ),
)
@click.argument("file", type=click.Path(path_type=Path))
@option(
    "--out",
    "-o",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    metavar="DIR",
    section="Results",
    help="Folder for the results: a new or empty one, a mount point, or a link to a folder.",
)
@option(
    "--force",
    is_flag=True,
    section="Results",
    help="Replace the results of an earlier fit in DIR. Other files there stay.",
)
@option(
    "--annotations",
    type=click.Path(path_type=Path),
    metavar="FILE",
    section="Results",
    help="A table with what is known of rows or columns, by label, to colour the report by.",
)
@option("--title", section="Results", help="Of the report. By default the name of the file.")
@option(
    "--check/--no-check",
    default=True,
    section="Results",
    help="Whether to measure the error on hidden entries, which takes a second fit.",
)
@option(
    "--checkpoint",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    section="Results",
    help="Keep what is done there, so that the same command goes on after a stop. Long fits keep "
    "it in the folder of the results, until they are done.",
)
@preparing_options
@reading_options
@model_options
@output_options
def fit(file: Path, **given: Any) -> None:
    """Find the geometry of the rows and columns of the matrix in FILE.

    FILE is CSV, TSV, XLSX, Parquet, NPY, NPZ, H5AD or Matrix Market (MTX); text and MTX also
    compressed with gzip. Empty cells are missing entries; columns of text colour the report.
    `comanifold inspect` shows how a file is read. The matrix.mtx of a folder of 10x
    Genomics takes its labels from features.tsv and barcodes.tsv there.

    The results are a page to explore (report.html), the embeddings of rows and columns, the
    matrix with its holes filled in, clusters, all scales, and the model for `comanifold
    transform` and for Python.
    """
    output = Output(as_json=given["as_json"], quiet=given["quiet"])
    with plain_errors():
        from ._annotations import merge_annotations, read_annotations

        check_results(given["out"], given["force"])
        table = read(file, given)
        prepared = {name: given[name] for name in ("standardize", "log1p")}
        describe(output, file, table, **prepared)
        annotations: Annotations = table.annotations
        if given["annotations"]:
            more, note = read_annotations(given["annotations"], table.row_names, table.column_names)
            annotations = merge_annotations(annotations, more)
            output.say(f"  {note}")
        run_fit(table, file.name, annotations, given, output)


def run_fit(
    table: "Table", name: str, annotations: "Annotations", given: dict[str, Any], output: Output
) -> None:
    """Fit a table and leave all results in a folder."""
    from dataclasses import replace

    from .._fit.settings import choose_candidates
    from .._io import OwnedFolder
    from ._fitting import Fitter, expected_seconds
    from ._results import FILES, KIND, MARKER, expected_bytes
    from ._summary import all_warnings

    out: Path = given["out"]
    check_results(out, given["force"])
    preparation = Preparation.of(
        table.values, log1p=given["log1p"], standardize=given["standardize"]
    )
    if preparation.note:
        output.say(f"  {preparation.note}")
    values = preparation.apply(table.values)
    model = make_model(given, keep_scales=True)
    n_fits = 2 if given["check"] else 1
    seconds = n_fits * expected_seconds(model, values.shape)
    say_expected(output, seconds)
    with OwnedFolder(out, KIND) as folder:
        # What cannot be written is better said now than after an hour.
        folder.refuse_taken(FILES)
        folder.reserve(expected_bytes(values.shape, choose_candidates(model, values.shape)))
        kept = _checkpoints(folder.path, given["checkpoint"], model, values, seconds)
        try:
            model.set_params(checkpoint=kept.get("fit"))
            fitter = Fitter(output)
            fitted = fitter.fit(model, values, "fitting")
            check = kept.get("check")
            held_out = _check(fitter, model, values, check) if given["check"] else None
        except KeyboardInterrupt:
            if kept:
                say_kept(given["checkpoint"] or out)
            raise
        fitted = replace(fitted, warnings=all_warnings(fitted.warnings, table, held_out, given))
        with folder.publish(last=MARKER) as temporary:
            outcome = _write_all(
                temporary.file,
                fitted,
                table,
                held_out,
                preparation,
                annotations,
                given["title"] or name,
            )
        if given["checkpoint"] is None:
            _remove_checkpoints(folder.path)
    _tell(output, outcome, out)
    output.end({"file": name, "out": str(out), **outcome})


def _checkpoints(
    out: Path, asked: Path | None, model: Any, values: Any, seconds: float
) -> dict[str, Path]:
    """Return the folders in which the fit and its check keep what is done; none for short fits.

    Unless the user has named one they are inside the folder of the results, and named after data
    and parameters: those of an interrupted fit are found again, and those of another left alone.
    """
    if asked is not None:
        return {step: asked / step for step in ("fit", "check")}
    if seconds <= _LONG:
        return {}
    parameters = sorted(
        (name, value) for name, value in model.get_params().items() if name != "n_jobs"
    )
    key = sha256(values.tobytes() + repr(parameters).encode()).hexdigest()
    return {step: _free(out, f"checkpoint-{key[:8]}-{step}") for step in ("fit", "check")}


def _free(out: Path, name: str) -> Path:
    """Return a path at which there is nothing, or a checkpoint of ours."""
    from .._io import kind_of_folder

    path, number = out / name, 1
    while os.path.lexists(path) and kind_of_folder(path) != "checkpoint":
        number += 1
        path = out / f"{name}-{number}"
    return path


def _remove_checkpoints(out: Path) -> None:
    """Delete what this fit, and interrupted ones before it, have kept in the results."""
    from .._io import OwnedFolder, kind_of_folder

    for path in out.iterdir():
        is_automatic = re.fullmatch("checkpoint-[0-9a-f]{8}-(fit|check)(-[0-9]+)?", path.name)
        if is_automatic and not path.is_symlink() and kind_of_folder(path) == "checkpoint":
            with suppress(OSError, RuntimeError, ValueError):
                OwnedFolder(path, "checkpoint").remove()


def say_expected(output: Output, seconds: float) -> None:
    """Say about how long it will take, and what comes on top the first time."""
    from ._fitting import is_compiled

    output.say(f"Expected time: about {duration(seconds)}")
    if not is_compiled():
        output.say("  and a minute or two to compile: this is the first fit after installation")


def check_results(out: Path, force: bool) -> None:
    """Say before any work that the results could not be written. Nothing is changed."""
    from .._io import check_folder
    from ._results import KIND

    try:
        check_folder(out, kind=KIND, overwrite=force)
    except FileExistsError as error:
        told = str(error).replace("or overwrite it", "or replace its results with --force")
        raise FileExistsError(told) from error


def _check(fitter: Any, model: Any, values: Any, checkpoint: Path | None) -> Any:
    """The error on entries that a second fit does not see; None where that cannot be done."""
    from sklearn.base import clone

    from ._summary import hide_some, score_hidden

    hidden = hide_some(values)
    if hidden is None:
        return None
    rest, places = hidden
    other = clone(model).set_params(keep_scales=False, checkpoint=checkpoint)
    filled = fitter.fit(other, rest, "checking").model.filled_
    return score_hidden(values, rest, places, filled)


def _write_all(
    new_file: "NewFile",
    fitted: Any,
    table: "Table",
    held_out: Any,
    preparation: Preparation,
    annotations: "Annotations",
    title: str,
) -> dict[str, Any]:
    """Write all results; return what was found."""
    from dataclasses import asdict, replace

    import numpy as np

    from .._io.model_format import write_model_files
    from ._annotations import merge_annotations
    from ._results import MARKER, MODEL, Run, write_pages, write_tables
    from ._summary import FOUND, find_clusters

    model = fitted.model.set_params(checkpoint=None)
    model.row_names_in_ = np.array(table.row_names, dtype=object)
    model.feature_names_in_ = np.array(table.column_names, dtype=object)
    clusters = {mode: find_clusters(model, mode) for mode in ("row", "column")}
    filled = replace(table, values=preparation.fill_in(table.values, model.filled_))
    files = write_tables(new_file, model, filled, clusters)
    write_model_files(model, lambda file: new_file(f"{MODEL}/{file}"))
    findings = {
        "shape": list(table.values.shape),
        "share_missing": float(np.isnan(table.values).mean()),
        "seconds": fitted.seconds,
        "n_scales": len(model.scales_),
        "clusters": {
            f"{mode}s": {
                "number": found.n_clusters,
                "doublings": found.n_doublings,
                "told": found.told(f"{mode}s"),
            }
            for mode, found in clusters.items()
        },
        "eigenvalues": {
            "rows": model.row_eigenvalues_.tolist(),
            "columns": model.column_eigenvalues_.tolist(),
        },
        "held_out": None if held_out is None else {**asdict(held_out), "told": held_out.told()},
        "warnings": fitted.warnings,
    }
    notes = [*table.notes, *table.doubts, *([preparation.note] if preparation.note else [])]
    found = {f"{mode}s": {FOUND: clusters[mode].as_text()} for mode in clusters}
    run = Run(
        title,
        table.row_names,
        table.column_names,
        [*notes, *fitted.warnings, *([held_out.told()] if held_out else [])],
        preparation,
        merge_annotations(found, annotations),
        findings,
    )
    run.write(new_file)
    made, lacking = write_pages(new_file, model, run)
    return {
        **findings,
        "notes": notes,
        "files": [*made, *files, MODEL, MARKER],
        "lacking": lacking,
    }


def _tell(output: Output, outcome: dict[str, Any], out: Path) -> None:
    """What was found, in five lines, and where the files are."""
    clusters, values = outcome["clusters"], outcome["eigenvalues"]
    held_out = outcome["held_out"]

    def joined(numbers: list[float]) -> str:
        return ", ".join(f"{number:.2f}" for number in numbers[:3])

    output.say(
        f"Found in {duration(outcome['seconds'])}, from {outcome['n_scales']} pairs of scales:"
    )
    output.say(f"  clusters   {clusters['rows']['told']}; {clusters['columns']['told']}")
    output.say(
        f"  structure  eigenvalues of rows {joined(values['rows'])}, of columns "
        f"{joined(values['columns'])} (near 1: strong)"
    )
    output.say(f"  held out   {held_out['told'] if held_out else 'not measured'}")
    warned = outcome["warnings"] or ["none"]
    output.say(f"  warnings   {warned[0]}")
    for message in warned[1:]:
        output.say(f"             {message}")
    files = outcome["files"]
    output.say(f"  files      in {out}: {', '.join(files)}")
    for message in outcome["lacking"]:
        output.say(message)
    if "report.html" in files:
        output.say(f"Open {out / 'report.html'} in a browser.")
