"""The geometry of the rows and of the columns of a matrix with missing entries."""

import numbers
import os
import warnings
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.neighbors import sort_graph_by_row_values
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from ._embedding.clusters import (
    Clusters,
    find_groups,
    group_into,
    point_confidence,
    renumbered,
)
from ._embedding.distinguishing import check_groups, distinguishing
from ._embedding.layouts import (
    Layout,
    check_embedding,
    check_installed,
    embedding_name,
    make_embedding,
    refuse_sparse,
)
from ._embedding.ordering import embedding_order
from ._embedding.out_of_sample import ModeVariances, distances_to_new, find_equal_rows
from ._embedding.structure import structure_p_values
from ._embedding.tree_metric import tree_distances_to_new, with_tree_metric
from ._embedding.trees import cut_tree, nested_linkage, steps_around, with_leaves
from ._estimators import unchanged_on_failure
from ._fit.checkpoint import open_checkpoint
from ._fit.combination import entry_variances
from ._fit.expected_time import expected_steps
from ._fit.passes import MOST_ENTRIES_AT_ONCE, SurfaceResult, run_passes
from ._fit.progress import (
    CallbackSupportMixin,
    FitProgress,
    ProgressReporter,
    log_to_stderr,
    warn_of_outliers,
    warn_of_stride,
    warn_of_unconverged,
    warn_of_unobserved,
    with_callbacks,
)
from ._fit.settings import Execution, check_n_clusters, check_settings, check_size
from ._fit.standardise import StandardisedMatrix, find_outliers, standardise
from ._fit.state import FittedState, ModeState
from ._fit.sweep import Blocks
from ._io.model_format import read_model, write_model
from ._parallel import single_threaded_blas
from ._summary import Summary, summarise
from ._tasks import Task, Tasks
from ._validation import (
    check_choice,
    check_count,
    check_matrix,
    expand_to_full,
    for_both,
    is_integer,
    missing_to_nan,
    read_floats,
    refuse_infinite,
    row_names,
    sparse_to_nan,
)
from .diffusion_map import DiffusionMap
from .model_selection import HeldOutErrors, hold_out
from .penalties import Penalty, get_penalty, rescale
from .solvers import TRAVERSALS
from .trees import PartitionTree

Array = NDArray[np.float64]
Labels = NDArray[np.intp]
Mask = NDArray[np.bool_]
Groups = tuple[Labels, float]  # and the evidence for them
Place = int | None  # an exponent of the costs of a scale, or its position

_PAPER = {
    "scale_weights": "cost",
    "alpha": -0.5,
    "bandwidth": "median",
    "first_graphs": "masked",
    "traversal": "paper",
}


def _points(mode: str, result: SurfaceResult) -> tuple[Array, Array]:
    """Return the rows or columns as filled in, and as filled in by a linear method.

    The same array if nothing is missing.
    """
    filled = result.filled if mode == "row" else result.filled.T
    if result.completed is result.filled:
        return filled, filled
    return filled, result.completed if mode == "row" else result.completed.T


def _clusters(
    groups: Groups, filled: Array, observed: Mask, order: Labels, seed: Any, tasks: Tasks
) -> Clusters:
    """Return the clusters of the observed points, numbered along an order."""
    labels, evidence = groups
    labels = renumbered(_expand_labels(labels, observed), order)[observed]
    return Clusters(labels, evidence, point_confidence(filled, labels, seed, tasks))


def _can_transform(model: Any) -> bool:
    """Return True if the embedding places new points; else raise an AttributeError."""
    state = getattr(model, "_state", None)
    embedding = model.embedding if state is None else state.row.embedding
    if isinstance(embedding, str):
        can, name = embedding not in ("umap", "tsne", "mds"), embedding
    else:
        can, name = hasattr(embedding, "transform"), embedding_name(embedding)
    if can:
        return True
    raise AttributeError(
        f"the embedding {name!r} has no transform for new points: fit with "
        'embedding="diffusion" or "isomap" to place them'
    )


class CoManifold(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    r"""Embed the rows and the columns of a matrix with missing entries.

    Co-manifold learning (Mishne, Chi and Coifman 2019): the matrix is smoothed along its rows
    and its columns at once, at every pair of scales from nothing fused to one cluster; the
    distance between two rows is the weighted sum over all scales of their distances in the
    filled-in matrices,

    .. math:: d(i, j) = \sum_{l,k} w_{lk}
              \| \tilde X^{(l,k)}_{i \cdot} - \tilde X^{(l,k)}_{j \cdot} \|,

    and likewise between columns; diffusion maps embed both, or UMAP, t-SNE, Isomap or MDS. With
    nothing missing, the distances are Euclidean ones times a number. Multiplying or shifting the
    data changes nothing but the units of the distances, and the order of rows and columns does
    not matter, except for places in UMAP and t-SNE.

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
    scale_weights : {"learned", "cost"}, default="learned"
        The weights of the scales. "learned" holds out observed entries (a tenth, in one to five
        folds; at most 20,000), solves the surface without them, and finds the combination of
        scales and of completions by a Gaussian model that predicts them best: weights of at
        least zero that sum to one, and nearer to those of the paper the fewer entries there
        are. "cost" is the paper's choice, (row cost times column cost)^alpha.
    alpha : float, default=-0.5
        The exponent of the weights with ``scale_weights="cost"``.
    n_passes : int, default=1
        Number of passes. Each pass after the first rebuilds the graphs from the distances of
        the one before. With masked first graphs and few observed entries, a second pass helps.
    continuation : bool, default=True
        Warm start: begin each scale at the solution of the one before, so that clusters are
        nested (for penalties as steep at the origin as the snowflake). False solves each scale
        from its own start.
    embedding : str or estimator, default="diffusion"
        How distances become coordinates:

        - "diffusion", a diffusion map;
        - "umap", UMAP with 15 neighbours, by the package umap-learn (extra `umap`);
        - "tsne", t-SNE with perplexity 30, or a third of the number of other points;
        - "isomap", Isomap with 5 neighbours, its graph made connected by shortest links;
        - "mds", multidimensional scaling (SMACOF); it needs all distances;
        - an estimator with `fit_transform` that takes precomputed distances, such as
          ``SpectralEmbedding(affinity="precomputed")``. A clone is fitted to each mode; its own
          number of components applies.

        `embed` returns others from the same fit. "diffusion" and "isomap" place new points; the
        others have no `transform`.
    n_clusters : None, int or pair, default=None
        Number of clusters of the rows and of the columns, for `row_labels_` and
        `column_labels_`; a pair sets them separately. None: the number is found, and one cluster
        is a possible answer; see `find_clusters`.
    bandwidth : "auto", "local", ("local", int), "median" or float, default="auto"
        Bandwidth of the diffusion maps; see `DiffusionMap`. The median of sparse distances is
        that of the stored ones, among which short distances are more frequent.
    metric : {"multi-scale", "tree"}, default="multi-scale"
        "multi-scale": the distance above. "tree": a partition tree is built from the multi-scale
        affinities of the rows, and one of the columns; the distance between two rows is

        .. math:: d(i, j) = \sum_{\ell} \sum_{I \in \mathcal P_\ell} \sqrt{|I| / n} \,
                  \left| \operatorname{mean}_I \tilde x_i - \operatorname{mean}_I \tilde x_j
                  \right|

        over the folders I of all levels of the tree of the columns, with the filled-in rows
        :math:`\tilde x`, and likewise between columns. It averages noise over similar columns
        also where nothing is missing. Take it for many noisy columns that vary slowly.
    distances : {"auto", "dense", "sparse"}, default="auto"
        Which pairwise distances to compute. "dense": all of them, in square arrays. "sparse":
        those of each row, and each column, to its nearest ones (30, or twice the neighbours of
        the graph or of the bandwidth if that is more) and to 30 others at even steps from
        near to far, so that memory grows linearly with the number of rows and columns; with
        "tsne" to 91 nearest ones. "auto" is sparse for a mode of more than 3,000 points, if
        `embedding` takes sparse distances ("mds" does not, nor "tsne" with more than 3
        components).
    keep_scales : bool, default=False
        Keep the estimate of every scale, as cluster labels and block values, for `estimate_at`,
        `filled_at`, `blocks_at`, `row_labels_at`, `column_labels_at`, `row_linkage_`,
        `column_linkage_` and `cut`.
    n_jobs : int, optional
        Number of threads. A `joblib.parallel_config` has parts of the surface solved elsewhere:
        by processes, or with ``parallel_config("dask")`` by the workers of a Dask cluster, and
        other steps by as many threads of this process. The result is the same, bit for bit.
    checkpoint : path, optional
        A directory in which finished parts of the surface are saved: a new or empty one, or
        that of the same fit. A fit that was interrupted resumes from there when it is called
        again, and ends with the same bits; the directory of a fit to other data, with other
        parameters or by other versions is refused. Other files in it are left alone.
    random_state : int, RandomState or None, default=None
        The seed of "umap" and "tsne", for which None is 0: they are deterministic as well.
        Passed to an estimator as `embedding` if it takes one and has none, and the default of
        `score`. Also that of k-means, for a number of clusters that was asked for, and of the
        draws of the confidence, for which None is 0. The rest of the method is deterministic.
    verbose : int, default=0
        1 logs the passes, 2 every scale, to the logger "comanifold", which is shown on standard
        error unless logging is configured. See also the `progress` argument of `fit`, and, with
        scikit-learn 1.9 or newer, ``set_callbacks(ProgressBar())`` of `sklearn.callback`.
    first_graphs : {"completed", "masked"}, default="completed"
        Which distances the first graphs are built from: Euclidean ones of the matrix filled in
        by a Gaussian model, or root-mean-square differences over entries observed in both rows,
        as in the paper.
    traversal : {"symmetric", "paper"}, default="symmetric"
        Which pairs of costs are solved. "symmetric" treats rows and columns alike, so that
        transposing the matrix swaps the two results. "paper" is Algorithm 2: for every row
        cost, column costs up to one column cluster.
    absent : {"missing", "zero"}, optional
        What entries mean that a sparse matrix does not store. Required for sparse input.
    tol, max_iter : default=1e-3, 10000
        Stopping rule of each scale: tolerance on the relative stationarity residual (see
        `Certificate`), and limit on the number of iterations.

    Attributes
    ----------
    row_embedding_, column_embedding_ : ndarray of shape (n_rows or n_columns, n_components)
    embedding_name_ : str
        The name of the embedding that was fitted, such as "diffusion"; of an estimator, that of
        its class.
    row_eigenvalues_, column_eigenvalues_ : ndarray of shape (n_components,)
        Present with diffusion maps only.
    row_p_value_, column_p_value_ : float
        Of the null hypothesis that there is no structure: that the matrix consists of an effect
        of each row and of each column (on the scale of log odds if there are at most ten different
        values) and independent noise, with variances of any pattern. It is rejected for
        similarities of rows, or columns, beyond those of 199 such matrices with the same missing
        entries; at least 0.005, and 1 for matrices too small to tell.
    row_distances_, column_distances_ : ndarray or sparse array
        Distances in the units of the data; see `metric`. Multi-scale ones with learned weights,
        which sum to one, are means over the scales and completions, and the variances of missing
        entries are added to their squares. Sparse ones are CSR arrays in which zeros are
        stored: an entry that is not stored is a distance that was not computed.
    row_affinity_, column_affinity_ : ndarray or sparse array
        Present with diffusion maps only.
    row_tree_, column_tree_ : PartitionTree
        Of the rows and of the columns with an observed entry. Present with ``metric="tree"`` only.
    filled_ : ndarray of shape (n_rows, n_columns)
        The data, with missing entries filled in by the weighted mean of all scales and
        completions.
    data_ : ndarray of shape (n_rows, n_columns)
        The data as read, NaN for missing entries.
    mean_, scale_ : float
        Mean and standard deviation of the observed entries. Costs are in units in which these
        are 0 and 1; see `costs_at` for costs in the units of the data.
    penalty_ : Penalty
        The penalty in the units of the data, for `co_cluster`; see `costs_at`.
    row_order_, column_order_ : ndarray of int
        Permutations that organise the matrix: ``filled_[row_order_][:, column_order_]``.
    row_graph_, column_graph_ : Graph
        The graphs of the last pass, of the rows and columns with an observed entry.
    unobserved_rows_, unobserved_columns_ : ndarray of int
        Rows and columns without an observed entry. They keep their place: coordinates,
        distances and filled-in values are NaN (sparse distances: not stored), labels -1.
    ignored_entries_ : ndarray of shape (n_ignored, 2)
        Row and column of outliers: single entries more than 100,000 times as far from the
        median as half of the entries are, with nothing in between. A warning names them, and
        they count as missing in the fit. `filled_` keeps them as they are.
    scales_ : dict of ndarray
        The solved scales of the last pass, one array per quantity, so that
        ``pandas.DataFrame(model.scales_)`` is a table: l, k, row_cost, column_cost,
        n_row_clusters, n_column_clusters, objective, stationarity, gap (linear penalty only),
        n_iter, status, seconds, weight. Costs and objectives are in standard units. With learned
        weights and nothing missing, only the first scale is solved unless scales are kept.
    completions_ : dict of ndarray
        The completions that have a weight besides the scales, in the form of `scales_`: effects
        (of rows and columns, subtracted first), variance (of missing entries, in the covariance),
        ridge and weight. Empty arrays with ``scale_weights="cost"``, or if nothing is missing.
    held_out_ : dict of ndarray
        The entries that were held out to learn the weights: row, column, fold, value, and what
        the model predicted without them. Errors and intervals are based on these.
    filled_std_ : ndarray of shape (n_rows, n_columns)
        The standard error of the estimate of each entry that was missing or ignored, zero for
        others; NaN where no entries could be held out. See `filled_interval`.
    row_support_, column_support_ : ndarray
        What the place of a row or column rests on: the mean over its entries of 1 for an observed
        one, and of the explained part of the variance for a filled-in one. From 0, nothing is
        known, to 1, everything is. Filled-in entries count 0 if none could be held out.
    row_labels_, column_labels_ : ndarray of int
        The cluster of each row and column, from 0 in the order of the organised matrix; -1 where
        nothing is observed. See `n_clusters` and `find_clusters`.
    row_confidence_, column_confidence_ : ndarray
        How often each row stays with its cluster if half of the columns are left out, and each
        column if half of the rows are; NaN where nothing is observed.
    row_linkage_, column_linkage_ : ndarray
        With `keep_scales`: the tree in which clusters join while the costs grow, as a SciPy
        linkage matrix whose heights are costs of that mode; clusters that join at the same cost
        do so by distance, at heights below it. The clusters of `row_labels_` and
        `column_labels_` are nodes: points of different ones join only when all are whole. In the
        traversal of the paper, each
        doubling of the column cost past the last row cost counts as one of the row cost.
    n_iter_ : int
        Total number of iterations over all scales.
    n_features_in_ : int
    feature_names_in_, row_names_in_ : ndarray
        Labels of the columns (if they are text) and of the rows of a DataFrame, or those given
        to `set_names`; absent for input without labels.

    Notes
    -----
    Results are in double precision, also for float32 input. Completions of matrices of more than
    20,000 entries are computed in single precision where the ridge allows it, and so are the
    distances by which candidates for nearest neighbours are chosen.

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
        scale_weights: str = "learned",
        alpha: float = -0.5,
        n_passes: int = 1,
        continuation: bool = True,
        embedding: Any = "diffusion",
        n_clusters: int | tuple[int | None, int | None] | None = None,
        bandwidth: str | float | tuple[str, int] = "auto",
        metric: str = "multi-scale",
        distances: str = "auto",
        keep_scales: bool = False,
        n_jobs: int | None = None,
        checkpoint: str | os.PathLike | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        first_graphs: str = "completed",
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
        self.scale_weights = scale_weights
        self.alpha = alpha
        self.n_passes = n_passes
        self.continuation = continuation
        self.embedding = embedding
        self.n_clusters = n_clusters
        self.bandwidth = bandwidth
        self.metric = metric
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
        """Return a model with the settings of the paper; `parameters` override them."""
        return cls(n_components, **{**_PAPER, **parameters})

    @unchanged_on_failure
    @with_callbacks
    @single_threaded_blas()
    def fit(
        self,
        X: ArrayLike,
        y: Any = None,  # noqa: ARG002
        *,
        progress: Callable[[FitProgress], None] | None = None,
    ) -> "CoManifold":
        """Compute embeddings, distances and filled-in values of X.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            NaN, or the mask of a masked array, for missing entries. A DataFrame keeps its
            labels. A sparse matrix needs `absent`.
        y : ignored
        progress : callable, optional
            Called with a `FitProgress` whenever a part of the fit is done, by the thread that
            called `fit`. An exception that it raises ends the fit.
        """
        settings = check_settings(self)
        check_installed(self.embedding)
        reporter = ProgressReporter(progress, self)
        reporter.begin_fit(X)
        names = row_names(X)
        data = check_matrix(self._validate(X, reset=True))
        column_names = getattr(self, "feature_names_in_", None)
        matrix = standardise(data)
        check_size(*matrix.values.shape, self.n_components)
        check_n_clusters(self.n_clusters, matrix.values.shape)
        warn_of_unobserved("row", np.flatnonzero(~matrix.observed_rows))
        warn_of_unobserved("column", np.flatnonzero(~matrix.observed_columns))
        warn_of_outliers(data, matrix.outliers, names, column_names)
        warn_of_stride(matrix.stride)
        with self._tasks(matrix.values.size) as tasks:
            p_values = tasks.add(structure_p_values, matrix.values, late=True)
            with (
                log_to_stderr(self.verbose),
                open_checkpoint(self.checkpoint, data, settings) as checkpoint,
            ):
                execution = Execution(self.n_jobs, checkpoint, reporter, tasks)
                result = run_passes(matrix.values, settings, execution, stride=matrix.stride)
            warn_of_unconverged(result.scales, self.tol)
            if self.metric == "tree":
                result = with_tree_metric(result)
            row, column = self._mode_states(result, matrix, p_values, execution)
        self._set_state(
            FittedState(
                data=data,
                observed_rows=matrix.observed_rows,
                observed_columns=matrix.observed_columns,
                mean=matrix.mean,
                scale=matrix.scale,
                filled=result.filled,
                total_weight=result.total_weight,
                traversal=self.traversal,
                scales=result.scales,
                completions=result.completions,
                held_out=result.held_out,
                errors=result.errors,
                blocks=result.blocks,
                ignored_entries=np.argwhere(matrix.outliers),
                row=replace(row, names=names),
                column=replace(column, names=column_names),
            )
        )
        reporter.end_fit(X)
        return self

    def fit_transform(self, X: ArrayLike, y: Any = None, **fit_parameters: Any) -> Array:  # noqa: ARG002
        """Fit to X and return the embedding of its rows; see `fit`."""
        return self.fit(X, **fit_parameters).row_embedding_

    def expected_seconds(self, shape: tuple[int, int]) -> float:
        """Return about how many seconds a fit to a matrix of that shape takes.

        It is a rough estimate for a matrix with missing entries, from the shape, the parameters and
        the speed of this machine, without the time to compile at the first fit after installation.
        Data may differ by two times, other load on the machine by more. `FitProgress.seconds_left`
        is corrected while the fit runs.
        """
        steps = expected_steps(
            check_settings(self), shape, embedding=self.embedding, n_jobs=self.n_jobs
        )
        return sum(step.seconds for step in steps)

    def _validate(self, X: Any, *, reset: bool) -> Any:
        """Return X as scikit-learn validates it, with NaN for missing entries."""
        X = missing_to_nan(X, self.absent)
        return validate_data(self, X, reset=reset, ensure_all_finite="allow-nan")

    def _tasks(self, n_entries: int) -> Tasks:
        """Return the threads of a fit to a matrix with so many entries."""
        # Which call draws first from a generator must not depend on threads.
        has_generator = isinstance(self.random_state, np.random.RandomState)
        overlap = n_entries <= MOST_ENTRIES_AT_ONCE and not has_generator
        return Tasks(self.n_jobs, overlap=overlap)

    def _mode_states(
        self,
        result: SurfaceResult,
        matrix: StandardisedMatrix,
        p_values: Task,
        execution: Execution,
    ) -> tuple[ModeState, ModeState]:
        """Return the states of rows and columns: embedded, ordered and clustered.

        Only this thread calls estimators, as those of other packages may not allow for threads:
        it embeds while others find clusters.
        """
        tasks, progress = execution.tasks, execution.progress
        progress.begin_step("structure")
        of_modes = dict(zip(("row", "column"), p_values.result(), strict=True))
        # The columns first, so that this thread takes the rows when it has embedded both.
        groups = {
            mode: tasks.add(find_groups, *_points(mode, result), of_modes[mode])
            for mode in ("column", "row")
        }
        states = {}
        for mode, p_value in of_modes.items():
            progress.begin_step("embedding")
            states[mode] = self._embedded(mode, p_value, result, matrix)
        clusters = {
            mode: tasks.add(
                _clusters,
                self._wanted_groups(mode, groups[mode], result),
                _points(mode, result)[0],
                getattr(matrix, f"observed_{mode}s"),
                state.order,
                self._seed(),
                tasks,
            )
            for mode, state in states.items()
        }
        for mode, state in states.items():
            progress.begin_step("clusters")
            found = clusters[mode].result()
            states[mode] = replace(
                state,
                labels=found.labels,
                evidence=found.evidence,
                confidence=found.point_confidence,
            )
        return states["row"], states["column"]

    def _embedded(
        self, mode: str, p_value: float, result: SurfaceResult, matrix: StandardisedMatrix
    ) -> ModeState:
        """Return the state of a mode, embedded and ordered, as one cluster."""
        distances = matrix.scale * getattr(result, f"{mode}_distances")
        observed = getattr(matrix, f"observed_{mode}s")
        embedding = make_embedding(
            self.embedding,
            n_components=self.n_components if isinstance(self.embedding, str) else None,
            bandwidth=self.bandwidth,
            random_state=self.random_state,
        )
        coordinates = np.asarray(embedding.fit_transform(_sorted_for(embedding, distances)))
        n_points = len(coordinates)
        tree = getattr(result, f"{mode}_tree")
        return ModeState(
            graph=getattr(result, f"{mode}_graph"),
            distances=distances,
            embedding=embedding,
            coordinates=coordinates,
            order=embedding_order(_expand_rows(coordinates, observed)),
            variances=matrix.scale**2 * getattr(result, f"{mode}_variances"),
            p_value=p_value,
            labels=np.zeros(n_points, dtype=np.intp),
            evidence=0.0,
            confidence=np.ones(n_points),
            names=None,
            tree=None if tree is None else np.array(tree.labels),
        )

    def _wanted_groups(self, mode: str, groups: Task, result: SurfaceResult) -> Task | Groups:
        """Return the groups that were found, or as many as are asked for."""
        wanted = for_both(self.n_clusters)[mode == "column"]
        if wanted is None or wanted == groups.result()[0].max() + 1:
            return groups
        return group_into(_points(mode, result)[0], wanted, self._seed()), 0.0

    def _seed(self) -> Any:
        """Return the random state of clusters, which are reproducible without one."""
        return 0 if self.random_state is None else self.random_state

    def _set_state(self, state: FittedState) -> None:
        """Set all fitted attributes from the state."""
        self._state = state
        self.data_ = state.data
        self.mean_, self.scale_ = state.mean, state.scale
        self.penalty_, self._cost_unit = rescale(get_penalty(self.penalty), state.scale)
        self.ignored_entries_ = state.ignored_entries
        self.completions_ = {
            name: np.array([getattr(completion, name) for completion in state.completions])
            for name in ("effects", "variance", "ridge", "weight")
        }
        self.scales_ = _scales_as_arrays(state.scales)
        self.n_iter_ = int(self.scales_["n_iter"].sum())
        estimate = state.scale * state.filled + state.mean
        estimate = expand_to_full(estimate, state.observed_rows, state.observed_columns)
        self.filled_ = np.where(np.isnan(state.data), estimate, state.data)
        self.held_out_ = state.held_out_entries()
        self.filled_std_ = self._standard_errors()
        known = np.nan_to_num(1.0 - (self.filled_std_ / state.scale) ** 2, nan=0.0)
        known = np.maximum(known, 0.0)
        self.row_support_, self.column_support_ = known.mean(axis=1), known.mean(axis=0)
        self.embedding_name_ = embedding_name(state.row.embedding)
        self.unobserved_rows_ = np.flatnonzero(~state.observed_rows)
        self.unobserved_columns_ = np.flatnonzero(~state.observed_columns)
        for mode in ("row", "column"):
            of_mode, observed = state.mode(mode)
            attributes = {
                "embedding_": _expand_rows(of_mode.coordinates, observed),
                "order_": of_mode.order,
                "graph_": of_mode.graph,
                "p_value_": of_mode.p_value,
                "labels_": _expand_labels(of_mode.labels, observed),
                "confidence_": _expand_rows(of_mode.confidence[:, None], observed)[:, 0],
                "distances_": expand_to_full(of_mode.distances, observed, observed),
            }
            for name in ("affinity_", "eigenvalues_", "tree_"):
                vars(self).pop(f"{mode}_{name}", None)  # of an earlier fit
            if isinstance(of_mode.embedding, DiffusionMap):
                affinity = of_mode.embedding.affinity_
                attributes["affinity_"] = expand_to_full(affinity, observed, observed)
                attributes["eigenvalues_"] = of_mode.embedding.eigenvalues_
            if of_mode.tree is not None:
                attributes["tree_"] = PartitionTree(of_mode.tree)
            for name, value in attributes.items():
                setattr(self, f"{mode}_{name}", value)
        self.n_features_in_ = state.data.shape[1]
        self._n_features_out = self.row_embedding_.shape[1]
        self._set_names()

    def _standard_errors(self) -> Array:
        """Return the standard error of each entry of `filled_`."""
        state = self._state
        errors = state.scale * state.errors.deviations()
        if not len(state.held_out.predicted):
            errors[:] = np.nan
        errors = expand_to_full(errors, state.observed_rows, state.observed_columns)
        is_known = ~np.isnan(state.data)
        is_known[tuple(state.ignored_entries.T)] = False
        errors[is_known] = 0.0
        return errors

    def filled_interval(self, coverage: float = 0.9) -> tuple[Array, Array]:
        """Return lower and upper bounds of all entries; observed entries are their own bounds.

        Conformal prediction intervals: the values that were predicted for held-out entries are
        compared with the true ones, relative to the standard errors, and the intervals are as
        wide as the errors of all but a part ``1 - coverage`` of these. If entries are missing at
        random, a part `coverage` of the missing ones is between their bounds; no method can
        promise that if whether an entry is missing depends on its value.

        Parameters
        ----------
        coverage : float, default=0.9
            Between 0 and 1.

        Returns
        -------
        lower, upper : ndarray of shape (n_rows, n_columns)
            In the units of the data; infinite, with a warning, if too few entries were held out
            for this coverage.
        """
        check_is_fitted(self)
        is_number = isinstance(coverage, numbers.Real) and not isinstance(coverage, bool)
        if not is_number or not 0 < coverage < 1:
            raise ValueError(f"coverage must be a number between 0 and 1, got {coverage!r:.60}")
        n_deviations = self._state.errors.score_at(coverage)
        missing = np.isnan(self.data_)
        filled_in = missing & np.isfinite(self.filled_)
        if filled_in.any() and not np.isfinite(n_deviations):
            n_held_out = len(self.held_out_["value"])
            advice = "" if self.scale_weights == "learned" else ': use scale_weights="learned"'
            warnings.warn(
                f"{n_held_out} entries were held out, too few for intervals of coverage "
                f"{coverage:g}: the bounds are infinite{advice}",
                UserWarning,
                stacklevel=2,
            )
        reach = np.zeros(missing.shape)
        with np.errstate(invalid="ignore"):
            reach[missing] = n_deviations * self.filled_std_[missing]
        if not np.isfinite(n_deviations):
            reach[filled_in] = np.inf
        return self.filled_ - reach, self.filled_ + reach

    def _set_names(self) -> None:
        """Set the labels of rows and columns from the state."""
        names = {"row": "row_names_in_", "column": "feature_names_in_"}
        for mode, attribute in names.items():
            labels = self._state.mode(mode)[0].names
            vars(self).pop(attribute, None)  # of an earlier fit
            if labels is not None:
                setattr(self, attribute, labels)

    def set_names(
        self, *, rows: ArrayLike | None = None, columns: ArrayLike | None = None
    ) -> "CoManifold":
        """Set the labels of the rows and columns of the fitted matrix; return the model.

        Parameters
        ----------
        rows, columns : array-like of str, optional
            What `row_names_in_` and `feature_names_in_` become. None leaves them as they are.
        """
        check_is_fitted(self)
        state = self._state
        sizes = state.data.shape
        for mode, labels, n_points in zip(("row", "column"), (rows, columns), sizes, strict=True):
            if labels is None:
                continue
            labels = np.asarray(labels, dtype=object)
            if labels.shape != (n_points,):
                raise ValueError(
                    f"{mode}s must have one label for each of the {n_points} {mode}s, got shape "
                    f"{labels.shape}"
                )
            state = replace(state, **{mode: replace(state.mode(mode)[0], names=labels)})
        self._state = state
        self._set_names()
        return self

    @single_threaded_blas()
    def embed(
        self,
        embedding: Any = "umap",
        *,
        mode: str = "row",
        n_components: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> Array:
        """Return another embedding of the rows or columns, from the distances of the fit.

        The model does not change: `row_embedding_`, `transform`, orders and plots stay those of
        the embedding that it was fitted with.

        Parameters
        ----------
        embedding : {"diffusion", "umap", "tsne", "isomap", "mds"} or estimator, default="umap"
            As the parameter of `CoManifold`.
        mode : {"row", "column"}, default="row"
        n_components : int, optional
            Number of coordinates. By default that of the model, or of an estimator its own.
        random_state : int, RandomState or None, default=None
            By default that of the model; if that is None as well, 0 for a named embedding.

        Returns
        -------
        coordinates : ndarray of shape (n_rows or n_columns, n_components)
            NaN for rows and columns without an observed entry.

        Examples
        --------
        >>> from comanifold import CoManifold
        >>> from comanifold.datasets import make_checkerboard, remove_entries
        >>> X = remove_entries(make_checkerboard(40, 30, random_state=0).X, 0.3, random_state=0)
        >>> model = CoManifold().fit(X)
        >>> model.embed("tsne").shape, model.embed("mds", mode="column", n_components=3).shape
        ((40, 2), (30, 3))
        """
        check_is_fitted(self)
        check_choice("mode", mode, ["row", "column"])
        of_mode, observed = self._state.mode(mode)
        distances, is_named = of_mode.distances, isinstance(embedding, str)
        if n_components is None and is_named:
            n_components = self.n_components
        if n_components is not None:
            check_count("n_components", n_components)
            if n_components >= distances.shape[0]:
                raise ValueError(
                    f"n_components must be less than the number of {mode}s with an observed "
                    f"entry, {distances.shape[0]}, got {n_components}"
                )
        check_embedding(embedding, n_components)
        check_installed(embedding)
        if sparse.issparse(distances):
            advice = f'the {mode}s were fitted with sparse distances, fit with distances="dense"'
            refuse_sparse(embedding, n_components, advice)
        estimator = make_embedding(
            embedding,
            n_components=n_components,
            bandwidth=self.bandwidth,
            random_state=self.random_state if random_state is None else random_state,
        )
        coordinates = np.asarray(estimator.fit_transform(_sorted_for(estimator, distances)))
        return _expand_rows(coordinates, observed)

    def transform(self, X: ArrayLike) -> Array:
        """Place new rows in the embedding of the rows.

        Coordinates are NaN for a row with nothing observed, and for one that is more bandwidths
        away from all others than can be squared.

        Parameters
        ----------
        X : array-like of shape (n_new, n_columns)
            NaN for missing entries. A row of the fitted matrix, with the same missing entries, is
            placed exactly where it was. Of rows that are equal in the fitted matrix, and may have
            different places where their neighbours were tied, it is the one with the same label
            in a DataFrame, else the first one for its first occurrence in X, the second one for
            its second, and so on: the fitted matrix itself gets `row_embedding_`.
        """
        check_is_fitted(self)
        labels = row_names(X)
        new = np.asarray(self._validate(X, reset=False), dtype=float)
        refuse_infinite(new, "X")
        return self._place(new[:, self._state.observed_columns], "row", labels)

    @available_if(_can_transform)
    def transform_columns(self, X: ArrayLike) -> Any:
        """Place new columns in the embedding of the columns; NaN where nothing is observed.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_new)
            New columns for the rows of the fitted matrix. NaN for missing entries. A column of
            the fitted matrix is placed exactly where it was, as in `transform`.

        Returns
        -------
        coordinates : ndarray of shape (n_new, n_components)
            Or a DataFrame, as `set_output` says, with the labels of the columns for its index.
        """
        check_is_fitted(self)
        labels = np.asarray(X.columns) if hasattr(X, "columns") else None
        names, known = row_names(X), self._state.row.names
        if names is not None and known is not None and list(names) != list(known):
            raise ValueError(
                "the labels of the rows of X differ from those of the fit: put its rows into the "
                "order of row_names_in_"
            )
        new = read_floats(sparse_to_nan(X, self.absent), "X")
        observed = self._state.observed_rows
        if new.ndim != 2 or new.shape[0] != len(observed) or not new.shape[1]:
            raise ValueError(
                f"X must have the {len(observed)} rows of the fitted matrix and some columns, "
                f"got shape {new.shape}"
            )
        refuse_infinite(new, "X")
        placed = self._place(new.T[:, observed], "column", labels)
        return self._in_output_container(placed, labels)

    def _place(self, new: Array, mode: str, labels: NDArray[Any] | None) -> Array:
        """Return the coordinates of new rows, or of new columns given as the rows of `new`."""
        state = self._state
        of_mode, observed = state.mode(mode)
        data, filled, others = state.data, state.filled, state.observed_columns
        if mode == "column":
            data, filled, others = data.T, filled.T, state.observed_rows
        has_entries = ~np.isnan(new).all(axis=1)
        warn_of_unobserved(f"new {mode}", np.flatnonzero(~has_entries))
        coordinates = _expand_rows(of_mode.coordinates, observed)
        placed = np.full((len(new), coordinates.shape[1]), np.nan)
        same = find_equal_rows(new, data[:, others], labels, of_mode.names)
        is_fitted = has_entries & (same >= 0)
        placed[is_fitted] = coordinates[same[is_fitted]]
        rest = np.flatnonzero(has_entries & (same < 0))
        if rest.size:
            in_units = state.scale * filled + state.mean
            if of_mode.tree is not None:
                tree = self.column_tree_ if mode == "row" else self.row_tree_
                distances = tree_distances_to_new(new[rest], in_units, of_mode.distances, tree)
            else:
                unit = (state.total_weight * state.scale) ** 2
                of_entries = unit * entry_variances(state.errors, mode)
                variances = ModeVariances(of_mode.variances, of_entries)
                distances = distances_to_new(
                    new[rest], in_units, of_mode.distances, state.total_weight, variances
                )
            placed[rest] = of_mode.embedding.transform(_sorted_for(of_mode.embedding, distances))
        return placed

    def _in_output_container(self, coordinates: Array, labels: NDArray[Any] | None) -> Any:
        """Return coordinates in the container that `set_output` or the configuration names."""
        own = getattr(self, "_sklearn_output_config", {}).get("transform")
        container = own or get_config()["transform_output"]
        names = self.get_feature_names_out()
        if container == "pandas":
            import pandas as pd

            return pd.DataFrame(coordinates, index=labels, columns=names)
        if container == "polars":
            import polars as pl

            return pl.DataFrame(coordinates, schema=list(names), orient="row")
        return coordinates

    def score(self, X: ArrayLike, y: Any = None, *, random_state: Any = None) -> float:  # noqa: ARG002
        """Return minus the error on entries held out of X, so that higher is better.

        A tenth of the observed entries of X is held out, no outliers among them. A clone of the
        model is fitted to the rest of X, together with the rows of the fitted matrix that X does
        not contain. The score is minus the root-mean-square error of its filled-in values at the
        held-out entries, in standard deviations of these. So no entry is predicted from itself,
        neither in cross-validation over rows nor for the fitted matrix.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            NaN for missing entries.
        y : ignored
        random_state : int, RandomState or None, default=None
            Which entries are held out. By default the `random_state` of the model; if that is
            None as well, every call holds out others.
        """
        check_is_fitted(self)
        labels = row_names(X)
        X = check_matrix(self._validate(X, reset=False))
        state = self._state
        same = find_equal_rows(X, state.data, labels, state.row.names)
        others = np.delete(state.data, same[same >= 0], axis=0)
        outliers = find_outliers(np.vstack([X, others]))[: len(X)]
        seed = self.random_state if random_state is None else random_state
        held_out = hold_out(np.where(outliers, np.nan, X), min_observed=2, random_state=seed)
        if held_out is None:
            raise ValueError("X has too few observed entries to hold out any of them")
        model = clone(self).set_params(keep_scales=False, checkpoint=None)
        filled = model.fit(np.vstack([held_out.rest(), others])).filled_
        return -held_out.relative_error(filled[held_out.rows, held_out.columns])

    def costs_at(
        self, l: Place = None, k: Place = None, *, index: Place = None
    ) -> tuple[float, float]:
        """Return the row cost and the column cost of a scale in the units of the data.

        With them, ``co_cluster(model.data_, model.row_graph_, model.column_graph_, row_cost=...,
        column_cost=..., penalty=model.penalty_)`` solves the problem of that scale, if no rows or
        columns are unobserved and no entries ignored (else leave these out). With warm starts and
        a concave penalty the two can end in different local minima; `co_cluster` stays in that
        of the model if `init` is `estimate_at`.

        Parameters
        ----------
        l, k : int
            The exponents of the costs 2^l and 2^k in standard units.
        index : int
            The position of the scale in `scales_`, instead of l and k.
        """
        place = self._scale_index(l, k, index)
        row_cost, column_cost = (self.scales_[name][place] for name in ("row_cost", "column_cost"))
        return float(self._cost_unit * row_cost), float(self._cost_unit * column_cost)

    def blocks_at(self, l: Place = None, k: Place = None, *, index: Place = None) -> Blocks:
        """Return the block values, in the units of the data, and the cluster labels at a scale.

        The scale is given by l and k, or by its position in `scales_`. Labels are -1 for rows
        and columns without an observed entry. Needs `keep_scales`, as do the next four methods.
        """
        blocks, state = self._kept_blocks(l, k, index), self._state
        return Blocks(
            state.scale * blocks.values + state.mean,
            _expand_labels(blocks.row_labels, state.observed_rows),
            _expand_labels(blocks.column_labels, state.observed_columns),
        )

    def row_labels_at(self, l: Place = None, k: Place = None, *, index: Place = None) -> Labels:
        """Return the clusters of the rows at a scale; -1 for rows without an observed entry."""
        return self.blocks_at(l, k, index=index).row_labels

    def column_labels_at(self, l: Place = None, k: Place = None, *, index: Place = None) -> Labels:
        """Return the clusters of the columns at a scale; -1 where nothing is observed."""
        return self.blocks_at(l, k, index=index).column_labels

    def estimate_at(self, l: Place = None, k: Place = None, *, index: Place = None) -> Array:
        """Return the smooth estimate at a scale, in the units of the data."""
        blocks, state = self._kept_blocks(l, k, index), self._state
        estimate = blocks.expand() * state.scale + state.mean
        return expand_to_full(estimate, state.observed_rows, state.observed_columns)

    def filled_at(self, l: Place = None, k: Place = None, *, index: Place = None) -> Array:
        """Return the data, filled in with the estimate at a scale."""
        estimate = self.estimate_at(l, k, index=index)
        return np.where(np.isnan(self.data_), estimate, self.data_)

    def _kept_blocks(self, l: Place, k: Place, index: Place) -> Blocks:
        """Return the blocks of a scale in standard units; ValueError if scales were not kept."""
        check_is_fitted(self)
        if self._state.blocks is None:
            raise ValueError("the scales were not kept: fit with keep_scales=True to look at them")
        return self._state.blocks[self._scale_index(l, k, index)]

    def _scale_index(self, l: Place, k: Place, index: Place) -> int:
        """Return the position in `scales_` of a scale given by l and k, or by that position."""
        check_is_fitted(self)
        scales = self._state.scales
        if index is not None:
            if l is not None or k is not None:
                raise ValueError("a scale is given by l and k or by index, not by both")
            if not is_integer(index):
                raise ValueError(f"index must be an integer, got {index!r:.60}")
            if not -len(scales) <= index < len(scales):
                raise ValueError(f"index must be less than {len(scales)}, got {index}")
            return int(index)
        if l is None or k is None:
            raise ValueError(f"both l and k, or index, are needed: got l={l}, k={k}")
        for i, scale in enumerate(scales):
            if (scale.l, scale.k) == (l, k):
                return i
        first, last = (
            [end(getattr(scale, name) for scale in scales) for name in "lk"] for end in (min, max)
        )
        raise ValueError(
            f"there is no scale ({l}, {k}): l runs from {first[0]} to {last[0]}, k from "
            f"{first[1]} to {last[1]}, and scales that would repeat others are left out; scales_ "
            "lists them"
        )

    @property
    def row_linkage_(self) -> Array:
        """Row clusters as they join while both costs grow; heights are row costs."""
        return self._linkage(0)

    @property
    def column_linkage_(self) -> Array:
        """Column clusters as they join while both costs grow; heights are column costs."""
        return self._linkage(1)

    def _linkage(self, mode: int) -> Array:
        """Return the tree of clusters along a path of scales that ends with one cluster.

        The path follows the chain of scales while the cost of this mode grows along it, then
        this cost grows alone, then the other.
        """
        state = getattr(self, "_state", None)
        if state is None or state.blocks is None:
            raise AttributeError("linkages need the scales: fit with keep_scales=True")
        kept = {(scale.l, scale.k): i for i, scale in enumerate(state.scales)}
        chain, own, other = TRAVERSALS[state.traversal][0], (1 - mode, mode), (mode, 1 - mode)
        path = [(state.scales[0].l, state.scales[0].k)]
        for step in ([chain, own] if chain[mode] else [own]) + [other]:
            while (ahead := _next_scale(kept, path[-1], step)) is not None:
                path.append(ahead)
        # Costs as long as they grow, and doubled for every step after that.
        heights = [2.0 ** path[0][mode]]
        for place in path[1:]:
            heights.append(max(2.0 * heights[-1], 2.0 ** place[mode]))
        name = ("row", "column")[mode]
        of_mode, observed = state.mode(name)
        labels = [getattr(state.blocks[kept[place]], f"{name}_labels") for place in path]
        points = state.filled if name == "row" else state.filled.T
        tree = nested_linkage(*steps_around(labels, heights, of_mode.labels), points)
        return with_leaves(tree, observed)

    def cut(self, mode: str = "row", n_clusters: int = 2) -> Labels:
        """Return exactly so many clusters of the tree in which clusters join as the costs grow.

        Parameters
        ----------
        mode : {"row", "column"}, default="row"
        n_clusters : int, default=2
            From 1 to the number of rows, or columns, with an observed entry.

        Returns
        -------
        labels : ndarray of int
            From 0 in the order of the organised matrix; -1 where nothing is observed. For the
            number of clusters of the model, they are `row_labels_` or `column_labels_`. Needs
            `keep_scales`.
        """
        of_mode, observed = self._checked_mode(mode, n_clusters)
        n_unobserved = int((~observed).sum())
        labels = cut_tree(getattr(self, f"{mode}_linkage_"), n_clusters + n_unobserved)
        return renumbered(np.where(observed, labels, -1), of_mode.order)

    def find_clusters(self, mode: str = "row", n_clusters: int | None = None) -> Clusters:
        """Return the clusters of the rows or columns, and how sure they are.

        If their number is to be found, points are divided in two, and each part again, as long as
        there is evidence for two groups: along a coordinate that discriminates between them, two
        Gaussians are more likely than any log-concave density. Noise, effects of rows and
        columns, curves and surfaces should be one cluster. If a number is asked for other than that
        which was found, clusters are those of k-means on the leading principal coordinates of the
        filled-in matrix.

        Parameters
        ----------
        mode : {"row", "column"}, default="row"
        n_clusters : int, optional
            Exactly so many clusters; by default those of `row_labels_` or `column_labels_`.

        Returns
        -------
        clusters : Clusters
            With `labels`, `n_clusters`, `confidence`, `point_confidence` and `evidence`.
        """
        of_mode, observed = self._checked_mode(mode, n_clusters)
        labels, evidence, confidence = of_mode.labels, of_mode.evidence, of_mode.confidence
        if n_clusters is not None and n_clusters != labels.max() + 1:
            filled = self._state.filled if mode == "row" else self._state.filled.T
            labels, evidence = group_into(filled, n_clusters, self._seed()), 0.0
            confidence = point_confidence(filled, labels, self._seed())
        return Clusters(
            renumbered(_expand_labels(labels, observed), of_mode.order),
            evidence,
            _expand_rows(confidence[:, None], observed)[:, 0],
        )

    def distinguishing(
        self, mode: str = "row", labels: ArrayLike | None = None
    ) -> dict[str, NDArray[Any]]:
        """Return what distinguishes each cluster: the columns in which its rows differ from others.

        Parameters
        ----------
        mode : {"row", "column"}, default="row"
            Clusters of rows, which columns distinguish, or of columns, which rows distinguish.
        labels : array-like, optional
            The group of each row, or column, as numbers or text; None, NaN or a negative number
            where it is in none. By default `row_labels_` or `column_labels_`.

        Returns
        -------
        table : dict of ndarray
            Made for `pandas.DataFrame`: one line for each cluster and column (or row) with two
            observed entries inside and outside of the cluster, by cluster, those that distinguish
            it best first. "cluster", "name" and "index" of the column, "effect" (the difference of
            the means in standard deviations within the two parts, Hedges' g with a moderated
            variance), its "standard_error", "certain" (the end of its 95% confidence interval
            that is nearer to zero, as an absolute value: the order of the lines), the means
            "inside" and "outside" and their "n_inside" and "n_outside" observed entries.

        Notes
        -----
        Only observed entries count. The clusters were found in the same entries, so that effects
        are larger than they would be in new data, and tests of their significance would be wrong.
        """
        check_is_fitted(self)
        check_choice("mode", mode, ["row", "column"])
        X = self.data_ if mode == "row" else self.data_.T
        groups, codes = check_groups(
            getattr(self, f"{mode}_labels_") if labels is None else labels, len(X), mode
        )
        table = distinguishing(X, codes)
        other = "feature_names_in_" if mode == "row" else "row_names_in_"
        names = np.asarray(getattr(self, other, np.arange(X.shape[1])))
        return {"cluster": groups[table.pop("cluster")], "name": names[table["index"]], **table}

    def summary(
        self,
        *,
        n_features: int = 3,
        compare: bool = True,
        errors: HeldOutErrors | None = None,
    ) -> Summary:
        """Return what was found, in plain words (`print`) and as a dict (`Summary.as_dict`).

        The size, clusters and how sure they are, evidence of structure, what distinguishes each
        cluster, errors on held-out entries, warnings, and what to do next.

        Parameters
        ----------
        n_features : int, default=3
            Columns (or rows) that are named for each cluster.
        compare : bool, default=True
            Compare the error on held-out entries with those of KNN and SoftImpute, which takes
            less time than the fit, unless the matrix is too large; else with means only.
        errors : HeldOutErrors, optional
            Errors to show that have been measured already, such as those of
            `comanifold.model_selection.held_out_errors`. If nothing is missing the fit holds out
            nothing, and has none of its own.

        Returns
        -------
        summary : Summary

        Examples
        --------
        >>> from comanifold import CoManifold
        >>> from comanifold.datasets import make_checkerboard, remove_entries
        >>> X = remove_entries(make_checkerboard(40, 30, random_state=0).X, 0.3, random_state=0)
        >>> summary = CoManifold().fit(X).summary()
        >>> print(summary)
        40 rows × 30 columns, 30% missing
          clusters     rows: 4 clusters (100% of the rows stay in theirs if half of the columns ...
        ...
        >>> summary.as_dict()["clusters"]["rows"]["number"]
        4
        """
        check_is_fitted(self)
        return summarise(self, n_features=n_features, compare=compare, errors=errors)

    def _checked_mode(self, mode: str, n_clusters: int | None) -> tuple[ModeState, Mask]:
        """Return the state of a mode and which of its points are observed."""
        check_is_fitted(self)
        check_choice("mode", mode, ["row", "column"])
        of_mode, observed = self._state.mode(mode)
        n_points = len(of_mode.labels)
        if n_clusters is not None and not (is_integer(n_clusters) and 1 <= n_clusters <= n_points):
            raise ValueError(
                f"n_clusters must be an integer from 1 to {n_points}, the number of {mode}s with "
                f"an observed entry, got {n_clusters!r:.60}"
            )
        return of_mode, observed

    def plot(
        self,
        *,
        row_labels: ArrayLike | None = None,
        column_labels: ArrayLike | None = None,
        l: int | None = None,
        k: int | None = None,
        **options: Any,
    ) -> Any:
        """Draw the whole result as a single Matplotlib figure.

        The matrix as given, organised and filled in, both embeddings, the clusters over the
        scales, the spectrum, and how well each scale was solved.

        Parameters
        ----------
        row_labels, column_labels : array-like, optional
            The group of each row and column, by which they are coloured; by default the clusters
            of the model, if there is more than one.
        l, k : int, optional
            A scale to fill in the matrix with, and to take clusters from.
        **options
            Such as `annotations` and `width`; see `comanifold.plotting.overview`.

        Returns
        -------
        figure : Figure
        """
        from .plotting import overview

        return overview(
            self, row_labels=row_labels, column_labels=column_labels, l=l, k=k, **options
        )

    def save(self, directory: str | os.PathLike, *, overwrite: bool = False) -> None:
        """Write the fitted model to a directory, completely or not at all.

        There are two files in it: arrays.npz, read without pickle, and model.json with the
        parameters, labels, scales and versions; and a hidden list of what was written. `load`
        returns a model with the same bits.

        Parameters
        ----------
        directory : path
            Must not exist, or be empty.
        overwrite : bool, default=False
            Replace the model that was saved there. Other files in the directory stay. If its own
            files have been changed since, it is refused.

        Raises
        ------
        ValueError
            If a part of the model is not data: an estimator as `embedding` other than a
            `DiffusionMap`, or a penalty that is not one of `comanifold.penalties`.
        """
        check_is_fitted(self)
        write_model(self, directory, overwrite=overwrite)

    @classmethod
    def load(cls, directory: str | os.PathLike) -> "CoManifold":
        """Return the model that was saved to a directory. Nothing in it is ever executed.

        Parameters
        ----------
        directory : path

        Raises
        ------
        ValueError
            If it is damaged, not a model, or of another version of the format.
        """
        parameters, state = read_model(directory, lambda given: check_settings(cls(**given)))
        model = cls(**parameters)
        model._set_state(state)
        return model

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self.absent is not None
        return tags


# Not in the class, where scikit-learn would wrap it into a method that is always there.
CoManifold.transform = available_if(_can_transform)(CoManifold.transform)


def _scales_as_arrays(scales: list[Any]) -> dict[str, NDArray[Any]]:
    """Return scales as a dict of arrays."""
    names = ("l", "k", "row_cost", "column_cost", "n_row_clusters", "n_column_clusters")
    names += ("objective", "n_iter", "status", "seconds", "weight")
    columns = {name: np.array([getattr(scale, name) for scale in scales]) for name in names}
    for name in ("stationarity", "gap"):
        values = [getattr(scale.certificate, name) for scale in scales]
        if None not in values:
            columns[name] = np.array(values)
    return columns


def _sorted_for(embedding: Any, distances: Any) -> Any:
    """Return sparse distances in the order that the neighbour graphs of scikit-learn expect."""
    if not sparse.issparse(distances) or isinstance(embedding, (DiffusionMap, Layout)):
        return distances
    return sort_graph_by_row_values(distances, copy=True, warn_when_not_sorted=False)


def _expand_rows(coordinates: Array, observed: Mask) -> Array:
    """Return coordinates of all points, NaN for those without an observed entry."""
    return expand_to_full(coordinates, observed, np.ones(coordinates.shape[1], dtype=bool))


def _expand_labels(labels: Labels, observed: Mask) -> Labels:
    """Return labels of all points, -1 for those without an observed entry."""
    everything = np.full(len(observed), -1)
    everything[observed] = labels
    return everything


def _next_scale(
    kept: Collection[tuple[int, int]], start: tuple[int, int], step: tuple[int, int]
) -> tuple[int, int] | None:
    """Return the nearest scale in a direction; None if there is none."""
    ahead = [
        (l, k)
        for l, k in kept
        if (n := max(l - start[0], k - start[1])) > 0
        and (l, k) == (start[0] + n * step[0], start[1] + n * step[1])
    ]
    return min(ahead, default=None)
