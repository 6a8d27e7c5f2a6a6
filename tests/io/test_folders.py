"""Folders with a manifest: only unchanged files that it names are replaced or deleted."""

import errno
import json
import os
import shutil
import subprocess
import sys

import pytest

from comanifold._io import OwnedFolder, check_folder, complete_publication, kind_of_folder

MANIFEST = ".comanifold.json"


def names(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def publish(path, **files):
    with OwnedFolder(path, "test") as folder, folder.publish(last="last") as temporary:
        for name, text in files.items():
            temporary.file(name.replace("__", "/")).write_text(text)


def contents(folder):
    return {name: (folder / name).read_text() for name in names(folder)
            if (folder / name).is_file() and name != MANIFEST}  # fmt: skip


def test_results_replace_earlier_ones(tmp_path):
    path = tmp_path / "out"
    publish(path, last="1", sub__old="1", both="1")
    (path / "mine").write_text("mine")
    (path / "sub" / "mine").write_text("mine")
    publish(path, last="2", both="2", new__er="2")
    assert contents(path) == {
        "last": "2", "both": "2", "new/er": "2", "mine": "mine", "sub/mine": "mine"
    }  # fmt: skip
    publish(path, last="3")
    assert contents(path) == {"last": "3", "mine": "mine", "sub/mine": "mine"}
    assert not (path / "new").exists()


def test_a_changed_file_is_not_replaced(tmp_path):
    path = tmp_path / "out"
    publish(path, last="1", table="1")
    (path / "table").write_text("1, and my own remarks")
    with pytest.raises(FileExistsError, match=r"changed since.*table") as caught:
        publish(path, last="2", table="2")
    kept = next(path.glob("comanifold-results-*"))
    assert f"The results are complete, in {kept}" in caught.value.__notes__[0]
    assert (kept / "table").read_text() == "2"
    assert (path / "table").read_text() == "1, and my own remarks"
    assert (path / "last").read_text() == "1"
    # Kept results are the user's from now on.
    (path / "table").unlink()
    publish(path, last="3", table="3")
    assert (kept / "table").read_text() == "2"
    assert (path / "table").read_text() == "3"


def test_a_changed_file_that_is_not_written_again_is_kept(tmp_path):
    path = tmp_path / "out"
    publish(path, last="1", table="1")
    (path / "table").write_text("mine")
    publish(path, last="2")
    assert contents(path) == {"last": "2", "table": "mine"}


def test_links_are_neither_followed_nor_replaced(tmp_path):
    path, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    publish(path, last="1", sub__table="1")
    elsewhere.mkdir()
    os.rename(path / "sub" / "table", elsewhere / "table")
    (path / "sub").rmdir()
    (path / "sub").symlink_to(elsewhere)
    publish(path, last="2")
    assert (elsewhere / "table").read_text() == "1"
    with pytest.raises(FileExistsError, match="not replaced"):
        publish(path, last="3", sub__table="3")
    assert (elsewhere / "table").read_text() == "1"


def test_a_folder_may_be_a_link_or_exist_already(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    inode = (tmp_path / "real").stat().st_ino
    publish(tmp_path / "link", last="1")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").stat().st_ino == inode
    assert contents(tmp_path / "real") == {"last": "1"}


def test_an_unused_new_folder_is_removed(tmp_path):
    OwnedFolder(tmp_path / "new", "test").close()
    (tmp_path / "old").mkdir()
    OwnedFolder(tmp_path / "old", "test").close()
    assert names(tmp_path) == ["old"]


def test_removing_keeps_foreign_files(tmp_path):
    path = tmp_path / "out"
    publish(path, last="1", sub__table="1")
    (path / "mine").write_text("mine")
    OwnedFolder(path, "test").remove()
    assert names(path) == ["mine"]
    (path / "mine").unlink()
    publish(path, last="1")
    OwnedFolder(path, "test").remove()
    assert names(path) == []  # it was there before it was ours: the second time
    path.rmdir()
    publish(path, last="1")
    OwnedFolder(path, "test").remove()
    assert not path.exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"{}\n", b"[1]\n", b"\xff\xfe\n", b'{"format": "comanifold folder 1"}\n',
     b'{"format": "other", "kind": "test", "token": "x", "created": true}\n'],
)  # fmt: skip
def test_an_invalid_manifest_is_refused_and_unchanged(tmp_path, content):
    (tmp_path / MANIFEST).write_bytes(content)
    with pytest.raises(ValueError, match="not written by comanifold"):
        OwnedFolder(tmp_path, "test")
    assert (tmp_path / MANIFEST).read_bytes() == content
    assert kind_of_folder(tmp_path) is None
    with pytest.raises(FileExistsError, match="not written by comanifold"):
        check_folder(tmp_path, kind="test", overwrite=True)


def test_a_manifest_that_is_a_folder_or_a_link_is_refused(tmp_path):
    (tmp_path / "a" / MANIFEST).mkdir(parents=True)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / MANIFEST).symlink_to(tmp_path / "nowhere")
    for name in "ab":
        with pytest.raises(FileExistsError, match="name another folder"):
            OwnedFolder(tmp_path / name, "test")
    assert not (tmp_path / "nowhere").exists()


def test_the_last_line_of_a_truncated_manifest_is_ignored(tmp_path):
    publish(tmp_path, last="1")
    path = tmp_path / MANIFEST
    content = path.read_bytes()
    path.write_bytes(content + b'{"file": "mi')
    publish(tmp_path, last="2")
    assert contents(tmp_path) == {"last": "2"}
    assert all(json.loads(line) for line in path.read_bytes().splitlines())


def test_folders_of_other_kinds_are_refused(tmp_path):
    publish(tmp_path, last="1")
    with pytest.raises(ValueError, match="holds a test of comanifold, not a model"):
        OwnedFolder(tmp_path, "model")
    with pytest.raises(FileExistsError, match="holds a test"):
        check_folder(tmp_path, kind="model", overwrite=True)


def test_folders_in_which_results_may_be_written(tmp_path):
    check_folder(tmp_path / "new", kind="test", overwrite=False)
    check_folder(tmp_path, kind="test", overwrite=False)
    (tmp_path / "mine").write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(FileExistsError, match="not written by comanifold"):
            check_folder(tmp_path, kind="test", overwrite=overwrite)
        with pytest.raises(FileExistsError, match="is a file"):
            check_folder(tmp_path / "mine", kind="test", overwrite=overwrite)
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(FileExistsError, match="does not exist"):
        check_folder(tmp_path / "link", kind="test", overwrite=False)
    publish(tmp_path / "out", last="1")
    with pytest.raises(FileExistsError, match="or overwrite it"):
        check_folder(tmp_path / "out", kind="test", overwrite=False)
    check_folder(tmp_path / "out", kind="test", overwrite=True)


def test_a_folder_whose_results_were_deleted_counts_as_empty(tmp_path):
    publish(tmp_path, last="1", sub__a="1")
    (tmp_path / "last").unlink()
    with pytest.raises(FileExistsError, match="or overwrite it"):
        check_folder(tmp_path, kind="test", overwrite=False)
    (tmp_path / "sub" / "a").unlink()
    check_folder(tmp_path, kind="test", overwrite=False)
    publish(tmp_path, last="2")
    assert contents(tmp_path) == {"last": "2"}


def test_a_folder_is_opened_once_at_a_time(tmp_path):
    with (
        OwnedFolder(tmp_path, "test"),
        pytest.raises(RuntimeError, match="in use by another run"),
    ):
        OwnedFolder(tmp_path, "test")
    OwnedFolder(tmp_path, "test").close()


def test_folders_on_file_systems_without_locks(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def no_locks(*_arguments):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    publish(tmp_path, last="1", a="1")
    publish(tmp_path, last="2")
    assert contents(tmp_path) == {"last": "2"}


HOLD = """
import sys, time
from comanifold._io import OwnedFolder
folder = OwnedFolder(sys.argv[1], "test")
print("mine", flush=True)
time.sleep(600)
"""


def test_leftovers_alone_count_as_empty(tmp_path):
    """Of a process that was killed before it created the manifest."""
    code = (
        "import os, sys; from pathlib import Path; from comanifold._io import TemporaryFolder\n"
        "TemporaryFolder(Path(sys.argv[1])).file('manifest').write_text('{'); os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path], check=False)
    assert len(names(tmp_path)) == 3
    check_folder(tmp_path, kind="test", overwrite=False)
    publish(tmp_path, last="1")
    assert names(tmp_path) == [MANIFEST, "last"]


def test_a_second_process_is_refused_until_the_first_is_dead(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout.readline() == "mine\n"
        with pytest.raises(RuntimeError, match="in use by another run"):
            OwnedFolder(tmp_path, "test")
        first.kill()
    publish(tmp_path, last="1")


KILLED = """
import os, sys
from comanifold._io import OwnedFolder
n_left = int(sys.argv[2])

def count_down(event, arguments):
    # Everything that changes a file system is a moment at which to die.
    global n_left
    changes = event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate")
    if changes or (event == "open" and isinstance(arguments[1], str) and arguments[1] != "rb"):
        n_left -= 1
        if n_left < 0:
            os.kill(os.getpid(), 9)

with OwnedFolder(sys.argv[1], "test") as folder:
    if int(sys.argv[2]) >= 0:
        sys.addaudithook(count_down)
    with folder.publish(last="last") as temporary:
        for name in ("last", "a", "sub/b"):
            temporary.file(name).write_text(sys.argv[3])
"""


def test_killed_at_every_moment_results_are_old_or_new_and_the_rest_is_untouched(tmp_path):
    """Killed before the first, second, ... change of the file system until it survives."""
    n_killed = 0
    for moment in range(200):
        path = tmp_path / str(moment)
        publish(path, last="1", a="1", sub__b="1", gone="1")
        for name in ("mine", "sub/mine"):
            (path / name).write_text("mine")
        done = subprocess.run([sys.executable, "-c", KILLED, path, str(moment), "2"], check=False)
        if done.returncode == 0:
            break
        n_killed += 1
        complete_publication(path, "test")
        found = contents(path)
        assert found.pop("mine") == found.pop("sub/mine") == "mine"
        left = {name: text for name, text in found.items() if not name.startswith(".comanifold-")}
        old = {"last": "1", "a": "1", "sub/b": "1", "gone": "1"}
        assert left in (old, {"last": "2", "a": "2", "sub/b": "2"}), moment
        publish(path, last="3")
        assert names(path) == [MANIFEST, "last", "mine", "sub", "sub/mine"], moment
    assert n_killed > 15


def test_results_that_cannot_all_be_moved_are_moved_by_the_next_process(tmp_path, monkeypatch):
    """A file that another program has open, on Windows."""
    publish(tmp_path, last="1", a="1", b="1")
    replace = os.replace

    def open_elsewhere(source, target):
        if str(target).endswith("b"):
            raise PermissionError(errno.EACCES, "in use")
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", open_elsewhere)
        with pytest.raises(PermissionError) as caught:
            publish(tmp_path, last="2", a="2", b="2")
    assert "the next command on this folder moves them to their places" in caught.value.__notes__[0]
    assert not (tmp_path / "last").exists()
    complete_publication(tmp_path, "test")
    assert contents(tmp_path) == {"last": "2", "a": "2", "b": "2"}
    assert names(tmp_path) == [MANIFEST, "a", "b", "last"]


def test_a_single_file_is_replaced_if_it_is_ours(tmp_path):
    with OwnedFolder(tmp_path, "test") as folder:
        for text in "12":
            with folder.write("sub/a") as part:
                part.write_text(text)
        assert folder.owns("sub/a")
        (tmp_path / "sub" / "a").write_text("3")
        assert not folder.owns("sub/a")
        with pytest.raises(FileExistsError, match="not replaced"), folder.write("sub/a"):
            pass
        (tmp_path / "b").write_text("mine")
        with pytest.raises(FileExistsError, match="not replaced"), folder.write("b"):
            pass
    assert names(tmp_path) == [MANIFEST, "b", "sub", "sub/a"]


def test_a_file_created_meanwhile_is_not_replaced(tmp_path):
    def write(folder):
        with folder.write("a") as part:
            part.write_text("ours")
            (tmp_path / "a").write_text("mine")

    with OwnedFolder(tmp_path, "test") as folder:
        with pytest.raises(FileExistsError, match="not replaced"):
            write(folder)
        assert (tmp_path / "a").read_text() == "mine"
        assert not folder.owns("a")


@pytest.mark.skipif(os.name != "posix", reason="needs limits")
def test_a_manifest_on_a_full_disk_stays_readable(tmp_path):
    script = (
        "import resource, sys; from comanifold._io import OwnedFolder\n"
        "with OwnedFolder(sys.argv[1], 'test') as folder:\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (250, 250))\n"
        "    for i in range(9):\n"
        "        with folder.write(f'{i}') as part: part.write_text('x')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=False
    )
    assert "File too large" in done.stderr
    n_written = len(names(tmp_path)) - 1
    assert 0 < n_written < 9
    with OwnedFolder(tmp_path, "test") as folder:
        assert [folder.owns(str(i)) for i in range(n_written)] == [True] * n_written


def test_long_manifests_are_refused(tmp_path):
    publish(tmp_path, last="1")
    os.truncate(tmp_path / MANIFEST, (1 << 30) + 1)  # sparse
    with pytest.raises(ValueError, match="too long"):
        OwnedFolder(tmp_path, "test")
    assert kind_of_folder(tmp_path) is None


@pytest.mark.skipif(os.name != "posix", reason="needs limits")
def test_results_are_kept_when_the_manifest_is_on_a_full_disk(tmp_path):
    """The next command on the folder must not delete them as leftovers."""
    path = tmp_path / "out"
    publish(path, last="1")
    size = (path / MANIFEST).stat().st_size
    script = (
        "import resource, sys; from comanifold._io import OwnedFolder\n"
        "with OwnedFolder(sys.argv[1], 'test') as folder:\n"
        "    with folder.publish(last='last') as temporary:\n"
        "        temporary.file('last').write_text('2')\n"
        f"        resource.setrlimit(resource.RLIMIT_FSIZE, ({size + 20}, {size + 20}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, path], capture_output=True, text=True, check=False
    )
    kept = next(path.glob("comanifold-results-*"))
    assert f"The results are complete, in {kept}" in done.stderr
    assert contents(path) == {"last": "1", f"{kept.name}/last": "2"}
    publish(path, last="3")
    assert contents(path) == {"last": "3", f"{kept.name}/last": "2"}


def test_old_results_are_kept_when_announced_ones_were_deleted(tmp_path, monkeypatch):
    """The process was killed after the announcement, then somebody deleted the hidden folder."""
    publish(tmp_path, last="1", a="1", only_old="1")

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", killed)  # the first change after the announcement
        with pytest.raises(KeyboardInterrupt):
            publish(tmp_path, last="2", a="2")
    shutil.rmtree(next(tmp_path.glob(".comanifold-*")))
    complete_publication(tmp_path, "test")
    assert contents(tmp_path) == {"last": "1", "a": "1", "only_old": "1"}
    publish(tmp_path, last="3")
    assert contents(tmp_path) == {"last": "3"}


def moved(path):
    os.rename(path, path.with_name("moved"))


def deleted(path):
    shutil.rmtree(path)


def replaced(path):
    moved(path)
    path.mkdir()


def linked(path):
    moved(path)
    path.with_name("elsewhere").mkdir()
    path.symlink_to("elsewhere")


@pytest.mark.skipif(os.name != "posix", reason="open files cannot be moved")
@pytest.mark.parametrize("change", [moved, deleted, replaced, linked])
def test_results_are_kept_beside_a_folder_that_was_moved_while_in_use(tmp_path, change):
    path = tmp_path / "out"

    def run():
        with OwnedFolder(path, "test") as folder:
            change(path)
            with folder.publish(last="last") as temporary:
                temporary.file("last").write_text("1")

    with pytest.raises(FileNotFoundError, match="was moved, deleted or replaced") as caught:
        run()
    kept = next(tmp_path.glob("comanifold-results-*"))
    assert str(kept) in caught.value.__notes__[0]
    assert contents(kept) == {"last": "1"}
    others = [place for place in ("out", "elsewhere") if (tmp_path / place).is_dir()]
    assert not any(os.listdir(tmp_path / place) for place in others)


@pytest.mark.skipif(os.name != "posix", reason="open files cannot be moved")
@pytest.mark.parametrize("change", [moved, deleted, replaced, linked])
def test_nothing_is_written_to_a_folder_that_replaced_ours(tmp_path, change):
    path = tmp_path / "out"
    with OwnedFolder(path, "test") as folder:
        change(path)
        with pytest.raises(OSError, match="out"), folder.write("a") as part:
            part.write_text("1")
    others = [place for place in ("out", "elsewhere") if (tmp_path / place).is_dir()]
    assert not any(os.listdir(tmp_path / place) for place in others)


@pytest.mark.skipif(os.name != "posix", reason="open files cannot be moved")
def test_an_empty_folder_that_replaced_ours_is_kept(tmp_path):
    path = tmp_path / "out"
    publish(path, last="1")
    folder = OwnedFolder(path, "test")
    replaced(path)
    folder.remove()
    assert path.is_dir()


def test_a_foreign_folder_in_which_nothing_was_written_gets_no_manifest(tmp_path):
    """With a manifest it would count as ours, and take results among foreign files."""
    (tmp_path / "mine").write_text("mine")
    with OwnedFolder(tmp_path, "test") as folder, pytest.raises(FileExistsError):
        folder.refuse_taken(["mine"])
    assert names(tmp_path) == ["mine"]
