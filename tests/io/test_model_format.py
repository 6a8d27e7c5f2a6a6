"""Models that are saved and loaded again, and saved models that were damaged."""

import os
import pickle
import shutil
import signal
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from oracles.damage import Bomb, as_npy, edit_arrays, edit_json, fix_checksum
from oracles.fits import holes, random_matrix
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.manifold import Isomap

from comanifold import CoManifold, DiffusionMap, Graph
from comanifold.penalties import MCP, Log, Penalty


def assert_same(one, other, where="model"):
    """Assert that two objects have the same bits, whatever they are made of."""
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
        if isinstance(one, Graph):  # cached when it is first asked for
            assert one.n_components == other.n_components
        assert_same(vars(one), vars(other), where)
    else:
        assert one == other or (one != one and other != other), where


def without_callbacks(model):
    return {name: value for name, value in vars(model).items() if "callback" not in name}


@pytest.fixture(scope="module")
def untouched(tmp_path_factory):
    directory = tmp_path_factory.mktemp("saved") / "model"
    CoManifold(keep_scales=True, n_neighbors=(4, 3)).fit(holes()).save(directory)
    return directory


@pytest.fixture
def saved(untouched, tmp_path):
    """A saved model that a test may damage."""
    return shutil.copytree(untouched, tmp_path / "model")


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize(
    "parameters",
    [
        {"keep_scales": True, "n_neighbors": (4, 3)},
        {"bandwidth": "median", "scale_weights": "cost", "n_components": 3},
        {"bandwidth": ("local", 3), "penalty": Log(0.5), "checkpoint": None, "random_state": 3},
        {"penalty": MCP(2.0), "keep_scales": True, "traversal": "paper"},
        {"penalty": "linear", "tol": 0.01},
        {"distances": "sparse", "keep_scales": True},
        {"embedding": DiffusionMap(3, metric="precomputed", diffusion_time=2.5, random_state=None)},
        {
            "embedding": DiffusionMap(
                metric="precomputed", bandwidth=("local", 4), density_normalization=0.5
            ),
            "distances": "sparse",
            "random_state": 3,
        },
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_loaded_model_is_the_same_to_the_last_bit(tmp_path, parameters):
    X = holes()
    model = CoManifold(**parameters).fit(X)
    model.save(tmp_path / "model")
    again = CoManifold.load(tmp_path / "model")
    assert_same(without_callbacks(model), without_callbacks(again))
    assert repr(again.get_params()) == repr(model.get_params())
    new = holes(seed=1)
    np.testing.assert_array_equal(again.transform(new), model.transform(new))
    np.testing.assert_array_equal(again.transform_columns(new), model.transform_columns(new))
    assert list(again.get_feature_names_out()) == list(model.get_feature_names_out())
    if parameters.get("keep_scales"):
        middle = len(model.scales_["l"]) // 2
        for at in ("filled_at", "row_labels_at", "column_labels_at"):
            found, expected = (getattr(fitted, at)(index=middle) for fitted in (again, model))
            np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(again.row_linkage_, model.row_linkage_)
        np.testing.assert_array_equal(again.column_linkage_, model.column_linkage_)
    again.save(tmp_path / "again")
    for name in ("arrays.npz", "model.json"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "model" / name).read_bytes()


@pytest.mark.parametrize(
    ("name", "distances"),
    [
        ("umap", "dense"),
        ("tsne", "dense"),
        ("tsne", "sparse"),
        ("isomap", "dense"),
        ("isomap", "sparse"),
        ("mds", "dense"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*no observed entry")
def test_named_embeddings_are_saved(tmp_path, name, distances):
    X = holes()
    X[3], X[:, 5] = np.nan, np.nan
    model = CoManifold(embedding=name, distances=distances, keep_scales=True, random_state=3).fit(X)
    model.save(tmp_path / "model")
    again = CoManifold.load(tmp_path / "model")
    assert_same(without_callbacks(model), without_callbacks(again))
    assert again.embedding_name_ == name
    np.testing.assert_array_equal(again.embed(name), model.row_embedding_)
    np.testing.assert_array_equal(again.embed("diffusion"), model.embed("diffusion"))
    assert hasattr(again, "transform") == (name == "isomap")
    if name == "isomap":
        new = holes(seed=1)
        np.testing.assert_array_equal(again.transform(new), model.transform(new))
        np.testing.assert_array_equal(again.transform_columns(new), model.transform_columns(new))
    again.save(tmp_path / "again")
    for file in ("arrays.npz", "model.json"):
        assert (tmp_path / "again" / file).read_bytes() == (tmp_path / "model" / file).read_bytes()


def test_a_model_of_umap_is_read_without_umap(tmp_path):
    model = CoManifold(embedding="umap").fit(holes())
    model.save(tmp_path / "model")
    code = (
        "import sys; sys.modules['umap'] = None\n"
        "from comanifold import CoManifold\n"
        f"model = CoManifold.load({str(tmp_path / 'model')!r})\n"
        "print(model.embedding_name_, model.row_embedding_.shape)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "umap (30, 2)\n"


@pytest.mark.parametrize("distances", ["dense", "sparse"])
@pytest.mark.filterwarnings("ignore:.*no observed entry")
def test_labels_and_empty_rows_are_saved(tmp_path, distances):
    pd = pytest.importorskip("pandas")
    X = holes()
    X[3], X[:, 5] = np.nan, np.nan
    names = [f"<b>{i}</b>\n\u2028é" for i in range(30)]
    frame = pd.DataFrame(X, index=names, columns=[f"c,{j}" for j in range(20)])
    model = CoManifold(distances=distances).fit(frame)
    model.save(tmp_path / "model")
    again = CoManifold.load(tmp_path / "model")
    assert_same(without_callbacks(model), without_callbacks(again))
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


def test_ignored_outliers_are_saved(tmp_path):
    X = holes()
    X[2, 3] = 1e12
    with pytest.warns(UserWarning, match="times as far from the median"):
        model = CoManifold().fit(X)
    model.save(tmp_path / "model")
    again = CoManifold.load(tmp_path / "model")
    assert again.ignored_entries_.tolist() == [[2, 3]]
    assert_same(without_callbacks(model), without_callbacks(again))


class Own(Penalty):
    def value(self, z):
        return np.log1p(np.asarray(z))

    def derivative(self, z):
        return 1.0 / (1.0 + np.asarray(z))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"penalty": Own()}, "functions of Own are not data"),
        ({"embedding": Isomap(metric="precomputed")}, "not those with Isomap"),
        ({"random_state": np.random.RandomState(0)}, "random_state"),
        (
            {
                "embedding": DiffusionMap(
                    metric="precomputed", random_state=np.random.RandomState(0)
                )
            },
            "random_state",
        ),
    ],
)
def test_what_is_not_data_is_not_saved(tmp_path, parameters, words):
    model = CoManifold(**parameters).fit(holes())
    with pytest.raises(ValueError, match=words):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_changed_parameter_does_not_hide_what_was_fitted(tmp_path):
    model = CoManifold(embedding=Isomap(metric="precomputed")).fit(holes())
    model.set_params(embedding="diffusion")
    with pytest.raises(ValueError, match="not those with Isomap"):
        model.save(tmp_path / "model")


def test_a_model_that_is_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        CoManifold().save(tmp_path / "model")


def test_nothing_is_overwritten_by_default(saved):
    model, before = CoManifold.load(saved), contents(saved)
    with pytest.raises(FileExistsError, match="not empty"):
        model.save(saved)
    assert contents(saved) == before
    CoManifold().fit(holes(seed=2)).save(saved, overwrite=True)
    assert CoManifold.load(saved).keep_scales is False
    assert [entry.name for entry in saved.parent.iterdir()] == ["model"]
    other = saved.parent / "work"
    other.mkdir()
    (other / "thesis.txt").write_text("years of it")
    with pytest.raises(FileExistsError, match="not written by comanifold"):
        model.save(other, overwrite=True)
    with pytest.raises(FileExistsError, match="is a file"):
        model.save(other / "thesis.txt", overwrite=True)
    assert (other / "thesis.txt").read_text() == "years of it"


@pytest.mark.skipif(os.name != "posix", reason="needs limits")
def test_a_failed_save_leaves_what_was_there(saved):
    resource = pytest.importorskip("resource")
    model, before = CoManifold.load(saved), contents(saved)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limits[1]))  # as on a full disk
    try:
        with pytest.raises(OSError, match="File too large"):
            model.save(saved, overwrite=True)
        with pytest.raises(OSError, match="File too large"):
            model.save(saved.parent / "new")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert contents(saved) == before
    assert [entry.name for entry in saved.parent.iterdir()] == ["model"]


SAVE_OVER_AND_OVER = """
import sys
from comanifold import CoManifold
models = [CoManifold.load(path) for path in sys.argv[2:]]
print("ready", flush=True)
for i in range(100_000):
    models[i % 2].save(sys.argv[1], overwrite=True)
"""


def test_a_model_that_is_being_replaced_is_one_or_the_other(tmp_path):
    """Never a mixture, nor an error."""
    models = [CoManifold().fit(random_matrix(seed, 8, 7)) for seed in (0, 1)]
    paths = [tmp_path / "0", tmp_path / "1"]
    for model, path in zip(models, paths, strict=True):
        model.save(path)
    target = tmp_path / "target"
    models[0].save(target)
    with subprocess.Popen(
        [sys.executable, "-c", SAVE_OVER_AND_OVER, target, *paths], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        try:
            found = [CoManifold.load(target).filled_ for _ in range(100)]
        finally:
            process.kill()
    for filled in found:
        assert any(np.array_equal(filled, model.filled_) for model in models)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.update(format_version=6, comanifold="9.0"), "comanifold 9.0.*update"),
        (
            lambda d: d.update(format_version=1, comanifold="0.0.1"),
            r"saved by comanifold 0\.0\.1 in version 1 .*fit the model again, or load it with",
        ),
        (lambda d: d.update(format_version="1"), "no version"),
        (lambda d: d.update(format="recipe"), "does not describe"),
        (lambda d: d.update({"arrays (sha256)": "0" * 64}), "checksum"),
        (lambda d: d.update(state=[]), "state must be of type dict"),
        (lambda d: d["state"].update(more=1), "state does not have the fields of FittedState"),
        (lambda d: d.pop("parameters"), "parameters"),
        (lambda d: d["parameters"].update(fit="os.system"), "parameters"),
        (lambda d: d["parameters"].update(penalty={"class": "system"}), "penalty"),
        (lambda d: d["parameters"].update(penalty={"class": "Log", "x": 1}), "parameters of Log"),
        (lambda d: d["parameters"].update(penalty={"class": "DiffusionMap"}), "penalty"),
        (lambda d: d["parameters"].update(embedding={"class": "Log"}), "embedding"),
        (lambda d: d["parameters"].update(embedding={"class": "DiffusionMap"}), "precomputed"),
        (lambda d: d["state"].update(mean="much"), "mean must be of type float"),
        (lambda d: d["state"].update(completions=True), "completions must be of type list"),
        (lambda d: d["state"]["completions"].append({"step": 1}), "fields of Completion"),
        (lambda d: d["state"]["held_out"].pop("rows"), "fields of HeldOutPredictions"),
        (lambda d: d["state"]["errors"].update(deviation="x"), "deviation must be of type float"),
        (lambda d: d["state"].update(traversal="other"), "traversal"),
        (lambda d: d["state"].pop("scale"), "fields of FittedState"),
        (lambda d: d["state"]["scales"][0].update(l="low"), r"scales\.0\.l must be of type int"),
        (lambda d: d["state"]["scales"][0].pop("k"), "fields of Scale"),
        (lambda d: d["state"]["scales"][0].update(certificate={"proof": 1.0}), "Certificate"),
        (lambda d: d["state"]["scales"].pop(), "blocks"),
        (lambda d: d["state"].update(row=None), "row must be of type dict"),
        (
            lambda d: d["state"]["row"]["embedding"].update(parameters={"metric": 3, "run": 1}),
            "DiffusionMap",
        ),
        (
            lambda d: d["state"]["row"]["embedding"].update(parameters={"class": "Log"}),
            "not a DiffusionMap",
        ),
        (lambda d: d["state"]["row"].update(distances="csr"), "is missing"),
        (lambda d: d["state"]["row"].update(names=[1, 2]), "neither text"),
        (lambda d: d["state"]["row"].update(names=["a", "b"]), "2 names for 30"),
        (lambda d: d["state"]["row"].update(names="array"), "is missing"),
    ],
)
def test_a_wrong_description_is_refused(saved, change, words):
    edit_json(saved, change)
    with pytest.raises(ValueError, match=words):
        CoManifold.load(saved)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000])
def test_a_description_that_is_not_json_is_refused(saved, content):
    (saved / "model.json").write_bytes(content)
    with pytest.raises(ValueError, match="damaged"):
        CoManifold.load(saved)


BOMB = Bomb("a-pickle-was-loaded")
LABELS = "blocks.1.row_labels.npy"
HUGE = as_npy(np.zeros((4, 4))).replace(b"(4, 4)", b"(9999999, 99999)")[:-11]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda a: a.pop("data.npy"), "'data' is missing"),
        (lambda a: a.update({"data.npy": as_npy(np.zeros((2, 2)))}), "'data' has dtype"),
        (lambda a: a.update({"data.npy": as_npy(np.array([["a"] * 20] * 30))}), "'data' has dtype"),
        (lambda a: a.update({"data.npy": as_npy(BOMB, allow_pickle=True)}), "Python objects"),
        (lambda a: a.update({"data.npy": pickle.dumps(BOMB)}), "cannot read"),
        (lambda a: a.update({"data.npy": a["data.npy"][:-8]}), "damaged or cut short"),
        (lambda a: a.update({"data.npy": HUGE}), "cannot read"),
        (lambda a: a.update({"row.order.npy": as_npy(np.zeros(30, int))}), "not a permutation"),
        (lambda a: a.update({"row.graph.edges.npy": as_npy(np.array([[0, 99]]))}), "edges"),
        (lambda a: a.update({LABELS: a[LABELS][:-1] + b"\x7f"}), "out of range"),
    ],
)
def test_wrong_arrays_are_refused(saved, change, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    edit_arrays(saved, change)
    with pytest.raises(ValueError, match=words):
        CoManifold.load(saved)
    assert not (tmp_path / "a-pickle-was-loaded").exists()


def test_compressed_arrays_are_refused(saved):
    edit_arrays(saved, lambda _: None, zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match="compressed"):
        CoManifold.load(saved)


def test_damage_anywhere_is_noticed(saved):
    content = (saved / "arrays.npz").read_bytes()
    (saved / "arrays.npz").write_bytes(content[:-1000])
    with pytest.raises(ValueError, match="checksum"):
        CoManifold.load(saved)
    fix_checksum(saved)
    with pytest.raises(ValueError, match="damaged or not an NPZ"):
        CoManifold.load(saved)
    (saved / "arrays.npz").unlink()
    with pytest.raises(FileNotFoundError, match=r"arrays\.npz is missing"):
        CoManifold.load(saved)
    with pytest.raises(FileNotFoundError, match="no saved model"):
        CoManifold.load(saved.parent)
