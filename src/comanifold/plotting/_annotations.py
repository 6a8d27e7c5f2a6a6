"""Annotations of rows and columns: bars at the sides of a matrix, and a legend with sections."""

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.legend import Legend
from matplotlib.transforms import ScaledTranslation, blended_transform_factory

from .._validation import is_missing_value
from ._style import (
    ALONG,
    GREY,
    MODES,
    below_axes,
    colours_of,
    elided,
    font_size,
    legend_entries,
    legend_mark,
    of_mode,
    palette_of,
    text_width,
)

# Thickness of a bar and of the space beside it, in units of the font size.
_BAR, _SPACE = 1.2, 0.35
# The largest parts of the figure's width for the name of a bar, and for the title of a section.
_MAX_PART, _MAX_TITLE = 0.16, 0.25

# Colour maps of numeric annotations, one after the other, without their lightest ends.
_RAMPS = (ALONG, mpl.colormaps["cividis"], mpl.colormaps["YlGnBu"], mpl.colormaps["RdPu"])
_RAMP_STARTS = (0.0, 0.0, 0.2, 0.2)
# Of a legend: width of the mark and the space around an entry, in units of the font size, height of
# a line likewise, how much wider bold text is, and the part of the figure's width that it may take.
_MARK, _ROW = 3.4, 1.45
_BOLD = 1.15
_WIDEST = 0.96

Annotations = dict[str, dict[str, Sequence[Any]]]
Entries = list[tuple[str, Any]]


@dataclass(frozen=True)
class Bar:
    """The colours of the rows or of the columns, and what they mean.

    Attributes
    ----------
    mode : {"row", "column"}
    colours : list
        One for each row or column, in the order of the data.
    name : str
        Written at the end of the bar, and above its entries in the legend.
    labels, palette : list, dict
        Categories and their colours; empty for numbers.
    entries : list of (str, colour)
        Legend entries of numbers.
    """

    mode: str
    colours: list[Any]
    name: str = ""
    labels: Sequence[Any] = ()
    palette: dict[Any, Any] | None = None
    entries: Sequence[tuple[str, Any]] = ()

    def legend_entries(self, figure: Any) -> Entries:
        """Return names and colours for a legend."""
        if self.palette is None:
            return list(self.entries)
        return legend_entries(figure, self.labels, self.palette)


def read_annotations(annotations: Any, sizes: dict[str, int], n_colours: int = 0) -> list[Bar]:
    """Validate annotations; return a bar for each, with colours that differ as far as possible.

    `sizes` has the number of rows and of columns, by mode; the first `n_colours` of the palette
    are in use already.
    """
    given = {} if annotations is None else annotations
    if not hasattr(given, "items") or not set(given) <= {f"{mode}s" for mode in MODES}:
        got = sorted(map(str, given)) if isinstance(given, dict) else type(given).__name__
        raise ValueError(
            'annotations must be {"rows": {name: values}, "columns": {name: values}}, got '
            f"{got}"
        )
    bars, n_ramps = [], 0
    for mode in MODES:
        named = given.get(f"{mode}s", {})
        if not hasattr(named, "items"):
            raise ValueError(
                f'annotations["{mode}s"] must be {{name: values}}, got {type(named).__name__}'
            )
        for name, values in named.items():
            values = _read_values(values, str(name), mode, sizes[mode])
            if _are_numbers(values):
                bars.append(_number_bar(mode, str(name), values, n_ramps))
                n_ramps += 1
            else:
                labels = [None if value is None else str(value) for value in values]
                palette = palette_of(labels, start=n_colours)
                n_colours += len(set(palette.values()))
                colours = colours_of(labels, palette)
                bars.append(Bar(mode, colours, str(name), labels, palette))
    return bars


def _read_values(values: Any, name: str, mode: str, size: int) -> list[Any]:
    """Return the values of an annotation, None where missing."""
    array = np.asarray(values, dtype=object)
    if array.shape != (size,):
        raise ValueError(
            f'annotations["{mode}s"][{name!r}] must have one value for each of the {size} {mode}s, '
            f"got shape {array.shape}"
        )
    missing = [is_missing_value(value) or value == "" for value in array]
    return [None if gone else value for value, gone in zip(array, missing, strict=True)]


def _are_numbers(values: list[Any]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(
        isinstance(value, numbers.Real)
        and not isinstance(value, (bool, np.bool_))
        and math.isfinite(value)
        for value in known
    )


def _number_bar(mode: str, name: str, values: list[Any], place: int) -> Bar:
    """Return the bar of a numeric annotation, with lowest, middle and highest value as entries."""
    ramp, start = _RAMPS[place % len(_RAMPS)], _RAMP_STARTS[place % len(_RAMPS)]
    known = [float(value) for value in values if value is not None]
    low, high = min(known), max(known)

    def colour(value: float) -> str:
        share = (value - low) / (high - low) if high > low else 0.5
        return to_hex(ramp(start + (1.0 - start) * share))

    shown = [low, (low + high) / 2, high] if high > low else [low]
    entries = [(f"{value:.4g}", colour(value)) for value in shown]
    if len(known) < len(values):
        entries.append(("no value", GREY))
    colours = [GREY if value is None else colour(float(value)) for value in values]
    return Bar(mode, colours, name, entries=entries)


def draw_bar(
    ax: Axes, model: Any, bar: Bar, *, organised: bool = True, place: int = 0, named: bool = True
) -> Axes:
    """Draw a bar with the colour of each row (left) or column (top); return its axes."""
    size = font_size("legend.fontsize") / 72.0
    start = size * (_SPACE + place * (_BAR + _SPACE))
    order = of_mode(model, bar.mode, "order")
    pixels = np.array([to_rgb(colour) for colour in bar.colours])
    pixels = pixels[order] if organised else pixels
    # Thickness in inches, from the corner of the matrix; length as a part of the matrix.
    inches = ax.figure.dpi_scale_trans
    if bar.mode == "row":
        across = inches + ScaledTranslation(0.0, 0.0, ax.transAxes)
        where = blended_transform_factory(across, ax.transAxes)
        axes = ax.inset_axes((-start - _BAR * size, 0.0, _BAR * size, 1.0), transform=where)
        axes.imshow(pixels[:, None], aspect="auto")
        label = -start - (_BAR + _SPACE) * size
        ax.yaxis.set_label_coords(label, 0.5, transform=where)
    else:
        across = inches + ScaledTranslation(0.0, 1.0, ax.transAxes)
        where = blended_transform_factory(ax.transAxes, across)
        axes = ax.inset_axes((0.0, start, 1.0, _BAR * size), transform=where)
        axes.imshow(pixels[None], aspect="auto")
    axes.set_axis_off()
    if named and bar.name:
        _write_name(axes, bar)
    return axes


def _write_name(axes: Axes, bar: Bar) -> None:
    """Write the name of a bar at its end: below that of rows, to the right of that of columns."""
    size = font_size("legend.fontsize")
    text = elided(bar.name, size, _MAX_PART * axes.figure.figure.get_figwidth())
    style = {"size": size, "transform": axes.transAxes, "parse_math": False}
    if bar.mode == "row":
        axes.text(0.5, -0.01, text, rotation=90, ha="center", va="top", **style)
    else:
        axes.text(1.005, 0.5, text, ha="left", va="center", **style)


class Sections:
    """A legend with a column, or several, for each bar.

    Parameters
    ----------
    bars : sequence of Bar
    figure : Figure
    """

    def __init__(self, bars: Sequence[Bar], figure: Any):
        width = figure.figure.get_figwidth()
        self._size = font_size("legend.fontsize")
        sections = [
            (elided(bar.name, self._size, _MAX_TITLE * width), bar.legend_entries(figure))
            for bar in bars
        ]
        self._columns = self._arranged(sections, _WIDEST * width)

    @property
    def height(self) -> float:
        """The height in inches."""
        return (len(self._columns[0]) * _ROW + 1.0) * self._size / 72.0

    def draw(self, *, ax: Axes | None = None, figure: Any = None) -> Legend:
        """Draw the legend below axes, or at the bottom of a figure."""
        entries = [entry for column in self._columns for entry in column]
        marks = [legend_mark("none" if colour is None else colour) for _, colour in entries]
        blank = ["label"] * len(marks)
        options = {"ncols": len(self._columns), "handletextpad": 0.2, "columnspacing": 1.0}
        if ax is not None:
            legend = ax.legend(marks, blank, **options, **below_axes(ax))
        else:
            legend = figure.legend(marks, blank, loc="outside lower center", **options)
        for text, (name, colour) in zip(legend.get_texts(), entries, strict=True):
            weight = "bold" if colour is None else "normal"
            text.set(text=name, parse_math=False, fontweight=weight)
        return legend

    def _arranged(self, sections: list[tuple[str, Entries]], room: float) -> list[Entries]:
        """Return the fewest lines that fit into the room, in inches; columns have one length."""
        longest = max(len(entries) for _, entries in sections)
        for height in range(1, longest + 1):
            columns = _columns(sections, height)
            if sum(map(self._width, columns)) <= room:
                return columns
        # Too many sections: one below the other.
        everything = [part for name, entries in sections for part in [(name, None), *entries]]
        for n_columns in range(len(sections), 0, -1):
            height = -(-len(everything) // n_columns)
            columns = [everything[i : i + height] for i in range(0, len(everything), height)]
            if sum(map(self._width, columns)) <= room:
                break
        return _padded(columns)

    def _width(self, column: Entries) -> float:
        """Return the width of a column in inches."""
        widths = [
            text_width(text, self._size) * (_BOLD if colour is None else 1.0)
            for text, colour in column
        ]
        return max(widths) + _MARK * self._size / 72.0


def _columns(sections: list[tuple[str, Entries]], height: int) -> list[Entries]:
    """Return columns of so many entries, each section in its own; titles have no colour."""
    columns = []
    for name, entries in sections:
        for start in range(0, len(entries), height):
            title = (name if start == 0 else "", None)
            columns.append([title, *entries[start : start + height]])
    return _padded(columns)


def _padded(columns: list[Entries]) -> list[Entries]:
    """Return columns of equal length, with empty entries at their ends."""
    longest = max(map(len, columns))
    return [[*column, *[("", None)] * (longest - len(column))] for column in columns]
