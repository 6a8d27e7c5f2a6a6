"""Folders with a manifest of the files that we wrote, so that no other file is changed or deleted.

The manifest is a hidden file of JSON lines to which lines are only appended. The first line has a
random token and the kind of the folder. Every other line names a file, with its checksum. A file
is ours if the manifest names it with its present checksum; a file that somebody else has changed
or created is neither replaced nor deleted.

Results of several files are first written to a temporary folder. When they are complete, one line
of the manifest announces which files will be moved and removed, the files are moved, and another
line says that this is done. If the process is killed in between, the next one that opens the
folder finds the announcement and completes it.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from .files import (
    LIST,
    TemporaryFolder,
    append,
    check_space,
    clear_leftovers,
    explain_errors,
    flush_to_disk,
    is_file_at,
    is_inside,
    is_regular,
    is_temporary_name,
    move_to_new,
    new_token,
    remove_own,
    try_lock,
)

MANIFEST = ".comanifold.json"
_FORMAT = "comanifold folder 1"

# Longer manifests are not ours.
_MAX_BYTES = 1 << 30


class ManifestError(ValueError):
    """A manifest that is damaged, not ours, or of a folder of another kind."""


class _Manifest:
    """The content of a manifest."""

    def __init__(self, content: bytes):
        # A kill can truncate the last line: what it announces has not been started then.
        *lines, _ = content.split(b"\n")
        try:
            records = [json.loads(line) for line in lines]
            header = records[0]
            if header["format"] != _FORMAT:
                raise ValueError(f"it has the format {header['format']!r:.40}")
            self.kind, self.token = str(header["kind"]), str(header["token"])
            self.created = header["created"] is True
            self.description: dict[str, Any] = dict(header.get("description", {}))
            self.checksums: dict[str, set[str | None]] = {}
            self.pending: dict[str, Any] | None = None
            for record in records[1:]:
                self.apply(record)
        except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
            raise ManifestError(
                f"{MANIFEST} is damaged, or was not written by comanifold ({error})"
            ) from error

    def apply(self, record: dict[str, Any]) -> None:
        if "file" in record:
            self.checksums.setdefault(str(record["file"]), set()).add(record.get("sha256"))
        elif "publish" in record:
            self.pending = record
            for name, checksum in dict(record["files"]).items():
                self.checksums.setdefault(str(name), set()).add(str(checksum))
        elif "published" in record:
            self.pending = None
        elif "removed" in record:
            self.checksums.pop(str(record["removed"]), None)


class OwnedFolder:
    """A folder with a manifest of our files, locked for other processes while it is open.

    Parameters
    ----------
    path : path
        Created if it does not exist. Symbolic links to folders are resolved once.
    kind : str
        What the folder is for. A folder of another kind raises an error.
    description : dict, optional
        Stored in the manifest of a new folder.

    Attributes
    ----------
    path : Path
        Without symbolic links.
    token : str
        Random, written to the manifest when it was created.
    description : dict
        From the manifest.
    """

    def __init__(
        self, path: str | os.PathLike, kind: str, description: dict[str, Any] | None = None
    ):
        self.path = Path(os.path.realpath(path))
        self._created = not self.path.exists()
        if not self._created and not self.path.is_dir():
            raise FileExistsError(f"{path} is a file: name a folder")
        self.path.mkdir(parents=True, exist_ok=True)
        clear_leftovers(self.path)
        self._had_files = bool(os.listdir(self.path))
        try:
            self._file, self._is_new = self._open(kind, description or {})
        except OSError:
            with suppress(OSError):
                if self._created:
                    os.rmdir(self.path)
            raise
        try:
            content = self._file.read()
            manifest = _Manifest(content)
            if manifest.kind != kind:
                raise ManifestError(
                    f"{self.path} holds a {manifest.kind} of comanifold, not a {kind}: name "
                    "another folder"
                )
            if not content.endswith(b"\n"):
                self._file.truncate(content.rindex(b"\n") + 1)
            self._manifest = manifest
            self.token, self.description = manifest.token, manifest.description
            if manifest.pending is not None:  # announced by a process that was killed
                self._move(manifest.pending)
            clear_leftovers(self.path, published=True)
        except BaseException:
            self._file.close()
            raise

    def _open(self, kind: str, description: dict[str, Any]) -> tuple[IO[bytes], bool]:
        """Open and lock the manifest; create it if there is none."""
        path = self.path / MANIFEST
        is_new = False
        for _ in range(10):
            if not os.path.lexists(path):
                # Another process may be faster, or remove an unused folder.
                with suppress(FileExistsError, FileNotFoundError):
                    self._create(path, kind, description)
                    is_new = True
            if not os.path.lexists(path):
                continue
            if not is_regular(path):
                raise FileExistsError(f"{path} is not a file of comanifold: name another folder")
            if path.stat().st_size > _MAX_BYTES:
                raise ManifestError(f"{path} is too long for a manifest: name another folder")
            file = open(path, "r+b", buffering=0)  # noqa: SIM115
            is_locked = True
            with suppress(OSError):  # file systems without locks
                is_locked = try_lock(file)
            if is_locked and is_file_at(file, path):
                return file, is_new
            file.close()
            if not is_locked:
                break
        raise RuntimeError(
            f"{str(self.path)!r} is in use by another run: wait for it to end, or name another "
            "folder"
        )

    def _create(self, path: Path, kind: str, description: dict[str, Any]) -> None:
        """Create a manifest with its first line; FileExistsError if there is one."""
        header = {
            "format": _FORMAT,
            "kind": kind,
            "token": new_token(),
            "created": self._created,
            "description": description,
        }
        with TemporaryFolder(self.path) as temporary:
            part = temporary.file("manifest")
            part.write_bytes(json.dumps(header).encode() + b"\n")
            move_to_new(part, path)

    def owns(self, name: str) -> bool:
        """Whether there is a file of that name that we wrote and nobody has changed."""
        known = self._manifest.checksums.get(name)
        path = self.path / name
        if known is None or not is_inside(self.path, name) or not is_regular(path):
            return False
        return None in known or checksum(path) in known

    def refuse_taken(self, names: Iterable[str]) -> None:
        """Raise FileExistsError if one of the names is taken by something that is not ours."""
        taken = [
            name
            for name in names
            if not is_inside(self.path, name)
            or (os.path.lexists(self.path / name) and not self.owns(name))
        ]
        if taken:
            more = f" and {len(taken) - 3} more" if len(taken) > 3 else ""
            listed = ", ".join(str(self.path / name) for name in taken[:3])
            raise FileExistsError(
                f"not written by comanifold, or changed since, and so not replaced: {listed}{more}."
                " Move it away, or name another folder"
            )

    def _is_in_place(self) -> bool:
        with suppress(OSError):
            return is_file_at(self._file, self.path / MANIFEST)
        return False

    def _refuse_moved(self) -> None:
        if not self._is_in_place():
            raise FileNotFoundError(
                f"{self.path} was moved, deleted or replaced while it was in use"
            )

    @contextmanager
    def write(self, name: str, *, by_name: bool = False) -> Iterator[Path]:
        """Yield a temporary path to write to; on success that file is moved to `name`.

        With `by_name` the file is ours whatever its content, for files with a checksum inside.
        """
        self.refuse_taken([name])
        target = self.path / name
        with explain_errors(target), TemporaryFolder(self.path) as temporary:
            part = temporary.file(name)
            yield part
            flush_to_disk(part)
            self._refuse_moved()
            self.refuse_taken([name])
            self._append({"file": name, "sha256": None if by_name else checksum(part)})
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(part, target)

    @contextmanager
    def publish(self, *, last: str) -> Iterator[TemporaryFolder]:
        """Yield a temporary folder; on success its files replace all our files.

        Parameters
        ----------
        last : str
            The file that is removed first and moved last: if it exists, the others do.
        """
        stage = TemporaryFolder(self.path if self._is_in_place() else _nearest(self.path.parent))
        done = False
        try:
            yield stage
            done = True
        finally:
            if not done:
                stage.remove()
        names = sorted(_files_in(stage.path), key=lambda name: (name == last, name))
        checksums = {}
        for name in names:
            flush_to_disk(stage.path / name)
            checksums[name] = checksum(stage.path / name)
        try:
            self._refuse_moved()
            self.refuse_taken(names)
            removed = [
                name for name in self._manifest.checksums if name == last or name not in checksums
            ]
            stage.mark_publishing()
            record = {"publish": stage.path.name, "files": checksums, "remove": removed}
            self._append(record)
        except OSError as error:
            kept = stage.path.with_name(f"comanifold-results-{stage.path.name[-8:]}")
            stage.keep(kept)
            error.add_note(f"The results are complete, in {kept}.")
            raise
        try:
            os.fsync(self._file.fileno())
            self._move(record)
        except BaseException as error:
            error.add_note(
                f"The results are complete, in {stage.path}; the next command on this folder moves "
                "them to their places."
            )
            stage.close()
            raise
        stage.remove()

    def _move(self, record: dict[str, Any]) -> None:
        """Move and remove the files that a line of the manifest announces."""
        stage = self.path / str(record["publish"])
        waiting = [
            str(name)
            for name in record["files"]
            if is_inside(self.path, f"{stage.name}/{name}") and is_regular(stage / name)
        ]
        self.refuse_taken(waiting)
        # Without waiting files, all have been moved, or somebody has deleted the temporary folder:
        # then nothing is removed.
        for name in record["remove"] if waiting else ():
            # Files that have been moved already are kept.
            if name in waiting or name not in record["files"]:
                self._remove(str(name), forget=name not in record["files"])
        for name in waiting:
            target = self.path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(stage / name, target)
        self._append({"published": record["publish"]})

    def remove(self) -> None:
        """Delete our unchanged files, the manifest, and the folder if we created it."""
        for name in list(self._manifest.checksums):
            if self.owns(name):
                self._remove(name, forget=True)
        self._remove_manifest()

    def _remove(self, name: str, *, forget: bool) -> None:
        if self.owns(name):
            remove_own(self.path, name)
            parent = Path(name).parent
            while parent != Path("."):
                remove_own(self.path, f"{parent.as_posix()}/")
                parent = parent.parent
        if forget:
            self._append({"removed": name})

    def reserve(self, n_bytes: int) -> None:
        """Raise the error of the system if so many bytes cannot be written here now."""
        check_space(self.path, n_bytes)

    def close(self) -> None:
        """Unlock the folder; if nothing was written, remove the manifest and a new folder."""
        if self._file.closed:
            return
        is_unused = self._is_new and not self._manifest.checksums and self._is_in_place()
        # If something else has appeared, such as a checkpoint, the manifest says that it is ours.
        if is_unused and (self._had_files or os.listdir(self.path) == [MANIFEST]):
            self._remove_manifest()
        self._file.close()

    def _remove_manifest(self) -> None:
        ours = self._is_in_place()
        self._file.close()  # Windows does not delete open files
        with suppress(OSError):
            if ours:
                (self.path / MANIFEST).unlink()
                if self._manifest.created:
                    os.rmdir(self.path)

    def _append(self, record: dict[str, Any]) -> None:
        append(self._file, json.dumps(record).encode() + b"\n")
        self._manifest.apply(record)

    def __enter__(self) -> "OwnedFolder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _nearest(path: Path) -> Path:
    """Return a folder, or the innermost of its parents that exists."""
    return next(folder for folder in (path, *path.parents) if folder.is_dir())


def _files_in(folder: Path) -> Iterator[str]:
    """Yield the names of the files in a temporary folder."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if is_regular(path) and name != LIST:
            yield name


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_manifest(path: Path) -> _Manifest | None:
    """Return the manifest of a folder; None if it has no valid one."""
    manifest = path / MANIFEST
    try:
        if is_regular(manifest) and manifest.stat().st_size <= _MAX_BYTES:
            return _Manifest(manifest.read_bytes())
    except (OSError, ManifestError):
        pass
    return None


def kind_of_folder(path: Path) -> str | None:
    """Return the kind of a folder from its manifest; None if it has no valid manifest."""
    manifest = _read_manifest(path)
    return None if manifest is None else manifest.kind


def check_folder(path: Path, *, kind: str, overwrite: bool) -> None:
    """Raise FileExistsError unless results may be written to a folder. Nothing is changed.

    It must not exist, be empty, contain only what an unfinished run of ours has left, or, with
    `overwrite`, have a manifest of ours.
    """
    if os.path.lexists(path) and not path.is_dir():
        if path.is_symlink() and not path.exists():
            raise FileExistsError(
                f"{path} is a link to a folder that does not exist: create it first"
            )
        raise FileExistsError(f"{path} is a file: name a folder")
    if not path.exists() or all(is_temporary_name(entry.name) for entry in path.iterdir()):
        return
    manifest = _read_manifest(path)
    if manifest is None:
        raise FileExistsError(
            f"{path} is not empty, and was not written by comanifold: name another folder"
        )
    if manifest.kind != kind:
        raise FileExistsError(
            f"{path} holds a {manifest.kind} of comanifold, not a {kind}: name another folder"
        )
    # The files may have been deleted since they were written.
    has_files = any(os.path.lexists(path / name) for name in manifest.checksums)
    if not overwrite and (has_files or manifest.pending is not None):
        raise FileExistsError(f"{path} is not empty: name another folder, or overwrite it")


def complete_publication(path: Path, kind: str) -> None:
    """Complete the publication of results that a killed process has announced."""
    manifest = _read_manifest(path)
    if manifest is not None and manifest.kind == kind and manifest.pending is not None:
        OwnedFolder(path, kind).close()
