"""The picture of `comanifold.compare`."""

from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from ._style import BLUE, GREY, SETTINGS, new_figure

if TYPE_CHECKING:
    from ..comparison import Comparison

_TITLES = {
    "error": ("filling in", "held-out error\n(less is better)"),
    "row_agreement": ("neighbours of rows", "agreement\n(more is better)"),
    "column_agreement": ("neighbours of columns", "agreement\n(more is better)"),
}
_WIDTH, _HEIGHT_OF_BAR, _HEIGHT_OF_TEXT = 7.2, 0.26, 1.0


def draw_comparison(found: "Comparison") -> Figure:
    """Draw a bar for each method and measure, ours in colour; return the figure."""
    names = found.table["method"].tolist()
    with mpl.rc_context(SETTINGS):
        figure = new_figure(_WIDTH, _HEIGHT_OF_TEXT + _HEIGHT_OF_BAR * len(names))
        axes = figure.subplots(1, len(_TITLES), sharey=True)
        places = np.arange(len(names))
        for ax, (measure, (title, label)) in zip(axes, _TITLES.items(), strict=True):
            values, errors = found.table[measure], found.table[f"{measure}_se"]
            known = ~np.isnan(values)
            colours = [BLUE if name == names[0] else GREY for name in names]
            ax.barh(
                places[known],
                values[known],
                xerr=errors[known],
                color=np.array(colours)[known],
                height=0.7,
                error_kw={"elinewidth": 0.9, "capsize": 2.0},
            )
            for place in places[~known]:
                ax.annotate(
                    "fills in nothing",
                    (0.0, place),
                    (3, 0),
                    textcoords="offset points",
                    va="center",
                )
            ax.tick_params(axis="y", length=0)
            ax.axvline(0.0, color="black", linewidth=0.6)
            ax.set(title=title, xlabel=label)
        axes[0].set_yticks(places, names)
        axes[0].invert_yaxis()
    return figure
