r"""Repair of distances that are measured over different columns: increase, decrease, or a kernel.

Distances over shared columns break the triangle inequality. `raise_to_metric` only increases them,
`lower_to_metric` only decreases them, until it holds; `nearest_correlation` returns the Gaussian
kernel matrix of points that is nearest to the one of the distances. Time grows with the cube of the
number of points and memory with its square.

References
----------
Gilbert and Jain (2017), If it ain't broke, don't fix it: sparse metric repair. Gilbert and
Sonthalia (2018), Unsupervised metric learning in presence of missing data. Yu et al. (2023),
Boosting spectral clustering on incomplete data via kernel correction and affinity learning.
Dykstra (1983), An algorithm for restricted least squares regression.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from ..solvers.kernels import kernel

Array = NDArray[np.float64]

# Operations between two looks at Ctrl-C, about a tenth of a second.
_OPERATIONS = 1 << 27


def raise_to_metric(distances: Array) -> Array:
    r"""Return distances increased in one pass so that the triangle inequality holds.

    For every point k in turn, and then for i = 1, 2, ...,
    :math:`d_{ik} \leftarrow \max(d_{ik}, \max_{j < i} d_{ij} - d_{jk})`, with the :math:`d_{jk}`
    that this round has found already. One pass is enough, up to rounding errors, and no distance
    exceeds the largest one that was given. Which distances are raised depends on the order of the
    points.

    Parameters
    ----------
    distances : ndarray of shape (n_points, n_points)
        Symmetric, finite, not negative, with a zero diagonal.
    """
    return _in_rounds(_raise_rounds, distances)


def lower_to_metric(distances: Array) -> Array:
    """Return the lengths of the shortest paths, where each distance is an edge (Floyd, Warshall).

    Parameters
    ----------
    distances : ndarray of shape (n_points, n_points)
        Symmetric, not negative, with a zero diagonal. Infinite ones are no edges; they remain
        where there is no path.
    """
    return _in_rounds(_lower_rounds, distances)


def _in_rounds(rounds, distances: Array) -> Array:
    """Return the distances after all rounds of a compiled loop, which Ctrl-C can interrupt."""
    D = np.array(distances, dtype=float, order="C")
    n_points = len(D)
    stride = max(1, _OPERATIONS // max(n_points, 1) ** 2)
    for start in range(0, n_points, stride):
        rounds(D, start, min(start + stride, n_points))
    return D


@kernel
def _raise_rounds(D, start, stop):
    """Raise the distances to each of the points start:stop, in place."""
    n = D.shape[0]
    for k in range(start, stop):
        to_k = D[k]  # also its column, written back below
        for j in range(n):
            if j == k:
                continue
            at_j, length = D[j], to_k[j]
            for i in range(j + 1, n):
                # At i = k this is d_jk - d_jk = 0, which raises nothing.
                least = at_j[i] - length
                if least > to_k[i]:
                    to_k[i] = least
        for i in range(n):
            D[i, k] = to_k[i]


@kernel
def _lower_rounds(D, start, stop):
    """Lower the distances to those of paths through each of the points start:stop, in place."""
    n = D.shape[0]
    for k in range(start, stop):
        to_k = D[k]
        for i in range(n):
            at_i, length = D[i], D[i, k]
            if length == np.inf:
                continue
            for j in range(n):
                path = length + to_k[j]
                if path < at_i[j]:
                    at_i[j] = path


def nearest_correlation(K: Array, *, max_iter: int, tol: float) -> tuple[Array, int, bool]:
    r"""Return the nearest correlation matrix without negative entries.

    Dykstra's alternating projections find the matrix nearest to K, in the Frobenius norm, in the
    intersection of the cone of positive semi-definite matrices and the box of matrices with unit
    diagonal and entries in [0, 1]. What is left of the distance to the intersection is removed
    at the end: a positive semi-definite iterate C is scaled to unit diagonal, and
    :math:`(C + \delta 1 1') / (1 + \delta)` with the least :math:`\delta \ge 0` that leaves no
    entry negative is in both sets, however few iterations there were.

    Parameters
    ----------
    K : ndarray of shape (n_points, n_points)
        Symmetric.
    max_iter : int
    tol : float
        Change of the matrix in an iteration, relative to its norm, at which to stop.

    Returns
    -------
    correlation : ndarray of shape (n_points, n_points)
    n_iter : int
    converged : bool
    """
    boxed = np.array(K, dtype=float)
    from_cone, from_box = np.zeros_like(boxed), np.zeros_like(boxed)
    change, n_iter = np.inf, 0
    while n_iter < max_iter and change > tol:
        n_iter += 1
        given = boxed - from_cone
        definite = _semidefinite_part(given)
        from_cone = definite - given
        given = definite - from_box
        nearest = np.clip(given, 0.0, 1.0)
        np.fill_diagonal(nearest, 1.0)
        from_box = nearest - given
        change = np.linalg.norm(nearest - boxed) / np.linalg.norm(nearest)
        boxed = nearest
    return _in_both_sets(definite), n_iter, bool(change <= tol)


def _semidefinite_part(A: Array) -> Array:
    """Return the nearest positive semi-definite matrix: without the negative eigenvalues."""
    values, vectors = eigh(A)
    n_negative = int(np.searchsorted(values, 0.0))
    if 2 * n_negative < len(values):
        lower = vectors[:, :n_negative] * np.sqrt(-values[:n_negative])
        part = A + lower @ lower.T
    else:
        upper = vectors[:, n_negative:] * np.sqrt(values[n_negative:])
        part = upper @ upper.T
    return 0.5 * (part + part.T)


def _in_both_sets(definite: Array) -> Array:
    """Return a correlation matrix without negative entries near a positive semi-definite one."""
    root = np.sqrt(np.maximum(np.diagonal(definite), np.finfo(float).tiny))
    C = definite / np.outer(root, root)
    np.fill_diagonal(C, 1.0)
    shift = max(0.0, -float(C.min()))
    return np.clip((C + shift) / (1.0 + shift), 0.0, 1.0)
