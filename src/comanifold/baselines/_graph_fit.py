"""A fit of `GraphCompletion`: effects, graphs, the choice of settings, and the solution."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model_selection import HeldOut
from ._graph_data import (
    Effects,
    Entries,
    UnitGraph,
    effects_of_entries,
    effects_of_matrix,
    neighbor_graph,
    read_graph,
)
from ._graph_factors import FactorCosts, FactorProblem, FactorSolution, leading_value
from ._graph_selection import (
    MIN_COST,
    MIN_GAIN,
    BicCriterion,
    HeldOutCriterion,
    Settings,
    Trial,
    determined_entries,
    minimise_over_costs,
    search_pattern,
)
from ._graph_solvers import (
    SmoothingProblem,
    Solution,
    Stopping,
    solve_dirichlet,
    solve_l1,
    solve_nuclear,
)

Array = NDArray[np.float64]
Graphs = tuple[UnitGraph | None, UnitGraph | None]

# Settings where no entry can be held out: the cost of each graph, and the penalty as a part of the
# largest singular value.
_COST, _PENALTY_PART = 0.1, 0.1

# The search for costs of the absolute loss starts at most here.
_MOST_FOR_L1 = 30.0

# Where to stop while settings are compared.
_SEARCH = Stopping(1e-3, 100)

# Neighbours of a matrix with outliers: residuals count up to so many robust deviations.
_CLIP = 3.0

# Of a sparse matrix, one entry in so many is held out, at most so many altogether, and none of rows
# and columns that would keep fewer than the last number.
_HOLD_OUT_EVERY, _MOST_HELD_OUT, _MIN_KEPT = 10, 200_000, 2


@dataclass(frozen=True)
class Options:
    """What a fit needs besides the matrix; see the parameters of `GraphCompletion`."""

    regularizer: str
    loss: str
    selection: str
    settings: Settings
    effects: bool | str
    graphs: tuple[Any, Any]
    n_neighbors: tuple[int, int]
    rank: int
    stopping: Stopping
    random_state: np.random.RandomState

    @property
    def effects_to_try(self) -> tuple[bool, ...]:
        """Whether to subtract effects; if both are possible, the first where none can be chosen."""
        return (True, False) if self.effects == "auto" else (bool(self.effects),)

    def error(self, errors: Array) -> float:
        """Return the mean absolute error for "l1", else the mean squared error."""
        return float(np.mean(np.abs(errors) if self.loss == "l1" else errors**2))

    def in_units(self, error: float, scale: float) -> float:
        """Return an error as mean absolute or root mean square error, in units of the data."""
        return scale * (error if self.loss == "l1" else float(np.sqrt(error)))

    def choose_graphs(self, Z: Array) -> tuple[UnitGraph, UnitGraph]:
        """Return the given graphs, or those of the nearest neighbours of residuals."""
        if self.loss == "l1":
            Z = np.clip(Z, -_CLIP, _CLIP)
        found = (
            neighbor_graph(A, n) if given is None else read_graph(given, len(A), mode)
            for mode, given, A, n in zip(
                ("row", "column"), self.graphs, (Z, Z.T), self.n_neighbors, strict=True
            )
        )
        rows, columns = (UnitGraph.of(graph) for graph in found)
        return rows, columns


class HeldOutErrors(NamedTuple):
    """Errors on the held-out entries by which settings were chosen, and of effects alone."""

    of_model: float
    of_effects: float


class Fit(NamedTuple):
    """The result of a fit; `bic` and `errors` are None where settings were not chosen by them."""

    effects: Effects
    graphs: Graphs
    settings: Settings
    solution: Solution | FactorSolution
    errors: HeldOutErrors | None = None
    bic: float | None = None


class _Choice(NamedTuple):
    """Settings with the least error on held-out entries, and whether effects are subtracted."""

    subtract: bool
    trial: Trial
    error: float


def _best_choice(choices: Iterable[_Choice]) -> _Choice:
    """Return the choice of the least error; a later one has to be better by a thousandth."""
    best, *others = choices
    for other in others:
        if other.error < (1.0 - MIN_GAIN) * best.error:
            best = other
    return best


class _Part:
    """A matrix, or the rest of one without held-out entries, ready to be solved."""

    def __init__(self, X: Array, options: Options, *, subtract: bool):
        robust = options.loss == "l1"
        self.effects, Z = effects_of_matrix(X, robust=robust, subtract=subtract)
        self.graphs = options.choose_graphs(Z)
        self.problem = SmoothingProblem(Z, *self.graphs)

    def solve(
        self, options: Options, settings: Settings, stopping: Stopping, start: Array | None
    ) -> Solution:
        """Solve the problem that the options name."""
        if options.loss == "l1":
            return solve_l1(self.problem, settings.costs, stopping, start)
        if options.regularizer == "nuclear":
            return solve_nuclear(self.problem, settings.costs, settings.penalty, stopping, start)
        return solve_dirichlet(self.problem, settings.costs, stopping, start)

    def first_penalty(self) -> float:
        """Return the penalty where none can be chosen, and where the search for one starts."""
        return max(_PENALTY_PART * float(np.linalg.norm(self.problem.X, 2)), MIN_COST)


def fit_matrix(X: Array, options: Options) -> Fit:
    """Fit "dirichlet", "nuclear" or the loss "l1" to a matrix with NaN for missing entries."""
    settings, start, errors, bic = options.settings, None, None, None
    subtract = options.effects_to_try[0]
    if any(settings.free) and options.selection == "held-out":
        held_out = HeldOut(X, from_complete=True)
        if held_out.values.size:
            choices = (_choose_settings(held_out, options, s) for s in options.effects_to_try)
            best = _best_choice(choices)
            control = effects_of_matrix(held_out.rest(), robust=options.loss == "l1")[0]
            errors = HeldOutErrors(best.error, _effects_error(control, held_out, options))
            subtract, settings, start = best.subtract, best.trial.settings, best.trial.solution
    whole = _Part(X, options, subtract=subtract)
    if any(settings.free) and options.selection == "bic":
        settings, bic = _choose_by_bic(whole, options)
    elif any(settings.free):
        settings = settings.completed(_COST, _COST, whole.first_penalty())
    solution = whole.solve(options, settings, options.stopping, start)
    return Fit(whole.effects, whole.graphs, settings, solution, errors, bic)


def _effects_error(effects: Effects, held_out: HeldOut | Entries, options: Options) -> float:
    """Return the error of effects alone on held-out entries, in units of the data."""
    errors = (held_out.values - effects.at(held_out.rows, held_out.columns)) / effects.scale
    return options.in_units(options.error(errors), effects.scale)


def _choose_by_bic(whole: _Part, options: Options) -> tuple[Settings, float]:
    """Return the settings with the least BIC, and its value."""
    given = options.settings.costs
    determined = determined_entries(
        whole.problem.observed,
        *(of_mode.graph for of_mode in whole.graphs),
        (given[0] != 0.0, given[1] != 0.0),
    )
    criterion = BicCriterion(whole.problem, determined, options.random_state)
    costs, bic = minimise_over_costs(criterion, given)
    return Settings(*costs, 0.0), bic


def _choose_settings(held_out: HeldOut, options: Options, subtract: bool) -> _Choice:
    """Return the settings that predict held-out entries best.

    Costs are first found for "dirichlet", where the error has a gradient. They are the start of a
    pattern search for other problems.
    """
    rest = _Part(held_out.rest(), options, subtract=subtract)
    scale = rest.effects.scale
    places = held_out.rows, held_out.columns
    values = (held_out.values - rest.effects.at(*places)) / scale
    given = options.settings
    costs, error = minimise_over_costs(HeldOutCriterion(rest.problem, *places, values), given.costs)
    if options.loss == "squared" and options.regularizer == "dirichlet":
        best = Trial(Settings(*costs, 0.0), error, None)
        return _Choice(subtract, best, options.in_units(error, scale))

    def try_settings(tried: Settings, start: Array | None) -> tuple[float, Array]:
        U = rest.solve(options, tried, _SEARCH, start).U
        return options.error(U[places] - values), U

    if options.loss == "l1":  # proximal steps are as short as costs are large
        costs = min(costs[0], _MOST_FOR_L1), min(costs[1], _MOST_FOR_L1)
    start = given.completed(*costs, rest.first_penalty())
    best = search_pattern(try_settings, start, given.free)
    return _Choice(subtract, best, options.in_units(best.error, scale))


class Split(NamedTuple):
    """Entries, held-out entries, and the graphs to use with the former."""

    rest: Entries
    held_out: Entries
    graphs: Graphs


def fit_factors_to_matrix(X: Array, options: Options) -> Fit:
    """Fit "factors" to a matrix with NaN for missing entries."""
    graphs, split = _graphs_of(X, options), None
    if any(options.settings.free):
        held_out = HeldOut(X, from_complete=True)
        if held_out.values.size:
            rest = held_out.rest()
            entries = Entries(held_out.rows, held_out.columns, held_out.values, X.shape)
            split = Split(Entries.of_matrix(rest), entries, _graphs_of(rest, options))
    return _fit_factors(Entries.of_matrix(X), graphs, split, options)


def _graphs_of(X: Array, options: Options) -> tuple[UnitGraph, UnitGraph]:
    return options.choose_graphs(effects_of_matrix(X, subtract=options.effects_to_try[0])[1])


def fit_factors_to_entries(entries: Entries, options: Options) -> Fit:
    """Fit "factors" to the stored entries of a sparse matrix; a mode without a graph has cost 0."""
    rows, columns = (
        None if graph is None else UnitGraph.of(read_graph(graph, size, mode))
        for mode, graph, size in zip(("row", "column"), options.graphs, entries.shape, strict=True)
    )
    given = options.settings
    settings = Settings(
        0.0 if rows is None else given.row_cost,
        0.0 if columns is None else given.column_cost,
        given.penalty,
    )
    options = replace(options, settings=settings)
    split = None
    if any(settings.free):
        held = _hold_out(entries, options.random_state)
        if held.any():
            split = Split(entries.select(~held), entries.select(held), (rows, columns))
    return _fit_factors(entries, (rows, columns), split, options)


def _fit_factors(entries: Entries, graphs: Graphs, split: Split | None, options: Options) -> Fit:
    settings, start, errors = options.settings, None, None
    subtract = options.effects_to_try[0]
    if split is not None:
        best = _best_choice(_choose_factors(split, options, s) for s in options.effects_to_try)
        control = effects_of_entries(split.rest)[0]
        errors = HeldOutErrors(best.error, _effects_error(control, split.held_out, options))
        subtract, settings = best.subtract, best.trial.settings
        start = best.trial.solution.W, best.trial.solution.H
    effects, Z = effects_of_entries(entries, subtract=subtract)
    problem = _factor_problem(Z, graphs)
    start = problem.start(options.rank) if start is None else start
    if any(settings.free):
        penalty = _first_penalty(start)
        settings = settings.completed(penalty, penalty, penalty)
    costs = FactorCosts(settings.penalty, *settings.costs)
    solution = problem.solve(costs, options.stopping, start)
    return Fit(effects, graphs, settings, solution, errors)


def _first_penalty(start: tuple[Array, Array]) -> float:
    """Return the penalty where none can be chosen, and where the search for one starts."""
    return max(_PENALTY_PART * leading_value(start), MIN_COST)


def _factor_problem(entries: Entries, graphs: Graphs) -> FactorProblem:
    return FactorProblem(entries, *(None if g is None else g.laplacian for g in graphs))


def _choose_factors(split: Split, options: Options, subtract: bool) -> _Choice:
    """Return the settings that predict held-out entries best."""
    effects, Z = effects_of_entries(split.rest, subtract=subtract)
    places = split.held_out.rows, split.held_out.columns
    values = (split.held_out.values - effects.at(*places)) / effects.scale
    problem = _factor_problem(Z, split.graphs)
    first = problem.start(options.rank)

    def try_settings(tried: Settings, _: FactorSolution | None) -> tuple[float, FactorSolution]:
        # All from the same start: a solution for a large penalty may have lost directions, which
        # are zero in both factors and never return.
        found = problem.solve(FactorCosts(tried.penalty, *tried.costs), _SEARCH, first)
        predicted = np.einsum("ij,ij->i", found.W[places[0]], found.H[places[1]])
        return options.error(predicted - values), found

    penalty = _first_penalty(first)
    start = options.settings.completed(penalty, penalty, penalty)
    best = search_pattern(try_settings, start, options.settings.free)
    return _Choice(subtract, best, options.in_units(best.error, effects.scale))


def _hold_out(entries: Entries, random_state: np.random.RandomState) -> NDArray[np.bool_]:
    """Return which entries of a sparse matrix to hold out, at random."""
    n_entries = len(entries.values)
    n_held_out = min(n_entries // _HOLD_OUT_EVERY, _MOST_HELD_OUT)
    held = np.zeros(n_entries, dtype=bool)
    held[random_state.permutation(n_entries)[:n_held_out]] = True
    for places, size in zip((entries.rows, entries.columns), entries.shape, strict=True):
        left = np.bincount(places[~held], minlength=size)
        held &= left[places] >= _MIN_KEPT
    return held
