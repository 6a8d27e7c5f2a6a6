"""Models that are saved and loaded again."""

import json
import os
import pickle
import zipfile

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.manifold import Isomap

from comanifold import CoManifold, Graph
from comanifold.penalties import MCP, Log, Penalty


def holes(seed=0, shape=(30, 20)):
    rng = np.random.default_rng(seed)
    X = np.cos(np.linspace(0, 3, shape[0])[:, None] - np.linspace(0, 3, shape[1]))
    X += 0.1 * rng.normal(size=X.shape)
    X[rng.random(X.shape) < 0.4] = np.nan
    return X


def assert_same(one, other, where="model"):
    """The same bits, whatever it is made of."""
    if sparse.issparse(one):
        assert type(one) is type(other), where
        one, other = one.copy(), other.copy()
        for part in ("data", "indices", "indptr"):
            assert_same(getattr(one, part), getattr(other, part), where)
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, where
        np.testing.assert_array_equal(one, other, err_msg=where)
    elif isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            assert_same(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, list):
        assert len(one) == len(other), where
        for i, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_same(a, b, f"{where}[{i}]")
    elif hasattr(one, "__dict__") and not isinstance(one, Penalty):
        assert type(one) is type(other), where
        if isinstance(one, Graph):  # what it works out when it is first asked
            assert one.n_components == other.n_components
        assert_same(vars(one), vars(other), where)
    else:
        assert one == other or (one != one and other != other), where


@pytest.fixture(scope="module")
def model():
    return CoManifold(keep_scales=True, n_neighbors=(4, 3)).fit(holes())


@pytest.fixture
def saved(model, tmp_path):
    model.save(tmp_path / "model")
    return tmp_path / "model"


def all_but_the_callbacks(model):
    return {name: value for name, value in vars(model).items() if "callback" not in name}


@pytest.mark.parametrize(
    "parameters",
    [
        {"keep_scales": True, "n_neighbors": (4, 3)},
        {"bandwidth": "median", "alpha": -0.5, "n_components": 3},
        {"bandwidth": ("local", 3), "penalty": Log(0.5), "checkpoint": None, "random_state": 3},
        {"penalty": MCP(2.0), "keep_scales": True, "traversal": "paper"},
        {"penalty": "linear", "tol": 0.01},
        {"distances": "sparse", "keep_scales": True},
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_loaded_model_is_the_same_to_the_last_bit(tmp_path, parameters):
    X = holes()
    model = CoManifold(**parameters).fit(X)
    model.save(tmp_path / "model")
    again = CoManifold.load(tmp_path / "model")
    assert_same(all_but_the_callbacks(model), all_but_the_callbacks(again))
    assert again.get_params() == model.get_params()
    new = holes(1)
    np.testing.assert_array_equal(again.transform(new), model.transform(new))
    np.testing.assert_array_equal(again.transform_columns(new), model.transform_columns(new))
    assert list(again.get_feature_names_out()) == list(model.get_feature_names_out())
    if parameters.get("keep_scales"):
        scale = model.scales_[len(model.scales_) // 2]
        at = scale.l, scale.k
        np.testing.assert_array_equal(again.filled_at(*at), model.filled_at(*at))
        np.testing.assert_array_equal(again.row_labels_at(*at), model.row_labels_at(*at))
        np.testing.assert_array_equal(again.row_linkage_, model.row_linkage_)
        np.testing.assert_array_equal(again.column_linkage_, model.column_linkage_)
    again.save(tmp_path / "again")
    for name in ("arrays.npz", "model.json"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "model" / name).read_bytes()


@pytest.mark.parametrize("distances", ["dense", "sparse"])
@pytest.mark.filterwarnings("ignore:.*no observed entry")
def test_labels_and_empty_rows_are_kept(tmp_path, distances):
    pd = pytest.importorskip("pandas")
    X = holes()
    X[3], X[:, 5] = np.nan, np.nan
    names = [f"<b>{i}</b>\n\u2028é" for i in range(30)]
    frame = pd.DataFrame(X, index=names, columns=[f"c,{j}" for j in range(20)])
    model = CoManifold(distances=distances).fit(frame)
    model.save(tmp_path / "model")
    again = CoManifold.load(tmp_path / "model")
    assert_same(all_but_the_callbacks(model), all_but_the_callbacks(again))
    assert list(again.row_names_in_) == names
    np.testing.assert_array_equal(again.transform(frame), model.transform(frame))
    with pytest.raises(ValueError, match="feature names"):
        again.transform(frame.rename(columns={"c,1": "other"}))
    numbered = CoManifold().fit(pd.DataFrame(holes()[:, :].tolist(), index=range(5, 35)))
    numbered.save(tmp_path / "numbered")
    assert list(CoManifold.load(tmp_path / "numbered").row_names_in_) == list(range(5, 35))
    mixed = CoManifold().fit(pd.DataFrame(holes(), index=[1, "a", *range(28)]))
    with pytest.raises(ValueError, match="labels must be text or numbers"):
        mixed.save(tmp_path / "mixed")


class Own(Penalty):
    def value(self, z):
        return np.log1p(np.asarray(z))

    def derivative(self, z):
        return 1.0 / (1.0 + np.asarray(z))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"penalty": Own()}, "Own is none"),
        ({"embedding": Isomap(metric="precomputed")}, "Isomap would need"),
        ({"random_state": np.random.RandomState(0)}, "random_state"),
    ],
)
def test_what_is_not_data_is_not_saved(tmp_path, parameters, words):
    model = CoManifold(**parameters).fit(holes())
    with pytest.raises(ValueError, match=words):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_model_that_is_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        CoManifold().save(tmp_path / "model")


def test_nothing_is_overwritten_unasked(model, saved):
    before = {file.name: file.read_bytes() for file in saved.iterdir()}
    with pytest.raises(FileExistsError, match="not empty"):
        model.save(saved)
    assert {file.name: file.read_bytes() for file in saved.iterdir()} == before
    CoManifold().fit(holes(2)).save(saved, overwrite=True)
    assert CoManifold.load(saved).keep_scales is False
    assert [entry.name for entry in saved.parent.iterdir()] == ["model"]
    other = saved.parent / "work"
    other.mkdir()
    (other / "thesis.txt").write_text("years of it")
    with pytest.raises(FileExistsError, match="something else"):
        model.save(other, overwrite=True)
    with pytest.raises(FileExistsError, match="is a file"):
        model.save(other / "thesis.txt", overwrite=True)
    assert (other / "thesis.txt").read_text() == "years of it"


def test_a_save_that_fails_leaves_what_was_there(model, saved, monkeypatch):
    before = {file.name: file.read_bytes() for file in saved.iterdir()}

    def full(*_arguments, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="No space"):
        model.save(saved, overwrite=True)
    with pytest.raises(OSError, match="No space"):
        model.save(saved.parent / "new")
    assert {file.name: file.read_bytes() for file in saved.iterdir()} == before
    assert [entry.name for entry in saved.parent.iterdir()] == ["model"]


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


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "damaged"), (b"{", "damaged"), (b"\xff\xfe", "damaged"), (b"[" * 100_000, "damaged")],
)
def test_a_description_that_is_no_json_is_refused(saved, content, words):
    (saved / "model.json").write_bytes(content)
    with pytest.raises(ValueError, match=words):
        CoManifold.load(saved)


def replace_arrays(saved, change, compression=zipfile.ZIP_STORED):
    """Change the bytes of some arrays, and mend the checksum."""
    with zipfile.ZipFile(saved / "arrays.npz") as archive:
        arrays = {name: archive.read(name) for name in archive.namelist()}
    change(arrays)
    with zipfile.ZipFile(saved / "arrays.npz", "w", compression) as archive:
        for name, content in arrays.items():
            archive.writestr(name, content)
    mend_checksum(saved)


def mend_checksum(saved):
    import hashlib

    digest = hashlib.sha256((saved / "arrays.npz").read_bytes()).hexdigest()
    edit(saved, lambda d: d.update({"arrays (sha256)": digest}))


def as_npy(array, **options):
    from io import BytesIO

    stream = BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


class Bomb:
    def __reduce__(self):
        return (os.mkdir, ("a-pickle-was-loaded",))


HUGE = as_npy(np.zeros((4, 4))).replace(b"(4, 4)", b"(9999999, 99999)")[:-11]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda a: a.pop("_X.npy"), "'_X' is not there"),
        (lambda a: a.update({"_X.npy": as_npy(np.zeros((2, 2)))}), "'_X' has dtype"),
        (lambda a: a.update({"_X.npy": as_npy(np.array([["a"] * 20] * 30))}), "'_X' has dtype"),
        (lambda a: a.update({"_X.npy": as_npy(Bomb(), allow_pickle=True)}), "Python objects"),
        (lambda a: a.update({"_X.npy": pickle.dumps(Bomb())}), "cannot be read"),
        (lambda a: a.update({"_X.npy": a["_X.npy"][:-8]}), "damaged or cut short"),
        (lambda a: a.update({"_X.npy": HUGE}), "cannot be read"),
        (lambda a: a.update({"row_order_.npy": as_npy(np.zeros(30, int))}), "is no order"),
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
