"""Text files: encoding, separator, lines and compression."""

import gzip

import pytest
from oracles.memory import peak_of_reading, write_gzip

from comanifold.tables import TableError, read_table
from comanifold.tables._text import open_lines


def test_encoding_can_be_given(file):
    path = file("g,é\nà,1\nb,2\n".encode("latin-1"))
    assert read_table(path, encoding="latin-1").column_names == ["é"]
    with pytest.raises(TableError, match=r"line 1, character 3: not text.*--encoding"):
        read_table(path, encoding="utf-8")
    with pytest.raises(TableError, match="no encoding"):
        read_table(path, encoding="klingon")


def test_a_byte_that_is_not_utf8_after_many_lines(tmp_path):
    path = tmp_path / "t.csv"
    lines = ["g,a", *(f"r{i},{i}" for i in range(5000)), "é,1"]
    path.write_bytes("\n".join(lines).encode("latin-1"))
    table = read_table(path)
    assert table.row_names[-1] == "é"
    assert any("cp1252" in note for note in table.notes)


def test_compressed_files(file):
    content = gzip.compress(b"g,a,b\nx,1,2\ny,3,4\n")
    assert read_table(file(content, "t.csv.gz")).row_names == ["x", "y"]
    assert read_table(file(content, "t.csv")).row_names == ["x", "y"]
    with pytest.raises(TableError, match="damaged or cut short"):
        read_table(file(content[:-10], "t.csv.gz"))
    with pytest.raises(TableError, match="damaged or cut short"):
        read_table(file(content[:12] + b"\xff\xff\xff" + content[15:], "t.csv.gz"))


def test_a_line_without_end_raises_before_it_is_read(tmp_path):
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


@pytest.mark.parametrize(
    "parts",
    [
        [(" ", 300)],
        [("\n", 300)],
        [("# nothing to see\n", 300)],
        [("a", 300)],
        [("a,b\n1,2\n", 1), ("      \n", 300)],
        [("a,b\n1,2\n", 1), (" " * (1 << 19) + "1,2\n", 300)],
        [(f"{'x' * (1 << 19)},1,2\n", 300)],
    ],
)
def test_compressed_text_without_cells_takes_little_memory(tmp_path, parts):
    result, grown = peak_of_reading(write_gzip(tmp_path / "t.csv.gz", *parts))
    assert result.startswith("refused")
    assert grown < 500


def read_lines(path):
    with open_lines(path, n_free=1000) as lines:
        return sum(1 for _ in lines)


def test_short_cells_and_runs_of_spaces_are_not_taken_for_blanks(tmp_path):
    path = tmp_path / "t.txt"
    for text in ("1.25   2.5     3\n" * 3000, "a,b\n" + "1,\n" * 3000, "a b\n" + "1  2\n" * 500):
        path.write_text(text)
        assert read_lines(path) == text.count("\n")
    path.write_text("a,b\n1,2\n" + "\n" * 3000)
    with pytest.raises(TableError, match="blanks, comments"):
        read_lines(path)
