"""What a fit has found, in a few numbers."""

from dataclasses import dataclass
from itertools import pairwise
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .. import CoManifold
    from ..tables import Table

# What the page calls the clusters that it opens with, which are those of clusters.csv.
FOUND = "clusters found"

# Clusters that stay as they are while the cost grows so many times over stand out.
_CLEAR = 2

# The share of the entries that is hidden, how many a row or column keeps, and how many have to
# be hidden for their error to mean something.
_SHARE_HIDDEN = 0.1
_LEAST_KEPT = 3
_LEAST_HIDDEN = 20

# Not 0, with which people make holes of their own: just what would be hidden is missing then.
_SEED = 7_310_524_681


@dataclass(frozen=True)
class Clusters:
    """The clusters of one mode at the cost at which they last longest; one if none last.

    Attributes
    ----------
    labels : ndarray of int
        From 1, in the order in which they first appear in the organised matrix; 0 for rows or
        columns with nothing observed.
    n_clusters : int
    n_doublings : int
        How often the cost doubles from where there are so many to where there are fewer.
    """

    labels: Any
    n_clusters: int
    n_doublings: int

    def as_text(self) -> list[str]:
        """Return the label of each row or column as clusters.csv has it; empty for none."""
        return [str(label or "") for label in self.labels.tolist()]

    def told(self, mode: str) -> str:
        if self.n_clusters == 1:
            return f"{mode}: no clear ones"
        return f"{mode}: {self.n_clusters}, steady over {self.n_doublings} doublings of the cost"


def find_clusters(model: "CoManifold", mode: str) -> Clusters:
    """The number of clusters that stays the same over the most doublings of the cost.

    Clusters join one after the other as the cost grows. Groups that really are apart join only
    at a much higher cost than their members: their number lasts. On planted groups this finds
    theirs, where the scale of the largest weight is often one with nothing fused; along a curve
    no number lasts, and all are one cluster. Numbers past the square root of that of the points
    are not considered, and of two that last as long the larger is taken: it says more.
    """
    from scipy.cluster.hierarchy import fcluster

    known = ~np.isnan(getattr(model, f"{mode}_embedding_")).any(axis=1)
    tree = getattr(model, f"{mode}_linkage_")
    heights = np.unique(tree[:, 2][np.isfinite(tree[:, 2])])
    most = max(isqrt(int(known.sum())), 2)
    best: tuple[int, int, Any] = 0, 1, known.astype(int)
    for height, following in pairwise(heights):
        labels = fcluster(tree, height, criterion="distance")
        n_clusters = len(np.unique(labels[known]))
        n_doublings = round(np.log2(following / height))
        lasts = n_doublings >= _CLEAR and 1 < n_clusters <= most
        if lasts and (n_doublings, n_clusters) > best[:2]:
            best = n_doublings, n_clusters, np.where(known, labels, 0)
    n_doublings, n_clusters, labels = best
    return Clusters(_numbered(labels, getattr(model, f"{mode}_order_")), n_clusters, n_doublings)


def _numbered(labels: Any, order: Any) -> Any:
    """Labels counted through from 1 along an order; 0 stays 0."""
    numbers = {0: 0}
    for label in labels[order]:
        numbers.setdefault(int(label), len(numbers))
    return np.array([numbers[int(label)] for label in labels])


@dataclass(frozen=True)
class HeldOut:
    """Entries hidden from a fit of its own, as predicted by it and by simple means.

    Errors are root mean squares, in standard deviations of the hidden entries.
    """

    n_hidden: int
    comanifold: float
    row_means: float
    column_means: float

    def told(self) -> str:
        return (
            f"error {self.comanifold:.2f} of a standard deviation on {self.n_hidden:,} hidden "
            f"entries; row means {self.row_means:.2f}, column means {self.column_means:.2f}"
        )


def hide_some(values: Any) -> tuple[Any, Any] | None:
    """The values without a tenth of the observed entries, and where these were.

    Drawn at random, always the same. Every row and column keeps a few entries, or all. None
    where hardly any can be spared.
    """
    observed = ~np.isnan(values)
    rng = np.random.default_rng(_SEED)
    hidden = observed & (rng.random(values.shape) < _SHARE_HIDDEN)
    rest = observed & ~hidden
    for axis in (0, 1):
        few = np.expand_dims(rest.sum(axis=axis) < _LEAST_KEPT, axis)
        hidden &= ~few
    if hidden.sum() < _LEAST_HIDDEN:
        return None
    return np.where(hidden, np.nan, values), hidden


def score_hidden(values: Any, rest: Any, hidden: Any, filled: Any) -> HeldOut | None:
    """The errors on hidden entries; None where these are all alike, or some not predicted."""
    row_means, column_means = (
        np.broadcast_to(_means(rest, axis), values.shape)[hidden] for axis in (1, 0)
    )
    truth, predicted = values[hidden], filled[hidden]
    scale = truth.std()
    if not scale > 0 or not np.isfinite(predicted).all():
        return None

    def error(guess: Any) -> float:
        return float(np.sqrt(np.mean((guess - truth) ** 2)) / scale)

    return HeldOut(int(hidden.sum()), error(predicted), error(row_means), error(column_means))


def unreliable_estimates(held_out: HeldOut | None) -> list[str]:
    """A warning where the filled-in values are no better than means, or nothing."""
    if held_out is None:
        return []
    means = {"column": held_out.column_means, "row": held_out.row_means}
    mode = min(means, key=means.__getitem__)
    if held_out.comanifold < means[mode]:
        return []
    return [
        f"the filled-in values are no better than {mode} means (error {held_out.comanifold:.2f} "
        f"against {means[mode]:.2f}): do not rely on them"
    ]


def all_warnings(
    warnings: list[str], table: "Table", held_out: HeldOut | None, given: dict[str, Any]
) -> list[str]:
    """Warnings of a fit, of its error on hidden entries, and doubts about the data."""
    from ..tables import find_doubts

    doubts = find_doubts(table, standardize=given["standardize"], log1p=given["log1p"])
    return [*warnings, *unreliable_estimates(held_out), *table.doubts, *doubts]


def _means(values: Any, axis: int) -> Any:
    observed = ~np.isnan(values)
    sums = np.where(observed, values, 0.0).sum(axis=axis, keepdims=True)
    return sums / np.maximum(observed.sum(axis=axis, keepdims=True), 1)
