"""Order statistics of the columns of a matrix, computed block by block."""

from dataclasses import dataclass, field

import numpy as np

from ._table import Array

# Entries of a block of columns.
_BLOCK = 1 << 21

# Values beyond a gap of so many times the range of all others stand apart: if they are fewer
# than half, and so many different ones at most.
_GAP = 0.75
_MOST_APART = 3


@dataclass(frozen=True)
class Split:
    """Values of a column that stand apart from all others, above or below them.

    Attributes
    ----------
    column : int
    values : dict
        How often each value stands there.
    gap : float
        From them to the nearest of the others.
    lowest, highest : float
        Of the others.
    n_distinct : int
        How many different values the others are.
    is_whole : bool
        Whether all values of the column are whole numbers.
    """

    column: int
    values: dict[float, int]
    gap: float
    lowest: float
    highest: float
    n_distinct: int
    is_whole: bool

    @property
    def range(self) -> float:
        return self.highest - self.lowest


@dataclass(frozen=True, eq=False)
class ColumnStatistics:
    """Statistics of each column over what is observed; NaN for an empty one.

    Attributes
    ----------
    n_observed, n_distinct : ndarray of int
    low, lower, median, upper, high : ndarray
        The quartiles, which are values of the column.
    is_whole : ndarray of bool
        Whether all values are whole numbers.
    splits : list of Split
        Values that stand apart, at most one group above and one below for each column.
    n_observed_in_rows : ndarray of int
    """

    n_observed: Array
    n_distinct: Array
    low: Array
    lower: Array
    median: Array
    upper: Array
    high: Array
    is_whole: Array
    n_observed_in_rows: Array
    splits: list[Split] = field(default_factory=list)

    @property
    def spreads(self) -> Array:
        """Robust standard deviations, from the quartiles."""
        return np.nan_to_num(self.upper - self.lower, nan=0.0) / 1.349

    @property
    def ranges(self) -> Array:
        """The range of each column without the values that stand apart."""
        ranges = self.high - self.low
        for split in self.splits:
            ranges[split.column] = min(ranges[split.column], split.range)
        return ranges[self.n_observed > 0]


def column_statistics(values: Array) -> ColumnStatistics:
    """Order statistics of the columns, and what stands apart in them."""
    n_rows, n_columns = values.shape
    width = max(1, _BLOCK // max(n_rows, 1))
    blocks, splits = [], []
    in_rows = np.zeros(n_rows, dtype=np.int64)
    for start in range(0, n_columns, width):
        block = np.array(values[:, start : start + width].T, order="C")
        in_rows += (~np.isnan(block)).sum(axis=0)
        block.sort(axis=1)
        blocks.append(_of_sorted(block))
        splits += _splits(block, blocks[-1], start)
    joined = [np.concatenate(parts) for parts in zip(*blocks, strict=True)]
    return ColumnStatistics(*joined, in_rows, splits)


def _of_sorted(block: Array) -> tuple[Array, ...]:
    """The fields of `ColumnStatistics` up to `is_whole`, of sorted lines with NaN at the end."""
    n_observed = block.shape[1] - np.isnan(block).sum(axis=1)
    n_distinct = (block[:, 1:] > block[:, :-1]).sum(axis=1) + (n_observed > 0)
    last = np.maximum(n_observed - 1, 0)
    quartiles = [
        np.take_along_axis(block, (last * quarter // 4)[:, None], axis=1)[:, 0]
        for quarter in range(5)
    ]
    is_whole = ((block == np.floor(block)).sum(axis=1) == n_observed) & (n_observed > 0)
    return (n_observed, n_distinct, *quartiles, is_whole)


def _splits(block: Array, statistics: tuple[Array, ...], start: int) -> list[Split]:
    """Values that stand apart, in each sorted line."""
    n_observed, _, low, _, _, _, high, is_whole = statistics
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
            if distinct.size > _MOST_APART:
                continue
            found.append(
                Split(
                    start + int(line),
                    dict(zip(distinct.tolist(), counts.tolist(), strict=True)),
                    float(gaps[line, at]),
                    float(others[0]),
                    float(others[-1]),
                    int((others[1:] > others[:-1]).sum()) + 1,
                    bool(is_whole[line]),
                )
            )
    return found
