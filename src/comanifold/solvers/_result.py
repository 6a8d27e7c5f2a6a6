"""The result of co-clustering at one pair of costs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._certificate import Certificate


@dataclass(frozen=True, eq=False)
class CoClustering:
    """A co-clustering of an incomplete matrix, as `co_cluster` returns it.

    Attributes
    ----------
    estimate : ndarray of shape (n_rows, n_columns)
        The smooth estimate U. Rows with one label are equal, entry for entry, and so are
        columns.
    filled : ndarray of shape (n_rows, n_columns)
        The data where observed, the estimate elsewhere.
    objective : float
        f(U), as `comanifold.objective` computes it from `estimate`.
    objective_history : ndarray
        f at the starting point and from then on; it never rises. Without `init` the starting
        point of "fast" is a smoothed version of the data, and that of "paper" the solution of
        its first convex problem. Iterations that are no descent by themselves show the best
        estimate so far.
    row_labels, column_labels : ndarray of int
        Clusters, numbered in the order in which they first appear.
    n_row_clusters, n_column_clusters : int
    n_iter : int
    status : {"converged", "max_iter", "stalled"}
        Whether the tolerance was met. "stalled": rounding errors kept the objective from
        falling any further before it was.
    certificate : Certificate
        How far the estimate is from a solution.
    """

    estimate: NDArray[np.float64]
    filled: NDArray[np.float64]
    objective: float
    objective_history: NDArray[np.float64]
    row_labels: NDArray[np.intp]
    column_labels: NDArray[np.intp]
    n_iter: int
    status: str
    certificate: Certificate

    @property
    def n_row_clusters(self) -> int:
        return int(self.row_labels.max()) + 1

    @property
    def n_column_clusters(self) -> int:
        return int(self.column_labels.max()) + 1

    def __repr__(self) -> str:
        return (
            f"CoClustering(objective={self.objective:.6g}, n_row_clusters={self.n_row_clusters}, "
            f"n_column_clusters={self.n_column_clusters}, status={self.status!r})"
        )
