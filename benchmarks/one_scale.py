"""One pair of costs: the fast solver against Algorithm 1 of the paper on the same problems.

    python benchmarks/one_scale.py [--grid 8] [--tol 1e-6] [--repeat 1]

Prints, for a grid of costs 2^-4 ... 2^10 with the snowflake penalty, the objectives, residuals
and times of both solvers and the ratio of the times. Both stop at the same residual, in local
minima that may differ: the ratio is fair where the objective of fast is not the higher one, and
the table shows it. The times of fast are also given in passes over the edge differences in NumPy,
which any first-order method has to form at every step.
"""

import argparse
import itertools
import warnings

import numpy as np
from _problems import edge_lengths, lung500, timed

from comanifold import Graph, co_cluster


def compare_solvers(X, graphs, n_costs, tol, repeat):
    """Print objectives, residuals and times of both solvers on a grid of costs."""
    costs = 2.0 ** np.linspace(-4, 10, n_costs)
    rows = []
    print(
        f"{'row cost':>9} {'col cost':>9} | {'f fast':>10} {'f paper':>10} {'fast/paper-1':>12} | "
        f"{'residuals':>17} | {'clusters':>9} | {'fast':>8} {'paper':>8} {'ratio':>6}"
    )
    for row_cost, column_cost in itertools.product(costs, costs):
        at = {"row_cost": row_cost, "column_cost": column_cost, "tol": tol}
        (fast, fast_time), (paper, paper_time) = (
            timed(lambda solver=solver, at=at: co_cluster(X, *graphs, solver=solver, **at), repeat)
            for solver in ("fast", "paper")
        )
        row = {
            "excess": fast.objective / paper.objective - 1.0,
            "fast_residual": fast.certificate.stationarity,
            "paper_residual": paper.certificate.stationarity,
            "fast_time": fast_time,
            "ratio": paper_time / fast_time,
        }
        rows.append(row)
        print(
            f"{row_cost:9.3g} {column_cost:9.3g} | {fast.objective:10.3f} {paper.objective:10.3f} "
            f"{row['excess']:+12.1e} | {row['fast_residual']:8.1e} {row['paper_residual']:8.1e} | "
            f"{fast.n_row_clusters:4d},{fast.n_column_clusters:4d} | "
            f"{1e3 * fast_time:6.0f}ms {paper_time:7.2f}s {row['ratio']:6.0f}",
            flush=True,
        )
    column = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    print(f"\n{len(rows)} problems, tol={tol:g}")
    print(
        f"objective of fast at most 0.1% above paper's on {np.mean(column['excess'] <= 1e-3):.0%}; "
        f"on average {column['excess'].mean():+.2%}, at worst {column['excess'].max():+.2%}"
    )
    print(
        f"largest residual: fast {column['fast_residual'].max():.1e}, "
        f"paper {column['paper_residual'].max():.1e}"
    )
    ratios = np.percentile(column["ratio"], [0, 25, 50, 75, 100])
    print(
        f"fast: median {1e3 * np.median(column['fast_time']):.0f} ms, slowest "
        f"{1e3 * column['fast_time'].max():.0f} ms"
    )
    U = np.where(np.isnan(X), 0.0, X)
    _, edge_pass = timed(lambda: edge_lengths(U, *graphs), 50)
    print(
        f"in passes over the edges: median {np.median(column['fast_time']) / edge_pass:.0f}, "
        f"most {column['fast_time'].max() / edge_pass:.0f}"
    )
    print(
        "time of paper / time of fast: least {:.0f}, quartiles {:.0f}, {:.0f}, {:.0f}, most "
        "{:.0f}".format(*ratios)
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--grid", type=int, default=8, help="costs per mode")
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--repeat", type=int, default=1, help="runs of each, the best counts")
    options = parser.parse_args()
    X, name = lung500()
    graphs = Graph.nearest_neighbors(X), Graph.nearest_neighbors(X.T)
    print(f"{name}, {X.shape[0]} x {X.shape[1]}, half missing; {graphs[0]}, {graphs[1]}\n")
    for solver in ("fast", "paper"):  # compile
        co_cluster(X, *graphs, row_cost=1.0, column_cost=1.0, solver=solver, tol=0.1)
    warnings.simplefilter(
        "ignore"
    )  # the residuals in the table show which solves have not converged
    compare_solvers(X, graphs, options.grid, options.tol, options.repeat)


if __name__ == "__main__":
    main()
