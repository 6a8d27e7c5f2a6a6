"""One group or two along a coordinate."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import modality as oracle

from comanifold._embedding.modality import (
    _CENTRES,
    _maximise_mixture,
    compare_one_and_two_groups,
    fit_two_gaussians,
    log_concave_likelihood,
)

N_BINS = len(_CENTRES)


def counts_of(**of_bins):
    counts = np.zeros(N_BINS)
    for name, count in of_bins.items():
        counts[int(name[1:])] = count
    return counts


COUNTS = [
    counts_of(_0=7),
    counts_of(_31=1),
    counts_of(_0=3, _59=4),
    counts_of(_10=3, _11=400),
    counts_of(_0=1, _30=50, _59=1),
    np.ones(N_BINS),
    np.arange(float(N_BINS)),
]


@st.composite
def random_counts(draw):
    """Counts in few or many bins, small and large."""
    largest = draw(st.sampled_from([1, 3, 30, 2000]))
    n_bins = draw(st.integers(1, N_BINS))
    counts = np.zeros(N_BINS)
    places = draw(st.permutations(range(N_BINS)))[:n_bins]
    counts[places] = draw(st.lists(st.integers(0, largest), min_size=n_bins, max_size=n_bins))
    counts[places[0]] += 1
    return counts


def assert_greatest(counts):
    found, expected = log_concave_likelihood(counts), oracle.log_concave_likelihood(counts)
    assert abs(found - expected) <= 1e-4 + 1e-7 * counts.sum()


@pytest.mark.parametrize("counts", COUNTS)
def test_the_log_concave_likelihood_is_the_greatest(counts):
    assert_greatest(counts)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(random_counts())
def test_the_log_concave_likelihood_of_random_counts_is_the_greatest(counts):
    assert_greatest(counts)


@pytest.mark.parametrize("n_iterations", [0, 1, 40])
@pytest.mark.parametrize("seed", range(3))
def test_the_mixture_is_that_of_the_slow_iterations(seed, n_iterations):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(3.0, N_BINS) * (rng.random(N_BINS) < 0.5).astype(float)
    start = np.array([0.3, 0.7]), rng.random(2), np.array([0.1, 0.2])
    expected = oracle.maximise_mixture(counts, _CENTRES, *start, n_iterations, 0.01)
    found = [part.copy() for part in start]
    likelihood = _maximise_mixture(counts, _CENTRES, *found, n_iterations, 0.01)
    assert likelihood == pytest.approx(expected[0], rel=1e-9)
    for one, other in zip(found, expected[1:], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7)


def test_iterations_never_lower_the_likelihood():
    counts = np.random.default_rng(0).poisson(4.0, N_BINS).astype(float)
    values = []
    for n_iterations in range(0, 60, 5):
        start = np.full(2, 0.5), np.array([0.2, 0.6]), np.full(2, 0.1)
        values.append(_maximise_mixture(counts, _CENTRES, *start, n_iterations, 1e-6))
    assert (np.diff(values) >= -1e-6).all()
    assert fit_two_gaussians(counts).log_likelihood >= values[-1] - 1.0


ONE_GROUP = {
    "uniform": lambda rng, n: rng.random(n),
    "normal": lambda rng, n: rng.normal(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "Laplace": lambda rng, n: rng.laplace(size=n),
    "triangular": lambda rng, n: rng.triangular(0.0, 0.3, 1.0, n),
}


@pytest.mark.parametrize("name", ONE_GROUP)
def test_a_log_concave_density_is_one_group(name):
    for seed in range(40):
        x = ONE_GROUP[name](np.random.default_rng(seed), 400)
        assert compare_one_and_two_groups(x).evidence < 0.0, seed


def test_a_peak_with_long_tails_is_one_group():
    # A narrow and a wide Gaussian around one centre fit such points better than any log-concave
    # density does, and are one group all the same.
    for seed in range(40):
        x = np.random.default_rng(seed).standard_t(3, size=400)
        assert compare_one_and_two_groups(x).evidence < 0.0, seed


@pytest.mark.parametrize("name", ONE_GROUP)
def test_few_points_of_a_log_concave_density_are_one_group_on_average(name):
    samples = [ONE_GROUP[name](np.random.default_rng(seed), 60) for seed in range(40)]
    assert np.mean([compare_one_and_two_groups(x).evidence for x in samples]) < 0.0


def two_normals(seed, sizes=(100, 60)):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(0.0, 1.0, sizes[0]), rng.normal(8.0, 1.0, sizes[1])])


@pytest.mark.parametrize("seed", range(4))
def test_two_normals_are_two_groups_with_a_valley_between_them(seed):
    x = two_normals(seed)
    found = compare_one_and_two_groups(x)
    assert found.evidence > 10.0
    assert x[:100].max() <= found.valley <= x[100:].min()


@pytest.mark.parametrize("seed", range(4))
def test_a_dense_group_beside_a_sparse_one_is_two_groups(seed):
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.normal(0.0, 0.1, 200), rng.normal(1.5, 1.0, 100)])
    found = compare_one_and_two_groups(x)
    assert found.evidence > 5.0
    assert 0.0 < found.valley < 1.5


@pytest.mark.parametrize(("a", "b"), [(4.0, 0.0), (2.0**-40, 0.0), (3.7, -11.0), (1e6, 1e6)])
def test_units_do_not_matter(a, b):
    # Values in the middles of bins: no rounding error moves one into another bin.
    x = np.round(20.0 * two_normals(0)) / 20.0
    low, span = x.min(), np.ptp(x)
    x = low + span * (np.clip(np.floor((x - low) / span * N_BINS), 0, N_BINS - 1) + 0.5) / N_BINS
    x = np.concatenate([x, [low, low + span]])
    one, other = compare_one_and_two_groups(x), compare_one_and_two_groups(a * x + b)
    assert other.evidence == one.evidence
    assert other.valley == pytest.approx(a * one.valley + b, rel=1e-9, abs=1e-9 * a)
    mirrored = compare_one_and_two_groups(-x)
    assert mirrored.evidence == pytest.approx(one.evidence, abs=0.2)
    groups = x <= one.valley
    np.testing.assert_array_equal(-x > mirrored.valley, groups)


def test_equal_values_are_one_group():
    assert compare_one_and_two_groups(np.full(30, 2.5)) == (-np.inf, 2.5)
