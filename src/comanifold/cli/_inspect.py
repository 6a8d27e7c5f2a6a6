"""`comanifold inspect`, and how commands describe the tables that they read."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._options import FILE, GroupedCommand, output_options, reading_options
from ._output import Output

if TYPE_CHECKING:
    from ..preprocessing import Preprocessor
    from ..tables import Table

_ROWS_SHOWN, _COLUMNS_SHOWN = 5, 6
_NAME_WIDTH, _CELL_WIDTH = 24, 14
_MARKS = {".": "point", ",": "comma", "'": "apostrophe", "’": "apostrophe", None: "none seen"}
_BLANKS = " \u00a0\u2007\u2009\u202f"


@click.command(
    cls=GroupedCommand,
    groups=[reading_options, output_options],
    short_help="Show how a file is read, and what may be wrong with it.",
    examples=[
        "comanifold inspect survey.csv",
        "comanifold inspect survey.xlsx --sheet 2 --header-rows 2",
        "comanifold inspect visits.csv --long patient,test,result",
    ],
)
@click.argument("file", type=FILE)
def inspect(file: Path, reading: dict[str, Any], output: Output) -> None:
    """Show how the table in FILE is read, without fitting or writing anything.

    Lists what was auto-detected, the first rows and columns as they were read, and doubts: what
    may have been read wrongly, and the option that settles it. All commands read files in this
    way and with these options.
    """
    from ..tables import read_table

    table = read_table(file, **reading)
    doubts = _all_doubts(table)
    _say_size(output, file, table)
    for name, fact in _facts(table):
        output.say(f"  {name:<14}{fact}")
    # The first and the last note of a text table repeat what is listed.
    for note in table.notes[1:-1] if "header_lines" in table.read_as else table.notes:
        output.say(f"  {note}")
    _say_doubts(output, doubts)
    output.say()
    for line in _preview(table):
        output.say(f"  {line}")
    output.result(_as_json(file, table, doubts))


def describe(
    output: Output, file: Path, table: "Table", preprocessor: "Preprocessor | None" = None
) -> None:
    """Print how a table was read, and what may be wrong with it once it is preprocessed."""
    _say_size(output, file, table)
    for note in table.notes:
        output.say(f"  {note}")
    preprocessing = {} if preprocessor is None else preprocessor.get_params()
    _say_doubts(output, _all_doubts(table, **preprocessing))


def _say_size(output: Output, file: Path, table: "Table") -> None:
    """Print the size of a table, and how much of it is missing."""
    import numpy as np

    n_rows, n_columns = table.values.shape
    share = np.isnan(table.values).mean()
    output.say(f"{file}: {n_rows:,} rows x {n_columns:,} columns, {share:.1%} missing")


def _all_doubts(table: "Table", **preprocessing: bool) -> list[str]:
    """Return doubts about how a table was read, and about its values."""
    from ..tables import find_doubts

    return list(dict.fromkeys([*table.doubts, *find_doubts(table, **preprocessing)]))


def _say_doubts(output: Output, doubts: list[str]) -> None:
    """Print all doubts, or that there are none."""
    if not doubts:
        output.say("  Doubts: none.")
        return
    output.say("  Doubts:")
    for doubt in doubts:
        output.say(f"    - {doubt}")


def _facts(table: "Table") -> list[tuple[str, str]]:
    """Return how a text file or a sheet was read, by name."""
    read_as = table.read_as
    if "header_lines" not in read_as:
        return []
    thousands = read_as["thousands"]
    facts = [
        ("Sheet", read_as.get("sheet")),
        ("Separator", read_as.get("separator")),
        ("Encoding", read_as.get("encoding")),
        ("Decimal mark", _MARKS[read_as["decimal"]]),
        ("Thousands", "blank" if thousands and thousands in _BLANKS else _MARKS[thousands]),
        ("Header", _header(read_as["header_lines"], "row" if "sheet" in read_as else "line")),
        ("Row labels", _labels(table)),
        ("Missing", _missing(read_as["missing"])),
        ("Annotations", _annotations(table)),
    ]
    return [(name, fact) for name, fact in facts if fact is not None]


def _header(lines: list[int], noun: str) -> str:
    """Return which lines are the header."""
    if not lines:
        return "none"
    return f"{noun}{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"


def _labels(table: "Table") -> str:
    """Return where the labels of the rows are from."""
    place = table.read_as["labels"]
    if place is None:
        return "from the keys of the entries" if table.corner else "none; rows are numbered"
    return f"column {place}" + (f" ({table.corner!r})" if table.corner else "")


def _missing(codes: dict[str, int]) -> str:
    """Return the codes of missing entries, with counts."""
    counts = sorted(codes.items(), key=lambda item: -item[1])
    shown = [f"{count:,} {repr(code) if code else 'empty'}" for code, count in counts[:8]]
    more = [f"{len(counts) - 8} other codes"] if len(counts) > 8 else []
    return ", ".join([*shown, *more]) or "nothing"


def _annotations(table: "Table") -> str:
    """Return the annotations, with their first values."""
    found = []
    for mode, columns in table.annotations.items():
        for name, values in columns.items():
            distinct = list(dict.fromkeys(str(value) for value in values if value != ""))
            shown = ", ".join(_truncate(value, _CELL_WIDTH) for value in distinct[:3])
            more = ", …" if len(distinct) > 3 else ""
            found.append(f"{name} of {mode} ({shown}{more})")
    most = 4
    rest = f", and {len(found) - most} more" if len(found) > most else ""
    return (", ".join(found[:most]) + rest) or "none"


def _preview(table: "Table") -> list[str]:
    """Return the first rows and columns as aligned lines."""
    columns = [_truncate(name, _CELL_WIDTH) for name in table.column_names[:_COLUMNS_SHOWN]]
    more = "…" if len(table.column_names) > _COLUMNS_SHOWN else ""
    lines = [[_truncate(table.corner, _NAME_WIDTH), *columns, more]]
    for name, row in zip(table.row_names[:_ROWS_SHOWN], table.values, strict=False):
        cells = [_number(value) for value in row[:_COLUMNS_SHOWN]]
        lines.append([_truncate(name, _NAME_WIDTH), *cells, more])
    if len(table.row_names) > _ROWS_SHOWN:
        lines.append(["…", *["" for _ in columns], ""])
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    return [
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def _number(value: float) -> str:
    """Return an entry as text."""
    if math.isnan(value):
        return "missing"
    return f"{value:.0f}" if value == int(value) and abs(value) < 1e12 else f"{value:.6g}"


def _truncate(text: Any, width: int) -> str:
    """Return text on one line, truncated to a width."""
    text = " ".join(str(text).split())
    return text if len(text) <= width else text[: width - 1] + "…"


def _as_json(file: Path, table: "Table", doubts: list[str]) -> dict[str, Any]:
    """Return how a table was read, as values that JSON can store."""
    import numpy as np

    values = table.values[:_ROWS_SHOWN, :_COLUMNS_SHOWN]
    return {
        "file": str(file),
        "shape": list(table.values.shape),
        "share_missing": float(np.isnan(table.values).mean()),
        "read_as": table.read_as,
        "notes": table.notes,
        "annotations": {mode: list(columns) for mode, columns in table.annotations.items()},
        "doubts": doubts,
        "preview": {
            "rows": table.row_names[:_ROWS_SHOWN],
            "columns": table.column_names[:_COLUMNS_SHOWN],
            "values": [[None if math.isnan(v) else v for v in row] for row in values.tolist()],
        },
    }
