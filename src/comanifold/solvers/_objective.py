"""The objective, and the lower bound that a dual point gives, in the units of the data."""

import numpy as np
from numpy.typing import ArrayLike

from .._validation import check_estimate, check_matrix, check_problem
from ..graphs import Graph
from ..penalties import Penalty, get_penalty
from ._dual import Dual
from ._problem import Problem


def objective(
    X: ArrayLike,
    U: ArrayLike,
    row_graph: Graph,
    column_graph: Graph,
    *,
    row_cost: float,
    column_cost: float,
    penalty: str | Penalty = "snowflake",
) -> float:
    r"""The objective of co-clustering, equation (1) of the paper.

    .. math:: f(U) = \tfrac12 \| P_\Theta(X - U) \|_F^2
              + \gamma_r \sum_{(i,j) \in E_r} w_{ij} \Omega(\| U_{i\cdot} - U_{j\cdot} \|)
              + \gamma_c \sum_{(i,j) \in E_c} w_{ij} \Omega(\| U_{\cdot i} - U_{\cdot j} \|)

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        The data, NaN for missing entries.
    U : array-like of shape (n_rows, n_columns)
        The estimate, complete.
    row_graph, column_graph : Graph
        What is drawn together.
    row_cost, column_cost : float
        :math:`\gamma_r` and :math:`\gamma_c`.
    penalty : {"snowflake", "linear", "log", "mcp"} or Penalty
        :math:`\Omega`.

    Returns
    -------
    f : float

    Examples
    --------
    >>> from comanifold import Graph, objective
    >>> X = [[1.0, float("nan")], [3.0, 4.0]]
    >>> pair = Graph(2, [[0, 1]])
    >>> objective(X, [[1, 4], [2, 4]], pair, pair, row_cost=1, column_cost=0, penalty="linear")
    1.5
    """
    X = check_matrix(X)
    costs = check_problem(X.shape, row_graph, column_graph, row_cost, column_cost)
    problem = Problem.build(X, row_graph, column_graph, **costs)
    return problem.objective(check_estimate(U, X.shape, "U"), get_penalty(penalty))


def dual_bound(
    X: ArrayLike,
    row_dual: ArrayLike,
    column_dual: ArrayLike,
    row_graph: Graph,
    column_graph: Graph,
    *,
    row_cost: float,
    column_cost: float,
    penalty: str | Penalty = "linear",
) -> float:
    r"""A number that the objective with a linear penalty does not fall below.

    For vectors :math:`\lambda_e` with :math:`\|\lambda_e\| \le \gamma w_e`, one for each edge,
    and :math:`G = \sum_e D_e^T \lambda_e`,

    .. math:: \min f \ge \sum_{(i,j) \in \Theta} \left( g_{ij} x_{ij} - \tfrac12 g_{ij}^2 \right)
              + \sum_{(i,j) \notin \Theta} \min(g_{ij} \min X, g_{ij} \max X)

    since the minimiser lies within the range of the data. A vector that is too long is
    shortened, so that the bound holds whatever is handed in.

    Parameters
    ----------
    X, row_graph, column_graph, row_cost, column_cost
        As in `objective`.
    row_dual : array-like of shape (n_row_edges, n_columns)
    column_dual : array-like of shape (n_column_edges, n_rows)
    penalty : "linear" or Penalty, default="linear"
        A linear one; if its slope is not one, the vectors may be that much longer.

    Returns
    -------
    bound : float
    """
    X = check_matrix(X)
    costs = check_problem(X.shape, row_graph, column_graph, row_cost, column_cost)
    penalty = get_penalty(penalty)
    if not getattr(penalty, "is_linear", False):
        raise ValueError(f"dual_bound needs a linear penalty, got {penalty!r}")
    # Shifting the data shifts no difference: centred values cancel least.
    problem = Problem.build(X - np.nanmean(X), row_graph, column_graph, **costs)
    row_dual = check_estimate(row_dual, (row_graph.n_edges, X.shape[1]), "row_dual")
    column_dual = check_estimate(column_dual, (column_graph.n_edges, X.shape[0]), "column_dual")
    # At no cost a mode has no edges.
    dual = Dual(row_dual[: len(problem.rows)], column_dual[: len(problem.columns)])
    no_lengths = np.zeros(len(problem.rows)), np.zeros(len(problem.columns))
    return dual.project(problem.slopes(penalty, no_lengths)).lower_bound(problem)
