"""Numbers in cells: how people write them, which marks a file uses, and what means missing."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ._table import Array, Options, TableError, quote, split_list

# Besides empty cells, in any mix of capitals. Many tables leave a cell out with a dash or a point
# alone, statistical offices with two points or a colon, and databases with \N.
DEFAULT_MISSING = (
    *("NA", "N/A", "#N/A", "n.a.", "<NA>", "NaN", "null", "None", "missing", "not available"),
    *("(null)", "\\N", "?", "-", "--", "\u2013", "\u2014", ".", "..", "...", "\u2026", ":"),
    *("#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!"),
)

# Error cells of spreadsheets are missing in columns of text, too, in any mix of capitals.
_ALWAYS_MISSING = ("", "nan", "#n/a", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!")

# Blanks of all widths and apostrophes group thousands, whatever the decimal mark.
_BLANKS = " \u00a0\u2007\u2009\u202f"
_APOSTROPHES = "'\u2019"
_MINUS_SIGNS = "\u2212\u2013\ufe63\uff0d"
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"))

_LIMIT = re.compile(r"(<=|>=|<|>|\u2264|\u2265)\s*(?=[0-9.,+\-])")
_NEGATIVE = re.compile(r"\(\s*([0-9.,][^()+\-]*)\)|([0-9.,][^()+\-]*)-")

# Words of boolean columns, in any mix of capitals.
_TRUE = ("1", "yes", "y", "true", "t", "ja", "wahr", "oui", "vrai", "checked")
_FALSE = ("0", "no", "n", "false", "f", "nein", "falsch", "non", "faux", "unchecked")
BOOLEANS = {**dict.fromkeys(_TRUE, 1.0), **dict.fromkeys(_FALSE, 0.0)}
# A single letter is a boolean only if its opposite is in the same column.
_BOOLEAN_LETTERS = ({"y", "n"}, {"t", "f"})

_UNITS = (
    r"(?:[nµuμmcdkMG]?(?:m|g|l|L|s|V|A|W|Hz|Pa|mol|M|J|N|eV|bp|b|B)[²³23]?"
    r"|min|h|hr|hrs|d|days?|weeks?|months?|years?|yrs?|sec|°[CF]?|K|%|‰|ppm|ppb|bar|dB|rpm|cal|kcal"
    r"|mmHg|IU|U|a\.u\.|px|EUR|USD|GBP|CHF)"
)
_UNIT = re.compile(rf"{_UNITS}(?:\s*[/·*]\s*(?:[0-9.]+\s*)?{_UNITS})*")
_BRACKETED = re.compile(r"\(.{1,20}\)|\[.{1,20}\]")
_AMOUNT = re.compile(
    rf"(?:[$€£¥₹]|EUR|USD|GBP|CHF)\s*[+-]?[0-9][0-9.,]*"
    rf"|[+-]?[0-9][0-9.,]*\s*(?:[$€£¥₹]|{_UNITS}(?:/{_UNITS})?)"
)
# A number with an error, an interval, a footnote or a meaning, which cannot be read as one.
_ANNOTATED = re.compile(
    r"[+-]?[0-9]+(?:[.,][0-9]+)?\s*"
    r"(?:(?:±|\+/-|\+-)\s*[0-9.,]+|[(\[].*[)\]]|[a-zA-Z*†‡§]{1,2}|/\s*[0-9]+|[-=:]\s+\w.*)"
)


@dataclass(frozen=True)
class NumberFormat:
    """The decimal mark of a file, and the mark that may group thousands."""

    decimal: str = "."
    thousands: str = ","


POINTS = NumberFormat(".", ",")
COMMAS = NumberFormat(",", ".")
_FORMATS = {".": POINTS, ",": COMMAS}


# The number in one cell.


def parse_number(cell: str, number_format: NumberFormat = POINTS) -> float | None:
    """Return the number in a cell, or None."""
    # Python reads "1_000" as a number; nobody else does.
    if number_format.decimal == "." and "_" not in cell:
        try:
            return float(cell)
        except ValueError:
            pass
    text = cell.strip()
    if not text.isascii():
        text = _to_ascii(text, number_format)
    found = _number_pattern(number_format.decimal, number_format.thousands).fullmatch(text)
    if found is None:
        return _parse_non_finite(text)
    if found["mark"]:
        text = text.replace(found["mark"], "")
    return float(text.replace(number_format.decimal, "."))


def number_or_none(cell: str) -> float | None:
    """Return the finite number in a cell written with a decimal point, or None."""
    number = parse_number(cell)
    return number if number is not None and math.isfinite(number) else None


def parse_special(cell: str, number_format: NumberFormat) -> tuple[str, float] | None:
    """Return the kind and the value of a percentage, limit or accounting negative, or None.

    The kinds are "percentage" (12%), "negative" as in accounts ((1,500) or 1.500-), and "limit" of
    a censored value (<0.5).
    """
    text = cell.strip()
    if text.endswith("%"):
        kind, sign, rest = "percentage", 1, text[:-1]
    elif found := _NEGATIVE.fullmatch(text):
        kind, sign, rest = "negative", -1, found[1] or found[2]
    elif found := _LIMIT.match(text):
        kind, sign, rest = "limit", 1, text[found.end() :]
    else:
        return None
    number = parse_number(rest, number_format)
    return None if number is None else (kind, sign * number)


def strip_accounting(cell: str) -> str:
    """Return a cell without the brackets or the minus at its end that mark a negative number."""
    if not cell.endswith((")", "-", " ")):
        return cell
    found = _NEGATIVE.fullmatch(cell.strip())
    return (found[1] or found[2]).strip() if found else cell


def _to_ascii(text: str, number_format: NumberFormat) -> str:
    """Return a number in any script with ASCII digits, signs and marks."""
    text = text.translate(_INVISIBLE).strip()
    if text[:1] and text[0] in _MINUS_SIGNS:
        text = "-" + text[1:]
    if any(sign.isdecimal() and not sign.isascii() for sign in text):
        text = text.replace("\u066b", number_format.decimal)
        text = text.replace("\u066c", number_format.thousands)
        text = "".join(str(unicodedata.decimal(sign, sign)) for sign in text)
    return text


def _parse_non_finite(text: str) -> float | None:
    return float(text) if text.lstrip("+-").lower() in ("nan", "inf", "infinity") else None


@lru_cache
def _number_pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    marks = f"[{re.escape(thousands)}{_BLANKS}{_APOSTROPHES}]"
    point = re.escape(decimal)
    grouped = rf"[1-9][0-9]{{0,2}}(?P<mark>{marks})[0-9]{{3}}(?:(?P=mark)[0-9]{{3}})*"
    return re.compile(
        rf"[+-]?(?:(?:{grouped}|[0-9]+)(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?"
    )


# What a cell looks like.


def is_numeric(cell: str) -> bool:
    """Whether a cell holds a number, a percentage or a limit in any number format."""
    if "_" not in cell:
        # Fast path for most numbers: a lone comma is a decimal or a thousands mark.
        plain = cell.replace(",", ".") if cell.count(",") == 1 and "." not in cell else cell
        try:
            float(plain)
        except ValueError:
            pass
        else:
            return True
    text = cell.strip()
    if not any(sign.isdigit() for sign in text[:6]):
        return _parse_non_finite(text) is not None
    sign = _LIMIT.match(text)
    text = text[sign.end() :] if sign else text.removesuffix("%")
    return any(parse_number(text, marks) is not None for marks in (POINTS, COMMAS))


def are_booleans(cells: Sequence[str]) -> bool:
    """Whether cells hold yes and no in words; 1 and 0 may occur among them."""
    words = {cell.strip().lower() for cell in cells} - {"0", "1"}
    if not words or not words <= BOOLEANS.keys():
        return False
    letters = {word for word in words if len(word) == 1}
    return not letters or letters in _BOOLEAN_LETTERS


def is_annotated_number(cell: str) -> bool:
    """Whether a cell holds a number followed by something that is not a unit."""
    return _ANNOTATED.fullmatch(cell.strip()) is not None


def is_zero_padded(cell: str) -> bool:
    """Whether a cell holds digits after a zero, as codes do and numbers do not."""
    return cell.startswith("0") and len(cell) > 1 and cell.isdecimal()


def is_amount(cell: str) -> bool:
    """Whether a cell holds a number with a currency or a unit."""
    return _AMOUNT.fullmatch(cell.strip()) is not None


def is_unit(cell: str) -> bool:
    """Whether a cell holds a unit of measurement."""
    text = cell.strip()
    return bool(_UNIT.fullmatch(text) or _BRACKETED.fullmatch(text) or text in ("-", "1"))


def as_text(cell: Any) -> str:
    """Return a cell as text; whole numbers of a spreadsheet without a decimal point."""
    return repr(cell).removesuffix(".0") if isinstance(cell, float) else cell


# Missing entries.


class MissingCodes:
    """The codes that mean missing, and how often each was seen.

    Parameters
    ----------
    codes : str or sequence, optional
        Besides `DEFAULT_MISSING`: texts, comma-separated if they are one string, and numbers,
        which match numerically.
    """

    def __init__(self, codes: str | Sequence[str | float] | None = None):
        if isinstance(codes, str):
            codes = split_list(codes)
        self._any_case, self._exact = set(_ALWAYS_MISSING), set(_ALWAYS_MISSING)
        self._numbers: list[float] = []
        for code in (*DEFAULT_MISSING, *(codes or ())):
            text = str(code).strip()
            try:
                number = float(text)
            except ValueError:
                self._any_case.add(text.lower())
                self._exact.add(text)
            else:
                if not np.isnan(number):
                    self._numbers.append(number)
        self.seen: Counter[str] = Counter()

    def matches(self, cell: str) -> bool:
        """Whether a cell of a column of numbers is missing."""
        return cell.strip().lower() in self._any_case

    def matches_exactly(self, cell: str) -> bool:
        """Whether a cell of a column of text is missing: with the same capitals, Na is sodium."""
        return cell.strip() in self._exact

    def count(self, cell: str) -> None:
        self.seen[cell.strip()] += 1

    def blank_numbers(self, values: Array) -> Array:
        """Replace the numbers that mean missing by NaN, in place; return the array."""
        for number in self._numbers:
            same = values == number
            if same.any():
                self.seen[f"{number:g}"] += int(same.sum())
                values[same] = np.nan
        return values

    def note(self, n_missing: int) -> str:
        """Return a sentence on what was missing."""
        if not n_missing:
            return "Nothing is missing."
        kinds = [
            f"{count:,} {'empty' if not code else repr(code)}"
            for code, count in self.seen.most_common(6)
        ]
        others = len(self.seen) - len(kinds)
        if others:
            kinds.append(f"{others} other kinds")
        return f"Missing: {', '.join(kinds)}." if kinds else f"Missing: {n_missing:,} entries."


# The number format of a file.

_MARKED_NUMBER = re.compile(
    rf"[+\-\u2212\u2013]?([0-9][0-9.,{_BLANKS}{_APOSTROPHES}]*|[.,][0-9]+)([eE][+-]?[0-9]+)?"
)
_BLANK_GROUP = re.compile(rf"(?<=[0-9])[{_BLANKS}{_APOSTROPHES}](?=[0-9]{{3}}(?![0-9]))")
_GROUPS = {mark: re.compile(rf"[1-9][0-9]{{0,2}}(?:\{mark}[0-9]{{3}})+") for mark in ",."}
_OTHER_MARK = {",": ".", ".": ","}

# Unambiguous cells after which the rest of a sample is not looked at.
_ENOUGH_CELLS = 500


@dataclass(frozen=True)
class FormatDecision:
    """The number format of a file, whether it is certain, and a doubt about it."""

    number_format: NumberFormat
    is_certain: bool
    doubt: str | None = None


class FormatEvidence:
    """Counts, over cells, of what speaks for a decimal mark and for a thousands mark."""

    def __init__(self) -> None:
        self._decimal: Counter[str] = Counter()
        self._thousands: Counter[str] = Counter()
        # By mark and column: whether one of the cells such as 1,500 ends with a zero.
        self._ambiguous: dict[tuple[str, int], bool] = {}
        self._examples: dict[str, tuple[int, int, str]] = {}
        # Columns with integers below 1000, and with larger ones, without any mark.
        self._small_integers: set[int] = set()
        self._large_integers: set[int] = set()

    @classmethod
    def of(
        cls,
        records: Iterable[tuple[int, list[Any]]],
        roles: dict[int, str],
        is_sample: bool = False,
    ) -> "FormatEvidence":
        """Return the evidence of columns of numbers; of a sample only as much as needed."""
        evidence = cls()
        columns = [column for column, role in roles.items() if role == "number"]
        for line, record in records:
            evidence.add(line, ((j, record[j]) for j in columns if j < len(record)))
            if is_sample and evidence._is_enough:
                break
        return evidence

    def add(self, line: int, cells: Iterable[tuple[int, Any]]) -> None:
        """Add cells of a record, by column; numbers of a spreadsheet have no marks."""
        for column, cell in cells:
            if isinstance(cell, str) and cell:
                self._add_cell(line, column, cell)

    def _add_cell(self, line: int, column: int, cell: str) -> None:
        found = _MARKED_NUMBER.fullmatch(
            strip_accounting(cell).strip().lstrip("<>=\u2264\u2265 ").removesuffix("%")
        )
        if found is None:
            return
        digits = _BLANK_GROUP.sub("", found[1].rstrip(_BLANKS))
        is_certain = digits != found[1] or bool(found[2])
        n_commas, n_points = digits.count(","), digits.count(".")
        if n_commas and n_points:
            last = max(",.", key=digits.rfind)
            if _GROUPS[_OTHER_MARK[last]].fullmatch(digits.rpartition(last)[0]):
                self._decimal[last] += 1
                self._thousands[_OTHER_MARK[last]] += 1
        elif n_commas or n_points:
            self._add_one_mark(line, column, cell, digits, is_certain)
        elif not is_certain:
            is_large = len(digits.lstrip("0")) > 3
            (self._large_integers if is_large else self._small_integers).add(column)

    def _add_one_mark(
        self, line: int, column: int, cell: str, digits: str, is_decimal: bool
    ) -> None:
        mark = "," if "," in digits else "."
        is_grouped = _GROUPS[mark].fullmatch(digits) is not None
        if digits.count(mark) > 1:
            self._thousands[mark] += is_grouped and not is_decimal
        elif is_decimal or not is_grouped:
            self._decimal[mark] += 1
        else:
            known = self._ambiguous.get((mark, column), False)
            self._ambiguous[mark, column] = known or digits.endswith("0")
            self._examples.setdefault(mark, (line, column, cell.strip()))

    @property
    def is_certain(self) -> bool:
        """Whether a cell can be read in one way only, which decides for the file."""
        return bool(self._decimal or self._thousands)

    @property
    def _is_enough(self) -> bool:
        """Whether so many cells agree that the rest of a sample can be ignored."""
        return sum(self._decimal.values()) + sum(self._thousands.values()) > _ENOUGH_CELLS

    @property
    def is_ambiguous(self) -> bool:
        """Whether there are cells such as 1,500 and nothing decides what they are."""
        return bool(self._ambiguous) and not self.is_certain

    def decide(self, options: Options, names: Sequence[str]) -> FormatDecision:
        """Return the number format of the file; raise an error if the cells are ambiguous."""
        if options.decimal is not None:
            return FormatDecision(_FORMATS[options.decimal], is_certain=True)
        if options.thousands in _OTHER_MARK:
            return FormatDecision(_FORMATS[_OTHER_MARK[options.thousands]], is_certain=True)
        for_points = self._decimal["."] + self._thousands[","]
        for_commas = self._decimal[","] + self._thousands["."]
        if for_points or for_commas:
            return FormatDecision(COMMAS if for_commas > for_points else POINTS, is_certain=True)
        marks = sorted({mark for mark, _ in self._ambiguous})
        if not marks:
            return FormatDecision(POINTS, is_certain=False)
        if len(marks) == 2:
            raise TableError(
                f"{self._example(',', names)} and {self._example('.', names)}: it is ambiguous "
                "which mark is the decimal one: set --decimal , or --decimal ."
            )
        return self._decide_ambiguous(marks[0], names)

    def _decide_ambiguous(self, mark: str, names: Sequence[str]) -> FormatDecision:
        # Thousands stand in one column with integers below 1000, and without larger ones.
        mixed = [
            ends_with_zero
            for (its_mark, column), ends_with_zero in self._ambiguous.items()
            if its_mark == mark and column in self._small_integers - self._large_integers
        ]
        example = self._example(mark, names)
        if mixed and (mark == "," or any(mixed)):
            doubt = (
                f"{example} was read as thousands, because the same column has integers below "
                f"1000; if it is a decimal mark: --decimal {mark}"
            )
            return FormatDecision(_FORMATS[_OTHER_MARK[mark]], is_certain=False, doubt=doubt)
        if mark == ",":
            raise TableError(
                f"{example} can be thousands or decimals, and nothing in the file decides which: "
                "set --thousands , or --decimal ,"
            )
        doubt = (
            f"{example} was read with a decimal point, as every number with a point in this file "
            "has three digits after it; if points group thousands: --thousands ."
        )
        return FormatDecision(POINTS, is_certain=False, doubt=doubt)

    def _example(self, mark: str, names: Sequence[str]) -> str:
        line, column, cell = self._examples[mark]
        return f"line {line}, column {column + 1} ({quote(names[column])}): {quote(cell)}"
