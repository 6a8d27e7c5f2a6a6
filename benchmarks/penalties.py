"""The fast solver with each penalty: CPU time per iteration, and of whole fits.

    python benchmarks/penalties.py

All concave penalties share one compiled descent; those with a moderate slope at the origin also
check the optimality of fused edges. A linear penalty is left to the method of multipliers. Prints
the time of one iteration of the descent on lung500, and that of CoManifold on five matrices,
relative to the snowflake penalty. One process, after a first run of each that compiles.
"""

import argparse
import time
import warnings

import numpy as np
from _problems import lung500

from comanifold import CoManifold, Graph
from comanifold.datasets import (
    make_checkerboard,
    make_clusters,
    make_curve,
    make_linkage,
    remove_entries,
)
from comanifold.penalties import MCP, Linear, Log, Penalty, Snowflake
from comanifold.solvers import fast
from comanifold.solvers.problem import Iterate, Problem


class Exponential(Penalty):
    """A user's penalty."""

    def __init__(self, rate=1.0):
        self.rate = rate

    def value(self, z):
        return -np.expm1(-self.rate * np.asarray(z)) / self.rate

    def derivative(self, z):
        return np.exp(-self.rate * np.asarray(z))


class InPython(Exponential):
    """The same, in a form that is not compiled."""

    def value(self, z):
        return super().value(z)

    def derivative(self, z):
        return super().derivative(z)


PENALTIES = [Snowflake(), Log(), MCP(), Linear(), Exponential(), InPython()]


def cpu_time(call, repeat):
    times = []
    for _ in range(repeat):
        start = time.process_time()
        result = call()
        times.append(time.process_time() - start)
    return result, min(times)


def time_iterations(X, graphs):
    """CPU time of an iteration without mergers, from the same start, at the same blocks."""
    problem = Problem.build(X, *graphs, row_cost=0.1, column_cost=0.1)
    start = Iterate.start(problem, np.where(problem.counts > 0, problem.means, 0.0))
    schedule = fast.CONTINUED._replace(merge_at=-1.0, merge_every=-1)
    times = {}
    for penalty in PENALTIES:

        def descend(penalty=penalty):
            return fast.run_descent(start, penalty, schedule, max_iter=30, tol=0.0)

        descend()
        done, seconds = cpu_time(descend, 5)
        times[repr(penalty)] = seconds / max(done.outcome.n_iter, 1)
    return times


def time_fits(X):
    times = {}
    for penalty in PENALTIES:
        CoManifold(penalty=penalty).fit(X[:30, :30])
        _, seconds = cpu_time(lambda penalty=penalty: CoManifold(penalty=penalty).fit(X), 2)
        times[repr(penalty)] = seconds
    return times


def report(title, times):
    print(title)
    first = next(iter(times.values()))
    for name, seconds in times.items():
        print(f"  {name:24} {1e3 * seconds:9.3f} ms, {seconds / first:5.2f} times the snowflake's")


def main():
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    warnings.simplefilter("ignore")
    lung, name = lung500()
    graphs = Graph.nearest_neighbors(lung), Graph.nearest_neighbors(lung.T)
    report(f"one iteration, {name}, half missing", time_iterations(lung, graphs))
    matrices = {
        "checkerboard": make_checkerboard(150, 100, random_state=0).X,
        "linkage": make_linkage(100, 80, random_state=0).X,
        "curve": make_curve(100, 80, random_state=1).X,
        "clusters": make_clusters(200, 100, random_state=1).X,
    }
    fits = {kind: remove_entries(X, 0.4, random_state=0) for kind, X in matrices.items()}
    for kind, X in {**fits, name: lung}.items():
        report(f"whole fits, {kind}, {X.shape[0]} x {X.shape[1]}", time_fits(X))


if __name__ == "__main__":
    main()
