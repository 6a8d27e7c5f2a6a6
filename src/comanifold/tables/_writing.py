"""Writing a table to a file: one writer for each format, chosen by the ending of the name."""

import csv
import gzip
import io
import math
import os
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from itertools import repeat
from pathlib import Path
from typing import IO, Any

import numpy as np

from .._io import atomic_file
from ._table import Table, TableError

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}

# Formats that hold columns of text as well, and all formats.
HOLDS_TEXT = (*_DELIMITERS, *(f"{ending}.gz" for ending in _DELIMITERS), ".parquet")
WRITABLE = (*HOLDS_TEXT, ".npy", ".npz", ".h5ad")


def check_writable(path: str | os.PathLike) -> None:
    """Raise an error for a name whose ending is not that of a format that can be written."""
    if not str(path).lower().endswith(WRITABLE):
        raise TableError(
            f"{path}: unknown format. The name should end with one of {', '.join(WRITABLE)}"
        )


def write_table(
    path: str | os.PathLike, table: Table, *, atomic: bool = True, annotations: bool = False
) -> None:
    """Write a table; numbers are read again as the same numbers.

    Parameters
    ----------
    path : path
        Its ending sets the format: see `WRITABLE`. An .npy file has no labels.
    table : Table
    atomic : bool, default=True
        Write the whole file or nothing: an existing file is replaced once the new one is complete.
    annotations : bool, default=False
        Write the annotations of the rows between the labels and the numbers. Only text and
        Parquet hold them: see `HOLDS_TEXT`.
    """
    path = Path(path)
    check_writable(path)
    name = path.name.lower()
    ending = Path(name.removesuffix(".gz")).suffix
    texts = table.annotations.get("rows", {}) if annotations else {}
    with atomic_file(path) if atomic else nullcontext(path) as part:
        if ending in _DELIMITERS:
            cells = zip(*texts.values(), strict=True) if texts else repeat(())
            rows = [
                [label, *cell, *map(_format_number, row)]
                for label, cell, row in zip(table.row_names, cells, table.values, strict=False)
            ]
            header = [table.corner, *texts, *table.column_names]
            _write_text(part, [header, *rows], _DELIMITERS[ending], name.endswith(".gz"))
        elif ending == ".parquet":
            _write_parquet(part, table, texts)
        elif ending == ".h5ad":
            _write_h5ad(part, table)
        elif ending == ".npz":
            names = {
                "row_names": np.array(table.row_names, dtype=np.str_),
                "column_names": np.array(table.column_names, dtype=np.str_),
            }
            np.savez_compressed(part, values=table.values, **names)
        else:
            np.save(part, table.values, allow_pickle=False)


def write_rows(
    path: str | os.PathLike, rows: Iterable[Sequence[Any]], *, atomic: bool = True
) -> None:
    """Write rows of cells to a CSV file; see `write_table`."""
    with atomic_file(path) if atomic else nullcontext(Path(path)) as part:
        _write_text(part, rows, ",", compress=False)


def _format_number(value: float) -> str:
    """Return a number so that it is read again as the same one; nothing for NaN."""
    return "" if math.isnan(value) else repr(float(value)).removesuffix(".0")


def _write_text(part: Path, rows: Iterable[Sequence[Any]], delimiter: str, compress: bool) -> None:
    with open(part, "wb") as file:
        # No time of writing in the compressed file: the same table gives the same bytes.
        binary = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if compress else file
        with io.TextIOWrapper(binary, encoding="utf-8", newline="") as text:
            csv.writer(_UnixLineEnds(text), delimiter=delimiter).writerows(rows)


class _UnixLineEnds:
    """Ends lines with a newline; set to do so, the writer would not quote labels with a \\r."""

    def __init__(self, text: IO[str]):
        self._text = text

    def write(self, line: str) -> int:
        return self._text.write(line.removesuffix("\r\n") + "\n")


def _write_parquet(part: Path, table: Table, texts: dict[str, list[Any]]) -> None:
    import pandas as pd

    index = pd.Index(table.row_names, name=table.corner or None)
    frame = pd.DataFrame(table.values, index=index, columns=table.column_names)
    if texts:
        frame = pd.concat([pd.DataFrame(texts, index=index), frame], axis=1)
    frame.to_parquet(part)


def _write_h5ad(part: Path, table: Table) -> None:
    import anndata
    import pandas as pd

    anndata.AnnData(
        table.values,
        obs=pd.DataFrame(index=pd.Index(table.row_names, dtype=object)),
        var=pd.DataFrame(index=pd.Index(table.column_names, dtype=object)),
    ).write_h5ad(part)
