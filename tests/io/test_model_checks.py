"""Saved models in which one value was changed: refused by name, even if the checksum is right."""

import io
import json
import shutil

import numpy as np
import pytest
from oracles.damage import as_npy, edit_arrays, edit_json
from oracles.fits import holes

from comanifold import CoManifold

pytestmark = pytest.mark.filterwarnings("ignore:.*no observed entry")


@pytest.fixture(scope="module", params=["dense", "sparse"])
def untouched(request, tmp_path_factory):
    directory = tmp_path_factory.mktemp("saved") / "model"
    X = holes()
    X[3], X[:, 5] = np.nan, np.nan
    CoManifold(keep_scales=True, distances=request.param, checkpoint=directory.parent / "run").fit(
        X
    ).save(directory)
    return directory, request.param


@pytest.fixture
def saved(untouched, tmp_path):
    """A saved model that a test may damage."""
    return shutil.copytree(untouched[0], tmp_path / "model")


def edit_array(saved, name, change):
    """Change an array in place, and correct the checksum."""

    def change_member(members):
        array = np.load(io.BytesIO(members[f"{name}.npy"]))
        change(array)
        members[f"{name}.npy"] = as_npy(array)

    edit_arrays(saved, change_member)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("mean", [np.nan, np.inf, 1.0]),
        ("scale", [0.0, -1.0, np.nan, np.inf, 2.0]),
        ("total_weight", [0.0, -1.0, np.nan, np.inf, 2.0]),
        ("traversal", ["other", 3, None]),
    ],
)
def test_impossible_numbers_are_refused_by_name(saved, name, values):
    for value in values:
        edit_json(saved, lambda d, value=value: d["state"].update({name: value}))
        with pytest.raises(ValueError, match=rf"': .*\b{name} "):
            CoManifold.load(saved)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("weight", -0.1, "the weight of a completion must be finite"),
        ("weight", np.nan, "the weight of a completion must be finite"),
        ("weight", 2.0, "total_weight is"),
        ("step", -1, "the step of a completion must be finite"),
    ],
)
def test_impossible_completions_are_refused(saved, name, value, words):
    edit_json(saved, lambda d: d["state"]["completions"][0].update({name: value}))
    with pytest.raises(ValueError, match=words):
        CoManifold.load(saved)


def test_errors_that_are_not_those_of_the_held_out_entries_are_refused(saved):
    for name, words in (
        ("errors.scores", "errors.scores is not that of the held-out entries"),
        ("errors.row_factors", "errors.row_factors is not that"),
        ("held_out.predicted", "errors.deviation is not that"),
        ("row.variances", "row.variances are not those of errors"),
    ):
        copy = shutil.copytree(saved, saved.with_name(name))
        edit_array(copy, name, lambda array: np.multiply(array, 1.5, out=array))
        with pytest.raises(ValueError, match=words):
            CoManifold.load(copy)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rows: np.copyto(rows[:1], 10**6), "held_out.rows are out of range"),
        (lambda rows: np.copyto(rows[:1], -1), "held_out.rows are out of range"),
        (lambda rows: np.copyto(rows, np.roll(rows, 1)), "held_out has entries that are missing"),
    ],
)
def test_held_out_entries_are_observed_ones(saved, change, words):
    edit_array(saved, "held_out.rows", change)
    with pytest.raises(ValueError, match=words):
        CoManifold.load(saved)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("weight", [-1.0, np.nan, np.inf, 5.0]),
        ("l", [10**6, -(10**400)]),
        ("k", [10**6]),
        ("n_row_clusters", [0, 31]),
        ("n_column_clusters", [0, 21]),
        ("objective", [np.nan, np.inf]),
        ("seconds", [-1.0]),
        ("n_iter", [-1]),
        ("status", ["fine"]),
    ],
)
def test_impossible_scales_are_refused_by_name(saved, name, values):
    for value in values:
        edit_json(saved, lambda d, value=value: d["state"]["scales"][1].update({name: value}))
        with pytest.raises(ValueError, match=rf"{name}\b|the array 'blocks"):
            CoManifold.load(saved)


@pytest.mark.parametrize(
    ("name", "values"),
    [("stationarity", [None, -1.0, np.nan, np.inf]), ("gap", [np.nan]), ("row_dual", [1.0])],
)
def test_impossible_certificates_are_refused(saved, name, values):
    for value in values:
        edit_json(
            saved,
            lambda d, value=value: d["state"]["scales"][1]["certificate"].update({name: value}),
        )
        with pytest.raises(ValueError, match=f"{name}|dual point"):
            CoManifold.load(saved)


def test_a_repeated_scale_is_refused(saved):
    def repeat(description):
        first, second = description["state"]["scales"][:2]
        second.update(l=first["l"], k=first["k"])

    edit_json(saved, repeat)
    with pytest.raises(ValueError, match="two scales of the same costs"):
        CoManifold.load(saved)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_components", 0),
        ("n_components", "two"),
        ("n_neighbors", -1),
        ("penalty", {"class": "Log", "eps": np.inf}),
        ("penalty", {"class": "Snowflake", "eps": np.nan}),
        ("penalty", "soft"),
        ("solver", "slow"),
        ("start_scale", 1000),
        ("alpha", np.inf),
        ("scale_weights", "equal"),
        ("n_passes", 0),
        ("n_clusters", 0),
        ("n_clusters", "two"),
        ("n_clusters", [1, 2, 3]),
        ("bandwidth", -1.0),
        ("bandwidth", np.nan),
        ("embedding", "other"),
        ("embedding", {"class": "DiffusionMap", "metric": "masked"}),
        ("distances", "some"),
        ("n_jobs", 0),
        ("random_state", "any"),
        ("verbose", "much"),
        ("metric", "other"),
        ("first_graphs", "other"),
        ("traversal", "other"),
        ("absent", "perhaps"),
        ("tol", 0.0),
        ("tol", np.nan),
        ("max_iter", 0),
    ],
)
def test_parameters_that_fit_refuses_are_refused(saved, name, value):
    edit_json(saved, lambda d: d["parameters"].update({name: value}))
    named = {"penalty": "penalty|eps", "random_state": "any"}.get(name, name)
    with pytest.raises(ValueError, match=named):
        CoManifold.load(saved)


def put(place, value):
    def change(array):
        array[place] = value

    return change


def add(place, value):
    def change(array):
        array[place] += value

    return change


def swap(array):
    array[[0, 1]] = array[[1, 0]]


OBSERVED = tuple(np.argwhere(~np.isnan(holes()))[0])


@pytest.mark.parametrize("mode", ["row", "column"])
@pytest.mark.parametrize("value", [0.0, -0.1, 1.01, np.nan, np.inf, None, "0.5", True])
def test_impossible_p_values_are_refused_by_name(saved, mode, value):
    edit_json(saved, lambda d: d["state"][mode].update(p_value=value))
    with pytest.raises(ValueError, match=rf"{mode}\.p_value"):
        CoManifold.load(saved)


@pytest.mark.parametrize("mode", ["row", "column"])
@pytest.mark.parametrize("value", [-0.1, np.nan, np.inf, None, "0.5", True])
def test_impossible_evidence_is_refused_by_name(saved, mode, value):
    edit_json(saved, lambda d: d["state"][mode].update(evidence=value))
    with pytest.raises(ValueError, match=rf"{mode}\.evidence"):
        CoManifold.load(saved)


ARRAYS = [
    ("data", put(OBSERVED, np.inf), "data"),
    ("data", put((3, 0), 1.0), "observed_rows"),
    ("data", put((0, 5), 1.0), "observed_columns"),
    ("data", put((slice(4, 5), slice(None)), np.nan), "observed_rows"),
    ("data", add(OBSERVED, 0.1), "mean"),
    ("data", put(OBSERVED, 1e12), "ignored_entries"),
    ("observed_rows", put(3, True), "'filled'|observed_rows"),
    ("observed_columns", put(2, False), "'filled'|observed_columns"),
    ("filled", put((0, 0), np.nan), "filled"),
    ("filled", put((0, 0), np.inf), "filled"),
    ("filled", add((slice(None), 0), 1.0), "filled"),
    ("blocks.0.values", put((0, 0), np.nan), "block values"),
    ("blocks.0.values", put((0, 0), -np.inf), "block values"),
    ("blocks.0.row_labels", put(slice(None), 0), "labels of the scale"),
    ("blocks.0.column_labels", put(0, -1), "labels of the scale"),
    ("blocks.0.column_labels", put(0, 99), "labels of the scale"),
]
OF_A_MODE = [
    ("{}.graph.weights", put(0, 0.0), "weights"),
    ("{}.graph.weights", put(0, np.inf), "weights"),
    ("{}.graph.weights", put(0, np.nan), "weights"),
    ("{}.graph.edges", put((0, 0), 99), "edges"),
    ("{}.graph.edges", put((0, 0), -1), "edges"),
    ("{}.graph.edges", put((0, slice(None)), 1), "edges"),
    ("{}.order", put(0, 1), "order"),
    ("{}.labels", put(0, -1), r"labels are not numbered from 0"),
    ("{}.labels", put(0, 99), r"labels are not numbered from 0"),
    ("{}.labels", add(slice(None), 1), r"labels are not numbered from 0"),
    ("{}.confidence", put(0, -0.1), r"confidence has entries that are not between 0 and 1"),
    ("{}.confidence", put(0, 1.1), r"confidence has entries that are not between 0 and 1"),
    ("{}.confidence", put(0, np.nan), r"confidence has entries that are not between 0 and 1"),
    ("{}.embedding.eigenvalues_", put(0, 1.5), "eigenvalues_"),
    ("{}.embedding.eigenvalues_", put(0, np.nan), "eigenvalues_"),
    ("{}.embedding.eigenvalues_", swap, "eigenvalues_"),
    ("{}.embedding.eigenvalues_", add(0, 1e-3), "_eigenvectors|eigenvalues_"),
    ("{}.embedding._eigenvectors", put((0, 0), np.nan), "_eigenvectors"),
    ("{}.embedding._eigenvectors", put((0, 0), np.inf), "_eigenvectors"),
    ("{}.embedding._eigenvectors", add((0, 0), 0.1), "_eigenvectors"),
    ("{}.coordinates", add((0, 0), 0.1), "coordinates"),
    ("{}.coordinates", put((0, 0), np.nan), "coordinates"),
    ("{}.embedding.bandwidth_", put(0, -1.0), "bandwidth_"),
    ("{}.embedding.bandwidth_", put(0, 0.0), "bandwidth_"),
    ("{}.embedding.bandwidth_", put(0, np.nan), "bandwidth_"),
    ("{}.embedding._density", put(0, np.inf), "_density"),
    ("{}.embedding._degree", put(0, 0.0), "_degree"),
    ("{}.embedding._degree", put(0, np.nan), "_degree"),
]
ARRAYS += [
    (name.format(mode), change, words)
    for name, change, words in OF_A_MODE
    for mode in ("row", "column")
]


@pytest.mark.parametrize(("name", "change", "words"), ARRAYS, ids=[array[0] for array in ARRAYS])
def test_impossible_arrays_are_refused_by_name(saved, name, change, words):
    edit_array(saved, name, change)
    with pytest.raises(ValueError, match=words):
        CoManifold.load(saved)


@pytest.mark.parametrize("mode", ["row", "column"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0, 2.0])
@pytest.mark.parametrize("name", ["distances", "embedding.affinity_"])
def test_impossible_distances_and_affinities_are_refused(untouched, saved, mode, value, name):
    is_sparse = untouched[1] == "sparse"
    place = 1 if is_sparse else (0, 1)
    edit_array(saved, f"{mode}.{name}" + ".data" * is_sparse, put(place, value))
    with pytest.raises(ValueError, match=f"{mode}.{name}"):
        CoManifold.load(saved)


def test_a_distance_of_a_point_to_itself_is_refused(untouched, saved):
    if untouched[1] == "sparse":
        pytest.skip("an index of dense distances")
    edit_array(saved, "row.distances", put((0, 0), 1.0))
    with pytest.raises(ValueError, match=r"row\.distances.*from itself"):
        CoManifold.load(saved)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda row: row["graph"].update(n_added_links=-1), "row.graph.n_added_links"),
        (lambda row: row["graph"].update(n_added_links=10**6), "row.graph.n_added_links"),
        (lambda row: row["embedding"]["parameters"].update(n_components=1), "n_components"),
        (lambda row: row["embedding"]["parameters"].update(metric="masked"), "precomputed"),
        (lambda row: row["embedding"]["parameters"].update(bandwidth="median"), "bandwidth_"),
        (lambda row: row["embedding"]["parameters"].update(diffusion_time=2.0), "coordinates"),
        (lambda row: row["embedding"]["parameters"].update(density_normalization=1), "_degree"),
    ],
)
def test_impossible_values_of_a_mode_are_refused(saved, change, words):
    edit_json(saved, lambda d: change(d["state"]["row"]))
    with pytest.raises(ValueError, match=words):
        CoManifold.load(saved)


@pytest.fixture(scope="module")
def layouts(tmp_path_factory):
    """Saved models by the name of their embedding."""
    folder = tmp_path_factory.mktemp("layouts")
    model = CoManifold(scale_weights="cost")
    for name in ("tsne", "isomap"):
        model.set_params(embedding=name).fit(holes()).save(folder / name)
    return folder


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("tsne", lambda row: row["embedding"].update(name="pca"), "'pca' is not the name"),
        ("tsne", lambda row: row["embedding"].update(name=3), "embedding.name must be of type"),
        ("tsne", lambda row: row["embedding"].update(name=None), "embedding.parameters"),
        ("tsne", lambda row: row["embedding"].update(name="diffusion"), "is not the name"),
        ("tsne", lambda row: row["embedding"].update(name="isomap"), "embedding.graph must be"),
        ("isomap", lambda row: row["embedding"].pop("graph"), "embedding.graph must be of type"),
        ("tsne", lambda row: row["embedding"].update(random_state="x"), "random_state"),
        ("tsne", lambda row: row["embedding"].update(random_state=-1), "Seed must be"),
        ("isomap", lambda row: row.update(embedding=None), "embedding must be of type dict"),
    ],
)
def test_impossible_layouts_are_refused(layouts, tmp_path, name, change, words):
    saved = shutil.copytree(layouts / name, tmp_path / "model")
    edit_json(saved, lambda d: change(d["state"]["row"]))
    with pytest.raises(ValueError, match=words):
        CoManifold.load(saved)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("tsne", put((0, 0), np.nan), "row.coordinates has entries that are NaN"),
        ("tsne", put((0, 0), np.inf), "row.coordinates has entries that are NaN"),
        ("isomap", put((0, 0), -np.inf), "row.coordinates has entries that are NaN"),
        ("isomap", put((0, 0), 100.0), "row.coordinates are not those of Isomap"),
        ("isomap", put((slice(None), 0), 0.5), "row.coordinates are not those of Isomap"),
    ],
)
def test_impossible_coordinates_of_layouts_are_refused(layouts, tmp_path, name, change, words):
    saved = shutil.copytree(layouts / name, tmp_path / "model")
    edit_array(saved, "row.coordinates", change)
    with pytest.raises(ValueError, match=words):
        CoManifold.load(saved)


def leave_out_the_first_point(edges):
    others = [(i, j) for i in range(1, 30) for j in range(i) if j]
    edges[:] = others[: len(edges)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (leave_out_the_first_point, "row.coordinates are not those of Isomap"),
        (lambda edges: edges.fill(0), "edges must join two different nodes"),
        (put((0, 0), 10**6), "edges must lie between 0"),
    ],
)
def test_impossible_graphs_of_isomap_are_refused(layouts, tmp_path, change, words):
    saved = shutil.copytree(layouts / "isomap", tmp_path / "model")
    edit_array(saved, "row.embedding.graph.edges", change)
    with pytest.raises(ValueError, match=words):
        CoManifold.load(saved)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_impossible_distances_of_isomap_are_refused(layouts, tmp_path, value):
    saved = shutil.copytree(layouts / "isomap", tmp_path / "model")
    edit_array(saved, "row.distances", put((0, 1), value))
    with pytest.raises(ValueError, match=r"row\.distances"):
        CoManifold.load(saved)


def test_a_loaded_model_has_no_checkpoint(saved, tmp_path):
    assert json.loads((saved / "model.json").read_text())["parameters"]["checkpoint"] is None
    edit_json(saved, lambda d: d["parameters"].update(checkpoint=str(tmp_path / "anywhere")))
    model = CoManifold.load(saved)
    assert model.checkpoint is None
    model.fit(holes(8, 7))
    assert not (tmp_path / "anywhere").exists()


def test_values_that_overflow_or_nest_too_deeply_are_refused(saved):
    nested = 1
    for _ in range(600):
        nested = [nested]
    for change in (
        lambda d: d["parameters"].update(n_neighbors=nested),
        lambda d: d["state"]["row"]["embedding"]["parameters"].update(diffusion_time=10**400),
        lambda d: d["state"]["scales"][0].update(n_iter=10**400),
        lambda d: d["state"]["scales"][0].update(n_iter=2**63),
    ):
        before = (saved / "model.json").read_bytes()
        edit_json(saved, change)
        with pytest.raises(ValueError, match="cannot read the model"):
            CoManifold.load(saved)
        (saved / "model.json").write_bytes(before)
