"""The rows of a table, read one by one: numbers, words and labels."""

import math
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from ._cells import (
    TRUTHS,
    NumberFormat,
    as_text,
    is_numeric,
    limit_in,
    number_in,
    percentage_in,
)
from ._layout import Layout, is_comment
from ._marks import MarkEvidence
from ._missing import Missing
from ._sources import Record
from ._table import Array, TableError, check_size, listed, numbered, shortened

# Spellings of missing cells that are looked up before a cell is read as a number.
_MOST_SPELLINGS = 1000

_FOOTER = re.compile(
    r"\W*(sources?|notes?|footnotes?|quellen?|legend|abbreviations?|copyright|total|totals|sum)\b",
    re.IGNORECASE,
)
_TOTAL = re.compile(
    r"\W*(grand )?(total|totals|sum|mean|average|summe|mittelwert)\W*", re.IGNORECASE
)


@dataclass(frozen=True)
class Plan:
    """How the records of a table are to be read.

    `roles` says of each column that is read whether it holds a number, a truth, text or the key
    of an entry; `settled` whether the number format is certain.
    """

    layout: Layout
    roles: dict[int, str]
    style: NumberFormat
    settled: bool
    censored: str | None = None

    def places(self, *roles: str) -> list[int]:
        """The columns of some roles, in the order of the file."""
        return [place for place, role in self.roles.items() if role in roles]


@dataclass
class Stray:
    """Cells of a column that are not what the others are: the first one, and how many."""

    line: int
    cell: str
    count: int = 0


class Body:
    """The rows that were read, and what was met on the way."""

    def __init__(self, plan: Plan, missing: Missing):
        self.plan, self._missing = plan, missing
        missing.seen.clear()
        self.number_places = plan.places("number")
        self._truth_places = plan.places("truth")
        self.row_names: list[str] = []
        self.n_rows = 0
        self.texts: dict[int, list[str]] = {place: [] for place in plan.places("text", "key")}
        self.strays: dict[int, Stray] = {}
        self.n_percent: Counter[int] = Counter()
        self.n_limits: Counter[int] = Counter()
        self.grouped: str | None = None
        self.n_empty_rows = self.n_comments = 0
        self.footers: list[tuple[int, str]] = []
        # Cells in another number format, or points that nothing has settled.
        self.evidence = MarkEvidence()
        self.has_other_format = False
        self._settled = plan.settled
        self._numbers, self._truths = array("d"), array("d")
        self._spellings: dict[Any, str] = {"": "nan"}
        self._words: dict[str, str] = {}
        self._n_pending_rows = self._n_footer_rows = 0

    def read(self, records: Iterable[Record]) -> None:
        """Read all records of data."""
        n_columns, label = self.plan.layout.n_columns, self.plan.layout.label_column
        take = _taker(self.number_places)
        for number, record in records:
            if len(record) != n_columns:
                fitted = self._to_length(record, number)
                if fitted is None:
                    continue
                record = fitted
            if not any(record):
                self._add_empty(label)
                continue
            if label is not None and self._is_footer_row(record, label):
                self.footers.append((number, as_text(record[label])))
                self._n_footer_rows += 1
                continue
            if self.footers or self._n_pending_rows:
                self._go_on_after_gap()
            if label is not None:
                name = as_text(record[label])
                self.row_names.append(name or f"row {self.n_rows + 1}")
            self._add_numbers(take(record), number)
            if self._truth_places:
                self._add_truths(record, number)
            for place, texts in self.texts.items():
                texts.append(self._word(record[place], self.plan.roles[place]))
            self.n_rows += 1
            check_size(self.n_rows, len(self.plan.roles))

    # Rows that are not data.

    def _to_length(self, record: list[Any], number: int) -> list[Any] | None:
        """A record without empty cells that trail it; None if it is a remark."""
        layout = self.plan.layout
        if not any(record):
            return None
        if len(record) > layout.n_columns and not any(record[layout.n_columns :]):
            return record[: layout.n_columns]
        if is_comment(record):
            self.n_comments += 1
            return None
        if _is_footer(record):
            self.footers.append((number, " ".join(as_text(cell) for cell in record if cell)))
            return None
        like = "the header" if layout.header else "the first line"
        raise TableError(
            f"{layout.line} {number} has {len(record)} cells, {like} has {layout.n_columns}: every "
            "line needs the same number; a cell that holds the delimiter must be quoted. Lines "
            "before the table: --skip-rows; lines after it: --skip-footer"
        )

    def _add_empty(self, label: int | None) -> None:
        if label is not None:
            self.n_empty_rows += 1
        else:
            self._n_pending_rows += 1

    def _is_footer_row(self, record: list[Any], label: int) -> bool:
        """Whether a row has a remark in place of its label, and nothing else."""
        name = record[label]
        return (
            isinstance(name, str)
            and len(name) > 4
            and _FOOTER.match(name) is not None
            and not any(cell for place, cell in enumerate(record) if place != label)
        )

    def _go_on_after_gap(self) -> None:
        """Data follow: remarks before were no footer, and rows without a value are rows."""
        if len(self.footers) == self._n_footer_rows:
            self._n_pending_rows += self._n_footer_rows
            self.row_names.extend(text for _, text in self.footers)
            self.footers, self._n_footer_rows = [], 0
        else:
            number, text = self.footers[0]
            raise TableError(
                f"{self.plan.layout.line} {number} is not a row of the table: {shortened(text)}. "
                "Delete it, or begin it with #"
            )
        for _ in range(self._n_pending_rows):
            self._numbers.extend([math.nan] * len(self.number_places))
            self._truths.extend([math.nan] * len(self._truth_places))
            for texts in self.texts.values():
                texts.append("")
            self._missing.seen[""] += len(self.number_places) + len(self._truth_places)
            self.n_rows += 1
        self._n_pending_rows = 0

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
            if self.plan.style.decimal == ",":
                if "." in joined:
                    raise ValueError
                plain = "\n".join(plain).replace(",", ".").split("\n")
            elif not self._settled and "." in joined:
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
        for place, cell in zip(self.number_places, cells, strict=True):
            self._numbers.append(self._number(cell, place, number))

    def _look_at_points(self, cells: Sequence[str], number: int) -> None:
        record = [""] * self.plan.layout.n_columns
        for place, cell in zip(self.number_places, cells, strict=True):
            record[place] = cell
        self.evidence.add_record(number, record, self.number_places)
        self._settled = self.evidence.is_settled

    def _number(self, cell: Any, place: int, line: int) -> float:
        """The number in a cell; NaN for a missing one and for one that is not a number."""
        if isinstance(cell, float):
            return cell
        if self._missing.is_missing(cell):
            if len(self._spellings) < _MOST_SPELLINGS:
                self._spellings[cell] = "nan"
            self._missing.count(cell)
            return math.nan
        style = self.plan.style
        value = number_in(cell, style)
        if value is not None:
            if math.isinf(value):
                raise TableError(
                    f"{self._where(line, place)}: {shortened(cell)} is infinite: leave such "
                    "entries empty, or correct them"
                )
            if (
                self.grouped is None and number_in(cell, NumberFormat(style.decimal, "_")) is None
            ) or (self.grouped is None and any(mark in cell.strip() for mark in " \u00a0\u202f'")):
                self.grouped = cell.strip()
            return value
        value = percentage_in(cell, style)
        if value is not None:
            self.n_percent[place] += 1
            return value
        value = limit_in(cell, style)
        if value is not None and self.plan.censored is not None:
            self.n_limits[place] += 1
            if self.plan.censored == "limit":
                return value
            self._missing.count(cell)
            return math.nan
        self.has_other_format |= value is None and is_numeric(cell)
        self._add_stray(cell, place, line)
        return math.nan

    def _add_truths(self, record: Sequence[Any], line: int) -> None:
        for place in self._truth_places:
            cell = record[place]
            value = TRUTHS.get(as_text(cell).strip().lower())
            if value is None:
                value = math.nan
                if self._missing.is_missing(as_text(cell)):
                    self._missing.count(as_text(cell))
                else:
                    self._add_stray(as_text(cell), place, line)
            self._truths.append(value)

    def _add_stray(self, cell: str, place: int, line: int) -> None:
        self.strays.setdefault(place, Stray(line, cell)).count += 1

    def _word(self, cell: Any, role: str) -> str:
        """A cell of an annotation or a key; equal ones are kept once."""
        text = as_text(cell).strip()
        if role == "text" and self._missing.is_code(text):
            text = ""
        return self._words.setdefault(text, text)

    def _where(self, line: int, place: int) -> str:
        layout = self.plan.layout
        return f"{layout.line} {line}, column {place + 1} ({shortened(layout.names[place])})"

    # Results.

    def values(self) -> tuple[Array, list[int]]:
        """The matrix, and the places of its columns in the file."""
        numbers = _as_matrix(self._numbers, self.n_rows, len(self.number_places))
        if not self._truth_places:
            return numbers, self.number_places
        truths = _as_matrix(self._truths, self.n_rows, len(self._truth_places))
        places = np.array([*self.number_places, *self._truth_places])
        order = np.argsort(places)
        return np.hstack([numbers, truths])[:, order], places[order].tolist()

    def labels(self) -> list[str]:
        return self.row_names or numbered("row", self.n_rows)

    def remarks(self) -> tuple[list[str], list[str]]:
        """Notes and doubts about rows that were left out, or perhaps should have been."""
        notes, doubts = [], []
        n_empty = self.n_empty_rows + self._n_pending_rows
        if n_empty:
            notes.append(f"Empty rows left out: {n_empty:,}.")
        if self.n_comments:
            notes.append(f"Comment lines left out: {self.n_comments:,}.")
        if self.footers:
            shown = listed([text for _, text in self.footers], 3)
            doubts.append(
                f"{self.plan.layout.line} {self.footers[0][0]} and what follows were left out as "
                f"remarks: {shown}; --skip-footer {len(self.footers)} says so"
            )
        if self.row_names and _TOTAL.fullmatch(self.row_names[-1]):
            doubts.append(
                f"the last row is called {shortened(self.row_names[-1])} and was read as data; "
                "to leave it out: --skip-footer 1"
            )
        return notes, doubts


def _as_matrix(numbers: "array[float]", n_rows: int, n_columns: int) -> Array:
    """The numbers as a matrix, without a copy."""
    if not n_columns:
        return np.empty((n_rows, 0))
    return np.frombuffer(numbers, dtype=float).reshape(n_rows, n_columns)


def _taker(places: Sequence[int]) -> Callable[[list[Any]], Sequence[Any]]:
    """A function that takes the cells at these places from a record."""
    if not places:
        return lambda _record: ()
    if list(places) == list(range(places[0], places[-1] + 1)):
        return itemgetter(slice(places[0], places[-1] + 1))
    return itemgetter(*places)


def _is_footer(record: Sequence[Any]) -> bool:
    """Whether a record of another length is a remark and not a damaged row."""
    filled = [cell for cell in record if not isinstance(cell, str) or cell.strip()]
    first = filled[0] if filled and isinstance(filled[0], str) else ""
    if _FOOTER.match(first) or first.lstrip().startswith("*"):
        return True
    is_text = all(isinstance(cell, str) and not is_numeric(cell) for cell in filled)
    return is_text and " " in first.strip()
