"""What is drawn: points, entries, colours and names, read back from the figures."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb, to_rgba
from sklearn.exceptions import NotFittedError
from sklearn.manifold import Isomap

from comanifold import CoManifold, Graph, co_cluster, plotting


def _legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def _drawn(ax):
    """The image of a matrix and its bars, rows first."""
    return ax.images[0].get_array(), [bar.images[0].get_array() for bar in ax.child_axes]


# Embeddings


@pytest.mark.parametrize("mode", ["rows", "columns"])
def test_an_embedding_shows_the_chosen_coordinates_at_one_scale(model, mode):
    ax = plotting.embedding(model, mode=mode, components=(2, 0))
    points = {"rows": model.row_embedding_, "columns": model.column_embedding_}[mode]
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), points[:, [2, 0]])
    assert ax.get_aspect() == 1.0
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("coordinate 3", "coordinate 1")


def test_points_can_be_given_as_they_are_and_drawn_on_given_axes():
    points = np.random.default_rng(0).normal(size=(7, 2))
    figure, ax = plt.subplots()
    assert plotting.embedding(points, ax=ax) is ax
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), points)
    assert plt.get_fignums() == [figure.number]


def test_a_single_coordinate_goes_up_with_the_rank():
    ax = plotting.embedding([[3.0], [1.0], [2.0]], components=(0,))
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), [[2, 3], [0, 1], [1, 2]])


def test_points_without_coordinates_are_left_out_and_the_title_says_so(model_with_gaps):
    labels = np.arange(30) % 2
    ax = plotting.embedding(model_with_gaps, labels=labels)
    points = ax.collections[0]
    known = np.setdiff1d(np.arange(30), [3, 7])
    np.testing.assert_array_equal(points.get_offsets(), model_with_gaps.row_embedding_[known])
    expected = [to_rgba(("#0072B2", "#E69F00")[label]) for label in labels[known]]
    np.testing.assert_allclose(points.get_facecolors(), expected)
    assert ax.get_title() == "28 rows (2 without data not shown)"
    assert ax.collections[0].get_offsets().mask.sum() == 0


def test_labels_have_one_colour_each_and_stand_in_the_legend(model, board):
    words = np.array(["ash", "beech", "cedar", "date"])[board.row_labels]
    ax = plotting.embedding(model, labels=words, name="tree")
    colours = ax.collections[0].get_facecolors()
    of_label = {word: {tuple(c) for c in colours[words == word]} for word in set(words)}
    assert all(len(found) == 1 for found in of_label.values())
    assert len(set.union(*of_label.values())) == 4
    assert _legend(ax) == ["ash", "beech", "cedar", "date"]
    assert ax.get_legend().get_title().get_text() == "tree"
    for handle, word in zip(ax.get_legend().legend_handles, _legend(ax), strict=True):
        assert to_rgba(handle.get_color()) in of_label[word]


def test_points_without_a_label_are_grey_and_so_named():
    points = np.random.default_rng(0).normal(size=(4, 2))
    ax = plotting.embedding(points, labels=["a", None, np.nan, "a"])
    colours = ax.collections[0].get_facecolors()
    np.testing.assert_allclose(colours[1:3], [to_rgba("#BBBBBB")] * 2)
    assert _legend(ax) == ["a", "no label"]


@pytest.mark.parametrize("name", ["$x_$", "_hidden", r"$\frac{$", "<b>&amp;"])
def test_names_are_shown_as_they_are(name):
    points = np.random.default_rng(0).normal(size=(3, 2))
    ax = plotting.embedding(points, labels=[name, "b", "c"])
    assert name in _legend(ax)
    ax.figure.canvas.draw()  # would fail on half a formula


def test_long_and_many_labels_do_not_fill_the_figure():
    points = np.random.default_rng(0).normal(size=(30, 2))
    ax = plotting.embedding(points, labels=[f"{i:02d}" + "x" * 90 for i in range(30)])
    shown = _legend(ax)
    assert len(shown) == 21
    assert shown[-1] == "and 10 more"
    assert max(map(len, shown)) < 30


def test_twenty_four_labels_have_colours_of_their_own():
    points = np.random.default_rng(0).normal(size=(24, 2))
    ax = plotting.embedding(points, labels=range(24))
    assert len(np.unique(ax.collections[0].get_facecolors(), axis=0)) == 24


def test_values_are_coloured_by_a_bar_with_their_name(model):
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
        ({"mode": "genes"}, "mode must be one of 'rows', 'columns', got 'genes'"),
        ({"labels": range(30), "values": range(30)}, "labels and values both give colours"),
        ({"labels": range(30), "palette": {0: "red"}}, "palette has no colour for"),
    ],
)
def test_what_cannot_be_drawn_is_told_before_a_figure_is_made(model, options, message):
    with pytest.raises(ValueError, match=message):
        plotting.embedding(model, **options)
    assert not plt.get_fignums()


# Matrices


@pytest.mark.parametrize("organised", [True, False])
def test_a_matrix_shows_the_data_with_missing_entries_masked(model, organised):
    ax = plotting.matrix(model, organised=organised)
    rows, columns = model.row_order_, model.column_order_
    expected = model._X[np.ix_(rows, columns)] if organised else model._X
    shown, bars = _drawn(ax)
    np.testing.assert_array_equal(np.ma.getmaskarray(shown), np.isnan(expected))
    np.testing.assert_array_equal(shown.filled(np.nan), expected)
    assert not bars
    assert ax.images[0].cmap(np.ma.masked_all(1))[0].tolist() == [1, 1, 1, 1]
    assert ax.images[0].colorbar.ax.get_ylabel() == "value (white: missing)"
    assert "50% missing" in ax.get_title()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("24 columns", "30 rows")


def test_a_filled_in_matrix_has_the_colours_of_the_data(model, scale):
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


def test_bars_show_the_labels_in_the_order_of_the_matrix(model, board):
    palette = {0: "red", 1: "green", 2: "blue", 3: "black"}
    labels = {"row_labels": board.row_labels, "column_labels": board.column_labels}
    ax = plotting.matrix(model, palette=palette, **labels)
    _, (rows, columns) = _drawn(ax)
    at_rows = [to_rgb(palette[label]) for label in board.row_labels[model.row_order_]]
    at_columns = [to_rgb(palette[label]) for label in board.column_labels[model.column_order_]]
    np.testing.assert_allclose(rows[:, 0], at_rows)
    np.testing.assert_allclose(columns[0], at_columns)
    assert _legend(ax) == ["0", "1", "2", "3"]


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


def test_clusters_beside_labels_have_other_colours(model, board, scale):
    ax = plotting.matrix(model, l=scale[0], k=scale[1], row_labels=board.row_labels)
    clusters, labels, _ = _drawn(ax)[1]
    both = [{tuple(colour) for colour in bar[:, 0]} for bar in (clusters, labels)]
    assert not both[0] & both[1]


def test_what_was_never_observed_stays_white_in_the_filled_in_matrix(model_with_gaps):
    ax = plotting.matrix(model_with_gaps, filled=True)
    mask = np.ma.getmaskarray(_drawn(ax)[0])
    assert mask[-2:].all()
    assert mask[:, -1].all()
    assert not mask[:-2, :-1].any()
    assert ax.images[0].colorbar.ax.get_ylabel() == "value (white: no data)"


def test_names_of_rows_and_columns_are_shown_where_there_is_room(board):
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


def test_a_scale_needs_both_exponents_and_to_have_been_kept(model, board):
    with pytest.raises(ValueError, match=r"give both l and k, got l=1 and k=None"):
        plotting.matrix(model, l=1)
    with pytest.raises(ValueError, match=r"there is no scale \(99, 1\)"):
        plotting.matrix(model, l=99, k=1)
    with pytest.raises(ValueError, match="fit with keep_scales=True"):
        plotting.matrix(CoManifold().fit(board.X), l=0, k=0)
    with pytest.raises(ValueError, match="column_labels must have one label for each of 24"):
        plotting.matrix(model, column_labels=np.zeros((24, 1)))
    assert not plt.get_fignums()


# Scales, spectrum, convergence


@pytest.mark.parametrize("what", ["n_row_clusters", "n_column_clusters", "objective", "weight"])
def test_a_surface_has_each_scale_in_its_place(model, what):
    ax = plotting.surface(model, what=what)
    image = ax.images[0]
    left, right, low, high = image.get_extent()
    shown = image.get_array()
    assert shown.shape == (high - low, right - left)
    for scale in model.scales_:
        place = round(scale.l - low - 0.5), round(scale.k - left - 0.5)
        assert shown[place] == getattr(scale, what)
    assert (~np.ma.getmaskarray(shown)).sum() == len(model.scales_)
    names = {"n_row_clusters": "row clusters", "weight": "weight in the metric"}
    assert names.get(what, "") in image.colorbar.ax.get_ylabel()
    assert image.origin == "lower"


def test_a_surface_of_something_else_is_refused(model):
    with pytest.raises(ValueError, match=r"what must be one of 'n_row_clusters'.*got 'time'"):
        plotting.surface(model, what="time")


def test_a_spectrum_begins_with_the_eigenvalues_of_the_fit(model, model_with_gaps):
    ax = plotting.spectrum(model, n_eigenvalues=8)
    for line, values in (
        (ax.lines[0], model.row_eigenvalues_),
        (ax.lines[2], model.column_eigenvalues_),
    ):
        assert len(line.get_ydata()) == 8
        np.testing.assert_allclose(line.get_ydata()[:3], values, atol=1e-10)
        assert np.all(np.diff(line.get_ydata()) <= 1e-12)
    assert _legend(ax) == ["rows", "columns"]
    only = plotting.spectrum(model_with_gaps, mode="columns", n_eigenvalues=99)
    assert _legend(only) == ["columns"]
    assert len(only.lines[0].get_ydata()) == 22


def test_other_embeddings_have_no_spectrum_but_the_rest(board):
    model = CoManifold(embedding=Isomap(metric="precomputed", n_neighbors=20)).fit(board.X)
    with pytest.raises(ValueError, match="Isomap has no spectrum"):
        plotting.spectrum(model)
    assert not plt.get_fignums()
    assert model.plot().get_axes()


def test_convergence_of_one_result_is_its_objective(board):
    graphs = [Graph.nearest_neighbors(X, 5) for X in (board.X, board.X.T)]
    result = co_cluster(board.X, *graphs, row_cost=1.0, column_cost=1.0)
    ax = plotting.convergence(result)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), result.objective_history)
    assert ax.get_ylabel() == "objective"


def test_convergence_of_a_fit_tells_which_scales_missed_the_tolerance(model, board):
    ax = plotting.convergence(model)
    residuals = [scale.certificate.stationarity for scale in model.scales_]
    floor = 1e-4 * model.tol
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), np.maximum(residuals, floor))
    assert ax.get_title() == f"{len(residuals)} of {len(residuals)} converged"
    assert model.tol in ax.lines[1].get_ydata()
    with pytest.warns(UserWarning, match="tol"):
        hasty = CoManifold(max_iter=1, tol=1e-9).fit(board.X)
    missed = [i for i, s in enumerate(hasty.scales_, start=1) if s.status != "converged"]
    ax = plotting.convergence(hasty)
    assert missed
    assert ax.lines[2].get_xdata().tolist() == missed
    assert _legend(ax) == ["converged", "not converged"]


# Of all functions


_FUNCTIONS = [getattr(plotting, name) for name in plotting.__all__ if name != "STYLE"]


@pytest.mark.parametrize("draw", _FUNCTIONS)
def test_only_fitted_models_are_drawn(draw):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        draw(CoManifold())
    with pytest.raises(ValueError, match=r"must be a CoManifold, got str|must hold numbers"):
        draw("model")
    assert not plt.get_fignums()


@pytest.mark.parametrize("draw", [f for f in _FUNCTIONS if f is not plotting.overview])
def test_given_axes_are_returned_and_settings_left_alone(draw, model):
    before = dict(plt.rcParams)
    figure, ax = plt.subplots()
    assert draw(model, ax=ax) is ax
    assert draw(model) is not ax
    assert dict(plt.rcParams) == before
    assert len(plt.get_fignums()) == 2
    figure.canvas.draw()
