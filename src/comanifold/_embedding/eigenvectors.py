"""Leading eigenvectors of a symmetric matrix of affinities, dense or sparse.

Every solver here can fail: LAPACK's subset driver returns fewer vectors than asked for where
eigenvalues coincide, ARPACK may not converge or miss copies of a multiple eigenvalue. So every
result is checked, and the next slower solver is used where the check fails.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh, splu
from sklearn.utils import check_random_state

Array = NDArray[np.float64]
Eigenpairs = tuple[Array, Array]

# Up to this many points all eigenvectors that are needed come from a dense solver.
_DENSE = 1500

# Up to this many points a dense solver is used where the iterations have failed: 3 GB.
_MOST_DENSE = 20_000

# Restarts of the iterations after which the affinities are factored.
_MOST_RESTARTS = 100

# Restarts of the iterations that look for an eigenvalue that was missed.
_CHECK_RESTARTS = 20

# How far beyond the largest eigenvalue the shift of the factored matrix lies.
_BEYOND = 1e-6

# An affinity that changes no eigenvalue by more than a rounding error.
_NOTHING = 1e-17

# Residuals, and inner products of different eigenvectors, that are rounding errors.
_ROUNDING = 1e-8


def leading_eigenvectors(
    S: Any, n_components: int, known: Array, *, solver: str = "auto", random_state: Any = 0
) -> Eigenpairs:
    """The largest eigenvalues of S in falling order and their eigenvectors, as columns.

    Without the known eigenvector of eigenvalue 1. The largest entry of each vector is positive.

    Parameters
    ----------
    S : ndarray or sparse array of shape (n_points, n_points)
        Symmetric, with eigenvalues greater than -1 and up to 1.
    n_components : int
        Less than the number of points.
    known : ndarray of shape (n_points,)
        A unit vector with S known = known.
    solver : {"auto", "dense", "arpack"}
    random_state : int, RandomState or None
        For the start of the iterations.
    """
    n_points = S.shape[0]
    use_dense = n_points <= _DENSE if solver == "auto" else solver == "dense"
    if use_dense or n_components > n_points // 4:
        values, vectors = _dense(S, n_components, known)
    else:
        values, vectors = _iterative(S, n_components, known, random_state)
    # In the walk eigenvalues above 1 are rounding errors.
    values, vectors = np.clip(values[::-1], -1.0, 1.0), vectors[:, ::-1]
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(n_components)]
    return values, vectors * np.where(largest < 0.0, -1.0, 1.0)


def _dense(S: Any, n_components: int, known: Array) -> Eigenpairs:
    """The largest eigenpairs in rising order, by a dense solver."""
    S = S.toarray() if sparse.issparse(S) else S
    # All eigenvalues are at least -1: pushed down to that, the known one comes last.
    deflated = S - 2.0 * np.outer(known, known)
    found = largest_eigenpairs(deflated, n_components)
    if not _are_eigenpairs(deflated, *found, n_components):
        found = _largest_of_all(deflated, n_components)
    if not _are_eigenpairs(deflated, *found, n_components):
        raise linalg.LinAlgError("the eigenvectors of the affinities could not be computed")
    return found


def largest_eigenpairs(A: Array, n_pairs: int) -> Eigenpairs:
    """The largest eigenvalues of a symmetric matrix in rising order and their eigenvectors."""
    try:
        values, vectors = linalg.eigh(A, subset_by_index=[len(A) - n_pairs, len(A) - 1])
    except linalg.LinAlgError:
        return _largest_of_all(A, n_pairs)
    is_whole = vectors.shape[1] == n_pairs == len(values) and np.isfinite(vectors).all()
    return (values, vectors) if is_whole else _largest_of_all(A, n_pairs)


def _largest_of_all(A: Array, n_pairs: int) -> Eigenpairs:
    values, vectors = linalg.eigh(A, driver="evd")
    return values[-n_pairs:], vectors[:, -n_pairs:]


def _iterative(S: Any, n_components: int, known: Array, random_state: Any) -> Eigenpairs:
    """The largest eigenpairs in rising order, by iterations where these converge."""
    n_points = S.shape[0]
    start = check_random_state(random_state).uniform(-1.0, 1.0, n_points)

    def multiply(x: Array) -> Array:
        x = np.ravel(x)
        return S @ x - 2.0 * known * (known @ x)

    operator = LinearOperator(S.shape, matvec=multiply, dtype=float)
    # Each part that nothing joins to the others has an eigenvalue of 1, up to rounding errors.
    n_parts = connected_components(sparse.csr_array(S > _NOTHING), directed=False)[0]
    n_ones = min(n_parts - 1, n_components)
    options = {"k": n_components, "which": "LA", "v0": start, "tol": 1e-12}
    attempts = [lambda: eigsh(operator, **options)]
    if sparse.issparse(S):
        attempts = [
            lambda: eigsh(operator, maxiter=_MOST_RESTARTS, **options),
            lambda: _factored(S, known, options),
        ]
    for attempt in attempts:
        try:
            values, vectors = attempt()
        except (ArpackError, RuntimeError):  # no convergence, or a singular factor
            continue
        order = np.argsort(values)
        values, vectors = values[order], vectors[:, order]
        has_all_ones = np.count_nonzero(values > 1.0 - _ROUNDING) >= n_ones
        if (
            has_all_ones
            and _are_eigenpairs(operator, values, vectors, n_components)
            and not _misses_larger(operator, values, vectors, start)
        ):
            return values, vectors
    if n_points > _MOST_DENSE:
        raise linalg.LinAlgError(
            f"the leading eigenvectors of {n_points} points did not converge: their affinities "
            "hardly differ, or fall into many parts. A larger bandwidth joins them"
        )
    return _dense(S, n_components, known)


def _factored(S: Any, known: Array, options: dict[str, Any]) -> Eigenpairs:
    """The largest eigenpairs of the sparse S, by iterations with a factored matrix.

    Many points along a curve have eigenvalues too close to each other for plain iterations; but
    then their affinities are few, and can be factored.
    """
    n_points = S.shape[0]
    entries = S.tocoo()
    # What is below rounding errors would only fill up the factors.
    kept = entries.data > _NOTHING
    own = np.arange(n_points)
    places = [np.concatenate([part[kept], own]) for part in (entries.row, entries.col)]
    data = np.concatenate([-entries.data[kept], np.full(n_points, 1.0 + _BEYOND)])
    factors = splu(
        sparse.csc_matrix((data, places), shape=S.shape),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )

    def solve(x: Array) -> Array:
        x = factors.solve(x - known * (known @ x))
        return x - known * (known @ x)

    values, vectors = eigsh(LinearOperator(S.shape, matvec=solve, dtype=float), **options)
    with np.errstate(divide="ignore"):
        return 1.0 + _BEYOND - 1.0 / values, vectors


def _are_eigenpairs(A: Any, values: Array, vectors: Array, n_components: int) -> bool:
    """Whether there are as many orthonormal eigenvectors as asked for, in rising order."""
    if vectors.shape != (A.shape[0], n_components) or values.shape != (n_components,):
        return False
    if not (np.isfinite(values).all() and np.isfinite(vectors).all()):
        return False
    residual = np.abs(A @ vectors - vectors * values).max()
    skew = np.abs(vectors.T @ vectors - np.eye(n_components)).max()
    return bool(max(residual, skew) <= _ROUNDING and (np.diff(values) >= 0.0).all())


def _misses_larger(operator: LinearOperator, values: Array, vectors: Array, start: Array) -> bool:
    """Whether iterations orthogonal to the eigenvectors find an eigenvalue above the least."""

    def multiply(x: Array) -> Array:
        x = np.ravel(x)
        x = operator.matvec(x - vectors @ (vectors.T @ x))
        return x - vectors @ (vectors.T @ x)

    rest = LinearOperator(operator.shape, matvec=multiply, dtype=float)
    try:
        largest = eigsh(
            rest,
            k=1,
            which="LA",
            v0=start[::-1],
            tol=1e-3,
            maxiter=_CHECK_RESTARTS,
            return_eigenvectors=False,
        )[0]
    except ArpackError:
        return False
    # Vectors that were projected out have eigenvalue zero there.
    return bool(largest > max(values[0], 0.0) + _ROUNDING)
