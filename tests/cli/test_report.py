"""`comanifold report`, and annotations in the report."""

import csv
import json

import numpy as np
import pytest

from comanifold import CoManifold
from comanifold.model_selection import compare_held_out


def annotate(tmp_path, board):
    known = zip(board.table.row_names, "ab" * 20, range(40), strict=True)
    lines = [("label", "group", "size"), *known]
    with open(tmp_path / "known.csv", "w", newline="", encoding="utf-8") as known:
        csv.writer(known).writerows(lines[:-1])


def test_the_report_has_title_names_notes_and_annotations(comanifold, file, board, pages, tmp_path):
    annotate(tmp_path, board)
    result = comanifold(
        "fit", file, "-o", "out", "--no-check", "--annotations", "known.csv", "--title", "T"
    )
    assert "Annotations of 39 of 40 rows: group, size." in result.text
    assert "Open out" in result.text
    assert (tmp_path / "out" / "report.html").exists()
    assert pages["title"] == "T"
    assert pages["row_names"] == board.table.row_names
    assert pages["annotations"]["rows"]["group"][:2] == ["a", "b"]
    assert pages["annotations"]["rows"]["size"][:3] == [0.0, 1.0, 2.0]
    assert np.isnan(pages["annotations"]["rows"]["size"][-1])
    assert any("Separated by commas" in note for note in pages["notes"])
    first = dict(pages)
    (tmp_path / "out" / "report.html").unlink()
    comanifold("report", "out")
    assert (tmp_path / "out" / "report.html").exists()
    for name in ("title", "row_names", "column_names", "notes"):
        assert pages[name] == first[name]
    np.testing.assert_array_equal(
        pages["annotations"]["rows"]["size"], first["annotations"]["rows"]["size"]
    )
    np.testing.assert_array_equal(pages["model"].filled_, first["model"].filled_)
    comanifold("report", "out", "--title", "Other", "--annotations", "known.csv")
    assert pages["title"] == "Other"
    assert list(pages["annotations"]["rows"]) == ["clusters found", "group", "size"]


def test_the_report_has_the_errors_on_held_out_entries(comanifold, file, board, pages):
    comanifold("fit", file, "-o", "out", "-q")
    errors = compare_held_out(CoManifold().fit(board.table.values))
    assert pages["errors"] == errors
    pages.clear()
    comanifold("report", "out")
    assert pages["errors"] == errors
    assert not any("held-out" in note for note in pages["notes"])
    comanifold("fit", file, "-o", "other", "-q", "--no-check")
    assert pages["errors"] is None


def test_a_report_needs_results(comanifold, tmp_path):
    assert "no results of comanifold fit" in comanifold("report", ".", code=1).error
    (tmp_path / "run.json").write_text("{}")
    assert "there is no saved model" in comanifold("report", ".", code=1).error


def put(name, value):
    """Return a change of run.json: one value, or one of the preprocessor."""

    def change(content):
        (content if name in content else content["preprocessor"])[name] = value

    return change


@pytest.mark.usefixtures("pages")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put("mean", [0.0]), "mean must have 30"),
        (put("scale", [0.0] * 30), "scale must be positive"),
        (put("scale", ["1"] * 30), "scale must have 30"),
        (put("log1p", "yes"), "log1p must be true or false"),
        (put("row_names", ["a"]), "names of 1 rows and 30 columns"),
        (put("notes", None), "damaged"),
        (
            put("findings", {"held_out": {"n_held_out": 5, "model": "low"}}),
            "model must be a number",
        ),
        (put("findings", {}), "damaged"),
    ],
)
def test_a_damaged_description_is_an_error(comanifold, file, tmp_path, change, words):
    comanifold("fit", file, "-o", "out", "--no-check", "-q", "--jobs", 1)
    path = tmp_path / "out" / "run.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    for command in (("report", "out"), ("transform", "out", file, "-o", "placed.csv")):
        error = comanifold(*command, code=1).error
        assert "run.json" in error
        assert words in error
    path.write_text("[" * 100_000)
    assert "run.json is damaged" in comanifold("report", "out", code=1).error


@pytest.mark.usefixtures("pages")
def test_results_of_an_earlier_version_are_named_as_such(comanifold, file, tmp_path):
    comanifold("fit", file, "-o", "out", "--no-check", "-q", "--jobs", 1)
    for name, key, value in (
        ("run.json", "preprocessor", None),
        ("model/model.json", "format_version", 1),
    ):
        path = tmp_path / "out" / name
        content = json.loads(path.read_text())
        content[key] = value
        path.write_text(json.dumps(content))
    error = comanifold("report", "out", code=1).error
    assert "version 1 of the format" in error
    assert "fit the model again" in error


def test_a_missing_file_of_annotations_is_named(comanifold, file):
    error = comanifold("fit", file, "-o", "out", "--annotations", "none.csv", code=1).error
    assert error == "Error: none.csv: No such file or directory\n"


def test_invalid_annotations_are_errors(comanifold, file, tmp_path):
    for content, words in (
        ("who,what\nnobody,1\n", "none of its labels"),
        ("who\nnobody\n", "needs a header"),
        ('who,what\n"row ""0"", <b>",1\n"row ""0"", <b>",2\n', "duplicate label"),
    ):
        (tmp_path / "known.csv").write_text(content)
        result = comanifold("fit", file, "-o", "out", "--annotations", "known.csv", code=1)
        assert words in result.error


def test_a_header_without_a_name_for_the_labels(comanifold, file, pages, tmp_path):
    lines = ['"group"', *(f'"row ""{i}"", <b>",{i % 3}' for i in range(40))]
    (tmp_path / "known.csv").write_text("\n".join(lines))
    comanifold("fit", file, "-o", "out", "--no-check", "-q", "--annotations", "known.csv")
    assert pages["annotations"]["rows"]["group"][:4] == [0.0, 1.0, 2.0, 0.0]


def test_annotations_of_columns(comanifold, file, board, pages, tmp_path):
    with open(tmp_path / "known.tsv", "w", newline="", encoding="utf-8") as known:
        rows = [("label", "group"), *((name, "x") for name in board.table.column_names)]
        csv.writer(known, delimiter="\t").writerows(rows)
    comanifold("fit", file, "-o", "out", "--no-check", "-q", "--annotations", "known.tsv")
    assert pages["annotations"]["columns"]["group"] == ["x"] * 30
    assert list(pages["annotations"]["rows"]) == ["clusters found"]
