r"""Soft-thresholding of the singular values of a matrix that changes a little from call to call.

For F with singular value decomposition :math:`U D V'` it is :math:`S_\lambda(F) = U (D - \lambda)_+
V'`. The full decomposition is that of F'F. Where the rank of the result is small, one step of
subspace iteration from the last right singular vectors V replaces it: with the orthonormal basis
:math:`Q = F V C^{-1}`, C the Cholesky factor of :math:`V'F'FV`, the result is
:math:`S_\lambda(Q Q'F)`, whose decomposition needs matrices of the size of V only.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from .._embedding.eigenvectors import largest_eigenpairs

Array = NDArray[np.float64]

# Besides the directions of the result, the subspace has so many others, and this part of their
# number: among them are those whose singular values may rise above the penalty next.
_EXTRA, _EXTRA_PART = 8, 0.5

# The time of all eigenvectors of an n x n matrix F'F, over that of F'F itself for n rows: measured.
_EIGENVECTORS = 7.0


class Shrunk(NamedTuple):
    """The right singular vectors, as columns of V, and singular values of a shrunk matrix Z."""

    V: Array
    values: Array
    is_exact: bool

    def factors(self, Z: Array) -> tuple[Array, Array]:
        """Return U D^(1/2) and V D^(1/2) with Z = U D V'."""
        roots = np.sqrt(self.values)
        return Z @ (self.V / roots), self.V * roots


class Shrinkage:
    """Soft-thresholding of singular values, with the subspace of the last call as a warm start.

    Parameters
    ----------
    max_rank : int or None
        Largest rank of the result; None for no limit.
    """

    def __init__(self, max_rank: int | None = None):
        self._max_rank = max_rank
        self._V: Array | None = None  # orthonormal columns that span the subspace

    def largest(self, F: Array) -> float:
        """Return the largest singular value of F; its leading vectors become the subspace."""
        values, self._V = _leading(F, min(_with_extra(1), *F.shape))
        return float(values[-1])

    def shrink(self, F: Array, penalty: float, Z: Array, *, exact: bool = False) -> Shrunk:
        """Set Z to F with its singular values lowered by the penalty, down to zero.

        F has at least as many rows as columns. The full decomposition is used if it is asked for,
        and where the subspace of the last call is missing, too small or too large to be faster.
        """
        limit = min(F.shape) if self._max_rank is None else min(self._max_rank, *F.shape)
        size = 0 if self._V is None else self._V.shape[1]
        found = None
        if not exact and 0 < size < F.shape[1] and _is_faster(F.shape, size):
            found = self._in_subspace(F, penalty, limit, Z)
        if found is None and exact and size > 0:  # it was large enough in the last step
            found = self._in_full(F, penalty, limit, size, Z)
        if found is None:
            found = self._in_full(F, penalty, limit, min(_with_extra(limit), *F.shape), Z)
        return found

    def _in_full(self, F: Array, penalty: float, limit: int, size: int, Z: Array) -> Shrunk | None:
        """Set Z by the `size` largest singular values; return None if these are too few."""
        values, V = _leading(F, size)
        kept = np.flatnonzero(values > penalty)[-limit:]
        if len(kept) == size < limit:
            return None
        self._V = V[:, max(size - _with_extra(len(kept)), 0) :]
        values, V = values[kept], V[:, kept]
        shrunk = values - penalty
        if len(kept) > F.shape[1] / 2:
            np.matmul(F, (V * (shrunk / values)) @ V.T, out=Z)
        else:
            np.matmul(F @ (V * (shrunk / values)), V.T, out=Z)
        return Shrunk(V, shrunk, is_exact=True)

    def _in_subspace(self, F: Array, penalty: float, limit: int, Z: Array) -> Shrunk | None:
        """Set Z by a step of subspace iteration; return None if the subspace is too small."""
        V = self._V.astype(F.dtype, copy=False)
        Y = F @ V
        W = F.T @ Y
        try:
            C = linalg.cholesky(V.T @ W, check_finite=False)
        except linalg.LinAlgError:  # the rank of F is smaller
            return None
        # F'Q = W / C, decomposed by way of its product with itself.
        T = linalg.solve_triangular(C, W.T, trans="T", check_finite=False).T
        squares, R = np.linalg.eigh(T.T @ T)
        values = np.sqrt(np.maximum(squares, 0.0))
        kept = np.flatnonzero(values > penalty)[-limit:]
        # Singular values below this part of the largest are rounding errors of F'F.
        rounding = np.sqrt(np.finfo(F.dtype).eps)
        if values[0] <= rounding * values[-1] or len(kept) == len(values) < limit:
            return None
        V = T @ (R / values)
        self._V = V[:, max(len(values) - _with_extra(len(kept)), 0) :]
        V, shrunk = V[:, kept], values[kept] - penalty
        U_shrunk = Y @ linalg.solve_triangular(C, R[:, kept] * shrunk, check_finite=False)
        np.matmul(U_shrunk, V.T, out=Z)
        return Shrunk(V, shrunk, is_exact=False)


def _with_extra(n_directions: int) -> int:
    """Return the size of a subspace for so many directions."""
    return n_directions + _EXTRA + int(_EXTRA_PART * n_directions)


def _is_faster(shape: tuple[int, int], size: int) -> bool:
    """Return whether a step in a subspace takes less time than the full decomposition.

    Counted are multiplications, over those of n^2.
    """
    m, n = shape
    part = size / n
    step = 4.0 * m * part + 2.0 * m * part**2 + n * (5.0 * part**2 + _EIGENVECTORS * part**3)
    return step < m * (1.0 + 2.0 * part) + _EIGENVECTORS * n


def _leading(F: Array, n_directions: int) -> tuple[Array, Array]:
    """Return the largest singular values of F, ascending, and their right singular vectors."""
    n = F.shape[1]
    # LAPACK's solver of all eigenvectors is faster than that of a large part.
    if n_directions > n / 5:
        squares, V = np.linalg.eigh(F.T @ F)
        squares, V = squares[n - n_directions :], V[:, n - n_directions :]
    else:
        squares, V = largest_eigenpairs(F.T @ F, n_directions)
    return np.sqrt(np.maximum(squares, 0.0)), V
