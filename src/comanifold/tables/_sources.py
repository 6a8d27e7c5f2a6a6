"""Where the records of a table come from: the lines of a text file, cut at its separator."""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from operator import methodcaller
from pathlib import Path
from typing import Any

from ._cells import is_numeric
from ._encoding import detect_encoding
from ._lines import open_lines
from ._missing import Missing
from ._table import Options, TableError

# A record with the number of its first line. Cells are text; numbers of spreadsheets are floats.
Record = tuple[int, list[Any]]

# Lines, and characters, that the layout is found from.
_LINES_OF_SAMPLE = 200
_CHARACTERS_OF_SAMPLE = 1 << 22

# Cells of a sample that are looked at to choose a separator.
_CELLS_OF_SAMPLE = 20_000

# A line under the header, or around the table.
_RULE = re.compile(r"(?=.*---|.*===|\s*\|\s*:?-+:?\s*\|)[\s|+:=-]+", re.DOTALL)
_STRONG = re.compile(r"[;\t|]")
_NAMES = {
    ",": "comma",
    ";": "semicolon",
    "\t": "tab",
    "|": "bar",
    " ": "space",
    "::": "double colon",
}
_TABS_FIRST = ("\t", ",", ";", "|", "::", " ")
_COMMAS_FIRST = (",", ";", "\t", "|", "::", " ")
# Stands for a separator of several characters.
_UNIT_SEPARATOR = "\x1f"


@dataclass(frozen=True)
class Source:
    """Records that can be read several times, and what is known of where they come from.

    Attributes
    ----------
    open : callable
        Gives a context with an iterator of records; blank lines are left out.
    sample : list of records
        The first ones.
    is_whole : bool
        Whether the sample is everything.
    told : str
        How records are separated, to begin a sentence with.
    read_as : dict
        The same in parts.
    """

    open: Callable[[], AbstractContextManager[Iterator[Record]]]
    sample: list[Record]
    is_whole: bool
    told: str
    read_as: dict[str, Any]
    line: str = "line"
    notes: list[str] = field(default_factory=list)


def text_source(path: Path, options: Options, missing: Missing) -> Source:
    """The records of a text file; encoding and separator are detected unless given."""
    encoding = options.encoding or detect_encoding(path)
    with open_lines(path, encoding) as lines:
        sample, is_whole = _sample(islice(lines, options.skip_rows, None))
    skipped = options.skip_rows
    delimiter = options.delimiter
    if sample and (named := _named_separator(sample[0])):
        delimiter, skipped, sample = delimiter or named, skipped + 1, sample[1:]
    name = path.name.lower().removesuffix(".gz")
    order = _TABS_FIRST if name.endswith((".tsv", ".tab")) else _COMMAS_FIRST
    _refuse_markup(sample)
    delimiter = delimiter or _find_delimiter(sample, order, missing)
    padded = delimiter != " " and _is_padded(sample, delimiter)
    framed = delimiter == "|" and _is_framed(sample)

    def records_of(lines: Iterable[str]) -> Iterator[Record]:
        if delimiter in ("|", " "):
            lines = (_plain_line(line, delimiter, framed) for line in lines)
        return _records(lines, delimiter, padded, skipped)

    @contextmanager
    def open_records() -> Iterator[Iterator[Record]]:
        with open_lines(path, encoding) as lines:
            yield records_of(islice(lines, skipped, None))

    separator = _NAMES.get(delimiter, delimiter)
    notes = []
    if options.encoding is None and encoding not in ("utf-8", "utf-8-sig"):
        notes.append(f"Encoding: {encoding} (detected; --encoding sets another).")
    if skipped:
        notes.append(f"{'Line 1 is' if skipped == 1 else f'Lines 1-{skipped} are'} skipped.")
    return Source(
        open_records,
        list(records_of(sample)),
        is_whole,
        f"Separated by {_NAMES.get(delimiter, repr(delimiter))}s",
        {"separator": separator, "encoding": encoding},
        notes=notes,
    )


def _sample(lines: Iterator[str]) -> tuple[list[str], bool]:
    sample: list[str] = []
    n_characters = 0
    for line in islice(lines, _LINES_OF_SAMPLE):
        sample.append(line)
        n_characters += len(line)
        if n_characters > _CHARACTERS_OF_SAMPLE:
            break
    return sample, next(lines, None) is None


def _named_separator(line: str) -> str | None:
    """The separator that a first line such as "sep=;" names for spreadsheet programs."""
    text = line.strip("\r\n\"' ")
    return text[4] if text.lower().startswith("sep=") and len(text) == 5 else None


def _refuse_markup(sample: Sequence[str]) -> None:
    """Refuse a web page, or data with a name for each value, that has the name of a table."""
    first = next((line.strip().lower() for line in sample if line.strip()), "")
    for what, begins in (
        ("a web page", ("<html", "<!doctype", "<?xml", "<table", "<meta")),
        ("JSON", ("{", "[{", "[[", "[")),
    ):
        if first.startswith(begins) and (what != "JSON" or _is_json(first)):
            raise TableError(f"this is {what}, not a table of text: save it as CSV or XLSX")


def _is_json(line: str) -> bool:
    """Whether a line begins as JSON does, and not as a name in brackets."""
    return re.match(r"[\[{]\s*($|[\[{]|\"[^\"]*\"\s*:)", line) is not None


def _is_framed(sample: Sequence[str]) -> bool:
    """Whether lines begin and end with a bar, as in Markdown."""
    lines = [line.strip() for line in sample if "|" in line]
    return all(line.startswith("|") and line.endswith("|") for line in lines)


def _plain_line(line: str, delimiter: str, framed: bool) -> str:
    """A line of a drawn table without its frame; a rule becomes an empty line."""
    if _RULE.fullmatch(line):
        return "\n"
    text = line.strip()
    if delimiter == " " or not (framed or " |" in line or "| " in line):
        return line
    if framed and len(text) > 1:
        text = text[1:-1]
    return "|".join(cell.strip() for cell in text.split("|")) + "\n"


def _is_padded(sample: Sequence[str], delimiter: str) -> bool:
    """Whether a blank follows every separator, and is not part of the cells."""
    lines = [line for line in sample if delimiter in line]
    return bool(lines) and all(
        line.count(delimiter) == line.count(delimiter + " ") for line in lines
    )


def _records(lines: Iterable[str], delimiter: str, padded: bool, n_before: int) -> Iterator[Record]:
    if len(delimiter) > 1:
        lines = map(methodcaller("replace", delimiter, _UNIT_SEPARATOR), lines)
        delimiter = _UNIT_SEPARATOR
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=padded or delimiter == " ")
    number = 1
    while True:
        try:
            record = next(reader, None)
        except csv.Error as error:
            raise TableError(
                f"line {number + n_before}: {error}. Is there a quote that does not end?"
            ) from error
        if record is None:
            return
        # A line of nothing but blanks gives one cell of them.
        if len(record) > 1 or (record and (not record[0] or record[0].strip())):
            if delimiter == " " and not record[-1]:
                record.pop()
            yield number + n_before, record
        number = reader.line_num + 1


def _find_delimiter(sample: Sequence[str], order: Sequence[str], missing: Missing) -> str:
    """The separator that gives most records of one length with most numbers in them."""
    best: tuple[float, str] | None = None
    for candidate in order:
        if len(candidate) > 1 and not any(candidate in line for line in sample):
            continue
        try:
            records = [record for _, record in _records(sample, candidate, False, 0)]
        except TableError:
            continue
        score = _score(records, missing)
        # Spaces separate only where nothing else does: they also stand within names.
        if candidate == " " and best and best[0] > 0.0:
            continue
        if best is None or score > best[0]:
            best = score, candidate
    if best is None:
        raise TableError("a quoted cell in the first lines does not end: look for a stray quote")
    return best[1]


def _score(records: list[list[str]], missing: Missing) -> float:
    """Share of records of the usual length, times that of their cells which are numbers."""
    if not records:
        return 0.0
    usual = usual_length(records)
    if usual < 2:
        return 0.0
    alike = [record for record in records if len(record) == usual]
    cells = chain.from_iterable(record[1:] for record in alike)
    n_numbers = n_missing = n_cells = 0
    for cell in islice(cells, _CELLS_OF_SAMPLE):
        n_cells += 1
        if missing.is_missing(cell):
            n_missing += 1
        elif is_numeric(cell):
            n_numbers += 1
    # A file of nothing but text still has a delimiter.
    score = len(alike) / len(records) * (0.01 + (n_numbers + 0.9 * n_missing) / n_cells)
    # Where cells still hold a separator, this one may be their decimal mark.
    n_cut = sum(_STRONG.search("".join(record)) is not None for record in alike)
    return score / 4 if n_cut * 5 > len(alike) * 4 else score


def usual_length(records: Sequence[Sequence[Any]]) -> int:
    """The number of cells that most records have; titles and remarks have one."""
    lengths = Counter(len(record) for record in records[1:] or records)
    wide = {length: n for length, n in lengths.items() if length > 1} or lengths
    first = len(records[0])
    return max(wide, key=lambda length: (wide[length], length == first, length))
