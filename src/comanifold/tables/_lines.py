"""The lines of a text file, plain or compressed, one at a time and none too long."""

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ._table import TableError

# Characters. A million columns of numbers take less.
LONGEST_LINE = 1 << 25

# A compressed file of a few kilobytes can hold gigabytes of nothing. Characters that any file may
# have, and how many more for each cell; blank lines and comments have no cells.
_LEAST_CHARACTERS = 1 << 26
_CHARACTERS_PER_CELL = 64
_LONG_LINE = 1 << 20
_DELIMITERS = ",;\t|"

_GZIP = b"\x1f\x8b"


class NotUtf8Error(TableError):
    """A line that is not text in UTF-8."""


@contextmanager
def open_binary(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, uncompressed; damage of the compression is told as such."""
    with open(path, "rb") as file:
        compressed = file.peek(2)[:2] == _GZIP
        if not compressed:
            yield file
            return
        try:
            with gzip.open(file) as content:
                yield content
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise TableError(
                f"the compressed file is damaged or cut short ({error}): copy it again"
            ) from error


@contextmanager
def open_lines(path: Path, encoding: str | None = None) -> Iterator[Iterator[str]]:
    """Lines with their ends; what is not text is refused, with the number of the line."""
    encoding = encoding or "utf-8"
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        encoding = "utf-8-sig"
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        raise TableError(f"there is no encoding {encoding!r}: try utf-8 or latin-1") from error
    # Bytes that cannot be read become marks that are looked for line by line, to say where.
    options = {"encoding": encoding, "errors": "surrogateescape", "newline": ""}
    with open_binary(path) as binary, io.TextIOWrapper(binary, **options) as text:
        yield _bounded(text)


def _bounded(text: IO[str]) -> Iterator[str]:
    number = n_characters = 0
    n_allowed = _LEAST_CHARACTERS
    while line := text.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise TableError(
                f"line {number} is longer than {LONGEST_LINE:,} characters: this is no table "
                "with a line for each row, or its line ends are lost"
            )
        _refuse_binary(line, number)
        n_characters += len(line)
        n_allowed += _CHARACTERS_PER_CELL * _count_cells(line)
        if n_characters > n_allowed:
            raise TableError(
                f"up to line {number} it is nearly all blanks, comments or long text, "
                f"{n_characters:,} characters: this is no table of numbers"
            )
        yield line


def _count_cells(line: str) -> int:
    """About how many cells a line has: none if it is blank or a comment."""
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
    return 1 + spaces + sum(line.count(delimiter) for delimiter in _DELIMITERS)


def _refuse_binary(line: str, number: int) -> None:
    if line.isascii() and "\0" not in line:
        return
    if "\0" in line:
        raise TableError(
            f"line {number}, character {line.index(chr(0)) + 1}: a NUL byte. This is a binary "
            "file, not a table of text"
        )
    try:
        line.encode("utf-8")
    except UnicodeEncodeError as error:
        raise NotUtf8Error(
            f"line {number}, character {error.start + 1}: not text in the expected encoding. Save "
            "the file as UTF-8, or name its encoding: --encoding latin-1"
        ) from error
