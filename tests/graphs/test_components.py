"""Links between connected components against spanning trees by hand."""

import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree

from comanifold.graphs._components import component_labels, shortest_links


def test_labels():
    assert component_labels(5, np.array([[0, 4], [1, 2]])).tolist() == [0, 1, 1, 2, 0]
    assert component_labels(2, np.empty((0, 2), dtype=int)).tolist() == [0, 1]


@pytest.mark.parametrize("seed", range(10))
def test_links_form_a_minimum_spanning_tree(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(12, 2))
    D = np.linalg.norm(points[:, None] - points, axis=2)
    links = np.stack(np.triu_indices(12, 1), axis=1)
    chosen = shortest_links(np.arange(12), links, D[tuple(links.T)])
    assert D[tuple(links[chosen].T)].sum() == pytest.approx(minimum_spanning_tree(D).sum())
    # With some nodes joined already, fewer links are needed.
    labels = component_labels(12, links[chosen][:5])
    assert set(chosen[5:]) == set(shortest_links(labels, links, D[tuple(links.T)]))


def test_ties_zero_lengths_and_components_out_of_reach():
    links = np.array([[0, 1], [0, 2], [1, 2], [0, 3], [0, 1]])
    labels = np.array([0, 1, 1, 2, 3])
    assert shortest_links(labels, links, np.array([0.0, 0.0, 0.0, 1.0, 0.0])).tolist() == [0, 3]
    assert shortest_links(labels, links, np.array([2.0, 1.0, 0.0, 1.0, 0.5])).tolist() == [3, 4]
    assert shortest_links(np.zeros(4, dtype=int), links[:4], np.ones(4)).tolist() == []
