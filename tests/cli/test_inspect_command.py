"""`comanifold inspect`: how a file is read, without a fit."""

import gzip

import pytest

SURVEY = (
    "Survey 2020\n\nid;sex;Q1;Q2;weight\n;;;;kg\np1;f;1,5;3;1.250\np2;m;NA;4;950\n"
    "p2;m;2,5;-;1.000\nSource: our clinic\n"
)


@pytest.fixture
def survey(tmp_path):
    (tmp_path / "survey.csv").write_text(SURVEY)
    return "survey.csv"


def test_what_was_understood_is_shown(comanifold, tmp_path, survey):
    told = comanifold("inspect", survey).told
    assert told.splitlines()[:10] == [
        "survey.csv: 3 rows x 3 columns, 22.2% missing",
        "  Separator     semicolon",
        "  Encoding      utf-8",
        "  Decimal mark  comma",
        "  Thousands     point",
        "  Header        lines 3, 4",
        "  Row labels    column 1 ('id')",
        "  Missing       1 'NA', 1 '-'",
        "  Annotations   sex of rows (f, m), unit of columns (kg)",
        "  Skipped before the table: 'Survey 2020'.",
    ]
    assert told.splitlines()[-4:] == [
        "  id           Q1       Q2  weight",
        "  p1          1.5        3    1250",
        "  p2      missing        4     950",
        "  p2 (2)      2.5  missing    1000",
    ]
    assert "  Doubts:\n" in told
    assert "--skip-footer 1" in told
    assert [entry.name for entry in tmp_path.iterdir()] == [survey]


def test_no_doubts_are_told_as_such(comanifold, tmp_path):
    (tmp_path / "t.csv").write_text("g,a,b\nx,1.5,2\ny,3,\n")
    assert "  Doubts: none.\n" in comanifold("inspect", "t.csv").told


def test_everything_as_json(comanifold, survey):
    outcome = comanifold("inspect", survey, "--json").json
    assert outcome["shape"] == [3, 3]
    assert outcome["read_as"] == {
        "separator": "semicolon",
        "encoding": "utf-8",
        "decimal": ",",
        "thousands": ".",
        "header_lines": [3, 4],
        "labels": 1,
        "missing": {"NA": 1, "-": 1},
    }
    assert outcome["annotations"] == {"rows": ["sex"], "columns": ["unit"]}
    assert len(outcome["doubts"]) == 2
    assert outcome["preview"]["values"][1] == [None, 4, 950]


def test_options_are_those_of_reading(comanifold, tmp_path):
    (tmp_path / "t.tsv").write_text("made by hand\nx\t1,500\ny\t2,500\nend of file\n")
    assert "--decimal ," in comanifold("inspect", "t.tsv", code=1).error
    options = ["--skip-rows", 1, "--skip-footer", 1, "--thousands", ",", "--no-header"]
    told = comanifold("inspect", "t.tsv", *options).told
    assert "Thousands     comma" in told
    assert told.splitlines()[-1].split() == ["y", "2500"]
    assert "Doubts: none." in told
    options = ["--long", "1,2,3", "--missing", "x", "--censored", "limit", "--encoding", "utf-8"]
    (tmp_path / "long.csv").write_text("a,p,1\na,q,x\nb,p,<3\n")
    told = comanifold("inspect", "long.csv", *options).told
    assert told.splitlines()[-1].split() == ["b", "3", "missing"]


def test_wide_and_long_tables_are_cut_in_the_preview(comanifold, tmp_path):
    lines = ["g," + ",".join(f"a rather long name {j}" for j in range(9))]
    lines += [f"row {i}," + ",".join("0.1" for _ in range(9)) for i in range(20)]
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    preview = comanifold("inspect", "t.csv.gz").told.splitlines()[-7:]
    assert [line.split()[0] for line in preview] == ["g", "row", "row", "row", "row", "row", "…"]
    assert preview[0].endswith("…")
    assert all(len(line) < 120 for line in preview)


def test_other_formats_are_shown_as_well(comanifold, tmp_path):
    import numpy as np

    np.save(tmp_path / "t.npy", np.array([[1.0, np.nan], [2e9, 4.25]]))
    told = comanifold("inspect", "t.npy").told
    assert "t.npy: 2 rows x 2 columns, 25.0% missing" in told
    assert "4.25" in told


def test_the_top_of_a_fit_tells_the_same_and_text_colours_the_report(comanifold, tmp_path, pages):
    lines = ["id,sex,a,b,c,d,a"]
    lines += [
        f"p{i},{'fm'[i % 2]}," + ",".join(f"{(i * j) % 7 + 0.5 * (i % 2)}" for j in range(1, 6))
        for i in range(12)
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    (tmp_path / "known.csv").write_text("id,age\n" + "".join(f"p{i},{i}\n" for i in range(12)))
    told = comanifold("fit", "t.csv", "-o", "out", "--no-check", "--annotations", "known.csv").told
    assert "Annotations of rows, not part of the matrix: 'sex'." in told
    assert "names of columns that occur more than once: 'a'" in told
    assert pages["annotations"]["rows"]["sex"][:2] == ["f", "m"]
    assert pages["annotations"]["rows"]["age"][:2] == [0, 1]
