"""Models that are saved and loaded again."""

import subprocess
import sys

import numpy as np
import pytest
from oracles.fits import holes, random_matrix
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.manifold import Isomap

from comanifold import CoManifold, Graph
from comanifold.penalties import MCP, Log, Penalty


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
    new = holes(seed=1)
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
