"""Solvers of the co-clustering problem: at one pair of costs, and over a surface of them."""

from .certificate import Certificate, Potentials, dual_bound
from .problem import Iterate, Problem, objective
from .solve import SOLVERS, CoClustering, SolverOptions, mean_and_scale, solve
from .surface import TRAVERSALS, Scale, Solved, Step, Surface

__all__ = [
    "SOLVERS",
    "TRAVERSALS",
    "Certificate",
    "CoClustering",
    "Iterate",
    "Potentials",
    "Problem",
    "Scale",
    "Solved",
    "SolverOptions",
    "Step",
    "Surface",
    "dual_bound",
    "mean_and_scale",
    "objective",
    "solve",
]
