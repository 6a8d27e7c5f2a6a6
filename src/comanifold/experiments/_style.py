"""What the figures of the experiments have in common, beyond what all figures have."""

from collections.abc import Iterable
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from ..plotting._style import BLACK, BLUE, ORANGE, SKY, with_equal_axes

MODES = {
    ("linkage", "row"): "linkage: rows (helix)",
    ("linkage", "column"): "linkage: columns (surface)",
    ("linkage2", "row"): "linkage2: rows (clouds)",
    ("linkage2", "column"): "linkage2: columns (surface)",
    ("lung500", "row"): "lung500: genes",
    ("lung500", "column"): "lung500: subjects",
}

# By name or number of the group.
GROUPS = {
    "Normal": ORANGE,
    "Colon": SKY,
    "Carcinoid": BLUE,
    "SmallCell": BLACK,
    "0": BLUE,
    "1": ORANGE,
    "2": BLACK,
}

_CURVE = mpl.colormaps["viridis"]

# The corners of the colours of a surface: hue goes from blue to yellow along it, and lightness
# grows across it.
_CORNERS = np.array(
    [[to_rgb("#08306B"), to_rgb("#6BAED6")], [to_rgb("#7A4A00"), to_rgb("#FFD54A")]]
)


def select(table: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """The lines of a table with these values in these columns."""
    for column, value in values.items():
        table = table[table[column] == value]
    return table


def colours(frame: pd.DataFrame) -> Any:
    """The colour of each point: by its group, or by where it is on the curve or surface."""
    if "label" in frame and frame["label"].notna().all():
        return [GROUPS[_group(label)] for label in frame["label"]]
    first = frame["position_1"].to_numpy(dtype=float)
    if "position_2" in frame and frame["position_2"].notna().all():
        along, across = first[:, None], frame["position_2"].to_numpy(dtype=float)[:, None]
        (a, b), (c, d) = _CORNERS
        return (1 - along) * ((1 - across) * a + across * b) + along * (
            (1 - across) * c + across * d
        )
    return _CURVE(np.argsort(np.argsort(first)) / max(len(first) - 1, 1))


def _group(label: Any) -> str:
    return label if isinstance(label, str) else str(int(label))


def scatter(ax: Axes, frame: pd.DataFrame, *, size: float = 7.0) -> None:
    """The points of an embedding, at one scale in both directions."""
    ax.scatter(frame["first"], frame["second"], c=colours(frame), s=size, linewidths=0)
    with_equal_axes(ax)


def group_legend(ax: Axes, labels: Iterable[Any], **options: Any) -> None:
    for label in labels:
        ax.scatter([], [], c=GROUPS[_group(label)], s=16, label=_group(label))
    ax.legend(**options)
