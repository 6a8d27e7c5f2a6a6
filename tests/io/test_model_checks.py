"""Saved models in which one number was changed: refused by its name, whatever the checksum says."""

import hashlib
import io
import json
import shutil

import numpy as np
import pytest
from oracles.damage import archive, as_npy, members_of
from oracles.fits import holes

from comanifold import CoManifold

pytestmark = pytest.mark.filterwarnings("ignore:.*no observed entry")


@pytest.fixture(scope="module", params=["dense", "sparse"])
def untouched(request, tmp_path_factory):
    directory = tmp_path_factory.mktemp("saved") / "model"
    X = holes()
    X[3], X[:, 5] = np.nan, np.nan
    CoManifold(keep_scales=True, distances=request.param, checkpoint=directory.parent / "kept").fit(
        X
    ).save(directory)
    return directory, request.param


@pytest.fixture
def saved(untouched, tmp_path):
    """A saved model that a test may spoil."""
    return shutil.copytree(untouched[0], tmp_path / "model")


def edit(saved, change):
    description = json.loads((saved / "model.json").read_text())
    change(description)
    (saved / "model.json").write_text(json.dumps(description))


def edit_array(saved, name, change):
    """Change an array in place, and correct the checksum."""
    members = members_of(saved / "arrays.npz")
    array = np.load(io.BytesIO(members[f"{name}.npy"]))
    change(array)
    members[f"{name}.npy"] = as_npy(array)
    content = archive(members)
    (saved / "arrays.npz").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    edit(saved, lambda d: d.update({"arrays (sha256)": digest}))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("_mean", [np.nan, np.inf, 1.0]),
        ("_scale", [0.0, -1.0, np.nan, np.inf, 2.0]),
        ("_total_weight", [0.0, -1.0, np.nan, np.inf, 2.0]),
        ("low_rank_weight_", [-0.1, np.nan, np.inf, 2.0]),
        ("n_iter_", [-1, 1]),
        ("_n_features_out", [0, 3]),
        ("n_features_in_", [0, 21]),
    ],
)
def test_values_that_no_fit_leaves_are_refused_by_name(saved, name, values):
    for value in values:
        edit(saved, lambda d, value=value: d["state"]["values"].update({name: value}))
        with pytest.raises(ValueError, match=name):
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
def test_scales_that_cannot_be_are_refused_by_name(saved, name, values):
    for value in values:
        edit(saved, lambda d, value=value: d["state"]["scales"][1].update({name: value}))
        with pytest.raises(ValueError, match=f"{name}|blocks of the scales|labels"):
            CoManifold.load(saved)


@pytest.mark.parametrize(
    ("name", "values"),
    [("stationarity", [None, -1.0, np.nan, np.inf]), ("gap", [np.nan]), ("row_dual", [1.0])],
)
def test_certificates_that_cannot_be_are_refused(saved, name, values):
    for value in values:
        edit(
            saved,
            lambda d, value=value: d["state"]["scales"][1]["certificate"].update({name: value}),
        )
        with pytest.raises(ValueError, match=f"{name}|dual point"):
            CoManifold.load(saved)


def test_a_scale_that_is_there_twice_is_refused(saved):
    def repeat(description):
        first, second = description["state"]["scales"][:2]
        second.update(l=first["l"], k=first["k"])

    edit(saved, repeat)
    with pytest.raises(ValueError, match="two scales of the same costs"):
        CoManifold.load(saved)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_components", 0),
        ("n_components", "two"),
        ("n_neighbors", -1),
        ("penalty", {"penalty": "Log", "eps": np.inf}),
        ("penalty", {"penalty": "Snowflake", "eps": np.nan}),
        ("penalty", "soft"),
        ("solver", "slow"),
        ("start_scale", 1000),
        ("alpha", np.inf),
        ("n_passes", 0),
        ("bandwidth", -1.0),
        ("bandwidth", np.nan),
        ("distances", "some"),
        ("n_jobs", 0),
        ("random_state", "any"),
        ("verbose", "much"),
        ("first_graphs", "other"),
        ("traversal", "other"),
        ("absent", "perhaps"),
        ("tol", 0.0),
        ("tol", np.nan),
        ("max_iter", 0),
    ],
)
def test_parameters_that_fit_refuses_are_refused(saved, name, value):
    edit(saved, lambda d: d["parameters"].update({name: value}))
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
MISSING = tuple(np.argwhere(np.isnan(holes()))[0])

ARRAYS = [
    ("_X", put(OBSERVED, np.inf), "_X"),
    ("_X", put((3, 0), 1.0), "_rows"),
    ("_X", put((0, 5), 1.0), "_columns"),
    ("_X", put((slice(4, 5), slice(None)), np.nan), "_rows"),
    ("_X", add(OBSERVED, 0.1), "_mean"),
    ("_rows", put(3, True), "_filled|_rows"),
    ("_columns", put(2, False), "_filled|_columns"),
    ("_filled", put((0, 0), np.nan), "_filled"),
    ("_filled", put((0, 0), np.inf), "_filled"),
    ("_filled", add((slice(None), 0), 1.0), "_filled"),
    ("filled_", put(OBSERVED, np.nan), "filled_"),
    ("filled_", add(OBSERVED, 1.0), "filled_"),
    ("filled_", add(MISSING, 1.0), "filled_"),
    ("filled_", put(MISSING, np.inf), "filled_"),
    ("filled_", put((3, 0), 1.0), "filled_"),
    ("block_values", put(0, np.nan), "block_values"),
    ("block_values", put(0, -np.inf), "block_values"),
    ("block_row_labels", put((0, slice(None)), 0), "cluster of the scale"),
]
OF_A_MODE = [
    ("{}_weights", put(0, 0.0), "weights"),
    ("{}_weights", put(0, np.inf), "weights"),
    ("{}_weights", put(0, np.nan), "weights"),
    ("{}_edges", put((0, 0), 99), "edges"),
    ("{}_edges", put((0, 0), -1), "edges"),
    ("{}_edges", put((0, slice(None)), 1), "edges"),
    ("{}_order_", put(0, 1), "order_"),
    ("{}_map_eigenvalues_", put(0, 1.5), "eigenvalues_"),
    ("{}_map_eigenvalues_", put(0, np.nan), "eigenvalues_"),
    ("{}_map_eigenvalues_", swap, "eigenvalues_"),
    ("{}_map_eigenvalues_", add(0, 1e-3), "_eigenvectors|eigenvalues_"),
    ("{}_map__eigenvectors", put((0, 0), np.nan), "_eigenvectors"),
    ("{}_map__eigenvectors", put((0, 0), np.inf), "_eigenvectors"),
    ("{}_map__eigenvectors", add((0, 0), 0.1), "_eigenvectors"),
    ("{}_map_embedding_", add((0, 0), 0.1), "embedding_"),
    ("{}_map_embedding_", put((0, 0), np.nan), "embedding_"),
    ("{}_map_bandwidth_", put(0, -1.0), "bandwidth_"),
    ("{}_map_bandwidth_", put(0, 0.0), "bandwidth_"),
    ("{}_map_bandwidth_", put(0, np.nan), "bandwidth_"),
    ("{}_map__density", put(0, np.inf), "_density"),
    ("{}_map__degree", put(0, 0.0), "_degree"),
    ("{}_map__degree", put(0, np.nan), "_degree"),
]
ARRAYS += [
    (name.format(mode), change, words)
    for name, change, words in OF_A_MODE
    for mode in ("row", "column")
]


@pytest.mark.parametrize(("name", "change", "words"), ARRAYS, ids=[array[0] for array in ARRAYS])
def test_arrays_that_no_fit_leaves_are_refused_by_name(saved, name, change, words):
    edit_array(saved, name, change)
    with pytest.raises(ValueError, match=words):
        CoManifold.load(saved)


@pytest.mark.parametrize("mode", ["row", "column"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0, 2.0])
@pytest.mark.parametrize("name", ["distances_", "map_affinity_"])
def test_distances_and_affinities_that_cannot_be_are_refused(untouched, saved, mode, value, name):
    is_sparse = untouched[1] == "sparse"
    place = 1 if is_sparse else (0, 1)
    edit_array(saved, f"{mode}_{name}" + ".data" * is_sparse, put(place, value))
    with pytest.raises(ValueError, match=name.removeprefix("map_")):
        CoManifold.load(saved)


def test_a_distance_of_a_point_to_itself_or_to_one_that_is_not_observed(untouched, saved):
    if untouched[1] == "sparse":
        pytest.skip("places of dense distances")
    for place, words in (((0, 0), "from itself"), ((3, 0), "without an observed")):
        folder = shutil.copytree(untouched[0], saved.parent / f"at-{place[0]}")
        edit_array(folder, "row_distances_", put(place, 1.0))
        with pytest.raises(ValueError, match=f"row_distances_.*{words}"):
            CoManifold.load(folder)


def test_the_number_of_added_links_is_checked(saved):
    edit(saved, lambda d: d["state"]["row"].update(n_added_links=-1))
    with pytest.raises(ValueError, match="n_added_links of row_graph_"):
        CoManifold.load(saved)


def test_a_loaded_model_has_no_checkpoint(saved, tmp_path):
    assert json.loads((saved / "model.json").read_text())["parameters"]["checkpoint"] is None
    edit(saved, lambda d: d["parameters"].update(checkpoint=str(tmp_path / "anywhere")))
    model = CoManifold.load(saved)
    assert model.checkpoint is None
    model.fit(holes(8, 7))
    assert not (tmp_path / "anywhere").exists()
