"""The data of the experiments, masks and permutations, and methods that only these have."""

import subprocess
import sys

import numpy as np
import pytest

from comanifold.datasets import make_clusters, remove_entries
from comanifold.experiments._methods import METHODS, make_case
from comanifold.experiments._units import rand_index


@pytest.mark.usefixtures("small_data")
def test_masks_and_permutations_depend_on_the_seed_alone():
    one, again = (make_case("linkage", 0.5, 3) for _ in range(2))
    other = make_case("linkage", 0.5, 4)
    np.testing.assert_array_equal(one.X, again.X)
    assert not np.array_equal(one.missing, other.missing)
    assert one.missing.mean() == pytest.approx(0.5, abs=0.001)


@pytest.mark.usefixtures("small_data")
def test_points_are_permuted_with_the_matrix():
    case = make_case("linkage", 0.5, 1)
    distances = np.linalg.norm(case.data.row_points[:, None] - case.data.column_points, axis=2)
    np.testing.assert_allclose(case.data.X, distances)
    np.testing.assert_array_equal(case.X[~case.missing], case.data.X[~case.missing])


@pytest.mark.parametrize("name", ["umap-soft", "umap-knn"])
def test_umap_finds_groups_and_depends_on_the_seed_alone(name):
    data = make_clusters(60, 12, n_groups=3, noise=0.1, random_state=0)
    X = remove_entries(data.X, 0.2, random_state=0)
    one, again, other = (METHODS[name].embed(X, ["row", "column"], 2, s) for s in (0, 0, 1))
    assert rand_index(one["row"], data.row_labels) == 1.0
    assert one["column"].shape == (12, 2)  # fewer points than UMAP takes neighbours
    for mode in ("row", "column"):
        assert one[mode].dtype == np.float64
        np.testing.assert_array_equal(one[mode], again[mode])
        assert not np.array_equal(one[mode], other[mode])


def test_umap_embeds_what_the_imputer_filled_in():
    X = remove_entries(make_clusters(30, 20, random_state=0).X, 0.4, random_state=0)
    soft, knn = (METHODS[name].embed(X, ["row"], 2, 0) for name in ("umap-soft", "umap-knn"))
    assert not np.allclose(soft["row"], knn["row"])


def test_umap_is_not_imported_before_it_is_used():
    code = "import sys, comanifold.experiments; sys.exit('umap' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
