r"""Low-rank factors that are smooth along graphs, fitted to observed entries alone.

Minimises

.. math:: f(W, H) = \tfrac12 \| P_\Theta(X - W H') \|_F^2
          + \tfrac12 \operatorname{tr}(W' A W) + \tfrac12 \operatorname{tr}(H' B H),
          \qquad A = \lambda I + \gamma_r L_r, \quad B = \lambda I + \gamma_c L_c,

by conjugate gradient steps for W and for H in turn, from factors that are extrapolated along the
last round (Nesterov's momentum). No matrix of the size of X is formed.

The Hessian in W is block diagonal but for the graph: a block is the sum of :math:`h_j h_j'` over
the entries j of a row. Where rows and columns have at least as many entries as factors have
columns, the blocks are formed once in a round, and a step costs :math:`O((n \, rank + |E|) \,
rank)`; else it costs :math:`O((|\Theta| + |E|) \, rank)`.

References
----------
Rao, Yu, Ravikumar and Dhillon (2015), Collaborative filtering with graph information: consistency
and scalable methods, NIPS. Mitchell, Ye and De Sterck (2020), Nesterov acceleration of alternating
least squares for canonical tensor decomposition, Numerical Linear Algebra with Applications.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..solvers.kernels import kernel
from ._graph_data import Entries
from ._graph_solvers import Stopping

Array = NDArray[np.float64]
Factors = tuple[Array, Array]

# Conjugate gradient steps for one factor, fewer where its gradient vanishes.
_STEPS = Stopping(1e-12, 5)

# Blocks of the Hessian are formed for factors of at most so many columns; for more, products with
# the entries are cheaper.
_MAX_RANK_OF_BLOCKS = 40

# Columns whose penalty is this part of the largest are zero up to rounding, and not rescaled.
_TINY = 1e-12

# The factors of matrices with so few rows or columns, and so few entries altogether, start from a
# full decomposition.
_FEW, _SMALL = 100, 1_000_000

# Others start from Lanczos vectors, so many more than three times the rank. Of a vector that
# depends on the others only rounding errors are left, below this part of it.
_MORE_VECTORS = 20
_DEPENDENT = 1e-8


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


class _Laplacian(NamedTuple):
    """A sparse matrix in compressed rows; without entries if there is no graph."""

    start: NDArray[np.int32]
    place: NDArray[np.int32]
    values: Array

    @classmethod
    def of(cls, laplacian: sparse.csr_array | None, size: int) -> "_Laplacian":
        L = sparse.csr_array((size, size)) if laplacian is None else laplacian
        return cls(L.indptr.astype(np.int32), L.indices.astype(np.int32), L.data.astype(float))


class Hessian(NamedTuple):
    """The Hessian of f in one factor: D -> P(D H') H + (penalty I + cost L) D, H the other.

    `blocks` has the sums of h_j h_j' over the entries of each row, or is empty.
    """

    start: NDArray[np.int64]
    place: NDArray[np.int32]
    other: Array
    blocks: Array
    laplacian: _Laplacian
    penalty: float
    cost: float


class _Mode(NamedTuple):
    """The entries in compressed rows, as seen from rows or from columns, and their Laplacian."""

    start: NDArray[np.int64]
    place: NDArray[np.int32]
    matrix: sparse.csr_array
    laplacian: _Laplacian

    @classmethod
    def of(cls, matrix: sparse.csr_array, laplacian: sparse.csr_array | None) -> "_Mode":
        return cls(
            matrix.indptr.astype(np.int64),
            matrix.indices.astype(np.int32),
            matrix,
            _Laplacian.of(laplacian, matrix.shape[0]),
        )

    def penalise(self, D: Array, penalty: float, cost: float) -> Array:
        """Return (penalty I + cost L) D."""
        product = np.empty_like(D)
        penalised(self.laplacian, penalty, cost, D, product)
        return product

    def multiply(self, D: Array, other: Array, penalty: float, cost: float) -> Array:
        """Return P(D H') H + (penalty I + cost L) D, the Hessian times D, with H the other."""
        product = self.penalise(D, penalty, cost)
        add_masked_product(self.start, self.place, D, other, product)
        return product

    def hessian(self, other: Array, penalty: float, cost: float) -> Hessian:
        """Return the Hessian in the factor of this mode."""
        rank = other.shape[1]
        n_blocks = 0
        if rank <= _MAX_RANK_OF_BLOCKS and self.matrix.nnz >= rank * max(self.matrix.shape):
            n_blocks = self.matrix.shape[0]
        blocks = np.empty((n_blocks, rank, rank))
        sum_squares(self.start, self.place, other, blocks)
        return Hessian(self.start, self.place, other, blocks, self.laplacian, penalty, cost)

    def improve(self, factor: Array, other: Array, penalty: float, cost: float) -> Array:
        """Return the factor after conjugate gradient steps with the other one fixed."""
        improved = factor.copy()
        hessian = self.hessian(other, penalty, cost)
        lower_quadratic(hessian, self.matrix @ other, _STEPS.tol, _STEPS.max_iter, improved)
        return improved


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
        X, smaller = self.X, min(self.X.shape)
        if smaller <= max(_FEW, 2 * rank) and np.prod(X.shape) <= _SMALL:
            U, values, Vt = np.linalg.svd(X.toarray(), full_matrices=False)
            U, roots, V = U[:, :rank], np.sqrt(values[:rank]), Vt[:rank].T
            return np.ascontiguousarray(U * roots), np.ascontiguousarray(V * roots)
        modes = self.rows.matrix, self.columns.matrix
        if X.shape[0] < X.shape[1]:
            U, V = _leading_factors(*modes[::-1], rank)
            return V, U
        return _leading_factors(*modes, rank)

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

        A round that would raise f is taken again without momentum. Stops when a round lowers f by
        less than tol times f.
        """
        W, H = before = ahead = start
        history = [self.objective(W, H, costs)]
        momentum = 1.0
        for n_iter in range(1, stopping.max_iter + 1):
            W, H = self._round(ahead, costs)
            value = self.objective(W, H, costs)
            if value > history[-1] and momentum > 1.0:
                ahead, momentum = before, 1.0
                continue
            history.append(value)
            faster = 0.5 + np.sqrt(0.25 + momentum**2)
            part = (momentum - 1.0) / faster
            ahead = W + part * (W - before[0]), H + part * (H - before[1])
            before, momentum = (W, H), faster
            if history[-2] - value <= stopping.tol * history[-2]:
                return FactorSolution(W, H, n_iter, True, tuple(history))
        return FactorSolution(*before, stopping.max_iter, False, tuple(history))

    def _round(self, factors: Factors, costs: FactorCosts) -> Factors:
        """Return factors after steps for W, then for H, and a change of their scales."""
        W, H = factors
        W = self.rows.improve(W, H, costs.penalty, costs.row_cost)
        H = self.columns.improve(H, W, costs.penalty, costs.column_cost)
        return self.balance(W, H, costs)


def leading_value(start: Factors) -> float:
    """Return the largest singular value of X from the factors of `FactorProblem.start`."""
    return float(np.linalg.norm(start[0], axis=0).max(initial=0.0) ** 2)


def _leading_factors(X: sparse.csr_array, T: sparse.csr_array, rank: int) -> Factors:
    """Return leading singular vectors times the roots of the singular values, for X and T = X'.

    By Lanczos iterations on X'X, without restarts, from the sum of all rows and the longest row: a
    start that follows the order of rows and columns, as the result must. X has at least as many
    rows as columns, and no matrix of its size is formed.
    """
    rank = min(rank, X.shape[1])
    n_vectors = min(3 * rank + _MORE_VECTORS, X.shape[1])
    rest = X.multiply(X).sum(axis=1)  # of each row, the squared length of what Q leaves
    direction = X.sum(axis=0) + X[[int(np.argmax(rest))]].toarray()[0]
    Q = np.zeros((n_vectors, X.shape[1]))
    projected = np.zeros((n_vectors, n_vectors))
    for k in range(n_vectors):
        found = _orthogonal_part(direction, Q[:k])
        if found is None:  # products with X'X lead no further: go on from another row
            found = _orthogonal_part(X[[int(np.argmax(rest))]].toarray()[0], Q[:k])
        if found is None:  # there is none: X has no more directions
            break
        Q[k], image = found, X @ found
        rest -= image**2
        direction = T @ image
        projected[k, : k + 1] = Q[: k + 1] @ direction
    squares, vectors = np.linalg.eigh(projected)  # of its lower triangle
    squares = np.maximum(squares[: -rank - 1 : -1], 0.0)
    V = Q.T @ vectors[:, : -rank - 1 : -1]
    # The root of the singular value, and the divisor that makes X V a factor: zero for zero.
    roots = squares**0.25
    inverse = np.divide(1.0, roots, where=roots > 0.0, out=np.zeros_like(roots))
    return (X @ V) * inverse, V * roots


def _orthogonal_part(vector: Array, Q: Array) -> Array | None:
    """Return the unit vector of what the rows of Q leave of a vector; None for rounding errors."""
    rest = vector
    for _ in range(2):
        rest = rest - (Q @ rest) @ Q
    size = np.linalg.norm(rest)
    if not size > _DEPENDENT * np.linalg.norm(vector):
        return None
    rest = rest / size
    rest = rest - (Q @ rest) @ Q
    return rest / np.linalg.norm(rest)


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


@kernel
def penalised(laplacian, penalty, cost, D, out):
    """out = (penalty I + cost L) D."""
    rank = D.shape[1]
    for i in range(D.shape[0]):
        d, o = D[i], out[i]
        for r in range(rank):
            o[r] = penalty * d[r]
        for k in range(laplacian.start[i], laplacian.start[i + 1]):
            weight, near = cost * laplacian.values[k], D[laplacian.place[k]]
            for r in range(rank):
                o[r] += weight * near[r]


@kernel
def sum_squares(start, place, H, out):
    """out_i = sum of h_j h_j' over the entries j of row i, for as many rows as `out` has."""
    if out.shape[0] == 0:
        return
    rank = H.shape[1]
    size = rank * (rank + 1) // 2
    # The lower triangles of h_j h_j', as one row each, so that sums run over contiguous numbers.
    triangles = np.empty((H.shape[0], size))
    for j in range(H.shape[0]):
        n = 0
        for r in range(rank):
            for s in range(r + 1):
                triangles[j, n] = H[j, r] * H[j, s]
                n += 1
    total = np.empty(size)
    for i in range(out.shape[0]):
        total[:] = 0.0
        first = start[i] + (start[i + 1] - start[i]) % 4
        for k in range(start[i], first):
            a = triangles[place[k]]
            for s in range(size):
                total[s] += a[s]
        for k in range(first, start[i + 1], 4):  # by fours, to read and write sums less often
            a, b = triangles[place[k]], triangles[place[k + 1]]
            c, d = triangles[place[k + 2]], triangles[place[k + 3]]
            for s in range(size):
                total[s] += (a[s] + b[s]) + (c[s] + d[s])
        n = 0
        for r in range(rank):
            for s in range(r + 1):
                out[i, r, s] = out[i, s, r] = total[n]
                n += 1


@kernel
def multiply_hessian(hessian, D, out):
    """out = P(D H') H + (penalty I + cost L) D."""
    penalised(hessian.laplacian, hessian.penalty, hessian.cost, D, out)
    if hessian.blocks.shape[0] == 0:
        add_masked_product(hessian.start, hessian.place, D, hessian.other, out)
        return
    rank = D.shape[1]
    for i in range(D.shape[0]):
        d, o, block = D[i], out[i], hessian.blocks[i]
        for s in range(rank):
            b, factor = block[s], d[s]
            for r in range(rank):
                o[r] += factor * b[r]


@kernel
def hessian_diagonal(hessian, out):
    """The diagonal of the Hessian, one where it is zero."""
    rank = out.shape[1]
    laplacian = hessian.laplacian
    for i in range(out.shape[0]):
        o = out[i]
        ridge = hessian.penalty
        for k in range(laplacian.start[i], laplacian.start[i + 1]):
            if laplacian.place[k] == i:
                ridge += hessian.cost * laplacian.values[k]
        o[:] = ridge
        if hessian.blocks.shape[0] > 0:
            for r in range(rank):
                o[r] += hessian.blocks[i, r, r]
        else:
            for k in range(hessian.start[i], hessian.start[i + 1]):
                h = hessian.other[hessian.place[k]]
                for r in range(rank):
                    o[r] += h[r] * h[r]
        for r in range(rank):
            if not o[r] > 0.0:
                o[r] = 1.0


@kernel
def lower_quadratic(hessian, right, tol, n_steps, U):
    """Lower <U, hessian U> / 2 - <U, right> by conjugate gradients with a diagonal preconditioner.

    Stops where the norm of the residual is at most tol times that of `right`.
    """
    shape = U.shape
    residual, image, diagonal = np.empty(shape), np.empty(shape), np.empty(shape)
    multiply_hessian(hessian, U, residual)
    hessian_diagonal(hessian, diagonal)
    direction = np.empty(shape)
    target, square, size = 0.0, 0.0, 0.0
    for i in range(shape[0]):
        for r in range(shape[1]):
            target += right[i, r] ** 2
            rest = right[i, r] - residual[i, r]
            residual[i, r], direction[i, r] = rest, rest / diagonal[i, r]
            square += rest**2
            size += rest * direction[i, r]
    target *= tol**2
    for _ in range(n_steps):
        if square <= target:
            return
        multiply_hessian(hessian, direction, image)
        curvature = 0.0
        for i in range(shape[0]):
            for r in range(shape[1]):
                curvature += direction[i, r] * image[i, r]
        if not curvature > 0.0:  # no direction is left that changes anything
            return
        length, square, before = size / curvature, 0.0, size
        size = 0.0
        for i in range(shape[0]):
            for r in range(shape[1]):
                U[i, r] += length * direction[i, r]
                rest = residual[i, r] - length * image[i, r]
                residual[i, r] = rest
                image[i, r] = rest / diagonal[i, r]
                square += rest**2
                size += rest * image[i, r]
        for i in range(shape[0]):
            for r in range(shape[1]):
                direction[i, r] = size / before * direction[i, r] + image[i, r]
