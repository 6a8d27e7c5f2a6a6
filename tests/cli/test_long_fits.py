"""How long a fit takes, how it is followed, and how it goes on after a stop."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from comanifold import CoManifold
from comanifold.cli import _fit, _fitting, _results
from comanifold.datasets import make_curve, remove_entries
from comanifold.tables import read_table


def test_the_expected_time_grows_and_is_said_to_be_rough():
    model = CoManifold()
    small, large = (_fitting.expected_seconds(model, shape) for shape in ((50, 40), (900, 800)))
    assert 1 < small < 10 < large < 600
    slow = _fitting.expected_seconds(CoManifold(penalty="log"), (900, 800))
    assert slow > large


def test_what_is_compiled_is_known(monkeypatch, tmp_path, file):
    CoManifold().fit(read_table(file).values)
    assert _fitting.is_compiled()
    monkeypatch.setattr(_fitting, "_cache_folder", lambda: tmp_path / "none")
    assert not _fitting.is_compiled()


def test_arms_are_heard_in_any_version_and_change_nothing(board):
    heard = []

    class Listener:
        def begin_pass(self, name):
            heard.append(name)

        def arm_done(self):
            heard.append("arm")

    model = CoManifold()
    model._listener = Listener()
    model.fit(board.table.values)
    assert heard.count("pass") == heard.count("pass with entries hidden") == 1
    assert heard.count("arm") > 10
    np.testing.assert_array_equal(
        model.row_distances_, CoManifold().fit(board.table.values).row_distances_
    )


def test_a_long_fit_keeps_what_is_done_until_it_is_whole(comanifold, file, tmp_path, monkeypatch):
    monkeypatch.setattr(_fit, "_LONG", 0.0)
    seen = []
    write = _results.write_tables

    def look(*arguments):
        seen.extend(entry.name for entry in (tmp_path / "out").glob("checkpoint-*"))
        return write(*arguments)

    monkeypatch.setattr(_results, "write_tables", look)
    comanifold("fit", file, "-o", "out", "--quiet")
    assert {name.split("-")[-1] for name in seen} == {"fit", "check"}
    assert not list((tmp_path / "out").glob("checkpoint-*"))


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_fit_that_is_stopped_goes_on(tmp_path):
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
    _, told = stopped.communicate(timeout=120)
    assert stopped.returncode == 143
    assert "the same command goes on" in told
    assert "Traceback" not in told
    assert {entry.name for entry in tmp_path.iterdir()} == {"curve.npy", "kept"}
    n_before = len(list(tmp_path.glob("kept/fit/*.npz")))
    assert subprocess.run(command, cwd=tmp_path, check=False, **pipes).returncode == 0
    assert len(list(tmp_path.glob("kept/fit/*.npz"))) > n_before
    filled = read_table(tmp_path / "out" / "filled.csv", header=True, labels=True).values
    np.testing.assert_array_equal(filled, CoManifold().fit(X).filled_)
