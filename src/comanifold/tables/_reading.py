"""A table from a file, by the ending of its name."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ._binary import read_npy, read_npz
from ._columns import chosen_columns
from ._excel import read_excel
from ._h5ad import read_h5ad
from ._market import read_market
from ._missing import Missing
from ._names import distinct_names, doubt_about_repeats
from ._parquet import read_parquet
from ._table import Options, Table, TableError, shortened
from ._text import read_text

_TEXT = (".csv", ".tsv", ".tab", ".txt")
_COMPRESSIBLE = (*_TEXT, ".mtx")
_CELLS: dict[str, Callable[[Path, Options, Missing], Table]] = {
    **dict.fromkeys(_TEXT, read_text),
    ".xlsx": read_excel,
}
_OTHERS: dict[str, Callable[[Path, Options], Table]] = {
    ".parquet": read_parquet,
    ".npy": read_npy,
    ".npz": read_npz,
    ".h5ad": read_h5ad,
    ".mtx": read_market,
}

READABLE = (*_CELLS, *_OTHERS, *(f"{ending}.gz" for ending in _COMPRESSIBLE))


def read_table(
    path: str | os.PathLike,
    *,
    missing: str | Sequence[str | float] | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    labels: str | int | bool | None = None,
    columns: str | Sequence[str | int] | None = None,
    exclude: str | Sequence[str | int] | None = None,
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
    long: str | Sequence[str | int] | None = None,
) -> Table:
    """Read a matrix with missing entries, and its labels, from a file.

    The ending of the name says what it is: text (.csv, .tsv, .tab, .txt), .xlsx, .parquet, .npy,
    .npz, .h5ad or .mtx; text and .mtx also compressed, with .gz.

    Columns of text and dates are not part of the matrix: they become annotations of the rows.
    Yes and no are 1 and 0, and 12% is 12. Names that occur twice are numbered. What may have been
    read wrongly is in the `doubts` of the table.

    Parameters
    ----------
    path : path
    missing : str or sequence, optional
        What counts as missing besides empty cells and `DEFAULT_MISSING` (NA, null, ?, - and the
        like), which always does: texts, in any mix of capitals, and numbers, which match
        numerically. One string holds several, separated by commas.
    delimiter : str, optional
        Of text. By default the one of comma, semicolon, tab, bar and space that makes the most
        sense, with decimal points or commas.
    header : bool, optional
        Whether the first line of text has the names of the columns. By default, whether it
        looks like that.
    labels : str, int or bool, optional
        The column with the labels of the rows, by name or by number from 1; False for none. By
        default the first one if it holds text or is named like labels. Those of a matrix.mtx as
        10x Genomics has it are in features.tsv (or genes.tsv) and barcodes.tsv beside it, and
        are read from there unless this is False.
    columns, exclude : str or sequence, optional
        Columns to read, and to leave out: names, numbers from 1 in the file (of Parquet without
        the labels), and ranges of either, separated by commas: "3-58", "Q1-Q30".
    transpose : bool, default=False
        Exchange rows and columns once the file is read.
    array : str, optional
        Which array of an .npz file.
    layer : str, optional
        Which layer of an .h5ad file, in place of X.
    absent : {"missing", "zero"}, optional
        What an entry means that a sparse matrix does not store.
    encoding : str, optional
        Of text. By default UTF-8 or UTF-16 where that can be told, else Windows-1252.
    decimal, thousands : str, optional
        The decimal mark, and the mark between thousands. By default what all numbers of the file
        tell together; if they do not tell whether 1,500 has a decimal comma, that is an error.
    skip_rows, skip_footer : int, default=0
        Lines before and after the table to leave out.
    header_rows : int, optional
        Number of lines with the names of the columns, which are joined. By default detected.
    censored : {"limit", "missing"}, optional
        What values such as <0.5 are taken as. By default they are an error.
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
    _check_options(options)
    tokens = Missing(missing)
    try:
        if ending in _CELLS:
            table = _CELLS[ending](path, options, tokens)
        else:
            table = _OTHERS[ending](path, options)
            if ending != ".parquet":
                table = _with_columns(table, options)
        table = _with_distinct_names(table)
        table = _checked(table, tokens)
    except (TableError, UnicodeError) as error:
        raise TableError(f"{path}: {error}") from error
    return table.transposed() if transpose else table


def _ending(path: Path) -> str:
    """The ending that says what is in a file, which must be there."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name the file in it")
    name = path.name.lower()
    ending = Path(name.removesuffix(".gz")).suffix
    if ending not in (*_CELLS, *_OTHERS) or (name.endswith(".gz") and ending not in _COMPRESSIBLE):
        raise TableError(
            f"{path}: what it holds cannot be told from its name. It should end with one of "
            f"{', '.join(READABLE)}"
        )
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file")
    return ending


def _check_options(options: Options) -> None:
    if options.delimiter is not None and not 1 <= len(options.delimiter) <= 3:
        raise TableError(f"a delimiter is one to three characters, got {options.delimiter!r}")
    if options.absent not in (None, "missing", "zero"):
        raise TableError(f'absent must be "missing" or "zero", got {options.absent!r}')
    if options.decimal not in (None, ".", ","):
        raise TableError(f'decimal must be "." or ",", got {options.decimal!r}')
    if options.thousands not in (None, ".", ",", " ", "'"):
        raise TableError(
            f"thousands must be a point, a comma, a blank or an apostrophe, got "
            f"{options.thousands!r}"
        )
    if options.decimal is not None and options.decimal == options.thousands:
        raise TableError(f"decimal and thousands are both {options.decimal!r}")
    if options.censored not in (None, "limit", "missing"):
        raise TableError(f'censored must be "limit" or "missing", got {options.censored!r}')
    for name in ("skip_rows", "skip_footer", "header_rows"):
        number = getattr(options, name)
        if number is not None and number < 0:
            raise TableError(f"{name} is a number of lines, got {number}")


def _with_columns(table: Table, options: Options) -> Table:
    if options.columns is None and options.exclude is None:
        return table
    places = chosen_columns(table.column_names, options.columns, options.exclude)
    names = [table.column_names[place] for place in places]
    known = {
        name: [values[place] for place in places]
        for name, values in table.annotations.get("columns", {}).items()
    }
    annotations = {**table.annotations, "columns": known} if known else table.annotations
    return replace(
        table, values=table.values[:, places], column_names=names, annotations=annotations
    )


def _with_distinct_names(table: Table) -> Table:
    rows, columns = distinct_names(table.row_names), distinct_names(table.column_names)
    doubts = [
        doubt_about_repeats(table.row_names, rows, "labels of rows"),
        doubt_about_repeats(table.column_names, columns, "names of columns"),
    ]
    return replace(
        table,
        row_names=rows,
        column_names=columns,
        doubts=[*table.doubts, *filter(None, doubts)],
    )


def _checked(table: Table, missing: Missing) -> Table:
    """The table with numbers that mean missing as NaN, if there is something in it to use."""
    if table.values.size == 0:
        raise TableError("it holds no entries")
    values = missing.blank_numbers(table.values)
    infinite = np.argwhere(np.isinf(values))
    if len(infinite):
        i, j = infinite[0]
        raise TableError(
            f"row {shortened(table.row_names[i])}, column {shortened(table.column_names[j])} is "
            "infinite: leave such entries out, or correct them"
        )
    n_missing = int(np.isnan(values).sum())
    if n_missing == values.size:
        raise TableError(f"every entry is missing. {missing.note(n_missing)}")
    read_as = {**table.read_as, "missing": dict(missing.seen)}
    notes = [*table.notes, missing.note(n_missing)]
    return replace(table, values=values, notes=notes, read_as=read_as)
