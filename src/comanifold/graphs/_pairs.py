"""Some pairs of points and a number for each, in place of a matrix with one for every pair."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


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
        """The pairs of points i and j, in either direction, repeated or not."""
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
        """The symmetric sparse matrix that holds a value for every pair, and a zero diagonal.

        Zeros are stored: an entry that is not there is a pair that was not looked at.
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
