"""The descent by quadratic majorisers as one compiled loop, for the snowflake penalty.

What `_quadratic` does with a penalty that anyone may have written, step by step in Python, is
here done for the default penalty without leaving compiled code: most scales of a surface have a
few dozen blocks left, and calling their kernels one by one would take longer than the kernels.
"""

from typing import Any, NamedTuple

import numpy as np

from ._block_kernels import contract_blocks
from ._edge_kernels import adjacency_lists, component_labels, contract_edges
from ._kernels import edge_norms, kernel, transpose
from ._merge_kernels import agglomerate


class Links(NamedTuple):
    """`Edges`, as compiled code takes them."""

    pairs: Any
    weights: Any
    adjacency: Any


class Blocks(NamedTuple):
    """`Problem`, as compiled code takes it."""

    counts: Any
    means: Any
    row_sizes: Any
    column_sizes: Any
    rows: Links
    columns: Links
    constant: float


class State(NamedTuple):
    """An estimate, the lengths of its edges, and its objective."""

    blocks: Blocks
    V: Any
    row_norms: Any
    column_norms: Any
    objective: float


@kernel
def snowflake_costs(norms, weights, eps):
    """weight Omega(z) for every edge."""
    costs = np.empty(norms.shape[0])
    for e in range(norms.shape[0]):
        x = np.sqrt(norms[e]) / eps
        if x > 1.0:
            value = x - np.log(1.0 + x)
        elif x > 1e-3:
            value = x - np.log1p(x)
        else:
            value = x * x * (1 / 2 - x * (1 / 3 - x * (1 / 4 - x * (1 / 5 - x / 6))))
        costs[e] = weights[e] * eps * value
    return costs


@kernel
def snowflake_stiffness(norms, weights, eps):
    """weight Omega'(z) / z for every edge, zero for one of length zero."""
    stiffness = np.empty(norms.shape[0])
    for e in range(norms.shape[0]):
        z = norms[e]
        stiffness[e] = 0.5 * weights[e] / (z * (np.sqrt(z) + eps)) if z > 0.0 else 0.0
    return stiffness


@kernel
def measured(blocks, V, eps):
    """The state of the estimate V."""
    Vt = np.empty((V.shape[1], V.shape[0]))
    transpose(V, Vt)
    row_norms = edge_norms(V, blocks.rows.pairs, blocks.column_sizes)
    column_norms = edge_norms(Vt, blocks.columns.pairs, blocks.row_sizes)
    counts, means = blocks.counts, blocks.means
    data = 0.0
    for a in range(V.shape[0]):
        v, count, mean = V[a], counts[a], means[a]
        for b in range(V.shape[1]):
            difference = v[b] - mean[b]
            data += count[b] * difference * difference
    objective = (
        blocks.constant
        + 0.5 * data
        + snowflake_costs(row_norms, blocks.rows.weights, eps).sum()
        + snowflake_costs(column_norms, blocks.columns.weights, eps).sum()
    )
    return State(blocks, V, row_norms, column_norms, objective)


@kernel
def _contracted(links, labels, n_clusters):
    pairs, weights = contract_edges(links.pairs, links.weights, labels, n_clusters)
    return Links(pairs, weights, adjacency_lists(n_clusters, pairs))


@kernel
def _total_by_label(sizes, labels, n_clusters):
    totals = np.zeros(n_clusters)
    for i in range(sizes.shape[0]):
        totals[labels[i]] += sizes[i]
    return totals


@kernel
def fused_state(blocks, V, row_labels, column_labels, eps):
    """The state with the clusters of each label as one."""
    m, n = row_labels.max() + 1, column_labels.max() + 1
    counts, means, values, spread = contract_blocks(
        V,
        blocks.counts,
        blocks.means,
        blocks.row_sizes,
        blocks.column_sizes,
        row_labels,
        column_labels,
        m,
        n,
    )
    fused = Blocks(
        counts,
        means,
        _total_by_label(blocks.row_sizes, row_labels, m),
        _total_by_label(blocks.column_sizes, column_labels, n),
        _contracted(blocks.rows, row_labels, m) if m < V.shape[0] else blocks.rows,
        _contracted(blocks.columns, column_labels, n) if n < V.shape[1] else blocks.columns,
        blocks.constant + spread,
    )
    return measured(fused, values, eps)


@kernel
def collapsed(state, eps, close):
    """The state with what is close fused, at the widest threshold that does not raise f.

    With it, labels of the clusters; see `collapse`.
    """
    blocks, V = state.blocks, state.V
    m, n = V.shape
    row_unit, column_unit = np.sqrt(blocks.column_sizes.sum()), np.sqrt(blocks.row_sizes.sum())
    for factor in (1.0, 0.1, 0.01, 0.0):
        row_threshold, column_threshold = factor * close * row_unit, factor * close * column_unit
        close_rows = state.row_norms <= row_threshold
        close_columns = state.column_norms <= column_threshold
        if not (close_rows.any() or close_columns.any()):
            break
        rows = component_labels(m, blocks.rows.pairs, close_rows)
        columns = component_labels(n, blocks.columns.pairs, close_columns)
        fused = fused_state(blocks, V, rows, columns, eps)
        if factor == 0.0 or fused.objective <= state.objective:
            return fused, rows, columns
    return state, np.arange(m), np.arange(n)


@kernel
def merged_in_bulk(state, eps, least_gain):
    """The state with clusters fused where that lowers the objective, and their labels.

    See `merge_in_bulk`.
    """
    blocks, V = state.blocks, state.V
    m, n = V.shape
    least_gain = least_gain * state.objective
    rows_apart, columns_apart = np.arange(m), np.arange(n)
    row_labels, row_gain = agglomerate(
        V,
        blocks.counts,
        blocks.means,
        blocks.row_sizes,
        blocks.column_sizes,
        blocks.rows.pairs,
        snowflake_costs(state.row_norms, blocks.rows.weights, eps),
        snowflake_stiffness(state.row_norms, blocks.rows.weights, eps),
        least_gain,
    )
    Vt, counts, means = np.empty((n, m)), np.empty((n, m)), np.empty((n, m))
    transpose(V, Vt)
    transpose(blocks.counts, counts)
    transpose(blocks.means, means)
    column_labels, column_gain = agglomerate(
        Vt,
        counts,
        means,
        blocks.column_sizes,
        blocks.row_sizes,
        blocks.columns.pairs,
        snowflake_costs(state.column_norms, blocks.columns.weights, eps),
        snowflake_stiffness(state.column_norms, blocks.columns.weights, eps),
        least_gain,
    )
    # Both modes, or one: the bounds of the two do not add up.
    rows_first = row_gain >= column_gain
    for choice in range(3):
        only_rows = choice == (1 if rows_first else 2)
        rows = row_labels if choice == 0 or only_rows else rows_apart
        columns = column_labels if choice == 0 or not only_rows else columns_apart
        if rows.max() + 1 == m and columns.max() + 1 == n:
            continue
        fused = fused_state(blocks, V, rows, columns, eps)
        if fused.objective < state.objective:
            return fused, rows, columns
    return state, rows_apart, columns_apart


@kernel
def relative_residual(blocks, R, n_observed):
    """Norm of the residual over the estimates constant on the blocks, relative to the data's."""
    total = 0.0
    for a in range(R.shape[0]):
        r = R[a]
        row = 0.0
        for b in range(R.shape[1]):
            row += r[b] * r[b] / blocks.column_sizes[b]
        total += row / blocks.row_sizes[a]
    return np.sqrt(total / n_observed)
