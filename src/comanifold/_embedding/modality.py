r"""One group or two, along one coordinate: two Gaussians against the best log-concave density.

The evidence for two groups is a log-likelihood ratio,

.. math:: \max_{w, \mu, \sigma} \sum_i \log \sum_{k=1}^2 w_k N(x_i; \mu_k, \sigma_k)
          - \max_{\varphi \text{ concave}} \Bigl( \sum_i \varphi(x_i) - n \log \int e^\varphi
          \Bigr).

A uniform, normal, exponential or other log-concave density, with any width and skewness, is one
group: the nonparametric fit is then at least as good, and the ratio is negative, but for chance
gaps between few points. It is positive if there is a valley, or a dense group beside a sparse one.
Two Gaussians around nearly the same centre are one group with heavy tails.
Both densities are fitted to counts in bins.

References
----------
Walther (2002), Detecting the presence of mixing with multiscale maximum likelihood. Dümbgen and
Rufibach (2009), Maximum likelihood estimation of a log-concave density.
"""

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

Array = NDArray[np.float64]

_N_BINS = 60
_CENTRES = (np.arange(_N_BINS) + 0.5) / _N_BINS

# Functions of the bins whose non-negative combinations are the concave functions.
_HINGES = -np.maximum(_CENTRES[:, None] - _CENTRES[1:-1], 0.0)
_CONCAVE = np.column_stack([np.ones(_N_BINS), -np.ones(_N_BINS), _CENTRES, -_CENTRES, _HINGES])

# Newton steps of the log-concave fit, and the gain in log-likelihood at which they end.
_MAX_STEPS = 30
_MIN_GAIN = 1e-6
_MIN_STEP = 1e-4
_MIN_PROBABILITY = 1e-12

# Iterations of the mixture, and the quantiles at which its means start.
_N_ITERATIONS = 80
_STARTS = np.array([(0.25, 0.75), (0.1, 0.6), (0.4, 0.9), (0.5, 0.95), (0.05, 0.5)])
_START_DEVIATION = 0.12
_LEAST_DEVIATION = 0.5 / _N_BINS

# A narrow and a wide Gaussian with less separated means than this are one group with heavy tails,
# and the evidence is at most this.
_MIN_SEPARATION = 1.0
_ONE_CENTRE = -5.0

# Places between the two means at which the least density of the mixture is searched for.
_N_PLACES = 200


class TwoGaussians(NamedTuple):
    """A mixture of two Gaussians over [0, 1], and its log-likelihood for counts in bins."""

    log_likelihood: float
    weights: Array
    means: Array
    deviations: Array

    def separation(self) -> float:
        """Return the distance between the means, relative to the larger deviation."""
        return float(abs(self.means[1] - self.means[0]) / self.deviations.max())

    def valley(self) -> float:
        """Return where the density is least between the two means, or where both are equal."""
        low, high = np.argsort(self.means, kind="stable")
        places = np.linspace(self.means[low], self.means[high], _N_PLACES)
        scaled = (places - self.means[:, None]) / self.deviations[:, None]
        densities = (self.weights / self.deviations)[:, None] * np.exp(-0.5 * scaled**2)
        least = int(np.argmin(densities.sum(axis=0)))
        if 0 < least < _N_PLACES - 1:
            return float(places[least])
        return float(places[np.argmin(np.abs(densities[low] - densities[high]))])


class Modality(NamedTuple):
    """The evidence for two groups along a coordinate, and where they are best divided."""

    evidence: float
    valley: float


def compare_one_and_two_groups(x: Array) -> Modality:
    """Return the log-likelihood ratio of two groups against one, and the valley between them.

    Parameters
    ----------
    x : ndarray of shape (n_points,)
        Finite coordinates. If all are equal, the evidence is that for one group.
    """
    low, span = float(x.min()), float(np.ptp(x))
    if not span > 0.0:
        return Modality(-np.inf, low)
    counts = np.bincount(
        np.minimum(((x - low) / span * _N_BINS).astype(np.intp), _N_BINS - 1), minlength=_N_BINS
    ).astype(float)
    two = fit_two_gaussians(counts)
    evidence = two.log_likelihood - log_concave_likelihood(counts)
    if two.separation() < _MIN_SEPARATION:
        evidence = min(evidence, _ONE_CENTRE)
    return Modality(float(evidence), low + span * two.valley())


def log_concave_likelihood(counts: Array) -> float:
    """Return the log-likelihood of counts in bins under the best log-concave probabilities.

    Newton's method: each step is a least-squares problem over concave functions, with the current
    probabilities for weights.
    """
    n_points = counts.sum()
    shares = counts / n_points
    mean = shares @ _CENTRES
    variance = shares @ (_CENTRES - mean) ** 2 + 1.0 / _N_BINS**2
    logs = _normalised(-0.5 * (_CENTRES - mean) ** 2 / variance)
    value = shares @ logs
    for _ in range(_MAX_STEPS):
        probabilities = np.maximum(np.exp(logs), _MIN_PROBABILITY)
        root = np.sqrt(probabilities)
        target = logs + (shares - probabilities) / probabilities
        weights, _ = nnls(_CONCAVE * root[:, None], target * root, maxiter=50 * _N_BINS)
        direction = _CONCAVE @ weights - logs
        step, gain = 1.0, -np.inf
        while gain < 0.0 and step > _MIN_STEP:
            proposed = _normalised(logs + step * direction)
            gain = shares @ proposed - value
            step *= 0.5
        if gain > 0.0:
            logs, value = proposed, value + gain
        if n_points * gain < _MIN_GAIN:
            break
    return float(n_points * value)


def _normalised(logs: Array) -> Array:
    """Return logarithms of probabilities that sum to one."""
    largest = logs.max()
    return logs - largest - np.log(np.exp(logs - largest).sum())


def fit_two_gaussians(counts: Array) -> TwoGaussians:
    """Return the best mixture of two Gaussians by expectation maximisation from several starts."""
    cumulative = np.cumsum(counts) / counts.sum()
    best: TwoGaussians | None = None
    for quantiles in _STARTS:
        means = _CENTRES[np.minimum(np.searchsorted(cumulative, quantiles), _N_BINS - 1)]
        means = means + np.array([0.0, 1e-3])
        deviations, weights = np.full(2, _START_DEVIATION), np.full(2, 0.5)
        likelihood = _maximise_mixture(
            counts, _CENTRES, weights, means, deviations, _N_ITERATIONS, _LEAST_DEVIATION
        )
        if best is None or likelihood > best.log_likelihood:
            best = TwoGaussians(float(likelihood), weights, means, deviations)
    return best


@numba.njit(cache=True, nogil=True)
def _maximise_mixture(counts, centres, weights, means, deviations, n_iterations, least):
    """Update a Gaussian mixture by expectation maximisation; return its log-likelihood.

    Each component is normalised over the bins. Deviations are not below `least`.
    """
    n_bins, n_components = len(counts), len(means)
    parts = np.empty((n_components, n_bins))
    density = np.empty(n_bins)
    n_points = counts.sum()
    for iteration in range(n_iterations + 1):
        density[:] = 0.0
        for k in range(n_components):
            total = 0.0
            for b in range(n_bins):
                parts[k, b] = np.exp(-0.5 * ((centres[b] - means[k]) / deviations[k]) ** 2)
                total += parts[k, b]
            for b in range(n_bins):
                parts[k, b] *= weights[k] / max(total, 1e-300)
                density[b] += parts[k, b]
        for b in range(n_bins):
            density[b] = max(density[b], 1e-300)
        if iteration == n_iterations:
            break
        for k in range(n_components):
            size, first, second = 1e-9, 0.0, 0.0
            for b in range(n_bins):
                share = counts[b] * parts[k, b] / density[b]
                size += share
                first += share * centres[b]
                second += share * centres[b] ** 2
            mean = first / size
            weights[k] = size / n_points
            means[k] = mean
            variance = max(second / size - mean**2, 0.0)
            deviations[k] = np.sqrt(variance + least**2)
        total = weights.sum()
        for k in range(n_components):
            weights[k] /= total
    return (counts * np.log(density)).sum()
