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

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from ..model_selection import HeldOut

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

# The ridges: each is this part of the last. From one to the next the solution moves little, so
# that the path follows one local minimum; with steps of 10, errors at 90% missing were three
# times as large.
_LARGEST_RIDGE, _SMALLEST_RIDGE = 10.0, 1e-10
_RATIO = 10.0**-0.5
_N_RIDGES = 1 + round(np.log(_SMALLEST_RIDGE / _LARGEST_RIDGE) / np.log(_RATIO))

# A path ends when so many ridges in a row did not lower the squared held-out error by this part, or
# when one raised it by more than a second part. The first do not count until the error has fallen
# below a third part of that at the start: with most entries missing, large ridges change next to
# nothing.
_PATIENCE = 2
_HARDLY_BETTER, _CLEARLY_WORSE, _HAS_FALLEN = 0.001, 0.05, 0.9

# It ends before a ridge at which the error has risen by more than this part after so many
# iterations, or later: its estimate would have hardly any weight, and take the longest.
_HOPELESS, _FIRST_CHECK = 0.2, 3

# Iterations for one ridge: at most so many, and fewer once the estimates change by less than this
# part of the deviation that the ridge allows. Conjugate gradient steps in each; more of them do not
# save iterations.
_MAX_ITER, _TOL = 10, 0.05
_N_STEPS = 2

# Above so many rows and columns the covariance is a low-rank matrix plus a diagonal one, up to a
# second number only while its rank is less than a quarter of the columns; and its largest rank.
_FEW_COLUMNS, _MANY_COLUMNS = 100, 256
_RANK = 64

# The rank is the number of eigenvalues above twice the diagonal part, and so many more: to take
# smaller ones, which are mostly of noise, for their mean predicts better and is faster.
_MORE_DIRECTIONS, _FEWEST_DIRECTIONS = 4, 8

# Relative error of the eigenvalues that the leading directions are found by.
_LANCZOS_TOL = 1e-2

# Matrices of more entries are completed in single precision, at ridges of at least this: rounding
# is like a ridge of 1e-7 times the largest eigenvalue of the covariance.
_MOST_IN_DOUBLE = 20_000
_LEAST_IN_SINGLE = 3e-3

# Bytes of a block of rows that is solved at a time, so that it stays in the caches.
_BLOCK = 1 << 17

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

    @property
    def n_steps(self) -> int:
        """Number of steps of the path, at most."""
        return _N_RIDGES + (not self.variance)


PATH_KINDS = tuple(
    PathKind(effects, variance) for effects in (False, True) for variance in (False, True)
)

# The path whose estimates the first graphs are built from where no weights are learned, and its
# step where nothing can be held out.
FOR_GRAPHS = PathKind(effects=False, variance=False)
_STEP_WITHOUT_JUDGEMENT = 4

# Steps by which a path that continues that of a part of the matrix goes back.
_STEPS_BACK = 2


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


class CompletionPath:
    """The estimates of a matrix for falling ridges, each solved from the one before.

    Only the path without variances begins with the mean or the effects alone, so that no two
    paths have a step in common.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        NaN for missing entries.
    kind : PathKind
    start : CompletionPath, optional
        A path of the same kind, of X without some of its entries. Steps near the one that it
        was left at are solved from there.

    Attributes
    ----------
    kind : PathKind
    """

    def __init__(self, X: Array, kind: PathKind, start: "CompletionPath | None" = None):
        self.kind = kind
        if kind.effects:
            self._mean, self._rows, self._columns = row_and_column_effects(X)
        else:
            self._mean = float(np.nanmean(X))
            self._rows, self._columns = np.zeros(X.shape[0]), np.zeros(X.shape[1])
        self._model = _GaussianModel(
            X - self._offsets(), kind.variance, None if start is None else start._model
        )
        self._has_ridge = start is not None and start._has_ridge

    def _offsets(self) -> Array:
        return (self._mean + self._rows)[:, None] + self._columns

    def solve(self, step: int, is_hopeless: Callable[[], bool] | None = None) -> bool:
        """Go to a step of the path, by its number from 0; return False if it was given up."""
        number = step if self.kind.variance else step - 1
        self._has_ridge = number >= 0
        return number < 0 or self._model.solve(number, is_hopeless)

    def solve_all(self, steps: Iterable[int]) -> None:
        """Go to one step after the other."""
        for step in steps:
            self.solve(step)

    def filled(self, X: Array) -> Array:
        """Return X with missing entries filled in."""
        return np.where(np.isnan(X), self.estimate(), X)

    def estimate(self) -> Array:
        """Return the estimate of the whole matrix at the last step."""
        offsets = self._offsets()
        if self._has_ridge:
            offsets += self._model.filled
        return offsets

    def at(self, rows: Indices, columns: Indices) -> Array:
        """Return the estimate of some entries at the last step."""
        offsets = self._mean + self._rows[rows] + self._columns[columns]
        if self._has_ridge:
            offsets += self._model.filled[rows, columns]
        return offsets

    def copy(self) -> "CompletionPath":
        """Return the path as it is at the last step."""
        other = copy(self)
        other._model = self._model.copy()
        return other


class PredictedPath(NamedTuple):
    """What a path predicts for held-out entries.

    Attributes
    ----------
    predictions : ndarray of shape (n_steps, n_held_out)
    errors : ndarray of shape (n_steps,)
        Mean squared errors.
    best : CompletionPath
        The path at the step of the least error.
    """

    predictions: Array
    errors: Array
    best: CompletionPath


def predict_along_path(held_out: HeldOut, kind: PathKind) -> PredictedPath:
    """Return the held-out entries as predicted at each step of a path.

    The path ends where the predictions no longer improve.
    """
    predictions: list[Array] = []
    errors: list[float] = []
    path = CompletionPath(held_out.rest(), kind)
    best, n_worse = path, 0

    def predict() -> tuple[Array, float]:
        predicted = path.at(held_out.rows, held_out.columns)
        return predicted, float(np.mean((predicted - held_out.values) ** 2))

    def is_hopeless() -> bool:
        return predict()[1] > (1.0 + _HOPELESS) * min(errors, default=np.inf)

    for step in range(kind.n_steps):
        if not path.solve(step, is_hopeless):
            break
        predicted, error = predict()
        least = min(errors, default=np.inf)
        predictions.append(predicted)
        errors.append(error)
        if error < least:
            best = path.copy()
        is_better = error < (1.0 - _HARDLY_BETTER) * least
        n_worse = 0 if is_better or error > _HAS_FALLEN * errors[0] else n_worse + 1
        if n_worse == _PATIENCE or error > (1.0 + _CLEARLY_WORSE) * least:
            break
    return PredictedPath(np.array(predictions), np.array(errors), best)


def complete_for_graphs(X: Array) -> Array:
    """Return X filled in, at the step of a path that predicts entries held out of X best.

    It depends on nothing but X: in a fit to a part of the entries, the others have no influence.
    """
    held_out = HeldOut(X, in_parts=True)
    if not held_out.values.size:  # no entry can be spared: a step in the middle
        path = CompletionPath(X, FOR_GRAPHS)
        path.solve_all(range(_STEP_WITHOUT_JUDGEMENT + 1))
        return path.filled(X)
    found = predict_along_path(held_out, FOR_GRAPHS)
    return continue_path(X, found.best, int(np.argmin(found.errors))).filled(X)


def continue_path(X: Array, start: CompletionPath, step: int) -> CompletionPath:
    """Return the path of X at a step, from that of X without some entries.

    It begins some steps before: this found better local minima than to go on from the step itself,
    and than to follow the whole path.
    """
    path = CompletionPath(X, start.kind, start)
    path.solve_all(range(max(step - _STEPS_BACK, 0), step + 1))
    return path


def effects_gain(held_out: HeldOut) -> float:
    """Return the part of the squared error of the mean that effects of rows and columns explain."""
    rest = held_out.rest()
    mean, rows, columns = row_and_column_effects(rest)
    of_effects = mean + rows[held_out.rows] + columns[held_out.columns] - held_out.values
    of_mean = np.nanmean(rest) - held_out.values
    return 1.0 - float(of_effects @ of_effects) / max(float(of_mean @ of_mean), 1e-300)


def row_and_column_effects(X: Array) -> tuple[float, Array, Array]:
    r"""Return :math:`\mu`, r and c of the estimate :math:`\mu + r_i + c_j`, with random effects.

    Effects are shrunk towards zero, those of rows and columns with few observed entries more;
    the variances that decide how much are found by expectation maximisation.
    """
    if prefer_transposed(X):  # the effects are found in turns
        mean, rows, columns = row_and_column_effects(X.T)
        return mean, columns, rows
    observed = ~np.isnan(X)
    mean = float(X[observed].mean())
    Z = np.where(observed, X - mean, 0.0)
    sums = Z.sum(axis=1), Z.sum(axis=0)
    rows, columns = random_effects(observed.astype(float), sums, float(np.sum(Z**2)))
    return mean, rows, columns


def random_effects(weights: Any, sums: tuple[Array, Array], square: float) -> tuple[Array, Array]:
    """Return the shrunk effects of rows and of columns of a matrix of mean zero.

    Parameters
    ----------
    weights : ndarray or sparse array of shape (n_rows, n_columns)
        One for observed entries, zero for others.
    sums : pair of ndarray
        The sums of the observed entries of each row and of each column.
    square : float
        The sum of their squares.
    """
    counts = weights.sum(axis=1), weights.sum(axis=0)
    n_observed = counts[0].sum()
    effects = [np.zeros(n) for n in weights.shape]
    prior = [1.0, 1.0]  # the variance of the noise over that of the effects
    for _ in range(_N_EFFECT_ITERATIONS):
        effects[0] = (sums[0] - weights @ effects[1]) / (counts[0] + prior[0])
        of_rows = effects[0] @ weights
        effects[1] = (sums[1] - of_rows) / (counts[1] + prior[1])
        r, c = effects
        fitted = 2.0 * (r @ sums[0] + c @ sums[1] - of_rows @ c)
        rest = square - fitted + counts[0] @ r**2 + counts[1] @ c**2
        noise = max(rest / n_observed, 1e-12)
        for mode in (0, 1):
            spread = np.mean(effects[mode] ** 2 + noise / (counts[mode] + prior[mode]))
            prior[mode] = noise / max(float(spread), 1e-12)
    return effects[0], effects[1]


class _GaussianModel:
    """The missing entries of a centred matrix, as the ridge falls step by step.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        NaN for missing entries.
    variance : bool
        See `PathKind`.
    start : _GaussianModel, optional
        The model of a similar matrix, whose missing entries are the first estimates.

    Attributes
    ----------
    filled : ndarray of shape (n_rows, n_columns)
        The estimate; it changes with the next step.
    """

    def __init__(self, X: Array, variance: bool, start: "_GaussianModel | None" = None):
        self._variance = variance
        # The covariance is that of the smaller mode.
        self._is_transposed = prefer_transposed(X)
        X = X.T if self._is_transposed else X
        self._missing = np.ascontiguousarray(np.isnan(X))
        self._n_missing = self._missing.sum(axis=0)
        self._filled = np.where(self._missing, 0.0, X)
        n_observed = X.size - int(self._n_missing.sum())
        self._unit = _sum_of_squares(self._filled) / max(n_observed, 1) or 1.0
        self._given_others = np.full(X.shape[1], self._unit)
        self._precision: _Precision | None = None
        if start is not None:
            np.copyto(self._filled, start._filled, where=self._missing)
            self._given_others = start._given_others
            self._precision = start._precision

    @property
    def filled(self) -> Array:
        return self._filled.T if self._is_transposed else self._filled

    def copy(self) -> "_GaussianModel":
        """Return the model as it is now, to start others from; it cannot be solved itself."""
        other = copy(self)
        other._filled, other._missing = self._filled.copy(), None
        return other

    def solve(self, number: int, is_hopeless: Callable[[], bool] | None = None) -> bool:
        """Find the missing entries for a ridge, by its number from 0; False if it was given up."""
        ridge = _LARGEST_RIDGE * _RATIO**number
        is_single = self._filled.size > _MOST_IN_DOUBLE and ridge >= _LEAST_IN_SINGLE
        self._filled = self._filled.astype(np.float32 if is_single else float, copy=False)
        allowed = _TOL * np.sqrt(min(ridge, 1.0) * self._unit)
        for n_done in range(1, _MAX_ITER + 1):
            diagonal = np.full(self._filled.shape[1], ridge * self._unit)
            if self._variance:
                diagonal += self._n_missing * self._given_others / len(self._filled)
            self._precision = _Precision.of(self._filled, diagonal, self._precision)
            self._given_others = 1.0 / self._precision.diagonal
            square = _regress(self._filled, self._missing, self._precision)
            if square <= allowed**2 * self._n_missing.sum():
                break
            if is_hopeless is not None and n_done >= _FIRST_CHECK and is_hopeless():
                return False
        return True


@dataclass(frozen=True)
class _Precision:
    """The inverse W of a covariance S = X'X / m + diag(d).

    Of many columns, S is taken as B A B' + diag(d + r), with the leading eigenvectors B of X'X / m
    and the mean r of its other eigenvalues; then W = 1/e - F C F' with e = d + r and F = B/e. Its
    arrays have the precision of X.

    Attributes
    ----------
    diagonal : ndarray
        That of W.
    dense : ndarray or None
        W itself, if it is not of low rank.
    factor, core, inverse : ndarray or None
        F, -C and 1/e if it is.
    directions : ndarray or None
        Leading directions for the precision of the next matrix, one power iteration ahead.
    """

    diagonal: Array
    dense: Array | None = None
    factor: Array | None = None
    core: Array | None = None
    inverse: Array | None = None
    directions: Array | None = None

    @classmethod
    def of(cls, X: Array, diagonal: Array, last: "_Precision | None") -> "_Precision":
        """Return the precision for X; `last` is that of a nearby matrix with a larger diagonal."""
        n_columns = X.shape[1]
        diagonal = diagonal.astype(X.dtype)
        was_dense = last is not None and last.dense is not None
        if n_columns <= _FEW_COLUMNS or was_dense:
            return cls._of_full_rank(X, diagonal)
        largest_rank = min(_RANK, n_columns // 4)
        if last is None:
            directions = _leading_directions(X, largest_rank)
        else:
            directions = last.directions.astype(X.dtype, copy=False)
        found = cls._of_low_rank(X, diagonal, directions)
        if n_columns <= _MANY_COLUMNS and found.factor.shape[1] == largest_rank:
            return cls._of_full_rank(X, diagonal)
        return found

    @classmethod
    def _of_full_rank(cls, X: Array, diagonal: Array) -> "_Precision":
        covariance = X.T @ X
        covariance /= len(X)
        covariance.flat[:: len(diagonal) + 1] += diagonal
        dense = _symmetric_inverse(covariance)
        return cls(np.diag(dense).copy(), dense=dense)

    @classmethod
    def _of_low_rank(cls, X: Array, diagonal: Array, directions: Array) -> "_Precision":
        """Return the precision by the best approximation of X in the space of some directions."""
        (m, n), n_directions = X.shape, directions.shape[1]
        image = X @ directions
        values, turn = np.linalg.eigh((image.T @ image).astype(float) / m)
        values, turn = np.maximum(values[::-1], 1e-300), turn[:, ::-1]
        total = _sum_of_squares(X) / m
        rest = max(total - float(values.sum()), 0.0) / (n - n_directions)
        n_large = int((values - rest > rest + float(diagonal.mean())).sum())
        rank = min(max(n_large + _MORE_DIRECTIONS, _FEWEST_DIRECTIONS), n_directions)
        values, basis = values[:rank], directions @ turn[:, :rank].astype(X.dtype)
        rest = max(total - float(values.sum()), 0.0) / (n - rank)
        excess = np.maximum(values - rest, 1e-12 * values[0])
        inverse = (1.0 / (diagonal + rest)).astype(X.dtype)
        factor = basis * inverse[:, None]
        core = np.linalg.inv(np.diag(1.0 / excess) + (basis.T @ factor).astype(float))
        core = -0.5 * (core + core.T).astype(X.dtype)
        return cls(
            np.maximum(inverse + ((factor @ core) * factor).sum(axis=1), 1e-12 * inverse),
            factor=factor,
            core=core,
            inverse=inverse,
            directions=np.linalg.qr(X.T @ image)[0],
        )

    def multiply(self, X: Array, out: Array) -> None:
        """out = X W, without the diagonal part `inverse` if there is one."""
        if self.dense is not None:
            np.matmul(X, self.dense, out=out)
        else:
            np.matmul((X @ self.factor) @ self.core, self.factor.T, out=out)


def _symmetric_inverse(A: Array) -> Array:
    """Return the inverse of a symmetric matrix, which is positive definite but for rounding."""
    factor, invert = get_lapack_funcs(("potrf", "potri"), (A,))
    root, failed = factor(A)
    if failed:
        inverse = np.linalg.inv(A)
        return 0.5 * (inverse + inverse.T)
    upper, _ = invert(root, overwrite_c=True)
    inverse = upper + upper.T
    inverse.flat[:: len(A) + 1] *= 0.5
    return inverse


def _sum_of_squares(X: Array) -> float:
    return float(np.einsum("ij,ij->", X, X))


def _leading_directions(X: Array, n_directions: int) -> Array:
    """Return the leading eigenvectors of X'X as columns."""
    # A start that follows the order of the columns, as the result must; one that is constant
    # along them could miss directions.
    start = X.sum(axis=0) + X[np.argmax(np.einsum("ij,ij->i", X, X))]
    products = LinearOperator((X.shape[1],) * 2, matvec=lambda x: X.T @ (X @ x), dtype=X.dtype)
    try:
        return eigsh(products, k=n_directions, which="LA", v0=start, tol=_LANCZOS_TOL)[1]
    except ArpackError:
        if not X.any():
            return np.eye(X.shape[1], n_directions, dtype=X.dtype)
        return np.linalg.eigh(X.T @ X)[1][:, -n_directions:]


def _regress(filled: Array, missing: Mask, precision: _Precision) -> float:
    """Take conjugate gradient steps towards the missing entries that minimise tr(X W X').

    `filled` is changed; the sum of the squared changes is returned. Rows are independent of each
    other and are solved in blocks.
    """
    total = 0.0
    n_rows = max(1, _BLOCK // (filled.shape[1] * filled.itemsize))
    # The directions are scaled by the diagonal of W.
    scaling = (1.0 / precision.diagonal).astype(filled.dtype)
    inverse = np.zeros_like(scaling) if precision.inverse is None else precision.inverse
    residual, direction, image = (
        np.empty((min(n_rows, len(filled)), filled.shape[1]), filled.dtype) for _ in range(3)
    )
    sizes, zero = np.empty(len(residual), filled.dtype), filled.dtype.type(0.0)
    for start in range(0, len(filled), n_rows):
        X, free = filled[start : start + n_rows], missing[start : start + n_rows]
        before = X.copy()
        some = slice(len(X))
        precision.multiply(X, image[some])
        _first_direction(X, image, free, scaling, inverse, residual, direction, sizes, zero)
        for _ in range(_N_STEPS):
            precision.multiply(direction[some], image[some])
            _take_step(X, image, free, scaling, inverse, residual, direction, sizes, zero)
        before -= X
        total += _sum_of_squares(before)
    return total


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"}, error_model="numpy")
def _first_direction(X, image, free, scaling, inverse, residual, direction, sizes, zero):
    """Residual -(X W) of the free entries, the direction scaled from it, and their product.

    `zero` has the precision of X, in which all is computed.
    """
    for i in range(X.shape[0]):
        x, w, f, r, d = X[i], image[i], free[i], residual[i], direction[i]
        size = zero
        for j in range(x.shape[0]):
            r[j] = -(w[j] + inverse[j] * x[j]) if f[j] else zero
            d[j] = scaling[j] * r[j]
            size += d[j] * r[j]
        sizes[i] = size


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"}, error_model="numpy")
def _take_step(X, image, free, scaling, inverse, residual, direction, sizes, zero):
    """A conjugate gradient step of each row, in place; `image` is the direction times W."""
    for i in range(X.shape[0]):
        x, w, f, r, d = X[i], image[i], free[i], residual[i], direction[i]
        curvature = zero
        for j in range(x.shape[0]):
            w[j] = w[j] + inverse[j] * d[j] if f[j] else zero
            curvature += w[j] * d[j]
        # Rows without missing entries, or solved already, have no direction left.
        if not curvature > zero:
            for j in range(x.shape[0]):
                d[j] = zero
            continue
        length = sizes[i] / curvature
        size = zero
        for j in range(x.shape[0]):
            x[j] += length * d[j]
            r[j] -= length * w[j]
            w[j] = scaling[j] * r[j]
            size += w[j] * r[j]
        growth = size / sizes[i] if sizes[i] > zero else zero
        for j in range(x.shape[0]):
            d[j] = w[j] + growth * d[j]
        sizes[i] = size


def prefer_transposed(X: Array) -> bool:
    """Return whether X has fewer rows than columns; of a square matrix, row means vary less."""

    if X.shape[0] != X.shape[1]:
        return X.shape[0] < X.shape[1]
    observed = ~np.isnan(X)
    by_row, by_column = (
        float(np.var(np.nansum(X, axis=axis) / np.maximum(observed.sum(axis=axis), 1)))
        for axis in (1, 0)
    )
    return by_row < by_column
