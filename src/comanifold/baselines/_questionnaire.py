"""The questionnaire: partition trees of the rows and of the columns, each from the other."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._embedding.affinities import affinities
from .._estimators import EmbeddingMixin, unchanged_on_failure
from .._fit.settings import check_size
from .._validation import check_count, listing
from ..diffusion_map import DiffusionMap
from ..graphs import masked_distances
from ..trees import PartitionTree, flexible_tree, tree_distances
from ..trees._distances import check_exponent

Array = NDArray[np.float64]
Trees = tuple[PartitionTree, ...]

# The bandwidth of a point in the first affinities is the median distance to so many nearest ones.
_N_NEAREST = 5


class Questionnaire(EmbeddingMixin, BaseEstimator):
    r"""Embed rows and columns by earth mover's distances over trees of each other.

    The first affinities between columns are :math:`\exp(-d_{ij}^2 / (m_i m_j))`, with the
    distances of `comanifold.masked_distances` and their median m over the 5 nearest columns.
    They give a tree of the columns (`comanifold.trees.flexible_tree`), the tree gives distances
    between the rows,

    .. math:: d(x, y) = \sum_{\ell} 2^{\alpha (1 - \ell)} \sum_{I \in \mathcal P_\ell}
              (|I| / n)^\beta \left| \operatorname{mean}_I x - \operatorname{mean}_I y \right| ,

    the distances give affinities :math:`\exp(-d / \operatorname{median} d)` and a tree of the
    rows, and this distances between the columns, and so on. Diffusion maps of the last distances
    embed both modes.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates.
    n_rounds : int, default=3
        How often the trees of the columns and of the rows are built.
    n_trees : int, default=1
        Number of trees of each mode over which distances are averaged: the first as above, others
        with randomly perturbed distances.
    alpha, beta : float, default=0.0, 1.0
        Exponents of the weights of folders; see `comanifold.trees.tree_distances`.
    bandwidth : "auto", "local", ("local", int), "median" or float, default="auto"
        Of the diffusion maps, as in `DiffusionMap`.
    random_state : int, RandomState or None, default=0
        Of the trees after the first.

    Attributes
    ----------
    row_embedding_, column_embedding_ : ndarray of shape (n_rows or n_columns, n_components)
    embedding_ : ndarray of shape (n_rows, n_components)
        The same as `row_embedding_`.
    row_distances_, column_distances_ : ndarray of shape (n_points, n_points)
        Over the trees of the other mode.
    row_tree_, column_tree_ : PartitionTree
        The first of `row_trees_` and `column_trees_`.
    row_trees_, column_trees_ : tuple of PartitionTree
        The trees of the last round.
    row_linkage_, column_linkage_ : ndarray of shape (n_points - 1, 4)
        `row_tree_` and `column_tree_` as SciPy linkage matrices; heights are numbers of levels.
    row_diffusion_map_, column_diffusion_map_ : DiffusionMap
    n_features_in_ : int

    References
    ----------
    Ankenman (2014), Geometry and analysis of dual networks on questionnaires. Mishne et al.
    (2016), Hierarchical coupled-geometry analysis for neuronal structure and activity pattern
    discovery. Mishne et al. (2017), Data-driven tree transforms and metrics.

    Examples
    --------
    >>> import numpy as np
    >>> from comanifold.baselines import Questionnaire
    >>> t = np.linspace(0, 3, 40)
    >>> X = np.cos(t[:, None] - np.linspace(0, 3, 30))
    >>> X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    >>> model = Questionnaire().fit(X)
    >>> bool(abs(np.corrcoef(model.row_embedding_[:, 0], t)[0, 1]) > 0.95)
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_rounds: int = 3,
        n_trees: int = 1,
        alpha: float = 0.0,
        beta: float = 1.0,
        bandwidth: str | float | tuple[str, int] = "auto",
        random_state: int | np.random.RandomState | None = 0,
    ):
        self.n_components = n_components
        self.n_rounds = n_rounds
        self.n_trees = n_trees
        self.alpha = alpha
        self.beta = beta
        self.bandwidth = bandwidth
        self.random_state = random_state

    @unchanged_on_failure
    def fit(self, X: ArrayLike, y: Any = None) -> "Questionnaire":  # noqa: ARG002
        """Build the trees of the rows and columns of X, and embed both.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
            NaN for missing entries. Every row and every column needs an observed entry.
        y : ignored
        """
        X = self._read(X, reset=True, need_observed_rows=True)
        empty = np.flatnonzero(np.isnan(X).all(axis=0))
        if empty.size:
            raise ValueError(
                f"X has columns with no observed entry: {listing(empty)}. Leave them out"
            )
        check_count("n_components", self.n_components)
        n_rounds = check_count("n_rounds", self.n_rounds)
        check_count("n_trees", self.n_trees)
        check_exponent("alpha", self.alpha)
        check_exponent("beta", self.beta)
        check_size(*X.shape, self.n_components)
        rng = check_random_state(self.random_state)
        column_affinity = _first_affinity(masked_distances(X.T))
        for _ in range(n_rounds):
            column_trees = self._trees(column_affinity, rng)
            row_distances = self._distances(X, column_trees)
            row_trees = self._trees(_affinity(row_distances), rng)
            column_distances = self._distances(X.T, row_trees)
            column_affinity = _affinity(column_distances)
        for mode, trees, distances in (
            ("row", row_trees, row_distances),
            ("column", column_trees, column_distances),
        ):
            embedding = DiffusionMap(
                self.n_components, metric="precomputed", bandwidth=self.bandwidth
            ).fit(distances)
            setattr(self, f"{mode}_trees_", trees)
            setattr(self, f"{mode}_tree_", trees[0])
            setattr(self, f"{mode}_linkage_", trees[0].to_linkage())
            setattr(self, f"{mode}_distances_", distances)
            setattr(self, f"{mode}_diffusion_map_", embedding)
            setattr(self, f"{mode}_embedding_", embedding.embedding_)
        self.embedding_ = self.row_embedding_
        self._fit_X = X
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Place new rows by their distances, over the trees of the columns, to those of `fit`.

        Parameters
        ----------
        X : array-like of shape (n_new, n_columns)
            NaN for missing entries. A row without an observed entry gets NaN.
        """
        check_is_fitted(self)
        X = self._read(X, reset=False)
        placed = np.full((len(X), self.embedding_.shape[1]), np.nan)
        known = ~np.isnan(X).all(axis=1)
        if known.any():
            distances = self._distances(X[known], self.column_trees_, self._fit_X)
            placed[known] = self.row_diffusion_map_.transform(distances)
        return placed

    def _distances(self, X: Array, trees: Trees, Y: Array | None = None) -> Array:
        """Return the distances between rows over trees of the columns."""
        return tree_distances(X, trees, Y, alpha=self.alpha, beta=self.beta)

    def _trees(self, affinity: Array, rng: np.random.RandomState) -> Trees:
        """Return the trees of points with these affinities."""
        seeds = [None, *rng.randint(2**31 - 1, size=self.n_trees - 1)]
        return tuple(flexible_tree(affinity, random_state=seed) for seed in seeds)


def _first_affinity(distances: Array) -> Array:
    """Return affinities with a bandwidth for each point, from distances that may be infinite."""
    nearest = np.sort(distances + np.diag(np.full(len(distances), np.inf)), axis=1)[:, :_N_NEAREST]
    nearest[np.isinf(nearest)] = np.nan
    bandwidth = np.zeros(len(distances))
    some = ~np.isnan(nearest).all(axis=1)
    bandwidth[some] = np.nanmedian(nearest[some], axis=1)
    # Points with copies of themselves have the least bandwidth of others.
    positive = bandwidth[bandwidth > 0.0]
    bandwidth[bandwidth == 0.0] = positive.min() if positive.size else 1.0
    return affinities(distances, bandwidth, bandwidth)


def _affinity(distances: Array) -> Array:
    """Return exp(-d / median); if more than half of the distances are zero, by the mean."""
    between = distances[np.triu_indices(len(distances), 1)]
    scale = np.median(between) or between.mean() or 1.0
    return np.exp(-distances / scale)
