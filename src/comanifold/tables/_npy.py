"""NumPy files: the matrix in an NPY file or an NPZ archive, bounded and never unpickled."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._io.npz import Archive, check_length, old_headers, open_archive, read_header
from ._table import (
    Options,
    Table,
    TableError,
    check_bytes,
    check_size,
    default_names,
    memory_bound,
    quote,
    quote_list,
)


def read_npy(path: Path, options: Options) -> Table:
    """Return the matrix in an NPY file."""
    try:
        with open(path, "rb") as file:
            shape, dtype = read_header(file)
            check_length(shape, dtype, os.fstat(file.fileno()).st_size - file.tell())
        _check_matrix(shape, dtype)
        with old_headers():
            values = np.load(path, allow_pickle=False)
    except TableError:
        raise
    except (ValueError, EOFError) as error:
        raise TableError(f"not an array that can be read: {error}") from error
    return _unnamed(values).with_columns(options.columns, options.exclude)


def read_npz(path: Path, options: Options) -> Table:
    """Return the matrix in an NPZ file, with `row_names` and `column_names` if it has them."""
    try:
        with open_archive(path) as archive:
            name = _choose_matrix(archive, options.array)
            table = _unnamed(archive.read(name))
            n_rows, n_columns = table.values.shape
            bound = memory_bound(n_rows, n_columns)
            table = Table(
                table.values,
                _names(archive, "row_names", n_rows, bound) or table.row_names,
                _names(archive, "column_names", n_columns, bound) or table.column_names,
                [f"The array {name!r}."],
            )
    except TableError:
        raise
    except (ValueError, KeyError) as error:
        raise TableError(f"not arrays that can be read: {error}") from error
    return table.with_columns(options.columns, options.exclude)


def _choose_matrix(archive: Archive, wanted: str | None) -> str:
    """Return the name of the array asked for, or of the only matrix of numbers."""
    if wanted is not None:
        if wanted not in archive.names:
            raise TableError(
                f"there is no array {wanted!r}; there are {quote_list(archive.names, 20)}"
            )
        _check_matrix(*archive.shape_and_type(wanted))
        return wanted
    shapes = {name: archive.shape_and_type(name) for name in archive.names}
    matrices = [
        name for name, (shape, dtype) in shapes.items() if len(shape) == 2 and dtype.kind in "biuf"
    ]
    if not matrices:
        found = quote_list(archive.names) or "nothing"
        raise TableError(f"it holds no matrix of numbers, only {found}")
    if len(matrices) > 1:
        raise TableError(
            "it holds several matrices: choose one with array (--array): "
            f"{quote_list(matrices, 20)}"
        )
    _check_matrix(*shapes[matrices[0]])
    return matrices[0]


def _names(archive: Archive, name: str, size: int, bound: int) -> list[str] | None:
    """Return an array of names of this size, or None."""
    if name not in archive.names:
        return None
    shape, dtype = archive.shape_and_type(name)
    if shape != (size,) or dtype.kind != "U":
        return None
    # Compressed, labels can be a thousand times as long as the file.
    check_bytes(name, size * dtype.itemsize, bound)
    return [str(label) for label in archive.read(name)]


def _check_matrix(shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "biuf":
        raise TableError(f"it holds {quote(dtype)}, not real numbers")
    if len(shape) != 2:
        raise TableError(
            f"it has {len(shape)} dimensions, shape {shape}: a matrix has two, rows and columns"
        )
    check_size(*shape)


def _unnamed(values: NDArray[Any]) -> Table:
    return Table(
        np.ascontiguousarray(values, dtype=float),
        default_names("row", values.shape[0]),
        default_names("column", values.shape[1]),
    )
