"""Numbers over the scales."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.ticker import MaxNLocator

from .._validation import check_choice
from ._model import check_model
from ._style import AMOUNT, Array, axes_to_draw_on

# What can be drawn, and what the colour bar calls it.
_NAMES = {
    "n_row_clusters": "row clusters",
    "n_column_clusters": "column clusters",
    "objective": "objective",
    "weight": "weight in the metric",
}

_MOST_TICKS = 6


def surface(
    model: Any, *, what: str = "n_row_clusters", legend: bool = True, ax: Axes | None = None
) -> Axes:
    """Draw a number for each pair of costs that was solved.

    Pairs that were not solved, because they would repeat others, are grey.

    Parameters
    ----------
    model : CoManifold
    what : {"n_row_clusters", "n_column_clusters", "objective", "weight"}
        The number to draw.
    legend : bool, default=True
        Whether to draw the colour bar.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    ax : Axes

    Examples
    --------
    >>> from comanifold import CoManifold, plotting
    >>> from comanifold.datasets import make_checkerboard
    >>> model = CoManifold().fit(make_checkerboard(40, 30, random_state=0).X)
    >>> plotting.surface(model, what="n_column_clusters").get_xlabel()
    'k (column cost $2^k$)'
    """
    check_model(model)
    check_choice("what", what, list(_NAMES))
    rows = np.array([scale.l for scale in model.scales_])
    columns = np.array([scale.k for scale in model.scales_])
    values = np.full((np.ptp(rows) + 1, np.ptp(columns) + 1), np.nan)
    values[rows - rows.min(), columns - columns.min()] = [
        getattr(scale, what) for scale in model.scales_
    ]
    ticks = _ticks(values) if what != "weight" else []
    with axes_to_draw_on(ax) as ax:
        image = ax.imshow(
            values,
            cmap=AMOUNT,
            norm=_norm(values, is_logarithmic=len(ticks) > 1, from_zero=what == "weight"),
            origin="lower",
            extent=(columns.min() - 0.5, columns.max() + 0.5, rows.min() - 0.5, rows.max() + 0.5),
            aspect="auto",
        )
        ax.set(xlabel="k (column cost $2^k$)", ylabel="l (row cost $2^l$)")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))
        if legend:
            bar = ax.figure.colorbar(image, ax=ax, label=_NAMES[what])
            if len(ticks) > 1:
                bar.set_ticks(ticks, labels=[f"{tick:,.10g}" for tick in ticks], minor=False)
                bar.ax.minorticks_off()
    return ax


def _norm(values: Array, *, is_logarithmic: bool, from_zero: bool) -> Normalize:
    high = np.nanmax(values)
    if is_logarithmic:
        return LogNorm(np.nanmin(values), high)
    return Normalize(0.0 if from_zero else np.nanmin(values), high)


def _ticks(values: Array) -> list[float]:
    """Round numbers within the range of what is positive, for a logarithmic scale."""
    low, high = np.nanmin(values), np.nanmax(values)
    if low <= 0.0:
        return []
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    for steps in ([1.0, 2.0, 5.0], [1.0]):
        ticks = np.outer(powers, steps).ravel()
        ticks = ticks[(ticks >= low) & (ticks <= high)]
        if len(ticks) <= _MOST_TICKS:
            break
    return ticks.tolist()
