"""`--figures`, `--layouts`, annotations in figures, and tables of what distinguishes clusters."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from comanifold import CoManifold
from comanifold.cli import _figures
from comanifold.cli._annotations import annotations_of_figures
from comanifold.datasets import make_checkerboard
from comanifold.tables import read_cells, read_table

pytestmark = pytest.mark.usefixtures("pages")

FIT = ("--no-check", "--quiet", "--jobs", "1")
NAMES = {
    "overview",
    "matrix",
    "row_embedding",
    "column_embedding",
    "row_distinguishing",
    "column_distinguishing",
}
STARTS = {"svg": b"<?xml", "pdf": b"%PDF-", "png": b"\x89PNG"}


def annotate(path, names, **columns):
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = zip(names, *columns.values(), strict=True)
        csv.writer(file).writerows([("label", *columns), *rows])


def test_figures_in_all_formats_and_again_by_report(comanifold, file, tmp_path):
    result = comanifold("fit", file, "-o", "out", "--no-check", "--figures", "svg, PDF,png")
    assert "figures (18)" in result.text
    assert "--figures" not in result.text
    folder = tmp_path / "out" / "figures"
    found = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert set(found) == {f"{name}.{ending}" for name in NAMES for ending in STARTS}
    for name, content in found.items():
        assert content.startswith(STARTS[name[-3:]])
    # Text in vector graphics stays text.
    assert b"spalte" in found["matrix.svg"]
    for path in folder.iterdir():
        path.unlink()
    again = comanifold("report", "out", "--figures", "svg", "--json").json
    assert {name for name in again["files"] if name.startswith("figures/")} == {
        f"figures/{name}.svg" for name in NAMES
    }
    assert (folder / "matrix.svg").read_bytes() == found["matrix.svg"]


def test_figures_of_an_earlier_fit_do_not_stay_beside_newer_results(comanifold, file, tmp_path):
    comanifold("fit", file, "-o", "out", "--figures", "svg", *FIT)
    result = comanifold("fit", file, "-o", "out", "--force", "--no-check", "--jobs", 1)
    assert not list(tmp_path.glob("out/figures/*"))
    assert "comanifold report out --figures svg,pdf: figures for a paper" in result.text


def test_figures_of_the_user_are_not_replaced(comanifold, file, tmp_path):
    comanifold("fit", file, "-o", "out", *FIT)
    (tmp_path / "out" / "figures").mkdir()
    (tmp_path / "out" / "figures" / "matrix.svg").write_text("mine")
    for command in (("report", "out"), ("fit", file, "-o", "out", "--force", *FIT)):
        assert "matrix.svg" in comanifold(*command, "--figures", "svg", code=1).error
    assert (tmp_path / "out" / "figures" / "matrix.svg").read_text() == "mine"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--figures", "gif"], "'gif' is not a format: some of svg, pdf, png"),
        (["--layouts", "umap,spiral"], "'spiral' is not a layout: some of diffusion, umap"),
    ],
)
def test_unknown_formats_and_layouts(comanifold, file, options, words):
    assert words in comanifold("fit", file, "-o", "out", *options, code=2).error


def test_layouts_are_written_and_shown_in_the_report(comanifold, file, board, pages, tmp_path):
    comanifold("fit", file, "-o", "out", "--layouts", "tsne,mds", *FIT)
    model = CoManifold.load("out/model")
    assert list(pages["layouts"]) == ["tsne", "mds"]
    for name, both in pages["layouts"].items():
        for mode, points in zip(("row", "column"), both, strict=True):
            np.testing.assert_array_equal(points, model.embed(name, mode=mode))
            written = read_table(f"out/{mode}_embedding_{name}.csv", delimiter=",", header=True)
            np.testing.assert_array_equal(written.values, points)
            assert written.row_names == getattr(board.table, f"{mode}_names")
    first = pages.pop("layouts")
    comanifold("report", "out")
    for name in first:
        for before, after in zip(first[name], pages["layouts"][name], strict=True):
            np.testing.assert_array_equal(before, after)
    (tmp_path / "out" / "row_embedding_mds.csv").write_text("row,coordinate_1\nx,wide\n")
    assert "row_embedding_mds.csv is damaged" in comanifold("report", "out", code=1).error


def test_the_report_takes_layouts_with_points_that_have_no_place(comanifold, tmp_path, monkeypatch):
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    X = make_checkerboard(24, 18, noise=0.3, random_state=0).X
    X[5] = np.nan
    np.save("t.npy", X)
    comanifold("fit", "t.npy", "-o", "out", "--layouts", "tsne", *FIT)
    assert (tmp_path / "out" / "report.html").stat().st_size > 100_000
    comanifold("report", "out")


def test_a_layout_that_cannot_be_made_does_not_cost_the_fit(comanifold, file, pages):
    result = comanifold(
        "fit", file, "-o", "out", "--no-check", "--distances", "sparse", "--layouts", "mds"
    )
    assert "--layouts mds was left out, because" in result.text
    assert "layouts" not in pages


def test_annotations_of_rows_and_columns_are_in_the_figures(
    comanifold, file, board, pages, tmp_path, monkeypatch
):
    annotate(
        "rows.csv",
        board.table.row_names,
        remark=[f"text {i}" for i in range(40)],
        group=["a", "b"] * 20,
        size=[*range(39), ""],
    )
    annotate("columns.csv", board.table.column_names, kind=[1, 2, 3] * 10)
    seen = {}
    plot = CoManifold.plot

    def remember(model, **options):
        seen.update(options)
        return plot(model, **options)

    monkeypatch.setattr(CoManifold, "plot", remember)
    both = ("--annotations", "rows.csv", "--annotations", "columns.csv")
    result = comanifold("fit", file, "-o", "out", "--no-check", *both, "--figures", "svg")
    assert "Annotations of 40 of 40 rows: remark, group, size." in result.text
    assert "Annotations of 30 of 30 columns: kind." in result.text
    assert list(pages["annotations"]["rows"]) == ["clusters found", "remark", "group", "size"]
    shown = seen["annotations"]
    assert list(shown["rows"]) == ["group", "size"]  # a text of its own for each row is no group
    assert shown["rows"]["group"][:2] == ["a", "b"]
    assert shown["rows"]["size"][-1] is None
    assert shown["columns"] == {"kind": [1, 2, 3] * 10}
    assert b"group" in (tmp_path / "out" / "figures" / "row_embedding.svg").read_bytes()
    seen.clear()
    comanifold("report", "out")
    assert seen["annotations"] == shown


def test_at_most_three_annotations_are_in_figures():
    some = {"rows": {name: ["x", "y"] for name in "abcde"}, "columns": {"same": ["x", "x"]}}
    assert annotations_of_figures(some) == {"rows": ["a", "b", "c"]}
    assert annotations_of_figures({}) == {}


def test_what_distinguishes_clusters_is_written(comanifold, file):
    found = comanifold("fit", file, "-o", "out", "--no-check", "--json").json
    model = CoManifold.load("out/model")
    for mode in ("row", "column"):
        table = model.distinguishing(mode)
        header, *rows = read_cells(f"out/{mode}_distinguishing.csv")
        assert header == [
            *("cluster", "name", "effect", "standard_error", "certain", "inside", "outside"),
            *("n_inside", "n_outside"),
        ]
        assert [row[1] for row in rows] == table["name"].tolist()
        assert [int(row[0]) - 1 for row in rows] == table["cluster"].tolist()
        np.testing.assert_allclose([float(row[2]) for row in rows], table["effect"])
        # The summary names the first three of each cluster, as far as they are certain.
        for cluster in found["distinguishing"][f"{mode}s"]:
            sure = [row for row in rows if row[0] == str(cluster["cluster"]) and float(row[4]) > 0]
            best = [row[1] for row in sure][:3]
            assert [feature["name"] for feature in cluster["features"]] == best
    assert found["next_steps"][0].startswith("row_distinguishing.csv and column_disting")


def test_one_cluster_has_a_table_without_lines(comanifold, tmp_path):
    np.savetxt(tmp_path / "t.csv", np.random.default_rng(0).normal(size=(30, 20)), delimiter=",")
    result = comanifold("fit", "t.csv", "-o", "out", "--no-check", "--figures", "svg")
    assert len(read_cells("out/row_distinguishing.csv")) == 1
    assert "marked by" not in result.text
    assert "do not interpret positions or groups yet" in result.text
    assert not (tmp_path / "out" / "figures" / "row_distinguishing.svg").exists()


def test_json_has_all_that_the_summary_says(comanifold, file):
    text = comanifold("fit", file, "-o", "out").text
    found = comanifold("fit", file, "-o", "out", "--force", "--json").json
    body = text[text.index("Fitted in") :]
    sentences = [
        *(found["clusters"][mode]["summary"] for mode in ("rows", "columns")),
        *found["differences"],
        *(found["structure"][mode]["summary"] for mode in ("rows", "columns")),
        found["held_out"]["summary"],
        found["held_out"]["best"],
        *found["warnings"],
        *found["next_steps"],
        ", ".join(found["files"]),
    ]
    for sentence in sentences:
        assert sentence in body
        body = body.replace(sentence, "", 1)
    left = " ".join(body.split())
    assert "difference of the means inside and outside" in left
    assert len(left) < 300  # headings
    saved = json.loads(Path("out/run.json").read_text(encoding="utf-8"))["findings"]
    assert saved["differences"] == found["differences"]


def test_possible_figures_are_all_that_may_be_written():
    assert set(_figures.possible_figures(("svg",))) == {f"figures/{name}.svg" for name in NAMES}
