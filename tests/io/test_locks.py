"""Locks on open files."""

import errno
import os
import subprocess
import sys

from comanifold._io.files import is_file_at, try_lock

HOLD = """
import sys, time
from comanifold._io.files import try_lock
file = open(sys.argv[1], "r+b")
print(try_lock(file), flush=True)
time.sleep(600)
"""


def test_a_lock_ends_with_its_process(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"text")
    with (
        open(path, "r+b") as file,
        subprocess.Popen(
            [sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE, text=True
        ) as process,
    ):
        assert process.stdout.readline() == "True\n"
        assert not try_lock(file)
        process.kill()
        process.wait()
        assert try_lock(file)


def test_a_file_that_was_deleted_or_replaced_is_not_at_its_path(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"text")
    with open(path, "r+b") as file:
        assert is_file_at(file, path)
        path.rename(tmp_path / "moved")
        assert not is_file_at(file, path)
        path.write_bytes(b"text")
        assert not is_file_at(file, path)


def test_locks_on_windows(tmp_path, monkeypatch):
    """With a substitute for msvcrt that locks as it does."""
    locked = set()

    class Msvcrt:
        LK_NBLCK = 2

        @staticmethod
        def locking(handle, mode, n_bytes):
            assert (mode, n_bytes) == (2, 1)
            place = os.lseek(handle, 0, os.SEEK_CUR)
            assert place > 1 << 30  # others can read the content
            key = os.fstat(handle).st_ino
            if key in locked:
                raise PermissionError(errno.EACCES, "Permission denied")
            locked.add(key)

    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", Msvcrt)
    path = tmp_path / "f"
    path.write_bytes(b"text")
    with open(path, "r+b") as one, open(path, "r+b") as other:
        assert try_lock(one)
        assert one.read() == b"text"
        assert not try_lock(other)
