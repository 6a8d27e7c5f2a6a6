"""Selected columns, bounds on size, and texts in messages."""

import gzip

import pytest

from comanifold.tables import TableError, read_table


def test_columns_are_selected_by_name_number_and_range(file):
    path = file('gene,type,"a,b",c,d\nx,p,1,2,3\ny,q,4,5,6\n')
    for columns in ("3-5", ["a,b", "c", "d"], '"a,b",4,d'):
        assert read_table(path, columns=columns).column_names == ["a,b", "c", "d"]
    assert read_table(path, exclude="type,c").column_names == ["a,b", "d"]
    assert read_table(path, columns="1-5", exclude=[2]).row_names == ["x", "y"]
    for wrong in ("e", "2-9", "0", "4-3"):
        with pytest.raises(TableError, match="column"):
            read_table(path, columns=wrong)
    with pytest.raises(TableError, match="no column is left"):
        read_table(path, exclude="1-5")


def test_errors_suggest_columns_to_exclude(file):
    rows = "".join(f"r{i},1,2,3,4,5\n" for i in range(5))
    with pytest.raises(TableError, match=r"--exclude 2-4,6$"):
        read_table(file(f"g,a,b,c,d,e\n{rows}s,x,x,x,4,x\n"))


def test_long_text_is_cut_short_in_messages(file):
    with pytest.raises(TableError) as caught:
        read_table(file("a,b\n1,2\n3,4\n5," + "x" * 5000 + "\n"))
    assert len(str(caught.value)) < 300


def test_the_number_of_entries_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("comanifold.tables._table.MAX_ENTRIES", 1000)
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"1,2\n" * 1_000_000))
    with pytest.raises(TableError, match="at most 1,000 can be read"):
        read_table(path)
