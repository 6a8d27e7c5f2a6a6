"""Plots over the scales of a fit: numbers by scale, eigenvalues, convergence."""

import warnings
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.ticker import MaxNLocator
from sklearn.base import clone

from .._validation import check_choice, restrict_to_observed
from ..diffusion_map import DiffusionMap
from ..solvers import CoClustering
from ._style import (
    AMOUNT,
    BLUE,
    MODES,
    VERMILION,
    Array,
    Width,
    axes_to_draw_on,
    check_model,
    of_mode,
)

# Columns of `scales_` that `surface` draws, and their names on the colour bar.
_NAMES = {
    "n_row_clusters": "row clusters",
    "n_column_clusters": "column clusters",
    "objective": "objective",
    "weight": "weight in the metric",
}
_MAX_TICKS = 6

_STYLES = {"row": {"color": BLUE, "marker": "o"}, "column": {"color": VERMILION, "marker": "s"}}


def surface(
    model: Any,
    *,
    what: str = "n_row_clusters",
    legend: bool = True,
    width: Width = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a number for each scale (pair of costs) that was solved.

    Scales that were not solved, because they would repeat others, are grey.

    Parameters
    ----------
    model : CoManifold
    what : {"n_row_clusters", "n_column_clusters", "objective", "weight"}
        The number to draw.
    legend : bool, default=True
        Whether to draw the colour bar.
    width : "single", "double" or float, optional
        Width of a new figure: one or two columns of a journal (89 and 183 mm), or a number in mm.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    ax : Axes

    Examples
    --------
    >>> from comanifold import CoManifold, plotting
    >>> from comanifold.datasets import make_checkerboard
    >>> model = CoManifold().fit(make_checkerboard(40, 30, random_state=0).X)
    >>> plotting.surface(model, what="n_column_clusters").get_xlabel()
    'k (column cost $2^k$)'
    """
    check_model(model)
    check_choice("what", what, list(_NAMES))
    rows, columns = model.scales_["l"], model.scales_["k"]
    values = np.full((np.ptp(rows) + 1, np.ptp(columns) + 1), np.nan)
    values[rows - rows.min(), columns - columns.min()] = model.scales_[what]
    ticks = _ticks(values) if what != "weight" else []
    with axes_to_draw_on(ax, width=width) as ax:
        image = ax.imshow(
            values,
            cmap=AMOUNT,
            norm=_norm(values, is_logarithmic=len(ticks) > 1, from_zero=what == "weight"),
            origin="lower",
            extent=(columns.min() - 0.5, columns.max() + 0.5, rows.min() - 0.5, rows.max() + 0.5),
            aspect="auto",
        )
        ax.set(xlabel="k (column cost $2^k$)", ylabel="l (row cost $2^l$)")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))
        if legend:
            bar = ax.figure.colorbar(image, ax=ax, label=_NAMES[what])
            if len(ticks) > 1:
                bar.set_ticks(ticks, labels=[f"{tick:,.10g}" for tick in ticks], minor=False)
                bar.ax.minorticks_off()
    return ax


def _norm(values: Array, *, is_logarithmic: bool, from_zero: bool) -> Normalize:
    """Return the normalisation of the colour map."""
    high = np.nanmax(values)
    if is_logarithmic:
        return LogNorm(np.nanmin(values), high)
    return Normalize(0.0 if from_zero else np.nanmin(values), high)


def _ticks(values: Array) -> list[float]:
    """Return round ticks for a logarithmic scale; none unless all values are positive."""
    low, high = np.nanmin(values), np.nanmax(values)
    if low <= 0.0:
        return []
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    for steps in ([1.0, 2.0, 5.0], [1.0]):
        ticks = np.outer(powers, steps).ravel()
        ticks = ticks[(ticks >= low) & (ticks <= high)]
        if len(ticks) <= _MAX_TICKS:
            break
    return ticks.tolist()


def spectrum(
    model: Any,
    *,
    mode: str = "both",
    n_eigenvalues: int = 10,
    width: Width = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the leading eigenvalues of the diffusion maps, without the constant one.

    Markers of the eigenvalues of the embedding's coordinates are filled. A gap after them means
    that these coordinates suffice; large eigenvalues beyond suggest more `n_components`.

    Parameters
    ----------
    model : CoManifold
    mode : {"row", "column", "both"}, default="both"
    n_eigenvalues : int, default=10
        Number of eigenvalues to draw, at most.
    width : "single", "double" or float, optional
        Width of a new figure: one or two columns of a journal (89 and 183 mm), or a number in mm.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    ax : Axes

    Examples
    --------
    >>> from comanifold import CoManifold, plotting
    >>> from comanifold.datasets import make_linkage
    >>> ax = plotting.spectrum(CoManifold().fit(make_linkage(40, 30, random_state=0).X))
    >>> ax.get_ylabel()
    'eigenvalue'
    """
    check_model(model)
    check_choice("mode", mode, [*MODES, "both"])
    if not has_spectrum(model):
        raise ValueError(
            f"{model.embedding_name_} has no spectrum: only diffusion maps, "
            'embedding="diffusion", have one'
        )
    with axes_to_draw_on(ax, width=width) as ax:
        for which in MODES if mode == "both" else [mode]:
            shown = of_mode(model, which, "eigenvalues")
            values = _eigenvalues(model, which, max(n_eigenvalues, len(shown)))
            number = np.arange(1, len(values) + 1)
            ax.plot(number, values, label=f"{which}s", lw=1.0, ms=5, mfc="white", **_STYLES[which])
            style = {**_STYLES[which], "ls": "", "label": "_in the embedding"}
            ax.plot(number[: len(shown)], shown, ms=5, **style)
        ax.axhline(0.0, color="black", lw=0.5)
        ax.set(title="spectrum\nfilled: in the embedding", xlabel="number", ylabel="eigenvalue")
        ax.set_ylim(top=1.04)
        ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
        ax.legend(loc="best")
    return ax


def has_spectrum(model: Any) -> bool:
    """Return whether the embedding has eigenvalues."""
    return hasattr(model, "row_eigenvalues_")


def _eigenvalues(model: Any, mode: str, n_eigenvalues: int) -> Array:
    """Return the leading eigenvalues, including those beyond the coordinates of the fit."""
    observed = ~np.isnan(of_mode(model, mode, "embedding")).any(axis=1)
    distances = restrict_to_observed(of_mode(model, mode, "distances"), observed)
    n_eigenvalues = min(n_eigenvalues, distances.shape[0] - 1)
    given = model.embedding
    if not isinstance(given, DiffusionMap):
        given = DiffusionMap(metric="precomputed", bandwidth=model.bandwidth)
    longer = clone(given).set_params(n_components=n_eigenvalues)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # already given by the fit
        return longer.fit(distances).eigenvalues_


def convergence(result: Any, *, width: Width = None, ax: Axes | None = None) -> Axes:
    """Draw the convergence of one solution, or of all scales of a fit.

    Parameters
    ----------
    result : CoClustering or CoManifold
        For the result of `co_cluster`, its objective by iteration. For a fitted model, the
        stationarity residual of each scale (see `Certificate`) and the tolerance.
    width : "single", "double" or float, optional
        Width of a new figure: one or two columns of a journal (89 and 183 mm), or a number in mm.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    ax : Axes

    Examples
    --------
    >>> from comanifold import CoManifold, plotting
    >>> from comanifold.datasets import make_linkage
    >>> ax = plotting.convergence(CoManifold().fit(make_linkage(40, 30, random_state=0).X))
    >>> ax.get_ylabel()
    'stationarity residual'
    """
    if not isinstance(result, CoClustering):
        check_model(result)
    with axes_to_draw_on(ax, width=width) as ax:
        if isinstance(result, CoClustering):
            _draw_history(ax, result)
        else:
            _draw_residuals(ax, result)
        ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    return ax


def _draw_history(ax: Axes, result: CoClustering) -> None:
    """Draw the objective by iteration."""
    history = result.objective_history
    ax.plot(history, color=BLUE, lw=1.2, marker=".", ms=4)
    status = "" if result.status == "converged" else f" ({result.status})"
    ax.set(title=f"convergence{status}", xlabel="iteration", ylabel="objective")


def _draw_residuals(ax: Axes, model: Any) -> None:
    """Draw the stationarity residual of each scale, and the tolerance."""
    residuals = model.scales_["stationarity"]
    met = model.scales_["status"] == "converged"
    number = np.arange(1, len(met) + 1)
    # A residual of zero has no logarithm: draw it well below the tolerance.
    residuals = np.maximum(residuals, 1e-4 * model.tol)
    ax.plot(number[met], residuals[met], ".", color=BLUE, ms=4, label="converged")
    ax.axhline(model.tol, color="black", lw=0.8, ls="--")
    at_the_line = ax.get_yaxis_transform()
    ax.text(1.0, 1.2 * model.tol, "tolerance", ha="right", va="bottom", transform=at_the_line)
    ax.set(
        title=f"{met.sum()} of {len(met)} converged",
        xlabel="scale",
        ylabel="stationarity residual",
        yscale="log",
    )
    ax.set_ylim(top=10.0 * max(model.tol, residuals.max()))
    if not met.all():
        ax.plot(number[~met], residuals[~met], "x", color=VERMILION, ms=5, label="not converged")
        ax.legend(loc="upper left")
