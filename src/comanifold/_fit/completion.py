r"""Matrix completion by a Gaussian model, along a path of falling ridges.

The rows of the centred matrix are modelled as draws of a Gaussian vector. Its covariance and the
missing entries are found together, by alternating minimisation of

.. math:: \log\det\Bigl( \tfrac1m \hat X' \hat X + \delta s^2 I + \tfrac1m V \Bigr),
          \qquad P_\Theta(\hat X) = P_\Theta(X),

with s the standard deviation of the observed entries: the missing entries of a row are regressed
on its observed ones, with the ridge :math:`\delta`. For V = 0 this is the log-det heuristic for
low rank, which treats rows and columns alike. With `variance`, V is diagonal and holds the
variances of the missing entries given all others (mean-field expectation maximisation): the
better choice where few entries are missing. Large ridges give smooth estimates, small ones fit a
matrix without noise.

References
----------
Fazel, Hindi and Boyd (2003), Log-det heuristic for matrix rank minimization. Mohan and Fazel
(2012), Iterative reweighted algorithms for matrix rank minimization, JMLR 13.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from ..model_selection import HeldOut

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# The ridges: each is this part of the last. From one to the next the solution moves little, so
# that the path follows one local minimum; with steps of 10, errors at 90% missing were three
# times as large.
_LARGEST_RIDGE, _SMALLEST_RIDGE = 10.0, 1e-10
_RATIO = 10.0**-0.5
_N_RIDGES = 1 + round(np.log(_SMALLEST_RIDGE / _LARGEST_RIDGE) / np.log(_RATIO))

# A path ends when so many ridges in a row did not lower the held-out error. Gains can be small at
# first: at 95% missing those of the first ridges were below 0.1%.
_PATIENCE = 2

# Iterations for one ridge: at most so many, and fewer once the estimates change by less than this
# part of the deviation that the ridge allows. Conjugate gradient steps in each.
_MAX_ITER, _TOL = 10, 0.05
_N_STEPS = 4

# Above so many rows and columns the covariance is a matrix of this rank plus a diagonal one.
_MOST_DENSE, _RANK = 256, 64

# Relative error of the eigenvalues that the leading directions are found by.
_LANCZOS_TOL = 1e-6

# Entries of a block of rows that is solved at a time, so that it stays in the caches.
_BLOCK = 1 << 16

_N_EFFECT_ITERATIONS = 20


@dataclass(frozen=True)
class PathKind:
    """Which of the completion paths: what is subtracted first, and whether V is zero.

    Attributes
    ----------
    effects : bool
        Subtract effects of rows and columns, not only the mean of all entries.
    variance : bool
        Add the variances of the missing entries to the covariance.
    """

    effects: bool
    variance: bool


PATH_KINDS = tuple(
    PathKind(effects, variance) for effects in (False, True) for variance in (False, True)
)

# The path whose estimates the first graphs are built from, and how many of its steps are tried:
# smaller ridges than 0.001 hardly change the nearest neighbours.
_FOR_GRAPHS = PathKind(effects=False, variance=False)
_N_STEPS_FOR_GRAPHS = 10


@dataclass(frozen=True)
class Completion:
    """A completion that has a weight in the combination.

    Attributes
    ----------
    effects, variance : bool
        See `PathKind`.
    step : int
        Its number on the path, from 0.
    weight : float
    """

    effects: bool
    variance: bool
    step: int
    weight: float

    @property
    def ridge(self) -> float:
        """The ridge; infinite for the mean, or the effects of rows and columns, alone."""
        number = self.step if self.variance else self.step - 1
        return np.inf if number < 0 else _LARGEST_RIDGE * _RATIO**number


def completion_path(X: Array, kind: PathKind) -> Iterator[Array]:
    """Yield the estimates of X for falling ridges, each solved from the last.

    Only the path without variances begins with the mean or the effects alone, so that no two
    paths have a step in common.
    """
    offsets = np.broadcast_to(np.nanmean(X), X.shape)
    if kind.effects:
        offsets = row_and_column_effects(X)
    if not kind.variance:
        yield offsets
    for estimate in _gaussian_path(X - offsets, kind.variance):
        yield offsets + estimate


def predict_along_path(held_out: HeldOut, kind: PathKind, max_steps: int | None = None) -> Array:
    """Return the held-out entries as predicted at each step of a path, one row per step.

    The path ends where the predictions no longer improve, or after `max_steps`.
    """
    predictions: list[Array] = []
    least, n_worse = np.inf, 0
    for estimate in islice(completion_path(held_out.rest(), kind), max_steps):
        predictions.append(estimate[held_out.rows, held_out.columns])
        error = float(np.mean((predictions[-1] - held_out.values) ** 2))
        n_worse = 0 if error < least else n_worse + 1
        least = min(least, error)
        if n_worse == _PATIENCE:
            break
    return np.array(predictions)


def complete_for_graphs(X: Array) -> Array:
    """Return X filled in, at the step that predicts entries held out of X best.

    It depends on nothing but X: in a fit to a part of the entries, the others have no influence.
    """
    held_out = HeldOut(X, in_parts=True)
    n_steps = 5  # in the middle, where no entry can be spared
    if held_out.values.size:
        predictions = predict_along_path(held_out, _FOR_GRAPHS, _N_STEPS_FOR_GRAPHS)
        errors = np.mean((predictions - held_out.values) ** 2, axis=1)
        n_steps = int(np.argmin(errors)) + 1
    *_, estimate = islice(completion_path(X, _FOR_GRAPHS), n_steps)
    return np.where(np.isnan(X), estimate, X)


def row_and_column_effects(X: Array) -> Array:
    r"""Return the estimate :math:`\mu + r_i + c_j` with random effects of rows and columns.

    Effects are shrunk towards zero, those of rows and columns with few observed entries more;
    the variances that decide how much are found by expectation maximisation.
    """
    if prefer_transposed(X):  # the effects are found in turns
        return row_and_column_effects(X.T).T
    observed = ~np.isnan(X)
    mean = float(X[observed].mean())
    Z = np.where(observed, X - mean, 0.0)
    counts = observed.sum(axis=1), observed.sum(axis=0)
    weights = observed.astype(float)
    sums = Z.sum(axis=1), Z.sum(axis=0)
    effects = [np.zeros(n) for n in X.shape]
    prior = [1.0, 1.0]  # the variance of the noise over that of the effects
    square = float(np.sum(Z**2))
    for _ in range(_N_EFFECT_ITERATIONS):
        effects[0] = (sums[0] - weights @ effects[1]) / (counts[0] + prior[0])
        effects[1] = (sums[1] - effects[0] @ weights) / (counts[1] + prior[1])
        r, c = effects
        fitted = 2.0 * (r @ sums[0] + c @ sums[1]) - 2.0 * r @ weights @ c
        rest = square - fitted + counts[0] @ r**2 + counts[1] @ c**2
        noise = max(rest / observed.sum(), 1e-12)
        for mode in (0, 1):
            spread = np.mean(effects[mode] ** 2 + noise / (counts[mode] + prior[mode]))
            prior[mode] = noise / max(float(spread), 1e-12)
    return mean + effects[0][:, None] + effects[1]


def _gaussian_path(X: Array, variance: bool) -> Iterator[Array]:
    """Yield estimates of a centred matrix; the covariance is that of the smaller mode.

    The array that is yielded changes with the next step.
    """
    if prefer_transposed(X):
        yield from (estimate.T for estimate in _gaussian_path(X.T, variance))
        return
    missing = np.isnan(X)
    filled = np.where(missing, 0.0, X)
    n_missing = missing.sum(axis=0)
    unit = _sum_of_squares(filled) / max(int((~missing).sum()), 1) or 1.0
    given_others = np.full(X.shape[1], unit)
    precision: _Precision | None = None
    for number in range(_N_RIDGES):
        ridge = _LARGEST_RIDGE * _RATIO**number
        allowed = _TOL * np.sqrt(min(ridge, 1.0) * unit)
        for _ in range(_MAX_ITER):
            diagonal = np.full(X.shape[1], ridge * unit)
            if variance:
                diagonal += n_missing * given_others / len(X)
            precision = _Precision.of(filled, diagonal, precision)
            given_others = 1.0 / precision.diagonal
            square = _regress(filled, missing, precision)
            if square <= allowed**2 * n_missing.sum():
                break
        yield filled


@dataclass(frozen=True)
class _Precision:
    """The inverse W of a covariance S = X'X / m + diag(d).

    Of many columns, S is taken as B A B' + diag(d + r), with the leading eigenvectors B of X'X / m
    and the mean r of its other eigenvalues; then W = 1/e - 1/e B C B' 1/e with e = d + r.

    Attributes
    ----------
    diagonal : ndarray
        That of W.
    dense : ndarray or None
        W itself, if there are few columns.
    basis, core, inverse : ndarray or None
        B, C and 1/e if there are many.
    """

    diagonal: Array
    dense: Array | None = None
    basis: Array | None = None
    core: Array | None = None
    inverse: Array | None = None

    @classmethod
    def of(cls, X: Array, diagonal: Array, last: "_Precision | None") -> "_Precision":
        """Return the precision for X; `last` is that of a nearby matrix."""
        m, n = X.shape
        if n <= _MOST_DENSE:
            covariance = X.T @ X / m
            covariance[np.diag_indices(n)] += diagonal
            dense = np.linalg.inv(covariance)
            dense = 0.5 * (dense + dense.T)
            return cls(np.diag(dense).copy(), dense=dense)
        if last is None:
            basis = _leading_directions(X, _RANK)
        else:
            basis = np.linalg.qr(X.T @ (X @ last.basis))[0]
        image = X @ basis
        values, turn = np.linalg.eigh(image.T @ image / m)
        values, basis = np.maximum(values, 1e-300), basis @ turn
        rest = max(_sum_of_squares(X) / m - float(values.sum()), 0.0) / (n - _RANK)
        inverse = 1.0 / (diagonal + rest)
        excess = np.maximum(values - rest, 1e-12 * values[-1])
        scaled = basis * inverse[:, None]
        core = np.linalg.inv(np.diag(1.0 / excess) + basis.T @ scaled)
        return cls(
            np.maximum(inverse - ((scaled @ core) * scaled).sum(axis=1), 1e-12 * inverse),
            basis=basis,
            core=0.5 * (core + core.T),
            inverse=inverse,
        )

    def multiply(self, X: Array) -> Array:
        """Return X W."""
        if self.dense is not None:
            return X @ self.dense
        scaled = X * self.inverse
        return scaled - ((scaled @ self.basis) @ self.core @ self.basis.T) * self.inverse


def _sum_of_squares(X: Array) -> float:
    return float(np.einsum("ij,ij->", X, X))


def _leading_directions(X: Array, n_directions: int) -> Array:
    """Return the leading eigenvectors of X'X as columns."""
    # A start that follows the order of the columns, as the result must; one that is constant
    # along them could miss directions.
    start = X.sum(axis=0) + X[np.argmax(np.einsum("ij,ij->i", X, X))]
    products = LinearOperator((X.shape[1],) * 2, matvec=lambda x: X.T @ (X @ x), dtype=float)
    try:
        return eigsh(products, k=n_directions, which="LA", v0=start, tol=_LANCZOS_TOL)[1]
    except ArpackError:
        if not X.any():
            return np.eye(X.shape[1], n_directions)
        return np.linalg.eigh(X.T @ X)[1][:, -n_directions:]


def _regress(filled: Array, missing: Mask, precision: _Precision) -> float:
    """Take conjugate gradient steps towards the missing entries that minimise tr(X W X').

    `filled` is changed; the sum of the squared changes is returned. Rows are independent of each
    other and are solved in blocks.
    """
    total = 0.0
    n_rows = max(1, _BLOCK // filled.shape[1])
    for start in range(0, len(filled), n_rows):
        some = slice(start, start + n_rows)
        change = _conjugate_gradients(filled[some], missing[some], precision)
        filled[some] += change
        total += _sum_of_squares(change)
    return total


def _conjugate_gradients(X: Array, missing: Mask, precision: _Precision) -> Array:
    """Return the change of the missing entries of X that some steps make."""
    free = missing.astype(float)
    scaling = free / precision.diagonal
    residual = -free * precision.multiply(X)
    direction = scaling * residual
    size = np.einsum("ij,ij->i", residual, direction)
    change = np.zeros_like(X)
    for _ in range(_N_STEPS):
        image = free * precision.multiply(direction)
        curvature = np.einsum("ij,ij->i", direction, image)
        # Rows without missing entries, or solved already, have no direction left.
        length = np.divide(size, curvature, out=np.zeros_like(size), where=curvature > 0.0)
        change += length[:, None] * direction
        residual -= length[:, None] * image
        scaled = scaling * residual
        before, size = size, np.einsum("ij,ij->i", residual, scaled)
        growth = np.divide(size, before, out=np.zeros_like(size), where=before > 0.0)
        direction *= growth[:, None]
        direction += scaled
    return change


def prefer_transposed(X: Array) -> bool:
    """Return whether X has fewer rows than columns; of a square matrix, row means vary less."""

    def key(A: Array) -> tuple[int, float]:
        counts = np.maximum((~np.isnan(A)).sum(axis=1), 1)
        return len(A), float(np.var(np.nansum(A, axis=1) / counts))

    return key(X) < key(X.T)
