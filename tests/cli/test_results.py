"""The results folder: which folders are accepted, and which files are left alone."""

import os
import subprocess
import sys

import pytest

from comanifold import CoManifold

pytestmark = pytest.mark.usefixtures("pages")

FIT = ("--no-check", "--quiet", "--jobs", "1")


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def mine(tmp_path):
    """A function that makes a folder of the user with file names like ours."""

    def make(name):
        folder = tmp_path / name
        for file in ("run.json", "model.json", "report.html", ".part-x", ".lock", "sub/thesis.txt"):
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text("mine")
        return folder

    return make


def test_a_folder_of_the_user_named_like_a_checkpoint_stays(comanifold, file, mine):
    folder = mine("res.checkpoint")
    before = contents(folder)
    comanifold("fit", file, "-o", "res", "--checkpoint-after", 0, *FIT)
    assert contents(folder) == before


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_folder_of_the_user_with_files_named_like_ours_is_an_error(comanifold, file, mine, force):
    folder = mine("res")
    before = contents(folder)
    result = comanifold("fit", file, "-o", "res", *FIT, *force, code=1)
    assert "not written by comanifold: name another folder" in result.error
    assert contents(folder) == before


def test_a_model_is_not_saved_over_a_folder_with_files_named_like_ours(board, mine):
    folder = mine("model")
    before = contents(folder)
    with pytest.raises(FileExistsError, match="not written by comanifold"):
        CoManifold().fit(board.table.values).save(folder, overwrite=True)
    assert contents(folder) == before


def test_other_files_in_the_folder_stay_when_results_are_replaced(comanifold, file, tmp_path):
    comanifold("fit", file, "-o", "res", *FIT)
    for name in ("notes.txt", "model/notes.txt"):
        (tmp_path / "res" / name).write_text("mine")
    comanifold("fit", file, "-o", "res", "--force", "--components", 3, *FIT)
    for name in ("notes.txt", "model/notes.txt"):
        assert (tmp_path / "res" / name).read_text() == "mine"
    assert CoManifold.load(tmp_path / "res" / "model").n_components == 3


def test_edited_results_are_not_replaced(comanifold, file, tmp_path):
    comanifold("fit", file, "-o", "res", *FIT)
    (tmp_path / "res" / "clusters.csv").write_text("with remarks of mine")
    (tmp_path / "res" / "report.html").write_text("with remarks of mine")
    before = contents(tmp_path / "res")
    result = comanifold("fit", file, "-o", "res", "--force", *FIT, code=1)
    assert "changed since, and so not replaced" in result.error
    assert "clusters.csv" in result.error
    assert "changed since" in comanifold("report", "res", code=1).error
    assert contents(tmp_path / "res") == before


def test_results_go_to_an_empty_folder_or_a_link_to_one(comanifold, file, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "res").symlink_to("real")
    inode = (tmp_path / "real").stat().st_ino
    comanifold("fit", file, "-o", "res", *FIT)
    assert (tmp_path / "res").is_symlink()
    assert (tmp_path / "real").stat().st_ino == inode
    assert (tmp_path / "real" / "run.json").exists()
    assert len(CoManifold.load(tmp_path / "real" / "model").row_embedding_) == 40


@pytest.fixture
def mount(tmp_path):
    """A function that mounts a file system in memory, as a container does with a volume."""
    mounted = []

    def make(megabytes):
        folder = tmp_path / f"volume{len(mounted)}"
        folder.mkdir()
        options = ["-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", folder]
        done = subprocess.run(["mount", *options], capture_output=True, check=False)
        if done.returncode:
            pytest.skip("needs the right to mount")
        mounted.append(folder)
        return folder

    yield make
    for folder in mounted:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="needs mount")
def test_results_go_to_a_mount_point(comanifold, file, mount):
    volume = mount(40)
    comanifold("fit", file, "-o", volume, *FIT)
    assert (volume / "run.json").exists()
    comanifold("fit", file, "-o", volume, "--force", *FIT)


@pytest.mark.skipif(sys.platform != "linux", reason="needs mount")
def test_too_little_space_is_an_error_before_the_fit(comanifold, file, mount, monkeypatch):
    monkeypatch.setattr(CoManifold, "fit", lambda *_, **__: pytest.fail("it was fitted"))
    volume = mount(2)
    assert "need about 8 MB" in comanifold("fit", file, "-o", volume, *FIT, code=1).error
    assert list(volume.iterdir()) == []
    full = mount(1)
    (full / "other").write_bytes(bytes(1 << 20))
    error = comanifold("impute", file, "-o", full / "t.csv", "--jobs", "1", code=1).error
    assert "No space left" in error
    assert os.listdir(full) == ["other"]


def test_a_second_fit_to_the_same_folder_is_an_error(comanifold, file, tmp_path):
    from comanifold._io import OwnedFolder
    from comanifold.cli._results import KIND

    with OwnedFolder(tmp_path / "res", KIND):
        assert "in use by another run" in comanifold("fit", file, "-o", "res", *FIT, code=1).error
