"""Convex biclustering with missing entries: time to a certified duality gap.

    python benchmarks/convex.py [--tol 1e-4] [--paper]

For costs from 'nothing fused' to 'one cluster', on a matrix of the size of lung500 with half of
its entries missing and Gaussian weights: the certified relative gap and the time of the fast
solver; with --paper also of Algorithm 1, and the ratio of the times. The last column is the
time in units of one pass over the edge differences in NumPy, which any first-order method has to
form at every step.
"""

import argparse
import warnings

import numpy as np
from _problems import edge_lengths, gaussian_graph, lung500, timed

from comanifold import co_cluster


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tol", type=float, default=1e-4, help="relative duality gap")
    parser.add_argument("--paper", action="store_true", help="time Algorithm 1 as well (slow)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # the gaps in the table say which solves have not converged
    X, name = lung500()
    graphs = gaussian_graph(X), gaussian_graph(X.T)
    print(f"{name}, {X.shape[0]} x {X.shape[1]}, half missing; {graphs[0]}, {graphs[1]}")
    U = np.where(np.isnan(X), 0.0, X)

    def solve(solver, cost, tol):
        return co_cluster(
            X, *graphs, row_cost=cost, column_cost=cost, penalty="linear", solver=solver, tol=tol
        )

    solve("fast", 1.0, 0.1)  # compile
    _, edge_pass = timed(lambda: edge_lengths(U, *graphs), 50)
    print(f"{'cost':>9} {'objective':>12} {'gap':>8} {'clusters':>9} {'fast':>7} {'passes':>8}")
    slowest = 0.0
    for cost in 2.0 ** np.arange(-6, 11):
        fast, fast_time = timed(lambda cost=cost: solve("fast", cost, options.tol), 3)
        slowest = max(slowest, fast_time)
        line = (
            f"{cost:9.4g} {fast.objective:12.4f} {fast.certificate.gap:8.1e} "
            f"{fast.n_row_clusters:4d},{fast.n_column_clusters:4d} {fast_time:6.2f}s "
            f"{fast_time / edge_pass:8.0f}"
        )
        if options.paper:
            paper, paper_time = timed(lambda cost=cost: solve("paper", cost, options.tol))
            line += (
                f" | paper: {paper.objective:12.4f} gap {paper.certificate.gap:.1e} "
                f"{paper_time:6.1f}s, ratio {paper_time / fast_time:.0f}"
            )
        print(line, flush=True)
    print(f"slowest {slowest:.2f} s")


if __name__ == "__main__":
    main()
