r"""Choice of the costs of `GraphCompletion`: by held-out entries, or by BIC.

For the squared loss without other penalties the estimate is :math:`u = S^{-1} P x` with
:math:`S = P + \gamma_r I \otimes L_r + \gamma_c L_c \otimes I`, and both criteria are smooth
functions of the logarithms of the costs, which a quasi-Newton method minimises:

.. math:: BIC = |\Theta| \log \| P(x - u) \|^2 + \log|\Theta| \operatorname{tr} S^{-1}

and the mean squared error on held-out entries. Their gradients need one solution of S v = e more,
with the errors e for a right side: :math:`du/d\gamma_r = -S^{-1} L_r u`. The trace is estimated
by probes z of random signs (Hutchinson), and so is its derivative,
:math:`-\operatorname{tr}(S^{-1} L_r S^{-1}) \approx -(S^{-1} z)' L_r (S^{-1} z)`.

Settings of other problems are found by a pattern search (`search_pattern`).

References
----------
Chi, Hu, Saibaba and Rao (2018), Going off the grid: iterative model selection for biclustered
matrix completion, Journal of Computational and Graphical Statistics.
"""

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from ..graphs import Graph
from ._graph_solvers import Costs, SmoothingProblem, Stopping

Array = NDArray[np.float64]
Criterion = Callable[[Costs], tuple[float, Array]]

# Costs are looked for between these, for Laplacians with the largest eigenvalue 1; the search
# starts from the best pair of these values.
MIN_COST, MAX_COST = 1e-4, 1e4
_FIRST_COSTS = (0.03, 1.0, 30.0)

# Residual of the linear systems, and limit on the steps for each.
_STOPPING = Stopping(1e-6, 500)

# Iterations of the quasi-Newton method, and the relative change of the criterion that ends it.
_MAX_ITER, _MIN_CHANGE = 30, 1e-5

_N_PROBES = 5

# The pattern search: the first and the last factor between settings, the part of the error by which
# another setting has to be better, and the most settings that are tried.
_FIRST_FACTOR, _LAST_FACTOR = 10.0, 2.0
MIN_GAIN = 1e-3
_MAX_TRIALS = 40


class Settings(NamedTuple):
    """The costs of both graphs and the penalty; None for those to choose."""

    row_cost: float | None
    column_cost: float | None
    penalty: float | None

    @property
    def costs(self) -> tuple[float | None, float | None]:
        """The costs of both graphs."""
        return self.row_cost, self.column_cost

    @property
    def free(self) -> tuple[bool, bool, bool]:
        """Which settings are to choose."""
        return self.row_cost is None, self.column_cost is None, self.penalty is None

    def completed(self, row_cost: float, column_cost: float, penalty: float) -> "Settings":
        """Return the settings with these for the ones to choose."""
        others = row_cost, column_cost, penalty
        pairs = zip(self, others, strict=True)
        return Settings(*(other if own is None else own for own, other in pairs))


class HeldOutCriterion:
    """The mean squared error on held-out entries, as a function of the costs.

    Parameters
    ----------
    problem : SmoothingProblem
        Of the matrix without the held-out entries.
    rows, columns : ndarray of int
        Indices of the held-out entries.
    values : ndarray of float
    stopping : Stopping, optional
        Of the linear systems.
    """

    def __init__(
        self,
        problem: SmoothingProblem,
        rows: NDArray[np.intp],
        columns: NDArray[np.intp],
        values: Array,
        stopping: Stopping = _STOPPING,
    ):
        self._problem, self._values, self._stopping = problem, values, stopping
        self._places = rows, columns
        self._U = self._adjoint = np.zeros(problem.shape)

    def __call__(self, costs: Costs) -> tuple[float, Array]:
        """Return the error and its gradient with respect to the costs."""
        solve = _solver(self._problem, costs, self._stopping)
        self._U = solve(self._problem.X, self._U)
        errors = self._U[self._places] - self._values
        scattered = np.zeros(self._problem.shape)
        scattered[self._places] = errors
        self._adjoint = solve(scattered, self._adjoint)
        slopes = self._problem.slopes(self._adjoint, self._U)
        return float(np.mean(errors**2)), -2.0 / len(errors) * slopes


class BicCriterion:
    """BIC as a function of the costs, its trace by probes of random signs.

    Parameters
    ----------
    problem : SmoothingProblem
    determined : ndarray of bool of shape (n_rows, n_columns)
        Entries that the graphs connect with an observed one: the trace is that of their part.
    random_state : numpy.random.RandomState
    n_probes : int, default=5
    stopping : Stopping, optional
        Of the linear systems.
    """

    def __init__(
        self,
        problem: SmoothingProblem,
        determined: NDArray[np.bool_],
        random_state: np.random.RandomState,
        n_probes: int = _N_PROBES,
        stopping: Stopping = _STOPPING,
    ):
        self._problem, self._stopping = problem, stopping
        signs = random_state.randint(2, size=(n_probes, *problem.shape)) * 2.0 - 1.0
        self._probes = signs * determined
        self._solved = np.zeros_like(self._probes)
        self._U = self._adjoint = np.zeros(problem.shape)

    def __call__(self, costs: Costs) -> tuple[float, Array]:
        """Return BIC and its gradient with respect to the costs."""
        problem = self._problem
        solve = _solver(problem, costs, self._stopping)
        n_observed = float(problem.weights.sum())
        self._U = solve(problem.X, self._U)
        errors = problem.weights * (problem.X - self._U)
        square = max(float(np.vdot(errors, errors)), 1e-300)
        self._adjoint = solve(errors, self._adjoint)
        trace, slopes = 0.0, np.zeros(2)
        for k, probe in enumerate(self._probes):
            self._solved[k] = solve(probe, self._solved[k])
            trace += np.vdot(probe, self._solved[k]) / len(self._probes)
            slopes -= problem.slopes(self._solved[k], self._solved[k]) / len(self._probes)
        of_square = 2.0 * problem.slopes(self._adjoint, self._U)
        value = n_observed * np.log(square) + np.log(n_observed) * trace
        return float(value), n_observed * of_square / square + np.log(n_observed) * slopes


def _solver(
    problem: SmoothingProblem, costs: Costs, stopping: Stopping
) -> Callable[[Array, Array], Array]:
    """Return the function that solves S u = right from an initial u."""
    return lambda right, start: problem.solve(right, costs, stopping, start=start)[0]


def determined_entries(
    observed: NDArray[np.bool_], row_graph: Graph, column_graph: Graph, smoothed: tuple[bool, bool]
) -> NDArray[np.bool_]:
    """Return which entries the edges of the smoothed modes connect with an observed one."""
    labels = [
        graph.component_labels if is_smoothed else np.arange(graph.n_nodes)
        for graph, is_smoothed in zip((row_graph, column_graph), smoothed, strict=True)
    ]
    shape = tuple(int(of_mode.max()) + 1 for of_mode in labels)
    found = np.zeros(shape, dtype=bool)
    rows, columns = np.nonzero(observed)
    found[labels[0][rows], labels[1][columns]] = True
    return found[np.ix_(*labels)]


def minimise_over_costs(
    criterion: Criterion, given: tuple[float | None, float | None]
) -> tuple[Costs, float]:
    """Return the costs that minimise a criterion, and its value.

    Parameters
    ----------
    criterion : callable
        Given a pair of costs, returns its value and gradient.
    given : pair of float or None
        Costs that are fixed; None for one to choose.
    """
    free = [mode for mode in (0, 1) if given[mode] is None]

    def costs_of(logs: Array) -> Costs:
        costs = list(given)
        for mode, log in zip(free, logs, strict=True):
            costs[mode] = float(np.exp(log))
        return costs[0], costs[1]

    def value(logs: Array) -> tuple[float, Array]:
        costs = costs_of(logs)
        found, gradient = criterion(costs)
        return found, np.array([gradient[mode] * costs[mode] for mode in free])

    if not free:
        return costs_of(np.empty(0)), criterion(costs_of(np.empty(0)))[0]
    firsts = np.log(_FIRST_COSTS)
    grid = np.stack(np.meshgrid(*[firsts] * len(free), indexing="ij"), axis=-1)
    grid = grid.reshape(-1, len(free))
    values = [value(logs)[0] for logs in grid]
    start = grid[int(np.argmin(values))]
    # The scale keeps the first step, a gradient step, from being too long.
    scale = max(abs(min(values)), 1e-300)

    def scaled(logs: Array) -> tuple[float, Array]:
        found, gradient = value(logs)
        return found / scale, gradient / scale

    result = minimize(
        scaled,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(np.log(MIN_COST), np.log(MAX_COST))] * len(free),
        options={"maxiter": _MAX_ITER, "ftol": _MIN_CHANGE, "gtol": 1e-6},
    )
    return costs_of(result.x), float(result.fun) * scale


class Trial(NamedTuple):
    """Settings, the error on held-out entries, and the solution."""

    settings: Settings
    error: float
    solution: Any


def search_pattern(
    try_settings: Callable[[Settings, Any], tuple[float, Any]],
    start: Settings,
    free: tuple[bool, bool, bool],
) -> Trial:
    """Return the best of settings that are changed by a factor, one at a time.

    From the best settings so far each free one is multiplied and divided by a factor, and a better
    error is taken at once. Where none is better, the factor becomes its root.

    Parameters
    ----------
    try_settings : callable
        Given settings and the best solution so far, or None, returns the error on held-out entries
        and the solution.
    start : Settings
    free : tuple of bool
        Which settings may change.
    """
    best = Trial(start, *try_settings(start, None))
    tried, factor = {_key(start)}, _FIRST_FACTOR
    while factor >= _LAST_FACTOR and len(tried) < _MAX_TRIALS:
        is_better = False
        for place, multiplier in product(np.flatnonzero(free), (factor, 1.0 / factor)):
            values = list(best.settings)
            values[place] = float(np.clip(values[place] * multiplier, MIN_COST, MAX_COST))
            settings = Settings(*values)
            if _key(settings) in tried:
                continue
            tried.add(_key(settings))
            error, solution = try_settings(settings, best.solution)
            if error < (1.0 - MIN_GAIN) * best.error:
                best, is_better = Trial(settings, error, solution), True
        if not is_better:
            factor = np.sqrt(factor)
    return best


def _key(settings: Settings) -> tuple[float, ...]:
    """Return settings with so many digits that those found on different ways are the same."""
    return tuple(float(f"{value:.6g}") for value in settings)
