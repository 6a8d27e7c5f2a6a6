"""Plots of an embedding: positions, colours and legends."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba

from comanifold import CoManifold, plotting


@pytest.mark.parametrize("mode", ["row", "column"])
def test_chosen_coordinates_are_drawn_with_equal_aspect(model, mode):
    ax = plotting.embedding(model, mode=mode, components=(2, 0))
    points = getattr(model, f"{mode}_embedding_")
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), points[:, [2, 0]])
    assert ax.get_aspect() == 1.0
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("coordinate 3", "coordinate 1")


@pytest.mark.parametrize(("name", "title"), [("tsne", "t-SNE"), ("mds", "MDS")])
def test_axes_have_the_name_of_the_embedding(board, name, title):
    model = CoManifold(embedding=name).fit(board.X)
    ax = plotting.embedding(model, components=(1, 0))
    assert (ax.get_xlabel(), ax.get_ylabel()) == (f"{title} 2", f"{title} 1")
    labels = [axes.get_xlabel() for axes in model.plot().findobj(Axes)]
    assert labels.count(f"{title} 1") == 2
    with pytest.raises(ValueError, match=f"{name} has no spectrum"):
        plotting.spectrum(model)


def test_an_array_of_points_is_drawn_on_given_axes():
    points = np.random.default_rng(0).normal(size=(7, 2))
    figure, ax = plt.subplots()
    assert plotting.embedding(points, ax=ax) is ax
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), points)
    assert plt.get_fignums() == [figure.number]


def test_a_single_coordinate_is_drawn_against_its_rank():
    ax = plotting.embedding([[3.0], [1.0], [2.0]], components=(0,))
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), [[2, 3], [0, 1], [1, 2]])


def test_points_without_coordinates_are_skipped_and_counted_in_the_title(model_with_gaps):
    labels = np.arange(30) % 2
    ax = plotting.embedding(model_with_gaps, labels=labels)
    points = ax.collections[0]
    known = np.setdiff1d(np.arange(30), [3, 7])
    np.testing.assert_array_equal(points.get_offsets(), model_with_gaps.row_embedding_[known])
    expected = [to_rgba(("#0072B2", "#E69F00")[label]) for label in labels[known]]
    np.testing.assert_allclose(points.get_facecolors(), expected)
    assert ax.get_title() == "28 rows (2 without data not shown)"
    assert ax.collections[0].get_offsets().mask.sum() == 0


def test_each_label_has_one_colour_and_a_legend_entry(model, board, legend):
    words = np.array(["ash", "beech", "cedar", "date"])[board.row_labels]
    ax = plotting.embedding(model, labels=words, name="tree")
    colours = ax.collections[0].get_facecolors()
    of_label = {word: {tuple(c) for c in colours[words == word]} for word in set(words)}
    assert all(len(found) == 1 for found in of_label.values())
    assert len(set.union(*of_label.values())) == 4
    assert legend(ax) == ["ash", "beech", "cedar", "date"]
    assert ax.get_legend().get_title().get_text() == "tree"
    for handle, word in zip(ax.get_legend().legend_handles, legend(ax), strict=True):
        assert to_rgba(handle.get_color()) in of_label[word]


def test_points_without_a_label_are_grey_with_a_legend_entry(legend):
    points = np.random.default_rng(0).normal(size=(4, 2))
    ax = plotting.embedding(points, labels=["a", None, np.nan, "a"])
    colours = ax.collections[0].get_facecolors()
    np.testing.assert_allclose(colours[1:3], [to_rgba("#BBBBBB")] * 2)
    assert legend(ax) == ["a", "no label"]


@pytest.mark.parametrize("name", ["$x_$", "_hidden", r"$\frac{$", "<b>&amp;"])
def test_labels_are_drawn_as_plain_text(name, legend):
    points = np.random.default_rng(0).normal(size=(3, 2))
    ax = plotting.embedding(points, labels=[name, "b", "c"])
    assert name in legend(ax)
    ax.figure.canvas.draw()  # would fail on half a formula


def test_of_many_labels_the_most_frequent_have_colours_and_the_rest_is_grey(legend):
    points = np.random.default_rng(0).normal(size=(55, 2))
    labels = [f"{i:02d}" for i in [*range(30), *range(5, 30)]]
    ax = plotting.embedding(points, labels=labels)
    shown = legend(ax)
    assert len(shown) == 25
    assert shown[-1] == "6 others"
    # All that occur twice are named, apart from one.
    assert set(shown[:-1]) <= set(labels[30:])
    colours = ax.collections[0].get_facecolors()
    np.testing.assert_allclose(colours[:5], [to_rgba("#8A8A8A")] * 5)
    named = [i for i, label in enumerate(labels) if label in shown]
    assert len(np.unique(colours[named], axis=0)) == 24
    assert to_rgba("#8A8A8A") not in {tuple(colour) for colour in colours[named]}


def test_long_labels_are_elided_to_the_room_there_is():
    points = np.random.default_rng(0).normal(size=(6, 2))
    names = [f"{i} {'W' * 90}" for i in range(3)] + [f"{i} {'i' * 90}" for i in range(3)]
    for width in (None, "single", 60):
        ax = plotting.embedding(points, labels=names, width=width)
        figure = ax.figure
        figure.draw_without_rendering()
        texts = ax.get_legend().get_texts()
        assert all(text.get_text().endswith("…") for text in texts)
        box = ax.get_legend().get_window_extent()
        assert box.x1 <= figure.bbox.x1
        assert ax.get_window_extent().width > 0.3 * figure.bbox.width
    wide, narrow = (max(len(t.get_text()) for t in texts if c in t.get_text()) for c in "Wi")
    assert narrow > wide + 5  # measured, not counted


def test_labels_are_in_natural_order(legend):
    points = np.random.default_rng(0).normal(size=(5, 2))
    ax = plotting.embedding(points, labels=["day 10", "day 2", "day 1", "a", "day 2"])
    assert legend(ax) == ["a", "day 1", "day 2", "day 10"]


def test_twenty_four_labels_have_distinct_colours():
    points = np.random.default_rng(0).normal(size=(24, 2))
    ax = plotting.embedding(points, labels=range(24))
    assert len(np.unique(ax.collections[0].get_facecolors(), axis=0)) == 24


def test_values_have_a_colour_bar_with_their_name(model):
    values = np.arange(30.0)
    values[4] = np.nan
    ax = plotting.embedding(model, values=values, name="age")
    points = ax.collections[0]
    np.testing.assert_array_equal(points.get_array().filled(np.nan), values)
    assert points.get_clim() == (0.0, 29.0)
    assert points.colorbar.ax.get_ylabel() == "age"
    assert ax.get_legend() is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": [1, 2]}, "labels must have one label for each of 30 points, got 2"),
        ({"values": [1.0]}, "values must be one number for each of 30 points"),
        ({"components": (0, 3)}, r"components must be from 0 to 2, got \(0, 3\).*n_components"),
        ({"components": (0, -1)}, "components must be from 0 to 2"),
        ({"components": 1}, r"components must be a pair such as \(0, 1\), got 1"),
        ({"mode": "genes"}, "mode must be one of 'row', 'column', got 'genes'"),
        ({"labels": range(30), "values": range(30)}, "labels and values both give colours"),
        ({"labels": range(30), "palette": {0: "red"}}, "palette has no colour for"),
    ],
)
def test_invalid_arguments_raise_before_a_figure_is_made(model, options, message):
    with pytest.raises(ValueError, match=message):
        plotting.embedding(model, **options)
    assert not plt.get_fignums()


@pytest.mark.parametrize(("width", "mm"), [("single", 89), ("double", 183), (120, 120)])
def test_new_figures_have_the_width_of_a_journal(model, width, mm):
    ax = plotting.embedding(model, width=width)
    assert ax.figure.get_figwidth() * 25.4 == pytest.approx(mm)
    assert ax.xaxis.label.get_fontsize() == 7.0


def test_widths_are_validated(model):
    for wrong in ("triple", 10, True, np.inf):
        with pytest.raises(ValueError, match='width must be "single", "double" or a number'):
            plotting.embedding(model, width=wrong)
    assert not plt.get_fignums()
    ax = plt.subplots()[1]
    with pytest.raises(ValueError, match="width is that of a new figure"):
        plotting.embedding(model, width="single", ax=ax)
