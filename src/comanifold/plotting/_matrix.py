"""Heat map of the matrix, with colour bars of labels and clusters at its sides."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from ._annotations import Annotations, Bar, Sections, draw_bar, read_annotations
from ._style import (
    MODES,
    Palette,
    Width,
    axes_to_draw_on,
    check_model,
    check_scale,
    clusters_at,
    clusters_palette,
    colour_bar_ends,
    colours_of,
    draw_legend,
    elided,
    labels_of_modes,
    of_mode,
    palette_of,
    show_matrix,
    usual_limits,
)

# Names of rows and columns are drawn if each has at least this much room, in inches,
_MIN_ROOM = 0.075
# in text of at most this size, in points, that fills this part of the room,
_MAX_SIZE, _FILLED = 8.0, 0.85
# and elided beyond these parts of the figure's width and height: they take room from the matrix.
_MAX_PARTS = {"row": 0.22, "column": 0.25}


def matrix(
    model: Any,
    *,
    filled: bool = False,
    organised: bool = True,
    l: int | None = None,
    k: int | None = None,
    row_labels: ArrayLike | None = None,
    column_labels: ArrayLike | None = None,
    annotations: Annotations | None = None,
    palette: Palette | None = None,
    limits: tuple[float, float] | None = None,
    name: str = "value",
    legend: bool = True,
    width: Width = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the matrix of a fitted model; missing entries are white.

    Names of rows and columns are drawn if there is room for all of them.

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
    annotations : dict, optional
        What else is known, ``{"rows": {name: values}, "columns": {name: values}}``, each a bar
        with its name: numbers as a ramp of colours, anything else as categories. The 24 most
        frequent categories have colours of their own. Values are in the order of the data, None
        or NaN where missing; a DataFrame can take the place of ``{name: values}``.
    palette : dict, optional
        The colour of each label, of rows and of columns.
    limits : pair of float, optional
        Limits of the colour map. By default the 1% and 99% quantiles of the observed entries.
    name : str, default="value"
        Label of the colour bar.
    legend : bool, default=True
        Whether to draw the colour bar, and a legend of labels and annotations.
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
    sizes = {mode: len(of_mode(model, mode, "order")) for mode in MODES}
    named = [label for some in labels.values() for label in some or ()]
    palette = palette_of(named) if palette is None else palette
    more = read_annotations(annotations, sizes, len(palette))
    bars = []
    for mode, some in labels.items():
        if at is not None:
            clusters = clusters_at(model, mode, at)
            bars.append(Bar(mode, cluster_colours(model, mode, clusters, light=bool(named))))
        if some is not None:
            bars.append(Bar(mode, colours_of(some, palette)))
    bars += more
    is_new = ax is None
    with axes_to_draw_on(ax, size=(6.0, 5.0), width=width) as ax:
        image = show_entries(ax, model, filled=filled, organised=organised, at=at, limits=limits)
        draw_bars(ax, model, bars, organised=organised)
        if legend:
            colour_bar(ax, image, filled=filled, name=name)
        if legend and more:
            in_legend = [Bar("row", [], "labels", named, palette)] if named else []
            sections = Sections([*in_legend, *more], ax.figure)
            if is_new:  # the matrix keeps its size
                ax.figure.set_figheight(ax.figure.get_figheight() + sections.height)
            sections.draw(**{"figure": ax.figure} if is_new else {"ax": ax})
        elif legend and named:
            draw_legend(ax, named, palette, below=True)
        if is_new:
            shrink_names(ax)
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
    for mode, names, order in (
        ("row", getattr(model, "row_names_in_", None), rows),
        ("column", getattr(model, "feature_names_in_", None), columns),
    ):
        room = _room(ax, mode, len(order))
        if names is None or room < _MIN_ROOM:
            continue
        size = min(_FILLED * 72.0 * room, _MAX_SIZE)
        whole = ax.figure.figure
        most = _MAX_PARTS[mode] * (whole.get_figwidth() if mode == "row" else whole.get_figheight())
        axis, turned = (ax.yaxis, 0) if mode == "row" else (ax.xaxis, 90)
        shown = [elided(names[i], size, most) for i in order]
        axis.set_ticks(range(len(order)), shown, fontsize=size, rotation=turned, parse_math=False)
        axis.set_tick_params(length=0)
    ax.yaxis.tick_right()


def _room(ax: Axes, mode: str, n_names: int) -> float:
    """Return the space for each name of a row or column, in inches."""
    width, height = ax.get_window_extent().size / ax.figure.dpi
    return (height if mode == "row" else width) / n_names


def shrink_names(*several: Axes) -> None:
    """Make names smaller, or remove them, where the layout has left less room for them."""
    several = [ax for ax in several if len(ax.get_xticks()) or len(ax.get_yticks())]
    if not several:
        return
    several[0].figure.figure.draw_without_rendering()
    for ax in several:
        for mode, axis in (("row", ax.yaxis), ("column", ax.xaxis)):
            texts = axis.get_ticklabels()
            room = _room(ax, mode, max(len(texts), 1))
            if texts and room < _MIN_ROOM:
                axis.set_ticks([])
            for text in texts:
                text.set_fontsize(min(text.get_fontsize(), _FILLED * 72.0 * room))


def draw_bars(
    ax: Axes, model: Any, bars: list[Bar], *, organised: bool = True, named: bool = True
) -> None:
    """Draw bars beside each other, those of rows on the left and those of columns at the top."""
    places = dict.fromkeys(MODES, 0)
    for bar in bars:
        draw_bar(ax, model, bar, organised=organised, place=places[bar.mode], named=named)
        places[bar.mode] += 1


def cluster_colours(model: Any, mode: str, clusters: list[int], *, light: bool) -> list[str]:
    """Return the colour of each row's or column's cluster; grey for -1."""
    in_order = (clusters[i] for i in of_mode(model, mode, "order"))
    palette = clusters_palette(in_order, light=light)
    return colours_of([None if cluster < 0 else cluster for cluster in clusters], palette)


def colour_bar(ax: Any, image: Any, *, filled: bool, name: str, **options: Any) -> None:
    """Draw the colour bar, with a note on white entries if there are any."""
    shown = image.get_array()
    hidden = np.ma.getmaskarray(shown).any()
    label = f"{name} (white: {'no data' if filled else 'missing'})" if hidden else name
    ends = colour_bar_ends(shown, image.get_clim())
    image.axes.figure.colorbar(image, ax=ax, label=label, extend=ends, **options)
