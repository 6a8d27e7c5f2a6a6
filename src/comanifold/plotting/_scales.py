"""Plots over the scales of a fit (numbers by scale, eigenvalues, convergence), and the overview."""

import warnings
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike
from sklearn.base import clone

from .._validation import check_choice, restrict_to_observed
from ..diffusion_map import DiffusionMap
from ..solvers import CoClustering
from ._embedding import axis_name, draw_points
from ._matrix import cluster_colours, colour_bar, draw_bar, show_entries
from ._style import (
    ALONG,
    AMOUNT,
    BLUE,
    MODES,
    SETTINGS,
    VERMILION,
    Array,
    Palette,
    axes_to_draw_on,
    check_model,
    check_scale,
    clusters_at,
    colours_of,
    draw_legend,
    labels_of_modes,
    of_mode,
    palette_of,
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
    model: Any, *, what: str = "n_row_clusters", legend: bool = True, ax: Axes | None = None
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
    with axes_to_draw_on(ax) as ax:
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
    model: Any, *, mode: str = "both", n_eigenvalues: int = 10, ax: Axes | None = None
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
    with axes_to_draw_on(ax) as ax:
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


def convergence(result: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the convergence of one solution, or of all scales of a fit.

    Parameters
    ----------
    result : CoClustering or CoManifold
        For the result of `co_cluster`, its objective by iteration. For a fitted model, the
        stationarity residual of each scale (see `Certificate`) and the tolerance.
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
    with axes_to_draw_on(ax) as ax:
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


def overview(
    model: Any,
    *,
    row_labels: ArrayLike | None = None,
    column_labels: ArrayLike | None = None,
    l: int | None = None,
    k: int | None = None,
    palette: Palette | None = None,
    name: str = "value",
    figure: Any = None,
) -> Any:
    """Draw a fitted model as one figure: matrices, embeddings, scales, spectrum, convergence.

    The matrix is drawn as given, organised, and filled in. Bars at its sides have the colours of
    the points in the embeddings: by label if given, else by cluster at the scale (l, k) if given,
    else by `row_labels_` or `column_labels_` if there is more than one cluster (their number is in
    the title), else by position in the organised order.

    Parameters
    ----------
    model : CoManifold
    row_labels, column_labels : array-like, optional
        The group of each row and column.
    l, k : int, optional
        A scale: the matrix is filled in by that scale alone, and a mode without labels is coloured
        by its clusters. Needs a fit with `keep_scales`.
    palette : dict, optional
        The colour of each label, of rows and of columns.
    name : str, default="value"
        Label of the colour bar of the matrices.
    figure : Figure or SubFigure, optional
        Where to draw; by default a new one. It should have a constrained layout.

    Returns
    -------
    figure : Figure or SubFigure
    """
    check_model(model)
    at = check_scale(l, k)
    labels = labels_of_modes(model, row_labels, column_labels)
    palette = palette_of(*labels.values()) if palette is None else palette
    colours = {mode: _colours(model, mode, labels[mode], at, palette) for mode in MODES}
    nouns = {
        mode: f"{mode}s in {_n_clusters(model, mode)} clusters"
        if labels[mode] is None and at is None and _n_clusters(model, mode) > 1
        else f"{mode}s"
        for mode in MODES
    }
    with mpl.rc_context(SETTINGS):
        if figure is None:
            import matplotlib.pyplot as plt

            figure = plt.figure(figsize=(12.0, 7.6), layout="constrained")
        top, bottom = figure.subfigures(2, 1, height_ratios=[1.0, 1.05])
        _draw_matrices(top, model, colours, at, name)
        left, right = bottom.subfigures(1, 2, width_ratios=[1.75, 1.4])
        for ax, mode in zip(left.subplots(1, 2), MODES, strict=True):
            points = of_mode(model, mode, "embedding")
            components = (0, 1)[: points.shape[1]]
            draw_points(
                ax,
                points,
                components,
                colours=colours[mode],
                noun=nouns[mode],
                axis=axis_name(model),
            )
            if labels[mode] is not None:
                draw_legend(ax, labels[mode], palette, below=True)
        _draw_scales(right.subplots(2, 2), model)
    return figure


def _colours(
    model: Any, mode: str, labels: list[Any] | None, at: tuple[int, int] | None, palette: Palette
) -> list[Any]:
    """Return the colour of each row or column: by label, cluster, or position."""
    if labels is not None:
        return colours_of(labels, palette)
    if at is not None:
        return cluster_colours(model, mode, clusters_at(model, mode, at), light=bool(palette))
    if _n_clusters(model, mode) > 1:
        clusters = of_mode(model, mode, "labels").tolist()
        return cluster_colours(model, mode, clusters, light=bool(palette))
    rank = np.argsort(of_mode(model, mode, "order"))
    return list(ALONG(rank / max(len(rank) - 1, 1))[:, :3])


def _n_clusters(model: Any, mode: str) -> int:
    """Return the number of clusters of the model."""
    return int(of_mode(model, mode, "labels").max()) + 1


def _draw_matrices(
    figure: Any, model: Any, colours: dict[str, list[Any]], at: tuple[int, int] | None, name: str
) -> None:
    """Draw the matrix as given, organised, and filled in."""
    kinds = (
        {"organised": False, "filled": False},
        {"organised": True, "filled": False},
        {"organised": True, "filled": True, "at": at},
    )
    axes = figure.subplots(1, len(kinds))
    images = []
    for ax, kind in zip(axes, kinds, strict=True):
        images.append(show_entries(ax, model, **kind))
        for mode in MODES:
            draw_bar(ax, model, mode, colours[mode], organised=kind["organised"])
    bar = {"fraction": 0.03, "pad": 0.01, "aspect": 30}
    colour_bar(axes, images[0], filled=False, name=name, **bar)


def _draw_scales(axes: Any, model: Any) -> None:
    """Draw clusters by scale, the spectrum if there is one, and the convergence."""
    surface(model, what="n_row_clusters", ax=axes[0, 0])
    surface(model, what="n_column_clusters", ax=axes[0, 1]).set_ylabel("")
    if has_spectrum(model):
        spectrum(model, ax=axes[1, 0])
    else:
        surface(model, what="weight", ax=axes[1, 0])
    convergence(model, ax=axes[1, 1])
