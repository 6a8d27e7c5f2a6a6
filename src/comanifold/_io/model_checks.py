"""Checks of the values of a loaded model: each is possible, and agrees with the others.

A file may have been edited, or written by a faulty program. Types and shapes are checked while it
is read; here are the values. Every error names the field of `FittedState`.
"""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from .._embedding.affinities import affinities, row_sums, with_zero_diagonal
from .._embedding.bandwidths import find_bandwidth
from .._embedding.layouts import IsomapLayout, Layout
from .._fit.combination import ErrorModel, mode_variances
from .._fit.standardise import standardise
from .._fit.state import FittedState, ModeState
from .._fit.sweep import Blocks
from .._validation import refuse_infinite
from ..diffusion_map import DiffusionMap
from ..solvers import TRAVERSALS, Scale
from ..trees import PartitionTree

# Relative differences between machines, and of sums in another order.
_ROUNDING = 1e-8

# How far eigenvectors may be from solving their equation.
_EIGEN_ROUNDING = 1e-5

# The exponents of costs whose powers and roots are finite numbers.
_LARGEST_EXPONENT = 1000

_STATUSES = ("converged", "max_iter", "stalled")


def check_state(state: FittedState) -> None:
    """Raise ValueError if no fit could have left this state."""
    _check_data(state)
    _check_scales(state)
    _check_errors(state)
    for mode in ("row", "column"):
        of_mode, observed = state.mode(mode)
        if not 0 <= of_mode.graph.n_added_links <= of_mode.graph.n_edges:
            raise ValueError(f"{mode}.graph.n_added_links is {of_mode.graph.n_added_links}")
        if not np.array_equal(np.sort(of_mode.order), np.arange(len(observed))):
            raise ValueError(f"{mode}.order is not a permutation of 0..{len(observed) - 1}")
        if not 0.0 < of_mode.p_value <= 1.0:
            raise ValueError(f"{mode}.p_value must be above 0 and at most 1, got {of_mode.p_value}")
        _check_clusters(mode, of_mode, observed)
        _check_tree(f"{mode}.tree", of_mode.tree, state.row.tree is not None)
        _check_distances(f"{mode}.distances", of_mode.distances)
        if isinstance(of_mode.embedding, Layout):
            _check_layout(mode, of_mode)
        else:
            _check_diffusion_map(f"{mode}.embedding", of_mode)


def _check_data(state: FittedState) -> None:
    refuse_infinite(state.data, "data")
    if np.isnan(state.data).all():
        raise ValueError("data has no entry")
    expected = standardise(state.data)
    for name in ("observed_rows", "observed_columns"):
        if not np.array_equal(getattr(state, name), getattr(expected, name)):
            raise ValueError(f"{name} are not those in which data has an entry")
    if not np.array_equal(state.ignored_entries, np.argwhere(expected.outliers)):
        raise ValueError("ignored_entries are not the outliers of data")
    for name in ("scale", "total_weight"):
        _check_number(name, getattr(state, name), positive=True)
    for name, unit in (("mean", expected.scale), ("scale", 0.0)):
        found, right = getattr(state, name), getattr(expected, name)
        if not _is_close(found, right, unit):
            raise ValueError(f"{name} is {found}, and that of data is {right}")
    if state.traversal not in TRAVERSALS:
        raise ValueError(f"traversal is {state.traversal!r:.40}")
    if not np.isfinite(state.filled).all():
        raise ValueError("filled has entries that are NaN or infinite")
    observed = ~np.isnan(expected.values)
    if not _is_close(state.filled[observed], expected.values[observed], 1.0):
        raise ValueError("filled differs from data in observed entries")


def _check_scales(state: FittedState) -> None:
    if not state.scales:
        raise ValueError("scales is empty")
    for scale in state.scales:
        _check_scale(scale, state.filled.shape)
    if len({(scale.l, scale.k) for scale in state.scales}) < len(state.scales):
        raise ValueError("scales has two scales of the same costs")
    weights = [completion.weight for completion in state.completions]
    for completion in state.completions:
        _check_number("the weight of a completion", completion.weight)
        _check_number("the step of a completion", completion.step)
    total = sum(scale.weight for scale in state.scales) + sum(weights)
    if not _is_close(state.total_weight, total, 0.0):
        raise ValueError(
            f"total_weight is {state.total_weight}, and the weights of the scales and "
            f"completions add up to {total}"
        )
    for scale, blocks in zip(state.scales, state.blocks or (), strict=state.blocks is not None):
        _check_blocks(f"of the scale ({scale.l}, {scale.k})", blocks)


def _check_errors(state: FittedState) -> None:
    held_out, errors = state.held_out, state.errors
    if len({len(values) for values in vars(held_out).values()}) > 1:
        raise ValueError("held_out has columns of different lengths")
    values = standardise(state.data).values
    for name, n_points in zip(("rows", "columns"), values.shape, strict=True):
        places = getattr(held_out, name)
        if len(places) and not (places.min() >= 0 and places.max() < n_points):
            raise ValueError(f"held_out.{name} are out of range")
    if np.isnan(values[held_out.rows, held_out.columns]).any():
        raise ValueError("held_out has entries that are missing in data")
    places = list(zip(held_out.rows.tolist(), held_out.columns.tolist(), strict=True))
    if len(set(places)) < len(places) or (held_out.folds < 0).any():
        raise ValueError("held_out has an entry twice, or an entry of no fold")
    if not np.isfinite(held_out.predicted).all():
        raise ValueError("held_out.predicted has entries that are NaN or infinite")
    residuals = held_out.predicted - values[held_out.rows, held_out.columns]
    candidates = ErrorModel.candidates(residuals, held_out.rows, held_out.columns, values.shape)
    # Rounding errors may decide which of them is the best.
    _, expected = min(
        candidates,
        key=lambda candidate: np.abs(candidate[1].row_factors - errors.row_factors).sum(),
    )
    for name, found in vars(errors).items():
        right = getattr(expected, name)
        if np.shape(found) != np.shape(right) or not _is_close(found, right, 1e-6):
            raise ValueError(f"errors.{name} is not that of the held-out entries")
    missing = np.isnan(values)
    unit = (state.total_weight * state.scale) ** 2
    for mode in ("row", "column"):
        variances = unit * mode_variances(errors, missing, mode)
        if state.row.tree is not None:  # the tree metric adds none
            variances = np.zeros_like(variances)
        if not _is_close(state.mode(mode)[0].variances, variances, 0.0, 1e-6):
            raise ValueError(f"{mode}.variances are not those of errors")


def _check_scale(scale: Scale, shape: tuple[int, ...]) -> None:
    where = f"of the scale ({scale.l}, {scale.k})"
    if max(abs(scale.l), abs(scale.k)) > _LARGEST_EXPONENT:
        raise ValueError(f"l or k {where} is too large")
    for name, n_points in zip(("n_row_clusters", "n_column_clusters"), shape, strict=True):
        if not 1 <= getattr(scale, name) <= n_points:
            raise ValueError(f"{name} {where} is {getattr(scale, name)} of {n_points}")
    for name in ("weight", "seconds", "n_iter"):
        _check_number(f"{name} {where}", getattr(scale, name))
    if scale.status not in _STATUSES:
        raise ValueError(f"status {where} is {scale.status!r:.40}")
    certificate = scale.certificate
    if certificate.row_dual is not None or certificate.column_dual is not None:
        raise ValueError(f"the certificate {where} has a dual point, which is never saved")
    _check_number(f"stationarity {where}", certificate.stationarity)
    for name, value in (
        ("objective", scale.objective),
        ("gap", certificate.gap),
        ("lower_bound", certificate.lower_bound),
    ):
        if value is not None and not np.isfinite(value):
            raise ValueError(f"{name} {where} is {value}")


def _check_blocks(where: str, blocks: Blocks) -> None:
    if not np.isfinite(blocks.values).all():
        raise ValueError(f"block values {where} are not finite")
    for labels, n_clusters in zip(
        (blocks.row_labels, blocks.column_labels), blocks.values.shape, strict=True
    ):
        if not np.array_equal(np.unique(labels), np.arange(n_clusters)):
            raise ValueError(f"labels {where} are out of range, or a cluster is empty")


def _check_clusters(mode: str, of_mode: ModeState, observed: Any) -> None:
    in_order = of_mode.labels[(np.cumsum(observed) - 1)[of_mode.order[: len(of_mode.labels)]]]
    _, first = np.unique(in_order, return_index=True)
    numbers = in_order[np.sort(first)]
    if not np.array_equal(numbers, np.arange(len(numbers))):
        raise ValueError(f"{mode}.labels are not numbered from 0 along {mode}.order")
    if not ((of_mode.confidence >= 0.0) & (of_mode.confidence <= 1.0)).all():
        raise ValueError(f"{mode}.confidence has entries that are not between 0 and 1")
    if not 0.0 <= of_mode.evidence < np.inf:
        raise ValueError(f"{mode}.evidence must be at least 0 and finite, got {of_mode.evidence}")


def _check_tree(name: str, tree: Any, is_needed: bool) -> None:
    if (tree is not None) != is_needed:
        raise ValueError("there is a tree of one mode and not of the other")
    if tree is None:
        return
    try:
        if not np.array_equal(PartitionTree(tree).labels, tree):
            raise ValueError("labels are not numbered from 0 in the order of their first points")
    except ValueError as error:
        raise ValueError(f"{name} is not a partition tree: {error}") from error


def _check_distances(name: str, distances: Any) -> None:
    values = distances.data if sparse.issparse(distances) else distances
    if not np.isfinite(values).all() or (values < 0.0).any():
        raise ValueError(f"{name} has entries that are negative, NaN or infinite")
    if distances.diagonal().any():
        raise ValueError(f"{name} has a point at a distance from itself")
    differences = distances - distances.T
    differences = differences.data if sparse.issparse(differences) else differences
    if np.abs(differences).max(initial=0.0) > _ROUNDING * values.max(initial=0.0):
        raise ValueError(f"{name} is not symmetric")


def _check_layout(name: str, mode: ModeState) -> None:
    """Raise ValueError if coordinates are not numbers; those of Isomap are checked as such.

    Those of UMAP, t-SNE and MDS can be anything: they are the result of many small steps.
    """
    n_points, n_components = mode.coordinates.shape
    if not 1 <= n_components < n_points:
        raise ValueError(f"{name}.coordinates are {n_components} of {n_points} points")
    if not np.isfinite(mode.coordinates).all():
        raise ValueError(f"{name}.coordinates has entries that are NaN or infinite")
    check_random_state(mode.embedding.random_state)
    if isinstance(mode.embedding, IsomapLayout):
        # NaN if the distances do not connect all points.
        with np.errstate(invalid="ignore"):
            residual = mode.embedding.residual()
        if not residual <= _EIGEN_ROUNDING:
            raise ValueError(f"{name}.coordinates are not those of Isomap of the distances")


def _check_diffusion_map(name: str, mode: ModeState) -> None:
    """Raise ValueError if a diffusion map is not that of the distances."""
    embedding: DiffusionMap = mode.embedding
    distances = with_zero_diagonal(mode.distances)
    if embedding.metric != "precomputed":
        raise ValueError(f'the metric of {name} must be "precomputed"')
    embedding._check_parameters(distances.shape[0])
    check_random_state(embedding.random_state)
    n_components = embedding.eigenvalues_.size
    if embedding.n_components != n_components:
        raise ValueError(
            f"n_components of {name} is {embedding.n_components!r:.20}, and there are "
            f"{n_components} eigenvalues and coordinates"
        )
    bandwidth = find_bandwidth(distances, embedding.bandwidth)
    if np.shape(bandwidth) != np.shape(embedding.bandwidth_) or not _is_close(
        embedding.bandwidth_, bandwidth, 0.0
    ):
        raise ValueError(f"{name}.bandwidth_ is not that of the distances")
    affinity = embedding.affinity_
    values = affinity.data if sparse.issparse(affinity) else affinity
    if not ((values >= 0.0) & (values <= 1.0)).all():
        raise ValueError(f"{name}.affinity_ has entries that are not between 0 and 1")
    difference = affinity - affinities(distances, bandwidth, bandwidth)
    if np.abs(difference).max() > _ROUNDING:
        raise ValueError(f"{name}.affinity_ is not that of the distances")
    if not _is_close(embedding._density, row_sums(affinity), 0.0):
        raise ValueError(f"{name}._density is not that of affinity_")
    walk = embedding._normalized(affinity, embedding._density)
    if not _is_close(embedding._degree, row_sums(walk), 0.0):
        raise ValueError(f"{name}._degree is not that of affinity_")
    _check_spectrum(name, embedding, walk)


def _check_spectrum(name: str, embedding: DiffusionMap, walk: Any) -> None:
    eigenvalues, vectors = embedding.eigenvalues_, embedding._eigenvectors
    if not (np.abs(eigenvalues) <= 1.0 + _ROUNDING).all() or (np.diff(eigenvalues) > 0.0).any():
        raise ValueError(f"{name}.eigenvalues_ must be between -1 and 1, in falling order")
    steps = (walk @ vectors) / embedding._degree[:, None]
    length = np.sqrt(embedding._degree.sum() / embedding._degree.min())
    if not _is_close(steps, vectors * eigenvalues, length, _EIGEN_ROUNDING):
        raise ValueError(f"{name}._eigenvectors are not those of affinity_")
    share = embedding._degree / embedding._degree.sum()
    squares = vectors.T @ (share[:, None] * vectors)
    if not _is_close(squares, np.eye(len(eigenvalues)), 1.0, _EIGEN_ROUNDING):
        raise ValueError(f"{name}._eigenvectors are not orthonormal")
    if not _is_close(embedding.embedding_, vectors * embedding._powers(eigenvalues), length):
        raise ValueError(f"coordinates are not those of {name}._eigenvectors")


def _check_number(name: str, value: float, *, positive: bool = False) -> None:
    if not 0.0 <= value < np.inf or (positive and value == 0.0):
        bound = "positive" if positive else "at least 0"
        raise ValueError(f"{name} must be finite and {bound}, got {value}")


def _is_close(found: Any, expected: Any, unit: float, rounding: float = _ROUNDING) -> bool:
    """Whether numbers agree up to rounding errors relative to them, or to a unit; NaN with NaN."""
    return np.allclose(found, expected, rtol=rounding, atol=rounding * unit, equal_nan=True)
