"""What goes over the network if the paths of a surface are solved by a cluster.

The matrix is sent once for all passes. Each surface adds the entries that are held out, the graphs
and the first scale, and a worker builds the problem from that. Estimates come back as blocks, which
are small once something is fused.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._parallel import share
from ..graphs import Graph
from ..solvers import Iterate, Potentials, Problem, Scale, Solved, Surface

Array = NDArray[np.float64]
Labels = NDArray[np.intp]


class PackedMatrix:
    """A matrix that is pickled as its observed entries and one bit for each of all entries."""

    def __init__(self, X: Array):
        self.X = X

    def __getstate__(self) -> tuple:
        observed = ~np.isnan(self.X)
        return self.X.shape, np.packbits(observed), self.X[observed]

    def __setstate__(self, state: tuple) -> None:
        shape, bits, values = state
        observed = np.unpackbits(bits, count=shape[0] * shape[1]).astype(bool).reshape(shape)
        self.X = np.full(shape, np.nan)
        self.X[observed] = values


class SharedMatrix:
    """A matrix on the workers of a cluster, of which passes use all or most entries."""

    def __init__(self, X: Array):
        self._X = X
        self.handle = share(PackedMatrix(X))

    def left_out(self, X: Array) -> Labels:
        """Return the flat indices of the entries that are missing in X only."""
        left_out = np.flatnonzero(np.isnan(X) & ~np.isnan(self._X))
        return left_out.astype(_smallest(X.size))


@dataclass(frozen=True)
class SentStart:
    """A scale that paths start from, without its problem if the worker can build it.

    Attributes
    ----------
    scale : Scale
    estimate : SentBlocks
    potentials : Potentials or None
    problem : Problem or None
    """

    scale: Scale
    estimate: "SentBlocks"
    potentials: Potentials | None
    problem: Problem | None

    @classmethod
    def pack(cls, solved: Solved, *, with_problem: bool) -> "SentStart":
        iterate = solved.iterate
        blocks = SentBlocks.pack(iterate.V, iterate.row_labels, iterate.column_labels)
        problem = iterate.problem if with_problem else None
        return cls(solved.scale, blocks, solved.potentials, problem)

    def unpack(self, surface: Surface) -> Solved:
        """Return the scale as it was, or as `Surface.rebased` returns it."""
        solved = Solved(self.scale, Iterate(self.problem, *self.estimate.unpack()), self.potentials)
        return surface.rebased(solved) if self.problem is None else solved


@dataclass(frozen=True)
class SentBlocks:
    """An estimate that is constant on blocks, with labels in few bytes.

    Labels are None where nothing is fused.
    """

    values: Array
    row_labels: NDArray[Any] | None
    column_labels: NDArray[Any] | None

    @classmethod
    def pack(cls, values: Array, row_labels: Labels, column_labels: Labels) -> "SentBlocks":
        return cls(values, *map(_packed, (row_labels, column_labels), values.shape))

    def unpack(self) -> tuple[Array, Labels, Labels]:
        """Return the values and the labels of rows and columns."""
        return self.values, *map(
            _unpacked, (self.row_labels, self.column_labels), self.values.shape
        )

    @property
    def nbytes(self) -> int:
        labels = self.row_labels, self.column_labels
        return self.values.nbytes + sum(some.nbytes for some in labels if some is not None)


def _packed(labels: Labels, n_clusters: int) -> NDArray[Any] | None:
    is_identity = np.array_equal(labels, np.arange(len(labels)))
    return None if is_identity else labels.astype(_smallest(n_clusters))


def _unpacked(labels: NDArray[Any] | None, n_clusters: int) -> Labels:
    return np.arange(n_clusters) if labels is None else labels.astype(np.intp)


def _smallest(n: int) -> np.dtype:
    """Return the type of fewest bytes for numbers below n."""
    return np.min_scalar_type(max(n - 1, 0))


class SentSurface:
    """A surface without its matrix.

    Parameters
    ----------
    surface : Surface
    left_out : ndarray of int
        Flat indices of entries of the shared matrix that this one does not have.
    graphs : pair of Graph
    first : Solved
        The first scale of the surface.
    """

    def __init__(
        self, surface: Surface, left_out: NDArray[Any], graphs: tuple[Graph, Graph], first: Solved
    ):
        self._surface = surface.without_problem()
        self._left_out = left_out
        self._graphs = graphs
        self._first = SentStart.pack(first, with_problem=False)
        self._unpacked: tuple[Array, Surface, Solved] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_unpacked": None}

    def unpack(self, matrix: PackedMatrix) -> tuple[Array, Surface, Solved]:
        """Return the matrix of the surface, the surface and its first scale.

        They are kept for the next path, for as long as the worker needs this object.
        """
        if self._unpacked is None:
            X = matrix.X.copy()
            X.ravel()[self._left_out] = np.nan
            surface = self._surface.with_problem(X, *self._graphs)
            self._unpacked = X, surface, self._first.unpack(surface)
        return self._unpacked
