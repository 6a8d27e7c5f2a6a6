"""Rows at given ranks in the order of their distance, compared with sorted distances."""

import numpy as np
import pytest
from oracles import slow
from oracles.fits import incomplete

from comanifold import Graph, masked_distances
from comanifold.graphs import CandidatePairs, Rows, _nearest, rows_at_ranks


def matrix(kind):
    X = incomplete(0, (150, 9), 0.4 if kind == "incomplete" else 0.0)
    if kind == "outlier":
        X[3] *= 1e6
    if kind == "tight group":
        X[:40] = 5.0 + 1e-5 * X[:40]
    if kind == "wide range":
        X *= np.logspace(-9, 0, len(X))[:, None]
    if kind == "one column":
        X = X[:, :1]
    return X


KINDS = ["complete", "incomplete", "outlier", "tight group", "wide range", "one column"]


def sorted_others(X):
    """Return the other rows by their distance, and the distances."""
    distances = slow.masked_distances(X)
    np.fill_diagonal(distances, np.inf)
    order = np.argsort(distances, axis=1, kind="stable")
    return order, np.take_along_axis(distances, order, axis=1)


@pytest.mark.parametrize("at_once", [1, 2000, 10**6])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ranks", [[0], [0, 1, 2, 3], [0, 1, 2, 5, 60, 61, 100, 148], [148]])
def test_rows_at_ranks(kind, ranks, at_once, monkeypatch):
    monkeypatch.setattr(_nearest, "_AT_ONCE", at_once)
    X = matrix(kind)
    order, distances = sorted_others(X)
    chosen, lengths = rows_at_ranks(Rows(X), np.array(ranks))
    expected = distances[:, ranks]
    # Differences of large numbers that are nearly equal have fewer digits.
    atol = 1e-13 * np.nanmax(np.abs(X))
    np.testing.assert_allclose(lengths, expected, rtol=1e-9, atol=atol)
    np.testing.assert_array_equal(chosen >= 0, np.isfinite(expected))
    found = chosen >= 0
    if kind != "one column":  # |x| and |y| may be as far from each other as |x| and |z|
        np.testing.assert_array_equal(chosen[found], order[:, ranks][found])


def test_equal_distances_are_in_the_order_of_rows():
    X = np.repeat([[0.0, 0.0], [3.0, 4.0]], 5, axis=0)
    chosen, lengths = rows_at_ranks(Rows(X), np.arange(9))
    assert chosen[2].tolist() == [0, 1, 3, 4, 5, 6, 7, 8, 9]
    np.testing.assert_allclose(lengths[2], [0.0] * 4 + [np.sqrt(12.5)] * 5, atol=1e-15)


@pytest.mark.parametrize("fraction", [0.0, 0.4])
def test_some_rows_among_some_others(fraction):
    X = incomplete(1, (80, 12), fraction)
    rng = np.random.default_rng(0)
    groups = rng.integers(4, size=80)
    of, among = np.sort(rng.permutation(80)[:30]), np.sort(rng.permutation(80)[:50])
    chosen, lengths = rows_at_ranks(Rows(X), np.array([0, 3]), of=of, among=among, groups=groups)
    distances = slow.masked_distances(X)
    for i, some, apart in zip(of, chosen, lengths, strict=True):
        others = among[groups[among] != groups[i]]
        order = others[np.argsort(distances[i, others])]
        np.testing.assert_array_equal(some, order[[0, 3]])
        np.testing.assert_allclose(apart, distances[i, some])


def test_fewer_rows_than_ranks():
    X = np.array([[1.0, np.nan], [2.0, np.nan], [np.nan, 1.0]])
    chosen, lengths = rows_at_ranks(Rows(X), np.arange(2))
    assert chosen.tolist() == [[1, -1], [0, -1], [-1, -1]]
    assert lengths.tolist() == [[1.0, np.inf], [1.0, np.inf], [np.inf, np.inf]]


@pytest.mark.parametrize("fraction", [0.0, 0.3])
def test_graphs_of_rows_and_of_their_distances_agree(fraction):
    X = incomplete(2, (120, 15), fraction)
    X += 20.0 * (np.arange(120) % 4)[:, None]
    of_rows = Graph.nearest_neighbors(X, 4)
    of_distances = Graph.from_distances(masked_distances(X), 4)
    assert of_rows.n_added_links == of_distances.n_added_links > 0
    one, other = (set(map(tuple, graph.edges.tolist())) for graph in (of_rows, of_distances))
    assert one == other
    candidates = CandidatePairs(X, 10)
    one, other = candidates.graph(4), Graph.from_distances(candidates.distances, 4)
    np.testing.assert_array_equal(one.edges, other.edges)
