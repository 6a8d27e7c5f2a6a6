"""What `GraphCompletion` works on: effects, residuals in standard units, and scaled graphs."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import ArpackError, eigsh

from .._fit.completion import random_effects, row_and_column_effects
from .._validation import read_floats
from ..graphs import Graph
from ..solvers import mean_and_scale
from ..solvers.problem import Edges

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# Residuals below this part of the standard deviation are rounding errors of the effects.
_ROUNDING = 1e-10

# Robust effects: residuals are clipped at so many robust standard deviations, in so many rounds.
_CLIP = 2.0
_N_ROBUST_ROUNDS = 5

# The standard deviation of a Gaussian over its median absolute deviation.
_GAUSSIAN_MAD = 1.4826

# Above so many nodes the largest eigenvalue of a Laplacian is found by Lanczos iterations.
_FEW_NODES = 200


class Effects(NamedTuple):
    """The estimate mean + rows_i + columns_j, and the scale of what it leaves."""

    mean: float
    rows: Array
    columns: Array
    scale: float

    def offsets(self) -> Array:
        """Return the matrix of estimates."""
        return (self.mean + self.rows)[:, None] + self.columns

    def at(self, rows: Indices, columns: Indices) -> Array:
        """Return the estimates of some entries."""
        return self.mean + self.rows[rows] + self.columns[columns]


class Entries(NamedTuple):
    """The observed entries of a matrix, by rows."""

    rows: Indices
    columns: Indices
    values: Array
    shape: tuple[int, int]

    @classmethod
    def of_matrix(cls, X: Array) -> "Entries":
        """Return the entries of a dense matrix that are not NaN."""
        rows, columns = np.nonzero(~np.isnan(X))
        return cls(rows, columns, X[rows, columns], X.shape)

    @classmethod
    def of_sparse(cls, X: Any) -> "Entries":
        """Return the stored entries of a sparse matrix, but for NaN; duplicates are added up."""
        X = sparse.csr_array(X, dtype=float, copy=True)
        X.sum_duplicates()
        X = X.tocoo()
        kept = ~np.isnan(X.data)
        return cls(X.row[kept].astype(np.intp), X.col[kept].astype(np.intp), X.data[kept], X.shape)

    def select(self, chosen: NDArray[np.bool_]) -> "Entries":
        """Return some of the entries."""
        return Entries(self.rows[chosen], self.columns[chosen], self.values[chosen], self.shape)

    def to_csr(self, values: Array | None = None) -> sparse.csr_array:
        """Return a sparse matrix of the entries, or of other values in their places."""
        values = self.values if values is None else values
        return sparse.csr_array((values, (self.rows, self.columns)), shape=self.shape)


def effects_of_matrix(
    X: Array, *, robust: bool = False, subtract: bool = True
) -> tuple[Effects, Array]:
    """Return the effects of rows and columns, and what they leave in units of its deviation.

    Without `subtract` only the mean is subtracted. With `robust`, a few gross outliers change the
    effects little (Huber's estimate by pseudo-values): they are those of a matrix whose residuals
    are clipped; the mean is the median.
    """
    mean, unit = mean_and_scale(X)
    Z = (X - mean) / unit
    if not subtract:
        centre = float(np.nanmedian(Z)) if robust else 0.0
        found = centre, np.zeros(len(Z)), np.zeros(Z.shape[1])
    elif robust:
        found = (float(np.nanmedian(Z)), np.zeros(len(Z)), np.zeros(Z.shape[1]))
        for _ in range(_N_ROBUST_ROUNDS):
            offsets = (found[0] + found[1])[:, None] + found[2]
            bound = _CLIP * _robust_deviation(Z - offsets)
            found = row_and_column_effects(offsets + np.clip(Z - offsets, -bound, bound))
    else:
        found = row_and_column_effects(Z)
    rest = Z - ((found[0] + found[1])[:, None] + found[2])
    scale = _robust_deviation(rest) if robust else float(np.sqrt(np.nanmean(rest**2)))
    return _in_units(*found, scale, mean, unit, rest)


def effects_of_entries(entries: Entries, *, subtract: bool = True) -> tuple[Effects, Entries]:
    """Return what `effects_of_matrix` does, without a dense matrix."""
    mean, unit = mean_and_scale(entries.values)
    Z = (entries.values - mean) / unit
    if subtract:
        weights = entries.to_csr(np.ones(len(Z)))
        by_rows, by_columns = (
            np.bincount(places, Z, minlength=size)
            for places, size in zip((entries.rows, entries.columns), entries.shape, strict=True)
        )
        rows, columns = random_effects(weights, (by_rows, by_columns), float(Z @ Z))
    else:
        rows, columns = (np.zeros(size) for size in entries.shape)
    rest = Z - rows[entries.rows] - columns[entries.columns]
    effects, rest = _in_units(
        0.0, rows, columns, float(np.sqrt(np.mean(rest**2))), mean, unit, rest
    )
    return effects, entries._replace(values=rest)


def _in_units(
    offset: float, rows: Array, columns: Array, scale: float, mean: float, unit: float, rest: Array
) -> tuple[Effects, Array]:
    """Return effects in units of the data, and residuals in units of their scale."""
    if scale <= _ROUNDING:
        scale, rest = 1.0, np.where(np.isnan(rest), rest, 0.0)
    effects = Effects(mean + unit * offset, unit * rows, unit * columns, unit * scale)
    return effects, rest / scale


def _robust_deviation(residuals: Array) -> float:
    """Return the deviation of most residuals; of all if more than half are zero."""
    deviation = _GAUSSIAN_MAD * float(np.nanmedian(np.abs(residuals)))
    return deviation if deviation > _ROUNDING else float(np.sqrt(np.nanmean(residuals**2)))


@dataclass(frozen=True)
class UnitGraph:
    """A graph whose Laplacian is divided by its largest eigenvalue.

    Attributes
    ----------
    graph : Graph
        As given.
    edges : Edges
        With the divided weights.
    laplacian : scipy.sparse.csr_array
    """

    graph: Graph
    edges: Edges
    laplacian: sparse.csr_array

    @classmethod
    def of(cls, graph: Graph) -> "UnitGraph":
        """Return a graph with its Laplacian."""
        # Eigenvalues of very large or small weights would not be found.
        weights = graph.weights / (graph.weights.max(initial=0.0) or 1.0)
        laplacian = _laplacian(graph.n_nodes, graph.edges, weights)
        largest = _largest_eigenvalue(laplacian) or 1.0
        edges = Edges.build(graph.n_nodes, graph.edges, weights / largest)
        return cls(graph, edges, laplacian / largest)


def _laplacian(n_nodes: int, edges: Indices, weights: Array) -> sparse.csr_array:
    """Return the graph Laplacian D - A."""
    i, j = edges.T
    degrees = np.bincount(i, weights, n_nodes) + np.bincount(j, weights, n_nodes)
    everyone = np.arange(n_nodes)
    values = np.concatenate([-weights, -weights, degrees])
    places = np.concatenate([i, j, everyone]), np.concatenate([j, i, everyone])
    return sparse.csr_array((values, places), shape=(n_nodes, n_nodes))


def _largest_eigenvalue(laplacian: sparse.csr_array) -> float:
    n_nodes = laplacian.shape[0]
    if n_nodes <= _FEW_NODES:
        return float(np.linalg.eigvalsh(laplacian.toarray())[-1])
    if not laplacian.data.any():
        return 0.0
    # A start that follows the order of the nodes, as the result must. It is largest where the
    # leading eigenvector is: at nodes of a large degree.
    start = laplacian.diagonal() ** 2
    start = start + laplacian @ start
    try:
        return float(eigsh(laplacian, k=1, which="LA", v0=start, return_eigenvectors=False)[0])
    except ArpackError:  # as for a regular graph, where that start is an eigenvector
        start = np.cos(np.arange(n_nodes, dtype=float))
        return float(eigsh(laplacian, k=1, which="LA", v0=start, return_eigenvectors=False)[0])


def read_graph(graph: Any, n_nodes: int, mode: str) -> Graph:
    """Validate a graph, or a symmetric matrix of edge weights; return it as a Graph."""
    name = f"{mode}_graph"
    if isinstance(graph, Graph):
        found = graph
    elif sparse.issparse(graph) or hasattr(graph, "__array__"):
        found = _of_adjacency(graph, name)
    else:
        raise ValueError(
            f"{name} must be a comanifold.Graph or a matrix of edge weights, got "
            f"{type(graph).__name__}"
        )
    if found.n_nodes != n_nodes:
        raise ValueError(f"{name} has {found.n_nodes} nodes, but X has {n_nodes} {mode}s")
    return found


def _of_adjacency(adjacency: Any, name: str) -> Graph:
    """Return the graph of a symmetric matrix of edge weights; zeros are no edges."""
    if not sparse.issparse(adjacency):
        adjacency = read_floats(adjacency, name)
    shape = adjacency.shape
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"{name} must be a square matrix of edge weights, got shape {shape}")
    if adjacency.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold real numbers, got dtype {adjacency.dtype}")
    A = sparse.csr_array(adjacency, dtype=float, copy=True)
    A.sum_duplicates()
    if not np.isfinite(A.data).all() or A.data.min(initial=0.0) < 0.0:
        raise ValueError(f"{name} must have finite edge weights that are not negative")
    if abs(A - A.T).max() > 1e-8 * A.data.max(initial=0.0):
        raise ValueError(f"{name} must be symmetric: the weights of i, j and j, i differ")
    upper = sparse.triu(A, 1).tocoo()
    upper.eliminate_zeros()
    return Graph(shape[0], np.column_stack([upper.row, upper.col]).astype(np.intp), upper.data)


def neighbor_graph(X: Array, n_neighbors: int) -> Graph:
    """Return the graph of nearest neighbours; a row with no observed entry has none."""
    known = np.flatnonzero(~np.isnan(X).all(axis=1))
    if len(known) < 2:
        return Graph(len(X), [])
    graph = Graph.nearest_neighbors(X[known], n_neighbors)
    return graph if len(known) == len(X) else Graph(len(X), known[graph.edges], graph.weights)
