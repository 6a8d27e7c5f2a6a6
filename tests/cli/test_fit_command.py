"""`comanifold fit`, from a file to a folder."""

import json
import os
import sys

import numpy as np
import pytest

from comanifold import CoManifold
from comanifold.cli import _results
from comanifold.tables import Table, read_cells, read_table, write_table

MANIFEST = ".comanifold.json"
RESULTS = {
    "row_embedding.csv",
    "column_embedding.csv",
    "filled.csv",
    "scales.csv",
    "clusters.csv",
    "model",
    "run.json",
}


def test_everything_is_there_and_right(comanifold, file, board):
    result = comanifold("fit", file, "--out", "out", "--jobs", 1)
    for words in ("40 rows x 30 columns, 30.0% missing", "column 1 ('gene')", "about", "empty"):
        assert words in result.told
    for line in ("clusters", "structure", "held out", "warnings", "files"):
        assert f"\n  {line} " in result.told
    assert "rows: 4, steady" in result.told
    assert "columns: 3, steady" in result.told
    assert {entry.name for entry in (file.parent / "out").iterdir()} >= RESULTS
    model = CoManifold(keep_scales=True, n_jobs=1).fit(board.table.values)
    for mode in ("row", "column"):
        points = read_table(f"out/{mode}_embedding.csv", delimiter=",", header=True)
        np.testing.assert_array_equal(points.values, getattr(model, f"{mode}_embedding_"))
        assert points.row_names == getattr(board.table, f"{mode}_names")
        assert points.corner == mode
    filled = read_table("out/filled.csv")
    np.testing.assert_array_equal(filled.values, model.filled_)
    assert filled.column_names == board.table.column_names
    assert filled.corner == "gene"
    saved = CoManifold.load("out/model")
    np.testing.assert_array_equal(saved.filled_, model.filled_)
    assert list(saved.row_names_in_) == board.table.row_names
    assert list(saved.feature_names_in_) == board.table.column_names
    titles, *scales = read_cells("out/scales.csv")
    assert titles[:2] == ["l", "k"]
    assert [(int(s[0]), int(s[1])) for s in scales] == [(s.l, s.k) for s in model.scales_]
    residual = float(scales[3][titles.index("stationarity")])
    assert residual == model.scales_[3].certificate.stationarity
    rows = read_cells("out/clusters.csv")
    assert rows[0] == ["mode", "label", "cluster"]
    assert [row[1] for row in rows[1:]] == board.table.row_names + board.table.column_names
    pairs = {(row[2], truth) for row, truth in zip(rows[1:41], board.row_labels, strict=True)}
    assert len(pairs) == 4


def test_json_is_all_that_machines_are_told(comanifold, file):
    found = comanifold("fit", file, "--out", "out", "--json").json
    assert found["shape"] == [40, 30]
    assert found["clusters"]["rows"]["number"] == 4
    assert found["held_out"]["comanifold"] < found["held_out"]["row_means"]
    assert 0 < min(found["eigenvalues"]["rows"]) < 1
    assert set(found["files"]) >= RESULTS
    assert found["warnings"] == []
    for name in found["files"]:
        assert (file.parent / "out" / name).exists()


def test_doubts_about_the_data_are_warnings(comanifold, tmp_path):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(30, 12))
    values[:4, 3] = -999
    names = [f"r{i}" for i in range(30)], [f"c{j}" for j in range(12)]
    write_table(tmp_path / "t.csv", Table(values, *names))
    found = comanifold("fit", "t.csv", "--out", "out", "--json").json
    assert any("--missing -999" in warning for warning in found["warnings"])
    told = comanifold("fit", "t.csv", "--out", "again", "--no-check").told
    assert "-999 occurs 4 times in column 'c3'" in told
    assert "-999 occurs 4 times" in (tmp_path / "out" / "run.json").read_text()
    found = comanifold("fit", "t.csv", "--out", "third", "--missing=-999", "--json").json
    assert not any("--missing" in warning for warning in found["warnings"])


def test_noise_is_not_filled_in_better_than_by_means(comanifold, tmp_path):
    values = np.random.default_rng(0).normal(size=(40, 30))
    names = [f"r{i}" for i in range(40)], [f"c{j}" for j in range(30)]
    write_table(tmp_path / "t.csv", Table(values, *names))
    found = comanifold("fit", "t.csv", "--out", "out", "--json").json
    held_out = found["held_out"]
    best = min(held_out["row_means"], held_out["column_means"])
    is_told = any("do not rely on them" in warning for warning in found["warnings"])
    assert is_told == (held_out["comanifold"] >= best)


def test_quiet(comanifold, file):
    result = comanifold("fit", file, "-o", "out", "--no-check", "--quiet")
    assert (result.told, result.error) == ("", "")


def test_what_is_filled_in_is_in_the_units_of_the_file(comanifold, file, board, observed):
    comanifold("fit", file, "-o", "out", "--no-check", "--log1p", "--standardize", "--quiet")
    filled = read_table("out/filled.csv").values
    values = board.table.values
    np.testing.assert_array_equal(filled[observed], values[observed])
    inside = filled[~observed]
    assert np.isfinite(filled).all()
    assert np.nanmin(values) - 1 < inside.min() < inside.max() < np.nanmax(values) + 1
    assert abs(CoManifold.load("out/model").filled_.mean()) < 0.5


def test_options_reach_the_model(comanifold, file):
    options = ["--neighbors", "4,3", "--alpha", "-0.5", "--bandwidth", "local:4", "--passes", 2]
    options += ["--components", 3, "--distances", "dense", "--tol", 0.01, "--max-iter", 500]
    options += ["--first-graphs", "masked", "--traversal", "paper", "--penalty", "snowflake"]
    comanifold("fit", file, "-o", "out", "--no-check", "--quiet", *options)
    model = CoManifold.load("out/model")
    wanted = {
        "n_neighbors": (4, 3),
        "alpha": -0.5,
        "bandwidth": ("local", 4),
        "n_passes": 2,
        "n_components": 3,
        "distances": "dense",
        "tol": 0.01,
        "max_iter": 500,
        "first_graphs": "masked",
        "traversal": "paper",
        "keep_scales": True,
        "checkpoint": None,
    }
    assert wanted.items() <= model.get_params().items()
    comanifold("fit", file, "-o", "paper", "--no-check", "--quiet", "--paper", "--neighbors", 4)
    model = CoManifold.load("paper/model")
    assert (model.alpha, model.bandwidth, model.n_neighbors) == (-0.5, "median", 4)


def test_transposed(comanifold, file):
    comanifold("fit", file, "-o", "out", "--no-check", "--quiet", "--transpose")
    assert CoManifold.load("out/model").filled_.shape == (30, 40)


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        (None, [], "no such file"),
        ("", [], "is empty"),
        ("g,a,b\nx,1,2\ny,3\n", [], "line 3 has 2 cells"),
        ("g,kind,b\nx,p,low\ny,q,high\n", [], "no column holds numbers"),
        ("g\ta\tb\nx\t1,500\t2\ny\t3,200\t4\n", [], "--thousands , or --decimal ,"),
        ("g,a,b\nx,,\ny,NA,\n", [], "every entry is missing"),
        ("g,a,b\nx,1,2\ny,3,\0\n", [], "NUL byte"),
        ("g,a,b\nx,1,2\ny,3,4\n", [], "at least 3 are needed"),
        ("g,a,b\nx,1,2\ny,-3,4\n", ["--log1p"], "--log1p needs values above -1"),
        ("g,a,b\nx,1,2\ny,3,4\n", ["--columns", "c"], "no column named 'c'"),
        ("g,a,b\nx,1,2\ny,3,4\n", ["--annotations", "none.csv"], "none.csv"),
    ],
)
def test_mistakes_are_told_in_a_line_and_leave_nothing(
    comanifold, tmp_path, content, options, words
):
    if content is not None:
        (tmp_path / "t.csv").write_text(content)
    result = comanifold("fit", "t.csv", "-o", "out", *options, code=1)
    assert words in result.error
    assert result.error.count("\n") == 1
    assert {entry.name for entry in tmp_path.iterdir()} <= {"t.csv"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "Missing option '--out'"),
        (["-o", "out", "--alpha", "none"], "neither"),
        (["-o", "out", "--neighbors", "1,2,3"], "one for rows and one for columns"),
        (["-o", "out", "--neighbors", "0"], "neither"),
        (["-o", "out", "--bandwidth", "wide"], "'wide' is not"),
        (["-o", "out", "--penalty", "ridge"], "'ridge' is not one of"),
        (["-o", "out", "--absent", "maybe"], "'maybe' is not one of"),
        (["-o", "out", "--labels", "g", "--no-labels"], "exclude each other"),
    ],
)
def test_wrong_usage(comanifold, file, options, words):
    assert words in comanifold("fit", file, *options, code=2).error


def test_results_are_replaced_only_when_told_and_only_results(comanifold, file, tmp_path):
    comanifold("fit", file, "-o", "out", "--no-check", "--quiet")
    (tmp_path / "out" / "mine.txt").write_text("a note")
    assert "--force" in comanifold("fit", file, "-o", "out", "--no-check", code=1).error
    assert (tmp_path / "out" / "mine.txt").exists()
    comanifold("fit", file, "-o", "out", "--no-check", "--quiet", "--force", "--components", 3)
    assert CoManifold.load("out/model").n_components == 3
    assert (tmp_path / "out" / "mine.txt").read_text() == "a note"
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "thesis.txt").write_text("years of it")
    assert (
        "not written by comanifold"
        in comanifold("fit", file, "-o", "work", "--force", code=1).error
    )
    assert {entry.name for entry in tmp_path.iterdir()} == {"board.csv", "out", "work"}


def test_what_fails_at_the_end_leaves_the_old_results(comanifold, file, tmp_path, monkeypatch):
    comanifold("fit", file, "-o", "out", "--no-check", "--quiet")
    before = (tmp_path / "out" / "run.json").read_bytes()

    def full(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_results, "write_pages", full)
    result = comanifold("fit", file, "-o", "out", "--force", "--no-check", code=1)
    assert "No space left" in result.error
    assert (tmp_path / "out" / "run.json").read_bytes() == before
    assert {entry.name for entry in tmp_path.iterdir()} == {"board.csv", "out"}


def test_without_the_packages_of_the_report_the_rest_is_written(comanifold, file, monkeypatch):
    monkeypatch.setitem(sys.modules, "comanifold.report", None)
    monkeypatch.setitem(sys.modules, "comanifold.plotting", None)
    result = comanifold("fit", file, "-o", "out", "--no-check")
    assert "pip install 'comanifold[report]'" in result.told
    assert {entry.name for entry in (file.parent / "out").iterdir()} == RESULTS | {MANIFEST}
    assert "pip install" in comanifold("report", "out", code=1).error


def test_rows_without_entries_are_warned_of_and_stay_empty(comanifold, tmp_path):
    rng = np.random.default_rng(0)
    lines = [",".join(f"{x:.3f}" for x in row) for row in rng.normal(size=(12, 8))]
    lines[5] = ",".join([""] * 8)
    (tmp_path / "t.csv").write_text("\n".join(lines))
    found = comanifold("fit", "t.csv", "-o", "out", "--json", "--no-header", "--no-labels").json
    assert "no observed entry" in found["warnings"][0]
    assert read_cells("out/clusters.csv")[6] == ["row", "row 6", ""]
    assert read_cells("out/row_embedding.csv")[6] == ["row 6", "", ""]


@pytest.mark.parametrize("command", ["fit", "impute", "transform", "report", "demo"])
def test_help_has_examples(comanifold, command):
    told = comanifold(command, "--help").told
    assert f"Examples:\n  comanifold {command}" in told
    assert "--json" in told


def test_the_demo_shows_it_all(comanifold, pages, tmp_path):
    result = comanifold("demo", "--out", "shown")
    assert f"Open {os.path.join('shown', 'report.html')}" in result.told
    assert {entry.name for entry in (tmp_path / "shown").iterdir()} >= RESULTS
    assert set(pages["annotations"]) == {"rows", "columns"}
    description = json.loads((tmp_path / "shown" / "run.json").read_text())
    assert description["findings"]["held_out"]["comanifold"] < 0.2


def test_console_table_and_page_name_the_same_clusters(comanifold, file, pages):
    found = comanifold("fit", file, "-o", "out", "--no-check", "--json").json
    cells = read_cells("out/clusters.csv")[1:]
    for mode, number in (("row", 4), ("column", 3)):
        told = found["clusters"][f"{mode}s"]
        labels = [label for kind, _, label in cells if kind == mode]
        assert told["number"] == len(set(labels)) == number
        assert f"{mode}s: {number}, steady" in told["told"]
        shown = pages["annotations"][f"{mode}s"]
        assert next(iter(shown)) == "clusters found"  # what the page opens with
        assert shown["clusters found"] == labels


def test_where_there_are_no_clear_clusters_all_say_so(comanifold, pages, tmp_path):
    np.savetxt(tmp_path / "t.csv", np.random.default_rng(0).normal(size=(40, 30)), delimiter=",")
    found = comanifold("fit", "t.csv", "-o", "out", "--no-check", "--json").json
    assert found["clusters"]["rows"]["told"] == "rows: no clear ones"
    assert {row[2] for row in read_cells("out/clusters.csv")[1:]} == {"1"}
    assert set(pages["annotations"]["rows"]["clusters found"]) == {"1"}
