"""The objective and other sums over all blocks, as the descent needs them."""

import numpy as np

from . import kernel
from .blocks import column_edge_norms, edge_costs, edge_norms, new_tile


@kernel
def evaluated(
    V, counts, means, row_sizes, column_sizes, row_pairs, row_weights, column_pairs,
    column_weights, penalty,
):  # fmt: skip
    """The lengths of all edges at V, the weighted sum of squares of V - means, the edges' cost."""
    row_norms = edge_norms(V, row_pairs, column_sizes)
    tile = new_tile(V.shape[0], V.shape[1])
    column_norms = column_edge_norms(V, column_pairs, row_sizes, tile)
    squares = 0.0
    for a in range(V.shape[0]):
        v, count, mean = V[a], counts[a], means[a]
        for b in range(V.shape[1]):
            difference = v[b] - mean[b]
            squares += count[b] * difference * difference
    cost = 0.0
    for x in edge_costs(row_norms, row_weights, penalty):
        cost += x
    column_cost = 0.0
    for x in edge_costs(column_norms, column_weights, penalty):
        column_cost += x
    return row_norms, column_norms, squares, cost + column_cost


@kernel
def observed_range(counts, means):
    """The least and the largest mean of a block with observed entries."""
    low, high = np.inf, -np.inf
    for a in range(counts.shape[0]):
        count, mean = counts[a], means[a]
        for b in range(counts.shape[1]):
            if count[b] > 0.0:
                low, high = min(low, mean[b]), max(high, mean[b])
    return low, high


@kernel
def extrapolate(V, last, step, farther):
    """farther = V + step (V - last)."""
    for a in range(V.shape[0]):
        v, before, beyond = V[a], last[a], farther[a]
        for b in range(V.shape[1]):
            beyond[b] = v[b] + step * (v[b] - before[b])
