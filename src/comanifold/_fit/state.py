"""The fitted state of `CoManifold`: all that a fit has learned, declared in one place.

Public attributes are computed from it, and the format of saved models is derived from it. Nothing
in it is changed after the fit.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graphs import Graph
from ..solvers import Scale
from .combination import ErrorModel, HeldOutPredictions
from .completion import Completion
from .sweep import Blocks

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class ModeState:
    """The fitted state of one mode, the rows or the columns.

    Attributes
    ----------
    graph : Graph
        The graph of the last pass, over the observed rows or columns.
    distances : ndarray or sparse array of shape (n_observed, n_observed)
        Multi-scale distances in the units of the data.
    embedding : estimator
        Fitted to `distances`.
    coordinates : ndarray of shape (n_observed, n_components)
        What `embedding.fit_transform(distances)` returned.
    order : ndarray of int of shape (n_points,)
        A permutation of all rows or columns, those without an observed entry last.
    variances : ndarray of shape (n_observed,)
        What missing entries add to the squared distances of each point.
    p_value : float
        Of structure, against effects of rows and columns and noise.
    labels : ndarray of int of shape (n_observed,)
        The cluster of each point, from 0 in the order of `order`.
    evidence : float
        For the weakest division into clusters; see `Clusters`.
    confidence : ndarray of shape (n_observed,)
        How often each point stays with its cluster.
    names : ndarray of shape (n_points,), or None
        Labels of all rows or columns of a DataFrame.
    tree : ndarray of int of shape (n_levels, n_observed), or None
        The labels of the partition tree, if distances are those of the tree metric.
    """

    graph: Graph
    distances: Any
    embedding: Any
    coordinates: Array
    order: Indices
    variances: Array
    p_value: float
    labels: Indices
    evidence: float
    confidence: Array
    names: NDArray[Any] | None
    tree: Indices | None


@dataclass(frozen=True)
class FittedState:
    """The fitted state of a `CoManifold`.

    Attributes
    ----------
    data : ndarray of shape (n_rows, n_columns)
        The matrix as read, NaN for missing entries.
    observed_rows, observed_columns : ndarray of bool
        Which rows and columns have an observed entry.
    mean, scale : float
        The units of the fit: standard units are (data - mean) / scale.
    filled : ndarray of shape (n_observed_rows, n_observed_columns)
        The mean of the filled-in matrices of all scales and completions by weight, in standard
        units.
    total_weight : float
        The sum of the weights of all scales and completions.
    traversal : str
        The `traversal` parameter of the fit.
    scales : list of Scale
    completions : list of Completion
        Completions that have a weight, besides the scales.
    held_out : HeldOutPredictions
        Entries of the observed rows and columns that were held out.
    errors : ErrorModel
        Of filled-in entries, in standard units.
    blocks : list of Blocks, or None
        The estimate of each scale in standard units, if scales were kept.
    ignored_entries : ndarray of int of shape (n_ignored, 2)
        Rows and columns of the outliers that count as missing.
    row, column : ModeState
    """

    data: Array
    observed_rows: Mask
    observed_columns: Mask
    mean: float
    scale: float
    filled: Array
    total_weight: float
    traversal: str
    scales: list[Scale]
    completions: list[Completion]
    held_out: HeldOutPredictions
    errors: ErrorModel
    blocks: list[Blocks] | None
    ignored_entries: Indices
    row: ModeState
    column: ModeState

    def held_out_entries(self) -> dict[str, NDArray]:
        """Return row, column, fold, value and prediction of held-out entries, in data units."""
        held_out = self.held_out
        rows = np.flatnonzero(self.observed_rows)[held_out.rows]
        columns = np.flatnonzero(self.observed_columns)[held_out.columns]
        return {
            "row": rows,
            "column": columns,
            "fold": held_out.folds,
            "value": self.data[rows, columns],
            "predicted": self.scale * held_out.predicted + self.mean,
        }

    def mode(self, mode: str) -> tuple[ModeState, Mask]:
        """Return the state of a mode, "row" or "column", and which of its points are observed."""
        if mode == "row":
            return self.row, self.observed_rows
        return self.column, self.observed_columns
