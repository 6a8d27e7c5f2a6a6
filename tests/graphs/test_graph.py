"""Graphs: edges, nearest neighbours, components and the links that join them."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import slow
from oracles.fits import incomplete
from scipy import sparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from comanifold import Graph, masked_distances
from comanifold.graphs._components import component_labels
from comanifold.graphs._graph import shortest_links


def pairs(graph):
    return {tuple(sorted(edge)) for edge in graph.edges.tolist()}


@pytest.mark.parametrize(
    ("edges", "weights", "message"),
    [
        ([[0, 3]], None, r"edges must lie between 0 and n_nodes - 1 = 2.*\[0, 3\]"),
        ([[-1, 0]], None, "edges must lie between"),
        ([[1, 1]], None, "two different nodes"),
        ([[0, 1], [0, 1]], None, "each pair once"),
        ([[0, 1], [1, 0]], None, "each pair once"),
        ([[0.0, 1.0]], None, "edges must hold integers"),
        ([[0, 1, 2]], None, r"shape \(n_edges, 2\)"),
        ([0, 1], None, r"shape \(n_edges, 2\)"),
        ([[0, 1]], [0.0], "weights must be positive"),
        ([[0, 1]], [-1.0], "weights must be positive"),
        ([[0, 1]], [np.nan], "weights must be positive"),
        ([[0, 1]], [np.inf], "weights must be positive"),
        ([[0, 1]], [1.0, 2.0], r"weights must have shape \(1,\)"),
        ([[0, 1]], ["a"], "weights must be real numbers"),
    ],
)
def test_bad_edges_and_weights_are_refused(edges, weights, message):
    with pytest.raises(ValueError, match=message):
        Graph(3, edges, weights)


@pytest.mark.parametrize("n_nodes", [0, -1, 2.0, True, "3"])
def test_bad_number_of_nodes_is_refused(n_nodes):
    with pytest.raises(ValueError, match="n_nodes must be a positive integer"):
        Graph(n_nodes, [])


@pytest.mark.parametrize("nothing", [[], np.empty((0, 2)), np.empty((0, 2), dtype=int)])
def test_no_edges(nothing):
    assert Graph(3, nothing).n_components == 3


def test_weights_are_one_by_default():
    np.testing.assert_array_equal(Graph(3, [[0, 1], [2, 1]]).weights, [1.0, 1.0])


def test_components():
    graph = Graph(5, [[0, 4], [1, 2]])
    assert graph.n_components == 3
    assert not graph.is_connected
    np.testing.assert_array_equal(graph.component_labels, [0, 1, 1, 2, 0])
    assert Graph(1, []).is_connected


def test_arrays_are_read_only_copies():
    edges, weights = np.array([[0, 1]]), np.array([2.0])
    graph = Graph(2, edges, weights)
    weights[0] = -1.0
    edges[0] = 9
    assert graph.weights[0] == 2.0
    assert graph.edges.tolist() == [[0, 1]]
    with pytest.raises(ValueError, match="read-only"):
        graph.weights[0] = 3.0


def test_pickles():
    graph = Graph.nearest_neighbors(incomplete(0, (25, 12)), 1)
    copy = pickle.loads(pickle.dumps(graph))
    np.testing.assert_array_equal(copy.edges, graph.edges)
    assert copy.n_added_links == graph.n_added_links


@given(st.integers(0, 1000), st.integers(1, 6))
def test_nearest_neighbors_against_a_loop(seed, n_neighbors):
    X = incomplete(seed, (25, 12))
    D = slow.masked_distances(X)
    np.fill_diagonal(D, np.inf)
    expected = {
        tuple(sorted((i, int(j)))) for i in range(len(X)) for j in np.argsort(D[i])[:n_neighbors]
    }
    graph = Graph.nearest_neighbors(X, n_neighbors)
    assert graph.is_connected
    assert expected <= pairs(graph)
    assert len(pairs(graph)) == len(expected) + graph.n_added_links
    adjacency = np.zeros((len(X), len(X)))
    for i, j in expected:
        adjacency[i, j] = 1.0
    n_components, labels = connected_components(adjacency, directed=False)
    assert graph.n_added_links == n_components - 1
    # What was added is a minimum spanning tree: no shorter link crosses any cut that it makes.
    for i, j in pairs(graph) - expected:
        rest = [edge for edge in graph.edges.tolist() if tuple(sorted(edge)) != (i, j)]
        side = Graph(len(X), rest).component_labels
        assert D[i, j] == pytest.approx(D[side == side[i]][:, side == side[j]].min())
        assert labels[i] != labels[j]


def test_two_clouds_are_joined_by_their_shortest_link():
    X = np.concatenate([np.linspace(0, 1, 6), np.linspace(3, 4, 6)])[:, None]
    graph = Graph.nearest_neighbors(X, 2)
    assert graph.n_added_links == 1
    assert (5, 6) in pairs(graph)


def test_duplicated_rows_far_apart_are_still_joined():
    X = np.repeat([[0.0], [1.0], [10.0]], 4, axis=0)
    graph = Graph.nearest_neighbors(X, 2)
    assert graph.is_connected
    assert graph.n_added_links == 2


def test_rows_that_share_no_column_are_joined_through_the_closest_means():
    X = np.full((6, 4), np.nan)
    X[:3, :2] = [[0.0, 0.0], [0.1, 0.1], [5.0, 5.0]]
    X[3:, 2:] = [[5.2, 5.2], [9.0, 9.0], [9.1, 9.1]]
    graph = Graph.nearest_neighbors(X, 1)
    assert graph.is_connected
    assert (2, 3) in pairs(graph)


def test_more_neighbors_than_nodes_give_the_complete_graph():
    graph = Graph.nearest_neighbors(np.arange(4.0)[:, None], 10)
    assert graph.n_edges == 6


def test_one_row():
    graph = Graph.nearest_neighbors([[1.0, 2.0]])
    assert graph.n_edges == 0
    assert graph.is_connected


def test_blocks_agree_with_one_block(monkeypatch):
    X = incomplete(5, (25, 12))
    whole = Graph.nearest_neighbors(X, 1)
    monkeypatch.setattr("comanifold.graphs._masked_distances._BLOCK", 4)
    np.testing.assert_array_equal(Graph.nearest_neighbors(X, 1).edges, whole.edges)


def test_permuting_the_rows_permutes_the_graph():
    X = incomplete(6, (25, 12))
    order = np.random.default_rng(0).permutation(len(X))
    graph = Graph.nearest_neighbors(X, 2)
    permuted = Graph.nearest_neighbors(X[order], 2)
    assert {tuple(sorted(order[list(edge)].tolist())) for edge in pairs(permuted)} == pairs(graph)


def test_a_row_with_nothing_observed_is_refused_by_name():
    X = incomplete(7, (25, 12))
    X[[3, 8]] = np.nan
    with pytest.raises(ValueError, match=r"rows with no observed entry.*3, 8"):
        Graph.nearest_neighbors(X)


@pytest.mark.parametrize("n_neighbors", [0, -2, 1.5, True, "5"])
def test_bad_numbers_of_neighbors_are_refused(n_neighbors):
    with pytest.raises(ValueError, match="n_neighbors must be"):
        Graph.nearest_neighbors(np.eye(4), n_neighbors)


class TestFromDistances:
    def test_the_same_graph_as_from_the_points(self):
        X = np.random.default_rng(0).normal(size=(30, 4))
        by_points = Graph.nearest_neighbors(X, 3)
        by_distances = Graph.from_distances(masked_distances(X), 3)
        np.testing.assert_array_equal(by_distances.edges, by_points.edges)

    def test_components_are_joined_by_their_shortest_link(self):
        x = np.array([0.0, 1.0, 2.0, 10.0, 11.0, 12.0])
        graph = Graph.from_distances(np.abs(x[:, None] - x), 1)
        assert graph.is_connected
        assert graph.n_added_links == 1
        assert [2, 3] in graph.edges.tolist()

    @pytest.mark.parametrize(
        ("distances", "message"),
        [
            (np.ones((2, 3)), "square"),
            (np.zeros((0, 0)), "square"),
            (np.array([[0.0, 1.0], [2.0, 0.0]]), "symmetric"),
            (np.array([[0.0, np.inf], [np.inf, 0.0]]), "finite"),
            (np.array([[0.0, -1.0], [-1.0, 0.0]]), "must not be negative, got -1"),
        ],
    )
    def test_invalid_distances_are_refused(self, distances, message):
        with pytest.raises(ValueError, match=message):
            Graph.from_distances(distances)


class TestFromSparseDistances:
    @pytest.mark.parametrize("n_neighbors", [1, 2, 5])
    def test_sparse_distances_give_the_graph_of_dense_ones(self, n_neighbors):
        for seed in range(10):
            rng = np.random.default_rng(seed)
            X = rng.normal(size=(40, 3)) + 10 * rng.integers(4, size=(40, 1))
            dense = Graph.from_distances(masked_distances(X), n_neighbors)
            found = Graph.from_distances(sparse.csr_array(masked_distances(X)), n_neighbors)
            assert found.edges.tolist() == dense.edges.tolist() or {
                tuple(edge) for edge in found.edges.tolist()
            } == {tuple(edge) for edge in dense.edges.tolist()}
            assert found.n_added_links == dense.n_added_links
            assert found.is_connected

    def test_nodes_that_stored_distances_do_not_connect_stay_apart(self):
        D = sparse.csr_array(np.kron(np.eye(2), np.array([[0.0, 1.0], [1.0, 0.0]])))
        graph = Graph.from_distances(D, 1)
        assert graph.edges.tolist() == [[0, 1], [2, 3]]
        assert graph.n_components == 2

    def test_stored_zeros_are_distances(self):
        i, j = np.array([0, 1, 1, 2]), np.array([1, 0, 2, 1])
        D = sparse.csr_array((np.array([0.0, 0.0, 1.0, 1.0]), (i, j)), shape=(3, 3))
        assert Graph.from_distances(D, 1).edges.tolist() == [[0, 1], [1, 2]]

    @pytest.mark.parametrize(
        ("matrix", "message"),
        [
            (sparse.csr_array((2, 3)), "square"),
            (sparse.csr_array([[0.0, 1.0], [2.0, 0.0]]), "symmetric"),
            (sparse.csr_array([[0.0, 1.0], [0.0, 0.0]]), "symmetric"),
            (sparse.csr_array([[0.0, np.nan], [np.nan, 0.0]]), "finite"),
            (sparse.csr_array([[0.0, -1.0], [-1.0, 0.0]]), "must not be negative, got -1"),
        ],
    )
    def test_invalid_sparse_distances_are_refused(self, matrix, message):
        with pytest.raises(ValueError, match=message):
            Graph.from_distances(matrix, 1)
        with pytest.raises(ValueError, match="n_neighbors"):
            Graph.from_distances(sparse.csr_array(np.ones((3, 3))), 0)


def test_component_labels():
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
