"""`comanifold impute` and `comanifold transform`: from a table to another table."""

import os
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._config import config_option
from ._inspect import describe
from ._options import (
    FILE,
    GroupedCommand,
    OptionGroup,
    model_options,
    output_options,
    preprocessing_options,
    reading_options,
)
from ._output import Output, RunBar, duration
from ._results import MARKER, MODEL, coordinate_names, read_results
from ._run import collect_warnings, compile_seconds, fit_model, say_expected_time

if TYPE_CHECKING:
    from .. import CoManifold
    from ..preprocessing import Preprocessor
    from ..tables import Table

# Bytes of a number as text, which is more than in any other format.
_BYTES_PER_ENTRY = 24


@dataclass(frozen=True)
class TableFile:
    """The table to write."""

    path: Path
    force: bool

    def check(self) -> None:
        """Raise an error if the table cannot be written. Nothing is changed."""
        from .._io import refuse_special
        from ..tables import check_writable

        check_writable(self.path)
        refuse_special(self.path)
        if self.path.is_dir():
            raise IsADirectoryError(f"{self.path} is a folder: name a file")
        if os.path.lexists(self.path) and not self.force:
            raise FileExistsError(f"{self.path} already exists: name another file, or use --force")

    def reserve(self, n_entries: int) -> None:
        """Raise OSError if there is not enough disk space in the folder for so many entries."""
        from .._io import check_space

        self.path.parent.mkdir(parents=True, exist_ok=True)
        check_space(self.path.parent, n_entries * _BYTES_PER_ENTRY)

    def write(self, table: "Table", output: Output, *, annotations: bool = False) -> None:
        """Write a table; an existing file is kept under another name."""
        from .._io import write_with_backup
        from ..tables import write_table

        backup = write_with_backup(
            self.path,
            lambda part: write_table(part, table, atomic=False, annotations=annotations),
        )
        if backup:
            output.say(f"The existing file was kept as {backup}.")


_FILE_OPTIONS = [
    click.Option(
        ["--out", "-o", "path"],
        type=FILE,
        required=True,
        metavar="FILE2",
        help="The table to write, by its ending: .csv, .tsv (also .gz), .parquet, .npy, .npz or "
        ".h5ad.",
    ),
    click.Option(
        ["--force"],
        is_flag=True,
        help="Write FILE2 even if it exists; the existing file is kept as FILE2.bak.",
    ),
]


@dataclass(frozen=True)
class ImputeOptions(TableFile):
    """The table to write, and the coverage of the bounds to write beside it; None for no bounds."""

    interval: float | None

    @property
    def bounds(self) -> list[TableFile]:
        """The tables of lower and upper bounds, if any."""
        if self.interval is None:
            return []
        return [TableFile(self._beside(name), self.force) for name in ("lower", "upper")]

    def _beside(self, name: str) -> Path:
        """Return the path of FILE2 with a name before its ending."""
        from ..tables import WRITABLE

        file = self.path.name
        ending = max(filter(file.lower().endswith, WRITABLE), key=len)
        return self.path.with_name(f"{file[: -len(ending)]}.{name}{file[-len(ending) :]}")

    def check(self) -> None:
        """Raise an error if one of the tables cannot be written. Nothing is changed."""
        super().check()
        seen = {os.path.realpath(self.path)}
        for file in self.bounds:
            file.check()
            target = os.path.realpath(file.path)
            if target in seen:
                raise FileExistsError(
                    f"{file.path} is a link to {target}, which is to be written as well: name "
                    "another file"
                )
            seen.add(target)


class _Coverage(click.ParamType):
    name = "number"

    def convert(self, value: Any, *_context: Any) -> float:
        try:
            coverage = float(value)
        except ValueError:
            coverage = 0.0
        if not 0.0 < coverage < 1.0:
            self.fail(f"{value!r} is not a number between 0 and 1, such as 0.9")
        return coverage


@click.command(
    cls=GroupedCommand,
    groups=[
        OptionGroup(
            "out",
            "Results",
            ImputeOptions,
            [
                *_FILE_OPTIONS,
                click.Option(
                    ["--interval"],
                    type=_Coverage(),
                    metavar="P",
                    help="Also write lower and upper bounds of all entries, between which a part P "
                    "of the missing ones is expected, such as 0.9. For complete.csv they are in "
                    "complete.lower.csv and complete.upper.csv.",
                ),
                config_option(),
            ],
        ),
        preprocessing_options,
        reading_options,
        model_options,
        output_options,
    ],
    short_help="Fill in the missing entries of a table.",
    examples=[
        "comanifold impute genes.csv -o complete.csv",
        "comanifold impute counts.tsv.gz --log1p -o complete.parquet",
        "comanifold impute genes.csv -o complete.csv --interval 0.9",
    ],
)
@click.argument("file", type=FILE)
def impute(
    file: Path,
    out: ImputeOptions,
    preprocessor: "Preprocessor",
    reading: dict[str, Any],
    model: "CoManifold",
    output: Output,
) -> None:
    """Fill in the missing entries of the table in FILE.

    Observed entries are written unchanged. Rows and columns without any observed entry cannot be
    filled in and stay empty. Text columns are written after the row labels, if FILE2 is CSV, TSV
    or Parquet.

    With --interval, observed entries are their own bounds. The bounds come from the errors on
    held-out entries: they hold if whether an entry is missing does not depend on its value. Bounds
    that cannot be found, with too few entries to hold out, are empty.
    """
    import numpy as np

    from ..tables import read_table

    out.check()
    table = read_table(file, **reading)
    describe(output, file, table, preprocessor)
    seconds = model.expected_seconds(table.values.shape) + compile_seconds()
    say_expected_time(output, seconds)
    out.reserve(table.values.size * (1 + len(out.bounds)))
    with RunBar({"filling in": seconds}, quiet=output.quiet) as bar:
        bar.begin("filling in")
        fitted = fit_model(model, preprocessor.fit_transform(table.values), bar)
    results, messages = [model.filled_], fitted.warnings
    if out.interval is not None:
        bounds, more = collect_warnings(lambda: model.filled_interval(out.interval))
        results, messages = [*results, *bounds], [*messages, *more]
    missing = np.isnan(table.values)

    def in_units(values: Any) -> "Table":
        values = np.where(missing, _inverse(preprocessor, values), table.values)
        found = replace(table, values=values)
        # The orientation of the file.
        return found.transposed() if reading["transpose"] else found

    filled, *bounds = map(in_units, results)
    for place, found in zip([out, *out.bounds], [filled, *bounds], strict=True):
        place.write(found, output, annotations=True)
    n_left = int(np.isnan(filled.values).sum())
    n_filled = int(missing.sum()) - n_left
    if note := _text_columns_note(filled, out.path):
        output.say(note)
    for message in messages:
        output.say(f"Warning: {message}")
    entries = "entry" if n_filled == 1 else "entries"
    output.say(f"Filled in {n_filled:,} {entries} in {duration(fitted.seconds)}: {out.path}")
    paths = [str(place.path) for place in out.bounds]
    if paths:
        output.say(f"Bounds of {100 * out.interval:g}% intervals: {', '.join(paths)}")
    output.result(
        {
            "file": str(file),
            "out": str(out.path),
            "interval": out.interval,
            "bounds": paths,
            "n_filled": n_filled,
            "n_left": n_left,
            "seconds": fitted.seconds,
            "warnings": messages,
        }
    )


def _inverse(preprocessor: "Preprocessor", values: Any) -> Any:
    """Return values in the units of the file; NaN for infinite ones."""
    import numpy as np

    # Before the inverse as well, for that of a logarithm has no infinite lower bound.
    values = np.where(np.isinf(values), np.nan, values)
    with np.errstate(over="ignore"):
        values = preprocessor.inverse_transform(values)
    return np.where(np.isinf(values), np.nan, values)


def _text_columns_note(table: "Table", out: Path) -> str:
    """Return whether text columns were written, as a sentence; empty if there are none."""
    from ..tables import HOLDS_TEXT
    from ..tables._table import quote_list

    names = list(table.annotations.get("rows", {}))
    if not names:
        return ""
    shown = quote_list(names)
    if str(out).lower().endswith(HOLDS_TEXT):
        return f"Text columns were written after the labels: {shown}."
    return f"Text columns cannot be written in this format and were left out: {shown}."


@dataclass(frozen=True)
class TransformOptions(TableFile):
    """The table to write, and whether rows or columns of the input are new."""

    new: str

    @property
    def mode(self) -> str:
        """The mode of the new points: "row" or "column"."""
        return self.new[:-1]


@click.command(
    cls=GroupedCommand,
    groups=[
        OptionGroup(
            "out",
            "Results",
            TransformOptions,
            [
                *_FILE_OPTIONS,
                click.Option(
                    ["--new"],
                    type=click.Choice(["rows", "columns"]),
                    default="rows",
                    show_default=True,
                    help="Whether the rows or the columns of FILE are new.",
                ),
            ],
        ),
        reading_options,
        output_options,
    ],
    short_help="Place new rows or columns in an embedding.",
    examples=[
        "comanifold transform results new_genes.csv -o placed.csv",
        "comanifold transform results new_patients.csv --new columns -o placed.csv",
    ],
)
@click.argument("model", type=FILE)
@click.argument("file", type=FILE)
def transform(
    model: Path, file: Path, out: TransformOptions, reading: dict[str, Any], output: Output
) -> None:
    """Place the new rows, or columns, of FILE in the embedding of a fitted model.

    MODEL is a results folder of `comanifold fit`, or a folder written by `CoManifold.save`. New
    rows are matched with the columns of the fit by name, new columns with its rows by label; the
    order does not matter, and columns (or rows) that are not in the fit are ignored. New data are
    preprocessed like those of the fit.
    """
    from ..tables import Table, read_table

    out.check()
    fitted, preprocessor = _load(model)
    table = read_table(file, **reading)
    describe(output, file, table)
    values = _matched(table, fitted, out.mode, output)
    out.reserve(max(table.values.shape) * fitted.row_embedding_.shape[1])
    points, messages = collect_warnings(lambda: _place(fitted, preprocessor, values, out.mode))
    names = table.row_names if out.mode == "row" else table.column_names
    out.write(Table(points, names, coordinate_names(points), corner=out.mode), output)
    for message in messages:
        output.say(f"Warning: {message}")
    output.say(f"{len(points):,} {out.new} placed: {out.path}")
    output.result(
        {
            "file": str(file),
            "out": str(out.path),
            "n_placed": len(points),
            "warnings": messages,
        }
    )


def _load(folder: Path) -> "tuple[CoManifold, Preprocessor | None]":
    """Return the model in a folder, and the preprocessor of its data if it is known."""
    from .. import CoManifold

    if folder.name == MODEL and (folder.parent / MARKER).is_file():
        folder = folder.parent
    found = read_results(folder)
    return (CoManifold.load(folder), None) if found is None else (found[0], found[1].preprocessor)


def _place(model: "CoManifold", preprocessor: "Preprocessor | None", values: Any, mode: str) -> Any:
    """Return the coordinates of new rows or columns."""
    from sklearn.base import clone

    if not hasattr(model, "transform"):
        raise ValueError(
            f"the model was fitted with --embedding {model.embedding_name_}, which places no new "
            "points: fit with --embedding diffusion or isomap"
        )
    # Names have been matched; arrays have none.
    warnings.filterwarnings("ignore", message=".*valid feature names.*")
    if mode == "row":
        return model.transform(values if preprocessor is None else preprocessor.transform(values))
    if preprocessor is not None:  # new columns have their own mean and scale
        values = clone(preprocessor).fit_transform(values)
    return model.transform_columns(values)


def _matched(table: "Table", model: "CoManifold", new: str, output: Output) -> Any:
    """Return the values in the order of the fit along the mode that is not new."""
    from ..tables._table import quote_list

    mode, axis = ("column", 1) if new == "row" else ("row", 0)
    known = getattr(model, "feature_names_in_" if mode == "column" else "row_names_in_", None)
    ours = getattr(table, f"{mode}_names")
    n_known = model.data_.shape[axis]
    positions = {name: i for i, name in enumerate(ours)}
    wanted = None if known is None else [str(name) for name in known]
    if wanted is None or not any(name in positions for name in wanted):
        # Tables without labels number them.
        is_unnamed = wanted is None or all(
            name == f"{mode} {number}" for number, name in enumerate(ours, start=1)
        )
        if is_unnamed and len(ours) == n_known:
            output.say(f"  No {mode} labels to match: {mode}s are taken in the order of the fit.")
            return table.values
    if wanted is None:
        raise ValueError(
            f"the model has {n_known} {mode}s without labels, and the file has {len(ours)}"
        )
    absent = [name for name in wanted if name not in positions]
    if absent:
        is_transposed = set(absent) <= set(getattr(table, f"{new}_names"))
        advice = (
            f". The file has them as {new}s: use --transpose"
            if is_transposed
            else f": add empty {mode}s for them if their values are unknown"
        )
        raise ValueError(
            f"the file lacks {len(absent)} of the {n_known} {mode}s of the fit: "
            f"{quote_list(absent)}{advice}"
        )
    if len(ours) > n_known:
        n_more = len(ours) - n_known
        output.say(f"  {n_more:,} {mode}s that are not in the fit are ignored.")
    return table.values.take([positions[name] for name in wanted], axis=axis)
