"""Sparse matrices in the Matrix Market format: MTX, plain or compressed.

SciPy reads it too, but ends the whole process when the file it reads from turns out damaged.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from ._lines import open_lines
from ._stored_entries import (
    BLOCK,
    add_entries,
    check_stored,
    empty_matrix,
    meaning_of_absent,
)
from ._table import Array, Options, Table, TableError, check_size, numbered, shortened
from ._tenx_labels import with_tenx_labels

_BANNER = "%%matrixmarket"
_MOST_DIGITS = 18
# Characters of a line with an entry.
_LONGEST_ENTRY = 1000
_SIGNS = {"general": None, "symmetric": 1.0, "skew-symmetric": -1.0}


def read_market(path: Path, options: Options) -> Table:
    """The matrix in an MTX file, with labels if they lie beside it; absent entries as told."""
    with open_lines(path) as lines:
        layout, field, symmetry = _banner(next(lines, ""))
        sizes = _sizes(lines, 3 if layout == "coordinate" else 2)
        n_rows, n_columns = sizes[:2]
        check_size(n_rows, n_columns)
        if symmetry != "general" and n_rows != n_columns:
            raise TableError(f"it says that it is {symmetry}, and is {n_rows} x {n_columns}")
        notes = []
        if layout == "coordinate":
            n_stored = sizes[2]
            check_stored(n_stored, n_rows, n_columns)
            absent = meaning_of_absent(options.absent, n_rows * n_columns - n_stored)
            values = empty_matrix(n_rows, n_columns, absent)
            _add_stored(values, lines, n_stored, field == "pattern", _SIGNS[symmetry])
            notes = [f"{n_stored:,} entries are stored; those that are not are {absent}."]
        else:
            values = _dense(lines, n_rows, n_columns, _SIGNS[symmetry])
    table = Table(values, numbered("row", n_rows), numbered("column", n_columns), notes)
    return with_tenx_labels(table, path, options)


def _banner(line: str) -> tuple[str, str, str]:
    words = line.lower().split()
    if len(words) != 5 or words[:2] != [_BANNER, "matrix"]:
        raise TableError("line 1 is not that of a Matrix Market file: %%MatrixMarket matrix ...")
    layout, field, symmetry = words[2:]
    if (
        layout not in ("coordinate", "array")
        or field not in ("real", "double", "integer", "unsigned-integer", "pattern")
        or symmetry not in _SIGNS
    ):
        raise TableError(f"matrices that are {' '.join(words[2:])} cannot be read")
    return layout, field, symmetry


def _sizes(lines: Iterator[str], n_sizes: int) -> list[int]:
    for line in lines:
        if line.strip() and not line.startswith("%"):
            words = line.split()
            if len(words) != n_sizes or not all(word.isdecimal() for word in words):
                raise TableError(f"{shortened(line.strip())} should be {n_sizes} sizes")
            if max(map(len, words)) > _MOST_DIGITS:
                raise TableError(f"{shortened(line.strip())} are no sizes of a matrix")
            return [int(word) for word in words]
    raise TableError("it ends before the sizes of the matrix")


def _numbers(lines: Iterator[str], n_lines: int, n_columns: int) -> Iterator[Array]:
    """So many lines of numbers, and no more, in blocks."""
    filled = _entry_lines(lines)
    n_read = 0
    while n_read < n_lines:
        wanted = min(BLOCK, n_lines - n_read)
        some = list(islice(filled, 1))
        if not some:
            break
        try:
            # No more than are declared are taken into memory, and no fewer pass.
            numbers = np.loadtxt(_both(some, islice(filled, wanted - 1)), ndmin=2)
        except ValueError as error:
            raise TableError(f"among the entries: {error}") from error
        if numbers.shape[1] != n_columns:
            raise TableError(
                f"it says that it has {n_lines:,} lines of {n_columns} numbers, and has "
                f"{len(numbers):,} of {numbers.shape[1]}"
            )
        n_read += len(numbers)
        yield numbers
    if n_lines and not n_read:
        raise TableError(f"it ends before the first of {n_lines:,} entries")
    if n_read < n_lines or next(filled, None) is not None:
        raise TableError(
            f"it says that it has {n_lines:,} lines of {n_columns} numbers, and has "
            f"{'more' if n_read == n_lines else f'{n_read:,} of {n_columns}'}"
        )


def _entry_lines(lines: Iterator[str]) -> Iterator[str]:
    """Lines that are neither empty nor comments."""
    for line in lines:
        entry = line.partition("%")[0].strip() if "%" in line else line.strip()
        if len(entry) > _LONGEST_ENTRY:
            raise TableError(f"among the entries: {shortened(entry)} is no entry of a matrix")
        if entry:
            yield entry


def _both(first: list[str], others: Iterator[str]) -> Iterator[str]:
    yield from first
    yield from others


def _add_stored(
    dense: Array, lines: Iterator[str], n_stored: int, is_pattern: bool, sign: float | None
) -> None:
    """Put the entries that the lines store into a matrix; `sign` is that of mirrored ones."""
    n_before = 0
    for numbers in _numbers(lines, n_stored, 2 if is_pattern else 3):
        places = numbers[:, :2]
        wrong = (places != np.floor(places)) | (places < 1) | (places > dense.shape)
        if wrong.any():
            e = int(np.argmax(wrong.any(axis=1)))
            raise TableError(
                f"entry {n_before + e + 1} is at {places[e].tolist()}, outside of the matrix"
            )
        rows, columns = (places - 1).astype(np.intp).T
        values = np.ones(len(numbers)) if is_pattern else numbers[:, 2]
        add_entries(dense, rows, columns, values)
        if sign is not None:
            off = rows != columns
            add_entries(dense, columns[off], rows[off], sign * values[off])
        n_before += len(numbers)


def _column(lines: Iterator[str], size: int) -> Array:
    """So many numbers, one in each line."""
    # Not into an array of the size that is declared: the lines may not be there.
    blocks = [numbers[:, 0].copy() for numbers in _numbers(lines, size, 1)]
    return np.concatenate([np.empty(0), *blocks])


def _dense(lines: Iterator[str], n_rows: int, n_columns: int, sign: float | None) -> Array:
    if sign is None:
        numbers = _column(lines, n_rows * n_columns)
        return np.ascontiguousarray(numbers.reshape(n_columns, n_rows).T)
    # One triangle, column by column.
    off = 0 if sign > 0 else 1
    numbers = _column(lines, n_rows * (n_rows + 1 - 2 * off) // 2)
    columns, rows = np.triu_indices(n_rows, off)
    values = np.zeros((n_rows, n_rows))
    values[columns, rows] = sign * numbers
    values[rows, columns] = numbers
    return values
