"""The data of the experiments and the methods that are compared on them.

Every method has its default parameters, and chooses what it has to choose without labels. All
diffusion maps have the same bandwidth, "auto", except those of "as in the paper".
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import KNNImputer
from sklearn.utils import Bunch

from .. import CoManifold, DiffusionMap
from .._embedding.layouts import run_umap
from ..baselines import (
    NLPCA,
    ConvexClustering,
    FilledDiffusionMap,
    GraphCompletion,
    MaskedIsomap,
    Questionnaire,
    RepairedDistances,
    SoftImpute,
    SparseSVD,
    UnsupervisedRegression,
    choose_imputer,
)
from ..datasets import load_lung500, make_linkage, make_linkage2, remove_entries
from ..model_selection import HeldOut

Array = NDArray[np.float64]

# `_umap` imports it, because that takes seconds; a run without it should end at once.
if find_spec("umap") is None:
    raise ModuleNotFoundError("the experiments need umap-learn", name="umap-learn")

# How each complete data set is made; it is the same in every experiment.
DATA_SETS: dict[str, Callable[[], Bunch]] = {
    "linkage": lambda: make_linkage(random_state=0),
    "linkage2": lambda: make_linkage2(random_state=0),
    "lung500": load_lung500,
}

# The mode that has groups, and the attribute with their labels.
GROUPED = {"linkage2": ("row", "row_labels"), "lung500": ("column", "column_labels")}


@dataclass(frozen=True)
class Case:
    """A data set with permuted rows and columns, `data`, and `X`, its matrix with entries removed.

    The mask depends on the data set, the fraction of missing entries and the realization alone.
    """

    data_set: str
    fraction: float
    realization: int
    seed: int
    data: Bunch
    X: Array

    @property
    def labels(self) -> NDArray[np.int_]:
        """The labels of the mode that has groups."""
        return self.data[GROUPED[self.data_set][1]]

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Where entries were removed."""
        return np.isnan(self.X)

    def tags(self) -> dict[str, str | float | int]:
        """Return the columns that identify the case in a table."""
        return {
            "data_set": self.data_set,
            "fraction": self.fraction,
            "realization": self.realization,
            "seed": self.seed,
        }


def make_case(data_set: str, fraction: float, realization: int) -> Case:
    """Return the data set with rows and columns permuted and a fraction of entries removed."""
    seed = 1000 * realization + round(100 * fraction)
    data = _permuted(DATA_SETS[data_set](), seed)
    X = remove_entries(data.X, fraction, random_state=seed)
    return Case(data_set, fraction, realization, seed, data, X)


def _permuted(data: Bunch, seed: int) -> Bunch:
    """Return the data with rows and columns, and everything known of them, in random order."""
    rng = np.random.default_rng(seed)
    rows, columns = (rng.permutation(size) for size in data.X.shape)
    permuted = {"X": data.X[np.ix_(rows, columns)]}
    for name, values in data.items():
        if name.startswith("row_"):
            permuted[name] = values[rows]
        elif name.startswith("column_"):
            permuted[name] = values[columns]
        elif name != "X":
            permuted[name] = values
    return Bunch(**permuted)


Points = dict[str, Array]

# Values from which parameters are chosen by the error on held-out entries.
_COSTS = 2.0 ** np.arange(-3, 8, 2)
_WEIGHT_DECAYS = (0.03, 0.3, 3.0)

# The default of UMAP.
_UMAP_NEIGHBORS = 15


# Methods of one family are drawn together, and each family beside ours.
FAMILIES = {
    "paper": "compared in the paper",
    "filled": "fill in, then embed",
    "distances": "distances without filling in",
    "models": "models, trees and clusters",
}


@dataclass(frozen=True)
class Method:
    """A method that embeds the rows and the columns of an incomplete matrix.

    `embed` takes the matrix, the modes to embed, the number of coordinates and a seed, and returns
    the points of each mode. With `is_nested`, fewer coordinates are the first of more.
    """

    label: str
    family: str
    embed: Callable[[Array, Iterable[str], int, int], Points]
    is_nested: bool = True


def _together(
    make: Callable[..., CoManifold | Questionnaire],
    X: Array,
    modes: Iterable[str],
    n_components: int,
    _seed: int,
) -> Points:
    """Embed all modes by one model."""
    model = make(n_components).fit(X)
    return {mode: getattr(model, f"{mode}_embedding_") for mode in modes}


def _nlpca(X: Array, n_components: int, seed: int) -> Array:
    """Non-linear PCA without hierarchy, with the weight decay that predicts best."""

    def fit(X: Array, weight_decay: float, n_restarts: int) -> NLPCA:
        return NLPCA(
            n_components,
            hierarchical=False,
            weight_decay=weight_decay,
            n_restarts=n_restarts,
            random_state=seed,
        ).fit(X)

    best = _best_on_held_out(X, _WEIGHT_DECAYS, lambda X, decay: fit(X, decay, 2).filled_, seed)
    return fit(X, best, 5).embedding_


def _unsupervised_regression(X: Array, n_components: int, seed: int) -> Array:
    return UnsupervisedRegression(n_components, random_state=seed).fit_transform(X)


def _sparse_svd(X: Array, n_components: int, _seed: int) -> Array:
    """Layers of the matrix less the means of the columns."""
    return SparseSVD(n_components, center="mean").fit_transform(X)


def _repaired(method: str, X: Array, n_components: int, _seed: int) -> Array:
    return RepairedDistances(method, n_components).fit_transform(X)


def _robust_pca(X: Array, modes: Iterable[str], n_components: int, _seed: int) -> Points:
    """Singular vectors of the estimate with the absolute loss."""
    model = GraphCompletion(loss="l1", n_components=n_components).fit(X)
    return {mode: getattr(model, f"{mode}_embedding_") for mode in modes}


def _on_graphs(
    regularizer: str, X: Array, modes: Iterable[str], n_components: int, _seed: int
) -> Points:
    """Complete the matrix along graphs, then a diffusion map of each mode."""
    filled = GraphCompletion(regularizer).fit(X).filled_
    return {
        mode: DiffusionMap(n_components).fit_transform(filled if mode == "row" else filled.T)
        for mode in modes
    }


def _filled(imputer: str, X: Array, n_components: int, _seed: int) -> Array:
    return FilledDiffusionMap(imputer, n_components).fit_transform(X)


def _umap(imputer: str, X: Array, n_components: int, seed: int) -> Array:
    """Fill in the matrix, then UMAP with its default parameters."""
    return run_umap(
        choose_imputer(imputer, X.shape[1]).fit_transform(X),
        n_neighbors=min(_UMAP_NEIGHBORS, len(X) - 1),  # it warns if there are fewer points
        n_components=n_components,
        random_state=seed,
    )


def _masked(X: Array, n_components: int, _seed: int) -> Array:
    return DiffusionMap(n_components).fit_transform(X)


def _isomap(X: Array, n_components: int, _seed: int) -> Array:
    return MaskedIsomap(n_components).fit_transform(X)


def _convex(X: Array, n_components: int, seed: int) -> Array:
    """Convex clustering with the cost that predicts best, then a diffusion map."""
    cost = _best_on_held_out(X, _COSTS, lambda X, cost: ConvexClustering(cost).fit(X).filled_, seed)
    return DiffusionMap(n_components).fit_transform(ConvexClustering(cost).fit(X).filled_)


def _best_on_held_out(
    X: Array,
    values: Iterable[float],
    fill: Callable[[Array, float], Array],
    seed: int,
) -> float:
    """Return the parameter value with the smallest error on a tenth of the observed entries."""
    held_out = HeldOut(X, np.isnan(remove_entries(X, 0.1, random_state=seed)))
    rest = held_out.rest()

    def error(value: float) -> float:
        predicted = fill(rest, value)[held_out.rows, held_out.columns]
        return float(np.mean((predicted - held_out.values) ** 2))

    return min(values, key=error)


def _separate(embed: Callable[[Array, int, int], Array]) -> Callable[..., Points]:
    """Return a function that embeds each mode on its own: the rows of the matrix or transpose."""

    def embed_modes(X: Array, modes: Iterable[str], n_components: int, seed: int) -> Points:
        return {mode: embed(X if mode == "row" else X.T, n_components, seed) for mode in modes}

    return embed_modes


OURS = "comanifold"
PAPER = "comanifold-paper"

METHODS = {
    OURS: Method("comanifold", "paper", partial(_together, CoManifold)),
    PAPER: Method(
        "comanifold as in the paper", "paper", partial(_together, CoManifold.as_in_the_paper)
    ),
    "dm-mean": Method("diffusion map, mean filled", "paper", _separate(partial(_filled, "mean"))),
    "nlpca": Method("non-linear PCA", "paper", _separate(_nlpca), is_nested=False),
    "dm-soft": Method("SoftImpute, diffusion map", "filled", _separate(partial(_filled, "soft"))),
    "dm-knn": Method("KNN imputation, diffusion map", "filled", _separate(partial(_filled, "knn"))),
    "umap-soft": Method(
        "SoftImpute, UMAP", "filled", _separate(partial(_umap, "soft")), is_nested=False
    ),
    "umap-knn": Method(
        "KNN imputation, UMAP", "filled", _separate(partial(_umap, "knn")), is_nested=False
    ),
    "graph-dirichlet": Method(
        "completion on graphs, diffusion map", "filled", partial(_on_graphs, "dirichlet")
    ),
    "graph-nuclear": Method(
        "low rank on graphs, diffusion map", "filled", partial(_on_graphs, "nuclear")
    ),
    "graph-factors": Method(
        "factors on graphs, diffusion map", "filled", partial(_on_graphs, "factors")
    ),
    "dm-masked": Method("diffusion map, masked distances", "distances", _separate(_masked)),
    "isomap": Method("Isomap, nan_euclidean", "distances", _separate(_isomap)),
    "repaired": Method(
        "increase-only repair, Isomap", "distances", _separate(partial(_repaired, "increase-only"))
    ),
    "shortest": Method(
        "decrease-only repair, Isomap", "distances", _separate(partial(_repaired, "decrease-only"))
    ),
    "kernel": Method(
        "kernel correction, diffusion map", "distances", _separate(partial(_repaired, "kernel"))
    ),
    "convex": Method("one-sided convex clustering, diffusion map", "models", _separate(_convex)),
    "tree": Method(
        'comanifold, metric="tree"',
        "models",
        partial(_together, partial(CoManifold, metric="tree")),
    ),
    "questionnaire": Method("questionnaire", "models", partial(_together, Questionnaire)),
    "unsupervised": Method(
        "unsupervised regression",
        "models",
        _separate(_unsupervised_regression),
        is_nested=False,
    ),
    "graph-l1": Method("robust PCA on graphs", "models", _robust_pca),
    "sparse-svd": Method("sparse SVD", "models", _separate(_sparse_svd)),
}


def _iterative(X: Array) -> Array:
    """Regress each column on the others, or each row on the others if there are fewer rows."""
    if X.shape[1] > X.shape[0]:
        return _iterative(X.T).T
    return choose_imputer("iterative", X.shape[1]).fit_transform(X)


def _knn(X: Array) -> Array:
    return KNNImputer(keep_empty_features=True).fit_transform(X)


@dataclass(frozen=True)
class Imputation:
    """A method that fills in an incomplete matrix."""

    label: str
    family: str
    fill: Callable[[Array], Array]


IMPUTATIONS = {
    OURS: Imputation("comanifold", "paper", lambda X: CoManifold().fit(X).filled_),
    PAPER: Imputation(
        "comanifold as in the paper",
        "paper",
        lambda X: CoManifold.as_in_the_paper().fit(X).filled_,
    ),
    "mean": Imputation(
        "mean of the column", "paper", lambda X: FilledDiffusionMap("mean").fit(X).filled_
    ),
    "knn-rows": Imputation("KNN, near rows", "filled", _knn),
    "knn-columns": Imputation("KNN, near columns", "filled", lambda X: _knn(X.T).T),
    "soft": Imputation("SoftImpute", "filled", lambda X: SoftImpute().fit_transform(X)),
    "iterative": Imputation("iterative regressions", "filled", _iterative),
    "graph-dirichlet": Imputation(
        "completion on graphs", "filled", lambda X: GraphCompletion().fit_transform(X)
    ),
    "graph-nuclear": Imputation(
        "low rank on graphs", "filled", lambda X: GraphCompletion("nuclear").fit_transform(X)
    ),
    "graph-factors": Imputation(
        "factors on graphs", "filled", lambda X: GraphCompletion("factors").fit_transform(X)
    ),
    "unsupervised": Imputation(
        "unsupervised regression",
        "models",
        lambda X: UnsupervisedRegression(random_state=0).fit(X).filled_,
    ),
    "graph-l1": Imputation(
        "robust PCA on graphs", "models", lambda X: GraphCompletion(loss="l1").fit_transform(X)
    ),
    "sparse-svd": Imputation(
        "sparse SVD", "models", lambda X: SparseSVD(center="mean").fit(X).filled_
    ),
}
