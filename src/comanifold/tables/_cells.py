"""Numbers, percentages, limits and words as people write them in cells."""

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

# Blanks of all widths and apostrophes group thousands, whatever the decimal mark.
BLANKS = " \u00a0\u2007\u2009\u202f"
APOSTROPHES = "'\u2019"

_MINUS_SIGNS = "\u2212\u2013\ufe63\uff0d"
# Cells are read without these: they are not seen.
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"))
_LIMITS = re.compile(r"(<=|>=|<|>|\u2264|\u2265)\s*(?=[0-9.,+\-])")

# Words of columns that hold nothing else; in any mix of capitals.
TRUTHS = {
    "yes": 1.0,
    "no": 0.0,
    "y": 1.0,
    "n": 0.0,
    "true": 1.0,
    "false": 0.0,
    "t": 1.0,
    "f": 0.0,
    "ja": 1.0,
    "nein": 0.0,
    "wahr": 1.0,
    "falsch": 0.0,
    "oui": 1.0,
    "non": 0.0,
    "vrai": 1.0,
    "faux": 0.0,
    "checked": 1.0,
    "unchecked": 0.0,
}
# A single letter is a truth only where its opposite stands in the same column.
_PAIRS = ({"y", "n"}, {"t", "f"})

_UNITS = (
    r"(?:[nµuμmcdkMG]?(?:m|g|l|L|s|V|A|W|Hz|Pa|mol|M|J|N|eV|bp|b|B)[²³23]?"
    r"|min|h|hr|hrs|d|days?|weeks?|months?|years?|yrs?|sec|°[CF]?|K|%|‰|ppm|ppb|bar|dB|rpm|cal|kcal"
    r"|mmHg|IU|U|a\.u\.|px|EUR|USD|GBP|CHF)"
)
_UNIT = re.compile(rf"{_UNITS}(?:\s*[/·*]\s*(?:[0-9.]+\s*)?{_UNITS})*")
_BRACKETED = re.compile(r"\(.{1,20}\)|\[.{1,20}\]")
_NEGATIVE = re.compile(r"\(\s*([0-9.,][^()+\-]*)\)|([0-9.,][^()+\-]*)-")
# A number that cannot be read as one: with an error, an interval, a footnote or a meaning.
_ANNOTATED = re.compile(
    r"[+-]?[0-9]+(?:[.,][0-9]+)?\s*"
    r"(?:(?:±|\+/-|\+-)\s*[0-9.,]+|[(\[].*[)\]]|[a-zA-Z*†‡§]{1,2}|/\s*[0-9]+|[-=:]\s+\w.*)"
)
_AMOUNT = re.compile(
    rf"(?:[$€£¥₹]|EUR|USD|GBP|CHF)\s*[+-]?[0-9][0-9.,]*"
    rf"|[+-]?[0-9][0-9.,]*\s*(?:[$€£¥₹]|{_UNITS}(?:/{_UNITS})?)"
)


@dataclass(frozen=True)
class NumberFormat:
    """The decimal mark of a file, and the mark that may group thousands."""

    decimal: str = "."
    thousands: str = ","

    @property
    def name(self) -> str:
        return {".": "points", ",": "commas"}[self.decimal]


POINTS = NumberFormat(".", ",")
COMMAS = NumberFormat(",", ".")


def number_in(cell: str, style: NumberFormat = POINTS) -> float | None:
    """The number that a cell holds under a number format, or None."""
    # Python reads "1_000", which nobody else does.
    if style.decimal == "." and "_" not in cell:
        try:
            return float(cell)
        except ValueError:
            pass
    text = cell.strip()
    if not text.isascii():
        text = _in_ascii(text, style)
    found = _pattern(style.decimal, style.thousands).fullmatch(text)
    if found is None:
        return _not_finite(text)
    if found["mark"]:
        text = text.replace(found["mark"], "")
    return float(text.replace(style.decimal, "."))


def _in_ascii(text: str, style: NumberFormat) -> str:
    """A number in the digits, signs and marks of any script in those of ASCII."""
    text = text.translate(_INVISIBLE).strip()
    if text[:1] and text[0] in _MINUS_SIGNS:
        text = "-" + text[1:]
    if any(sign.isdecimal() and not sign.isascii() for sign in text):
        text = text.replace("\u066b", style.decimal).replace("\u066c", style.thousands)
        text = "".join(str(unicodedata.decimal(sign, sign)) for sign in text)
    return text


def _not_finite(text: str) -> float | None:
    named = text.lstrip("+-").lower()
    return float(text) if named in ("nan", "inf", "infinity") else None


@lru_cache
def _pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    marks = f"[{re.escape(thousands)}{BLANKS}{APOSTROPHES}]"
    point = re.escape(decimal)
    grouped = rf"[1-9][0-9]{{0,2}}(?P<mark>{marks})[0-9]{{3}}(?:(?P=mark)[0-9]{{3}})*"
    return re.compile(
        rf"[+-]?(?:(?:{grouped}|[0-9]+)(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?"
    )


def percentage_in(cell: str, style: NumberFormat) -> float | None:
    """The number before a percent sign, or None."""
    text = cell.strip()
    return number_in(text[:-1], style) if text.endswith("%") and len(text) > 1 else None


def negative_in(cell: str, style: NumberFormat) -> float | None:
    """The negative number that accounts write as (1,500) or 1.500-, or None."""
    found = _NEGATIVE.fullmatch(cell.strip())
    number = number_in(found[1] or found[2], style) if found else None
    return None if number is None else -number


def without_accounting(cell: str) -> str:
    """A cell without what makes its number negative in accounts."""
    if not cell.endswith((")", "-", " ")):
        return cell
    found = _NEGATIVE.fullmatch(cell.strip())
    return (found[1] or found[2]).strip() if found else cell


def limit_in(cell: str, style: NumberFormat) -> float | None:
    """The limit in a censored value such as <0.5, or None."""
    text = cell.strip()
    sign = _LIMITS.match(text)
    return number_in(text[sign.end() :], style) if sign else None


def number_or_none(cell: str) -> float | None:
    """The finite number that a cell holds, or None."""
    number = number_in(cell, POINTS)
    return number if number is not None and math.isfinite(number) else None


def is_numeric(cell: str) -> bool:
    """Whether a cell holds a number, a percentage or a limit in any number format."""
    if "_" not in cell:
        # A lone comma is a decimal or a thousands mark; numbers are most of what is asked for.
        plain = cell.replace(",", ".") if cell.count(",") == 1 and "." not in cell else cell
        try:
            float(plain)
        except ValueError:
            pass
        else:
            return True
    text = cell.strip()
    if not any(sign.isdigit() for sign in text[:6]):
        return _not_finite(text) is not None
    sign = _LIMITS.match(text)
    text = text[sign.end() :] if sign else text.removesuffix("%")
    return any(number_in(text, style) is not None for style in (POINTS, COMMAS))


def are_truths(cells: Sequence[str]) -> bool:
    """Whether cells say yes and no, in words; 1 and 0 may stand among them."""
    words = {cell.strip().lower() for cell in cells}
    truths = words - {"0", "1"}
    if not truths or not truths <= TRUTHS.keys():
        return False
    letters = {word for word in truths if len(word) == 1}
    return not letters or letters in _PAIRS


def is_annotated_number(cell: str) -> bool:
    """Whether a cell holds a number with something after it that is not a unit."""
    return _ANNOTATED.fullmatch(cell.strip()) is not None


def is_padded_code(cell: str) -> bool:
    """Whether a cell holds digits after a nought, as codes do and numbers do not."""
    return cell.startswith("0") and len(cell) > 1 and cell.isdecimal()


def is_amount(cell: str) -> bool:
    """Whether a cell holds a number with a currency or a unit."""
    return _AMOUNT.fullmatch(cell.strip()) is not None


def is_unit(cell: str) -> bool:
    """Whether a cell holds a unit of measurement."""
    text = cell.strip()
    return bool(_UNIT.fullmatch(text) or _BRACKETED.fullmatch(text) or text in ("-", "1"))


def as_text(cell: Any) -> str:
    """A cell as text; whole numbers of a spreadsheet without a decimal point."""
    if isinstance(cell, float):
        return repr(cell).removesuffix(".0")
    return cell
