"""Candidate pairs: near and far rows, and links between rows that share no column."""

import numpy as np
import pytest
from oracles import slow
from oracles.fits import incomplete
from scipy.sparse.csgraph import connected_components

from comanifold import Graph
from comanifold.graphs import CandidatePairs, _nearest, _pairs


@pytest.mark.parametrize("fraction", [0.0, 0.5])
@pytest.mark.parametrize("at_once", [1, 500, 10**6])
def test_near_and_far_rows_at_their_distances(fraction, at_once, monkeypatch):
    monkeypatch.setattr(_nearest, "_AT_ONCE", at_once)
    X = incomplete(0, (60, 12), fraction)
    expected = slow.masked_distances(X)
    candidates = CandidatePairs(X, 6, n_spread=4)
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
        candidates = CandidatePairs(incomplete(1, (n_rows, 5), 0.0), 6, n_spread=4)
        assert len(candidates.pairs) == n_rows * (n_rows - 1) // 2


def test_rows_that_share_no_column_are_linked_by_their_means():
    X = np.full((9, 6), np.nan)
    rng = np.random.default_rng(0)
    for part in range(3):
        X[3 * part : 3 * part + 3, 2 * part : 2 * part + 2] = part + 0.1 * rng.normal(size=(3, 2))
    candidates = CandidatePairs(X, 2, n_spread=4)
    assert connected_components(candidates.distances, directed=False)[0] == 1
    graph = Graph.from_distances(candidates.distances, 2)
    assert graph.is_connected
    assert graph.n_added_links == 2
    assert {tuple(e // 3 for e in edge) for edge in graph.edges[-2:].tolist()} == {(0, 1), (1, 2)}


@pytest.mark.parametrize("fraction", [0.0, 0.5])
def test_far_rows_of_many_are_chosen_among_a_part(fraction, monkeypatch):
    monkeypatch.setattr(_pairs, "_MOST_FAR", 20)
    X = incomplete(2, (60, 12), fraction)
    distances = slow.masked_distances(X)
    np.fill_diagonal(distances, np.inf)
    # The middles of 20 equal parts of the 60 rows in the order of their means.
    part = np.sort(np.argsort(np.nanmean(X, axis=1))[1::3])
    wanted = set()
    for row in range(60):
        others = part[np.argsort(distances[row, part])]
        # The middles of four equal parts of at least 19 rows.
        for other in [*np.argsort(distances[row])[:6], *others[[2, 7, 11, 16]]]:
            wanted.add((min(row, other), max(row, other)))
    candidates = CandidatePairs(X, 6, n_spread=4)
    pairs = candidates.pairs
    assert set(zip(pairs.firsts, pairs.others, strict=True)) == wanted
    found = candidates.distances.toarray()[pairs.firsts, pairs.others]
    np.testing.assert_allclose(found, distances[pairs.firsts, pairs.others], rtol=1e-10)
