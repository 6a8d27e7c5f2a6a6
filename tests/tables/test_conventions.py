"""Matrices written in every convention come back exactly, or a question is asked."""

import csv
import io
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comanifold.tables import TableError, read_table

BLANKS = {"blank": " ", "no-break": "\u00a0", "thin": "\u202f", "apostrophe": "'"}


@dataclass
class Convention:
    """How a matrix is written."""

    delimiter: str
    decimal: str
    thousands: str
    n_digits: int
    header: str
    labels: bool
    missing: str
    quoting: int
    encoding: str

    def cell(self, value):
        if np.isnan(value):
            return self.missing
        return f"{value:,.{self.n_digits}f}".translate(
            {ord(","): self.thousands, ord("."): self.decimal}
        )

    def names(self, n):
        kinds = {
            "words": [f"name {j}" for j in range(n)],
            "years": [str(1990 + j) for j in range(n)],
            "short": [f"q{j}" for j in range(n)],
        }
        return kinds.get(self.header)

    def write(self, values):
        names = self.names(values.shape[1])
        corner = ["id"] if self.labels and self.header != "short" else []
        rows = [[*corner, *names]] if names else []
        for i, row in enumerate(values):
            rows.append([*([f"r{i}"] if self.labels else []), *map(self.cell, row)])
        stream = io.StringIO()
        writer = csv.writer(stream, delimiter=self.delimiter, quoting=self.quoting)
        writer.writerows(rows)
        return stream.getvalue().encode(self.encoding)


@st.composite
def conventions(draw):
    decimal = draw(st.sampled_from(".,"))
    marks = ["", {".": ",", ",": "."}[decimal], *BLANKS.values()]
    return Convention(
        draw(st.sampled_from(",;\t|")),
        decimal,
        draw(st.sampled_from(marks)),
        draw(st.integers(0, 4)),
        draw(st.sampled_from(["words", "years", "short", "none"])),
        draw(st.booleans()),
        draw(st.sampled_from(["", "NA", "n/a", "-", "?", "NaN"])),
        draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
        draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16"])),
    )


@st.composite
def matrices(draw):
    n_rows, n_columns = draw(st.integers(2, 6)), draw(st.integers(2, 5))
    largest = 10.0 ** draw(st.integers(0, 7))
    cell = st.one_of(
        st.floats(-largest, largest), st.integers(-int(largest), int(largest)), st.just(np.nan)
    )
    values = draw(
        st.lists(
            st.lists(cell, min_size=n_columns, max_size=n_columns),
            min_size=n_rows,
            max_size=n_rows,
        )
    )
    values = np.array(values, dtype=float)
    values[0] = np.nan_to_num(values[0])
    return values


def rounded(values, how):
    """The numbers that are in the file."""
    return np.array([[float(f"{value:.{how.n_digits}f}") for value in row] for row in values])


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("conventions") / "t.csv"


@settings(max_examples=300)
@given(values=matrices(), how=conventions())
def test_read_exactly_or_asked(path, values, how):
    path.write_bytes(how.write(values))
    try:
        table = read_table(path)
    except TableError as error:
        assert str(path) in str(error)  # noqa: PT017
        return
    expected = rounded(values, how)
    if table.doubts:
        return
    np.testing.assert_array_equal(drop_empty(table.values), drop_empty(expected))


def drop_empty(values):
    """Without columns and rows at the end that hold nothing: they may be left out."""
    while values.shape[1] and np.isnan(values[:, -1]).all():
        values = values[:, :-1]
    while len(values) and np.isnan(values[-1]).all():
        values = values[:-1]
    return values


@settings(max_examples=200)
@given(values=matrices(), how=conventions())
def test_read_exactly_if_told(path, values, how):
    path.write_bytes(how.write(values))
    told = {
        "delimiter": how.delimiter,
        "decimal": how.decimal,
        "header": how.header != "none",
        "labels": how.labels and how.header != "short",
    }
    if how.labels and how.header == "short":
        told["labels"] = True
    table = read_table(path, **told)
    np.testing.assert_array_equal(drop_empty(table.values), drop_empty(rounded(values, how)))


def long_file(path, cells, last):
    """A table of one column, longer than what its layout is found from."""
    lines = [f"r{i}\t{cell}" for i, cell in enumerate([*cells, *last])]
    path.write_text("g\ta\n" + "\n".join(lines) + "\n")
    return path


class TestEvidenceAfterTheFirstLines:
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

    def test_points_that_nothing_settles(self, tmp_path):
        values, doubts = self.read(tmp_path, ["1.234"], ["5.678"])
        assert values == [1.234, 5.678]
        assert "--thousands ." in doubts[0]

    def test_commas_that_nothing_settles(self, tmp_path):
        with pytest.raises(TableError, match="--thousands , or --decimal ,"):
            self.read(tmp_path, ["1,234"], ["5,678"])

    def test_a_decimal_comma_among_decimal_points(self, tmp_path):
        with pytest.raises(TableError, match=r"line 302.*'0,5'.*--decimal ,"):
            self.read(tmp_path, ["0.5"], ["0,5"])

    def test_a_byte_that_is_not_utf8(self, tmp_path):
        path = tmp_path / "t.csv"
        lines = ["g,a", *(f"r{i},{i}" for i in range(5000)), "é,1"]
        path.write_bytes("\n".join(lines).encode("latin-1"))
        table = read_table(path)
        assert table.row_names[-1] == "é"
        assert any("cp1252" in note for note in table.notes)
