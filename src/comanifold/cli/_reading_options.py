"""The options that say how a file is to be read."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._help import option, together
from ._talk import Talk

if TYPE_CHECKING:
    from ..tables import Table

_SECTION = "Reading the file (found out unless told)"

reading_options: Callable = together(
    option(
        "--missing",
        metavar="LIST",
        section=_SECTION,
        help='What counts as missing, besides empty cells and NaN: "NA,-,999". Numbers match '
        "numerically. By default NA, N/A, null, None, ?, -, . and the like.",
    ),
    option("--delimiter", metavar="CHAR", section=_SECTION, help='As ";" or "tab".'),
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
        help='Read these columns alone: names, or numbers and ranges from 1, "3-58".',
    ),
    option("--exclude", metavar="LIST", section=_SECTION, help="Leave these columns out."),
    option("--transpose", is_flag=True, section=_SECTION, help="Exchange rows and columns."),
    option("--array", metavar="NAME", section=_SECTION, help="Which array of an NPZ file."),
    option("--layer", metavar="NAME", section=_SECTION, help="Which layer of an H5AD file."),
    option(
        "--absent",
        type=click.Choice(["missing", "zero"]),
        section=_SECTION,
        help="What entries mean that a sparse matrix does not store.",
    ),
    option("--encoding", default="utf-8", section=_SECTION, help="Of text, such as latin-1."),
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


def describe(talk: Talk, file: Path, table: "Table") -> None:
    """Say what was found in a file."""
    import numpy as np

    n_rows, n_columns = table.values.shape
    share = np.isnan(table.values).mean()
    talk.say(f"{file}: {n_rows:,} rows x {n_columns:,} columns, {share:.1%} missing")
    for note in table.notes:
        talk.say(f"  {note}")
