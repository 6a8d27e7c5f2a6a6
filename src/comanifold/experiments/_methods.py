"""What is compared: our method, the paper's settings, and what one would use instead.

Every method is as its documentation has it by default, and what it chooses it chooses without
labels. All diffusion maps have the same local bandwidth but that of "as in the paper".
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from .. import CoManifold, DiffusionMap
from ..baselines import NLPCA, ConvexClustering, FilledDiffusionMap, MaskedIsomap
from ..datasets import remove_entries

Array = NDArray[np.float64]
Points = dict[str, Array]

# What the baselines that have to be told choose from.
_COSTS = 2.0 ** np.arange(-3, 8, 2)
_WEIGHT_DECAYS = (0.03, 0.3, 3.0)


@dataclass(frozen=True)
class Method:
    """A way to embed the rows and the columns of an incomplete matrix.

    `embed` takes the matrix, the modes that are wanted, the number of coordinates and a seed,
    and gives the points of each of those modes. With `is_nested`, the first coordinates of more
    are what one has with fewer.
    """

    label: str
    colour: str
    embed: Callable[[Array, Iterable[str], int, int], Points]
    marker: str = "o"
    is_nested: bool = True


def _ours(
    make: Callable[..., CoManifold], X: Array, modes: Iterable[str], n_components: int, _seed: int
) -> Points:
    model = make(n_components).fit(X)
    return {mode: getattr(model, f"{mode}_embedding_") for mode in modes}


def _one_by_one(
    embed: Callable[[Array, int, int], Array],
    X: Array,
    modes: Iterable[str],
    n_components: int,
    seed: int,
) -> Points:
    """The modes apart: what embeds rows, applied to the matrix and to its transpose."""
    return {mode: embed(X if mode == "row" else X.T, n_components, seed) for mode in modes}


def _nlpca(X: Array, n_components: int, seed: int) -> Array:
    """All components alike, and the weight decay that predicts hidden entries best."""

    def fit(X: Array, weight_decay: float, n_restarts: int) -> NLPCA:
        return NLPCA(
            n_components,
            hierarchical=False,
            weight_decay=weight_decay,
            n_restarts=n_restarts,
            random_state=seed,
        ).fit(X)

    best = _best_on_hidden(X, _WEIGHT_DECAYS, lambda X, decay: fit(X, decay, 2).filled_, seed)
    return fit(X, best, 5).embedding_


def _filled(imputer: str, X: Array, n_components: int, _seed: int) -> Array:
    return FilledDiffusionMap(imputer, n_components).fit_transform(X)


def _masked(X: Array, n_components: int, _seed: int) -> Array:
    return DiffusionMap(n_components).fit_transform(X)


def _isomap(X: Array, n_components: int, _seed: int) -> Array:
    return MaskedIsomap(n_components).fit_transform(X)


def _convex(X: Array, n_components: int, seed: int) -> Array:
    """Smooth the rows alone, as much as predicts hidden entries best; then a diffusion map."""
    cost = _best_on_hidden(X, _COSTS, lambda X, cost: ConvexClustering(cost).fit(X).filled_, seed)
    return DiffusionMap(n_components).fit_transform(ConvexClustering(cost).fit(X).filled_)


def _best_on_hidden(
    X: Array,
    values: Iterable[float],
    fill: Callable[[Array, float], Array],
    seed: int,
) -> float:
    """The value of a parameter with which a tenth of the observed entries is predicted best."""
    fewer = remove_entries(X, 0.1, random_state=seed)
    hidden = np.isnan(fewer) & ~np.isnan(X)
    return min(values, key=lambda value: np.mean((fill(fewer, value) - X)[hidden] ** 2))


def _separate(embed: Callable[[Array, int, int], Array]) -> Callable[..., Points]:
    return partial(_one_by_one, embed)


OURS = "comanifold"
PAPER = "comanifold-paper"

# In the colours of Okabe and Ito, which the colour-blind can tell apart.
METHODS = {
    OURS: Method("comanifold", "#0072B2", partial(_ours, CoManifold)),
    PAPER: Method(
        "comanifold as in the paper",
        "#56B4E9",
        partial(_ours, CoManifold.as_in_the_paper),
        marker="s",
    ),
    "dm-mean": Method(
        "diffusion map, mean filled", "#D55E00", _separate(partial(_filled, "mean")), marker="^"
    ),
    "nlpca": Method("non-linear PCA", "#E69F00", _separate(_nlpca), marker="v", is_nested=False),
    "dm-masked": Method(
        "diffusion map, masked distances", "#009E73", _separate(_masked), marker="D"
    ),
    "dm-soft": Method(
        "SoftImpute, diffusion map", "#CC79A7", _separate(partial(_filled, "soft")), marker="P"
    ),
    "dm-knn": Method(
        "KNN imputation, diffusion map", "#999999", _separate(partial(_filled, "knn")), marker="X"
    ),
    "isomap": Method("Isomap, nan_euclidean", "#000000", _separate(_isomap), marker="<"),
    "convex": Method(
        "one-sided convex clustering, diffusion map", "#8C6D1F", _separate(_convex), marker=">"
    ),
}
