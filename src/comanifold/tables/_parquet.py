"""Parquet files, read with pyarrow column by column into one matrix, in bounded memory."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ._table import (
    REFERENCE_BYTES,
    Array,
    MemoryBudget,
    Options,
    Table,
    TableError,
    check_bytes,
    check_size,
    default_names,
    find_name,
    memory_bound,
    quote,
    quote_list,
    reading_errors,
    select_columns,
)

# Rows of a column that are read at one time.
_BLOCK = 1 << 20


def read(path: Path, options: Options) -> Table:
    """Return the table in a Parquet file; its index, or its first column of text, are the labels.

    Other columns of text or dates become annotations of the rows. Only selected columns are read.
    """
    with reading_errors("a Parquet file"):
        with pq.ParquetFile(path, memory_map=False) as file:
            plan = _plan(file.schema_arrow, options)
            check_size(file.metadata.num_rows, len(plan.numbers))
        texts = [name for name in plan.texts if _is_string(plan.types[name])]
        # Texts that are stored once and referenced often stay that way in memory.
        with pq.ParquetFile(path, memory_map=False, read_dictionary=texts) as file:
            return _read(file, plan)


# Which columns to read.


@dataclass(frozen=True)
class _Plan:
    """Which columns are read, and what they become."""

    labels: list[str]
    corner: str
    numbers: list[str]
    annotations: list[str]
    types: dict[str, Any]

    @property
    def texts(self) -> list[str]:
        return [*self.labels, *self.annotations]


def _plan(schema: Any, options: Options) -> _Plan:
    index = _index_columns(schema)
    names = [name for name in schema.names if name not in index]
    labels, corner = _choose_labels(schema, names, index, options.labels)
    names = [name for name in names if name not in labels]
    if not names:
        raise TableError("it has no column besides its labels")
    chosen = [names[j] for j in select_columns(names, options.columns, options.exclude)]
    times = Counter(schema.names)
    for name in (*chosen, *labels):
        if times[name] > 1:
            raise TableError(f"several columns have the name {quote(name)}: give each its own")
    types = {name: schema.field(name).type for name in (*chosen, *labels)}
    other = [name for name, kind in types.items() if not (_is_number(kind) or _is_text(kind))]
    if other:
        raise TableError(
            f"columns hold lists, binary or nested values: {quote_list(other)}. Data must be "
            "numbers; leave them out (--exclude)"
        )
    numbers = [name for name in chosen if _is_number(types[name])]
    if not numbers:
        raise TableError(f"no column holds numbers: {quote_list(chosen)}")
    texts = [name for name in chosen if not _is_number(types[name])]
    return _Plan(labels, corner, numbers, texts, types)


def _index_columns(schema: Any) -> list[str]:
    """Return the columns that pandas wrote as the index of its frame."""
    try:
        index = (schema.pandas_metadata or {}).get("index_columns", [])
        return [name for name in index if isinstance(name, str) and name in schema.names]
    except (ValueError, AttributeError, TypeError):
        return []


def _choose_labels(
    schema: Any, names: list[str], index: list[str], wanted: str | int | bool | None
) -> tuple[list[str], str]:
    """Return the columns with the row labels, and the name of these labels."""
    if wanted is False:
        return [], ""
    if wanted is not None and wanted is not True:
        name = str(wanted) if wanted in index else names[find_name(names, wanted)]
        return [name], name
    if index:
        named = [name for name in index if not name.startswith("__index_level_")]
        return index, ", ".join(named) or "the index"
    if len(names) > 1 and not _is_number(schema.field(schema.names.index(names[0])).type):
        return names[:1], names[0]
    return [], ""


def _is_number(kind: Any) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_real = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return is_real or pa.types.is_boolean(kind) or pa.types.is_null(kind)


def _is_text(kind: Any) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return _is_string(kind) or pa.types.is_temporal(kind)


def _is_string(kind: Any) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


# Reading them.


def _read(file: Any, plan: _Plan) -> Table:
    n_rows = file.metadata.num_rows
    bound = memory_bound(n_rows, len(plan.numbers))
    _check_row_groups(file.metadata, {*plan.numbers, *plan.texts}, bound)
    values = np.empty((n_rows, len(plan.numbers)))
    # One column at a time: each takes memory of its own while it is uncompressed.
    for j, name in enumerate(plan.numbers):
        for start, part in _parts(file, name, n_rows):
            values[start : start + len(part), j] = _floats(part)
    budget = MemoryBudget(bound)
    texts = {name: _TextColumn(name, budget, bound) for name in plan.texts}
    for name, column in texts.items():
        for _, part in _parts(file, name, n_rows):
            column.add(part)
    notes = [f"Labels of rows: {plan.corner or 'none'}."]
    if plan.annotations:
        notes.append(
            "Columns of text or dates are annotations of the rows, not data: "
            f"{quote_list(plan.annotations)}."
        )
    annotations = {name: texts[name].values for name in plan.annotations}
    # An index may have several levels.
    labels = [
        " ".join(parts) for parts in zip(*(texts[n].values for n in plan.labels), strict=True)
    ]
    return Table(
        values,
        [label or f"row {number}" for number, label in enumerate(labels, start=1)]
        or default_names("row", n_rows),
        plan.numbers,
        notes,
        plan.corner,
        annotations={"rows": annotations} if annotations else {},
    )


def _parts(file: Any, name: str, n_rows: int) -> Iterator[tuple[int, Any]]:
    """Yield a column in parts, each with the row that it starts at."""
    start = 0
    for batch in file.iter_batches(_BLOCK, columns=[name], use_threads=False):
        if start + batch.num_rows <= n_rows:
            yield start, batch.column(name)
        start += batch.num_rows
    if start != n_rows:
        raise TableError(f"it declares {n_rows:,} rows, and has {start:,}: it is damaged")


def _check_row_groups(metadata: Any, names: set[str], bound: int) -> None:
    """Raise an error for columns that are declared larger than the matrix can explain."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for column in map(group.column, range(group.num_columns)):
            if column.path_in_schema in names:
                check_bytes(column.path_in_schema, column.total_uncompressed_size, bound)


def _floats(column: Any) -> Array:
    """Return a column of numbers, with NaN for null."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not pa.types.is_float64(column.type):
        column = column.cast(pa.float64(), safe=False)
    return column.to_numpy(zero_copy_only=False)


class _TextColumn:
    """A column as text, empty for null; equal texts are kept once."""

    def __init__(self, name: str, budget: MemoryBudget, bound: int):
        self._name, self._budget, self._bound = name, budget, bound
        self._kept: dict[str, str] = {}
        self.values: list[str] = []

    def add(self, column: Any) -> None:
        """Append the next rows of the column."""
        if pa.types.is_dictionary(column.type):
            categories = self._texts(column.dictionary)
            codes = column.indices.to_pylist()
            added = ["" if code is None else categories[code] for code in codes]
        else:
            added = self._texts(column)
        self._budget.take(self._name, len(added) * REFERENCE_BYTES)
        self.values += added

    def _texts(self, column: Any) -> list[str]:
        check_bytes(self._name, column.nbytes, self._bound)
        if pa.types.is_timestamp(column.type) and column.type.tz is not None:
            column = column.cast(pa.timestamp(column.type.unit))  # in UTC, as it is stored
        if not _is_string(column.type):
            try:
                column = column.cast(pa.string())
            except pa.ArrowNotImplementedError:  # durations
                column = column.cast(pa.int64()).cast(pa.string())
        texts = ["" if text is None else text for text in column.to_pylist()]
        new = list({text for text in texts if text not in self._kept})
        self._budget.take_texts(self._name, new)
        self._kept.update(zip(new, new, strict=True))
        return [self._kept[text] for text in texts]
