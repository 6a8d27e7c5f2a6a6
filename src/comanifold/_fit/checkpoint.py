"""Checkpoints: folders with the finished parts of a fit, from which an interrupted fit resumes.

A checkpoint belongs to one fit. Its manifest has the fingerprint of that fit: all that the result
depends on, which is the data, the settings, the code of the penalty and the versions.
"""

import hashlib
import json
import numbers
import os
import platform
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from types import CodeType, ModuleType
from typing import IO, TYPE_CHECKING, Any

import numba
import numpy as np
import scipy
from numpy.typing import NDArray

from .. import __version__
from .._io import OwnedFolder, check_folder, is_regular
from .._io.npz import open_archive
from ..solvers import Certificate, Scale

if TYPE_CHECKING:
    from .settings import Settings

Array = NDArray[np.float64]

_KIND = "checkpoint"
_FORMAT = "5"

# Settings that have an effect on the distances only through the number of candidates.
_ONLY_FOR_CANDIDATES = ("distances", "bandwidth", "embedding_neighbors")

# Objects outside a penalty that its code may refer to, and that count by their values.
_CONSTANTS = (str, bytes, type(None), numbers.Number, tuple, list, set, frozenset, dict, np.ndarray)

_N_DIGEST = hashlib.sha256().digest_size
_CHUNK = 1 << 20


class Checkpoint:
    """One file for each finished part of a fit.

    A file contains the fingerprint of its fit and its place on the surface, and ends with a
    checksum. A file that is damaged, or of another fit or place, counts as missing.

    Parameters
    ----------
    folder : OwnedFolder
        Its description is the fingerprint of the fit.
    """

    def __init__(self, folder: OwnedFolder):
        self._folder = folder
        description = json.dumps(folder.description, sort_keys=True)
        self._fingerprint = hashlib.sha256(description.encode()).hexdigest()

    def has(self, place: str) -> bool:
        """Whether this fit has saved the part of a place, and the file is intact."""
        path = self._path(place)
        if not is_regular(path):  # opening a pipe would block
            return False
        try:
            with open(path, "rb") as file:
                size = os.fstat(file.fileno()).st_size - _N_DIGEST
                if size <= 0 or _digest(file, size) != file.read():
                    return False
            with open_archive(path) as archive:
                found = json.loads(archive.read("identity").tobytes())
        except (OSError, ValueError, KeyError, RecursionError):
            return False
        return found == self._identity(place)

    def load(self, place: str) -> tuple[list[Scale], dict[str, Array]]:
        """Return the scales and arrays that were saved for a place."""
        path = self._path(place)
        try:
            with open_archive(path) as archive:
                if archive.is_compressed:
                    raise ValueError("it is compressed, which no part is")
                arrays = {key: archive.read(key) for key in archive.names}
            if json.loads(arrays.pop("identity").tobytes()) != self._identity(place):
                raise ValueError("it belongs to another fit or to another place")
            scales = [
                Scale(**{**record, "certificate": Certificate(**record["certificate"])})
                for record in json.loads(arrays.pop("scales").tobytes())
            ]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ValueError(
                f"{path} was not written by this fit ({error}): delete it to solve it again"
            ) from error
        return scales, arrays

    def save(self, place: str, scales: list[Scale], arrays: dict[str, Array]) -> None:
        """Save the scales and arrays of a place."""
        records = [asdict(scale) for scale in scales]
        with self._folder.write(self._name(place), by_name=True) as part:
            np.savez(
                part, identity=_as_bytes(self._identity(place)), scales=_as_bytes(records), **arrays
            )
            with open(part, "r+b") as file:
                file.write(_digest(file, os.fstat(file.fileno()).st_size))

    def _identity(self, place: str) -> dict[str, str]:
        return {"fingerprint": self._fingerprint, "place": place}

    def _name(self, place: str) -> str:
        # With the token, so that foreign files do not have the same name.
        return f"{place}.{self._folder.token[:8]}.npz"

    def _path(self, place: str) -> Path:
        return self._folder.path / self._name(place)


@contextmanager
def open_checkpoint(
    directory: str | os.PathLike | None, X: Array, settings: "Settings"
) -> Iterator[Checkpoint | None]:
    """Yield the checkpoint of this fit in a directory; None if no directory is given.

    ValueError if the directory has the checkpoint of another fit.
    """
    if directory is None:
        yield None
        return
    if not isinstance(directory, (str, os.PathLike)):
        raise ValueError(f"checkpoint must be a directory, got {directory!r:.60}")
    check_folder(Path(directory), kind=_KIND, overwrite=True)
    expected = fingerprint(X, settings)
    with OwnedFolder(directory, _KIND, expected) as folder:
        _refuse_another_fit(str(directory), folder.description, expected)
        try:
            yield Checkpoint(folder)
        except (KeyboardInterrupt, OSError) as error:
            error.add_note(
                f"Finished parts are saved in {str(directory)!r}: run the same fit again to resume."
            )
            raise


def _refuse_another_fit(directory: str, found: dict[str, Any], expected: dict[str, str]) -> None:
    """Raise ValueError if two fingerprints differ."""
    different = [
        f"{key} was {found.get(key)}, is {expected.get(key)}"
        for key in {**found, **expected}
        if found.get(key) != expected.get(key)
    ]
    if different:
        raise ValueError(
            f"checkpoint {directory!r} belongs to another fit: {'; '.join(different)}. Use "
            "another directory, or delete this one"
        )


def _as_bytes(content: Any) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(content).encode(), dtype=np.uint8)


def _digest(file: IO[bytes], size: int) -> bytes:
    """Return the checksum of the next `size` bytes."""
    digest = hashlib.sha256()
    for begin in range(0, size, _CHUNK):
        digest.update(file.read(min(_CHUNK, size - begin)))
    return digest.digest()


def fingerprint(X: Array, settings: "Settings") -> dict[str, str]:
    """Return all that the result of a fit to X depends on, as text by name."""
    data = hashlib.sha256(str(X.shape).encode() + np.ascontiguousarray(X).tobytes())
    observed = ~np.isnan(X)
    n_rows, n_columns = (int(observed.any(axis=axis).sum()) for axis in (1, 0))
    values = {
        field.name: getattr(settings, field.name)
        for field in fields(settings)
        if field.name not in _ONLY_FOR_CANDIDATES
    }
    values["n_candidates"] = settings.n_candidates((n_rows, n_columns))
    return {
        "format": _FORMAT,
        "data (sha256)": data.hexdigest(),
        **{name: "auto" if value is None else _canonical(value) for name, value in values.items()},
        "comanifold": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
        "python": ".".join(platform.python_version_tuple()[:2]),
    }


def _canonical(value: Any) -> str:
    """Return a text that is the same for equal values in every process."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_canonical, value))}]"
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(map(_canonical, value)))}}}"
    if isinstance(value, dict):
        items = (f"{key}: {_canonical(value[key])}" for key in sorted(value, key=str))
        return f"{{{', '.join(items)}}}"
    if isinstance(value, np.ndarray):
        return f"array {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if hasattr(value, "derivative"):  # a penalty
        kind = type(value)
        return f"{kind.__name__}({_canonical(vars(value))}), code {_code_digest(kind)[:16]}"
    if callable(value):
        return f"code {_code_digest(value)[:16]}"
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def _code_digest(function: Callable | type) -> str:
    """Return a checksum of the code of a function or class, and of the functions it calls.

    Of functions of other modules only the names count.
    """
    digest = hashlib.sha256()
    seen: set[int] = set()

    def add(value: Any, home: str) -> None:
        value = getattr(value, "py_func", value)  # of a compiled function
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        if isinstance(value, property):
            for part in (value.fget, value.fset):
                add(part, home)
        elif isinstance(value, CodeType):
            add_code(value, {}, home)
        elif hasattr(value, "__code__"):
            if id(value) in seen:
                return
            seen.add(id(value))
            add((value.__defaults__, value.__kwdefaults__), home)
            cells = [cell.cell_contents for cell in value.__closure__ or ()]
            for inner in cells:
                add(inner, home)
            add_code(value.__code__, value.__globals__, home)
        elif isinstance(value, type):
            if id(value) in seen or value is object:
                return
            seen.add(id(value))
            for kind in value.__mro__[:-1]:
                for name, attribute in sorted(vars(kind).items()):
                    if hasattr(_unwrapped(attribute), "__code__") or not name.startswith("__"):
                        digest.update(name.encode())
                        add(attribute, kind.__module__)
        elif isinstance(value, ModuleType):
            digest.update(value.__name__.encode())
        elif isinstance(value, _CONSTANTS):
            digest.update(_canonical(value).encode())

    def add_code(code: CodeType, known: dict[str, Any], home: str) -> None:
        digest.update(code.co_code)
        for constant in code.co_consts:
            add(constant, home)
        for name in code.co_names:
            digest.update(name.encode())
            value = known.get(name)
            if value is not None and getattr(value, "__module__", home) == home:
                add(value, home)

    add(function, getattr(function, "__module__", ""))
    return digest.hexdigest()


def _unwrapped(attribute: Any) -> Any:
    if isinstance(attribute, property):
        return attribute.fget
    return getattr(attribute, "__func__", attribute)
