"""Metric repair against the published loops, kernel correction against a convex solver."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.metric import excess, increase_only, shortest_paths
from oracles.metric import nearest_correlation as by_convex_solver

from comanifold.baselines import _metric_repair
from comanifold.baselines._metric_repair import (
    lower_to_metric,
    nearest_correlation,
    raise_to_metric,
)

ROUNDING = 1e-14


def symmetric(A):
    upper = np.triu(A, 1)
    return upper + upper.T


@st.composite
def distance_matrices(draw):
    """Symmetric matrices with a zero diagonal, of very different entries, or with many equal."""
    n = draw(st.integers(2, 9))
    entries = draw(
        st.sampled_from(
            [st.floats(0.0, 1.0), st.sampled_from([0.0, 1.0, 2.0, 5.0]), st.floats(1e-9, 1e9)]
        )
    )
    return symmetric(draw(hnp.arrays(float, (n, n), elements=entries)))


@given(distance_matrices())
def test_increase_only(D):
    raised = raise_to_metric(D)
    largest = D.max()
    np.testing.assert_allclose(raised, increase_only(D), rtol=0, atol=ROUNDING * largest)
    np.testing.assert_array_equal(raised, raised.T)
    assert not raised.diagonal().any()
    assert (raised >= D).all()
    assert raised.max() <= largest
    # One pass is enough: the result is a metric, which another pass does not change.
    assert excess(raised) <= ROUNDING
    np.testing.assert_allclose(raise_to_metric(raised), raised, rtol=0, atol=ROUNDING * largest)


@given(distance_matrices())
def test_decrease_only(D):
    lowered = lower_to_metric(D)
    np.testing.assert_allclose(lowered, shortest_paths(D), rtol=0, atol=ROUNDING * D.max())
    np.testing.assert_array_equal(lowered, lowered.T)
    assert (lowered <= D).all()
    assert excess(lowered) <= ROUNDING
    np.testing.assert_allclose(lower_to_metric(lowered), lowered, rtol=0, atol=ROUNDING * D.max())


@pytest.mark.parametrize("repair", [raise_to_metric, lower_to_metric])
def test_a_metric_is_unchanged(repair):
    points = np.random.default_rng(0).normal(size=(40, 3))
    D = np.linalg.norm(points[:, None] - points, axis=2)
    np.testing.assert_allclose(repair(D), D, rtol=0, atol=ROUNDING * D.max())


@pytest.mark.parametrize("repair", [raise_to_metric, lower_to_metric])
def test_rounds_in_several_calls(repair, monkeypatch):
    D = symmetric(np.random.default_rng(1).uniform(size=(23, 23)))
    at_once = repair(D)
    monkeypatch.setattr(_metric_repair, "_OPERATIONS", 4 * 23**2)
    np.testing.assert_array_equal(repair(D), at_once)


def test_infinite_distances_remain_where_there_is_no_path():
    D = np.full((5, 5), np.inf)
    np.fill_diagonal(D, 0.0)
    D[0, 1] = D[1, 0] = 2.0
    D[1, 2] = D[2, 1] = 3.0
    D[3, 4] = D[4, 3] = 1.0
    lowered = lower_to_metric(D)
    assert lowered[0, 2] == 5.0
    assert np.isinf(lowered[:3, 3:]).all()


@pytest.mark.parametrize("seed", range(4))
def test_nearest_correlation_against_a_convex_solver(seed):
    K = symmetric(np.random.default_rng(seed).uniform(-0.5, 1.2, size=(7, 7))) + np.eye(7)
    found, _, converged = nearest_correlation(K, max_iter=5000, tol=1e-9)
    assert converged
    np.testing.assert_allclose(found, by_convex_solver(K), atol=2e-5)


@pytest.mark.parametrize("max_iter", [1, 3, 1000])
@given(distance_matrices())
def test_a_correlation_matrix_after_any_number_of_iterations(max_iter, D):
    K = np.minimum(D, 1.0) + np.eye(len(D))  # any symmetric matrix will do
    found, n_iter, _ = nearest_correlation(K, max_iter=max_iter, tol=1e-5)
    assert 1 <= n_iter <= max_iter
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(found.diagonal(), 1.0)
    assert found.min() >= 0.0
    assert found.max() <= 1.0
    assert np.linalg.eigvalsh(found)[0] >= -1e-13


def test_a_correlation_matrix_is_unchanged():
    points = np.random.default_rng(2).normal(size=(30, 3))
    K = np.exp(-((points[:, None] - points) ** 2).sum(axis=2) / 4)
    found, n_iter, converged = nearest_correlation(K, max_iter=10, tol=1e-6)
    assert (n_iter, converged) == (1, True)
    np.testing.assert_allclose(found, K, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_a_projection_is_nearer_to_every_correlation_matrix(seed):
    # What kernel correction promises: the matrix of the complete rows is one of those.
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(40, 5))
    truth = np.exp(-((points[:, None] - points) ** 2).sum(axis=2) / 5)
    K = np.clip(truth + symmetric(rng.normal(0, 0.3, size=(40, 40))), 0.0, 1.0)
    found, _, _ = nearest_correlation(K, max_iter=2000, tol=1e-8)
    assert np.linalg.norm(found - truth) < 0.8 * np.linalg.norm(K - truth)
