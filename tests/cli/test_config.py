"""`--config`: options from the run.json of an earlier run, or from a file of the user."""

import json

import numpy as np
import pytest

from comanifold import CoManifold
from comanifold.cli import _pages

pytestmark = pytest.mark.usefixtures("pages")

FIT = ("--quiet", "--jobs", "1")


@pytest.fixture(autouse=True)
def drawn(monkeypatch):
    """Replaces the drawing of figures; returns the formats of the last call."""
    formats = []

    def write_figures(_new_file, _model, _run, given):
        formats[:] = given
        return []

    monkeypatch.setattr(_pages, "render_overview", lambda *_: b"")
    monkeypatch.setattr(_pages, "write_figures", write_figures)
    return formats


@pytest.fixture
def config(tmp_path):
    def write(content):
        path = tmp_path / "c.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


def test_a_run_is_repeated_from_its_description(comanifold, file, tmp_path, pages, drawn):
    (tmp_path / "known.csv").write_text(
        "\n".join(["label,group", *(f'"row ""{i}"", <b>",{i % 2}' for i in range(40))])
    )
    options = [
        *("--no-check", "--log1p", "--neighbors", "4,6", "--row-clusters", 3, "--title", "T"),
        *("--bandwidth", "local:6", "--labels", "gene", "--missing", "99,x", "--tol", 0.01),
        *("--annotations", "known.csv", "--figures", "svg", "--components", 3),
    ]
    comanifold("fit", file, "-o", "out", *options, *FIT)
    first = dict(pages)
    stored = json.loads((tmp_path / "out" / "run.json").read_text())["options"]
    assert stored["neighbors"] == [4, 6]
    assert stored["annotations"] == ["known.csv"]
    assert not {"out", "jobs", "quiet", "force", "config"} & set(stored)
    comanifold("fit", "--config", "out/run.json", "-o", "again", *FIT)
    one, other = (CoManifold.load(f"{name}/model") for name in ("out", "again"))
    parameters = one.get_params()
    assert other.get_params() == parameters
    assert (parameters["n_neighbors"], parameters["bandwidth"]) == ((4, 6), ("local", 6))
    np.testing.assert_array_equal(one.row_embedding_, other.row_embedding_)
    assert pages["title"] == first["title"] == "T"
    assert pages["annotations"].keys() == first["annotations"].keys()
    assert drawn == ["svg"]
    assert json.loads((tmp_path / "again" / "run.json").read_text())["options"] == stored


def test_options_of_the_command_line_take_precedence(comanifold, file, tmp_path, board):
    comanifold("fit", file, "-o", "out", "--no-check", "--row-clusters", 2, *FIT)
    comanifold("fit", "--config", "out/run.json", "-o", "two", "--row-clusters", 3, "--check", *FIT)
    run = json.loads((tmp_path / "two" / "run.json").read_text())
    assert run["findings"]["clusters"]["rows"]["number"] == 3
    assert run["findings"]["held_out"] is not None
    # And another file.
    np.save(tmp_path / "part.npy", board.table.values[:, :20])
    comanifold("fit", "part.npy", "--config", "out/run.json", "-o", "three", *FIT)
    assert CoManifold.load("three/model").data_.shape == (40, 20)


def test_a_file_of_the_user(comanifold, file, config, drawn):
    path = config({"check": False, "row-clusters": 3, "figures": ["svg", "pdf"], "tol": "0.01"})
    comanifold("fit", file, "--config", path, "-o", "out", *FIT)
    model = CoManifold.load("out/model")
    assert model.n_clusters == (3, None)
    assert model.tol == 0.01
    assert drawn == ["svg", "pdf"]


def test_other_commands_take_what_they_know_of_a_run(comanifold, file, tmp_path):
    comanifold("fit", file, "-o", "out", "--no-check", "--log1p", "--figures", "svg", *FIT)
    comanifold("impute", "--config", "out/run.json", "-o", "complete.csv", *FIT)
    comanifold("impute", file, "--log1p", "-o", "same.csv", *FIT)
    assert (tmp_path / "complete.csv").read_bytes() == (tmp_path / "same.csv").read_bytes()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "c.json is not JSON"),
        ("[" * 100_000, "c.json is not JSON"),
        ([1], "c.json must have an object of options"),
        ({"colour": "red"}, "c.json: 'colour' is not an option of"),
        ({"out": "elsewhere"}, "c.json: 'out' is not an option of"),
        ({"clusters": 0}, "c.json: clusters: 0 is not in the range x>=1"),
        ({"clusters": [1, 2]}, "c.json: clusters: '1,2' is not a valid integer"),
        ({"clusters": None}, "c.json: clusters must be a number, a text or a list, got null"),
        ({"clusters": True}, "c.json: clusters must be a number, a text or a list, got true"),
        ({"log1p": "yes"}, 'c.json: log1p must be true or false, got "yes"'),
        ({"annotations": "a.csv"}, 'c.json: annotations must be a list of texts, got "a.csv"'),
        ({"penalty": "ridge"}, "c.json: penalty: 'ridge' is not one of"),
        ({"figures": ["gif"]}, "c.json: figures: 'gif' is not a format"),
        ({"comanifold": "0.1", "findings": {}}, "c.json has no options: it was written by"),
    ],
)
def test_what_is_wrong_is_named(comanifold, file, config, content, words):
    error = comanifold("fit", file, "-o", "out", "--config", config(content), code=1).error
    assert words in error
    assert error.count("\n") == 1


def test_a_missing_configuration_is_named(comanifold, file):
    error = comanifold("fit", file, "-o", "out", "--config", "none.json", code=1).error
    assert error == "Error: none.json: No such file or directory\n"


def test_a_file_of_options_need_not_name_the_table_but_somebody_must(comanifold, config):
    error = comanifold("fit", "-o", "out", "--config", config({"log1p": True}), code=2).error
    assert "Missing argument 'FILE'" in error
