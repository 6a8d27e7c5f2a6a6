"""Style, colours, legends and checks that all plots share.

The palette begins with that of Okabe and Ito, which colour-blind readers can distinguish. Labels
come from users' files: they are drawn as plain text, never parsed as mathematical text.
"""

import numbers
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.textpath import text_to_path
from matplotlib.transforms import ScaledTranslation
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .._validation import check_choice

Array = NDArray[np.float64]
Palette = Mapping[Any, Any]

MODES = ("row", "column")

SETTINGS = {
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "figure.dpi": 100,
    "savefig.dpi": 160,
    "image.interpolation": "nearest",
    # Text stays text in vector formats.
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
}
# Of figures for a journal.
SMALL = {
    "font.size": 7.0,
    "axes.titlesize": 7.0,
    "legend.fontsize": 6.5,
    "legend.title_fontsize": 7.0,
    "savefig.dpi": 300,
}

# Widths of one and of two columns of a journal, in mm; and the narrowest that can be drawn.
WIDTHS = {"single": 89.0, "double": 183.0}
_MIN_WIDTH = 50.0
_INCH = 25.4
Width = str | float | None

# Yellow comes last but one, because it is hard to see on white.
BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
SKY, PURPLE, YELLOW, BLACK = "#56B4E9", "#CC79A7", "#F0E442", "#000000"
GREY, OTHER = "#BBBBBB", "#8A8A8A"
# The palette of Okabe and Ito, then colours that are as far as possible from those before them and
# from both greys: any two differ by at least 26 in CIELAB (by 15 for deuteranopes).
# fmt: off
_COLOURS = (
    BLUE, ORANGE, GREEN, VERMILION, SKY, PURPLE, YELLOW, BLACK,
    "#0000FF", "#00FF78", "#3C1E96", "#FF005A", "#5A4B00", "#E1E1B4", "#E13CFF", "#78002D",
    "#C30096", "#1E5A5A", "#5AF0F0", "#0078FF", "#2D8700", "#5A2D69", "#F09687", "#96E14B",
)
# fmt: on

# Colour maps of matrix entries (missing ones white), of continuous values, and of counts.
MATRIX = mpl.colormaps["viridis"].with_extremes(bad="white")
ALONG = LinearSegmentedColormap.from_list(
    "along", mpl.colormaps["plasma"](np.linspace(0, 0.9, 256))
)
AMOUNT = mpl.colormaps["cividis"].with_extremes(bad="#E4E4E4")

# At most so many characters in an entry of a legend, and its largest part of the figure's width.
_MAX_CHARACTERS = 60
_MAX_PART = 0.3
# Entries of a legend beside axes from which it has two columns.
_LONG_LEGEND = 16
# Space between axes and a legend below them, in inches.
_GAP = 0.06


@contextmanager
def axes_to_draw_on(
    ax: Axes | None, *, size: tuple[float, float] = (5.0, 4.2), width: Width = None
) -> Iterator[Axes]:
    """Yield the given axes, or those of a new figure drawn with `SETTINGS`.

    With a width, the new figure has the proportions of `size` and small text.
    """
    if ax is not None:
        if width is not None:
            raise ValueError("width is that of a new figure: it cannot be set together with ax")
        yield ax
        return
    inches = check_width(width)
    if inches is not None:
        size = inches, inches * size[1] / size[0]
    import matplotlib.pyplot as plt

    with settings_for(width):
        yield plt.subplots(figsize=size, layout="constrained")[1]


def settings_for(width: Width) -> Any:
    """Return a context with the settings of a figure, those for a journal if it has a width."""
    return mpl.rc_context(SETTINGS if width is None else {**SETTINGS, **SMALL})


def check_width(width: Width) -> float | None:
    """Validate the width of a figure, a name or mm; return it in inches, None for None."""
    if width is None:
        return None
    if isinstance(width, str) and width in WIDTHS:
        return WIDTHS[width] / _INCH
    is_number = isinstance(width, numbers.Real) and not isinstance(width, bool)
    if not is_number or not _MIN_WIDTH <= width < np.inf:
        raise ValueError(
            f'width must be "single", "double" or a number of at least {_MIN_WIDTH:g} (mm), got '
            f"{width!r:.40}"
        )
    return float(width) / _INCH


def save(figure: Any, path: str | os.PathLike, *, dpi: float = 300.0) -> None:
    """Save a figure as SVG, PDF, PNG or what else the ending of the path says.

    Text stays text in SVG and PDF, so that it can be edited and searched, with its font embedded in
    PDF; the width is exactly that of the figure.

    Parameters
    ----------
    figure : Figure or Axes
        A figure, or axes on it.
    path : path
    dpi : float, default=300
        Resolution of pixel formats, and of images and many points inside vector formats.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from comanifold import plotting
    >>> with TemporaryDirectory() as folder:
    ...     ax = plotting.embedding([[0.0, 1.0], [1.0, 0.0]], width="single")
    ...     plotting.save(ax, Path(folder) / "points.svg")
    ...     "width=\"252" in (Path(folder) / "points.svg").read_text()
    True
    """
    if isinstance(figure, Axes):
        figure = figure.figure.figure  # of a subfigure, the whole one
    if not isinstance(figure, Figure):
        raise ValueError(f"figure must be a Figure or Axes, got {type(figure).__name__}")
    with mpl.rc_context(SETTINGS):
        figure.savefig(path, dpi=dpi)


def new_figure(width: float, height: float) -> Figure:
    """Return a figure that pyplot does not manage."""
    return Figure(figsize=(width, height), layout="constrained")


def with_equal_axes(ax: Axes) -> None:
    """Give both axes the same scale, without ticks."""
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xticks=[], yticks=[])


def show_matrix(ax: Axes, matrix: Array, limits: tuple[float, float], title: str) -> Any:
    """Draw a matrix as an image and return the image."""
    image = ax.imshow(matrix, cmap=MATRIX, vmin=limits[0], vmax=limits[1], aspect="auto")
    ax.set(title=title, xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set_visible(True)
    return image


def usual_limits(values: Array) -> tuple[float, float]:
    """Return the 1% and 99% quantiles, as the limits of a colour map."""
    low, high = np.nanquantile(values, [0.01, 0.99]).tolist()
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def colour_bar_ends(values: Array, limits: tuple[float, float]) -> str:
    """Return which ends of a colour bar have values beyond them, in Matplotlib's terms."""
    below, above = np.nanmin(values) < limits[0], np.nanmax(values) > limits[1]
    return {(True, True): "both", (True, False): "min", (False, True): "max"}.get(
        (bool(below), bool(above)), "neither"
    )


def read_labels(labels: ArrayLike | None, n_points: int, name: str) -> list[Any] | None:
    """Validate labels; return a list with None for missing ones."""
    if labels is None:
        return None
    array = np.asarray(labels, dtype=object)
    if array.shape != (n_points,):
        shape = len(array) if array.ndim == 1 else f"shape {array.shape}"
        raise ValueError(f"{name} must have one label for each of {n_points} points, got {shape}")
    return [_plain(label) for label in array]


def labels_of_modes(
    model: Any, row_labels: ArrayLike | None, column_labels: ArrayLike | None
) -> dict[str, list[Any] | None]:
    """Validate row and column labels; return them by mode, None where not given."""
    return {
        "row": read_labels(row_labels, len(model.row_order_), "row_labels"),
        "column": read_labels(column_labels, len(model.column_order_), "column_labels"),
    }


def _plain(label: Any) -> Any:
    label = label.item() if isinstance(label, np.generic) else label
    is_missing = label is None or type(label).__name__ == "NAType" or label != label
    return None if is_missing else label


def palette_of(*several: Iterable[Any] | None, start: int = 0) -> dict[Any, str]:
    """Return a colour for each label in natural order; up to 24 labels have distinct colours.

    Of more labels, the most frequent have distinct colours, and all others the same grey, `OTHER`.
    The first colour is that at the position `start`.
    """
    counts = Counter(label for labels in several for label in labels or () if label is not None)
    order = sorted(counts, key=natural_key)
    named = set(order)
    if len(order) > len(_COLOURS):
        named = set(sorted(order, key=lambda label: -counts[label])[: len(_COLOURS)])
    places = iter(range(start, start + len(named)))
    return {
        name: _COLOURS[next(places) % len(_COLOURS)] if name in named else OTHER for name in order
    }


def natural_key(label: Any) -> tuple:
    """Return a sort key by which numbers come first, and 2 before 10 inside texts too."""
    if not isinstance(label, str):
        return (0, label)
    parts = re.split(r"(\d+)", label)
    return (1, [(int(part), "") if part.isdecimal() else (-1, part) for part in parts], label)


def _lighter(colour: str) -> str:
    """Return a colour mixed with white."""
    return to_hex(0.45 * np.array(to_rgb(colour)) + 0.55)


def clusters_palette(clusters: Iterable[int], *, light: bool = False) -> dict[int, str]:
    """Return a colour for each cluster, cycling in order of first appearance.

    Light colours differ from those of labels.
    """
    names = [cluster for cluster in dict.fromkeys(clusters) if cluster >= 0]
    colours = [_lighter(colour) for colour in _COLOURS] if light else _COLOURS
    return {name: colours[place % len(colours)] for place, name in enumerate(names)}


def colours_of(labels: Iterable[Any], palette: Palette) -> list[Any]:
    """Return the colour of each point, grey for points without a label."""
    labels = list(labels)
    unknown = {label for label in labels if label is not None} - set(palette)
    if unknown:
        listed = ", ".join(repr(label) for label in list(unknown)[:5])
        raise ValueError(f"palette has no colour for {listed}")
    return [palette.get(label, GREY) for label in labels]


def draw_legend(
    ax: Axes, labels: Iterable[Any], palette: Palette, *, title: str = "", below: bool = False
) -> Legend:
    """Draw the legend of the labels, beside or below the axes."""
    named = legend_entries(ax.figure, labels, palette)
    handles = [legend_mark(colour) for _, colour in named]
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
    if below:
        place = {"ncols": min(len(named), 4), **below_axes(ax)}
    elif len(named) > _LONG_LEGEND:
        place["ncols"] = 2
    # Text is set afterwards: Matplotlib hides entries that begin with an underscore.
    legend = ax.legend(handles, ["label"] * len(handles), title=title, handletextpad=0.2, **place)
    for text, (name, _) in zip(legend.get_texts(), named, strict=True):
        text.set(text=name, parse_math=False)
    return legend


def legend_entries(figure: Any, labels: Iterable[Any], palette: Palette) -> list[tuple[str, Any]]:
    """Return the names in a legend, elided to fit, and their colours.

    Labels with the colour `OTHER` share an entry, and so do points without a label.
    """
    there = set(labels)
    size = font_size("legend.fontsize")
    room = _MAX_PART * figure.figure.get_figwidth()
    known = [name for name in palette if name in there]
    entries = [
        (elided(name, size, room), palette[name]) for name in known if palette[name] != OTHER
    ]
    n_others = len(known) - len(entries)
    if n_others:
        entries.append((f"{n_others} others", OTHER))
    return [*entries, ("no label", GREY)] if None in there else entries


def legend_mark(colour: Any) -> Line2D:
    """Return the mark of an entry of a legend."""
    return Line2D([], [], ls="", marker="o", ms=5, mew=0, c=colour)


def below_axes(ax: Axes) -> dict[str, Any]:
    """Return where a legend is below the axes and all that is written under them."""
    box = ax.xaxis.get_tightbbox()
    reach = 0.0 if box is None else max(ax.get_window_extent().y0 - box.y0, 0.0) / ax.figure.dpi
    down = ScaledTranslation(0.0, -reach - _GAP, ax.figure.dpi_scale_trans)
    return {
        "loc": "upper center",
        "bbox_to_anchor": (0.5, 0.0),
        "bbox_transform": ax.transAxes + down,
        "borderaxespad": 0.0,
    }


def font_size(setting: str) -> float:
    """Return the size of text in points that a setting of Matplotlib asks for."""
    return FontProperties(size=mpl.rcParams[setting]).get_size_in_points()


def text_width(text: str, size: float) -> float:
    """Return the width of a text in inches, at a font size in points."""
    font = FontProperties(size=size)
    return text_to_path.get_text_width_height_descent(text, font, False)[0] / 72.0


def elided(name: Any, size: float, room: float) -> str:
    """Return a name on one line, its end replaced by … if it is wider than `room`, in inches."""
    text = shown_text(name)
    if text_width(text, size) <= room:
        return text
    # The longest beginning that fits.
    fits, too_long = 0, len(text)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if text_width(text[:middle] + "…", size) <= room:
            fits = middle
        else:
            too_long = middle
    return text[:fits].rstrip() + "…"


def shown_text(name: Any, max_characters: int = _MAX_CHARACTERS) -> str:
    """Return a name on one line, truncated."""
    text = " ".join(str(name).split())
    return text if len(text) <= max_characters else text[: max_characters - 1] + "…"


def check_model(model: Any) -> None:
    """Raise an error unless model is a fitted `CoManifold`."""
    from ..co_manifold import CoManifold

    if not isinstance(model, CoManifold):
        raise ValueError(f"model must be a CoManifold, got {type(model).__name__}")
    check_is_fitted(model)


def of_mode(model: Any, mode: str, attribute: str) -> Any:
    """Return ``row_{attribute}_`` or ``column_{attribute}_`` of a model."""
    check_choice("mode", mode, list(MODES))
    return getattr(model, f"{mode}_{attribute}_")


def check_scale(l: int | None, k: int | None) -> tuple[int, int] | None:
    """Return the scale (l, k), or None if neither is given."""
    if l is None and k is None:
        return None
    if l is None or k is None:
        raise ValueError(f"a scale has two exponents: give both l and k, got l={l!r} and k={k!r}")
    return l, k


def clusters_at(model: Any, mode: str, scale: tuple[int, int]) -> list[int]:
    """Return the cluster of each row or column at a scale, -1 where nothing is observed."""
    at = model.row_labels_at if mode == "row" else model.column_labels_at
    return at(*scale).tolist()
