"""Whether rows and columns have structure: a test against matrices without any.

The null hypothesis is that of effects of rows and columns and independent noise,

    x_ij = a_i + b_j + s_i t_j e_ij        or, for entries of few values,
    E x_ij = low + (high - low) / (1 + exp(-a_i - b_j)),

with noise that is symmetric, of any distribution. Its residuals are multiplied by random signs (a
wild bootstrap): every entry keeps its place and its magnitude, so that scales of rows and columns,
other patterns of the variance and heavy tails are the same in all draws, and only what rows, or
columns, have in common is lost. A permutation within columns would move large residuals to rows in
which they cannot occur. Effects are removed from each draw as from the data.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Draws = NDArray[np.float32]

N_DRAWS = 199

# Structure with a larger p-value is not told from noise.
LEVEL = 0.05

# Larger matrices are thinned to so many rows and columns.
_MAX_POINTS = 150

# A matrix of at most so many different values has effects on the scale of log odds.
_FEW_VALUES = 10

# Entries of each row and column besides those of its most frequent value, if values are few.
_N_RARE = 3

# Residuals in standard deviations: larger ones are clipped.
_CLIP = 3.0

# Entries of the usual variance that are added to estimate the variance of a row or column.
_PRIOR = 0.2

# Log odds beyond these are certain, and steps of the fit are not longer.
_LARGEST_LOG_ODDS, _LONGEST_STEP = 10.0, 2.0

_N_NEWTON, _N_SCALINGS, _N_POWERS, _N_STARTS = 10, 4, 8, 3

# Relative to the largest eigenvalue; effects are determined up to a constant.
_RIDGE = 1e-8

# Statistics this close, relative to them, count as equal.
_ROUNDING = 1e-4

# Numbers in all draws of signs at once, and of them, in matrices that stay in the caches.
_CHUNK, _IN_CACHE = 400_000, 100_000


def structure_p_values(X: Array, *, n_draws: int = N_DRAWS, seed: int = 0) -> tuple[float, float]:
    """Return the p-values of structure among the rows and among the columns.

    The statistics are the largest singular value of the standardised residuals, which one strong
    factor raises, and the sum of squared products of different rows, or columns, which many weak
    ones raise. The p-value is that of the smaller p-value of the two, compared with those of the
    draws. It does not depend on the order of rows and columns, nor on units.

    Rows that resemble each other make columns resemble each other: for a complete matrix, the sums
    over rows and over columns are the same but for the diagonal, and so are their p-values, nearly.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        NaN for missing entries.
    n_draws : int, default=199
        Number of matrices without structure; no p-value is below 1 / (1 + n_draws).
    seed : int, default=0
        Of the random signs.

    Returns
    -------
    row_p_value, column_p_value : float
        Greater than 0, at most 1. Both are 1 if there are too few entries to estimate the effects
        and something more, or if nothing remains without the effects.
    """
    X = _thinned(_in_canonical_order(X))
    X = _without_constant_lines(X)
    if min(X.shape) < 3:
        return 1.0, 1.0
    # The axis of the longer side first: Gram matrices of the other one are smaller.
    is_transposed = _is_wide(X)
    residuals = _residuals(X.T if is_transposed else X)
    if residuals is None:
        return 1.0, 1.0
    statistics = _statistics(residuals, n_draws, np.random.default_rng(seed))
    first, second = (_smallest_p_value(statistics[mode]) for mode in (0, 1))
    return (second, first) if is_transposed else (first, second)


def structure_summary(row_p_value: float, column_p_value: float) -> dict[str, str]:
    """Return what the p-values say, in words, of "rows" and "columns"."""
    found = {}
    for mode, p_value in (("rows", row_p_value), ("columns", column_p_value)):
        answer = "yes" if p_value <= LEVEL else "none found beyond row and column effects"
        found[mode] = f"{mode}: {answer} (p = {p_value:.2g})"
    return found


def structure_warnings(row_p_value: float, column_p_value: float) -> list[str]:
    """Return a warning if neither rows nor columns have structure, in a list."""
    if min(row_p_value, column_p_value) <= LEVEL:
        return []
    return [
        "neither rows nor columns differ from noise with row and column effects "
        f"(p = {row_p_value:.2g} and {column_p_value:.2g}): embeddings and clusters may be of noise"
    ]


def _in_canonical_order(X: Array) -> Array:
    """Return X with rows and columns in an order that does not depend on the given one."""
    observed = ~np.isnan(X)
    values = X[observed]
    deviation = values.std() if values.size else 0.0
    Y = np.where(observed, X - values.mean(), 0.0) / deviation if deviation > 0.0 else 0.0 * X
    Y = np.where(observed, Y, 0.0)
    counts = [observed.sum(axis=1), observed.sum(axis=0)]
    means = [Y.sum(axis=axis) / np.maximum(counts[1 - axis], 1) for axis in (1, 0)]
    others = [Y @ means[1], means[0] @ Y]
    squares = [(Y**2).sum(axis=1), (Y**2).sum(axis=0)]
    # Rounded: sums in another order, or units, differ in the last digits.
    orders = [
        np.lexsort([np.round(key[mode], 8) for key in (others, squares, counts, means)])
        for mode in (0, 1)
    ]
    return X[np.ix_(*orders)]


def _thinned(X: Array) -> Array:
    """Return at most 150 rows and columns of X: those with most entries, evenly spaced."""
    kept = []
    for axis in (1, 0):
        counts = (~np.isnan(X)).sum(axis=axis)
        if counts.size > _MAX_POINTS:
            least = np.partition(counts, -_MAX_POINTS)[-_MAX_POINTS]
            candidates = np.flatnonzero(counts >= least)
            places = np.linspace(0, candidates.size - 1, _MAX_POINTS).round().astype(int)
            kept.append(candidates[places])
        else:
            kept.append(np.arange(counts.size))
    return X[np.ix_(*kept)]


def _without_constant_lines(X: Array) -> Array:
    """Return X without rows and columns that have too few different values.

    That is fewer than two, and of matrices with few values fewer than three entries besides those
    of the most frequent value: effects explain a single rare value, and what is left of it is
    mostly bias.
    """
    values = np.unique(X[~np.isnan(X)])
    if not values.size:
        return X[:0]
    n_least = _N_RARE if values.size <= _FEW_VALUES else 1
    while X.size:
        rows, columns = (_n_unlike_most(X, axis, values) >= n_least for axis in (1, 0))
        if rows.all() and columns.all():
            break
        X = X[np.ix_(rows, columns)]
    return X


def _n_unlike_most(X: Array, axis: int, values: Array) -> NDArray[np.intp]:
    """Return how many entries differ from the most frequent value; of many values, 1 if any do."""
    missing = np.isnan(X)
    if values.size > _FEW_VALUES:
        largest = np.where(missing, -np.inf, X).max(axis=axis)
        return (largest > np.where(missing, np.inf, X).min(axis=axis)).astype(np.intp)
    n_equal = np.array([np.equal(X, value).sum(axis=axis) for value in values])
    return (~missing).sum(axis=axis) - n_equal.max(axis=0)


def _is_wide(X: Array) -> bool:
    """Return True if X has more columns than rows, or as many with means of larger variance."""
    n_rows, n_columns = X.shape
    if n_rows != n_columns:
        return n_rows < n_columns
    return bool(np.nanmean(X, axis=0).var() > np.nanmean(X, axis=1).var())


class _EffectsSpace:
    """The matrices d_ij (a_i + b_j), and what remains of others without their part in it.

    Least squares with the normal equations reduced to the columns,

        (D - C' A^-1 C) b = c - C' A^-1 r,   A = diag(C 1),   D = diag(C' 1),   C_ij = d_ij^2.
    """

    def __init__(self, weights: Array):
        self.weights = weights
        self.squares = weights**2
        self.row_sums = self.squares.sum(axis=1)
        column_sums = self.squares.sum(axis=0)
        self.shares = self.squares / self.row_sums[:, None]
        reduced = np.diag(column_sums) - self.squares.T @ self.shares
        reduced[np.diag_indices_from(reduced)] += _RIDGE * column_sums.max()
        self.inverse = np.linalg.inv(reduced)

    def effects(self, row_products: Array, column_products: Array) -> tuple[Array, Array]:
        """Return a and b for products r_i = sum_j d_ij y_ij, and likewise c_j, of matrices y."""
        b = (column_products - row_products @ self.shares) @ self.inverse
        a = (row_products - b @ self.squares.T) / self.row_sums
        return a, b

    def fit(self, Y: Array) -> tuple[Array, Array]:
        """Return a and b of the part of Y in the space."""
        products = self.weights * Y
        return self.effects(products.sum(axis=1), products.sum(axis=0))

    def residuals(self, Y: Array) -> Array:
        """Return Y without its part in the space."""
        # The second time undoes what the ridge has left.
        for _ in range(2):
            a, b = self.fit(Y)
            Y = Y - self.weights * (a[:, None] + b)
        return Y

    def leverages(self) -> Array:
        """Return the part of the variance of each entry that the effects take."""
        half = self.shares @ self.inverse
        rows = 1.0 / self.row_sums + (half * self.shares).sum(axis=1)
        return self.squares * (rows[:, None] + np.diag(self.inverse) - 2.0 * half)


@dataclass(frozen=True)
class _Residuals:
    """Residuals in standard deviations, and the tangent space of the effects at them."""

    values: Array
    space: _EffectsSpace
    observed: NDArray[np.bool_]
    largest: float  # beyond which they are clipped


def _residuals(X: Array) -> _Residuals | None:
    """Return the residuals of X without effects; None if there are too few entries."""
    observed = ~np.isnan(X)
    if observed.sum() < sum(X.shape) + 3:
        return None
    values = np.unique(X[observed])
    if values.size <= _FEW_VALUES:
        share = np.where(observed, (X - values[0]) / (values[-1] - values[0]), 0.0)
        residuals, space = _without_log_odds(share, observed)
        # The residual of a rare value is large, and clipped ones would not have mean zero.
        largest = np.inf
    else:
        centred = np.where(observed, X - X[observed].mean(), 0.0)
        residuals, space = _without_effects(centred / X[observed].std(), observed)
        largest = _CLIP
    deviation = np.sqrt((residuals**2).sum() / observed.sum())
    if deviation < 1e-7:
        return None
    return _Residuals(residuals / deviation, space, observed, largest)


def _without_effects(Y: Array, observed: NDArray[np.bool_]) -> tuple[Array, _EffectsSpace]:
    """Return residuals with additive effects and scales of rows and columns removed."""
    space = _EffectsSpace(observed.astype(float))
    residuals = space.residuals(Y)
    weights = observed.astype(float)
    for _ in range(_N_SCALINGS):
        row_scales, column_scales = _scales(residuals, observed)
        weights = observed / np.outer(row_scales, column_scales)
        space = _EffectsSpace(weights)
        scaled = space.residuals(Y * weights)
        residuals = scaled * np.outer(row_scales, column_scales)
    return residuals * weights, space


def _scales(residuals: Array, observed: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return standard deviations of rows and columns, whose products are those of the entries.

    Each is estimated with a fifth of an entry of the usual variance added.
    """
    squares = residuals**2
    total = squares.sum() / observed.sum()
    squares = squares / total if total > 0.0 else observed.astype(float)
    n_in_rows, n_in_columns = observed.sum(axis=1), observed.sum(axis=0)
    columns = np.ones(squares.shape[1])
    for _ in range(4):
        rows = ((squares / columns).sum(axis=1) + _PRIOR) / (n_in_rows + _PRIOR)
        columns = ((squares / rows[:, None]).sum(axis=0) + _PRIOR) / (n_in_columns + _PRIOR)
    return np.sqrt(rows), np.sqrt(columns)


def _without_log_odds(share: Array, observed: NDArray[np.bool_]) -> tuple[Array, _EffectsSpace]:
    """Return Pearson residuals of entries between 0 and 1, with effects on their log odds."""
    log_odds = np.zeros(share.shape)
    for is_last in (*[False] * _N_NEWTON, True):
        mean = 1.0 / (1.0 + np.exp(-log_odds))
        deviations = observed * np.sqrt(mean * (1.0 - mean))
        residuals = np.where(observed, share - mean, 0.0) / np.where(observed, deviations, 1.0)
        space = _EffectsSpace(deviations)
        if not is_last:
            a, b = space.fit(residuals)
            step = np.clip(a[:, None] + b, -_LONGEST_STEP, _LONGEST_STEP)
            log_odds = np.clip(log_odds + step, -_LARGEST_LOG_ODDS, _LARGEST_LOG_ODDS)
    return space.residuals(residuals), space


# NumPy has warned of invalid values in products of short vectors of finite numbers, now and then
# for the same numbers.
@np.errstate(invalid="ignore")
def _statistics(
    residuals: _Residuals, n_draws: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return two statistics of the rows and of the columns, of the data and then of each draw."""
    space, observed = residuals.space, residuals.observed
    leverages = np.minimum(space.leverages(), 1.0)
    # Residuals vary less than errors: the draws, from which effects are removed again, start from
    # values of the variance of errors.
    free = leverages < 1.0 - 1e-6
    errors = np.where(free, residuals.values / np.sqrt(np.where(free, 1.0 - leverages, 1.0)), 0.0)
    largest = residuals.largest
    errors = np.clip(errors, -largest, largest).astype(np.float32)
    weights = space.weights.astype(np.float32)
    starts = rng.normal(size=(observed.shape[1], _N_STARTS)).astype(np.float32)

    def remaining(Y: Draws) -> Draws:
        products = weights * Y
        a, b = space.effects(products.sum(axis=2), products.sum(axis=1))
        a, b = a.astype(np.float32), b.astype(np.float32)
        return _balanced(Y - weights * (a[:, :, None] + b[:, None, :]), observed)

    data = np.clip(residuals.values, -largest, largest).astype(np.float32)[None]
    found = [_of_matrices(remaining(data), starts)]
    size = max(1, _CHUNK // observed.size)
    for first in range(0, n_draws, size):
        shape = (min(size, n_draws - first), *observed.shape)
        bits = np.unpackbits(
            np.frombuffer(rng.bytes(-(-int(np.prod(shape)) // 8)), dtype=np.uint8),
            count=int(np.prod(shape)),
        )
        signs = bits.reshape(shape)
        few = max(1, _IN_CACHE // observed.size)
        for start in range(0, len(signs), few):
            draws = signs[start : start + few].astype(np.float32)
            draws *= 2.0 * errors
            draws -= errors
            found.append(_of_matrices(remaining(draws), starts))
    rows, columns = (np.concatenate([part[mode] for part in found], axis=1) for mode in (0, 1))
    return rows, columns


def _balanced(Y: Draws, observed: NDArray[np.bool_]) -> Draws:
    """Return matrices with rows and columns of the same mean square."""
    squares = Y**2
    tiny = np.float32(1e-12)
    n_in_rows = observed.sum(axis=1).astype(np.float32)
    n_in_columns = observed.sum(axis=0).astype(np.float32)
    columns = np.ones((len(Y), Y.shape[2]), dtype=np.float32)
    for _ in range(2):
        rows = n_in_rows / np.maximum((squares @ columns[:, :, None])[:, :, 0], tiny)
        columns = n_in_columns / np.maximum((rows[:, None, :] @ squares)[:, 0, :], tiny)
    return Y * np.sqrt(rows)[:, :, None] * np.sqrt(columns)[:, None, :]


def _of_matrices(Y: Draws, starts: Draws) -> tuple[Array, Array]:
    """Return the statistics of the rows and those of the columns, each of shape (2, n_matrices)."""
    gram = Y.transpose(0, 2, 1) @ Y
    vectors = np.broadcast_to(starts, (len(Y), *starts.shape))
    for _ in range(_N_POWERS):
        vectors = gram @ vectors
        lengths = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
        vectors = vectors / np.maximum(lengths, np.float32(1e-30))
    largest = lengths.max(axis=(1, 2))
    # The Gram matrices of rows and columns have the same norm.
    squares = Y**2
    norm = _sums_of_squares(gram.reshape(len(Y), -1))
    rows, columns = (norm - _sums_of_squares(squares.sum(axis=axis)) for axis in (2, 1))
    return np.array([largest, rows], dtype=float), np.array([largest, columns], dtype=float)


def _sums_of_squares(vectors: Draws) -> Draws:
    return (vectors[:, None, :] @ vectors[:, :, None])[:, 0, 0]


def _smallest_p_value(statistics: Array) -> float:
    """Return the p-value of the first matrix, by the smallest of its p-values over statistics."""
    n_matrices = statistics.shape[1]
    n_at_least = np.empty(statistics.shape)
    for k, values in enumerate(statistics):
        reached = values - _ROUNDING * np.abs(values)
        n_at_least[k] = n_matrices - np.searchsorted(np.sort(values), reached, side="left")
    # Ties of the smallest are settled by the other.
    scores = n_at_least.min(axis=0) + n_at_least.max(axis=0) / (2.0 * n_matrices)
    return float((scores <= scores[0]).sum() / n_matrices)
