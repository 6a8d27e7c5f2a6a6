"""Random problems."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from comanifold import Graph
from comanifold.penalties import MCP, Linear, Log, Penalty, Snowflake
from comanifold.solvers.problem import Problem

PENALTIES = [Snowflake(), Snowflake(eps=0.01), Linear(), Log(eps=1.0), Log(eps=0.05), MCP(2.0)]


class Exponential(Penalty):
    """A user's penalty, which levels off; Numba compiles it."""

    def __init__(self, rate):
        self.rate = rate

    def value(self, z):
        return -np.expm1(-self.rate * np.asarray(z, dtype=float))

    def derivative(self, z):
        return self.rate * np.exp(-self.rate * np.asarray(z, dtype=float))


class Uncompiled(Exponential):
    """The same penalty in a form that Numba does not compile."""

    def value(self, z):
        return super().value(z)

    def derivative(self, z):
        return super().derivative(z)


@dataclass(frozen=True)
class RandomProblem:
    X: np.ndarray
    row_graph: Graph
    column_graph: Graph
    row_cost: float
    column_cost: float

    @property
    def args(self):
        return self.X, self.row_graph, self.column_graph

    @property
    def costs(self):
        return {"row_cost": self.row_cost, "column_cost": self.column_cost}

    def transposed(self):
        return RandomProblem(
            self.X.T, self.column_graph, self.row_graph, self.column_cost, self.row_cost
        )

    def permuted(self, row_order, column_order):
        """The problem whose row i is row row_order[i] of this one, and likewise its columns."""
        return RandomProblem(
            self.X[np.ix_(row_order, column_order)],
            permuted_graph(self.row_graph, row_order),
            permuted_graph(self.column_graph, column_order),
            self.row_cost,
            self.column_cost,
        )


def path(n_nodes, weights=None):
    """A graph that joins each node to the next."""
    edges = np.stack([np.arange(n_nodes - 1), np.arange(1, n_nodes)], axis=1)
    return Graph(n_nodes, edges, weights)


def standardised(p):
    """The problem with data of mean zero and variance one."""
    X = (p.X - np.nanmean(p.X)) / np.nanstd(p.X)
    return RandomProblem(X, p.row_graph, p.column_graph, p.row_cost, p.column_cost)


def standard_problem(seed, **kwargs):
    """A random problem in standard units, as the solvers take it."""
    p = standardised(random_problem(seed, **kwargs))
    return Problem.build(*p.args, **p.costs)


def permuted_graph(graph, order):
    new_place = np.argsort(order)
    return Graph(graph.n_nodes, new_place[graph.edges], graph.weights)


def random_graph(rng, n_nodes, n_extra):
    """A random tree, which is connected, and some more edges, with random weights."""
    pairs = {(int(rng.integers(i)), i) for i in range(1, n_nodes)}
    for _ in range(n_extra):
        i, j = sorted(rng.integers(n_nodes, size=2).tolist())
        if i != j:
            pairs.add((i, j))
    edges = np.array(sorted(pairs), dtype=int).reshape(-1, 2)
    return Graph(n_nodes, edges, rng.uniform(0.1, 2.0, size=len(edges)))


def random_problem(seed, *, sizes=(3, 12), missing=(0.0, 0.6), log_costs=(-2.0, 1.5)):
    """Blocks and noise, a random part of it missing, at random costs."""
    rng = np.random.default_rng(seed)
    m, n = rng.integers(*sizes, size=2)
    levels = 2.0 * rng.normal(size=(3, 3))
    X = levels[np.ix_(rng.integers(3, size=m), rng.integers(3, size=n))]
    X = X + rng.normal(size=(m, n)) + 3.0
    X[rng.random((m, n)) < rng.uniform(*missing)] = np.nan
    if np.isnan(X).all():
        X[0, 0] = 1.0
    row_cost, column_cost = 10.0 ** rng.uniform(*log_costs, size=2)
    return RandomProblem(X, random_graph(rng, m, m), random_graph(rng, n, n), row_cost, column_cost)


def problems(**kwargs):
    """A hypothesis strategy: shrinks towards the first seeds."""
    return st.integers(0, 2**32 - 1).map(lambda seed: random_problem(seed, **kwargs))


def random_blocks(p, seed, n_row_blocks=3, n_column_blocks=2):
    """Random labels and a random estimate that is constant on their blocks."""
    rng = np.random.default_rng(seed)
    labels = []
    for size, n_blocks in zip(p.X.shape, (n_row_blocks, n_column_blocks), strict=True):
        labels.append(np.unique(rng.integers(n_blocks, size=size), return_inverse=True)[1])
    V = rng.normal(size=[label.max() + 1 for label in labels])
    return *labels, V
