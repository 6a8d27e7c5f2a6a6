"""A table from a file, by the ending of its name."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ._binary import read_npy, read_npz
from ._columns import chosen_columns
from ._h5ad import read_h5ad
from ._market import read_market
from ._missing import Missing
from ._parquet import read_parquet
from ._table import Options, Table, TableError, shortened
from ._text import read_text

_TEXT = (".csv", ".tsv", ".tab", ".txt")
_COMPRESSIBLE = (*_TEXT, ".mtx")
_OTHERS: dict[str, Callable[[Path, Options], Table]] = {
    ".parquet": read_parquet,
    ".npy": read_npy,
    ".npz": read_npz,
    ".h5ad": read_h5ad,
    ".mtx": read_market,
}

READABLE = (*_TEXT, *_OTHERS, *(f"{ending}.gz" for ending in _COMPRESSIBLE))


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
    encoding: str = "utf-8",
) -> Table:
    """Read a matrix with missing entries, and its labels, from a file.

    The ending of the name says what it is: text (.csv, .tsv, .tab, .txt), .parquet, .npy, .npz,
    .h5ad or .mtx; text and .mtx also compressed, with .gz.

    Parameters
    ----------
    path : path
    missing : str or sequence, optional
        What counts as missing besides empty cells and NaN: texts, in any mix of capitals, and
        numbers, which match numerically. One string holds several, separated by commas. By
        default `DEFAULT_MISSING`: NA, null, ?, - and the like.
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
        the labels), and ranges of numbers, separated by commas: "3-58".
    transpose : bool, default=False
        Exchange rows and columns once the file is read.
    array : str, optional
        Which array of an .npz file.
    layer : str, optional
        Which layer of an .h5ad file, in place of X.
    absent : {"missing", "zero"}, optional
        What an entry means that a sparse matrix does not store.
    encoding : str, default="utf-8"
        Of text.

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
    options = Options(delimiter, header, labels, columns, exclude, array, layer, absent, encoding)
    ending = _ending(path)
    _check_options(options)
    tokens = Missing(missing)
    try:
        if ending in _TEXT:
            table = read_text(path, options, tokens)
        else:
            table = _OTHERS[ending](path, options)
            if ending != ".parquet":
                table = _with_columns(table, options)
        _refuse_duplicates(table)
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
    if ending not in (*_TEXT, *_OTHERS) or (name.endswith(".gz") and ending not in _COMPRESSIBLE):
        raise TableError(
            f"{path}: what it holds cannot be told from its name. It should end with one of "
            f"{', '.join(READABLE)}"
        )
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file")
    return ending


def _check_options(options: Options) -> None:
    if options.delimiter is not None and len(options.delimiter) != 1:
        raise TableError(f"a delimiter is one character, got {options.delimiter!r}")
    if options.absent not in (None, "missing", "zero"):
        raise TableError(f'absent must be "missing" or "zero", got {options.absent!r}')


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


def _refuse_duplicates(table: Table) -> None:
    for mode, names in (("row", table.row_names), ("column", table.column_names)):
        seen: dict[str, int] = {}
        for number, name in enumerate(names, start=1):
            before = seen.setdefault(name, number)
            if before != number:
                raise TableError(
                    f"the {mode}s {before} and {number} have the same label, {shortened(name)}: "
                    "give each its own"
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
    return replace(table, values=values, notes=[*table.notes, missing.note(n_missing)])
