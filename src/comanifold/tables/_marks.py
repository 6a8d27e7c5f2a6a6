"""What the cells of a file tell about its decimal and thousands marks."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ._cells import (
    APOSTROPHES,
    BLANKS,
    COMMAS,
    POINTS,
    NumberFormat,
    without_accounting,
)
from ._table import Options, TableError, shortened

_NUMBER = re.compile(
    rf"[+\-\u2212\u2013]?([0-9][0-9.,{BLANKS}{APOSTROPHES}]*|[.,][0-9]+)([eE][+-]?[0-9]+)?"
)
_BLANK_GROUP = re.compile(rf"(?<=[0-9])[{BLANKS}{APOSTROPHES}](?=[0-9]{{3}}(?![0-9]))")
_GROUPS = {mark: re.compile(rf"[1-9][0-9]{{0,2}}(?:\{mark}[0-9]{{3}})+") for mark in ",."}
# Cells that settle the marks of a sample.
_ENOUGH = 500

_OTHER = {",": ".", ".": ","}
_FORMATS = {",": COMMAS, ".": POINTS}


@dataclass
class _Column:
    """Cells of a column that could be thousands or decimals, and its plain integers."""

    n_grouped: int = 0
    ends_with_zero: bool = False
    n_plain: int = 0
    n_plain_large: int = 0

    def mixes(self) -> bool:
        """Whether it mixes grouped cells with integers below 1000, as thousands would."""
        return bool(self.n_grouped and self.n_plain and not self.n_plain_large)


@dataclass(frozen=True)
class Verdict:
    """The number format of a file, and what may be wrong about it."""

    style: NumberFormat
    settled: bool
    doubt: str | None = None


class MarkEvidence:
    """Counts, over cells, of what speaks for a decimal mark and for a thousands mark."""

    def __init__(self) -> None:
        self._decimal: Counter[str] = Counter()
        self._thousands: Counter[str] = Counter()
        self._columns: dict[tuple[str, int], _Column] = {}
        self._plain: dict[int, _Column] = {}
        self._examples: dict[str, tuple[int, int, str]] = {}

    def add_record(self, line: int, record: Sequence[object], places: Iterable[int]) -> None:
        for place in places:
            cell = record[place] if place < len(record) else ""
            # Spreadsheets hold numbers that are none of our business to interpret.
            if isinstance(cell, str) and cell:
                self._add(line, place, cell)

    def _add(self, line: int, place: int, cell: str) -> None:
        found = _NUMBER.fullmatch(
            without_accounting(cell).strip().lstrip("<>=\u2264\u2265 ").removesuffix("%")
        )
        if found is None:
            return
        digits = _BLANK_GROUP.sub("", found[1].rstrip(BLANKS))
        was_grouped = digits != found[1]
        n_commas, n_points = digits.count(","), digits.count(".")
        if not n_commas and not n_points:
            if not was_grouped and not found[2]:
                column = self._plain.setdefault(place, _Column())
                column.n_plain += 1
                column.n_plain_large += len(digits.lstrip("0")) > 3
        elif n_commas and n_points:
            last = max(digits, key=lambda sign: digits.rfind(sign) if sign in ",." else -1)
            head = digits.rpartition(last)[0]
            if _GROUPS[_OTHER[last]].fullmatch(head):
                self._decimal[last] += 1
                self._thousands[_OTHER[last]] += 1
        else:
            self._add_one_mark(line, place, cell, digits, bool(was_grouped or found[2]))

    def _add_one_mark(self, line: int, place: int, cell: str, digits: str, decimal: bool) -> None:
        mark = "," if "," in digits else "."
        is_grouped = _GROUPS[mark].fullmatch(digits) is not None
        if digits.count(mark) > 1:
            self._thousands[mark] += is_grouped and not decimal
        elif decimal or not is_grouped:
            self._decimal[mark] += 1
        else:
            column = self._columns.setdefault((mark, place), _Column())
            column.n_grouped += 1
            column.ends_with_zero |= digits.endswith("0")
            self._examples.setdefault(mark, (line, place, cell.strip()))

    @property
    def is_settled(self) -> bool:
        """Whether a cell can be read in one way only, and so tells the marks of the file."""
        return bool(self._decimal or self._thousands)

    @property
    def is_enough(self) -> bool:
        """Whether so many cells agree that more of a sample need not be looked at."""
        return sum(self._decimal.values()) + sum(self._thousands.values()) > _ENOUGH

    @property
    def is_ambiguous(self) -> bool:
        """Whether there are cells such as 1,500 and nothing settles what they are."""
        return bool(self._columns) and not self.is_settled

    def decide(self, options: Options, names: Sequence[str]) -> Verdict:
        """The number format of the file; an error where the cells do not tell it."""
        told = self._told(options)
        if told is not None:
            return Verdict(told, settled=True)
        for_points = self._decimal["."] + self._thousands[","]
        for_commas = self._decimal[","] + self._thousands["."]
        if for_points or for_commas:
            return Verdict(COMMAS if for_commas > for_points else POINTS, settled=True)
        marks = sorted({mark for mark, _ in self._columns})
        if not marks:
            return Verdict(POINTS, settled=False)
        if len(marks) == 2:
            raise TableError(
                f"{self._where(',', names)} and {self._where('.', names)}: which mark is the "
                "decimal one cannot be told: say --decimal , or --decimal ."
            )
        return self._decide_ambiguous(marks[0], names)

    def _told(self, options: Options) -> NumberFormat | None:
        if options.decimal is not None:
            return _FORMATS[options.decimal]
        if options.thousands in _OTHER:
            return _FORMATS[_OTHER[options.thousands]]
        return None

    def _decide_ambiguous(self, mark: str, names: Sequence[str]) -> Verdict:
        mixed = self._mixed_columns(mark)
        where = self._where(mark, names)
        certain = any(column.ends_with_zero for column in mixed)
        if mixed and (mark == "," or certain):
            doubt = (
                f"{where} was read as thousands, because integers below 1000 stand in the same "
                f"column; if it is a decimal mark: --decimal {mark}"
            )
            return Verdict(_FORMATS[_OTHER[mark]], settled=False, doubt=doubt)
        if mark == ",":
            raise TableError(
                f"{where} can be thousands or decimals, and nothing in the file tells which: say "
                "--thousands , or --decimal ,"
            )
        doubt = (
            f"{where} was read with a decimal point, as every number with a point in this file "
            "has three digits after it; if points group thousands: --thousands ."
        )
        return Verdict(POINTS, settled=False, doubt=doubt)

    def _mixed_columns(self, mark: str) -> list[_Column]:
        mixed = []
        for (its_mark, place), column in self._columns.items():
            if its_mark == mark and place in self._plain:
                plain = self._plain[place]
                both = _Column(
                    column.n_grouped, column.ends_with_zero, plain.n_plain, plain.n_plain_large
                )
                if both.mixes():
                    mixed.append(both)
        return mixed

    def _where(self, mark: str, names: Sequence[str]) -> str:
        line, place, cell = self._examples[mark]
        return f"line {line}, column {place + 1} ({shortened(names[place])}): {shortened(cell)}"
