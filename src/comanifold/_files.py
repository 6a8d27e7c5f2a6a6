"""Files that are whole or not there, and directories that one process uses at a time."""

import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

_PART = ".part-"
_NEW = ".new-"
_LOCK = ".lock"


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
    with open(directory / _LOCK, "a+") as lock:
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


@contextmanager
def whole_directory(path: Path, *, marker: str, overwrite: bool = False) -> Iterator[Path]:
    """Another directory to write to; when that has gone well, it appears under its own name.

    What is there already is kept until then, and replaced only if `overwrite` says so and it
    has a file of the name `marker`: any other directory is somebody's work.
    """
    refuse_taken(path, marker=marker, overwrite=overwrite)
    path.parent.mkdir(parents=True, exist_ok=True)
    _clear_unfinished(path)
    part = Path(tempfile.mkdtemp(dir=path.parent, prefix=_prefix(path)))
    try:
        with ExitStack() as in_use:
            with suppress(OSError):  # where files cannot be locked, what a kill leaves stays
                in_use.enter_context(sole_use(part))
            yield part
            for file in part.rglob("*"):
                if file.is_file():
                    with open(file, "rb") as written:
                        os.fsync(written.fileno())
        (part / _LOCK).unlink(missing_ok=True)
        os.chmod(part, 0o777 & ~_umask())
        refuse_taken(path, marker=marker, overwrite=overwrite)
        _swap(part, path)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _prefix(path: Path) -> str:
    return f"{_NEW}{path.name[:60]}-"


def _clear_unfinished(path: Path) -> None:
    """Clear away what processes that were killed had written of a directory."""
    for left in path.parent.glob(f"{glob.escape(_prefix(path))}*"):
        # A lock that nobody holds: its process is dead. Without one it may be what was replaced.
        with suppress(OSError, RuntimeError):
            if (left / _LOCK).is_file():
                with sole_use(left):
                    shutil.rmtree(left, ignore_errors=True)


def refuse_taken(path: Path, *, marker: str, overwrite: bool) -> None:
    """Refuse a directory that has something in it which is not to be replaced."""
    if path.exists() and not path.is_dir():
        raise FileExistsError(f"{path} is a file: name a directory")
    if not path.exists() or not any(path.iterdir()):
        return
    if not overwrite:
        raise FileExistsError(f"{path} is not empty: name another directory, or overwrite it")
    if not (path / marker).is_file():
        raise FileExistsError(
            f"{path} has no {marker} in it, so it holds something else, and is not replaced: "
            "name another directory"
        )


def _swap(part: Path, path: Path) -> None:
    if not path.exists() or not any(path.iterdir()):
        if path.exists():
            path.rmdir()
        os.rename(part, path)
        return
    old = Path(tempfile.mkdtemp(dir=path.parent, prefix=_NEW)) / "old"
    try:
        os.rename(path, old)
        try:
            os.rename(part, path)
        except BaseException:
            os.rename(old, path)
            raise
    finally:
        shutil.rmtree(old.parent, ignore_errors=True)
