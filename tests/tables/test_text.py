"""Tables of text, as people have them."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from comanifold.tables import Table, TableError, _lines, _table, read_table, write_table

NAN = np.nan


@pytest.fixture
def file(tmp_path):
    def write(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


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
def test_the_layout_is_found_and_said(file, content, name, words):
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
def test_headers_and_labels_that_are_not_there_or_are_numbers(file, content, rows, columns):
    if rows is None:  # names that could be data: told, not guessed
        table = read_table(file(content), header=True)
        rows, columns = ["7", "9"], ["2001", "2002"]
    else:
        table = read_table(file(content))
    np.testing.assert_array_equal(table.values, [[1, 2], [3, 4]])
    assert (table.row_names, table.column_names) == (rows, columns)


def test_columns_that_are_counted_through_are_a_header(file):
    table = read_table(file("0,1,2\n5,6,7\n8,9,9\n"))
    assert table.column_names == ["0", "1", "2"]


def test_what_is_told_goes_before_what_is_found(file):
    path = file("a,b,c\n1,2,3\n4,5,6\n")
    told = read_table(path, labels="b", delimiter=",")
    assert (told.row_names, told.column_names) == (["2", "5"], ["a", "c"])
    assert read_table(path, labels=3).row_names == ["3", "6"]
    path = file("1,2\n3,4\n")
    assert read_table(path, header=True).column_names == ["1", "2"]
    assert read_table(path, labels=True).row_names == ["1", "3"]
    flipped = read_table(file("g,a,b\nx,1,2\n"), transpose=True)
    np.testing.assert_array_equal(flipped.values, [[1], [2]])
    assert (flipped.row_names, flipped.column_names) == (["a", "b"], ["x"])


def test_missing_entries_are_counted_by_what_stands_for_them(file):
    table = read_table(file("a,b,c\n1,NA,-\n,na,3\n?,999,n/a\n"))
    assert int(np.isnan(table.values).sum()) == 6
    assert table.values[2, 1] == 999
    assert "1 empty" in table.notes[1]
    assert "1 'NA'" in table.notes[1]
    with_own = read_table(file("a,b\n1,999\n9.99e2,x\n,4\n"), missing="X, 999")
    np.testing.assert_array_equal(with_own.values, [[1, NAN], [NAN, NAN], [NAN, 4]])
    assert "2 '999'" in with_own.notes[1]


def test_missing_codes_come_on_top_of_the_usual_ones(file):
    table = read_table(file("a,b\n1,NA\n-999,3\n4,x\n5,6\n"), missing="-999,x")
    np.testing.assert_array_equal(table.values, [[1, NAN], [NAN, 3], [4, NAN], [5, 6]])
    quoted = read_table(file('a,b\n1,"n, o"\n2,3\n4,5\n'), missing='"n, o",9')
    np.testing.assert_array_equal(quoted.values, [[1, NAN], [2, 3], [4, 5]])


def test_columns_are_chosen_by_name_number_and_range(file):
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
def test_what_is_wrong_is_said_with_its_place(file, content, words):
    path = file(content)
    with pytest.raises(TableError, match=words) as caught:
        read_table(path)
    assert str(caught.value).startswith(str(path))
    assert len(str(caught.value)) < 500


def test_columns_of_text_are_annotations(file):
    path = file("gene,type,a,chr,b\nx,coding,1,1p,2\ny,coding,3,2q,4\n")
    table = read_table(path)
    assert table.column_names == ["a", "b"]
    assert table.annotations == {"rows": {"type": ["coding", "coding"], "chr": ["1p", "2q"]}}
    assert "Annotations of rows, not part of the matrix: 'type', 'chr'." in table.notes
    assert read_table(path, columns="3,5").annotations == {}


def test_long_text_is_cut_short_in_messages(file):
    with pytest.raises(TableError) as caught:
        read_table(file("a,b\n1,2\n3,4\n5," + "x" * 5000 + "\n"))
    assert len(str(caught.value)) < 300


def test_other_encodings_can_be_told(file):
    path = file("g,é\nà,1\nb,2\n".encode("latin-1"))
    assert read_table(path, encoding="latin-1").column_names == ["é"]
    with pytest.raises(TableError, match=r"line 1, character 3: not text.*--encoding"):
        read_table(path, encoding="utf-8")
    with pytest.raises(TableError, match="no encoding"):
        read_table(path, encoding="klingon")


def test_a_line_without_end_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(_lines, "LONGEST_LINE", 1 << 16)
    path = tmp_path / "long.csv"
    with open(path, "wb") as sparse_file:
        sparse_file.write(b"a,b\n" + b"1" * (1 << 17))
        sparse_file.truncate(1 << 31)
    with pytest.raises(TableError, match="line 2 is longer than"):
        read_table(path)
    with gzip.open(tmp_path / "bomb.csv.gz", "wb", compresslevel=1) as bomb:
        for _ in range(64):
            bomb.write(b"1" * (1 << 20))
    with pytest.raises(TableError, match="line 1 is longer than"):
        read_table(tmp_path / "bomb.csv.gz")


def test_a_compressed_file_of_many_lines_is_bounded_as_well(tmp_path, monkeypatch):
    monkeypatch.setattr(_table, "MOST_ENTRIES", 1000)
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"1,2\n" * 1_000_000))
    with pytest.raises(TableError, match="at most 1,000 can be read"):
        read_table(path)


def test_compressed_files(file):
    content = gzip.compress(b"g,a,b\nx,1,2\ny,3,4\n")
    assert read_table(file(content, "t.csv.gz")).row_names == ["x", "y"]
    assert read_table(file(content, "t.csv")).row_names == ["x", "y"]
    with pytest.raises(TableError, match="damaged or cut short"):
        read_table(file(content[:-10], "t.csv.gz"))
    with pytest.raises(TableError, match="damaged or cut short"):
        read_table(file(content[:12] + b"\xff\xff\xff" + content[15:], "t.csv.gz"))


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


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "t.npz"])
@given(table=tables())
def test_what_is_written_is_read_again(tmp_path_factory, name, table):
    path = tmp_path_factory.mktemp("tables") / name
    write_table(path, table)
    told = {"delimiter": "\t" if "tsv" in name else ",", "header": True, "labels": True}
    again = read_table(path, **({} if name == "t.npz" else told))
    np.testing.assert_array_equal(again.values, table.values)
    assert (again.row_names, again.column_names) == (table.row_names, table.column_names)


def read_or_told(path, **options):
    """The table in a file, or None if the error says whose it is."""
    try:
        return read_table(path, **options)
    except TableError as error:
        told = str(error)
    assert told.startswith(str(path))
    return None


@given(table=tables())
def test_hostile_labels_are_read_or_refused(tmp_path_factory, table):
    path = tmp_path_factory.mktemp("tables") / "t.csv"
    write_table(path, table)
    again = read_or_told(path)
    assert again is None or again.values.size > 0


@given(content=st.binary(max_size=300))
def test_any_bytes_are_a_table_or_an_error(tmp_path_factory, content):
    for name in ("t.csv", "t.csv.gz", "t.npy", "t.npz", "t.mtx"):
        path = tmp_path_factory.mktemp("tables") / name
        path.write_bytes(content)
        table = read_or_told(path, absent="zero")
        assert table is None or np.isfinite(table.values).any()
