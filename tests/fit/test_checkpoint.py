"""Checkpoints: an interrupted fit resumes from them, and those of other fits are refused."""

import json
import os
import subprocess
import sys
import types

import numpy as np
import pytest
from oracles.fits import assert_same_fit, holes

from comanifold import CoManifold

PARAMETERS = {"keep_scales": True, "n_passes": 2}


def interrupt_at(n_done):
    """A progress callable that presses Ctrl-C when so many paths are done."""

    def progress(state):
        if state.n_done == n_done:
            raise KeyboardInterrupt

    return progress


def modified(folder):
    return {file.name: file.stat().st_mtime_ns for file in folder.glob("*.npz")}


def test_an_interrupted_fit_ends_with_the_same_bits(tmp_path):
    X, run = holes(), tmp_path / "run"
    undisturbed = CoManifold(**PARAMETERS).fit(X)
    model = CoManifold(checkpoint=run, **PARAMETERS)
    n_interrupts, before = 0, {}
    while True:
        try:
            model.fit(X, progress=interrupt_at(5 * (n_interrupts + 1)))
            break
        except KeyboardInterrupt as error:
            n_interrupts += 1
            assert "run the same fit again to resume" in error.__notes__[0]  # noqa: PT017
            after = modified(run)
            assert before.items() < after.items()  # nothing was solved again
            before = after
    assert n_interrupts >= 3
    assert_same_fit(model, undisturbed)
    np.testing.assert_array_equal(model.estimate_at(index=3), undisturbed.estimate_at(index=3))
    complete = modified(run)
    assert_same_fit(CoManifold(checkpoint=run, **PARAMETERS).fit(X), undisturbed)
    assert modified(run) == complete


KILLED = """
import os, sys
import numpy as np
from comanifold import CoManifold

def progress(state):
    if state.n_done == int(sys.argv[3]):
        os.kill(os.getpid(), 9)

CoManifold(checkpoint=sys.argv[2]).fit(np.load(sys.argv[1]), progress=progress)
"""


def test_a_killed_fit_ends_with_the_same_bits(tmp_path):
    X = holes(seed=1)
    np.save(tmp_path / "X.npy", X)
    for n_done in (2, 7):
        command = [sys.executable, "-c", KILLED, tmp_path / "X.npy", tmp_path / "run", str(n_done)]
        killed = subprocess.run(command, capture_output=True, check=False)
        assert killed.returncode == -9
        assert len(modified(tmp_path / "run")) == n_done
    assert_same_fit(CoManifold(checkpoint=tmp_path / "run").fit(X), CoManifold().fit(X))


@pytest.mark.parametrize("harm", ["truncated", "flipped", "emptied", "removed", "pickled"])
def test_a_damaged_part_is_solved_again(tmp_path, harm):
    X = holes()
    model = CoManifold(checkpoint=tmp_path, **PARAMETERS).fit(X)
    for file in sorted(tmp_path.glob("*.npz"))[::3]:
        content = file.read_bytes()
        if harm == "truncated":
            file.write_bytes(content[: len(content) // 2])
        elif harm == "flipped":
            middle = len(content) // 2
            file.write_bytes(
                content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]
            )
        elif harm == "emptied":
            file.write_bytes(b"")
        elif harm == "pickled":
            np.savez(file, scales=np.array([{"l": 1}], dtype=object))
        else:
            file.unlink()
    assert_same_fit(CoManifold(checkpoint=tmp_path, **PARAMETERS).fit(X), model)


def test_the_checkpoint_of_another_fit_is_refused(tmp_path):
    X = holes()
    CoManifold(checkpoint=tmp_path).fit(X)
    CoManifold(checkpoint=tmp_path, n_jobs=2, bandwidth="median", n_components=1).fit(X)
    with pytest.raises(
        ValueError, match="belongs to another fit: scale_weights was 'learned', is 'cost'"
    ):
        CoManifold(checkpoint=tmp_path, scale_weights="cost").fit(X)
    with pytest.raises(ValueError, match=r"data \(sha256\) was .*, is"):
        CoManifold(checkpoint=tmp_path).fit(X + 1e-9)


def test_a_checkpoint_without_its_manifest_is_refused_and_unchanged(tmp_path):
    X = holes()
    CoManifold(checkpoint=tmp_path).fit(X)
    manifest = tmp_path / ".comanifold.json"
    whole = manifest.read_bytes()
    manifest.write_bytes(b"{")
    with pytest.raises(FileExistsError, match="not written by comanifold"):
        CoManifold(checkpoint=tmp_path).fit(X)
    manifest.unlink()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(FileExistsError, match="not written by comanifold"):
        CoManifold(checkpoint=tmp_path).fit(X)
    assert sorted(tmp_path.iterdir()) == before
    manifest.write_bytes(whole)
    CoManifold(checkpoint=tmp_path).fit(X)


def parts(folder):
    return sorted(folder.glob("pass-1*.npz"))


def test_swapped_parts_are_solved_again(tmp_path):
    X = holes()
    model = CoManifold(checkpoint=tmp_path).fit(X)
    one, other, *_ = parts(tmp_path)
    contents = one.read_bytes(), other.read_bytes()
    other.write_bytes(contents[0])
    one.write_bytes(contents[1])
    assert_same_fit(CoManifold(checkpoint=tmp_path).fit(X), model)
    assert (one.read_bytes(), other.read_bytes()) != contents[::-1]


def test_parts_of_another_matrix_are_solved_again(tmp_path):
    X = holes()
    model = CoManifold(checkpoint=tmp_path / "one").fit(X)
    CoManifold(checkpoint=tmp_path / "other").fit(np.roll(X, 1, axis=0))
    for part, foreign in zip(parts(tmp_path / "one"), parts(tmp_path / "other"), strict=False):
        part.write_bytes(foreign.read_bytes())
    assert_same_fit(CoManifold(checkpoint=tmp_path / "one").fit(X), model)


def test_equal_numbers_of_other_types_are_the_same_parameters(tmp_path):
    X, cost = holes(), {"scale_weights": "cost", "alpha": -0.5}
    CoManifold(checkpoint=tmp_path, n_neighbors=5, tol=0.01, **cost).fit(X)
    n_parts = len(parts(tmp_path))
    other = {"n_neighbors": [np.int32(5), 5], "tol": np.float32(0.01), "scale_weights": "cost"}
    other["alpha"] = np.float64(-0.5)
    with pytest.raises(ValueError, match=r"tol was 0\.01, is 0\.00999"):
        CoManifold(checkpoint=tmp_path, **other).fit(X)
    other["tol"] = np.float64(0.01)
    CoManifold(checkpoint=tmp_path, **other).fit(X)
    assert len(parts(tmp_path)) == n_parts


@pytest.mark.parametrize("name", ["numpy", "scipy", "numba", "python", "comanifold", "format"])
def test_checkpoints_of_other_versions_are_refused(tmp_path, name):
    X = holes(8, 7)
    CoManifold(checkpoint=tmp_path).fit(X)
    manifest = tmp_path / ".comanifold.json"
    header, *lines = manifest.read_text().splitlines()
    header = json.loads(header)
    header["description"][name] = "0.0"
    manifest.write_text("\n".join([json.dumps(header), *lines, ""]))
    with pytest.raises(ValueError, match=rf"another fit: {name} was 0\.0, is \d"):
        CoManifold(checkpoint=tmp_path).fit(X)


PENALTY = """
from comanifold.penalties import Penalty
import numpy as np

RATE = {rate}

def slope(z):
    return {slope} * RATE * np.exp(-RATE * np.asarray(z))

class Exponential(Penalty):
    def value(self, z):
        return -np.expm1(-RATE * np.asarray(z)){value}

    def derivative(self, z):
        return slope(z)
"""


def penalty(rate="1.0", slope="1.0", value=""):
    """A penalty of an edited module."""
    module = types.ModuleType("penalties_of_a_user")
    exec(PENALTY.format(rate=rate, slope=slope, value=value), vars(module))
    return module.Exponential()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_edited_penalty_is_noticed(tmp_path):
    X = holes(10, 8)
    options = {"scale_weights": "cost", "max_iter": 5, "first_graphs": "masked"}
    CoManifold(checkpoint=tmp_path, penalty=penalty(), **options).fit(X)
    CoManifold(checkpoint=tmp_path, penalty=penalty(), **options).fit(X)
    for edited in (penalty(rate="1.5"), penalty(value=" * 1.0"), penalty(slope="abs(-1.0)")):
        with pytest.raises(ValueError, match="penalty was Exponential"):
            CoManifold(checkpoint=tmp_path, penalty=edited, **options).fit(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_edited_array_that_a_penalty_refers_to_is_noticed(tmp_path):
    X = holes(10, 8)
    options = {"scale_weights": "cost", "max_iter": 5, "first_graphs": "masked"}
    for _ in range(2):
        model = CoManifold(penalty=penalty("np.array([1.0])"), checkpoint=tmp_path, **options)
        model.fit(X)
    with pytest.raises(ValueError, match="penalty was Exponential"):
        model.set_params(penalty=penalty("np.array([1.5])")).fit(X)


def test_foreign_files_in_a_checkpoint_are_kept(tmp_path):
    X, mine = holes(), tmp_path / "mine"
    for name in (".part-x", "run.json", ".lock", "sub/.part-y"):
        (mine / name).parent.mkdir(parents=True, exist_ok=True)
        (mine / name).write_text("mine")
    with pytest.raises(FileExistsError, match="not written by comanifold"):
        CoManifold(checkpoint=mine).fit(X)
    (tmp_path / "linked").mkdir()
    CoManifold(checkpoint=tmp_path / "linked").fit(X)
    (tmp_path / "linked" / "run.json").write_text("mine")
    (tmp_path / "linked" / "link").symlink_to(mine)
    CoManifold(checkpoint=tmp_path / "linked").fit(X)
    assert (tmp_path / "linked" / "run.json").read_text() == "mine"
    assert len([path for path in mine.rglob("*") if path.is_file()]) == 4


def test_a_checkpoint_must_be_a_path():
    with pytest.raises(ValueError, match="checkpoint must be a directory, got 3"):
        CoManifold(checkpoint=3).fit(holes())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_in_the_place_of_a_part_is_an_error(tmp_path):
    X = holes(12, 9)
    model = CoManifold(checkpoint=tmp_path / "kept").fit(X)
    part = next((tmp_path / "kept").glob("*.npz"))
    part.unlink()
    os.mkfifo(part)
    with pytest.raises(FileExistsError, match="not replaced"):
        model.fit(X)
    assert part.is_fifo()
