"""Sparse matrices: entries that are not stored, Matrix Market files and labels of 10x Genomics.

Matrix Market is parsed here in bounded memory: SciPy's reader keeps all comments and whole lines,
so that a small compressed file takes 600 MB.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ._table import (
    Array,
    MemoryBudget,
    Options,
    Table,
    TableError,
    check_size,
    default_names,
    memory_bound,
    quote,
)
from ._text import open_lines

# Entries that are in memory at one time besides the matrix.
BLOCK = 1 << 20

_BANNER = "%%matrixmarket"
_MAX_DIGITS = 18
# Characters of a line with an entry.
_MAX_ENTRY = 1000
_SIGNS = {"general": None, "symmetric": 1.0, "skew-symmetric": -1.0}

# Files with labels: rows are features, formerly called genes, and columns are barcodes.
_MATRIX = "matrix.mtx"
_LABEL_FILES = {"row": ("features.tsv", "genes.tsv"), "column": ("barcodes.tsv",)}


# Entries that are stored, and those that are not.


def empty_matrix(shape: tuple[int, int], n_stored: int, absent: str | None) -> tuple[Array, str]:
    """Return a dense matrix of absent entries, and their meaning: "missing" or "zero"."""
    n_entries = shape[0] * shape[1]
    if n_stored > n_entries:
        raise TableError(
            f"it stores {n_stored:,} entries, and a matrix of {shape[0]} x {shape[1]} has "
            f"{n_entries:,}"
        )
    if absent is None and n_stored < n_entries:
        raise TableError(
            f"{n_entries - n_stored:,} entries are not stored, and may mean missing or zero: set "
            "absent (--absent missing or --absent zero)"
        )
    return np.full(shape, 0.0 if absent == "zero" else np.nan), absent or "missing"


def add_entries(
    dense: Array, rows: NDArray[np.intp], columns: NDArray[np.intp], values: Array
) -> None:
    """Add entries to a matrix of `empty_matrix`; repeated ones add up."""
    indices = rows * dense.shape[1] + columns
    flat = dense.reshape(-1)
    flat[indices[np.isnan(flat[indices])]] = 0.0
    np.add.at(flat, indices, values)


# Matrix Market.


def read_market(path: Path, options: Options) -> Table:
    """Return the matrix in an MTX file, with the 10x labels in the same folder, if any."""
    with open_lines(path) as lines:
        layout, field, symmetry = _read_banner(next(lines, ""))
        n_rows, n_columns, *stored = _read_sizes(lines, 3 if layout == "coordinate" else 2)
        shape = n_rows, n_columns
        check_size(*shape)
        if symmetry != "general" and n_rows != n_columns:
            raise TableError(f"it is declared {symmetry}, and is {n_rows} x {n_columns}")
        sign = _SIGNS[symmetry]
        notes = []
        if stored:
            values, absent = empty_matrix(shape, stored[0], options.absent)
            _add_stored(values, lines, stored[0], field == "pattern", sign)
            notes = [f"{stored[0]:,} entries are stored; those that are not are {absent}."]
        else:
            values = _read_dense(lines, shape, sign)
    table = Table(values, default_names("row", n_rows), default_names("column", n_columns), notes)
    table = _with_tenx_labels(table, path, options)
    return table.with_columns(options.columns, options.exclude)


def _read_banner(line: str) -> tuple[str, str, str]:
    """Return the layout, the field and the symmetry that the first line declares."""
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


def _read_sizes(lines: Iterator[str], n_sizes: int) -> list[int]:
    for line in lines:
        if line.strip() and not line.startswith("%"):
            words = line.split()
            if len(words) != n_sizes or not all(word.isdecimal() for word in words):
                raise TableError(f"{quote(line.strip())} should be {n_sizes} sizes")
            if max(map(len, words)) > _MAX_DIGITS:
                raise TableError(f"{quote(line.strip())} are no sizes of a matrix")
            return [int(word) for word in words]
    raise TableError("it ends before the sizes of the matrix")


def _read_numbers(lines: Iterator[str], n_lines: int, n_columns: int) -> Iterator[Array]:
    """Yield exactly so many lines of numbers, in blocks."""
    entries = _entry_lines(lines)
    declared = f"it declares {n_lines:,} lines of {n_columns} numbers, and has"
    n_read = 0
    while n_read < n_lines and (first := next(entries, None)) is not None:
        # No more lines than declared are taken into memory.
        some = chain([first], islice(entries, min(BLOCK, n_lines - n_read) - 1))
        try:
            numbers = np.loadtxt(some, ndmin=2)
        except ValueError as error:
            raise TableError(f"among the entries: {error}") from error
        if numbers.shape[1] != n_columns:
            raise TableError(f"{declared} {len(numbers):,} of {numbers.shape[1]}")
        n_read += len(numbers)
        yield numbers
    if n_lines and not n_read:
        raise TableError(f"it ends before the first of {n_lines:,} entries")
    if n_read < n_lines:
        raise TableError(f"{declared} {n_read:,} of {n_columns}")
    if next(entries, None) is not None:
        raise TableError(f"{declared} more")


def _entry_lines(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines that are neither empty nor comments."""
    for line in lines:
        entry = line.partition("%")[0].strip() if "%" in line else line.strip()
        if len(entry) > _MAX_ENTRY:
            raise TableError(f"among the entries: {quote(entry)} is no entry of a matrix")
        if entry:
            yield entry


def _add_stored(
    dense: Array, lines: Iterator[str], n_stored: int, is_pattern: bool, sign: float | None
) -> None:
    """Add the entries of the lines to a matrix; mirrored ones with `sign`, unless it is None."""
    n_before = 0
    for numbers in _read_numbers(lines, n_stored, 2 if is_pattern else 3):
        indices = numbers[:, :2]
        is_outside = (indices != np.floor(indices)) | (indices < 1) | (indices > dense.shape)
        if is_outside.any():
            e = int(np.argmax(is_outside.any(axis=1)))
            raise TableError(
                f"entry {n_before + e + 1} is at {indices[e].tolist()}, outside of the matrix"
            )
        rows, columns = (indices - 1).astype(np.intp).T
        values = np.ones(len(numbers)) if is_pattern else numbers[:, 2]
        add_entries(dense, rows, columns, values)
        if sign is not None:
            off = rows != columns
            add_entries(dense, columns[off], rows[off], sign * values[off])
        n_before += len(numbers)


def _read_dense(lines: Iterator[str], shape: tuple[int, int], sign: float | None) -> Array:
    """Return a matrix that is stored column by column; of a symmetric one, the lower triangle."""
    n_rows, n_columns = shape
    offset = 1 if sign == -1.0 else 0
    n_numbers = n_rows * n_columns if sign is None else n_rows * (n_rows + 1 - 2 * offset) // 2
    # Not into an array of the declared size: the lines may not be there.
    blocks = [numbers[:, 0].copy() for numbers in _read_numbers(lines, n_numbers, 1)]
    numbers = np.concatenate([np.empty(0), *blocks])
    if sign is None:
        return np.ascontiguousarray(numbers.reshape(n_columns, n_rows).T)
    columns, rows = np.triu_indices(n_rows, offset)
    values = np.zeros(shape)
    values[columns, rows] = sign * numbers
    values[rows, columns] = numbers
    return values


# Labels of 10x Genomics.


def _with_tenx_labels(table: Table, path: Path, options: Options) -> Table:
    """Return the table with the labels in the files that belong to a matrix.mtx, if any."""
    matrix = path.name.removesuffix(".gz")
    if not matrix.endswith(_MATRIX) or options.labels is False:
        return table
    # Many samples in one folder: patient1_matrix.mtx, patient1_features.tsv and so on.
    prefix = matrix.removesuffix(_MATRIX)
    budget = MemoryBudget(memory_bound(*table.values.shape))
    for mode, size in zip(_LABEL_FILES, table.values.shape, strict=True):
        names = [f"{prefix}{name}{end}" for name in _LABEL_FILES[mode] for end in ("", ".gz")]
        files = [path.with_name(name) for name in names if path.with_name(name).is_file()]
        if files:
            records = _read_labels(files[0], size, options.encoding, budget)
            if len(records) != size:
                n_lines = f"more than {size}" if len(records) > size else str(len(records))
                raise TableError(
                    f"{files[0].name} in its folder has {n_lines} lines, and the matrix has {size} "
                    f"{mode}s: use the file that belongs to it, or ignore the labels (--no-labels)"
                )
            note = f"Labels of {mode}s: {files[0].name}."
            labels = {f"{mode}_names": _distinguish(records)}
            table = replace(table, **labels, notes=[*table.notes, note])
    return table


def _read_labels(
    file: Path, size: int, encoding: str | None, budget: MemoryBudget
) -> list[list[str]]:
    """Return the identifier and the name in each line, at most one line more than the size."""
    try:
        with open_lines(file, encoding) as lines:
            filled = (line.rstrip("\r\n") for line in lines if line.strip())
            records = []
            for line in islice(filled, size + 1):
                budget.take_texts(file.name, [line])
                records.append(line.split("\t")[:2])
    except (TableError, UnicodeError) as error:
        raise TableError(f"{file.name} in its folder: {error}") from error
    return records


def _distinguish(records: Sequence[Sequence[str]]) -> list[str]:
    """Return the names, or the identifiers where there are none; both where names repeat."""
    names = [record[1] if len(record) > 1 and record[1] else record[0] for record in records]
    times = Counter(names)
    return [
        name if times[name] == 1 else f"{name} ({record[0]})"
        for name, record in zip(names, records, strict=True)
    ]
