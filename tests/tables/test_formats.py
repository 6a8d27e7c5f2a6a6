"""Tables in the files of other programs."""

import gzip
import pickle
import zipfile
from io import BytesIO

import numpy as np
import pytest
from numpy.lib import format as npy
from scipy import io, sparse

from comanifold.tables import Table, TableError, read_table, write_table
from comanifold.tables._columns import as_ranges

X = np.array([[1.0, np.nan, 3.0], [4.0, 5.5, np.nan]])
TABLE = Table(X, ["x", "y"], ["a", "b", "c"], corner="gene")


@pytest.mark.parametrize("name", ["t.csv", "t.tsv.gz", "t.parquet", "t.npz", "t.h5ad", "t.npy"])
def test_every_format_comes_back(tmp_path, name):
    for package in {"t.parquet": ["pandas", "pyarrow"], "t.h5ad": ["anndata"]}.get(name, []):
        pytest.importorskip(package)
    write_table(tmp_path / name, TABLE)
    again = read_table(tmp_path / name)
    np.testing.assert_array_equal(again.values, X)
    if name != "t.npy":
        assert (again.row_names, again.column_names) == (TABLE.row_names, TABLE.column_names)
    assert "Missing: 2" in again.notes[-1]
    assert [file.name for file in tmp_path.iterdir()] == [name]
    flipped = read_table(tmp_path / name, transpose=True)
    np.testing.assert_array_equal(flipped.values, X.T)
    assert flipped.row_names == again.column_names
    some = read_table(tmp_path / name, columns="2-3" if name[2] in "pnh" else "3-4")
    np.testing.assert_array_equal(some.values, X[:, 1:])


def test_an_ending_that_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(TableError, match=r"should end with one of \.csv"):
        write_table(tmp_path / "t.xlsx", TABLE)
    assert not list(tmp_path.iterdir())


def test_the_same_table_gives_the_same_bytes(tmp_path):
    for name in ("1.csv.gz", "2.csv.gz"):
        write_table(tmp_path / name, TABLE)
    assert (tmp_path / "1.csv.gz").read_bytes() == (tmp_path / "2.csv.gz").read_bytes()


def test_numbers_that_mean_missing_do_so_everywhere(tmp_path):
    np.save(tmp_path / "t.npy", np.array([[1, 999], [3, 4]]))
    table = read_table(tmp_path / "t.npy", missing=[999])
    np.testing.assert_array_equal(table.values, [[1, np.nan], [3, 4]])
    assert "1 '999'" in table.notes[-1]


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
def test_arrays_that_are_no_matrix_are_refused(tmp_path, name, array, words):
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
def test_sizes_that_do_not_fit_the_file_are_refused(tmp_path, shape):
    path = tmp_path / "t.npy"
    path.write_bytes(declared(shape))
    with pytest.raises(TableError, match="damaged or cut short"):
        read_table(path)
    path = tmp_path / "t.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", declared(shape))
    with pytest.raises(TableError, match="damaged or cut short"):
        read_table(path)


def test_which_array_is_asked_for_where_there_are_several(tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, X=np.ones((2, 2)), Y=np.zeros((3, 2)), names=np.array(["a"]))
    with pytest.raises(TableError, match=r"--array.*'X', 'Y'"):
        read_table(path)
    assert read_table(path, array="Y").values.shape == (3, 2)
    with pytest.raises(TableError, match="no array 'Z'"):
        read_table(path, array="Z")


@pytest.mark.parametrize("name", ["t.mtx", "t.mtx.gz"])
def test_absent_entries_of_a_sparse_matrix_mean_what_is_said(tmp_path, name):
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


def test_where_all_entries_are_stored_there_is_nothing_to_say(tmp_path):
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


BEGIN = "%%MatrixMarket matrix coordinate real general\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1"),
        ("nothing of the kind", "line 1"),
        (BEGIN, "ends before the sizes"),
        (BEGIN + "2 two 1\n", "should be 3 sizes"),
        (BEGIN + "2 2 1\n", "ends before the first"),
        (BEGIN + "900 1000 900000\n1 1 5\n", "has 900,000 lines of 3 numbers, and has 1 of 3"),
        (BEGIN + "2 2 900000\n1 1 5\n", "stores 900,000 entries, and a matrix of 2 x 2 has 4"),
        (BEGIN + "2 2 1\n" + "1 " * 2000, "is no entry of a matrix"),
        (BEGIN + "900000 900000 1\n1 1 5\n", "at most"),
        (BEGIN + "2 2 1\n1 1 5\n2 2 5\n", "and has more"),
        (BEGIN + "2 2 1\n9 1 5\n", "entry 1 is at"),
        (BEGIN + "2 2 1\n0 1 5\n", "entry 1 is at"),
        (BEGIN + "2 2 1\n1 1 five\n", "could not convert string 'five'"),
        (BEGIN.replace("real", "complex") + "2 2 1\n1 1 5 5\n", "cannot be read"),
    ],
)
def test_damaged_sparse_matrices_are_refused(tmp_path, text, words):
    for name, content in (("t.mtx", text.encode()), ("t.mtx.gz", gzip.compress(text.encode()))):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(TableError, match=words):
            read_table(tmp_path / name, absent="zero")


def test_parquet_labels_and_text(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    frame = pd.DataFrame({"gene": ["x", "y"], "kind": ["p", "q"], "a": [1, 2], "b": [None, 1.5]})
    frame.to_parquet(path)
    assert read_table(path).annotations == {"rows": {"kind": ["p", "q"]}}
    assert "annotations of the rows, not data: 'kind'" in read_table(path).notes[1]
    table = read_table(path, exclude="kind")
    assert table.annotations == {}
    assert (table.row_names, table.corner) == (["x", "y"], "gene")
    np.testing.assert_array_equal(table.values, [[1, np.nan], [2, 1.5]])
    assert read_table(path, labels="kind", exclude="gene").row_names == ["p", "q"]
    frame["a"] = frame["a"].astype("Int64")
    frame.loc[0, "a"] = pd.NA
    frame.to_parquet(path)
    assert np.isnan(read_table(path, columns="a,b").values[0]).all()
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(TableError, match="Parquet"):
        read_table(path)


def test_layers_of_annotated_data(tmp_path):
    anndata = pytest.importorskip("anndata")
    pd = pytest.importorskip("pandas")
    data = anndata.AnnData(
        sparse.csr_matrix([[0.0, 2.0], [3.0, 0.0]]),
        obs=pd.DataFrame(index=pd.Index(["x", "y"], dtype=object)),
        var=pd.DataFrame(index=pd.Index(["a", "b"], dtype=object)),
        layers={"raw": np.array([[1.0, 2.0], [3.0, 4.0]])},
    )
    path = tmp_path / "t.h5ad"
    data.write_h5ad(path)
    with pytest.raises(TableError, match="--absent"):
        read_table(path)
    assert np.isnan(read_table(path, absent="missing").values).sum() == 2
    assert read_table(path, layer="raw").values[1, 1] == 4.0
    with pytest.raises(TableError, match=r"no layer 'spliced'.*'raw'"):
        read_table(path, layer="spliced")
    path.write_bytes(b"junk")
    with pytest.raises(TableError, match="H5AD"):
        read_table(path)


def test_ranges():
    assert as_ranges([0, 1, 2, 4, 6, 7]) == "1-3,5,7-8"


def test_an_array_with_a_header_of_python_2_is_read_without_a_warning(tmp_path):
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (3L, 2L), }"
    header = header.ljust(117) + "\n"
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
    content += np.arange(6.0).tobytes()
    (tmp_path / "t.npy").write_bytes(content)
    np.testing.assert_array_equal(
        read_table(tmp_path / "t.npy").values, np.arange(6.0).reshape(3, 2)
    )
