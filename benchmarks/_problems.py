"""Matrices, graphs and clocks that the benchmarks share."""

import cProfile
import os
import pstats
import time
from pathlib import Path

import numpy as np

from comanifold import Graph, masked_distances
from comanifold.datasets import load_lung500

# The parts of a fit: file and name of the function whose time is counted.
PARTS = {
    "solving scales": ("surface.py", "solve"),
    "adding up distances": ("metrics.py", "add"),
    "completions": ("completion.py", "completion_path"),
    "nearest neighbours": ("_graph.py", "nearest_neighbors"),
    "candidate pairs": ("_pairs.py", "__init__"),
    "diffusion maps": ("diffusion_map.py", "fit"),
    "orders": ("ordering.py", "embedding_order"),
    "clusters": ("clusters.py", "find_groups"),
    "confidence": ("clusters.py", "point_confidence"),
}


def lung500(fraction_missing=0.5, seed=0):
    """Return lung500 in standard units with entries removed, or a matrix of its shape; its name."""
    folder = os.environ.get("COMANIFOLD_DATA")
    if folder and (Path(folder) / "lung500.csv").exists():
        X, name = load_lung500().X, "lung500"
    else:
        X = synthetic(500, 56, seed)
        name = "a matrix of the shape of lung500 (for lung500 set COMANIFOLD_DATA)"
    return remove(X, fraction_missing, seed), name


def synthetic(n_rows, n_columns, seed=0):
    """Return a matrix with four groups of columns, smooth rows and noise."""
    rng = np.random.default_rng(seed)
    position = rng.uniform(size=n_rows)
    centers = rng.normal(size=(4, 6))
    waves = np.cos(np.pi * np.outer(position, np.arange(6)))
    return waves @ centers[rng.integers(4, size=n_columns)].T + 0.5 * rng.normal(
        size=(n_rows, n_columns)
    )


def remove(X, fraction_missing, seed):
    """Return X with NaN for a random fraction, in standard units of the other entries."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random(X.shape) < fraction_missing, np.nan, X)
    return (X - np.nanmean(X)) / np.nanstd(X)


def gaussian_graph(X, n_neighbors=5):
    """Return the graph of nearest neighbours with Gaussian weights, as in convex clustering."""
    graph = Graph.nearest_neighbors(X, n_neighbors)
    squares = masked_distances(X)[graph.edges[:, 0], graph.edges[:, 1]] ** 2
    return Graph(graph.n_nodes, graph.edges, np.exp(-squares / np.median(squares)))


def edge_lengths(U, row_graph, column_graph):
    """Return the lengths of all edges in NumPy: the least that a first-order method computes."""
    return [
        np.linalg.norm(V[graph.edges[:, 0]] - V[graph.edges[:, 1]], axis=1)
        for V, graph in ((U, row_graph), (U.T, column_graph))
    ]


def timed(call, repeat=1):
    """Return the result of a call and the shortest of its times."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
    return result, min(times)


def time_of_parts(call, clock=time.perf_counter):
    """Return the result of a call, and for each of `PARTS` its time and number of calls.

    Only the thread of the caller is counted.
    """
    profile = cProfile.Profile(clock)
    result = profile.runcall(call)
    found = {}
    for (file, _, function), (_, n_calls, _, seconds, _) in pstats.Stats(profile).stats.items():
        for part, (end, name) in PARTS.items():
            if name == function and file.endswith(end) and "comanifold" in file:
                found[part] = seconds, n_calls
    return result, {part: found[part] for part in PARTS if part in found}
