"""Plots of a fitted model.

Each function takes the Matplotlib axes to draw on (by default those of a new figure) and returns
them. `STYLE` holds the Matplotlib settings of new figures; for your own figures use
``with matplotlib.rc_context(comanifold.plotting.STYLE)``.
"""

from ._embedding import embedding
from ._matrix import matrix
from ._overview import overview
from ._scales import convergence, spectrum, surface
from ._style import SETTINGS as STYLE

__all__ = ["STYLE", "convergence", "embedding", "matrix", "overview", "spectrum", "surface"]
