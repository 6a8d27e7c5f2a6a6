"""A fit that is stopped goes on where it was."""

import json
import subprocess
import sys

import numpy as np
import pytest
from oracles.fits import assert_same_fit, holes

from comanifold import CoManifold, _sweep

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
        "import os, sys, numpy as np; from comanifold import CoManifold, _sweep\n"
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
    with pytest.raises(ValueError, match=r"belongs to another fit: alpha was 'auto', is -0\.5"):
        CoManifold(checkpoint=tmp_path, alpha=-0.5).fit(X)
    with pytest.raises(ValueError, match=r"data \(sha256\) was .*, is"):
        CoManifold(checkpoint=tmp_path).fit(X + 1e-9)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(ValueError, match=r"run\.json cannot be read"):
        CoManifold(checkpoint=tmp_path).fit(X)


def test_nothing_half_written_is_left(tmp_path, monkeypatch):
    X = holes()

    def full_disk(file, **_):
        file.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full_disk)
    with pytest.raises(OSError, match="No space left"):
        CoManifold(checkpoint=tmp_path).fit(X)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "run.json"]
    assert "alpha" in json.loads((tmp_path / "run.json").read_text())


def test_a_checkpoint_must_be_a_path():
    with pytest.raises(ValueError, match="checkpoint must be a directory, got 3"):
        CoManifold(checkpoint=3).fit(holes())
