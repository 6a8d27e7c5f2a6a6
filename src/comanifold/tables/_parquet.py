"""Tables in Parquet files, read column by column into one matrix."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ._columns import chosen_columns
from ._memory import REFERENCE_BYTES, TextBudget, check_bytes, memory_bound
from ._table import Options, Table, TableError, check_size, listed, numbered, shortened

# Rows of a column that are read at one time.
_BLOCK = 1 << 20


def read_parquet(path: Path, options: Options) -> Table:
    """The table in a Parquet file; its index, or its first column of text, are the labels.

    Other columns of text or dates become annotations of the rows. Columns that are not asked for
    are not read.
    """
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError(
            f"Parquet files need {error.name}: pip install 'comanifold[formats]'"
        ) from error
    try:
        with pq.ParquetFile(path, memory_map=False) as file:
            plan = _plan(file, options)
            check_size(file.metadata.num_rows, len(plan.numbers))
        texts = [name for name in plan.texts if _is_plain_text(plan.types[name])]
        # Texts that are stored once and named often stay that way in memory.
        with pq.ParquetFile(path, memory_map=False, read_dictionary=texts) as file:
            return _read(file, plan)
    except TableError:
        raise
    except MemoryError as error:
        raise TableError("there is not enough memory to read it") from error
    except Exception as error:  # whatever its readers stumble over
        raise TableError(f"not a Parquet file that can be read: {error}") from error


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


def _plan(file: Any, options: Options) -> _Plan:
    schema = file.schema_arrow
    index = _index_columns(schema)
    names = [name for name in schema.names if name not in index]
    labels, corner = _labels(schema, names, index, options.labels)
    names = [name for name in names if name not in labels]
    if not names:
        raise TableError("it has no column beside its labels")
    chosen = [names[place] for place in chosen_columns(names, options.columns, options.exclude)]
    times = Counter(schema.names)
    for name in (*chosen, *labels):
        if times[name] > 1:
            raise TableError(f"several columns have the name {shortened(name)}: give each its own")
    types = {name: schema.field(name).type for name in (*chosen, *labels)}
    other = [name for name, kind in types.items() if not (_is_number(kind) or _is_text(kind))]
    if other:
        raise TableError(
            f"columns hold lists, binary or nested values: {listed(other)}. Data must be numbers; "
            "leave them out (--exclude)"
        )
    numbers = [name for name in chosen if _is_number(types[name])]
    if not numbers:
        raise TableError(f"no column holds numbers: {listed(chosen)}")
    texts = [name for name in chosen if not _is_number(types[name])]
    return _Plan(labels, corner, numbers, texts, types)


def _index_columns(schema: Any) -> list[str]:
    """Columns that pandas wrote as the index of its frame."""
    try:
        index = (schema.pandas_metadata or {}).get("index_columns", [])
        return [name for name in index if isinstance(name, str) and name in schema.names]
    except (ValueError, AttributeError, TypeError):
        return []


def _labels(
    schema: Any, names: list[str], index: list[str], asked: str | int | bool | None
) -> tuple[list[str], str]:
    """The columns with the labels of the rows, and what these are called."""
    if asked is False:
        return [], ""
    if asked is not None and asked is not True:
        if asked in (*names, *index):
            return [str(asked)], str(asked)
        if str(asked).isdecimal() and 1 <= int(asked) <= len(names):
            name = names[int(asked) - 1]
            return [name], name
        raise TableError(f"there is no column {shortened(asked)}; there are {listed(names)}")
    if index:
        named = [name for name in index if not name.startswith("__index_level_")]
        return index, ", ".join(named) or "the index"
    if len(names) > 1 and not _is_number(schema.field(schema.names.index(names[0])).type):
        return names[:1], names[0]
    return [], ""


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    checks = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    return any(check(kind) for check in (*checks, types.is_null))


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    return _is_plain_text(kind) or types.is_temporal(kind)


def _is_plain_text(kind: Any) -> bool:
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind)


def _read(file: Any, plan: _Plan) -> Table:
    n_rows, n_numbers = file.metadata.num_rows, len(plan.numbers)
    bound = memory_bound(n_rows, n_numbers)
    needed = [*plan.numbers, *plan.texts]
    _check_groups(file.metadata, needed, bound)
    values = np.empty((n_rows, n_numbers))
    budget = TextBudget(bound)
    # One column at a time: each takes memory of its own while it is uncompressed.
    for place, name in enumerate(plan.numbers):
        for start, part in _parts(file, name, n_rows):
            values[start : start + len(part), place] = _floats(part)
    texts = {name: _Texts(name, budget, bound) for name in plan.texts}
    for name, column in texts.items():
        for _, part in _parts(file, name, n_rows):
            column.add(part)
    labels = [texts[name].values for name in plan.labels]
    notes = [f"Labels of rows: {plan.corner or 'none'}."]
    if plan.annotations:
        notes.append(
            "Columns of text or dates are annotations of the rows, not data: "
            f"{listed(plan.annotations)}."
        )
    known = {name: texts[name].values for name in plan.annotations}
    return Table(
        values,
        _joined(labels) if labels else numbered("row", n_rows),
        plan.numbers,
        notes,
        plan.corner if labels else "",
        annotations={"rows": known} if known else {},
    )


def _parts(file: Any, name: str, n_rows: int) -> Iterator[tuple[int, Any]]:
    """A column in parts, each with the row that it starts at."""
    start = 0
    for batch in file.iter_batches(_BLOCK, columns=[name], use_threads=False):
        if start + batch.num_rows <= n_rows:
            yield start, batch.column(name)
        start += batch.num_rows
    if start != n_rows:
        raise TableError(f"it says that it has {n_rows:,} rows, and has {start:,}: it is damaged")


def _check_groups(metadata: Any, needed: list[str], bound: int) -> None:
    """Refuse columns that are declared larger than the matrix can explain."""
    wanted = set(needed)
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for place in range(group.num_columns):
            column = group.column(place)
            if column.path_in_schema in wanted:
                check_bytes(column.path_in_schema, column.total_uncompressed_size, bound)


def _floats(column: Any) -> Any:
    """A column of numbers, with NaN where it has none."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not pa.types.is_float64(column.type):
        column = column.cast(pa.float64(), safe=False)
    return column.to_numpy(zero_copy_only=False)


class _Texts:
    """A column as text, each different one kept once; empty where there is none."""

    def __init__(self, name: str, budget: TextBudget, bound: int):
        self._name, self._budget, self._bound = name, budget, bound
        self._kept: dict[str, str] = {}
        self.values: list[str] = []

    def add(self, column: Any) -> None:
        """Take the next rows of the column."""
        import pyarrow as pa

        if pa.types.is_dictionary(column.type):
            meanings = self._texts(column.dictionary)
            places = column.indices.to_numpy(zero_copy_only=False)
            found = np.isnan(places) if places.dtype.kind == "f" else np.zeros(len(places), bool)
            added = [
                "" if empty else meanings[int(place)]
                for place, empty in zip(places, found, strict=True)
            ]
        else:
            added = self._texts(column)
        self._budget.take(self._name, len(added) * REFERENCE_BYTES)
        self.values += added

    def _texts(self, column: Any) -> list[str]:
        import pyarrow as pa

        check_bytes(self._name, column.nbytes, self._bound)
        if pa.types.is_timestamp(column.type) and column.type.tz is not None:
            column = column.cast(pa.timestamp(column.type.unit))  # in UTC, as it is stored
        if not _is_plain_text(column.type):
            try:
                column = column.cast(pa.string())
            except pa.ArrowNotImplementedError:  # durations
                column = column.cast(pa.int64()).cast(pa.string())
        texts = ["" if text is None else text for text in column.to_pylist()]
        new = list({text for text in texts if text not in self._kept})
        self._budget.take_texts(self._name, new)
        self._kept.update(zip(new, new, strict=True))
        return [self._kept[text] for text in texts]


def _joined(labels: list[list[str]]) -> list[str]:
    """Labels of the rows, of several columns if the index has several levels."""
    joined = (
        labels[0] if len(labels) == 1 else [" ".join(parts) for parts in zip(*labels, strict=True)]
    )
    return [label or f"row {number}" for number, label in enumerate(joined, start=1)]
