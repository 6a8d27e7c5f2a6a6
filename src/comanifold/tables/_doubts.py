"""Doubts about the values of a table: codes for missing entries, identifiers, outliers.

Codes for missing entries, identifiers and dates among measurements, columns of very different
spread, outlying cells, and rows or columns with hardly any entries. The thresholds are checked in
`tests/tables/test_doubts.py` on data with and without something to find.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

import numpy as np

from ._layout import is_identifier
from ._table import Array, Table, quote, quote_list, shell_quoted

# How often a code for missing entries occurs in the table, and in one column; or in the table if
# it never occurs twice in a column. Numbers that are no usual codes have to be farther from the
# others, in ranges of these, and more often.
_CODE_COUNT, _CODE_COUNT_IN_COLUMN, _CODE_COUNT_SCATTERED = 3, 2, 5
_OTHER_GAP, _OTHER_COUNT, _OTHER_DISTINCT = 10.0, 5, 10
# The share of the cells with that value that have to be far from the rest of their columns.
_SHARE_FAR = 0.8
_MAX_CODES = 20
_CODES = {77, 88, 97, 98, 777, 888, 997, 998, 32767, 32768, 65535, 2147483647, 2147483648}
_MIN_POWER = 5
_LARGEST_FLOATS = (9.969209968386869e36, 3.4028234663852886e38, 1.7976931348623157e308)

# How many times as large the spread of a column may be as that of another, and, of many columns,
# as that of a quarter of them.
_MAX_SPREAD_RATIO, _MAX_USUAL_RATIO, _MANY_COLUMNS = 100.0, 30.0, 20

# An outlying cell: in robust deviations of its column, on the scale of the data and of their
# logarithms; of the typical column; and how many times as far as all but a few others.
_FAR, _FAR_IN_LOGARITHMS, _FAR_IN_MATRIX, _ALONE = 50.0, 10.0, 5.0, 5.0
_MAX_FAR_SHARE, _MAX_FAR, _MAX_FAR_COLUMNS = 0.002, 3, 0.25
_MIN_OBSERVED = 8

# Rows and columns with no more entries than this, where there could be some more.
_FEW, _SOME = 2, 5

# With fewer entries, numbers are in order or all different by chance; where more columns are like
# that, it is how the data are: ranks, or counts over time.
_MIN_IDENTIFIERS = 10
_MAX_IDENTIFIER_COLUMNS = 0.2

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

# Values beyond a gap of so many times the range of all others are apart: if they are fewer than
# half, and at most so many different ones.
_GAP = 0.75
_MAX_APART = 3

# Entries of a block of columns.
_BLOCK = 1 << 21


def find_doubts(table: Table, *, standardize: bool = False, log1p: bool = False) -> list[str]:
    """Return sentences on what may be wrong with the values, and the options that settle it.

    Parameters
    ----------
    table : Table
    standardize, log1p : bool, default=False
        Whether columns are going to be standardised, and logarithms taken.

    Returns
    -------
    doubts : list of str
        Independent of the order of the columns.

    Examples
    --------
    >>> import numpy as np
    >>> from comanifold.tables import Table, find_doubts
    >>> values = np.random.default_rng(0).normal(size=(20, 2))
    >>> values[3:6, 1] = -999
    >>> print(find_doubts(Table(values, [f"r{i}" for i in range(20)], ["a", "b"]))[0])
    -999 occurs 3 times in column 'b', far from all other values there (-0.9217 to 1.493): if it
    means missing: --missing -999
    """
    if not table.values.size:
        return []
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        statistics = _column_statistics(table.values)
        codes = _find_codes(table, statistics)
        identifiers = _find_identifiers(table, statistics)
        doubts = [code.describe() for code in codes]
        doubts += [doubt for _, doubt in identifiers]
        if not standardize:
            doubts += _doubt_spreads(table, statistics, [j for j, _ in identifiers], log1p)
        doubts += _doubt_outliers(table, statistics, {code.value for code in codes}, standardize)
    return [*doubts, *_doubt_hardly_observed(table, statistics)]


# Codes for missing entries.


@dataclass
class _Code:
    """A value that may mean missing, and where it occurs."""

    value: float
    columns: list[str] = field(default_factory=list)
    count: int = 0
    count_in_column: int = 0
    lowest: float = math.inf
    highest: float = -math.inf

    def describe(self) -> str:
        is_integer = self.value == round(self.value) and abs(self.value) < 1e15
        number = str(int(self.value)) if is_integer else repr(float(self.value))
        columns = sorted(self.columns)
        return (
            f"{number} occurs {self.count:,} times in column{'s' * (len(columns) > 1)} "
            f"{quote_list(columns)}, far from all other values there ({self.lowest:.4g} "
            f"to {self.highest:.4g}): if it means missing: --missing {number}"
        )


def _find_codes(table: Table, statistics: "_ColumnStatistics") -> list[_Code]:
    """Return values that are far from all others of their columns and occur there several times."""
    ranges = statistics.ranges_without_splits
    typical = float(np.median(ranges)) if ranges.size else 0.0
    codes: dict[float, _Code] = {}
    for split in statistics.splits:
        if split.n_distinct < 3 and split.gap < _GAP * typical:
            continue
        is_far = split.gap >= _OTHER_GAP * max(split.range, 0 if split.n_distinct > 2 else typical)
        is_digit_code = split.is_integer or (
            split.gap >= split.range and split.n_distinct >= _OTHER_DISTINCT
        )
        for value, count in split.values.items():
            is_rare_number = (
                is_far
                and value != 0
                and count >= _OTHER_COUNT
                and split.n_distinct >= _OTHER_DISTINCT
            )
            if not (is_rare_number or _is_usual_code(value, is_digit_code)):
                continue
            code = codes.setdefault(value, _Code(value))
            code.columns.append(table.column_names[split.column])
            code.count += count
            code.count_in_column = max(code.count_in_column, count)
            code.lowest = min(code.lowest, split.lowest)
            code.highest = max(code.highest, split.highest)
    found = [
        code
        for code in codes.values()
        if code.count >= _CODE_COUNT_SCATTERED
        or (code.count >= _CODE_COUNT and code.count_in_column >= _CODE_COUNT_IN_COLUMN)
    ]
    found.sort(key=lambda code: (-code.count, code.value))
    # In another column the same value may be one of many.
    return [
        code
        for code in found[:_MAX_CODES]
        if code.count >= _SHARE_FAR * _count(table.values, code.value)
    ]


def _is_usual_code(value: float, is_digit_code: bool) -> bool:
    """Return whether a number often codes a missing entry; 7, 8 and 9 only if `is_digit_code`."""
    size = abs(value)
    if size in (7, 8, 9):
        return is_digit_code or value == -9
    digits = f"{size:.12g}".replace(".", "")
    if size > 9 and set(digits) == {"9"}:
        return True
    power = math.log10(size) if size > 0 else 0.0
    return (
        size in _CODES
        or (power >= _MIN_POWER and power == round(power))
        or any(math.isclose(size, largest, rel_tol=1e-4) for largest in _LARGEST_FLOATS)
    )


def _count(values: Array, number: float) -> int:
    """Return how often a number occurs, counted in blocks."""
    rows = max(1, _BLOCK // max(values.shape[1], 1))
    return sum(
        int((values[start : start + rows] == number).sum()) for start in range(0, len(values), rows)
    )


# Columns of very different spread, and outlying cells.


def _doubt_spreads(
    table: Table, statistics: "_ColumnStatistics", excluded: Sequence[int], log1p: bool
) -> list[str]:
    """Return the advice to standardise if some columns hardly count next to others."""
    spreads = statistics.spreads
    if log1p and np.nanmin(statistics.low, initial=0.0) > -1:
        spreads = np.log1p(statistics.upper) - np.log1p(statistics.lower)
    usable = (spreads > 0) & np.isfinite(spreads) & (statistics.n_observed >= _MIN_OBSERVED)
    usable[list(excluded)] = False
    columns = np.flatnonzero(usable)
    if columns.size < 2:
        return []
    names = table.column_names
    largest = min(columns, key=lambda j: (-spreads[j], names[j]))
    smallest = min(columns, key=lambda j: (spreads[j], names[j]))
    ratio = spreads[largest] / spreads[smallest]
    ordered = np.sort(spreads[columns])
    # Of many columns in one unit, some hardly vary: that a few do is no reason to rescale all.
    usual = ordered[columns.size // 4] if columns.size >= _MANY_COLUMNS else ordered[0]
    if not (ratio > _MAX_SPREAD_RATIO and ordered[-1] / usual > _MAX_USUAL_RATIO):
        return []
    return [
        f"Columns differ in spread by up to {ratio:,.0f} times ({quote(names[largest])} against "
        f"{quote(names[smallest])}), so that the widest dominate all distances: unless they have "
        "the same unit, use --standardize"
    ]


def _doubt_outliers(
    table: Table, statistics: "_ColumnStatistics", codes: set[float], standardize: bool
) -> list[str]:
    """Return a doubt about single cells that are far from all others of their columns."""
    spreads = statistics.spreads
    positive = spreads[spreads > 0]
    least = 0.0 if standardize or not positive.size else _FAR_IN_MATRIX * float(np.median(positive))
    tried = (spreads > 0) & (statistics.n_observed >= _MIN_OBSERVED)
    reach = np.maximum(statistics.high - statistics.median, statistics.median - statistics.low)
    tried &= reach > np.maximum(_FAR * spreads, least)
    # Where many columns reach that far, that is how the data are distributed.
    if tried.sum() > max(_MAX_FAR, _MAX_FAR_COLUMNS * tried.size):
        return []
    cells: list[tuple[float, str, str, float, float]] = []
    for j in np.flatnonzero(tried):
        column = table.values[:, j]
        middle = statistics.median[j]
        deviations = np.abs(column - middle) / spreads[j]
        far = np.flatnonzero(deviations > _FAR)
        most = max(_MAX_FAR, int(_MAX_FAR_SHARE * statistics.n_observed[j]))
        others = np.nanmax(np.where(deviations > _FAR, np.nan, deviations), initial=0.0)
        if far.size > most or deviations[far].min() < _ALONE * others:
            continue
        if statistics.low[j] >= 0 and not _are_far_in_logarithms(column[far], statistics, int(j)):
            continue
        cells += [
            (-deviations[i], table.row_names[i], table.column_names[j], column[i], middle)
            for i in far
            if column[i] not in codes and abs(column[i] - middle) > least
        ]
    if not cells:
        return []
    cells.sort()
    shown = "; ".join(
        f"row {quote(row)}, column {quote(name)} is {value:.6g} (median {middle:.4g})"
        for _, row, name, value, middle in cells[:3]
    )
    more = f"; and {len(cells) - 3:,} more" if len(cells) > 3 else ""
    return [f"Cells far from all others of their columns: {shown}{more}. Are they mistakes?"]


def _are_far_in_logarithms(values: Array, statistics: "_ColumnStatistics", j: int) -> bool:
    """Whether values are outliers in a column of skewed numbers, such as counts, too."""
    logarithm = np.log if statistics.low[j] > 0 else np.log1p
    lower, middle, upper = (
        logarithm(quartile[j])
        for quartile in (statistics.lower, statistics.median, statistics.upper)
    )
    spread = (upper - lower) / 1.349
    return bool((np.abs(logarithm(values) - middle) > _FAR_IN_LOGARITHMS * spread).all())


def _doubt_hardly_observed(table: Table, statistics: "_ColumnStatistics") -> list[str]:
    """Return doubts about rows and columns with hardly any entries."""
    doubts = []
    for mode, names, counts, size in (
        ("Rows", table.row_names, statistics.n_observed_in_rows, table.values.shape[1]),
        ("Columns", table.column_names, statistics.n_observed, table.values.shape[0]),
    ):
        few = np.flatnonzero((counts > 0) & (counts <= _FEW))
        if few.size and size >= _SOME:
            which = quote_list(sorted(names[i] for i in few))
            doubts.append(f"{mode} with one or two entries only: {which}. Leave them out")
    return doubts


# Identifiers, dates and times among measurements.


@dataclass(frozen=True)
class _IntegerColumn:
    """The name, the observed values and their statistics of a column of integers."""

    name: str
    values: Array
    low: float
    high: float
    n_distinct: int

    @property
    def advice(self) -> str:
        return f"leave it out (--exclude {shell_quoted(self.name)})"

    @property
    def is_named_time(self) -> bool:
        return _NAMED_TIME.search(self.name) is not None

    def is_within(self, bounds: tuple[float, float]) -> bool:
        return bounds[0] <= self.low <= self.high <= bounds[1]


def _find_identifiers(table: Table, statistics: "_ColumnStatistics") -> list[tuple[int, str]]:
    """Return the columns of integers that are no measurements, each with a sentence about it."""
    n_columns = table.values.shape[1]
    if n_columns < 2:
        return []
    named = np.array([is_identifier(name) for name in table.column_names], dtype=bool)
    usable = statistics.is_integer & (statistics.n_distinct > 1)
    usable &= (statistics.n_observed >= _MIN_IDENTIFIERS) | (named & (statistics.n_observed > 2))
    left = {}
    for j in np.flatnonzero(usable).tolist():
        values = table.values[:, j]
        left[j] = _IntegerColumn(
            table.column_names[j],
            values[~np.isnan(values)],
            statistics.low[j],
            statistics.high[j],
            statistics.n_distinct[j],
        )
    most = max(1, int(_MAX_IDENTIFIER_COLUMNS * n_columns))
    names = {name.strip().lower() for name in table.column_names}
    kinds: list[Callable[[_IntegerColumn], str]] = [_date, _year, _serial, _seconds, _identifier]
    if {"start", "end"} <= names:
        kinds.insert(-1, _position)
    found: list[tuple[int, str]] = []
    for kind in kinds:
        of_kind = {j: text for j, column in left.items() if (text := kind(column))}
        left = {j: column for j, column in left.items() if j not in of_kind}
        if len(of_kind) <= most or kind is _position:
            found += [(j, f"Column {quote(table.column_names[j])} {t}") for j, t in of_kind.items()]
    return sorted(found, key=lambda pair: table.column_names[pair[0]])


def _date(column: _IntegerColumn) -> str:
    """Describe dates such as 20230115."""
    if not column.is_within((19000101, 21001231)):
        return ""
    days = column.values.astype(np.int64)
    month, day = days // 100 % 100, days % 100
    if not ((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all():
        return ""
    span = f"{column.low:.0f} to {column.high:.0f}"
    return f"looks like dates written as numbers ({span}): {column.advice}"


def _year(column: _IntegerColumn) -> str:
    if not column.is_within(_YEARS) or (not column.is_named_time and column.n_distinct < 3):
        return ""
    return f"looks like years ({column.low:.0f} to {column.high:.0f}): {column.advice}"


def _serial(column: _IntegerColumn) -> str:
    """Describe days as Excel counts them."""
    if not column.is_within(_NAMED_SERIALS if column.is_named_time else _SERIALS):
        return ""
    first = _EXCEL_START + timedelta(days=int(column.low))
    return (
        f"looks like dates in days as Excel counts them ({column.low:.0f} is "
        f"{first.isoformat()}): {column.advice}"
    )


def _seconds(column: _IntegerColumn) -> str:
    if not column.is_within(_SECONDS):
        return ""
    return f"looks like times in seconds since 1970: {column.advice}"


def _position(column: _IntegerColumn) -> str:
    """Describe where genes begin and end, besides their counts."""
    if column.name.strip().lower() not in ("start", "end", "length"):
        return ""
    return f"looks like a position or length on the genome: {column.advice}"


def _identifier(column: _IntegerColumn) -> str:
    """Describe integers, all different: consecutive, ascending from row to row, or so named."""
    n_observed = column.values.size
    if column.n_distinct < n_observed:
        if not is_identifier(column.name) or column.n_distinct < 3:
            return ""
        return (
            f"is named like an identifier and repeats ({column.n_distinct:,} different integers "
            f"in {n_observed:,} rows): {column.advice}"
        )
    is_consecutive = column.high - column.low == n_observed - 1
    is_ascending = (np.diff(column.values) > 0).all()
    if not (is_consecutive or _NAMED_IDENTIFIER.search(column.name) or is_ascending):
        return ""
    return (
        f"looks like an identifier ({n_observed:,} different integers, {column.low:.0f} to "
        f'{column.high:.0f}): use it for labels (--labels "{column.name}"), or {column.advice}'
    )


# Order statistics.


@dataclass(frozen=True)
class _Split:
    """Values of a column that are apart from all others, above or below them.

    `values` maps each to its count, and `gap` is the distance to the nearest of the others;
    `lowest`, `highest` and `n_distinct` are those of the others. `is_integer` says whether all
    values of the column are integers.
    """

    column: int
    values: dict[float, int]
    gap: float
    lowest: float
    highest: float
    n_distinct: int
    is_integer: bool

    @property
    def range(self) -> float:
        return self.highest - self.lowest


@dataclass(frozen=True, eq=False)
class _ColumnStatistics:
    """Counts and quartiles of each column over its observed entries; NaN for an empty one.

    `splits` holds at most one group of values above and one below for each column.
    """

    n_observed: Array
    n_distinct: Array
    low: Array
    lower: Array
    median: Array
    upper: Array
    high: Array
    is_integer: Array
    n_observed_in_rows: Array
    splits: list[_Split]

    @property
    def spreads(self) -> Array:
        """Robust standard deviations, from the quartiles."""
        return np.nan_to_num(self.upper - self.lower, nan=0.0) / 1.349

    @property
    def ranges_without_splits(self) -> Array:
        """The ranges of the columns that are not empty, without the values that are apart."""
        ranges = self.high - self.low
        for split in self.splits:
            ranges[split.column] = min(ranges[split.column], split.range)
        return ranges[self.n_observed > 0]


def _column_statistics(values: Array) -> _ColumnStatistics:
    """Return order statistics of the columns, computed block by block."""
    n_rows, n_columns = values.shape
    width = max(1, _BLOCK // max(n_rows, 1))
    blocks, splits = [], []
    n_observed_in_rows = np.zeros(n_rows, dtype=np.int64)
    for start in range(0, n_columns, width):
        block = np.array(values[:, start : start + width].T, order="C")
        n_observed_in_rows += (~np.isnan(block)).sum(axis=0)
        block.sort(axis=1)
        blocks.append(_statistics_of_sorted(block))
        splits += _find_splits(block, blocks[-1], start)
    joined = [np.concatenate(parts) for parts in zip(*blocks, strict=True)]
    return _ColumnStatistics(*joined, n_observed_in_rows, splits)


def _statistics_of_sorted(block: Array) -> tuple[Array, ...]:
    """Return the first fields of `_ColumnStatistics`, of sorted columns with NaN at the end."""
    n_observed = block.shape[1] - np.isnan(block).sum(axis=1)
    n_distinct = (block[:, 1:] > block[:, :-1]).sum(axis=1) + (n_observed > 0)
    last = np.maximum(n_observed - 1, 0)
    quartiles = [
        np.take_along_axis(block, (last * quarter // 4)[:, None], axis=1)[:, 0]
        for quarter in range(5)
    ]
    is_integer = ((block == np.floor(block)).sum(axis=1) == n_observed) & (n_observed > 0)
    return (n_observed, n_distinct, *quartiles, is_integer)


def _find_splits(block: Array, statistics: tuple[Array, ...], start: int) -> list[_Split]:
    """Return the values that are apart in each sorted column."""
    n_observed, _, low, _, _, _, high, is_integer = statistics
    if block.shape[1] < 2:
        return []
    gaps = np.diff(block, axis=1)
    number = np.arange(1, block.shape[1])
    found = []
    above = gaps >= _GAP * (block[:, :-1] - low[:, None])
    above &= 2 * (n_observed[:, None] - number) < n_observed[:, None]
    below = gaps >= _GAP * (high[:, None] - block[:, 1:])
    below &= 2 * number < n_observed[:, None]
    for side, is_split in (("above", above), ("below", below)):
        is_split &= gaps > 0
        for line in np.flatnonzero(is_split.any(axis=1)):
            at = int(np.argmax(np.where(is_split[line], gaps[line], -1.0)))
            ordered = block[line, : n_observed[line]]
            parts = ordered[: at + 1], ordered[at + 1 :]
            others, apart = parts if side == "above" else parts[::-1]
            distinct, counts = np.unique(apart, return_counts=True)
            if distinct.size <= _MAX_APART:
                found.append(
                    _Split(
                        start + int(line),
                        dict(zip(distinct.tolist(), counts.tolist(), strict=True)),
                        float(gaps[line, at]),
                        float(others[0]),
                        float(others[-1]),
                        int((others[1:] > others[:-1]).sum()) + 1,
                        bool(is_integer[line]),
                    )
                )
    return found
