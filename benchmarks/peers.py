"""The same problems by our solvers and by a general one, CVXPY with SCS: ratios of the times.

    python benchmarks/peers.py [--rows 120] [--columns 40] [--costs 0.25,1,4]

Convex (linear penalty): `fast` and `paper` to a relative duality gap of 1e-4, SCS to tolerances
of 1e-4, all certified afterwards by the same objective. Snowflake: `fast` and `paper` to a
residual of 1e-4; SCS solves the convex majorisers of Algorithm 1, with the mask in them instead
of filling in, until f falls by less than 1e-4 of itself. Rows of lung500, or of a matrix like it,
half missing; the larger the problem the worse for SCS, which needs minutes at 500 x 56.
"""

import argparse
import warnings

import cvxpy as cp
import numpy as np
from _problems import gaussian_graph, lung500, timed

from comanifold import Graph, co_cluster, objective
from comanifold.penalties import get_penalty


class General:
    """The convex problem in CVXPY, compiled once, with the weights as parameters."""

    def __init__(self, X, row_graph, column_graph):
        self.U = cp.Variable(X.shape)
        self.edges = [graph.edges for graph in (row_graph, column_graph)]
        self.weights = [cp.Parameter(len(edges), nonneg=True) for edges in self.edges]
        observed = ~np.isnan(X)
        loss = 0.5 * cp.sum_squares(cp.multiply(observed, self.U - np.where(observed, X, 0.0)))
        norms = [cp.norm(d, 2, axis=1) for d in self.differences(self.U)]
        penalty = sum(w @ norm for w, norm in zip(self.weights, norms, strict=True))
        self.problem = cp.Problem(cp.Minimize(loss + penalty))

    def differences(self, U):
        (a, b), (c, d) = (edges.T for edges in self.edges)
        return U[a] - U[b], (U[:, c] - U[:, d]).T

    def solve(self, *weights, eps=1e-4):
        for parameter, weight in zip(self.weights, weights, strict=True):
            parameter.value = weight
        self.problem.solve(solver=cp.SCS, eps_abs=eps, eps_rel=eps, warm_start=True)
        return self.U.value


def by_majorisers(general, graphs, cost, value):
    """Algorithm 1 with SCS inside: weights from the last estimate, 1 at first."""
    derivative = get_penalty("snowflake").derivative
    weights, before = [cost * graph.weights for graph in graphs], np.inf
    while True:
        U = general.solve(*weights)
        now = value(U)
        if before - now <= 1e-4 * abs(now):
            return U
        before = now
        norms = [np.linalg.norm(d, axis=1) for d in general.differences(U)]
        # SCS needs bounded weights; an edge with so large a weight is fused.
        slopes = [np.minimum(derivative(np.maximum(norm, 1e-12)), 1e3) for norm in norms]
        weights = [
            cost * graph.weights * slope for graph, slope in zip(graphs, slopes, strict=True)
        ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=120)
    parser.add_argument("--columns", type=int, default=40)
    parser.add_argument("--costs", default="0.25,1,4")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    X, name = lung500()
    X = X[: options.rows, : options.columns]
    print(f"{name}, its first {X.shape[0]} x {X.shape[1]}, half missing\n")
    weighted = gaussian_graph(X), gaussian_graph(X.T)
    plain = Graph.nearest_neighbors(X, 5), Graph.nearest_neighbors(X.T, 5)
    for penalty, graphs in (("linear", weighted), ("snowflake", plain)):
        general = General(X, *graphs)
        general.solve(*(np.ones(g.n_edges) for g in graphs), eps=1e-1)  # CVXPY compiles too
        print(f"{penalty:>9}    cost  solver        f    time    ratio to fast")
        for cost in map(float, options.costs.split(",")):
            costs = {"row_cost": cost, "column_cost": cost, "penalty": penalty}

            def value(U, graphs=graphs, costs=costs):
                return objective(X, U, *graphs, **costs)

            def ours(solver, graphs=graphs, costs=costs):
                return co_cluster(X, *graphs, **costs, solver=solver, tol=1e-4).estimate

            def scs(graphs=graphs, cost=cost, penalty=penalty, general=general, value=value):
                if penalty == "linear":
                    return general.solve(*(cost * graph.weights for graph in graphs))
                return by_majorisers(general, graphs, cost, value)

            ours("fast")  # compile
            U, least = timed(lambda: ours("fast"), 5)
            print(f"{cost:17g}  fast   {value(U):10.4f} {least:7.3f}")
            for label, call in (("paper", lambda: ours("paper")), ("SCS", scs)):
                U, seconds = timed(call)
                print(f"{'':17}  {label:5}  {value(U):10.4f} {seconds:7.3f} {seconds / least:8.0f}")


if __name__ == "__main__":
    main()
