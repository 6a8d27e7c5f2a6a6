"""Figure of what distinguishes clusters: effects with intervals, and the observed values."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import ScaledTranslation
from numpy.typing import ArrayLike

from .._embedding.distinguishing import check_groups
from .._validation import check_choice, check_count
from ._style import (
    GREY,
    Array,
    Palette,
    Width,
    check_model,
    check_width,
    clusters_palette,
    colours_of,
    elided,
    font_size,
    natural_key,
    palette_of,
    settings_for,
)

# Half the width of a 95% confidence interval, in standard errors.
_HALF_WIDTH = 1.96
# Larger effects, of columns that hardly vary, are drawn at the border; so are values farther out.
_LARGEST_EFFECT, _LARGEST_VALUE = 50.0, 6.0

# Width in inches, unless given.
_WIDTH = 7.2
# Height of a line, and of all that is below them, in units of the font size.
_LINE, _BELOW = 1.65, 5.0
# Lines above the first feature of a cluster: its heading, and space.
_HEADING = 1.4
# The largest part of the width for names of features, and for headings.
_MAX_NAME, _MAX_HEADING = 0.32, 0.6
# From a line to the values inside (above) and outside (below), and the height of each strip.
_OFFSET, _STRIP = 0.2, 0.28
# More points than this are rasterised in vector formats.
_MAX_VECTOR_POINTS = 3000


def distinguishing(
    model: Any,
    *,
    mode: str = "row",
    labels: ArrayLike | None = None,
    n_features: int = 5,
    values: bool = True,
    palette: Palette | None = None,
    width: Width = None,
    figure: Any = None,
) -> Any:
    """Draw what distinguishes each cluster: its columns with the largest differences from others.

    On the left, the difference between the means inside and outside of the cluster, in standard
    deviations within the two, with its 95% confidence interval; hollow if that contains zero. On
    the right the observed values, in standard deviations from the mean of their column: those
    inside in the colour of the cluster, and below them those outside in grey, both with their
    medians. Values beyond 6 are drawn at the border.

    Parameters
    ----------
    model : CoManifold
        Fitted.
    mode : {"row", "column"}, default="row"
        Clusters of rows, which columns distinguish, or of columns, which rows distinguish.
    labels : array-like, optional
        The group of each row, or column; see `CoManifold.distinguishing`. By default the clusters
        of the model.
    n_features : int, default=5
        Columns (or rows) for each cluster.
    values : bool, default=True
        Whether to draw the observed values.
    palette : dict, optional
        The colour of each label (of clusters, from 0).
    width : "single", "double" or float, optional
        Width of a new figure: one or two columns of a journal (89 and 183 mm), or a number in mm.
        The height follows from the number of lines.
    figure : Figure or SubFigure, optional
        Where to draw; by default a new one. It should have a constrained layout.

    Returns
    -------
    figure : Figure or SubFigure

    Notes
    -----
    Clusters were found in the same values: differences are larger than they would be in new data.

    Examples
    --------
    >>> from comanifold import CoManifold, plotting
    >>> from comanifold.datasets import make_checkerboard, remove_entries
    >>> X = remove_entries(make_checkerboard(40, 30, random_state=0).X, 0.3, random_state=0)
    >>> figure = plotting.distinguishing(CoManifold().fit(X), n_features=3, width="single")
    >>> figure.axes[0].get_xlabel()
    'difference in SD\\n(95% interval)'
    """
    check_model(model)
    check_choice("mode", mode, ["row", "column"])
    check_count("n_features", n_features)
    inches = check_width(width)
    if inches is not None and figure is not None:
        raise ValueError("width is that of a new figure: it cannot be set together with figure")
    groups = _groups(model, mode, labels, n_features)
    if palette is None:
        names = [group.label for group in groups]
        palette = clusters_palette(names) if labels is None else palette_of(names)
    colours = colours_of([group.label for group in groups], palette)
    with settings_for(width):
        if figure is None:
            import matplotlib.pyplot as plt

            n_lines = sum(len(group.names) + _HEADING for group in groups)
            height = font_size("font.size") / 72.0 * (_LINE * n_lines + _BELOW)
            size = (_WIDTH if inches is None else inches), height
            figure = plt.figure(figsize=size, layout="constrained")
        axes = np.atleast_1d(figure.subplots(1, 2 if values else 1, sharey=True))
        places = _places(groups)
        _draw_effects(axes[0], groups, places, colours)
        if values:
            _draw_values(axes[1], groups, places, colours)
        _write_names(axes[0], groups, places, colours)
    return figure


@dataclass(frozen=True)
class _Group:
    """A cluster, and the features that distinguish it best."""

    label: Any
    heading: str
    names: list[Any]
    effects: Array
    errors: Array
    inside: list[Array]  # the observed values of each feature, in standard units
    outside: list[Array]


def _groups(model: Any, mode: str, labels: Any, n_features: int) -> list[_Group]:
    """Return the clusters with their first features; ValueError if there is only one."""
    X = model.data_ if mode == "row" else model.data_.T
    own = model.row_labels_ if mode == "row" else model.column_labels_
    found, codes = check_groups(own if labels is None else labels, len(X), mode)
    table = model.distinguishing(mode, labels)
    other = "column" if mode == "row" else "row"
    has_names = hasattr(model, "feature_names_in_" if mode == "row" else "row_names_in_")
    groups = []
    for code, label in sorted(enumerate(found.tolist()), key=lambda pair: natural_key(pair[1])):
        lines = np.flatnonzero(table["cluster"] == label)[:n_features]
        index = table["index"][lines]
        if not len(lines):
            continue
        parts = [_standardised(X[codes >= 0, j], codes[codes >= 0] == code) for j in index]
        size = int((codes == code).sum())
        name = f"cluster {label + 1}" if labels is None else str(label)
        groups.append(
            _Group(
                label,
                f"{name} ({size:,} {mode}{'s' if size > 1 else ''})",
                table["name"][lines].tolist() if has_names else [f"{other} {j + 1}" for j in index],
                table["effect"][lines],
                table["standard_error"][lines],
                [inside for inside, _ in parts],
                [outside for _, outside in parts],
            )
        )
    if len(groups) < 2:
        raise ValueError(
            f"there is one cluster of {mode}s, which nothing distinguishes: give labels, or fit "
            "with n_clusters"
        )
    return groups


def _standardised(values: Array, inside: Any) -> tuple[Array, Array]:
    """Return the observed values inside and outside, in standard deviations from their mean."""
    known = ~np.isnan(values)
    values, inside = values[known], inside[known]
    deviation = values.std()
    units = (values - values.mean()) / (deviation if deviation > 0.0 else 1.0)
    units = np.clip(units, -_LARGEST_VALUE, _LARGEST_VALUE)
    return units[inside], units[~inside]


def _places(groups: list[_Group]) -> list[Array]:
    """Return the height of each feature of each cluster; lines go down from zero."""
    start, places = 0.0, []
    for group in groups:
        places.append(-(start + _HEADING + np.arange(len(group.names))))
        start += _HEADING + len(group.names)
    return places


def _draw_effects(ax: Axes, groups: list[_Group], places: list[Array], colours: list[Any]) -> None:
    """Draw the effects and their confidence intervals."""
    effects = np.concatenate([group.effects for group in groups])
    reach = _HALF_WIDTH * np.concatenate([group.errors for group in groups])
    # Those beyond the border are marked at it, at least one unit away from zero.
    is_far = np.abs(effects) > _LARGEST_EFFECT
    low = np.where(is_far, np.sign(effects), effects - reach).min(initial=0.0)
    high = np.where(is_far, np.sign(effects), effects + reach).max(initial=0.0)
    margin = 0.05 * (high - low)
    ax.axvline(0.0, color="black", lw=0.6, zorder=1)
    for group, heights, colour in zip(groups, places, colours, strict=True):
        for effect, error, height in zip(group.effects, group.errors, heights, strict=True):
            if abs(effect) > _LARGEST_EFFECT:
                mark, border = (">", high + margin) if effect > 0.0 else ("<", low - margin)
                ax.plot(border, height, mark, color=colour, ms=4, clip_on=False)
                continue
            ends = effect + _HALF_WIDTH * error * np.array([-1.0, 1.0])
            certain = ends[0] * ends[1] > 0.0
            ax.plot(ends, [height, height], color=colour, lw=1.2, solid_capstyle="butt")
            face = colour if certain else "white"
            ax.plot(effect, height, "o", color=colour, mfc=face, ms=4, mew=1.0)
    ax.set(xlim=(low - margin, high + margin), xlabel="difference in SD\n(95% interval)")
    _finish(ax, places)


def _draw_values(ax: Axes, groups: list[_Group], places: list[Array], colours: list[Any]) -> None:
    """Draw the values inside and outside of the clusters, and their medians."""
    n_points = sum(len(part) for group in groups for part in [*group.inside, *group.outside])
    for group, heights, colour in zip(groups, places, colours, strict=True):
        for inside, outside, height in zip(group.inside, group.outside, heights, strict=True):
            for part, shift, shade, tick in (
                (inside, _OFFSET, colour, "black"),
                (outside, -_OFFSET, GREY, "#555555"),
            ):
                # Spread evenly over the strip, so that points do not hide each other.
                spread = (0.618 * np.arange(len(part))) % 1.0 - 0.5
                ax.scatter(
                    part,
                    height + shift + _STRIP * spread,
                    s=4.0,
                    color=shade,
                    alpha=0.7,
                    linewidths=0,
                    rasterized=n_points > _MAX_VECTOR_POINTS,
                )
                middle = float(np.median(part))
                ends = height + shift + 0.5 * np.array([-1.0, 1.0]) * (_STRIP + 0.1)
                ax.plot([middle, middle], ends, color=tick, lw=1.2, solid_capstyle="butt")
    ax.axvline(0.0, color="black", lw=0.6, zorder=0)
    ax.set(xlabel="value in SD from mean\n(grey: others)")
    ax.patch.set_visible(False)  # headings of clusters reach into these axes
    ax.tick_params(left=False)
    _finish(ax, places)


def _finish(ax: Axes, places: list[Array]) -> None:
    """Set limits and lines of axes."""
    ax.set_ylim(places[-1][-1] - 0.7, 0.0)
    ax.spines["left"].set_visible(False)
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    ax.grid(axis="x", lw=0.3, color="#DDDDDD")
    ax.set_axisbelow(True)


def _write_names(ax: Axes, groups: list[_Group], places: list[Array], colours: list[Any]) -> None:
    """Write the names of the features beside their lines, and a heading above each cluster."""
    size, width = font_size("font.size"), ax.figure.figure.get_figwidth()
    names = [elided(name, size, _MAX_NAME * width) for group in groups for name in group.names]
    ax.set_yticks(np.concatenate(places), names, parse_math=False)
    ax.tick_params(axis="y", length=0)
    # A mark and then the text, at distances in points from the left border.
    at_left = ax.get_yaxis_transform()
    shift = ScaledTranslation(1.2 * size / 72.0, 0.0, ax.figure.dpi_scale_trans)
    for group, heights, colour in zip(groups, places, colours, strict=True):
        height = heights[0] + 0.85
        mark = Line2D([0.0], [height], ls="", marker="s", ms=5, color=colour, transform=at_left)
        mark.set_clip_on(False)
        ax.add_line(mark)
        heading = ax.text(
            0.0,
            height,
            elided(group.heading, size, _MAX_HEADING * width),
            transform=at_left + shift,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
            va="center_baseline",
            fontweight="bold",
            parse_math=False,
        )
        heading.set_in_layout(False)  # it may be wider than the axes
