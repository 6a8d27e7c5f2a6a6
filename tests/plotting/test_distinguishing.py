"""The figure of what distinguishes clusters."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from comanifold import CoManifold, plotting


def _headings(ax):
    return [text.get_text() for text in ax.texts]


def _marks(ax):
    """Return the effects that are drawn, from top to bottom."""
    lines = [line for line in ax.lines if line.get_marker() in "o<>" and len(line.get_xdata()) == 1]
    return [(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in lines]


@pytest.mark.parametrize("mode", ["row", "column"])
def test_the_first_features_of_each_cluster_with_their_effects(model, mode):
    model = CoManifold(n_clusters=3).fit(model.data_)
    figure = plotting.distinguishing(model, mode=mode, n_features=3)
    effects, values = figure.axes
    table = pd.DataFrame(model.distinguishing(mode)).groupby("cluster").head(3)
    drawn = _marks(effects)
    np.testing.assert_allclose([x for x, _ in drawn], table["effect"])
    assert np.all(np.diff([y for _, y in drawn]) < 0)
    other = "column" if mode == "row" else "row"
    names = [text.get_text() for text in effects.get_yticklabels()]
    assert names == [f"{other} {i + 1}" for i in table["index"]]
    labels = getattr(model, f"{mode}_labels_")
    sizes = np.bincount(labels)
    assert _headings(effects) == [
        f"cluster {label + 1} ({size} {mode}s)" for label, size in enumerate(sizes)
    ]
    # Intervals
    intervals = [line.get_xdata() for line in effects.lines if len(line.get_xdata()) == 2]
    reach = 1.96 * table["standard_error"].to_numpy()
    ends = np.stack([table["effect"] - reach, table["effect"] + reach], axis=1)
    np.testing.assert_allclose([i for i in intervals if i[0] != i[1]], ends)
    # Values: inside, then outside, of each feature
    X = model.data_ if mode == "row" else model.data_.T
    parts = [np.asarray(part.get_offsets())[:, 0] for part in values.collections]
    assert len(parts) == 2 * len(table)
    for line, inside, outside in zip(table.itertuples(), parts[::2], parts[1::2], strict=True):
        column = X[:, line.index]
        units = (column - np.nanmean(column)) / np.nanstd(column)
        is_inside = labels == line.cluster
        np.testing.assert_allclose(inside, units[is_inside & ~np.isnan(column)])
        np.testing.assert_allclose(outside, units[~is_inside & ~np.isnan(column)])


def test_given_labels_are_headings_and_have_their_colours(model, board):
    labels = np.array(["day 10", "day 2", "night", None], dtype=object)[board.row_labels]
    palette = {"day 2": "#112233", "day 10": "#445566", "night": "#778899"}
    figure = plotting.distinguishing(model, labels=labels, palette=palette, values=False)
    (ax,) = figure.axes
    assert [text.split(" (")[0] for text in _headings(ax)] == ["day 2", "day 10", "night"]
    colours = [to_hex(line.get_color()) for line in ax.lines if line.get_marker() == "s"]
    assert colours == list(palette.values())


def test_rows_without_a_group_are_not_outside_of_one(model, board):
    labels = np.where(board.row_labels < 2, board.row_labels, -1)
    figure = plotting.distinguishing(model, labels=labels, n_features=1)
    parts = [len(part.get_offsets()) for part in figure.axes[1].collections]
    table = pd.DataFrame(model.distinguishing("row", labels)).groupby("cluster").head(1)
    assert parts == table[["n_inside", "n_outside"]].to_numpy().ravel().tolist()


def test_constant_columns_are_marked_at_the_border():
    X = np.repeat([[0.0], [5.0]], 12, axis=0) * [1.0, -1.0, 1.0]
    X[:, 2] += np.random.default_rng(0).normal(size=24)
    model = CoManifold(n_clusters=(2, 1)).fit(X)
    ax = plotting.distinguishing(model).axes[0]
    low, high = ax.get_xlim()
    assert -50 < low < 0 < high < 50
    marks = [line.get_marker() for line in ax.lines if line.get_marker() in "<>"]
    assert sorted(marks) == ["<", "<", ">", ">"]


@pytest.mark.parametrize("width", ["single", "double", None])
def test_no_text_is_cut_off_or_overlaps(board, width):
    names = [f"a very long name of a gene, number {i}, Mus musculus $x_$" for i in range(24)]
    frame = pd.DataFrame(board.X, columns=names)
    figure = plotting.distinguishing(CoManifold().fit(frame), width=width)
    figure.draw_without_rendering()
    effects, values = figure.axes
    boxes = [text.get_window_extent() for text in effects.get_yticklabels()]
    for box in [*boxes, *(text.get_window_extent() for text in effects.texts)]:
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1
    for first, second in pairwise(boxes):
        assert second.y1 <= first.y0
    labels = [ax.xaxis.label.get_window_extent() for ax in (effects, values)]
    assert labels[0].x1 < labels[1].x0
    assert labels[1].x1 <= figure.bbox.x1
    assert min(label.y0 for label in labels) >= 0
    for ax in (effects, values):
        assert ax.get_window_extent().width > 0.2 * figure.bbox.width


def test_it_can_be_drawn_on_a_part_of_a_figure(model):
    figure = plt.figure(layout="constrained")
    part = figure.subfigures(1, 2)[0]
    assert plotting.distinguishing(model, figure=part) is part
    assert len(plt.get_fignums()) == 1
    with pytest.raises(ValueError, match="width is that of a new figure"):
        plotting.distinguishing(model, figure=part, width="single")


def test_invalid_arguments_raise_before_a_figure_is_made(model):
    one = CoManifold(n_clusters=1).fit(model.data_)
    with pytest.raises(ValueError, match="there is one cluster of rows, which nothing"):
        plotting.distinguishing(one)
    with pytest.raises(ValueError, match="labels must have one label for each of the 30 rows"):
        plotting.distinguishing(model, labels=[1])
    with pytest.raises(ValueError, match="n_features must be a positive integer"):
        plotting.distinguishing(model, n_features=0)
    with pytest.raises(ValueError, match="mode must be one of 'row', 'column'"):
        plotting.distinguishing(model, mode="gene")
    assert not plt.get_fignums()
