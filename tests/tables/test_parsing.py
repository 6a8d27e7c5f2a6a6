"""Rows: errors that name the line and the column, and bounded labels."""

import gzip

import pytest

from comanifold.tables import TableError, read_table


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("a,b,c\n", "no line of data"),
        ("g,a,b\nx,1,2\ny,3\n", "line 3 has 2 cells, the header has 3"),
        ("g,a,b\nx,1,2\ny,3,4,5\n", "line 3 has 4 cells"),
        ('g,a,b\n"x\n1",1,2\ny,3\n', "line 4 has 2 cells"),
        ("g,a,b\nx,1,2\ny,3,oops\nz,1,2\n", r"line 3, column 3 \('b'\): 'oops' is not a number"),
        ("g,a,b\nx,1,2\ny,3,1_000\nz,1,2\n", "'1_000' is not a number"),
        ("g,a,b\nx,1,2\ny,3,inf\n", r"line 3, column 3 \('b'\): 'inf' is infinite"),
        ("g,a,b\nx,NA,\ny,-,\n", "every entry is missing"),
        (b"g,a,b\nx,1,2\ny,\x00,4\n", "line 3, character 3: a NUL byte"),
        (b"g,a,b\nx,1,2\n\x81,3,4\n", "line 3, character 1: not text in the expected encoding"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "not text|NUL byte"),
        ('g,a,b\nx,1,2\n"y,3,4\n' + "z,5,6\n" * 40_000, "quote"),
        ("x;1,5;2.5\ny;1,5;2,5\nz;3,5;1,5\n", "decimal marks are commas"),
        ("x,y\nz,w\n", "no column of data|holds text"),
    ],
)
def test_errors_name_the_file_the_line_and_the_column(file, content, words):
    path = file(content)
    with pytest.raises(TableError, match=words) as caught:
        read_table(path)
    assert str(caught.value).startswith(str(path))
    assert len(str(caught.value)) < 500


def test_long_labels_raise_before_they_fill_the_memory(tmp_path):
    path = tmp_path / "t.csv.gz"
    row = "\U0001f600" * 12_000 + ",1" * 300 + "\n"
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
        file.write("g" + ",a" * 300 + "\n")
        file.writelines(f"{i}{row}" for i in range(2400))
    with pytest.raises(TableError, match="long text"):
        read_table(path)
