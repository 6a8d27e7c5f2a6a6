"""Tables of text: CSV, TSV and their like, plain or compressed."""

import csv
import os
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

import numpy as np

from ._cells import number_in, parse_cell
from ._columns import as_ranges, chosen_columns
from ._layout import Layout, find_layout, parse, reader_of
from ._lines import open_lines
from ._missing import Missing
from ._table import Array, Options, Table, TableError, check_size, numbered, shortened

# Lines, and characters, that the layout is found from.
_LINES_OF_SAMPLE = 200
_CHARACTERS_OF_SAMPLE = 1 << 22


def read_text(path: Path, options: Options, missing: Missing) -> Table:
    """The table in a file of text."""
    with open_lines(path, options.encoding) as lines:
        sample = _sample(lines)
        prefers_tabs = path.name.lower().removesuffix(".gz").endswith((".tsv", ".tab"))
        layout = find_layout(sample, options, missing, prefers_tabs=prefers_tabs)
        places = _data_columns(layout, options)
        _refuse_text_columns(layout, places, sample, missing)
        body = _Body(layout, places, missing)
        body.read(chain(sample, lines))
    return body.table()


def read_cells(path: str | os.PathLike, encoding: str = "utf-8") -> list[list[str]]:
    """All cells of a table of text as they are, the header first, in records of one length."""
    path = Path(path)
    missing = Missing()
    try:
        with open_lines(path, encoding) as lines:
            sample = _sample(lines)
            layout = find_layout(sample, Options(header=True), missing, prefers_tabs=False)
            records: list[list[str]] = []
            for record in filter(None, reader_of(chain(sample, lines), layout.delimiter)):
                # The header may lack a name for the labels.
                record = record if records else layout.header
                if len(record) != layout.n_columns:
                    raise TableError(
                        f"record {len(records) + 1} has {len(record)} cells, the first has "
                        f"{layout.n_columns}"
                    )
                records.append(record)
                check_size(len(records), layout.n_columns)
    except (TableError, UnicodeError, csv.Error) as error:
        raise TableError(f"{path}: {error}") from error
    return records


def _sample(lines: Iterator[str]) -> list[str]:
    sample: list[str] = []
    n_characters = 0
    for line in islice(lines, _LINES_OF_SAMPLE):
        sample.append(line)
        n_characters += len(line)
        if n_characters > _CHARACTERS_OF_SAMPLE:
            break
    return sample


def _data_columns(layout: Layout, options: Options) -> list[int]:
    places = chosen_columns(layout.names, options.columns, options.exclude)
    places = [place for place in places if place != layout.label_column]
    if not places:
        raise TableError(
            f"there is no column of data beside the labels: is the delimiter right? {layout.note()}"
        )
    names = layout.names
    seen: dict[str, int] = {}
    for place in places:
        before = seen.setdefault(names[place], place)
        if before != place:
            raise TableError(
                f"line 1: columns {before + 1} and {place + 1} have the same name, "
                f"{shortened(names[place])}. Give each its own, or leave one out "
                f"(--exclude {place + 1})"
            )
    return places


def _refuse_text_columns(
    layout: Layout, places: list[int], sample: Sequence[str], missing: Missing
) -> None:
    """Say at once which columns are annotations, and how to read the others."""
    records = parse(sample, layout.delimiter)[1 if layout.header else 0 :]
    texts: dict[int, str] = {}
    for place in places:
        cells = [record[place] for record in records if len(record) == layout.n_columns]
        cells = [cell for cell in cells if not missing.is_missing(cell)]
        wrong = [cell for cell in cells if number_in(cell, layout.decimal) is None]
        if len(wrong) * 2 > len(cells):
            texts[place] = wrong[0]
    if not texts:
        return
    names = layout.names
    shown = [
        f"column {place + 1} ({shortened(names[place])}) holds text, such as {shortened(text)}"
        for place, text in list(texts.items())[:3]
    ]
    rest = f", and {len(texts) - 3} more columns do" if len(texts) > 3 else ""
    others = [place for place in places if place not in texts]
    way = (
        f"to read the others: columns {as_ranges(others)} (--columns {as_ranges(others)})"
        if others
        else "no column holds numbers: is the delimiter right?"
    )
    raise TableError(f"{'; '.join(shown)}{rest}. Data must be numbers; {way}")


class _Body:
    """The lines of data, read one by one."""

    def __init__(self, layout: Layout, places: list[int], missing: Missing):
        self._layout, self._places, self._missing = layout, places, missing
        self._rows: list[Array] = []
        self._names: list[str] = []
        self._seen: dict[str, int] = {}

    def read(self, lines: Iterator[str]) -> None:
        layout = self._layout
        reader = reader_of(lines, layout.delimiter)
        is_header = layout.header is not None
        number = 1
        while True:
            try:
                record = next(reader, None)
            except csv.Error as error:
                raise TableError(
                    f"line {number}: {error}. Is there a quote that does not end?"
                ) from error
            if record is None:
                return
            if record and not is_header:
                self._add(record, number)
            is_header = is_header and not record
            number = reader.line_num + 1

    def _add(self, record: list[str], number: int) -> None:
        layout = self._layout
        if len(record) != layout.n_columns:
            like = "the header" if layout.header else "the first line"
            raise TableError(
                f"line {number} has {len(record)} cells, {like} has {layout.n_columns}: every "
                "line needs the same number; a cell that holds the delimiter must be quoted"
            )
        if layout.label_column is not None:
            self._add_name(record[layout.label_column], number)
        row = np.empty(len(self._places))
        for at, place in enumerate(self._places):
            try:
                row[at] = parse_cell(record[place], layout.decimal, self._missing)
            except TableError as error:
                raise TableError(
                    f"line {number}, column {place + 1} ({shortened(layout.names[place])}): "
                    f"{shortened(record[place])} {error}"
                ) from error
        self._rows.append(row)
        check_size(len(self._rows), len(self._places))

    def _add_name(self, name: str, number: int) -> None:
        name = name or f"row {len(self._names) + 1}"
        before = self._seen.setdefault(name, number)
        if before != number:
            raise TableError(
                f"line {number}: the label {shortened(name)} was in line {before} already. Give "
                "each row its own, or read the file without labels and leave that column out "
                "(--no-labels --exclude)"
            )
        self._names.append(name)

    def table(self) -> Table:
        layout = self._layout
        if not self._rows:
            raise TableError("there is a header but no line of data")
        names = layout.names
        return Table(
            np.array(self._rows),
            self._names or numbered("row", len(self._rows)),
            [names[place] for place in self._places],
            [layout.note()],
            layout.corner,
        )
