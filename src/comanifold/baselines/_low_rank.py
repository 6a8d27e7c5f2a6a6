r"""Low-rank matrix completion: one problem, solved along a path of falling penalties.

The problem is that of SoftImpute,

.. math:: \min_Z \tfrac12 \| P_\Theta(X - Z) \|_F^2 + \lambda \| Z \|_*

`LowRankSolver` solves it for one penalty, `solution_path` for falling ones from warm starts, and
`LowRankCompletion` chooses the penalty by the error on held-out entries. The estimator is
`comanifold.baselines.SoftImpute`.

References
----------
Mazumder, Hastie and Tibshirani (2010), Spectral regularization algorithms for learning large
incomplete matrices.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import linalg

from .._embedding.eigenvectors import largest_eigenpairs
from .._fit.completion import prefer_transposed
from ..model_selection import HeldOut

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Factors = tuple[Array, Array]

# The path of penalties: each is this part of the last, from the one at which Z vanishes.
PENALTY_RATIO = 0.6
_N_PENALTIES = 20

# The path ends when so many penalties in a row did not improve the held-out error.
_PATIENCE = 2


class Solution(NamedTuple):
    """The solution Z = A B' of one penalty."""

    A: Array
    B: Array
    penalty: float
    n_iter: int
    converged: bool

    @property
    def factors(self) -> Factors:
        """Return A and B."""
        return self.A, self.B

    def transposed(self) -> "Solution":
        """Return the solution for the transposed matrix."""
        return self._replace(A=self.B, B=self.A)


@dataclass(frozen=True)
class LowRankSolver:
    """A solver of the completion problem for one penalty.

    Proximal steps, Z = S(filled), which lower the singular values of the filled-in matrix by the
    penalty, with Nesterov's extrapolation.

    Attributes
    ----------
    max_rank : int or None
        Largest rank of Z; None for no limit. A limit that is met makes the problem non-convex.
    tol : float
        Relative change of Z at which to stop.
    max_iter : int
        Limit on the number of iterations.
    """

    max_rank: int | None = None
    tol: float = 3e-3
    max_iter: int = 100

    def solve(self, filled: Array, missing: Mask, penalty: float) -> Solution:
        """Solve for one penalty from a matrix filled in by a nearby solution.

        `filled` is then filled in by the solution.
        """
        factors = self._shrink(filled, penalty)
        Z = factors[0] @ factors[1].T
        ahead, momentum = Z, 0.5 + np.sqrt(1.25)  # the second of Nesterov's sequence
        converged, n_iter = False, 1
        while n_iter < self.max_iter:
            _fill_in(ahead, missing, filled)
            factors = self._shrink(filled, penalty)
            before, Z = Z, factors[0] @ factors[1].T
            change = Z - before
            converged = bool(np.linalg.norm(change) <= self.tol * np.linalg.norm(Z))
            n_iter += 1
            if converged:
                break
            # Restart where the momentum points uphill.
            if np.vdot(ahead - Z, change) > 0.0:
                momentum = 1.0
            faster = 0.5 + np.sqrt(0.25 + momentum**2)
            ahead, momentum = Z + (momentum - 1.0) / faster * change, faster
        _fill_in(Z, missing, filled)
        return Solution(*factors, penalty, n_iter, converged)

    def _shrink(self, filled: Array, penalty: float) -> Factors:
        """Return factors of `filled` with its singular values lowered by the penalty.

        Only directions with singular values above the penalty are kept.
        """
        limit = filled.shape[1] if self.max_rank is None else self.max_rank
        squares, V = _leading(filled, min(limit, *filled.shape))
        values = np.sqrt(np.maximum(squares, 0.0))
        kept = values > penalty
        values, V = values[kept], V[:, kept]
        shrunk = (values - penalty) / values
        # U sqrt(D - penalty) and V sqrt(D - penalty), with U = filled V / D.
        return filled @ (V * np.sqrt(shrunk / values)), V * np.sqrt(shrunk * values)


def solution_path(X: Array, solver: LowRankSolver) -> Iterator[Solution]:
    """Yield the solutions for falling penalties, each solved from the last.

    Rows and columns are not treated alike. Which of them come first depends on the matrix alone:
    transposing it transposes the solutions.
    """
    if prefer_transposed(X):
        yield from (solution.transposed() for solution in solution_path(X.T, solver))
        return
    filled, missing = _start(X)
    penalty = _largest_singular_value(filled)
    for _ in range(_N_PENALTIES):
        penalty *= PENALTY_RATIO
        yield solver.solve(filled, missing, penalty)


def solve(
    X: Array, penalty: float, solver: LowRankSolver, start: Factors | None = None
) -> Solution:
    """Solve for one penalty, from the solution `start` of another or from zero."""
    if prefer_transposed(X):
        start = None if start is None else start[::-1]
        return solve(X.T, penalty, solver, start).transposed()
    filled, missing = _start(X)
    if start is not None:
        _fill_in(start[0] @ start[1].T, missing, filled)
    return solver.solve(filled, missing, penalty)


class LowRankCompletion:
    """Low-rank completion with the penalty that predicts held-out entries best.

    Parameters
    ----------
    held_out : HeldOut
        Entries held out of a matrix of mean zero; at least one.
    solver : LowRankSolver, optional

    Attributes
    ----------
    penalty : float
        The best penalty of the path without the held-out entries.
    max_penalty : float
        The largest singular value of the rest, at which the solution vanishes.
    factors_of_rest : pair of ndarrays
        A and B of its solution A B'.
    predicted : ndarray of float
        The held-out entries in that solution.
    """

    def __init__(self, held_out: HeldOut, solver: LowRankSolver | None = None):
        solver = LowRankSolver() if solver is None else solver
        least, n_worse = np.inf, 0
        path = solution_path(held_out.rest(), solver)
        for step, solution in enumerate(path, start=1):
            A, B = solution.factors
            predicted = np.einsum("er,er->e", A[held_out.rows], B[held_out.columns])
            error = float(np.sum((predicted - held_out.values) ** 2))
            n_worse += 1
            if error < least:
                least, n_worse = error, 0
                self.penalty = solution.penalty
                self.max_penalty = solution.penalty / PENALTY_RATIO**step
                self.factors_of_rest: Factors = A, B
                self.predicted: Array = predicted
            if n_worse == _PATIENCE:
                break


def _start(X: Array) -> tuple[Array, Mask]:
    """Return X with zeros for missing entries, and their mask, both C-ordered."""
    return np.nan_to_num(X).copy(order="C"), np.isnan(X).copy(order="C")


def _largest_singular_value(X: Array) -> float:
    """Return the largest singular value of X, or 1 if X vanishes."""
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


def _leading(filled: Array, n_directions: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues of filled' filled, in rising order, and their vectors."""
    if n_directions == filled.shape[1]:
        return np.linalg.eigh(filled.T @ filled)  # faster than SciPy's solver of a part
    return largest_eigenpairs(filled.T @ filled, n_directions)
