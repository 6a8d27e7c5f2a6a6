"""Augmented Lagrangian descent, for penalties with a moderate slope at the origin.

With such a penalty, whether fused rows stay together depends on the data, and the multipliers of
the constraints W_e = D_e U (D_e U the difference of two rows or columns) carry that information.
The fast solver falls back on it where it cannot decide what to split. The penalty is replaced by
its tangent at the estimate, which leaves

    min_U  g(U) = 1/2 ||P(X - U)||^2 + sum_e c_e ||D_e U||,   c_e = weight Omega'(length).

Its augmented Lagrangian with the parameter rho is, in U, a sum of Huber functions of
D_e U + dual_e / rho. The quadratic that touches each from above has the curvature
rho min(1, c_e / ||dual_e + rho D_e U||), at most rho, so the linear systems stay well conditioned
however much fuses. An edge whose dual vector is shorter than its cap c_e is fused.

With a linear penalty the sweeps stop at a moderate duality gap, and `newton` continues.
"""

import numpy as np

from ..penalties import Penalty
from .certificate import Dual, Potentials, relative_gap, stationarity, tangent_objective
from .kernels.blocks import advance_multipliers, shrink_factors
from .kernels.quadratic import lower_quadratic, quadratic_residual
from .newton import polish
from .problem import Array, Iterate, Outcome, Problem

# Steps of conjugate gradients in a sweep, and the factor by which they should lower the residual.
CG_STEPS = np.int64(10)
CG_REDUCTION = 0.1

# Sweeps between two looks at the duality gap.
_CHECK_EVERY = 5

# A linear penalty is left to Newton's method below this duality gap, if the gap is this many times
# the tolerance or after so many sweeps: a few more sweeps take less time than Newton's first steps.
_NEWTON_AT = 1e-3
_FAR = 20.0
_MANY = 100

# Limit of the penalty parameter, in units of the weight of an observed entry, and of its inverse.
_LARGEST = 1e6

# The majoriser is renewed once it is solved to this share of what solving it has gained.
_SOLVED = 0.1


def minimise_by_multipliers(
    problem: Problem,
    U: Array,
    penalty: Penalty,
    *,
    max_iter: int,
    tol: float,
    dual: Dual | Potentials | None = None,
) -> Outcome:
    """Lower the objective from U, and from a dual point; `problem` must have nothing fused.

    Stops at a relative duality gap of `tol` for a linear penalty, at a relative stationarity
    residual of `tol` for others. The estimate is the best seen so far: the sweeps themselves
    do not lower the objective one by one.
    """
    best = Iterate.start(problem, U)
    norms = problem.norms(U)
    objective = problem.objective(U, penalty, norms)
    history = [objective]
    caps = problem.slopes(penalty, norms)
    start = lowest = tangent_objective(problem, U, caps, norms)
    V = U.copy()
    newton_at = _NEWTON_AT
    if isinstance(dual, Potentials):
        dual = dual.expand(problem, U, penalty)
    multipliers = _Multipliers(problem, dual or Dual.zeros(problem))
    n_iter = 0
    while n_iter < max_iter:
        n_iter += 1
        multipliers.sweep(V, caps)
        if n_iter % _CHECK_EVERY and n_iter < max_iter:
            continue
        dual = multipliers.dual
        bound = dual.lower_bound(problem)
        norms = problem.norms(V)
        multipliers.balance(V, caps, norms, tangent_objective(problem, V, caps, norms) - bound)
        plain = Iterate.start(problem, V.copy())
        for candidate in (multipliers.fuse(plain), plain):
            norms = problem.norms(candidate.estimate)
            lowest = min(lowest, tangent_objective(problem, candidate.estimate, caps, norms))
            value = problem.objective(candidate.estimate, penalty, norms)
            if value < objective:
                best, objective = candidate, value
        history.append(objective)
        if penalty.is_linear:
            gap = relative_gap(problem, penalty, objective, bound)
            if gap <= tol:
                return Outcome(best, history, n_iter, dual)
            is_hard = gap > _FAR * tol or n_iter > _MANY
            if gap <= newton_at and is_hard and n_iter < max_iter:
                polished = polish(problem, V, dual, penalty, max_iter=max_iter - n_iter, tol=tol)
                n_iter += polished.n_iter
                if polished.objective < objective:
                    best, objective = polished.iterate, polished.objective
                history.append(objective)
                gap = relative_gap(problem, penalty, objective, polished.bound)
                if gap <= tol or n_iter >= max_iter:
                    return Outcome(best, history, n_iter, polished.dual)
                # Newton's method got stuck: more sweeps from where it is.
                V, multipliers = best.estimate, _Multipliers(problem, polished.dual)
                newton_at = 0.1 * gap
        elif stationarity(problem, best.estimate, penalty, dual) <= tol:
            return Outcome(best, history, n_iter, dual)
        elif lowest - bound <= _SOLVED * (start - lowest):
            norms = problem.norms(best.estimate)
            caps = problem.slopes(penalty, norms)
            start = lowest = tangent_objective(problem, best.estimate, caps, norms)
    return Outcome(best, history, max_iter, multipliers.dual)


class _Multipliers:
    """The multipliers, their penalty parameter, and the momentum of their steps."""

    def __init__(self, problem: Problem, dual: Dual):
        self.problem = problem
        self.dual = dual
        self.leading = Dual(dual.rows.copy(), dual.columns.copy())
        self.fused = (
            np.zeros(problem.rows.n_edges, bool),
            np.zeros(problem.columns.n_edges, bool),
        )
        self.rho = 1.0
        self.clock = 1.0
        self.last_step = np.inf

    def sweep(self, V: Array, caps: tuple[Array, Array]) -> None:
        """One quadratic in V, in place, and one step of the multipliers."""
        problem, rho = self.problem, self.rho
        rows, columns = problem.rows, problem.columns
        Vt = np.ascontiguousarray(V.T)
        factors = (
            shrink_factors(V, self.leading.rows, rows.pairs, caps[0], rho),
            shrink_factors(Vt, self.leading.columns, columns.pairs, caps[1], rho),
        )
        weights = rho * factors[0], rho * factors[1]
        sizes = problem.row_sizes, problem.column_sizes
        adjacency = rows.adjacency, columns.adjacency
        R = np.empty_like(V)
        quadratic_residual(V, problem.means, problem.counts, *sizes, *adjacency, *weights, R)
        R -= self.leading.divergence(problem, factors)
        lower_quadratic(V, R, problem.counts, *sizes, *adjacency, *weights, CG_STEPS, CG_REDUCTION)
        np.copyto(Vt, V.T)
        clock = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * self.clock**2))
        momentum = (self.clock - 1.0) / clock
        row_step, fused_rows = advance_multipliers(
            V, self.dual.rows, self.leading.rows, rows.pairs, caps[0], rho, momentum
        )
        column_step, fused_columns = advance_multipliers(
            Vt, self.dual.columns, self.leading.columns, columns.pairs, caps[1], rho, momentum
        )
        self.fused = fused_rows, fused_columns
        self.clock = clock
        if row_step + column_step > self.last_step:
            # Steps that grow overshoot: start again without momentum.
            self.clock = 1.0
            np.copyto(self.leading.rows, self.dual.rows)
            np.copyto(self.leading.columns, self.dual.columns)
        self.last_step = row_step + column_step

    def balance(
        self, V: Array, caps: tuple[Array, Array], norms: tuple[Array, Array], gap: float
    ) -> None:
        """Raise rho if the gap is mostly slack of the edges, lower it if it is mostly residual."""
        inner = np.vdot(self.dual.divergence(self.problem), V)
        residual = gap - (caps[0] @ norms[0] + caps[1] @ norms[1] - inner)
        # The slack as if no cap were far above its dual vector: such an edge is fused anyway.
        lengths = self.dual.lengths()
        near = np.minimum(caps[0], 2.0 * lengths[0]), np.minimum(caps[1], 2.0 * lengths[1])
        slack = near[0] @ norms[0] + near[1] @ norms[1] - inner
        if slack > 3.0 * residual:
            self.rho = min(1.5 * self.rho, _LARGEST)
        elif residual > 3.0 * slack:
            self.rho = max(self.rho / 1.5, 1.0 / _LARGEST)

    def fuse(self, iterate: Iterate) -> Iterate:
        """An unfused iterate with what fused edges connect replaced by its mean."""
        return iterate.fuse(
            self.problem.rows.components(self.fused[0]),
            self.problem.columns.components(self.fused[1]),
        )
