"""Blocks of a fused matrix: their counts, means and values."""

import numpy as np

from . import inlined, kernel
from .edges import is_identity


@kernel
def transpose(V, out):
    """out = V', eight rows at a time so that both are read and written by the cache line."""
    m, n = V.shape
    whole = m - m % 8
    for i in range(0, whole, 8):
        v0, v1, v2, v3 = V[i], V[i + 1], V[i + 2], V[i + 3]
        v4, v5, v6, v7 = V[i + 4], V[i + 5], V[i + 6], V[i + 7]
        for j in range(n):
            o = out[j, i : i + 8]
            o[0], o[1], o[2], o[3] = v0[j], v1[j], v2[j], v3[j]
            o[4], o[5], o[6], o[7] = v4[j], v5[j], v6[j], v7[j]
    for i in range(whole, m):
        for j in range(n):
            out[j, i] = V[i, j]


@kernel
def block_means(V, row_sizes, column_sizes, row_labels, column_labels, m, n):
    """The mean of V over each of the m x n blocks that two sets of labels form."""
    row_total, column_total = np.zeros(m), np.zeros(n)
    for i in range(V.shape[0]):
        row_total[row_labels[i]] += row_sizes[i]
    for j in range(V.shape[1]):
        column_total[column_labels[j]] += column_sizes[j]
    column_share = np.empty(V.shape[1])
    for j in range(V.shape[1]):
        column_share[j] = column_sizes[j] / column_total[column_labels[j]]
    by_row = np.zeros((m, V.shape[1]))
    for i in range(V.shape[0]):
        share, v, mean = row_sizes[i] / row_total[row_labels[i]], V[i], by_row[row_labels[i]]
        for j in range(V.shape[1]):
            mean[j] += share * column_share[j] * v[j]
    return _add_columns(by_row, column_labels, n)


@kernel
def _add_columns(rows, labels, n_blocks):
    """Sums of the columns of each label."""
    m, n = rows.shape
    sums = np.zeros((m, n_blocks))
    in_place = is_identity(labels)
    for a in range(m):
        row, total = rows[a], sums[a]
        if in_place:  # worth a case of its own: it is the frequent one
            for j in range(n):
                total[j] = row[j]
        else:
            for j in range(n):
                total[labels[j]] += row[j]
    return sums


@kernel
def _add_rows(rows, labels, n_blocks):
    """Sums of the rows of each label."""
    n = rows.shape[1]
    sums = np.zeros((n_blocks, n))
    for i in range(rows.shape[0]):
        row, total = rows[i], sums[labels[i]]
        for j in range(n):
            total[j] += row[j]
    return sums


@inlined
def contract_blocks(
    V,
    counts,
    means,
    row_sizes,
    column_sizes,
    row_labels,
    column_labels,
    n_row_blocks,
    n_column_blocks,
):
    """Counts and means of the blocks that two sets of labels form, and the mean of V over each.

    Also half the sum of the squares by which the means of the parts of a block differ from its
    own: what the data term cannot get below.
    """
    m, n = V.shape
    values = block_means(
        V, row_sizes, column_sizes, row_labels, column_labels, n_row_blocks, n_column_blocks
    )
    by_row = _add_rows(counts, row_labels, n_row_blocks)
    new_counts = _add_columns(by_row, column_labels, n_column_blocks)
    by_row = _add_rows(counts * means, row_labels, n_row_blocks)
    new_means = _add_columns(by_row, column_labels, n_column_blocks)
    for a in range(n_row_blocks):
        for b in range(n_column_blocks):
            if new_counts[a, b] > 0.0:
                new_means[a, b] /= new_counts[a, b]
    spread = 0.0
    apart = np.empty((n_row_blocks, n))
    for a in range(n_row_blocks):
        for j in range(n):
            apart[a, j] = new_means[a, column_labels[j]]
    for i in range(m):
        own, mean, count = apart[row_labels[i]], means[i], counts[i]
        for j in range(n):
            difference = mean[j] - own[j]
            spread += count[j] * difference * difference
    return new_counts, new_means, values, 0.5 * spread
