"""Plots over the scales: surfaces, spectrum and convergence."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.manifold import Isomap

from comanifold import CoManifold, Graph, co_cluster, plotting


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
