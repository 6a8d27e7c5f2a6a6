"""Header lines and row labels, given and auto-detected."""

import numpy as np
import pytest

from comanifold.tables import read_table

NAN = np.nan


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        ("gene,a,b\nx,1,2\ny,3,\n", "t.csv", ["commas", "header", "column 1 ('gene')"]),
        ("gene\ta\tb\nx\t1\t2\ny\t3\tNA\n", "t.tsv", ["tabs"]),
        ("gene;a;b\nx;1,0;2\ny;3,0;\n", "t.csv", ["semicolons with decimal commas"]),
        ("gene|a|b\nx|1|2\ny|3|?\n", "t.txt", ["bars"]),
        ("gene a b\nx 1  2\ny 3 NaN\n", "t.txt", ["spaces"]),
        ("a,b\nx,1,2\ny,3,-\n", "t.csv", ["header", "column 1."]),
        (",a,b\nx,1,2\ny,3,.\n", "t.csv", ["header", "column 1."]),
        ("\ufeffgene,a,b\r\nx,1,2\r\ny,3,\r\n", "t.csv", ["column 1 ('gene')"]),
        ("gene,a,b\rx,1,2\ry,3,\r", "t.csv", ["header"]),
        ("gene,a,b\n\nx,1,2\n\ny,3,n/a\n\n", "t.csv", ["header"]),
        ("id,a,b\nx,1,2\ny,3,#N/A", "t.csv", ["column 1 ('id')"]),
    ],
)
def test_the_layout_is_detected_and_noted(file, content, name, words):
    table = read_table(file(content, name))
    np.testing.assert_array_equal(table.values, [[1, 2], [3, NAN]])
    assert (table.row_names, table.column_names) == (["x", "y"], ["a", "b"])
    for word in words:
        assert word in table.notes[0]


@pytest.mark.parametrize(
    ("content", "rows", "columns"),
    [
        ("1,2\n3,4\n", ["row 1", "row 2"], ["column 1", "column 2"]),
        ("a,b\n1,2\n3,4\n", ["row 1", "row 2"], ["a", "b"]),
        ("x,1,2\ny,3,4\n", ["x", "y"], ["column 2", "column 3"]),
        (",2001,2002\n7,1,2\n9,3,4\n", ["7", "9"], ["2001", "2002"]),
        ("id,2001,2002\n7,1,2\n9,3,4\n", None, None),
    ],
)
def test_absent_and_numeric_headers_and_labels(file, content, rows, columns):
    if rows is None:  # names that could be data: given, not guessed
        table = read_table(file(content), header=True)
        rows, columns = ["7", "9"], ["2001", "2002"]
    else:
        table = read_table(file(content))
    np.testing.assert_array_equal(table.values, [[1, 2], [3, 4]])
    assert (table.row_names, table.column_names) == (rows, columns)


def test_consecutive_numbers_are_a_header(file):
    table = read_table(file("0,1,2\n5,6,7\n8,9,9\n"))
    assert table.column_names == ["0", "1", "2"]


def test_given_options_override_detection(file):
    path = file("a,b,c\n1,2,3\n4,5,6\n")
    table = read_table(path, labels="b", delimiter=",")
    assert (table.row_names, table.column_names) == (["2", "5"], ["a", "c"])
    assert read_table(path, labels=3).row_names == ["3", "6"]
    path = file("1,2\n3,4\n")
    assert read_table(path, header=True).column_names == ["1", "2"]
    assert read_table(path, labels=True).row_names == ["1", "3"]
    flipped = read_table(file("g,a,b\nx,1,2\n"), transpose=True)
    np.testing.assert_array_equal(flipped.values, [[1], [2]])
    assert (flipped.row_names, flipped.column_names) == (["a", "b"], ["x"])


@pytest.mark.parametrize(
    "lines",
    [
        "1990,1991,1992,1993,1994\n0,0,0,0,0\n,1500,,1500,1500\n",
        "1990,1991\n0,0\n1500,1500\n",
        "1990,1991\n1500,1500\n1500,1500\n",
    ],
)
def test_years_in_order_above_rows_that_are_not_are_doubted(tmp_path, lines):
    path = tmp_path / "t.csv"
    path.write_text(lines)
    table = read_table(path)
    assert len(table.values) == 3
    assert any("holds years" in doubt and "--header" in doubt for doubt in table.doubts)


def test_rows_of_years_in_order_are_data_without_a_doubt(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("1950,1990\n1944,2001\n1931,1999\n1960,2010\n")
    table = read_table(path)
    assert len(table.values) == 4
    assert not any("holds years" in doubt for doubt in table.doubts)
