"""The eigenvalues behind an embedding."""

import warnings
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from .._validation import check_choice, restrict_to_observed
from ..diffusion_map import DiffusionMap
from ._model import MODES, Array, check_model, of_mode
from ._style import BLUE, VERMILION, axes_to_draw_on

_STYLES = {"rows": {"color": BLUE, "marker": "o"}, "columns": {"color": VERMILION, "marker": "s"}}


def spectrum(
    model: Any, *, mode: str = "both", n_eigenvalues: int = 10, ax: Axes | None = None
) -> Axes:
    """Draw the leading eigenvalues of the diffusion maps, without the constant one.

    Those of the coordinates in the embedding are filled. A gap after them says that the
    coordinates show what there is; large ones beyond, that more `n_components` would show more.

    Parameters
    ----------
    model : CoManifold
    mode : {"rows", "columns", "both"}, default="both"
    n_eigenvalues : int, default=10
        How many, as far as there are so many.
    ax : Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    ax : Axes

    Examples
    --------
    >>> from comanifold import CoManifold, plotting
    >>> from comanifold.datasets import make_linkage
    >>> ax = plotting.spectrum(CoManifold().fit(make_linkage(40, 30, random_state=0).X))
    >>> ax.get_ylabel()
    'eigenvalue'
    """
    check_model(model)
    check_choice("mode", mode, [*MODES, "both"])
    if not has_spectrum(model):
        raise ValueError(
            f"{type(model.embedding).__name__} has no spectrum: only diffusion maps, "
            'embedding="diffusion", have one'
        )
    with axes_to_draw_on(ax) as ax:
        for which in MODES if mode == "both" else [mode]:
            shown = of_mode(model, which, "eigenvalues")
            values = _eigenvalues(model, which, max(n_eigenvalues, len(shown)))
            number = np.arange(1, len(values) + 1)
            ax.plot(number, values, label=which, lw=1.0, ms=5, mfc="white", **_STYLES[which])
            style = {**_STYLES[which], "ls": "", "label": "_in the embedding"}
            ax.plot(number[: len(shown)], shown, ms=5, **style)
        ax.axhline(0.0, color="black", lw=0.5)
        ax.set(title="spectrum\nfilled: in the embedding", xlabel="number", ylabel="eigenvalue")
        ax.set_ylim(top=1.04)
        ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
        ax.legend(loc="best")
    return ax


def has_spectrum(model: Any) -> bool:
    return model.row_eigenvalues_ is not None


def _eigenvalues(model: Any, mode: str, n_eigenvalues: int) -> Array:
    """The leading eigenvalues, also those beyond the coordinates of the fit."""
    known = model._rows if mode == "rows" else model._columns
    distances = restrict_to_observed(of_mode(model, mode, "distances"), known)
    n_eigenvalues = min(n_eigenvalues, distances.shape[0] - 1)
    longer = DiffusionMap(n_eigenvalues, metric="precomputed", bandwidth=model.bandwidth)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the fit has warned of parts already
        return longer.fit(distances).eigenvalues_
