"""NPY and NPZ files: shapes, names, damage and bounded memory."""

import pickle
import zipfile
from io import BytesIO

import numpy as np
import pytest
from numpy.lib import format as npy
from oracles.memory import peak_of_reading

from comanifold.tables import TableError, read_table


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros(3), "1 dimensions"),
        (np.zeros((2, 2, 2)), "3 dimensions"),
        (np.array([["a", "b"]]), "not real numbers"),
        (np.zeros((2, 2), dtype=complex), "not real numbers"),
        (np.array([[{}, 1]], dtype=object), "Python objects"),
        (np.array([[np.inf, 1.0]]), "infinite"),
        (np.full((2, 2), np.nan), "every entry is missing"),
        (np.zeros((0, 3)), "no entries"),
    ],
)
@pytest.mark.parametrize("name", ["t.npy", "t.npz"])
def test_arrays_that_are_no_matrix_raise_an_error(tmp_path, name, array, words):
    path = tmp_path / name
    if name == "t.npy":
        np.save(path, array, allow_pickle=True)
    else:
        np.savez(path, X=array)
        words = (
            words if words[0] in "iePn" and words != "not real numbers" else f"no matrix|{words}"
        )
    with pytest.raises(TableError, match=words):
        read_table(path)


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was loaded",))


def test_pickles_are_never_loaded(tmp_path):
    for name in ("t.npy", "t.npz"):
        (tmp_path / name).write_bytes(pickle.dumps(Bomb()))
        with pytest.raises(TableError, match="can be read"):
            read_table(tmp_path / name)


def declared(shape):
    """An NPY file that says it holds doubles of a shape, and holds ten."""
    stream = BytesIO()
    npy.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return stream.getvalue() + bytes(80)


@pytest.mark.parametrize("shape", [(1 << 20, 1 << 20), (5, 3), (2, 2)])
def test_sizes_that_do_not_fit_the_file_raise_an_error(tmp_path, shape):
    path = tmp_path / "t.npy"
    path.write_bytes(declared(shape))
    with pytest.raises(TableError, match="damaged or cut short"):
        read_table(path)
    path = tmp_path / "t.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", declared(shape))
    with pytest.raises(TableError, match="damaged or cut short"):
        read_table(path)


def test_one_of_several_arrays_has_to_be_chosen(tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, X=np.ones((2, 2)), Y=np.zeros((3, 2)), names=np.array(["a"]))
    with pytest.raises(TableError, match=r"--array.*'X', 'Y'"):
        read_table(path)
    assert read_table(path, array="Y").values.shape == (3, 2)
    with pytest.raises(TableError, match="no array 'Z'"):
        read_table(path, array="Z")


def test_headers_of_python_2_are_read_without_a_warning(tmp_path):
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (3L, 2L), }"
    header = header.ljust(117) + "\n"
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
    content += np.arange(6.0).tobytes()
    (tmp_path / "t.npy").write_bytes(content)
    np.testing.assert_array_equal(
        read_table(tmp_path / "t.npy").values, np.arange(6.0).reshape(3, 2)
    )


def zipped(path, arrays, kind=zipfile.ZIP_DEFLATED):
    """An NPZ file of zeros, by name, shape and type."""
    with zipfile.ZipFile(path, "w", kind) as archive:
        for name, (shape, dtype) in arrays.items():
            header = BytesIO()
            description = {"descr": dtype, "fortran_order": False, "shape": shape}
            npy.write_array_header_1_0(header, description)
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                member.write(header.getvalue())
                left = int(np.prod(shape)) * np.dtype(dtype).itemsize
                while left:
                    left -= member.write(bytes(min(left, 1 << 24)))
    return path


def test_other_arrays_are_not_read(tmp_path):
    path = zipped(
        tmp_path / "t.npz",
        {
            "X": ((100, 100), "<f8"),
            "other": ((1 << 26,), "<f8"),
            "matrix": ((1 << 13, 9999), "<i1"),
        },
    )
    result, grown = peak_of_reading(path, array="X")
    assert result == "read"
    assert grown < 30


def test_labels_in_an_archive_are_bounded_by_the_matrix(tmp_path):
    path = zipped(tmp_path / "t.npz", {"X": ((100, 3), "<f8"), "row_names": ((100,), "<U500000")})
    result, grown = peak_of_reading(path)
    assert "'row_names' takes 200,000,000 bytes" in result
    assert grown < 30


@pytest.mark.parametrize("kind", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_raise_an_error(tmp_path, kind):
    path = zipped(tmp_path / "t.npz", {"X": ((10, 10), "<f8")}, kind)
    with pytest.raises(TableError, match="another way than with deflate"):
        read_table(path)


@pytest.mark.parametrize("dtype", ["<f8", "<f4", "<i2", "|b1"])
def test_an_archive_takes_twice_the_matrix(tmp_path, dtype):
    path = zipped(tmp_path / "t.npz", {"X": ((5000, 1000), dtype)})
    result, grown = peak_of_reading(path)
    assert result == "read"
    assert grown < 2.5 * 40 + 20
