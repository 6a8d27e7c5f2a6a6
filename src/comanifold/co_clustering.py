"""Co-clustering an incomplete matrix at one pair of costs."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, BiclusterMixin
from sklearn.exceptions import ConvergenceWarning

from ._estimators import levels_to_caller, unchanged_on_failure, validate_matrix
from ._parallel import plain_interrupts
from ._validation import (
    check_choice,
    check_estimate,
    check_matrix,
    check_n_neighbors,
    check_problem,
    check_stopping,
    listing,
    masked_to_nan,
)
from .graphs import Graph
from .penalties import Penalty, get_penalty
from .solvers import SOLVERS, CoClustering, SolverOptions, solve


@plain_interrupts()
def co_cluster(
    X: ArrayLike,
    row_graph: Graph,
    column_graph: Graph,
    *,
    row_cost: float,
    column_cost: float,
    penalty: str | Penalty = "snowflake",
    solver: str = "fast",
    init: ArrayLike | None = None,
    max_iter: int = 10_000,
    tol: float = 1e-6,
) -> CoClustering:
    r"""Smooth an incomplete matrix along its rows and its columns at once.

    Minimises

    .. math:: f(U) = \tfrac12 \| P_\Theta(X - U) \|_F^2
              + \gamma_r \sum_{(i,j) \in E_r} w_{ij} \Omega(\| U_{i\cdot} - U_{j\cdot} \|)
              + \gamma_c \sum_{(i,j) \in E_c} w_{ij} \Omega(\| U_{\cdot i} - U_{\cdot j} \|)

    in the units of the data. With a linear penalty the problem is convex and the result its
    global minimum, up to a certified duality gap; with the other penalties it is a stationary
    point.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        The data, NaN for missing entries. A row or column without an observed entry takes its
        values from its neighbours.
    row_graph, column_graph : Graph
        Along which edges the rows and the columns are smoothed. A graph may have several
        connected components; these never fuse.
    row_cost, column_cost : float
        :math:`\gamma_r` and :math:`\gamma_c`, at least 0. At cost 0 a mode is not smoothed. An
        entry that then depends on no observed entry is arbitrary: without `init` it is the mean
        of the observed entries.
    penalty : {"snowflake", "linear", "log", "mcp"} or Penalty, default="snowflake"
        :math:`\Omega`. "linear" gives convex biclustering.
    solver : {"fast", "paper"}, default="fast"
        "paper" is Algorithm 1 of the paper, a slow reference. The two minimise the same
        objective, and with a concave penalty may end in different local minima.
    init : array-like of shape (n_rows, n_columns), optional
        The initial estimate, clipped to the range of the data, which never increases f. By default
        "fast" starts from a smoothed version of the data and "paper" from the mean of the
        observed entries. Rows or columns that are equal in `init` stay equal under a penalty
        as steep at the origin as the snowflake: a constant `init` is a stationary point.
    max_iter : int, default=10000
        Limit on the number of iterations.
    tol : float, default=1e-6
        Tolerance: on the relative duality gap for a linear penalty, on the relative stationarity
        residual for others (see `Certificate`).

    Returns
    -------
    result : CoClustering

    References
    ----------
    Mishne, Chi and Coifman (2019), Co-manifold learning with missing data, Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from comanifold import Graph, co_cluster
    >>> X = np.array([[1.0, 1.1, np.nan], [0.9, np.nan, 5.0], [8.0, 8.2, 9.0], [np.nan, 8.1, 9.1]])
    >>> rows = Graph(4, [[0, 1], [1, 2], [2, 3]])
    >>> columns = Graph(3, [[0, 1], [1, 2]])
    >>> result = co_cluster(X, rows, columns, row_cost=0.3, column_cost=0.3)
    >>> result.row_labels, result.column_labels
    (array([0, 0, 1, 1]), array([0, 0, 1]))
    >>> result.filled[0].round(1)
    array([1. , 1.1, 4.9])
    """
    X = check_matrix(X)
    costs = check_problem(X.shape, row_graph, column_graph, row_cost, column_cost)
    check_choice("solver", solver, sorted(SOLVERS))
    max_iter, tol = check_stopping(max_iter, tol)
    method = SolverOptions(get_penalty(penalty), solver, max_iter, tol)
    init = None if init is None else check_estimate(init, X.shape, "init")
    result = solve(X, row_graph, column_graph, method, **costs, init=init)
    if result.status != "converged":
        warnings.warn(
            f"co_cluster stopped with status {result.status!r} after {result.n_iter} iterations, "
            f"before reaching tol={tol:g}: {result.certificate}. Raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=levels_to_caller(),
        )
    return result


class CoCluster(BiclusterMixin, BaseEstimator):
    r"""Co-clustering of an incomplete matrix at one pair of costs.

    Builds nearest-neighbour graphs of the rows and of the columns, unless they are given, and
    runs `co_cluster`, in the units of the data. With `penalty="linear"` this is convex
    biclustering with missing data; with one cost zero as well, convex clustering of the other
    mode.

    Parameters
    ----------
    row_cost, column_cost : float, default=1.0
        How strongly rows and columns are smoothed, in the units of the data.
    n_neighbors : int or pair of int, default=5
        Number of neighbours of each row and column, or one number for rows and one for columns.
    row_graph, column_graph : Graph, optional
        Graphs to use instead of the nearest neighbours.
    penalty : {"snowflake", "linear", "log", "mcp"} or Penalty, default="snowflake"
        The cost of the distance between two neighbouring rows or columns.
    solver : {"fast", "paper"}, default="fast"
    max_iter : int, default=10000
    tol : float, default=1e-6
        As in `co_cluster`.

    Attributes
    ----------
    row_labels_, column_labels_ : ndarray of int
        The clusters of the rows and of the columns.
    rows_ : ndarray of bool of shape (n_biclusters, n_rows)
    columns_ : ndarray of bool of shape (n_biclusters, n_columns)
        Members of the biclusters: one for each pair of a row and a column cluster.
    biclusters_ : tuple
        `rows_` and `columns_`.
    estimate_ : ndarray of shape (n_rows, n_columns)
        The smooth estimate, constant on each bicluster.
    filled_ : ndarray of shape (n_rows, n_columns)
        The data where observed, the estimate elsewhere.
    objective_ : float
    certificate_ : Certificate
        How far the estimate is from a solution.
    n_iter_ : int
    status_ : str
    row_graph_, column_graph_ : Graph
        The graphs that were used.
    n_features_in_ : int

    See Also
    --------
    co_cluster : The same as a function of the matrix and two graphs.

    References
    ----------
    Mishne, Chi and Coifman (2019), Co-manifold learning with missing data.
    Chi, Allen and Baraniuk (2017), Convex biclustering.

    Examples
    --------
    >>> import numpy as np
    >>> from comanifold import CoCluster
    >>> rng = np.random.default_rng(0)
    >>> X = np.kron([[0.0, 4.0], [8.0, 2.0]], np.ones((6, 5))) + 0.1 * rng.normal(size=(12, 10))
    >>> X[rng.random(X.shape) < 0.4] = np.nan
    >>> model = CoCluster().fit(X)
    >>> model.row_labels_
    array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
    >>> model.column_labels_
    array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
    """

    def __init__(
        self,
        row_cost: float = 1.0,
        column_cost: float = 1.0,
        *,
        n_neighbors: int | tuple[int, int] = 5,
        row_graph: Graph | None = None,
        column_graph: Graph | None = None,
        penalty: str | Penalty = "snowflake",
        solver: str = "fast",
        max_iter: int = 10_000,
        tol: float = 1e-6,
    ):
        self.row_cost = row_cost
        self.column_cost = column_cost
        self.n_neighbors = n_neighbors
        self.row_graph = row_graph
        self.column_graph = column_graph
        self.penalty = penalty
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol

    @unchanged_on_failure
    def fit(self, X: ArrayLike, y: Any = None) -> "CoCluster":  # noqa: ARG002
        """Co-cluster X.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            NaN for missing entries. Every row and column needs an observed entry, unless its
            graph is given.
        y : ignored
        """
        X = validate_matrix(self, masked_to_nan(X))
        X = check_matrix(X)
        for_rows, for_columns = check_n_neighbors(self.n_neighbors)
        self.row_graph_ = _given_or_nearest(self.row_graph, X, for_rows, "row")
        self.column_graph_ = _given_or_nearest(self.column_graph, X.T, for_columns, "column")
        result = co_cluster(
            X,
            self.row_graph_,
            self.column_graph_,
            row_cost=self.row_cost,
            column_cost=self.column_cost,
            penalty=self.penalty,
            solver=self.solver,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        self.row_labels_ = result.row_labels
        self.column_labels_ = result.column_labels
        self.estimate_ = result.estimate
        self.filled_ = result.filled
        self.objective_ = result.objective
        self.certificate_ = result.certificate
        self.n_iter_ = result.n_iter
        self.status_ = result.status
        return self

    # Computed on access: with nothing fused there is a bicluster for every entry.
    @property
    def rows_(self) -> NDArray[np.bool_]:
        """Membership of the rows in each bicluster, of shape (n_biclusters, n_rows)."""
        n_column_clusters = self.column_labels_.max() + 1
        return np.repeat(_indicators(self.row_labels_), n_column_clusters, axis=0)

    @property
    def columns_(self) -> NDArray[np.bool_]:
        """Membership of the columns in each bicluster, of shape (n_biclusters, n_columns)."""
        n_row_clusters = self.row_labels_.max() + 1
        return np.tile(_indicators(self.column_labels_), (n_row_clusters, 1))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _given_or_nearest(
    graph: Graph | None, X: NDArray[np.float64], n_neighbors: int, mode: str
) -> Graph:
    """Return the given graph, or the nearest-neighbour graph of the rows of X."""
    if graph is not None:
        return graph
    empty = np.flatnonzero(np.isnan(X).all(axis=1))
    if empty.size:
        raise ValueError(
            f"X has {mode}s with no observed entry, which have no neighbours: {listing(empty)}. "
            f"Leave them out, or give a {mode}_graph"
        )
    return Graph.nearest_neighbors(X, n_neighbors)


def _indicators(labels: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return a row of membership indicators for each label."""
    return labels == np.arange(labels.max() + 1)[:, None]
