"""The parameters of `CoManifold`, validated before any work is done."""

import numbers
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from .._embedding.bandwidths import check_bandwidth, local_neighbor
from .._embedding.layouts import check_embedding, refuse_sparse
from .._tasks import Tasks
from .._validation import (
    check_choice,
    check_count,
    check_n_neighbors,
    check_stopping,
    for_both,
    is_integer,
)
from ..penalties import Penalty, get_penalty
from ..solvers import SOLVERS, TRAVERSALS

if TYPE_CHECKING:
    from .checkpoint import Checkpoint
    from .messages import SharedMatrix
    from .progress import ProgressReporter

# Modes with more points than this have sparse distances by default.
_MOST_DENSE = 3000

# Nearest neighbours to which each point has a distance, if distances are sparse, at least.
_LEAST_CANDIDATES = 30


@dataclass(frozen=True)
class Settings:
    """The validated parameters that the distances of a fit depend on.

    `start` is None for a start that is searched for; `embedding_neighbors` is of how many nearest
    neighbours the embedding needs the distance, None if it needs all distances. The other fields
    are parameters of `CoManifold`.
    """

    n_neighbors: tuple[int, int]
    first_graphs: str
    start: tuple[int, int] | None
    scale_weights: str
    alpha: float
    n_passes: int
    traversal: str
    penalty: Penalty
    solver: str
    continuation: bool
    keep_scales: bool
    distances: str
    bandwidth: Any
    embedding_neighbors: int | None
    max_iter: int
    tol: float

    @property
    def learns_weights(self) -> bool:
        return self.scale_weights == "learned"

    def n_candidates(self, shape: tuple[int, int]) -> tuple[int | None, int | None]:
        """Return to how many nearest rows and columns distances are kept; None for all."""
        rows, columns = (
            max(
                _LEAST_CANDIDATES,
                2 * n_neighbors,
                2 * (local_neighbor(self.bandwidth, n_points) or 0),
                self.embedding_neighbors or 0,
            )
            if self._is_sparse(n_points)
            else None
            for n_neighbors, n_points in zip(self.n_neighbors, shape, strict=True)
        )
        return rows, columns

    def _is_sparse(self, n_points: int) -> bool:
        if self.distances == "auto":
            return self.embedding_neighbors is not None and n_points > _MOST_DENSE
        return self.distances == "sparse"


@dataclass(frozen=True)
class Execution:
    """How a fit is carried out, without any effect on its result.

    `tasks` are the threads of this process; `matrix` is the whole matrix on the workers of a
    cluster, if there is one.
    """

    n_jobs: int | None
    checkpoint: "Checkpoint | None"
    progress: "ProgressReporter"
    tasks: Tasks = field(default_factory=lambda: Tasks(1))
    matrix: "SharedMatrix | None" = None


def check_settings(model: Any) -> Settings:
    """Validate the parameters of a `CoManifold`; errors name the parameter."""
    check_choice("solver", model.solver, sorted(SOLVERS))
    check_choice("traversal", model.traversal, sorted(TRAVERSALS))
    check_choice("first_graphs", model.first_graphs, ["completed", "masked"])
    check_choice("scale_weights", model.scale_weights, ["cost", "learned"])
    check_choice("distances", model.distances, ["auto", "dense", "sparse"])
    check_choice("metric", model.metric, ["multi-scale", "tree"])
    check_count("n_components", model.n_components)
    embedding_neighbors = check_embedding(model.embedding, model.n_components)
    if model.distances == "sparse":
        refuse_sparse(model.embedding, model.n_components, 'use distances="dense"')
    check_bandwidth(model.bandwidth)
    try:
        check_random_state(model.random_state)
    except ValueError as error:
        raise ValueError(f"random_state: {error}") from error
    if model.absent is not None:
        check_choice("absent", model.absent, ["missing", "zero"], "None")
    if not isinstance(model.verbose, numbers.Integral):
        raise ValueError(f"verbose must be an integer, got {model.verbose!r:.60}")
    check_n_jobs(model.n_jobs)
    check_n_clusters(model.n_clusters)
    max_iter, tol = check_stopping(model.max_iter, model.tol)
    return Settings(
        n_neighbors=check_n_neighbors(model.n_neighbors),
        first_graphs=model.first_graphs,
        start=_check_start(model.start_scale),
        scale_weights=model.scale_weights,
        alpha=_check_alpha(model.alpha),
        n_passes=check_count("n_passes", model.n_passes),
        traversal=model.traversal,
        penalty=get_penalty(model.penalty),
        solver=model.solver,
        continuation=bool(model.continuation),
        keep_scales=bool(model.keep_scales),
        distances=model.distances,
        bandwidth=model.bandwidth,
        embedding_neighbors=embedding_neighbors,
        max_iter=max_iter,
        tol=tol,
    )


def check_size(n_rows: int, n_columns: int, n_components: int) -> None:
    """Raise an error if too few rows or columns have an observed entry to be embedded."""
    for mode, n_points, clue in (
        ("row", n_rows, "n_samples"),
        ("column", n_columns, "n_features"),
    ):
        if n_points <= n_components:
            raise ValueError(
                f"X has {n_points} {mode}(s) with an observed entry ({clue} = {n_points}): to be "
                f"embedded in {n_components} coordinate(s), at least {n_components + 1} are "
                "needed of rows and of columns"
            )


def check_n_clusters(n_clusters: Any, shape: tuple[int, int] | None = None) -> None:
    """Raise ValueError unless n_clusters is None, a number, or one for each mode.

    With a shape, there must be at most as many as rows and columns with an observed entry.
    """
    both = for_both(n_clusters)
    is_valid = all(number is None or (is_integer(number) and number >= 1) for number in both)
    if len(both) != 2 or not is_valid:
        raise ValueError(
            "n_clusters must be None, a positive integer, or a pair of these for the rows and the "
            f"columns, got {n_clusters!r:.60}"
        )
    for mode, number, n_points in zip(("rows", "columns"), both, shape or (), strict=False):
        if number is not None and number > n_points:
            raise ValueError(
                f"n_clusters must be at most {n_points}, the number of {mode} with an observed "
                f"entry, got {n_clusters!r:.60}"
            )


def check_n_jobs(n_jobs: Any) -> int | None:
    """Validate n_jobs; None leaves the number to joblib."""
    if n_jobs is not None and (not is_integer(n_jobs) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None or an integer other than 0, got {n_jobs!r:.60}")
    return n_jobs


def _check_alpha(alpha: Any) -> float:
    """Validate alpha; return it as a float."""
    is_number = isinstance(alpha, numbers.Real) and not isinstance(alpha, (bool, np.bool_))
    if not is_number or not -10 <= alpha <= 10:
        hint = ' (for learned weights, use scale_weights="learned")' if alpha == "auto" else ""
        raise ValueError(f"alpha must be a number from -10 to 10, got {alpha!r:.60}{hint}")
    return float(alpha)


def _check_start(start_scale: Any) -> tuple[int, int] | None:
    """Validate start_scale; return the two exponents, or None for "auto"."""
    if isinstance(start_scale, str) and start_scale == "auto":
        return None
    pair = for_both(start_scale)
    if len(pair) != 2 or not all(is_integer(part) and abs(part) <= 60 for part in pair):
        raise ValueError(
            'start_scale must be "auto", an integer or a pair of integers between -60 and 60, the '
            f"exponents of the first costs, got {start_scale!r:.60}"
        )
    return int(pair[0]), int(pair[1])
