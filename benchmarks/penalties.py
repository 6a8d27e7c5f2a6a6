"""The fast solver with each penalty: CPU time per iteration, and of whole fits.

    python benchmarks/penalties.py [--shape 150 100]

All penalties share one compiled descent; those with a moderate slope at the origin also check the
optimality of what is fused. Prints the time of one iteration of the descent on lung500 with half of
it missing, and that of CoManifold on a checkerboard with a third missing, relative to the snowflake
penalty. One process, after a first run of each that compiles.
"""

import argparse
import time
import warnings

import numpy as np
from _problems import lung500

from comanifold import CoManifold, Graph
from comanifold.datasets import make_checkerboard, remove_entries
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
        model, seconds = cpu_time(lambda penalty=penalty: CoManifold(penalty=penalty).fit(X), 2)
        times[repr(penalty)] = seconds
        print(f"  {penalty!r}: {len(model.scales_)} scales", flush=True)
    return times


def report(title, times):
    print(title)
    first = next(iter(times.values()))
    for name, seconds in times.items():
        print(f"  {name:24} {1e3 * seconds:9.3f} ms, {seconds / first:5.2f} times the snowflake's")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", type=int, nargs=2, default=(150, 100))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    X, name = lung500()
    graphs = Graph.nearest_neighbors(X), Graph.nearest_neighbors(X.T)
    report(f"one iteration, {name}, half missing", time_iterations(X, graphs))
    board = make_checkerboard(*options.shape, random_state=0).X
    board = remove_entries(board, 0.3, random_state=0)
    report(f"whole fits, checkerboard {board.shape}", time_fits(board))


if __name__ == "__main__":
    main()
