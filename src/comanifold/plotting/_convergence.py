"""How solutions were reached."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ..solvers import CoClustering
from ._model import check_model
from ._style import BLUE, VERMILION, axes_to_draw_on


def convergence(result: Any, *, ax: Axes | None = None) -> Axes:
    """Draw how a solution was reached, or how well the solutions of a fit are.

    Parameters
    ----------
    result : CoClustering or CoManifold
        For the result of `co_cluster`, its objective by iteration. For a fitted model, the
        stationarity residual of each scale (see `Certificate`) and the tolerance.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    ax : Axes

    Examples
    --------
    >>> from comanifold import CoManifold, plotting
    >>> from comanifold.datasets import make_linkage
    >>> ax = plotting.convergence(CoManifold().fit(make_linkage(40, 30, random_state=0).X))
    >>> ax.get_ylabel()
    'stationarity residual'
    """
    if not isinstance(result, CoClustering):
        check_model(result)
    with axes_to_draw_on(ax) as ax:
        if isinstance(result, CoClustering):
            _draw_history(ax, result)
        else:
            _draw_residuals(ax, result)
        ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    return ax


def _draw_history(ax: Axes, result: CoClustering) -> None:
    history = result.objective_history
    ax.plot(history, color=BLUE, lw=1.2, marker=".", ms=4)
    status = "" if result.status == "converged" else f" ({result.status})"
    ax.set(title=f"convergence{status}", xlabel="iteration", ylabel="objective")


def _draw_residuals(ax: Axes, model: Any) -> None:
    residuals = np.array([scale.certificate.stationarity for scale in model.scales_])
    met = np.array([scale.status == "converged" for scale in model.scales_])
    number = np.arange(1, len(met) + 1)
    # A residual of zero has no logarithm: it is drawn well below the tolerance.
    residuals = np.maximum(residuals, 1e-4 * model.tol)
    ax.plot(number[met], residuals[met], ".", color=BLUE, ms=4, label="converged")
    ax.axhline(model.tol, color="black", lw=0.8, ls="--")
    at_the_line = ax.get_yaxis_transform()
    ax.text(1.0, 1.2 * model.tol, "tolerance", ha="right", va="bottom", transform=at_the_line)
    ax.set(
        title=f"{met.sum()} of {len(met)} converged",
        xlabel="scale",
        ylabel="stationarity residual",
        yscale="log",
    )
    ax.set_ylim(top=10.0 * max(model.tol, residuals.max()))
    if not met.all():
        ax.plot(number[~met], residuals[~met], "x", color=VERMILION, ms=5, label="not converged")
        ax.legend(loc="upper left")
