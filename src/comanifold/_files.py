"""Files that are whole or not there, and directories that one process uses at a time."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

_PART = ".part-"


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Another name to write to; when that has gone well, the file appears under its own.

    Whatever happens, also a full disk or a kill, a file of that name is either the old one or
    the new one, complete.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=_PART, suffix=path.suffix)
    os.close(handle)
    part = Path(name)
    try:
        yield part
        part.chmod(0o666 & ~_umask())  # temporary files are for their owner alone
        with open(part, "rb") as file:
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        told = f"{path} could not be written, and is as it was: {error.strerror or error}"
        raise (OSError(told) if error.errno is None else OSError(error.errno, told)) from error
    finally:
        part.unlink(missing_ok=True)


def _umask() -> int:
    # It can only be read by setting it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


@contextmanager
def sole_use(directory: Path) -> Iterator[None]:
    """Keep other processes out of a directory, and clear away what a killed one left half done.

    The system lets go of the lock when the process ends, however it ends.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with open(directory / ".lock", "a+") as lock:
        if not _acquire(lock):
            raise RuntimeError(
                f"{str(directory)!r} is in use by another run: wait for it to end, or use another "
                "directory"
            )
        for pattern in (f"{_PART}*", f"*/{_PART}*"):
            for part in directory.glob(pattern):
                part.unlink(missing_ok=True)
        yield


def _acquire(lock: IO[str]) -> bool:
    try:
        import fcntl
    except ImportError:  # on Windows
        import msvcrt

        try:
            msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
