"""Damaged and malicious files are read or refused with a message, and never executed."""

import hashlib
import json
import pickle
import tracemalloc
import zipfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.damage import (
    ODD_ARRAYS,
    ODD_JSON,
    Bomb,
    archive,
    as_npy,
    damaged,
    members_of,
    npy_declaring,
    places_in,
    with_part,
)
from oracles.fits import holes

from comanifold import CoManifold
from comanifold._fit.checkpoint import Checkpoint
from comanifold._io import OwnedFolder
from comanifold.tables import READABLE, Table, TableError, read_table, write_table

TABLE = Table(
    np.array([[1.5, np.nan, 3.0], [4.0, 5.0, 6e10], [7.0, 8.0, -9.0]]),
    ["a", "b", "ü"],
    ["x", "y", "z"],
)
MARKET = "%%MatrixMarket matrix coordinate real general\n"
LARGE = 40 << 20


@contextmanager
def little_memory():
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < LARGE
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def saved(folder):
    """A saved model, and the contents of its two files."""
    path = folder / "model"
    CoManifold(keep_scales=True).fit(holes(8, 7)).save(path)
    return path, json.loads((path / "model.json").read_text()), members_of(path / "arrays.npz")


@pytest.fixture(scope="module")
def part(folder):
    """A checkpoint, the path of a part in it, and the contents of that part."""
    X = holes(8, 7)
    CoManifold(checkpoint=folder / "run").fit(X)
    path = sorted((folder / "run").glob("*.npz"))[0]
    with OwnedFolder(folder / "run", "checkpoint") as owned:
        yield Checkpoint(owned), path, members_of(path)


# The library that reads .h5ad files never returns from some damaged ones.
@pytest.mark.parametrize("name", ["t.csv", "t.tsv.gz", "t.npy", "t.npz", "t.parquet"])
@given(data=st.data())
def test_damaged_tables(folder, name, data):
    path = folder / name
    write_table(path, TABLE)
    path.write_bytes(data.draw(damaged(path.read_bytes())))
    assert_read_or_refused(path)


@given(data=st.data())
def test_damaged_matrices(folder, data):
    path = folder / "t.mtx"
    content = data.draw(
        st.sampled_from(
            [
                MARKET + "3 3 3\n1 1 1.5\n2 2 3\n3 1 2e5\n",
                MARKET.replace("coordinate real general", "array real symmetric") + "2 2\n1\n3\n2",
            ]
        )
    )
    path.write_bytes(data.draw(damaged(content.encode())))
    assert_read_or_refused(path)


def assert_read_or_refused(path):
    try:
        table = read_table(path, absent="zero")
    except (TableError, OSError) as error:
        message = str(error)
    else:
        assert not np.isinf(table.values).any()
        assert np.isfinite(table.values).any()
        assert table.values.shape == (len(table.row_names), len(table.column_names))
        return
    assert str(path) in message


@pytest.mark.parametrize("ending", READABLE)
def test_a_pickle_under_any_name_is_not_loaded(folder, ending):
    path, made = folder / f"pickle{ending}", folder / "made-by-a-pickle"
    for protocol in (0, pickle.HIGHEST_PROTOCOL):
        path.write_bytes(pickle.dumps(Bomb(made), protocol=protocol))
        with pytest.raises(TableError):
            read_table(path, absent="zero")
    assert not made.exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.npy", npy_declaring((0, 10**15))),
        ("t.npy", npy_declaring((10**15, 0))),
        ("t.npy", npy_declaring((10**9, 10**9))),
        ("t.npy", npy_declaring((10**9, 10**9), "V0")),
        ("t.npy", npy_declaring((-(10**9), -(10**9)))),
        ("t.npz", archive({"values.npy": npy_declaring((0, 10**15))})),
        ("t.npz", archive({"values.npy": npy_declaring((10**5, 10**5))})),
        ("t.mtx", (MARKET + "0 1000000000000 0\n").encode()),
        ("t.mtx", (MARKET + "400000000 1 1\n1 1 5\n").encode()),
        ("t.mtx", (MARKET + "1 1 1" + "0" * 5000 + "\n1 1 5\n").encode()),
        (
            "t.mtx",
            (MARKET.replace("coordinate real general", "array real symmetric") + "20000 20000\n1\n")
            .encode(),
        ),
    ],
)  # fmt: skip
def test_declared_sizes_take_no_memory(folder, name, content):
    (folder / name).write_bytes(content)
    with little_memory(), pytest.raises(TableError):
        read_table(folder / name, absent="zero")


def test_declared_lengths_of_labels_take_no_memory(folder):
    size = 1 << 27
    labels = npy_declaring((3,), f"<U{size}")
    with zipfile.ZipFile(folder / "t.npz", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("values.npy", as_npy(np.ones((3, 3))))
        info = zipfile.ZipInfo("row_names.npy")
        file.writestr(info, labels)
        info.file_size += 12 * size  # as the directory of the archive then says
    with little_memory(), pytest.raises(TableError, match="'row_names' takes 1,610,612,736 bytes"):
        read_table(folder / "t.npz")


def test_names_in_an_archive_are_only_names(folder):
    path = folder / "inside" / "t.npz"
    path.parent.mkdir()
    for name in ("../../climbed.npy", "/tmp/../climbed.npy", "..\\climbed.npy", "a/b.npy"):
        path.write_bytes(archive({name: as_npy(np.ones((2, 2)))}))
        np.testing.assert_array_equal(read_table(path).values, np.ones((2, 2)))
    assert [file.name for file in path.parent.iterdir()] == ["t.npz"]
    assert not list(folder.glob("**/climbed*"))


def test_annotated_data_in_other_files_are_refused(folder):
    h5py = pytest.importorskip("h5py")
    pytest.importorskip("anndata")
    path = folder / "t.h5ad"
    write_table(path, TABLE)
    with h5py.File(path, "a") as file:
        del file["X"]
        file["X"] = h5py.ExternalLink(str(folder / "other.h5"), "/X")
    with pytest.raises(TableError, match="'X' lies in another file"):
        read_table(path)
    write_table(path, TABLE)
    with h5py.File(path, "a") as file:
        file["layers"].create_dataset("large", (10**6, 10**6), chunks=(10, 10), dtype=float)
    with pytest.raises(TableError, match="1000000 x 1000000 entries"):
        read_table(path, layer="large")
    write_table(path, TABLE)
    with h5py.File(path, "a") as file:
        outside = [(str(folder / "secret"), 0, 72)]
        file["layers"].create_dataset("outside", (3, 3), dtype=float, external=outside)
    with pytest.raises(TableError, match="'layers/outside' lies in another file"):
        read_table(path, layer="outside")


class TestModels:
    def load(self, saved, description, members):
        """Return the loaded model, or None if it is refused; the checksum is always right."""
        path = saved[0]
        content = members if isinstance(members, bytes) else archive(members)
        (path / "arrays.npz").write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        if isinstance(description, dict) and "arrays (sha256)" in description:
            description = {**description, "arrays (sha256)": digest}
        (path / "model.json").write_text(json.dumps(description))
        try:
            model = CoManifold.load(path)
        except (ValueError, OSError) as error:
            assert str(path) in str(error)  # noqa: PT017
            return None
        # An accepted model is consistent.
        assert model.row_embedding_.shape[0] == model.filled_.shape[0] == 8
        assert model.column_embedding_.shape[0] == model.filled_.shape[1] == 7
        assert np.isfinite(model.scales_["objective"]).all()
        return model

    def test_the_saved_model_is_loaded(self, saved):
        _, description, members = saved
        assert self.load(saved, description, members) is not None

    @given(data=st.data())
    def test_wrong_values_in_the_description(self, saved, data):
        _, description, members = saved
        place = data.draw(st.sampled_from(list(places_in(description))))
        other = with_part(description, place, data.draw(ODD_JSON))
        self.load(saved, other, members)

    @given(data=st.data())
    def test_wrong_arrays(self, saved, data):
        _, description, members = saved
        name = data.draw(st.sampled_from(sorted(members)))
        content = data.draw(
            st.one_of(
                st.sampled_from(ODD_ARRAYS).map(as_npy),
                damaged(members[name]),
                st.just(npy_declaring((10**12, 10**12), "V0")),
            )
        )
        self.load(saved, description, {**members, name: content})

    @given(data=st.data())
    def test_damaged_archives(self, saved, data):
        _, description, members = saved
        self.load(saved, description, data.draw(damaged(archive(members))))

    @pytest.mark.parametrize("name", ["objective", "weight", "seconds"])
    def test_nan_in_a_scale(self, saved, name):
        _, description, members = saved
        other = with_part(description, ("state", "scales", 0, name), float("nan"))
        assert self.load(saved, other, members) is None

    def test_no_scales(self, saved):
        _, description, members = saved
        other = with_part(description, ("state", "scales"), [])
        other = with_part(other, ("state", "blocks"), [])
        assert self.load(saved, other, members) is None


class TestCheckpoints:
    def load(self, part, content):
        checkpoint, path, _ = part
        place = Path(path.stem).stem
        path.write_bytes(content + hashlib.sha256(content).digest())
        if not content:
            assert not checkpoint.has(place)
        try:
            return checkpoint.load(place)
        except ValueError as error:
            assert str(path) in str(error)  # noqa: PT017
            return None

    def test_the_saved_part_is_loaded(self, part):
        assert self.load(part, archive(part[2])) is not None

    @given(data=st.data())
    def test_damage_with_a_right_checksum(self, part, data):
        self.load(part, data.draw(damaged(archive(part[2]))))

    @given(data=st.data())
    def test_wrong_scales(self, part, data):
        members = part[2]
        header = len(as_npy(np.zeros(0, np.uint8)))
        scales = json.loads(members["scales.npy"][header:])
        place = data.draw(st.sampled_from(list(places_in(scales))))
        other = json.dumps(with_part(scales, place, data.draw(ODD_JSON))).encode()
        self.load(part, archive({**members, "scales.npy": as_npy(np.frombuffer(other, np.uint8))}))

    def test_a_pickle(self, part, folder):
        made = folder / "made-by-a-part"
        pickled = as_npy(np.array([Bomb(made)], dtype=object), allow_pickle=True)
        assert self.load(part, archive({**part[2], "rows.npy": pickled})) is None
        assert self.load(part, archive(part[2], zipfile.ZIP_DEFLATED)) is None
        assert not made.exists()

    @pytest.mark.parametrize("member", ["rows.npy", "scales.npy", "total_weight.npy"])
    def test_a_fit_does_not_continue_from_a_wrong_part(self, tmp_path, member):
        X = holes(8, 7)
        CoManifold(checkpoint=tmp_path).fit(X)
        path = sorted(tmp_path.glob("pass-1*.npz"))[0]
        for change in ({member: as_npy(np.zeros(3))}, None):
            members = members_of(path)
            members = {**members, **change} if change else members
            if change is None:
                del members[member]
            content = archive(members)
            path.write_bytes(content + hashlib.sha256(content).digest())
            with pytest.raises(ValueError, match="delete"):
                CoManifold(checkpoint=tmp_path).fit(X)
