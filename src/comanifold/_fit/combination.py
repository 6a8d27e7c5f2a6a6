r"""The combination of estimates that predicts held-out entries best, and how large its errors are.

Members are the scales of the surface and the completions. Their weights are

.. math:: w = \arg\min_{w \ge 0, \, \sum w = 1} \sum_e \Bigl( x_e - \sum_s w_s \hat U_{s,e} \Bigr)^2
          + \lambda \| w - w^0 \|^2

over held-out entries e, with :math:`\hat U_s` fitted without the fold of e, and with the weights
of the paper for :math:`w^0`. The fewer entries there are, the larger :math:`\lambda`.
"""

from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.optimize import nnls

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# With so many held-out entries, data and prior weigh about the same.
_N_PRIOR = 30.0

# How often the weights are found, each time with a penalty by the errors of the last ones.
_N_ROUNDS = 2

# Members that together have no more than this weight are left out.
_NEGLIGIBLE = 0.02

# Parts of the held-out entries that are predicted with weights learned from the others.
_N_PARTS = 5

# The deviation of the errors of a row, and of a column, is shrunk as if it had so many more
# held-out entries of the usual deviation: the number that predicts residuals best. With the last
# all deviations are the same.
_N_USUAL = (10.0, 40.0, 160.0, np.inf)
_N_SCALE_ITERATIONS = 10

# The share of the variance of missing entries that is added to squared distances. All of it is the
# expectation, and best where blocks are missing; none was best of some matrices with entries
# missing at random. Variances by column (for rows) found more true neighbours than variances by
# column and row: those of a single row are known too badly.
_SHARE_OF_VARIANCE = 0.75


class Stacking:
    """The weights of members, from the products of their errors on held-out entries.

    Parameters
    ----------
    predictions : ndarray of shape (n_held_out, n_members)
    values : ndarray of shape (n_held_out,)
    prior : ndarray of shape (n_members,)
        The weights to shrink towards; they sum to one.
    """

    def __init__(self, predictions: Array, values: Array, prior: Array):
        self._predictions, self._prior = predictions, prior
        # Neighbours in the order of values are in different parts.
        self._part = np.empty(len(values), dtype=np.intp)
        self._part[np.lexsort((predictions @ prior, values))] = np.arange(len(values)) % _N_PARTS
        self._sizes = np.bincount(self._part, minlength=_N_PARTS)
        # The weights sum to one, so that an error is a combination of the members' errors.
        self._products = np.empty((_N_PARTS, len(prior), len(prior)))
        for number in range(_N_PARTS):
            own = self._part == number
            errors = predictions[own] - values[own, None]
            np.matmul(errors.T, errors, out=self._products[number])

    def restrict(self, members: NDArray[np.bool_]) -> "Stacking":
        """Return the same with some of the members."""
        some = copy(self)
        some._predictions, some._prior = self._predictions[:, members], self._prior[members]
        some._products = self._products[:, members][:, :, members]
        return some

    def weights(self) -> Array:
        """Return the weights of the members, many of them zero."""
        return self._weights(np.ones(_N_PARTS, dtype=bool))

    def mean_square(self, weights: Array) -> float:
        """Return the mean squared error of the combination with these weights."""
        return float(weights @ self._products.sum(axis=0) @ weights) / max(self._sizes.sum(), 1)

    def cross_fitted(self) -> Array:
        """Return predictions of the held-out entries, each with weights from other parts."""
        predicted = np.empty(len(self._predictions))
        for number in range(_N_PARTS):
            own = self._part == number
            if own.any():
                weights = self._weights(np.arange(_N_PARTS) != number)
                predicted[own] = self._predictions[own] @ weights
        return predicted

    def _weights(self, parts: NDArray[np.bool_]) -> Array:
        """Return the weights learned from some parts of the entries."""
        products, n_entries = self._products[parts].sum(axis=0), int(self._sizes[parts].sum())
        if not n_entries:
            return self._prior
        weights = self._prior
        for _ in range(_N_ROUNDS):
            # The variance of the errors is that of the weights so far, at first of the prior.
            variance = float(weights @ products @ weights) / n_entries
            penalty = _N_PRIOR**2 * max(variance, 1e-14) / n_entries
            weights = _on_simplex(products, self._prior, penalty)
        order = np.argsort(weights, kind="stable")
        kept = np.sort(order[np.cumsum(weights[order]) > _NEGLIGIBLE])
        few = np.zeros(len(weights))
        few[kept] = _on_simplex(products[np.ix_(kept, kept)], self._prior[kept], penalty)
        return few


def _on_simplex(products: Array, prior: Array, penalty: float) -> Array:
    """Return the minimiser of w' products w + penalty |w - prior|^2 over the simplex."""
    n_members = len(prior)
    # As a sum of squares |A w - b|^2 with A'A = products + penalty and A'b = penalty prior.
    A = _square_root(products + penalty * np.eye(n_members))
    b = linalg.solve_triangular(A, penalty * prior, trans="T")
    # The sum as one more equation that outweighs all others.
    heavy = 1e3 * np.abs(A).max()
    A = np.vstack([A, np.full(n_members, heavy)])
    b = np.append(b, heavy)
    weights, _ = nnls(A, b, maxiter=100 * n_members)
    return weights / weights.sum()


def _square_root(A: Array) -> Array:
    """Return an upper triangular matrix R with R'R = A, for A up to rounding errors positive."""
    rounding = 0.0
    while True:
        try:
            return linalg.cholesky(A + rounding * np.diag(np.diag(A)))
        except linalg.LinAlgError:
            rounding = max(10.0 * rounding, 1e-15)


@dataclass(frozen=True)
class HeldOutPredictions:
    """Entries that were held out, and the values that the combination predicted for them.

    Attributes
    ----------
    rows, columns, folds : ndarray of int
        The places of the entries, and the number of the fold in which they were held out.
    predicted : ndarray of float
        In standard units, with weights that were learned from other entries.
    """

    rows: Indices
    columns: Indices
    folds: Indices
    predicted: Array


@dataclass(frozen=True)
class ErrorModel:
    r"""The errors of filled-in entries, from the residuals of held-out ones.

    The deviation of the entry (i, j) is :math:`\sigma a_i b_j`: rows and columns whose held-out
    entries were predicted badly have larger ones.

    Attributes
    ----------
    deviation : float
        The root-mean-square residual.
    row_factors, column_factors : ndarray
    scores : ndarray of shape (n_held_out,)
        Absolute residuals over the deviation found without them, in rising order.
    """

    deviation: float
    row_factors: Array
    column_factors: Array
    scores: Array

    @classmethod
    def fit(
        cls, residuals: Array, rows: Indices, columns: Indices, shape: tuple[int, int]
    ) -> "ErrorModel":
        """Return the model of these residuals at these entries of a matrix."""
        candidates = cls.candidates(residuals, rows, columns, shape)
        return min(candidates, key=lambda candidate: candidate[0])[1]

    @classmethod
    def candidates(
        cls, residuals: Array, rows: Indices, columns: Indices, shape: tuple[int, int]
    ) -> list[tuple[float, "ErrorModel"]]:
        """Return the models with each amount of shrinkage, and how badly they predict residuals."""
        deviation = float(np.sqrt(np.mean(residuals**2))) if len(residuals) else 0.0
        squares = (residuals / (deviation or 1.0)) ** 2
        found = []
        for n_usual in _N_USUAL:
            local = _local_variances(squares, (rows, columns), shape, n_usual)
            # Of a Gaussian whose variance is that of the other residuals.
            loss = float(np.sum(np.log(local.of_others) + squares / local.of_others))
            scores = np.sort(np.sqrt(squares / local.of_others))
            factors = np.sqrt(local.rows), np.sqrt(local.columns)
            found.append((loss, cls(deviation, *factors, scores)))
        return found

    def deviations(self) -> Array:
        """Return the deviation of each entry."""
        return self.deviation * self.row_factors[:, None] * self.column_factors

    def score_at(self, coverage: float) -> float:
        """Return how many deviations an interval reaches; infinite if there are too few entries."""
        n_covered = int(np.ceil((len(self.scores) + 1) * coverage))
        if n_covered > len(self.scores):
            return np.inf
        return float(self.scores[n_covered - 1])


class _LocalVariances(NamedTuple):
    """Variances, relative to the mean square, as products of a factor of the row and the column.

    `of_others` is the variance of each residual by all others.
    """

    rows: Array
    columns: Array
    of_others: Array


def _local_variances(
    squares: Array, places: tuple[Indices, Indices], shape: tuple[int, int], n_usual: float
) -> _LocalVariances:
    """Return the variances of residuals with these squares, shrunk by `n_usual` entries."""
    factors = [np.ones(n) for n in shape]
    of_others = np.ones(len(squares))
    if np.isinf(n_usual):
        return _LocalVariances(*factors, of_others)
    counts = [np.bincount(at, minlength=n) for at, n in zip(places, shape, strict=True)]
    for _ in range(_N_SCALE_ITERATIONS):
        for mode in (0, 1):
            relative = squares / factors[1 - mode][places[1 - mode]]
            sums = np.bincount(places[mode], relative, minlength=shape[mode])
            factors[mode] = (n_usual + sums) / (n_usual + counts[mode])
    for mode in (0, 1):
        own, other = factors[mode][places[mode]], factors[1 - mode][places[1 - mode]]
        n = n_usual + counts[mode][places[mode]]
        left = np.maximum(own * n - squares / other, n_usual)
        of_others *= left / (n - 1.0)
    return _LocalVariances(*factors, of_others)


def entry_variances(errors: ErrorModel, mode: str) -> Array:
    """Return what a missing entry adds to squared distances between rows, by its column.

    With mode "column", between columns, by its row.
    """
    factors = errors.column_factors if mode == "row" else errors.row_factors
    return _SHARE_OF_VARIANCE * (errors.deviation * factors) ** 2


def mode_variances(errors: ErrorModel, missing: NDArray[np.bool_], mode: str) -> Array:
    """Return what the missing entries of each row, or column, add to squared distances."""
    of_entries = entry_variances(errors, mode)
    # A product would make a copy of the mask in double precision.
    subscripts = "ij,j->i" if mode == "row" else "ij,i->j"
    return np.einsum(subscripts, missing, of_entries)
