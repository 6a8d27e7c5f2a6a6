"""Sparse matrices in the Matrix Market format: MTX, plain or compressed.

SciPy reads it too, but ends the whole process when the file it reads from turns out damaged.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._validation import sparse_to_nan
from ._beside import with_names_beside
from ._lines import open_lines
from ._stored_entries import meaning_of_absent
from ._table import Array, Options, Table, TableError, check_size, numbered, shortened

_BANNER = "%%matrixmarket"
_MOST_DIGITS = 18
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
            absent = meaning_of_absent(options.absent, n_rows * n_columns - n_stored)
            entries = _entries(lines, sizes, field == "pattern", _SIGNS[symmetry])
            values = sparse_to_nan(entries, absent)
            notes = [f"{n_stored:,} entries are stored; those that are not are {absent}."]
        else:
            values = _dense(lines, n_rows, n_columns, _SIGNS[symmetry])
    table = Table(values, numbered("row", n_rows), numbered("column", n_columns), notes)
    return with_names_beside(table, path, options)


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


def _numbers(lines: Iterator[str], n_lines: int, n_columns: int) -> Array:
    """So many lines of numbers, and no more."""
    filled = (line for line in lines if line.strip())
    some = list(islice(filled, 1))
    if n_lines and not some:
        raise TableError(f"it ends before the first of {n_lines:,} entries")
    if not some:
        return np.empty((0, n_columns))
    try:
        # No more than are declared are taken into memory, and no fewer pass.
        numbers = np.loadtxt(_both(some, islice(filled, n_lines)), comments="%", ndmin=2)
    except ValueError as error:
        raise TableError(f"among the entries: {error}") from error
    if numbers.shape != (n_lines, n_columns):
        raise TableError(
            f"it says that it has {n_lines:,} lines of {n_columns} numbers, and has "
            f"{'more' if len(numbers) > n_lines else f'{len(numbers):,} of {numbers.shape[1]}'}"
        )
    return numbers


def _both(first: list[str], others: Iterator[str]) -> Iterator[str]:
    yield from first
    yield from others


def _entries(
    lines: Iterator[str], sizes: list[int], is_pattern: bool, sign: float | None
) -> sparse.coo_array:
    n_rows, n_columns, n_stored = sizes
    numbers = _numbers(lines, n_stored, 2 if is_pattern else 3)
    places = numbers[:, :2]
    wrong = (places != np.floor(places)) | (places < 1) | (places > [n_rows, n_columns])
    if wrong.any():
        e = int(np.argmax(wrong.any(axis=1)))
        raise TableError(f"entry {e + 1} is at {places[e].tolist()}, outside of the matrix")
    rows, columns = (places - 1).astype(np.intp).T
    values = np.ones(n_stored) if is_pattern else numbers[:, 2]
    if sign is not None:
        rows, columns, values = _mirrored(rows, columns, values, sign)
    return sparse.coo_array((values, (rows, columns)), shape=(n_rows, n_columns))


def _mirrored(
    rows: NDArray[np.intp], columns: NDArray[np.intp], values: Array, sign: float
) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    off = rows != columns
    return (
        np.concatenate([rows, columns[off]]),
        np.concatenate([columns, rows[off]]),
        np.concatenate([values, sign * values[off]]),
    )


def _dense(lines: Iterator[str], n_rows: int, n_columns: int, sign: float | None) -> Array:
    if sign is None:
        numbers = _numbers(lines, n_rows * n_columns, 1)
        return np.ascontiguousarray(numbers.reshape(n_columns, n_rows).T)
    # One triangle, column by column.
    off = 0 if sign > 0 else 1
    numbers = _numbers(lines, n_rows * (n_rows + 1 - 2 * off) // 2, 1)[:, 0]
    columns, rows = np.triu_indices(n_rows, off)
    values = np.zeros((n_rows, n_rows))
    values[columns, rows] = sign * numbers
    values[rows, columns] = numbers
    return values
