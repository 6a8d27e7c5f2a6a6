"""`comanifold inspect`: how a file is read; and annotations from files."""

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


def test_what_was_detected_is_listed(comanifold, tmp_path, survey):
    text = comanifold("inspect", survey).text
    assert text.splitlines()[:10] == [
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
    assert text.splitlines()[-4:] == [
        "  id           Q1       Q2  weight",
        "  p1          1.5        3    1250",
        "  p2      missing        4     950",
        "  p2 (2)      2.5  missing    1000",
    ]
    assert "  Doubts:\n" in text
    assert "--skip-footer 1" in text
    assert [entry.name for entry in tmp_path.iterdir()] == [survey]


def test_no_doubts(comanifold, tmp_path):
    (tmp_path / "t.csv").write_text("g,a,b\nx,1.5,2\ny,3,\n")
    assert "  Doubts: none.\n" in comanifold("inspect", "t.csv").text


def test_json_output(comanifold, survey):
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


def test_reading_options(comanifold, tmp_path):
    (tmp_path / "t.tsv").write_text("made by hand\nx\t1,500\ny\t2,500\nend of file\n")
    assert "--decimal ," in comanifold("inspect", "t.tsv", code=1).error
    options = ["--skip-rows", 1, "--skip-footer", 1, "--thousands", ",", "--no-header"]
    text = comanifold("inspect", "t.tsv", *options).text
    assert "Thousands     comma" in text
    assert text.splitlines()[-1].split() == ["y", "2500"]
    assert "Doubts: none." in text
    options = ["--long", "1,2,3", "--missing", "x", "--censored", "limit", "--encoding", "utf-8"]
    (tmp_path / "long.csv").write_text("a,p,1\na,q,x\nb,p,<3\n")
    text = comanifold("inspect", "long.csv", *options).text
    assert text.splitlines()[-1].split() == ["b", "3", "missing"]


def test_large_tables_are_truncated_in_the_preview(comanifold, tmp_path):
    lines = ["g," + ",".join(f"a rather long name {j}" for j in range(9))]
    lines += [f"row {i}," + ",".join("0.1" for _ in range(9)) for i in range(20)]
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    preview = comanifold("inspect", "t.csv.gz").text.splitlines()[-7:]
    assert [line.split()[0] for line in preview] == ["g", "row", "row", "row", "row", "row", "…"]
    assert preview[0].endswith("…")
    assert all(len(line) < 120 for line in preview)


def test_other_formats(comanifold, tmp_path):
    import numpy as np

    np.save(tmp_path / "t.npy", np.array([[1.0, np.nan], [2e9, 4.25]]))
    text = comanifold("inspect", "t.npy").text
    assert "t.npy: 2 rows x 2 columns, 25.0% missing" in text
    assert "4.25" in text


def test_a_fit_describes_its_table_and_text_columns_colour_the_report(comanifold, tmp_path, pages):
    lines = ["id,sex,a,b,c,d,a"]
    lines += [
        f"p{i},{'fm'[i % 2]}," + ",".join(f"{(i * j) % 7 + 0.5 * (i % 2)}" for j in range(1, 6))
        for i in range(12)
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    (tmp_path / "known.csv").write_text("id,age\n" + "".join(f"p{i},{i}\n" for i in range(12)))
    text = comanifold("fit", "t.csv", "-o", "out", "--no-check", "--annotations", "known.csv").text
    assert "Annotations of rows, not part of the matrix: 'sex'." in text
    assert "names of columns that occur more than once: 'a'" in text
    assert pages["annotations"]["rows"]["sex"][:2] == ["f", "m"]
    assert pages["annotations"]["rows"]["age"][:2] == [0, 1]
