"""Reading a table from a file: one reader for each format, chosen by the ending of the name."""

import csv
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ._layout import detect_layout
from ._npy import read_npy, read_npz
from ._numbers import MissingCodes
from ._records import read_records
from ._sparse import read_market
from ._table import Options, Selection, Table, TableError, check_size, quote
from ._text import LEGACY_ENCODING, NotUtf8Error, may_be_legacy_text, open_text

_T = TypeVar("_T")


def _read_text(path: Path, options: Options, missing: MissingCodes) -> Table:
    """Return the table in a text file."""

    def read(encoding: str | None) -> Table:
        given = replace(options, encoding=encoding)
        table = read_records(open_text(path, given, missing), given, missing)
        if encoding == options.encoding:
            return table
        note = f"Encoding: {encoding}, as the text is not UTF-8 (--encoding sets another)."
        return replace(table, notes=[*table.notes, note])

    return _with_legacy_encoding(path, options.encoding, read)


def _with_legacy_encoding(path: Path, encoding: str | None, read: Callable[[str | None], _T]) -> _T:
    """Read a text file, and again in the legacy encoding if it is not UTF-8 and none was given."""
    try:
        return read(encoding)
    except NotUtf8Error:
        if encoding is not None or not may_be_legacy_text(path):
            raise
        return read(LEGACY_ENCODING)


def _optional_reader(module: str, extra: str) -> Callable[..., Table]:
    """Return the reader of a module that is imported only when a file needs its dependencies."""

    def read(path: Path, *arguments: Any) -> Table:
        try:
            reader = import_module(f".{module}", __package__)
        except ImportError as error:
            raise ImportError(
                f"{path.suffix} files need {error.name}: pip install 'comanifold[{extra}]'"
            ) from error
        return reader.read(path, *arguments)

    return read


_TEXT_ENDINGS = (".csv", ".tsv", ".tab", ".txt")
_COMPRESSIBLE = (*_TEXT_ENDINGS, ".mtx")

# Formats whose cells may hold anything, and those that store a matrix of numbers.
_CELL_READERS: dict[str, Callable[[Path, Options, MissingCodes], Table]] = {
    **dict.fromkeys(_TEXT_ENDINGS, _read_text),
    ".xlsx": _optional_reader("_excel", "formats"),
}
_MATRIX_READERS: dict[str, Callable[[Path, Options], Table]] = {
    ".parquet": _optional_reader("_parquet", "formats"),
    ".npy": read_npy,
    ".npz": read_npz,
    ".h5ad": _optional_reader("_hdf5", "anndata"),
    ".mtx": read_market,
}

READABLE = (*_CELL_READERS, *_MATRIX_READERS, *(f"{ending}.gz" for ending in _COMPRESSIBLE))


def read_table(
    path: str | os.PathLike,
    *,
    missing: str | Sequence[str | float] | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    labels: str | int | bool | None = None,
    columns: Selection = None,
    exclude: Selection = None,
    transpose: bool = False,
    array: str | None = None,
    layer: str | None = None,
    absent: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    skip_rows: int = 0,
    header_rows: int | None = None,
    skip_footer: int = 0,
    censored: str | None = None,
    sheet: str | int | None = None,
    long: Selection = None,
) -> Table:
    """Read a matrix with missing entries, and its labels, from a file.

    The format is that of the file's ending: text (.csv, .tsv, .tab, .txt), .xlsx, .parquet, .npy,
    .npz, .h5ad or .mtx; text and .mtx may be compressed (.gz).

    Columns of text and dates are not part of the matrix: they become annotations of the rows.
    Yes and no are read as 1 and 0, and 12% as 12. Repeated names are numbered. What may have been
    read wrongly is in the `doubts` of the table.

    Parameters
    ----------
    path : path
    missing : str or sequence, optional
        Codes that mean missing, in addition to empty cells and `DEFAULT_MISSING` (NA, null, ?, -
        and the like): texts, in any mix of capitals, and numbers, which match numerically. One
        string may hold several, separated by commas.
    delimiter : str, optional
        Of text. Auto-detected by default: comma, semicolon, tab, bar, double colon or space.
    header : bool, optional
        Whether the first line has the names of the columns. Auto-detected by default.
    labels : str, int or bool, optional
        The column with the labels of the rows, by name or by number from 1; False for none. By
        default the first one if it holds text or is named like labels. Those of a matrix.mtx
        from 10x Genomics are read from features.tsv (or genes.tsv) and barcodes.tsv in the same
        folder, unless this is False.
    columns, exclude : str or sequence, optional
        Columns to read, and to leave out: names, numbers from 1 in the file (in Parquet not
        counting the labels), and ranges of either, separated by commas: "3-58", "Q1-Q30".
    transpose : bool, default=False
        Exchange rows and columns once the file is read.
    array : str, optional
        Which array of an .npz file.
    layer : str, optional
        Which layer of an .h5ad file, in place of X.
    absent : {"missing", "zero"}, optional
        What the entries mean that a sparse matrix does not store.
    encoding : str, optional
        Of text. Auto-detected by default: UTF-8 or UTF-16, else Windows-1252.
    decimal, thousands : str, optional
        The decimal mark, and the mark between thousands. Auto-detected by default from all
        numbers of the file; it is an error if they leave open whether 1,500 is 1.5.
    skip_rows, skip_footer : int, default=0
        Lines before and after the table to leave out.
    header_rows : int, optional
        Number of lines with the names of the columns, which are joined. Auto-detected by default.
    censored : {"limit", "missing"}, optional
        What to read for values such as <0.5. By default they are an error.
    sheet : str or int, optional
        Which sheet of an .xlsx file, by name or by number from 1.
    long : str or sequence of three, optional
        The columns with the row, the column and the value of an entry, for a table that has a
        line for each entry of the matrix. Entries that occur several times are averaged.

    Returns
    -------
    table : Table

    Raises
    ------
    TableError
        What is wrong with the file, where, and what to do.
    OSError
        If it cannot be opened.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from comanifold.tables import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "genes.csv"
    ...     _ = file.write_text("gene,a,b\\nX1,1.5,NA\\nX2,,2\\n")
    ...     table = read_table(file)
    >>> table.values
    array([[1.5, nan],
           [nan, 2. ]])
    >>> table.row_names, table.column_names
    (['X1', 'X2'], ['a', 'b'])
    >>> table.notes[0]
    "Separated by commas; line 1 is a header; labels of rows in column 1 ('gene')."
    """
    path = Path(path)
    options = Options(
        delimiter=delimiter,
        header=header,
        labels=labels,
        columns=columns,
        exclude=exclude,
        array=array,
        layer=layer,
        absent=absent,
        encoding=encoding,
        decimal=decimal,
        thousands=thousands,
        skip_rows=skip_rows,
        header_rows=header_rows,
        skip_footer=skip_footer,
        censored=censored,
        sheet=sheet,
        long=long,
    )
    ending = _ending(path)
    codes = MissingCodes(missing)
    try:
        if ending in _CELL_READERS:
            table = _CELL_READERS[ending](path, options, codes)
        else:
            table = _MATRIX_READERS[ending](path, options)
        table = _with_missing(table.with_unique_names(), codes)
    except (TableError, UnicodeError) as error:
        raise TableError(f"{path}: {error}") from error
    return table.transposed() if transpose else table


def read_cells(path: str | os.PathLike, encoding: str | None = None) -> list[list[str]]:
    """Return all cells of a text table as they are, the header first, in records of one length."""
    path = Path(path)
    try:
        return _with_legacy_encoding(path, encoding, lambda used: _all_cells(path, used))
    except (TableError, UnicodeError, csv.Error) as error:
        raise TableError(f"{path}: {error}") from error


def _all_cells(path: Path, encoding: str | None) -> list[list[str]]:
    missing, options = MissingCodes(), Options(header_rows=1, encoding=encoding)
    source = open_text(path, options, missing)
    layout = detect_layout(source, options, missing)
    # The header may lack a name for the labels.
    records: list[list[str]] = [layout.header or []]
    with source.open_body(layout.n_before) as body:
        for _, record in body:
            if len(record) != layout.n_columns:
                raise TableError(
                    f"record {len(records) + 1} has {len(record)} cells, the first has "
                    f"{layout.n_columns}"
                )
            records.append(record)
            check_size(len(records), layout.n_columns)
    return records


def _ending(path: Path) -> str:
    """Return the ending that names the format of an existing file, without .gz."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name the file in it")
    name = path.name.lower()
    ending = Path(name.removesuffix(".gz")).suffix
    known = _COMPRESSIBLE if name.endswith(".gz") else (*_CELL_READERS, *_MATRIX_READERS)
    if ending not in known:
        raise TableError(
            f"{path}: unknown format. The name should end with one of {', '.join(READABLE)}"
        )
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file")
    return ending


def _with_missing(table: Table, missing: MissingCodes) -> Table:
    """Return the table with NaN for numbers that mean missing; check that there is data left."""
    if table.values.size == 0:
        raise TableError("it has no entries")
    values = missing.blank_numbers(table.values)
    infinite = np.argwhere(np.isinf(values))
    if len(infinite):
        i, j = infinite[0]
        raise TableError(
            f"row {quote(table.row_names[i])}, column {quote(table.column_names[j])} is infinite: "
            "leave such entries out, or correct them"
        )
    n_missing = int(np.isnan(values).sum())
    if n_missing == values.size:
        raise TableError(f"every entry is missing. {missing.note(n_missing)}")
    read_as = {**table.read_as, "missing": dict(missing.seen)}
    return replace(
        table, values=values, notes=[*table.notes, missing.note(n_missing)], read_as=read_as
    )
