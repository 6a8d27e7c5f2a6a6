"""Arrays of NumPy: NPY and NPZ."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._io.npz import Archive, check_length, old_headers, open_archive, read_header
from ._memory import check_bytes, memory_bound
from ._table import Options, Table, TableError, check_size, listed, numbered, shortened


def read_npy(path: Path, _options: Options) -> Table:
    """The matrix in an NPY file."""
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
    return _without_names(values)


def read_npz(path: Path, options: Options) -> Table:
    """The matrix in an NPZ file, with names of rows and columns if it holds them."""
    try:
        with open_archive(path) as archive:
            name = _matrix_of(archive, options.array)
            table = _without_names(archive.read(name))
            bound = memory_bound(*table.values.shape)
            names = [
                _names_in(archive, f"{mode}_names", size, bound) or ours
                for mode, size, ours in zip(
                    ("row", "column"),
                    table.values.shape,
                    (table.row_names, table.column_names),
                    strict=True,
                )
            ]
    except TableError:
        raise
    except (ValueError, KeyError) as error:
        raise TableError(f"not arrays that can be read: {error}") from error
    return Table(table.values, *names, [f"The array {name!r}."])


def _matrix_of(archive: Archive, asked: str | None) -> str:
    if asked is not None:
        if asked not in archive.names:
            raise TableError(f"there is no array {asked!r}; there are {listed(archive.names, 20)}")
        _check_matrix(*archive.shape_and_type(asked))
        return asked
    shapes = {name: archive.shape_and_type(name) for name in archive.names}
    matrices = [
        name for name, (shape, dtype) in shapes.items() if len(shape) == 2 and dtype.kind in "biuf"
    ]
    if len(matrices) == 1:
        _check_matrix(*shapes[matrices[0]])
        return matrices[0]
    if matrices:
        raise TableError(
            f"it holds several matrices: choose one with array (--array): {listed(matrices, 20)}"
        )
    raise TableError(f"it holds no matrix of numbers, only {listed(archive.names) or 'nothing'}")


def _names_in(archive: Archive, name: str, size: int, bound: int) -> list[str] | None:
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
        raise TableError(f"it holds {shortened(dtype)}, not real numbers")
    if len(shape) != 2:
        raise TableError(
            f"it has {len(shape)} dimensions, shape {shape}: a matrix has two, rows and columns"
        )
    check_size(*shape)


def _without_names(values: NDArray[Any]) -> Table:
    return Table(
        np.ascontiguousarray(values, dtype=float),
        numbered("row", values.shape[0]),
        numbered("column", values.shape[1]),
    )
