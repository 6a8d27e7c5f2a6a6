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


def long_file(path, cells, last):
    """A table of one column, longer than what its layout is found from."""
    lines = [f"r{i}\t{cell}" for i, cell in enumerate([*cells, *last])]
    path.write_text("g\ta\n" + "\n".join(lines) + "\n")
    return path


class TestNumberFormatAfterTheFirstLines:
    """The whole file decides, not the first 200 lines."""

    def read(self, tmp_path, cells, last):
        table = read_table(long_file(tmp_path / "t.tsv", cells * 300, last))
        return table.values[[0, -1], 0].tolist(), table.doubts

    def test_commas_are_thousands(self, tmp_path):
        assert self.read(tmp_path, ["1,500"], ["0.5"]) == ([1500, 0.5], [])

    def test_commas_are_decimals(self, tmp_path):
        assert self.read(tmp_path, ["1,500"], ["0,5"]) == ([1.5, 0.5], [])

    def test_integers_then_decimal_commas(self, tmp_path):
        assert self.read(tmp_path, ["7"], ["0,5"]) == ([7, 0.5], [])

    def test_integers_then_many_groups(self, tmp_path):
        assert self.read(tmp_path, ["7"], ["1.234.567"]) == ([7, 1234567], [])

    def test_integers_then_points_that_are_thousands(self, tmp_path):
        values, doubts = self.read(tmp_path, ["950"], ["1.500"])
        assert values == [950, 1500]
        assert "--decimal ." in doubts[0]

    def test_points_are_thousands_by_a_decimal_comma(self, tmp_path):
        assert self.read(tmp_path, ["1.234"], ["0,5"]) == ([1234, 0.5], [])

    def test_points_are_decimals(self, tmp_path):
        assert self.read(tmp_path, ["1.234"], ["0.5"]) == ([1.234, 0.5], [])

    def test_points_that_stay_ambiguous(self, tmp_path):
        values, doubts = self.read(tmp_path, ["1.234"], ["5.678"])
        assert values == [1.234, 5.678]
        assert "--thousands ." in doubts[0]

    def test_commas_that_stay_ambiguous(self, tmp_path):
        with pytest.raises(TableError, match="--thousands , or --decimal ,"):
            self.read(tmp_path, ["1,234"], ["5,678"])

    def test_a_decimal_comma_among_decimal_points(self, tmp_path):
        with pytest.raises(TableError, match=r"line 302.*'0,5'.*--decimal ,"):
            self.read(tmp_path, ["0.5"], ["0,5"])
