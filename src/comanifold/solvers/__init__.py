"""Solvers of the co-clustering problem at one pair of costs."""

from ._certificate import Certificate
from ._objective import dual_bound, objective
from ._result import CoClustering
from ._solve import SOLVERS, solve

__all__ = ["SOLVERS", "Certificate", "CoClustering", "dual_bound", "objective", "solve"]
