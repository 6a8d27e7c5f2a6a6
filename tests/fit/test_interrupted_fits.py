"""Fits that are killed, interrupted, or run out of disk space resume from their checkpoint."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from oracles.fits import assert_same_fit, holes

from comanifold import CoManifold
from comanifold._fit.checkpoint import Checkpoint
from comanifold._io import OwnedFolder

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs signals and fork")


def python(code, *arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,
    )


def end(process):
    """Kill a process and all that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


# Forks are killed, so that only the first has to import and compile.
KILLED = """
import json, os, pathlib, random, signal, sys, time
import numpy as np
from comanifold import CoManifold

X, folder, n_kills = np.load(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
seed = int(sys.argv[4])
CoManifold().fit(X)
began = time.monotonic()
CoManifold(checkpoint=folder / "timed").fit(X)
length = time.monotonic() - began
chance = random.Random(seed)
runs, kills = [], 0
while kills < n_kills:
    runs.append(str(folder / f"run{len(runs)}"))
    done = False
    while not done and kills < n_kills:
        child = os.fork()
        if child == 0:
            CoManifold(checkpoint=runs[-1]).fit(X)
            os._exit(0)
        time.sleep(chance.uniform(0, length / 2))
        os.kill(child, signal.SIGKILL)
        done = os.waitpid(child, 0)[1] == 0
        kills += not done
print(json.dumps(runs))
"""


def killed(tmp_path, n_kills, seed):
    X = holes(40, 30)
    np.save(tmp_path / "X.npy", X)
    process = python(KILLED, tmp_path / "X.npy", tmp_path, n_kills, seed)
    try:
        printed, told = process.communicate(timeout=600)
    finally:
        end(process)
    assert process.returncode == 0, told
    undisturbed = CoManifold().fit(X)
    for run in json.loads(printed):
        assert_same_fit(CoManifold(checkpoint=run).fit(X), undisturbed)
        assert not [file.name for file in os.scandir(run) if file.name.startswith(".comanifold-")]


def test_a_fit_killed_at_random_moments_ends_with_the_same_bits(tmp_path):
    killed(tmp_path, 6, seed=time.time_ns() % 1000)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_fit_killed_at_twenty_moments_ends_with_the_same_bits(tmp_path, seed):
    killed(tmp_path, 20, seed)


def test_a_flipped_bit_anywhere_in_a_file_is_noticed(tmp_path):
    X = holes(12, 9)
    CoManifold(checkpoint=tmp_path, scale_weights="cost", first_graphs="masked").fit(X)
    file = min(tmp_path.glob("*.npz"), key=lambda file: file.stat().st_size)
    content = file.read_bytes()
    place = Path(file.stem).stem
    with OwnedFolder(tmp_path, "checkpoint") as folder:
        checkpoint = Checkpoint(folder)
        assert checkpoint.has(place)
        rng = np.random.default_rng(0)
        for position in range(0, len(content), 5):
            changed = bytearray(content)
            changed[position] ^= 1 << rng.integers(8)
            file.write_bytes(changed)
            assert not checkpoint.has(place), position
        for length in range(0, len(content), 50):
            file.write_bytes(content[:length])
            assert not checkpoint.has(place), length


FULL = """
import resource, sys, numpy as np
from comanifold import CoManifold
X = np.load(sys.argv[1])
CoManifold().fit(X[:8, :7])  # reads what was compiled
resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))
CoManifold(checkpoint=sys.argv[2], n_jobs=int(sys.argv[3])).fit(X)
"""


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_full_disk_leaves_what_was_there(tmp_path, n_jobs):
    """Nothing half-written is left, and nothing is lost."""
    X, run = holes(), tmp_path / "run"
    np.save(tmp_path / "X.npy", X)
    model = CoManifold(checkpoint=run).fit(X)
    for file in sorted(run.glob("*.npz"))[::2]:
        file.unlink()
    before = {file.name: file.read_bytes() for file in run.iterdir()}
    process = python(FULL, tmp_path / "X.npy", run, n_jobs)
    try:
        _, told = process.communicate(timeout=300)
    finally:
        end(process)
    assert process.returncode == 1
    assert "any existing file is unchanged: File too large" in told
    assert "run the same fit again to resume" in told
    assert {file.name: file.read_bytes() for file in run.iterdir()} == before
    assert_same_fit(CoManifold(checkpoint=run).fit(X), model)


SLOW_FIT = """
import sys, threading, time
import numpy as np
from joblib import parallel_config
from comanifold import CoManifold
print("begun", flush=True)
try:
    with parallel_config(sys.argv[3], n_jobs=int(sys.argv[4])):
        CoManifold(checkpoint=sys.argv[2]).fit(np.load(sys.argv[1]))
except KeyboardInterrupt:
    if sys.argv[3] == "threading":
        # They may finish the scale that they are at.
        deadline = time.monotonic() + 10
        while threading.active_count() > 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        print(threading.active_count(), "thread", flush=True)
    raise
"""


def begun(tmp_path, *arguments):
    """A process in the middle of a long fit."""
    np.save(tmp_path / "X.npy", holes(900, 800))
    process = python(SLOW_FIT, tmp_path / "X.npy", tmp_path / "run", *arguments)
    deadline = time.monotonic() + 300
    while not list((tmp_path / "run").glob("*.npz")) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process.poll() is None
    return process


def processes_of(group):
    """The number of running processes of a process group."""
    table = subprocess.run(
        ["ps", "-A", "-o", "pgid=,stat="], capture_output=True, text=True, check=True
    )
    rows = [line.split() for line in table.stdout.splitlines()]
    return sum(int(pgid) == group and not stat.startswith("Z") for pgid, stat in rows)


@pytest.mark.parametrize(("backend", "n_jobs"), [("threading", 1), ("threading", 2), ("loky", 2)])
def test_ctrl_c_stops_a_fit_and_says_how_to_resume(tmp_path, backend, n_jobs):
    process = begun(tmp_path, backend, n_jobs)
    try:
        began = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        printed, told = process.communicate(timeout=60)
        assert time.monotonic() - began < 15
        assert process.returncode == -signal.SIGINT
        assert printed == ("begun\n1 thread\n" if backend == "threading" else "begun\n")
        assert told.endswith(": run the same fit again to resume.\n")
        while processes_of(process.pid) and time.monotonic() - began < 15:
            time.sleep(0.1)
        assert processes_of(process.pid) == 0
    finally:
        end(process)


def test_a_second_fit_to_the_same_directory_is_refused(tmp_path):
    process = begun(tmp_path, "threading", 1)
    try:
        with pytest.raises(RuntimeError, match="in use by another run"):
            CoManifold(checkpoint=tmp_path / "run").fit(holes(900, 800))
        assert process.poll() is None
    finally:
        end(process)
