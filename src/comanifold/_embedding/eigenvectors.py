"""Leading eigenvectors of a symmetric matrix of affinities, dense or sparse.

Every solver here can fail: LAPACK's subset driver returns fewer vectors than asked for where
eigenvalues coincide, ARPACK may not converge or miss copies of a multiple eigenvalue. So every
result is checked, and the next slower solver is used where the check fails.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh, lobpcg, splu
from sklearn.utils import check_random_state

from .affinities import count_components

Array = NDArray[np.float64]
Eigenpairs = tuple[Array, Array]

# Up to this many points the dense solver is used, of a dense matrix up to fewer: with more, few
# Lanczos iterations come first.
_DENSE, _FEW_POINTS = 1500, 400

# Up to this many points (3 GB) the dense solver is used if the iterations have failed.
_MOST_DENSE = 20_000

# Restarts of plain iterations, after which others follow; and where the dense solver follows, which
# takes as long as so many restarts of a basis of so many vectors.
_MOST_RESTARTS, _FEW_RESTARTS = 10, 4
_BASIS = 30
# The basis for a sparse matrix: with fewer vectors more products are needed.
_SPARSE_BASIS = 40

# Iterations with a preconditioner: at most so many aggregates, of at least so many points on
# average, vectors beyond those that are wanted, and steps; and the largest residual norm.
_MOST_AGGREGATES = 1500
_AGGREGATE_SIZE = 4
_N_GUARDS = 4
_MOST_STEPS = 250
_SMALL_RESIDUAL = 1e-11

# Restarts of the iterations that search for a missed eigenvalue.
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
    """Return the largest eigenvalues of S in descending order, and their eigenvectors as columns.

    The known eigenvector of eigenvalue 1 is left out. The entry of largest magnitude of each vector
    is positive.

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
        For the start vector of the iterations.
    """
    n_points = S.shape[0]
    use_dense = solver == "dense"
    if solver == "auto":
        use_dense = n_points <= (_DENSE if sparse.issparse(S) else _FEW_POINTS)
    if use_dense or n_components > n_points // 4:
        values, vectors = _dense(S, n_components, known)
    else:
        values, vectors = _iterative(S, n_components, known, random_state)
    # Eigenvalues of a random walk above 1 are rounding errors.
    values, vectors = np.clip(values[::-1], -1.0, 1.0), vectors[:, ::-1]
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(n_components)]
    return values, vectors * np.where(largest < 0.0, -1.0, 1.0)


def _dense(S: Any, n_components: int, known: Array) -> Eigenpairs:
    """Return the largest eigenpairs in ascending order, by a dense solver."""
    S = S.toarray() if sparse.issparse(S) else S
    # All eigenvalues are at least -1: the known one, lowered to that, comes last.
    deflated = S - 2.0 * np.outer(known, known)
    found = largest_eigenpairs(deflated, n_components)
    if not _are_eigenpairs(deflated, *found, n_components):
        found = _largest_of_all(deflated, n_components)
    if not _are_eigenpairs(deflated, *found, n_components):
        raise linalg.LinAlgError("the eigenvectors of the affinities could not be computed")
    return found


def largest_eigenpairs(A: Array, n_pairs: int) -> Eigenpairs:
    """Return the largest eigenvalues of a symmetric matrix, ascending, and their eigenvectors."""
    try:
        values, vectors = linalg.eigh(A, subset_by_index=[len(A) - n_pairs, len(A) - 1])
    except linalg.LinAlgError:
        return _largest_of_all(A, n_pairs)
    is_whole = vectors.shape[1] == n_pairs == len(values) and np.isfinite(vectors).all()
    return (values, vectors) if is_whole else _largest_of_all(A, n_pairs)


def _largest_of_all(A: Array, n_pairs: int) -> Eigenpairs:
    """Return the largest eigenpairs in ascending order, out of a full decomposition."""
    values, vectors = linalg.eigh(A, driver="evd")
    return values[-n_pairs:], vectors[:, -n_pairs:]


class _Deflated(LinearOperator):
    """S with the eigenvalue of the known eigenvector lowered from 1 to -1."""

    def __init__(self, S: Any, known: Array):
        super().__init__(float, S.shape)
        self._S, self._known = S, known

    def _matvec(self, x: Array) -> Array:
        return self._S @ x - (2.0 * (self._known @ x)) * self._known

    # Without the checks of the base class, which take longer than a product with few points.
    matvec = _matvec

    def _matmat(self, X: Array) -> Array:
        return self._S @ X - np.multiply.outer(self._known, 2.0 * (self._known @ X))


class _Projected(LinearOperator):
    """An operator on the vectors that are orthogonal to some orthonormal ones."""

    def __init__(self, operator: LinearOperator, vectors: Array):
        super().__init__(float, operator.shape)
        self._operator, self._vectors = operator, vectors

    def _matvec(self, x: Array) -> Array:
        return self._project(self._operator.matvec(self._project(x)))

    matvec = _matvec

    def _project(self, x: Array) -> Array:
        return x - self._vectors @ (self._vectors.T @ x)


def _iterative(S: Any, n_components: int, known: Array, random_state: Any) -> Eigenpairs:
    """Return the largest eigenpairs in ascending order, by Lanczos iterations if they converge."""
    n_points = S.shape[0]
    S = _without_nothing(S)
    start = check_random_state(random_state).uniform(-1.0, 1.0, n_points)

    operator = _Deflated(S, known)
    # Each connected component has an eigenvalue of 1, up to rounding errors.
    n_ones = min(count_components(S, _NOTHING) - 1, n_components)
    # With a larger basis than by default, many vectors converge in fewer products.
    n_basis = min(max(2 * n_components + 12, 20), n_points)
    options = {"k": n_components, "which": "LA", "v0": start, "tol": 1e-12, "ncv": n_basis}
    attempts = [lambda: eigsh(operator, **options)]
    if sparse.issparse(S):
        options["ncv"] = min(max(n_basis, _SPARSE_BASIS), n_points)
        attempts = [
            lambda: eigsh(operator, maxiter=_MOST_RESTARTS, **options),
            lambda: _preconditioned(S, n_components, known),
            lambda: _factored(S, known, options),
        ]
    elif n_points <= _DENSE:
        options["ncv"] = max(n_basis, _BASIS)
        attempts = [lambda: eigsh(operator, maxiter=_FEW_RESTARTS, **options)]
    for attempt in attempts:
        try:
            values, vectors = attempt()
        except (ArpackError, RuntimeError, linalg.LinAlgError):  # no convergence, or singular
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
            "hardly differ, or fall into many connected components. Use a larger bandwidth"
        )
    return _dense(S, n_components, known)


def _without_nothing(S: Any) -> Any:
    """Return S, if it is sparse without the affinities below rounding errors.

    They would only take time, and fill up the factors.
    """
    if not sparse.issparse(S) or (S.data > _NOTHING).all():
        return S
    entries = S.tocoo()
    kept = entries.data > _NOTHING
    places = entries.row[kept], entries.col[kept]
    return sparse.csr_array((entries.data[kept], places), shape=S.shape)


def _preconditioned(S: Any, n_components: int, known: Array) -> Eigenpairs:
    """Return the largest eigenpairs of the sparse S, by preconditioned iterations (LOBPCG).

    For many points along a curve, eigenvalues are too close to each other for plain iterations.
    Their eigenvectors hardly vary within small groups of neighbours: the inverse of I - S on
    vectors that are proportional to the known one in each group (aggregation multigrid, with two
    levels) is a preconditioner, and gives the start.
    """
    n_points, n_vectors = S.shape[0], n_components + _N_GUARDS
    n_aggregates = min(n_points // _AGGREGATE_SIZE, _MOST_AGGREGATES)
    if n_aggregates < 4 * n_vectors:
        raise RuntimeError("there are too few points to form groups of them")
    label = _aggregates(S, n_aggregates)
    norms = np.sqrt(np.bincount(label, known**2))
    places = np.arange(n_points), label
    P = sparse.csr_array((known / norms[label], places), shape=(n_points, len(norms)))
    PT = P.T.tocsr()
    coarse = np.outer(PT @ known, PT @ known) - (PT @ (S @ P)).toarray()
    coarse[np.diag_indices(len(coarse))] += 1.0
    factor = linalg.cho_factor(coarse)
    _, start = linalg.eigh(coarse, subset_by_index=[0, n_vectors - 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the residuals are checked below
        rates, vectors = lobpcg(
            lambda X: X - S @ X,
            P @ start,
            M=lambda R: R + P @ linalg.cho_solve(factor, PT @ R),
            Y=known[:, None],
            tol=1e-2 * _SMALL_RESIDUAL,
            maxiter=_MOST_STEPS,
            largest=False,
        )
    values, vectors = 1.0 - rates[:n_components], vectors[:, :n_components]
    residuals = np.linalg.norm(S @ vectors - vectors * values, axis=0)
    if not residuals.max() <= _SMALL_RESIDUAL:
        raise RuntimeError("the preconditioned iterations did not converge")
    return values, vectors


def _aggregates(S: Any, n_aggregates: int) -> NDArray[np.intp]:
    """Return for each point the number of a group of neighbours.

    Groups grow from random points along the largest affinities.
    """
    n_points = S.shape[0]
    label = np.full(n_points, -1, dtype=np.intp)
    seeds = np.random.RandomState(0).permutation(n_points)[:n_aggregates]
    label[seeds] = np.arange(n_aggregates)
    entries = S.tocoo()
    while (label < 0).any():
        free = (label[entries.row] < 0) & (label[entries.col] >= 0)
        if not free.any():
            raise RuntimeError("the affinities fall into connected components")
        row, column, data = entries.row[free], entries.col[free], entries.data[free]
        largest = np.zeros(n_points)
        np.maximum.at(largest, row, data)
        is_largest = data == largest[row]
        label[row[is_largest]] = label[column[is_largest]]
    return label


def _factored(S: Any, known: Array, options: dict[str, Any]) -> Eigenpairs:
    """Return the largest eigenpairs of the sparse S, by shift-and-invert Lanczos iterations.

    Affinities of few points, or of points along a thin curve, can be factored.
    """
    n_points = S.shape[0]
    entries = S.tocoo()
    own = np.arange(n_points)
    places = [np.concatenate([part, own]) for part in (entries.row, entries.col)]
    data = np.concatenate([-entries.data, np.full(n_points, 1.0 + _BEYOND)])
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
    """Return True if these are `n_components` orthonormal eigenpairs in ascending order."""
    if vectors.shape != (A.shape[0], n_components) or values.shape != (n_components,):
        return False
    if not (np.isfinite(values).all() and np.isfinite(vectors).all()):
        return False
    residual = np.abs(A @ vectors - vectors * values).max()
    skew = np.abs(vectors.T @ vectors - np.eye(n_components)).max()
    return bool(max(residual, skew) <= _ROUNDING and (np.diff(values) >= 0.0).all())


def _misses_larger(operator: LinearOperator, values: Array, vectors: Array, start: Array) -> bool:
    """Return True if an eigenvalue above the least was missed, by iterations orthogonal to all."""
    try:
        largest = eigsh(
            _Projected(operator, vectors),
            k=1,
            which="LA",
            v0=start[::-1],
            tol=1e-3,
            maxiter=_CHECK_RESTARTS,
            return_eigenvectors=False,
        )[0]
    except ArpackError:
        return False
    # The vectors that were projected out have eigenvalue zero.
    return bool(largest > max(values[0], 0.0) + _ROUNDING)
