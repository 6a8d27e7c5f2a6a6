"""The table that every reader returns, and what the readers share.

Reading options, unique names, selected columns, bounds on memory, and texts for messages.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# More entries than this (4 GB of floats) raise an error before they fill the memory.
MAX_ENTRIES = 500_000_000

# A file can declare rows or columns without storing any: at most this many get names.
MAX_NAMES = 10_000_000

# Characters of a text from a file that a message shows.
_MAX_QUOTED = 40

# Any part of a file may take this many bytes, plus a multiple of the matrix that is kept.
_FREE_BYTES = 1 << 26
_TIMES_MATRIX = 4

# Bytes of a Python string besides its characters, and of a reference to an object.
_STRING_BYTES = 50
REFERENCE_BYTES = 8

Selection = str | Sequence[str | int] | None


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
        How the file was read, in plain sentences.
    corner : str
        The name of the column with the row labels.
    annotations : dict
        Text or numbers about the rows and columns that are not part of the matrix:
        ``{"rows": {name: values}, "columns": {name: values}}``, one value each.
    doubts : list of str
        What may have been read wrongly, what was assumed, and the option that settles it.
    read_as : dict
        Separator, number format, encoding, header lines, labels and missing codes of a text file,
        as given or auto-detected.
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
        """Return the table with rows and columns exchanged."""
        swapped = {"rows": "columns", "columns": "rows"}
        return replace(
            self,
            values=np.ascontiguousarray(self.values.T),
            row_names=self.column_names,
            column_names=self.row_names,
            annotations={swapped[mode]: found for mode, found in self.annotations.items()},
        )

    def with_columns(self, columns: Selection, exclude: Selection) -> "Table":
        """Return the table with the selected columns only (see `select_columns`)."""
        if columns is None and exclude is None:
            return self
        kept = select_columns(self.column_names, columns, exclude)
        of_columns = {
            name: [values[j] for j in kept]
            for name, values in self.annotations.get("columns", {}).items()
        }
        return replace(
            self,
            values=self.values[:, kept],
            column_names=[self.column_names[j] for j in kept],
            annotations={**self.annotations, **({"columns": of_columns} if of_columns else {})},
        )

    def with_unique_names(self) -> "Table":
        """Return the table with repeated names numbered, and doubts about them."""
        rows, columns = unique_names(self.row_names), unique_names(self.column_names)
        doubts = [
            describe_repeats(self.row_names, rows, "labels of rows"),
            describe_repeats(self.column_names, columns, "names of columns"),
        ]
        doubts = [*self.doubts, *filter(None, doubts)]
        return replace(self, row_names=rows, column_names=columns, doubts=doubts)


@dataclass(frozen=True)
class Options:
    """How to read a file; None means auto-detected. See `read_table`."""

    delimiter: str | None = None
    header: bool | None = None
    labels: str | int | bool | None = None
    columns: Selection = None
    exclude: Selection = None
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
    long: Selection = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and not 1 <= len(self.delimiter) <= 3:
            raise TableError(f"delimiter must be one to three characters, got {self.delimiter!r}")
        for name, allowed in (
            ("absent", ("missing", "zero")),
            ("decimal", (".", ",")),
            ("thousands", (".", ",", " ", "'")),
            ("censored", ("limit", "missing")),
        ):
            value = getattr(self, name)
            if value is not None and value not in allowed:
                choices = " or ".join(f'"{choice}"' for choice in allowed)
                raise TableError(f"{name} must be {choices}, got {value!r}")
        if self.decimal is not None and self.decimal == self.thousands:
            raise TableError(f"decimal and thousands must differ, got {self.decimal!r} for both")
        for name in ("skip_rows", "skip_footer", "header_rows"):
            number = getattr(self, name)
            if number is not None and number < 0:
                raise TableError(f"{name} must be a number of lines, got {number}")


@contextmanager
def reading_errors(kind: str) -> Iterator[None]:
    """Turn whatever a library raises on a damaged file into a TableError."""
    try:
        yield
    except (TableError, PermissionError, FileNotFoundError):
        raise
    except MemoryError as error:
        raise TableError("there is not enough memory to read it") from error
    except Exception as error:
        raise TableError(f"not {kind} that can be read: {error}") from error


# Texts for messages.


def quote(text: Any) -> str:
    """Return a text from a file for a message: quoted, on one line, shortened."""
    text = str(text)
    return repr(text if len(text) <= _MAX_QUOTED else text[: _MAX_QUOTED - 1] + "…")


def quote_list(names: Sequence[str], most: int = 5) -> str:
    """Return the first few names for a message, and how many more there are."""
    shown = ", ".join(quote(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


# Names.


def default_names(what: str, n: int) -> list[str]:
    """Return "row 1", "row 2", ... for rows or columns without names."""
    return [f"{what} {i}" for i in range(1, n + 1)]


def unique_names(names: Sequence[str]) -> list[str]:
    """Return the names, with " (2)", " (3)" and so on appended to repeats."""
    taken = set(names)
    if len(taken) == len(names):
        return list(names)
    seen: set[str] = set()
    next_number: dict[str, int] = {}
    unique = []
    for name in names:
        new = name
        if name in seen:
            number = next_number.get(name, 2)
            while f"{name} ({number})" in taken:
                number += 1
            new = f"{name} ({number})"
            next_number[name] = number + 1
            taken.add(new)
        seen.add(name)
        unique.append(new)
    return unique


def describe_repeats(names: Sequence[str], unique: Sequence[str], what: str) -> str | None:
    """Return a sentence about the names that were numbered, or None."""
    renamed = [(name, new) for name, new in zip(names, unique, strict=True) if name != new]
    if not renamed:
        return None
    repeated = list(dict.fromkeys(name for name, _ in renamed))
    return (
        f"{what} that occur more than once: {quote_list(repeated)}; the repeats were numbered, as "
        f"in {renamed[0][1]!r}"
    )


# Selected columns.


def find_name(names: Sequence[str], wanted: str | int, what: str = "column") -> int:
    """Return the index of a column or sheet given by its name or its number from 1."""
    if wanted in names:
        return list(names).index(str(wanted))
    if str(wanted).isdecimal() and 1 <= int(wanted) <= len(names):
        return int(wanted) - 1
    raise TableError(f"there is no {what} {quote(wanted)}; there are {quote_list(names)}")


def select_columns(names: Sequence[str], columns: Selection, exclude: Selection) -> list[int]:
    """Return the indices of the columns asked for and not excluded, in the order of the file.

    Both selections hold names, numbers from 1, and ranges of either; names take precedence.
    """
    chosen = set(range(len(names))) if columns is None else _selected(names, columns)
    if exclude is not None:
        chosen -= _selected(names, exclude)
    if not chosen:
        raise TableError("no column is left of those asked for (--columns, --exclude)")
    return sorted(chosen)


def split_list(text: str) -> list[str]:
    """Return the comma-separated parts of a text; parts with a comma in them are quoted."""
    return next(csv.reader([text], skipinitialspace=True), [])


def format_ranges(indices: Sequence[int]) -> str:
    """Return indices the way `--columns` takes them: "2-5,7"."""
    runs: list[list[int]] = []
    for index in sorted(indices):
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(f"{a + 1}-{b + 1}" if b > a else f"{a + 1}" for a, b in runs)


def _selected(names: Sequence[str], wanted: str | Sequence[str | int]) -> set[int]:
    # Names match as written, and without the blanks around them.
    by_name = {name.strip(): j for j, name in reversed(list(enumerate(names)))}
    by_name.update({name: j for j, name in enumerate(names)})
    selected: set[int] = set()
    for item in split_list(wanted) if isinstance(wanted, str) else wanted:
        span = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", str(item))
        if isinstance(item, str) and item in by_name:
            selected.add(by_name[item])
        elif span:
            first, last = int(span[1]), int(span[2] or span[1])
            if not 1 <= first <= last <= len(names):
                raise TableError(f"columns {quote(item)}: the file has columns 1 to {len(names)}")
            selected.update(range(first - 1, last))
        elif ends := _named_range(by_name, str(item)):
            selected.update(range(ends[0], ends[1] + 1))
        else:
            raise TableError(
                f"there is no column named {quote(item)}; there are {quote_list(names)}"
            )
    return selected


def _named_range(by_name: dict[str, int], item: str) -> tuple[int, int] | None:
    """Return the first and last index of a range of names such as Q1-Q30, or None."""
    for dash in (at for at, sign in enumerate(item) if sign in "-\u2013"):
        first, last = item[:dash].strip(), item[dash + 1 :].strip()
        if first in by_name and last in by_name:
            if by_name[first] > by_name[last]:
                raise TableError(
                    f"columns {quote(item)}: {quote(last)} comes before {quote(first)}"
                )
            return by_name[first], by_name[last]
    return None


# Bounds on memory.


def check_size(n_rows: int, n_columns: int) -> None:
    """Raise an error for a matrix that would fill the memory, before it does."""
    if n_rows * n_columns > MAX_ENTRIES:
        raise TableError(
            f"it has {n_rows} x {n_columns} entries, and at most {MAX_ENTRIES:,} can be read: "
            "select columns, or split it"
        )
    if max(n_rows, n_columns) > MAX_NAMES:
        raise TableError(
            f"it declares {n_rows} x {n_columns} entries, and at most {MAX_NAMES:,} rows or "
            "columns can be read"
        )


def memory_bound(n_rows: int, n_columns: int) -> int:
    """Return the bytes that any part of a file may take, given the matrix of floats it yields."""
    return _FREE_BYTES + _TIMES_MATRIX * 8 * n_rows * n_columns


def check_bytes(name: str, n_bytes: int, bound: int) -> None:
    """Raise an error for a part of a file that takes more bytes than the bound."""
    if n_bytes > bound:
        raise TableError(
            f"{quote(name)} takes {n_bytes:,} bytes, and at most {bound:,} are read for a matrix "
            "of this size: shorten it, or leave it out"
        )


class MemoryBudget:
    """Bytes left for texts and annotations; an error is raised when they are used up."""

    def __init__(self, bound: int):
        self.left = self._bound = bound

    def take(self, name: str, n_bytes: int) -> None:
        """Subtract bytes."""
        self.left -= n_bytes
        if self.left < 0:
            check_bytes(name, self._bound - self.left, self._bound)

    def take_texts(self, name: str, texts: list[str]) -> None:
        """Subtract the bytes of strings, each an object of its own."""
        self.take(name, sum(map(len, texts)) + len(texts) * (_STRING_BYTES + REFERENCE_BYTES))
