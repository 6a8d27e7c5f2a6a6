"""The data rows of a table of cells, parsed one by one: numbers, booleans, text and labels."""

import math
import re
from array import array
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from operator import itemgetter
from sys import getsizeof
from typing import Any

import numpy as np

from ._layout import Layout, is_comment
from ._numbers import (
    BOOLEANS,
    FormatDecision,
    FormatEvidence,
    MissingCodes,
    NumberFormat,
    as_text,
    is_numeric,
    parse_number,
    parse_special,
    strip_accounting,
)
from ._table import (
    Array,
    TableError,
    check_bytes,
    check_size,
    default_names,
    memory_bound,
    quote,
    quote_list,
)
from ._text import Record

# Spellings of missing cells that are looked up before a cell is parsed as a number.
_MAX_SPELLINGS = 1000

_FOOTER = re.compile(
    r"\W*(sources?|notes?|footnotes?|quellen?|legend|abbreviations?|copyright|total|totals|sum)\b",
    re.IGNORECASE,
)
_TOTAL = re.compile(
    r"\W*((grand|sub)?[ -]?totals?|sum|mean|average|median|(gesamt)?summe|gesamt|insgesamt"
    r"|mittelwert|durchschnitt|(total g[ée]n[ée]ral|somme|moyenne|totale|totaal|promedio))\W*",
    re.IGNORECASE,
)
# What stands below or above a mean, too.
_SUMMARY = re.compile(
    r"\W*(sd|s\.d\.|sem?|std\.?( ?dev\.?)?|standard deviation|n|min|max|minimum|maximum|count"
    r"|variance|stabw)\W*",
    re.IGNORECASE,
)
# Dates as Excel writes them after it has converted names.
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}|(?:[0-9]{1,2}-)?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
    r"(?:-[0-9]{2})?",
    re.IGNORECASE,
)

# Rows at the end that are checked for remarks.
_MAX_REMARKS = 20

# Longer texts are counted against the memory bound: labels are rarely longer.
_USUAL_TEXT = 200


@dataclass(frozen=True)
class ParsingPlan:
    """How to parse the records of a table.

    `roles` maps each column that is read to "number", "boolean", "text" (an annotation) or "key"
    (of an entry in long format); `censored` is that of `read_table`.
    """

    layout: Layout
    roles: dict[int, str]
    decision: FormatDecision
    censored: str | None = None

    @property
    def number_format(self) -> NumberFormat:
        return self.decision.number_format

    def columns(self, *roles: str) -> list[int]:
        """Return the columns with these roles, in the order of the file."""
        return [column for column, role in self.roles.items() if role in roles]


@dataclass
class InvalidCells:
    """Cells of a column that do not fit its role: the first one, and how many."""

    line: int
    cell: str
    count: int = 0


class RowParser:
    """Parses data rows, and keeps their values, labels and texts and what was noticed.

    Attributes
    ----------
    row_names : list of str
        Empty if there is no column of labels.
    texts : dict
        The cells of each column of text and keys.
    invalid : dict
        `InvalidCells` by column.
    special : dict
        How often each column has a "percentage", a "negative" or a "limit" (see `parse_special`).
    examples : dict
        The first cell of each of these kinds, and the first "grouped" one, with a thousands mark.
    evidence : FormatEvidence
        Numbers with a point, as long as the number format is not certain.
    has_other_format : bool
        Whether a cell is a number in the other number format.
    """

    def __init__(self, plan: ParsingPlan, missing: MissingCodes):
        self.plan, self._missing = plan, missing
        missing.seen.clear()
        self.number_columns = plan.columns("number")
        self._boolean_columns = plan.columns("boolean")
        self.n_rows = 0
        self.row_names: list[str] = []
        self.texts: dict[int, list[str]] = {column: [] for column in plan.columns("text", "key")}
        self.invalid: dict[int, InvalidCells] = {}
        self.special: defaultdict[str, Counter[int]] = defaultdict(Counter)
        self.examples: dict[str, str] = {}
        self.evidence = FormatEvidence()
        self.has_other_format = False
        self._is_certain = plan.decision.is_certain
        self._numbers, self._booleans = array("d"), array("d")
        self._spellings: dict[Any, str] = {"": "nan"}
        self._interned: dict[str, str] = {}
        self._n_empty_rows = self._n_comments = self._n_unnamed = self._long_bytes = 0
        # Rows that are skipped only if no data follow.
        self._n_pending_rows = self._n_footer_rows = 0
        self._footers: list[tuple[int, str]] = []
        self._last: deque[list[Any]] = deque(maxlen=_MAX_REMARKS)

    def parse(self, records: Iterable[Record]) -> None:
        """Parse all records of data."""
        n_columns, label = self.plan.layout.n_columns, self.plan.layout.label_column
        take = _taker(self.number_columns)
        for number, record in records:
            if len(record) != n_columns:
                fitted = self._to_length(record, number)
                if fitted is None:
                    continue
                record = fitted
            if not any(record):
                if label is not None:
                    self._n_empty_rows += 1
                else:
                    self._n_pending_rows += 1
                continue
            if label is not None and _is_footer_row(record, label):
                self._footers.append((number, as_text(record[label])))
                self._n_footer_rows += 1
                continue
            if self._footers or self._n_pending_rows:
                self._add_pending_rows()
            if label is not None:
                name = as_text(record[label])
                if len(name) > _USUAL_TEXT:
                    self._count_long_text(name)
                self._n_unnamed += not name
                self.row_names.append(name or f"row {self.n_rows + 1}")
            self._add_numbers(take(record), number)
            for column in self._boolean_columns:
                self._booleans.append(self._boolean(as_text(record[column]), column, number))
            for column, texts in self.texts.items():
                texts.append(self._text(record[column], self.plan.roles[column]))
            self.n_rows += 1
            self._last.append(record)
            check_size(self.n_rows, len(self.plan.roles))

    def values(self) -> tuple[Array, list[int]]:
        """Return the matrix, and which columns of the file are its columns."""
        numbers = _as_matrix(self._numbers, self.n_rows, len(self.number_columns))
        if not self._boolean_columns:
            return numbers, self.number_columns
        booleans = _as_matrix(self._booleans, self.n_rows, len(self._boolean_columns))
        columns = np.array([*self.number_columns, *self._boolean_columns])
        order = np.argsort(columns)
        return np.hstack([numbers, booleans])[:, order], columns[order].tolist()

    def labels(self) -> list[str]:
        """Return the labels of the rows, or their numbers."""
        return self.row_names or default_names("row", self.n_rows)

    # Rows that are not data.

    def _to_length(self, record: list[Any], number: int) -> list[Any] | None:
        """Return a record without trailing empty cells, or None if it is a comment or a footer."""
        layout = self.plan.layout
        if not any(record):
            return None
        if len(record) > layout.n_columns and not any(record[layout.n_columns :]):
            return record[: layout.n_columns]
        if is_comment(record):
            self._n_comments += 1
            return None
        if _is_footer(record):
            self._footers.append((number, " ".join(as_text(cell) for cell in record if cell)))
            return None
        expected = "the header" if layout.header else "the first line"
        raise TableError(
            f"{layout.line} {number} has {len(record)} cells, {expected} has {layout.n_columns}: "
            "every line needs the same number; a cell that contains the delimiter must be quoted. "
            "Lines before the table: --skip-rows; lines after it: --skip-footer"
        )

    def _add_pending_rows(self) -> None:
        """Add rows without values that turned out to be rows, as data follow them."""
        if len(self._footers) > self._n_footer_rows:
            number, text = self._footers[0]
            raise TableError(
                f"{self.plan.layout.line} {number} is not a row of the table: {quote(text)}. "
                "Delete it, or begin it with #"
            )
        self.row_names.extend(text for _, text in self._footers)
        for _ in range(self._n_pending_rows + self._n_footer_rows):
            self._numbers.extend([math.nan] * len(self.number_columns))
            self._booleans.extend([math.nan] * len(self._boolean_columns))
            for texts in self.texts.values():
                texts.append("")
            self._missing.seen[""] += len(self.number_columns) + len(self._boolean_columns)
            self.n_rows += 1
        self._footers, self._n_footer_rows, self._n_pending_rows = [], 0, 0

    # Cells.

    def _add_numbers(self, cells: Sequence[Any], number: int) -> None:
        """Append the numbers of a record; cell by cell only where they are not plain."""
        spellings = self._spellings
        before = len(self._numbers)
        try:
            joined = "\n".join(cells)
            if "_" in joined:
                raise ValueError
            plain: Iterable[str] = [spellings.get(cell, cell) for cell in cells]
            if self.plan.number_format.decimal == ",":
                if "." in joined:
                    raise ValueError
                plain = "\n".join(plain).replace(",", ".").split("\n")
            elif not self._is_certain and "." in joined:
                self._look_at_points(cells, number)
            self._numbers.extend(map(float, plain))
            added = self._numbers[before:]
            total = math.fsum(added) if len(added) < 2 else sum(added)
            if total - total == 0.0:
                return
            if len(added) == len(cells) and not any(map(math.isinf, added)):
                self._missing.seen.update(filter(spellings.__contains__, cells))
                return
        except (ValueError, TypeError, OverflowError):
            pass
        del self._numbers[before:]
        for column, cell in zip(self.number_columns, cells, strict=True):
            self._numbers.append(self._number(cell, column, number))

    def _look_at_points(self, cells: Sequence[str], number: int) -> None:
        self.evidence.add(number, zip(self.number_columns, cells, strict=True))
        self._is_certain = self.evidence.is_certain

    def _number(self, cell: Any, column: int, line: int) -> float:
        """Return the number in a cell; NaN for a missing one and for one that is not a number."""
        if isinstance(cell, float):
            return cell
        if self._missing.matches(cell):
            if len(self._spellings) < _MAX_SPELLINGS:
                self._spellings[cell] = "nan"
            self._missing.count(cell)
            return math.nan
        number_format = self.plan.number_format
        value = parse_number(cell, number_format)
        if value is not None:
            if math.isinf(value):
                layout = self.plan.layout
                raise TableError(
                    f"{layout.line} {line}, {layout.column(column)}: {quote(cell)} is infinite: "
                    "leave such entries empty, or correct them"
                )
            if "grouped" not in self.examples and _is_grouped(cell, number_format):
                self.examples["grouped"] = cell.strip()
            return value
        kind, value = parse_special(cell, number_format) or ("", math.nan)
        if not kind or (kind == "limit" and self.plan.censored is None):
            self.has_other_format |= not kind and is_numeric(strip_accounting(cell))
            self._add_invalid(cell, column, line)
            return math.nan
        self.special[kind][column] += 1
        self.examples.setdefault(kind, cell.strip())
        if kind == "limit" and self.plan.censored == "missing":
            self._missing.count(cell)
            return math.nan
        return value

    def _boolean(self, cell: str, column: int, line: int) -> float:
        value = BOOLEANS.get(cell.strip().lower())
        if value is not None:
            return value
        if self._missing.matches(cell):
            self._missing.count(cell)
        else:
            self._add_invalid(cell, column, line)
        return math.nan

    def _add_invalid(self, cell: str, column: int, line: int) -> None:
        self.invalid.setdefault(column, InvalidCells(line, cell)).count += 1

    def _text(self, cell: Any, role: str) -> str:
        """Return a cell of an annotation or a key; equal ones are kept once."""
        text = as_text(cell).strip()
        if role == "text" and self._missing.matches_exactly(text):
            text = ""
        if len(text) > _USUAL_TEXT and text not in self._interned:
            self._count_long_text(text)
        return self._interned.setdefault(text, text)

    def _count_long_text(self, text: str) -> None:
        """Raise an error for long texts that take many times the memory of the matrix."""
        self._long_bytes += getsizeof(text)
        n_columns = len(self.plan.roles)
        check_bytes("long text", self._long_bytes, memory_bound(self.n_rows + 1, n_columns))

    # Notes and doubts about rows.

    def notes(self) -> list[str]:
        """Return notes on the rows that were skipped."""
        n_empty = self._n_empty_rows + self._n_pending_rows
        notes = [f"Empty rows left out: {n_empty:,}."] if n_empty else []
        if self._n_comments:
            notes.append(f"Comment lines left out: {self._n_comments:,}.")
        return notes

    def doubts(self) -> list[str]:
        """Return doubts about rows that were skipped, or perhaps should have been."""
        doubts = []
        if self._footers:
            shown = quote_list([text for _, text in self._footers], 3)
            doubts.append(
                f"{self.plan.layout.line} {self._footers[0][0]} and what follows were left out as "
                f"remarks: {shown}; to confirm that they are: --skip-footer {len(self._footers)}"
            )
        doubts += [*self._doubt_labels(), *self._doubt_totals()]
        n_blank = self._count_blank_at_end()
        if n_blank:
            doubts.append(
                "rows at the end with a label and nothing else were read as data: "
                f"{quote_list(self.row_names[-n_blank:], 3)}; if they are remarks: "
                f"--skip-footer {n_blank + len(self._footers)}"
            )
        return doubts

    def _doubt_labels(self) -> list[str]:
        """Return doubts about labels that are empty, or that a spreadsheet turned into dates."""
        doubts = []
        if self._n_unnamed:
            doubts.append(
                f"{self._n_unnamed:,} of {self.n_rows:,} rows have no label and were numbered; if "
                "another column has the labels: --labels COLUMN"
            )
        dates = [name for name in self.row_names if _DATE.fullmatch(name)]
        if 0 < len(dates) < len(self.row_names) / 2:
            doubts.append(
                f"{len(dates):,} labels of rows look like dates among names "
                f"({quote_list(dates, 3)}): spreadsheets turn names such as SEPT1 into dates; "
                "correct them in the file"
            )
        return doubts

    def _doubt_totals(self) -> list[str]:
        """Return doubts about rows that summarise others."""
        names = self.row_names
        last = list(takewhile(lambda n: is_total(n) or _SUMMARY.fullmatch(n), reversed(names)))
        n_last = len(last) if any(map(is_total, last)) else 0
        doubts = []
        if n_last:
            doubts.append(
                f"rows at the end that sum up others were read as data: "
                f"{quote_list(names[-n_last:], 3)}; to leave them out: "
                f"--skip-footer {n_last + len(self._footers)}"
            )
        inside = [name for name in names[: len(names) - n_last] if is_total(name)]
        if inside and len(inside) < len(names) / 2:
            doubts.append(
                f"rows called {quote_list(list(dict.fromkeys(inside)), 3)} were read as data; if "
                "they sum up others, delete them from the file"
            )
        return doubts

    def _count_blank_at_end(self) -> int:
        """Return the number of last rows that have a label and empty cells."""
        label = self.plan.layout.label_column
        if label is None:
            return 0
        is_blank = (
            all(cell == "" for column, cell in enumerate(record) if column != label)
            for record in reversed(self._last)
        )
        count = sum(takewhile(bool, is_blank))
        return count if count < self.n_rows else 0


def is_total(name: str) -> bool:
    """Whether a row or column is named like totals and means."""
    return _TOTAL.fullmatch(name) is not None


def _as_matrix(numbers: "array[float]", n_rows: int, n_columns: int) -> Array:
    """Return the numbers as a matrix, without a copy."""
    if not n_columns:
        return np.empty((n_rows, 0))
    return np.frombuffer(numbers, dtype=float).reshape(n_rows, n_columns)


def _taker(columns: Sequence[int]) -> Callable[[list[Any]], Sequence[Any]]:
    """Return a function that takes the cells of these columns from a record."""
    if not columns:
        return lambda _record: ()
    if list(columns) == list(range(columns[0], columns[-1] + 1)):
        return itemgetter(slice(columns[0], columns[-1] + 1))
    return itemgetter(*columns)


def _is_grouped(cell: str, number_format: NumberFormat) -> bool:
    """Whether a number has a mark between its thousands."""
    without_marks = NumberFormat(number_format.decimal, "_")
    return parse_number(cell, without_marks) is None or any(
        mark in cell.strip() for mark in " \u00a0\u202f'"
    )


def _is_footer_row(record: list[Any], label: int) -> bool:
    """Whether a row has a remark in place of its label, and nothing else."""
    name = record[label]
    return (
        isinstance(name, str)
        and len(name) > 4
        and _FOOTER.match(name) is not None
        and not any(cell for column, cell in enumerate(record) if column != label)
    )


def _is_footer(record: Sequence[Any]) -> bool:
    """Whether a record of another length is a remark and not a damaged row."""
    filled = [cell for cell in record if not isinstance(cell, str) or cell.strip()]
    first = filled[0] if filled and isinstance(filled[0], str) else ""
    if _FOOTER.match(first) or first.lstrip().startswith("*"):
        return True
    is_text = all(isinstance(cell, str) and not is_numeric(cell) for cell in filled)
    return is_text and " " in first.strip()
