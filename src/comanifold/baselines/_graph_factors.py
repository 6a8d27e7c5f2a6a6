r"""Low-rank factors that are smooth along graphs, fitted to observed entries alone.

Minimises

.. math:: f(W, H) = \tfrac12 \| P_\Theta(X - W H') \|_F^2
          + \tfrac12 \operatorname{tr}(W' A W) + \tfrac12 \operatorname{tr}(H' B H),
          \qquad A = \lambda I + \gamma_r L_r, \quad B = \lambda I + \gamma_c L_c,

by conjugate gradient steps for W and for H in turn. A step costs
:math:`O((|\Theta| + |E|) \, rank)`, and no matrix of the size of X is formed.

References
----------
Rao, Yu, Ravikumar and Dhillon (2015), Collaborative filtering with graph information: consistency
and scalable methods, NIPS.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import ArpackError, svds

from ..solvers.kernels import kernel
from ._graph_data import Entries
from ._graph_solvers import Stopping, conjugate_gradients

Array = NDArray[np.float64]
Factors = tuple[Array, Array]

# Conjugate gradient steps for one factor, fewer where its gradient vanishes.
_STEPS = Stopping(1e-12, 5)

# Columns whose penalty is this part of the largest are zero up to rounding, and not rescaled.
_TINY = 1e-12

# The factors of small matrices start from a full decomposition.
_FEW = 100

# Relative error of the singular values of the start.
_START_TOL = 1e-2


@dataclass(frozen=True)
class FactorCosts:
    """The ridge of both factors, and the costs of their differences along the graphs."""

    penalty: float
    row_cost: float
    column_cost: float


class FactorSolution(NamedTuple):
    """Factors, whether the tolerance was reached, and the objective after every round."""

    W: Array
    H: Array
    n_iter: int
    converged: bool
    history: tuple[float, ...]


class _Mode(NamedTuple):
    """The entries in compressed rows, as seen from rows or from columns, and their Laplacian."""

    start: NDArray[np.int64]
    place: NDArray[np.int32]
    matrix: sparse.csr_array
    pattern: sparse.csr_array
    laplacian: sparse.csr_array | None

    @classmethod
    def of(cls, matrix: sparse.csr_array, laplacian: sparse.csr_array | None) -> "_Mode":
        pattern = sparse.csr_array(
            (np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape
        )
        return cls(
            matrix.indptr.astype(np.int64),
            matrix.indices.astype(np.int32),
            matrix,
            pattern,
            laplacian,
        )

    def penalise(self, D: Array, penalty: float, cost: float) -> Array:
        """Return (penalty I + cost L) D."""
        product = penalty * D
        if self.laplacian is not None and cost > 0.0:
            product += cost * (self.laplacian @ D)
        return product

    def multiply(self, D: Array, other: Array, penalty: float, cost: float) -> Array:
        """Return P(D H') H + (penalty I + cost L) D, the Hessian times D, with H the other."""
        product = self.penalise(D, penalty, cost)
        add_masked_product(self.start, self.place, D, other, product)
        return product

    def diagonal(self, other: Array, penalty: float, cost: float) -> Array:
        """Return the diagonal of the Hessian, one where it is zero."""
        diagonal = self.pattern @ other**2 + penalty
        if self.laplacian is not None:
            diagonal += cost * self.laplacian.diagonal()[:, None]
        return np.where(diagonal > 0.0, diagonal, 1.0)


class FactorProblem:
    """Observed entries and the Laplacians of up to two graphs; None for a mode without one."""

    def __init__(
        self,
        entries: Entries,
        row_laplacian: sparse.csr_array | None,
        column_laplacian: sparse.csr_array | None,
    ):
        X = entries.to_csr()
        self.rows = _Mode.of(X, row_laplacian)
        self.columns = _Mode.of(X.T.tocsr(), column_laplacian)

    @property
    def X(self) -> sparse.csr_array:
        """The observed entries as a sparse matrix."""
        return self.rows.matrix

    def objective(self, W: Array, H: Array, costs: FactorCosts) -> float:
        """Return f(W, H)."""
        square = masked_square(self.rows.start, self.rows.place, self.X.data, W, H)
        of_rows = self.rows.penalise(W, costs.penalty, costs.row_cost)
        of_columns = self.columns.penalise(H, costs.penalty, costs.column_cost)
        return 0.5 * (square + float(np.vdot(W, of_rows) + np.vdot(H, of_columns)))

    def gradients(self, W: Array, H: Array, costs: FactorCosts) -> Factors:
        """Return the gradients of f with respect to W and to H."""
        of_rows = self.rows.multiply(W, H, costs.penalty, costs.row_cost)
        of_columns = self.columns.multiply(H, W, costs.penalty, costs.column_cost)
        return of_rows - self.rows.matrix @ H, of_columns - self.columns.matrix @ W

    def start(self, rank: int) -> Factors:
        """Return the leading singular vectors of X, zero for missing entries, as factors.

        Each has the root of the singular value for its norm.
        """
        U, values, V = _leading_triplets(self.X, rank)
        roots = np.sqrt(values)
        return np.ascontiguousarray(U * roots), np.ascontiguousarray(V * roots)

    def balance(self, W: Array, H: Array, costs: FactorCosts) -> Factors:
        """Return W D and H / D for the diagonal D that makes f least; the product is the same.

        Steps in turn would shift the scale from one factor to the other slowly.
        """
        of_rows = (W * self.rows.penalise(W, costs.penalty, costs.row_cost)).sum(axis=0)
        of_columns = (H * self.columns.penalise(H, costs.penalty, costs.column_cost)).sum(axis=0)
        known = (of_rows > _TINY * of_rows.max()) & (of_columns > _TINY * of_columns.max())
        ratios = np.divide(of_columns, of_rows, where=known, out=np.ones_like(of_rows))
        scales = ratios**0.25
        return W * scales, H / scales

    def solve(self, costs: FactorCosts, stopping: Stopping, start: Factors) -> FactorSolution:
        """Lower f from initial factors, by steps for W and H in turn; it never rises.

        Stops when a round lowers f by less than tol times f.
        """
        W, H = start
        history = [self.objective(W, H, costs)]
        for n_iter in range(1, stopping.max_iter + 1):
            W = _improve(self.rows, W, H, costs.penalty, costs.row_cost)
            H = _improve(self.columns, H, W, costs.penalty, costs.column_cost)
            W, H = self.balance(W, H, costs)
            value = self.objective(W, H, costs)
            history.append(value)
            if history[-2] - value <= stopping.tol * history[-2]:
                return FactorSolution(W, H, n_iter, True, tuple(history))
        return FactorSolution(W, H, stopping.max_iter, False, tuple(history))


def leading_value(start: Factors) -> float:
    """Return the largest singular value of X from the factors of `FactorProblem.start`."""
    return float(np.linalg.norm(start[0], axis=0).max(initial=0.0) ** 2)


def _improve(mode: _Mode, factor: Array, other: Array, penalty: float, cost: float) -> Array:
    """Return a factor after conjugate gradient steps with the other one fixed."""
    return conjugate_gradients(
        lambda D: mode.multiply(D, other, penalty, cost),
        mode.matrix @ other,
        factor,
        mode.diagonal(other, penalty, cost),
        _STEPS,
    )[0]


def _leading_triplets(X: sparse.csr_array, rank: int) -> tuple[Array, Array, Array]:
    """Return leading left singular vectors, singular values and right singular vectors."""
    smaller = min(X.shape)
    rank = min(rank, smaller)
    if smaller > max(_FEW, 2 * rank) and X.data.any():
        # A start that follows the order of rows and columns, as the result must.
        squares = X.multiply(X)
        longest = int(np.argmax(squares.sum(axis=1)))
        start = X.sum(axis=0) + X[[longest]].toarray()[0]
        if X.shape[0] < X.shape[1]:  # svds iterates on the smaller side
            start = X @ start
        try:
            U, values, Vt = svds(X, k=rank, v0=start, tol=_START_TOL)
            return U[:, ::-1], values[::-1], Vt[::-1].T
        except ArpackError:
            pass
    U, values, Vt = np.linalg.svd(X.toarray(), full_matrices=False)
    return U[:, :rank], values[:rank], Vt[:rank].T


@kernel
def add_masked_product(start, place, D, H, out):
    """out += P(D H') H: row i gains the sum over its entries j of (D_i . H_j) H_j."""
    rank = D.shape[1]
    for i in range(D.shape[0]):
        d, o = D[i], out[i]
        for k in range(start[i], start[i + 1]):
            h = H[place[k]]
            total = 0.0
            for r in range(rank):
                total += d[r] * h[r]
            for r in range(rank):
                o[r] += total * h[r]


@kernel
def masked_square(start, place, values, W, H):
    """|P(X - W H')|^2, the entries of X in compressed rows."""
    rank = W.shape[1]
    square = 0.0
    for i in range(W.shape[0]):
        w = W[i]
        for k in range(start[i], start[i + 1]):
            h = H[place[k]]
            total = values[k]
            for r in range(rank):
                total -= w[r] * h[r]
            square += total * total
    return square
