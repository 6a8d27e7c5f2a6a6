"""From a problem in the units of the data to a solver in standard units, and back."""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ..graphs import Graph
from ..penalties import Penalty
from ._certificate import Certificate, relative_gap, stationarity
from ._fast import minimise_fast
from ._fusion import collapse
from ._outcome import Outcome
from ._paper import minimise_paper
from ._problem import Array, Problem
from ._quadratic import relative_gradient
from ._result import CoClustering

SOLVERS = {"fast": minimise_fast, "paper": minimise_paper}


class _InStandardUnits(Penalty):
    """Omega(s z) / s^2: what a penalty becomes when data and objective are divided by s, s^2."""

    def __init__(self, penalty: Penalty, scale: float):
        self.penalty = penalty
        self.scale = scale
        self.is_linear = getattr(penalty, "is_linear", False)

    def value(self, z: ArrayLike) -> Array:
        return self.penalty.value(self.scale * np.asarray(z)) / self.scale / self.scale

    def derivative(self, z: ArrayLike) -> Array:
        return self.penalty.derivative(self.scale * np.asarray(z)) / self.scale


def solve(
    X: Array,
    row_graph: Graph,
    column_graph: Graph,
    *,
    row_cost: float,
    column_cost: float,
    penalty: Penalty,
    solver: str,
    init: Array | None,
    max_iter: int,
    tol: float,
) -> CoClustering:
    """Solve a problem whose parts have been checked.

    The solvers see data of mean zero and variance one: nothing changes but the units of the
    penalty, and no size of the data makes their squares overflow or vanish.
    """
    mean, scale = mean_and_scale(X)
    costs = {"row_cost": row_cost, "column_cost": column_cost}
    problem = Problem.build((X - mean) / scale, row_graph, column_graph, **costs)
    in_units = Problem.build(X, row_graph, column_graph, **costs)
    standard = _InStandardUnits(penalty, scale)
    # Costs of any size are allowed; where they overflow, nothing but their being large matters.
    with np.errstate(over="ignore"):
        start = None if init is None else problem.clip((init - mean) / scale)
        outcome = SOLVERS[solver](problem, start, standard, max_iter=max_iter, tol=tol)
        outcome = tidy(outcome, standard)
        history = np.array(outcome.history) * scale * scale
        if init is not None:
            given = max(in_units.objective(init, penalty), history[0])  # but for rounding errors
            history = np.concatenate([[given], history])
        estimate = scale * outcome.iterate.estimate + mean
        objective = in_units.objective(estimate, penalty)
        certificate = certify(outcome, problem, standard, objective / scale / scale)
        certificate = _in_units(certificate, outcome, scale, row_graph, column_graph)
    return CoClustering(
        estimate=estimate,
        filled=np.where(np.isnan(X), estimate, X),
        objective=objective,
        objective_history=history,
        row_labels=outcome.iterate.row_labels,
        column_labels=outcome.iterate.column_labels,
        n_iter=outcome.n_iter,
        status=status_of(certificate, outcome.n_iter, max_iter, tol),
        certificate=certificate,
    )


def tidy(outcome: Outcome, penalty: Penalty) -> Outcome:
    """Clip to the range of the data, and make equal what differs only because the solver stopped.

    Neither raises the objective.
    """
    iterate = outcome.iterate
    iterate = replace(iterate, V=iterate.problem.clip(iterate.V))
    norms = iterate.problem.norms(iterate.V)
    objective = iterate.problem.objective(iterate.V, penalty, norms)
    iterate, objective = collapse(iterate, penalty, norms, objective)
    history = outcome.history
    if objective < history[-1]:
        history = [*history, objective]
    return replace(outcome, iterate=iterate, history=history)


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


def certify(outcome: Outcome, problem: Problem, penalty: Penalty, objective: float) -> Certificate:
    """The certificate in standard units, without the dual point."""
    iterate, dual = outcome.iterate, outcome.dual
    if dual is None:
        return Certificate(stationarity=relative_gradient(iterate, penalty))
    residual = stationarity(problem, iterate.estimate, penalty, dual)
    if not penalty.is_linear:
        return Certificate(stationarity=residual)
    bound = dual.lower_bound(problem)
    gap = relative_gap(problem, penalty, objective, bound)
    return Certificate(stationarity=residual, gap=gap, lower_bound=bound)


def _in_units(
    certificate: Certificate,
    outcome: Outcome,
    scale: float,
    row_graph: Graph,
    column_graph: Graph,
) -> Certificate:
    """The certificate in the units of the data, with the dual point of a linear penalty."""
    if certificate.lower_bound is None or outcome.dual is None:
        return certificate
    return replace(
        certificate,
        lower_bound=certificate.lower_bound * scale * scale,
        row_dual=_on_all_edges(scale * outcome.dual.rows, row_graph),
        column_dual=_on_all_edges(scale * outcome.dual.columns, column_graph),
    )


def _on_all_edges(vectors: Array, graph: Graph) -> Array:
    """Zero on the edges that were left out for having no cost."""
    return vectors if len(vectors) else np.zeros((graph.n_edges, vectors.shape[1]))


def status_of(certificate: Certificate, n_iter: int, max_iter: int, tol: float) -> str:
    reached = certificate.stationarity if certificate.gap is None else certificate.gap
    if reached <= tol:
        return "converged"
    return "max_iter" if n_iter >= max_iter else "stalled"
