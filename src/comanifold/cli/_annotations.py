"""Annotations of rows and columns: tables of them, and by which figures are coloured."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# {"rows" or "columns": {name: one value for each row or column}}
Annotations = dict[str, dict[str, list[Any]]]

# Groups by which a figure is coloured, and annotations of each mode that it shows, at most.
_MAX_GROUPS = 20
_MAX_IN_FIGURES = 3


def merge_annotations(first: Annotations, second: Annotations) -> Annotations:
    """Return the annotations of both; `second` takes precedence."""
    return {
        mode: {**first.get(mode, {}), **second.get(mode, {})}
        for mode in ("rows", "columns")
        if mode in first or mode in second
    }


def read_all_annotations(
    paths: Sequence[Path], row_names: list[str], column_names: list[str]
) -> tuple[Annotations, list[str]]:
    """Read several tables of annotations; return them together, and a sentence about each."""
    found: Annotations = {}
    notes = []
    for path in paths:
        added, note = read_annotations(path, row_names, column_names)
        found = merge_annotations(found, added)
        notes.append(note)
    return found, notes


def annotations_of_figures(added: Annotations) -> dict[str, list[str]]:
    """Return the first annotations of each mode that are groups or numbers, by mode."""
    chosen = {
        mode: [
            name for name, values in columns.items() if is_grouping(values) or _is_numeric(values)
        ]
        for mode, columns in added.items()
    }
    return {mode: names[:_MAX_IN_FIGURES] for mode, names in chosen.items() if names}


def is_grouping(values: list[Any]) -> bool:
    """Whether an annotation divides rows or columns into a few groups."""
    return 1 < len({value for value in values if not _is_empty(value)}) <= _MAX_GROUPS


def _is_numeric(values: list[Any]) -> bool:
    return all(isinstance(value, float) for value in values)


def _is_empty(value: Any) -> bool:
    return value == "" or (isinstance(value, float) and math.isnan(value))


def as_labels(values: list[Any]) -> list[Any]:
    """Return the groups of an annotation; None where there is none, integers without a point."""
    return [_as_label(value) for value in values]


def _as_label(value: Any) -> Any:
    if isinstance(value, float):
        return None if math.isnan(value) else int(value) if value.is_integer() else value
    return value or None


def read_annotations(
    path: Path, row_names: list[str], column_names: list[str]
) -> tuple[Annotations, str]:
    """Read annotations of rows or columns by label; return them, and a sentence about them.

    The first column of the table has the labels, each other one an annotation. A column of
    numbers is numeric, any other is text; values that are not there are empty.
    """
    from ..tables import TableError, read_cells

    header, *records = read_cells(path)
    if len(header) < 2 or not records:
        raise TableError(
            f"{path}: needs a header, a first column with labels, and a column for each annotation"
        )
    by_label: dict[str, list[str]] = {}
    for number, record in enumerate(records, start=2):
        if record[0] in by_label:
            raise TableError(f"{path}: record {number}: duplicate label {record[0]!r}")
        by_label[record[0]] = record[1:]
    n_found = {
        mode: sum(name in by_label for name in names)
        for mode, names in (("rows", row_names), ("columns", column_names))
    }
    if not any(n_found.values()):
        raise TableError(
            f"{path}: none of its labels, such as {records[0][0]!r}, names a row "
            f"({row_names[0]!r}, ...) or a column ({column_names[0]!r}, ...) of the data"
        )
    mode = "rows" if n_found["rows"] >= n_found["columns"] else "columns"
    names = row_names if mode == "rows" else column_names
    columns = {
        title: _numbers_or_texts([by_label[name][i] if name in by_label else "" for name in names])
        for i, title in enumerate(header[1:])
    }
    note = f"Annotations of {n_found[mode]:,} of {len(names):,} {mode}: {', '.join(header[1:])}."
    return {mode: columns}, note


def _numbers_or_texts(cells: list[str]) -> list[Any]:
    """Return cells as numbers (NaN for missing ones) if all others are numbers, else as text."""
    from ..tables import number_or_none

    numbers = [number_or_none(cell) for cell in cells]
    present = [cell.strip().lower() not in ("", "na", "nan") for cell in cells]
    if any(present) and all(
        number is not None for number, is_there in zip(numbers, present, strict=True) if is_there
    ):
        return [float("nan") if number is None else number for number in numbers]
    return cells
