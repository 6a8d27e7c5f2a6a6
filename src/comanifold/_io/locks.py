"""Locks on open files, which the system releases when their process ends, however it ends.

Not those of `filelock`: its `FileLock` leaves lock files in the folders of users, and its
`lock_descriptor` locks the first byte, so that on Windows nobody else can read a manifest in use.
"""

import os
from pathlib import Path
from typing import IO

# On Windows other processes cannot read a locked byte: this one is never written.
_LOCKED_BYTE = 1 << 40


def try_lock(file: IO[bytes]) -> bool:
    """Lock a file without waiting; return False if another process has locked it.

    Raises
    ------
    OSError
        If the file system does not support locks.
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

    position = file.tell()
    file.seek(_LOCKED_BYTE)
    try:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    except PermissionError:
        return False
    finally:
        file.seek(position)
    return True


def is_file_at(file: IO[bytes], path: Path) -> bool:
    """Whether an open file is still the one at a path, and was not deleted or replaced."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.lstat(path))
    except FileNotFoundError:
        return False
