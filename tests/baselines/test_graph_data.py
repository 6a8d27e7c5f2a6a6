"""Effects, their robust form, and graphs that are read and scaled."""

import numpy as np
import pytest
from oracles import graph_completion as oracle
from scipy import sparse

from comanifold import Graph
from comanifold.baselines._graph_data import (
    Entries,
    UnitGraph,
    effects_of_entries,
    effects_of_matrix,
    neighbor_graph,
    read_graph,
)


def additive(seed=0, shape=(40, 30), noise=0.2, missing=0.4):
    rng = np.random.default_rng(seed)
    clean = 5.0 + rng.normal(size=(shape[0], 1)) + 2.0 * rng.normal(size=shape[1])
    X = clean + noise * rng.normal(size=shape)
    X[rng.random(shape) < missing] = np.nan
    return clean, X


def test_effects_of_entries_are_those_of_the_matrix():
    _, X = additive()
    effects, Z = effects_of_matrix(X)
    others, entries = effects_of_entries(Entries.of_matrix(X))
    np.testing.assert_allclose(effects.offsets(), others.offsets(), atol=1e-6)
    assert effects.scale == pytest.approx(others.scale, rel=1e-6)
    np.testing.assert_allclose(entries.values, Z[~np.isnan(X)], atol=1e-5)
    assert np.nanmean(Z**2) == pytest.approx(1.0)
    np.testing.assert_allclose(effects.offsets() + effects.scale * Z, X, atol=1e-12)
    rows, columns = np.array([3, 5]), np.array([0, 7])
    np.testing.assert_allclose(effects.at(rows, columns), effects.offsets()[rows, columns])


def test_effects_are_found_and_can_be_left_out():
    clean, X = additive()
    assert np.abs(effects_of_matrix(X)[0].offsets() - clean).max() < 0.4
    mean, _ = effects_of_matrix(X, subtract=False)
    np.testing.assert_allclose(mean.offsets(), np.nanmean(X))
    assert mean.scale == pytest.approx(np.nanstd(X))
    others, _ = effects_of_entries(Entries.of_matrix(X), subtract=False)
    np.testing.assert_allclose(others.offsets(), np.nanmean(X))


def test_robust_effects_hardly_change_with_outliers():
    clean, X = additive()
    rng = np.random.default_rng(1)
    X[rng.random(X.shape) < 0.1] += 100.0

    def error(robust):
        return np.sqrt(np.mean((effects_of_matrix(X, robust=robust)[0].offsets() - clean) ** 2))

    assert error(True) < 0.2 < 5.0 < error(False)
    assert effects_of_matrix(X, robust=True)[0].scale < 0.5
    median = effects_of_matrix(X, robust=True, subtract=False)[0].mean
    assert median == pytest.approx(np.nanmedian(X))


def test_a_matrix_that_is_additive_leaves_nothing():
    X = np.add.outer(np.arange(4.0), np.ones(3))
    for robust in (False, True):
        effects, Z = effects_of_matrix(np.full((4, 3), 7.0), robust=robust)
        np.testing.assert_array_equal(Z, 0.0)
        np.testing.assert_allclose(effects.offsets(), 7.0)
        assert np.isfinite(effects_of_matrix(X, robust=robust)[1]).all()


@pytest.mark.parametrize("n_nodes", [5, 300])
def test_laplacian(n_nodes):
    rng = np.random.default_rng(0)
    graph = neighbor_graph(rng.normal(size=(n_nodes, 3)), 3)
    graph = Graph(n_nodes, graph.edges, rng.uniform(0.1, 3.0, graph.n_edges))
    unit = UnitGraph.of(graph)
    np.testing.assert_allclose(unit.laplacian.toarray(), oracle.laplacian(graph), atol=1e-10)
    # Of a cycle every node has the same degree: the start of the iterations is an eigenvector.
    ring = Graph(n_nodes, [[i, (i + 1) % n_nodes] for i in range(n_nodes)])
    largest = np.linalg.eigvalsh(UnitGraph.of(ring).laplacian.toarray())[-1]
    assert largest == pytest.approx(1.0, rel=1e-3)
    assert not UnitGraph.of(Graph(n_nodes, [])).laplacian.toarray().any()


def test_graphs_are_read_from_matrices():
    graph = Graph(4, [[0, 1], [1, 3]], [2.0, 0.5])
    A = np.zeros((4, 4))
    A[0, 1] = A[1, 0] = 2.0
    A[1, 3] = A[3, 1] = 0.5
    A[2, 2] = 9.0  # the diagonal does not matter
    for given in (graph, A, sparse.csr_array(A), sparse.coo_matrix(A)):
        found = read_graph(given, 4, "row")
        np.testing.assert_array_equal(found.edges, graph.edges)
        np.testing.assert_array_equal(found.weights, graph.weights)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ("knn", "row_graph must be a comanifold.Graph or a matrix of edge weights, got str"),
        (Graph(3, []), "row_graph has 3 nodes, but X has 4 rows"),
        (np.ones((4, 3)), r"row_graph must be a square matrix of edge weights, got shape \(4, 3\)"),
        (np.triu(np.ones((4, 4))), "row_graph must be symmetric"),
        (-np.ones((4, 4)), "row_graph must have finite edge weights that are not negative"),
        (np.full((4, 4), np.nan), "row_graph must have finite edge weights"),
        (np.full((4, 4), "a"), "row_graph must hold numbers"),
    ],
)
def test_wrong_graphs_are_named(graph, message):
    with pytest.raises(ValueError, match=message):
        read_graph(graph, 4, "row")


def test_rows_without_entries_have_no_neighbours():
    X = np.random.default_rng(0).normal(size=(8, 5))
    X[2] = X[6] = np.nan
    graph = neighbor_graph(X, 2)
    assert not np.isin([2, 6], graph.edges).any()
    others = Graph.nearest_neighbors(np.delete(X, [2, 6], axis=0), 2)
    assert graph.n_edges == others.n_edges
    assert neighbor_graph(np.full((3, 2), np.nan), 2).n_edges == 0


def test_stored_entries_of_sparse_matrices():
    X = sparse.coo_array(([1.0, 2.0, 0.0, np.nan], ([0, 0, 1, 2], [1, 1, 0, 2])), shape=(3, 4))
    entries = Entries.of_sparse(X)
    assert entries.rows.tolist() == [0, 1]  # duplicates are added up, a stored zero is observed
    assert entries.columns.tolist() == [1, 0]
    assert entries.values.tolist() == [3.0, 0.0]
    assert entries.shape == (3, 4)


@pytest.mark.parametrize("n_nodes", [5, 300])
@pytest.mark.parametrize("unit", [5e-324, 1e-200, 1e-20, 1e200, 1.7e308])
def test_units_of_edge_weights_do_not_change_a_laplacian(n_nodes, unit):
    edges = [[i, i + 1] for i in range(n_nodes - 1)]
    plain, other = (
        UnitGraph.of(Graph(n_nodes, edges, np.full(n_nodes - 1, weight))) for weight in (1.0, unit)
    )
    np.testing.assert_allclose(
        other.laplacian.toarray(), plain.laplacian.toarray(), rtol=1e-12, atol=0.0
    )
    np.testing.assert_allclose(other.edges.weights, plain.edges.weights, rtol=1e-12)


def test_repeated_entries_of_an_adjacency_are_added_up():
    # Compressed rows that list the pair 0, 1 twice.
    A = sparse.csr_array(
        (np.array([1.0, 0.5, 1.5]), np.array([1, 1, 0]), np.array([0, 2, 3, 3])), shape=(3, 3)
    )
    found = read_graph(A, 3, "column")
    np.testing.assert_array_equal(found.edges, [[0, 1]])
    np.testing.assert_array_equal(found.weights, [1.5])
    assert A.nnz == 3  # as it was
    with pytest.raises(ValueError, match="row_graph must hold real numbers, got dtype complex128"):
        read_graph(A.astype(complex), 3, "row")
