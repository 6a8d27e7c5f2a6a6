"""Multi-scale distances against loops over pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import slow
from oracles.fits import random_blocks
from scipy.spatial.distance import pdist, squareform

from comanifold import metrics
from comanifold.graphs import Pairs
from comanifold.metrics import MultiScaleMetric


@given(st.integers(0, 10**6), st.floats(0.0, 0.9))
def test_distances_against_a_loop(seed, missing):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rng.integers(1, 12), rng.integers(1, 9)))
    X[rng.random(X.shape) < missing] = np.nan
    X[-1] = X[0]
    first, second = MultiScaleMetric(X), MultiScaleMetric(X)
    expected, mean, total = {"rows": 0.0, "columns": 0.0}, 0.0, 0.0
    for scale in range(4):
        values, rows, columns = random_blocks(rng, X.shape)
        weight = float(rng.uniform(0.1, 2.0))
        (first if scale % 2 else second).add(values, rows, columns, weight)
        filled = np.where(np.isnan(X), values[np.ix_(rows, columns)], X)
        expected["rows"] = expected["rows"] + weight * squareform(pdist(filled))
        expected["columns"] = expected["columns"] + weight * squareform(pdist(filled.T))
        mean, total = mean + weight * filled, total + weight
    first.merge(second)
    by_row, by_column = first.distances()
    np.testing.assert_allclose(by_row, expected["rows"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(by_column, expected["columns"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(first.filled, mean / total, rtol=1e-12, atol=1e-12)
    assert first.total_weight == pytest.approx(total)
    observed = ~np.isnan(X)
    np.testing.assert_array_equal(first.filled[observed], X[observed])


@pytest.mark.parametrize("difference", [1e-9, 1e-2])
def test_rows_that_hardly_differ_keep_their_digits(difference):
    rng = np.random.default_rng(0)
    X = 100.0 + rng.normal(size=(2, 50))
    X[1] = X[0] + difference
    X = np.vstack([X, rng.normal(size=50)])
    X[2, 0] = np.nan
    metric = MultiScaleMetric(X)
    metric.add(np.zeros((1, 1)), np.zeros(3, dtype=int), np.zeros(50, dtype=int), 1.0)
    expected = np.linalg.norm(X[0] - X[1])
    assert metric.distances()[0][0, 1] == pytest.approx(expected, rel=1e-12)


def some_pairs(rng, n_points):
    ends = rng.integers(n_points, size=(2, 3 * n_points))
    return Pairs.of(n_points, *ends)


def listed(pairs):
    return list(zip(pairs.firsts.tolist(), pairs.others.tolist(), strict=True))


@given(st.integers(0, 10**6), st.floats(0.0, 1.0))
def test_distances_at_pairs_against_a_loop(seed, missing):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rng.integers(1, 15), rng.integers(1, 300)))
    X[rng.random(X.shape) < missing] = np.nan
    pairs = some_pairs(rng, len(X))
    scale = random_blocks(rng, X.shape)
    sums = rng.normal(size=len(pairs))
    expected = sums + 0.7 * slow.pair_distances(X, *scale, listed(pairs))
    metrics._add_pair_distances(X, *scale, pairs, 0.7, sums)
    np.testing.assert_allclose(sums, expected, rtol=1e-12, atol=1e-12)


@given(st.integers(0, 10**6), st.floats(0.0, 0.9))
@pytest.mark.parametrize("modes", [(True, True), (True, False), (False, True)])
def test_the_metric_at_pairs_is_the_dense_one_there(modes, seed, missing):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rng.integers(2, 12), rng.integers(2, 9)))
    X[rng.random(X.shape) < missing] = np.nan
    pairs = tuple(
        some_pairs(rng, size) if is_sparse else None
        for size, is_sparse in zip(X.shape, modes, strict=True)
    )
    dense, first, second = MultiScaleMetric(X), *(MultiScaleMetric(X, pairs) for _ in range(2))
    for scale in range(4):
        blocks, weight = random_blocks(rng, X.shape), float(rng.uniform(0.1, 2.0))
        dense.add(*blocks, weight)
        (first if scale % 2 else second).add(*blocks, weight)
    other = MultiScaleMetric(X, pairs)
    other.restore(second.sums())
    first.merge(other)
    for metric in (dense, first):
        metric.normalise()
    np.testing.assert_allclose(first.filled, dense.filled, rtol=1e-12)
    for found, all_of_them, some in zip(first.distances(), dense.distances(), pairs, strict=True):
        if some is None:
            np.testing.assert_allclose(found, all_of_them, rtol=1e-9, atol=1e-12)
            continue
        i, j = some.firsts, some.others
        assert found.nnz == 2 * len(some) + some.n_points
        np.testing.assert_allclose(found.toarray()[i, j], all_of_them[i, j], rtol=1e-8, atol=1e-9)
        np.testing.assert_array_equal(found.toarray(), found.toarray().T)
