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

import numpy as np
from numpy.typing import NDArray

from ..graphs import Graph
from ..penalties import Penalty
from ._block_kernels import contract_blocks
from ._edge_kernels import adjacency_lists, component_labels, contract_edges
from ._kernels import edge_norms, laplacian

Array = NDArray[np.float64]

_STEEPEST = 1e300


@dataclass(frozen=True)
class Edges:
    """The edges of one mode: pairs of clusters, with cost times weight.

    `adjacency` is the same in compressed rows: for the cluster i, the entries
    start[i]:start[i + 1] of neighbor and edge.
    """

    pairs: NDArray[np.intp]
    weights: Array
    adjacency: tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]

    @classmethod
    def build(cls, n_nodes: int, pairs: NDArray[np.intp], weights: Array) -> "Edges":
        # Read-only arrays are of another type to compiled code, which would compile it twice.
        pairs = np.require(pairs, dtype=np.intp, requirements="CW")
        weights = np.ascontiguousarray(weights, dtype=float)
        return cls(pairs, weights, adjacency_lists(n_nodes, pairs))

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def n_nodes(self) -> int:
        return len(self.adjacency[0]) - 1

    def components(self, chosen: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Labels of the clusters that the chosen edges hold together."""
        return component_labels(self.n_nodes, self.pairs, chosen)

    def contract(self, labels: NDArray[np.intp]) -> "Edges":
        """The edges between the clusters `labels`, parallel ones added up."""
        n_clusters = int(labels.max()) + 1
        pairs, weights = contract_edges(self.pairs, self.weights, labels, n_clusters)
        return Edges.build(n_clusters, pairs, weights)


@dataclass(frozen=True)
class Problem:
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
        return replace(
            self,
            rows=replace(self.rows, weights=row_factor * self.rows.weights),
            columns=replace(self.columns, weights=column_factor * self.columns.weights),
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
        row_weights, column_weights = self.quadratic_weights(penalty, norms or self.norms(V))
        return (
            self.counts * (V - self.means)
            + _laplacian(V, self.rows, row_weights) * self.column_sizes
            + _laplacian(V.T, self.columns, column_weights).T * self.row_sizes[:, None]
        )

    def slopes(self, penalty: Penalty, norms: tuple[Array, Array]) -> tuple[Array, Array]:
        """weight Omega'(z): how strongly an edge of length z pulls."""
        return (
            _bounded(self.rows.weights * penalty.derivative(norms[0])),
            _bounded(self.columns.weights * penalty.derivative(norms[1])),
        )

    def first_slopes(self, penalty: Penalty) -> tuple[Array, Array]:
        """weight Omega(1): in standard units, the chord up to one standard deviation."""
        unit = float(penalty.value(np.ones(1))[0])
        return _bounded(unit * self.rows.weights), _bounded(unit * self.columns.weights)

    def quadratic_weights(
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
        counts, means, values, spread = contract_blocks(
            V,
            self.counts,
            self.means,
            self.row_sizes,
            self.column_sizes,
            row_labels,
            column_labels,
            int(row_labels.max()) + 1,
            int(column_labels.max()) + 1,
        )
        fused = Problem(
            counts=counts,
            means=means,
            row_sizes=np.bincount(row_labels, self.row_sizes),
            column_sizes=np.bincount(column_labels, self.column_sizes),
            rows=self.rows.contract(row_labels),
            columns=self.columns.contract(column_labels),
            constant=self.constant + spread,
        )
        return fused, values


def _bounded(slopes: Array) -> Array:
    """The slopes, none infinite: times a length of zero that would be no number."""
    return np.minimum(slopes, _STEEPEST)


def _weighted_edges(graph: Graph, cost: float) -> Edges:
    """cost times weight on every edge; at no cost there are no edges."""
    pairs = graph.edges if cost > 0 else graph.edges[:0]
    return Edges.build(graph.n_nodes, pairs, cost * graph.weights[: len(pairs)])


def _divide(slopes: Array, lengths: Array) -> Array:
    return np.divide(slopes, lengths, out=np.zeros_like(slopes), where=lengths > 0)


def _laplacian(V: Array, edges: Edges, weights: Array) -> Array:
    V = np.ascontiguousarray(V)
    out = np.empty_like(V)
    laplacian(V, edges.adjacency, weights, out)
    return out
