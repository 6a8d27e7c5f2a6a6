"""Reading NPY and NPZ files without pickle, and only if their size is the declared one."""

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

# Bytes of the longest header of an array that is read.
_MAX_HEADER = 10_000

# Errors of the readers of archives for damage, unknown compression methods and passwords.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    RuntimeError,
)


class Archive:
    """The arrays of an NPZ file by name, each read when it is requested."""

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
        """Return shape and dtype from the header of an array, if its size agrees."""
        member = self._members[name]
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            # NumPy writes no others, and these can expand to any size.
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
    """Yield the arrays of an NPZ file; ValueError if it is damaged."""
    try:
        with zipfile.ZipFile(path) as file:
            yield Archive(file)
    except _DAMAGE as error:
        raise ValueError(f"the file is damaged or not an NPZ file ({error})") from error
    except OSError as error:
        if error.errno != errno.EINVAL:  # an impossible position in the file
            raise
        raise ValueError("the file is damaged: its directory points outside of it") from error


@contextmanager
def old_headers() -> Iterator[None]:
    """Suppress NumPy's warning about headers that Python 2 wrote."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Reading `.npy` or `.npz` file", UserWarning)
        yield


def read_header(content: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return shape and dtype from the header of an NPY file."""
    version = npy.read_magic(content)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    try:
        with old_headers():
            shape, _, dtype = read(content, max_header_size=_MAX_HEADER)
    except (tokenize.TokenError, MemoryError, RecursionError) as error:
        raise ValueError(f"its header is damaged ({error})") from error
    if dtype.hasobject:
        raise ValueError("it contains Python objects, which are never loaded")
    return shape, dtype


def check_length(shape: tuple[int, ...], dtype: np.dtype[Any], n_bytes: int) -> None:
    """Raise ValueError unless the declared size of an array is that of its content."""
    declared = math.prod(shape) * dtype.itemsize
    if declared != n_bytes or any(size < 0 for size in shape):
        raise ValueError(
            f"its header declares {' x '.join(map(str, shape))} numbers, {declared} bytes, but "
            f"{n_bytes} bytes follow: it is damaged or cut short"
        )
