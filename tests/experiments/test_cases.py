"""Cases: masks and permutations of the data."""

import numpy as np
import pytest

from comanifold.experiments._methods import make_case


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
