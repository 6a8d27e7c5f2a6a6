"""Convex clustering of incomplete rows."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin

from .._estimators import IncompleteMixin, unchanged_on_failure
from .._validation import check_cost
from ..co_clustering import co_cluster
from ..graphs import Graph, masked_distances

Array = NDArray[np.float64]

# Longer edges, in units of the scale, get the weight of this length. Otherwise their weights would
# underflow, and first those between rows that share no column, which keep the graph connected.
_MAX_LENGTH = 2.5


class ConvexClustering(IncompleteMixin, ClusterMixin, BaseEstimator):
    r"""Convex clustering of the rows of a matrix with missing entries.

    Minimises :math:`\tfrac12 \| P_\Theta(X - U) \|_F^2 + \gamma \sum_{(i,j) \in E} w_{ij}
    \| U_{i\cdot} - U_{j\cdot} \|` over the edges of a graph of nearest neighbours, with
    :math:`w_{ij} = \exp(-d_{ij}^2 / \sigma^2)`, :math:`d_{ij}` the distance of
    `comanifold.masked_distances`, at most :math:`2.5 \sigma`, and :math:`\sigma` the median of it
    over the edges. Rows that are equal in U are a cluster. It is `comanifold.co_cluster` with a
    linear penalty and a column cost of 0.

    Parameters
    ----------
    cost : float, default=1.0
        :math:`\gamma`, in the units of the data, at least 0. A larger one gives fewer clusters.
    n_neighbors : int, default=5
        Neighbours of each row.

    Attributes
    ----------
    labels_ : ndarray of int of shape (n_rows,)
    n_clusters_ : int
    estimate_ : ndarray of shape (n_rows, n_columns)
        U. A column without any observed entry in a component of the graph is arbitrary there.
    filled_ : ndarray of shape (n_rows, n_columns)
        The data where observed, U elsewhere.
    objective_ : float
    graph_ : Graph
        The edges and their weights.
    n_features_in_ : int

    References
    ----------
    Chi and Lange (2015), Splitting methods for convex clustering. Chi, Allen and Baraniuk
    (2017), Convex biclustering.

    Examples
    --------
    >>> import numpy as np
    >>> from comanifold.baselines import ConvexClustering
    >>> X = [[0.0, 0.1], [0.1, np.nan], [0.0, 0.0], [9.0, 9.1], [np.nan, 9.0], [9.1, 9.0]]
    >>> ConvexClustering(n_neighbors=2).fit_predict(X)
    array([0, 0, 0, 1, 1, 1])
    """

    def __init__(self, cost: float = 1.0, *, n_neighbors: int = 5):
        self.cost = cost
        self.n_neighbors = n_neighbors

    @unchanged_on_failure
    def fit(self, X: ArrayLike, y: Any = None) -> "ConvexClustering":  # noqa: ARG002
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            NaN for missing entries. Every row needs an observed entry.
        y : ignored
        """
        X = self._read(X, reset=True, need_observed_rows=True)
        cost = check_cost(self.cost, "cost")
        self.graph_ = _weighted(Graph.nearest_neighbors(X, self.n_neighbors), X)
        result = co_cluster(
            X,
            self.graph_,
            Graph(X.shape[1], []),
            row_cost=cost,
            column_cost=0.0,
            penalty="linear",
        )
        self.labels_ = result.row_labels
        self.n_clusters_ = result.n_row_clusters
        self.estimate_ = result.estimate
        self.filled_ = result.filled
        self.objective_ = result.objective
        return self


def _weighted(graph: Graph, X: Array) -> Graph:
    """Return the graph with Gaussian weights of the distances between the rows of X."""
    if not graph.n_edges:
        return graph
    lengths = masked_distances(X)[tuple(graph.edges.T)]
    finite = lengths[np.isfinite(lengths)]
    middle = float(np.median(finite)) if finite.size else 0.0
    # If most distances are zero, any scale that separates zero from the others will do.
    scale = middle or float(finite.min(where=finite > 0, initial=np.inf))
    scale = scale if np.isfinite(scale) else 1.0
    weights = np.exp(-(np.minimum(lengths / scale, _MAX_LENGTH) ** 2))
    return Graph(graph.n_nodes, graph.edges, weights)
