"""Columns of numbers that are names of rows, dates or times, not measurements."""

import re
from datetime import date, timedelta

import numpy as np

from ._column_statistics import ColumnStatistics
from ._header_names import is_identifier
from ._table import Array, Table, shortened

# With fewer entries, numbers are in order or all different by chance.
_LEAST_OBSERVED = 10
# Where more columns are like that, it is how the data are: ranks, or counts over time.
_MOST_COLUMNS = 0.2

_NAMED_IDENTIFIER = re.compile(
    r"(^|[\W_\d])(id|ids|nr|no|num|number|index|idx|code|key|patient|subject|sample|case|pid|uid)"
    r"($|[\W_\d])",
    re.IGNORECASE,
)
_NAMED_TIME = re.compile(r"date|datum|year|jahr|time|zeit|(^|[\W_])(day|tag|yr)", re.IGNORECASE)

_YEARS = 1900, 2035
_SERIALS = 35_000, 48_000  # from 1995 to 2031, in days as Excel counts them
_NAMED_SERIALS = 10_000, 60_000
_EXCEL_START = date(1899, 12, 30)
_SECONDS = 900_000_000, 2_000_000_000  # from 1998 to 2033, since 1970


def find_identifiers(table: Table, statistics: ColumnStatistics) -> list[tuple[int, str]]:
    """Places of columns that are no measurements, each with a sentence about it."""
    named = np.array([is_identifier(name) for name in table.column_names], dtype=bool)
    whole = statistics.is_whole
    whole &= (statistics.n_observed >= _LEAST_OBSERVED) | (named & (statistics.n_observed > 2))
    whole &= statistics.n_distinct > 1
    found: list[tuple[int, str]] = []
    places = np.flatnonzero(whole)
    most = max(1, int(_MOST_COLUMNS * table.values.shape[1]))
    if table.values.shape[1] < 2:
        return found
    left = set(places.tolist())
    for kind in (_date, _year, _serial, _seconds, _position, _identifier):
        of_kind = {place: told for place in left if (told := kind(table, statistics, place))}
        left -= of_kind.keys()
        if len(of_kind) <= most or kind is _position:
            found += [
                (place, f"Column {shortened(table.column_names[place])} {told}")
                for place, told in of_kind.items()
            ]
    return sorted(found, key=lambda pair: table.column_names[pair[0]])


def _advice(name: str) -> str:
    return f"leave it out (--exclude {shortened(name)})"


def _date(table: Table, statistics: ColumnStatistics, place: int) -> str:
    """Dates such as 20230115."""
    low, high = statistics.low[place], statistics.high[place]
    if not 19000101 <= low <= high <= 21001231:
        return ""
    days = _observed(table, place).astype(np.int64)
    month, day = days // 100 % 100, days % 100
    if not ((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all():
        return ""
    return (
        f"looks like dates written as numbers ({low:.0f} to {high:.0f}): "
        f"{_advice(table.column_names[place])}"
    )


def _year(table: Table, statistics: ColumnStatistics, place: int) -> str:
    low, high = statistics.low[place], statistics.high[place]
    is_named = bool(_NAMED_TIME.search(table.column_names[place]))
    if not _YEARS[0] <= low <= high <= _YEARS[1]:
        return ""
    if not is_named and statistics.n_distinct[place] < 3:
        return ""
    return f"looks like years ({low:.0f} to {high:.0f}): {_advice(table.column_names[place])}"


def _serial(table: Table, statistics: ColumnStatistics, place: int) -> str:
    """Days as Excel counts them."""
    low, high = statistics.low[place], statistics.high[place]
    is_named = bool(_NAMED_TIME.search(table.column_names[place]))
    least, most = _NAMED_SERIALS if is_named else _SERIALS
    if not least <= low <= high <= most:
        return ""
    first = _EXCEL_START + timedelta(days=int(low))
    return (
        f"looks like dates in days as Excel counts them ({low:.0f} is {first.isoformat()}): "
        f"{_advice(table.column_names[place])}"
    )


def _seconds(table: Table, statistics: ColumnStatistics, place: int) -> str:
    low, high = statistics.low[place], statistics.high[place]
    if not _SECONDS[0] <= low <= high <= _SECONDS[1]:
        return ""
    return f"looks like times in seconds since 1970: {_advice(table.column_names[place])}"


def _position(table: Table, _statistics: ColumnStatistics, place: int) -> str:
    """Where genes begin and end, beside their counts."""
    names = {name.strip().lower() for name in table.column_names}
    if not {"start", "end"} <= names:
        return ""
    name = table.column_names[place]
    if name.strip().lower() not in ("start", "end", "length"):
        return ""
    return f"looks like a place or length on the genome: {_advice(name)}"


def _identifier(table: Table, statistics: ColumnStatistics, place: int) -> str:
    """Whole numbers, all different: counted through, ascending from row to row, or so named."""
    n_observed = statistics.n_observed[place]
    low, high = statistics.low[place], statistics.high[place]
    name = table.column_names[place]
    if statistics.n_distinct[place] < n_observed:
        if not is_identifier(name) or statistics.n_distinct[place] < 3:
            return ""
        return (
            f"is named like an identifier and repeats ({statistics.n_distinct[place]:,} different "
            f"whole numbers in {n_observed:,} rows): {_advice(name)}"
        )
    is_counted = high - low == n_observed - 1
    if not (
        is_counted or _NAMED_IDENTIFIER.search(name) or (np.diff(_observed(table, place)) > 0).all()
    ):
        return ""
    return (
        f"looks like an identifier ({n_observed:,} different whole numbers, {low:.0f} to "
        f"{high:.0f}): use it for labels (--labels {shortened(name)}), or {_advice(name)}"
    )


def _observed(table: Table, place: int) -> Array:
    column = table.values[:, place]
    return column[~np.isnan(column)]
