"""The matrix and its estimates at all scales, averaged over cells of the picture."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._packing import pack

if TYPE_CHECKING:
    from ..co_manifold import CoManifold

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

# Estimates are rounded to this many steps between the minimum and the maximum of their scale.
_STEPS = 65_534
_NO_VALUE = 65_535


def matrix_data(model: "CoManifold", steps: list[int], max_cells: int) -> dict[str, Any]:
    """Return the observed and the filled-in matrix, averaged over cells, in standard units.

    A cell has ``steps[0]`` rows and ``steps[1]`` columns that are neighbours in the organised
    order. ``["error"]`` has the mean standard error of what was filled in there, in hundredths of
    the standard deviation of the data, at most 254; 255 where it is unknown. ``["max_cells"]`` is
    the largest number of rows, or columns, that a page draws.
    """
    place = np.ix_(model.row_order_, model.column_order_)
    observed, filled = model.data_[place], model.filled_[place]
    is_there = ~np.isnan(observed)
    sizes = _cell_sums(np.ones_like(filled), steps)
    counts = _cell_sums(is_there.astype(float), steps)
    known = _cell_sums((~np.isnan(filled)).astype(float), steps)
    in_units = (np.nan_to_num(filled) - model.mean_) / model.scale_
    filled_cells = _divide(_cell_sums(np.where(np.isnan(filled), 0.0, in_units), steps), known)
    limits = np.nanquantile(filled_cells, [0.01, 0.99]) * model.scale_ + model.mean_
    data = {
        "size": list(sizes.shape),
        "max_cells": max_cells,
        "mean": float(model.mean_),
        "unit": float(model.scale_),
        "limits": [float(limit) for limit in limits],
        "share_observed": pack(np.ceil(255.0 * counts / sizes), "Uint8Array"),
        "filled": pack(filled_cells, "Float32Array"),
        "error": pack(
            _errors(model.filled_std_[place] / model.scale_, ~is_there, steps), "Uint8Array"
        ),
    }
    if max(steps) > 1:
        seen = np.where(is_there, in_units, 0.0)
        data["observed"] = pack(_divide(_cell_sums(seen, steps), counts), "Float32Array")
    return data


def scale_data(model: "CoManifold", steps: list[int], max_values: int) -> dict[str, Any]:
    """Return the clusters and the estimates of all scales, concatenated.

    Clusters are numbered from 0 in the organised order, -1 where nothing is observed. An estimate
    is constant on blocks, so it is stored as a table of block values and the group of each row
    and column of cells. If the tables of all scales have more than `max_values` values, the
    largest are averaged over neighbours.
    """
    blocks = [model.blocks_at(index=i) for i in range(len(model.scales_["l"]))]
    own = [  # the labels of each scale, by mode, in the organised order
        [scale.row_labels[model.row_order_] for scale in blocks],
        [scale.column_labels[model.column_order_] for scale in blocks],
    ]
    labels = [[_renumbered(label) for label in of_mode] for of_mode in own]
    groups = [
        [_cell_groups(label, step) for label in of_mode]
        for of_mode, step in zip(labels, steps, strict=True)
    ]
    sizes = [[int(group.max()) + 1 for group in of_mode] for of_mode in groups]
    max_groups = _max_groups(sizes, max_values)
    tables, limits, shapes = [], [], []
    for i, scale in enumerate(blocks):
        values = (scale.values - model.mean_) / model.scale_
        means = np.pad(values, ((0, 1), (0, 1)), constant_values=np.nan)
        for mode in (0, 1):
            groups[mode][i] = _limit_groups(groups[mode][i], max_groups)
            means = _group_means(means, own[mode][i], groups[mode][i], steps[mode], axis=mode)
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
        "is_averaged": max_groups < max(map(max, sizes)),
    }


def _errors(errors: Array, is_missing: NDArray[np.bool_], steps: list[int]) -> Array:
    """Return the mean errors of missing entries in hundredths, 255 where there are none."""
    is_known = is_missing & ~np.isnan(errors)
    sums = _cell_sums(np.where(is_known, errors, 0.0), steps)
    means = _divide(sums, _cell_sums(is_known.astype(float), steps))
    return np.where(np.isnan(means), 255.0, np.minimum(np.rint(100.0 * np.nan_to_num(means)), 254))


def _cell_sums(values: Array, steps: list[int]) -> Array:
    """Return the sums over cells of steps[0] rows and steps[1] columns."""
    for axis, step in enumerate(steps):
        values = np.add.reduceat(values, np.arange(0, values.shape[axis], step), axis=axis)
    return values


def _divide(sums: Array, counts: Array) -> Array:
    """Return sums / counts, NaN where the count is zero."""
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)


def _renumbered(labels: Labels) -> Labels:
    """Return the labels numbered in order of first appearance; -1 stays."""
    names, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    first = np.where(names < 0, len(labels), first)
    rank = np.argsort(np.argsort(first))
    return np.where(labels < 0, -1, rank[inverse])


def _cell_groups(labels: Labels, step: int) -> Labels:
    """Return the group of each cell; cells with the same multiset of labels form a group."""
    n_lost = -len(labels) % step
    cells = np.sort(np.append(labels, np.full(n_lost, -2)).reshape(-1, step), axis=1)
    return _renumbered(np.unique(cells, axis=0, return_inverse=True)[1].ravel())


def _limit_groups(groups: Labels, max_groups: int) -> Labels:
    """Return the groups, or runs of neighbouring cells if there are too many groups."""
    if groups.max() < max_groups:
        return groups
    return np.arange(len(groups)) // -(-len(groups) // max_groups)


def _max_groups(sizes: list[list[int]], max_values: int) -> int:
    """Return the largest number of groups per mode for which all tables fit in max_values."""
    rows, columns = np.array(sizes)
    for most in range(int(max(rows.max(), columns.max())), 1, -1):
        if (np.minimum(rows, most) * np.minimum(columns, most)).sum() <= max_values:
            return most
    return 1


def _group_means(means: Array, labels: Labels, groups: Labels, step: int, *, axis: int) -> Array:
    """Return the mean of each group over its members; members without a label are ignored."""
    n_groups = int(groups.max()) + 1
    members = np.zeros((n_groups, means.shape[axis]))
    np.add.at(members, (groups[np.arange(len(labels)) // step], labels), 1.0)
    members[:, -1] = 0.0  # label -1: no value
    known = np.moveaxis(np.nan_to_num(means), axis, 0)
    sums = np.moveaxis(np.tensordot(members, known, axes=1), 0, axis)
    totals = np.expand_dims(members.sum(axis=1), 1 - axis)
    has_values = np.broadcast_to(totals, sums.shape)
    lost = np.isnan(means).all(axis=axis, keepdims=True)
    return np.where(lost, np.nan, _divide(sums, has_values))


def _rounded(values: Array) -> tuple[NDArray[np.uint16], float, float]:
    """Return values rounded to integer steps, with their minimum and maximum."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    shares = (values - low) / (high - low or 1.0)
    codes = np.where(np.isnan(shares), _NO_VALUE, np.rint(_STEPS * np.nan_to_num(shares)))
    return codes.astype(np.uint16), low, high
