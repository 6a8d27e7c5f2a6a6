"""Whether a cloud of points falls into two groups."""

import numpy as np
import pytest
from scipy.stats import kstest, ortho_group
from sklearn.metrics import pairwise_distances

from comanifold._embedding.splits import (
    _RIDGE,
    Cloud,
    _halve,
    _leave_one_out,
    _Walk,
    split_in_two,
)


def split(X, min_size=5, factors=(1.15, 1.5), times=(0.1,)):
    return split_in_two(Cloud.of(X), factors=factors, times=times, min_size=min_size)


def two_groups(seed=0, sizes=(40, 30), n_features=8):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(sum(sizes), n_features))
    X[: sizes[0]] += 4.0
    return X, np.arange(sum(sizes)) < sizes[0]


def same_partition(one, other):
    return np.array_equal(one, other) or np.array_equal(one, ~other)


def test_clouds_have_euclidean_distances_and_principal_coordinates():
    for shape in ((30, 8), (8, 30)):
        X = np.random.default_rng(0).normal(size=shape) + 5.0
        cloud = Cloud.of(X)
        np.testing.assert_allclose(cloud.distances, pairwise_distances(X), atol=1e-7)
        np.testing.assert_allclose(
            pairwise_distances(cloud.coordinates), cloud.distances, atol=1e-6
        )
        part = cloud.part(np.array([2, 5]))
        assert part.distances[0, 1] == cloud.distances[2, 5]


def test_equal_points_have_distance_zero():
    X = np.repeat(np.random.default_rng(0).normal(size=(3, 50)), 10, axis=0) + 100.0
    equal = np.repeat(np.arange(3), 10)
    np.testing.assert_array_equal(Cloud.of(X).distances == 0.0, equal[:, None] == equal)


@pytest.mark.parametrize("n_directions", [1, 4])
def test_leaving_one_out_is_fitting_without_it(n_directions):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(25, n_directions)) + 3.0, (rng.random(25) < 0.4).astype(float)
    penalty = _RIDGE * ((X - X.mean(axis=0)) ** 2).sum() / n_directions
    expected = []
    for i in range(25):
        rest, values = np.delete(X, i, axis=0), np.delete(y, i)
        centred = rest - rest.mean(axis=0)
        slope = np.linalg.solve(
            centred.T @ centred + penalty * np.eye(n_directions), centred.T @ values
        )
        expected.append(values.mean() + (X[i] - rest.mean(axis=0)) @ slope - y.mean())
    np.testing.assert_allclose(_leave_one_out(X, y), expected, atol=1e-10)


@pytest.mark.parametrize("min_size", [1, 5, 12])
@pytest.mark.parametrize("seed", range(4))
def test_halves_have_the_least_variance_within(seed, min_size):
    x = np.random.default_rng(seed).exponential(size=24)
    first = _halve(x, min_size)
    ranked = np.sort(x)

    def within(n):
        return n * ranked[:n].var() + (24 - n) * ranked[n:].var()

    best = min(range(min_size, 24 - min_size + 1), key=within)
    np.testing.assert_array_equal(first, x <= ranked[best - 1])


def half_circle(n_points):
    angle = np.linspace(0.0, np.pi, n_points)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def long_curve(n_points):
    """A curve in seven dimensions of constant speed, whose first coordinate grows unevenly."""
    t = np.linspace(0.0, 1.0, n_points)
    waves = [f(k * 2.0 * np.pi * t) for k in (1, 2, 3) for f in (np.cos, np.sin)]
    return np.column_stack([3.0 * np.cos(np.pi * t), 3.0 * np.sin(np.pi * t), *waves])


@pytest.mark.parametrize("curve", [half_circle, long_curve])
@pytest.mark.parametrize("n_points", [100, 400])
def test_a_coordinate_along_a_curve_becomes_its_length(curve, n_points):
    X = curve(n_points)
    X = X[np.random.default_rng(0).permutation(n_points)]
    walk = _Walk.of(pairwise_distances(X), round(1.15 * np.sqrt(n_points)))
    straight = walk.straighten(X[:, 0])
    assert ((np.argsort(straight) - np.argsort(X[:, 0])) == 0).all()
    scaled = straight / straight.max()
    assert kstest(X[:, 0], "uniform", args=(X[:, 0].min(), np.ptp(X[:, 0]))).statistic > 0.1
    assert kstest(scaled, "uniform").statistic < 0.04
    # A unit of the coordinate is a unit of length.
    length = np.linalg.norm(np.diff(curve(n_points), axis=0), axis=1).sum()
    assert straight.max() == pytest.approx(length, rel=0.15)


def test_no_time_changes_nothing_but_the_mean():
    X = np.random.default_rng(0).normal(size=(20, 3))
    walk = _Walk.of(pairwise_distances(X), 8)
    assert walk.modes.shape == (20, 18)
    x = np.random.default_rng(1).normal(size=20)
    stationary = walk.root**2 / (walk.root**2).sum()
    # All modes but the fastest, which is added here.
    basis = np.column_stack([walk.root / np.linalg.norm(walk.root), walk.modes])
    fastest = np.linalg.svd(basis.T)[2][-1]
    rest = fastest * (fastest @ (walk.root * x)) / walk.root
    np.testing.assert_allclose(walk.relax(x, 0.0) + rest, x - stationary @ x, atol=1e-10)
    np.testing.assert_allclose(walk.relax(-3.0 * x, 0.3), -3.0 * walk.relax(x, 0.3), atol=1e-12)
    np.testing.assert_allclose(walk.relax(walk.relax(x, 0.1), 0.2), walk.relax(x, 0.3), atol=1e-12)
    slowest = walk.slowest()
    np.testing.assert_allclose(walk.relax(slowest, 1.0), np.exp(-1.0) * slowest, atol=1e-12)


def test_two_groups_are_found():
    X, truth = two_groups()
    found = split(X)
    assert found.evidence > 5.0
    assert same_partition(found.first, truth)
    one = split(np.random.default_rng(0).normal(size=(70, 8)))
    assert one.evidence < 0.0


@pytest.mark.parametrize("seed", range(3))
def test_what_does_not_change_distances_does_not_change_the_split(seed):
    X, _ = two_groups(seed)
    rng = np.random.default_rng(seed)
    found = split(X)
    rotation = ortho_group.rvs(X.shape[1], random_state=seed)
    for other in (X @ rotation, 100.0 * X, 1e-6 * X, X + rng.normal(size=X.shape[1]), -X):
        again = split(other)
        assert same_partition(again.first, found.first)
        # A rounding error may move a point to the next bin.
        assert again.evidence == pytest.approx(found.evidence, abs=1.0)
    order = rng.permutation(len(X))
    again = split(X[order])
    assert same_partition(again.first, found.first[order])
    assert again.evidence == pytest.approx(found.evidence, abs=1.0)


def degenerate_clouds():
    rng = np.random.default_rng(0)
    X, _ = two_groups()
    far = rng.normal(size=(30, 4))
    far[:2] += 1e6
    flat = rng.normal(size=(30, 4))
    flat[:, 1:] = 2.0
    yield "duplicates", np.repeat(X[::4], 4, axis=0)
    yield "mostly one point", np.vstack([np.tile(X[:1], (60, 1)), X[:15]])
    yield "two points far away", far
    yield "one dimension", flat
    yield "one feature", flat[:, :1]
    yield "few points", rng.normal(size=(10, 4))
    yield "one point twice", X[[0] * 9 + [1] * 9]
    yield "binary", (rng.random((40, 3)) < 0.5).astype(float)


@pytest.mark.parametrize(("name", "X"), list(degenerate_clouds()), ids=lambda part: str(part)[:20])
def test_degenerate_clouds_are_split(name, X):
    found = split(X)
    assert not np.isnan(found.evidence), name
    assert found.first.shape == (len(X),)
    if found.evidence > -np.inf:
        assert 5 <= found.first.sum() <= len(X) - 5


def test_equal_points_are_never_divided():
    assert split(np.ones((30, 4))).evidence == -np.inf
    X, _ = two_groups()
    X = np.vstack([np.tile(X[:1], (60, 1)), X[-15:]])
    found = split(X)
    assert found.evidence == -np.inf or len(set(found.first[:60])) == 1
