"""One look for all figures: colours that the colour-blind can tell apart, equal axes."""

from collections.abc import Iterable
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.typing import NDArray

Array = NDArray[np.float64]

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

NAMES = {
    "linkage": "linkage",
    "linkage2": "linkage2",
    "lung500": "lung500",
    "row": "rows",
    "column": "columns",
}
MODES = {
    ("linkage", "row"): "linkage: rows (helix)",
    ("linkage", "column"): "linkage: columns (surface)",
    ("linkage2", "row"): "linkage2: rows (clouds)",
    ("linkage2", "column"): "linkage2: columns (surface)",
    ("lung500", "row"): "lung500: genes",
    ("lung500", "column"): "lung500: subjects",
}

# By name or number of the group; from the colours of Okabe and Ito.
GROUPS = {
    "Normal": "#E69F00",
    "Colon": "#56B4E9",
    "Carcinoid": "#0072B2",
    "SmallCell": "#000000",
    "0": "#0072B2",
    "1": "#E69F00",
    "2": "#000000",
}

MATRIX = mpl.colormaps["viridis"].with_extremes(bad="white")
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


def new_figure(width: float, height: float) -> Figure:
    return Figure(figsize=(width, height), layout="constrained")


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
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xticks=[], yticks=[])


def show_matrix(ax: Axes, matrix: Array, limits: tuple[float, float], title: str) -> Any:
    image = ax.imshow(matrix, cmap=MATRIX, vmin=limits[0], vmax=limits[1], aspect="auto")
    ax.set(title=title, xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set_visible(True)
    return image


def group_legend(ax: Axes, labels: Iterable[Any], **options: Any) -> None:
    for label in labels:
        ax.scatter([], [], c=GROUPS[_group(label)], s=16, label=_group(label))
    ax.legend(**options)
