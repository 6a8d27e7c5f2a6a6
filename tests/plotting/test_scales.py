"""Plots over the scales (surfaces, spectrum, convergence), and the overview."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from sklearn.manifold import Isomap

from comanifold import CoManifold, DiffusionMap, Graph, co_cluster, plotting


@pytest.mark.parametrize("what", ["n_row_clusters", "n_column_clusters", "objective", "weight"])
def test_a_surface_shows_the_number_of_each_scale(model, what):
    ax = plotting.surface(model, what=what)
    image = ax.images[0]
    left, right, low, high = image.get_extent()
    shown = image.get_array()
    assert shown.shape == (high - low, right - left)
    scales = model.scales_
    for l, k, value in zip(scales["l"], scales["k"], scales[what], strict=True):
        assert shown[round(l - low - 0.5), round(k - left - 0.5)] == value
    assert (~np.ma.getmaskarray(shown)).sum() == len(scales["l"])
    names = {"n_row_clusters": "row clusters", "weight": "weight in the metric"}
    assert names.get(what, "") in image.colorbar.ax.get_ylabel()
    assert image.origin == "lower"


def test_an_unknown_column_of_scales_is_an_error(model):
    with pytest.raises(ValueError, match=r"what must be one of 'n_row_clusters'.*got 'time'"):
        plotting.surface(model, what="time")


def test_a_spectrum_starts_with_the_eigenvalues_of_the_fit(model, model_with_gaps, legend):
    ax = plotting.spectrum(model, n_eigenvalues=8)
    for line, values in (
        (ax.lines[0], model.row_eigenvalues_),
        (ax.lines[2], model.column_eigenvalues_),
    ):
        assert len(line.get_ydata()) == 8
        np.testing.assert_allclose(line.get_ydata()[:3], values, atol=1e-10)
        assert np.all(np.diff(line.get_ydata()) <= 1e-12)
    assert legend(ax) == ["rows", "columns"]
    only = plotting.spectrum(model_with_gaps, mode="column", n_eigenvalues=99)
    assert legend(only) == ["columns"]
    assert len(only.lines[0].get_ydata()) == 22


def test_a_spectrum_is_that_of_the_given_diffusion_map(board):
    given = DiffusionMap(metric="precomputed", bandwidth="median", density_normalization=1.0)
    model = CoManifold(embedding=given).fit(board.X)
    ax = plotting.spectrum(model, mode="row")
    np.testing.assert_allclose(ax.lines[0].get_ydata()[:2], model.row_eigenvalues_, atol=1e-10)
    assert given.n_components == 2


def test_other_embeddings_have_no_spectrum_but_an_overview(board):
    model = CoManifold(embedding=Isomap(metric="precomputed", n_neighbors=20)).fit(board.X)
    with pytest.raises(ValueError, match="Isomap has no spectrum"):
        plotting.spectrum(model)
    assert not plt.get_fignums()
    assert model.plot().get_axes()


def test_convergence_of_one_solution_is_its_objective(board):
    graphs = [Graph.nearest_neighbors(X, 5) for X in (board.X, board.X.T)]
    result = co_cluster(board.X, *graphs, row_cost=1.0, column_cost=1.0)
    ax = plotting.convergence(result)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), result.objective_history)
    assert ax.get_ylabel() == "objective"


def test_convergence_of_a_fit_marks_scales_above_the_tolerance(model, board, legend):
    ax = plotting.convergence(model)
    residuals = model.scales_["stationarity"]
    floor = 1e-4 * model.tol
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), np.maximum(residuals, floor))
    assert ax.get_title() == f"{len(residuals)} of {len(residuals)} converged"
    assert model.tol in ax.lines[1].get_ydata()
    with pytest.warns(UserWarning, match="tol"):
        hasty = CoManifold(max_iter=1, tol=1e-9).fit(board.X)
    missed = (np.flatnonzero(hasty.scales_["status"] != "converged") + 1).tolist()
    ax = plotting.convergence(hasty)
    assert missed
    assert ax.lines[2].get_xdata().tolist() == missed
    assert legend(ax) == ["converged", "not converged"]


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


@pytest.mark.parametrize("colouring", ["labels", "clusters", "found", "order"])
def test_a_row_has_one_colour_in_all_panels(model, board, scale, colouring):
    if colouring in ("found", "order"):
        model = CoManifold(n_clusters=4 if colouring == "found" else 1).fit(model.data_)
    options = {
        "labels": {"row_labels": board.row_labels, "column_labels": board.column_labels},
        "clusters": {"l": scale[0], "k": scale[1]},
        "found": {},
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
        "clusters": None if colouring != "clusters" else model.row_labels_at(*scale),
        "found": model.row_labels_,
        "order": np.arange(30),
    }[colouring]
    in_clusters = " in 4 clusters" if colouring == "found" else ""
    assert points["rows"].get_title() == f"30 rows{in_clusters}"
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
    n_clusters = model_with_gaps.row_labels_.max() + 1
    assert n_clusters > 1
    title = f"28 rows in {n_clusters} clusters (2 without data not shown)"
    assert points["rows"].get_title() == title
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
