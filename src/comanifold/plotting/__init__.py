"""Plots of a fitted model.

Each function takes the Matplotlib axes to draw on (by default those of a new figure) and returns
them; `overview` and `distinguishing` take and return a whole figure. ``width="single"`` and
``width="double"`` make new figures as wide as one or two columns of a journal, and `save` writes
them with text as text. `STYLE` holds the Matplotlib settings of new figures; for your own figures
use ``with matplotlib.rc_context(comanifold.plotting.STYLE)``.
"""

from ._distinguishing import distinguishing
from ._embedding import embedding
from ._matrix import matrix
from ._overview import overview
from ._scales import convergence, spectrum, surface
from ._style import SETTINGS as STYLE
from ._style import save

__all__ = [
    "STYLE",
    "convergence",
    "distinguishing",
    "embedding",
    "matrix",
    "overview",
    "save",
    "spectrum",
    "surface",
]
