"""Spreadsheets in XLSX files."""

import datetime
import errno
import re
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from ._cells import is_numeric
from ._missing import Missing
from ._sources import Record, Source
from ._table import Options, Table, TableError, listed, shortened
from ._text import read_records

# An archive says how large its parts are, and no more than that is read of them.
_MOST_BYTES = 1 << 30
_MOST_BYTES_OF_TEXTS = 1 << 28

# Rows of a sheet that Excel itself can hold, and columns.
_MOST_ROWS = 1 << 20
_MOST_COLUMNS = 1 << 14

_ROWS_OF_SAMPLE = 200
_BYTES_OF_CHUNK = 1 << 20
_FORMULA = re.compile(rb"<f[\s>/]")
_RESULT = re.compile(rb"<(?:v|t)[^>/]*>[^<]")


def read_excel(path: Path, options: Options, missing: Missing) -> Table:
    """The table in a sheet of an XLSX file; a sheet is read like a file of text."""
    _check_archive(path)
    sheet = _chosen_sheet(path, options)
    table = read_records(_sheet_source(path, sheet, options), options, missing)
    with _damage_told():
        n_formulas = _count_formulas_without_result(path)
    if not n_formulas:
        return table
    doubt = (
        f"{n_formulas:,} formulas in the file have no stored result and were read as missing: "
        "open it in a spreadsheet program and save it again"
    )
    return replace(table, doubts=[*table.doubts, doubt])


def _count_formulas_without_result(path: Path) -> int:
    """The number of formulas that no program has computed, over all sheets."""
    count = 0
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.startswith("xl/worksheets/") and name.endswith(".xml"):
                rest = b""
                with archive.open(name) as part:
                    while chunk := part.read(_BYTES_OF_CHUNK):
                        *cells, rest = (rest + chunk).split(b"</c>")
                        count += sum(map(_lacks_result, cells))
                        rest = rest[-_BYTES_OF_CHUNK:]
    return count


def _lacks_result(cell: bytes) -> bool:
    return _FORMULA.search(cell) is not None and _RESULT.search(cell) is None


def _check_archive(path: Path) -> None:
    """Refuse what is not an archive of a spreadsheet, or would fill the memory."""
    with _damage_told(), zipfile.ZipFile(path) as archive:
        sizes = {info.filename: info.file_size for info in archive.infolist()}
    texts = sum(size for name, size in sizes.items() if "/worksheets/" not in name)
    if sum(sizes.values()) > _MOST_BYTES or texts > _MOST_BYTES_OF_TEXTS:
        raise TableError(
            f"it unpacks to {sum(sizes.values()):,} bytes, and at most {_MOST_BYTES:,} (of texts "
            f"{_MOST_BYTES_OF_TEXTS:,}) can be read: save the sheet as CSV"
        )
    if "xl/workbook.xml" not in sizes:
        raise TableError("not an XLSX file that can be read: it has no workbook")


@contextmanager
def _open_workbook(path: Path) -> Iterator[Any]:
    try:
        import openpyxl
    except ImportError as error:
        raise ImportError(
            f"XLSX files need {error.name}: pip install 'comanifold[formats]'"
        ) from error
    with _damage_told(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
        try:
            yield book
        finally:
            book.close()


@contextmanager
def _damage_told() -> Iterator[None]:
    """Turn whatever the readers of a damaged file stumble over into a TableError."""
    try:
        yield
    except (TableError, MemoryError):
        raise
    except Exception as error:
        # Of the errors of the system, a place in the file that cannot be is damage.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        raise TableError(f"not an XLSX file that can be read: {error}") from error


def _chosen_sheet(path: Path, options: Options) -> str:
    """The name of the sheet that is asked for, or of the only one with numbers."""
    asked = options.sheet
    with _open_workbook(path) as book:
        names = [sheet.title for sheet in book.worksheets]
        if asked is not None:
            if asked in names:
                return str(asked)
            if str(asked).isdecimal() and 1 <= int(asked) <= len(names):
                return names[int(asked) - 1]
            raise TableError(f"there is no sheet {shortened(asked)}; there are {listed(names)}")
        if len(names) == 1:
            return names[0]
        with_numbers = [sheet.title for sheet in book.worksheets if _has_numbers(sheet)]
    if len(with_numbers) == 1:
        return with_numbers[0]
    raise TableError(
        f"{len(with_numbers) or 'none'} of its {len(names)} sheets hold numbers: choose one with "
        f"sheet (--sheet): {listed(with_numbers or names, 10)}"
    )


def _has_numbers(sheet: Any) -> bool:
    rows = islice(_rows(sheet), _ROWS_OF_SAMPLE)
    return any(
        isinstance(cell, float) or (bool(cell) and is_numeric(cell))
        for _, row in rows
        for cell in row
    )


def _sheet_source(path: Path, name: str, options: Options) -> Source:
    with _open_workbook(path) as book:
        rows = islice(_rows(book[name]), options.skip_rows, None)
        sample = list(islice(rows, _ROWS_OF_SAMPLE))
        is_whole = next(rows, None) is None
    # Rows end with their last cell, and the widest is as wide as the table.
    width = max((len(row) for _, row in sample), default=0)

    @contextmanager
    def open_records() -> Iterator[Iterator[Record]]:
        with _open_workbook(path) as book:
            yield _padded(islice(_rows(book[name]), options.skip_rows, None), width)

    notes = [f"The first {options.skip_rows} rows are skipped."] if options.skip_rows else []
    return Source(
        open_records,
        list(_padded(sample, width)),
        is_whole,
        f"Sheet {shortened(name)}",
        {"sheet": name},
        line="row",
        notes=notes,
    )


def _padded(rows: Any, width: int) -> Iterator[Record]:
    for number, row in rows:
        yield number, row + [""] * (width - len(row))


def _rows(sheet: Any) -> Iterator[Record]:
    """Rows of a sheet that are not empty, without the empty cells that trail them."""
    # What a sheet declares as its size is often wrong.
    sheet.reset_dimensions()
    for number, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
        if number > _MOST_ROWS or len(cells) > _MOST_COLUMNS:
            raise TableError("the sheet has more rows or columns than a spreadsheet can have")
        row = [_cell(cell) for cell in cells]
        while row and row[-1] == "":
            row.pop()
        if row:
            yield number, row


def _cell(value: Any) -> str | float:
    """A cell as a number, or as the text that it would be in a CSV file."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value)
