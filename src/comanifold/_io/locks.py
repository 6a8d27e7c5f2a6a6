"""Locks on open files, which the system releases when the process ends, however it ends."""

import os
from pathlib import Path
from typing import IO

# Bytes locked on Windows are out of bounds for other readers: this one is never written.
_LOCKED_BYTE = 1 << 40


def try_lock(file: IO[bytes]) -> bool:
    """Whether the file is now locked by us; False if another process has locked it.

    Raises
    ------
    OSError
        If the file system has no locks.
    """
    try:
        import fcntl
    except ImportError:  # on Windows
        return _try_lock_on_windows(file)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _try_lock_on_windows(file: IO[bytes]) -> bool:
    import msvcrt

    place = file.tell()
    file.seek(_LOCKED_BYTE)
    try:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    except PermissionError:
        return False
    finally:
        file.seek(place)
    return True


def is_file_at(file: IO[bytes], path: Path) -> bool:
    """Whether an open file is still the one at a path, and not one deleted since."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.lstat(path))
    except FileNotFoundError:
        return False
