"""The overview figure of a fitted model."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from comanifold import CoManifold


def _parts(figure):
    """Return the axes of the matrices, and those of the embeddings by mode."""
    axes = figure.get_axes()
    matrices = [ax for ax in axes if ax.child_axes]
    points = {ax.get_title().split()[1]: ax for ax in axes if ax.get_xlabel() == "coordinate 1"}
    return matrices, points


def _bars(ax):
    rows, columns = (bar.images[0].get_array() for bar in ax.child_axes)
    return np.asarray(rows)[:, 0], np.asarray(columns)[0]


def test_matrices_as_given_organised_and_filled_in(model):
    matrices, points = _parts(model.plot())
    organised = np.ix_(model.row_order_, model.column_order_)
    for ax, expected in zip(
        matrices, (model.data_, model.data_[organised], model.filled_[organised]), strict=True
    ):
        np.testing.assert_array_equal(ax.images[0].get_array().filled(np.nan), expected)
    assert len({ax.images[0].get_clim() for ax in matrices}) == 1
    np.testing.assert_array_equal(
        points["columns"].collections[0].get_offsets(), model.column_embedding_[:, :2]
    )


def test_scales_spectrum_and_convergence_are_there(model):
    figure = model.plot()
    names = {ax.get_ylabel() for ax in figure.get_axes()}
    assert {"row clusters", "column clusters", "eigenvalue", "stationarity residual"} <= names


@pytest.mark.parametrize("colouring", ["labels", "clusters", "order"])
def test_a_row_has_one_colour_in_all_panels(model, board, scale, colouring):
    options = {
        "labels": {"row_labels": board.row_labels, "column_labels": board.column_labels},
        "clusters": {"l": scale[0], "k": scale[1]},
        "order": {},
    }[colouring]
    matrices, points = _parts(model.plot(**options))
    of_rows = points["rows"].collections[0].get_facecolors()[:, :3]
    of_columns = points["columns"].collections[0].get_facecolors()[:, :3]
    orders = [(slice(None), slice(None))] + 2 * [(model.row_order_, model.column_order_)]
    for ax, (rows, columns) in zip(matrices, orders, strict=True):
        np.testing.assert_allclose(_bars(ax)[0], of_rows[rows])
        np.testing.assert_allclose(_bars(ax)[1], of_columns[columns])
    groups = {
        "labels": board.row_labels,
        "clusters": model.row_labels_at(*scale),
        "order": np.arange(30),
    }[colouring]
    n_pairs = len(np.unique(np.column_stack([groups, of_rows]), axis=0))
    assert n_pairs == len(np.unique(of_rows, axis=0)) == len(set(groups))


def test_labels_shared_by_rows_and_columns_have_one_colour(model, board, legend):
    rows = np.array(["a", "b", "c", "d"])[board.row_labels]
    columns = np.array(["c", "x", "y"])[board.column_labels]
    _, points = _parts(model.plot(row_labels=rows, column_labels=columns))
    seen = {}
    for mode, labels in (("rows", rows), ("columns", columns)):
        for label, colour in zip(labels, points[mode].collections[0].get_facecolors(), strict=True):
            seen.setdefault(label, set()).add(tuple(colour))
        assert legend(points[mode]) == sorted(set(labels))
    assert all(len(colours) == 1 for colours in seen.values())
    assert len(set.union(*seen.values())) == 6


def test_a_given_scale_fills_in_the_matrix(model, scale):
    filled = _parts(model.plot(l=scale[0], k=scale[1]))[0][2]
    organised = np.ix_(model.row_order_, model.column_order_)
    np.testing.assert_array_equal(filled.images[0].get_array(), model.filled_at(*scale)[organised])


def test_it_can_be_drawn_on_a_given_figure_and_saved(model, tmp_path):
    figure = Figure(figsize=(12, 14), layout="constrained")
    part, _ = figure.subfigures(2, 1)
    assert model.plot(figure=part) is part
    assert not plt.get_fignums()
    for kind in ("png", "pdf", "svg"):
        figure.savefig(tmp_path / f"result.{kind}")
        assert (tmp_path / f"result.{kind}").stat().st_size > 10_000


def test_unobserved_rows_and_single_coordinates_are_drawn(model_with_gaps, board):
    figure = model_with_gaps.plot()
    points = _parts(figure)[1]
    assert points["rows"].get_title() == "28 rows (2 without data not shown)"
    figure.canvas.draw()
    figure = CoManifold(1).fit(board.X).plot()
    assert [ax.get_xlabel() for ax in figure.get_axes()].count("rank") == 2
    figure.canvas.draw()


def test_invalid_arguments_raise_before_a_figure_is_made(model, board):
    with pytest.raises(ValueError, match="row_labels must have one label for each of 30"):
        model.plot(row_labels=["a"])
    with pytest.raises(ValueError, match="give both l and k"):
        model.plot(k=1)
    with pytest.raises(ValueError, match="fit with keep_scales=True"):
        CoManifold().fit(board.X).plot(l=0, k=0)
    assert not plt.get_fignums()


def test_a_palette_can_be_given(model, board):
    palette = dict(enumerate(["red", "green", "blue", "black"]))
    _, points = _parts(model.plot(row_labels=board.row_labels, palette=palette))
    colours = points["rows"].collections[0].get_facecolors()[:, :3]
    np.testing.assert_allclose(colours, [to_rgb(palette[label]) for label in board.row_labels])
