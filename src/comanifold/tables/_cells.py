"""Numbers as they are written in cells."""

import math

from ._missing import Missing
from ._table import TableError


def number_in(cell: str, decimal: str) -> float | None:
    """The number that a cell holds, or None."""
    # What Python reads besides, "1_000", is no number to anyone else.
    if "_" in cell:
        return None
    if decimal == ",":
        # A point would group thousands here, or be a decimal point after all.
        if "." in cell:
            return None
        cell = cell.replace(",", ".")
    try:
        return float(cell)
    except ValueError:
        return None


def number_or_none(cell: str) -> float | None:
    """The finite number that a cell holds, or None."""
    number = number_in(cell, ".")
    return number if number is not None and math.isfinite(number) else None


def kind_of(cell: str, decimal: str, missing: Missing) -> str:
    """ "number", "missing" or "text"."""
    if missing.is_missing(cell):
        return "missing"
    return "text" if number_in(cell, decimal) is None else "number"


def parse_cell(cell: str, decimal: str, missing: Missing) -> float:
    """The number in a cell, NaN for a missing one; else an error that says what it is."""
    number = number_in(cell, decimal)
    if number is None or math.isnan(number):
        if not missing.is_missing(cell):
            hint = " (decimal marks are commas in this file)" if decimal == "," else ""
            raise TableError(f"is not a number{hint}")
        missing.count(cell)
        return math.nan
    if math.isinf(number):
        raise TableError("is infinite: leave such entries empty, or correct them")
    return number
