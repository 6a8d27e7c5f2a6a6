"""Files that store a matrix: NumPy arrays, sparse matrices and labels of 10x Genomics."""

import gzip
import pickle
import zipfile
from io import BytesIO

import numpy as np
import pytest
from numpy.lib import format as npy
from oracles.memory import peak_of_reading, write_gzip
from scipy import io, sparse

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


MARKET = "%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize("name", ["t.mtx", "t.mtx.gz"])
def test_absent_entries_are_missing_or_zero(tmp_path, name):
    path = tmp_path / name
    io.mmwrite(tmp_path / "t.mtx", sparse.coo_array([[0.0, 2.0], [3.0, 0.0]]))
    if name.endswith("gz"):
        path.write_bytes(gzip.compress((tmp_path / "t.mtx").read_bytes()))
    with pytest.raises(TableError, match=r"2 entries are not stored.*--absent"):
        read_table(path)
    np.testing.assert_array_equal(
        read_table(path, absent="missing").values, [[np.nan, 2], [3, np.nan]]
    )
    np.testing.assert_array_equal(read_table(path, absent="zero").values, [[0, 2], [3, 0]])
    with pytest.raises(TableError, match='"missing" or "zero"'):
        read_table(path, absent="none")


def test_absent_is_not_needed_if_all_entries_are_stored(tmp_path):
    path = tmp_path / "t.mtx"
    io.mmwrite(path, sparse.coo_array([[1.0, 2.0], [3.0, 4.0]]))
    np.testing.assert_array_equal(read_table(path).values, [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    "matrix",
    [
        np.array([[1.5, 2.0, 4.0], [3.0, 0.0, 9.0]]),
        np.array([[1.5, 2.0], [2.0, 7.0]]),
        np.array([[0.0, -2.0], [2.0, 0.0]]),
    ],
)
def test_what_scipy_writes_is_read(tmp_path, matrix):
    path = tmp_path / "t.mtx"
    for form in (matrix, sparse.coo_array(matrix), sparse.coo_array(matrix.astype(int))):
        io.mmwrite(path, form, comment="a comment")
        expected = form.toarray() if sparse.issparse(form) else form
        np.testing.assert_array_equal(read_table(path, absent="zero").values, expected)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1"),
        ("nothing of the kind", "line 1"),
        (MARKET, "ends before the sizes"),
        (MARKET + "2 two 1\n", "should be 3 sizes"),
        (MARKET + "2 2 1\n", "ends before the first"),
        (
            MARKET + "900 1000 900000\n1 1 5\n",
            "declares 900,000 lines of 3 numbers, and has 1 of 3",
        ),
        (MARKET + "2 2 900000\n1 1 5\n", "stores 900,000 entries, and a matrix of 2 x 2 has 4"),
        (MARKET + "2 2 1\n" + "1 " * 2000, "is no entry of a matrix"),
        (MARKET + "900000 900000 1\n1 1 5\n", "at most"),
        (MARKET + "2 2 1\n1 1 5\n2 2 5\n", "and has more"),
        (MARKET + "2 2 1\n9 1 5\n", "entry 1 is at"),
        (MARKET + "2 2 1\n0 1 5\n", "entry 1 is at"),
        (MARKET + "2 2 1\n1 1 five\n", "could not convert string 'five'"),
        (MARKET.replace("real", "complex") + "2 2 1\n1 1 5 5\n", "cannot be read"),
    ],
)
def test_damaged_matrices_raise_an_error(tmp_path, text, words):
    for name, content in (("t.mtx", text.encode()), ("t.mtx.gz", gzip.compress(text.encode()))):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(TableError, match=words):
            read_table(tmp_path / name, absent="zero")


def test_more_stored_entries_than_the_matrix_has(tmp_path):
    path = tmp_path / "t.mtx.gz"
    with gzip.open(path, "wb", 9) as file:
        file.write(f"{MARKET}2 2 30000000\n".encode())
        for _ in range(300):
            file.write(b"1 1 1\n" * 100_000)
    result, grown = peak_of_reading(path, absent="zero")
    assert "stores 30,000,000 entries, and a matrix of 2 x 2 has 4" in result
    assert grown < 50


def test_comments_between_entries(tmp_path):
    path = tmp_path / "t.mtx.gz"
    with gzip.open(path, "wb", 9) as file:
        file.write(f"{MARKET}2 2 2\n1 1 5\n".encode())
        for _ in range(200):
            file.write(b"%" * (1 << 20) + b"\n")
        file.write(b"2 2 7\n")
    result, grown = peak_of_reading(path, absent="zero")
    assert "blanks, comments or long text" in result
    assert grown < 150


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([(MARKET, 0), ("%\n", 300)], "line 1|blanks, comments"),
        ([("1 1 1\n", 300)], "line 1"),
    ],
)
def test_compressed_files_without_entries_take_little_memory(tmp_path, parts, words):
    path = write_gzip(tmp_path / "t.mtx.gz", *parts)
    result, grown = peak_of_reading(path, absent="zero")
    assert result.startswith("refused")
    assert any(word in result for word in words.split("|"))
    assert grown < 150


def test_a_sparse_file_takes_a_few_times_the_matrix(tmp_path):
    path = tmp_path / "t.mtx"
    n_rows, n_columns = 2000, 1000
    lines = (f"{i} {j} 1.5\n" for i in range(1, n_rows + 1) for j in range(1, n_columns + 1))
    path.write_text(f"{MARKET}{n_rows} {n_columns} {n_rows * n_columns}\n{''.join(lines)}")
    result, grown = peak_of_reading(path, absent="zero")
    assert result == "read"
    kept = 8 * n_rows * n_columns / 1e6
    assert grown < 4 * kept + 150


def test_labels_are_bounded(tmp_path):
    (tmp_path / "matrix.mtx").write_text(f"{MARKET}200 2 1\n1 1 5\n")
    with gzip.open(tmp_path / "features.tsv.gz", "wb", 9) as file:
        for i in range(200):
            file.write(f"{i}\t".encode() + b"x" * (1 << 20) + b"\n")
    result, grown = peak_of_reading(tmp_path / "matrix.mtx", absent="zero")
    assert "features.tsv.gz" in result
    assert grown < 250


COUNTS = np.array([[0, 2, 1], [3, 0, 0], [0, 0, 4], [1, 0, 1]])


FEATURES = [
    "ENSG01\tMIR1302\tGene Expression",
    "ENSG02\tTBCE\tGene Expression",
    "ENSG03\tTBCE\tGene Expression",
    "ENSG04\t\tGene Expression",
]


GENES = ["MIR1302", "TBCE (ENSG02)", "TBCE (ENSG03)", "ENSG04"]


BARCODES = ["AAAC-1", "AAAG-1", "AAAT-1"]


def put(folder, name, lines):
    text = ("\n".join(lines) + "\n").encode()
    (folder / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)


def put_matrix(folder, name):
    plain = folder / name.removesuffix(".gz")
    io.mmwrite(plain, sparse.coo_array(COUNTS))
    if name.endswith(".gz"):
        (folder / name).write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()
    return folder / name


@pytest.mark.parametrize(
    ("matrix", "features", "barcodes"),
    [
        ("matrix.mtx.gz", "features.tsv.gz", "barcodes.tsv.gz"),
        ("matrix.mtx", "genes.tsv", "barcodes.tsv"),
        ("patient1_matrix.mtx.gz", "patient1_features.tsv", "patient1_barcodes.tsv.gz"),
    ],
)
def test_names_of_features_and_barcodes_are_used(tmp_path, matrix, features, barcodes):
    path = put_matrix(tmp_path, matrix)
    put(tmp_path, features, FEATURES)
    put(tmp_path, barcodes, BARCODES)
    table = read_table(path, absent="zero")
    assert (table.row_names, table.column_names) == (GENES, BARCODES)
    np.testing.assert_array_equal(table.values, COUNTS)
    assert f"Labels of rows: {features}." in table.notes
    assert f"Labels of columns: {barcodes}." in table.notes
    cells = read_table(path, absent="zero", transpose=True)
    assert (cells.row_names, cells.column_names) == (BARCODES, GENES)
    some = read_table(path, absent="zero", columns="AAAT-1")
    np.testing.assert_array_equal(some.values, COUNTS[:, 2:])


def test_labels_can_be_ignored(tmp_path):
    path = put_matrix(tmp_path, "matrix.mtx")
    put(tmp_path, "features.tsv", FEATURES[:2])
    table = read_table(path, absent="zero", labels=False)
    assert table.row_names[0] == "row 1"


def test_one_file_names_one_mode_and_other_matrices_have_none(tmp_path):
    put(tmp_path, "barcodes.tsv", BARCODES)
    table = read_table(put_matrix(tmp_path, "matrix.mtx"), absent="zero")
    assert (table.row_names[0], table.column_names) == ("row 1", BARCODES)
    other = read_table(put_matrix(tmp_path, "counts.mtx"), absent="zero")
    assert other.column_names[0] == "column 1"


@pytest.mark.parametrize(
    ("features", "words"),
    [
        (
            FEATURES[:3],
            r"features.tsv in its folder has 3 lines, and the matrix has 4 rows.*--no-labels",
        ),
        (FEATURES * 2, "features.tsv in its folder has more than 4 lines"),
        ([], "has 0 lines"),
        (
            [*FEATURES[:3], "ENSG04\t\0"],
            "features.tsv in its folder: line 4, character 8: a NUL byte",
        ),
    ],
)
def test_files_of_another_length_raise_an_error(tmp_path, features, words):
    path = put_matrix(tmp_path, "matrix.mtx")
    put(tmp_path, "features.tsv", features)
    with pytest.raises(TableError, match=words):
        read_table(path, absent="zero")


def test_features_that_occur_twice_are_numbered(tmp_path):
    path = put_matrix(tmp_path, "matrix.mtx")
    put(tmp_path, "features.tsv", [*FEATURES[:3], FEATURES[2]])
    table = read_table(path, absent="zero")
    assert table.row_names[2:] == ["TBCE (ENSG03)", "TBCE (ENSG03) (2)"]
    assert "TBCE (ENSG03)" in table.doubts[0]
