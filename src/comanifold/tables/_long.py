"""Tables that have a line for each entry of the matrix: its row, its column and its value."""

import csv
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ._layout import Layout, named_column
from ._table import Options, Table, TableError, check_size, shortened

Places = tuple[int, int, int]


def triple_places(layout: Layout, options: Options) -> Places:
    """The columns with the row, the column and the value of an entry."""
    asked = options.long or ()
    if isinstance(asked, str):
        asked = next(csv.reader([asked], skipinitialspace=True), [])
    if len(asked) != 3:
        raise TableError(
            "long takes three columns, those of the row, the column and the value: "
            "--long row,column,value"
        )
    row, column, value = (
        named_column(layout.names, item.strip() if isinstance(item, str) else item, "(--long)")
        for item in asked
    )
    if len({row, column, value}) < 3:
        raise TableError("long takes three different columns (--long)")
    return row, column, value


def pivot(table: Table, row_name: str, column_name: str) -> Table:
    """The matrix of a table with one value a line, and its row and column as annotations.

    Entries that occur several times are averaged, and entries without a line are missing.
    """
    keys = table.annotations["rows"]
    rows, row_names = _numbered(keys[row_name])
    columns, column_names = _numbered(keys[column_name])
    n_rows, n_columns = len(row_names), len(column_names)
    check_size(n_rows, n_columns)
    values = table.values[:, 0]
    there = np.isfinite(values)
    places = (rows * n_columns + columns)[there]
    counts = np.bincount(places, minlength=n_rows * n_columns)
    sums = np.bincount(places, weights=values[there], minlength=n_rows * n_columns)
    with np.errstate(invalid="ignore"):
        matrix = (sums / counts).reshape(n_rows, n_columns)
    doubts = list(table.doubts)
    repeated = np.flatnonzero(counts > 1)
    if len(repeated):
        row, column = divmod(int(repeated[0]), n_columns)
        doubts.append(
            f"{len(repeated):,} entries have several lines and were averaged, such as row "
            f"{shortened(row_names[row])}, column {shortened(column_names[column])} with "
            f"{int(counts[repeated[0]]):,}"
        )
    note = f"A matrix of {shortened(row_name)} by {shortened(column_name)}, from one line an entry."
    return replace(
        table,
        values=matrix,
        row_names=row_names,
        column_names=column_names,
        notes=[*table.notes, note],
        corner=row_name,
        annotations={},
        doubts=doubts,
    )


def _numbered(labels: Sequence[str]) -> tuple[NDArray[np.int64], list[str]]:
    """The number of each label in the order of appearance, and the labels."""
    numbers: dict[str, int] = {}
    places = np.fromiter(
        (numbers.setdefault(label, len(numbers)) for label in labels), np.int64, len(labels)
    )
    if "" in numbers:
        line = int(np.flatnonzero(places == numbers[""])[0]) + 1
        raise TableError(f"entry {line} has no row or no column: fill it in, or delete its line")
    return places, list(numbers)
