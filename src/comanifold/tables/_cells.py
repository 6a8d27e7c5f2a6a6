"""Numbers, percentages, limits and words as people write them in cells."""

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

# Blanks of all widths and apostrophes group thousands, whatever the decimal mark.
BLANKS = " \u00a0\u2007\u2009\u202f"
APOSTROPHES = "'\u2019"

_MINUS_SIGNS = "\u2212\u2013\ufe63\uff0d"
_LIMITS = re.compile(r"(<=|>=|<|>|\u2264|\u2265)\s*(?=[0-9.,+\-])")

# Words of columns that hold nothing else; in any mix of capitals.
TRUTHS = {
    "yes": 1.0,
    "no": 0.0,
    "y": 1.0,
    "n": 0.0,
    "true": 1.0,
    "false": 0.0,
    "ja": 1.0,
    "nein": 0.0,
}

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
    if text[:1] and text[0] in _MINUS_SIGNS:
        text = "-" + text[1:]
    found = _pattern(style.decimal, style.thousands).fullmatch(text)
    if found is None:
        return _not_finite(text)
    if found["mark"]:
        text = text.replace(found["mark"], "")
    return float(text.replace(style.decimal, "."))


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
