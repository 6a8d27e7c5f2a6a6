"""Matrix Market files and the labels of 10x Genomics in their folder."""

import gzip

import numpy as np
import pytest
from oracles.memory import peak_of_reading, write_gzip
from scipy import io, sparse

from comanifold.tables import TableError, read_table

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
