"""Names and annotations of the page."""

import numpy as np
import pandas as pd
import pytest

from comanifold.report._names import check_annotations, check_names, colourings, in_order


def test_names_are_given_else_known_else_numbers():
    assert check_names(["a", 2], ["x", "y"], mode="row", size=2) == ["a", "2"]
    assert check_names(None, np.array(["x", "y"]), mode="row", size=2) == ["x", "y"]
    assert check_names(None, None, mode="column", size=2) == ["column 1", "column 2"]
    assert check_names(pd.Index(["p", "q"]), None, mode="row", size=2) == ["p", "q"]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a"], "row_names must have one value for each row, 2; got 1"),
        ("ab", "row_names must be a list of 2 values, got 'ab'"),
        (3, "row_names must be a list of 2 values, got 3"),
    ],
)
def test_invalid_names_are_errors(names, message):
    with pytest.raises(ValueError, match=message):
        check_names(names, None, mode="row", size=2)


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        ({"genes": {}}, "annotations must be .* got .'genes'."),
        ([1], "annotations must be .* got list"),
        ({"rows": [1, 2]}, 'annotations."rows". must be .* got list'),
        ({"columns": {"age": [1]}}, "'age'. must have one value for each column, 3; got 1"),
    ],
)
def test_invalid_annotations_are_errors(annotations, message):
    with pytest.raises(ValueError, match=message):
        check_annotations(annotations, {"rows": 2, "columns": 3})


def test_numbers_stay_numbers_and_texts_are_coded_by_frequency():
    given = {
        "age": [3, np.nan, 1.5, None],
        "kind": ["b", "a", None, "b"],
        "mixed": [1, "1", "x", pd.NA],
        "is_old": [True, False, True, True],
    }
    age, kind, mixed, is_old = colourings(["p", "q", "r", "s"], given)
    assert age == {"name": "age", "kind": "number", "values": [3.0, None, 1.5, None]}
    assert (kind["levels"], kind["values"]) == (["b", "a"], [0, 1, -1, 0])
    assert (mixed["levels"], mixed["values"]) == (["1", "x"], [0, 0, 1, -1])
    assert (is_old["levels"], is_old["values"]) == (["True", "False"], [0, 1, 0, 0])


def test_an_annotation_without_any_value_has_no_levels():
    (empty,) = colourings(["p", "q"], {"nothing": [None, np.nan]})
    assert (empty["levels"], empty["values"]) == ([], [-1, -1])


def test_names_are_coloured_by_their_first_part():
    (groups,) = colourings(["Colon_1", "Colon_2", "Normal_1", "Normal_2"], {})
    assert (groups["name"], groups["levels"]) == ("first part of the name", ["Colon", "Normal"])
    (same,) = colourings(["Colon", "Colon", "Normal", "Normal"], {})
    assert (same["name"], same["values"]) == ("name", [0, 0, 1, 1])
    assert colourings(["a_1", "b_1", "c_1", "d_1"], {}) == []
    assert colourings(["row 1", "row 2", "row 3", "row 4"], {}) == []


def test_a_colouring_in_another_order():
    (age,) = colourings(["p", "q", "r"], {"age": [1, 2, 3]})
    assert in_order(age, np.array([2, 0, 1]))["values"] == [3.0, 1.0, 2.0]
