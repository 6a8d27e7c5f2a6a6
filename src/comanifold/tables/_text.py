"""Tables of cells, from text and from spreadsheets: from records to a matrix with names."""

import csv
import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ._body import Body, Plan, Stray, is_total
from ._cells import (
    are_truths,
    as_text,
    is_amount,
    is_annotated_number,
    is_numeric,
    is_padded_code,
    limit_in,
    without_accounting,
)
from ._columns import as_ranges, chosen_columns
from ._encoding import LEGACY, may_be_legacy_text
from ._header_names import is_identifier
from ._layout import Layout, find_layout
from ._lines import NotUtf8Error
from ._long import pivot, triple_places
from ._marks import MarkEvidence, Verdict
from ._missing import Missing
from ._names import doubt_about_repeats
from ._sources import Record, Source, text_source
from ._table import Options, Table, TableError, check_size, listed, shortened

# Names of the last column of a table of triples.
_VALUES = {"value", "values", "rating", "ratings", "score", "count", "n", "x", "result"}
_MOST_COLUMNS_OF_TRIPLES = 6
_LEAST_TRIPLES = 20

# Rows that are looked at for numbers such as 007.
_ROWS_FOR_CODES = 60


# Characters of a code that an error suggests for --missing, and of a list of columns.
_LONGEST_CODE = 40


def read_text(path: Path, options: Options, missing: Missing) -> Table:
    """The table in a file of text."""
    try:
        return read_records(text_source(path, options, missing), options, missing)
    except NotUtf8Error:
        if options.encoding is not None or not may_be_legacy_text(path):
            raise
        table = read_text(path, replace(options, encoding=LEGACY), missing)
        note = f"Encoding: {LEGACY}, as the text is not UTF-8 (--encoding sets another)."
        return replace(table, notes=[*table.notes, note])


def read_cells(path: str | os.PathLike, encoding: str | None = None) -> list[list[str]]:
    """All cells of a table of text as they are, the header first, in records of one length."""
    path = Path(path)
    try:
        try:
            return _all_cells(path, encoding)
        except NotUtf8Error:
            if encoding is not None or not may_be_legacy_text(path):
                raise
            return _all_cells(path, LEGACY)
    except (TableError, UnicodeError, csv.Error) as error:
        raise TableError(f"{path}: {error}") from error


def _all_cells(path: Path, encoding: str | None) -> list[list[str]]:
    missing, options = Missing(), Options(header_rows=1, encoding=encoding)
    source = text_source(path, options, missing)
    layout = find_layout(source.sample, options, missing)
    # The header may lack a name for the labels.
    records: list[list[str]] = [layout.header or []]
    with _data(source, layout.n_before, 0) as body:
        for _, record in body:
            if len(record) != layout.n_columns:
                raise TableError(
                    f"record {len(records) + 1} has {len(record)} cells, the first has "
                    f"{layout.n_columns}"
                )
            records.append(record)
            check_size(len(records), layout.n_columns)
    return records


def read_records(source: Source, options: Options, missing: Missing) -> Table:
    """The table in records, whatever file they come from."""
    layout = find_layout(source.sample, options, missing, source.line)
    if options.long is not None:
        row, column, value = triple_places(layout, options)
        layout = replace(layout, label_column=None)
        roles = {row: "key", column: "key", value: "number"}
        table = _Reading(source, layout, options, missing).read(roles)
        return pivot(table, layout.names[row], layout.names[column])
    sample = source.sample[layout.n_before :]
    roles = _roles(layout, options, sample, missing)
    return _Reading(source, layout, options, missing).read(roles)


@contextmanager
def _data(source: Source, n_before: int, n_after: int) -> Iterator[Iterator[Record]]:
    """The records of data, without so many before and after them."""
    with source.open() as records:
        rest = islice(records, n_before, None)
        yield _without_last(rest, n_after) if n_after else rest


def _without_last(records: Iterable[Record], n: int) -> Iterator[Record]:
    held: deque[Record] = deque()
    for record in records:
        held.append(record)
        if len(held) > n:
            yield held.popleft()


def _roles(
    layout: Layout, options: Options, sample: Sequence[Record], missing: Missing
) -> dict[int, str]:
    """What each column that is read holds, as far as the first rows tell."""
    names = layout.names
    places = chosen_columns(names, options.columns, options.exclude)
    places = [place for place in places if place != layout.label_column]
    records = [
        [as_text(cell) for cell in record[: layout.n_columns]]
        for _, record in sample
        if len(record) >= layout.n_columns
    ]
    roles = {place: _role([record[place] for record in records], missing) for place in places}
    for place in places:
        if roles[place] == "text":
            cells = [r[place] for r in records if r[place] and not missing.is_missing(r[place])]
            _refuse_amounts(layout, place, [cell for cell in cells if not is_numeric(cell)])
    if not places:
        raise TableError(
            f"there is no column of data beside the labels: is the delimiter right? {layout.told()}"
        )
    return roles


def _role(cells: Sequence[str], missing: Missing) -> str:
    filled = [cell for cell in cells if not missing.is_missing(cell)]
    texts = [cell for cell in filled if not is_numeric(cell)]
    if texts and are_truths(filled):
        return "truth"
    texts = [cell for cell in texts if not is_numeric(without_accounting(cell))]
    return "text" if len(texts) * 2 > len(filled) else "number"


def _refuse_amounts(layout: Layout, place: int, texts: Sequence[str]) -> None:
    """Refuse a column of numbers with units or currencies, which is no annotation."""
    amounts = [text for text in texts if is_amount(text)]
    if texts and len(amounts) * 2 > len(texts):
        name = layout.names[place]
        raise TableError(
            f"column {place + 1} ({shortened(name)}) holds numbers with a unit or currency, such "
            f"as {shortened(amounts[0].strip())}: write plain numbers, or leave it out "
            f"(--exclude {place + 1})"
        )


class _Reading:
    """The passes over the records of a table until it is read without contradiction."""

    def __init__(self, source: Source, layout: Layout, options: Options, missing: Missing):
        self._source, self._layout = source, layout
        self._options, self._missing = options, missing

    def read(self, roles: dict[int, str]) -> Table:
        if not any(role != "text" for role in roles.values()):
            self._refuse_text(roles)
        verdict = self._first_verdict(roles)
        body = self._pass(roles, verdict)
        if body.has_other_format or (body.evidence.is_ambiguous and not verdict.settled):
            whole = self._whole_evidence(roles).decide(self._options, self._layout.names)
            if whole.style != verdict.style:
                body = self._pass(roles, whole)
            verdict = whole
        texts = [place for place, stray in body.strays.items() if self._is_text(body, place, stray)]
        if texts:
            # Words after the first lines: the columns are annotations after all.
            for place in texts:
                _refuse_amounts(self._layout, place, [body.strays[place].cell])
            return self.read({**roles, **dict.fromkeys(texts, "text")})
        if body.strays:
            self._refuse_strays(body)
        return self._table(body, verdict)

    def _pass(self, roles: dict[int, str], verdict: Verdict) -> Body:
        plan = Plan(self._layout, roles, verdict.style, verdict.settled, self._options.censored)
        body = Body(plan, self._missing)
        with _data(self._source, self._layout.n_before, self._options.skip_footer) as records:
            body.read(records)
        if not body.n_rows:
            raise TableError("there is a header but no line of data")
        return body

    # The number format.

    def _first_verdict(self, roles: dict[int, str]) -> Verdict:
        evidence = MarkEvidence()
        places = [place for place, role in roles.items() if role == "number"]
        for line, record in self._source.sample[self._layout.n_before :]:
            evidence.add_record(line, record, places)
            if evidence.is_enough:
                break
        if evidence.is_ambiguous and not self._source.is_whole:
            evidence = self._whole_evidence(roles)
        return evidence.decide(self._options, self._layout.names)

    def _whole_evidence(self, roles: dict[int, str]) -> MarkEvidence:
        evidence = MarkEvidence()
        places = [place for place, role in roles.items() if role == "number"]
        with _data(self._source, self._layout.n_before, self._options.skip_footer) as records:
            for line, record in records:
                evidence.add_record(line, record, places)
        return evidence

    # Cells that are not numbers.

    def _is_text(self, body: Body, place: int, stray: Stray) -> bool:
        if body.plan.roles[place] == "truth":
            return True
        values, places = body.values()
        n_numbers = int(np.isfinite(values[:, places.index(place)]).sum())
        return stray.count > n_numbers and not is_numeric(stray.cell)

    def _refuse_text(self, roles: dict[int, str]) -> None:
        layout, names = self._layout, self._layout.names
        sample = self._source.sample[layout.n_before :]
        shown = []
        for place in list(roles)[:3]:
            cells = [as_text(r[place]) for _, r in sample if len(r) > place]
            cell = next((c for c in cells if c.strip()), "")
            shown.append(
                f"column {place + 1} ({shortened(names[place])}) holds text, such as "
                f"{shortened(cell)}"
            )
        raise TableError(f"{'; '.join(shown)}: no column holds numbers. Is the delimiter right?")

    def _refuse_strays(self, body: Body) -> None:
        place, stray = min(body.strays.items(), key=lambda item: (item[1].line, item[0]))
        layout, style = self._layout, body.plan.style
        where = f"{layout.line} {stray.line}, column {place + 1} ({shortened(layout.names[place])})"
        total = sum(other.count for other in body.strays.values())
        more = f" ({total:,} such cells in {len(body.strays):,} columns)" if total > 1 else ""
        cell = stray.cell.strip()
        if limit_in(cell, style) is not None:
            raise TableError(
                f"{where}: {shortened(cell)} is a limit and not a value{more}: take the limits "
                f"(--censored limit), or leave them out (--censored missing)"
            )
        hint = ""
        if is_numeric(cell):
            other = "," if style.decimal == "." else "."
            hint = f" (decimal marks are {style.name} in this file; if not: --decimal {other})"
        elif is_amount(cell):
            hint = " but an amount with a unit or currency: write plain numbers"
        ways = []
        if layout.header is None and stray.line == self._source.sample[layout.n_before][0]:
            ways.append(f"If {layout.line} {stray.line} is a header: --header")
        # What holds digits says something; a code such as ND does not.
        if not any(sign.isdigit() for sign in cell) and len(cell) <= _LONGEST_CODE:
            ways.append(f"If it means missing: --missing {_quoted(cell)}")
        columns = as_ranges(list(body.strays))
        if len(columns) <= _LONGEST_CODE:
            ways.append(f"To leave its column out: --exclude {columns}")
        raise TableError(
            f"{where}: {shortened(cell)} is not a number{hint}{more}. {'. '.join(ways)}"
        )

    # The table.

    def _table(self, body: Body, verdict: Verdict) -> Table:
        layout, source = self._layout, self._source
        values, places = body.values()
        names = layout.names
        kept, dropped = self._filled_columns(values, places)
        notes, doubts = body.remarks()
        if dropped:
            notes.append(f"Empty columns left out: {len(dropped):,}.")
            values, places = values[:, kept], [places[at] for at in kept]
            seen = self._missing.seen
            seen[""] = max(0, seen[""] - len(dropped) * body.n_rows)
            if not seen[""]:
                del seen[""]
        annotations: dict[str, dict[str, list[Any]]] = {}
        texts = {names[place]: cells for place, cells in body.texts.items()}
        if texts:
            annotations["rows"] = texts
        found = [names[place] for place in body.plan.places("text")]
        if found:
            notes.append(f"Annotations of rows, not part of the matrix: {listed(found)}.")
        if layout.units is not None:
            annotations["columns"] = {"unit": [layout.units[place] for place in places]}
        more_notes, more_doubts = self._about_values(body, values, places)
        raw = [layout.raw_names[place] for place in places]
        column_names = [names[place] for place in places]
        repeats = doubt_about_repeats(raw, column_names, "names of columns")
        doubts = [
            *layout.doubts,
            *filter(None, [verdict.doubt, repeats]),
            *more_doubts,
            *doubts,
            *self._doubt_about_triples(body, values, places),
            *_doubt_about_sums(values, column_names, places),
        ]
        style = body.plan.style
        comma = " with decimal commas" if style.decimal == "," else ""
        read_as = {
            **source.read_as,
            "decimal": style.decimal,
            "thousands": _mark_in(body.grouped, style.decimal),
            "header_lines": list(layout.header_lines),
            "labels": None if layout.label_column is None else layout.label_column + 1,
        }
        return Table(
            np.ascontiguousarray(values),
            body.labels(),
            column_names,
            [
                f"{source.told}{comma}; {layout.told()}",
                *layout.notes,
                *source.notes,
                *notes,
                *more_notes,
            ],
            layout.corner,
            annotations,
            doubts,
            read_as,
        )

    def _filled_columns(self, values: Any, places: Sequence[int]) -> tuple[list[int], list[int]]:
        """Columns to keep, and those without a name or a number, which are left out."""
        is_empty = np.isnan(values).all(axis=0)
        header = self._layout.header
        dropped: list[int] = []
        for at in reversed(range(len(places))):
            if not is_empty[at]:
                if header is None:
                    break
                continue
            if header is None or not header[places[at]].strip():
                dropped.append(at)
        if len(dropped) == len(places):
            dropped = []
        left_out = set(dropped)
        return [at for at in range(len(places)) if at not in left_out], dropped

    def _about_values(
        self, body: Body, values: Any, places: Sequence[int]
    ) -> tuple[list[str], list[str]]:
        names = self._layout.names
        notes, doubts = [], []
        if body.grouped is not None:
            notes.append(f"Thousands are grouped, as in {shortened(body.grouped)}.")
        truths = [names[place] for place in body.plan.places("truth")]
        if truths:
            notes.append(f"Yes and no were read as 1 and 0 in {listed(truths)}.")
        if body.n_percent:
            percent = [names[place] for place in sorted(body.n_percent)]
            notes.append(f"Percent signs were left out (12% is 12) in {listed(percent)}.")
            for place, count in sorted(body.n_percent.items()):
                there = int(np.isfinite(values[:, list(places).index(place)]).sum())
                if there > count:
                    doubts.append(
                        f"column {shortened(names[place])} mixes {count:,} percentages with "
                        f"{there - count:,} plain numbers, which may be on another scale; to "
                        f"leave it out: --exclude {place + 1}"
                    )
        doubts += self._about_texts(body)
        if body.negative is not None:
            doubts.append(
                f"{shortened(body.negative)} and the like were read as negative numbers, as in "
                f"accounts; if they mean something else, leave their columns out: --exclude "
                f"{as_ranges(sorted(body.n_negative))}"
            )
        for place, code in sorted(self._padded_codes(body).items()):
            doubts.append(
                f"column {place + 1} ({shortened(names[place])}) has numbers that begin with 0, "
                f"such as {shortened(code)}; if they are codes: --exclude {place + 1}, or --labels "
                f"{place + 1}"
            )
        if body.n_limits:
            limited = [names[place] for place in sorted(body.n_limits)]
            what = "their limits" if self._options.censored == "limit" else "missing"
            total = sum(body.n_limits.values())
            notes.append(f"{total:,} censored values were taken as {what} in {listed(limited)}.")
        return notes, doubts

    def _padded_codes(self, body: Body) -> dict[int, str]:
        """The first number that begins with 0 of each column that has one in the sample."""
        codes: dict[int, str] = {}
        first = self._layout.n_before
        for _, record in self._source.sample[first : first + _ROWS_FOR_CODES]:
            for place in body.number_places:
                cell = record[place] if place < len(record) else ""
                if isinstance(cell, str) and cell[:1] == "0" and is_padded_code(cell):
                    codes.setdefault(place, cell)
        return codes

    def _about_texts(self, body: Body) -> list[str]:
        """Doubts about annotations that hold many numbers."""
        doubts = []
        for place in body.plan.places("text"):
            counts = Counter(filter(None, body.texts[place]))
            words = [word for word in counts if not is_numeric(word)]
            n_words = sum(counts[word] for word in words)
            n_numbers = sum(counts.values()) - n_words
            annotated = [word for word in words if is_annotated_number(word)]
            if len(annotated) * 2 > len(words):
                doubts.append(
                    f"column {place + 1} ({shortened(self._layout.names[place])}) holds numbers "
                    f"with something after them, such as {shortened(annotated[0])}, and was taken "
                    "as an annotation; to use it, write plain numbers"
                )
                continue
            if n_numbers * 5 > n_words:
                doubts.append(
                    f"column {place + 1} ({shortened(self._layout.names[place])}) holds "
                    f"{n_words:,} words and {n_numbers:,} numbers and was taken as an annotation; "
                    f"if a word means missing: --missing {_quoted(words[0])}"
                )
        return doubts

    def _doubt_about_triples(self, body: Body, values: Any, places: Sequence[int]) -> list[str]:
        """A doubt if each row looks like one entry of a matrix."""
        if self._options.long is not None:
            return []
        chosen = self._named_triple(body) or self._triple_of_texts(body, len(places))
        chosen = chosen or _numeric_triple(values, places)
        if not chosen:
            return []
        told = ",".join(self._layout.names[place] for place in chosen)
        if self._layout.header is None:
            told = ",".join(str(place + 1) for place in chosen)
        return [
            "each line may be one entry of a matrix, with its row, column and value: "
            f"--long {_quoted(told) if ' ' in told else told}"
        ]

    def _named_triple(self, body: Body) -> list[int]:
        """The first two columns and one named as values are, in a narrow table."""
        header = self._layout.header
        if header is None or not 3 <= len(header) <= _MOST_COLUMNS_OF_TRIPLES or body.n_rows < 4:
            return []
        found = [p for p in range(2, len(header)) if header[p].strip().lower() in _VALUES]
        if not found:
            return []
        if len(header) == 3:
            return [0, 1, found[0]]
        # With more columns, row and column have to be named as such, or be texts that repeat.
        keys = [p for p in range(found[0]) if is_identifier(header[p])]
        if len(keys) != 2:
            keys = self._repeated_texts(body)
        return [*keys, found[0]] if len(keys) == 2 and found[0] not in keys else []

    def _triple_of_texts(self, body: Body, n_numbers: int) -> list[int]:
        texts = self._texts(body)
        if n_numbers != 1 or len(texts) != 2 or len(self._repeated_texts(body)) != 2:
            return []
        return [*texts, next(p for p in body.plan.roles if p not in body.texts)]

    def _texts(self, body: Body) -> list[int]:
        label = self._layout.label_column
        return sorted([*([] if label is None else [label]), *body.texts])

    def _repeated_texts(self, body: Body) -> list[int]:
        columns = {p: body.texts.get(p, body.row_names) for p in self._texts(body)}
        return [p for p, cells in columns.items() if len(set(cells)) < len(cells)]


def _numeric_triple(values: Any, places: Sequence[int]) -> list[int]:
    """The first three columns, if the first two are whole numbers that repeat, but no pair does."""
    n_rows, n_columns = values.shape
    if n_rows < _LEAST_TRIPLES or not 3 <= n_columns <= 4 or list(places) != list(range(n_columns)):
        return []
    keys = values[:, :2]
    if not np.isfinite(keys).all() or (keys != np.floor(keys)).any() or (keys < 0).any():
        return []
    if any(len(np.unique(column)) * 2 > n_rows for column in keys.T):
        return []
    return [] if len(np.unique(keys, axis=0)) < n_rows else [0, 1, 2]


def _doubt_about_sums(values: Any, names: Sequence[str], places: Sequence[int]) -> list[str]:
    """Doubts about columns named as totals that are the sum, or mean, of the others."""
    doubts = []
    for at in [at for at, name in enumerate(names) if is_total(name)] if len(names) > 2 else []:
        others = np.delete(values, at, axis=1)
        total = values[:, at]
        sums, counts = np.nansum(others, axis=1), np.isfinite(others).sum(axis=1)
        means = sums / np.maximum(counts, 1)
        near = [np.isclose(total, guess, rtol=1e-2, atol=1e-9) for guess in (sums, means)]
        if max(hits.sum() for hits in near) * 5 > np.isfinite(total).sum() * 4:
            doubts.append(
                f"column {shortened(names[at])} sums up the others and was read as data; to leave "
                f"it out: --exclude {places[at] + 1}"
            )
    return doubts


def _quoted(code: str) -> str:
    """A code as it can be given to --missing in a shell."""
    doubled = code.replace('"', '""')
    return f"'\"{doubled}\"'" if "," in code or '"' in code else f'"{code}"'


def _mark_in(grouped: str | None, decimal: str) -> str | None:
    """The mark that groups thousands in a cell."""
    if grouped is None:
        return None
    marks = [sign for sign in grouped.strip("+-\u2212") if not sign.isdigit() and sign != decimal]
    return marks[0] if marks else None
