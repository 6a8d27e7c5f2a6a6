"""A directory in which a long fit keeps what it has finished, so that it can go on after a stop."""

import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from ._arrays import open_archive
from ._files import whole_file
from .solvers import Certificate, Scale

Array = NDArray[np.float64]

_VERSION = 2

_N_DIGEST = hashlib.sha256().digest_size
_N_AT_ONCE = 1 << 20


class Checkpoint:
    """One file for every finished part of a fit, and one that says whose they are.

    Files are written under another name and renamed when complete, and end with a checksum. One
    that is damaged is as good as none.

    Parameters
    ----------
    directory : path
        Created if it does not exist.
    X : ndarray
        The data.
    parameters : dict of str
        What the result depends on. A directory of other data or parameters is refused.
    """

    def __init__(self, directory: str | os.PathLike, X: Array, parameters: dict[str, str]):
        self.directory = Path(directory)
        digest = hashlib.sha256(str(X.shape).encode() + np.ascontiguousarray(X).tobytes())
        run = {"version": str(_VERSION), "data (sha256)": digest.hexdigest(), **parameters}
        self.directory.mkdir(parents=True, exist_ok=True)
        description = self.directory / "run.json"
        if description.exists():
            self._refuse_others(description, run)
        else:
            with whole_file(description) as part:
                part.write_text(json.dumps(run, indent=2))

    def has(self, name: str) -> bool:
        """Whether something was saved under a name, and is intact."""
        try:
            with open(self._path(name), "rb") as file:
                size = os.fstat(file.fileno()).st_size - _N_DIGEST
                return size > 0 and _digest(file, size) == file.read()
        except OSError:
            return False

    def load(self, name: str) -> tuple[list[Scale], dict[str, Array]]:
        """The scales and arrays that were saved under a name."""
        path = self._path(name)
        try:
            with open_archive(path) as archive:
                if archive.is_compressed:
                    raise ValueError("it is compressed, as no part is")
                arrays = {key: archive.read(key) for key in archive.names}
            scales = [
                Scale(**{**record, "certificate": Certificate(**record["certificate"])})
                for record in json.loads(arrays.pop("scales").tobytes())
            ]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ValueError(
                f"{path} was not written by this fit ({error}): delete it, to solve it again"
            ) from error
        return scales, arrays

    def save(self, name: str, scales: list[Scale], arrays: dict[str, Array]) -> None:
        """Keep scales and arrays under a name."""
        records = json.dumps([asdict(scale) for scale in scales]).encode()
        with whole_file(self._path(name)) as part:
            np.savez(part, scales=np.frombuffer(records, dtype=np.uint8), **arrays)
            with open(part, "r+b") as file:
                file.write(_digest(file, os.fstat(file.fileno()).st_size))

    def _path(self, name: str) -> Path:
        return self.directory / f"{name}.npz"

    def _refuse_others(self, description: Path, run: dict[str, str]) -> None:
        try:
            found = dict(json.loads(description.read_text()))
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(
                f"{description} cannot be read ({error}): delete the directory to start anew"
            ) from error
        different = [
            f"{key} was {found.get(key)}, is {run.get(key)}"
            for key in {**found, **run}
            if found.get(key) != run.get(key)
        ]
        if different:
            raise ValueError(
                f"checkpoint {str(self.directory)!r} belongs to another fit: "
                f"{'; '.join(different)}. Use another directory, or delete this one"
            )


def _digest(file: IO[bytes], size: int) -> bytes:
    """The checksum of the next `size` bytes."""
    digest = hashlib.sha256()
    for begin in range(0, size, _N_AT_ONCE):
        digest.update(file.read(min(_N_AT_ONCE, size - begin)))
    return digest.digest()
