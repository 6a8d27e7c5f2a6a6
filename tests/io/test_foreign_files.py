"""Foreign files are never changed or deleted, whatever is called and whenever it is killed."""

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from oracles.fits import holes
from oracles.foreign import fingerprint, scatter

from comanifold import CoManifold
from comanifold._io import OwnedFolder
from comanifold.tables import Table, write_table

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and signals")

# Runs each command in a fork of a process that has imported everything, and kills it before one of
# its changes of the file system. Prints how each ended.
RUN = """
import contextlib, io, json, os, sys
import numpy as np
import pandas as pd
from comanifold import CoManifold
from comanifold._io import OwnedFolder
from comanifold.cli import _fit, _report
from comanifold.cli._main import commands
from comanifold.experiments._units import Unit, run_units

def table(name):
    return pd.DataFrame({"name": [name]})

# Demonstration and pages are small, because hundreds are made.
_fit.DEMO_SHAPE = 12, 9
_report.render_page = lambda *_: b"<!doctype html>"
_report.render_figure = lambda *_: b"png"
X = np.load(sys.argv[1])
CoManifold(keep_scales=True).fit(X)
CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate")

def die_before(moment):
    left = [moment]
    def count(event, arguments):
        mode = arguments[1] if event == "open" else None
        opens = isinstance(mode, str) and set(mode) & set("wax+")
        if event in CHANGES or opens:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), 9)
    sys.addaudithook(count)

def call(arguments):
    if arguments[0] == "save":
        CoManifold().fit(X).save(arguments[1], overwrite=arguments[2])
    elif arguments[0] == "checkpoint":
        CoManifold(checkpoint=arguments[1]).fit(X)
    elif arguments[0] == "experiments":
        units = [Unit("t", table, (name,)) for name in "abc"]
        with OwnedFolder(arguments[1], "set of experiments") as folder:
            folder.refuse_taken(unit.file for unit in units)
            list(run_units(units, folder, n_jobs=1))
    else:
        commands.main(arguments, standalone_mode=False)

for line in sys.stdin:
    folder, arguments, moment = json.loads(line)
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        if moment is not None:
            die_before(moment)
        told = io.StringIO()
        try:
            with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
                call(arguments)
        except BaseException as error:
            os.write(1, (json.dumps(f"{type(error).__name__}: {error}") + "\\n").encode())
            os._exit(0)
        os.write(1, b'"done"\\n')
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        os.write(1, b'"killed"\\n')
"""

FORCE = [[], ["--force"]]
QUIET = ["--jobs", "1", "-q"]
FIT = ["--no-check", "--checkpoint-after", "0", *QUIET]
COMMANDS = [
    *(["fit", "t.csv", "-o", out, *FIT, *force]
      for out in ("res", "new", "deep/er", "empty", "link", "mine") for force in FORCE),
    *(["fit", "t.csv", "-o", "kept", "--checkpoint", kept, *FIT]
      for kept in ("checkpoints", "mine")),
    *(["impute", "t.csv", "-o", out, *QUIET, *force]
      for out in ("filled.csv", "new/filled.csv", "t.csv") for force in FORCE),
    *(["transform", "res", "t.csv", "-o", "filled.csv", "-q", *force] for force in FORCE),
    ["report", "res", "-q"],
    *(["save", out, overwrite]
      for out in ("saved", "res", "new", "mine", "res/model") for overwrite in (False, True)),
    *(["checkpoint", where] for where in ("ck", "mine", "empty", "new", "res")),
    *(["experiments", out] for out in ("new", "mine", "res", ".")),
    *(["demo", "--out", out, "-q"] for out in ("res", "new", "mine")),
]  # fmt: skip


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A folder with a table, results, a saved model, a checkpoint and foreign files."""
    folder = tmp_path_factory.mktemp("template")
    X = holes(12, 9)
    np.save(folder / "X.npy", X)
    write_table(
        folder / "t.csv", Table(X, [str(i) for i in range(12)], [f"c{j}" for j in range(9)])
    )
    runner = Runner(folder)
    assert runner(folder, ["fit", "t.csv", "-o", "res", *FIT]) == "done"
    model = CoManifold(checkpoint=folder / "ck").fit(X)
    model.set_params(checkpoint=None).save(folder / "saved")
    for name in ("mine", "empty", "outside"):
        (folder / name).mkdir()
    (folder / "outside" / "precious").write_text("precious")
    (folder / "mine" / "precious").write_text("precious")
    (folder / "link").symlink_to("empty")
    yield folder, runner
    runner.end()


class Runner:
    def __init__(self, folder):
        self._process = subprocess.Popen(
            [sys.executable, "-c", RUN, folder / "X.npy"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, folder, arguments, moment=None):
        self._process.stdin.write(json.dumps([str(folder), arguments, moment]) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def end(self):
        self._process.communicate()


def attack(template, folder, seed, n_calls):
    """Call commands in a folder full of foreign files; return how they ended."""
    rng = random.Random(seed)
    source, runner = template
    shutil.copytree(source, folder, symlinks=True)
    outside = folder / "outside"
    places = [folder, *(folder / name for name in ("res", "res/model", "saved", "ck", "mine"))]
    foreign = scatter(places, outside, rng, n_items=25)
    foreign += [outside, outside / "precious", folder / "mine" / "precious", folder / "link"]
    if rng.random() < 0.5:
        (folder / "filled.csv").write_text("mine")
    endings = []
    for _ in range(n_calls):
        foreign += meddle(folder, outside, foreign, rng)
        arguments = rng.choice(COMMANDS)
        moment = rng.choice([None, rng.randrange(8), rng.randrange(60), rng.randrange(250)])
        before = fingerprint(foreign)
        target = folder / "filled.csv"
        content = target.read_bytes() if target.exists() else None
        told = runner(folder, arguments, moment)
        assert fingerprint(foreign) == before, (seed, arguments, moment, told)
        if content is not None:
            copies = [path.read_bytes() for path in folder.glob("filled.csv*") if path.is_file()]
            assert content in copies, (seed, arguments, moment, told)
        assert os.listdir(folder / "mine"), (seed, arguments)
        endings.append((arguments[0], told))
    finish(runner, folder, foreign, seed)
    return endings


def meddle(folder, outside, foreign, rng):
    """Create a file in any folder, also one that a killed command left, or change a result."""
    made = []
    if rng.random() < 0.4:
        here = [place for place, _, _ in os.walk(folder) if not place.startswith(str(outside))]
        here.sort(key=lambda place: ".comanifold-" in place or "checkpoint-" in place)
        made = scatter([Path(rng.choice(here[-5:]))], outside, rng, n_items=1)
    if rng.random() < 0.2:
        result = folder / "res" / rng.choice(["report.html", "clusters.csv", "overview.png"])
        if result.is_file() and result not in foreign:
            result.write_text("with remarks of mine")
            made.append(result)
    return made


def finish(runner, folder, foreign, seed):
    """Assert that later commands delete what killed ones have left, and nothing else."""
    before = fingerprint(foreign)
    for name in ("res", "saved", "ck"):
        kind = {"res": "set of results", "saved": "model", "ck": "checkpoint"}[name]
        OwnedFolder(folder / name, kind).close()
    assert runner(folder, ["impute", "t.csv", "-o", "last.csv", *QUIET]) == "done"
    assert fingerprint(foreign) == before, seed
    for place in (folder, folder / "res", folder / "saved", folder / "ck"):
        left = [
            path
            for path in place.glob(".comanifold-*")
            if not any(str(mine).startswith(str(path)) for mine in foreign)
        ]
        assert not left, (seed, left)
    assert len(CoManifold.load(folder / "saved").row_embedding_) == 12


def kinds(endings):
    return {"done" if told == "done" else "killed" if told == "killed" else "refused"
            for _, told in endings}  # fmt: skip


def test_foreign_files_are_untouched_by_commands_that_are_killed_or_refused(template, tmp_path):
    endings = []
    for seed in range(4):
        endings += attack(template, tmp_path / str(seed), seed, n_calls=25)
    assert kinds(endings) == {"done", "killed", "refused"}


def test_every_command_works_without_foreign_files(template, tmp_path):
    """Otherwise the other tests would test commands that fail anyway."""
    source, runner = template
    shutil.copytree(source, tmp_path / "copy", symlinks=True)
    for arguments in (
        ["fit", "t.csv", "-o", "new", *FIT],
        ["fit", "t.csv", "-o", "res", "--force", *FIT],
        ["impute", "t.csv", "-o", "filled.csv", *QUIET],
        ["transform", "res", "t.csv", "-o", "placed.csv", "-q"],
        ["report", "res", "-q"],
        ["save", "saved", True],
        ["checkpoint", "ck"],
        ["experiments", "experiments"],
        ["demo", "--out", "demo", "-q"],
    ):
        assert runner(tmp_path / "copy", arguments) == "done", arguments


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 140))
def test_foreign_files_are_untouched_in_a_long_attack(template, tmp_path, seed):
    attack(template, tmp_path / "attacked", seed, n_calls=60)
