"""Small files that hold a lot, compressed, take little memory and end soon."""

import gzip
import zipfile
from io import BytesIO

import numpy as np
import pytest
from numpy.lib import format as npy
from oracles.memory import peak_growth

from comanifold.tables import TableError, _lines, read_table

MARKET = "%%MatrixMarket matrix coordinate real general\n"


def measured(path, before="", **options):
    """What is said of a file, and the memory that it takes in MB."""
    return peak_growth(f"read_table({str(path)!r}, **{options!r})", before)


def compressed(path, *parts):
    """A gzip file of texts, each with how often it stands there."""
    with gzip.open(path, "wb", 9) as file:
        for text, times in parts:
            block = text.encode() * max((1 << 20) // len(text), 1)
            for _ in range(times):
                file.write(block)
    assert path.stat().st_size < 1 << 20
    return path


@pytest.mark.parametrize(
    "parts",
    [
        [(" ", 300)],
        [("\n", 300)],
        [("# nothing to see\n", 300)],
        [("a", 300)],
        [("a,b\n1,2\n", 1), ("      \n", 300)],
        [("a,b\n1,2\n", 1), (" " * (1 << 19) + "1,2\n", 300)],
        [(f"{'x' * (1 << 19)},1,2\n", 300)],
    ],
)
def test_text_that_is_nearly_nothing(tmp_path, parts):
    told, grown = measured(compressed(tmp_path / "t.csv.gz", *parts))
    assert told.startswith("refused")
    assert grown < 500


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([(MARKET, 0), ("%\n", 300)], "line 1|blanks, comments"),
        ([("1 1 1\n", 300)], "line 1"),
    ],
)
def test_sparse_text_that_is_nearly_nothing(tmp_path, parts, words):
    path = compressed(tmp_path / "t.mtx.gz", *parts)
    told, grown = measured(path, absent="zero")
    assert told.startswith("refused")
    assert any(word in told for word in words.split("|"))
    assert grown < 150


def test_more_stored_entries_than_the_matrix_has(tmp_path):
    path = tmp_path / "t.mtx.gz"
    with gzip.open(path, "wb", 9) as file:
        file.write(f"{MARKET}2 2 30000000\n".encode())
        for _ in range(300):
            file.write(b"1 1 1\n" * 100_000)
    told, grown = measured(path, absent="zero")
    assert "stores 30,000,000 entries, and a matrix of 2 x 2 has 4" in told
    assert grown < 50


def test_comments_between_entries(tmp_path):
    path = tmp_path / "t.mtx.gz"
    with gzip.open(path, "wb", 9) as file:
        file.write(f"{MARKET}2 2 2\n1 1 5\n".encode())
        for _ in range(200):
            file.write(b"%" * (1 << 20) + b"\n")
        file.write(b"2 2 7\n")
    told, grown = measured(path, absent="zero")
    assert "blanks, comments or long text" in told
    assert grown < 150


def test_a_sparse_file_takes_a_few_times_the_matrix(tmp_path):
    path = tmp_path / "t.mtx"
    n_rows, n_columns = 2000, 1000
    lines = (f"{i} {j} 1.5\n" for i in range(1, n_rows + 1) for j in range(1, n_columns + 1))
    path.write_text(f"{MARKET}{n_rows} {n_columns} {n_rows * n_columns}\n{''.join(lines)}")
    told, grown = measured(path, absent="zero")
    assert told == "read"
    kept = 8 * n_rows * n_columns / 1e6
    assert grown < 4 * kept + 150


def test_labels_beside_a_matrix_are_bounded(tmp_path):
    (tmp_path / "matrix.mtx").write_text(f"{MARKET}200 2 1\n1 1 5\n")
    with gzip.open(tmp_path / "features.tsv.gz", "wb", 9) as file:
        for i in range(200):
            file.write(f"{i}\t".encode() + b"x" * (1 << 20) + b"\n")
    told, grown = measured(tmp_path / "matrix.mtx", absent="zero")
    assert "features.tsv.gz" in told
    assert grown < 250


def test_long_lines_and_runs_of_spaces_are_still_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(_lines, "_LEAST_CHARACTERS", 1000)
    path = tmp_path / "t.txt"
    for text in ("1.25   2.5     3\n" * 3000, "a,b\n" + "1,\n" * 3000, "a b\n" + "1  2\n" * 500):
        path.write_text(text)
        assert read_table(path).values.size >= 1000
    path.write_text("a,b\n1,2\n" + "\n" * 3000)
    with pytest.raises(TableError, match="blanks, comments"):
        read_table(path)


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


def test_arrays_that_are_not_asked_for_are_not_read(tmp_path):
    path = zipped(
        tmp_path / "t.npz",
        {
            "X": ((100, 100), "<f8"),
            "other": ((1 << 26,), "<f8"),
            "matrix": ((1 << 13, 9999), "<i1"),
        },
    )
    told, grown = measured(path, array="X")
    assert told == "read"
    assert grown < 30


def test_labels_in_an_archive_are_bounded_by_the_matrix(tmp_path):
    path = zipped(tmp_path / "t.npz", {"X": ((100, 3), "<f8"), "row_names": ((100,), "<U500000")})
    told, grown = measured(path)
    assert "'row_names' takes 200,000,000 bytes" in told
    assert grown < 30


@pytest.mark.parametrize("kind", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_archives_that_numpy_does_not_write_are_refused(tmp_path, kind):
    path = zipped(tmp_path / "t.npz", {"X": ((10, 10), "<f8")}, kind)
    with pytest.raises(TableError, match="another way than with deflate"):
        read_table(path)


@pytest.mark.parametrize("dtype", ["<f8", "<f4", "<i2", "|b1"])
def test_an_archive_takes_twice_the_matrix(tmp_path, dtype):
    path = zipped(tmp_path / "t.npz", {"X": ((5000, 1000), dtype)})
    told, grown = measured(path)
    assert told == "read"
    assert grown < 2.5 * 40 + 20


class TestParquet:
    @pytest.fixture(autouse=True)
    def _arrow(self):
        self.pa = pytest.importorskip("pyarrow")
        self.pq = pytest.importorskip("pyarrow.parquet")

    def write(self, path, columns, **options):
        self.pq.write_table(self.pa.table(columns), path, **options)
        return path

    def small(self, tmp_path):
        path = self.write(tmp_path / "small.parquet", {"t": ["x"], "a": [1.0]})
        return f"read_table({str(path)!r})"

    def test_every_kind_of_number(self, tmp_path):
        from decimal import Decimal

        pa = self.pa
        columns = {
            "f2": pa.array(np.array([1, 2], dtype=np.float16)),
            "f4": pa.array([1.5, None], pa.float32()),
            "i8": pa.array([1, None], pa.int64()),
            "u8": pa.array([2**63, 1], pa.uint64()),
            "yes": pa.array([True, None]),
            "decimal": pa.array([Decimal("1.25"), None]),
            "coded": pa.array([7, None]).dictionary_encode(),
            "nothing": pa.array([None, None]),
        }
        table = read_table(self.write(tmp_path / "t.parquet", columns))
        nan = np.nan
        expected = [[1, 1.5, 1, 2.0**63, 1, 1.25, 7, nan], [2, nan, nan, 1, nan, nan, nan, nan]]
        np.testing.assert_array_equal(table.values, expected)

    def test_text_and_dates_are_annotations(self, tmp_path):
        from datetime import UTC, date, datetime, timedelta

        moment = datetime(2020, 1, 2, 3, 4, tzinfo=UTC)
        columns = {
            "name": ["x", None, "z"],
            "a": [1.0, 2.0, 3.0],
            "kind": self.pa.array(["p", None, "p"]).dictionary_encode(),
            "day": [date(2020, 1, 2), None, date(2021, 1, 2)],
            "moment": [moment, None, moment],
            "while": [timedelta(seconds=1), None, None],
        }
        table = read_table(self.write(tmp_path / "t.parquet", columns))
        assert table.row_names == ["x", "row 2", "z"]
        assert table.column_names == ["a"]
        rows = table.annotations["rows"]
        assert rows["kind"] == ["p", "", "p"]
        assert rows["day"] == ["2020-01-02", "", "2021-01-02"]
        assert rows["moment"][0].startswith("2020-01-02 03:04")
        assert rows["while"][1:] == ["", ""]
        assert "'kind', 'day', 'moment', 'while'" in table.notes[1]
        with pytest.raises(TableError, match="no column holds numbers"):
            read_table(tmp_path / "t.parquet", columns="kind")

    @pytest.mark.parametrize("nested", [[[1.0], [2.0]], [{"b": 1}, {"b": 2}], [b"x", b"y"]])
    def test_nested_columns_are_refused_unless_left_out(self, tmp_path, nested):
        path = self.write(tmp_path / "t.parquet", {"a": [1.0, 2.0], "deep": nested})
        with pytest.raises(TableError, match=r"nested values: 'deep'.*--exclude"):
            read_table(path)
        assert read_table(path, exclude="deep").column_names == ["a"]

    def test_names_that_stand_twice(self, tmp_path):
        table = self.pa.Table.from_arrays([self.pa.array([1.0])] * 2, names=["a", "a"])
        self.pq.write_table(table, tmp_path / "t.parquet")
        with pytest.raises(TableError, match="several columns have the name 'a'"):
            read_table(tmp_path / "t.parquet")

    def test_names_with_points(self, tmp_path):
        path = self.write(tmp_path / "t.parquet", {"a.b": [1.0], "a": [2.0], "b": [3.0]})
        np.testing.assert_array_equal(read_table(path).values, [[1, 2, 3]])
        np.testing.assert_array_equal(read_table(path, columns="a").values, [[2]])

    def test_a_file_takes_a_few_times_the_matrix(self, tmp_path):
        rng = np.random.default_rng(0)
        columns = {f"c{j}": rng.normal(size=100_000) for j in range(50)}
        path = self.write(tmp_path / "t.parquet", columns, row_group_size=20_000)
        told, grown = measured(path, self.small(tmp_path))
        assert told == "read"
        assert grown < 3 * 40 + 40

    def test_columns_that_are_not_asked_for_are_not_read(self, tmp_path):
        long = self.pa.array(["x" * 1_000_000] * 1000).dictionary_encode()
        path = self.write(tmp_path / "t.parquet", {"a": np.ones(1000), "long": long})
        told, grown = measured(path, self.small(tmp_path), columns="a", labels=False)
        assert told == "read"
        assert grown < 30

    def test_a_long_text_that_stands_everywhere_is_kept_once(self, tmp_path):
        long = self.pa.array(["x" * 1_000_000] * 1000).dictionary_encode()
        path = self.write(tmp_path / "t.parquet", {"a": np.ones(1000), "long": long})
        told, grown = measured(path, self.small(tmp_path))
        assert told == "read"
        assert grown < 100

    def test_many_long_texts_are_refused(self, tmp_path):
        texts = [f"{i}" + "x" * 1_000_000 for i in range(200)]
        path = self.write(tmp_path / "t.parquet", {"a": np.ones(200), "long": texts})
        assert path.stat().st_size < 20_000_000
        told, grown = measured(path, self.small(tmp_path))
        assert "'long' takes" in told
        assert grown < 200

    def test_rows_that_are_only_declared(self, tmp_path):
        nulls = self.pa.nulls(30_000_000)
        path = self.write(tmp_path / "t.parquet", {"a": nulls, "b": nulls})
        told, grown = measured(path, self.small(tmp_path))
        assert "at most" in told
        assert grown < 30


def test_long_labels_are_refused_before_they_fill_the_memory(tmp_path):
    path = tmp_path / "t.csv.gz"
    row = "\U0001f600" * 12_000 + ",1" * 300 + "\n"
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
        file.write("g" + ",a" * 300 + "\n")
        file.writelines(f"{i}{row}" for i in range(2400))
    with pytest.raises(TableError, match="long text"):
        read_table(path)
