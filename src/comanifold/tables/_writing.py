"""A table into a file, by the ending of its name."""

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

WRITABLE = (*_DELIMITERS, ".csv.gz", ".tsv.gz", ".tab.gz", ".parquet", ".npy", ".npz", ".h5ad")


# Of these, what columns of text can be written to.
HOLDS_TEXT = (*_DELIMITERS, ".csv.gz", ".tsv.gz", ".tab.gz", ".parquet")


def check_writable(path: str | os.PathLike) -> None:
    """Refuse a name whose ending does not say how to write it."""
    if not str(path).lower().endswith(WRITABLE):
        raise TableError(
            f"{path}: how to write it cannot be told from its name. It should end with one of "
            f"{', '.join(WRITABLE)}"
        )


def write_table(
    path: str | os.PathLike, table: Table, *, atomic: bool = True, annotations: bool = False
) -> None:
    """Write a table; numbers are read again as the same numbers.

    Parameters
    ----------
    path : path
        Its ending says how: see `WRITABLE`. An .npy file has no labels.
    table : Table
    atomic : bool, default=True
        Write it whole or not at all, beside the file that may be there, and replace that when it
        is complete.
    annotations : bool, default=False
        Write columns of text, known of the rows, between the labels and the numbers. Only text
        and Parquet have room for them: see `HOLDS_TEXT`.
    """
    path = Path(path)
    check_writable(path)
    name = path.name.lower()
    ending = Path(name.removesuffix(".gz")).suffix
    with atomic_file(path) if atomic else nullcontext(path) as part:
        if ending in _DELIMITERS:
            known = table.annotations.get("rows", {}) if annotations else {}
            texts = zip(*known.values(), strict=True) if known else repeat(())
            rows = [
                [label, *text, *map(written, row)]
                for label, text, row in zip(table.row_names, texts, table.values, strict=False)
            ]
            header = [table.corner, *known, *table.column_names]
            _write_text(part, [header, *rows], _DELIMITERS[ending], name.endswith(".gz"))
        elif ending == ".parquet":
            _write_parquet(part, table, annotations)
        else:
            _WRITERS[ending](part, table)


def write_rows(
    path: str | os.PathLike, rows: Iterable[Sequence[Any]], *, atomic: bool = True
) -> None:
    """Write a CSV file; see `write_table`."""
    with atomic_file(path) if atomic else nullcontext(Path(path)) as part:
        _write_text(part, rows, ",", compress=False)


def written(value: float) -> str:
    """A number so that it is read again as the same one; nothing for NaN."""
    if math.isnan(value):
        return ""
    return repr(float(value)).removesuffix(".0")


def _write_text(part: Path, rows: Iterable[Sequence[Any]], delimiter: str, compress: bool) -> None:
    with open(part, "wb") as file:
        # No time of writing in the compressed file: the same table gives the same bytes.
        binary = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if compress else file
        with io.TextIOWrapper(binary, encoding="utf-8", newline="") as text:
            csv.writer(_PlainEnds(text), delimiter=delimiter).writerows(rows)


class _PlainEnds:
    """Ends lines as Unix does; the writer itself would then not quote labels with other ends."""

    def __init__(self, text: IO[str]):
        self._text = text

    def write(self, line: str) -> int:
        return self._text.write(line.removesuffix("\r\n") + "\n")


def _write_npy(part: Path, table: Table) -> None:
    np.save(part, table.values, allow_pickle=False)


def _write_npz(part: Path, table: Table) -> None:
    np.savez_compressed(
        part,
        values=table.values,
        row_names=np.array(table.row_names, dtype=np.str_),
        column_names=np.array(table.column_names, dtype=np.str_),
    )


def _write_parquet(part: Path, table: Table, annotations: bool) -> None:
    import pandas as pd

    index = pd.Index(table.row_names, name=table.corner or None)
    frame = pd.DataFrame(table.values, index=index, columns=table.column_names)
    if annotations:
        known = pd.DataFrame(table.annotations.get("rows", {}), index=index)
        frame = pd.concat([known, frame], axis=1)
    frame.to_parquet(part)


def _write_h5ad(part: Path, table: Table) -> None:
    import anndata
    import pandas as pd

    anndata.AnnData(
        table.values,
        obs=pd.DataFrame(index=pd.Index(table.row_names, dtype=object)),
        var=pd.DataFrame(index=pd.Index(table.column_names, dtype=object)),
    ).write_h5ad(part)


_WRITERS = {
    ".npy": _write_npy,
    ".npz": _write_npz,
    ".h5ad": _write_h5ad,
}
