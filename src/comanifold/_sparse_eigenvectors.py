"""Leading eigenvectors of a large sparse matrix of affinities."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu

Array = NDArray[np.float64]

# Restarts of the iterations after which the affinities are factored.
_MOST_RESTARTS = 100

# How far beyond the largest eigenvalue the shift of the factored matrix lies.
_BEYOND = 1e-6

# An affinity that changes no eigenvalue by more than a rounding error.
_NOTHING = 1e-17


def sparse_eigenvectors(
    S: Any, operator: LinearOperator, n_components: int, known: Array, start: Array
) -> tuple[Array, Array]:
    """The largest eigenvalues of `operator`, S with its known eigenvector pushed down.

    Many points along a curve have eigenvalues too close to each other for iterations; but then
    their affinities are few, and can be factored.
    """
    options = {"k": n_components, "which": "LA", "v0": start, "tol": 1e-12}
    try:
        return eigsh(operator, maxiter=_MOST_RESTARTS, **options)
    except ArpackNoConvergence:
        pass
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

    inverse = LinearOperator(S.shape, matvec=solve, dtype=float)
    values, vectors = eigsh(inverse, **options)
    return 1.0 + _BEYOND - 1.0 / values, vectors
