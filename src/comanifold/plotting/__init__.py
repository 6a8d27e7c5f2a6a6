"""Figures of a result. Each function takes the axes to draw on, or makes some, and returns them."""

from ._convergence import convergence
from ._embedding import embedding
from ._matrix import matrix
from ._overview import overview
from ._spectrum import spectrum
from ._surface import surface

__all__ = ["convergence", "embedding", "matrix", "overview", "spectrum", "surface"]
