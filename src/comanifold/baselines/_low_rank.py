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

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .._fit.completion import prefer_transposed
from ..model_selection import HeldOut
from ._shrinkage import Shrinkage

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Factors = tuple[Array, Array]
Stop = Callable[[Array], bool]

# The path of penalties: each is this part of the last, from the one at which Z vanishes.
PENALTY_RATIO = 0.6
_N_PENALTIES = 20

# The second of Nesterov's sequence; the first, 1, is a step without momentum.
_SECOND = 0.5 + np.sqrt(1.25)

# The path ends when so many penalties in a row did not improve the held-out error.
_PATIENCE = 2

# Held-out errors of matrices of at least this size are compared in single precision.
_LARGE = 100_000

# Down to this part of the largest singular value: smaller ones are lost in products F'F.
_MIN_SINGLE = 0.01

# A smaller penalty has to lower the held-out error by this part of it to be preferred.
_MIN_GAIN = 1e-3


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
    confirm : bool
        Stop only after a step by the full decomposition: those in subspaces are inexact.
    """

    max_rank: int | None = None
    tol: float = 3e-3
    max_iter: int = 100
    confirm: bool = True

    def solve(
        self,
        filled: Array,
        missing: Mask,
        penalty: float,
        shrinkage: Shrinkage,
        stop: Stop | None = None,
    ) -> Solution:
        """Solve for one penalty from a matrix filled in by a nearby solution.

        `filled` is then filled in by the solution, and `shrinkage` has its subspace. The iterations
        also end when `stop(Z)` is true.
        """
        Z, before = np.empty_like(filled), np.zeros_like(filled)
        flat = [np.ravel(array) for array in (missing, filled)]
        momentum, converged, exact = 1.0, False, False
        for n_iter in range(1, self.max_iter + 1):
            found = shrinkage.shrink(filled, penalty, Z, exact=exact)
            faster = 0.5 + np.sqrt(0.25 + momentum**2)
            factor = filled.dtype.type((momentum - 1.0) / faster)
            change, slope = _extrapolate(Z.ravel(), before.ravel(), factor, *flat)
            converged = n_iter > 1 and change <= (self.tol * np.linalg.norm(found.values)) ** 2
            is_stopped = stop is not None and stop(Z)
            if is_stopped or (converged and (found.is_exact or not self.confirm)):
                break
            exact, momentum = converged, faster
            if slope > 0.0 and factor > 0.0:  # restart where the momentum points uphill
                np.copyto(filled, Z, where=missing)
                momentum = _SECOND
            Z, before = before, Z
        else:
            Z = before
        np.copyto(filled, Z, where=missing)
        A, B = (half.astype(np.float64, copy=False) for half in found.factors(Z))
        return Solution(A, B, penalty, n_iter, bool(converged))


def solution_path(
    X: Array, solver: LowRankSolver, stop: Stop | None = None, *, single: bool = False
) -> Iterator[Solution]:
    """Yield the solutions for falling penalties, each solved from the last.

    Rows and columns are not treated alike. Which of them come first depends on the matrix alone:
    transposing it transposes the solutions. For `stop` see `LowRankSolver.solve`. With `single`,
    large penalties are solved in single precision, which X has to fit into.
    """
    if prefer_transposed(X):
        turned = None if stop is None else lambda Z: stop(Z.T)
        path = solution_path(X.T, solver, turned, single=single)
        yield from (solution.transposed() for solution in path)
        return
    filled, missing = _start(X)
    shrinkage = Shrinkage(solver.max_rank)
    largest = shrinkage.largest(filled) or 1.0
    if single:
        filled = filled.astype(np.float32)
    penalty = largest
    for _ in range(_N_PENALTIES):
        penalty *= PENALTY_RATIO
        if filled.dtype == np.float32 and penalty < _MIN_SINGLE * largest:
            single_filled, filled = filled, _start(X)[0]
            np.copyto(filled, single_filled, where=missing)
        yield solver.solve(filled, missing, penalty, shrinkage, stop)


def solve(
    X: Array, penalty: float, solver: LowRankSolver, start: Factors | None = None
) -> Solution:
    """Solve for one penalty, from the solution `start` of another or from zero."""
    if prefer_transposed(X):
        start = None if start is None else start[::-1]
        return solve(X.T, penalty, solver, start).transposed()
    filled, missing = _start(X)
    if start is not None:
        np.copyto(filled, start[0] @ start[1].T, where=missing)
    return solver.solve(filled, missing, penalty, Shrinkage(solver.max_rank))


class LowRankCompletion:
    """Low-rank completion with the penalty that predicts held-out entries best.

    The path ends after two penalties in a row that do not lower the sum of squared errors by a
    thousandth. So where the error hardly depends on the penalty, the largest such penalty is taken.

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
        rest = held_out.rest()
        # Single precision needs numbers up to about 1.
        unit = float(np.nanmax(np.abs(rest))) or 1.0
        current = _Prediction(held_out, unit)
        n_worse = 0
        path = solution_path(rest / unit, solver, current.is_worse, single=rest.size >= _LARGE)
        for step, solution in enumerate(path, start=1):
            n_worse += 1
            if current.error < (1.0 - _MIN_GAIN) * current.least:
                n_worse, current.least = 0, current.error
                self.penalty = unit * solution.penalty
                self.max_penalty = self.penalty / PENALTY_RATIO**step
                A, B = solution.factors
                self.factors_of_rest: Factors = A * np.sqrt(unit), B * np.sqrt(unit)
                self.predicted: Array = unit * current.predicted
            if n_worse == _PATIENCE:
                break
            current.error = np.inf


class _Prediction:
    """Held-out entries, divided by `unit`, as the iterations of a path predict them.

    Attributes
    ----------
    predicted : ndarray of float
    error : float
        The sum of squared errors.
    least : float
        That of the best larger penalty.
    """

    def __init__(self, held_out: HeldOut, unit: float):
        self._places = held_out.rows, held_out.columns
        self._values = held_out.values / unit
        self.error = self.least = np.inf

    def is_worse(self, Z: Array) -> bool:
        """Predict by Z, and return whether this penalty is worse than a larger one.

        It is if the error exceeds the least and rises: the iterations start from the solution for
        the last penalty and go on in the same direction.
        """
        before = self.error
        self.predicted = Z[self._places].astype(np.float64)
        self.error = float(np.sum((self.predicted - self._values) ** 2))
        return self.error > before > self.least


def _start(X: Array) -> tuple[Array, Mask]:
    """Return X with zeros for missing entries, and their mask, both C-ordered."""
    return np.nan_to_num(X).copy(order="C"), np.isnan(X).copy(order="C")


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def _extrapolate(Z, before, factor, missing, filled):
    """Fill in Z + factor (Z - before), and return |Z - before|^2 and the slope of the objective.

    All are flat arrays. With F the filled-in matrix, the objective as a function of the missing
    entries has gradient F - Z there. Its product with Z - before is the slope along the last step.
    """
    square, slope = 0.0, 0.0
    for i in range(len(filled)):
        # All are read first: the compiler then chooses without a branch, 5 times as fast.
        new, old = Z[i], filled[i]
        change = new - before[i]
        square += change * change
        slope += (old - new) * change if missing[i] else 0.0
        filled[i] = new + factor * change if missing[i] else old
    return square, slope
