"""How a table of text is laid out: delimiter, decimal mark, header line, column of labels."""

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ._cells import kind_of
from ._missing import Missing
from ._table import Options, TableError, listed, shortened

_NAMES_OF_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space"}

# What columns of labels are called; an empty name is the most common of all.
_NAMES_OF_LABELS = {"", "id", "ids", "name", "names", "label", "labels", "index", "rowname", "row"}

_TABS_FIRST = ("\t", ",", ";", "|", " ")
_COMMAS_FIRST = (",", ";", "\t", "|", " ")


@dataclass(frozen=True)
class Layout:
    """What was found, or told, about a file. Places count from zero."""

    delimiter: str
    decimal: str
    header: list[str] | None
    n_columns: int
    label_column: int | None

    @property
    def names(self) -> list[str]:
        """Names of all columns of the file; "column 3" for one without."""
        given = self.header or [""] * self.n_columns
        return [name or f"column {place}" for place, name in enumerate(given, start=1)]

    @property
    def corner(self) -> str:
        if self.header is None or self.label_column is None:
            return ""
        return self.header[self.label_column]

    def note(self) -> str:
        """What was found, in a sentence."""
        name = _NAMES_OF_DELIMITERS.get(self.delimiter, repr(self.delimiter))
        comma = " with decimal commas" if self.decimal == "," else ""
        header = "line 1 is a header" if self.header else "no header"
        if self.label_column is None:
            labels = "no labels of rows"
        else:
            called = f" ({shortened(self.corner)})" if self.corner else ""
            labels = f"labels of rows in column {self.label_column + 1}{called}"
        return f"Separated by {name}s{comma}; {header}; {labels}."


def find_layout(
    sample: Sequence[str], options: Options, missing: Missing, *, prefers_tabs: bool
) -> Layout:
    """The layout of a file from its first lines."""
    delimiter, decimal, records = _separate(sample, options.delimiter, missing, prefers_tabs)
    if not records:
        raise TableError("the file is empty")
    first, body = records[0], records[1:]
    n_columns = _most_common_length(body or records)
    kinds = [_kind_of_column(body, j, decimal, missing) for j in range(n_columns)]
    has_header = options.header
    if has_header is None:
        has_header = _looks_like_header(first, body, kinds, decimal, missing)
    if not has_header:
        kinds = [_kind_of_column(records, j, decimal, missing) for j in range(n_columns)]
    header = list(first) if has_header else None
    if header is not None and body and len(header) == n_columns - 1:
        header.insert(0, "")  # as R writes it: no name for the labels
    layout = Layout(delimiter, decimal, header, len(header or first), None)
    lines = body if has_header else records
    place = _label_column(layout, options.labels, kinds, lines)
    return Layout(delimiter, decimal, header, layout.n_columns, place)


def reader_of(lines: Iterable[str], delimiter: str) -> Any:
    """A reader of records, as of the `csv` module; blank lines are empty ones."""
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter == " ")


def parse(lines: Iterable[str], delimiter: str) -> list[list[str]]:
    """Records of the lines that are not blank."""
    return [record for record in reader_of(lines, delimiter) if record]


def _separate(
    sample: Sequence[str], delimiter: str | None, missing: Missing, prefers_tabs: bool
) -> tuple[str, str, list[list[str]]]:
    """The delimiter and decimal mark that make the most sense, and the records they give."""
    order = _TABS_FIRST if prefers_tabs else _COMMAS_FIRST
    best: tuple[float, str, str, list[list[str]]] | None = None
    for candidate in (delimiter,) if delimiter else order:
        try:
            records = parse(sample, candidate)
        except csv.Error:
            continue
        for decimal in (".",) if candidate == "," else (".", ","):
            score = _sense(records, decimal, missing)
            # Spaces separate only where nothing else does: they also stand within names.
            if candidate == " " and best and best[0] > 0.0:
                continue
            if best is None or score > best[0]:
                best = score, candidate, decimal, records
    if best is None:
        raise TableError("a quoted cell in the first lines does not end: look for a stray quote")
    return best[1:]


def _sense(records: list[list[str]], decimal: str, missing: Missing) -> float:
    """Share of records of the usual length, times that of their cells which are numbers."""
    if not records:
        return 0.0
    usual = _most_common_length(records[1:] or records)
    if usual < 2:
        return 0.0
    alike = [record for record in records if len(record) == usual]
    kinds = [kind_of(cell, decimal, missing) for record in alike for cell in record[1:]]
    filled = kinds.count("number") + 0.9 * kinds.count("missing")
    # A file of nothing but text still has a delimiter.
    return len(alike) / len(records) * (0.01 + filled / len(kinds))


def _most_common_length(records: Sequence[Sequence[str]]) -> int:
    return Counter(len(record) for record in records).most_common(1)[0][0]


def _kind_of_column(records: list[list[str]], place: int, decimal: str, missing: Missing) -> str:
    """What most of a column is, missing entries aside."""
    kinds = Counter(
        kind_of(record[place], decimal, missing) for record in records if place < len(record)
    )
    if not kinds["number"] and not kinds["text"]:
        return "missing"
    return "text" if kinds["text"] > kinds["number"] else "number"


def _looks_like_header(
    first: list[str],
    body: list[list[str]],
    kinds: list[str],
    decimal: str,
    missing: Missing,
) -> bool:
    if not body:
        return all(kind_of(cell, decimal, missing) != "number" for cell in first)
    if len(first) == len(kinds) - 1:
        return True
    # Numbers as names: under an empty corner, or counted through.
    labels = [record[0] for record in body]
    if not first[0].strip() and len(first) > 1 and all(name.strip() for name in first[1:]):
        return len(set(first)) == len(first) and len(set(labels)) == len(labels)
    for begin in (0, 1):
        if len(first) > 2 and first == [str(begin + i) for i in range(len(first))]:
            return True
    above = [
        kind_of(cell, decimal, missing)
        for place, cell in enumerate(first)
        if place < len(kinds) and kinds[place] != "text"
    ]
    if not above:  # below it there is nothing but text
        return all(kind_of(cell, decimal, missing) == "text" for cell in first)
    return above.count("text") > above.count("number")


def _label_column(
    layout: Layout, asked: str | int | bool | None, kinds: list[str], lines: list[list[str]]
) -> int | None:
    if asked is False:
        return None
    if asked is not None and asked is not True:
        return _named_column(layout, asked)
    if asked is True or layout.n_columns == 1:
        return 0 if asked else None
    if kinds and kinds[0] == "text":
        return 0
    if layout.header is None or layout.header[0].strip().lower() not in _NAMES_OF_LABELS:
        return None
    labels = [record[0] for record in lines]
    return 0 if len(set(labels)) == len(labels) else None


def _named_column(layout: Layout, asked: str | int) -> int:
    names = layout.names
    if asked in names:
        return names.index(asked)
    if str(asked).isdecimal() and 1 <= int(asked) <= layout.n_columns:
        return int(asked) - 1
    raise TableError(
        f"there is no column {shortened(asked)} to take labels from; there are {listed(names)}"
    )
