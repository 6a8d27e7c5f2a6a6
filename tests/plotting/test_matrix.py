"""Plots of the matrix: entries, bars at its sides, and names."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from comanifold import CoManifold, plotting


def _drawn(ax):
    """Return the image of a matrix, and the bars of rows and columns."""
    return ax.images[0].get_array(), [bar.images[0].get_array() for bar in ax.child_axes]


@pytest.mark.parametrize("organised", [True, False])
def test_a_matrix_shows_the_data_with_missing_entries_masked(model, organised):
    ax = plotting.matrix(model, organised=organised)
    rows, columns = model.row_order_, model.column_order_
    expected = model.data_[np.ix_(rows, columns)] if organised else model.data_
    shown, bars = _drawn(ax)
    np.testing.assert_array_equal(np.ma.getmaskarray(shown), np.isnan(expected))
    np.testing.assert_array_equal(shown.filled(np.nan), expected)
    assert not bars
    assert ax.images[0].cmap(np.ma.masked_all(1))[0].tolist() == [1, 1, 1, 1]
    assert ax.images[0].colorbar.ax.get_ylabel() == "value (white: missing)"
    assert "50% missing" in ax.get_title()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("24 columns", "30 rows")


def test_a_filled_in_matrix_has_the_colour_limits_of_the_data(model, scale):
    organised = np.ix_(model.row_order_, model.column_order_)
    ax = plotting.matrix(model, filled=True)
    np.testing.assert_array_equal(_drawn(ax)[0], model.filled_[organised])
    at_scale = plotting.matrix(model, filled=True, l=scale[0], k=scale[1])
    np.testing.assert_array_equal(_drawn(at_scale)[0], model.filled_at(*scale)[organised])
    assert ax.images[0].get_clim() == plotting.matrix(model).images[0].get_clim()
    assert ax.images[0].colorbar.ax.get_ylabel() == "value"
    chosen = plotting.matrix(model, limits=(-1.0, 1.0), name="log count")
    assert chosen.images[0].get_clim() == (-1.0, 1.0)
    assert chosen.images[0].colorbar.extend == "both"


def test_bars_show_the_labels_in_the_drawn_order(model, board, legend):
    palette = {0: "red", 1: "green", 2: "blue", 3: "black"}
    labels = {"row_labels": board.row_labels, "column_labels": board.column_labels}
    ax = plotting.matrix(model, palette=palette, **labels)
    _, (rows, columns) = _drawn(ax)
    at_rows = [to_rgb(palette[label]) for label in board.row_labels[model.row_order_]]
    at_columns = [to_rgb(palette[label]) for label in board.column_labels[model.column_order_]]
    np.testing.assert_allclose(rows[:, 0], at_rows)
    np.testing.assert_allclose(columns[0], at_columns)
    assert legend(ax) == ["0", "1", "2", "3"]


def test_bars_of_clusters_change_where_the_clusters_do(model, scale):
    ax = plotting.matrix(model, l=scale[0], k=scale[1])
    _, (rows, columns) = _drawn(ax)
    for colours, labels in (
        (rows[:, 0], model.row_labels_at(*scale)[model.row_order_]),
        (columns[0], model.column_labels_at(*scale)[model.column_order_]),
    ):
        assert len(set(labels)) <= 8
        pairs = {(label, tuple(colour)) for label, colour in zip(labels, colours, strict=True)}
        assert len(pairs) == len(set(labels)) == len({colour for _, colour in pairs})
    n_rows, n_columns = (labels.max() + 1 for labels in (model.row_labels_at(*scale), labels))
    assert f"{n_rows} × {n_columns} clusters" in ax.get_title()


def test_clusters_and_labels_have_different_colours(model, board, scale):
    ax = plotting.matrix(model, l=scale[0], k=scale[1], row_labels=board.row_labels)
    clusters, labels, _ = _drawn(ax)[1]
    both = [{tuple(colour) for colour in bar[:, 0]} for bar in (clusters, labels)]
    assert not both[0] & both[1]


def test_unobserved_rows_and_columns_stay_white_in_the_filled_in_matrix(model_with_gaps):
    ax = plotting.matrix(model_with_gaps, filled=True)
    mask = np.ma.getmaskarray(_drawn(ax)[0])
    assert mask[-2:].all()
    assert mask[:, -1].all()
    assert not mask[:-2, :-1].any()
    assert ax.images[0].colorbar.ax.get_ylabel() == "value (white: no data)"


def test_names_are_drawn_where_there_is_room(board):
    pd = pytest.importorskip("pandas")
    names = [f"$x_$ {i}" for i in range(30)]
    frame = pd.DataFrame(board.X, index=names, columns=[f"c{i}" for i in range(24)])
    model = CoManifold().fit(frame)
    _, ax = plt.subplots(figsize=(9, 7))
    plotting.matrix(model, ax=ax)
    shown = [tick.get_text() for tick in ax.get_yticklabels()]
    assert shown == [names[i] for i in model.row_order_]
    assert [t.get_text() for t in ax.get_xticklabels()] == [f"c{i}" for i in model.column_order_]
    ax.figure.canvas.draw()
    _, small = plt.subplots(figsize=(2, 2))
    plotting.matrix(model, ax=small)
    assert not len(small.get_yticks())


def test_a_matrix_of_one_value_can_be_drawn():
    X = np.ones((6, 5))
    X[0, 0] = np.nan
    ax = plotting.matrix(CoManifold(1).fit(X))
    assert ax.images[0].get_clim() == (0.5, 1.5)
    ax.figure.canvas.draw()


def test_a_scale_needs_both_exponents_and_kept_scales(model, board):
    with pytest.raises(ValueError, match=r"give both l and k, got l=1 and k=None"):
        plotting.matrix(model, l=1)
    with pytest.raises(ValueError, match=r"there is no scale \(99, 1\)"):
        plotting.matrix(model, l=99, k=1)
    with pytest.raises(ValueError, match="fit with keep_scales=True"):
        plotting.matrix(CoManifold().fit(board.X), l=0, k=0)
    with pytest.raises(ValueError, match="column_labels must have one label for each of 24"):
        plotting.matrix(model, column_labels=np.zeros((24, 1)))
    assert not plt.get_fignums()
