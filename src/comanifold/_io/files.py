"""Atomic writing of single files, and the temporary folders and locks for it.

Every file is written to a temporary folder in the file system of its target, and moved when it is
complete. The name of a temporary folder ends with a random token. A list in the folder repeats
the token and names each file before it is created. By this list, and by the lock on it, the next
process recognises what a killed process has left, and deletes that and nothing else.

Locks are on open files: the system releases them when their process ends, however it ends. They
are not those of `filelock`, whose `FileLock` leaves lock files in the folders of users, and whose
`lock_descriptor` locks the first byte, so that on Windows nobody else can read a manifest in use.
"""

import errno
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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


_PREFIX = ".comanifold-"
LIST = "files.txt"
_FORMAT = "comanifold temporary files"

# A line of the list: the files are complete and being moved to their targets.
_PUBLISHING = "* publishing"

# A trial write is split into files of this size, which every file system supports.
_TRIAL_BYTES = 1 << 30
_CHUNK = bytes(1 << 20)


def new_token() -> str:
    """Return a random token whose second half is a hash of the first: no other name has that."""
    return _complete_token(secrets.token_hex(8))


def _complete_token(half: str) -> str:
    return half + hashlib.sha256(f"comanifold {half}".encode()).hexdigest()[:16]


def is_temporary_name(name: str) -> bool:
    """Whether a name is that of a temporary folder of ours."""
    token = name.removeprefix(_PREFIX)
    return name.startswith(_PREFIX) and token == _complete_token(token[:16])


class TemporaryFolder:
    """A new folder inside `parent`, locked while in use and removed afterwards.

    Only files whose paths were requested with `file` are removed. The folder itself is kept if it
    contains anything else.

    Parameters
    ----------
    parent : path
        Must exist.
    """

    def __init__(self, parent: Path):
        self._names: dict[str, None] = {}  # in the order of the requests
        self._list: IO[bytes]
        # Before its list is locked, another process may clear it away.
        while not self._create(parent):
            pass

    def _create(self, parent: Path) -> bool:
        token = new_token()
        self.path = parent / f"{_PREFIX}{token}"
        os.mkdir(self.path)
        try:
            self._list = open(self.path / LIST, "xb", buffering=0)  # noqa: SIM115
        except FileNotFoundError:
            return False
        except OSError:
            os.rmdir(self.path)
            raise
        with suppress(OSError):  # without locks, what a killed process has left is not deleted
            try_lock(self._list)
        try:
            self._write(f"{_FORMAT} {token}")
        except OSError:
            self.remove()
            raise
        return is_file_at(self._list, self.path / LIST)

    def file(self, name: str) -> Path:
        """Return the path of a new file in the folder; `name` may contain folders."""
        *folders, _ = name.split("/")
        for depth in range(1, len(folders) + 1):
            folder = "/".join(folders[:depth]) + "/"
            if folder not in self._names:
                self._register(folder)
                os.mkdir(self.path / folder)
        if name not in self._names:
            self._register(name)
        return self.path / name

    def mark_publishing(self) -> None:
        """Mark the files as complete, so that they are not deleted after a kill."""
        self._write(_PUBLISHING)

    def keep(self, target: Path) -> None:
        """Rename the folder to `target`, where it belongs to the user and is never deleted."""
        self._list.close()
        (self.path / LIST).unlink()
        os.rename(self.path, target)
        self._names.clear()

    def remove(self) -> None:
        """Delete the requested files, and the folder if nothing else is in it."""
        self._list.close()
        _remove_listed(self.path, list(self._names))

    def close(self) -> None:
        """Unlock the folder without deleting anything."""
        self._list.close()

    def _register(self, name: str) -> None:
        self._write(name)
        self._names[name] = None

    def _write(self, line: str) -> None:
        # As JSON if it contains line breaks, or starts like JSON.
        if "\n" in line or line.startswith('"'):
            line = json.dumps(line)
        append(self._list, f"{line}\n".encode("utf-8", "surrogateescape"))

    def __enter__(self) -> "TemporaryFolder":
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self.remove()


@contextmanager
def atomic_file(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary path to write to; on success that file replaces the one at `path`.

    Whatever happens, a full disk or a kill included, the file at `path` is either the old or the
    new one, complete. A symbolic link is kept, and the file it points to is replaced.
    """
    path = Path(os.path.realpath(path))
    with _new_part(path) as part:
        yield part
        flush_to_disk(part)
        os.replace(part, path)


def write_with_backup(path: Path, write: Callable[[Path], None]) -> Path | None:
    """Write a file with `write(temporary_path)` and move it to `path`; return the backup's path.

    An existing file, or link, is kept as NAME.bak, or NAME.bak2 and so on.
    """
    with _new_part(path) as part:
        write(part)
        flush_to_disk(part)
        backup = _keep_backup(path) if os.path.lexists(path) else None
        os.replace(part, path)
    return backup


@contextmanager
def _new_part(path: Path) -> Iterator[Path]:
    """Yield the path of a new file in a temporary folder beside `path`."""
    with explain_errors(path):
        refuse_special(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        clear_leftovers(path.parent)
        with TemporaryFolder(path.parent) as temporary:
            yield temporary.file(f"new-{LIST}" if path.name == LIST else path.name)


@contextmanager
def explain_errors(path: Path) -> Iterator[None]:
    """Name the file that could not be written in errors of the system."""
    try:
        yield
    except OSError as error:
        if isinstance(error, FileExistsError) and error.errno is None:
            raise  # our own message
        reason = error.strerror or str(error)
        message = f"could not write {path}; any existing file is unchanged: {reason}"
        arguments = (message,) if error.errno is None else (error.errno, message)
        raise OSError(*arguments) from error


def flush_to_disk(path: Path) -> None:
    """Wait until a file has reached the disk."""
    # Opened for writing: Windows flushes no others.
    with open(path, "r+b") as file:
        os.fsync(file.fileno())


def append(file: IO[bytes], line: bytes) -> None:
    """Append a line to an unbuffered file, completely or not at all."""
    end = file.seek(0, os.SEEK_END)
    try:
        while line:
            line = line[file.write(line) :]
    except OSError:
        file.truncate(end)
        raise


def refuse_special(path: Path) -> None:
    """Raise FileExistsError if there is a device, a pipe or a socket at a path."""
    with suppress(FileNotFoundError):
        mode = os.stat(path).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise FileExistsError(
                f"{path} is a device, a pipe or a socket, which is not replaced: name a file"
            )


def _keep_backup(path: Path) -> Path:
    """Give a file an unused backup name, and return it."""
    number = 1
    while True:
        backup = path.with_name(f"{path.name}.bak{number if number > 1 else ''}")
        number += 1
        if os.path.lexists(backup):
            continue
        try:
            os.link(path, backup, follow_symlinks=False)
        except FileExistsError:
            continue
        except (OSError, NotImplementedError):  # file systems without hard links
            os.rename(path, backup)
        return backup


def move_to_new(part: Path, path: Path) -> None:
    """Move a complete file to `path`; FileExistsError if something is there."""
    try:
        os.link(part, path)
    except (FileExistsError, FileNotFoundError):
        raise
    except OSError:  # file systems without hard links
        if os.path.lexists(path):
            raise FileExistsError(f"{path} already exists") from None
        os.rename(part, path)


def check_space(folder: Path, n_bytes: int) -> None:
    """Raise OSError if `n_bytes` cannot be written to a folder now."""
    clear_leftovers(folder)
    with TemporaryFolder(folder) as temporary:
        try:
            for number, begin in enumerate(range(0, n_bytes, _TRIAL_BYTES)):
                size = min(_TRIAL_BYTES, n_bytes - begin)
                _allocate(temporary.file(f"trial-{number}"), size)
        except OSError as error:
            raise OSError(
                error.errno,
                f"{folder}: the results need about {n_bytes / 1e6:,.0f} MB, which cannot be "
                f"written there ({error.strerror}): free some space, or name another folder",
            ) from error


def _allocate(path: Path, size: int) -> None:
    with open(path, "xb", buffering=0) as file:
        if hasattr(os, "posix_fallocate"):
            try:
                os.posix_fallocate(file.fileno(), 0, size)
                return
            except OSError as error:
                if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
                    raise
        while size > 0:
            size -= file.write(_CHUNK[:size])


def clear_leftovers(parent: Path, *, published: bool = False) -> None:
    """Delete the temporary files that killed processes have left in a folder.

    Complete results that were being moved are kept, unless `published` says that all of these
    have been moved.
    """
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            with suppress(OSError):
                if is_temporary_name(entry.name) and entry.is_dir(follow_symlinks=False):
                    _clear_folder(parent / entry.name, published)


def _clear_folder(folder: Path, published: bool) -> None:
    path = folder / LIST
    if not is_regular(path):
        os.rmdir(folder)  # killed before the list was created; fails if anything is in it
        return
    with open(path, "r+b") as file:
        if not try_lock(file) or not is_file_at(file, path):
            return  # its process is running
        content = file.read()
    if not content and os.listdir(folder) == [LIST]:  # killed before the first line was written
        _remove_listed(folder, [])
    names = _listed_names(content, folder)
    if names is not None and (published or _PUBLISHING not in names):
        _remove_listed(folder, names)


def _listed_names(content: bytes, folder: Path) -> list[str] | None:
    """Return the names in the list of a temporary folder; None if it is not a valid list."""
    # A last line that was cut short by a kill names a file that was not created yet.
    header, *names = content.decode("utf-8", "surrogateescape").split("\n")[:-1] or [""]
    if folder.name != _PREFIX + header.removeprefix(f"{_FORMAT} "):
        return None
    try:
        return [json.loads(name) if name.startswith('"') else name for name in names]
    except ValueError:
        return None


def _remove_listed(folder: Path, names: list[str]) -> None:
    """Delete the named files and folders, the list, and the folder if it is then empty."""
    for name in reversed(names):
        remove_own(folder, name)
    with suppress(OSError):
        (folder / LIST).unlink()
    with suppress(OSError):
        os.rmdir(folder)


def remove_own(folder: Path, name: str) -> None:
    """Delete a file in a folder, or an empty folder if `name` ends with a slash.

    Links are neither followed nor deleted.
    """
    path = folder / name
    if not is_inside(folder, name):
        return
    with suppress(OSError):
        if name.endswith("/"):
            os.rmdir(path)
        elif is_regular(path):
            path.unlink()


def is_inside(folder: Path, name: str) -> bool:
    """Whether a name is a path inside a folder that does not pass through links."""
    parts = [part for part in name.split("/") if part]
    if not parts or any(part in (".", "..") or "\\" in part or ":" in part for part in parts):
        return False
    for depth in range(1, len(parts)):
        between = folder.joinpath(*parts[:depth])
        if os.path.lexists(between) and not _is_folder(between):
            return False
    return not (name.endswith("/") and not _is_folder(folder / name.rstrip("/")))


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def is_regular(path: Path) -> bool:
    """Whether there is a regular file at a path, and not a link to one."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False
