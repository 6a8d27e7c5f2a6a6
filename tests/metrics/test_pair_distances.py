import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import slow
from oracles.fits import random_blocks

from comanifold.graphs import Pairs
from comanifold.metrics import MultiScaleMetric, _pair_distances


def some_pairs(rng, n_points):
    ends = rng.integers(n_points, size=(2, 3 * n_points))
    return Pairs.of(n_points, *ends)


def listed(pairs):
    return list(zip(pairs.firsts.tolist(), pairs.others.tolist(), strict=True))


@given(st.integers(0, 10**6), st.floats(0.0, 1.0))
def test_the_kernel_against_its_twin(seed, missing):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rng.integers(1, 15), rng.integers(1, 300)))
    X[rng.random(X.shape) < missing] = np.nan
    pairs = some_pairs(rng, len(X))
    scale = random_blocks(rng, X.shape)
    sums = rng.normal(size=len(pairs))
    expected = sums + 0.7 * slow.pair_distances(X, *scale, listed(pairs))
    _pair_distances.add_pair_distances(X, *scale, pairs, 0.7, sums)
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


def test_pairs_are_listed_once():
    pairs = Pairs.of(4, np.array([3, 0, 1, 2, 1]), np.array([0, 3, 1, 1, 2]))
    assert listed(pairs) == [(0, 3), (1, 2)]
    np.testing.assert_array_equal(pairs.starts, [0, 1, 2, 2, 2])
    matrix = pairs.matrix(np.array([5.0, 0.0]))
    assert matrix.nnz == 8
    assert matrix[3, 0] == matrix[0, 3] == 5.0
