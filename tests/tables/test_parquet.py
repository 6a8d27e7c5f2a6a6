"""Parquet files: kinds of columns, labels, and bounded memory."""

import numpy as np
import pytest
from oracles.memory import peak_of_reading

from comanifold.tables import TableError, read_table

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def test_labels_and_text(tmp_path):
    pd = pytest.importorskip("pandas")
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


def write(path, columns, **options):
    pq.write_table(pa.table(columns), path, **options)
    return path


def small(tmp_path):
    return write(tmp_path / "small.parquet", {"t": ["x"], "a": [1.0]})


def test_every_kind_of_number(tmp_path):
    from decimal import Decimal

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
    table = read_table(write(tmp_path / "t.parquet", columns))
    nan = np.nan
    expected = [[1, 1.5, 1, 2.0**63, 1, 1.25, 7, nan], [2, nan, nan, 1, nan, nan, nan, nan]]
    np.testing.assert_array_equal(table.values, expected)


def test_text_and_dates_are_annotations(tmp_path):
    from datetime import UTC, date, datetime, timedelta

    moment = datetime(2020, 1, 2, 3, 4, tzinfo=UTC)
    columns = {
        "name": ["x", None, "z"],
        "a": [1.0, 2.0, 3.0],
        "kind": pa.array(["p", None, "p"]).dictionary_encode(),
        "day": [date(2020, 1, 2), None, date(2021, 1, 2)],
        "moment": [moment, None, moment],
        "while": [timedelta(seconds=1), None, None],
    }
    table = read_table(write(tmp_path / "t.parquet", columns))
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
def test_nested_columns_raise_an_error_unless_excluded(tmp_path, nested):
    path = write(tmp_path / "t.parquet", {"a": [1.0, 2.0], "deep": nested})
    with pytest.raises(TableError, match=r"nested values: 'deep'.*--exclude"):
        read_table(path)
    assert read_table(path, exclude="deep").column_names == ["a"]


def test_repeated_names_raise_an_error(tmp_path):
    table = pa.Table.from_arrays([pa.array([1.0])] * 2, names=["a", "a"])
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(TableError, match="several columns have the name 'a'"):
        read_table(tmp_path / "t.parquet")


def test_names_with_points(tmp_path):
    path = write(tmp_path / "t.parquet", {"a.b": [1.0], "a": [2.0], "b": [3.0]})
    np.testing.assert_array_equal(read_table(path).values, [[1, 2, 3]])
    np.testing.assert_array_equal(read_table(path, columns="a").values, [[2]])


def test_a_file_takes_a_few_times_the_matrix(tmp_path):
    rng = np.random.default_rng(0)
    columns = {f"c{j}": rng.normal(size=100_000) for j in range(50)}
    path = write(tmp_path / "t.parquet", columns, row_group_size=20_000)
    result, grown = peak_of_reading(path, small(tmp_path))
    assert result == "read"
    assert grown < 3 * 40 + 40


def test_other_columns_are_not_read(tmp_path):
    long = pa.array(["x" * 1_000_000] * 1000).dictionary_encode()
    path = write(tmp_path / "t.parquet", {"a": np.ones(1000), "long": long})
    result, grown = peak_of_reading(path, small(tmp_path), columns="a", labels=False)
    assert result == "read"
    assert grown < 30


def test_a_repeated_long_text_is_kept_once(tmp_path):
    long = pa.array(["x" * 1_000_000] * 1000).dictionary_encode()
    path = write(tmp_path / "t.parquet", {"a": np.ones(1000), "long": long})
    result, grown = peak_of_reading(path, small(tmp_path))
    assert result == "read"
    assert grown < 100


def test_many_long_texts_raise_an_error(tmp_path):
    texts = [f"{i}" + "x" * 1_000_000 for i in range(200)]
    path = write(tmp_path / "t.parquet", {"a": np.ones(200), "long": texts})
    assert path.stat().st_size < 20_000_000
    result, grown = peak_of_reading(path, small(tmp_path))
    assert "'long' takes" in result
    assert grown < 200


def test_rows_that_are_only_declared_raise_an_error(tmp_path):
    nulls = pa.nulls(30_000_000)
    path = write(tmp_path / "t.parquet", {"a": nulls, "b": nulls})
    result, grown = peak_of_reading(path, small(tmp_path))
    assert "at most" in result
    assert grown < 30
