"""Values of a table that may not mean what they seem to mean.

Codes for missing entries, identifiers and dates among the measurements, columns of very different
spread, cells that are far off, and rows or columns with hardly any entries. The thresholds are
checked in `tests/tables/test_doubts.py` on data where there is something to find and where there
is nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ._column_statistics import ColumnStatistics, column_statistics
from ._identifiers import find_identifiers
from ._table import Array, Table, listed, shortened

# How often a code for missing entries stands in the table, and in one column; or in the table if
# it is never twice in a column. Numbers that are no usual codes have to stand farther from the
# others, in ranges of these, and more often.
_CODE_COUNT, _CODE_COUNT_IN_COLUMN, _CODE_COUNT_SCATTERED = 3, 2, 5
_OTHER_GAP, _OTHER_COUNT, _OTHER_DISTINCT = 10.0, 5, 10
# Of the cells with that value, so many have to be far from the rest of their columns.
_SHARE_FAR = 0.8
_MOST_CODES = 20
_CODES = {77, 88, 97, 98, 777, 888, 997, 998, 32767, 32768, 65535, 2147483647, 2147483648}
_LEAST_POWER = 5
_LARGEST_FLOATS = (9.969209968386869e36, 3.4028234663852886e38, 1.7976931348623157e308)

# How many times as large the spread of a column may be as that of another, and, of many columns,
# as that of a quarter of them.
_MOST_SPREAD_RATIO, _MOST_USUAL_RATIO, _MANY_COLUMNS = 100.0, 30.0, 20

# A cell that is far off: in robust deviations of its column, on the scale of the data and of
# their logarithms; of the typical column; and how many times as far as all but a few others.
_FAR, _FAR_IN_LOGARITHMS, _FAR_IN_MATRIX, _ALONE = 50.0, 10.0, 5.0, 5.0
_MOST_FAR_SHARE, _MOST_FAR, _MOST_FAR_COLUMNS = 0.002, 3, 0.25
_LEAST_OBSERVED = 8

# Rows and columns with no more entries than this, where there could be some more.
_FEW, _SOME = 2, 5


def find_doubts(table: Table, *, standardize: bool = False, log1p: bool = False) -> list[str]:
    """Sentences on what may be wrong with the values of a table, and the option that settles it.

    Parameters
    ----------
    table : Table
    standardize, log1p : bool, default=False
        Whether columns are going to be standardised, and logarithms taken.

    Returns
    -------
    doubts : list of str
        Empty if there is nothing to doubt. The order of the columns does not matter.

    Examples
    --------
    >>> import numpy as np
    >>> from comanifold.tables import Table, find_doubts
    >>> values = np.random.default_rng(0).normal(size=(20, 2))
    >>> values[3:6, 1] = -999
    >>> print(find_doubts(Table(values, [f"r{i}" for i in range(20)], ["a", "b"]))[0])
    -999 stands 3 times in column 'b', far from all other values there (-0.9217 to 1.493): if it
    means missing, say --missing -999
    """
    if not table.values.size:
        return []
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        statistics = column_statistics(table.values)
        codes = _find_codes(table, statistics)
        identifiers = find_identifiers(table, statistics)
        doubts = [code.told() for code in codes]
        doubts += [doubt for _, doubt in identifiers]
        if not standardize:
            doubts += _spreads(table, statistics, [place for place, _ in identifiers], log1p)
        doubts += _far_cells(table, statistics, {code.value for code in codes}, standardize)
    return [*doubts, *_hardly_observed(table, statistics)]


@dataclass
class _Code:
    """A value that may mean missing, and where it stands."""

    value: float
    columns: list[str] = field(default_factory=list)
    n_times: int = 0
    n_times_in_column: int = 0
    lowest: float = math.inf
    highest: float = -math.inf

    def told(self) -> str:
        number = _number(self.value)
        columns = sorted(self.columns)
        return (
            f"{number} stands {self.n_times:,} times in "
            f"{'columns' if len(columns) > 1 else 'column'} {listed(columns)}, far from all other "
            f"values there ({self.lowest:.4g} to {self.highest:.4g}): if it means missing, say "
            f"--missing {number}"
        )


def _find_codes(table: Table, statistics: ColumnStatistics) -> list[_Code]:
    """Values that are far from all others of their columns and stand there several times."""
    typical = float(np.median(statistics.ranges)) if statistics.ranges.size else 0.0
    codes: dict[float, _Code] = {}
    for split in statistics.splits:
        if split.n_distinct < 3 and split.gap < 0.75 * typical:
            continue
        far = split.gap >= _OTHER_GAP * max(split.range, 0.0 if split.n_distinct > 2 else typical)
        for value, n_times in split.values.items():
            is_rare_number = (
                far
                and value != 0
                and n_times >= _OTHER_COUNT
                and split.n_distinct >= _OTHER_DISTINCT
            )
            is_digit_code = split.is_whole or (
                split.gap >= split.range and split.n_distinct >= _OTHER_DISTINCT
            )
            if not (is_rare_number or _is_code(value, is_digit_code)):
                continue
            code = codes.setdefault(value, _Code(value))
            code.columns.append(table.column_names[split.column])
            code.n_times += n_times
            code.n_times_in_column = max(code.n_times_in_column, n_times)
            code.lowest = min(code.lowest, split.lowest)
            code.highest = max(code.highest, split.highest)
    found = [
        code
        for code in codes.values()
        if code.n_times >= _CODE_COUNT_SCATTERED
        or (code.n_times >= _CODE_COUNT and code.n_times_in_column >= _CODE_COUNT_IN_COLUMN)
    ]
    found.sort(key=lambda code: (-code.n_times, code.value))
    # In another column the same value may be one of many.
    return [
        code
        for code in found[:_MOST_CODES]
        if code.n_times >= _SHARE_FAR * _count(table.values, code.value)
    ]


def _is_code(value: float, is_digit_code: bool) -> bool:
    """Whether a number is one that people write where there is none; a single digit if told."""
    size = abs(value)
    if size in (7, 8, 9):
        return is_digit_code or value == -9
    digits = f"{size:.12g}".replace(".", "")
    if size > 9 and set(digits) == {"9"}:
        return True
    power = math.log10(size) if size > 0 else 0.0
    return (
        size in _CODES
        or (power >= _LEAST_POWER and power == round(power))
        or any(math.isclose(size, largest, rel_tol=1e-4) for largest in _LARGEST_FLOATS)
    )


def _count(values: Array, number: float) -> int:
    rows = max(1, (1 << 22) // max(values.shape[1], 1))
    return sum(
        int((values[start : start + rows] == number).sum()) for start in range(0, len(values), rows)
    )


def _spreads(
    table: Table, statistics: ColumnStatistics, left_out: Sequence[int], log1p: bool
) -> list[str]:
    """Advice to standardise, where some columns hardly count beside others."""
    spreads = statistics.spreads
    if log1p and np.nanmin(statistics.low, initial=0.0) > -1:
        spreads = np.log1p(statistics.upper) - np.log1p(statistics.lower)
    usable = (spreads > 0) & np.isfinite(spreads) & (statistics.n_observed >= _LEAST_OBSERVED)
    usable[list(left_out)] = False
    places = np.flatnonzero(usable)
    if places.size < 2:
        return []
    names = table.column_names
    largest = min(places, key=lambda place: (-spreads[place], names[place]))
    smallest = min(places, key=lambda place: (spreads[place], names[place]))
    ratio = spreads[largest] / spreads[smallest]
    ordered = np.sort(spreads[places])
    # Of many columns in one unit, some hardly vary: that a few do is no reason to rescale all.
    usual = ordered[places.size // 4] if places.size >= _MANY_COLUMNS else ordered[0]
    if not (ratio > _MOST_SPREAD_RATIO and ordered[-1] / usual > _MOST_USUAL_RATIO):
        return []
    return [
        f"Columns differ in spread by up to {ratio:,.0f} times ({shortened(names[largest])} "
        f"against {shortened(names[smallest])}), so that the widest decide what is near: unless "
        "they have the same unit, say --standardize"
    ]


def _far_cells(
    table: Table, statistics: ColumnStatistics, codes: set[float], standardize: bool
) -> list[str]:
    """Single cells that are far from all others of their columns."""
    spreads = statistics.spreads
    positive = spreads[spreads > 0]
    least = 0.0 if standardize or not positive.size else _FAR_IN_MATRIX * float(np.median(positive))
    tried = (spreads > 0) & (statistics.n_observed >= _LEAST_OBSERVED)
    reach = np.maximum(statistics.high - statistics.median, statistics.median - statistics.low)
    tried &= reach > np.maximum(_FAR * spreads, least)
    # Where many columns reach that far, that is how the data are distributed.
    if tried.sum() > max(_MOST_FAR, _MOST_FAR_COLUMNS * tried.size):
        return []
    cells: list[tuple[float, str, str, float, float]] = []
    for place in np.flatnonzero(tried):
        column = table.values[:, place]
        middle, spread = statistics.median[place], spreads[place]
        away = np.abs(column - middle) / spread
        far = np.flatnonzero(away > _FAR)
        most = max(_MOST_FAR, int(_MOST_FAR_SHARE * statistics.n_observed[place]))
        others = np.nanmax(np.where(away > _FAR, np.nan, away), initial=0.0)
        if far.size > most or away[far].min() < _ALONE * others:
            continue
        if statistics.low[place] >= 0 and not _is_far_in_logarithms(
            column[far], statistics, int(place)
        ):
            continue
        cells += [
            (-away[row], table.row_names[row], table.column_names[place], column[row], middle)
            for row in far
            if column[row] not in codes and abs(column[row] - middle) > least
        ]
    if not cells:
        return []
    cells.sort()
    told = "; ".join(
        f"row {shortened(row)}, column {shortened(name)} is {value:.6g} (median {middle:.4g})"
        for _, row, name, value, middle in cells[:3]
    )
    if len(cells) == 1:
        return [f"One cell is far from all others of its column: {told}. Is it a mistake?"]
    more = f"; and {len(cells) - 3:,} more" if len(cells) > 3 else ""
    return [
        f"{len(cells):,} cells are far from all others of their columns: {told}{more}. Are they "
        "mistakes?"
    ]


def _is_far_in_logarithms(values: Array, statistics: ColumnStatistics, place: int) -> bool:
    """Whether values stand out of a column of skewed numbers, too, such as counts."""
    logarithm = np.log if statistics.low[place] > 0 else np.log1p
    lower, middle, upper = (
        logarithm(numbers[place])
        for numbers in (statistics.lower, statistics.median, statistics.upper)
    )
    spread = (upper - lower) / 1.349
    away = np.abs(logarithm(values) - middle)
    return bool((away > _FAR_IN_LOGARITHMS * spread).all())


def _hardly_observed(table: Table, statistics: ColumnStatistics) -> list[str]:
    """Rows and columns of which hardly anything is known."""
    doubts = []
    for mode, names, counts, size in (
        ("row", table.row_names, statistics.n_observed_in_rows, table.values.shape[1]),
        ("column", table.column_names, statistics.n_observed, table.values.shape[0]),
    ):
        few = np.flatnonzero((counts > 0) & (counts <= _FEW))
        if few.size and size >= _SOME:
            which = listed(sorted(names[place] for place in few))
            several = f"{few.size:,} {mode}s have" if few.size > 1 else f"One {mode} has"
            doubts.append(
                f"{several} only one or two entries, which say nothing: {which}. Leave "
                f"{'them' if few.size > 1 else 'it'} out"
            )
    return doubts


def _number(value: float) -> str:
    """A number as it can be given to --missing."""
    if value == round(value) and abs(value) < 1e15:
        return str(int(value))
    return repr(float(value))
