"""Annotated data: H5AD, of which only the matrix and what is known of rows and columns is read.

`uns`, `obsm`, `obsp`, `varm`, `varp` and `raw` are never opened, whatever is in them.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._memory import REFERENCE_BYTES, TextBudget, memory_bound
from ._stored_entries import (
    BLOCK,
    add_entries,
    check_stored,
    empty_matrix,
    meaning_of_absent,
)
from ._table import Array, Options, Table, TableError, check_size, listed, shortened

if TYPE_CHECKING:
    from ._hdf5 import CheckedFile

_PARTS = ("X", "layers", "obs", "var")

# Bytes of a Python float with the reference to it.
_FLOAT_BYTES = 32


def read_h5ad(path: Path, options: Options) -> Table:
    """The matrix of observations by variables in an H5AD file, or one of its layers.

    The columns of `obs` and `var` become annotations of the rows and columns: numbers as floats,
    all else as text, empty where it is missing.
    """
    try:
        import h5py

        from ._hdf5 import CheckedFile
    except ImportError as error:
        raise ImportError(
            f"H5AD files need {error.name}: pip install 'comanifold[anndata]'"
        ) from error
    try:
        with h5py.File(path, "r") as file:
            return _read(CheckedFile(file, path, _PARTS), options)
    except TableError:
        raise
    except MemoryError as error:
        raise TableError("there is not enough memory to read it") from error
    except Exception as error:  # whatever its reader stumbles over
        raise TableError(f"not an H5AD file that can be read: {error}") from error


def _read(file: "CheckedFile", options: Options) -> Table:
    name = _matrix_name(file, options.layer)
    n_rows, n_columns = shape = _shape(file, name)
    check_size(n_rows, n_columns)
    file.bound = memory_bound(n_rows, n_columns)
    budget = TextBudget(file.bound)
    frames = [
        _Frame(file, part, size, budget) for part, size in zip(("obs", "var"), shape, strict=True)
    ]
    note = f"{'X' if options.layer is None else f'The layer {options.layer!r}'} of the file."
    if file.find(name).__class__.__name__ == "Dataset":
        values = _dense(file, name, shape)
    else:
        values, absent = _sparse(file, name, shape, options.absent)
        note += f" Entries that are not stored are {absent}."
    notes = [note, *(frame.note() for frame in frames if frame.skipped)]
    annotations = {
        mode: frame.columns
        for mode, frame in zip(("rows", "columns"), frames, strict=True)
        if frame.columns
    }
    return Table(values, frames[0].names, frames[1].names, notes, annotations=annotations)


def _matrix_name(file: "CheckedFile", layer: str | None) -> str:
    """The path of X or of the layer that is asked for."""
    found = file.find("layers")
    layers = list(found) if hasattr(found, "keys") else []
    if layer is not None:
        if layer not in layers:
            raise TableError(f"there is no layer {layer!r}; there are {listed(layers) or 'none'}")
        return f"layers/{layer}"
    matrix = file.find("X")
    if matrix is None or _text(file.attribute(matrix, "encoding-type")) == "null":
        if matrix is None and not layers and file.find("obs") is None:
            raise TableError("not an H5AD file that can be read: it has neither X nor obs")
        raise TableError(f"X is empty; choose a layer (--layer): {listed(layers) or 'none'}")
    return "X"


def _shape(file: "CheckedFile", name: str) -> tuple[int, int]:
    """Rows and columns that a matrix declares."""
    found: Any = file.find(name)
    if hasattr(found, "keys"):
        shape = file.attribute(found, "shape")
        shape = file.attribute(found, "h5sparse_shape") if shape is None else shape
        if shape is None:
            kind = _text(file.attribute(found, "encoding-type")) or "group without a shape"
            raise TableError(f"{shortened(name)} is a {kind}, not a matrix")
        sizes = np.asarray(shape).reshape(-1)
        if sizes.dtype.kind not in "iu":
            raise TableError(f"the shape of {shortened(name)} is {shortened(shape)}")
    else:
        sizes = np.asarray(found.shape if found.shape is not None else ())
    if len(sizes) != 2 or (sizes < 0).any():
        raise TableError(
            f"{shortened(name)} has {len(sizes)} dimensions: a matrix has two, rows and columns"
        )
    return int(sizes[0]), int(sizes[1])


def _dense(file: "CheckedFile", name: str, shape: tuple[int, int]) -> Array:
    found = file.dataset(name, shape)
    if found.dtype.kind not in "biuf":
        raise TableError(f"{shortened(name)} holds {shortened(found.dtype)}, not real numbers")
    values = np.empty(shape)
    if found.dtype.kind == "b":
        values[:] = found[()]
    elif values.size:
        found.read_direct(values)
    return values


def _sparse(
    file: "CheckedFile", name: str, shape: tuple[int, int], absent: str | None
) -> tuple[Array, str]:
    """A sparse matrix as a dense one, and what its absent entries were taken for."""
    found: Any = file.find(name)
    kind = _text(file.attribute(found, "encoding-type"))
    kind = kind or f"{_text(file.attribute(found, 'h5sparse_format'))}_matrix"
    if kind not in ("csr_matrix", "csc_matrix"):
        raise TableError(f"{shortened(name)} is a {shortened(kind)}, which cannot be read")
    by_row = kind == "csr_matrix"
    n_major, n_minor = shape if by_row else shape[::-1]
    starts = file.numbers(f"{name}/indptr", (n_major + 1,), "iu").astype(np.int64)
    values = file.dataset(f"{name}/data", (None,))
    n_stored = values.shape[0]
    places = file.dataset(f"{name}/indices", (n_stored,))
    if values.dtype.kind not in "biuf" or places.dtype.kind not in "iu":
        raise TableError(f"{shortened(name)} does not hold real numbers")
    if starts[0] != 0 or starts[-1] != n_stored or (np.diff(starts) < 0).any():
        raise TableError(
            f"{shortened(name)} is damaged: its indptr does not ascend from 0 to {n_stored:,}"
        )
    check_stored(n_stored, *shape)
    absent = meaning_of_absent(absent, shape[0] * shape[1] - n_stored)
    dense = empty_matrix(*shape, absent)
    # A chunk is uncompressed anew for each block that it is in.
    block = max([BLOCK, *(part.chunks[0] for part in (values, places) if part.chunks)])
    for start in range(0, n_stored, block):
        stop = min(start + block, n_stored)
        minor = places[start:stop].astype(np.int64)
        if minor.min() < 0 or minor.max() >= n_minor:
            raise TableError(
                f"{shortened(name)} is damaged: an index is not within 0 to {n_minor - 1}"
            )
        major = np.searchsorted(starts, np.arange(start, stop), side="right") - 1
        rows, columns = (major, minor) if by_row else (minor, major)
        add_entries(dense, rows, columns, values[start:stop].astype(float))
    return dense, absent


class _Frame:
    """The index of `obs` or `var`, and its columns that can be read.

    Attributes
    ----------
    names : list of str
    columns : dict
        Values by the name of the column.
    skipped : list of str
        Columns that are of other kinds, or that there is no memory for.
    """

    def __init__(self, file: "CheckedFile", part: str, size: int, budget: TextBudget):
        self._file, self._part, self._size, self._budget = file, part, size, budget
        group: Any = file.find(part)
        if not hasattr(group, "keys"):
            raise TableError(
                f"{part!r} is not there or was written by a version of anndata before 0.7: read "
                "the file with anndata and write it anew"
            )
        index = _text(file.attribute(group, "_index")) or "_index"
        self.names = self._index(f"{part}/{index}")
        self.columns: dict[str, list[Any]] = {}
        self.skipped: list[str] = []
        for name in self._column_names(group, index):
            # Half is left to the annotations of the other mode, and to what reading takes.
            if size * _FLOAT_BYTES > budget.left // 2:
                self.skipped.append(name)
                continue
            values = self._column(name)
            if values is None:
                self.skipped.append(name)
            else:
                budget.take(name, size * REFERENCE_BYTES)
                self.columns[name] = values

    def note(self) -> str:
        return f"Columns of {self._part} that were not read: {listed(self.skipped)}."

    def _column_names(self, group: Any, index: str) -> list[str]:
        order = self._file.attribute(group, "column-order")
        names = [_text(name) for name in np.asarray(order).reshape(-1)] if order is not None else []
        there = [name for name in group if name not in (index, "__categories")]
        known = set(there)
        ordered = list(dict.fromkeys(name for name in names if name in known))
        return [*ordered, *sorted(known.difference(ordered))]

    def _index(self, name: str) -> list[str]:
        found: Any = self._file.find(name)
        if hasattr(found, "keys"):
            values = self._grouped(name, found)
            if values is None:
                raise TableError(f"{shortened(name)} holds no labels that can be read")
            return [str(value) for value in values]
        dataset = self._file.dataset(name, (self._size,))
        if dataset.dtype.kind in "iuf":
            return [str(value) for value in dataset[()].tolist()]
        return self._file.texts(name, self._size, self._budget)

    def _column(self, name: str) -> list[Any] | None:
        """The values of a column; None if it is of another kind."""
        path = f"{self._part}/{name}"
        found: Any = self._file.find(path)
        if hasattr(found, "keys"):
            return self._grouped(path, found)
        dataset = self._file.dataset(path, (self._size,))
        # Versions 0.7 of anndata keep codes here, and what they stand for beside them.
        categories = f"{self._part}/__categories/{name}"
        if dataset.dtype.kind in "iu" and self._file.find(categories) is not None:
            return self._categorical(path, categories)
        return self._plain(path, dataset)

    def _plain(self, path: str, dataset: Any) -> list[Any] | None:
        kind = dataset.dtype.kind
        if kind in "OS":
            return self._file.texts(path, dataset.shape[0], self._budget)
        if kind not in "biuf":
            return None
        if kind == "b":
            return [str(value) for value in dataset[()].tolist()]
        self._budget.take(path, dataset.shape[0] * (_FLOAT_BYTES - REFERENCE_BYTES))
        return dataset[()].astype(float).tolist()

    def _grouped(self, path: str, group: Any) -> list[Any] | None:
        """Categories, and arrays with a mask."""
        kind = _text(self._file.attribute(group, "encoding-type"))
        if kind == "categorical":
            return self._categorical(f"{path}/codes", f"{path}/categories")
        if kind not in ("nullable-integer", "nullable-boolean", "nullable-string-array"):
            return None
        values = self._plain(f"{path}/values", self._file.dataset(f"{path}/values", (self._size,)))
        mask = self._file.numbers(f"{path}/mask", (self._size,), "biu")
        if values is None:
            return None
        empty = float("nan") if kind == "nullable-integer" else ""
        return [empty if masked else value for value, masked in zip(values, mask, strict=True)]

    def _categorical(self, codes_path: str, path: str) -> list[Any] | None:
        codes = self._file.numbers(codes_path, (self._size,), "iu").astype(np.int64)
        found: Any = self._file.find(path)
        if hasattr(found, "keys"):  # with a mask, which categories do not need
            path = f"{path}/values"
        categories = self._plain(path, self._file.dataset(path, (None,)))
        if categories is None:
            return None
        if codes.size and not -1 <= codes.min() <= codes.max() < len(categories):
            raise TableError(
                f"{shortened(codes_path)} is damaged: a code is not within -1 to "
                f"{len(categories) - 1}"
            )
        is_number = bool(categories) and isinstance(categories[0], float)
        meanings = [*categories, float("nan") if is_number else ""]
        return [meanings[code] for code in codes]


def _text(value: Any) -> str:
    """The text of an attribute; nothing if it is none."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else ""
