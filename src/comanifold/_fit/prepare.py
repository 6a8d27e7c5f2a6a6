"""The inputs of a pass: the matrix completed, graphs of rows and columns, the first scale."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._tasks import Task, Tasks
from ..graphs import CandidatePairs, Graph, Pairs
from ..solvers import SolverOptions, Surface
from .completion import complete_for_graphs
from .settings import Settings
from .sweep import Blocks, PassInputs, Sweep

Array = NDArray[np.float64]

# The first scale of larger matrices is solved from that of a fold. From the start, which takes
# longer, the estimates predict slightly better.
_LARGE = 200_000


class FirstScale(NamedTuple):
    """The exponents of the first scale of a surface, and its estimate."""

    l: int
    k: int
    blocks: Blocks

    @classmethod
    def of(cls, inputs: PassInputs) -> "FirstScale":
        solved = inputs.first
        return cls(solved.scale.l, solved.scale.k, Blocks.of(solved))


class CompletedMatrix(NamedTuple):
    """A matrix, and the same filled in by a Gaussian model, if that is known."""

    X: Array
    completed: Array | None


def complete(X: Array, settings: Settings) -> CompletedMatrix:
    """Return the matrix, completed by itself if its graphs need that."""
    is_needed = settings.first_graphs == "completed" and np.isnan(X).any()
    return CompletedMatrix(X, complete_for_graphs(X) if is_needed else None)


def begin_passes(
    matrix: Task,
    settings: Settings,
    stride: int,
    tasks: Tasks,
    like: Task | None = None,
    *,
    is_fold: bool = False,
) -> Task:
    """Add what the first pass over a matrix needs to the tasks; return that of its inputs.

    Parameters
    ----------
    like : Task, optional
        The first scale of the first pass over a similar matrix; this one begins with the same.
    is_fold : bool, default=False
        Whether the matrix is a fold, whose last pass has no distances.
    """
    needs_pairs = not is_fold or settings.n_passes > 1
    rows, columns = (
        tasks.add(_first_graph, matrix, mode, settings, needs_pairs) for mode in (0, 1)
    )
    return tasks.add(_prepare_pass, matrix, rows, columns, settings, stride, like)


def prepare_first_pass(
    X: Array, settings: Settings, stride: int, completed: Array | None = None
) -> PassInputs:
    """Return the inputs of the first pass; graphs from X, or from X filled in."""
    matrix = complete(X, settings) if completed is None else CompletedMatrix(X, completed)
    return begin_passes(matrix, settings, stride, Tasks(1)).result()


def prepare_next_pass(
    inputs: PassInputs, swept: Sweep, settings: Settings, like: FirstScale | None
) -> PassInputs:
    """Return the inputs of the next pass, with graphs from the distances of the last."""
    row_graph, column_graph = (
        Graph.from_distances(distances, n_neighbors)
        for distances, n_neighbors in zip(
            swept.metric.distances(), settings.n_neighbors, strict=True
        )
    )
    matrix = CompletedMatrix(inputs.X, inputs.completed)
    rows, columns = zip((row_graph, column_graph), inputs.pairs, strict=True)
    return _prepare_pass(matrix, rows, columns, settings, inputs.stride, like)


GraphAndPairs = tuple[Graph, Pairs | None]


def _prepare_pass(
    matrix: CompletedMatrix,
    rows: GraphAndPairs,
    columns: GraphAndPairs,
    settings: Settings,
    stride: int,
    like: FirstScale | None,
) -> PassInputs:
    """Return the inputs of a pass with these graphs; this solves the first scale."""
    X, completed = matrix
    (row_graph, row_pairs), (column_graph, column_pairs) = rows, columns
    graphs, pairs = (row_graph, column_graph), (row_pairs, column_pairs)
    surface = Surface(
        X,
        *graphs,
        SolverOptions(settings.penalty, settings.solver, settings.max_iter, settings.tol),
        continuation=settings.continuation,
        stride=stride,
        # Graphs of later passes are from distances over all scales.
        skip=settings.learns_weights and settings.n_passes == 1,
    )
    if like is not None and X.size > _LARGE:
        first = surface.solve_from(like.l, like.k, like.blocks.expand())
    elif like is not None:
        first = surface.solve(like.l, like.k)
    elif settings.start is not None:
        first = surface.solve(*settings.start)
    else:
        first = surface.start()
    return PassInputs(X, *graphs, pairs, stride, surface, surface.as_start(first), completed)


def _first_graph(
    matrix: CompletedMatrix, mode: int, settings: Settings, needs_pairs: bool
) -> GraphAndPairs:
    """Return the nearest-neighbour graph of rows or columns, and their pairs.

    None for the pairs if distances are dense, or not needed.
    """
    is_completed = settings.first_graphs == "completed" and matrix.completed is not None
    points = matrix.completed if is_completed else matrix.X
    n_neighbors = settings.n_neighbors[mode]
    n_candidates = settings.n_candidates(points.shape)[mode] if needs_pairs else None
    points = points.T if mode == 1 else points
    if n_candidates is None:
        return Graph.nearest_neighbors(points, n_neighbors), None
    candidates = CandidatePairs(points, n_candidates)
    return candidates.graph(n_neighbors), candidates.pairs
