"""Orders of points in which neighbours are adjacent."""

import numpy as np
import pytest

from comanifold._embedding.ordering import embedding_order


def test_points_on_a_line_are_ordered_along_it():
    t = np.random.default_rng(0).permutation(50)
    line = np.column_stack([t, 0.1 * t])
    np.testing.assert_array_equal(t[embedding_order(line)], np.arange(50))


@pytest.mark.parametrize("most", [0, 5000])
def test_orders_with_and_without_a_tree(most):
    points = np.random.default_rng(1).normal(size=(30, 2))
    points[[4, 9]] = np.nan
    order = embedding_order(points, most)
    assert sorted(order) == list(range(30))
    assert list(order[-2:]) == [4, 9]
    if most == 0:
        np.testing.assert_array_equal(np.diff(points[order[:-2], 0]) >= 0, True)


def test_groups_stay_together_where_the_first_coordinate_alone_mixes_them():
    rng = np.random.default_rng(2)
    groups = rng.integers(2, size=40)
    points = np.column_stack([rng.normal(size=40), 20.0 * groups])
    assert (np.diff(groups[embedding_order(points)]) != 0).sum() == 1
    assert (np.diff(groups[np.argsort(points[:, 0])]) != 0).sum() > 5


@pytest.mark.parametrize("opening", [0.1, 1.0, 3.0])
def test_points_along_an_arc_stay_in_a_row(opening):
    rng = np.random.default_rng(0)
    angle = rng.permutation(np.linspace(0, 2 * np.pi - opening, 200))
    order = embedding_order(np.column_stack([np.cos(angle), np.sin(angle)]))
    # One cut at most, wherever the tree opens the arc; else from each point to the next but few.
    jumps = np.abs(np.diff(angle[order])) > 10 * angle.max() / 200
    assert jumps.sum() <= 1
