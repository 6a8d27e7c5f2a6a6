"""Solvers of the co-clustering problem: at one pair of costs, and over a surface of them."""

from ._certificate import Certificate
from ._objective import dual_bound, objective
from ._result import CoClustering
from ._solve import SOLVERS, mean_and_scale, solve
from ._surface import TRAVERSALS, Scale, Solved, Surface

__all__ = [
    "SOLVERS",
    "TRAVERSALS",
    "Certificate",
    "CoClustering",
    "Scale",
    "Solved",
    "Surface",
    "dual_bound",
    "mean_and_scale",
    "objective",
    "solve",
]
