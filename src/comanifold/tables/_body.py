"""The rows of a table, read one by one: numbers, words and labels."""

import math
import re
from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from sys import getsizeof
from typing import Any

import numpy as np

from ._cells import (
    TRUTHS,
    NumberFormat,
    as_text,
    is_numeric,
    limit_in,
    negative_in,
    number_in,
    percentage_in,
    without_accounting,
)
from ._layout import Layout, is_comment
from ._marks import MarkEvidence
from ._memory import check_bytes, memory_bound
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

# As Excel writes dates that it has made of names.
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}|(?:[0-9]{1,2}-)?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
    r"(?:-[0-9]{2})?",
    re.IGNORECASE,
)

# Rows at the end that are looked at for remarks.
_MOST_REMARKS = 20

# Bytes of a text that are not counted: labels are rarely longer.
_USUAL_TEXT = 200


# Words of columns that say yes and no, and the numbers that may stand among them.
_TRUTHS = {**TRUTHS, "1": 1.0, "0": 0.0}


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
        self.n_negative: Counter[int] = Counter()
        self.negative: str | None = None
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
        self._long_bytes = self._n_unnamed = 0
        self._last: deque[list[Any]] = deque(maxlen=_MOST_REMARKS)

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
                if len(name) > _USUAL_TEXT:
                    self._count_long(name)
                self._n_unnamed += not name
                self.row_names.append(name or f"row {self.n_rows + 1}")
            self._add_numbers(take(record), number)
            if self._truth_places:
                self._add_truths(record, number)
            for place, texts in self.texts.items():
                texts.append(self._word(record[place], self.plan.roles[place]))
            self.n_rows += 1
            self._last.append(record)
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
        value = negative_in(cell, style)
        if value is not None:
            self.n_negative[place] += 1
            self.negative = self.negative or cell.strip()
            return value
        value = limit_in(cell, style)
        if value is not None and self.plan.censored is not None:
            self.n_limits[place] += 1
            if self.plan.censored == "limit":
                return value
            self._missing.count(cell)
            return math.nan
        self.has_other_format |= value is None and is_numeric(without_accounting(cell))
        self._add_stray(cell, place, line)
        return math.nan

    def _add_truths(self, record: Sequence[Any], line: int) -> None:
        for place in self._truth_places:
            cell = record[place]
            value = _TRUTHS.get(as_text(cell).strip().lower())
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
        if len(text) > _USUAL_TEXT and text not in self._words:
            self._count_long(text)
        return self._words.setdefault(text, text)

    def _count_long(self, text: str) -> None:
        """Refuse long texts that take many times the memory of the matrix."""
        self._long_bytes += getsizeof(text)
        n_columns = len(self.plan.roles)
        check_bytes("long text", self._long_bytes, memory_bound(self.n_rows + 1, n_columns))

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
                f"remarks: {shown}; to say that they are: --skip-footer {len(self.footers)}"
            )
        doubts += [*self._about_labels(), *self._about_totals()]
        n_blank = self._count_blank_at_end()
        if n_blank:
            name = shortened(self.row_names[-n_blank])
            last = "the last row" if n_blank == 1 else f"the last {n_blank:,} rows"
            doubts.append(
                f"{last} ({name}) {'has' if n_blank == 1 else 'have'} a label and nothing else; if "
                f"{'it is a remark' if n_blank == 1 else 'they are remarks'}: "
                f"--skip-footer {n_blank + len(self.footers)}"
            )
        return notes, doubts

    def _about_labels(self) -> list[str]:
        """Doubts about labels that are empty, or that a spreadsheet has turned into dates."""
        doubts = []
        if self._n_unnamed:
            doubts.append(
                f"{self._n_unnamed:,} of {self.n_rows:,} rows have no label and were numbered; if "
                "another column has the labels: --labels COLUMN"
            )
        dates = [name for name in self.row_names if _DATE.fullmatch(name)]
        if 0 < len(dates) < len(self.row_names) / 2:
            doubts.append(
                f"{len(dates):,} labels of rows look like dates among names ({listed(dates, 3)}): "
                "spreadsheets turn names such as SEPT1 into dates; correct them in the file"
            )
        return doubts

    def _about_totals(self) -> list[str]:
        """Doubts about rows that summarise the others."""
        names = self.row_names
        n_last = 0
        while n_last < len(names) and (
            _TOTAL.fullmatch(names[-1 - n_last]) or _SUMMARY.fullmatch(names[-1 - n_last])
        ):
            n_last += 1
        if not any(_TOTAL.fullmatch(name) for name in names[len(names) - n_last :]):
            n_last = 0
        doubts = []
        if n_last:
            called = listed(names[-n_last:], 3)
            which = "row is" if n_last == 1 else f"{n_last:,} rows are"
            them = "it" if n_last == 1 else "them"
            doubts.append(
                f"the last {which} called {called} and {'was' if n_last == 1 else 'were'} read as "
                f"data; to leave {them} out: --skip-footer {n_last + len(self.footers)}"
            )
        inside = [name for name in names[: len(names) - n_last] if _TOTAL.fullmatch(name)]
        if inside and len(inside) < len(names) / 2:
            one = len(inside) == 1
            called = listed(list(dict.fromkeys(inside)), 3)
            doubts.append(
                f"{'a row is' if one else f'{len(inside):,} rows are'} called {called} and "
                f"{'was' if one else 'were'} read as data; if {'it sums' if one else 'they sum'} "
                f"up others, delete {'it' if one else 'them'} from the file"
            )
        return doubts

    def _count_blank_at_end(self) -> int:
        """The number of last rows that have a label and empty cells."""
        label = self.plan.layout.label_column
        if label is None:
            return 0
        others = [
            any(cell != "" for place, cell in enumerate(record) if place != label)
            for record in reversed(self._last)
        ]
        count = others.index(True) if True in others else len(others)
        return count if count < self.n_rows else 0


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


def is_total(name: str) -> bool:
    """Whether a row or column is named as totals and means are."""
    return _TOTAL.fullmatch(name) is not None


def _is_footer(record: Sequence[Any]) -> bool:
    """Whether a record of another length is a remark and not a damaged row."""
    filled = [cell for cell in record if not isinstance(cell, str) or cell.strip()]
    first = filled[0] if filled and isinstance(filled[0], str) else ""
    if _FOOTER.match(first) or first.lstrip().startswith("*"):
        return True
    is_text = all(isinstance(cell, str) and not is_numeric(cell) for cell in filled)
    return is_text and " " in first.strip()
