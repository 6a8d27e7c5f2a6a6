"""Writing tables in every format."""

import numpy as np
import pytest

from comanifold.tables import Table, TableError, read_table, write_table

X = np.array([[1.0, np.nan, 3.0], [4.0, 5.5, np.nan]])


TABLE = Table(X, ["x", "y"], ["a", "b", "c"], corner="gene")


@pytest.mark.parametrize("name", ["t.csv", "t.tsv.gz", "t.parquet", "t.npz", "t.h5ad", "t.npy"])
def test_every_format_is_read_again(tmp_path, name):
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


def test_an_unknown_format_raises_an_error(tmp_path):
    with pytest.raises(TableError, match=r"should end with one of \.csv"):
        write_table(tmp_path / "t.xlsx", TABLE)
    assert not list(tmp_path.iterdir())


def test_the_same_table_gives_the_same_bytes(tmp_path):
    for name in ("1.csv.gz", "2.csv.gz"):
        write_table(tmp_path / name, TABLE)
    assert (tmp_path / "1.csv.gz").read_bytes() == (tmp_path / "2.csv.gz").read_bytes()
