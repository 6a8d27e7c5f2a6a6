"""Scatter plot of an embedding."""

import numbers
from itertools import compress
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from .._embedding.layouts import TITLES
from .._validation import check_matrix
from ._style import (
    ALONG,
    BLUE,
    GREY,
    Array,
    Palette,
    Width,
    axes_to_draw_on,
    check_model,
    colours_of,
    draw_legend,
    of_mode,
    palette_of,
    read_labels,
    with_equal_axes,
)

# More points than this are rasterised in vector formats.
_MAX_VECTOR_POINTS = 2000


def embedding(
    model: Any,
    *,
    mode: str = "row",
    labels: ArrayLike | None = None,
    values: ArrayLike | None = None,
    name: str = "",
    components: tuple[int, ...] = (0, 1),
    palette: Palette | None = None,
    size: float | None = None,
    legend: bool = True,
    width: Width = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the points of an embedding, with both axes to the same scale.

    Points without coordinates (rows or columns without an observed entry) are left out, and the
    title says how many.

    Parameters
    ----------
    model : CoManifold or array-like of shape (n_points, n_coordinates)
        A fitted model, or points.
    mode : {"row", "column"}, default="row"
        Which embedding of a model.
    labels : array-like of shape (n_points,), optional
        The group of each point, by which it is coloured; None or NaN for none.
    values : array-like of shape (n_points,), optional
        A number for each point, by which it is coloured.
    name : str, optional
        Title of the legend, or label of the colour bar.
    components : pair of int, default=(0, 1)
        The coordinates to draw. A single one is drawn against the rank of the points.
    palette : dict, optional
        The colour of each label. By default the same labels always have the same colours, and of
        more than 24 the most frequent have colours of their own.
    size : float, optional
        Of a point, in square points. By default the more there are, the smaller.
    legend : bool, default=True
        Whether to explain the colours, in a legend or a colour bar.
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
    >>> data = make_linkage(40, 30, random_state=0)
    >>> ax = plotting.embedding(CoManifold().fit(data.X), values=data.row_position[:, 0])
    >>> ax.get_title()
    '40 rows'
    """
    points, noun = _points(model, mode)
    title = axis_name(model) if hasattr(model, "fit") else "coordinate"
    _check_components(components, points.shape[1])
    if labels is not None and values is not None:
        raise ValueError("labels and values both give colours: set one of them")
    labels = read_labels(labels, len(points), "labels")
    values = _read_values(values, len(points))
    colours: Any = BLUE
    if labels is not None:
        palette = palette_of(labels) if palette is None else palette
        colours = colours_of(labels, palette)
    elif values is not None:
        colours = values
    with axes_to_draw_on(ax, width=width) as ax:
        shown = draw_points(
            ax, points, components, colours=colours, noun=noun, axis=title, size=size
        )
        if legend and labels is not None:
            draw_legend(ax, labels, palette, title=name)
        elif legend and values is not None:
            ax.figure.colorbar(shown, ax=ax, label=name)
    return ax


def draw_points(
    ax: Axes,
    points: Array,
    components: tuple[int, ...],
    *,
    colours: Any,
    noun: str,
    axis: str,
    size: float | None = None,
) -> Any:
    """Draw the points that have coordinates; `colours` is one colour, or one per point."""
    chosen = points[:, list(components)]
    placed = ~np.isnan(chosen).any(axis=1)
    each = colours if isinstance(colours, str) else list(compress(colours, placed))
    shown = ax.scatter(
        *_places(chosen[placed]),
        c=each,
        s=_size(placed.sum()) if size is None else size,
        cmap=ALONG.with_extremes(bad=GREY) if isinstance(colours, np.ndarray) else None,
        linewidths=0,
        rasterized=len(points) > _MAX_VECTOR_POINTS,
        plotnonfinite=True,
    )
    _describe(ax, [f"{axis} {which + 1}" for which in components], noun, placed)
    return shown


def axis_name(model: Any) -> str:
    """Return what the coordinates of a model are called, such as UMAP."""
    return TITLES.get(model.embedding_name_, TITLES["diffusion"])


def _points(model: Any, mode: str) -> tuple[Array, str]:
    """Return the points to draw, and what to call them."""
    if hasattr(model, "fit"):
        check_model(model)
        return of_mode(model, mode, "embedding"), f"{mode}s"
    return check_matrix(model, name="points"), "points"


def _check_components(components: Any, n_coordinates: int) -> None:
    """Raise an error unless components are one or two columns of the embedding."""
    are_counts = np.ndim(components) == 1 and all(
        isinstance(which, numbers.Integral) for which in components
    )
    if not are_counts or len(components) not in (1, 2):
        raise ValueError(f"components must be a pair such as (0, 1), got {components!r}")
    if not all(0 <= which < n_coordinates for which in components):
        raise ValueError(
            f"components must be from 0 to {n_coordinates - 1}, got {components!r}: the embedding "
            f"has {n_coordinates} coordinate(s), the n_components of the fit"
        )


def _read_values(values: ArrayLike | None, n_points: int) -> Array | None:
    """Validate values; return them as floats."""
    if values is None:
        return None
    values = np.asarray(values, dtype=float)
    if values.shape != (n_points,):
        raise ValueError(
            f"values must be one number for each of {n_points} points, got shape {values.shape}"
        )
    return values


def _places(points: Array) -> Array:
    """Return x and y of the points; a single coordinate is drawn against its rank."""
    if points.shape[1] == 2:
        return points.T
    return np.stack([np.argsort(np.argsort(points[:, 0], kind="stable")), points[:, 0]])


def _size(n_points: int) -> float:
    """Return the default marker size, smaller for more points."""
    return float(np.clip(6000.0 / max(n_points, 1), 4.0, 30.0))


def _describe(ax: Axes, names: list[str], noun: str, placed: Any) -> None:
    """Set the title and the axis labels."""
    if len(names) == 2:
        with_equal_axes(ax)
    else:
        names = ["rank", *names]
        ax.set(xticks=[], yticks=[])
    lost = int((~placed).sum())
    left_out = f" ({lost} without data not shown)" if lost else ""
    ax.set(xlabel=names[0], ylabel=names[1], title=f"{placed.sum()} {noun}{left_out}")
