"""Labels and numbers of rows or columns, to colour them by."""

from pathlib import Path
from typing import Any

Annotations = dict[str, dict[str, list[Any]]]


def read_annotations(
    path: Path, row_names: list[str], column_names: list[str]
) -> tuple[Annotations, str]:
    """What a table says of rows or columns, by their labels, and a sentence about it.

    The first column of the table holds the labels, the others an annotation each. Those that
    are all numbers are numbers, the others are text; what is not there is empty.
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
            raise TableError(f"{path}: record {number}: the label {record[0]!r} is there twice")
        by_label[record[0]] = record[1:]
    found = {
        mode: sum(name in by_label for name in names)
        for mode, names in (("rows", row_names), ("columns", column_names))
    }
    if not any(found.values()):
        raise TableError(
            f"{path}: none of its labels, such as {records[0][0]!r}, names a row "
            f"({row_names[0]!r}, ...) or a column ({column_names[0]!r}, ...) of the data"
        )
    mode = "rows" if found["rows"] >= found["columns"] else "columns"
    names = row_names if mode == "rows" else column_names
    columns = {
        title: _values([by_label[name][place] if name in by_label else "" for name in names])
        for place, title in enumerate(header[1:])
    }
    note = f"Annotations of {found[mode]:,} of {len(names):,} {mode}: {', '.join(header[1:])}."
    return {mode: columns}, note


def merge_annotations(first: Annotations, second: Annotations) -> Annotations:
    """Annotations of both; where a name is in both, those of the second."""
    return {
        mode: {**first.get(mode, {}), **second.get(mode, {})}
        for mode in ("rows", "columns")
        if mode in first or mode in second
    }


def _values(cells: list[str]) -> list[Any]:
    from ..tables import number_or_none

    numbers = [number_or_none(cell) for cell in cells]
    there = [cell.strip().lower() not in ("", "na", "nan") for cell in cells]
    if any(there) and all(
        number is not None for number, is_there in zip(numbers, there, strict=True) if is_there
    ):
        return [float("nan") if number is None else number for number in numbers]
    return cells
