"""Files that are whole or not there, and directories for one process at a time."""

import os
import subprocess
import sys

import pytest

from comanifold._files import refuse_taken, sole_use, whole_directory, whole_file

HOLD = """
import sys, time
from pathlib import Path
from comanifold._files import sole_use
with sole_use(Path(sys.argv[1])):
    print("mine", flush=True)
    time.sleep(600)
"""

WRITE = """
import sys, time
from pathlib import Path
from comanifold._files import whole_directory
with whole_directory(Path(sys.argv[1]), marker="mark") as part:
    (part / "half").write_text("half of it")
    print("writing", flush=True)
    time.sleep(600)
"""


def test_a_file_that_could_not_be_written_leaves_the_old_one(tmp_path):
    file = tmp_path / "a" / "t.csv"
    with whole_file(file) as part:
        part.write_text("old")

    def fail():
        with whole_file(file) as part:
            part.write_text("ne")
            raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        fail()
    assert file.read_text() == "old"
    assert list(file.parent.iterdir()) == [file]


def test_others_may_read_it_as_far_as_the_umask_lets_them(tmp_path):
    before = os.umask(0o027)
    try:
        with whole_file(tmp_path / "t.csv") as part:
            part.write_text("for the group")
    finally:
        os.umask(before)
    assert (tmp_path / "t.csv").stat().st_mode & 0o777 == 0o640


def test_the_file_is_not_there_before_it_is_complete(tmp_path):
    file = tmp_path / "t.npz"
    with whole_file(file) as part:
        part.write_text("new")
        assert part.suffix == ".npz"
        assert not file.exists()
    assert file.read_text() == "new"


def test_a_second_process_is_refused_until_the_first_is_dead(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout.readline() == "mine\n"
        (tmp_path / ".part-x").touch()
        with pytest.raises(RuntimeError, match="in use by another run"), sole_use(tmp_path):
            pass
        assert (tmp_path / ".part-x").exists()
        first.kill()
    with sole_use(tmp_path):
        assert not (tmp_path / ".part-x").exists()


def test_the_same_process_is_refused_too(tmp_path):
    with (
        sole_use(tmp_path),
        pytest.raises(RuntimeError, match="in use"),
        sole_use(tmp_path),
    ):
        pass
    with sole_use(tmp_path):
        pass


@pytest.mark.skipif(os.name != "posix", reason="needs modes of files")
def test_files_can_be_read_by_whom_the_system_lets(tmp_path):
    with whole_file(tmp_path / "shared.txt") as part:
        part.write_text("for all")
    (tmp_path / "other.txt").write_text("for all")
    modes = [(tmp_path / name).stat().st_mode for name in ("shared.txt", "other.txt")]
    assert modes[0] == modes[1]


def write(path, text, *, overwrite):
    with whole_directory(path, marker="mark", overwrite=overwrite) as part:
        (part / "mark").write_text(text)


def test_a_directory_is_whole_or_as_it_was(tmp_path):
    path = tmp_path / "results"
    with whole_directory(path, marker="mark") as part:
        (part / "mark").write_text("1")
        assert not path.exists()
    assert (path / "mark").read_text() == "1"
    with pytest.raises(FileExistsError, match="not empty"):
        write(path, "2", overwrite=False)
    with pytest.raises(TypeError):
        write(path, 2, overwrite=True)
    assert (path / "mark").read_text() == "1"
    with whole_directory(path, marker="mark", overwrite=True) as part:
        (part / "mark").write_text("3")
        assert (path / "mark").read_text() == "1"
    assert (path / "mark").read_text() == "3"
    with pytest.raises(FileExistsError, match="something else"):
        refuse_taken(path, marker="other", overwrite=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["results"]


def test_a_directory_that_cannot_be_put_in_place_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "results"
    write(path, "old", overwrite=False)
    rename, n_calls = os.rename, []

    def second_fails(source, target):
        n_calls.append(target)
        if len(n_calls) == 2:
            raise PermissionError("not now")
        rename(source, target)

    monkeypatch.setattr(os, "rename", second_fails)
    with pytest.raises(PermissionError, match="not now"):
        write(path, "new", overwrite=True)
    assert len(n_calls) == 3
    assert (path / "mark").read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def hidden(folder):
    return sorted(entry.name for entry in folder.iterdir() if entry.name.startswith("."))


def test_what_a_killed_process_left_is_cleared_away_by_the_next(tmp_path):
    path = tmp_path / "results[1]"
    (tmp_path / ".new-results[1]-mine").mkdir()  # no lock in it: who knows what it is
    (tmp_path / ".new-results[2]-x").mkdir()
    (tmp_path / ".new-results[2]-x" / ".lock").touch()
    others = hidden(tmp_path)
    command = [sys.executable, "-c", WRITE, path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as first:
        try:
            assert first.stdout.readline() == "writing\n"
            write(path, "second", overwrite=False)
            assert len(hidden(tmp_path)) == 3  # the first is not dead
        finally:
            first.kill()
    assert len(hidden(tmp_path)) == 3
    write(path, "third", overwrite=True)
    assert hidden(tmp_path) == others
    assert [entry.name for entry in path.iterdir()] == ["mark"]
    assert (path / "mark").read_text() == "third"
