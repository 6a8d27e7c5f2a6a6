"""The whole result as a single figure."""

from typing import Any

import matplotlib as mpl
import numpy as np
from numpy.typing import ArrayLike

from ._convergence import convergence
from ._embedding import draw_points
from ._labels import Palette, colours_of, draw_legend, labels_of_modes, palette_of
from ._matrix import cluster_colours, colour_bar, draw_bar, show_entries
from ._model import MODES, check_model, named_scale, of_mode
from ._spectrum import has_spectrum, spectrum
from ._style import ALONG, SETTINGS
from ._surface import surface


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
    """Draw all of a fitted model: matrices, embeddings, scales, spectrum and convergence.

    The matrix is drawn as it was given, organised, and filled in. Bars at its sides have the
    colours of the points in the embeddings: those of labels or, without labels, of clusters at
    the scale that is named or else of places in the order.

    Parameters
    ----------
    model : CoManifold
    row_labels, column_labels : array-like, optional
        The group of each row and column.
    l, k : int, optional
        A scale: the matrix is filled in by that one alone, and what has no labels is coloured by
        its clusters. Needs a fit with `keep_scales`.
    palette : dict, optional
        The colour of each label, of rows and of columns.
    name : str, default="value"
        What the entries of the matrix are.
    figure : Figure or SubFigure, optional
        Where to draw; by default a new one. It should have a constrained layout.

    Returns
    -------
    figure : Figure or SubFigure
    """
    check_model(model)
    at = named_scale(l, k)
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
            draw_points(ax, points, components, colours=colours[mode], noun=mode)
            if labels[mode] is not None:
                draw_legend(ax, labels[mode], palette, below=True)
        _draw_scales(right.subplots(2, 2), model)
    return figure


def _colours(
    model: Any, mode: str, labels: list[Any] | None, at: tuple[int, int] | None, palette: Palette
) -> list[Any]:
    if labels is not None:
        return colours_of(labels, palette)
    if at is not None:
        return cluster_colours(model, mode, at, light=bool(palette))
    rank = np.argsort(of_mode(model, mode, "order"))
    return list(ALONG(rank / max(len(rank) - 1, 1))[:, :3])


def _draw_matrices(
    figure: Any, model: Any, colours: dict[str, list[Any]], at: tuple[int, int] | None, name: str
) -> None:
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
    surface(model, what="n_row_clusters", ax=axes[0, 0])
    surface(model, what="n_column_clusters", ax=axes[0, 1]).set_ylabel("")
    if has_spectrum(model):
        spectrum(model, ax=axes[1, 0])
    else:
        surface(model, what="weight", ax=axes[1, 0])
    convergence(model, ax=axes[1, 1])
