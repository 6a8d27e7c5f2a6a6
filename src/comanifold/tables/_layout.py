"""How a table is laid out: lines before it, header lines, units, and the column of labels."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ._cells import as_text, is_numeric, is_padded_code
from ._header_names import (
    CORNERS,
    NAMES_OF_LABELS,
    has_units,
    is_identifier,
    is_monotone,
    is_plain_number,
    is_scale,
    is_year,
    merged_names,
    values_in,
)
from ._missing import Missing
from ._names import distinct_names
from ._sources import Record, usual_length
from ._table import Options, TableError, listed, shortened

# Lines of a series matrix of GEO begin with an exclamation mark.
_COMMENTS = ("#", "%", "//", "!")

# A number such as 12,500 that is cut at its comma.
_HEAD, _TAIL = re.compile(r"[1-9][0-9]{0,2}"), re.compile(r"[0-9]{3}")

# More header lines than this have to be told.
_MOST_HEADER_ROWS = 3

# Rows and columns that are enough to tell names from numbers.
_ROWS_LOOKED_AT = 60
_COLUMNS_LOOKED_AT = 1000


@dataclass(frozen=True)
class Layout:
    """What was detected, or given, about a table. Places count from zero.

    `n_before` is the number of records before the data, `header_lines` the lines of names.
    """

    header: list[str] | None
    n_columns: int
    label_column: int | None
    n_before: int = 0
    header_lines: tuple[int, ...] = ()
    units: list[str] | None = None
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    line: str = "line"

    @cached_property
    def raw_names(self) -> list[str]:
        """Names of all columns as they are in the file; "column 3" for one without."""
        given = self.header or [""] * self.n_columns
        return [name or f"column {place}" for place, name in enumerate(given, start=1)]

    @cached_property
    def names(self) -> list[str]:
        """Names of all columns, all different."""
        return distinct_names(self.raw_names)

    @property
    def corner(self) -> str:
        if self.header is None or self.label_column is None:
            return ""
        return self.header[self.label_column]

    def told(self) -> str:
        """Header and labels, to end a sentence with."""
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
            called = f" ({shortened(self.corner)})" if self.corner else ""
            labels = f"labels of rows in column {self.label_column + 1}{called}"
        return f"{header}; {labels}."


def is_comment(record: Sequence[Any]) -> bool:
    """Whether a record begins as a comment does."""
    return bool(record) and isinstance(record[0], str) and record[0].lstrip().startswith(_COMMENTS)


def find_layout(
    sample: Sequence[Record], options: Options, missing: Missing, line: str = "line"
) -> Layout:
    """The layout of a table from its first records."""
    if not sample:
        raise TableError("the file is empty")
    records = [(number, [as_text(cell) for cell in record]) for number, record in sample]
    return _Finder(records, options, missing, line).find()


class _Finder:
    """The steps from the first records to a layout."""

    def __init__(
        self, records: list[tuple[int, list[str]]], options: Options, missing: Missing, line: str
    ):
        self._records, self._options, self._missing, self._line = records, options, missing, line
        self._notes: list[str] = []
        self._doubts: list[str] = []
        plain = [record for _, record in records if not is_comment(record)]
        self._first_line = 1
        self._n_columns = usual_length(plain or [record for _, record in records])

    def find(self) -> Layout:
        start = self._count_preamble()
        if start == len(self._records):
            start = 0
        if start:
            texts = [" ".join(filter(None, record)) for _, record in self._records[:start]]
            self._notes.append(f"Skipped before the table: {listed(texts, 3)}.")
        rows = self._records[start:]
        self._first_line = rows[0][0]
        n_header = self._count_header(rows)
        body = [record for _, record in rows[n_header:]]
        if start and not n_header:
            self._refuse_short_header(self._records[start - 1], len(rows[0][1]))
        header, units = self._names_and_units(rows[:n_header], body)
        if header is None:
            self._n_columns = len(body[0]) if body else self._n_columns
            self._drop_trailing_separator(body)
        else:
            self._n_columns = len(header)
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

    # Lines before the table.

    def _count_preamble(self) -> int:
        """The number of records before the header: titles, remarks and empty ones."""
        count = 0
        for place in range(len(self._records)):
            if not self._is_preamble(place):
                break
            count += 1
        return count

    def _is_preamble(self, place: int) -> bool:
        record = self._records[place][1]
        n_filled = sum(bool(cell.strip()) for cell in record)
        n = self._n_columns
        if not any(record) or record[0].startswith("!"):
            return True
        if is_comment(record) and len(record) not in (n, n - 1):
            return True
        if len(record) < n - 1:
            return True
        if self._options.header is True or self._options.header_rows is not None:
            return False
        # A title in a sheet is padded with empty cells; a title of a narrow table is as long as
        # the header that R writes. Either way, a header follows.
        is_title = n_filled == 1 and bool(record[0].strip()) and (n > 2 or len(record) == 1)
        if is_title or is_comment(record) or (len(record) == n - 1 and n_filled <= 2):
            after = [self._records[next_] for next_ in range(place + 1, len(self._records))]
            while after and (is_comment(after[0][1]) or not any(after[0][1])):
                after.pop(0)
            return (
                len(after) > 1
                and len(after[0][1]) == n
                and not is_numeric(record[0])
                and self._is_texty(after[0][1], [other for _, other in after[1:]])
            )
        return False

    def _refuse_short_header(self, before: tuple[int, list[str]], n_cells: int) -> None:
        """Refuse names above rows that have more cells, if there is no other header."""
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
            f"({listed(record, 3)}), and the next one has {n_cells} cells: if numbers hold the "
            f"separator, quote them, or separate cells by another sign. If it is a title: "
            f"--skip-rows {number}"
        )

    # Header lines.

    def _count_header(self, rows: list[tuple[int, list[str]]]) -> int:
        """The number of header lines, as told or as they look."""
        if self._options.header_rows is not None:
            return min(self._options.header_rows, len(rows))
        if self._options.header is False:
            return 0
        records = [record for _, record in rows]
        for n_header in range(min(_MOST_HEADER_ROWS, len(records) - 1), 0, -1):
            last = records[n_header - 1]
            if not self._is_texty(last, records[n_header:], first=n_header == 1):
                continue
            # Numbers can stand above names, as years do, and not between them.
            between = records[1 : n_header - 1]
            if all(self._is_texty(row, records[n_header:], first=False) for row in between):
                return n_header + self._has_numbers_below_names(rows, n_header)
        if self._options.header is True:
            return 1
        return int(self._is_single_header(records))

    def _has_numbers_below_names(self, rows: list[tuple[int, list[str]]], n_header: int) -> bool:
        """Whether years, or numbers below names that span columns, are a last line of names."""
        if self._options.header is True or len(rows) < n_header + 2:
            return False
        above = rows[n_header - 1][1]
        number, row = rows[n_header]
        body = [record for _, record in rows[n_header + 1 :]]
        names = [cell for cell in row[1:] if cell.strip()]
        is_plain = len(names) > 1 and all(map(is_plain_number, names))
        if not is_plain or self._kind(row[0]) == "number":
            return False
        values = [float(name) for name in names]
        told = f"{self._line} {number} holds numbers ({listed(names, 3)})"
        are_years = all(map(is_year, values))
        if are_years:
            n_alike = sum(all(map(is_year, values_in(record[1:]))) for record in body)
            are_years = n_alike * 2 < len(body)
        has_gaps = any(
            not name.strip() and cell.strip()
            for name, cell in zip(above[1:], row[1:], strict=False)
        )
        spans = has_gaps and row[0].strip().lower() in CORNERS
        if are_years or (spans and all(value.is_integer() for value in values)):
            self._doubts.append(
                f"{told} and was taken as a line of names; if it is data: --header-rows {n_header}"
            )
            return True
        if not row[0].strip() and all(record[0].strip() for record in body if any(record)):
            self._doubts.append(
                f"{told} without a label and was taken as data; if it holds names: "
                f"--header-rows {n_header + 1}"
            )
        return False

    def _is_texty(self, row: list[str], body: list[list[str]], first: bool = True) -> bool:
        """Whether a row has words above columns of numbers."""
        above = [
            self._kind(cell)
            for place, cell in enumerate(row[:_COLUMNS_LOOKED_AT])
            if place < self._n_columns and self._kind_of_column(body, place) == "number"
        ]
        if first:
            return above.count("text") > above.count("number")
        # A second line of names, or of units, has nothing but words, and a first row of data
        # with a stray word in it has not.
        if has_units(row):
            n_needed: float = 1
        else:
            n_needed = max(1 if not row[0].strip() else 2, len(above) / 2)
        return above.count("text") >= n_needed and not above.count("number")

    def _is_single_header(self, records: list[list[str]]) -> bool:
        first, body = records[0], records[1:]
        kinds = [self._kind(cell) for cell in first]
        if not body:
            return "number" not in kinds
        if len(first) == self._n_columns - 1 and not self._ends_empty(body):
            return True
        n_looked_at = min(self._n_columns, _COLUMNS_LOOKED_AT)
        under = [self._kind_of_column(body, place) for place in range(n_looked_at)]
        if "number" not in under:  # below it there is nothing but text
            return all(kind == "text" for kind in kinds)
        labels = [record[0] for record in body]
        names = first[1:]
        if not first[0].strip() and names and all(name.strip() for name in names):
            if under[0] == "text":
                return True
            if len(set(first)) == len(first):
                return len(set(labels)) == len(labels)
        return self._has_numbers_as_names(first, body, under)

    def _has_numbers_as_names(
        self, first: list[str], body: list[list[str]], under: list[str]
    ) -> bool:
        """Whether a first row of numbers names the columns: counted, years, or times."""
        if first in ([str(begin + i) for i in range(len(first))] for begin in (0, 1)):
            return len(first) > 2
        begin = int(self._kind(first[0]) == "text")
        kinds = [self._kind(cell) for cell in first]
        # Words above words, and nothing above nothing, may stand beside the names.
        beside = [
            place
            for place, kind in enumerate(kinds[: len(under)])
            if place >= begin
            and ((kind == "text" and under[place] == "text") or (kind == under[place] == "missing"))
        ]
        if any(
            first[p] == record[p]
            for p in beside
            if first[p]
            for record in body[:_ROWS_LOOKED_AT]
            if p < len(record)
        ):
            return False
        places = sorted(set(range(begin, len(first))) - set(beside))
        names = [first[place] for place in places]
        if len(names) < 2 or len(first) != self._n_columns or not all(map(is_plain_number, names)):
            return False
        values = [float(name) for name in names]
        rows = [values_in([record[p] for p in places if p < len(record)]) for record in body]
        rows = [row for row in rows if row]
        if not rows or len(set(values)) < len(values):
            return False
        named = begin == 1 and under[0] == "text"
        has_words = any(first[place].strip() for place in beside)
        if not is_monotone(values):
            return self._has_numbers_without_order(first, names, values, rows, has_words)
        if all(map(is_year, values)):
            n_alike = sum(all(map(is_year, row)) for row in rows)
            sure = n_alike * 2 < len(rows)
            reason = "years"
        else:
            n_alike = sum(map(is_monotone, rows))
            is_corner = named and (has_words or first[0].strip().lower() in CORNERS)
            sure = is_corner or (n_alike * 2 <= len(rows) and is_scale(values, rows))
            reason = "numbers in order"
        told = f"{self._line} {self._first_line} holds {reason} ({listed(names, 3)})"
        if sure and reason == "years" and named and len(values) > 2:
            self._notes.append(f"{told.capitalize()}, taken as names of columns.")
        elif sure:
            self._doubts.append(f"{told} and was taken as a header; if it is data: --no-header")
        elif n_alike * 2 < len(rows) and (named or len(values) > 2):
            self._doubts.append(f"{told} and was taken as data; if it is a header: --header")
        return sure

    def _has_numbers_without_order(
        self,
        first: list[str],
        names: list[str],
        values: list[float],
        rows: list[list[float]],
        has_words: bool,
    ) -> bool:
        """Whether a first row of numbers in no order names the columns, as numbers of samples."""
        told = f"{self._line} {self._first_line} holds numbers ({listed(names, 3)})"
        is_named = self._kind(first[0]) == "text"
        if is_named and (has_words or first[0].strip().lower() in CORNERS):
            self._doubts.append(
                f"{told} after {shortened(first[0])} and was taken as a header; if it is data: "
                "--no-header"
            )
            return True
        full = [row for row in rows if len(row) == len(values)]
        if len(values) > 2 and len(full) > 2:
            columns = zip(values, zip(*full, strict=True), strict=True)
            if all(value < min(column) or value > max(column) for value, column in columns):
                self._doubts.append(
                    f"{told} unlike those below and was taken as data; if it is a header: --header"
                )
        return False

    # Names, units and labels.

    def _names_and_units(
        self, rows: list[tuple[int, list[str]]], body: list[list[str]]
    ) -> tuple[list[str] | None, list[str] | None]:
        if not rows:
            return None, None
        lines = [self._to_length(list(record), body) for _, record in rows]
        names, units = lines, None
        if len(lines) > 1:
            with_units = [line for line in lines if has_units(line)]
            if len(with_units) == 1:
                units = with_units[0]
                names = [line for line in lines if line is not units]
        if units is not None:
            number = rows[lines.index(units)][0]
            shown = listed([unit for unit in units if unit], 4)
            self._notes.append(f"Units in {self._line} {number}: {shown}.")
        if len(names) > 1:
            header = merged_names(names)
            self._notes.append(
                f"Names of columns from {len(names)} {self._line}s, as {shortened(header[-1])}."
            )
            told = any("as a line of names" in doubt for doubt in self._doubts)
            if self._options.header_rows is None and names[0][0].strip() and not told:
                self._doubts.append(
                    f"{self._line}s {', '.join(str(number) for number, _ in rows)} were joined to "
                    "names of columns; if only the first is a header: --header-rows 1"
                )
        else:
            header = names[0]
        self._doubt_unnamed(header, body)
        return header, units

    def _doubt_unnamed(self, header: list[str], body: list[list[str]]) -> None:
        """Doubt a header that leaves out names of columns with numbers in them."""
        unnamed = [
            place
            for place, name in enumerate(header[:_COLUMNS_LOOKED_AT])
            if place and not name.strip() and self._kind_of_column(body, place) == "number"
        ]
        if unnamed and self._options.header_rows is None:
            self._doubts.append(
                f"the header has no name for {len(unnamed):,} columns of numbers, the first of "
                f"which is column {unnamed[0] + 1}; if the next {self._line} has their names: "
                "--header-rows 2"
            )

    def _to_length(self, header: list[str], body: list[list[str]]) -> list[str]:
        """A header line without what trails it, and with a name for the labels."""
        n = self._n_columns
        while len(header) > n and not header[-1].strip():
            header.pop()
        if body and len(header) == n - 1:
            if self._ends_empty(body):
                self._n_columns = n - 1
                self._notes.append("A separator at the end of each line is ignored.")
            else:
                if header[0].strip().lower() in CORNERS or _has_cut_thousands(body):
                    self._doubts.append(
                        f"the header has one name less than the rows have cells, and its first "
                        f"name, {shortened(header[0])}, was taken as that of the second column; "
                        "if a comma within numbers was taken as a separator: --delimiter, or "
                        "quote such cells"
                    )
                header.insert(0, "")  # as R writes it: no name for the labels
        return header

    def _drop_trailing_separator(self, body: list[list[str]]) -> None:
        if self._n_columns > 2 and self._ends_empty(body):
            self._n_columns -= 1
            self._notes.append("A separator at the end of each line is ignored.")

    def _ends_empty(self, body: list[list[str]]) -> bool:
        """Whether every full record ends with an empty cell."""
        full = [record for record in body if len(record) == self._n_columns]
        return bool(full) and not any(record[-1] for record in full)

    def _find_labels(self, layout: Layout, body: list[list[str]]) -> int | None:
        asked = self._options.labels
        if asked is False:
            return None
        if asked is not None and asked is not True:
            return named_column(layout.names, asked, "to take labels from")
        if asked is True or layout.n_columns == 1:
            return 0 if asked else None
        full = [record for record in body if len(record) >= layout.n_columns]
        name = "" if layout.header is None else layout.header[0].strip().lower()
        is_named = name in NAMES_OF_LABELS
        if self._kind_of_column(full, 0) == "text":
            has_gaps = any(not record[0].strip() for record in full if any(record[1:]))
            others = [] if layout.header is None else self._named_labels(layout.header, full)
            if has_gaps and others:
                return others[0]  # merged cells of groups stand before the labels
            if is_named or not self._repeats(full, 0):
                return 0
            # Groups, not labels: another column of text may name the rows.
            others = [
                place
                for place in range(1, layout.n_columns)
                if self._kind_of_column(full, place) == "text" and self._is_unique(full, place)
            ]
            return others[0] if others else None
        others = [] if layout.header is None else self._named_labels(layout.header, full)
        if others:
            return others[0]
        if not full or not self._is_unique(full, 0):
            return None
        if any(is_padded_code(record[0]) for record in full):
            self._doubts.append(
                f"column 1 has numbers that begin with 0, such as "
                f"{shortened(next(r[0] for r in full if is_padded_code(r[0])))}, and was taken as "
                "labels of rows; if it is data: --no-labels"
            )
            return 0
        if layout.header is None:
            return None
        are_whole = all(record[0].strip().lstrip("-").isdecimal() for record in full)
        is_corner = are_whole and (name in CORNERS or is_identifier(layout.header[0]))
        return 0 if is_named or is_corner else None

    def _named_labels(self, header: list[str], records: list[list[str]]) -> list[int]:
        """Columns after the first that are named as labels are, and hold different texts."""
        return [
            place
            for place in range(1, min(len(header), _COLUMNS_LOOKED_AT))
            if header[place].strip().lower() in NAMES_OF_LABELS - {""}
            and self._kind_of_column(records, place) == "text"
            and self._is_unique(records, place)
        ]

    def _repeats(self, records: list[list[str]], place: int) -> bool:
        """Whether a column has so few values that they are groups of rows."""
        cells = [record[place] for record in records]
        return len(cells) >= 4 and len(set(cells)) * 2 <= len(cells)

    def _is_unique(self, records: list[list[str]], place: int) -> bool:
        cells = [record[place] for record in records]
        return len(set(cells)) == len(cells)

    def _kind(self, cell: str) -> str:
        if self._missing.is_missing(cell):
            return "missing"
        return "number" if is_numeric(cell) else "text"

    def _kind_of_column(self, records: list[list[str]], place: int) -> str:
        """What most of a column is, missing entries aside."""
        n_text = n_numbers = 0
        for record in records[:_ROWS_LOOKED_AT]:
            if place < len(record):
                kind = self._kind(record[place])
                n_text += kind == "text"
                n_numbers += kind == "number"
        if not n_text and not n_numbers:
            return "missing"
        return "text" if n_text > n_numbers else "number"


def _has_cut_thousands(body: Sequence[Sequence[str]]) -> bool:
    """Whether a column of one to three digits always stands before one of three."""
    if len(body) < 2:
        return False
    n = min(map(len, body))
    heads = [all(_HEAD.fullmatch(record[place]) for record in body) for place in range(n)]
    tails = [all(_TAIL.fullmatch(record[place]) for record in body) for place in range(n)]
    return any(head and tail for head, tail in zip(heads[1:], tails[2:], strict=False))


def named_column(names: Sequence[str], asked: str | int, purpose: str) -> int:
    """The place of a column that is given by its name or its number from 1."""
    if asked in names:
        return list(names).index(str(asked))
    if str(asked).isdecimal() and 1 <= int(asked) <= len(names):
        return int(asked) - 1
    raise TableError(f"there is no column {shortened(asked)} {purpose}; there are {listed(names)}")
