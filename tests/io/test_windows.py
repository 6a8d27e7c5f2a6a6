"""Emulation of Windows, where open files can be neither renamed nor deleted."""

import errno
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from oracles.fits import assert_same_fit, holes

from comanifold import CoManifold
from comanifold._io import OwnedFolder, atomic_file, write_with_backup
from comanifold.cli._main import commands

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


def open_files():
    """Return the paths of the files that this process has open."""
    found = set()
    for handle in os.listdir("/proc/self/fd"):
        try:
            found.add(os.readlink(f"/proc/self/fd/{handle}"))
        except FileNotFoundError:
            continue
    return found


@pytest.fixture
def windows(monkeypatch, tmp_path):
    """Changes of the file system that Windows would refuse raise its error."""
    refused = []

    def guarded(name, n_paths):
        original = getattr(os, name)

        def call(*paths, **options):
            for path in paths[:n_paths]:
                here = os.path.abspath(os.fspath(path))
                if here.startswith(str(tmp_path)) and any(
                    file == here or file.startswith(f"{here}/") for file in open_files()
                ):
                    refused.append((name, Path(here).name))
                    raise PermissionError(errno.EACCES, "in use by another process", here)
            return original(*paths, **options)

        monkeypatch.setattr(os, name, call)

    for name, n_paths in (("rename", 2), ("replace", 2), ("remove", 1), ("unlink", 1)):
        guarded(name, n_paths)
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the umask is that of the process"))
    return refused


def test_files_and_folders(windows, tmp_path):
    with atomic_file(tmp_path / "a.txt") as part:
        part.write_text("1")
    write_with_backup(tmp_path / "a.txt", lambda part: part.write_text("2"))
    for text in "12":
        folder = OwnedFolder(tmp_path / "out", "test")
        with folder, folder.publish(last="last") as temporary:
            temporary.file("last").write_text(text)
            temporary.file("sub/a").write_text(text)
    with OwnedFolder(tmp_path / "out", "test") as folder, folder.write("b") as part:
        part.write_text("b")
    OwnedFolder(tmp_path / "out", "test").remove()
    assert windows == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "a.txt.bak"]


def test_a_fit_with_a_checkpoint_and_a_saved_model(windows, tmp_path):
    X = holes()
    expected = CoManifold().fit(X)
    for _ in range(2):
        model = CoManifold(checkpoint=tmp_path / "run").fit(X)
    assert_same_fit(model, expected)
    for overwrite in (False, True):
        expected.save(tmp_path / "model", overwrite=overwrite)
    assert_same_fit(CoManifold.load(tmp_path / "model"), expected)
    assert windows == []
    assert not list(tmp_path.glob("*/.comanifold-*"))


def test_commands(windows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savetxt("t.csv", holes(), delimiter=",")
    quiet = ("--no-check", "--quiet", "--jobs", "1")
    for arguments in (
        ("fit", "t.csv", "-o", "res", *quiet),
        ("fit", "t.csv", "-o", "res", "--force", *quiet),
        ("report", "res", "--quiet"),
        ("impute", "t.csv", "-o", "filled.csv", "--quiet"),
        ("impute", "t.csv", "-o", "filled.csv", "--force", "--quiet"),
    ):
        commands.main(list(arguments), standalone_mode=False)
    assert windows == []
    assert (tmp_path / "filled.csv.bak").exists()
    assert not list(tmp_path.glob("**/.comanifold-*"))
