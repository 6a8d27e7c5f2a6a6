"""A fit that is stopped goes on where it was."""

import os
import subprocess
import sys
import types

import numpy as np
import pytest
from oracles.fits import assert_same_fit, holes

from comanifold import CoManifold
from comanifold._fit import fingerprint as _fingerprint
from comanifold._fit import sweep as _sweep

PARAMETERS = {"keep_scales": True, "n_passes": 2}


def test_stopped_at_any_part_it_ends_with_the_same_bits(tmp_path, monkeypatch):
    X = holes()
    undisturbed = CoManifold(**PARAMETERS).fit(X)
    model = CoManifold(checkpoint=tmp_path / "run", **PARAMETERS)
    solved, original = [], _sweep._arm

    def stop_at_the_fifth(*arguments):
        solved.append(1)
        if len(solved) % 5 == 0:
            raise KeyboardInterrupt
        return original(*arguments)

    monkeypatch.setattr(_sweep, "_arm", stop_at_the_fifth)
    n_stops = 0
    while True:
        try:
            model.fit(X)
            break
        except KeyboardInterrupt:
            n_stops += 1
    assert n_stops >= 3
    assert_same_fit(model, undisturbed)
    first = undisturbed.scales_[3]
    np.testing.assert_array_equal(
        model.estimate_at(first.l, first.k), undisturbed.estimate_at(first.l, first.k)
    )
    # All is there now: nothing is solved again.
    before = len(solved)
    monkeypatch.setattr(_sweep, "_arm", lambda *_: pytest.fail("an arm was solved again"))
    assert_same_fit(CoManifold(checkpoint=tmp_path / "run", **PARAMETERS).fit(X), undisturbed)
    assert len(solved) == before


def test_killed_it_ends_with_the_same_bits(tmp_path):
    X = holes(seed=1)
    np.save(tmp_path / "X.npy", X)
    code = (
        "import os, sys, numpy as np; from comanifold import CoManifold\n"
        "from comanifold._fit import sweep as _sweep\n"
        "original, left = _sweep._arm, [int(sys.argv[3])]\n"
        "def dying(*arguments):\n"
        "    left[0] -= 1\n"
        "    if left[0] < 0: os.kill(os.getpid(), 9)\n"
        "    return original(*arguments)\n"
        "_sweep._arm = dying\n"
        "CoManifold(checkpoint=sys.argv[2]).fit(np.load(sys.argv[1]))\n"
    )
    for n_parts in (2, 5):
        command = [sys.executable, "-c", code, tmp_path / "X.npy", tmp_path / "run", str(n_parts)]
        killed = subprocess.run(command, capture_output=True, check=False)
        assert killed.returncode == -9
    assert len(list((tmp_path / "run").glob("*.npz"))) == 7
    assert_same_fit(CoManifold(checkpoint=tmp_path / "run").fit(X), CoManifold().fit(X))


@pytest.mark.parametrize("harm", ["truncated", "flipped", "emptied", "removed", "pickled"])
def test_a_part_that_cannot_be_read_is_solved_again(tmp_path, harm):
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


def test_the_directory_of_another_fit_is_refused(tmp_path):
    X = holes()
    CoManifold(checkpoint=tmp_path).fit(X)
    CoManifold(checkpoint=tmp_path, n_jobs=2, bandwidth="median", n_components=1).fit(X)
    with pytest.raises(ValueError, match=r"belongs to another fit: alpha was auto, is -0\.5"):
        CoManifold(checkpoint=tmp_path, alpha=-0.5).fit(X)
    with pytest.raises(ValueError, match=r"data \(sha256\) was .*, is"):
        CoManifold(checkpoint=tmp_path).fit(X + 1e-9)


def test_a_checkpoint_without_its_manifest_is_refused_and_left_alone(tmp_path):
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


def test_parts_that_were_swapped_are_solved_again(tmp_path):
    X = holes()
    model = CoManifold(checkpoint=tmp_path).fit(X)
    one, other, *_ = parts(tmp_path)
    contents = one.read_bytes(), other.read_bytes()
    other.write_bytes(contents[0])
    one.write_bytes(contents[1])
    assert_same_fit(CoManifold(checkpoint=tmp_path).fit(X), model)
    assert (one.read_bytes(), other.read_bytes()) != contents[::-1]


def test_parts_of_another_matrix_of_that_shape_are_solved_again(tmp_path):
    X = holes()
    model = CoManifold(checkpoint=tmp_path / "one").fit(X)
    CoManifold(checkpoint=tmp_path / "other").fit(np.roll(X, 1, axis=0))
    for part, foreign in zip(parts(tmp_path / "one"), parts(tmp_path / "other"), strict=False):
        part.write_bytes(foreign.read_bytes())
    assert_same_fit(CoManifold(checkpoint=tmp_path / "one").fit(X), model)


def test_equal_numbers_of_other_types_are_the_same_parameters(tmp_path):
    X = holes()
    CoManifold(checkpoint=tmp_path, alpha=-0.5, n_neighbors=5, tol=0.01).fit(X)
    n_parts = len(parts(tmp_path))
    other = {"alpha": np.float64(-0.5), "n_neighbors": [np.int32(5), 5], "tol": np.float32(0.01)}
    with pytest.raises(ValueError, match=r"tol was 0\.01, is 0\.00999"):
        CoManifold(checkpoint=tmp_path, **other).fit(X)
    other["tol"] = np.float64(0.01)
    CoManifold(checkpoint=tmp_path, **other).fit(X)
    assert len(parts(tmp_path)) == n_parts


def test_other_versions_are_refused(tmp_path, monkeypatch):
    X = holes()
    CoManifold(checkpoint=tmp_path).fit(X)
    for name in ("numpy", "scipy", "numba"):
        with monkeypatch.context() as patch:
            patch.setattr(sys.modules[name], "__version__", "0.0")
            with pytest.raises(ValueError, match=rf"{name} was .*, is 0\.0"):
                CoManifold(checkpoint=tmp_path).fit(X)
    monkeypatch.setattr(_fingerprint, "__version__", "99")
    with pytest.raises(ValueError, match=r"comanifold was .*, is 99"):
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
    """A penalty as it would be read from a module that was edited."""
    module = types.ModuleType("penalties_of_a_user")
    exec(PENALTY.format(rate=rate, slope=slope, value=value), vars(module))
    return module.Exponential()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_penalty_that_was_edited_is_told(tmp_path):
    X, options = holes(10, 8), {"alpha": -0.5, "max_iter": 5, "first_graphs": "masked"}
    CoManifold(checkpoint=tmp_path, penalty=penalty(), **options).fit(X)
    CoManifold(checkpoint=tmp_path, penalty=penalty(), **options).fit(X)
    for edited in (penalty(rate="1.5"), penalty(value=" * 1.0"), penalty(slope="abs(-1.0)")):
        with pytest.raises(ValueError, match="penalty was Exponential"):
            CoManifold(checkpoint=tmp_path, penalty=edited, **options).fit(X)


def test_files_that_are_not_of_the_checkpoint_stay(tmp_path):
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


def test_nothing_half_written_is_left(tmp_path, monkeypatch):
    X = holes()

    def full_disk(file, **_):
        file.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full_disk)
    with pytest.raises(OSError, match="No space left"):
        CoManifold(checkpoint=tmp_path).fit(X)
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_must_be_a_path():
    with pytest.raises(ValueError, match="checkpoint must be a directory, got 3"):
        CoManifold(checkpoint=3).fit(holes())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_in_the_place_of_a_part_is_an_error_and_no_wait(tmp_path):
    X = holes(12, 9)
    model = CoManifold(checkpoint=tmp_path / "kept").fit(X)
    part = next((tmp_path / "kept").glob("*.npz"))
    part.unlink()
    os.mkfifo(part)
    with pytest.raises(FileExistsError, match="not replaced"):
        model.fit(X)
    assert part.is_fifo()
