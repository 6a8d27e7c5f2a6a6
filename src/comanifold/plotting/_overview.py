"""A fitted model as one figure."""

from typing import Any

import matplotlib as mpl
import numpy as np
from numpy.typing import ArrayLike

from ._embedding import draw_points
from ._matrix import cluster_colours, colour_bar, draw_bar, show_entries
from ._scales import convergence, has_spectrum, spectrum, surface
from ._style import (
    ALONG,
    MODES,
    SETTINGS,
    Palette,
    check_model,
    check_scale,
    colours_of,
    draw_legend,
    labels_of_modes,
    of_mode,
    palette_of,
)


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
    else by position in the organised order.

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
            draw_points(ax, points, components, colours=colours[mode], noun=f"{mode}s")
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
        return cluster_colours(model, mode, at, light=bool(palette))
    rank = np.argsort(of_mode(model, mode, "order"))
    return list(ALONG(rank / max(len(rank) - 1, 1))[:, :3])


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
