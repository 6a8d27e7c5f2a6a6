"""NPZ files, read without pickle and within their declared size."""

import zipfile

import numpy as np
import pytest
from oracles.damage import Bomb, archive, as_npy, npy_declaring

from comanifold._io.npz import open_archive


def read(path, name="a"):
    with open_archive(path) as file:
        return file.read(name)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_numpy_writes_is_read(tmp_path, save):
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.array(["x", "yz"]), "c": np.array(3)}
    save(tmp_path / "t.npz", **arrays)
    with open_archive(tmp_path / "t.npz") as file:
        assert file.names == list(arrays)
        assert file.is_compressed == (save is np.savez_compressed)
        assert file.shape_and_type("a") == ((2, 3), np.dtype(float))
        for name, array in arrays.items():
            np.testing.assert_array_equal(file.read(name), array)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (npy_declaring((10**9, 10**9)), "0 bytes follow: it is damaged or cut short"),
        (npy_declaring((-3, -3), content=bytes(72)), "damaged or cut short"),
        (npy_declaring((2,), content=bytes(24)), "24 bytes follow"),
        (npy_declaring((2,))[:40], "header|EOF"),
        (b"", "damaged|EOF|magic"),
    ],
)
def test_a_size_that_differs_from_the_declared_one_is_refused(tmp_path, content, words):
    (tmp_path / "t.npz").write_bytes(archive({"a.npy": content}))
    with pytest.raises(ValueError, match=words):
        read(tmp_path / "t.npz")


def test_pickles_are_not_loaded(tmp_path):
    bomb = np.array([Bomb(tmp_path / "made")], dtype=object)
    (tmp_path / "t.npz").write_bytes(archive({"a.npy": as_npy(bomb, allow_pickle=True)}))
    with pytest.raises(ValueError, match="Python objects, which are never loaded"):
        read(tmp_path / "t.npz")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_are_refused(tmp_path, method):
    (tmp_path / "t.npz").write_bytes(archive({"a.npy": as_npy(np.zeros(3))}, method))
    with pytest.raises(ValueError, match="deflate"):
        read(tmp_path / "t.npz")


def test_damaged_archives_are_refused(tmp_path):
    whole = archive({"a.npy": as_npy(np.zeros(3))})
    for content in (b"", b"text", whole[: len(whole) // 2], whole[:-30]):
        (tmp_path / "t.npz").write_bytes(content)
        with pytest.raises(ValueError, match="damaged or not an NPZ file"):
            read(tmp_path / "t.npz")
