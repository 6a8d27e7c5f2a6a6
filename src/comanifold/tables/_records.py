"""From the records of a text file or a spreadsheet to a table.

The first records give the layout and the role of each column; the rows are then parsed, and
parsed again if later rows contradict what the first ones suggested.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ._layout import Layout, detect_layout, is_identifier
from ._numbers import (
    FormatDecision,
    FormatEvidence,
    MissingCodes,
    are_booleans,
    as_text,
    is_amount,
    is_annotated_number,
    is_numeric,
    is_zero_padded,
    parse_special,
    strip_accounting,
)
from ._parsing import InvalidCells, ParsingPlan, RowParser, is_total
from ._table import (
    Array,
    Options,
    Table,
    TableError,
    check_size,
    describe_repeats,
    find_name,
    format_ranges,
    quote,
    quote_list,
    select_columns,
    shell_quoted,
    split_list,
)
from ._text import Source

# Names of the value column of a table in long format, and how wide and long such tables are.
_VALUE_NAMES = {"value", "values", "rating", "ratings", "score", "count", "n", "x", "result"}
_MAX_LONG_COLUMNS = 6
_MIN_LONG_ROWS = 20

# Rows that are checked for numbers such as 007.
_ROWS_FOR_CODES = 60

# Characters of a code that an error suggests for --missing, and of a list of columns.
_MAX_SUGGESTED = 40


def read_records(source: Source, options: Options, missing: MissingCodes) -> Table:
    """Return the table in the records of a file."""
    layout = detect_layout(source, options, missing)
    if options.long is not None:
        row, column, value = _long_columns(layout.names, options.long)
        layout = replace(layout, label_column=None)
        roles = {row: "key", column: "key", value: "number"}
        table = _Reader(source, layout, options, missing).read(roles)
        return _pivot(table, layout.names[row], layout.names[column])
    reader = _Reader(source, layout, options, missing)
    return reader.read(reader.detect_roles())


class _Reader:
    """Reads records in passes until column types and number format are consistent."""

    def __init__(self, source: Source, layout: Layout, options: Options, missing: MissingCodes):
        self._source, self._layout = source, layout
        self._options, self._missing = options, missing
        self._sample = source.sample[layout.n_before :]

    def detect_roles(self) -> dict[int, str]:
        """Return the role of each column that is read, as far as the first rows show it."""
        layout, roles = self._layout, {}
        n = layout.n_columns
        records = [list(map(as_text, record[:n])) for _, record in self._sample if len(record) >= n]
        for column in select_columns(layout.names, self._options.columns, self._options.exclude):
            if column != layout.label_column:
                cells = [record[column] for record in records]
                filled = [cell for cell in cells if not self._missing.matches(cell)]
                roles[column] = _role(filled)
                if roles[column] == "text":
                    texts = [cell for cell in filled if not is_numeric(cell)]
                    _check_amounts(layout, column, texts)
        if not roles:
            raise TableError(
                "there is no column of data besides the labels: is the delimiter right? "
                f"{layout.describe()}"
            )
        return roles

    def read(self, roles: dict[int, str]) -> Table:
        """Return the table, given the roles of its columns."""
        if all(role == "text" for role in roles.values()):
            self._raise_no_numbers(roles)
        decision = self._decide_from_sample(roles)
        rows = self._parse(roles, decision)
        if rows.has_other_format or (rows.evidence.is_ambiguous and not decision.is_certain):
            before, decision = decision, self._decide_from_file(roles)
            if decision.number_format != before.number_format:
                rows = self._parse(roles, decision)
        texts = [
            column for column, invalid in rows.invalid.items() if _is_text(rows, column, invalid)
        ]
        if texts:
            # Words after the first lines: the columns are annotations after all.
            for column in texts:
                _check_amounts(self._layout, column, [rows.invalid[column].cell])
            return self.read({**roles, **dict.fromkeys(texts, "text")})
        if rows.invalid:
            self._raise_invalid(rows)
        return self._table(rows, decision)

    def _parse(self, roles: dict[int, str], decision: FormatDecision) -> RowParser:
        rows = RowParser(
            ParsingPlan(self._layout, roles, decision, self._options.censored), self._missing
        )
        with self._source.open_body(self._layout.n_before, self._options.skip_footer) as records:
            rows.parse(records)
        if not rows.n_rows:
            raise TableError("there is a header but no line of data")
        return rows

    def _decide_from_sample(self, roles: dict[int, str]) -> FormatDecision:
        """Return the number format of the first records, or of all if these are ambiguous."""
        evidence = FormatEvidence.of(self._sample, roles, is_sample=True)
        if evidence.is_ambiguous and not self._source.is_whole:
            return self._decide_from_file(roles)
        return evidence.decide(self._options, self._layout.names)

    def _decide_from_file(self, roles: dict[int, str]) -> FormatDecision:
        with self._source.open_body(self._layout.n_before, self._options.skip_footer) as records:
            evidence = FormatEvidence.of(records, roles)
        return evidence.decide(self._options, self._layout.names)

    # Errors.

    def _raise_no_numbers(self, roles: dict[int, str]) -> NoReturn:
        shown = []
        for column in list(roles)[:3]:
            cells = [as_text(record[column]) for _, record in self._sample if len(record) > column]
            cell = next((cell for cell in cells if cell.strip()), "")
            shown.append(f"{self._layout.column(column)} holds text, such as {quote(cell)}")
        raise TableError(f"{'; '.join(shown)}: no column holds numbers. Is the delimiter right?")

    def _raise_invalid(self, rows: RowParser) -> NoReturn:
        column, invalid = min(rows.invalid.items(), key=lambda item: (item[1].line, item[0]))
        layout, number_format = self._layout, rows.plan.number_format
        where = f"{layout.line} {invalid.line}, {layout.column(column)}"
        total = sum(other.count for other in rows.invalid.values())
        more = f" ({total:,} such cells in {len(rows.invalid):,} columns)" if total > 1 else ""
        cell = invalid.cell.strip()
        special = parse_special(cell, number_format)
        if special is not None and special[0] == "limit":
            raise TableError(
                f"{where}: {quote(cell)} is a limit and not a value{more}: take the limits "
                f"(--censored limit), or leave them out (--censored missing)"
            )
        hint = ""
        if is_numeric(cell):
            used, other = ("points", ",") if number_format.decimal == "." else ("commas", ".")
            hint = f" (decimal marks are {used} in this file; if not: --decimal {other})"
        elif is_amount(cell):
            hint = " but an amount with a unit or currency: write plain numbers"
        fixes = []
        if layout.header is None and invalid.line == self._sample[0][0]:
            fixes.append(f"If {layout.line} {invalid.line} is a header: --header")
        # Digits carry a value; a code such as ND does not.
        if not any(sign.isdigit() for sign in cell) and len(cell) <= _MAX_SUGGESTED:
            fixes.append(f"If it means missing: --missing {shell_quoted(cell)}")
        columns = format_ranges(list(rows.invalid))
        if len(columns) <= _MAX_SUGGESTED:
            fixes.append(f"To leave its column out: --exclude {columns}")
        raise TableError(f"{where}: {quote(cell)} is not a number{hint}{more}. {'. '.join(fixes)}")

    # The table.

    def _table(self, rows: RowParser, decision: FormatDecision) -> Table:
        layout, source, names = self._layout, self._source, self._layout.names
        values, columns = rows.values()
        notes = rows.notes()
        kept = self._filled_columns(values, columns)
        n_dropped = len(columns) - len(kept)
        if n_dropped:
            notes.append(f"Empty columns left out: {n_dropped:,}.")
            values, columns = values[:, kept], [columns[j] for j in kept]
            seen = self._missing.seen
            seen[""] = max(0, seen[""] - n_dropped * rows.n_rows)
            if not seen[""]:
                del seen[""]
        annotations: dict[str, dict[str, list[Any]]] = {}
        if rows.texts:
            annotations["rows"] = {names[column]: cells for column, cells in rows.texts.items()}
        if layout.units is not None:
            annotations["columns"] = {"unit": [layout.units[column] for column in columns]}
        texts = [names[column] for column in rows.plan.columns("text")]
        if texts:
            notes.append(f"Annotations of rows, not part of the matrix: {quote_list(texts)}.")
        raw_names = [layout.raw_names[column] for column in columns]
        column_names = [names[column] for column in columns]
        repeats = describe_repeats(raw_names, column_names, "names of columns")
        doubts = [
            *layout.doubts,
            *filter(None, [decision.doubt, repeats]),
            *_doubt_percentages(rows, values, columns),
            *_doubt_texts(rows),
            *self._doubt_numbers(rows),
            *rows.doubts(),
            *([] if self._options.long is not None else _doubt_shape(rows, values, columns)),
            *_doubt_sums(values, column_names, columns),
        ]
        decimal = decision.number_format.decimal
        comma = " with decimal commas" if decimal == "," else ""
        title = f"{source.description}{comma}; {layout.describe()}"
        return Table(
            np.ascontiguousarray(values),
            rows.labels(),
            column_names,
            [title, *layout.notes, *source.notes, *notes, *self._note_numbers(rows)],
            layout.corner,
            annotations,
            doubts,
            {
                **source.read_as,
                "decimal": decimal,
                "thousands": _thousands_mark(rows.examples.get("grouped", ""), decimal),
                "header_lines": list(layout.header_lines),
                "labels": None if layout.label_column is None else layout.label_column + 1,
            },
        )

    def _filled_columns(self, values: Array, columns: Sequence[int]) -> list[int]:
        """Return the columns of the matrix to keep: those with a name or a number.

        Without a header, only columns at the end are dropped.
        """
        header = self._layout.header
        filled = np.flatnonzero(~np.isnan(values).all(axis=0)).tolist()
        if header is None:
            kept = list(range(max(filled, default=-1) + 1))
        else:
            named = {at for at, column in enumerate(columns) if header[column].strip()}
            kept = sorted(named.union(filled))
        return kept or list(range(len(columns)))

    def _note_numbers(self, rows: RowParser) -> list[str]:
        """Return notes on numbers that were not plain."""
        notes = []
        if "grouped" in rows.examples:
            notes.append(f"Thousands are grouped, as in {quote(rows.examples['grouped'])}.")
        limits = rows.special["limit"]
        what = "their limits" if self._options.censored == "limit" else "missing"
        for text, columns in (
            ("Yes and no were read as 1 and 0", rows.plan.columns("boolean")),
            ("Percent signs were left out (12% is 12)", sorted(rows.special["percentage"])),
            (f"{limits.total():,} censored values were taken as {what}", sorted(limits)),
        ):
            if columns:
                names = [self._layout.names[column] for column in columns]
                notes.append(f"{text} in {quote_list(names)}.")
        return notes

    def _doubt_numbers(self, rows: RowParser) -> list[str]:
        """Return doubts about numbers written as in accounts, and about zero-padded ones."""
        doubts = []
        if "negative" in rows.examples:
            doubts.append(
                f"numbers such as {quote(rows.examples['negative'])} were read as negative, as in "
                "accounts; if they mean something else, leave their columns out: --exclude "
                f"{format_ranges([*rows.special['negative']])}"
            )
        codes: dict[int, str] = {}
        for _, record in self._sample[:_ROWS_FOR_CODES]:
            for column in rows.number_columns:
                cell = record[column] if column < len(record) else ""
                if isinstance(cell, str) and cell[:1] == "0" and is_zero_padded(cell):
                    codes.setdefault(column, cell)
        doubts += [
            f"{self._layout.column(column)} has numbers that begin with 0, such as {quote(code)}; "
            f"if they are codes: --exclude {column + 1}, or --labels {column + 1}"
            for column, code in sorted(codes.items())
        ]
        return doubts


def _role(filled: Sequence[str]) -> str:
    texts = [cell for cell in filled if not is_numeric(cell)]
    if texts and are_booleans(filled):
        return "boolean"
    texts = [cell for cell in texts if not is_numeric(strip_accounting(cell))]
    return "text" if len(texts) * 2 > len(filled) else "number"


def _check_amounts(layout: Layout, column: int, texts: Sequence[str]) -> None:
    """Raise an error for a column of numbers with units or currencies: it is no annotation."""
    amounts = [text for text in texts if is_amount(text)]
    if texts and len(amounts) * 2 > len(texts):
        raise TableError(
            f"{layout.column(column)} holds numbers with a unit or currency, such as "
            f"{quote(amounts[0].strip())}: write plain numbers, or leave it out "
            f"(--exclude {column + 1})"
        )


def _is_text(rows: RowParser, column: int, invalid: InvalidCells) -> bool:
    """Whether a column with invalid cells is a column of text."""
    if rows.plan.roles[column] == "boolean":
        return True
    values, columns = rows.values()
    n_numbers = int(np.isfinite(values[:, columns.index(column)]).sum())
    return invalid.count > n_numbers and not is_numeric(invalid.cell)


def _thousands_mark(grouped: str, decimal: str) -> str | None:
    """Return the mark between the thousands of a number."""
    signs = grouped.strip("+-\u2212")
    return next((sign for sign in signs if not sign.isdigit() and sign != decimal), None)


# Doubts about columns.


def _doubt_percentages(rows: RowParser, values: Array, columns: Sequence[int]) -> list[str]:
    """Return doubts about columns that mix percentages with plain numbers."""
    doubts = []
    for column, count in sorted(rows.special["percentage"].items()):
        n_numbers = int(np.isfinite(values[:, list(columns).index(column)]).sum())
        if n_numbers > count:
            doubts.append(
                f"column {quote(rows.plan.layout.names[column])} mixes {count:,} percentages with "
                f"{n_numbers - count:,} plain numbers, which may be on another scale; to "
                f"leave it out: --exclude {column + 1}"
            )
    return doubts


def _doubt_texts(rows: RowParser) -> list[str]:
    """Return doubts about annotations that hold many numbers."""
    doubts = []
    for column in rows.plan.columns("text"):
        name = rows.plan.layout.column(column)
        counts = Counter(filter(None, rows.texts[column]))
        words = [word for word in counts if not is_numeric(word)]
        n_words = sum(counts[word] for word in words)
        n_numbers = sum(counts.values()) - n_words
        annotated = [word for word in words if is_annotated_number(word)]
        if len(annotated) * 2 > len(words):
            doubts.append(
                f"{name} holds numbers with something after them, such as {quote(annotated[0])}, "
                "and was taken as an annotation; to use it, write plain numbers"
            )
        elif n_numbers * 5 > n_words:
            doubts.append(
                f"{name} holds {n_words:,} words and {n_numbers:,} numbers and was taken as an "
                f"annotation; if a word means missing: --missing {shell_quoted(words[0])}"
            )
    return doubts


def _doubt_sums(values: Array, names: Sequence[str], columns: Sequence[int]) -> list[str]:
    """Return doubts about columns named like totals that are the sum, or mean, of the others."""
    doubts = []
    for at in [at for at, name in enumerate(names) if is_total(name)] if len(names) > 2 else []:
        others = np.delete(values, at, axis=1)
        total = values[:, at]
        sums, counts = np.nansum(others, axis=1), np.isfinite(others).sum(axis=1)
        means = sums / np.maximum(counts, 1)
        near = [np.isclose(total, guess, rtol=1e-2, atol=1e-9) for guess in (sums, means)]
        if max(hits.sum() for hits in near) * 5 > np.isfinite(total).sum() * 4:
            doubts.append(
                f"column {quote(names[at])} sums up the others and was read as data; to leave "
                f"it out: --exclude {columns[at] + 1}"
            )
    return doubts


# Long format: a line for each entry of the matrix, with its row, its column and its value.


def _long_columns(names: Sequence[str], wanted: str | Sequence[str | int]) -> tuple[int, int, int]:
    """Return the columns with the row, the column and the value of an entry."""
    items = split_list(wanted) if isinstance(wanted, str) else wanted
    if len(items) != 3:
        raise TableError(
            "long takes three columns, those of the row, the column and the value: "
            "--long row,column,value"
        )
    row, column, value = (
        find_name(names, item.strip() if isinstance(item, str) else item, "column for --long")
        for item in items
    )
    if len({row, column, value}) < 3:
        raise TableError("long takes three different columns (--long)")
    return row, column, value


def _pivot(table: Table, row_name: str, column_name: str) -> Table:
    """Return the matrix of a table in long format.

    Entries that occur several times are averaged, and entries without a line are missing.
    """
    keys = table.annotations["rows"]
    rows, row_names = _codes(keys[row_name])
    columns, column_names = _codes(keys[column_name])
    n_rows, n_columns = len(row_names), len(column_names)
    check_size(n_rows, n_columns)
    values = table.values[:, 0]
    observed = np.isfinite(values)
    entries = (rows * n_columns + columns)[observed]
    counts = np.bincount(entries, minlength=n_rows * n_columns)
    sums = np.bincount(entries, weights=values[observed], minlength=n_rows * n_columns)
    with np.errstate(invalid="ignore"):
        matrix = (sums / counts).reshape(n_rows, n_columns)
    doubts = list(table.doubts)
    repeated = np.flatnonzero(counts > 1)
    if len(repeated):
        row, column = divmod(int(repeated[0]), n_columns)
        doubts.append(
            f"{len(repeated):,} entries have several lines and were averaged, such as row "
            f"{quote(row_names[row])}, column {quote(column_names[column])} with "
            f"{int(counts[repeated[0]]):,}"
        )
    note = f"A matrix of {quote(row_name)} by {quote(column_name)}, from one line per entry."
    return replace(
        table,
        values=matrix,
        row_names=row_names,
        column_names=column_names,
        notes=[*table.notes, note],
        corner=row_name,
        annotations={},
        doubts=doubts,
    )


def _codes(labels: Sequence[str]) -> tuple[NDArray[np.int64], list[str]]:
    """Return the code of each label in the order of appearance, and the different labels."""
    numbers: dict[str, int] = {}
    codes = np.fromiter(
        (numbers.setdefault(label, len(numbers)) for label in labels), np.int64, len(labels)
    )
    if "" in numbers:
        entry = int(np.flatnonzero(codes == numbers[""])[0]) + 1
        raise TableError(f"entry {entry} has no row or no column: fill it in, or delete its line")
    return codes, list(numbers)


def _doubt_shape(rows: RowParser, values: Array, columns: Sequence[int]) -> list[str]:
    """Return a doubt if the table looks like long format."""
    layout = rows.plan.layout
    found = _named_keys(rows) or _text_keys(rows, len(columns)) or _integer_keys(values, columns)
    if not found:
        return []
    keys = [str(column + 1) if layout.header is None else layout.names[column] for column in found]
    option = shell_quoted(*keys)
    if not set(" ,\"'").intersection("".join(keys)):
        option = option.strip('"')
    return [
        f"each line may be one entry of a matrix, with its row, column and value: --long {option}"
    ]


def _named_keys(rows: RowParser) -> list[int]:
    """Return the first two columns and one named like values, in a narrow table."""
    header = rows.plan.layout.header
    if header is None or not 3 <= len(header) <= _MAX_LONG_COLUMNS or rows.n_rows < 4:
        return []
    found = [j for j in range(2, len(header)) if header[j].strip().lower() in _VALUE_NAMES]
    if not found:
        return []
    if len(header) == 3:
        return [0, 1, found[0]]
    # With more columns, row and column have to be named as such, or be texts that repeat.
    keys = [column for column in range(found[0]) if is_identifier(header[column])]
    if len(keys) != 2:
        keys = [column for column, repeats in _text_columns(rows).items() if repeats]
    return [*keys, found[0]] if len(keys) == 2 and found[0] not in keys else []


def _text_keys(rows: RowParser, n_numbers: int) -> list[int]:
    """Return two columns of texts that repeat and the only column of numbers."""
    texts = _text_columns(rows)
    if n_numbers != 1 or list(texts.values()) != [True, True]:
        return []
    return [*texts, next(column for column in rows.plan.roles if column not in rows.texts)]


def _text_columns(rows: RowParser) -> dict[int, bool]:
    """Return the columns of labels and texts, and whether their cells repeat."""
    label = rows.plan.layout.label_column
    columns = {**rows.texts, **({} if label is None else {label: rows.row_names})}
    return {column: len(set(columns[column])) < len(columns[column]) for column in sorted(columns)}


def _integer_keys(values: Array, columns: Sequence[int]) -> list[int]:
    """Return the first three columns if two are integers that repeat, but no pair of them does."""
    n_rows, n_columns = values.shape
    if n_rows < _MIN_LONG_ROWS or not 3 <= n_columns <= 4 or [*columns] != [*range(n_columns)]:
        return []
    keys = values[:, :2]
    if not np.isfinite(keys).all() or (keys != np.floor(keys)).any() or (keys < 0).any():
        return []
    if any(len(np.unique(column)) * 2 > n_rows for column in keys.T):
        return []
    return [] if len(np.unique(keys, axis=0)) < n_rows else [0, 1, 2]
