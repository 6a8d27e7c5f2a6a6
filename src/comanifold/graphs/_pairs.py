"""Sparse sets of pairs: each point with its nearest points and some farther ones."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ._graph import component_labels, shortest_links
from ._masked_distances import Rows

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# Rows at even steps in the order of their distance, past the nearest. Without them clusters in
# noise were found less well. A hundred landmarks that everything is paired with took twice the
# pairs, and the embeddings were no truer, on some matrices less so.
N_SPREAD = 30

# Distances held at the same time while neighbours are searched for.
_AT_ONCE = 2**22


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
        keys = np.unique(np.minimum(i, j).astype(np.intp) * n_points + np.maximum(i, j))
        first, others = np.divmod(keys, n_points)
        keep = first != others
        starts = np.searchsorted(first[keep], np.arange(n_points + 1))
        return cls(n_points, starts.astype(np.intp), others[keep])

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
    there. Connected components that share no observed column are linked through the rows whose
    means are closest, at distances beyond all others.

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
        ranks = _ranks(n_rows, n_neighbors, N_SPREAD if n_spread is None else n_spread)
        i, j, length = _near_and_far(Rows(X), ranks)
        keep = (i != j) & np.isfinite(length)
        i, j, length = _each_once(n_rows, i[keep], j[keep], length[keep])
        links = _links_by_means(np.stack([i, j], axis=1), X)
        beyond = 2.0 * length.max(initial=1.0)
        i, j = np.concatenate([i, links[:, 0]]), np.concatenate([j, links[:, 1]])
        length = np.concatenate([length, np.full(len(links), beyond)])
        self.pairs = Pairs.of(n_rows, i, j)
        self.distances = self.pairs.matrix(length[np.argsort(i * n_rows + j, kind="stable")])


def _ranks(n_rows: int, n_neighbors: int, n_spread: int) -> Indices:
    """Return which of the other rows, in the order of their distance, a row is paired with."""
    n_near = min(n_neighbors, n_rows - 1)
    n_far = n_rows - 1 - n_near
    n_spread = min(n_spread, n_far)
    spread = n_near + ((np.arange(n_spread) + 0.5) * n_far / max(n_spread, 1)).astype(np.intp)
    return np.concatenate([np.arange(n_near), spread])


def _near_and_far(rows: Rows, ranks: Indices) -> tuple[Indices, Indices, Array]:
    """Return the pairs i, j of each row with the rows at these ranks, and their distances."""
    n_rows = len(rows)
    # Without the squares of all entries, which would need as much memory again.
    squared_norms = np.einsum("ij,ij->i", rows.X, rows.X)
    chosen = np.empty((n_rows, len(ranks)), dtype=np.intp)
    length = np.empty(chosen.shape)
    n_at_once = max(_AT_ONCE // n_rows, 1)
    for start in range(0, n_rows, n_at_once):
        stop = min(start + n_at_once, n_rows)
        for i, row in enumerate(rows.distances(start, stop, squared_norms), start=start):
            row[i] = np.inf
            # One row at a time, for the memory of the indices.
            chosen[i] = np.argpartition(row, ranks)[ranks] if len(ranks) else chosen[i]
            length[i] = row[chosen[i]]
    return np.repeat(np.arange(n_rows), len(ranks)), chosen.ravel(), length.ravel()


def _each_once(
    n_rows: int, i: Indices, j: Indices, length: Array
) -> tuple[Indices, Indices, Array]:
    """Return the pairs as i < j, each once; of two lengths that differ by rounding, the shorter."""
    i, j = np.minimum(i, j), np.maximum(i, j)
    order = np.lexsort((length, i * n_rows + j))
    keys, first = np.unique((i * n_rows + j)[order], return_index=True)
    return keys // n_rows, keys % n_rows, length[order][first]


def _links_by_means(pairs: Indices, X: Array) -> Indices:
    """Return links between the components that pairs leave, by the gaps between row means.

    On a line the minimum spanning tree is made of neighbours: only these are candidates.
    """
    means = np.nanmean(X, axis=1)
    order = np.argsort(means, kind="stable")
    links = np.stack([order[:-1], order[1:]], axis=1)
    gaps = np.diff(means[order])
    chosen = shortest_links(component_labels(len(X), pairs), links, gaps)
    return np.sort(links[chosen], axis=1)
