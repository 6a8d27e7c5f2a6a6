"""The matrix for the page: cells of neighbouring rows and columns, at all scales."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._packed import pack

if TYPE_CHECKING:
    from ..co_manifold import CoManifold

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

# Rows, or columns, past this many share the cells of the picture.
MOST_CELLS = 500
# Values of estimates that a page holds, over all scales: some 2 MB.
_MOST_VALUES = 1_000_000
# Estimates are rounded to this many steps between the least and the largest of their scale.
_STEPS = 65_534
_NO_VALUE = 65_535


def cell_size(n_points: int) -> int:
    """How many neighbours in the organised order share a cell."""
    return -(-n_points // MOST_CELLS)


def matrix_data(model: "CoManifold") -> dict[str, Any]:
    """The observed and the filled-in matrix in cells, in units of the fit."""
    steps = [cell_size(size) for size in model.filled_.shape]
    place = np.ix_(model.row_order_, model.column_order_)
    observed, filled = model._X[place], model.filled_[place]
    is_there = ~np.isnan(observed)
    sizes = _sums(np.ones_like(filled), steps)
    counts = _sums(is_there.astype(float), steps)
    known = _sums((~np.isnan(filled)).astype(float), steps)
    in_units = (np.nan_to_num(filled) - model._mean) / model._scale
    filled_cells = _over(_sums(np.where(np.isnan(filled), 0.0, in_units), steps), known)
    limits = np.nanquantile(filled_cells, [0.01, 0.99]) * model._scale + model._mean
    data = {
        "size": list(sizes.shape),
        "mean": float(model._mean),
        "unit": float(model._scale),
        "limits": [float(limit) for limit in limits],
        "share_observed": pack(np.ceil(255.0 * counts / sizes), "Uint8Array"),
        "filled": pack(filled_cells, "Float32Array"),
    }
    if max(steps) > 1:
        seen = np.where(is_there, in_units, 0.0)
        data["observed"] = pack(_over(_sums(seen, steps), counts), "Float32Array")
    return data


def scale_data(model: "CoManifold") -> dict[str, Any]:
    """Clusters, and estimates on blocks of cells, of all scales one after the other.

    Clusters are numbered in the organised order, from 0; -1 where nothing is observed. An
    estimate is constant on blocks, so it is stored as the groups of rows and of columns that
    share their values, and a table of those. A scale with very many of them is averaged over
    neighbours, so that the page stays small.
    """
    steps = [cell_size(size) for size in model.filled_.shape]
    scales = [model._blocks_at(scale.l, scale.k) for scale in model.scales_]
    labels: tuple[list[Labels], list[Labels]] = ([], [])
    for scale in model.scales_:
        labels[0].append(_renumbered(model.row_labels_at(scale.l, scale.k)[model.row_order_]))
        labels[1].append(_renumbered(model.column_labels_at(scale.l, scale.k)[model.column_order_]))
    groups = [
        [_alike(label, step) for label in of_mode]
        for of_mode, step in zip(labels, steps, strict=True)
    ]
    sizes = [[int(group.max()) + 1 for group in of_mode] for of_mode in groups]
    most = _most_groups(sizes)
    is_averaged = most < max(map(max, sizes))
    tables, limits, shapes = [], [], []
    for i, blocks in enumerate(scales):
        means = np.pad(blocks.values, ((0, 1), (0, 1)), constant_values=np.nan)
        for mode, known in enumerate((model._rows, model._columns)):
            own = np.full(len(known), -1)
            own[known] = (blocks.row_labels, blocks.column_labels)[mode]
            own = own[(model.row_order_, model.column_order_)[mode]]
            groups[mode][i] = _at_most(groups[mode][i], most)
            means = _group_means(means, own, groups[mode][i], steps[mode], axis=mode)
        codes, low, high = _rounded(means)
        tables.append(codes.ravel())
        limits.append([low, high])
        shapes.append(list(codes.shape))
    return {
        "row_labels": pack(labels[0], "Int32Array"),
        "column_labels": pack(labels[1], "Int32Array"),
        "row_groups": pack(groups[0], "Int32Array"),
        "column_groups": pack(groups[1], "Int32Array"),
        "shapes": shapes,
        "limits": limits,
        "values": pack(np.concatenate(tables), "Uint16Array"),
        "is_averaged": is_averaged,
    }


def _sums(values: Array, steps: list[int]) -> Array:
    """Sums over cells of so many rows and columns."""
    for axis, step in enumerate(steps):
        values = np.add.reduceat(values, np.arange(0, values.shape[axis], step), axis=axis)
    return values


def _over(sums: Array, counts: Array) -> Array:
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)


def _renumbered(labels: Labels) -> Labels:
    """The same clusters, numbered as they come; -1 stays."""
    names, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    first = np.where(names < 0, len(labels), first)
    rank = np.argsort(np.argsort(first))
    return np.where(labels < 0, -1, rank[inverse])


def _alike(labels: Labels, step: int) -> Labels:
    """Groups of cells with the same clusters in them, in the same number."""
    n_lost = -len(labels) % step
    cells = np.sort(np.append(labels, np.full(n_lost, -2)).reshape(-1, step), axis=1)
    return _renumbered(np.unique(cells, axis=0, return_inverse=True)[1].ravel())


def _at_most(groups: Labels, most: int) -> Labels:
    """The groups, or so many of neighbouring cells if there are more."""
    if groups.max() < most:
        return groups
    return np.arange(len(groups)) // -(-len(groups) // most)


def _most_groups(sizes: list[list[int]]) -> int:
    """As many groups of each mode as a page has room for, over all scales."""
    rows, columns = np.array(sizes)
    for most in range(int(max(rows.max(), columns.max())), 1, -1):
        if (np.minimum(rows, most) * np.minimum(columns, most)).sum() <= _MOST_VALUES:
            return most
    return 1


def _group_means(means: Array, labels: Labels, groups: Labels, step: int, *, axis: int) -> Array:
    """Means of the values of the members of each group, without those that have none."""
    n_groups = int(groups.max()) + 1
    members = np.zeros((n_groups, means.shape[axis]))
    np.add.at(members, (groups[np.arange(len(labels)) // step], labels), 1.0)
    members[:, -1] = 0.0  # of what has no label, and so no value
    known = np.moveaxis(np.nan_to_num(means), axis, 0)
    sums = np.moveaxis(np.tensordot(members, known, axes=1), 0, axis)
    totals = np.expand_dims(members.sum(axis=1), 1 - axis)
    has_values = np.broadcast_to(totals, sums.shape)
    lost = np.isnan(means).all(axis=axis, keepdims=True)
    return np.where(lost, np.nan, _over(sums, has_values))


def _rounded(values: Array) -> tuple[NDArray[np.uint16], float, float]:
    """Values as steps from the least to the largest of them, which are in units of the fit."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    shares = (values - low) / (high - low or 1.0)
    codes = np.where(np.isnan(shares), _NO_VALUE, np.rint(_STEPS * np.nan_to_num(shares)))
    return codes.astype(np.uint16), low, high
