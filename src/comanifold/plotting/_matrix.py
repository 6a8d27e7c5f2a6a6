"""Heat map of the matrix, with colour bars of labels and clusters at its sides."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from numpy.typing import ArrayLike

from ._style import (
    MODES,
    Palette,
    axes_to_draw_on,
    check_model,
    check_scale,
    clusters_at,
    clusters_palette,
    colour_bar_ends,
    colours_of,
    draw_legend,
    labels_of_modes,
    of_mode,
    palette_of,
    show_matrix,
    shown_text,
    usual_limits,
)

# Width of a bar and of the space beside it, as fractions of the side of the matrix.
_BAR, _SPACE = 0.025, 0.012

# Names of rows and columns are drawn if each has at least this much room, in inches,
_MIN_ROOM = 0.09
# and truncated, because rotated names of columns take room away from the matrix.
_MAX_CHARACTERS = 18


def matrix(
    model: Any,
    *,
    filled: bool = False,
    organised: bool = True,
    l: int | None = None,
    k: int | None = None,
    row_labels: ArrayLike | None = None,
    column_labels: ArrayLike | None = None,
    palette: Palette | None = None,
    limits: tuple[float, float] | None = None,
    name: str = "value",
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the matrix of a fitted model; missing entries are white.

    Parameters
    ----------
    model : CoManifold
    filled : bool, default=False
        Whether to fill in missing entries, by all scales or by the scale (l, k).
    organised : bool, default=True
        Whether to draw rows and columns in the order found by the fit, or in that of the data.
    l, k : int, optional
        A scale, whose clusters are shown as bars on the left and at the top. Needs a fit with
        `keep_scales`.
    row_labels, column_labels : array-like, optional
        The group of each row and column, in the order of the data, shown as bars on the left
        and at the top.
    palette : dict, optional
        The colour of each label, of rows and of columns.
    limits : pair of float, optional
        Limits of the colour map. By default the 1% and 99% quantiles of the observed entries.
    name : str, default="value"
        Label of the colour bar.
    legend : bool, default=True
        Whether to draw the colour bar, and a legend of the labels.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    ax : Axes

    Examples
    --------
    >>> from comanifold import CoManifold, plotting
    >>> from comanifold.datasets import make_checkerboard, remove_entries
    >>> data = make_checkerboard(40, 30, random_state=0)
    >>> X = remove_entries(data.X, 0.5, random_state=0)
    >>> ax = plotting.matrix(CoManifold().fit(X), row_labels=data.row_labels)
    >>> ax.images[0].get_array().shape
    (40, 30)
    """
    check_model(model)
    at = check_scale(l, k)
    labels = labels_of_modes(model, row_labels, column_labels)
    named = [label for some in labels.values() for label in some or ()]
    palette = palette_of(named) if palette is None else palette
    bars = []
    for mode, some in labels.items():
        if at is not None:
            clusters = clusters_at(model, mode, at)
            bars.append((mode, cluster_colours(model, mode, clusters, light=bool(named))))
        if some is not None:
            bars.append((mode, colours_of(some, palette)))
    with axes_to_draw_on(ax, size=(6.0, 5.0)) as ax:
        image = show_entries(ax, model, filled=filled, organised=organised, at=at, limits=limits)
        places = dict.fromkeys(labels, 0)
        for mode, colours in bars:
            draw_bar(ax, model, mode, colours, organised=organised, place=places[mode])
            places[mode] += 1
        if legend:
            colour_bar(ax, image, filled=filled, name=name)
        if legend and named:
            draw_legend(ax, named, palette, below=True)
    return ax


def show_entries(
    ax: Axes,
    model: Any,
    *,
    filled: bool,
    organised: bool = True,
    at: tuple[int, int] | None = None,
    limits: tuple[float, float] | None = None,
) -> Any:
    """Draw the entries as an image, with title and names; return the image."""
    values = model.data_
    if filled:
        values = model.filled_ if at is None else model.filled_at(*at)
    rows, columns = (_order(model, mode, organised) for mode in MODES)
    limits = usual_limits(model.data_) if limits is None else limits
    title = "organised" if organised else "as given"
    if filled:
        title += " and filled in"
    else:
        title += f", {np.isnan(model.data_).mean():.0%} missing"
    if at is not None:
        counts = [max(clusters_at(model, mode, at)) + 1 for mode in MODES]
        title += f"\nscale ({at[0]}, {at[1]}): {counts[0]} × {counts[1]} clusters"
    image = show_matrix(ax, values[np.ix_(rows, columns)], limits, title)
    ax.set(xlabel=f"{len(columns)} columns", ylabel=f"{len(rows)} rows")
    _name_ticks(ax, model, rows, columns)
    return image


def _order(model: Any, mode: str, organised: bool) -> Any:
    """Return the order in which to draw the rows or columns."""
    order = of_mode(model, mode, "order")
    return order if organised else np.arange(len(order))


def _name_ticks(ax: Axes, model: Any, rows: Any, columns: Any) -> None:
    """Draw the names of rows and columns where there is room."""
    width, height = ax.get_window_extent().size / ax.figure.dpi
    for axis, names, order, extent in (
        (ax.yaxis, getattr(model, "row_names_in_", None), rows, height),
        (ax.xaxis, getattr(model, "feature_names_in_", None), columns, width),
    ):
        room = extent / len(order)
        if names is None or room < _MIN_ROOM:
            continue
        shown = [shown_text(names[i], _MAX_CHARACTERS) for i in order]
        size = min(0.8 * 72.0 * room, 8.0)
        turned = 90 if axis is ax.xaxis else 0
        axis.set_ticks(range(len(order)), shown, fontsize=size, rotation=turned, parse_math=False)
        axis.set_tick_params(length=0)
    ax.yaxis.tick_right()


def cluster_colours(model: Any, mode: str, clusters: list[int], *, light: bool) -> list[str]:
    """Return the colour of each row's or column's cluster; grey for -1."""
    in_order = (clusters[i] for i in of_mode(model, mode, "order"))
    palette = clusters_palette(in_order, light=light)
    return colours_of([None if cluster < 0 else cluster for cluster in clusters], palette)


def draw_bar(
    ax: Axes, model: Any, mode: str, colours: Any, *, organised: bool = True, place: int = 0
) -> Axes:
    """Draw a bar with the colour of each row (left) or column (top); return its axes."""
    start = _SPACE + place * (_BAR + _SPACE)
    pixels = np.array([to_rgb(colour) for colour in colours])[_order(model, mode, organised)]
    if mode == "row":
        bar = ax.inset_axes((-start - _BAR, 0.0, _BAR, 1.0))
        bar.imshow(pixels[:, None], aspect="auto")
        ax.yaxis.set_label_coords(-start - _BAR - _SPACE, 0.5)
    else:
        bar = ax.inset_axes((0.0, 1.0 + start, 1.0, _BAR))
        bar.imshow(pixels[None], aspect="auto")
    bar.set_axis_off()
    return bar


def colour_bar(ax: Any, image: Any, *, filled: bool, name: str, **options: Any) -> None:
    """Draw the colour bar, with a note on white entries if there are any."""
    shown = image.get_array()
    hidden = np.ma.getmaskarray(shown).any()
    label = f"{name} (white: {'no data' if filled else 'missing'})" if hidden else name
    ends = colour_bar_ends(shown, image.get_clim())
    image.axes.figure.colorbar(image, ax=ax, label=label, extend=ends, **options)
