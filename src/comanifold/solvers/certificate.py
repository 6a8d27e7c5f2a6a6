"""Certificates: the stationarity residual and the duality gap of an estimate.

With fixed caps c_e the problem

    min_U  1/2 ||P(X - U)||^2 + sum_e c_e ||D_e U||

(D_e U the difference of two rows, or of two columns) has a dual vector for every edge, at most
c_e long. Any such vectors bound the minimum from below. An estimate is stationary if vectors exist
that add up to minus the gradient of the data term: along D_e U and c_e long on edges of positive
length, any that are no longer than c_e on fused edges (the optimality condition of fused edges).
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order

from .._validation import check_estimate, check_matrix, check_problem
from ..graphs import Graph
from ..penalties import Penalty, get_penalty
from .kernels.blocks import block_means, divergence, linear_bound
from .kernels.quadratic import lower_quadratic, quadratic_residual
from .problem import Array, Edges, Iterate, Problem

# Conjugate gradient steps between two reweightings of the potentials; they lower the residual to
# this share of the tolerance, but by no more than this factor.
_STEPS = np.int64(200)
_SHARE = 0.6
_REDUCTION = 0.01

# The damping of the potentials, as a share of what the tolerance allows.
_DAMPING = 0.3

# The search for potentials ends when this many reweightings have not lowered the residual by a
# fifth.
_MAX_IDLE = 3


@dataclass(frozen=True, eq=False)
class Certificate:
    """The stationarity residual of an estimate and, for a linear penalty, its duality gap.

    Attributes
    ----------
    stationarity : float
        Norm of the residual of the stationarity condition, relative to the norm of the centred
        data: P(U - X) plus a vector for every edge, at both of its ends. On an edge of positive
        length it is cost x weight x Omega'(length) long and along the edge; on an edge of length
        zero any vector up to cost x weight x Omega'(0) will do, and the one that was found
        counts. Where a bound shows that vectors exist which carry all of the gradient, as with a
        penalty that is very steep at the origin, they are not computed and the residual is that of
        the fused problem.
    gap : float or None
        For a linear penalty: (objective - lower_bound) / objective. Where the objective all but
        vanishes, below 1e-6 of what it is at the mean or of what differences of one standard
        deviation along all edges cost, it is relative to that.
    lower_bound : float or None
        For a linear penalty: a bound below which no estimate has its objective, computed from
        the dual point.
    row_dual, column_dual : ndarray or None
        For a linear penalty: the dual point. One vector for each edge of the row graph, of
        shape (n_row_edges, n_columns), and of the column graph, (n_column_edges, n_rows),
        none longer than cost x weight x slope. `comanifold.dual_bound` computes the bound from
        them.
    """

    stationarity: float
    gap: float | None = None
    lower_bound: float | None = None
    row_dual: Array | None = None
    column_dual: Array | None = None

    def __repr__(self) -> str:
        gap = (
            "" if self.gap is None else f", gap={self.gap:.3g}, lower_bound={self.lower_bound:.9g}"
        )
        return f"Certificate(stationarity={self.stationarity:.3g}{gap})"


@dataclass(frozen=True)
class Dual:
    """Dual vectors: rows of length n_columns for the row edges, of length n_rows for the others."""

    rows: Array
    columns: Array

    @classmethod
    def zeros(cls, problem: Problem) -> "Dual":
        """Dual vectors of zero for all edges of a problem."""
        n_rows, n_columns = problem.counts.shape
        return cls(
            np.zeros((problem.rows.n_edges, n_columns)), np.zeros((problem.columns.n_edges, n_rows))
        )

    def lengths(self) -> tuple[Array, Array]:
        """The norms of the vectors, of the row edges and of the column edges."""
        return np.linalg.norm(self.rows, axis=1), np.linalg.norm(self.columns, axis=1)

    def project(self, caps: tuple[Array, Array]) -> "Dual":
        """The nearest dual point with vectors no longer than `caps`."""
        shortened = []
        for vectors, lengths, cap in zip(
            (self.rows, self.columns), self.lengths(), caps, strict=True
        ):
            factor = np.divide(cap, lengths, out=np.ones_like(cap), where=lengths > cap)
            shortened.append(vectors * factor[:, None])
        return Dual(*shortened)

    def divergence(self, problem: Problem, factors: tuple[Array, Array] | None = None) -> Array:
        """sum_e factor_e D_e' dual_e, in the shape of the estimate; factors are 1 by default."""
        if factors is None:
            factors = np.ones(problem.rows.n_edges), np.ones(problem.columns.n_edges)
        n_rows, n_columns = problem.counts.shape
        by_rows = np.empty((n_rows, n_columns))
        by_columns = np.empty((n_columns, n_rows))
        divergence(self.rows, factors[0], problem.rows.pairs, problem.rows.adjacency, by_rows)
        divergence(
            self.columns, factors[1], problem.columns.pairs, problem.columns.adjacency, by_columns
        )
        by_rows += by_columns.T
        return by_rows

    def fused_divergence(
        self, problem: Problem, norms: tuple[Array, Array], caps: tuple[Array, Array]
    ) -> Array:
        """`divergence` of the edges of length zero, with vectors no longer than `caps`."""
        fused = Dual(self.rows * (norms[0] == 0)[:, None], self.columns * (norms[1] == 0)[:, None])
        return fused.project(caps).divergence(problem)

    def lower_bound(self, problem: Problem) -> float:
        """Return a lower bound on the minimum of the weighted convex problem (see the module).

        With G = sum_e D_e' dual_e, the minimum over U is at least that of
        1/2 ||P(X - U)||^2 + <G, U>, taken entry by entry: x g - g^2 / 2 where x is observed.
        Where nothing is observed g should vanish, which no iterate does exactly; but the
        minimiser lies within the range of the data, since clipping an estimate to it lowers
        every term, and so the entry costs no more than g times an end of that range.
        """
        return bound_from_divergence(problem, self.divergence(problem), observed_range(problem))


@dataclass(frozen=True)
class Potentials:
    """Dual vectors of the fused edges as differences of values at their ends.

    The vector of the edge (i, j) is c_e d / max(1, ||d||) with d = share (v_i - v_j), at most c_e
    long; `shares` has one number for rows and one for columns. That takes one matrix, not one
    vector for every edge.
    """

    values: Array
    shares: tuple[float, float] = (1.0, 1.0)

    def scaled(self, row_factor: float, column_factor: float) -> "Potentials":
        """The same dual vectors at multiplied costs."""
        return Potentials(
            self.values, (self.shares[0] / row_factor, self.shares[1] / column_factor)
        )

    def centred(self, problem: Problem, iterate: Iterate) -> "Potentials":
        """The same dual vectors with values of mean zero on the blocks of an estimate."""
        labels = iterate.row_labels, iterate.column_labels
        means = problem.contract(self.values, *labels)[1]
        return replace(self, values=self.values - means[np.ix_(*labels)])

    def lengths(self, problem: Problem) -> tuple[Array, Array]:
        """||d||: above 1 the dual vector is as long as it may be."""
        rows, columns = problem.norms(self.values)
        return self.shares[0] * rows, self.shares[1] * columns

    def weights(
        self, problem: Problem, norms: tuple[Array, Array], caps: tuple[Array, Array]
    ) -> tuple[Array, Array]:
        """share c_e / max(1, ||d||) on edges of length zero, and 0 on others."""
        return tuple(
            np.where(norm == 0, share * cap / np.maximum(length, 1.0), 0.0)
            for share, norm, cap, length in zip(
                self.shares, norms, caps, self.lengths(problem), strict=True
            )
        )

    def fused_divergence(
        self, problem: Problem, norms: tuple[Array, Array], caps: tuple[Array, Array]
    ) -> Array:
        """As `Dual.fused_divergence`."""
        return problem.laplacian(self.values, self.weights(problem, norms, caps))

    def expand(self, problem: Problem, U: Array, penalty: Penalty) -> Dual:
        """The dual vectors of all edges."""
        norms = problem.norms(U)
        on_fused = self.weights(problem, norms, problem.slopes(penalty, norms))
        elsewhere = problem.majoriser_weights(penalty, norms)
        vectors = []
        for mode, edges in enumerate((problem.rows, problem.columns)):
            i, j = edges.pairs.T
            values, estimate = (self.values, U) if mode == 0 else (self.values.T, U.T)
            vectors.append(
                on_fused[mode][:, None] * (values[i] - values[j])
                + elsewhere[mode][:, None] * (estimate[i] - estimate[j])
            )
        return Dual(*vectors)


def bound_from_divergence(problem: Problem, G: Array, limits: tuple[float, float]) -> float:
    """`Dual.lower_bound` of dual vectors with the divergence G, for data within `limits`."""
    return linear_bound(G, problem.means, problem.counts, *limits)


def observed_range(problem: Problem) -> tuple[float, float]:
    """The smallest and the largest mean of a block with observed entries."""
    means = problem.means[problem.counts > 0]
    return means.min(), means.max()


def relative_gap(problem: Problem, penalty: Penalty, value: float, bound: float) -> float:
    """The gap that `Certificate` describes, for data in standard units."""
    gap = value - bound
    return 0.0 if gap <= 0.0 else gap / gap_scale(problem, penalty, value)


def gap_scale(problem: Problem, penalty: Penalty, value: float) -> float:
    """What the gap of an estimate with the objective `value` is relative to."""
    n_rows, n_columns = problem.counts.shape
    unit = penalty.value(np.sqrt([n_columns, n_rows]))
    roughness = unit[0] * problem.rows.weights.sum() + unit[1] * problem.columns.weights.sum()
    at_mean = 0.5 * problem.counts.sum()
    floor = 1e-6 * float(min(roughness, at_mean) if roughness > 0.0 else at_mean)
    return max(value, floor)


def stationarity(problem: Problem, U: Array, penalty: Penalty, dual: Dual | Potentials) -> float:
    """The residual that `Certificate` describes, for data in standard units."""
    norms = problem.norms(U)
    residual = problem.gradient(U, penalty, norms)
    residual += dual.fused_divergence(problem, norms, problem.slopes(penalty, norms))
    return _relative_norm(residual, problem)


def _relative_norm(gradient: Array, problem: Problem) -> float:
    """Return the norm of a gradient of all entries, relative to that of the centred data.

    A block shares its gradient out equally among its entries.
    """
    per_entry = gradient / np.sqrt(np.outer(problem.row_sizes, problem.column_sizes))
    return float(np.linalg.norm(per_entry) / np.sqrt(problem.counts.sum()))


def find_potentials(
    problem: Problem,
    U: Array,
    penalty: Penalty,
    guess: Potentials | None = None,
    *,
    tol: float,
    max_iter: int,
) -> tuple[Potentials, float, int]:
    """Search for dual vectors of the fused edges that meet the optimality condition to `tol`.

    Minimises the residual, ||G + sum_e D_e' dual_e|| with the gradient G of all else, over vectors
    no longer than their caps, by iterative reweighting: with fixed weights the potentials solve a
    linear system. Returns them with the relative residual and the number of reweightings. Where
    the condition cannot be met, the potentials point in a direction of descent.
    """
    norms = problem.norms(U)
    caps = problem.slopes(penalty, norms)
    G = problem.gradient(U, penalty, norms)
    size = np.sqrt(problem.counts.sum())
    shape = U.shape
    best = potentials = guess or Potentials(np.zeros(shape))
    without = _relative_norm(G, problem)
    sizes = problem.row_sizes, problem.column_sizes
    n_points = sizes[0].sum() + sizes[1].sum()
    damping = _DAMPING * tol * size * min(potentials.shares) / np.sqrt(n_points)
    counts = damping * np.outer(*sizes)
    means = -G / counts
    adjacency = problem.rows.adjacency, problem.columns.adjacency
    lowest, goal, n_idle = np.inf, np.inf, 0
    R = np.empty(shape)
    for n_iter in range(max_iter + 1):
        weights = potentials.weights(problem, norms, caps)
        quadratic_residual(potentials.values, means, counts, *sizes, *adjacency, *weights, R)
        residual = _relative_norm(R + counts * potentials.values, problem)
        if n_iter == 0 and residual > without:  # a guess that is worse than none
            potentials = replace(potentials, values=np.zeros(shape))
            weights = potentials.weights(problem, norms, caps)
            R, residual = -G, without
        if residual < lowest:
            best, lowest = potentials, residual
        n_idle += 1
        if lowest < goal:
            n_idle, goal = 0, 0.8 * lowest
        if residual <= tol or n_idle == _MAX_IDLE or n_iter == max_iter:
            break
        values = potentials.values.copy()
        reduction = max(_SHARE * tol / residual, _REDUCTION)
        lower_quadratic(values, R, counts, *sizes, *adjacency, *weights, _STEPS, reduction)
        potentials = replace(potentials, values=values)
    return (best if lowest <= tol else potentials), float(lowest), n_iter


def certain_modes(iterate: Iterate, problem: Problem, penalty: Penalty) -> tuple[bool, bool]:
    """Return whether fused row edges, and fused column edges, surely meet their condition.

    Row edges have to carry what the gradient deviates by from its mean over each cluster of rows.
    If the edges of a spanning tree of the cluster can, the condition holds for them, and what is
    left are the means, which column edges have to carry: those of the problem in which the rows of
    each cluster are one. The same holds for columns. If only one mode is certain, the other is
    still to be looked at, in that smaller problem.
    """
    slope = float(penalty.derivative(np.zeros(1))[0])
    gradient = problem.gradient(iterate.estimate, penalty)
    labels = iterate.row_labels, iterate.column_labels
    edges = problem.rows, problem.columns
    certain = False, False
    for mode, G in enumerate((gradient, gradient.T)):
        other = 1 - mode
        means = _means_by_label(G, labels[mode])[labels[mode]]
        if not _fits_tree(G - means, labels[mode], edges[mode], slope):
            continue
        from_means = means.T - _means_by_label(means.T, labels[other])[labels[other]]
        if _fits_tree(from_means, labels[other], edges[other], slope):
            return True, True
        certain = mode == 0, mode == 1
    return certain


def _fits_tree(G: Array, labels: NDArray[np.intp], edges: Edges, slope: float) -> bool:
    """Return whether dual vectors on spanning trees of clusters can add up to minus G.

    G adds up to zero over each cluster. The vector of a tree edge is then the sum of G over the
    nodes beyond it, and must be no longer than slope times the weight of the edge.
    """
    n_nodes = len(labels)
    i, j = edges.pairs.T
    fused = labels[i] == labels[j]
    i, j, weights = i[fused], j[fused], edges.weights[fused]
    # No tree edge carries more than half the sum of the norms.
    half_sums = 0.5 * np.bincount(labels, np.linalg.norm(G, axis=1))
    if not len(i) or half_sums.max() <= slope * weights.min():
        return True
    # One more node, joined to the first of each cluster, makes the trees one.
    firsts = np.unique(labels, return_index=True)[1]
    rows = np.concatenate([i, firsts]).astype(np.int32)
    columns = np.concatenate([j, np.full(len(firsts), n_nodes)]).astype(np.int32)
    caps = np.concatenate([np.maximum(slope * weights, 1e-300), np.ones(len(firsts))])
    graph = sparse.csr_array((caps, (rows, columns)), shape=(n_nodes + 1, n_nodes + 1))
    graph = graph + graph.T
    order, parents = breadth_first_order(graph, n_nodes, directed=False)
    sums = np.vstack([G, np.zeros(G.shape[1])])
    for node in order[:0:-1]:
        sums[parents[node]] += sums[node]
    inner = np.setdiff1d(np.arange(n_nodes), firsts)
    lengths = np.linalg.norm(sums[inner], axis=1)
    return bool((lengths <= graph[inner, parents[inner]]).all())


def _means_by_label(G: Array, labels: NDArray[np.intp]) -> Array:
    """The mean of the rows of G with each label."""
    m, n = G.shape
    means = np.empty((int(labels.max()) + 1, n))
    block_means(np.ascontiguousarray(G), np.ones(m), np.ones(n), labels, np.arange(n), means)
    return means


def carries_gradient_up_to(bound: float, problem: Problem, penalty: Penalty) -> bool:
    """Return whether both modes are certain for any gradient of at most this norm."""
    n_rows, n_columns = problem.counts.shape
    row_cap, column_cap = _least_caps(problem, penalty)
    return (
        row_cap >= 2.0 * np.sqrt(n_rows) * bound and column_cap >= 2.0 * np.sqrt(n_columns) * bound
    )


def _least_caps(problem: Problem, penalty: Penalty) -> tuple[float, float]:
    """The least length that a dual vector of each mode may have on any fused edge."""
    slope = float(penalty.derivative(np.zeros(1))[0])
    return (
        slope * problem.rows.weights.min(initial=np.inf),
        slope * problem.columns.weights.min(initial=np.inf),
    )


def tangent_objective(
    problem: Problem, U: Array, caps: tuple[Array, Array], norms: tuple[Array, Array] | None = None
) -> float:
    """Return the objective of the weighted convex problem that the module describes."""
    row_norms, column_norms = problem.norms(U) if norms is None else norms
    data = 0.5 * np.vdot(problem.counts, (U - problem.means) ** 2)
    return float(data + caps[0] @ row_norms + caps[1] @ column_norms)


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
    r"""Return a lower bound on the objective with a linear penalty, from dual vectors.

    For vectors :math:`\lambda_e` with :math:`\|\lambda_e\| \le \gamma w_e`, one for each edge,
    and :math:`G = \sum_e D_e^T \lambda_e`,

    .. math:: \min f \ge \sum_{(i,j) \in \Theta} \left( g_{ij} x_{ij} - \tfrac12 g_{ij}^2 \right)
              + \sum_{(i,j) \notin \Theta} \min(g_{ij} \min X, g_{ij} \max X)

    since the minimiser lies within the range of the data. A vector that is too long is
    shortened, so that the bound is valid for any vectors.

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
    n_edges = problem.rows.n_edges, problem.columns.n_edges
    dual = Dual(row_dual[: n_edges[0]], column_dual[: n_edges[1]])
    no_lengths = np.zeros(n_edges[0]), np.zeros(n_edges[1])
    return dual.project(problem.slopes(penalty, no_lengths)).lower_bound(problem)
