"""The layout of a table of cells: lines before it, header lines, units, and the row labels."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from ._numbers import (
    COMMAS,
    POINTS,
    MissingCodes,
    as_text,
    is_numeric,
    is_unit,
    is_zero_padded,
    parse_number,
)
from ._table import Options, TableError, find_name, quote, quote_list, unique_names
from ._text import Source, usual_length

# Lines of a series matrix of GEO begin with an exclamation mark.
_COMMENTS = ("#", "%", "//", "!")

_THOUSANDS = re.compile(r"[1-9][0-9]{0,2},[0-9]{3}")

# More header lines than this have to be given.
_MAX_HEADER_ROWS = 3

# Rows and columns that are enough to tell names from numbers.
_ROWS_LOOKED_AT = 60
_COLUMNS_LOOKED_AT = 1000

# Usual names of the column with the row labels; an empty name is the most common of all.
_LABEL_NAMES = {"", "unnamed: 0", "rowname", "row"}
_LABEL_NAMES |= {"id", "ids", "name", "names", "label", "labels", "index"}

# What people write in the top left corner, above the labels.
_CORNERS = _LABEL_NAMES | {
    *("gene", "genes", "probe", "protein", "feature", "compound", "cell", "species", "variable"),
    *("sample", "samples", "subject", "subjects", "patient", "patients", "participant", "person"),
    *("user", "item", "country", "region", "city", "state", "group", "case", "code"),
    *("date", "time", "year", "month", "week", "day"),
}

_IDENTIFIER = re.compile(r"(?:^|.*[_\s.-])(?:id|ids|no|nr|number|code)\W*|.*[a-z](?:ID|Id|No|Nr)")

Cells = list[str]


@dataclass(frozen=True)
class Layout:
    """The layout of a table, given or auto-detected. Columns count from zero.

    `n_before` is the number of records before the data, `header_lines` the numbers of the lines
    with names, and `line` what messages call a line.
    """

    header: Cells | None
    n_columns: int
    label_column: int | None
    n_before: int = 0
    header_lines: tuple[int, ...] = ()
    units: Cells | None = None
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    line: str = "line"

    @cached_property
    def raw_names(self) -> list[str]:
        """Names of all columns as they are in the file; "column 3" for one without."""
        given = self.header or [""] * self.n_columns
        return [name or f"column {number}" for number, name in enumerate(given, start=1)]

    @cached_property
    def names(self) -> list[str]:
        """Names of all columns, all different."""
        return unique_names(self.raw_names)

    @property
    def corner(self) -> str:
        if self.header is None or self.label_column is None:
            return ""
        return self.header[self.label_column]

    def column(self, column: int) -> str:
        """Return the number and the name of a column for a message."""
        return f"column {column + 1} ({quote(self.names[column])})"

    def describe(self) -> str:
        """Return what header and labels are, as the end of a sentence."""
        numbers = self.header_lines
        if not numbers:
            header = "no header"
        elif len(numbers) == 1:
            header = f"{self.line} {numbers[0]} is a header"
        else:
            header = f"{self.line}s {', '.join(map(str, numbers))} are headers"
        if self.label_column is None:
            labels = "no labels of rows"
        else:
            called = f" ({quote(self.corner)})" if self.corner else ""
            labels = f"labels of rows in column {self.label_column + 1}{called}"
        return f"{header}; {labels}."


def is_comment(record: Sequence[Any]) -> bool:
    """Whether a record begins like a comment."""
    return bool(record) and isinstance(record[0], str) and record[0].lstrip().startswith(_COMMENTS)


def is_identifier(name: str) -> bool:
    """Whether a column is named like identifiers are: patient_id, PatientID, Sample No."""
    name = name.strip()
    return bool(_IDENTIFIER.fullmatch(name) or _IDENTIFIER.fullmatch(name.lower()))


def detect_layout(source: Source, options: Options, missing: MissingCodes) -> Layout:
    """Return the layout of a table from its first records."""
    if not source.sample:
        raise TableError("the file is empty")
    return _Detector(source, options, missing).detect()


class _Detector:
    """The steps from the first records to a layout; notes and doubts are collected on the way."""

    def __init__(self, source: Source, options: Options, missing: MissingCodes):
        self._options, self._missing, self._line = options, missing, source.line
        self._records = [
            (number, [as_text(cell) for cell in record]) for number, record in source.sample
        ]
        self._notes: list[str] = []
        self._doubts: list[str] = []
        records = [record for _, record in self._records]
        self._n_columns = usual_length([r for r in records if not is_comment(r)] or records)
        self._first_line = 1

    def detect(self) -> Layout:
        # Records before the header: titles, remarks and empty ones.
        start = next((i for i in range(len(self._records)) if not self._is_preamble(i)), 0)
        if start:
            texts = [" ".join(filter(None, record)) for _, record in self._records[:start]]
            self._notes.append(f"Skipped before the table: {quote_list(texts, 3)}.")
        rows = self._records[start:]
        self._first_line = rows[0][0]
        n_header = self._count_header(rows)
        body = [record for _, record in rows[n_header:]]
        if start and not n_header:
            self._check_short_header(self._records[start - 1], len(rows[0][1]))
        header, units = self._names_and_units(rows[:n_header], body)
        if header is not None:
            self._n_columns = len(header)
        else:
            self._n_columns = len(body[0]) if body else self._n_columns
            if self._n_columns > 2 and self._ends_empty(body):
                self._drop_last_column()
        layout = Layout(
            header,
            self._n_columns,
            None,
            start + n_header,
            tuple(number for number, _ in rows[:n_header]),
            units,
            self._notes,
            self._doubts,
            self._line,
        )
        return replace(layout, label_column=self._find_labels(layout, body))

    # Kinds of cells.

    def _kind(self, cell: str) -> str:
        if self._missing.matches(cell):
            return "missing"
        return "number" if is_numeric(cell) else "text"

    def _kind_of_column(self, records: list[Cells], column: int) -> str:
        """Return what most cells of a column are, missing ones aside."""
        cells = [record[column] for record in records[:_ROWS_LOOKED_AT] if column < len(record)]
        kinds = [self._kind(cell) for cell in cells]
        n_text, n_numbers = kinds.count("text"), kinds.count("number")
        if not n_text and not n_numbers:
            return "missing"
        return "text" if n_text > n_numbers else "number"

    def _ends_empty(self, body: list[Cells]) -> bool:
        """Whether every full record ends with an empty cell."""
        full = [record for record in body if len(record) == self._n_columns]
        return bool(full) and not any(record[-1] for record in full)

    def _drop_last_column(self) -> None:
        self._n_columns -= 1
        self._notes.append("A separator at the end of each line is ignored.")

    # Lines before the table.

    def _is_preamble(self, index: int) -> bool:
        record, n = self._records[index][1], self._n_columns
        n_filled = sum(bool(cell.strip()) for cell in record)
        if not any(record) or record[0].startswith("!") or len(record) < n - 1:
            return True
        if is_comment(record) and len(record) > n:
            return True
        if self._options.header is True or self._options.header_rows is not None:
            return False
        # A title in a sheet is padded with empty cells; a title of a narrow table is as long as
        # the header that R writes. Either way, a header follows.
        is_short = len(record) == n - 1 and n_filled <= 2
        if not (self._is_title(record) or is_comment(record) or is_short):
            return False
        after = [record for _, record in self._records[index + 1 :]]
        while after and (is_comment(after[0]) or not any(after[0]) or self._is_title(after[0])):
            after.pop(0)
        return (
            len(after) > 1
            and len(after[0]) == n
            and not is_numeric(record[0])
            and self._is_header_line(after[0], after[1:])
        )

    def _is_title(self, record: Cells) -> bool:
        """Whether only the first cell of a record is filled."""
        first, *others = (cell.strip() for cell in record)
        return bool(first) and not any(others) and (self._n_columns > 2 or len(record) == 1)

    def _check_short_header(self, before: tuple[int, Cells], n_cells: int) -> None:
        """Raise an error for names above rows with more cells, if there is no other header."""
        number, record = before
        if (
            self._options.header is False
            or self._options.header_rows is not None
            or is_comment(record)
            or len(record) < 2
            or any(self._kind(cell) != "text" for cell in record)
        ):
            return
        raise TableError(
            f"{self._line} {number} looks like a header with {len(record)} names "
            f"({quote_list(record, 3)}), and the next one has {n_cells} cells: if numbers contain "
            f"the separator, quote them, or use another separator. If it is a title: "
            f"--skip-rows {number}"
        )

    # Header lines.

    def _count_header(self, rows: list[tuple[int, Cells]]) -> int:
        """Return the number of header lines, given or auto-detected."""
        if self._options.header_rows is not None:
            return min(self._options.header_rows, len(rows))
        if self._options.header is False:
            return 0
        records = [record for _, record in rows]
        for n_header in range(min(_MAX_HEADER_ROWS, len(records) - 1), 0, -1):
            body = records[n_header:]
            if not self._is_header_line(records[n_header - 1], body, is_first=n_header == 1):
                continue
            # Numbers can stand above names, as years do, and not between them.
            between = records[1 : n_header - 1]
            if all(self._is_header_line(row, body, is_first=False) for row in between):
                return n_header + self._has_numbers_below_names(rows, n_header)
        if self._options.header is True:
            return 1
        return int(self._is_single_header(records))

    def _is_header_line(self, row: Cells, body: list[Cells], is_first: bool = True) -> bool:
        """Whether a row has words above columns of numbers."""
        above = [
            self._kind(cell)
            for column, cell in enumerate(row[:_COLUMNS_LOOKED_AT])
            if column < self._n_columns and self._kind_of_column(body, column) == "number"
        ]
        if is_first:
            return above.count("text") > above.count("number")
        # A second line of names, or of units, has nothing but words; a first row of data with a
        # single word in it has numbers, too.
        if _has_units(row):
            n_needed: float = 1
        else:
            n_needed = max(1 if not row[0].strip() else 2, len(above) / 2)
        return above.count("text") >= n_needed and not above.count("number")

    def _has_numbers_below_names(self, rows: list[tuple[int, Cells]], n_header: int) -> bool:
        """Whether years, or numbers below names that span columns, are a last line of names."""
        if self._options.header is True or len(rows) < n_header + 2:
            return False
        above = rows[n_header - 1][1]
        number, row = rows[n_header]
        body = [record for _, record in rows[n_header + 1 :]]
        names = [cell for cell in row[1:] if cell.strip()]
        is_plain = len(names) > 1 and all(map(_is_plain_number, names))
        if not is_plain or self._kind(row[0]) == "number":
            return False
        values = [float(name) for name in names]
        found = f"{self._line} {number} holds numbers ({quote_list(names, 3)})"
        are_years = all(map(_is_year, values)) and (
            sum(all(map(_is_year, _numbers_in(record[1:]))) for record in body) * 2 < len(body)
        )
        has_gaps = any(
            not name.strip() and cell.strip()
            for name, cell in zip(above[1:], row[1:], strict=False)
        )
        spans = has_gaps and row[0].strip().lower() in _CORNERS
        if are_years or (spans and all(value.is_integer() for value in values)):
            self._doubts.append(
                f"{found} and was taken as a line of names; if it is data: --header-rows {n_header}"
            )
            return True
        if not row[0].strip() and all(record[0].strip() for record in body if any(record)):
            self._doubts.append(
                f"{found} without a label and was taken as data; if it holds names: "
                f"--header-rows {n_header + 1}"
            )
        return False

    def _is_single_header(self, records: list[Cells]) -> bool:
        """Whether a first row without words above numbers has the names of the columns."""
        first, body = records[0], records[1:]
        kinds = [self._kind(cell) for cell in first]
        if not body:
            return "number" not in kinds
        if len(first) == self._n_columns - 1 and not self._ends_empty(body):
            return True
        n_looked_at = min(self._n_columns, _COLUMNS_LOOKED_AT)
        below = [self._kind_of_column(body, column) for column in range(n_looked_at)]
        if "number" not in below:
            return all(kind == "text" for kind in kinds)
        labels = [record[0] for record in body]
        if not first[0].strip() and first[1:] and all(name.strip() for name in first[1:]):
            if below[0] == "text":
                return True
            if len(set(first)) == len(first):
                return len(set(labels)) == len(labels)
        return self._has_numbers_as_names(first, kinds, body, below)

    def _has_numbers_as_names(
        self, first: Cells, kinds: list[str], body: list[Cells], below: list[str]
    ) -> bool:
        """Whether a first row of numbers names the columns: counted, years, or times."""
        if first in ([str(start + i) for i in range(len(first))] for start in (0, 1)):
            return len(first) > 2
        start = int(kinds[0] == "text")
        # Words above words, and nothing above nothing, may stand next to the names.
        others = [
            column
            for column, kind in enumerate(kinds[: len(below)])
            if column >= start and kind == below[column] != "number"
        ]
        if any(
            first[j] == record[j]
            for j in others
            if first[j]
            for record in body[:_ROWS_LOOKED_AT]
            if j < len(record)
        ):
            return False
        columns = sorted(set(range(start, len(first))) - set(others))
        names = [first[j] for j in columns]
        if len(names) < 2 or len(first) != self._n_columns or not all(map(_is_plain_number, names)):
            return False
        values = [float(name) for name in names]
        rows = [_numbers_in([record[j] for j in columns if j < len(record)]) for record in body]
        rows = [row for row in rows if row]
        if not rows or len(set(values)) < len(values):
            return False
        has_words = any(first[j].strip() for j in others)
        is_corner = start == 1 and (has_words or first[0].strip().lower() in _CORNERS)
        if not _is_monotone(values):
            found = f"{self._line} {self._first_line} holds numbers ({quote_list(names, 3)})"
            return self._has_unordered_numbers(found, first[0] if is_corner else "", values, rows)
        is_labelled = start == 1 and below[0] == "text"
        if all(map(_is_year, values)):
            n_alike = sum(all(map(_is_year, row)) for row in rows)
            is_header = n_alike * 2 < len(rows)
            n_in_order = sum(
                len(row) > 1 and all(map(_is_year, row)) and _is_monotone(row) for row in rows
            )
            is_unclear = n_in_order * 2 <= len(rows)
            reason = "years"
        else:
            n_alike = sum(map(_is_monotone, rows))
            is_unclear = n_alike * 2 < len(rows)
            is_header = (is_labelled and is_corner) or (
                n_alike * 2 <= len(rows) and _is_scale(values, rows)
            )
            reason = "numbers in order"
        found = f"{self._line} {self._first_line} holds {reason} ({quote_list(names, 3)})"
        if is_header and reason == "years" and is_labelled and len(values) > 2:
            self._notes.append(f"{found.capitalize()}, taken as names of columns.")
        elif is_header:
            self._doubts.append(f"{found} and was taken as a header; if it is data: --no-header")
        elif is_unclear and (is_labelled or len(values) > 2 or reason == "years"):
            self._doubts.append(f"{found} and was taken as data; if it is a header: --header")
        return is_header

    def _has_unordered_numbers(
        self, found: str, corner: str, values: list[float], rows: list[list[float]]
    ) -> bool:
        """Whether a first row of numbers in no order names the columns, as sample numbers do."""
        if corner:
            self._doubts.append(
                f"{found} after {quote(corner)} and was taken as a header; if it is data: "
                "--no-header"
            )
            return True
        full = [row for row in rows if len(row) == len(values)]
        if len(values) > 2 and len(full) > 2:
            columns = zip(values, zip(*full, strict=True), strict=True)
            if all(value < min(column) or value > max(column) for value, column in columns):
                self._doubts.append(
                    f"{found} unlike those below and was taken as data; if it is a header: --header"
                )
        return False

    # Names and units.

    def _names_and_units(
        self, rows: list[tuple[int, Cells]], body: list[Cells]
    ) -> tuple[Cells | None, Cells | None]:
        """Return the names of the columns and their units, from the header lines."""
        if not rows:
            return None, None
        lines = [self._to_length(list(record), body) for _, record in rows]
        names, units = lines, None
        with_units = [line for line in lines if _has_units(line)] if len(lines) > 1 else []
        if len(with_units) == 1:
            units = with_units[0]
            names = [line for line in lines if line is not units]
            shown = quote_list([unit for unit in units if unit], 4)
            self._notes.append(f"Units in {self._line} {rows[lines.index(units)][0]}: {shown}.")
        header = names[0]
        if len(names) > 1:
            header = _merge_names(names)
            self._notes.append(
                f"Names of columns from {len(names)} {self._line}s, as {quote(header[-1])}."
            )
            is_doubted = any("as a line of names" in doubt for doubt in self._doubts)
            if self._options.header_rows is None and names[0][0].strip() and not is_doubted:
                self._doubts.append(
                    f"{self._line}s {', '.join(str(number) for number, _ in rows)} were joined to "
                    "names of columns; if only the first is a header: --header-rows 1"
                )
        self._doubt_unnamed(header, body)
        return header, units

    def _doubt_unnamed(self, header: Cells, body: list[Cells]) -> None:
        """Add a doubt about a header without names for columns of numbers."""
        unnamed = [
            column
            for column, name in enumerate(header[:_COLUMNS_LOOKED_AT])
            if column and not name.strip() and self._kind_of_column(body, column) == "number"
        ]
        if unnamed and self._options.header_rows is None:
            self._doubts.append(
                f"the header has no name for {len(unnamed):,} columns of numbers, the first of "
                f"which is column {unnamed[0] + 1}; if the next {self._line} has their names: "
                "--header-rows 2"
            )

    def _to_length(self, header: Cells, body: list[Cells]) -> Cells:
        """Return a header line without trailing empty cells, and with a name for the labels."""
        n = self._n_columns
        while len(header) > n and not header[-1].strip():
            header.pop()
        if body and len(header) == n - 1:
            if self._ends_empty(body):
                self._drop_last_column()
                return header
            if header[0].strip().lower() in _CORNERS or _has_cut_thousands(body):
                self._doubts.append(
                    f"the header has one name less than the rows have cells, and its first "
                    f"name, {quote(header[0])}, was taken as that of the second column; "
                    "if a comma within numbers was taken as a separator: --delimiter, or "
                    "quote such cells"
                )
            header.insert(0, "")  # as R writes it: no name for the labels
        return header

    # Row labels.

    def _find_labels(self, layout: Layout, body: list[Cells]) -> int | None:
        """Return the column with the row labels, given or auto-detected."""
        wanted = self._options.labels
        if wanted is not None and not isinstance(wanted, bool):
            return find_name(layout.names, wanted, "column for labels")
        if wanted is not None or layout.n_columns == 1:
            return 0 if wanted else None
        full = [record for record in body if len(record) >= layout.n_columns]
        name = "" if layout.header is None else layout.header[0].strip().lower()
        named = [] if layout.header is None else self._named_labels(layout.header, full)
        if self._kind_of_column(full, 0) == "text":
            has_gaps = any(not record[0].strip() for record in full if any(record[1:]))
            if has_gaps and named:
                return named[0]  # merged cells of groups stand before the labels
            cells = [record[0] for record in full]
            if name in _LABEL_NAMES or len(cells) < 4 or len(set(cells)) * 2 > len(cells):
                return 0
            # Few values are groups, not labels: another column of text may name the rows.
            others = (
                column
                for column in range(1, layout.n_columns)
                if self._kind_of_column(full, column) == "text" and _is_unique(full, column)
            )
            return next(others, None)
        if named:
            return named[0]
        if not full or not _is_unique(full, 0):
            return None
        codes = [record[0] for record in full if is_zero_padded(record[0])]
        if codes:
            self._doubts.append(
                f"column 1 has numbers that begin with 0, such as {quote(codes[0])}, and was "
                "taken as labels of rows; if it is data: --no-labels"
            )
            return 0
        if layout.header is None:
            return None
        are_integers = all(record[0].strip().lstrip("-").isdecimal() for record in full)
        is_corner = are_integers and (name in _CORNERS or is_identifier(layout.header[0]))
        return 0 if name in _LABEL_NAMES or is_corner else None

    def _named_labels(self, header: Cells, records: list[Cells]) -> list[int]:
        """Return the columns after the first that are named like labels and hold unique texts."""
        return [
            column
            for column in range(1, min(len(header), _COLUMNS_LOOKED_AT))
            if header[column].strip().lower() in _LABEL_NAMES - {""}
            and self._kind_of_column(records, column) == "text"
            and _is_unique(records, column)
        ]


def _is_unique(records: list[Cells], column: int) -> bool:
    cells = [record[column] for record in records]
    return len(set(cells)) == len(cells)


def _has_cut_thousands(body: Sequence[Sequence[str]]) -> bool:
    """Whether a column of one to three digits always stands before one of three."""
    return len(body) > 1 and any(
        all(_THOUSANDS.fullmatch(",".join(record[j : j + 2])) for record in body)
        for j in range(1, min(map(len, body)) - 1)
    )


# What names of columns look like.


def _has_units(line: Sequence[str]) -> bool:
    """Whether all cells after the first are units or empty."""
    filled = [cell for cell in line[1:] if cell.strip()]
    return bool(filled) and all(is_unit(cell) for cell in filled)


def _merge_names(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return names joined from several lines; a name also covers the empty cells to its right."""
    filled = []
    for line in lines[:-1]:
        above, spread = "", []
        for column, cell in enumerate(line):
            above = cell if cell.strip() or column == 0 else above
            spread.append(above)
        filled.append(spread)
    return [
        " / ".join(dict.fromkeys(part.strip() for part in parts if part.strip()))
        for parts in zip(*filled, lines[-1], strict=False)
    ]


def _is_plain_number(cell: str) -> bool:
    """Whether a cell is a number in digits and a decimal point."""
    return re.fullmatch(r"\s*-?[0-9]+(?:\.[0-9]+)?\s*", cell) is not None


def _numbers_in(record: Sequence[str]) -> list[float]:
    """Return the finite numbers of a record in either number format, which is not known yet."""
    found = []
    for cell in record:
        numbers = (parse_number(cell, marks) for marks in (POINTS, COMMAS))
        number = next((n for n in numbers if n is not None and math.isfinite(n)), None)
        if number is not None:
            found.append(number)
    return found


def _is_year(value: float) -> bool:
    return value == int(value) and 1500 <= value <= 2200


def _is_scale(values: Sequence[float], rows: Sequence[Sequence[float]]) -> bool:
    """Whether numbers in order are names, such as times and doses, above rows of data."""
    steps = {round(b - a, 9) for a, b in pairwise(values)}
    cells = [value for row in rows for value in row]
    n_integers = sum(value.is_integer() for value in cells)
    are_integers = len(values) > 2 and all(value.is_integer() for value in values)
    # Integers above fractions, or counted through.
    if are_integers and (n_integers * 2 < len(cells) or (values[0] in (0, 1) and steps == {1})):
        return True
    # A row of data is in order by chance, but not a long one.
    return len(values) >= (5 if len(steps) == 1 else 8)


def _is_monotone(row: Sequence[float]) -> bool:
    """Whether numbers strictly increase, or strictly decrease."""
    pairs = list(pairwise(row))
    return all(a < b for a, b in pairs) or all(a > b for a, b in pairs)
