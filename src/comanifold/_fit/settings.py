"""The parameters of `CoManifold`, checked before any work is done."""

import numbers
from typing import Any

import numpy as np
from sklearn.utils import check_random_state, get_tags

from .._embedding.affinities import check_bandwidth, local_neighbor
from .._validation import (
    check_choice,
    check_count,
    check_n_neighbors,
    check_stopping,
    for_both,
    is_integer,
)
from ..penalties import get_penalty
from ..solvers import SOLVERS, TRAVERSALS
from .passes import Settings

# Past this many points a mode has sparse distances unless told otherwise.
_MOST_DENSE = 3000

# Neighbours to which a point has a distance, at least.
_LEAST_CANDIDATES = 30


def check_settings(model: Any) -> Settings:
    """The parameters of a model as the pipeline takes them; errors name the one that is wrong."""
    check_choice("solver", model.solver, sorted(SOLVERS))
    check_choice("traversal", model.traversal, sorted(TRAVERSALS))
    check_choice("first_graphs", model.first_graphs, ["low-rank", "masked"])
    check_choice("distances", model.distances, ["auto", "dense", "sparse"])
    if isinstance(model.embedding, str):
        check_choice("embedding", model.embedding, ["diffusion"], "an estimator of distances")
    elif isinstance(model.embedding, type) or not all(
        hasattr(model.embedding, method) for method in ("fit_transform", "get_params")
    ):
        raise ValueError(
            'embedding must be "diffusion" or an estimator of scikit-learn\'s kind, with '
            "fit_transform and get_params, that takes precomputed distances, got "
            f"{model.embedding!r:.60}"
        )
    else:
        _check_takes_distances(model.embedding)
    check_bandwidth(model.bandwidth)
    check_count("n_components", model.n_components)
    try:
        check_random_state(model.random_state)
    except ValueError as error:
        raise ValueError(f"random_state: {error}") from error
    if model.absent is not None:
        check_choice("absent", model.absent, ["missing", "zero"], "None")
    if not isinstance(model.verbose, numbers.Integral):
        raise ValueError(f"verbose must be an integer, got {model.verbose!r:.60}")
    max_iter, tol = check_stopping(model.max_iter, model.tol)
    return Settings(
        n_neighbors=check_n_neighbors(model.n_neighbors),
        first_graphs=model.first_graphs,
        start=_check_start(model.start_scale),
        alpha=_check_alpha(model.alpha),
        n_passes=check_count("n_passes", model.n_passes),
        traversal=model.traversal,
        penalty=get_penalty(model.penalty),
        solver=model.solver,
        continuation=bool(model.continuation),
        max_iter=max_iter,
        tol=tol,
        n_jobs=_check_n_jobs(model.n_jobs),
    )


def choose_candidates(model: Any, shape: tuple[int, int]) -> tuple[int | None, int | None]:
    """For rows and columns, how many neighbours have a distance; None for all of them."""
    takes_sparse = isinstance(model.embedding, str) or get_tags(model.embedding).input_tags.sparse
    if model.distances == "sparse" and not takes_sparse:
        raise ValueError(
            f'distances="sparse" needs an embedding that takes sparse distances, which '
            f'{type(model.embedding).__name__} does not: use distances="dense"'
        )
    for_graph = check_n_neighbors(model.n_neighbors)
    rows, columns = (
        max(
            _LEAST_CANDIDATES,
            2 * n_neighbors,
            2 * (local_neighbor(model.bandwidth, n_points) or 0),
        )
        if takes_sparse
        and (model.distances == "sparse" or (model.distances == "auto" and n_points > _MOST_DENSE))
        else None
        for n_neighbors, n_points in zip(for_graph, shape, strict=True)
    )
    return rows, columns


def check_size(n_rows: int, n_columns: int, n_components: Any) -> None:
    """Refuse a matrix with too few observed rows or columns to embed."""
    n_components = check_count("n_components", n_components)
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


def _check_takes_distances(embedding: Any) -> None:
    """Refuse an estimator that would take distances for features."""
    meanings = {
        name: value
        for name, value in embedding.get_params().items()
        if name.split("__")[-1] in ("metric", "dissimilarity", "affinity", "kernel")
    }
    if meanings and "precomputed" not in meanings.values():
        name = next(iter(meanings))
        raise ValueError(
            f'embedding is given distances: set {name}="precomputed" in '
            f"{type(embedding).__name__}, got {name}={meanings[name]!r}"
        )


def _check_n_jobs(n_jobs: Any) -> int | None:
    """None for the number that joblib has been told."""
    if n_jobs is not None and (not is_integer(n_jobs) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None or an integer other than 0, got {n_jobs!r:.60}")
    return n_jobs


def _check_alpha(alpha: Any) -> float | None:
    """None for weights that are learned."""
    if isinstance(alpha, str) and alpha == "auto":
        return None
    is_number = isinstance(alpha, numbers.Real) and not isinstance(alpha, (bool, np.bool_))
    if not is_number or not -10 <= alpha <= 10:
        raise ValueError(f'alpha must be "auto" or a number from -10 to 10, got {alpha!r:.60}')
    return float(alpha)


def _check_start(start_scale: Any) -> tuple[int, int] | None:
    """None for a start that is searched for."""
    if isinstance(start_scale, str) and start_scale == "auto":
        return None
    pair = for_both(start_scale)
    if len(pair) != 2 or not all(is_integer(part) and abs(part) <= 60 for part in pair):
        raise ValueError(
            'start_scale must be "auto", an integer or a pair of integers between -60 and 60, the '
            f"exponents of the first costs, got {start_scale!r:.60}"
        )
    return int(pair[0]), int(pair[1])
