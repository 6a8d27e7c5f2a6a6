"""`comanifold impute`: a table with its holes filled in."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._fit import say_expected
from ._help import SectionedCommand, examples, option, together
from ._model_options import make_model, model_options
from ._output import Output, duration, output_options, plain_errors
from ._preparation import Preparation, preparing_options
from ._reading_options import describe, read, reading_options

if TYPE_CHECKING:
    from ..tables import Table

# Of a number as text, and more than in any other format.
_BYTES_PER_ENTRY = 24

file_options: Callable = together(
    option(
        "--out",
        "-o",
        type=click.Path(path_type=Path),
        required=True,
        metavar="FILE2",
        section="Results",
        help="The table to write; its ending says how: .csv, .tsv (also .gz), .parquet, .npy, "
        ".npz or .h5ad.",
    ),
    option(
        "--force",
        is_flag=True,
        section="Results",
        help="Write FILE2 even if it is there; the file that was there is kept as FILE2.bak.",
    ),
)


@click.command(
    cls=SectionedCommand,
    short_help="Fill in the missing entries of a table.",
    epilog=examples(
        "comanifold impute genes.csv -o complete.csv",
        "comanifold impute counts.tsv.gz --log1p -o complete.parquet",
    ),
)
@click.argument("file", type=click.Path(path_type=Path))
@file_options
@preparing_options
@reading_options
@model_options
@output_options
def impute(file: Path, **given: Any) -> None:
    """Fill in the missing entries of the table in FILE.

    Entries that are there are written as they are. Rows and columns without any entry cannot be
    filled in, and stay empty. Columns of text are written after the labels of the rows, if FILE2
    is CSV, TSV or Parquet.
    """
    output = Output(as_json=given["as_json"], quiet=given["quiet"])
    out: Path = given["out"]
    with plain_errors():
        from dataclasses import replace

        import numpy as np

        from ..tables import check_writable
        from ._fitting import Fitter, expected_seconds

        check_writable(out)
        refuse_file(out, given["force"])
        table = read(file, given)
        prepared = {name: given[name] for name in ("standardize", "log1p")}
        describe(output, file, table, **prepared)
        preparation = Preparation.of(
            table.values, log1p=given["log1p"], standardize=given["standardize"]
        )
        model = make_model(given)
        say_expected(output, expected_seconds(model, table.values.shape))
        reserve_file(out, table.values.size)
        fitted = Fitter(output).fit(model, preparation.apply(table.values), "filling in")
        values = preparation.fill_in(table.values, model.filled_)
        filled = replace(table, values=values)
        # As the file has it.
        filled = filled.transposed() if given["transpose"] else filled
        write_file(output, out, filled, annotations=True)
        told = _about_texts(filled, out)
        n_filled = int(np.isnan(table.values).sum() - np.isnan(values).sum())
        if told:
            output.say(told)
        for message in fitted.warnings:
            output.say(f"Warning: {message}")
        output.say(f"{n_filled:,} entries filled in, in {duration(fitted.seconds)}: {out}")
        output.end(
            {
                "file": str(file),
                "out": str(out),
                "n_filled": n_filled,
                "n_left": int(np.isnan(values).sum()),
                "seconds": fitted.seconds,
                "warnings": fitted.warnings,
            }
        )


def refuse_file(out: Path, force: bool) -> None:
    """Refuse to write over something, unless told to, or into a folder or a device."""
    from .._io import refuse_special

    refuse_special(out)
    if out.is_dir():
        raise IsADirectoryError(f"{out} is a folder: name a file")
    if os.path.lexists(out) and not force:
        raise FileExistsError(f"{out} is there already: name another file, or say --force")


def reserve_file(out: Path, n_entries: int) -> None:
    """Raise the error of the system unless a table of so many entries can be written now."""
    from .._io import check_space

    out.parent.mkdir(parents=True, exist_ok=True)
    check_space(out.parent, n_entries * _BYTES_PER_ENTRY)


def _about_texts(table: "Table", out: Path) -> str:
    """Where the columns of text have gone, in a sentence; nothing if there are none."""
    from ..tables import HOLDS_TEXT

    names = list(table.annotations.get("rows", {}))
    if not names:
        return ""
    shown = ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" * (len(names) > 5))
    if str(out).lower().endswith(HOLDS_TEXT):
        return f"Columns of text were written after the labels: {shown}."
    return f"Columns of text have no place in such a file and were left out: {shown}."


def write_file(output: Output, out: Path, table: "Table", *, annotations: bool = False) -> None:
    """Write a table; a file that is there is kept under another name."""
    from .._io import write_with_backup
    from ..tables import write_table

    backup = write_with_backup(
        out, lambda part: write_table(part, table, atomic=False, annotations=annotations)
    )
    if backup:
        output.say(f"The file that was there is kept as {backup}.")
