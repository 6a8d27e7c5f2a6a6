"""Trees as the page draws them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.pages import unpack
from scipy.cluster.hierarchy import linkage, to_tree

from comanifold.report._page_data import page_data
from comanifold.report._tree_data import tree_data


def drawn_clusters(data):
    """Return the leaves below each join, as intervals of places, and its height."""
    parts = [tuple(ends) for ends in data["ends"]]
    found = []
    for a, b, height in data["joins"]:
        one, other = sorted([parts[a], parts[b]])
        assert one[1] + 1 == other[0]  # no lines cross
        parts.append((one[0], other[1]))
        found.append((parts[-1], height))
    return found


@given(st.integers(2, 30), st.integers(2, 12), st.integers(0, 1000))
def test_joins_are_those_of_the_tree(n_points, max_leaves, seed):
    rng = np.random.default_rng(seed)
    tree = linkage(rng.standard_normal((n_points, 2)), "average")
    order = rng.permutation(n_points)
    data = tree_data(tree, order, max_leaves)
    leaves = unpack(data["order"])  # places in the organised order
    assert sorted(leaves) == list(range(n_points))
    assert len(data["ends"]) == min(n_points, max_leaves)
    # SciPy's own traversal, from the top.
    _, nodes = to_tree(tree, rd=True)
    expected = (
        {(frozenset(node.pre_order()), node.dist) for node in nodes[2 * n_points - max_leaves :]}
        if max_leaves < n_points
        else {(frozenset(node.pre_order()), node.dist) for node in nodes[n_points:]}
    )
    found = {
        (frozenset(order[leaves[first : last + 1]].tolist()), height)
        for (first, last), height in drawn_clusters(data)
    }
    assert found == expected


def test_leaves_stay_in_the_given_order_where_the_tree_permits():
    tree = linkage(np.array([[0.0], [1.0], [3.0], [7.0]]), "single")
    for order in ([0, 1, 2, 3], [3, 2, 1, 0]):
        assert unpack(tree_data(tree, np.array(order))["order"]).tolist() == [0, 1, 2, 3]


def test_without_scales_or_with_one_point_there_is_no_tree(model_without_scales):
    assert page_data(model_without_scales)["rows"]["tree"] is None
    assert tree_data(np.empty((0, 4)), np.array([0])) is None


@pytest.mark.parametrize("mode", ["row", "column"])
def test_clusters_found_are_together_in_the_order_of_the_tree(model, mode):
    places = unpack(page_data(model)[f"{mode}s"]["tree"]["order"])
    labels = getattr(model, f"{mode}_labels_")[getattr(model, f"{mode}_order_")][places]
    labels = labels[labels >= 0]
    assert (np.diff(labels) != 0).sum() == len({*labels.tolist()}) - 1
