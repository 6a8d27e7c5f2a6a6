"""`comanifold report`, and annotations in the report."""

import csv

import numpy as np


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


def test_a_report_needs_results(comanifold, tmp_path):
    assert "no results of comanifold fit" in comanifold("report", ".", code=1).error
    (tmp_path / "run.json").write_text("{}")
    assert "damaged" in comanifold("report", ".", code=1).error


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
