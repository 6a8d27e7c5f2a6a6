"""Matrix completion by smoothness along graphs of the rows and of the columns."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.extmath import svd_flip
from sklearn.utils.validation import check_is_fitted, validate_data

from .._estimators import IncompleteMixin, levels_to_caller, unchanged_on_failure
from .._parallel import single_threaded_blas
from .._validation import (
    check_choice,
    check_cost,
    check_count,
    check_n_neighbors,
    check_stopping,
    missing_to_nan,
    refuse_infinite,
)
from ._graph_data import Entries
from ._graph_fit import Fit, Options, fit_factors_to_entries, fit_factors_to_matrix, fit_matrix
from ._graph_selection import Settings
from ._graph_solvers import Stopping

Array = NDArray[np.float64]

# Largest cost or penalty: beyond it the data would be rounding errors of the other terms.
_MOST = 1e10

# Attributes that not every fit sets.
_SOMETIMES = (
    "bic_",
    "column_embedding_",
    "column_factors_",
    "effects_error_",
    "estimate_",
    "filled_",
    "held_out_error_",
    "penalty_",
    "rank_",
    "row_embedding_",
    "row_factors_",
)


class GraphCompletion(IncompleteMixin, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Matrix completion by smoothness along graphs of the rows and of the columns.

    Effects of rows and columns, :math:`\mu + r_i + c_j`, are subtracted first. What they leave, X,
    in units of its root mean square, is estimated by U, the minimum of one of

    .. math::
        \tfrac12 \| P_\Theta(U - X) \|_F^2 + \tfrac{\gamma_r}2 \operatorname{tr}(U' L_r U)
        + \tfrac{\gamma_c}2 \operatorname{tr}(U L_c U') + \lambda \| U \|_*

    .. math::
        \tfrac12 \| P_\Theta(W H' - X) \|_F^2
        + \tfrac12 \operatorname{tr}(W' (\lambda I + \gamma_r L_r) W)
        + \tfrac12 \operatorname{tr}(H' (\lambda I + \gamma_c L_c) H), \quad U = W H'

    .. math::
        \| P_\Theta(U - X) \|_1 + \gamma_r \operatorname{tr}(U' L_r U)
        + \gamma_c \operatorname{tr}(U L_c U')

    with the Laplacians of both graphs, each divided by its largest eigenvalue. So costs and penalty
    have no units, and neither the units of the data nor those of edge weights change the result.

    Parameters
    ----------
    regularizer : {"dirichlet", "nuclear", "factors"}, default="dirichlet"
        "dirichlet": the first objective without the nuclear norm, :math:`\lambda = 0`, a linear
        system that conjugate gradients solve. "nuclear": with it, by alternating directions (ADMM).
        "factors": the second, which is not convex, by conjugate gradient steps for W and H in turn;
        it takes sparse matrices as they are.
    loss : {"squared", "l1"}, default="squared"
        "l1" is the third objective, for data with gross outliers, by accelerated proximal
        gradients. Effects, scale and nearest neighbours are then robust as well. Only with
        "dirichlet".
    row_cost, column_cost : "auto" or float, default="auto"
        :math:`\gamma_r` and :math:`\gamma_c`, up to 1e10; 0 ignores a graph. See `selection` for
        "auto".
    penalty : "auto" or float, default="auto"
        :math:`\lambda` of "nuclear" and "factors", up to 1e10.
    rank : int, default=10
        Columns of W and H.
    effects : "auto" or bool, default="auto"
        Whether effects of rows and columns are subtracted, or only the mean. "auto" takes what
        predicts held-out entries better, and subtracts effects if none are held out. Effects of
        rows with few entries vary between neighbours, which graphs then have to undo.
    row_graph, column_graph : Graph or matrix of shape (n_nodes, n_nodes), optional
        A graph, or a symmetric dense or sparse matrix of edge weights. By default that of the
        nearest neighbours of what the effects leave. A sparse X has no default: a mode without a
        graph has cost 0.
    n_neighbors : int or pair of int, default=5
        Number of neighbours of each row and column, or one number for rows and one for columns.
    selection : {"held-out", "bic"}, default="held-out"
        How "auto" settings are chosen. "held-out": by the squared (with "l1", absolute) error on a
        tenth of the observed entries, which neither effects nor graphs have seen; costs of
        "dirichlet" by a quasi-Newton method, other settings by a pattern search. "bic":
        :math:`|\Theta| \log \| P_\Theta(X - U) \|^2 + \log|\Theta| \operatorname{tr} S^{-1}`, with
        S the matrix of the linear system, by a quasi-Newton method; only for the squared loss with
        "dirichlet". If few entries are observed, BIC smooths more than predictions need.
    n_components : int, default=2
        Coordinates of the embeddings of "l1".
    absent : {"missing", "zero"}, optional
        What entries mean that a sparse matrix does not store. Required for sparse input. "factors"
        with "missing" never forms a dense matrix.
    max_iter : int, default=1000
        Limit on the number of iterations.
    tol : float, default=1e-5
        When to stop: the residual relative to the data ("dirichlet"), both residuals ("nuclear"),
        the change of U in an iteration and the subgradient ("l1"), or the change of the objective
        in an iteration ("factors").
    random_state : int, RandomState or None, default=0
        For the probes of BIC, and the entries of a sparse matrix that are held out.

    Attributes
    ----------
    filled_ : ndarray of shape (n_rows, n_columns)
        The data where observed, the estimate elsewhere. Not for a sparse X.
    estimate_ : ndarray of shape (n_rows, n_columns)
        Effects and U, in units of the data. Not for a sparse X.
    mean_ : float
    row_effects_, column_effects_ : ndarray
        :math:`\mu`, r and c.
    scale_ : float
        The unit of X.
    row_cost_, column_cost_ : float
        The costs, chosen or given.
    penalty_ : float
        The penalty, chosen or given, of "nuclear" and "factors".
    rank_ : int
        The rank of U, of "nuclear" and "factors".
    row_factors_, column_factors_ : ndarray
        W and H of "factors", scaled so that effects plus W H' are in units of the data.
    row_embedding_, column_embedding_ : ndarray
        Of "l1": leading singular vectors of U times the singular values.
    row_graph_, column_graph_ : Graph or None
        The graphs that were used.
    held_out_error_, effects_error_ : float
        Root mean square error (of "l1", mean absolute error) on the held-out entries by which
        settings were chosen, and that of effects of rows and columns alone: the control. Where the
        two hardly differ, graphs do not help.
    bic_ : float
        The criterion, with `selection="bic"`.
    objective_ : float
        The minimum, in the units of the equations above.
    n_iter_ : int
    n_features_in_ : int

    Notes
    -----
    There is no `transform`: a new row is no node of the graph.

    References
    ----------
    Kalofolias, Bresson, Bronstein and Vandergheynst (2014), Matrix completion on graphs.
    Chi, Hu, Saibaba and Rao (2018), Going off the grid: iterative model selection for biclustered
    matrix completion. Rao, Yu, Ravikumar and Dhillon (2015), Collaborative filtering with graph
    information. Shahid, Perraudin, Kalofolias, Puy and Vandergheynst (2016), Fast robust PCA on
    graphs.

    Examples
    --------
    >>> import numpy as np
    >>> from comanifold import Graph
    >>> from comanifold.baselines import GraphCompletion
    >>> table = np.cos(np.linspace(0, 3, 60)[:, None] - np.linspace(0, 3, 40))
    >>> X = table.copy()
    >>> X[np.random.default_rng(0).random(X.shape) < 0.7] = np.nan
    >>> rows, columns = (Graph(n, [[i, i + 1] for i in range(n - 1)]) for n in X.shape)
    >>> model = GraphCompletion(row_graph=rows, column_graph=columns).fit(X)
    >>> bool(np.sqrt(np.mean((model.filled_ - table) ** 2)) < 0.02)
    True
    """

    def __init__(
        self,
        regularizer: str = "dirichlet",
        *,
        loss: str = "squared",
        row_cost: str | float = "auto",
        column_cost: str | float = "auto",
        penalty: str | float = "auto",
        rank: int = 10,
        effects: str | bool = "auto",
        row_graph: Any = None,
        column_graph: Any = None,
        n_neighbors: int | tuple[int, int] = 5,
        selection: str = "held-out",
        n_components: int = 2,
        absent: str | None = None,
        max_iter: int = 1000,
        tol: float = 1e-5,
        random_state: Any = 0,
    ):
        self.regularizer = regularizer
        self.loss = loss
        self.row_cost = row_cost
        self.column_cost = column_cost
        self.penalty = penalty
        self.rank = rank
        self.effects = effects
        self.row_graph = row_graph
        self.column_graph = column_graph
        self.n_neighbors = n_neighbors
        self.selection = selection
        self.n_components = n_components
        self.absent = absent
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @unchanged_on_failure
    def fit(self, X: ArrayLike, y: Any = None) -> "GraphCompletion":  # noqa: ARG002
        """Estimate the matrix.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_columns)
            NaN for missing entries. A row or column with nothing observed, and no neighbours in a
            given graph, is filled in by effects. A sparse matrix needs `absent`.
        y : ignored
        """
        options = self._check_parameters()
        keeps_sparse = sparse.issparse(X) and self._takes_sparse()
        X = self._read_sparse(X) if keeps_sparse else self._read_dense(X)
        with single_threaded_blas():
            if keeps_sparse:
                found = fit_factors_to_entries(X, options)
            elif self.regularizer == "factors":
                found = fit_factors_to_matrix(X, options)
            else:
                found = fit_matrix(X, options)
            self._keep(found, None if keeps_sparse else X)
        if not found.solution.converged:
            warnings.warn(
                f"GraphCompletion stopped after {found.solution.n_iter} iterations, before "
                f"reaching tol={self.tol:g}. Raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=levels_to_caller(),
            )
        return self

    def fit_transform(self, X: ArrayLike, y: Any = None) -> Array:  # noqa: ARG002
        """Return X with its missing entries filled in; see `fit`."""
        if sparse.issparse(X) and self._takes_sparse():
            raise ValueError(
                "X is sparse, and filled in it would be dense: call fit and predict_entries, or "
                "pass a dense array with NaN for missing entries"
            )
        return self.fit(X).filled_

    def predict_entries(self, rows: ArrayLike, columns: ArrayLike) -> Array:
        """Return the estimates of some entries.

        Parameters
        ----------
        rows, columns : array-like of int of the same shape
            Indices of the entries, from 0. Arrays of other shapes are broadcast.
        """
        check_is_fitted(self)
        rows = _check_indices(rows, len(self.row_effects_), "row")
        columns = _check_indices(columns, len(self.column_effects_), "column")
        try:
            rows, columns = np.broadcast_arrays(rows, columns)
        except ValueError:
            raise ValueError(
                f"rows and columns must have the same shape, got {rows.shape} and {columns.shape}"
            ) from None
        if hasattr(self, "estimate_"):
            return self.estimate_[rows, columns]
        predicted = self.mean_ + self.row_effects_[rows] + self.column_effects_[columns]
        for w, h in zip(self.row_factors_.T, self.column_factors_.T, strict=True):
            predicted += w[rows] * h[columns]  # one at a time, to save memory
        return predicted

    def _takes_sparse(self) -> bool:
        """Return whether a sparse matrix is used as it is."""
        return self.regularizer == "factors" and self.absent == "missing"

    def _read_dense(self, X: ArrayLike) -> Array:
        """Validate X; return it as an array with NaN for missing entries."""
        return self._read(missing_to_nan(X, self.absent), reset=True)

    def _read_sparse(self, X: Any) -> Entries:
        """Validate a sparse matrix whose absent entries are missing; return its entries."""
        X = validate_data(
            self, X, accept_sparse=True, ensure_all_finite=False, ensure_min_samples=2
        )
        entries = Entries.of_sparse(X)
        if not entries.values.size:
            raise ValueError("X has no observed entry: it stores none but NaN")
        infinite = np.flatnonzero(np.isinf(entries.values))
        if infinite.size:
            i, j = entries.rows[infinite[0]], entries.columns[infinite[0]]
            raise ValueError(f"X has an infinite value (inf) in row {i}, column {j}: remove it")
        refuse_infinite(entries.values[None], "X")
        return entries

    def _check_parameters(self) -> Options:
        """Validate all parameters but the graphs, which need X."""
        check_choice("regularizer", self.regularizer, ["dirichlet", "nuclear", "factors"])
        check_choice("loss", self.loss, ["squared", "l1"])
        check_choice("selection", self.selection, ["held-out", "bic"])
        if self.loss == "l1" and self.regularizer != "dirichlet":
            raise ValueError(f'loss="l1" needs regularizer="dirichlet", got {self.regularizer!r}')
        if self.selection == "bic" and (self.regularizer, self.loss) != ("dirichlet", "squared"):
            raise ValueError(
                'selection="bic" needs regularizer="dirichlet" and loss="squared", got '
                f"{self.regularizer!r} and {self.loss!r}"
            )
        if self.absent is not None:
            check_choice("absent", self.absent, ["missing", "zero"], "None")
        if not isinstance(self.effects, (bool, np.bool_)):
            check_choice("effects", self.effects, ["auto"], "a bool")
        check_count("n_components", self.n_components)
        given = [
            None if isinstance(value, str) and value == "auto" else _check_setting(value, name)
            for name, value in (
                ("row_cost", self.row_cost),
                ("column_cost", self.column_cost),
                ("penalty", self.penalty),
            )
        ]
        if self.regularizer == "dirichlet":
            given[2] = 0.0
        max_iter, tol = check_stopping(self.max_iter, self.tol)
        return Options(
            regularizer=self.regularizer,
            loss=self.loss,
            selection=self.selection,
            settings=Settings(*given),
            effects=self.effects,
            graphs=(self.row_graph, self.column_graph),
            n_neighbors=check_n_neighbors(self.n_neighbors),
            rank=check_count("rank", self.rank),
            stopping=Stopping(tol, max_iter),
            random_state=check_random_state(self.random_state),
        )

    def _keep(self, found: Fit, X: Array | None) -> None:
        """Set the fitted attributes; X is None if it is sparse."""
        for name in _SOMETIMES:  # of a previous fit with other parameters
            self.__dict__.pop(name, None)
        effects, solution = found.effects, found.solution
        self.mean_, self.row_effects_, self.column_effects_, self.scale_ = effects
        self.row_cost_, self.column_cost_ = found.settings.costs
        self.row_graph_, self.column_graph_ = (
            None if of_mode is None else of_mode.graph for of_mode in found.graphs
        )
        self.objective_, self.n_iter_ = solution.history[-1], solution.n_iter
        if found.errors is not None:
            self.held_out_error_, self.effects_error_ = found.errors
        if found.bic is not None:
            self.bic_ = found.bic
        if self.regularizer == "factors":
            root = np.sqrt(effects.scale)
            self.row_factors_, self.column_factors_ = root * solution.W, root * solution.H
            self.rank_, self.penalty_ = solution.W.shape[1], found.settings.penalty
        elif self.regularizer == "nuclear":
            self.rank_, self.penalty_ = solution.rank, found.settings.penalty
        if X is None:
            return
        if self.regularizer == "factors":
            smooth = self.row_factors_ @ self.column_factors_.T
        else:
            smooth = effects.scale * solution.U
        if self.loss == "l1":
            self.row_embedding_, self.column_embedding_ = _embed(smooth, self.n_components)
        self.estimate_ = effects.offsets() + smooth
        self.filled_ = np.where(np.isnan(X), self.estimate_, X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.absent is not None
        return tags


def _check_setting(value: Any, name: str) -> float:
    """Validate a cost or the penalty; return it as a float."""
    found = check_cost(value, name)
    if found > _MOST:
        raise ValueError(
            f"{name} must be at most {_MOST:g}, got {found:g}: it is in units in which data and "
            "Laplacians have the size 1"
        )
    return found


def _check_indices(indices: ArrayLike, size: int, mode: str) -> NDArray[np.intp]:
    """Validate the indices of rows or columns; return them as an array."""
    found = np.asarray(indices)
    if not found.size:
        return found.astype(np.intp)
    if found.dtype.kind not in "iu":
        raise ValueError(f"{mode}s must be integers, got dtype {found.dtype}")
    for index in (found.min(), found.max()):
        if not 0 <= index < size:
            raise ValueError(
                f"{mode}s must lie between 0 and {size - 1}, the last {mode} of X, got {index}"
            )
    return found.astype(np.intp)


def _embed(U: Array, n_components: int) -> tuple[Array, Array]:
    """Return left and right singular vectors times the singular values; zeros beyond the rank."""
    left, values, right = np.linalg.svd(U, full_matrices=False)
    left, right = svd_flip(left, right)
    embeddings = [np.zeros((size, n_components)) for size in U.shape]
    for embedding, vectors in zip(embeddings, (left, right.T), strict=True):
        coordinates = (vectors * values)[:, :n_components]
        embedding[:, : coordinates.shape[1]] = coordinates
    return embeddings[0], embeddings[1]
