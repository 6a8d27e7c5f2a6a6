"""Number formats and missing codes: every convention is read exactly, or doubted."""

import csv
import io
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comanifold.tables import TableError, read_table

NAN = np.nan


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


def drop_empty(values):
    """Without columns and rows at the end that hold nothing: they may be left out."""
    while values.shape[1] and np.isnan(values[:, -1]).all():
        values = values[:, :-1]
    while len(values) and np.isnan(values[-1]).all():
        values = values[:-1]
    return values


@settings(max_examples=300)
@given(values=matrices(), how=conventions())
def test_any_convention_is_read_exactly_or_doubted(path, values, how):
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


@settings(max_examples=200)
@given(values=matrices(), how=conventions())
def test_any_convention_is_read_exactly_if_given(path, values, how):
    path.write_bytes(how.write(values))
    given_options = {
        "delimiter": how.delimiter,
        "decimal": how.decimal,
        "header": how.header != "none",
        "labels": how.labels and how.header != "short",
    }
    if how.labels and how.header == "short":
        given_options["labels"] = True
    table = read_table(path, **given_options)
    np.testing.assert_array_equal(drop_empty(table.values), drop_empty(rounded(values, how)))


def test_missing_entries_are_counted_by_code(file):
    table = read_table(file("a,b,c\n1,NA,-\n,na,3\n?,999,n/a\n"))
    assert int(np.isnan(table.values).sum()) == 6
    assert table.values[2, 1] == 999
    assert "1 empty" in table.notes[1]
    assert "1 'NA'" in table.notes[1]
    with_own = read_table(file("a,b\n1,999\n9.99e2,x\n,4\n"), missing="X, 999")
    np.testing.assert_array_equal(with_own.values, [[1, NAN], [NAN, NAN], [NAN, 4]])
    assert "2 '999'" in with_own.notes[1]


def test_missing_codes_are_added_to_the_default_ones(file):
    table = read_table(file("a,b\n1,NA\n-999,3\n4,x\n5,6\n"), missing="-999,x")
    np.testing.assert_array_equal(table.values, [[1, NAN], [NAN, 3], [4, NAN], [5, 6]])
    quoted = read_table(file('a,b\n1,"n, o"\n2,3\n4,5\n'), missing='"n, o",9')
    np.testing.assert_array_equal(quoted.values, [[1, NAN], [2, 3], [4, 5]])


def test_numbers_that_mean_missing_in_any_format(tmp_path):
    np.save(tmp_path / "t.npy", np.array([[1, 999], [3, 4]]))
    table = read_table(tmp_path / "t.npy", missing=[999])
    np.testing.assert_array_equal(table.values, [[1, np.nan], [3, 4]])
    assert "1 '999'" in table.notes[-1]
