"""XLSX spreadsheets: a sheet is read with openpyxl, and then like the records of a text file."""

import datetime
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import openpyxl

from ._numbers import MissingCodes, is_numeric
from ._records import read_records
from ._table import Options, Table, TableError, find_name, quote, quote_list, reading_errors
from ._text import Record, Source

_KIND = "an XLSX file"

# Bytes that the parts of an archive may declare, in total and without the sheets; no more than
# declared is read of them.
_MAX_BYTES = 1 << 30
_MAX_BYTES_OF_TEXTS = 1 << 28

# Rows and columns of a sheet that Excel itself can hold.
_MAX_ROWS = 1 << 20
_MAX_COLUMNS = 1 << 14

_ROWS_OF_SAMPLE = 200
_BYTES_OF_CHUNK = 1 << 20
_FORMULA = re.compile(rb"<f[\s>/]")
_RESULT = re.compile(rb"<(?:v|t)[^>/]*>[^<]")


def read(path: Path, options: Options, missing: MissingCodes) -> Table:
    """Return the table in a sheet of an XLSX file."""
    _check_archive(path)
    sheet = _choose_sheet(path, options.sheet)
    table = read_records(_open_sheet(path, sheet, options), options, missing)
    with reading_errors(_KIND):
        n_formulas = _count_formulas_without_result(path)
    if not n_formulas:
        return table
    doubt = (
        f"{n_formulas:,} formulas in the file have no stored result and were read as missing: "
        "open it in a spreadsheet program and save it again"
    )
    return replace(table, doubts=[*table.doubts, doubt])


def _check_archive(path: Path) -> None:
    """Raise an error for a file that is no archive of a spreadsheet, or would fill the memory."""
    with reading_errors(_KIND), zipfile.ZipFile(path) as archive:
        sizes = {info.filename: info.file_size for info in archive.infolist()}
    total = sum(sizes.values())
    texts = sum(size for name, size in sizes.items() if "/worksheets/" not in name)
    if total > _MAX_BYTES or texts > _MAX_BYTES_OF_TEXTS:
        raise TableError(
            f"it unpacks to {total:,} bytes, and at most {_MAX_BYTES:,} (of texts "
            f"{_MAX_BYTES_OF_TEXTS:,}) can be read: save the sheet as CSV"
        )
    if "xl/workbook.xml" not in sizes:
        raise TableError(f"not {_KIND} that can be read: it has no workbook")


def _count_formulas_without_result(path: Path) -> int:
    """Return the number of formulas that no program has computed, over all sheets."""
    count = 0
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.startswith("xl/worksheets/") and name.endswith(".xml"):
                rest = b""
                with archive.open(name) as part:
                    while chunk := part.read(_BYTES_OF_CHUNK):
                        *cells, rest = (rest + chunk).split(b"</c>")
                        count += sum(
                            _FORMULA.search(cell) is not None and _RESULT.search(cell) is None
                            for cell in cells
                        )
                        rest = rest[-_BYTES_OF_CHUNK:]
    return count


@contextmanager
def _open_workbook(path: Path) -> Iterator[Any]:
    with reading_errors(_KIND), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
        try:
            yield book
        finally:
            book.close()


def _choose_sheet(path: Path, wanted: str | int | None) -> str:
    """Return the name of the sheet asked for, or of the only one with numbers."""
    with _open_workbook(path) as book:
        names = [sheet.title for sheet in book.worksheets]
        if wanted is not None:
            return names[find_name(names, wanted, "sheet")]
        if len(names) == 1:
            return names[0]
        with_numbers = [sheet.title for sheet in book.worksheets if _has_numbers(sheet)]
    if len(with_numbers) == 1:
        return with_numbers[0]
    raise TableError(
        f"{len(with_numbers) or 'none'} of its {len(names)} sheets hold numbers: choose one with "
        f"sheet (--sheet): {quote_list(with_numbers or names, 10)}"
    )


def _has_numbers(sheet: Any) -> bool:
    return any(
        isinstance(cell, float) or (bool(cell) and is_numeric(cell))
        for _, row in islice(_rows(sheet), _ROWS_OF_SAMPLE)
        for cell in row
    )


def _open_sheet(path: Path, name: str, options: Options) -> Source:
    """Return the records of a sheet."""
    with _open_workbook(path) as book:
        rows = _rows(book[name], options.skip_rows)
        sample = list(islice(rows, _ROWS_OF_SAMPLE))
        is_whole = next(rows, None) is None
    # Rows end with their last cell, and the widest is as wide as the table.
    width = max((len(row) for _, row in sample), default=0)

    @contextmanager
    def open_records() -> Iterator[Iterator[Record]]:
        with _open_workbook(path) as book:
            yield _padded(_rows(book[name], options.skip_rows), width)

    notes = [f"The first {options.skip_rows} rows are skipped."] if options.skip_rows else []
    return Source(
        open_records,
        list(_padded(sample, width)),
        is_whole,
        f"Sheet {quote(name)}",
        {"sheet": name},
        line="row",
        notes=notes,
    )


def _padded(rows: Iterable[Record], width: int) -> Iterator[Record]:
    for number, row in rows:
        yield number, row + [""] * (width - len(row))


def _rows(sheet: Any, n_skipped: int = 0) -> Iterator[Record]:
    """Yield the rows of a sheet that are not empty, without trailing empty cells.

    The first `n_skipped` rows, empty ones included, are left out.
    """
    # What a sheet declares as its size is often wrong.
    sheet.reset_dimensions()
    for number, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
        if number > _MAX_ROWS or len(cells) > _MAX_COLUMNS:
            raise TableError("the sheet has more rows or columns than a spreadsheet can have")
        row = [_as_cell(cell) for cell in cells]
        while row and row[-1] == "":
            row.pop()
        if row and number > n_skipped:
            yield number, row


def _as_cell(value: Any) -> str | float:
    """Return a cell as a number, or as the text that it would be in a CSV file."""
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
