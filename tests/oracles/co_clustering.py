"""What tests of one pair of costs have in common."""

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning

from comanifold import co_cluster
from comanifold.penalties import MCP, Linear, Log, Snowflake
from oracles.problems import PENALTIES

each_solver = pytest.mark.parametrize("solver", ["fast", "paper"])
each_penalty = pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
one_of_each_penalty = pytest.mark.parametrize(
    "penalty", [Snowflake(), Linear(), Log(), MCP()], ids=repr
)


def solve(p, **kwargs):
    """Without the warning where a test does not need the last digits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return co_cluster(*p.args, **p.costs, **kwargs)
