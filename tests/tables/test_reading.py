"""Reading any file: formats by name, and errors for anything that is no table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from comanifold.tables import Table, TableError, read_table, write_table


def test_files_that_cannot_be_opened(tmp_path, file):
    with pytest.raises(FileNotFoundError, match="no such file"):
        read_table(tmp_path / "nothing.csv")
    for name in ("folder.csv", "filtered_feature_bc_matrix"):
        (tmp_path / name).mkdir()
        with pytest.raises(IsADirectoryError, match="is a folder: name the file in it"):
            read_table(tmp_path / name)
    with pytest.raises(TableError, match=r"should end with one of \.csv, \.tsv"):
        read_table(file("1,2\n", "table.doc"))
    with pytest.raises(TableError, match="one to three characters"):
        read_table(file("1,2\n"), delimiter="::::")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delimiter": "::::"}, "delimiter must be one to three characters"),
        ({"absent": "none"}, 'absent must be "missing" or "zero", got \'none\''),
        ({"decimal": ";"}, "decimal must be"),
        ({"thousands": "x"}, "thousands must be"),
        ({"decimal": ",", "thousands": ","}, "decimal and thousands must differ"),
        ({"censored": "zero"}, "censored must be"),
        ({"skip_rows": -1}, "skip_rows must be a number of lines"),
    ],
)
def test_invalid_options(file, options, words):
    with pytest.raises(TableError, match=words):
        read_table(file("1,2\n3,4\n"), **options)


def read_or_none(path, **options):
    """The table in a file, or None if the error names the file."""
    try:
        return read_table(path, **options)
    except TableError as error:
        message = str(error)
    assert message.startswith(str(path))
    return None


@given(content=st.binary(max_size=300))
def test_any_bytes_are_a_table_or_an_error(tmp_path_factory, content):
    for name in ("t.csv", "t.csv.gz", "t.npy", "t.npz", "t.mtx"):
        path = tmp_path_factory.mktemp("tables") / name
        path.write_bytes(content)
        table = read_or_none(path, absent="zero")
        assert table is None or np.isfinite(table.values).any()


LABELS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12
)


NUMBERS = st.floats(allow_nan=True, allow_infinity=False)


@st.composite
def tables(draw):
    n_rows, n_columns = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    values = draw(arrays(float, (n_rows, n_columns), elements=NUMBERS))
    values[0, 0] = np.nan_to_num(values[0, 0])
    row_names = draw(st.lists(LABELS, min_size=n_rows, max_size=n_rows, unique=True))
    column_names = draw(st.lists(LABELS, min_size=n_columns, max_size=n_columns, unique=True))
    return Table(values, row_names, column_names)


@given(table=tables())
def test_hostile_labels_are_read_or_raise_an_error(tmp_path_factory, table):
    path = tmp_path_factory.mktemp("tables") / "t.csv"
    write_table(path, table)
    again = read_or_none(path)
    assert again is None or again.values.size > 0


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "t.npz"])
@given(table=tables())
def test_written_tables_are_read_again(tmp_path_factory, name, table):
    path = tmp_path_factory.mktemp("tables") / name
    write_table(path, table)
    layout = {"delimiter": "\t" if "tsv" in name else ",", "header": True, "labels": True}
    again = read_table(path, **({} if name == "t.npz" else layout))
    np.testing.assert_array_equal(again.values, table.values)
    assert (again.row_names, again.column_names) == (table.row_names, table.column_names)
