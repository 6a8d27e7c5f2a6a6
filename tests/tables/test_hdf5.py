"""H5AD files: as anndata writes them, damaged, and malicious."""

import time
import zlib

import numpy as np
import pytest
from oracles.memory import peak_of_reading
from scipy import sparse

from comanifold.tables import TableError, read_table

anndata = pytest.importorskip("anndata")
h5py = pytest.importorskip("h5py")
pd = pytest.importorskip("pandas")

ROWS = ["x", "y", "z"]
COLUMNS = ["a", "b"]
X = np.array([[0.0, 2.0], [3.0, 0.0], [5.0, 6.0]])


def annotated(matrix=X, **parts):
    obs = pd.DataFrame(
        {
            "kind": pd.Categorical(["p", None, "q"]),
            "age": [30, 40, 50],
            "weight": [1.5, np.nan, 2.5],
            "fresh": [True, False, True],
            "seen": pd.array([1, None, 3], dtype="Int64"),
            "sure": pd.array([True, None, False], dtype="boolean"),
            "level": pd.Categorical([2, 1, 2]),
            "comment": ["one", "two", "drei é"],
        },
        index=pd.Index(ROWS, dtype=object),
    )
    var = pd.DataFrame({"length": [10, 20]}, index=pd.Index(COLUMNS, dtype=object))
    return anndata.AnnData(matrix, obs=obs, var=var, **parts)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "t.h5ad"


@pytest.fixture
def plain(path):
    """A small file whose parts are to be replaced."""
    annotated().write_h5ad(path)
    return path


def refused(path, words, **options):
    with pytest.raises(TableError, match=words):
        read_table(path, **options)


def replace(path, name, **dataset):
    with h5py.File(path, "a") as file:
        attributes = dict(file[name].attrs)
        del file[name]
        made = file.create_dataset(name, **dataset)
        made.attrs.update(attributes)


@pytest.mark.parametrize("options", [{}, {"compression": "gzip"}, {"compression": "lzf"}])
@pytest.mark.parametrize(
    "form", [np.array, np.float32, np.int64, sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array]
)
def test_what_anndata_writes_is_read(path, form, options):
    annotated(form(X)).write_h5ad(path, **options)
    table = read_table(path, absent="zero")
    np.testing.assert_array_equal(table.values, X)
    assert (table.row_names, table.column_names) == (ROWS, COLUMNS)
    if sparse.issparse(form(X)):
        missing = read_table(path, absent="missing").values
        np.testing.assert_array_equal(missing, np.where(X == 0, np.nan, X))
        refused(path, "2 entries are not stored")


def test_layers(tmp_path):
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


@pytest.mark.parametrize("kind", [bool, np.float16, np.uint8, ">f4", np.int16])
def test_numbers_of_every_kind(path, kind):
    annotated(sparse.csr_matrix(X)).write_h5ad(path)
    with h5py.File(path, "a") as file:
        del file["X"]
        file["X"] = (X > 2).astype(kind)
    np.testing.assert_array_equal(read_table(path).values, X > 2)


def test_annotations_of_rows_and_columns(plain):
    table = read_table(plain)
    rows = table.annotations["rows"]
    nan = pytest.approx(float("nan"), nan_ok=True)
    assert rows == {
        "kind": ["p", "", "q"],
        "age": [30.0, 40.0, 50.0],
        "weight": [1.5, nan, 2.5],
        "fresh": ["True", "False", "True"],
        "seen": [1.0, nan, 3.0],
        "sure": ["True", "", "False"],
        "level": [2.0, 1.0, 2.0],
        "comment": ["one", "two", "drei é"],
    }
    assert list(rows) == list(annotated().obs.columns)
    assert table.annotations["columns"] == {"length": [10.0, 20.0]}
    assert read_table(plain, columns="b").annotations["columns"] == {"length": [20.0]}
    flipped = read_table(plain, transpose=True)
    assert flipped.annotations["columns"]["kind"] == ["p", "", "q"]


def test_categories_of_older_versions(plain):
    with h5py.File(plain, "a") as file:
        obs = file["obs"]
        del obs["kind"]
        obs["__categories/kind"] = np.array([b"p", b"q"])
        obs["kind"] = np.array([0, -1, 1], dtype=np.int8)
        obs["kind"].attrs["categories"] = obs["__categories/kind"].ref
    assert read_table(plain).annotations["rows"]["kind"] == ["p", "", "q"]


def test_columns_of_other_kinds_are_noted(plain):
    with h5py.File(plain, "a") as file:
        file["obs/odd"] = np.array([1j, 2j, 3j])
        file["obs"].create_group("stranger").attrs["encoding-type"] = "awkward-array"
    table = read_table(plain)
    assert any("Columns of obs that were not read: 'odd', 'stranger'" in n for n in table.notes)


def test_a_missing_matrix_offers_the_layers(path):
    annotated(None, layers={"counts": X}).write_h5ad(path)
    refused(path, r"X is empty; choose a layer \(--layer\): 'counts'")
    np.testing.assert_array_equal(read_table(path, layer="counts").values, X)
    refused(path, "no layer 'other'; there are 'counts'", layer="other")


def test_duplicate_and_unsorted_entries_are_added_up(path):
    annotated(sparse.csr_matrix(X)).write_h5ad(path)
    with h5py.File(path, "a") as file:
        file["X/indices"][...] = [1, 0, 1, 1]
    expected = np.array([[0, 2.0], [3.0, 0], [0, 11.0]])
    np.testing.assert_array_equal(read_table(path, absent="zero").values, expected)


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("X/indptr", [0, 1, 2], "indptr"),
        ("X/indptr", [0, 3, 2, 4], "does not ascend"),
        ("X/indptr", [1, 1, 2, 4], "does not ascend"),
        ("X/indptr", [0, 1, 2, 1 << 40], "does not ascend"),
        ("X/indptr", [0.0, 1.0, 2.0, 4.0], "not such numbers"),
        ("X/indices", [1, 0, 0, 2], "an index is not within 0 to 1"),
        ("X/indices", [1, 0, 0, -1], "an index is not within 0 to 1"),
        ("X/indices", [1, 0, 0], "'X/indices' has shape"),
        ("X/data", [1.0, 2.0], "'X/indices' has shape"),
        ("X/data", [1j, 2j, 3j, 4j], "real numbers"),
        ("obs/_index", ["x", "y"], r"'obs/_index' has shape \(2,\), and should have 3"),
        ("obs/age", [1, 2], "'obs/age' has shape"),
        ("obs/kind/codes", [0, 1, 2], "a code is not within -1 to 1"),
        ("obs/kind/codes", [0, 1, -2], "a code is not within -1 to 1"),
    ],
)
def test_inconsistent_parts_raise_an_error(path, name, values, words):
    annotated(sparse.csr_matrix(X)).write_h5ad(path)
    replace(path, name, data=values)
    refused(path, words, absent="zero")


def test_invalid_shapes_raise_an_error(path):
    annotated(sparse.csr_matrix(X)).write_h5ad(path)
    for shape, words in [
        ([3], "1 dimensions"),
        ([-3, 2], "a matrix has two"),
        ([3.0, 2.0], "the shape of 'X'"),
        ([10**6, 10**6], "at most"),
        ([10**8, 0], "at most"),
        ([3, 1], "4 entries"),
    ]:
        with h5py.File(path, "a") as file:
            file["X"].attrs["shape"] = shape
        refused(path, f"{words}|should have", absent="zero")
    with h5py.File(path, "a") as file:
        del file["X"].attrs["shape"]
    refused(path, "'X' is a csr_matrix, not a matrix", absent="zero")


def test_more_entries_than_the_matrix_has(path):
    annotated(sparse.csr_matrix(X)).write_h5ad(path)
    for name, values in {
        "X/data": np.ones(30),
        "X/indices": np.zeros(30, dtype=int),
        "X/indptr": [0, 10, 20, 30],
    }.items():
        replace(path, name, data=values)
    refused(path, "30 entries, and a matrix of 3 x 2 has 6", absent="zero")


@pytest.mark.parametrize("name", ["X", "obs/age", "obs/_index", "obs/kind/codes", "var/length"])
def test_data_of_other_files_are_not_read(plain, tmp_path, name):
    secret = tmp_path / "secret.h5"
    with h5py.File(plain) as file:
        original = file[name]
        shape, dtype = original.shape, original.dtype
        content = original[()]
    with h5py.File(secret, "w") as file:
        file.create_dataset("inside", data=content, dtype=dtype)

    layout = h5py.VirtualLayout(shape, dtype)
    layout[...] = h5py.VirtualSource(secret, "inside", shape, dtype)
    with h5py.File(plain, "a") as file:
        del file[name]
        file.create_virtual_dataset(name, layout)
    refused(plain, f"'{name}' is a virtual dataset")

    with h5py.File(plain, "a") as file:
        del file[name]
        file[name] = h5py.ExternalLink(secret, "inside")
    refused(plain, f"'{name}' lies in another file")

    if not dtype.hasobject:
        n_bytes = int(np.prod(shape)) * dtype.itemsize
        with h5py.File(plain, "a") as file:
            del file[name]
            file.create_dataset(name, shape, dtype, external=[(str(secret), 0, n_bytes)])
        refused(plain, f"'{name}' lies in another file")


def test_links_stay_within_the_parts_that_are_read(plain):
    def linked(name, target):
        with h5py.File(plain, "a") as file:
            if name in file:
                del file[name]
            file[name] = h5py.SoftLink(target)

    with h5py.File(plain, "a") as file:
        file["layers/counts"] = X + 1
        file["uns/secret"] = X
    linked("X", "/layers/counts")
    np.testing.assert_array_equal(read_table(plain).values, X + 1)
    linked("X", "layers/../uns/secret")
    refused(plain, "'X' is a link to '/uns/secret', which is not among X, layers, obs, var")
    linked("X", "/X")
    refused(plain, "'X' is a link that leads in a circle")
    linked("X", "/layers/turn")
    linked("layers/turn", "/X")
    refused(plain, "leads in a circle")
    linked("X", "/layers/none")
    refused(plain, "which does not exist")


def test_references_raise_an_error(plain):
    with h5py.File(plain, "a") as file:
        references = np.array([file["X"].ref] * 3, dtype=h5py.ref_dtype)
    replace(plain, "obs/age", data=references, dtype=h5py.ref_dtype)
    refused(plain, "'obs/age' holds 'references'")
    replace(plain, "obs/age", data=np.array([(1, 2.0)] * 3, dtype="i4,f8"))
    refused(plain, "'obs/age' holds")


def test_unknown_filters_raise_an_error(plain):
    with h5py.File(plain, "a") as file:
        del file["X"]
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_chunk((3, 2))
        properties.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, ())
        space = h5py.h5s.create_simple((3, 2))
        h5py.h5d.create(file.id, b"X", h5py.h5t.IEEE_F64LE, space, properties)
    refused(plain, "filter 32015.*compression='gzip'")


def test_junk_and_other_hdf5_files(path):
    path.write_bytes(b"junk")
    refused(path, "not an H5AD file")
    with h5py.File(path, "w") as file:
        file["matrix"] = X
    refused(path, "neither X nor obs")
    with h5py.File(path, "w") as file:
        file["X"] = X
        file["obs"] = np.array([(1, b"x")], dtype="i4,S1")
    refused(path, "anndata before 0.7")


def measured(path, tmp_path, **options):
    """Return the result of reading a file, and the memory in MB and the seconds that it takes."""
    small = tmp_path / "small.h5ad"
    annotated().write_h5ad(small)
    began = time.monotonic()
    result, grown = peak_of_reading(path, small, **options)
    return result, grown, time.monotonic() - began


def test_arrays_that_are_not_needed_are_not_read(plain, tmp_path):
    with h5py.File(plain, "a") as file:
        for i in range(31):
            file["uns"].create_dataset(
                f"bomb {i}", (46_000_000,), "f8", fillvalue=1.0, chunks=(1_000_000,)
            )
        file["obsm"].create_dataset("bomb", (10**12,), "f8", chunks=(10**6,), compression="gzip")
    result, grown, seconds = measured(plain, tmp_path)
    assert result == "read"
    assert grown < 30
    assert seconds < 20


@pytest.mark.parametrize("name", ["X", "X/data", "layers/counts", "obs/age", "obs/kind/categories"])
def test_sizes_that_are_only_declared_raise_an_error(path, tmp_path, name):
    annotated(sparse.csr_matrix(X) if "/data" in name else X, layers={"counts": X}).write_h5ad(path)
    shape = (4 * 10**8, 1) if name in ("X", "layers/counts") else (4 * 10**8,)
    replace(path, name, shape=shape, dtype="f8", compression="gzip", chunks=True)
    options = {"layer": "counts"} if "layers" in name else {"absent": "zero"}
    result, grown, _ = measured(path, tmp_path, **options)
    assert result.startswith("refused")
    assert grown < 30


def test_chunks_larger_than_the_matrix_raise_an_error(plain, tmp_path):
    replace(
        plain, "X", shape=X.shape, maxshape=(None, 2), chunks=(10**8, 2), dtype="f8", compression=9
    )
    result, grown, _ = measured(plain, tmp_path)
    assert "'a chunk of X' takes 1,600,000,000 bytes" in result
    assert grown < 30


def test_chunks_larger_than_declared_raise_an_error(plain, tmp_path):
    # A chunk of 1 MB, whose compressed bytes inflate to 600 MB.
    rows = 1 << 16
    deflater = zlib.compressobj(9)
    content = b"".join(deflater.compress(bytes(1 << 20)) for _ in range(600)) + deflater.flush()
    obs = pd.DataFrame(index=pd.Index([str(i) for i in range(rows)], dtype=object))
    anndata.AnnData(np.ones((rows, 2)), obs=obs).write_h5ad(plain)
    replace(plain, "X", shape=(rows, 2), chunks=(rows, 2), dtype="f8", compression=9)
    with h5py.File(plain, "a") as file:
        file["X"].id.write_direct_chunk((0, 0), content)
    result, grown, _ = measured(plain, tmp_path)
    assert "a chunk of 'X' holds more than the 1,048,576 bytes that it declares" in result
    assert grown < 100


def test_a_repeated_long_text_raises_an_error(plain, tmp_path):
    # Fixed length: declared. Variable length: 3,000 rows that all name the same megabyte.
    replace(plain, "obs/comment", data=np.array([b"x"] * 3, dtype="S100000000"), compression=9)
    result, grown, _ = measured(plain, tmp_path)
    assert "'obs/comment' takes 300,000,000 bytes" in result
    assert grown < 100

    n_rows = 3000
    obs = pd.DataFrame({"long": ["a"] * n_rows}, index=[str(i) for i in range(n_rows)])
    anndata.AnnData(np.ones((n_rows, 2)), obs=obs).write_h5ad(plain)
    with h5py.File(plain, "a") as file:
        del file["obs/long"]
        made = file["obs"].create_dataset("long", (n_rows,), h5py.string_dtype())
        made[0] = "y" * 1_000_000
        offset = made.id.get_offset()
    with open(plain, "r+b") as file:
        file.seek(offset)
        first = file.read(16)
        file.seek(offset)
        file.write(first * n_rows)
    result, grown, _ = measured(plain, tmp_path)
    assert "'obs/long' takes" in result
    assert grown < 250


def test_annotations_beyond_the_bound_are_left_out(path):
    n_rows, n_columns = 50_000, 80
    obs = pd.DataFrame(
        np.zeros((n_rows, n_columns)),
        columns=[f"c{i:02}" for i in range(n_columns)],
        index=[str(i) for i in range(n_rows)],
    )
    anndata.AnnData(np.ones((n_rows, 2)), obs=obs).write_h5ad(path)
    table = read_table(path)
    kept = table.annotations["rows"]
    assert 10 < len(kept) < n_columns
    assert any("Columns of obs that were not read: 'c" in note for note in table.notes)
