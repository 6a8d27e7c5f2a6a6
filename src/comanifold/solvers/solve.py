"""Co-clustering at one pair of costs: from the units of the data to a solver, and back."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graphs import Graph
from ..penalties import CompiledPenalty, Penalty, compile_penalty, rescale
from .certificate import Certificate, Potentials, relative_gap, stationarity
from .fast import minimise_fast, tidy
from .paper import minimise_paper
from .problem import Array, Outcome, Problem

# Costs are at most this in standard units: an infinite one times a length of zero would not be a
# number.
_LARGEST_COST = 1e300


class Solver(NamedTuple):
    """A solver, and the methods that a penalty must have for it."""

    minimise: Callable[..., Outcome]
    needs: tuple[str, ...]


SOLVERS = {
    "fast": Solver(minimise_fast, ("value", "derivative")),
    "paper": Solver(minimise_paper, ("value", "derivative")),
}


@dataclass(frozen=True)
class SolverOptions:
    """A penalty, a solver and its stopping rule."""

    penalty: Penalty
    solver: str
    max_iter: int
    tol: float

    def __post_init__(self):
        missing = [
            name
            for name in SOLVERS[self.solver].needs
            if not callable(getattr(self.penalty, name, None))
        ]
        if missing:
            raise ValueError(
                f"solver {self.solver!r} needs a penalty with {' and '.join(missing)}(z), which "
                f"{type(self.penalty).__name__} does not have"
            )

    @property
    def stop(self) -> dict[str, float]:
        """`max_iter` and `tol` as keyword arguments."""
        return {"max_iter": self.max_iter, "tol": self.tol}

    def minimise(self, problem: Problem, init: Array | None, penalty: CompiledPenalty) -> Outcome:
        """Run the solver on a problem in standard units, with the penalty in these units."""
        return SOLVERS[self.solver].minimise(problem, init, penalty, **self.stop)


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


def solve(
    X: Array,
    row_graph: Graph,
    column_graph: Graph,
    method: SolverOptions,
    *,
    row_cost: float,
    column_cost: float,
    init: Array | None = None,
) -> CoClustering:
    """Solve a problem whose parts have been validated.

    The solvers see data of mean zero and variance one: nothing changes but the units of the
    penalty, and no size of the data makes their squares overflow or vanish.
    """
    mean, scale = mean_and_scale(X)
    penalty, factor = rescale(method.penalty, 1.0 / scale)
    penalty = compile_penalty(penalty)
    # Costs of any size are allowed; where they overflow, nothing but their being large matters.
    with np.errstate(over="ignore"):
        problem = Problem.build(
            (X - mean) / scale,
            row_graph,
            column_graph,
            row_cost=min(row_cost * factor, _LARGEST_COST),
            column_cost=min(column_cost * factor, _LARGEST_COST),
        )
        in_units = Problem.build(
            X, row_graph, column_graph, row_cost=row_cost, column_cost=column_cost
        )
        start = None if init is None else problem.clip((init - mean) / scale)
        outcome = tidy(method.minimise(problem, start, penalty), penalty)
        history = np.array(outcome.history) * scale * scale
        if init is not None:
            given = max(in_units.objective(init, method.penalty), history[0])  # but for rounding
            history = np.concatenate([[given], history])
        estimate = scale * outcome.iterate.estimate + mean
        objective = in_units.objective(estimate, method.penalty)
        certificate = certify(outcome, problem, penalty, objective / scale / scale)
        certificate = _in_units(certificate, scale, row_graph, column_graph)
    return CoClustering(
        estimate=estimate,
        filled=np.where(np.isnan(X), estimate, X),
        objective=objective,
        objective_history=history,
        row_labels=_in_order_of_appearance(outcome.iterate.row_labels),
        column_labels=outcome.iterate.column_labels,
        n_iter=outcome.n_iter,
        status=status_of(certificate, outcome.n_iter, method),
        certificate=certificate,
    )


def _in_order_of_appearance(labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return labels numbered in the order in which they first appear."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def mean_and_scale(X: Array) -> tuple[float, float]:
    """Mean and standard deviation of the observed entries; 1 for the latter if they are equal."""
    observed = X[~np.isnan(X)]
    peak = float(np.abs(observed).max()) or 1.0
    scaled = observed / peak
    mean, scale = peak * scaled.mean(), peak * scaled.std()
    # A standard deviation of equal values is rounding error.
    if np.ptp(observed) == 0.0:
        return float(observed[0]), 1.0
    if scale < 1e-153:
        raise ValueError(
            f"X has a standard deviation of {scale:.3g}, whose square vanishes: multiply X by a "
            "constant"
        )
    return float(mean), float(scale)


def certify(
    outcome: Outcome, problem: Problem, penalty: CompiledPenalty, objective: float
) -> Certificate:
    """The certificate in standard units, with the dual point of a linear penalty."""
    dual = outcome.dual
    if dual is None:
        return Certificate(stationarity=outcome.stationarity)
    U = outcome.iterate.estimate
    residual = stationarity(problem, U, penalty, dual)
    if not penalty.is_linear:
        return Certificate(stationarity=residual)
    if isinstance(dual, Potentials):
        dual = dual.expand(problem, U, penalty)
    bound = dual.lower_bound(problem)
    gap = relative_gap(problem, penalty, objective, bound)
    return Certificate(residual, gap, bound, dual.rows, dual.columns)


def _in_units(
    certificate: Certificate, scale: float, row_graph: Graph, column_graph: Graph
) -> Certificate:
    """The certificate in the units of the data."""
    if certificate.lower_bound is None:
        return certificate
    return replace(
        certificate,
        lower_bound=certificate.lower_bound * scale * scale,
        row_dual=_on_all_edges(scale * certificate.row_dual, row_graph),
        column_dual=_on_all_edges(scale * certificate.column_dual, column_graph),
    )


def _on_all_edges(vectors: Array, graph: Graph) -> Array:
    """Zero on the edges that were left out for having no cost."""
    return vectors if len(vectors) else np.zeros((graph.n_edges, vectors.shape[1]))


def status_of(certificate: Certificate, n_iter: int, method: SolverOptions) -> str:
    """Whether the tolerance was met, or why the solver stopped before."""
    reached = certificate.stationarity if certificate.gap is None else certificate.gap
    if reached <= method.tol:
        return "converged"
    return "max_iter" if n_iter >= method.max_iter else "stalled"
