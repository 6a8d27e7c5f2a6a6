"""Checks of a loaded `CoManifold`: every number is possible, and agrees with the others.

A file may have been edited, or written by a program with a fault. Shapes and types are checked
while it is read; here are the values. All errors name the attribute.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from .._embedding.affinities import affinities, find_bandwidth, row_sums, with_zero_diagonal
from .._fit.outliers import without_outliers
from .._validation import expand_to_full, refuse_infinite, restrict_to_observed
from ..diffusion_map import DiffusionMap
from ..solvers import Scale, mean_and_scale

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Relative differences between machines, and of sums in another order.
_ROUNDING = 1e-8

# How far eigenvectors may be from solving their equation.
_EIGEN_ROUNDING = 1e-5

# The exponents of costs whose powers and roots are finite numbers.
_LARGEST_EXPONENT = 1000

_STATUSES = ("converged", "max_iter", "stalled")


def check_state(own: dict[str, Any]) -> None:
    """Refuse attributes of a model that no fit could have left."""
    _check_data(own)
    _check_scales(own)
    for mode, known in (("row", own["_rows"]), ("column", own["_columns"])):
        _check_distances(f"{mode}_distances_", own[f"{mode}_distances_"], known)
        graph = own[f"{mode}_graph_"]
        if not 0 <= graph.n_added_links <= graph.n_edges:
            raise ValueError(f"n_added_links of {mode}_graph_ is {graph.n_added_links}")
        distances = restrict_to_observed(own[f"{mode}_distances_"], known)
        _check_map(f"{mode}_map_", own["_maps"][mode], distances)
    n_components = own["_maps"]["row"].n_components
    if own["_n_features_out"] != n_components:
        raise ValueError(
            f"_n_features_out is {own['_n_features_out']}, and there are {n_components} coordinates"
        )


def _check_data(own: dict[str, Any]) -> None:
    X, rows, columns = own["_X"], own["_rows"], own["_columns"]
    refuse_infinite(X, "_X")
    observed = ~np.isnan(X)
    for name, mask, seen in (
        ("_rows", rows, observed.any(axis=1)),
        ("_columns", columns, observed.any(axis=0)),
    ):
        if not np.array_equal(mask, seen):
            raise ValueError(f"{name} are not those in which _X has an entry")
    if not observed.any():
        raise ValueError("_X has no entry")
    for name in ("_scale", "_total_weight"):
        if not 0.0 < own[name] < np.inf:
            raise ValueError(f"{name} must be positive and finite, and is {own[name]}")
    for name in ("low_rank_weight_", "n_iter_"):
        if not 0.0 <= own[name] < np.inf:
            raise ValueError(f"{name} must be finite and at least 0, and is {own[name]}")
    known = without_outliers(X)[np.ix_(rows, columns)]
    mean, scale = mean_and_scale(known)
    if not _is_close(own["_mean"], mean, scale):
        raise ValueError(f"_mean is {own['_mean']}, and that of _X is {mean}")
    if not _is_close(own["_scale"], scale, 0.0):
        raise ValueError(f"_scale is {own['_scale']}, and that of _X is {scale}")
    in_units = (known - mean) / scale
    _check_filled("_filled", own["_filled"], in_units)
    estimate = expand_to_full(scale * own["_filled"] + mean, rows, columns)
    expected = np.where(observed, X, estimate)
    if not np.array_equal(np.isnan(own["filled_"]), np.isnan(expected)):
        raise ValueError("filled_ must have numbers in observed rows and columns, and only there")
    if not _is_close(own["filled_"], expected, scale):
        raise ValueError("filled_ is not _X where that is observed and the estimate elsewhere")


def _check_filled(name: str, filled: Array, X: Array) -> None:
    if not np.isfinite(filled).all():
        raise ValueError(f"{name} has entries that are NaN or infinite")
    observed = ~np.isnan(X)
    if not _is_close(filled[observed], X[observed], 1.0):
        raise ValueError(f"{name} differs from _X where that is observed")


def _check_scales(own: dict[str, Any]) -> None:
    scales: list[Scale] = own["scales_"]
    if not scales:
        raise ValueError("scales_ is empty")
    shape = own["_filled"].shape
    for scale in scales:
        where = f"of the scale ({scale.l}, {scale.k})"
        if max(abs(scale.l), abs(scale.k)) > _LARGEST_EXPONENT:
            raise ValueError(f"l or k {where} is too large")
        for name, n_points in zip(("n_row_clusters", "n_column_clusters"), shape, strict=True):
            if not 1 <= getattr(scale, name) <= n_points:
                raise ValueError(f"{name} {where} is {getattr(scale, name)} of {n_points}")
        for name in ("weight", "seconds", "n_iter"):
            if not 0.0 <= getattr(scale, name) < np.inf:
                raise ValueError(f"{name} {where} is {getattr(scale, name)}")
        if scale.status not in _STATUSES:
            raise ValueError(f"status {where} is {scale.status!r:.40}")
        certificate = scale.certificate
        if certificate.row_dual is not None or certificate.column_dual is not None:
            raise ValueError(f"the certificate {where} has a dual point, which is never saved")
        if not 0.0 <= certificate.stationarity < np.inf:
            raise ValueError(f"stationarity {where} is {certificate.stationarity}")
        for name in ("gap", "lower_bound"):
            value = getattr(certificate, name)
            if value is not None and not np.isfinite(value):
                raise ValueError(f"{name} {where} is {value}")
    if len({(scale.l, scale.k) for scale in scales}) < len(scales):
        raise ValueError("scales_ has two scales of the same costs")
    total = sum(scale.weight for scale in scales) + own["low_rank_weight_"]
    if not _is_close(own["_total_weight"], total, 0.0):
        raise ValueError(
            f"_total_weight is {own['_total_weight']}, and the weights of the scales and "
            f"low_rank_weight_ add up to {total}"
        )
    n_iter = sum(scale.n_iter for scale in scales)
    if own["n_iter_"] != n_iter:
        raise ValueError(f"n_iter_ is {own['n_iter_']}, and the scales took {n_iter}")
    for (l, k), blocks in (own["_blocks"] or {}).items():
        if not np.isfinite(blocks.values).all():
            raise ValueError(f"block_values of the scale ({l}, {k}) are not finite")
        for labels, size in zip(
            (blocks.row_labels, blocks.column_labels), blocks.values.shape, strict=True
        ):
            if len(np.unique(labels)) < size:
                raise ValueError(f"a cluster of the scale ({l}, {k}) has no label that names it")


def _check_distances(name: str, distances: Any, known: Mask) -> None:
    if sparse.issparse(distances):
        entries = distances.tocoo()
        if not (known[entries.row] & known[entries.col]).all():
            raise ValueError(f"{name} has an entry for a point without an observed one")
        values, diagonal = entries.data, distances.diagonal()
        differences = (distances - distances.T).data
    else:
        if not np.isnan(distances[~known]).all() or not np.isnan(distances[:, ~known]).all():
            raise ValueError(f"{name} has an entry for a point without an observed one")
        values = distances[np.ix_(known, known)]
        diagonal, differences = values.diagonal(), values - values.T
    if not np.isfinite(values).all() or (values < 0.0).any():
        raise ValueError(f"{name} has entries that are negative, NaN or infinite")
    if diagonal.any():
        raise ValueError(f"{name} has a point at a distance from itself")
    largest = values.max(initial=0.0)
    if np.abs(differences).max(initial=0.0) > _ROUNDING * largest:
        raise ValueError(f"{name} is not symmetric")


def _check_map(name: str, embedding: DiffusionMap, distances: Any) -> None:
    """Refuse a diffusion map that is not that of the distances."""
    if embedding.metric != "precomputed":
        raise ValueError(f'the metric of {name} must be "precomputed"')
    embedding._check_parameters(distances.shape[0])
    check_random_state(embedding.random_state)
    n_components = embedding.eigenvalues_.size
    if embedding.n_components != n_components:
        raise ValueError(
            f"n_components of {name} is {embedding.n_components!r:.20}, and it has "
            f"{n_components} eigenvalues"
        )
    distances = with_zero_diagonal(distances)
    bandwidth = find_bandwidth(distances, embedding.bandwidth)
    if np.shape(bandwidth) != np.shape(embedding.bandwidth_) or not _is_close(
        embedding.bandwidth_, bandwidth, 0.0
    ):
        raise ValueError(f"bandwidth_ of {name} is not that of the distances")
    affinity = embedding.affinity_
    values = affinity.data if sparse.issparse(affinity) else affinity
    if not ((values >= 0.0) & (values <= 1.0)).all():
        raise ValueError(f"affinity_ of {name} has entries that do not lie between 0 and 1")
    difference = affinity - affinities(distances, bandwidth, bandwidth)
    if np.abs(difference).max() > _ROUNDING:
        raise ValueError(f"affinity_ of {name} is not that of the distances")
    if not _is_close(embedding._density, row_sums(affinity), 0.0):
        raise ValueError(f"_density of {name} is not that of affinity_")
    walk = embedding._normalized(affinity, embedding._density)
    if not _is_close(embedding._degree, row_sums(walk), 0.0):
        raise ValueError(f"_degree of {name} is not that of affinity_")
    _check_spectrum(name, embedding, walk)


def _check_spectrum(name: str, embedding: DiffusionMap, walk: Any) -> None:
    eigenvalues, vectors = embedding.eigenvalues_, embedding._eigenvectors
    if not (np.abs(eigenvalues) <= 1.0 + _ROUNDING).all() or (np.diff(eigenvalues) > 0.0).any():
        raise ValueError(f"eigenvalues_ of {name} must lie between -1 and 1 and fall")
    steps = (walk @ vectors) / embedding._degree[:, None]
    length = np.sqrt(embedding._degree.sum() / embedding._degree.min())
    if not _is_close(steps, vectors * eigenvalues, length, _EIGEN_ROUNDING):
        raise ValueError(f"_eigenvectors of {name} are not those of affinity_")
    share = embedding._degree / embedding._degree.sum()
    squares = vectors.T @ (share[:, None] * vectors)
    if not _is_close(squares, np.eye(len(eigenvalues)), 1.0, _EIGEN_ROUNDING):
        raise ValueError(f"_eigenvectors of {name} are not of length one, or not orthogonal")
    expected = vectors * embedding._powers(eigenvalues)
    if not _is_close(embedding.embedding_, expected, length):
        raise ValueError(f"embedding_ of {name} is not that of its eigenvectors")


def _is_close(found: Any, expected: Any, unit: float, rounding: float = _ROUNDING) -> bool:
    """Whether numbers agree up to rounding errors relative to them, or to a unit; NaN with NaN."""
    return np.allclose(found, expected, rtol=rounding, atol=rounding * unit, equal_nan=True)
