"""Sparse sets of pairs: each point with its nearest points and some farther ones."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ._components import component_labels
from ._graph import (
    Graph,
    each_once,
    link_by_pairs,
    links_by_means,
    nearest_stored,
)
from ._masked_distances import Rows
from ._nearest import rows_at_ranks

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# Rows at even steps in the order of their distance, past the nearest. Without them clusters in
# noise were found less well. A hundred landmarks that everything is paired with took twice the
# pairs, and the embeddings were no truer, on some matrices less so.
N_SPREAD = 30

# Farther rows are chosen among at most so many, at even steps in the order of their means. Among
# all, finding them would take most of the time.
_MOST_FAR = 2048


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs (i, j) of points with i < j, each once, sorted by i and then by j.

    Attributes
    ----------
    n_points : int
    starts : ndarray of int of shape (n_points + 1,)
        The pairs of i are starts[i] to starts[i + 1].
    others : ndarray of int of shape (n_pairs,)
        The j of every pair.
    """

    n_points: int
    starts: Indices
    others: Indices

    @classmethod
    def of(cls, n_points: int, i: Indices, j: Indices) -> "Pairs":
        """Return the pairs of points i and j, given in either direction, repeated or not."""
        keys = np.minimum(i, j).astype(np.intp) * n_points + np.maximum(i, j)
        return cls.of_keys(n_points, np.unique(keys[i != j]))

    @classmethod
    def of_keys(cls, n_points: int, keys: Indices) -> "Pairs":
        """Return the pairs i < j of the rising numbers i * n_points + j."""
        first, others = np.divmod(keys, n_points)
        starts = np.searchsorted(first, np.arange(n_points + 1))
        return cls(n_points, starts.astype(np.intp), others)

    def __len__(self) -> int:
        return len(self.others)

    @cached_property
    def firsts(self) -> Indices:
        """The i of every pair."""
        return np.repeat(np.arange(self.n_points), np.diff(self.starts))

    def matrix(self, values: Array) -> Any:
        """Return the symmetric sparse matrix with a value for every pair and a zero diagonal.

        Zeros are stored: an entry that is not stored is a pair that was not chosen.
        """
        own = np.arange(self.n_points)
        rows = np.concatenate([self.firsts, self.others, own])
        columns = np.concatenate([self.others, self.firsts, own])
        data = np.concatenate([values, values, np.zeros(self.n_points)])
        # The integers that all readers of sparse matrices know, unless there are too many entries.
        index = np.int32 if len(data) <= np.iinfo(np.int32).max else np.int64
        places = rows.astype(index), columns.astype(index)
        matrix = sparse.csr_array((data, places), shape=(self.n_points, self.n_points))
        matrix.sort_indices()
        return matrix


class CandidatePairs:
    """Pairs of each row of X with its nearest rows and some farther ones, and their distances.

    Distances are those of `masked_distances`, all pairs at a finite one. Of the rows past the
    nearest those at even steps in the order of their distance are taken, so that every range is
    there; of many rows, among a part of them. Connected components that share no observed column
    are linked through the rows whose means are closest, at distances beyond all others.

    Memory grows with the number of rows; the time to find the neighbours with its square.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        NaN for missing entries, every row with an observed one.
    n_neighbors : int
        At most all others.
    n_spread : int, optional
        How many of the rows past the nearest, by default 30.

    Attributes
    ----------
    pairs : Pairs
    distances : sparse array of shape (n_rows, n_rows)
        With a stored zero for each row and itself.
    """

    def __init__(self, X: Array, n_neighbors: int, *, n_spread: int | None = None):
        n_rows = len(X)
        chosen, lengths = _near_and_far(X, n_neighbors, N_SPREAD if n_spread is None else n_spread)
        i, j = np.repeat(np.arange(n_rows), chosen.shape[1]), chosen.ravel()
        found = j >= 0
        i, j, length = i[found], j[found], lengths.ravel()[found]
        keys = np.minimum(i, j) * n_rows + np.maximum(i, j)
        # A distance is the same in either direction.
        keys, first = np.unique(keys, return_index=True)
        length = length[first]
        labels = component_labels(n_rows, np.stack(np.divmod(keys, n_rows), axis=1))
        if labels.any():
            links = links_by_means(labels, X)
            keys = np.concatenate([keys, links[:, 0] * n_rows + links[:, 1]])
            beyond = 2.0 * length.max(initial=1.0)
            length = np.concatenate([length, np.full(len(links), beyond)])
            order = np.argsort(keys)
            keys, length = keys[order], length[order]
        self.pairs = Pairs.of_keys(n_rows, keys)
        self._lengths = length
        self._nearest = chosen[:, : min(n_neighbors, n_rows - 1)].copy()

    @cached_property
    def distances(self) -> Any:
        """The distances as a symmetric sparse array."""
        return self.pairs.matrix(self._lengths)

    def graph(self, n_neighbors: int) -> Graph:
        """Return the graph of the nearest neighbours, as `Graph.from_distances(distances)` does."""
        nearest = self._nearest[:, :n_neighbors]
        pairs = self.pairs
        ends = pairs.firsts, pairs.others
        if nearest.shape[1] < min(n_neighbors, pairs.n_points - 1) or (nearest < 0).any():
            return nearest_stored(pairs.n_points, *ends, self._lengths, n_neighbors)
        return link_by_pairs(pairs.n_points, each_once(nearest), *ends, self._lengths)


def _near_and_far(X: Array, n_neighbors: int, n_spread: int) -> tuple[Indices, Array]:
    """Return the rows that each row is paired with, the nearest first, and their distances."""
    n_rows, rows = len(X), Rows(X)
    n_near = min(n_neighbors, n_rows - 1)
    near = np.arange(n_near)
    if n_rows <= _MOST_FAR:
        return rows_at_ranks(rows, np.concatenate([near, _spread(n_near, n_rows - 1, n_spread)]))
    order = np.argsort(np.nanmean(X, axis=1), kind="stable")
    among = np.sort(order[_spread(0, n_rows, _MOST_FAR)])
    far = _spread(0, _MOST_FAR - 1, n_spread)
    nearest, farther = rows_at_ranks(rows, near), rows_at_ranks(rows, far, among=among)
    return np.hstack([nearest[0], farther[0]]), np.hstack([nearest[1], farther[1]])


def _spread(start: int, stop: int, n_wanted: int) -> Indices:
    """Return the middles of so many equal parts of a range of integers, at most all of them."""
    n_wanted = min(n_wanted, stop - start)
    middles = (np.arange(n_wanted) + 0.5) * (stop - start) / max(n_wanted, 1)
    return start + middles.astype(np.intp)
