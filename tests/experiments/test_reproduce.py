"""All experiments on small data: every table, figure and claim."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib import image

from comanifold.experiments import EXPERIMENTS, QUICK, Plan, reproduce
from comanifold.experiments import _units as units
from comanifold.experiments._methods import METHODS

PLAN = Plan(realizations=2, percents=(40,))


@pytest.fixture(scope="module")
def run(small_data, tmp_path_factory):  # noqa: ARG001
    out = tmp_path_factory.mktemp("results")
    calls = []
    return out, reproduce(EXPERIMENTS, out, plan=PLAN, progress=calls.append), calls


def test_no_unit_fails(run):
    assert run[1].failures == []


def test_progress_counts_every_unit(run):
    calls = run[2]
    assert calls[0].n_done == 0
    assert [at.n_done for at in calls] == list(range(calls[-1].n_units + 1))


def test_all_methods_have_the_same_masks(run):
    table = pd.read_csv(run[0] / "tables" / "clustering.csv")
    assert set(table["method"]) == set(METHODS)
    seeds = table.groupby(["data_set", "fraction", "realization"])["seed"]
    assert (seeds.nunique() == 1).all()
    assert seeds.ngroups == 2 * 2
    assert table["ari"].between(-1, 1).all()
    assert set(table["n_components"]) == {2, 3}


def test_figures_are_not_empty(run):
    figures = [file for file in run[1].figures if file.suffix == ".png"]
    assert len(figures) == 15
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
    mean, spread = scores.mean()[0.4], scores.std(ddof=0)[0.4]
    summary = (run[0] / "summary.md").read_text(encoding="utf-8")
    assert f"| comanifold | {mean:.2f} ± {spread:.2f} |" in summary.replace("**", "")
    assert summary.count("### Best methods") == 3
    assert summary.count("\n| lung500, 2 coordinates, ") == 1
    assert summary.count("### ") == 3 + 4 + 3 + 3


def test_a_second_run_reuses_all_tables(run):
    out, first, _ = run
    stamps = {file: file.stat().st_mtime_ns for file in (out / "data").rglob("*.csv")}
    second = reproduce(EXPERIMENTS, out, plan=PLAN)
    assert {file: file.stat().st_mtime_ns for file in stamps} == stamps
    assert second.figures == first.figures
    runs = json.loads((out / "run.json").read_text())
    assert [s["units_made"] for s in runs] == [len(stamps), 0]
    assert "numpy" in runs[0]["versions"]


def test_more_masks_reuse_finished_ones(run, tmp_path):
    out = shutil.copytree(run[0], tmp_path / "results")
    before = set((out / "data" / "clustering").iterdir())
    calls = []
    reproduce(["clustering"], out, plan=replace(PLAN, realizations=3), progress=calls.append)
    assert len(set((out / "data" / "clustering").iterdir()) - before) == 2 * len(METHODS)
    assert calls[0].n_done == len(before)


@pytest.mark.parametrize("name", ["appendix", "geometry"])
def test_one_experiment_keeps_the_summaries_of_the_others(run, name):
    out = run[0]
    before = [(out / text).read_text(encoding="utf-8") for text in ("summary.md", "claims.md")]
    reproduce([name], out, plan=PLAN)
    after = [(out / text).read_text(encoding="utf-8") for text in ("summary.md", "claims.md")]
    assert after == before


def test_an_unknown_experiment_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"names must be one of 'workflow'.*got 'figures'"):
        reproduce(["figures"], tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("small_data")
def test_a_failed_unit_spares_the_other_experiments(tmp_path, monkeypatch):
    def broken(*_arguments):
        raise RuntimeError("out of luck")

    monkeypatch.setattr(units, "metric", broken)
    outcome = reproduce(["workflow", "appendix"], tmp_path, plan=PLAN)
    assert [failure.reason for failure in outcome.failures] == ["RuntimeError: out of luck"]
    stems = {file.stem for file in outcome.figures}
    assert "appendix-linkage-data" in stems
    assert "figure-1-workflow" not in stems


def test_a_killed_run_is_resumed_with_the_same_tables(tmp_path):
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
def test_quick_plan(tmp_path):
    outcome = reproduce(EXPERIMENTS, tmp_path, plan=QUICK, n_jobs=2)
    assert not outcome.failures
    table = pd.read_csv(tmp_path / "tables" / "clustering.csv")
    assert table.groupby(["data_set", "fraction"])["realization"].nunique().eq(3).all()
    assert sorted(table["fraction"].unique()) == [0.1, 0.5, 0.9]
