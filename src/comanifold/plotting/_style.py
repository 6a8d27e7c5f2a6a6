"""Style, colours, legends and checks that all plots share.

The palette is that of Okabe and Ito, which colour-blind readers can distinguish. Labels come from
users' files: they are drawn as plain text, never parsed as mathematical text.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
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
    "pdf.fonttype": 42,
}

# Yellow comes last but one, because it is hard to see on white.
BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
SKY, PURPLE, YELLOW, BLACK = "#56B4E9", "#CC79A7", "#F0E442", "#000000"
GREY = "#BBBBBB"
_COLOURS = (BLUE, ORANGE, GREEN, VERMILION, SKY, PURPLE, YELLOW, BLACK)

# Colour maps of matrix entries (missing ones white), of continuous values, and of counts.
MATRIX = mpl.colormaps["viridis"].with_extremes(bad="white")
ALONG = LinearSegmentedColormap.from_list(
    "along", mpl.colormaps["plasma"](np.linspace(0, 0.9, 256))
)
AMOUNT = mpl.colormaps["cividis"].with_extremes(bad="#E4E4E4")

# At most so many entries in a legend, and characters in each.
_MAX_ENTRIES, _MAX_CHARACTERS = 20, 28


@contextmanager
def axes_to_draw_on(ax: Axes | None, *, size: tuple[float, float] = (5.0, 4.2)) -> Iterator[Axes]:
    """Yield the given axes, or those of a new figure drawn with `SETTINGS`."""
    if ax is not None:
        yield ax
        return
    import matplotlib.pyplot as plt

    with mpl.rc_context(SETTINGS):
        yield plt.subplots(figsize=size, layout="constrained")[1]


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


def palette_of(*several: Iterable[Any] | None) -> dict[Any, str]:
    """Return a colour for each label in sorted order; up to 24 labels have distinct colours."""
    names = {label for labels in several for label in labels or () if label is not None}
    order = sorted(names, key=lambda label: (isinstance(label, str), label))
    return {name: _colour(place) for place, name in enumerate(order)}


def _colour(place: int) -> str:
    """Return the colour at a position: the base colours, then lighter, then darker ones."""
    turn, which = divmod(place, len(_COLOURS))
    toward, share = ((0.0, 0.0), (1.0, 0.55), (0.25, 0.6))[turn % 3]
    return to_hex((1 - share) * np.array(to_rgb(_COLOURS[which])) + share * toward)


def clusters_palette(clusters: Iterable[int], *, light: bool = False) -> dict[int, str]:
    """Return a colour for each cluster, cycling in order of first appearance.

    Light colours differ from those of labels.
    """
    names = [cluster for cluster in dict.fromkeys(clusters) if cluster >= 0]
    first = len(_COLOURS) if light else 0
    return {name: _colour(first + place % len(_COLOURS)) for place, name in enumerate(names)}


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
    there = set(labels)
    named = [(shown_text(name), colour) for name, colour in palette.items() if name in there]
    if len(named) > _MAX_ENTRIES:
        rest = len(named) - _MAX_ENTRIES
        named = [*named[:_MAX_ENTRIES], (f"and {rest} more", "none")]
    if None in there:
        named.append(("no label", GREY))
    handles = [Line2D([], [], ls="", marker="o", ms=5, mew=0, c=colour) for _, colour in named]
    place = (
        {"loc": "upper center", "bbox_to_anchor": (0.5, -0.09), "ncols": min(len(named), 4)}
        if below
        else {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
    )
    # Text is set afterwards: Matplotlib hides entries that begin with an underscore.
    legend = ax.legend(handles, ["label"] * len(handles), title=title, handletextpad=0.2, **place)
    for text, (name, _) in zip(legend.get_texts(), named, strict=True):
        text.set(text=name, parse_math=False)
    return legend


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
