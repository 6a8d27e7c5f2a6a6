"""The group of commands: completion by the shell, exit codes, and interruptions."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from comanifold import CoManifold
from comanifold.datasets import make_curve, remove_entries
from comanifold.tables import read_table

COMMAND = [sys.executable, "-m", "comanifold"]


def run(*arguments, **options):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, check=False, **{**pipes, **options})


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(comanifold, shell, monkeypatch):
    from click.shell_completion import BashComplete

    monkeypatch.setattr(BashComplete, "_check_version", staticmethod(lambda: None))
    script = comanifold("completion", shell).text
    assert "comanifold" in script
    assert f"{shell}_complete" in script


def complete(*words):
    """Return what bash would suggest for the last of the words."""
    environment = {
        **os.environ,
        "_COMANIFOLD_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["comanifold", *words]),
        "COMP_CWORD": str(len(words)),
    }
    # The name under which it is installed, which `python -m` has not.
    code = "import sys; from comanifold.cli import main; sys.argv[0] = 'comanifold'; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


def test_commands_options_and_values_are_completed():
    assert complete("com") == ["compare", "completion"]
    assert "--row-clusters" in complete("fit", "--row")
    assert complete("fit", "t.csv", "--penalty", "s") == ["snowflake"]


def test_exit_codes_are_those_of_the_help(tmp_path):
    text = run("--help").stdout
    assert "0 success, 1 error" in " ".join(text.split())
    (tmp_path / "words.csv").write_text("a,b\nc,d\n")
    for code, arguments in (
        (0, ("--version",)),
        (1, ("inspect", "missing.csv")),
        (1, ("inspect", tmp_path / "words.csv")),
        (2, ()),
        (2, ("unknown",)),
        (2, ("fit",)),
        (2, ("fit", "t.csv", "--out", "o", "--clusters", "0")),
    ):
        done = run(*arguments)
        assert done.returncode == code, arguments
        assert "Traceback" not in done.stderr
        assert (code == 0) == (done.stderr == "")


def test_a_reader_that_stops_early_gets_no_complaint(tmp_path):
    np.savetxt(tmp_path / "t.csv", np.random.default_rng(0).normal(size=(9, 6)), delimiter=",")
    command = [*COMMAND, "inspect", tmp_path / "t.csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        error = process.stderr.read()
        assert process.wait() == 1
    assert error == b""


def stop_when(folder, process, number):
    """Interrupt a process, as Ctrl-C does, as soon as there are some checkpoints in a folder."""
    deadline = time.monotonic() + 300
    while len(list(folder.rglob("*.npz"))) < 3 and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(number)
    return process.communicate(timeout=300)[1]


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_an_interrupted_fit_says_how_to_go_on_and_resumes(tmp_path):
    X = remove_entries(make_curve(100, 80, random_state=0).X, 0.4, random_state=0)
    np.save(tmp_path / "curve.npy", X)
    fit = ("fit", "curve.npy", "-o", "out", "--jobs", "1")
    command = [*COMMAND, *fit, "--checkpoint-after", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": tmp_path}
    error = stop_when(tmp_path / "out", subprocess.Popen(command, **pipes), signal.SIGINT)
    n_kept = len(list(tmp_path.glob("out/checkpoint-*-fit/*.npz")))
    assert f"Finished parts are kept in out ({n_kept} so far): run the same command" in error
    assert "Stopped." in error
    assert "Traceback" not in error
    # Another fit has nothing to resume, and says that there are parts of this one.
    other = run(*fit, "--resume", "--neighbors", "7", cwd=tmp_path)
    assert other.returncode == 1
    assert "There are parts of a fit to other data, or with other parameters" in other.stderr
    resumed = run(*fit, "--resume", cwd=tmp_path)
    assert resumed.returncode == 0
    assert f"Resuming: {n_kept} finished parts of this fit found in out." in resumed.stdout
    assert not list(tmp_path.glob("out/checkpoint-*"))
    filled = read_table(tmp_path / "out" / "filled.csv", header=True, labels=True).values
    np.testing.assert_array_equal(filled, CoManifold().fit(X).filled_)


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_ctrl_c_has_the_exit_code_of_a_shell(tmp_path):
    X = remove_entries(make_curve(100, 80, random_state=0).X, 0.4, random_state=0)
    np.save(tmp_path / "curve.npy", X)
    command = [*COMMAND, "fit", "curve.npy", "-o", "out", "--checkpoint", "kept"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": tmp_path}
    process = subprocess.Popen(command, **pipes)
    error = stop_when(tmp_path / "kept", process, signal.SIGINT)
    assert process.returncode == 130
    assert "Finished parts are kept in kept (" in error


def test_nothing_to_resume_is_an_error(comanifold, file, tmp_path):
    error = comanifold("fit", file, "-o", "out", "--resume", code=1).error
    assert "there is nothing to resume in out: no finished part of this fit." in error
    assert "starts at the beginning" in error
    assert not (tmp_path / "out").exists()
    error = comanifold("fit", file, "-o", "out", "--resume", "--checkpoint", "k", code=1).error
    assert "nothing to resume in k" in error


def test_a_short_fit_says_that_nothing_was_kept(comanifold, file, monkeypatch):
    def interrupted(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(CoManifold, "fit", interrupted)
    error = comanifold("fit", file, "-o", "out", code=1).error
    assert "Nothing was kept" in error
    assert "with --checkpoint DIR" in error
    error = comanifold("fit", file, "-o", "out", "--checkpoint-after", 0, code=1).error
    assert "No part was finished yet" in error
