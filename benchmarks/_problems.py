"""Problems that the benchmarks share."""

import os
import time
from pathlib import Path

import numpy as np

from comanifold import Graph, masked_distances


def lung500(fraction_missing=0.5, seed=0):
    """The paper's lung500 in standard units with entries removed, or a stand-in of its shape."""
    folder = os.environ.get("COMANIFOLD_DATA")
    if folder and (Path(folder) / "lung500.csv").exists():
        lines = (Path(folder) / "lung500.csv").read_text().splitlines()[1:]
        X = np.array([[float(x) for x in line.split(",")[1:]] for line in lines])
        name = "lung500"
    else:
        X = stand_in(500, 56, seed)
        name = "a stand-in for lung500 (set COMANIFOLD_DATA to the folder of lung500.csv)"
    return remove(X, fraction_missing, seed), name


def stand_in(n_rows, n_columns, seed=0):
    """A matrix with four groups of columns, smooth rows and noise."""
    rng = np.random.default_rng(seed)
    position = rng.uniform(size=n_rows)
    centers = rng.normal(size=(4, 6))
    waves = np.cos(np.pi * np.outer(position, np.arange(6)))
    return waves @ centers[rng.integers(4, size=n_columns)].T + 0.5 * rng.normal(
        size=(n_rows, n_columns)
    )


def remove(X, fraction_missing, seed):
    """X in standard units of its observed entries, with NaN for a random part of it."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random(X.shape) < fraction_missing, np.nan, X)
    return (X - np.nanmean(X)) / np.nanstd(X)


def gaussian_graph(X, n_neighbors=5):
    """Nearest neighbours with the Gaussian weights usual in convex clustering."""
    graph = Graph.nearest_neighbors(X, n_neighbors)
    squares = masked_distances(X)[graph.edges[:, 0], graph.edges[:, 1]] ** 2
    return Graph(graph.n_nodes, graph.edges, np.exp(-squares / np.median(squares)))


def timed(call, repeat=1):
    """The result of a call, and the least time that it took."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
    return result, min(times)
