"""Labels of points: their colours, the same wherever they are drawn, and their legend.

Labels come from users' files. They are shown as they are, never read as mathematical text.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from ._style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, YELLOW

_COLOURS = (BLUE, ORANGE, GREEN, VERMILION, SKY, PURPLE, YELLOW, BLACK)

# Entries of a legend, and letters of one of them.
_MOST_LISTED, _LONGEST = 20, 28

Palette = Mapping[Any, Any]


def read_labels(labels: ArrayLike | None, n_points: int, name: str) -> list[Any] | None:
    """One label for each point; None (also for NaN) where there is none."""
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
    """The labels of the rows and of the columns of a model, where there are any."""
    return {
        "rows": read_labels(row_labels, len(model.row_order_), "row_labels"),
        "columns": read_labels(column_labels, len(model.column_order_), "column_labels"),
    }


def _plain(label: Any) -> Any:
    label = label.item() if isinstance(label, np.generic) else label
    is_missing = label is None or type(label).__name__ == "NAType" or label != label
    return None if is_missing else label


def palette_of(*several: Iterable[Any] | None) -> dict[Any, str]:
    """A colour for each label, by its place among all of them; no two share one up to 24."""
    names = {label for labels in several for label in labels or () if label is not None}
    order = sorted(names, key=lambda label: (isinstance(label, str), label))
    return {name: _colour(place) for place, name in enumerate(order)}


def _colour(place: int) -> str:
    """The colours in turn, then lighter, then darker ones."""
    turn, which = divmod(place, len(_COLOURS))
    toward, share = ((0.0, 0.0), (1.0, 0.55), (0.25, 0.6))[turn % 3]
    return to_hex((1 - share) * np.array(to_rgb(_COLOURS[which])) + share * toward)


def clusters_palette(clusters: Iterable[int], *, light: bool = False) -> dict[int, str]:
    """Colours in turn, in the order in which clusters appear: those side by side differ.

    Light ones are told from those of labels.
    """
    names = [cluster for cluster in dict.fromkeys(clusters) if cluster >= 0]
    first = len(_COLOURS) if light else 0
    return {name: _colour(first + place % len(_COLOURS)) for place, name in enumerate(names)}


def colours_of(labels: Iterable[Any], palette: Palette) -> list[Any]:
    """The colour of every point, grey for those without a label."""
    labels = list(labels)
    unknown = {label for label in labels if label is not None} - set(palette)
    if unknown:
        listed = ", ".join(repr(label) for label in list(unknown)[:5])
        raise ValueError(f"palette has no colour for {listed}")
    return [palette.get(label, GREY) for label in labels]


def draw_legend(
    ax: Axes, labels: Iterable[Any], palette: Palette, *, title: str = "", below: bool = False
) -> Legend:
    """Name the colours of the labels, beside the axes or below them."""
    there = set(labels)
    named = [(shown_text(name), colour) for name, colour in palette.items() if name in there]
    if len(named) > _MOST_LISTED:
        rest = len(named) - _MOST_LISTED
        named = [*named[:_MOST_LISTED], (f"and {rest} more", "none")]
    if None in there:
        named.append(("no label", GREY))
    handles = [Line2D([], [], ls="", marker="o", ms=5, mew=0, c=colour) for _, colour in named]
    place = (
        {"loc": "upper center", "bbox_to_anchor": (0.5, -0.09), "ncols": min(len(named), 4)}
        if below
        else {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
    )
    # Names are put in afterwards, because one that begins with an underscore would be left out.
    legend = ax.legend(handles, ["label"] * len(handles), title=title, handletextpad=0.2, **place)
    for text, (name, _) in zip(legend.get_texts(), named, strict=True):
        text.set(text=name, parse_math=False)
    return legend


def shown_text(name: Any, longest: int = _LONGEST) -> str:
    """A name in one line that is not too long."""
    text = " ".join(str(name).split())
    return text if len(text) <= longest else text[: longest - 1] + "…"
