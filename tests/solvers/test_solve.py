"""Co-clustering at one pair of costs, in the units of the data."""

import numpy as np
import pytest
from oracles.problems import PENALTIES, Exponential, random_problem

from comanifold.penalties import Snowflake
from comanifold.solvers import SolverOptions, solve
from comanifold.solvers.solve import SOLVERS


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_solver_names_what_a_penalty_lacks(solver):
    class Half:
        def value(self, z):
            return z

    with pytest.raises(ValueError, match=f"'{solver}' needs a penalty with derivative.*Half"):
        SolverOptions(Half(), solver, 10, 1e-3)


@pytest.mark.parametrize("penalty", [*PENALTIES, Exponential(1.0)], ids=repr)
def test_other_units_give_the_same_estimate(penalty):
    p = random_problem(4, log_costs=(-1.0, 0.0))
    stop = "fast", 5000, 1e-6
    found = solve(*p.args, SolverOptions(penalty, *stop), **p.costs)
    scale = 1024.0
    other, factor = penalty.rescaled(scale)
    costs = {name: factor * cost for name, cost in p.costs.items()}
    scaled = solve(scale * p.X, *p.args[1:], SolverOptions(other, *stop), **costs)
    np.testing.assert_allclose(scaled.estimate / scale, found.estimate, atol=1e-5)
    assert scaled.objective == pytest.approx(scale**2 * found.objective, rel=1e-6)


def test_the_result_cannot_be_changed():
    p = random_problem(0)
    result = solve(*p.args, SolverOptions(Snowflake(), "fast", 1000, 1e-3), **p.costs)
    with pytest.raises(AttributeError):
        result.objective = 0.0
