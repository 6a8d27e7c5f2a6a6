"""`comanifold fit` and `comanifold demo`: from a table to a folder of results."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from comanifold import CoManifold, report
from comanifold._embedding.clusters import Clusters
from comanifold._embedding.layouts import TITLES
from comanifold._summary import clusters_text, unreliable_estimates
from comanifold.cli._fit import fit
from comanifold.cli._output import duration
from comanifold.datasets import make_checkerboard, make_curve, remove_entries
from comanifold.model_selection import HeldOutErrors, compare_held_out
from comanifold.report._report import page_data
from comanifold.tables import Table, read_cells, read_table, write_table

MANIFEST = ".comanifold.json"
RESULTS = {
    "row_embedding.csv",
    "column_embedding.csv",
    "filled.csv",
    "scales.csv",
    "clusters.csv",
    "row_distinguishing.csv",
    "column_distinguishing.csv",
    "model",
    "run.json",
}


def test_all_results_are_written_and_those_of_the_model(comanifold, file, board):
    result = comanifold("fit", file, "--out", "out", "--jobs", 1)
    for words in ("40 rows x 30 columns, 30.0% missing", "column 1 ('gene')", "about", "empty"):
        assert words in result.text
    for line in ("clusters", "structure", "held out", "warnings", "files"):
        assert f"\n  {line} " in result.text
    number = r"\d\.\d\d"
    assert re.search(
        rf"held out   error {number} of a standard deviation on \d+ entries; KNN {number}, "
        rf"SoftImpute {number}, row means {number}, column means {number}\n",
        result.text,
    )
    assert "\n  structure  rows: yes (p = 0.005); columns: yes (p = 0.005)\n" in result.text
    assert "\n  clusters   rows: 4 clusters (100% of the rows stay in theirs if " in result.text
    assert "\n             columns: 3 clusters (" in result.text
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
    for name in ("l", "k", "stationarity"):
        column = [float(row[titles.index(name)]) for row in scales]
        np.testing.assert_array_equal(column, model.scales_[name])
    rows = read_cells("out/clusters.csv")
    assert rows[0] == ["mode", "label", "cluster", "confidence"]
    assert [row[1] for row in rows[1:]] == board.table.row_names + board.table.column_names
    pairs = {(row[2], truth) for row, truth in zip(rows[1:41], board.row_labels, strict=True)}
    assert len(pairs) == 4


def test_json_output(comanifold, file, board):
    found = comanifold("fit", file, "--out", "out", "--json").json
    errors = compare_held_out(CoManifold().fit(board.table.values))
    assert {name: found["held_out"][name] for name in asdict(errors)} == asdict(errors)
    saved = json.loads((file.parent / "out" / "run.json").read_text())
    assert saved["findings"]["held_out"] == found["held_out"]
    assert found["shape"] == [40, 30]
    assert found["clusters"]["rows"]["number"] == 4
    assert found["held_out"]["model"] < found["held_out"]["row_means"]
    assert 0 < min(found["eigenvalues"]["rows"]) < 1
    assert found["structure"] == saved["findings"]["structure"]
    assert found["structure"]["rows"] == {"p_value": 0.005, "summary": "rows: yes (p = 0.005)"}
    assert set(found["files"]) >= RESULTS
    assert found["warnings"] == []
    for name in found["files"]:
        assert (file.parent / "out" / name).exists()


@pytest.mark.parametrize("name", ["umap", "tsne", "isomap", "mds"])
def test_named_embeddings(comanifold, file, board, name):
    result = comanifold("fit", file, "--out", "out", "--embedding", name, "--no-check")
    assert "structure" in result.text
    assert "\n  clusters " in result.text
    folder = file.parent / "out"
    findings = json.loads((folder / "run.json").read_text())["findings"]
    assert findings["embedding"] == name
    assert "eigenvalues" not in findings
    model = CoManifold(embedding=name).fit(board.table.values)
    points = read_table(folder / "row_embedding.csv", delimiter=",", header=True)
    np.testing.assert_array_equal(points.values, model.row_embedding_)
    assert (folder / "overview.png").stat().st_size > 10_000
    comanifold("report", "out")
    places_new = name == "isomap"
    arguments = ("transform", "out", file, "-o", "placed.csv")
    placed = comanifold(*arguments, code=0 if places_new else 1)
    if places_new:
        found = read_table("placed.csv", delimiter=",", header=True).values
        np.testing.assert_array_equal(found, model.row_embedding_)
    else:
        assert f"fitted with --embedding {name}, which places no new points" in placed.error


def test_the_command_line_knows_all_embeddings():
    option = next(option for option in fit.params if option.name == "embedding")
    assert set(option.type.choices) == set(TITLES)


def test_a_table_of_noise_is_called_so(comanifold, tmp_path):
    X = np.random.default_rng(0).normal(size=(25, 15)) + np.arange(15)
    names = [f"g{i}" for i in range(25)], [f"s{j}" for j in range(15)]
    write_table(tmp_path / "noise.csv", Table(X, *names))
    result = comanifold("fit", tmp_path / "noise.csv", "--out", tmp_path / "out", "--no-check")
    assert "structure  rows: none found beyond row and column effects (p = 0." in result.text
    assert "embeddings and clusters may be of noise" in result.text
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "embeddings and clusters may be of noise" in page


def test_doubts_about_the_data_are_warnings(comanifold, tmp_path):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(30, 12))
    values[:4, 3] = -999
    names = [f"r{i}" for i in range(30)], [f"c{j}" for j in range(12)]
    write_table(tmp_path / "t.csv", Table(values, *names))
    found = comanifold("fit", "t.csv", "--out", "out", "--json").json
    assert any("--missing -999" in warning for warning in found["warnings"])
    text = comanifold("fit", "t.csv", "--out", "again", "--no-check").text
    assert "-999 occurs 4 times in column 'c3'" in text
    assert "-999 occurs 4 times" in (tmp_path / "out" / "run.json").read_text()
    found = comanifold("fit", "t.csv", "--out", "third", "--missing=-999", "--json").json
    assert not any("--missing" in warning for warning in found["warnings"])


def test_estimates_that_are_no_better_than_means_are_a_warning(comanifold, tmp_path):
    values = np.random.default_rng(0).normal(size=(40, 30))
    names = [f"r{i}" for i in range(40)], [f"c{j}" for j in range(30)]
    write_table(tmp_path / "t.csv", Table(values, *names))
    found = comanifold("fit", "t.csv", "--out", "out", "--json").json
    held_out = found["held_out"]
    best = min(held_out["row_means"], held_out["column_means"])
    is_warned = any("do not rely on them" in warning for warning in found["warnings"])
    assert is_warned == (held_out["model"] >= best)


def test_quiet(comanifold, file):
    result = comanifold("fit", file, "-o", "out", "--no-check", "--quiet")
    assert (result.text, result.error) == ("", "")


def test_filled_in_values_are_in_the_units_of_the_file(comanifold, file, board, observed):
    comanifold("fit", file, "-o", "out", "--no-check", "--log1p", "--standardize", "--quiet")
    filled = read_table("out/filled.csv").values
    values = board.table.values
    np.testing.assert_array_equal(filled[observed], values[observed])
    inside = filled[~observed]
    assert np.isfinite(filled).all()
    assert np.nanmin(values) - 1 < inside.min() < inside.max() < np.nanmax(values) + 1
    assert abs(CoManifold.load("out/model").filled_.mean()) < 0.5


def test_options_reach_the_model(comanifold, file):
    options = [
        "--neighbors",
        "4,3",
        "--scale-weights",
        "cost",
        "--alpha",
        "-0.4",
        "--bandwidth",
        "local:4",
        "--passes",
        2,
    ]
    options += ["--components", 3, "--distances", "dense", "--tol", 0.01, "--max-iter", 500]
    options += ["--first-graphs", "masked", "--traversal", "paper", "--penalty", "snowflake"]
    options += ["--metric", "tree"]
    comanifold("fit", file, "-o", "out", "--no-check", "--quiet", *options)
    model = CoManifold.load("out/model")
    wanted = {
        "n_neighbors": (4, 3),
        "scale_weights": "cost",
        "alpha": -0.4,
        "bandwidth": ("local", 4),
        "n_passes": 2,
        "n_components": 3,
        "distances": "dense",
        "tol": 0.01,
        "max_iter": 500,
        "metric": "tree",
        "first_graphs": "masked",
        "traversal": "paper",
        "keep_scales": True,
        "checkpoint": None,
    }
    assert wanted.items() <= model.get_params().items()
    comanifold("fit", file, "-o", "paper", "--no-check", "--quiet", "--paper", "--neighbors", 4)
    model = CoManifold.load("paper/model")
    assert (model.scale_weights, model.alpha) == ("cost", -0.5)
    assert (model.bandwidth, model.n_neighbors) == ("median", 4)


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
        ("g,a,b\nx,1,2\ny,-3,4\n", ["--log1p"], "log1p needs values above -1"),
        ("g,a,b\nx,1,2\ny,3,4\n", ["--columns", "c"], "no column named 'c'"),
        ("g,a,b\nx,1,2\ny,3,4\n", ["--annotations", "none.csv"], "none.csv"),
    ],
)
def test_errors_are_one_line_and_leave_nothing_behind(
    comanifold, tmp_path, content, options, words
):
    if content is not None:
        (tmp_path / "t.csv").write_text(content)
    result = comanifold("fit", "t.csv", "-o", "out", *options, code=1)
    assert words in result.error
    assert result.error.count("\n") == 1
    assert {entry.name for entry in tmp_path.iterdir()} <= {"t.csv"}


def test_force_replaces_results_and_nothing_else(comanifold, file, tmp_path):
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


def test_an_error_at_the_end_leaves_the_old_results(comanifold, file, tmp_path, monkeypatch):
    comanifold("fit", file, "-o", "out", "--no-check", "--quiet")
    before = (tmp_path / "out" / "run.json").read_bytes()

    def full(*_arguments, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(report, "render_report", full)
    result = comanifold("fit", file, "-o", "out", "--force", "--no-check", code=1)
    assert "No space left" in result.error
    assert (tmp_path / "out" / "run.json").read_bytes() == before
    assert {entry.name for entry in tmp_path.iterdir()} == {"board.csv", "out"}


def test_without_the_report_packages_all_else_is_written(comanifold, file, monkeypatch):
    monkeypatch.setitem(sys.modules, "comanifold.report", None)
    monkeypatch.setitem(sys.modules, "comanifold.plotting", None)
    result = comanifold("fit", file, "-o", "out", "--no-check")
    assert "pip install 'comanifold[report]'" in result.text
    assert {entry.name for entry in (file.parent / "out").iterdir()} == RESULTS | {MANIFEST}
    assert "pip install" in comanifold("report", "out", code=1).error


def test_rows_without_entries_are_a_warning_and_stay_empty(comanifold, tmp_path):
    rng = np.random.default_rng(0)
    lines = [",".join(f"{x:.3f}" for x in row) for row in rng.normal(size=(12, 8))]
    lines[5] = ",".join([""] * 8)
    (tmp_path / "t.csv").write_text("\n".join(lines))
    found = comanifold("fit", "t.csv", "-o", "out", "--json", "--no-header", "--no-labels").json
    assert "no observed entry" in found["warnings"][0]
    assert read_cells("out/clusters.csv")[6] == ["row", "row 6", "", ""]
    assert read_cells("out/row_embedding.csv")[6] == ["row 6", "", ""]


def test_the_demo_writes_all_results(comanifold, pages, tmp_path):
    result = comanifold("demo", "--out", "shown")
    assert f"Open {os.path.join('shown', 'report.html')}" in result.text
    assert {entry.name for entry in (tmp_path / "shown").iterdir()} >= RESULTS
    assert set(pages["annotations"]) == {"rows", "columns"}
    description = json.loads((tmp_path / "shown" / "run.json").read_text())
    assert description["findings"]["held_out"]["model"] < 0.2


def _assert_all_agree(found, pages, text):
    """Console, JSON, run.json, clusters.csv, page and model have the same clusters."""
    model = CoManifold.load("out/model")
    _, *cells = read_cells("out/clusters.csv")
    findings = json.loads(Path("out/run.json").read_text())["findings"]
    for mode in ("row", "column"):
        clusters = found["clusters"][f"{mode}s"]
        assert findings["clusters"][f"{mode}s"] == clusters
        assert clusters["summary"] in text
        labels = getattr(model, f"{mode}_labels_")
        assert clusters["number"] == labels.max() + 1
        np.testing.assert_array_equal(model.cut(mode, clusters["number"]), labels)
        expected = model.find_clusters(mode)
        assert clusters["evidence"] == expected.evidence
        assert clusters["confidence"] == expected.confidence
        written = [(label, share) for kind, _, label, share in cells if kind == mode]
        assert [label for label, _ in written] == [str(label + 1) for label in labels]
        shares = [float(share) for _, share in written]
        np.testing.assert_allclose(shares, expected.point_confidence)
        assert pages["annotations"][f"{mode}s"]["clusters found"] == [label for label, _ in written]
        page = page_data(model, **{name: pages[name] for name in ("annotations", "errors")})
        assert page["n_clusters"][f"{mode}s"] == clusters["number"]


def test_all_outputs_have_the_same_clusters(comanifold, pages, tmp_path):
    data = make_checkerboard(60, 45, noise=0.3, random_state=0)
    file = tmp_path / "t.csv"
    np.savetxt(file, remove_entries(data.X, 0.3, random_state=0), delimiter=",")
    text = comanifold("fit", file, "-o", "out", "--no-check").text
    found = comanifold("fit", file, "-o", "out", "--no-check", "--force", "--json").json
    _assert_all_agree(found, pages, text)
    assert [found["clusters"][mode]["number"] for mode in ("rows", "columns")] == [4, 3]
    pairs = {*zip(pages["model"].row_labels_.tolist(), data.row_labels.tolist(), strict=True)}
    assert len(pairs) == 4
    assert found["clusters"]["rows"]["evidence"] > 0
    for mode in ("rows", "columns"):
        assert next(iter(pages["annotations"][mode])) == "clusters found"  # the page opens with it


def test_noise_is_one_cluster_in_all_outputs(comanifold, pages, tmp_path):
    np.savetxt(tmp_path / "t.csv", np.random.default_rng(0).normal(size=(40, 30)), delimiter=",")
    text = comanifold("fit", "t.csv", "-o", "out", "--no-check").text
    found = comanifold("fit", "t.csv", "-o", "out", "--no-check", "--force", "--json").json
    _assert_all_agree(found, pages, text)
    assert found["clusters"]["rows"]["summary"] == "rows: one cluster, no groups found"
    assert found["clusters"]["columns"]["number"] == 1
    assert found["clusters"]["columns"]["evidence"] == 0


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        (["--clusters", 2], (2, 2)),
        (["--row-clusters", 5], (5, 3)),
        (["--row-clusters", 2, "--column-clusters", 1], (2, 1)),
    ],
)
def test_numbers_of_clusters_can_be_given(comanifold, file, pages, options, numbers):
    command = ["fit", file, "-o", "out", "--no-check", *options]
    text = comanifold(*command).text
    found = comanifold(*command, "--force", "--json").json
    _assert_all_agree(found, pages, text)
    clusters = found["clusters"]
    assert (clusters["rows"]["number"], clusters["columns"]["number"]) == numbers
    assert clusters["rows"]["summary"].startswith(f"rows: {numbers[0]} clusters, as asked for (")
    assert ("as asked for" in clusters["columns"]["summary"]) == (numbers[1] != 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--clusters", 0], "Invalid value for '--clusters'"),
        (["--column-clusters", "many"], "Invalid value for '--column-clusters'"),
        (["--clusters", 3, "--row-clusters", 2], "--clusters is the number for both"),
    ],
)
def test_invalid_numbers_of_clusters_are_errors(comanifold, file, options, message):
    assert message in comanifold("fit", file, "-o", "out", *options, code=2).error


def test_more_clusters_than_rows_are_an_error(comanifold, file):
    error = comanifold("fit", file, "-o", "out", "--row-clusters", 41, code=1).error
    assert "n_clusters must be at most 40, the number of rows with an observed entry" in error


def test_points_between_clusters_are_counted():
    labels = np.array([0, 0, 1, 1, -1])
    for confidence, expected in (
        (
            [1, 0.5, 1, 0.9, np.nan],
            "(85% of the rows stay in theirs if half of the columns are left",
        ),
        ([1, 0.4, 1, 0.8, np.nan], "left out; 1 row is between clusters)"),
        (
            [0.1, 0.4, 1, 0.9, np.nan],
            "(60% of the rows stay in theirs if half of the columns are "
            "left out; 2 rows are between clusters)",
        ),
    ):
        clusters = Clusters(labels, 3.0, np.array(confidence))
        text = clusters_text("row", clusters, is_given=False)
        assert expected in text
        assert ("between" in text) == ("between" in expected)


def test_estimates_are_compared_with_the_better_means():
    assert unreliable_estimates(None) == []
    assert unreliable_estimates(HeldOutErrors(50, 0.7, 1.0, 0.9)) == []
    (warning,) = unreliable_estimates(HeldOutErrors(50, 1.02, 1.3, 0.99))
    assert warning == (
        "the filled-in values are no better than column means (error 1.02 against 0.99): do not "
        "rely on them"
    )
    assert "row means" in unreliable_estimates(HeldOutErrors(50, 0.9, 0.9, 1.2))[0]


def test_methods_that_are_clearly_better_are_recommended():
    assert unreliable_estimates(HeldOutErrors(50, 0.5, 1.0, 0.9, knn=0.495, soft_impute=0.6)) == []
    (warning,) = unreliable_estimates(
        HeldOutErrors(50, 0.5, 1.0, 0.9, knn=0.48, soft_impute=0.6), "--neighbors"
    )
    assert warning == (
        "KNN fills in this table better (error 0.48 against 0.5): take filled-in values from "
        "sklearn.impute.KNNImputer, or try other parameters, such as --neighbors"
    )
    (warning,) = unreliable_estimates(HeldOutErrors(50, 0.5, 1.0, 0.9, None, 0.4))
    assert "comanifold.baselines.SoftImpute" in warning
    worse, better = unreliable_estimates(HeldOutErrors(50, 1.1, 1.0, 0.9, 0.8, 0.95))
    assert "no better than column means" in worse
    assert "KNN" in better
    # Means are better than all.
    (warning,) = unreliable_estimates(HeldOutErrors(50, 1.1, 1.0, 0.9, 0.95, 0.97))
    assert "no better than column means" in warning


def test_only_what_the_fit_did_not_hold_out_needs_a_second_fit(comanifold, file, monkeypatch):
    fits = []
    fit = CoManifold.fit

    def counted(model, X, **options):
        fits.append(model)
        return fit(model, X, **options)

    monkeypatch.setattr(CoManifold, "fit", counted)
    for options, n_fits in (((), 1), (("--scale-weights", "cost"), 2), (("--no-check",), 1)):
        fits.clear()
        found = comanifold("fit", file, "-o", f"out{len(options)}", "--json", *options).json
        assert len(fits) == n_fits
        assert (found["held_out"] is None) == (options == ("--no-check",))


def test_few_held_out_entries_are_not_judged(comanifold, tmp_path):
    rows = ["1,2,3,4", "2,3,,5", "3,4,5,7", "5,6,7,9", "4,,6,8", "1,1,2,3"]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    found = comanifold("fit", "t.csv", "-o", "out", "--json", "--no-header", "--no-labels").json
    assert 0 < len(CoManifold.load("out/model").held_out_["value"]) < 20
    assert found["held_out"] is None


def test_entries_removed_with_a_usual_seed_leave_others_to_hold_out(comanifold, tmp_path):
    # The generator of the same seed would have held out just the entries that are missing.
    rng = np.random.default_rng(0)
    X = np.where(rng.random((50, 40)) < 0.5, np.nan, rng.normal(size=(50, 40)))
    np.save(tmp_path / "t.npy", X)
    found = comanifold("fit", "t.npy", "-o", "out", "--scale-weights", "cost", "--json").json
    assert 50 < found["held_out"]["n_held_out"] < 150


# Long fits: expected time, checkpoints and interruptions


def test_the_first_fit_is_said_to_compile(comanifold, file, tmp_path):
    comanifold("fit", file, "-o", "out", "--no-check", "--quiet")
    text = comanifold("fit", file, "-o", "again", "--no-check").text
    assert "Expected time: about" in text
    assert "to compile" not in text
    code = "from comanifold._fit.progress import is_compiled; print(is_compiled())"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "new")}
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        ((), {"fit"}),
        (("--scale-weights", "cost"), {"fit", "check"}),
        (("--scale-weights", "cost", "--no-check"), {"fit"}),
    ],
)
def test_a_long_fit_has_checkpoints_until_it_is_complete(
    comanifold, file, tmp_path, monkeypatch, options, steps
):
    seen = []

    def render_report(*_arguments, **_options):
        seen.extend(entry.name for entry in (tmp_path / "out").glob("checkpoint-*"))
        return b""

    monkeypatch.setattr(report, "render_report", render_report)
    comanifold("fit", file, "-o", "out", "--quiet", "--checkpoint-after", 0, *options)
    assert {name.split("-")[-1] for name in seen} == steps
    assert not list((tmp_path / "out").glob("checkpoint-*"))


def test_a_second_fit_is_expected_to_take_as_long_again(comanifold, file, tmp_path, monkeypatch):
    monkeypatch.setattr(CoManifold, "expected_seconds", lambda *_: 300.0)
    whole = np.nan_to_num(read_table(file).values)
    np.save(tmp_path / "whole.npy", whole)
    whole[5] = np.nan  # nothing to fill in
    np.save(tmp_path / "row.npy", whole)
    for number, (name, *options, expected) in enumerate(
        [
            (file, 300.0),
            (file, "--no-check", 300.0),
            (file, "--scale-weights", "cost", 600.0),
            ("whole.npy", 600.0),
            ("whole.npy", "--no-check", 300.0),
            ("row.npy", 600.0),
        ]
    ):
        text = comanifold("fit", name, "-o", f"out{number}", *options).text
        assert f"Expected time: about {duration(expected)}" in text


def test_an_interrupted_fit_resumes_from_checkpoints_in_the_results(
    comanifold, file, tmp_path, monkeypatch
):
    options = ("--no-check", "--quiet", "--jobs", 1, "--checkpoint-after", 0)
    with monkeypatch.context() as patch:
        fit = CoManifold.fit

        def interrupted(model, X, *, progress):
            def stop(at):
                progress(at)
                if at.n_done == 9:
                    raise KeyboardInterrupt

            return fit(model, X, progress=stop)

        patch.setattr(CoManifold, "fit", interrupted)
        stopped = comanifold("fit", file, "-o", "res", *options, code=1)
    assert "run the same command to resume" in stopped.error
    n_before = len(list(tmp_path.glob("res/checkpoint-*-fit/*.npz")))
    assert n_before
    # Another fit to the same folder has its own checkpoint, and both are removed at its end.
    comanifold("fit", file, "-o", "res", "--components", 3, *options)
    assert not list(tmp_path.glob("res/checkpoint-*"))
    assert (tmp_path / "res" / "run.json").exists()


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_fit_that_was_terminated_resumes(tmp_path):
    X = remove_entries(make_curve(120, 100, random_state=0).X, 0.4, random_state=0)
    np.save(tmp_path / "curve.npy", X)
    command = [sys.executable, "-m", "comanifold", "fit", "curve.npy", "-o", "out"]
    command += ["--checkpoint", "kept", "--jobs", "1"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    stopped = subprocess.Popen(command, cwd=tmp_path, **pipes)
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("kept/fit/*.npz")) and stopped.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    stopped.send_signal(signal.SIGTERM)
    _, error = stopped.communicate(timeout=120)
    assert stopped.returncode == 143
    assert "run the same command to resume" in error
    assert "Traceback" not in error
    assert {entry.name for entry in tmp_path.iterdir()} == {"curve.npy", "kept"}
    n_before = len(list(tmp_path.glob("kept/fit/*.npz")))
    assert subprocess.run(command, cwd=tmp_path, check=False, **pipes).returncode == 0
    assert len(list(tmp_path.glob("kept/fit/*.npz"))) > n_before
    filled = read_table(tmp_path / "out" / "filled.csv", header=True, labels=True).values
    np.testing.assert_array_equal(filled, CoManifold().fit(X).filled_)
