"""The rows at given ranks in the order of their distance from each row, in blocks of rows.

Distances between all rows are needed in single precision only, from one matrix product. They
bracket the row at a rank; rows that come as near to it as rounding errors reach, mostly none, are
compared by distances that are summed up in double precision.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ._masked_distances import Rows

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# Distances held at the same time.
_AT_ONCE = 2**22

# A row of distances is sorted into so many bins, at most so many octaves below the largest.
_N_BINS = 16384
_N_OCTAVES = 24

# The nearest rows are among those below a limit, found from the least values of chunks of a row of
# distances: the longest of which there are at least twice as many as nearest rows.
_CHUNKS = (64, 16)

# Bits of a float in single precision: those of non-negative numbers are in the same order.
_RANGE = np.int32(_N_OCTAVES << 23)
_INFINITE = np.int32(0x7F800000)

# As an argument of a compiled function: for a plain 0 it would be compiled once more.
_ZERO = np.int64(0)

# Of insertion sorts, the coarsest first.
_GAPS = np.array([701, 301, 132, 57, 23, 10, 4, 1])


def rows_at_ranks(
    rows: Rows,
    ranks: Indices,
    *,
    of: Indices | None = None,
    among: Indices | None = None,
    groups: Indices | None = None,
) -> tuple[Indices, Array]:
    """Return the rows at some ranks in the order of their distance, and their distances.

    Parameters
    ----------
    rows : Rows
    ranks : ndarray of int of shape (n_ranks,)
        Rising, from 0. The row itself, and rows at an infinite distance, are not counted.
    of : ndarray of int of shape (n_chosen,), optional
        The rows whose distances are sorted, by default all.
    among : ndarray of int, optional
        The rows that are counted, in rising order, by default all.
    groups : ndarray of int of shape (n_rows,), optional
        Rows of the same group are not counted either.

    Returns
    -------
    chosen : ndarray of int of shape (n_chosen, n_ranks)
        -1 where there are not so many rows. Equally distant rows are in the order of their index.
    lengths : ndarray of shape (n_chosen, n_ranks)
        Infinite where there are not so many rows.
    """
    everything = np.arange(len(rows))
    of, among = (everything if some is None else some for some in (of, among))
    # The place of a row among those that are counted.
    place = np.full(len(rows), -1)
    place[among] = np.arange(len(among))
    chosen = np.full((len(of), len(ranks)), -1, dtype=np.intp)
    squares = np.full(chosen.shape, np.inf)
    if not chosen.size:
        return chosen, squares
    points = rows.with_nan()
    n_at_once = max(_AT_ONCE // len(among), 1)
    is_all = len(among) == len(rows)
    for start in range(0, len(of), n_at_once):
        part = slice(start, start + n_at_once)
        some = of[part]
        rough, slack, relative_slack = rows.rough_squares(some, None if is_all else among)
        itself = place[some]
        rough[np.flatnonzero(itself >= 0), itself[itself >= 0]] = np.inf
        if groups is not None:
            rough[groups[some, None] == groups[among]] = np.inf
        bits = rough.view(np.int32)
        chunk = _chunk(bits.shape[1], ranks)
        least = _least_of_chunks(bits, chunk)
        limits = _limits(least, ranks, slack, relative_slack)
        _choose(
            bits,
            (chunk, least, limits),
            slack,
            relative_slack,
            ranks,
            points,
            some,
            among,
            chosen[part],
            squares[part],
        )
    lengths = np.sqrt(squares, out=squares)
    lengths *= rows.scale
    return chosen, lengths


def _chunk(n: int, ranks: Indices) -> np.int64:
    """Return how many of n distances form a chunk; all of them, if so many ranks are wanted."""
    for size in _CHUNKS:
        if n // size >= 2 * (int(ranks[-1]) + 1):
            return np.int64(size)
    return np.int64(n)


@njit(cache=True, nogil=True)
def _least_of_chunks(bits, size):
    """Return the least values of each row of bits in chunks of some size."""
    n_rows, n = bits.shape
    least = np.empty((n_rows, (n + size - 1) // size), np.int32)
    for i in range(n_rows):
        for k in range(least.shape[1]):
            chunk = bits[i, k * size : (k + 1) * size]
            low = _INFINITE
            for j in range(len(chunk)):
                low = min(low, chunk[j])
            least[i, k] = low
    return least


def _limits(
    least: NDArray[np.int32], ranks: Indices, slack: Array, relative_slack: float
) -> NDArray[np.int32]:
    """Return for each row a number that no row at these ranks exceeds, for the first ranks only.

    The k-th of all is at most the k-th of the least values of the chunks. It is -1, for no limit,
    if ranks are large.
    """
    n_wanted = int(ranks[-1]) + 1
    if least.shape[1] < n_wanted:
        return np.full(len(least), -1, dtype=np.int32)
    kth = np.partition(least, n_wanted - 1, axis=1)[:, n_wanted - 1]
    limit = np.maximum(kth, 0).view(np.float32)
    limit = (limit * (1.0 + relative_slack) + slack).astype(np.float32)
    return limit.view(np.int32)


@njit(cache=True, nogil=True)
def _choose(bits, chunks, slack, relative_slack, ranks, X, of, among, chosen, squares):
    """Choose the columns at some ranks of each row of rough squared distances, given as bits.

    `chunks` are the size and the least values of the chunks of each row, and a limit: values beyond
    it are not looked at, unless it is negative.
    Two rough values u < v are in the right order if v - u > slack + relative_slack u. Others are
    compared by squared distances that are summed up from X.
    """
    n_rows, n = bits.shape
    chunk, least_of_chunks, limits = chunks
    most_bins = min(n, _N_BINS)
    counts, places = np.empty(most_bins + 1, np.int32), np.empty(most_bins + 1, np.int32)
    wanted = np.empty(most_bins + 1, np.bool_)  # a smaller table than that of places
    bin_of_rank, position = np.empty(len(ranks), np.int64), np.empty(len(ranks), np.int64)
    values, items = np.empty(n), np.empty(n, np.int64)
    for i in range(n_rows):
        row = bits[i]
        size, n_found, largest = _ZERO, _ZERO, _ZERO
        if limits[i] >= 0:
            for k in range(least_of_chunks.shape[1]):
                if least_of_chunks[i, k] > limits[i]:  # most chunks have none
                    continue
                for j in range(k * chunk, min((k + 1) * chunk, n)):
                    if row[j] <= limits[i] and row[j] < _INFINITE:
                        values[size] = np.int32(max(row[j], 0)).view(np.float32)
                        items[size] = j
                        size += 1
            while n_found < len(ranks) and ranks[n_found] < size:
                position[n_found] = ranks[n_found]
                n_found += 1
            largest = size
        else:
            low, high = _INFINITE, np.int32(0)
            for j in range(n):
                key = max(row[j], np.int32(0))  # below zero by rounding
                low = min(low, key)
                high = max(high, key if key < _INFINITE else np.int32(0))
            if low == _INFINITE:
                continue
            low = max(low, high - _RANGE)
            shift = 0
            while (high - low) >> shift >= most_bins:
                shift += 1
            n_bins = ((high - low) >> shift) + 1
            counts[: n_bins + 1] = 0  # infinite ones are after the last bin
            for j in range(n):
                counts[min((max(row[j], low) - low) >> shift, n_bins)] += 1

            # Collect the bins that hold the ranks, and those that rounding errors reach from there.
            wanted[: n_bins + 1] = False
            b, n_below, last = 0, 0, -1
            for r in range(len(ranks)):
                while b < n_bins and n_below + counts[b] <= ranks[r]:
                    n_below += counts[b]
                    b += 1
                if b == n_bins:
                    break
                n_found += 1
                bin_of_rank[r], position[r] = b, ranks[r] - n_below
                least = float(np.int32(low + (b << shift)).view(np.float32)) if b > 0 else 0.0
                most = float(np.int32(min(low + ((b + 1) << shift), high)).view(np.float32))
                least = max(least - slack[i] - relative_slack * least, 0.0)
                most = most + slack[i] + relative_slack * most
                start = (max(np.float32(least).view(np.int32), low) - low) >> shift
                stop = (max(np.float32(most).view(np.int32), low) - low) >> shift
                stop = min(stop, n_bins - 1)
                for q in range(max(start, last + 1), stop + 1):
                    wanted[q], places[q] = True, size
                    size += counts[q]
                    largest = max(largest, counts[q])
                last = max(last, stop)
            for r in range(n_found):
                position[r] += places[bin_of_rank[r]]
            for j in range(n):
                q = min((max(row[j], low) - low) >> shift, n_bins)
                if wanted[q]:
                    values[places[q]] = np.int32(max(row[j], 0)).view(np.float32)
                    items[places[q]] = j
                    places[q] += 1
        _sort(values, items, _ZERO, size, largest)
        _decide(
            values,
            items,
            size,
            position,
            n_found,
            slack[i],
            relative_slack,
            X,
            of[i],
            among,
            chosen[i],
            squares[i],
        )


@njit(cache=True, nogil=True)
def _decide(
    values, items, size, position, n_found, slack, relative_slack, X, i, among, chosen, squares
):
    """Choose the items at some positions of sorted rough values.

    Positions whose items could be exchanged by rounding errors are decided together.
    """
    r, stop = 0, 0
    while r < n_found:
        first, start = r, position[r]
        least = values[start] - slack - relative_slack * values[start]
        while start > stop and values[start - 1] >= least:
            start -= 1
        stop = position[r]
        while r < n_found and (r == first or position[r] < stop):
            most = values[position[r]] * (1.0 + relative_slack) + slack
            while stop < size and values[stop] <= most:
                stop += 1
            r += 1
        for p in range(start, stop):
            values[p] = _mean_square(X[i], X[among[items[p]]])
        _sort(values, items, start, stop, stop - start)
        for s in range(first, r):
            chosen[s], squares[s] = among[items[position[s]]], values[position[s]]


@njit(cache=True, nogil=True)
def _sort(values, items, start, stop, largest_gap):
    """Sort values, and items of equal values, from start to stop by insertion at falling gaps."""
    for gap in _GAPS:
        if gap > 1 and 4 * gap > largest_gap:
            continue
        for p in range(start + gap, stop):
            value, item, q = values[p], items[p], p
            while q >= start + gap and (
                values[q - gap] > value or (values[q - gap] == value and items[q - gap] > item)
            ):
                values[q], items[q] = values[q - gap], items[q - gap]
                q -= gap
            values[q], items[q] = value, item


# Sums may be taken in another order than written, which lets several be taken at once.
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _mean_square(x, y):
    """Return the mean squared difference over the entries that neither misses."""
    total = 0.0
    for k in range(len(x)):
        total += (x[k] - y[k]) ** 2
    if total == total:  # not NaN: nothing is missing
        return total / len(x)
    total, n_shared = 0.0, 0
    for k in range(len(x)):
        difference = x[k] - y[k]
        if difference == difference:
            total += difference * difference
            n_shared += 1
    return total / max(n_shared, 1)
