"""Figures of a result. Each function takes the axes to draw on, or makes some, and returns them.

`STYLE` are the settings of Matplotlib under which new figures are made; for your own figures,
``with matplotlib.rc_context(comanifold.plotting.STYLE)``.
"""

from ._convergence import convergence
from ._embedding import embedding
from ._matrix import matrix
from ._overview import overview
from ._spectrum import spectrum
from ._style import SETTINGS as STYLE
from ._surface import surface

__all__ = ["STYLE", "convergence", "embedding", "matrix", "overview", "spectrum", "surface"]
