"""Fitted models of any size within a second: a small one with its rows and columns repeated."""

import copy
from dataclasses import replace

import numpy as np

from comanifold import CoManifold


def enlarged(model, shape, random_state=0):
    """Return a copy of a fitted model of another shape, each row and column several times.

    Observed entries and coordinates of the copies have noise of their own, and other entries than
    in the original are missing: as many, at random.
    """
    rng = np.random.default_rng(random_state)
    big = copy.copy(model)
    big.__class__ = _Enlarged
    big._original = model
    n_rows, n_columns = shape
    big._rows = np.arange(n_rows) % model.data_.shape[0]
    big._columns = np.arange(n_columns) % model.data_.shape[1]
    big.row_order_ = _order(model.row_order_, big._rows)
    big.column_order_ = _order(model.column_order_, big._columns)
    place = np.ix_(big._rows, big._columns)
    filled = np.nan_to_num(model.filled_)[place]
    filled += 0.3 * model.scale_ * rng.standard_normal(shape)
    is_missing = rng.random(shape) < np.isnan(model.data_).mean()
    big.filled_ = filled
    big.data_ = np.where(is_missing, np.nan, filled)
    deviations = np.nanmean(model.filled_std_[model.filled_std_ > 0.0]) if is_missing.any() else 0.0
    big.filled_std_ = np.where(is_missing, deviations * rng.uniform(0.5, 1.5, shape), 0.0)
    for mode, index in (("row", big._rows), ("column", big._columns)):
        embedding = getattr(model, f"{mode}_embedding_")[index]
        noise = 0.05 * np.nanstd(embedding) * rng.standard_normal(embedding.shape)
        setattr(big, f"{mode}_embedding_", np.nan_to_num(embedding) + noise)
        setattr(big, f"unobserved_{mode}s_", np.zeros(0, dtype=int))
        for name in ("labels_", "confidence_"):
            setattr(big, f"{mode}_{name}", getattr(model, f"{mode}_{name}")[index])
    return big


class _Enlarged(CoManifold):
    """What cannot be set as an attribute."""

    def blocks_at(self, *args, **keywords):
        blocks = self._original.blocks_at(*args, **keywords)
        return replace(
            blocks,
            row_labels=blocks.row_labels[self._rows],
            column_labels=blocks.column_labels[self._columns],
        )

    def find_clusters(self, mode="row", n_clusters=None):
        found = self._original.find_clusters(mode, n_clusters)
        index = self._rows if mode == "row" else self._columns
        return replace(
            found, labels=found.labels[index], point_confidence=found.point_confidence[index]
        )

    @property
    def row_linkage_(self):
        return _linkage(self._original.row_linkage_, self._rows)

    @property
    def column_linkage_(self):
        return _linkage(self._original.column_linkage_, self._columns)


def _order(order, index):
    """Return the order of the copies: those of the first, those of the second, and so on."""
    place = np.argsort(order)
    return np.argsort(place[index], kind="stable")


def _linkage(tree, index):
    """Return a tree in which copies join first, one by one, and then as their originals do."""
    n_points, n_original = len(index), len(tree) + 1
    joins, least = [], 0.5 * tree[:, 2][tree[:, 2] > 0].min()
    node = np.empty(2 * n_original - 1, dtype=int)  # the node of each node of the original
    sizes = np.ones(2 * n_points - 1)

    def join(a, b, height):
        made = n_points + len(joins)
        sizes[made] = sizes[a] + sizes[b]
        joins.append([a, b, height, sizes[made]])
        return made

    for original in range(n_original):
        first, *others = np.flatnonzero(index == original)
        for other in others:
            first = join(first, other, 0.5 * least)
        node[original] = first
    for i, (a, b, height, _) in enumerate(tree):
        node[n_original + i] = join(node[int(a)], node[int(b)], max(height, least))
    return np.array(joins)
