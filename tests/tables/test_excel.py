"""XLSX files: sheets, cells, damage and bounded memory."""

import datetime
import io
import zipfile
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.damage import damaged

from comanifold.tables import TableError, read_table

openpyxl = pytest.importorskip("openpyxl")

TABLE = [["gene", "a", "b"], ["x", 1, 2.5], ["y", None, 1234.567]]


@pytest.fixture
def put(tmp_path):
    def write(sheets):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for name, rows in sheets.items():
            sheet = book.create_sheet(name)
            for row in rows:
                sheet.append(row)
        path = tmp_path / "t.xlsx"
        book.save(path)
        return path

    return write


def test_a_sheet(put):
    table = read_table(put({"data": TABLE}))
    np.testing.assert_array_equal(table.values, [[1, 2.5], [np.nan, 1234.567]])
    assert (table.row_names, table.column_names) == (["x", "y"], ["a", "b"])
    assert table.notes[0] == "Sheet 'data'; row 1 is a header; labels of rows in column 1 ('gene')."
    assert table.doubts == []
    assert table.read_as["sheet"] == "data"
    flipped = read_table(put({"data": TABLE}), transpose=True)
    assert flipped.row_names == ["a", "b"]


def test_skipped_rows_are_counted_with_empty_ones(put):
    rows = [["Trial 7"], [], ["3", "arms", "2"], *TABLE]
    table = read_table(put({"data": rows}), skip_rows=3)
    assert (table.row_names, table.column_names) == (["x", "y"], ["a", "b"])


def test_cells_of_all_kinds(put):
    day = datetime.datetime(2020, 1, 31)
    rows = [
        ["Trial", None, None, None, None],
        ["id", "visit", "seen", 1990, "note"],
        [7, day, True, 1.234, "12%"],
        [8, day, False, 2.345, "7"],
        [9, None, None, "#N/A", None],
    ]
    table = read_table(put({"data": rows}))
    np.testing.assert_array_equal(
        table.values, [[1, 1.234, 12], [0, 2.345, 7], [np.nan, np.nan, np.nan]]
    )
    assert table.row_names == ["7", "8", "9"]
    assert table.column_names == ["seen", "1990", "note"]
    assert table.annotations == {"rows": {"visit": ["2020-01-31", "2020-01-31", ""]}}
    assert not any("--thousands" in doubt for doubt in table.doubts)


def test_the_only_sheet_with_numbers_is_taken(put):
    path = put({"read me": [["made by hand"]], "data": TABLE, "empty": []})
    assert read_table(path).row_names == ["x", "y"]
    with pytest.raises(TableError, match="is empty"):
        read_table(path, sheet="empty")


def test_a_sheet_is_chosen_by_name_or_number(put):
    path = put({"one": TABLE, "two": [["g", "z"], ["p", 5], ["q", 6]]})
    with pytest.raises(TableError, match=r"2 of its 2 sheets.*--sheet.*'one', 'two'"):
        read_table(path)
    for sheet in ("two", 2, "2"):
        assert read_table(path, sheet=sheet).column_names == ["z"]
    with pytest.raises(TableError, match=r"no sheet 'three'; there are 'one', 'two'"):
        read_table(path, sheet="three")


def test_invalid_text_cells_raise_an_error(put):
    rows = [["g", "a"], ["x", 1.5], ["y", "2,5x"], ["z", 3]]
    with pytest.raises(TableError, match=r"row 3, column 2 \('a'\): '2,5x' is not a number"):
        read_table(put({"data": rows}))


def test_a_long_sheet_is_read_to_its_end(put):
    rows = [["g", "a", "b"], *([f"r{i}", i, i / 2] for i in range(500)), ["end", 1, None]]
    table = read_table(put({"data": rows}))
    assert table.values.shape == (501, 2)
    assert np.isnan(table.values[500, 1])


def test_formulas_without_a_stored_result_are_reported(put):
    rows = [["g", "a", "b"], ["x", 1, "=B2*2"], ["y", 3, "=B3*2"], ["z", 5, 7]]
    table = read_table(put({"data": rows}))
    assert any("2 formulas" in doubt for doubt in table.doubts)


def test_archives_that_would_fill_the_memory_raise_an_error(put):
    path = put({"data": TABLE})
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/sharedStrings2.xml", b"0" * ((1 << 28) + 1))
    with pytest.raises(TableError, match="it unpacks to"):
        read_table(path)


@pytest.mark.parametrize("content", [b"", b"PK\3\4 and no more", b"a,b\n1,2\n"])
def test_other_files_raise_an_error(tmp_path, content):
    path = tmp_path / "t.xlsx"
    path.write_bytes(content)
    with pytest.raises(TableError, match="not an XLSX file"):
        read_table(path)


def test_other_archives_raise_an_error(tmp_path):
    path = tmp_path / "t.xlsx"
    np.savez(tmp_path / "t.npz", X=np.ones((2, 2)))
    path.write_bytes((tmp_path / "t.npz").read_bytes())
    with pytest.raises(TableError, match="it has no workbook"):
        read_table(path)


@cache
def workbook_bytes():
    """A workbook, written once: it holds the time of writing."""
    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in TABLE:
        book.active.append(row)
    book.save(file)
    return file.getvalue()


@given(data=st.data())
def test_damaged_spreadsheets_are_read_or_raise_an_error(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("sheets") / "t.xlsx"
    path.write_bytes(data.draw(damaged(workbook_bytes())))
    try:
        table = read_table(path)
    except (TableError, OSError) as error:
        assert str(path) in str(error)  # noqa: PT017
        return
    assert table.values.shape == (len(table.row_names), len(table.column_names))
