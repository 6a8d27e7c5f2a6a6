"""A matrix with names, and how it is asked for."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# More entries than this, 4 GB of numbers, are refused before they fill the memory.
MOST_ENTRIES = 500_000_000

# A file can declare rows or columns without having any: more than this are not given names.
MOST_NAMES = 10_000_000

# Characters of a text from a file that a message shows.
_LONGEST_TEXT = 40


class TableError(ValueError):
    """A file that cannot be read as a table of numbers, and what to do about it."""


@dataclass(frozen=True, eq=False)
class Table:
    """A matrix with missing entries and the names of its rows and columns.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_columns)
        NaN where an entry is missing.
    row_names, column_names : list of str
    notes : list of str
        What was found in the file and how it was read, in plain sentences.
    corner : str
        What the file calls its column of labels.
    annotations : dict
        Text or numbers known of the rows and columns, not part of the matrix:
        ``{"rows": {name: values}, "columns": {name: values}}``, one value each.
    doubts : list of str
        What may have been read wrongly, what was assumed, and the option that settles it.
    read_as : dict
        The separator, marks, encoding, header lines, labels and missing codes of a file of text,
        as far as they were detected or given.
    """

    values: Array
    row_names: list[str]
    column_names: list[str]
    notes: list[str] = field(default_factory=list)
    corner: str = ""
    annotations: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)
    read_as: dict[str, Any] = field(default_factory=dict)

    def transposed(self) -> "Table":
        """The same with rows and columns exchanged."""
        swapped = {"rows": "columns", "columns": "rows"}
        return replace(
            self,
            values=np.ascontiguousarray(self.values.T),
            row_names=self.column_names,
            column_names=self.row_names,
            annotations={swapped[mode]: found for mode, found in self.annotations.items()},
        )


@dataclass(frozen=True)
class Options:
    """How a file is to be read; None where that is to be found out. See `read_table`."""

    delimiter: str | None = None
    header: bool | None = None
    labels: str | int | bool | None = None
    columns: str | Sequence[str | int] | None = None
    exclude: str | Sequence[str | int] | None = None
    array: str | None = None
    layer: str | None = None
    absent: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    skip_rows: int = 0
    header_rows: int | None = None
    skip_footer: int = 0
    censored: str | None = None
    sheet: str | int | None = None
    long: str | Sequence[str | int] | None = None


def numbered(what: str, n: int) -> list[str]:
    """Names for what has none."""
    return [f"{what} {i}" for i in range(1, n + 1)]


def check_size(n_rows: int, n_columns: int) -> None:
    """Refuse a matrix that would fill the memory, before it does."""
    if n_rows * n_columns > MOST_ENTRIES:
        raise TableError(
            f"it holds {n_rows} x {n_columns} entries, and at most {MOST_ENTRIES:,} can be read: "
            "choose columns, or split it"
        )
    if max(n_rows, n_columns) > MOST_NAMES:
        raise TableError(
            f"it says that it is {n_rows} x {n_columns}, and at most {MOST_NAMES:,} rows or "
            "columns can be read"
        )


def shortened(text: Any) -> str:
    """Text as it may stand in a message: quoted, on one line and not long."""
    text = str(text)
    return repr(text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…")


def listed(names: Sequence[str], most: int = 5) -> str:
    """Names for a message, the first few of them."""
    shown = ", ".join(shortened(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
