"""`comanifold inspect`: how a file is read, before anything is fitted."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._help import SectionedCommand, examples
from ._output import Output, output_options, plain_errors
from ._reading_options import all_doubts, read, reading_options, say_doubts, say_size

if TYPE_CHECKING:
    from ..tables import Table

_ROWS_SHOWN, _COLUMNS_SHOWN = 5, 6
_WIDEST_NAME, _WIDEST_CELL = 24, 14
_MARKS = {".": "point", ",": "comma", "'": "apostrophe", "’": "apostrophe", None: "none seen"}
_BLANKS = " \u00a0\u2007\u2009\u202f"


@click.command(
    cls=SectionedCommand,
    short_help="Show how a file is read, and what may be wrong with it.",
    epilog=examples(
        "comanifold inspect survey.csv",
        "comanifold inspect survey.xlsx --sheet 2 --header-rows 2",
        "comanifold inspect visits.csv --long patient,test,result",
    ),
)
@click.argument("file", type=click.Path(path_type=Path))
@reading_options
@output_options
def inspect(file: Path, **given: Any) -> None:
    """Show how the table in FILE is read. Nothing is fitted or written.

    What is detected is listed with the first rows and columns as they were understood, and with
    doubts: what may have been read wrongly, and the option that settles it. All commands read
    files in this way and with these options.
    """
    output = Output(as_json=given["as_json"], quiet=given["quiet"])
    with plain_errors():
        table = read(file, given)
        doubts = all_doubts(table)
        say_size(output, file, table)
        for name, fact in _facts(table):
            output.say(f"  {name:<14}{fact}")
        # What the first note says is among the facts of a table of text.
        for note in table.notes[1:-1] if "header_lines" in table.read_as else table.notes:
            output.say(f"  {note}")
        say_doubts(output, doubts)
        output.say()
        for line in _preview(table):
            output.say(f"  {line}")
        output.end(_outcome(file, table, doubts))


def _facts(table: "Table") -> list[tuple[str, str]]:
    """What is known of a file of text or a sheet, by name."""
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
    if not lines:
        return "none"
    return f"{noun}{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"


def _labels(table: "Table") -> str:
    place = table.read_as["labels"]
    if place is None:
        return "from the keys of the entries" if table.corner else "none; rows are numbered"
    return f"column {place}" + (f" ({table.corner!r})" if table.corner else "")


def _missing(codes: dict[str, int]) -> str:
    counts = sorted(codes.items(), key=lambda item: -item[1])
    shown = [f"{count:,} {repr(code) if code else 'empty'}" for code, count in counts[:8]]
    more = [f"{len(counts) - 8} other codes"] if len(counts) > 8 else []
    return ", ".join([*shown, *more]) or "nothing"


def _annotations(table: "Table") -> str:
    found = []
    for mode, columns in table.annotations.items():
        for name, values in columns.items():
            distinct = list(dict.fromkeys(str(value) for value in values if value != ""))
            shown = ", ".join(_shortened(value, _WIDEST_CELL) for value in distinct[:3])
            more = ", …" if len(distinct) > 3 else ""
            found.append(f"{name} of {mode} ({shown}{more})")
    most = 4
    rest = f", and {len(found) - most} more" if len(found) > most else ""
    return (", ".join(found[:most]) + rest) or "none"


def _preview(table: "Table") -> list[str]:
    """The first rows and columns, aligned."""
    columns = [_shortened(name, _WIDEST_CELL) for name in table.column_names[:_COLUMNS_SHOWN]]
    more = "…" if len(table.column_names) > _COLUMNS_SHOWN else ""
    lines = [[_shortened(table.corner, _WIDEST_NAME), *columns, more]]
    for name, row in zip(table.row_names[:_ROWS_SHOWN], table.values, strict=False):
        cells = [_number(value) for value in row[:_COLUMNS_SHOWN]]
        lines.append([_shortened(name, _WIDEST_NAME), *cells, more])
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
    if math.isnan(value):
        return "missing"
    return f"{value:.0f}" if value == int(value) and abs(value) < 1e12 else f"{value:.6g}"


def _shortened(text: Any, width: int) -> str:
    """Text on one line, cut to a width."""
    text = " ".join(str(text).split())
    return text if len(text) <= width else text[: width - 1] + "…"


def _outcome(file: Path, table: "Table", doubts: list[str]) -> dict[str, Any]:
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
