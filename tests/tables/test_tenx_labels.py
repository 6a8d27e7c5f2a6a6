"""Labels in files beside a matrix, as in the folders of 10x Genomics."""

import gzip

import numpy as np
import pytest
from scipy import io, sparse

from comanifold.tables import TableError, read_table

COUNTS = np.array([[0, 2, 1], [3, 0, 0], [0, 0, 4], [1, 0, 1]])
FEATURES = [
    "ENSG01\tMIR1302\tGene Expression",
    "ENSG02\tTBCE\tGene Expression",
    "ENSG03\tTBCE\tGene Expression",
    "ENSG04\t\tGene Expression",
]
ROWS = ["MIR1302", "TBCE (ENSG02)", "TBCE (ENSG03)", "ENSG04"]
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
    assert (table.row_names, table.column_names) == (ROWS, BARCODES)
    np.testing.assert_array_equal(table.values, COUNTS)
    assert f"Labels of rows: {features}." in table.notes
    assert f"Labels of columns: {barcodes}." in table.notes
    cells = read_table(path, absent="zero", transpose=True)
    assert (cells.row_names, cells.column_names) == (BARCODES, ROWS)
    some = read_table(path, absent="zero", columns="AAAT-1")
    np.testing.assert_array_equal(some.values, COUNTS[:, 2:])


def test_labels_can_be_left_alone(tmp_path):
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
            r"features.tsv beside it has 3 lines, and the matrix has 4 rows.*--no-labels",
        ),
        (FEATURES * 2, "features.tsv beside it has more than 4 lines"),
        ([], "has 0 lines"),
        ([*FEATURES[:3], "ENSG04\t\0"], "features.tsv beside it: line 4, character 8: a NUL byte"),
    ],
)
def test_names_that_do_not_fit_are_refused(tmp_path, features, words):
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
