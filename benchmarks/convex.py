"""Convex biclustering with missing entries: time to a certified duality gap.

    python benchmarks/convex.py [--tol 1e-4] [--paper]
    python benchmarks/convex.py --ratio
    python benchmarks/convex.py --growth [--largest 2000] [--tol 1e-4]

For costs from 'nothing fused' to 'one cluster', on a matrix of the size of lung500 with half of
its entries missing and Gaussian weights: the certified relative gap and the time of the fast
solver; with --paper also of Algorithm 1, and the ratio of the times. The last column is the
time in units of one pass over the edge differences in NumPy, which any first-order method has to
form at every step.

--ratio: CPU time to gaps of 1e-4 and of 1e-6 at each cost, and their ratio.

--growth: CPU time at a middle cost on matrices whose sides double, also in passes over the edge
differences, and the exponents with which the time and one pass grow with the number of entries.
"""

import argparse
import time
import warnings

import numpy as np
from _problems import edge_lengths, gaussian_graph, lung500, remove, synthetic, timed

from comanifold import co_cluster

COSTS = 2.0 ** np.arange(-6, 11)

# On the matrices of --growth some rows fuse at this cost, and the columns to their groups.
MIDDLE_COST = 4.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tol", type=float, default=1e-4, help="relative duality gap")
    parser.add_argument("--paper", action="store_true", help="time Algorithm 1 as well (slow)")
    parser.add_argument("--ratio", action="store_true", help="gaps of 1e-4 and 1e-6, CPU time")
    parser.add_argument("--growth", action="store_true", help="matrices of doubling sides")
    parser.add_argument("--largest", type=int, default=1000, help="rows of the last of --growth")
    parser.add_argument("--repeat", type=int, default=3, help="the shortest of so many times")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # the gaps in the table say which solves have not converged
    if options.growth:
        print_growth(options)
        return
    X, name = lung500()
    graphs = gaussian_graph(X), gaussian_graph(X.T)
    print(f"{name}, {X.shape[0]} x {X.shape[1]}, half missing; {graphs[0]}, {graphs[1]}")
    if options.ratio:
        print_ratios(X, graphs, options)
    else:
        print_times(X, graphs, options)


def print_times(X, graphs, options):
    """Print the time to one gap at each cost."""
    compile_solver(X, graphs)
    edge_pass = time_of_pass(X, graphs)
    print(f"{'cost':>9} {'objective':>12} {'gap':>8} {'clusters':>9} {'fast':>7} {'passes':>8}")
    slowest = 0.0
    for cost in COSTS:
        fast, fast_time = timed(
            lambda cost=cost: solve(X, graphs, cost, options.tol), options.repeat
        )
        slowest = max(slowest, fast_time)
        line = (
            f"{cost:9.4g} {fast.objective:12.4f} {fast.certificate.gap:8.1e} "
            f"{fast.n_row_clusters:4d},{fast.n_column_clusters:4d} {fast_time:6.2f}s "
            f"{fast_time / edge_pass:8.0f}"
        )
        if options.paper:
            paper, paper_time = timed(
                lambda cost=cost: solve(X, graphs, cost, options.tol, "paper")
            )
            line += (
                f" | paper: {paper.objective:12.4f} gap {paper.certificate.gap:.1e} "
                f"{paper_time:6.1f}s, ratio {paper_time / fast_time:.0f}"
            )
        print(line, flush=True)
    print(f"slowest {slowest:.2f} s")


def print_ratios(X, graphs, options):
    """Print the CPU time to gaps of 1e-4 and 1e-6 at each cost, and their ratio."""
    compile_solver(X, graphs)
    print(f"{'cost':>9} {'1e-4':>8} {'1e-6':>8} {'ratio':>6} {'gap':>8} {'clusters':>9}")
    ratios = []
    for cost in COSTS:
        times = []
        for tol in (1e-4, 1e-6):
            result, seconds = cpu_timed(
                lambda cost=cost, tol=tol: solve(X, graphs, cost, tol), options.repeat
            )
            times.append(seconds)
        ratios.append(times[1] / times[0])
        print(
            f"{cost:9.4g} {times[0]:7.3f}s {times[1]:7.3f}s {ratios[-1]:6.1f} "
            f"{result.certificate.gap:8.1e} "
            f"{result.n_row_clusters:4d},{result.n_column_clusters:4d}",
            flush=True,
        )
    print(f"largest ratio {max(ratios):.1f}, at most 2 at {np.sum(np.array(ratios) <= 2)} costs")


def print_growth(options):
    """Print the CPU time at a middle cost on matrices whose sides double."""
    print(f"gap {options.tol:g}, cost {MIDDLE_COST:g}, half missing")
    print(
        f"{'matrix':>12} {'gap':>8} {'clusters':>9} {'pass':>9} {'time':>8} {'passes':>7} exponents"
    )
    n_rows, before = 125, None
    while n_rows <= options.largest:
        X = remove(synthetic(n_rows, n_rows // 2), 0.5, 0)
        graphs = gaussian_graph(X), gaussian_graph(X.T)
        if before is None:
            compile_solver(X, graphs)
        edge_pass = time_of_pass(X, graphs)
        result, seconds = cpu_timed(
            lambda X=X, graphs=graphs: solve(X, graphs, MIDDLE_COST, options.tol)
        )
        exponents = ""
        if before is not None:
            growth = [
                np.log(now / then) / np.log(4)
                for now, then in zip((seconds, edge_pass), before, strict=True)
            ]
            exponents = f"time {growth[0]:.2f}, pass {growth[1]:.2f}"
        before = seconds, edge_pass
        print(
            f"{n_rows:5d} x {n_rows // 2:4d} {result.certificate.gap:8.1e} "
            f"{result.n_row_clusters:4d},{result.n_column_clusters:4d} {1e3 * edge_pass:7.2f}ms "
            f"{seconds:7.2f}s {seconds / edge_pass:7.0f} {exponents}",
            flush=True,
        )
        n_rows *= 2


def solve(X, graphs, cost, tol, solver="fast"):
    """Solve the convex problem at one cost."""
    return co_cluster(
        X, *graphs, row_cost=cost, column_cost=cost, penalty="linear", solver=solver, tol=tol
    )


def compile_solver(X, graphs):
    """Solve once at each tolerance, so that no time includes compilation."""
    solve(X, graphs, 1.0, 0.1)
    solve(X, graphs, 2.0, 1e-6)


def time_of_pass(X, graphs):
    """CPU time of one pass over the edge differences in NumPy."""
    U = np.where(np.isnan(X), 0.0, X)
    return cpu_timed(lambda: edge_lengths(U, *graphs), 20)[1]


def cpu_timed(call, repeat=1):
    """Return the result of a call and the shortest of its CPU times."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        result = call()
        times.append(time.process_time() - start)
    return result, min(times)


if __name__ == "__main__":
    main()
