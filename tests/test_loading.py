"""Saved models that were changed or damaged: refused, with a word on what is wrong."""

import hashlib
import json
import pickle
import shutil
import zipfile

import numpy as np
import pytest
from oracles.damage import Bomb, archive, as_npy, members_of
from oracles.fits import holes

from comanifold import CoManifold


@pytest.fixture(scope="module")
def untouched(tmp_path_factory):
    directory = tmp_path_factory.mktemp("saved") / "model"
    CoManifold(keep_scales=True).fit(holes()).save(directory)
    return directory


@pytest.fixture
def saved(untouched, tmp_path):
    """A saved model that a test may spoil."""
    return shutil.copytree(untouched, tmp_path / "model")


def edit(saved, change):
    description = json.loads((saved / "model.json").read_text())
    change(description)
    (saved / "model.json").write_text(json.dumps(description))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.update(format_version=2, comanifold="9.0"), "comanifold 9.0.*update"),
        (lambda d: d.update(format_version="1"), "no version"),
        (lambda d: d.update(format="recipe"), "does not describe"),
        (lambda d: d.update({"arrays (sha256)": "0" * 64}), "checksum"),
        (lambda d: d.update(state=[]), "no state"),
        (lambda d: d.pop("parameters"), "parameters"),
        (lambda d: d["parameters"].update(fit="os.system"), "parameters"),
        (lambda d: d["parameters"].update(penalty={"penalty": "system"}), "penalty"),
        (lambda d: d["parameters"].update(penalty={"penalty": "Log", "x": 1}), "penalty"),
        (lambda d: d["state"]["values"].update(_mean="much"), "_mean should be float"),
        (lambda d: d["state"]["values"].update(n_iter_=True), "n_iter_ should be int"),
        (lambda d: d["state"]["values"].update(_traversal="other"), "traversal"),
        (lambda d: d["state"]["values"].pop("_scale"), "_scale should be float"),
        (lambda d: d["state"]["scales"][0].update(l="low"), "l should be int"),
        (lambda d: d["state"]["scales"][0].pop("k"), "other fields"),
        (lambda d: d["state"]["scales"][0].update(certificate={"proof": 1.0}), "certificate"),
        (lambda d: d["state"]["scales"].pop(), "block"),
        (lambda d: d["state"].update(row=None), "row should be dict"),
        (lambda d: d["state"]["row"].update(map={"metric": 3, "run": 1}), "parameters"),
        (lambda d: d["state"]["row"].update(sparse=["row_distances_"]), "is not there"),
        (lambda d: d["state"]["names"].update(row_names_in_=[1, 2]), "neither text"),
        (lambda d: d["state"]["names"].update(row_names_in_=["a", "b"]), "2 labels for 30"),
        (lambda d: d["state"]["names"].update(row_names_in_="array"), "is not there"),
    ],
)
def test_a_description_that_does_not_fit_is_refused(saved, change, words):
    edit(saved, change)
    with pytest.raises(ValueError, match=words):
        CoManifold.load(saved)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000])
def test_a_description_that_is_no_json_is_refused(saved, content):
    (saved / "model.json").write_bytes(content)
    with pytest.raises(ValueError, match="damaged"):
        CoManifold.load(saved)


def replace_arrays(saved, change, compression=zipfile.ZIP_STORED):
    """Change the bytes of some arrays, and mend the checksum."""
    arrays = members_of(saved / "arrays.npz")
    change(arrays)
    (saved / "arrays.npz").write_bytes(archive(arrays, compression))
    mend_checksum(saved)


def mend_checksum(saved):
    digest = hashlib.sha256((saved / "arrays.npz").read_bytes()).hexdigest()
    edit(saved, lambda d: d.update({"arrays (sha256)": digest}))


BOMB = Bomb("a-pickle-was-loaded")
HUGE = as_npy(np.zeros((4, 4))).replace(b"(4, 4)", b"(9999999, 99999)")[:-11]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda a: a.pop("_X.npy"), "'_X' is not there"),
        (lambda a: a.update({"_X.npy": as_npy(np.zeros((2, 2)))}), "'_X' has dtype"),
        (lambda a: a.update({"_X.npy": as_npy(np.array([["a"] * 20] * 30))}), "'_X' has dtype"),
        (lambda a: a.update({"_X.npy": as_npy(BOMB, allow_pickle=True)}), "Python objects"),
        (lambda a: a.update({"_X.npy": pickle.dumps(BOMB)}), "cannot be read"),
        (lambda a: a.update({"_X.npy": a["_X.npy"][:-8]}), "damaged or cut short"),
        (lambda a: a.update({"_X.npy": HUGE}), "cannot be read"),
        (lambda a: a.update({"row_order_.npy": as_npy(np.zeros(30, int))}), "is not a permutation"),
        (lambda a: a.update({"row_edges.npy": as_npy(np.array([[0, 99]]))}), "edges"),
        (
            lambda a: a.update({"block_row_labels.npy": a["block_row_labels.npy"][:-1] + b"\x7f"}),
            "out of range",
        ),
    ],
)
def test_arrays_that_do_not_fit_are_refused(saved, change, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    replace_arrays(saved, change)
    with pytest.raises(ValueError, match=words):
        CoManifold.load(saved)
    assert not (tmp_path / "a-pickle-was-loaded").exists()


def test_compressed_arrays_are_refused(saved):
    replace_arrays(saved, lambda _: None, zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match="compressed"):
        CoManifold.load(saved)


def test_damage_anywhere_is_noticed(saved):
    content = (saved / "arrays.npz").read_bytes()
    (saved / "arrays.npz").write_bytes(content[:-1000])
    with pytest.raises(ValueError, match="checksum"):
        CoManifold.load(saved)
    mend_checksum(saved)
    with pytest.raises(ValueError, match="damaged or no NPZ"):
        CoManifold.load(saved)
    (saved / "arrays.npz").unlink()
    with pytest.raises(FileNotFoundError, match=r"arrays\.npz is missing"):
        CoManifold.load(saved)
    with pytest.raises(FileNotFoundError, match="no saved model"):
        CoManifold.load(saved.parent)
