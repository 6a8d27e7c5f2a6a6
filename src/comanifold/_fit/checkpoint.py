"""A folder in which a long fit keeps what it has finished, so that it can go on after a stop."""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._io import OwnedFolder, check_folder, is_regular
from .._io.npz import open_archive
from ..solvers import Certificate, Scale
from .fingerprint import describe_fit

if TYPE_CHECKING:
    from .passes import Settings

Array = NDArray[np.float64]

_KIND = "checkpoint"

_N_DIGEST = hashlib.sha256().digest_size
_N_AT_ONCE = 1 << 20


class Checkpoint:
    """One file for each finished part of a fit.

    A part holds the fingerprint of its fit and its place on the surface, and ends with a checksum
    of all of it. One that is damaged, or belongs elsewhere, counts as missing.

    Parameters
    ----------
    folder : OwnedFolder
        Its description is that of the fit: data, settings and versions.
    """

    def __init__(self, folder: OwnedFolder):
        self._folder = folder
        run = json.dumps(folder.description, sort_keys=True)
        self._fingerprint = hashlib.sha256(run.encode()).hexdigest()

    def has(self, place: str) -> bool:
        """Whether the part of a place was saved by this fit, and is intact."""
        path = self._path(place)
        if not is_regular(path):  # a pipe would have us wait
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
                    raise ValueError("it is compressed, as no part is")
                arrays = {key: archive.read(key) for key in archive.names}
            if json.loads(arrays.pop("identity").tobytes()) != self._identity(place):
                raise ValueError("it belongs to another fit or to another place")
            scales = [
                Scale(**{**record, "certificate": Certificate(**record["certificate"])})
                for record in json.loads(arrays.pop("scales").tobytes())
            ]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ValueError(
                f"{path} was not written by this fit ({error}): delete it, to solve it again"
            ) from error
        return scales, arrays

    def save(self, place: str, scales: list[Scale], arrays: dict[str, Array]) -> None:
        """Keep the scales and arrays of a place."""
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
        # The token keeps it apart from files of others.
        return f"{place}.{self._folder.token[:8]}.npz"

    def _path(self, place: str) -> Path:
        return self._folder.path / self._name(place)


@contextmanager
def open_checkpoint(
    directory: str | os.PathLike | None, X: Array, settings: "Settings", *, keep_scales: bool
) -> Iterator[Checkpoint | None]:
    """Yield the checkpoint of this very fit in a directory; None if no directory is given."""
    if directory is None:
        yield None
        return
    if not isinstance(directory, (str, os.PathLike)):
        raise ValueError(f"checkpoint must be a directory, got {directory!r:.60}")
    check_folder(Path(directory), kind=_KIND, overwrite=True)
    run = describe_fit(X, settings, keep_scales=keep_scales)
    with OwnedFolder(directory, _KIND, run) as folder:
        _refuse_another_fit(str(directory), folder.description, run)
        try:
            yield Checkpoint(folder)
        except (KeyboardInterrupt, OSError) as error:
            where = str(directory)
            error.add_note(f"What is done is kept in {where!r}: the same fit goes on from there.")
            raise


def _refuse_another_fit(directory: str, found: dict[str, Any], run: dict[str, str]) -> None:
    different = [
        f"{key} was {found.get(key)}, is {run.get(key)}"
        for key in {**found, **run}
        if found.get(key) != run.get(key)
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
    for begin in range(0, size, _N_AT_ONCE):
        digest.update(file.read(min(_N_AT_ONCE, size - begin)))
    return digest.digest()
