"""From records to a table: roles of columns, and the number format of the whole file."""

import pytest

from comanifold.tables import TableError, read_table


def test_columns_of_text_are_annotations(file):
    path = file("gene,type,a,chr,b\nx,coding,1,1p,2\ny,coding,3,2q,4\n")
    table = read_table(path)
    assert table.column_names == ["a", "b"]
    assert table.annotations == {"rows": {"type": ["coding", "coding"], "chr": ["1p", "2q"]}}
    assert "Annotations of rows, not part of the matrix: 'type', 'chr'." in table.notes
    assert read_table(path, columns="3,5").annotations == {}


def read_column(tmp_path, first, last):
    """Read a table of one column whose last cell is beyond the sample of first lines."""
    path = tmp_path / "t.tsv"
    path.write_text("g\ta\n" + "".join(f"r{i}\t{first}\n" for i in range(300)) + f"s\t{last}\n")
    return read_table(path)


@pytest.mark.parametrize(
    ("first", "last", "values"),
    [
        ("1,500", "0.5", [1500, 0.5]),
        ("1,500", "0,5", [1.5, 0.5]),
        ("7", "0,5", [7, 0.5]),
        ("7", "1.234.567", [7, 1234567]),
        ("1.234", "0,5", [1234, 0.5]),
        ("1.234", "0.5", [1.234, 0.5]),
    ],
)
def test_the_whole_file_decides_on_the_number_format(tmp_path, first, last, values):
    table = read_column(tmp_path, first, last)
    assert table.values[[0, -1], 0].tolist() == values
    assert table.doubts == []


@pytest.mark.parametrize(
    ("first", "last", "values", "option"),
    [
        ("950", "1.500", [950, 1500], "--decimal ."),
        ("1.234", "5.678", [1.234, 5.678], "--thousands ."),
    ],
)
def test_ambiguous_points_raise_a_doubt(tmp_path, first, last, values, option):
    table = read_column(tmp_path, first, last)
    assert table.values[[0, -1], 0].tolist() == values
    assert option in table.doubts[0]


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [
        ("1,234", "5,678", "--thousands , or --decimal ,"),
        ("0.5", "0,5", r"line 302.*'0,5'.*--decimal ,"),
    ],
)
def test_ambiguous_and_contradicting_commas_raise_an_error(tmp_path, first, last, words):
    with pytest.raises(TableError, match=words):
        read_column(tmp_path, first, last)
