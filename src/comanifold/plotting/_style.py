"""One look for all figures: colours that the colour-blind can tell apart, equal axes."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
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

# The colours of Okabe and Ito. Yellow comes last but one, because it is hard to see on white.
BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
SKY, PURPLE, YELLOW, BLACK = "#56B4E9", "#CC79A7", "#F0E442", "#000000"
GREY = "#BBBBBB"

# Of entries, which may be missing; of places along something; of how many or how much.
MATRIX = mpl.colormaps["viridis"].with_extremes(bad="white")
ALONG = LinearSegmentedColormap.from_list(
    "along", mpl.colormaps["plasma"](np.linspace(0, 0.9, 256))
)
AMOUNT = mpl.colormaps["cividis"].with_extremes(bad="#E4E4E4")


@contextmanager
def axes_to_draw_on(ax: Axes | None, *, size: tuple[float, float] = (5.0, 4.2)) -> Iterator[Axes]:
    """The axes that were given, or those of a new figure in our own style."""
    if ax is not None:
        yield ax
        return
    import matplotlib.pyplot as plt

    with mpl.rc_context(SETTINGS):
        yield plt.subplots(figsize=size, layout="constrained")[1]


def new_figure(width: float, height: float) -> Figure:
    """A figure that no window will show by itself."""
    return Figure(figsize=(width, height), layout="constrained")


def with_equal_axes(ax: Axes) -> None:
    """One scale in both directions, so that distances can be read off, and no numbers."""
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xticks=[], yticks=[])


def show_matrix(ax: Axes, matrix: Array, limits: tuple[float, float], title: str) -> Any:
    image = ax.imshow(matrix, cmap=MATRIX, vmin=limits[0], vmax=limits[1], aspect="auto")
    ax.set(title=title, xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set_visible(True)
    return image


def usual_limits(values: Array) -> tuple[float, float]:
    """Where colours begin and end: a few extreme entries do not make all others look alike."""
    low, high = np.nanquantile(values, [0.01, 0.99]).tolist()
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def beyond(values: Array, limits: tuple[float, float]) -> str:
    """At which ends of a colour bar there are values past it, as Matplotlib names them."""
    below, above = np.nanmin(values) < limits[0], np.nanmax(values) > limits[1]
    return {(True, True): "both", (True, False): "min", (False, True): "max"}.get(
        (bool(below), bool(above)), "neither"
    )
