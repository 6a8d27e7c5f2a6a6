"""Overview of a fitted model: matrices, embeddings, scales, spectrum and convergence."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from ._annotations import Annotations, Bar, Sections, read_annotations
from ._embedding import axis_name, draw_points
from ._matrix import cluster_colours, colour_bar, draw_bars, show_entries, shrink_names
from ._scales import convergence, has_spectrum, spectrum, surface
from ._style import (
    ALONG,
    MODES,
    Palette,
    Width,
    check_model,
    check_scale,
    check_width,
    clusters_at,
    colours_of,
    draw_legend,
    labels_of_modes,
    of_mode,
    palette_of,
    settings_for,
)

# Its size in inches, its height relative to a given width, and the least width.
_SIZE, _TALL, _MIN_OVERVIEW = (12.0, 7.6), 0.75, 5.9
# Height of the lower half, relative to the upper one.
_LOWER = 1.05


def overview(
    model: Any,
    *,
    row_labels: ArrayLike | None = None,
    column_labels: ArrayLike | None = None,
    l: int | None = None,
    k: int | None = None,
    annotations: Annotations | None = None,
    palette: Palette | None = None,
    name: str = "value",
    width: Width = None,
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
    annotations : dict, optional
        What else is known, ``{"rows": {name: values}, "columns": {name: values}}``, as in
        `matrix`: further bars at the sides of the matrices, with a legend.
    palette : dict, optional
        The colour of each label, of rows and of columns.
    name : str, default="value"
        Label of the colour bar of the matrices.
    width : "double" or float, optional
        Width of a new figure: two columns of a journal (183 mm), or a number of at least 150 (mm).
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
    bars = read_annotations(
        annotations,
        {mode: len(colours[mode]) for mode in MODES},
        len(palette) or max(_n_clusters(model, mode) for mode in MODES),
    )
    size = _overview_size(width, figure)
    nouns = {
        mode: f"{mode}s in {_n_clusters(model, mode)} clusters"
        if labels[mode] is None and at is None and _n_clusters(model, mode) > 1
        else f"{mode}s"
        for mode in MODES
    }
    with settings_for(width):
        is_new = figure is None
        if is_new:
            import matplotlib.pyplot as plt

            figure = plt.figure(figsize=size, layout="constrained")
        sections = Sections(bars, figure) if bars else None
        top, bottom = _halves(figure, 0.0 if sections is None else sections.height, grow=is_new)
        matrices = _draw_matrices(top, model, colours, bars, at, name)
        if sections is not None:
            sections.draw(figure=top)
        # Small text needs a larger part of a narrow figure.
        share = [1.75, 1.4] if width is None else [1.4, 1.6]
        left, right = bottom.subfigures(1, 2, width_ratios=share)
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
        shrink_names(*matrices)
    return figure


def _overview_size(width: Width, figure: Any) -> tuple[float, float]:
    """Return the size of the figure in inches."""
    inches = check_width(width)
    if inches is None:
        return _SIZE
    if figure is not None:
        raise ValueError("width is that of a new figure: it cannot be set together with figure")
    if inches < _MIN_OVERVIEW:
        raise ValueError(
            f"the overview needs a width of at least {25.4 * _MIN_OVERVIEW:.0f} mm, such as "
            f'"double", got {width!r}: draw its parts, plotting.matrix and plotting.embedding, one '
            "by one"
        )
    return inches, inches * _TALL


def _halves(figure: Any, height: float, *, grow: bool) -> Any:
    """Return the upper and the lower part of the figure, the upper one with `height` more inches.

    The figure becomes higher with `grow`.
    """
    whole = figure.bbox.height / figure.dpi
    if grow and height:
        figure.set_figheight(whole + height)
        whole += height
    rest = max(whole - height, 0.5 * whole)
    share = 1.0 / (1.0 + _LOWER)
    upper = share * rest + whole - rest
    return figure.subfigures(2, 1, height_ratios=[upper, (1.0 - share) * rest])


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
    figure: Any,
    model: Any,
    colours: dict[str, list[Any]],
    annotations: list[Bar],
    at: tuple[int, int] | None,
    name: str,
) -> list[Axes]:
    """Draw the matrix as given, organised, and filled in; return the axes."""
    kinds = (
        {"organised": False, "filled": False},
        {"organised": True, "filled": False},
        {"organised": True, "filled": True, "at": at},
    )
    axes = figure.subplots(1, len(kinds))
    has_more = bool(annotations)
    images = []
    for ax, kind in zip(axes, kinds, strict=True):
        images.append(show_entries(ax, model, **kind))
        bars = [*(Bar(mode, colours[mode], "points" * has_more) for mode in MODES), *annotations]
        draw_bars(ax, model, bars, organised=kind["organised"], named=ax is axes[-1])
    bar = {"fraction": 0.03, "pad": 0.01, "aspect": 30}
    colour_bar(axes, images[0], filled=False, name=name, **bar)
    return list(axes)


def _draw_scales(axes: Any, model: Any) -> None:
    """Draw clusters by scale, the spectrum if there is one, and the convergence."""
    surface(model, what="n_row_clusters", ax=axes[0, 0])
    surface(model, what="n_column_clusters", ax=axes[0, 1]).set_ylabel("")
    if has_spectrum(model):
        spectrum(model, ax=axes[1, 0])
    else:
        surface(model, what="weight", ax=axes[1, 0])
    convergence(model, ax=axes[1, 1])
