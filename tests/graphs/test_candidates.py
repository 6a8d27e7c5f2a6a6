import numpy as np
import pytest
from oracles import slow
from oracles.fits import incomplete
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from comanifold import Graph, masked_distances
from comanifold.graphs import CandidatePairs, _candidates


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(_candidates, "N_SPREAD", 4)


@pytest.mark.parametrize("fraction", [0.0, 0.5])
@pytest.mark.parametrize("at_once", [1, 500, 10**6])
def test_near_and_far_rows_at_their_distances(fraction, at_once, monkeypatch):
    monkeypatch.setattr(_candidates, "_AT_ONCE", at_once)
    X = incomplete(0, (60, 12), fraction)
    expected = slow.masked_distances(X)
    candidates = CandidatePairs(X, 6)
    i, j = candidates.distances.nonzero()
    found = candidates.distances.toarray()
    np.testing.assert_allclose(found[i, j], expected[i, j], rtol=1e-10)
    wanted = set()
    for row in range(60):
        order = np.argsort(expected[row])[1:]
        # 53 are left past the nearest 6: the middles of four equal parts of them.
        for other in order[[0, 1, 2, 3, 4, 5, 6 + 6, 6 + 19, 6 + 33, 6 + 46]]:
            wanted.add((min(row, other), max(row, other)))
    pairs = candidates.pairs
    assert set(zip(pairs.firsts, pairs.others, strict=True)) == wanted


def test_all_pairs_of_few_rows():
    for n_rows in (1, 2, 5, 10):
        candidates = CandidatePairs(incomplete(1, (n_rows, 5), 0.0), 6)
        assert len(candidates.pairs) == n_rows * (n_rows - 1) // 2


def test_rows_that_share_nothing_are_linked_by_their_means():
    X = np.full((9, 6), np.nan)
    rng = np.random.default_rng(0)
    for part in range(3):
        X[3 * part : 3 * part + 3, 2 * part : 2 * part + 2] = part + 0.1 * rng.normal(size=(3, 2))
    candidates = CandidatePairs(X, 2)
    assert connected_components(candidates.distances, directed=False)[0] == 1
    graph = Graph.from_distances(candidates.distances, 2)
    assert graph.is_connected
    assert graph.n_added_links == 2
    assert {tuple(e // 3 for e in edge) for edge in graph.edges[-2:].tolist()} == {(0, 1), (1, 2)}


@pytest.mark.parametrize("n_neighbors", [1, 2, 5])
def test_graphs_of_stored_distances_are_those_of_all(n_neighbors):
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


def test_what_stored_distances_do_not_connect_stays_apart():
    D = sparse.csr_array(np.kron(np.eye(2), np.array([[0.0, 1.0], [1.0, 0.0]])))
    graph = Graph.from_distances(D, 1)
    assert graph.edges.tolist() == [[0, 1], [2, 3]]
    assert graph.n_components == 2


def test_stored_zeros_are_distances():
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
    ],
)
def test_sparse_distances_that_make_no_sense(matrix, message):
    with pytest.raises(ValueError, match=message):
        Graph.from_distances(matrix, 1)
    with pytest.raises(ValueError, match="n_neighbors"):
        Graph.from_distances(sparse.csr_array(np.ones((3, 3))), 0)
