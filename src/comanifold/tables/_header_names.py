"""What names of columns look like: words, units, years and other numbers."""

import math
import re
from collections.abc import Sequence
from itertools import pairwise

from ._cells import COMMAS, POINTS, is_unit, number_in

# What columns of labels are called; an empty name is the most common of all.
NAMES_OF_LABELS = {
    "",
    "id",
    "ids",
    "name",
    "names",
    "label",
    "labels",
    "index",
    "rowname",
    "row",
} | {"unnamed: 0"}

# What people write in the corner, above the labels.
CORNERS = NAMES_OF_LABELS | {
    "gene", "genes", "probe", "protein", "feature", "sample", "samples", "subject", "subjects",
    "patient", "patients", "participant", "person", "user", "item", "country", "region", "city",
    "state", "species", "variable", "compound", "cell", "date", "time", "year", "month", "day",
    "week", "group", "case", "code",
}  # fmt: skip


_IDENTIFIER = re.compile(r"(?:^|.*[_\s.-])(?:id|ids|no|nr|number|code)\W*|.*[a-z](?:ID|Id|No|Nr)")


def is_identifier(name: str) -> bool:
    """Whether a column is named as identifiers are: patient_id, PatientID, Sample No."""
    name = name.strip()
    return bool(_IDENTIFIER.fullmatch(name) or _IDENTIFIER.fullmatch(name.lower()))


def has_units(line: Sequence[str]) -> bool:
    """Whether all cells after the first are units or empty."""
    filled = [cell for cell in line[1:] if cell.strip()]
    return bool(filled) and all(is_unit(cell) for cell in filled)


def merged_names(lines: Sequence[Sequence[str]]) -> list[str]:
    """Names from several lines; a name above stands for the empty cells to its right as well."""
    filled = []
    for line in lines[:-1]:
        above, spread = "", []
        for place, cell in enumerate(line):
            above = cell if cell.strip() or place == 0 else above
            spread.append(above)
        filled.append(spread)
    # A line above that is filled throughout has no cells to spread.
    return [
        " / ".join(dict.fromkeys(part.strip() for part in parts if part.strip()))
        for parts in zip(*filled, lines[-1], strict=False)
    ]


def is_plain_number(cell: str) -> bool:
    """Whether a cell is a number in digits and a decimal point."""
    return re.fullmatch(r"\s*-?[0-9]+(?:\.[0-9]+)?\s*", cell) is not None


def values_in(record: Sequence[str]) -> list[float]:
    """The numbers of a record in either number format; which one is not known yet."""
    found = []
    for cell in record:
        numbers = (number_in(cell, style) for style in (POINTS, COMMAS))
        number = next((n for n in numbers if n is not None and math.isfinite(n)), None)
        if number is not None:
            found.append(number)
    return found


def is_year(value: float) -> bool:
    """Whether a number can be a year."""
    return value == int(value) and 1500 <= value <= 2200


def is_scale(values: Sequence[float], rows: Sequence[Sequence[float]]) -> bool:
    """Whether numbers in order are names, such as times and doses, above rows of data."""
    steps = {round(b - a, 9) for a, b in pairwise(values)}
    cells = [value for row in rows for value in row]
    n_whole = sum(value.is_integer() for value in cells)
    is_whole = len(values) > 2 and all(value.is_integer() for value in values)
    # Whole numbers above fractions, or counted through.
    if is_whole and (n_whole * 2 < len(cells) or (values[0] in (0, 1) and steps == {1})):
        return True
    # A row of data is in order by chance, but not a long one.
    return len(values) >= (5 if len(steps) == 1 else 8)


def is_monotone(row: Sequence[float]) -> bool:
    """Whether numbers increase throughout, or decrease."""
    pairs = list(pairwise(row))
    return all(a < b for a, b in pairs) or all(a > b for a, b in pairs)
