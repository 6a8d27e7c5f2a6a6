"""The objective, on the blocks that fused rows and columns form.

When rows that have become equal are fused, and columns likewise, the estimate is constant on
blocks and the objective is a function of the block values V alone:

    f = constant + 1/2 sum_ab counts[a, b] (V[a, b] - means[a, b])^2
        + sum_e weights_r[e] Omega(||V_i. - V_j.||) + sum_e weights_c[e] Omega(||V_.i - V_.j||)

A block keeps the number and the mean of its observed entries; parallel edges add up; the norm
between two row clusters counts each column cluster as often as it has members, and the other
way round. With nothing fused this is the objective of the paper, equation (1).
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._validation import check_estimate, check_matrix, check_problem
from ..graphs import Graph
from ..graphs._components import chosen_components
from ..penalties import Penalty, get_penalty
from .kernels.blocks import (
    STEEPEST,
    adjacency_lists,
    block_means,
    contract_blocks,
    contract_edges,
    edge_norms,
    is_identity,
    laplacian,
    n_labels,
)

if TYPE_CHECKING:
    from .certificate import Dual, Potentials

Array = NDArray[np.float64]


class Edges(NamedTuple):
    """The edges of one mode: pairs of clusters, with cost times weight.

    `adjacency` is the same in compressed rows: for the cluster i, the entries
    start[i]:start[i + 1] of neighbor and edge.
    """

    pairs: NDArray[np.intp]
    weights: Array
    adjacency: tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]

    @classmethod
    def build(cls, n_nodes: int, pairs: NDArray[np.intp], weights: Array) -> "Edges":
        """Edges with their adjacency lists, in arrays that compiled code takes."""
        # Read-only arrays are of another type to compiled code, which would compile it twice.
        pairs = np.require(pairs, dtype=np.intp, requirements="CW")
        weights = np.require(weights, dtype=float, requirements="CW")
        return cls(pairs, weights, adjacency_lists(n_nodes, pairs))

    @property
    def n_edges(self) -> int:
        return len(self.pairs)

    @property
    def n_nodes(self) -> int:
        return len(self.adjacency[0]) - 1

    def contract(self, labels: NDArray[np.intp], n_clusters: int) -> "Edges":
        """The edges between the clusters of each label, parallel ones added up."""
        if n_clusters == self.n_nodes and is_identity(labels):
            return self
        pairs, weights = contract_edges(self.pairs, self.weights, labels, n_clusters)
        return Edges(pairs, weights, adjacency_lists(n_clusters, pairs))

    def components(self, chosen: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Labels of the connected components of the chosen edges."""
        return chosen_components(self.n_nodes, self.pairs, chosen)


class Problem(NamedTuple):
    """A co-clustering problem on blocks; see the head of this module."""

    counts: Array
    means: Array
    row_sizes: Array
    column_sizes: Array
    rows: Edges
    columns: Edges
    constant: float = 0.0

    @classmethod
    def build(
        cls,
        X: Array,
        row_graph: Graph,
        column_graph: Graph,
        *,
        row_cost: float,
        column_cost: float,
    ) -> "Problem":
        """The problem of the paper, with every row and every column a cluster of its own."""
        observed = ~np.isnan(X)
        return cls(
            counts=observed.astype(float),
            means=np.where(observed, X, 0.0),
            row_sizes=np.ones(X.shape[0]),
            column_sizes=np.ones(X.shape[1]),
            rows=_weighted_edges(row_graph, row_cost),
            columns=_weighted_edges(column_graph, column_cost),
        )

    def scaled(self, row_factor: float, column_factor: float) -> "Problem":
        """The same problem with its two costs multiplied."""
        return self._replace(
            rows=self.rows._replace(weights=row_factor * self.rows.weights),
            columns=self.columns._replace(weights=column_factor * self.columns.weights),
        )

    def clip(self, V: Array) -> Array:
        """V within the range of the means of the blocks, which raises no term of the objective."""
        observed = self.means[self.counts > 0]
        return np.clip(V, observed.min(), observed.max())

    def norms(self, V: Array) -> tuple[Array, Array]:
        """The lengths of the row and of the column differences along the edges."""
        return (
            edge_norms(V, self.rows.pairs, self.column_sizes),
            edge_norms(np.ascontiguousarray(V.T), self.columns.pairs, self.row_sizes),
        )

    def objective(
        self, V: Array, penalty: Penalty, norms: tuple[Array, Array] | None = None
    ) -> float:
        """f(V); `norms` are those of V, if they are known."""
        row_norms, column_norms = self.norms(V) if norms is None else norms
        return float(
            self.constant
            + 0.5 * np.vdot(self.counts, (V - self.means) ** 2)
            + self.rows.weights @ penalty.value(row_norms)
            + self.columns.weights @ penalty.value(column_norms)
        )

    def gradient(
        self, V: Array, penalty: Penalty, norms: tuple[Array, Array] | None = None
    ) -> Array:
        """The gradient at V of all terms but the edges of length zero, which have none."""
        weights = self.majoriser_weights(penalty, norms or self.norms(V))
        return self.counts * (V - self.means) + self.laplacian(V, weights)

    def laplacian(self, V: Array, weights: tuple[Array, Array]) -> Array:
        """The gradient at V of half the weighted sum of the squared lengths of all edges."""
        return (
            _laplacian(V, self.rows, weights[0]) * self.column_sizes
            + _laplacian(V.T, self.columns, weights[1]).T * self.row_sizes[:, None]
        )

    def slopes(self, penalty: Penalty, norms: tuple[Array, Array]) -> tuple[Array, Array]:
        """weight Omega'(z) for every edge."""
        return (
            _bounded(self.rows.weights * penalty.derivative(norms[0])),
            _bounded(self.columns.weights * penalty.derivative(norms[1])),
        )

    def first_slopes(self, penalty: Penalty) -> tuple[Array, Array]:
        """weight Omega(1): in standard units, the chord up to one standard deviation."""
        unit = float(penalty.value(np.ones(1))[0])
        return _bounded(unit * self.rows.weights), _bounded(unit * self.columns.weights)

    def majoriser_weights(
        self, penalty: Penalty, norms: tuple[Array, Array]
    ) -> tuple[Array, Array]:
        """weight Omega'(z) / z: edge weights of the quadratic that touches f from above.

        Zero for an edge of length zero, which no parabola touches from above.
        """
        row_slopes, column_slopes = self.slopes(penalty, norms)
        return _divide(row_slopes, norms[0]), _divide(column_slopes, norms[1])

    def contract(
        self, V: Array, row_labels: NDArray[np.intp], column_labels: NDArray[np.intp]
    ) -> tuple["Problem", Array]:
        """Fuse clusters; the value of a new block is the mean of V over its entries.

        That mean shortens every edge between columns when rows are fused, and every edge
        between rows when columns are.
        """
        problem, labels = self.owned(), (own(row_labels), own(column_labels))
        contracted = contract(problem, *labels)
        values = np.empty(contracted.counts.shape)
        block_means(own(V), problem.row_sizes, problem.column_sizes, *labels, values)
        return contracted, values

    def owned(self) -> "Problem":
        """The problem with arrays that compiled code takes without compiling again."""
        return Problem(
            *(own(array) for array in self[:4]),
            Edges(own(self.rows.pairs), own(self.rows.weights), _own_all(self.rows.adjacency)),
            Edges(
                own(self.columns.pairs), own(self.columns.weights), _own_all(self.columns.adjacency)
            ),
            float(self.constant),
        )


def own(array: Array) -> Array:
    """The array, or a copy if it is read-only or not in C order: of another type to Numba."""
    flags = array.flags  # `np.require` would take several times as long
    return array if flags.writeable and flags.c_contiguous else np.array(array, order="C")


def contract(
    problem: Problem, row_labels: NDArray[np.intp], column_labels: NDArray[np.intp]
) -> Problem:
    """The problem with the clusters of each label as one, from arrays that compiled code takes."""
    counts, means, row_sizes, column_sizes, rows, columns, constant = problem
    m, n = n_labels(row_labels), n_labels(column_labels)
    counts, means, spread = contract_blocks(counts, means, row_labels, column_labels, m, n)
    return Problem(
        counts,
        means,
        np.bincount(row_labels, row_sizes, m),
        np.bincount(column_labels, column_sizes, n),
        rows.contract(row_labels, m),
        columns.contract(column_labels, n),
        constant + spread,
    )


def _own_all(arrays: tuple) -> tuple:
    return tuple(own(array) for array in arrays)


def _bounded(slopes: Array) -> Array:
    """Slopes of at most `STEEPEST`."""
    return np.minimum(slopes, STEEPEST)


def _weighted_edges(graph: Graph, cost: float) -> Edges:
    """cost times weight on every edge; at no cost there are no edges."""
    pairs = graph.edges if cost > 0 else graph.edges[:0]
    return Edges.build(graph.n_nodes, pairs, cost * graph.weights[: len(pairs)])


def _divide(slopes: Array, lengths: Array) -> Array:
    """slopes / lengths, zero where the length is zero."""
    return np.divide(slopes, lengths, out=np.zeros_like(slopes), where=lengths > 0)


def _laplacian(V: Array, edges: Edges, weights: Array) -> Array:
    """L(weights) V."""
    V = np.ascontiguousarray(V)
    out = np.empty_like(V)
    laplacian(V, edges.adjacency, weights, out)
    return out


@dataclass(frozen=True)
class Iterate:
    """An estimate that is constant on blocks, and the problem that its block values solve."""

    problem: Problem
    V: Array
    row_labels: NDArray[np.intp]
    column_labels: NDArray[np.intp]

    @classmethod
    def start(cls, problem: Problem, U: Array) -> "Iterate":
        """The estimate U with nothing fused."""
        n_rows, n_columns = U.shape
        return cls(problem, U, np.arange(n_rows), np.arange(n_columns))

    @property
    def estimate(self) -> Array:
        """The estimate as a full matrix."""
        return self.V[np.ix_(self.row_labels, self.column_labels)]

    def scaled(self, row_factor: float, column_factor: float) -> "Iterate":
        """The same estimate at multiplied costs."""
        return replace(self, problem=self.problem.scaled(row_factor, column_factor))

    def objective(self, penalty: Penalty) -> float:
        return self.problem.objective(self.V, penalty)

    def fuse(self, row_labels: NDArray[np.intp], column_labels: NDArray[np.intp]) -> "Iterate":
        """The clusters of each label as one; clusters are labelled in their order."""
        n_clusters = int(row_labels.max()) + 1, int(column_labels.max()) + 1
        if n_clusters == self.V.shape:
            return self
        problem, V = self.problem.contract(self.V, row_labels, column_labels)
        return Iterate(problem, V, row_labels[self.row_labels], column_labels[self.column_labels])


@dataclass(frozen=True)
class Outcome:
    """The estimate that a solver ends with, in standard units.

    Attributes
    ----------
    iterate : Iterate
    history : list of float
        The objective at the start and from then on.
    n_iter : int
    dual : Dual, Potentials or None
        Dual vectors of the edges; None where the penalty is so steep at the origin that the fused
        edges can carry any gradient.
    stationarity : float or None
        The relative norm of the gradient over estimates constant on the blocks, if known.
    """

    iterate: Iterate
    history: list[float]
    n_iter: int
    dual: "Dual | Potentials | None" = None
    stationarity: float | None = None


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
    r"""Return the objective of co-clustering at U, equation (1) of the paper.

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
        Which differences of rows, and of columns, are penalised, and their weights.
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
