"""H5AD files: the matrix, and the annotations of rows and columns.

An HDF5 file can point into other files or in circles, and declare or compress any amount of data.
anndata would follow; here everything is checked before it is read, and only `X`, `layers`, `obs`
and `var` are opened.
"""

import math
import os
import posixpath
import zlib
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ._sparse import BLOCK, add_entries, empty_matrix
from ._table import (
    REFERENCE_BYTES,
    Array,
    MemoryBudget,
    Options,
    Table,
    TableError,
    check_bytes,
    check_size,
    memory_bound,
    quote,
    quote_list,
    reading_errors,
)

# Names at the top of the file that may be read; soft links must stay among them.
_PARTS = ("X", "layers", "obs", "var")

# Bytes of a Python float with the reference to it.
_FLOAT_BYTES = 32

# Filters whose output is bounded: gzip, shuffle, Fletcher's checksum and LZF.
_GZIP = h5py.h5z.FILTER_DEFLATE
_FILTERS = (_GZIP, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32, 32000)

# No more bytes than this come out of one byte of gzip.
_MAX_INFLATION = 1032

# Soft links that follow each other.
_MAX_LINKS = 8

# Bytes of an attribute, and strings read at one time.
_MAX_ATTRIBUTE = 1 << 26
_MAX_STRINGS = 1 << 16


def read(path: Path, options: Options) -> Table:
    """Return the matrix of observations by variables in an H5AD file, or one of its layers.

    The columns of `obs` and `var` become annotations of the rows and columns: numbers as floats,
    all else as text, empty where it is missing.
    """
    with reading_errors("an H5AD file"), h5py.File(path, "r") as opened:
        file = _CheckedFile(opened, os.path.getsize(path))
        name = _choose_matrix(file, options.layer)
        shape = _declared_shape(file, name)
        check_size(*shape)
        file.bound = memory_bound(*shape)
        budget = MemoryBudget(file.bound)
        rows = _Frame(file, "obs", shape[0], budget)
        columns = _Frame(file, "var", shape[1], budget)
        note = f"{'X' if options.layer is None else f'The layer {options.layer!r}'} of the file."
        if isinstance(file.find(name), h5py.Dataset):
            values = _read_dense(file, name, shape)
        else:
            values, absent = _read_sparse(file, name, shape, options.absent)
            note += f" Entries that are not stored are {absent}."
    table = Table(
        values,
        rows.names,
        columns.names,
        [note, *rows.notes, *columns.notes],
        annotations={
            mode: frame.columns
            for mode, frame in (("rows", rows), ("columns", columns))
            if frame.columns
        },
    )
    return table.with_columns(options.columns, options.exclude)


# The matrix.


def _choose_matrix(file: "_CheckedFile", layer: str | None) -> str:
    """Return the path of X, or of the layer asked for."""
    found = file.find("layers")
    layers = list(found) if isinstance(found, h5py.Group) else []
    if layer is not None:
        if layer not in layers:
            known = quote_list(layers) or "none"
            raise TableError(f"there is no layer {layer!r}; there are {known}")
        return f"layers/{layer}"
    matrix = file.find("X")
    if matrix is None or _text(file.attribute(matrix, "encoding-type")) == "null":
        if matrix is None and not layers and file.find("obs") is None:
            raise TableError("not an H5AD file that can be read: it has neither X nor obs")
        raise TableError(f"X is empty; choose a layer (--layer): {quote_list(layers) or 'none'}")
    return "X"


def _declared_shape(file: "_CheckedFile", name: str) -> tuple[int, int]:
    found: Any = file.find(name)
    if isinstance(found, h5py.Group):
        shape = file.attribute(found, "shape")
        shape = file.attribute(found, "h5sparse_shape") if shape is None else shape
        if shape is None:
            kind = _text(file.attribute(found, "encoding-type")) or "group without a shape"
            raise TableError(f"{quote(name)} is a {kind}, not a matrix")
        sizes = np.asarray(shape).reshape(-1)
        if sizes.dtype.kind not in "iu":
            raise TableError(f"the shape of {quote(name)} is {quote(shape)}")
    else:
        sizes = np.asarray(found.shape if found.shape is not None else ())
    if len(sizes) != 2 or (sizes < 0).any():
        raise TableError(
            f"{quote(name)} has {len(sizes)} dimensions: a matrix has two, rows and columns"
        )
    return int(sizes[0]), int(sizes[1])


def _read_dense(file: "_CheckedFile", name: str, shape: tuple[int, int]) -> Array:
    found = file.dataset(name, shape)
    if found.dtype.kind not in "biuf":
        raise TableError(f"{quote(name)} holds {quote(found.dtype)}, not real numbers")
    values = np.empty(shape)
    if found.dtype.kind == "b":
        values[:] = found[()]
    elif values.size:
        found.read_direct(values)
    return values


def _read_sparse(
    file: "_CheckedFile", name: str, shape: tuple[int, int], absent: str | None
) -> tuple[Array, str]:
    """Return a sparse matrix as a dense one, and the meaning of its absent entries."""
    found: Any = file.find(name)
    kind = _text(file.attribute(found, "encoding-type"))
    kind = kind or f"{_text(file.attribute(found, 'h5sparse_format'))}_matrix"
    if kind not in ("csr_matrix", "csc_matrix"):
        raise TableError(f"{quote(name)} is a {quote(kind)}, which cannot be read")
    by_row = kind == "csr_matrix"
    n_major, n_minor = shape if by_row else shape[::-1]
    starts = file.numbers(f"{name}/indptr", (n_major + 1,), "iu").astype(np.int64)
    values = file.dataset(f"{name}/data", (None,))
    n_stored = values.shape[0]
    indices = file.dataset(f"{name}/indices", (n_stored,))
    if values.dtype.kind not in "biuf" or indices.dtype.kind not in "iu":
        raise TableError(f"{quote(name)} does not hold real numbers")
    if starts[0] != 0 or starts[-1] != n_stored or (np.diff(starts) < 0).any():
        raise TableError(
            f"{quote(name)} is damaged: its indptr does not ascend from 0 to {n_stored:,}"
        )
    dense, absent = empty_matrix(shape, n_stored, absent)
    # A chunk is uncompressed again for each block that it is in.
    block = max([BLOCK, *(part.chunks[0] for part in (values, indices) if part.chunks)])
    for start in range(0, n_stored, block):
        stop = min(start + block, n_stored)
        minor = indices[start:stop].astype(np.int64)
        if minor.min() < 0 or minor.max() >= n_minor:
            raise TableError(f"{quote(name)} is damaged: an index is not within 0 to {n_minor - 1}")
        major = np.searchsorted(starts, np.arange(start, stop), side="right") - 1
        rows, columns = (major, minor) if by_row else (minor, major)
        add_entries(dense, rows, columns, values[start:stop].astype(float))
    return dense, absent


# Annotations.


class _Frame:
    """The index of `obs` or `var`, and its columns that can be read.

    Attributes
    ----------
    names : list of str
    columns : dict
        Values by the name of the column.
    notes : list of str
        On columns of other kinds, or that there is no memory for.
    """

    def __init__(self, file: "_CheckedFile", part: str, size: int, budget: MemoryBudget):
        self._file, self._part, self._size, self._budget = file, part, size, budget
        group: Any = file.find(part)
        if not isinstance(group, h5py.Group):
            raise TableError(
                f"{part!r} is missing, or was written by a version of anndata before 0.7: read "
                "the file with anndata and write it again"
            )
        index = _text(file.attribute(group, "_index")) or "_index"
        self.names = self._read_index(f"{part}/{index}")
        self.columns: dict[str, list[Any]] = {}
        skipped: list[str] = []
        for name in self._column_names(group, index):
            # Half is left to the annotations of the other mode, and to what reading takes.
            has_memory = size * _FLOAT_BYTES <= budget.left // 2
            values = self._read_column(name) if has_memory else None
            if values is None:
                skipped.append(name)
            else:
                budget.take(name, size * REFERENCE_BYTES)
                self.columns[name] = values
        self.notes = (
            [f"Columns of {part} that were not read: {quote_list(skipped)}."] if skipped else []
        )

    def _column_names(self, group: Any, index: str) -> list[str]:
        """Return the names of the columns, in the declared order as far as there is one."""
        order = self._file.attribute(group, "column-order")
        names = [_text(name) for name in np.asarray(order).reshape(-1)] if order is not None else []
        known = {name for name in group if name not in (index, "__categories")}
        ordered = list(dict.fromkeys(name for name in names if name in known))
        return [*ordered, *sorted(known.difference(ordered))]

    def _read_index(self, name: str) -> list[str]:
        found: Any = self._file.find(name)
        if isinstance(found, h5py.Group):
            values = self._read_group(name, found)
            if values is None:
                raise TableError(f"{quote(name)} holds no labels that can be read")
            return [str(value) for value in values]
        dataset = self._file.dataset(name, (self._size,))
        if dataset.dtype.kind in "iuf":
            return [str(value) for value in dataset[()].tolist()]
        return self._file.texts(name, self._size, self._budget)

    def _read_column(self, name: str) -> list[Any] | None:
        """Return the values of a column; None if it is of another kind."""
        path = f"{self._part}/{name}"
        found: Any = self._file.find(path)
        if isinstance(found, h5py.Group):
            return self._read_group(path, found)
        # Versions 0.7 of anndata store the categories of the codes elsewhere.
        categories = f"{self._part}/__categories/{name}"
        dataset = self._file.dataset(path, (self._size,))
        if dataset.dtype.kind in "iu" and self._file.find(categories) is not None:
            return self._read_categorical(path, categories)
        return self._read_plain(path, dataset)

    def _read_plain(self, path: str, dataset: Any) -> list[Any] | None:
        kind = dataset.dtype.kind
        if kind in "OS":
            return self._file.texts(path, dataset.shape[0], self._budget)
        if kind == "b":
            return [str(value) for value in dataset[()].tolist()]
        if kind not in "iuf":
            return None
        self._budget.take(path, dataset.shape[0] * (_FLOAT_BYTES - REFERENCE_BYTES))
        return dataset[()].astype(float).tolist()

    def _read_group(self, path: str, group: Any) -> list[Any] | None:
        """Return the values of a categorical or masked array; None if it is of another kind."""
        kind = _text(self._file.attribute(group, "encoding-type"))
        if kind == "categorical":
            return self._read_categorical(f"{path}/codes", f"{path}/categories")
        if kind not in ("nullable-integer", "nullable-boolean", "nullable-string-array"):
            return None
        dataset = self._file.dataset(f"{path}/values", (self._size,))
        values = self._read_plain(f"{path}/values", dataset)
        mask = self._file.numbers(f"{path}/mask", (self._size,), "biu")
        if values is None:
            return None
        empty = float("nan") if kind == "nullable-integer" else ""
        return [empty if masked else value for value, masked in zip(values, mask, strict=True)]

    def _read_categorical(self, codes_path: str, path: str) -> list[Any] | None:
        codes = self._file.numbers(codes_path, (self._size,), "iu").astype(np.int64)
        if isinstance(self._file.find(path), h5py.Group):  # with a mask, which is not needed
            path = f"{path}/values"
        categories = self._read_plain(path, self._file.dataset(path, (None,)))
        if categories is None:
            return None
        if codes.size and not -1 <= codes.min() <= codes.max() < len(categories):
            last = len(categories) - 1
            raise TableError(f"{quote(codes_path)} is damaged: a code is not within -1 to {last}")
        is_number = bool(categories) and isinstance(categories[0], float)
        categories.append(float("nan") if is_number else "")  # for the code -1
        return [categories[code] for code in codes]


def _text(value: Any) -> str:
    """Return an attribute as text; an empty one if it is something else."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str) else ""


# Checked parts of an HDF5 file.


class _CheckedFile:
    """The groups and datasets of an open HDF5 file, read only if they are plain and bounded.

    `n_bytes` is the size of the file, and `bound` that of the largest dataset that is read.
    """

    def __init__(self, file: h5py.File, n_bytes: int):
        self._file, self._n_bytes = file, n_bytes
        self.bound = 0

    def find(self, name: str, n_links: int = _MAX_LINKS) -> h5py.Group | h5py.Dataset | None:
        """Return the group or dataset of that path, or None."""
        found: Any = self._file
        passed = ""
        for part in filter(None, name.split("/")):
            if not isinstance(found, h5py.Group) or part not in found.id:
                return None
            passed = posixpath.join(passed, part)
            try:
                link = found.get(part, getlink=True)
            except TypeError as error:
                raise TableError(f"{quote(passed)} is an unknown kind of link") from error
            if isinstance(link, h5py.ExternalLink):
                raise TableError(f"{quote(passed)} lies in another file, which is not opened")
            if isinstance(link, h5py.SoftLink):
                found = self._follow(passed, link.path, n_links)
            else:
                found = found[part]
            if not isinstance(found, (h5py.Group, h5py.Dataset)):
                raise TableError(f"{quote(passed)} is neither a group nor a dataset")
        return found

    def _follow(self, name: str, target: str, n_links: int) -> Any:
        if n_links == 0:
            raise TableError(f"{quote(name)} is a link that leads in a circle")
        target = posixpath.normpath(posixpath.join("/", posixpath.dirname(name), target))
        if target.strip("/").split("/")[0] not in _PARTS:
            raise TableError(
                f"{quote(name)} is a link to {quote(target)}, which is not among "
                f"{', '.join(_PARTS)}"
            )
        found = self.find(target, n_links - 1)
        if found is None:
            raise TableError(f"{quote(name)} is a link to {quote(target)}, which does not exist")
        return found

    def attribute(self, found: h5py.Group | h5py.Dataset, name: str) -> Any:
        """Return an attribute; None if there is none, or one that may fill the memory."""
        if name not in found.attrs:
            return None
        declared = found.attrs.get_id(name)
        is_text = h5py.check_string_dtype(declared.dtype) is not None
        if declared.dtype.hasobject and not is_text:
            raise TableError(f"the attribute {name!r} of {quote(found.name)} is a reference")
        # Each text of variable length can be as long as the file.
        longest = self._n_bytes if declared.dtype.hasobject else declared.dtype.itemsize
        size = math.prod(declared.shape)
        return None if size > 1 and size * longest > _MAX_ATTRIBUTE else found.attrs[name]

    def dataset(self, name: str, shape: tuple[int | None, ...]) -> h5py.Dataset:
        """Return the dataset of that path, checked; None in `shape` stands for any size."""
        found = self.find(name)
        if not isinstance(found, h5py.Dataset):
            raise TableError(f"{quote(name)} is missing, or no array")
        _check_dataset(found, name, self.bound)
        if len(found.shape) != len(shape) or any(
            wanted not in (None, size) for wanted, size in zip(shape, found.shape, strict=True)
        ):
            wanted = " x ".join("any" if size is None else str(size) for size in shape)
            raise TableError(f"{quote(name)} has shape {found.shape}, and should have {wanted}")
        return found

    def numbers(self, name: str, shape: tuple[int | None, ...], kinds: str) -> NDArray[Any]:
        """Return all of a dataset of numbers of some kinds."""
        found = self.dataset(name, shape)
        if found.dtype.kind not in kinds:
            raise TableError(f"{quote(name)} holds {quote(found.dtype)}, not such numbers")
        return found[()]

    def texts(self, name: str, size: int | None, budget: MemoryBudget) -> list[str]:
        """Return all of a dataset of strings."""
        found = self.dataset(name, (size,))
        if h5py.check_string_dtype(found.dtype) is None:
            raise TableError(f"{quote(name)} holds {quote(found.dtype)}, not text")
        n_texts = found.shape[0]
        check_bytes(name, n_texts * REFERENCE_BYTES, budget.left)
        # Strings of variable length do not declare it: any may be as long as the file.
        longest = self._n_bytes if found.dtype.hasobject else found.dtype.itemsize
        block = int(np.clip(self.bound // max(longest, 1), 1, _MAX_STRINGS))
        reader = found.asstr(errors="replace")
        texts: list[str] = []
        for start in range(0, n_texts, block):
            some = [str(text) for text in reader[start : start + block]]
            budget.take_texts(name, some)
            texts += some
        return texts


def _check_dataset(dataset: h5py.Dataset, name: str, bound: int) -> None:
    """Raise an error for data that lie elsewhere, are references, or take more than the bound."""
    if dataset.is_virtual:
        raise TableError(f"{quote(name)} is a virtual dataset, whose data lie elsewhere")
    if dataset.external:
        raise TableError(f"{quote(name)} lies in another file, which is not opened")
    if dataset.shape is None:
        raise TableError(f"{quote(name)} is empty")
    dtype = dataset.dtype
    is_text = h5py.check_string_dtype(dtype) is not None
    if not is_text and (dtype.hasobject or dtype.kind not in "biufc"):
        kind = "references" if h5py.check_ref_dtype(dtype) is not None else dtype
        raise TableError(f"{quote(name)} holds {quote(kind)}, which are not read")
    check_bytes(name, math.prod(dataset.shape) * dtype.itemsize, bound)
    if dataset.chunks is not None:
        _check_chunks(dataset, name, bound)


def _check_chunks(dataset: h5py.Dataset, name: str, bound: int) -> None:
    """Raise an error for chunks larger than the bound, as declared or once uncompressed."""
    size = math.prod(dataset.chunks) * dataset.dtype.itemsize
    check_bytes(f"a chunk of {name}", size, bound)
    properties = dataset.id.get_create_plist()
    filters = [properties.get_filter(i) for i in range(properties.get_nfilters())]
    codes = [code for code, *_ in filters]
    for code, *_, title in filters:
        if code not in _FILTERS or codes.count(code) > 1:
            raise TableError(
                f"{quote(name)} is compressed with filter {code} ({quote(title)}), which is not "
                "read: write the file with compression='gzip'"
            )
    if not codes:
        return
    n_checksum = 4 if h5py.h5z.FILTER_FLETCHER32 in codes else 0
    for chunk in _stored_chunks(dataset):
        check_bytes(f"a chunk of {name}", chunk.size, 2 * size + 4096)
        if _GZIP in codes and chunk.size * _MAX_INFLATION > bound:
            _, content = dataset.id.read_direct_chunk(chunk.chunk_offset)
            _check_inflated(content[: len(content) - n_checksum], name, size)


def _stored_chunks(dataset: h5py.Dataset) -> list[Any]:
    if not hasattr(dataset.id, "chunk_iter"):
        return [dataset.id.get_chunk_info(i) for i in range(dataset.id.get_num_chunks())]
    chunks: list[Any] = []
    dataset.id.chunk_iter(chunks.append)
    return chunks


def _check_inflated(content: bytes, name: str, size: int) -> None:
    """Raise an error for a chunk that holds more than it declares, without inflating all of it."""
    try:
        inflated = len(zlib.decompressobj().decompress(content, size + 1))
    except zlib.error:
        return  # not compressed, which a chunk may be, or damaged, which its reader will raise
    if inflated > size:
        raise TableError(
            f"a chunk of {quote(name)} holds more than the {size:,} bytes that it declares"
        )
