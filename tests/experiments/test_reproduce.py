"""The experiments on small data: every table, figure and claim."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from matplotlib import image

from comanifold.datasets import make_clusters, make_linkage, make_linkage2
from comanifold.experiments import EXPERIMENTS, QUICK, Plan, reproduce
from comanifold.experiments import _cases as cases
from comanifold.experiments import _units as units
from comanifold.experiments._claims import Claim, _widest_gap, as_markdown
from comanifold.experiments._methods import METHODS
from comanifold.experiments._summary import summarise

PLAN = Plan(realizations=2, percents=(20, 40))


def small(data_set):
    if data_set == "linkage":
        return make_linkage(36, 30, random_state=0)
    if data_set == "linkage2":
        return make_linkage2(36, 30, random_state=0)
    data = make_clusters(36, 40, n_groups=4, random_state=0)
    names = np.array(["Carcinoid", "Colon", "Normal", "SmallCell"])
    return {
        "X": data.X.T,
        "column_labels": data.row_labels,
        "label_names": names,
        "column_names": np.array([f"{names[g]}_{i}" for i, g in enumerate(data.row_labels)]),
    }


@pytest.fixture(scope="module")
def patched():
    with pytest.MonkeyPatch.context() as patch:
        from sklearn.utils import Bunch

        patch.setattr(cases, "complete", lambda name: Bunch(**small(name)))
        patch.setattr(units, "complete", lambda name: Bunch(**small(name)))
        patch.setattr("comanifold.experiments._reproduce.complete", small)
        for data_set in cases.DATA_SETS:  # what a small surface has
            patch.setitem(units.SHOWN_SCALES, data_set, ((-5, -5), (-5, -4), (-5, -3)))
        yield


@pytest.fixture(scope="module")
def run(patched, tmp_path_factory):  # noqa: ARG001
    out = tmp_path_factory.mktemp("results")
    heard = []
    return out, reproduce(EXPERIMENTS, out, plan=PLAN, report=heard.append), heard


def test_nothing_fails(run):
    assert run[1].failures == []


def test_progress_goes_from_nothing_to_everything(run):
    heard = run[2]
    assert heard[0].n_done == 0
    assert [at.n_done for at in heard] == list(range(heard[-1].n_units + 1))


def test_the_table_of_clusters_has_all_methods_on_the_same_masks(run):
    table = pd.read_csv(run[0] / "tables" / "clustering.csv")
    assert set(table["method"]) == set(METHODS)
    seeds = table.groupby(["data_set", "fraction", "realization"])["seed"]
    assert (seeds.nunique() == 1).all()
    assert seeds.ngroups == 2 * 2 * 2
    assert table["ari"].between(-1, 1).all()
    assert set(table["n_components"]) == {2, 3}


def test_figures_are_pictures_of_some_content(run):
    figures = [file for file in run[1].figures if file.suffix == ".png"]
    assert len(figures) == 13
    for file in figures:
        pixels = image.imread(file)
        assert min(pixels.shape[:2]) > 300
        assert len(np.unique(pixels[:, :, 0])) > 20
        assert 0.005 < (pixels[:, :, :3].min(axis=2) < 0.9).mean() < 0.98


def test_every_claim_is_decided_with_numbers(run):
    claims = pd.read_csv(run[0] / "claims.csv")
    assert len(claims) > 15
    assert claims["holds"].isin([True, False]).all()
    assert claims["numbers"].str.contains(r"\d").all()
    assert (run[0] / "claims.md").read_text().count("\n") == len(claims) + 2


def test_the_summary_has_the_means_of_the_table(run):
    table = pd.read_csv(run[0] / "tables" / "clustering.csv")
    of_ours = table[(table["method"] == "comanifold") & (table["n_components"] == 2)]
    scores = of_ours[of_ours["data_set"] == "lung500"].groupby("fraction")["ari"]
    cells = [f"{scores.mean()[f]:.2f} ± {scores.std(ddof=0)[f]:.2f}" for f in (0.2, 0.4)]
    summary = (run[0] / "summary.md").read_text(encoding="utf-8")
    assert f"| comanifold | {cells[0]} | {cells[1]} |" in summary
    assert summary.count("### ") == 4 + 3 + 3


def test_a_second_run_makes_nothing_again(run):
    out, first, _ = run
    stamps = {file: file.stat().st_mtime_ns for file in (out / "data").rglob("*.csv")}
    second = reproduce(EXPERIMENTS, out, plan=PLAN)
    assert {file: file.stat().st_mtime_ns for file in stamps} == stamps
    assert second.figures == first.figures
    sittings = json.loads((out / "run.json").read_text())
    assert [s["units_made"] for s in sittings] == [len(stamps), 0]
    assert "numpy" in sittings[0]["versions"]


def test_more_masks_are_added_to_those_there_are(run, tmp_path):
    out = shutil.copytree(run[0], tmp_path / "results")
    before = set((out / "data" / "clustering").iterdir())
    heard = []
    reproduce(["clustering"], out, plan=PLAN.with_realizations(3), report=heard.append)
    assert len(set((out / "data" / "clustering").iterdir()) - before) == 2 * 2 * len(METHODS)
    assert heard[0].n_done == len(before)


@pytest.mark.parametrize("name", ["appendix", "geometry"])
def test_one_experiment_leaves_what_is_said_of_the_others(run, name):
    out = run[0]
    before = [(out / text).read_text(encoding="utf-8") for text in ("summary.md", "claims.md")]
    reproduce([name], out, plan=PLAN)
    after = [(out / text).read_text(encoding="utf-8") for text in ("summary.md", "claims.md")]
    assert after == before


def test_an_experiment_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"names must be one of 'workflow'.*got 'figures'"):
        reproduce(["figures"], tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_was_not_done_leaves_its_cell_empty():
    of_all = {"data_set": "linkage", "fraction": [0.1, 0.5], "realization": 0, "error": 0.25}
    ours = pd.DataFrame({**of_all, "method": "comanifold"})
    table = pd.concat([ours, pd.DataFrame({**of_all, "method": "mean"}).iloc[1:]])
    lines = summarise({"filling": table}).splitlines()
    assert lines[-2:] == [
        "| comanifold | 0.250 ± 0.000 | 0.250 ± 0.000 |",
        "| mean of the column |  | 0.250 ± 0.000 |",
    ]


@pytest.mark.usefixtures("patched")
def test_a_failed_piece_of_work_spares_the_other_experiments(tmp_path, monkeypatch):
    def broken(*_arguments):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(units, "metric", broken)
    outcome = reproduce(["workflow", "appendix"], tmp_path, plan=PLAN)
    assert [failure.reason for failure in outcome.failures] == ["RuntimeError: out of luck"]
    stems = {file.stem for file in outcome.figures}
    assert "appendix-linkage-data" in stems
    assert "figure-1-workflow" not in stems


@pytest.mark.usefixtures("patched")
def test_masks_and_permutations_depend_on_the_seed_alone():
    one, again = (cases.make_case("linkage", 0.5, 3) for _ in range(2))
    other = cases.make_case("linkage", 0.5, 4)
    np.testing.assert_array_equal(one.X, again.X)
    assert not np.array_equal(one.missing, other.missing)
    assert one.missing.mean() == pytest.approx(0.5, abs=0.001)


@pytest.mark.usefixtures("patched")
def test_what_is_known_is_permuted_with_the_matrix():
    case = cases.make_case("linkage", 0.5, 1)
    distances = np.linalg.norm(case.data.row_points[:, None] - case.data.column_points, axis=2)
    np.testing.assert_allclose(case.data.X, distances)
    np.testing.assert_array_equal(case.X[~case.missing], case.data.X[~case.missing])


def test_the_widest_gap_is_that_between_groups_not_to_outliers():
    x = np.sort(np.random.default_rng(0).uniform(0, 1, size=100))

    def gap(x):
        return _widest_gap(np.column_stack([x, np.zeros(100)]))

    assert gap(x) < 0.1
    assert gap(x + (np.arange(100) >= 50)) == pytest.approx(0.5, abs=0.05)
    assert gap(x + (np.arange(100) >= 99)) < 0.05


def test_claims_read_as_a_table():
    text = as_markdown([Claim("a", True, "1"), Claim("b", False, "2")])
    assert text.splitlines()[2:] == ["| a | true | 1 |", "| b | not true | 2 |"]


def test_killed_and_started_again_it_ends_with_the_same_tables(tmp_path):
    def command(out):
        options = ["appendix", "--out", str(out), "--jobs", "2"]
        return [sys.executable, "-m", "comanifold", "reproduce", *options]

    out = tmp_path / "killed"
    process = subprocess.Popen(command(out), stderr=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 240
    while not list(out.glob("data/*/*.csv")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    done = len(list(out.glob("data/*/*.csv")))
    assert 1 <= done <= 4
    subprocess.run(command(out), check=True, capture_output=True)
    undisturbed = tmp_path / "undisturbed"
    subprocess.run(command(undisturbed), check=True, capture_output=True)
    for file in (undisturbed / "tables").iterdir():
        assert (out / "tables" / file.name).read_bytes() == file.read_bytes()
    assert not list(out.glob("**/.part*"))


@pytest.mark.slow
@pytest.mark.usefixtures("lung500")
def test_the_quick_form(tmp_path):
    outcome = reproduce(EXPERIMENTS, tmp_path, plan=QUICK, n_jobs=2)
    assert not outcome.failures
    table = pd.read_csv(tmp_path / "tables" / "clustering.csv")
    assert table.groupby(["data_set", "fraction"])["realization"].nunique().eq(3).all()
    assert sorted(table["fraction"].unique()) == [0.1, 0.5, 0.9]
