"""One pair of costs: the fast solver against Algorithm 1 of the paper on the same problems.

    python benchmarks/one_scale.py [--grid 8] [--tol 1e-6] [--repeat 1]

Prints, for a grid of costs 2^-4 ... 2^10 with the snowflake penalty, the objectives, residuals
and times of both solvers and the ratio of the times. Both stop at the same residual, in local
minima that may differ: the ratio is fair where the objective of fast is not the higher one, and
the table shows it. Then how fast the compiled sweep over the edges moves memory compared with a
plain sum of an array.
"""

import argparse
import itertools
import time
import warnings

import numpy as np
from _problems import lung500, timed

from comanifold import Graph, co_cluster
from comanifold.solvers.kernels.edges import edge_norms, laplacian
from comanifold.solvers.problem import Problem


def compare_solvers(X, graphs, n_costs, tol, repeat):
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
    print(
        "time of paper / time of fast: least {:.0f}, quartiles {:.0f}, {:.0f}, {:.0f}, most "
        "{:.0f}".format(*ratios)
    )


def measure_bandwidth(X, graphs):
    """Bytes that the sweeps over the edges read and write, per second, against a plain sum."""
    problem = Problem.build(X, *graphs, row_cost=1.0, column_cost=1.0)
    V = np.where(np.isnan(X), 0.0, X)
    out = np.empty_like(V)
    edges, weights = problem.rows, np.ones(problem.rows.n_edges)
    bytes_per_row = 8 * V.shape[1]
    sweeps = {
        # Two rows read for each edge.
        "edge lengths": (
            lambda: edge_norms(V, edges.pairs, problem.column_sizes),
            2 * edges.n_edges * bytes_per_row,
        ),
        # For each row its neighbours and itself read, the result written.
        "graph Laplacian": (
            lambda: laplacian(V, edges.adjacency, weights, out),
            (2 * edges.n_edges + 2 * len(V)) * bytes_per_row,
        ),
    }
    for size, where in ((V.size, "an array of the same size, in cache"), (2**25, "256 MB")):
        array = np.ones(size)
        seconds = per_call(array.sum)
        print(f"\nplain sum of {where}: {array.nbytes / seconds / 1e9:.1f} GB/s")
        for name, (call, n_bytes) in sweeps.items():
            rate = n_bytes / per_call(call)
            print(
                f"  {name} over {edges.n_edges} row edges: {1e6 * n_bytes / rate:.0f} us, "
                f"{rate / 1e9:.1f} GB/s, {rate / (array.nbytes / seconds):.0%} of it"
            )


def per_call(call):
    call()
    n_calls = 1
    while True:
        start = time.perf_counter()
        for _ in range(n_calls):
            call()
        elapsed = time.perf_counter() - start
        if elapsed > 0.2:
            return elapsed / n_calls
        n_calls *= 2


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
    warnings.simplefilter("ignore")  # the residuals in the table say what has not converged
    compare_solvers(X, graphs, options.grid, options.tol, options.repeat)
    measure_bandwidth(X, graphs)


if __name__ == "__main__":
    main()
