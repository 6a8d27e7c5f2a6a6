"""`comanifold compare`: one table, one picture, and conclusions."""

import csv
import json

import numpy as np
import pytest

from comanifold import CoManifold, compare, comparison
from comanifold.cli._compare import KIND
from comanifold.tables import read_cells

FAST = ("--repeats", 2, "--jobs", 1)


@pytest.fixture(autouse=True)
def without_umap(monkeypatch):
    monkeypatch.setattr(comparison, "find_spec", lambda _: None)


def test_table_picture_and_conclusions(comanifold, file, board, tmp_path):
    result = comanifold("compare", file, "-o", "out", "--figures", "svg,png", *FAST)
    expected = compare(board.table.values, CoManifold(), n_repeats=2)
    for line in expected.conclusions():
        assert line in result.text
    assert "comanifold" in result.text
    assert "SoftImpute, UMAP: not measured, because umap-learn is not installed" in result.text
    header, *rows = read_cells("out/comparison.csv")
    assert header == list(expected.table)
    assert [row[0] for row in rows] == expected.table["method"].tolist()
    for name in ("error", "row_agreement_se"):
        found = [float(row[header.index(name)]) for row in rows]
        np.testing.assert_allclose(found, expected.table[name], rtol=1e-12)
    stored = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert stored["conclusions"] == expected.conclusions()
    assert (tmp_path / "out" / "comparison.svg").read_bytes().startswith(b"<?xml")
    assert (tmp_path / "out" / "comparison.png").read_bytes().startswith(b"\x89PNG")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *(".comanifold.json", "comparison.csv", "comparison.json"),
        *("comparison.svg", "comparison.png"),
    }


def test_json_and_options(comanifold, file, board, tmp_path):
    found = comanifold(
        *("compare", file, "--json", "--log1p", "--neighbors", 3, "--nearest", 4, *FAST)
    ).json
    model = CoManifold(n_neighbors=3)
    expected = compare(np.log1p(board.table.values), model, n_repeats=2, n_neighbors=4).as_dict()
    assert found["n_neighbors"] == {"row": 4, "column": 4}
    for ours, theirs in zip(found["methods"], expected["methods"], strict=True):
        assert ours["method"] == theirs["method"]
        assert ours["error"] == pytest.approx(theirs["error"], rel=1e-9)
    assert found["out"] is None
    assert {path.name for path in tmp_path.iterdir()} == {"board.csv"}


def test_existing_folders_are_left_alone(comanifold, file, tmp_path):
    comanifold("compare", file, "-o", "out", "-q", *FAST)
    error = comanifold("compare", file, "-o", "out", *FAST, code=1).error
    assert "or replace its results with --force" in error
    comanifold("compare", file, "-o", "out", "--force", "-q", *FAST)
    error = comanifold("fit", file, "-o", "out", "--force", code=1).error
    assert f"holds a {KIND} of comanifold" in error
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "comparison.csv").write_text("mine")
    assert "not written by comanifold" in comanifold("compare", file, "-o", "mine", code=1).error


def test_tables_without_differences_are_an_error(comanifold, tmp_path):
    with open(tmp_path / "t.csv", "w", newline="") as file:
        csv.writer(file).writerows([["g", *"abcde"], *([f"r{i}", *[7] * 5] for i in range(9))])
    error = comanifold("compare", "t.csv", code=1).error
    assert "all observed entries of X are equal: there is nothing to compare" in error
