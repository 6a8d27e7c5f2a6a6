"""Atomic files, backups, and temporary folders that are deleted after a kill."""

import errno
import os
import subprocess
import sys

import pytest

from comanifold._io import (
    OwnedFolder,
    TemporaryFolder,
    atomic_file,
    check_space,
    files,
    write_with_backup,
)

HOLD = """
import sys, time
from pathlib import Path
from comanifold._io import TemporaryFolder
temporary = TemporaryFolder(Path(sys.argv[1]))
temporary.file("half").write_text("half of it")
temporary.file("deep/er/half").write_text("half of it")
print("writing", flush=True)
time.sleep(600)
"""


def names(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def killed_while_writing(folder):
    """Kill a process while it writes to a folder; return the temporary folder it leaves."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, folder], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "writing\n"
        process.kill()
    return next(folder.glob(".comanifold-*"))


def test_a_failed_write_leaves_the_old_file(tmp_path):
    file = tmp_path / "a" / "t.csv"
    with atomic_file(file) as part:
        part.write_text("old")

    def fail():
        with atomic_file(file) as part:
            part.write_text("ne")
            raise OSError(errno.ENOSPC, "no space left")

    with pytest.raises(
        OSError, match=r"could not write .*t\.csv.* existing file is unchanged: no space"
    ) as caught:
        fail()
    assert caught.value.errno == errno.ENOSPC
    assert file.read_text() == "old"
    assert names(tmp_path) == ["a", "a/t.csv"]


def test_the_file_does_not_exist_before_it_is_complete(tmp_path):
    file = tmp_path / "t.npz"
    with atomic_file(file) as part:
        part.write_text("new")
        assert part.suffix == ".npz"
        assert not file.exists()
    assert file.read_text() == "new"
    assert names(tmp_path) == ["t.npz"]


@pytest.mark.skipif(os.name != "posix", reason="needs modes of files")
def test_files_have_the_default_mode_of_the_system(tmp_path):
    before = os.umask(0o027)
    try:
        with atomic_file(tmp_path / "t.csv") as part:
            part.write_text("for the group")
    finally:
        os.umask(before)
    assert (tmp_path / "t.csv").stat().st_mode & 0o777 == 0o640


def test_the_umask_is_never_changed(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("umask is that of the whole process"))
    with atomic_file(tmp_path / "t.csv") as part:
        part.write_text("x")
    with OwnedFolder(tmp_path / "d", "test") as folder, folder.write("a") as part:
        part.write_text("x")


def test_a_link_is_kept_and_its_target_replaced(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    with atomic_file(tmp_path / "link") as part:
        part.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_leftovers_of_a_killed_process_are_cleared_and_nothing_else(tmp_path):
    left = killed_while_writing(tmp_path)
    assert names(left) == ["deep", "deep/er", "deep/er/half", "files.txt", "half"]
    (tmp_path / ".comanifold-mine").mkdir()
    (tmp_path / ".comanifold-mine" / "files.txt").write_text("comanifold temporary files x\nhalf\n")
    (tmp_path / ".comanifold-mine" / "half").write_text("mine")
    (tmp_path / ".comanifold-file").write_text("mine")
    with atomic_file(tmp_path / "t.csv") as part:
        part.write_text("x")
    assert not left.exists()
    assert names(tmp_path) == [
        ".comanifold-file",
        ".comanifold-mine",
        ".comanifold-mine/files.txt",
        ".comanifold-mine/half",
        "t.csv",
    ]


def test_foreign_files_among_leftovers_are_kept(tmp_path):
    left = killed_while_writing(tmp_path)
    (left / "thesis.txt").write_text("mine")
    (left / "half").unlink()
    (left / "half").symlink_to(tmp_path / "precious")
    (tmp_path / "precious").write_text("mine")
    with atomic_file(tmp_path / "t.csv") as part:
        part.write_text("x")
    assert names(left) == ["half", "thesis.txt"]
    assert (left / "half").is_symlink()
    assert (tmp_path / "precious").read_text() == "mine"


def test_nothing_is_deleted_behind_a_link(tmp_path):
    left = killed_while_writing(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "er").mkdir()
    (elsewhere / "er" / "half").write_text("mine")
    for path in ("deep/er/half", "deep/er", "deep"):
        (left / path).unlink() if path.endswith("half") else (left / path).rmdir()
    (left / "deep").symlink_to(elsewhere)
    files.clear_leftovers(tmp_path)
    assert (elsewhere / "er" / "half").read_text() == "mine"
    assert (left / "deep").is_symlink()


def test_the_temporary_folder_of_a_running_process_is_kept(tmp_path):
    with TemporaryFolder(tmp_path) as temporary:
        temporary.file("half").write_text("half")
        files.clear_leftovers(tmp_path)
        assert (temporary.path / "half").read_text() == "half"
    assert names(tmp_path) == []


def test_paths_that_leave_the_folder_are_not_followed(tmp_path):
    (tmp_path / "mine").write_text("mine")
    folder = tmp_path / "ours"
    folder.mkdir()
    for name in ("../mine", "/mine", "a/../../mine", "..\\mine", "C:mine", ""):
        files.remove_own(folder, name)
    assert (tmp_path / "mine").exists()


def test_an_existing_file_is_kept_as_a_backup(tmp_path):
    file = tmp_path / "t.csv"
    assert write_with_backup(file, lambda part: part.write_text("1")) is None
    (tmp_path / "t.csv.bak").mkdir()
    backup = write_with_backup(file, lambda part: part.write_text("2"))
    assert backup == tmp_path / "t.csv.bak2"
    assert (backup.read_text(), file.read_text()) == ("1", "2")


@pytest.mark.parametrize("error", [OSError(errno.EPERM, "no links"), NotImplementedError()])
def test_backups_without_hard_links(tmp_path, monkeypatch, error):
    def no_links(*_arguments, **_options):
        raise error

    monkeypatch.setattr(os, "link", no_links)
    file = tmp_path / "t.csv"
    file.write_text("1")
    assert write_with_backup(file, lambda part: part.write_text("2")).read_text() == "1"
    assert file.read_text() == "2"


def test_an_existing_link_is_kept_as_a_backup(tmp_path):
    (tmp_path / "target").write_text("mine")
    (tmp_path / "t.csv").symlink_to("target")
    backup = write_with_backup(tmp_path / "t.csv", lambda part: part.write_text("new"))
    assert backup.is_symlink()
    assert (tmp_path / "target").read_text() == "mine"
    assert not (tmp_path / "t.csv").is_symlink()


def test_a_backup_is_made_only_when_the_new_file_is_complete(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("old")

    def fail(part):
        part.write_text("half")
        raise OSError(errno.ENOSPC, "full")

    with pytest.raises(OSError, match="full"):
        write_with_backup(file, fail)
    assert names(tmp_path) == ["t.csv"]


@pytest.mark.skipif(os.name != "posix", reason="needs limits")
def test_too_little_space_is_an_error_that_leaves_nothing(tmp_path, monkeypatch):
    check_space(tmp_path, 5_000_000)
    assert names(tmp_path) == []
    script = (
        "import resource, sys; from pathlib import Path; from comanifold._io import check_space\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))\n"
        "check_space(Path(sys.argv[1]), 200000)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=False
    )
    assert "cannot be written there" in done.stderr
    assert names(tmp_path) == []

    def unsupported(*_arguments):
        raise OSError(errno.EOPNOTSUPP, "not here")

    monkeypatch.setattr(os, "posix_fallocate", unsupported)
    check_space(tmp_path, 3_000_000)
    monkeypatch.delattr(os, "posix_fallocate")  # as on Windows
    check_space(tmp_path, 3_000_000)
    assert names(tmp_path) == []


def test_files_are_flushed_with_writable_handles(tmp_path, monkeypatch):
    """Windows flushes no others."""
    fcntl = pytest.importorskip("fcntl")
    fsync = os.fsync

    def as_on_windows(handle):
        if fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, "Bad file descriptor")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", as_on_windows)
    with atomic_file(tmp_path / "t.csv") as part:
        part.write_text("x")
    with OwnedFolder(tmp_path / "d", "test") as folder, folder.publish(last="a") as temporary:
        temporary.file("a").write_text("x")
    assert (tmp_path / "d" / "a").exists()


def test_a_file_that_another_program_has_open_is_unchanged(tmp_path, monkeypatch):
    """Windows does not replace open files."""
    file = tmp_path / "t.csv"
    file.write_text("old")

    def sharing_violation(_source, target):
        raise PermissionError(errno.EACCES, "The process cannot access the file", target)

    monkeypatch.setattr(os, "replace", sharing_violation)

    def write():
        with atomic_file(file) as part:
            part.write_text("new")

    with pytest.raises(OSError, match=r"is unchanged: The process cannot access"):
        write()
    assert names(tmp_path) == ["t.csv"]
    assert file.read_text() == "old"


def test_files_are_written_on_file_systems_without_locks(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def no_locks(*_arguments):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    left = tmp_path / ".comanifold-x"
    left.mkdir()
    with atomic_file(tmp_path / "t.csv") as part:
        part.write_text("x")
    assert names(tmp_path) == [".comanifold-x", "t.csv"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("through_link", [False, True])
def test_a_pipe_is_not_replaced(tmp_path, through_link):
    """As root, writing to /dev/null would replace it by a file."""
    os.mkfifo(tmp_path / "pipe")
    path = tmp_path / "pipe"
    if through_link:
        path = tmp_path / "link"
        path.symlink_to("pipe")
    with pytest.raises(FileExistsError, match="is a device, a pipe"), atomic_file(path) as part:
        part.write_text("x")
    with pytest.raises(FileExistsError, match="is a device, a pipe"):
        write_with_backup(path, lambda part: part.write_text("x"))
    assert (tmp_path / "pipe").is_fifo()
    assert set(names(tmp_path)) <= {"link", "pipe"}


NAMED = """
import os, sys
from pathlib import Path
from comanifold._io import atomic_file
with atomic_file(Path(sys.argv[1])) as part:
    part.write_text("half")
    os._exit(1)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs such names")
@pytest.mark.parametrize("name", ["a\nb", "x\n* publishing", '"a"', '"', os.fsdecode(b"\xff")])
def test_leftovers_with_unusual_names_are_cleared(tmp_path, name):
    done = subprocess.run([sys.executable, "-c", NAMED, tmp_path / name], check=False)
    assert done.returncode == 1
    assert len(names(tmp_path)) == 3
    with atomic_file(tmp_path / "t.csv") as part:
        part.write_text("x")
    assert names(tmp_path) == ["t.csv"]
