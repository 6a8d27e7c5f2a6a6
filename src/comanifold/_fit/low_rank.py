"""Completion of a matrix by one of low rank, with the strength of its penalty found by itself."""

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from .._embedding.eigenvectors import largest_eigenpairs
from .held_out import HeldOut

Array = NDArray[np.float64]
Factors = tuple[Array, Array]

# The most directions that are followed, and how the penalty falls from where all vanish.
_MOST_DIRECTIONS = 10
_FALL = 0.6
_N_PENALTIES = 20

# Rounds for one penalty, and the relative change of the matrix at which they stop.
_ROUNDS = 100
_STEADY = 3e-3

# Relative error of the eigenvalues that are found by iterations.
_CLOSE_TO_EIGEN = 1e-8

# So many penalties may predict hidden entries no better before the path is given up.
_PATIENCE = 2


class LowRankCompletion:
    r"""The matrix of low rank that goes with the observed entries of another.

    Minimises :math:`\tfrac12 \| P_\Theta(X - Z) \|_F^2 + \lambda \| Z \|_*` (SoftImpute), by
    alternating ridge regressions on the filled-in matrix, along a path of falling
    :math:`\lambda`; the one is taken that predicts hidden entries best.

    Parameters
    ----------
    hidden : HeldOut
        A matrix of mean zero and the entries of it that are hidden.
    iterative : bool, default=False
        Find leading directions by Lanczos iterations instead of from the products of all rows,
        or of all columns: the same but for rounding errors, in memory and time that grow with
        the size of the matrix.

    Attributes
    ----------
    factors_of_rest : pair of ndarrays
        A and B of the matrix A B' that goes with the entries that are not hidden.
    predicted : ndarray of float
        The hidden entries in that matrix.

    References
    ----------
    Mazumder, Hastie and Tibshirani (2010), Spectral regularization algorithms for learning
    large incomplete matrices. Hastie et al. (2015), Matrix completion and low-rank SVD via
    fast alternating least squares.
    """

    def __init__(self, hidden: HeldOut, *, iterative: bool = False):
        self._iterative = iterative
        self._n_steps, least, worse = 1, np.inf, 0
        for step, (A, B) in enumerate(_path(hidden.rest(), iterative), start=1):
            predicted = np.einsum("er,er->e", A[hidden.rows], B[hidden.columns])
            error = float(np.sum((predicted - hidden.values) ** 2))
            worse += 1
            if error < least:
                self._n_steps, least, worse = step, error, 0
                self.factors_of_rest: Factors = A, B
                self.predicted: Array = predicted
            if worse == _PATIENCE:
                break

    def factors(self, X: Array) -> Factors:
        """A and B of the matrix A B' that goes with X, as far along its path as was found best."""
        for A, B in islice(_path(X, self._iterative), self._n_steps):
            found = A, B
        return found


def fill_in(X: Array, A: Array, B: Array) -> Array:
    """X, its missing entries from A B'."""
    return np.where(np.isnan(X), A @ B.T, X)


def _path(X: Array, iterative: bool) -> Iterator[Factors]:
    """Factors A, B of solutions A B' under falling penalties, each from the last.

    The two are not computed alike: which comes first depends on the matrix alone, so that
    transposing it swaps them.
    """
    if _prefer_transposed(X):
        for B, A in _path(X.T, iterative):
            yield A, B
        return
    # Rows that follow each other in memory, also where X is a matrix transposed.
    filled = np.nan_to_num(X).copy(order="C")
    missing = np.isnan(X).copy(order="C")
    penalty = _largest_singular_value(filled, iterative)
    for _ in range(_N_PENALTIES):
        penalty *= _FALL
        A, B = _solve(filled, missing, penalty, iterative)
        _fill_in(A @ B.T, missing, filled)
        yield A, B


def _solve(filled: Array, missing: NDArray[np.bool_], penalty: float, iterative: bool) -> Factors:
    """Factors of the solution A B' under one penalty, from a matrix filled in by one near it."""
    n_directions = min(_MOST_DIRECTIONS, *filled.shape)
    # Directions that a larger penalty had suppressed come in anew, and not out of what
    # rounding errors had left of them.
    squares, V = _leading(filled, n_directions, iterative)
    values = np.sqrt(np.maximum(squares, 0.0))
    kept = values > penalty
    shrunk = np.zeros(n_directions)
    shrunk[kept] = (values[kept] - penalty) / values[kept]
    # U sqrt(D - penalty) and V sqrt(D - penalty), with U = filled V / D.
    A = filled @ V * np.sqrt(shrunk / np.where(kept, values, 1.0))
    B = V * np.sqrt(shrunk * values)
    ridge = penalty * np.eye(n_directions)
    for _ in range(_ROUNDS):
        before = A, B
        _fill_in(A @ B.T, missing, filled)
        B = np.linalg.solve(A.T @ A + ridge, A.T @ filled).T
        _fill_in(A @ B.T, missing, filled)
        A = np.linalg.solve(B.T @ B + ridge, (filled @ B).T).T
        size = _inner_product((A, B), (A, B))
        change = size + _inner_product(before, before) - 2.0 * _inner_product((A, B), before)
        if change <= _STEADY**2 * size:
            break
    return A, B


def _inner_product(one: Factors, other: Factors) -> float:
    """Of the matrices A B' of both, without forming them."""
    return float(np.sum((one[0].T @ other[0]) * (one[1].T @ other[1])))


def _largest_singular_value(X: Array, iterative: bool) -> float:
    """Or 1, if all vanish."""
    if iterative:
        return float(np.sqrt(max(_leading(X, 1, iterative)[0][-1], 0.0))) or 1.0
    gram = X.T @ X if X.shape[0] >= X.shape[1] else X @ X.T
    last = len(gram) - 1
    squares = linalg.eigh(gram, eigvals_only=True, subset_by_index=[last, last])
    if not squares.size:  # as the solver of a part of the spectrum can fail
        squares = linalg.eigvalsh(gram, driver="ev")
    return float(np.sqrt(max(squares[-1], 0.0))) or 1.0


@njit(cache=True, nogil=True)
def _fill_in(product, missing, filled):
    """filled[missing] = product[missing]."""
    for i in range(filled.shape[0]):
        p, m, f = product[i], missing[i], filled[i]
        for j in range(filled.shape[1]):
            # Both are read first: the compiler then chooses without a branch, 5 times as fast.
            new, old = p[j], f[j]
            f[j] = new if m[j] else old


def _leading(filled: Array, n_directions: int, iterative: bool) -> tuple[Array, Array]:
    """The largest eigenvalues of filled' filled, growing, and their vectors."""
    n_columns = filled.shape[1]
    if not iterative or n_columns <= 4 * n_directions:
        return largest_eigenpairs(filled.T @ filled, n_directions)
    products = LinearOperator(
        (n_columns, n_columns), matvec=lambda x: filled.T @ (filled @ x), dtype=float
    )
    # A start that follows the order of the columns, as the result must; one that is constant
    # along them could miss directions.
    start = filled.sum(axis=0) + filled[np.argmax((filled**2).sum(axis=1))]
    if not start.any():  # rows that cancel, or nothing but zeros
        start = np.abs(filled).sum(axis=0)
    if not start.any():
        return np.zeros(n_directions), np.eye(n_columns, n_directions)
    try:
        squares, V = eigsh(products, k=n_directions, which="LA", v0=start, tol=_CLOSE_TO_EIGEN)
    except ArpackError:
        return largest_eigenpairs(filled.T @ filled, n_directions)
    order = np.argsort(squares)
    return squares[order], V[:, order]


def _prefer_transposed(X: Array) -> bool:
    def weight(A: Array) -> tuple[int, float]:
        return len(A), float(np.var(np.nanmean(A, axis=1)))

    return weight(X) < weight(X.T)
