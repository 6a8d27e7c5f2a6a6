"""The geometry of the rows and of the columns of an incomplete matrix."""

import os
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ._embedding.embedded import EmbeddingMixin
from ._embedding.kept_scales import KeptScalesMixin
from ._embedding.out_of_sample import PlacingMixin
from ._estimators import unchanged_on_failure
from ._fit.checkpoint import open_checkpoint
from ._fit.notices import (
    report_pass,
    warn_of_outliers,
    warn_of_stride,
    warn_of_unconverged,
    warn_of_unobserved,
)
from ._fit.outliers import doublings_per_step, find_outliers
from ._fit.passes import run_passes
from ._fit.progress import CallbackSupportMixin, Progress, with_callbacks
from ._fit.settings import check_settings, check_size, choose_candidates
from ._io.model_format import read_model, restore, write_model
from ._parallel import single_threaded_blas
from ._plotted import PlottingMixin
from ._validation import check_matrix, expand_to_full, missing_to_nan, row_names
from .penalties import Penalty
from .solvers import mean_and_scale

Array = NDArray[np.float64]

_PAPER = {"alpha": -0.5, "bandwidth": "median", "first_graphs": "masked", "traversal": "paper"}


class CoManifold(
    CallbackSupportMixin,
    KeptScalesMixin,
    EmbeddingMixin,
    PlacingMixin,
    PlottingMixin,
    ClassNamePrefixFeaturesOutMixin,
    BaseEstimator,
):
    r"""Embed the rows and the columns of a matrix with missing entries.

    Co-manifold learning (Mishne, Chi and Coifman 2019): the matrix is smoothed along its rows
    and its columns at once, at every pair of scales from nothing fused to one cluster; the
    distance between two rows is the weighted sum over all scales of their distances in the
    filled-in matrices,

    .. math:: d(i, j) = \sum_{l,k} w_{lk}
              \| \tilde X^{(l,k)}_{i \cdot} - \tilde X^{(l,k)}_{j \cdot} \|,

    and likewise between columns; diffusion maps embed both. With nothing missing, that is the
    diffusion map of the matrix. Multiplying or shifting the data changes nothing but the units
    of the distances, and the order of rows and columns does not matter.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates of each embedding.
    n_neighbors : int or pair of int, default=5
        Neighbours of each row and each column in the graphs along which the matrix is smoothed.
    penalty, solver : default="snowflake", "fast"
        See `co_cluster`. Parameters of a penalty are in the units of `start_scale`.
    start_scale : "auto", int or pair of int, default="auto"
        Exponents l and k of the first costs, 2^l for rows and 2^k for columns, in units in
        which the observed entries have variance one. "auto" starts where nothing is fused yet.
    alpha : "auto" or float, default="auto"
        The weight of a scale: a number gives (row cost times column cost)^alpha, the paper has
        -1/2. "auto" hides a tenth of the observed entries, solves the surface without them, and
        lets each scale count by how well it predicts them; so does the completion by a matrix
        of low rank that the first graphs are built from, as one more scale.
    n_passes : int, default=1
        In every pass after the first the graphs are rebuilt from the distances of the one
        before. With masked first graphs and little observed, a second pass helps.
    continuation : bool, default=True
        Start each scale from the solution of the one before, so that clusters are nested (for
        penalties as steep at the origin as the snowflake). False solves each on its own.
    embedding : "diffusion" or estimator, default="diffusion"
        An estimator with `fit_transform` that takes precomputed distances, such as
        ``Isomap(metric="precomputed")``; one copy is fitted to each mode. It has its own number
        of components.
    bandwidth : "local", ("local", int), "median" or float, default="local"
        Of the diffusion maps; see `DiffusionMap`. The median of sparse distances is that of the
        distances there are, near ones more often than others.
    distances : {"auto", "dense", "sparse"}, default="auto"
        Which distances there are. "dense": all, in square arrays. "sparse": those of each row,
        and each column, to its nearest ones (30, or twice the neighbours of the graph or of a
        local bandwidth if that is more) and to 30 at even steps through the others, from near
        to far; memory then grows with the number of rows and columns and not with its square.
        "auto" decides for the rows and for the columns by themselves: sparse past 3,000 of
        them, if `embedding` takes sparse distances.
    keep_scales : bool, default=False
        Keep every scale, as cluster labels and block values, for `estimate_at`, `filled_at`,
        `row_labels_at`, `column_labels_at`, `row_linkage_` and `column_linkage_`.
    n_jobs : int, optional
        Parts of the surface that are solved side by side, on threads unless a
        `joblib.parallel_config` says otherwise: processes, or with ``parallel_config("dask")``
        the workers of a Dask cluster. The result is the same, bit for bit.
    checkpoint : path, optional
        A directory in which finished parts of the surface are kept: a new or empty one, or that
        of this very fit. A fit that was stopped goes on from there when it is called again, and
        ends with the same bits; the directory of a fit to other data, with other parameters or
        by other versions is refused. Files of yours in it are left alone.
    random_state : int, RandomState or None, default=None
        Handed to `embedding` if it takes one and has none. The method itself draws nothing.
    verbose : int, default=0
        1 reports the passes on standard error, 2 every scale. With scikit-learn 1.9 or newer
        there is also ``set_callbacks(ProgressBar())`` of `sklearn.callback`.
    first_graphs : {"low-rank", "masked"}, default="low-rank"
        By what the neighbours in the first graphs are found: on the matrix completed by one of
        low rank (`comanifold._fit.low_rank`), or on what both rows have observed, as in the paper
        and where too few entries can be hidden to find that matrix.
    traversal : {"symmetric", "paper"}, default="symmetric"
        Which pairs of costs are solved. "symmetric" treats rows and columns alike, so that
        transposing the matrix swaps the two results. "paper" is Algorithm 2: for every row
        cost, column costs up to one column cluster.
    absent : {"missing", "zero"}, optional
        What an entry means that a sparse matrix does not store. Needed for sparse input only.
    tol, max_iter : default=1e-3, 10000
        Where each scale stops: the relative stationarity residual (see `Certificate`).

    Attributes
    ----------
    row_embedding_, column_embedding_ : ndarray of shape (n_rows or n_columns, n_components)
    row_eigenvalues_, column_eigenvalues_ : ndarray of shape (n_components,)
        Only with diffusion maps.
    row_distances_, column_distances_ : ndarray or sparse array
        Multi-scale distances, in the units of the data. With learned weights, which add up to
        one, they are means over the scales. Sparse ones are CSR arrays in which zeros are
        stored: no entry means no distance.
    row_affinity_, column_affinity_ : ndarray or sparse array
        Only with diffusion maps.
    filled_ : ndarray of shape (n_rows, n_columns)
        The data, with missing entries filled in by the mean of all scales, by weight.
    row_order_, column_order_ : ndarray of int
        Orders that show the matrix organised: ``filled_[row_order_][:, column_order_]``.
    row_graph_, column_graph_ : Graph
        The graphs of the last pass, of the rows and columns with an observed entry.
    unobserved_rows_, unobserved_columns_ : ndarray of int
        Rows and columns without an observed entry. They are left in place: coordinates,
        distances and filled-in values are NaN (sparse distances: not stored), labels -1.
    ignored_entries_ : ndarray of shape (n_ignored, 2)
        Row and column of single entries that are more than 100,000 times as far from the median
        as half of the entries are, with nothing in between. They would set the units of all
        others: a warning names them, and they count as missing in the fit. `filled_` has them as
        they are.
    scales_ : list of Scale
        One record for each pair of costs of the last pass: l, k, row_cost, column_cost,
        n_row_clusters, n_column_clusters, objective, certificate, n_iter, status, seconds,
        weight.
    low_rank_weight_ : float
        How much the completion by a matrix of low rank counts beside the scales.
    row_linkage_, column_linkage_ : ndarray
        With `keep_scales`: clusters as they join while the costs grow, as a SciPy linkage
        matrix whose heights are costs of that mode. In the traversal of the paper, each
        doubling of the column cost past the last row cost counts as one of the row cost.
    n_iter_ : int
        Iterations over all scales.
    n_features_in_ : int
    feature_names_in_, row_names_in_ : ndarray of str
        Labels of the columns and of the rows of a DataFrame.

    References
    ----------
    Mishne, Chi and Coifman (2019), Co-manifold learning with missing data.

    Examples
    --------
    >>> import numpy as np
    >>> from comanifold import CoManifold
    >>> rng = np.random.default_rng(0)
    >>> X = np.cos(np.linspace(0, 3, 40)[:, None] - np.linspace(0, 3, 30))
    >>> X[rng.random(X.shape) < 0.5] = np.nan
    >>> model = CoManifold().fit(X)
    >>> model.row_embedding_.shape, model.column_embedding_.shape
    ((40, 2), (30, 2))
    >>> position = np.corrcoef(model.row_embedding_[:, 0], np.linspace(0, 3, 40))[0, 1]
    >>> bool(abs(position) > 0.95)
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int | tuple[int, int] = 5,
        penalty: str | Penalty = "snowflake",
        solver: str = "fast",
        start_scale: str | int | tuple[int, int] = "auto",
        alpha: str | float = "auto",
        n_passes: int = 1,
        continuation: bool = True,
        embedding: Any = "diffusion",
        bandwidth: str | float | tuple[str, int] = "local",
        distances: str = "auto",
        keep_scales: bool = False,
        n_jobs: int | None = None,
        checkpoint: str | os.PathLike | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        first_graphs: str = "low-rank",
        traversal: str = "symmetric",
        absent: str | None = None,
        tol: float = 1e-3,
        max_iter: int = 10_000,
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.penalty = penalty
        self.solver = solver
        self.start_scale = start_scale
        self.alpha = alpha
        self.n_passes = n_passes
        self.continuation = continuation
        self.embedding = embedding
        self.bandwidth = bandwidth
        self.distances = distances
        self.keep_scales = keep_scales
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose
        self.first_graphs = first_graphs
        self.traversal = traversal
        self.absent = absent
        self.tol = tol
        self.max_iter = max_iter

    @classmethod
    def as_in_the_paper(cls, n_components: int = 2, **parameters: Any) -> "CoManifold":
        """The settings of the paper; `parameters` are set on top of them."""
        return cls(n_components, **{**_PAPER, **parameters})

    @unchanged_on_failure
    @with_callbacks
    @single_threaded_blas()
    def fit(self, X: ArrayLike, y: Any = None) -> "CoManifold":  # noqa: ARG002
        """Find the geometry of the rows and of the columns of X.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            NaN, or the mask of a masked array, for missing entries. A DataFrame keeps its
            labels. A sparse matrix needs `absent`.
        y : ignored
        """
        settings = check_settings(self)
        progress = Progress(self, settings.n_sweeps)
        progress.begin_fit(X)
        names = row_names(X)
        self._X = X = check_matrix(self._read(X, reset=True))
        outliers = find_outliers(X)
        self.ignored_entries_ = np.argwhere(outliers)
        missing = np.isnan(X)
        self._rows, self._columns = ~missing.all(axis=1), ~missing.all(axis=0)
        check_size(int(self._rows.sum()), int(self._columns.sum()), self.n_components)
        self.unobserved_rows_ = np.flatnonzero(~self._rows)
        self.unobserved_columns_ = np.flatnonzero(~self._columns)
        warn_of_unobserved("row", self.unobserved_rows_)
        warn_of_unobserved("column", self.unobserved_columns_)
        self.row_names_in_ = names

        all_known = self._rows.all() and self._columns.all()
        warn_of_outliers(X, outliers, names, getattr(self, "feature_names_in_", None))
        usable = np.where(outliers, np.nan, X) if outliers.any() else X
        observed = usable if all_known else usable[np.ix_(self._rows, self._columns)]
        self._mean, self._scale = mean_and_scale(observed)
        settings = replace(
            settings,
            n_candidates=choose_candidates(self, observed.shape),
            stride=doublings_per_step(observed),
        )
        warn_of_stride(settings.stride)
        keep_scales = bool(self.keep_scales)
        with open_checkpoint(self.checkpoint, X, settings, keep_scales=keep_scales) as checkpoint:
            last = run_passes(
                (observed - self._mean) / self._scale,
                replace(settings, checkpoint=checkpoint, progress=progress),
                keep_scales=keep_scales,
                report=partial(report_pass, self.verbose),
            )
        self.row_graph_, self.column_graph_ = last.row_graph, last.column_graph
        self.scales_ = last.sweep.scales
        self.low_rank_weight_ = last.low_rank_weight
        self._traversal = self.traversal
        self.n_iter_ = sum(scale.n_iter for scale in self.scales_)
        warn_of_unconverged(self.scales_, self.tol)
        kept = last.sweep.blocks
        places = [(scale.l, scale.k) for scale in self.scales_]
        self._blocks = None if kept is None else dict(zip(places, kept, strict=True))

        metric = last.sweep.metric
        self._total_weight, self._filled = metric.total_weight, metric.filled
        estimate = self._scale * self._filled + self._mean
        estimate = expand_to_full(estimate, self._rows, self._columns)
        self.filled_ = np.where(missing, estimate, X)
        by_row, by_column = metric.distances()
        self._publish("row", by_row, self._rows)
        self._publish("column", by_column, self._columns)
        self._n_features_out = self.row_embedding_.shape[1]
        progress.end(X)
        return self

    def fit_transform(self, X: ArrayLike, y: Any = None) -> Array:  # noqa: ARG002
        """Fit to X and return the embedding of its rows."""
        return self.fit(X).row_embedding_

    def save(self, directory: str | os.PathLike, *, overwrite: bool = False) -> None:
        """Save the fitted model to a directory, completely or not at all.

        Written are arrays.npz, which is read without pickle, model.json with the parameters,
        labels, scales and versions, and a hidden list of the files. `load` returns a model with
        the same bits.

        Parameters
        ----------
        directory : path
            Must not exist, or be empty.
        overwrite : bool, default=False
            Replace the model that was saved there. Other files in the directory are kept. If its
            own files have been changed since, an error is raised.

        Raises
        ------
        ValueError
            If a part of the model is not data: an `embedding` other than "diffusion" or a
            `DiffusionMap`, or a penalty that is not one of `comanifold.penalties`.
        """
        check_is_fitted(self)
        write_model(self, directory, overwrite=overwrite)

    @classmethod
    def load(cls, directory: str | os.PathLike) -> "CoManifold":
        """Load a model that was saved to a directory. Nothing in the files is executed.

        Parameters
        ----------
        directory : path

        Raises
        ------
        ValueError
            If it is damaged, not a model, or of another version of the format.
        """
        parameters, state = read_model(
            directory, lambda parameters: check_settings(cls(**parameters))
        )
        model = cls(**parameters)
        restore(model, state)
        return model

    def _read(self, X: Any, *, reset: bool) -> Any:
        X = missing_to_nan(X, self.absent)
        return validate_data(self, X, reset=reset, ensure_all_finite="allow-nan")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self.absent is not None
        return tags
