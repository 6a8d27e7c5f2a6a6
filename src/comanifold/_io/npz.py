"""Arrays in files, read without pickle and only if they are as large as they say."""

import errno
import lzma
import math
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

# The longest header of an array that is looked at.
_LONGEST_HEADER = 10_000

# What the readers of archives stumble over: damage, and methods or passwords that nobody meant.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    RuntimeError,
)


class Archive:
    """The arrays of an NPZ file, by name; nothing is read before it is asked for."""

    def __init__(self, file: zipfile.ZipFile):
        self._file = file
        self._members = {
            member.filename.removesuffix(".npy"): member
            for member in file.infolist()
            if member.filename.endswith(".npy")
        }

    @property
    def names(self) -> list[str]:
        return list(self._members)

    @property
    def is_compressed(self) -> bool:
        stored = zipfile.ZIP_STORED
        return any(member.compress_type != stored for member in self._members.values())

    def shape_and_type(self, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """What the header of an array declares, if as much follows."""
        member = self._members[name]
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            # Nothing writes arrays so; what comes out of others can be of any size.
            raise ValueError("it is damaged, or compressed in another way than with deflate")
        with self._file.open(member) as content:
            shape, dtype = read_header(content)
            check_length(shape, dtype, member.file_size - content.tell())
        return shape, dtype

    def read(self, name: str) -> NDArray[Any]:
        self.shape_and_type(name)
        with self._file.open(self._members[name]) as content, old_headers():
            return npy.read_array(content, allow_pickle=False)


@contextmanager
def open_archive(path: Path | IO[bytes]) -> Iterator[Archive]:
    """The arrays of an NPZ file. What is wrong with it raises a ValueError."""
    try:
        with zipfile.ZipFile(path) as file:
            yield Archive(file)
    except _DAMAGE as error:
        raise ValueError(f"the file is damaged or no NPZ file ({error})") from error
    except OSError as error:
        if error.errno != errno.EINVAL:  # of a place in the file that cannot be
            raise
        raise ValueError("the file is damaged: its directory points outside of it") from error


@contextmanager
def old_headers() -> Iterator[None]:
    """Read headers that Python 2 wrote without a warning: users cannot do anything about them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Reading `.npy` or `.npz` file", UserWarning)
        yield


def read_header(content: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type that the header of an NPY file declares."""
    version = npy.read_magic(content)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    try:
        with old_headers():
            shape, _, dtype = read(content, max_header_size=_LONGEST_HEADER)
    except (tokenize.TokenError, MemoryError, RecursionError) as error:
        raise ValueError(f"its header is damaged ({error})") from error
    if dtype.hasobject:
        raise ValueError("it holds Python objects, and these are never loaded")
    return shape, dtype


def check_length(shape: tuple[int, ...], dtype: np.dtype[Any], n_bytes: int) -> None:
    """Refuse an array that says it is larger, or smaller, than what is there."""
    declared = math.prod(shape) * dtype.itemsize
    if declared != n_bytes or any(size < 0 for size in shape):
        raise ValueError(
            f"it says that it holds {' x '.join(map(str, shape))} numbers, {declared} bytes, and "
            f"has {n_bytes} bytes: it is damaged or cut short"
        )
