"""The pairs of rows that are worth a distance: near ones, and a few at every other range."""

import numpy as np
from scipy.sparse.csgraph import connected_components

from ._masked_distances import Rows
from ._pairs import Array, Indices, Pairs

# Rows at even steps in the order of their distance, past the nearest. Without them clusters in
# noise were found less well. A hundred landmarks that everything is paired with took twice the
# pairs, and the embeddings were no truer, on some matrices less so.
N_SPREAD = 30

# Distances held at the same time while neighbours are searched for.
_AT_ONCE = 2**22


class CandidatePairs:
    """Every row of X with its nearest ones and some farther away, and how far apart they are.

    Distances are those of `masked_distances`, all pairs at a finite one. Of the rows past the
    nearest those at even steps in the order of their distance are taken, so that every range is
    there. Parts that have no observed column in common are linked through the rows whose means
    are closest, at distances beyond all others.

    Memory grows with the number of rows; the time to find the neighbours with its square.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        NaN for missing entries, every row with an observed one.
    n_neighbors : int
        At most all others.

    Attributes
    ----------
    pairs : Pairs
    distances : sparse array of shape (n_rows, n_rows)
        With a stored zero for each row and itself.
    """

    def __init__(self, X: Array, n_neighbors: int):
        n_rows = len(X)
        i, j, length = _near_and_far(Rows(X), _ranks(n_rows, n_neighbors))
        keep = (i != j) & np.isfinite(length)
        i, j, length = _each_once(n_rows, i[keep], j[keep], length[keep])
        links = _links_by_means(Pairs.of(n_rows, i, j), X)
        beyond = 2.0 * length.max(initial=1.0)
        i, j = np.concatenate([i, links[0]]), np.concatenate([j, links[1]])
        length = np.concatenate([length, np.full(len(links[0]), beyond)])
        self.pairs = Pairs.of(n_rows, i, j)
        self.distances = self.pairs.matrix(length[np.argsort(i * n_rows + j, kind="stable")])


def _ranks(n_rows: int, n_neighbors: int) -> Indices:
    """Which of the other rows, in the order of their distance, a row is paired with."""
    n_near = min(n_neighbors, n_rows - 1)
    n_far = n_rows - 1 - n_near
    n_spread = min(N_SPREAD, n_far)
    spread = n_near + ((np.arange(n_spread) + 0.5) * n_far / max(n_spread, 1)).astype(np.intp)
    return np.concatenate([np.arange(n_near), spread])


def _near_and_far(rows: Rows, ranks: Indices) -> tuple[Indices, Indices, Array]:
    n_rows = len(rows)
    # Without the squares of all entries, which would need as much memory again.
    squared_lengths = np.einsum("ij,ij->i", rows.X, rows.X)
    chosen = np.empty((n_rows, len(ranks)), dtype=np.intp)
    length = np.empty(chosen.shape)
    n_at_once = max(_AT_ONCE // n_rows, 1)
    for start in range(0, n_rows, n_at_once):
        stop = min(start + n_at_once, n_rows)
        for i, row in enumerate(rows.distances(start, stop, squared_lengths), start=start):
            row[i] = np.inf
            # One row at a time, for the memory of the indices.
            chosen[i] = np.argpartition(row, ranks)[ranks] if len(ranks) else chosen[i]
            length[i] = row[chosen[i]]
    return np.repeat(np.arange(n_rows), len(ranks)), chosen.ravel(), length.ravel()


def _each_once(
    n_rows: int, i: Indices, j: Indices, length: Array
) -> tuple[Indices, Indices, Array]:
    """Pairs as i < j; of two lengths, which rounding errors may tell apart, the shorter."""
    i, j = np.minimum(i, j), np.maximum(i, j)
    order = np.lexsort((length, i * n_rows + j))
    keys, first = np.unique((i * n_rows + j)[order], return_index=True)
    return keys // n_rows, keys % n_rows, length[order][first]


def _links_by_means(pairs: Pairs, X: Array) -> tuple[Indices, Indices]:
    """Links between the parts that pairs leave: a spanning tree of the gaps between means.

    On a line that tree is made of neighbours; among them the shortest are taken that join parts.
    """
    part = connected_components(pairs.matrix(np.ones(len(pairs))), directed=False)[1]
    if part.max(initial=0) == 0:
        return np.empty(0, np.intp), np.empty(0, np.intp)
    means = np.nanmean(X, axis=1)
    order = np.argsort(means, kind="stable")
    i, j = order[:-1], order[1:]
    taken: list[int] = []
    for e in np.argsort(means[j] - means[i], kind="stable"):
        if part[i[e]] != part[j[e]]:
            part[part == part[j[e]]] = part[i[e]]
            taken.append(int(e))
    return np.minimum(i[taken], j[taken]), np.maximum(i[taken], j[taken])
