"""Parts of an HDF5 file, read only after what they declare has been looked at.

An HDF5 file can point into other files, at itself in circles, and declare or compress any amount
of data. What is not plain data of a bounded size in this very file is refused by name.
"""

import math
import os
import posixpath
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ._memory import REFERENCE_BYTES, TextBudget, check_bytes
from ._table import TableError, shortened

# Filters whose output is bounded: gzip, shuffle, Fletcher's checksum and LZF.
_GZIP = h5py.h5z.FILTER_DEFLATE
_FILTERS = (_GZIP, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32, 32000)

# No more than so many bytes come out of one byte of gzip.
_MOST_INFLATED = 1032

# Soft links that follow each other.
_MOST_HOPS = 8

# Bytes of an attribute, and strings read at one time.
_LONGEST_ATTRIBUTE = 1 << 26
_MOST_STRINGS = 1 << 16


class CheckedFile:
    """The groups and datasets of an open HDF5 file.

    Parameters
    ----------
    file : h5py.File
    path : path
        Where the file is.
    parts : sequence of str
        Names at the top of the file that may be read; soft links must stay among them.
    """

    def __init__(self, file: h5py.File, path: Path, parts: tuple[str, ...]):
        self._file, self._parts = file, parts
        self._n_bytes = os.path.getsize(path)
        self.bound = 0

    def find(self, name: str) -> h5py.Group | h5py.Dataset | None:
        """The group or dataset of that path; None if there is none."""
        return self._find(name, _MOST_HOPS)

    def _find(self, name: str, n_hops: int) -> h5py.Group | h5py.Dataset | None:
        found: Any = self._file
        passed = ""
        for part in filter(None, name.split("/")):
            if not isinstance(found, h5py.Group) or part not in found.id:
                return None
            passed = posixpath.join(passed, part)
            try:
                link = found.get(part, getlink=True)
            except TypeError as error:
                raise TableError(f"{shortened(passed)} is an unknown kind of link") from error
            if isinstance(link, h5py.ExternalLink):
                raise TableError(f"{shortened(passed)} lies in another file, which is not opened")
            if isinstance(link, h5py.SoftLink):
                found = self._follow(passed, link.path, n_hops)
            else:
                found = found[part]
            if not isinstance(found, (h5py.Group, h5py.Dataset)):
                raise TableError(f"{shortened(passed)} is neither a group nor a dataset")
        return found

    def _follow(self, name: str, target: str, n_hops: int) -> Any:
        if n_hops == 0:
            raise TableError(f"{shortened(name)} is a link that leads in a circle")
        target = posixpath.normpath(posixpath.join("/", posixpath.dirname(name), target))
        if target.strip("/").split("/")[0] not in self._parts:
            raise TableError(
                f"{shortened(name)} is a link to {shortened(target)}, which is not among "
                f"{', '.join(self._parts)}"
            )
        found = self._find(target, n_hops - 1)
        if found is None:
            raise TableError(f"{shortened(name)} is a link to {shortened(target)}: nothing there")
        return found

    def attribute(self, found: h5py.Group | h5py.Dataset, name: str) -> Any:
        """The value of an attribute; None if there is none, or one that may fill the memory."""
        if name not in found.attrs:
            return None
        declared = found.attrs.get_id(name)
        is_text = h5py.check_string_dtype(declared.dtype) is not None
        if declared.dtype.hasobject and not is_text:
            raise TableError(f"the attribute {name!r} of {shortened(found.name)} is a reference")
        # Each text of variable length can be as long as the file.
        longest = self._n_bytes if declared.dtype.hasobject else declared.dtype.itemsize
        size = math.prod(declared.shape)
        return None if size > 1 and size * longest > _LONGEST_ATTRIBUTE else found.attrs[name]

    def dataset(self, name: str, shape: tuple[int | None, ...]) -> h5py.Dataset:
        """The dataset of that path, plain data of that shape (None for any size), checked."""
        found = self.find(name)
        if not isinstance(found, h5py.Dataset):
            raise TableError(f"{shortened(name)} is not there, or no array")
        check_plain(found, name, self.bound)
        if len(found.shape) != len(shape) or any(
            wanted not in (None, size) for wanted, size in zip(shape, found.shape, strict=True)
        ):
            wanted = " x ".join("any" if size is None else str(size) for size in shape)
            raise TableError(f"{shortened(name)} has shape {found.shape}, and should have {wanted}")
        return found

    def numbers(self, name: str, shape: tuple[int | None, ...], kinds: str) -> NDArray[Any]:
        """All of a dataset of numbers."""
        found = self.dataset(name, shape)
        if found.dtype.kind not in kinds:
            raise TableError(f"{shortened(name)} holds {shortened(found.dtype)}, not such numbers")
        return found[()]

    def texts(self, name: str, size: int | None, budget: TextBudget) -> list[str]:
        """All of a dataset of strings."""
        found = self.dataset(name, (size,))
        if h5py.check_string_dtype(found.dtype) is None:
            raise TableError(f"{shortened(name)} holds {shortened(found.dtype)}, not text")
        n_texts = found.shape[0]
        check_bytes(name, n_texts * REFERENCE_BYTES, budget.left)
        # Strings of variable length say nowhere how long they are: any may be all of the file.
        longest = self._n_bytes if found.dtype.hasobject else found.dtype.itemsize
        block = int(np.clip(self.bound // max(longest, 1), 1, _MOST_STRINGS))
        reader = found.asstr(errors="replace")
        texts: list[str] = []
        for start in range(0, n_texts, block):
            some = [str(text) for text in reader[start : start + block]]
            budget.take_texts(name, some)
            texts += some
        return texts


def check_plain(dataset: h5py.Dataset, name: str, bound: int) -> None:
    """Refuse data that lie elsewhere, that point elsewhere, or that take more than the bound."""
    if dataset.is_virtual:
        raise TableError(f"{shortened(name)} is a virtual dataset, whose data lie elsewhere")
    if dataset.external:
        raise TableError(f"{shortened(name)} lies in another file, which is not opened")
    if dataset.shape is None:
        raise TableError(f"{shortened(name)} is empty")
    dtype = dataset.dtype
    is_text = h5py.check_string_dtype(dtype) is not None
    if not is_text and (dtype.hasobject or dtype.kind not in "biufc"):
        kind = "references" if h5py.check_ref_dtype(dtype) is not None else dtype
        raise TableError(f"{shortened(name)} holds {shortened(kind)}, which are not read")
    check_bytes(name, math.prod(dataset.shape) * dtype.itemsize, bound)
    if dataset.chunks is not None:
        _check_chunks(dataset, name, bound)


def _check_chunks(dataset: h5py.Dataset, name: str, bound: int) -> None:
    """Refuse chunks larger than the bound, as declared or as they are once uncompressed."""
    size = math.prod(dataset.chunks) * dataset.dtype.itemsize
    check_bytes(f"a chunk of {name}", size, bound)
    properties = dataset.id.get_create_plist()
    filters = [properties.get_filter(i) for i in range(properties.get_nfilters())]
    codes = [code for code, *_ in filters]
    for code, *_, title in filters:
        if code not in _FILTERS or codes.count(code) > 1:
            raise TableError(
                f"{shortened(name)} is compressed with filter {code} ({shortened(title)}), which "
                "is not read: write the file with compression='gzip'"
            )
    if not codes:
        return
    has_checksum = h5py.h5z.FILTER_FLETCHER32 in codes
    for chunk in _stored_chunks(dataset):
        check_bytes(f"a chunk of {name}", chunk.size, 2 * size + 4096)
        if _GZIP in codes and chunk.size * _MOST_INFLATED > bound:
            _, content = dataset.id.read_direct_chunk(chunk.chunk_offset)
            _check_inflated(content[: -4 if has_checksum else None], name, size)


def _stored_chunks(dataset: h5py.Dataset) -> Iterator[Any]:
    chunks: list[Any] = []
    if hasattr(dataset.id, "chunk_iter"):
        dataset.id.chunk_iter(chunks.append)
    else:
        chunks += [dataset.id.get_chunk_info(i) for i in range(dataset.id.get_num_chunks())]
    yield from chunks


def _check_inflated(content: bytes, name: str, size: int) -> None:
    """Refuse a chunk that holds more than it declares, without inflating all of it."""
    inflater = zlib.decompressobj()
    try:
        inflated = len(inflater.decompress(content, size + 1))
    except zlib.error:
        return  # not compressed, which a chunk may be, or damaged, which its reader will say
    if inflated > size:
        raise TableError(f"a chunk of {shortened(name)} holds more than the {size:,} bytes it says")
