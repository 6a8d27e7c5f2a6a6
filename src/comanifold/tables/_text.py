"""Text files as records of cells: encoding, bounded lines, auto-detected separator.

pandas and pyarrow read clean CSV files only; here titles, rules, comments and both decimal marks
are expected, and memory is bounded while a compressed file is being read.
"""

import codecs
import csv
import gzip
import io
import re
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from ._numbers import MissingCodes, is_numeric
from ._table import Options, TableError

# A record with the number of its first line. Cells are text; numbers of spreadsheets are floats.
Record = tuple[int, list[Any]]

# What Windows wrote before UTF-8; it differs from Latin-1 in quotes and dashes only.
LEGACY_ENCODING = "cp1252"

_GZIP_MAGIC = b"\x1f\x8b"
_BYTES_OF_SAMPLE = 1 << 13
_BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_CONTROL = frozenset(range(32)) - frozenset(b"\t\n\v\f\r")

# Characters. A million columns of numbers take less.
_MAX_LINE = 1 << 25

# A compressed file of a few kilobytes can hold gigabytes of nothing. Characters that any file may
# have, and how many more for each cell; blank lines and comments have no cells.
_FREE_CHARACTERS = 1 << 26
_CHARACTERS_PER_CELL = 64
_LONG_LINE = 1 << 20

# Lines and characters that separator and layout are detected from, and cells that are scored.
_LINES_OF_SAMPLE = 200
_CHARACTERS_OF_SAMPLE = 1 << 22
_CELLS_OF_SAMPLE = 20_000

_SEPARATORS = {
    ",": "comma",
    ";": "semicolon",
    "\t": "tab",
    "|": "bar",
    "::": "double colon",
    " ": "space",
}
# Replaces a separator of several characters.
_UNIT_SEPARATOR = "\x1f"
# A line under the header, or around the table.
_RULE = re.compile(r"(?=.*---|.*===|\s*\|\s*:?-+:?\s*\|)[\s|+:=-]+", re.DOTALL)


class NotUtf8Error(TableError):
    """A line that is not text in the expected encoding."""


@dataclass(frozen=True)
class Source:
    """Records that can be read several times, and how they were obtained.

    Attributes
    ----------
    open : callable
        Returns a context manager of an iterator of records; blank lines are skipped.
    sample : list of records
        The first ones.
    is_whole : bool
        Whether the sample is the whole file.
    description : str
        How records are separated, as the beginning of a sentence.
    read_as : dict
        See `Table`.
    line : str
        What messages call a line: "line", or "row" of a spreadsheet.
    """

    open: Callable[[], AbstractContextManager[Iterator[Record]]]
    sample: list[Record]
    is_whole: bool
    description: str
    read_as: dict[str, Any]
    line: str = "line"
    notes: list[str] = field(default_factory=list)

    @contextmanager
    def open_body(self, n_before: int, n_after: int = 0) -> Iterator[Iterator[Record]]:
        """Yield the records without the first and the last ones."""
        with self.open() as records:
            rest = islice(records, n_before, None)
            yield _without_last(rest, n_after) if n_after else rest


def _without_last(records: Iterable[Record], n: int) -> Iterator[Record]:
    held: deque[Record] = deque()
    for record in records:
        held.append(record)
        if len(held) > n:
            yield held.popleft()


def open_text(path: Path, options: Options, missing: MissingCodes) -> Source:
    """Return the records of a text file; encoding and separator are auto-detected unless given."""
    encoding = options.encoding or _detect_encoding(path)
    with open_lines(path, encoding) as lines:
        sample, is_whole = _sample(islice(lines, options.skip_rows, None))
    skipped = options.skip_rows
    delimiter = options.delimiter
    if sample and (declared := _declared_separator(sample[0])):
        delimiter, skipped, sample = delimiter or declared, skipped + 1, sample[1:]
    _reject_markup(sample)
    if delimiter is None:
        prefers_tabs = path.name.lower().removesuffix(".gz").endswith((".tsv", ".tab"))
        delimiter = _detect_separator(sample, prefers_tabs, missing)
    is_padded = delimiter != " " and _is_padded(sample, delimiter)
    is_framed = delimiter == "|" and _is_framed(sample)

    def records_of(lines: Iterable[str]) -> Iterator[Record]:
        if delimiter in ("|", " "):
            lines = (_without_frame(line, delimiter, is_framed) for line in lines)
        return _split(lines, delimiter, is_padded, skipped)

    @contextmanager
    def open_records() -> Iterator[Iterator[Record]]:
        with open_lines(path, encoding) as lines:
            yield records_of(islice(lines, skipped, None))

    notes = []
    if options.encoding is None and encoding not in ("utf-8", "utf-8-sig"):
        notes.append(f"Encoding: {encoding} (auto-detected; --encoding sets another).")
    if skipped:
        notes.append(f"{'Line 1 is' if skipped == 1 else f'Lines 1-{skipped} are'} skipped.")
    return Source(
        open_records,
        list(records_of(sample)),
        is_whole,
        f"Separated by {_SEPARATORS.get(delimiter, repr(delimiter))}s",
        {"separator": _SEPARATORS.get(delimiter, delimiter), "encoding": encoding},
        notes=notes,
    )


def _sample(lines: Iterator[str]) -> tuple[list[str], bool]:
    """Return the first lines, and whether these are all."""
    sample: list[str] = []
    n_characters = 0
    for line in islice(lines, _LINES_OF_SAMPLE):
        sample.append(line)
        n_characters += len(line)
        if n_characters > _CHARACTERS_OF_SAMPLE:
            break
    return sample, next(lines, None) is None


# Decoded lines.


@contextmanager
def open_lines(
    path: Path, encoding: str | None = None, n_free: int = _FREE_CHARACTERS
) -> Iterator[Iterator[str]]:
    """Yield the decoded lines of a file with their ends; raise an error at a line that is not text.

    `n_free` is the number of characters that a file may have without any cells.
    """
    encoding = encoding or "utf-8"
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        encoding = "utf-8-sig"
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        raise TableError(f"there is no encoding {encoding!r}: try utf-8 or latin-1") from error
    # Bytes that cannot be decoded become surrogates, which are searched line by line.
    options = {"encoding": encoding, "errors": "surrogateescape", "newline": ""}
    with _open_binary(path) as binary, io.TextIOWrapper(binary, **options) as text:
        yield _bounded_lines(text, n_free)


def may_be_legacy_text(path: Path) -> bool:
    """Whether a file that is not UTF-8 begins like text, without control characters."""
    return _CONTROL.isdisjoint(_first_bytes(path))


@contextmanager
def _open_binary(path: Path) -> Iterator[IO[bytes]]:
    """Yield the bytes of a file, uncompressed."""
    with open(path, "rb") as file:
        if file.peek(2)[:2] != _GZIP_MAGIC:
            yield file
            return
        try:
            with gzip.open(file) as content:
                yield content
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise TableError(
                f"the compressed file is damaged or cut short ({error}): copy it again"
            ) from error


def _first_bytes(path: Path) -> bytes:
    with _open_binary(path) as file:
        return file.read(_BYTES_OF_SAMPLE)


def _detect_encoding(path: Path) -> str:
    """Return the encoding of a byte-order mark or a pattern of zero bytes; else UTF-8."""
    start = _first_bytes(path)
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if start.startswith(mark):
            return encoding
    even, odd = start[0::2], start[1::2]
    if len(odd) >= 4:
        if not even.count(0) and odd.count(0) * 10 > len(odd) * 8:
            return "utf-16-le"
        if not odd.count(0) and even.count(0) * 10 > len(even) * 8:
            return "utf-16-be"
    return "utf-8"


def _bounded_lines(text: IO[str], n_free: int) -> Iterator[str]:
    number = n_characters = 0
    n_allowed = n_free
    while line := text.readline(_MAX_LINE + 1):
        number += 1
        if len(line) > _MAX_LINE:
            raise TableError(
                f"line {number} is longer than {_MAX_LINE:,} characters: this is no table with a "
                "line for each row, or its line ends are lost"
            )
        _check_is_text(line, number)
        n_characters += len(line)
        n_allowed += _CHARACTERS_PER_CELL * _count_cells(line)
        if n_characters > n_allowed:
            raise TableError(
                f"up to line {number} it is nearly all blanks, comments or long text, "
                f"{n_characters:,} characters: this is no table of numbers"
            )
        yield line


def _count_cells(line: str) -> int:
    """Return about how many cells a line has: none if it is blank or a comment."""
    if not line.strip() or line.startswith(("%", "#")):
        return 0
    if len(line) <= _CHARACTERS_PER_CELL:
        return 1
    # A run of spaces separates once; of very long lines, only single spaces are counted.
    runs = line.count("  ")
    if runs and len(line) < _LONG_LINE:
        spaces = len(line.split()) - 1
    else:
        spaces = line.count(" ") - 2 * runs
    return 1 + spaces + sum(map(line.count, ",;\t|"))


def _check_is_text(line: str, number: int) -> None:
    if "\0" in line:
        raise TableError(
            f"line {number}, character {line.index(chr(0)) + 1}: a NUL byte. This is a binary "
            "file, not a table of text"
        )
    if line.isascii():
        return
    try:
        line.encode("utf-8")
    except UnicodeEncodeError as error:
        raise NotUtf8Error(
            f"line {number}, character {error.start + 1}: not text in the expected encoding. Save "
            "the file as UTF-8, or name its encoding: --encoding latin-1"
        ) from error


def _reject_markup(sample: Sequence[str]) -> None:
    """Raise an error for a web page or JSON in a file that is named like a table."""
    first = next((line.strip().lower() for line in sample if line.strip()), "")
    kind = ""
    if first.startswith(("<html", "<!doctype", "<?xml", "<table", "<meta")):
        kind = "a web page"
    elif re.match(r"[\[{]\s*($|[\[{]|\"[^\"]*\"\s*:)", first):  # and not a name in brackets
        kind = "JSON"
    if kind:
        raise TableError(f"this is {kind}, not a table of text: save it as CSV or XLSX")


# Separators.


def _declared_separator(line: str) -> str | None:
    """Return the separator that a first line such as "sep=;" declares for spreadsheet programs."""
    text = line.strip("\r\n\"' ")
    return text[4] if text.lower().startswith("sep=") and len(text) == 5 else None


def _is_framed(sample: Sequence[str]) -> bool:
    """Whether lines begin and end with a bar, as in Markdown."""
    lines = [line.strip() for line in sample if "|" in line]
    return all(line.startswith("|") and line.endswith("|") for line in lines)


def _without_frame(line: str, delimiter: str, is_framed: bool) -> str:
    """Return a line of a drawn table without its frame; an empty line for a rule."""
    if _RULE.fullmatch(line):
        return "\n"
    text = line.strip()
    if delimiter == " " or not (is_framed or " |" in line or "| " in line):
        return line
    if is_framed and len(text) > 1:
        text = text[1:-1]
    return "|".join(cell.strip() for cell in text.split("|")) + "\n"


def _is_padded(sample: Sequence[str], delimiter: str) -> bool:
    """Whether a blank follows every separator, and is not part of the cells."""
    lines = [line for line in sample if delimiter in line]
    return bool(lines) and all(
        line.count(delimiter) == line.count(delimiter + " ") for line in lines
    )


def _split(
    lines: Iterable[str], delimiter: str, is_padded: bool, n_before: int
) -> Iterator[Record]:
    """Yield the records of lines that are not blank, numbered from `n_before` + 1."""
    if len(delimiter) > 1:
        several, delimiter = delimiter, _UNIT_SEPARATOR
        lines = (line.replace(several, delimiter) for line in lines)
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=is_padded or delimiter == " ")
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


def _detect_separator(sample: Sequence[str], prefers_tabs: bool, missing: MissingCodes) -> str:
    """Return the separator that gives most records of one length with most numbers in them."""
    order = sorted(_SEPARATORS, key=lambda sign: sign != "\t") if prefers_tabs else _SEPARATORS
    best: tuple[float, str] | None = None
    for candidate in order:
        if len(candidate) > 1 and not any(candidate in line for line in sample):
            continue
        # Spaces separate only where nothing else does: they also occur within names.
        if candidate == " " and best and best[0] > 0.0:
            continue
        try:
            records = [record for _, record in _split(sample, candidate, False, 0)]
        except TableError:
            continue
        score = _score(records, missing)
        if best is None or score > best[0]:
            best = score, candidate
    if best is None:
        raise TableError("a quoted cell in the first lines does not end: look for a stray quote")
    return best[1]


def _score(records: list[list[str]], missing: MissingCodes) -> float:
    """Return the share of records of the usual length, times the share of numbers in them."""
    usual = usual_length(records) if records else 0
    if usual < 2:
        return 0.0
    alike = [record for record in records if len(record) == usual]
    cells = chain.from_iterable(record[1:] for record in alike)
    n_numbers = n_missing = n_cells = 0
    for cell in islice(cells, _CELLS_OF_SAMPLE):
        n_cells += 1
        if missing.matches(cell):
            n_missing += 1
        elif is_numeric(cell):
            n_numbers += 1
    # A file of nothing but text still has a separator.
    score = len(alike) / len(records) * (0.01 + (n_numbers + 0.9 * n_missing) / n_cells)
    # Where cells still contain a separator, this one may be their decimal mark.
    n_unsplit = sum(re.search(r"[;\t|]", "".join(record)) is not None for record in alike)
    return score / 4 if n_unsplit * 5 > len(alike) * 4 else score


def usual_length(records: Sequence[Sequence[Any]]) -> int:
    """Return the number of cells that most records have, titles and remarks of one cell aside."""
    lengths = Counter(len(record) for record in records[1:] or records)
    wide = {length: n for length, n in lengths.items() if length > 1} or lengths
    first = len(records[0])
    return max(wide, key=lambda length: (wide[length], length == first, length))
