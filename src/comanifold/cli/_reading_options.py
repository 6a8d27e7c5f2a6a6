"""The options that say how a file is to be read."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._help import option, together
from ._output import Output

if TYPE_CHECKING:
    from ..tables import Table

_SECTION = "Reading the file (auto-detected unless given)"

reading_options: Callable = together(
    option(
        "--missing",
        metavar="LIST",
        section=_SECTION,
        help='What counts as missing too, such as "-999,unknown". Numbers match numerically. '
        "Empty cells, NA, N/A, NaN, null, None, ?, -, . and the like always count.",
    ),
    option("--delimiter", metavar="CHAR", section=_SECTION, help='As ";" or "tab".'),
    option(
        "--decimal",
        type=click.Choice([".", ","]),
        section=_SECTION,
        help="The decimal mark.",
    ),
    option(
        "--thousands",
        metavar="CHAR",
        section=_SECTION,
        help='The mark between thousands: ".", ",", a blank or an apostrophe.',
    ),
    option(
        "--skip-rows",
        type=click.IntRange(min=0),
        default=0,
        metavar="N",
        section=_SECTION,
        help="Leave out the first N lines.",
    ),
    option(
        "--skip-footer",
        type=click.IntRange(min=0),
        default=0,
        metavar="N",
        section=_SECTION,
        help="Leave out the last N lines that are not blank.",
    ),
    option(
        "--header-rows",
        type=click.IntRange(min=0),
        metavar="N",
        section=_SECTION,
        help="The number of lines with names of columns, which are joined.",
    ),
    option(
        "--header/--no-header",
        default=None,
        section=_SECTION,
        help="Whether the first line has the names of the columns.",
    ),
    option(
        "--labels",
        metavar="COLUMN",
        section=_SECTION,
        help="The column with the labels of the rows, by name or number from 1.",
    ),
    option(
        "--no-labels",
        is_flag=True,
        section=_SECTION,
        help="No column, nor a file beside an MTX file, has labels.",
    ),
    option(
        "--columns",
        metavar="LIST",
        section=_SECTION,
        help='Read these columns alone: names, numbers from 1, and ranges: "3-58", "Q1-Q30".',
    ),
    option("--exclude", metavar="LIST", section=_SECTION, help="Leave these columns out."),
    option(
        "--censored",
        type=click.Choice(["limit", "missing"]),
        section=_SECTION,
        help="What values such as <0.5 are taken as.",
    ),
    option(
        "--long",
        metavar="ROW,COLUMN,VALUE",
        section=_SECTION,
        help="The columns with row, column and value of an entry, if each line is one entry.",
    ),
    option("--transpose", is_flag=True, section=_SECTION, help="Exchange rows and columns."),
    option("--sheet", metavar="NAME", section=_SECTION, help="Which sheet of an XLSX file."),
    option("--array", metavar="NAME", section=_SECTION, help="Which array of an NPZ file."),
    option("--layer", metavar="NAME", section=_SECTION, help="Which layer of an H5AD file."),
    option(
        "--absent",
        type=click.Choice(["missing", "zero"]),
        section=_SECTION,
        help="What entries mean that a sparse matrix does not store.",
    ),
    option("--encoding", metavar="NAME", section=_SECTION, help="Of text, such as latin-1."),
)

_NAMES = (
    "missing",
    "delimiter",
    "header",
    "labels",
    "columns",
    "exclude",
    "transpose",
    "array",
    "layer",
    "absent",
    "encoding",
    "decimal",
    "thousands",
    "skip_rows",
    "skip_footer",
    "header_rows",
    "censored",
    "sheet",
    "long",
)

_DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "bar": "|"}


def read(file: Path, given: dict[str, Any]) -> "Table":
    """The table in a file, read as the options say."""
    from ..tables import read_table

    options = {name: given[name] for name in _NAMES}
    if given["no_labels"]:
        if options["labels"] is not None:
            raise click.UsageError("--labels and --no-labels exclude each other")
        options["labels"] = False
    delimiter = options["delimiter"]
    options["delimiter"] = _DELIMITERS.get(delimiter, delimiter)
    return read_table(file, **options)


def describe(output: Output, file: Path, table: "Table", **preparation: bool) -> None:
    """Say how a file was read, and what may be wrong with it as it is going to be prepared."""
    say_size(output, file, table)
    for note in table.notes:
        output.say(f"  {note}")
    say_doubts(output, all_doubts(table, **preparation))


def say_size(output: Output, file: Path, table: "Table") -> None:
    """Say how large a table is and how much of it is missing."""
    import numpy as np

    n_rows, n_columns = table.values.shape
    share = np.isnan(table.values).mean()
    output.say(f"{file}: {n_rows:,} rows x {n_columns:,} columns, {share:.1%} missing")


def all_doubts(table: "Table", **preparation: bool) -> list[str]:
    """Doubts about how a file was read, and about the values in it."""
    from ..tables import find_doubts

    return list(dict.fromkeys([*table.doubts, *find_doubts(table, **preparation)]))


def say_doubts(output: Output, doubts: list[str]) -> None:
    """Say all doubts, or that there are none."""
    if not doubts:
        output.say("  Doubts: none.")
        return
    output.say("  Doubts:")
    for doubt in doubts:
        output.say(f"    - {doubt}")
