"""Earth mover's distances between rows, over a partition tree of the columns."""

import numbers
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from .._validation import check_matrix
from ..graphs import Pairs
from ._partition_tree import PartitionTree

Array = NDArray[np.float64]
Trees = PartitionTree | Sequence[PartitionTree]

# Folders over which distances are added up at the same time: the means of a few rows over so many
# fit into the cache.
_AT_ONCE = 512


def tree_distances(
    X: ArrayLike,
    tree: Trees,
    Y: ArrayLike | None = None,
    *,
    alpha: float = 0.0,
    beta: float = 1.0,
    pairs: Pairs | ArrayLike | None = None,
) -> Any:
    r"""Return the earth mover's distances between rows, over a tree of the columns.

    .. math:: d(x, y) = \sum_{\ell = 1}^{L} \sum_{I \in \mathcal P_\ell} 2^{\alpha (1 - \ell)}
              \left( \frac{|I|}{n} \right)^\beta
              \left| \operatorname{mean}_I x - \operatorname{mean}_I y \right|

    over the folders I of all levels of the tree, the root being level 1; a folder that is the
    same at several levels counts at each. With :math:`\beta = 1` it is the least cost of turning
    x / n into y / n if mass is moved along the edges of the tree, an edge above a folder of level
    :math:`\ell` is :math:`2^{\alpha (1 - \ell)}` long, and mass is created or removed above the
    root. Rows that differ in columns of one folder are nearer to each other than rows that differ
    as much in columns of different ones.

    Means are those of observed entries; a folder of which a row has none gets the mean of the
    folder it is in.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        NaN for missing entries; every row needs an observed one.
    tree : PartitionTree or sequence of PartitionTree
        Of the columns. The distance over several trees is the mean of those over each.
    Y : array-like of shape (n_others, n_columns), optional
        Other rows, to which the distances are computed instead.
    alpha, beta : float, default=0.0, 1.0
        Exponents of the weights. A negative `alpha` or a smaller `beta` gives fine
        levels more weight.
    pairs : array-like of int of shape (n_pairs, 2), optional
        The pairs of rows of X whose distances are computed; by default all.

    Returns
    -------
    distances : ndarray or sparse array
        Of shape (n_rows, n_rows) or (n_rows, n_others). With `pairs` a symmetric CSR array in
        which zeros are stored.

    References
    ----------
    Leeb (2016), The mixed Lipschitz space and its dual for tree metrics. Ankenman (2014), Geometry
    and analysis of dual networks on questionnaires. Mishne et al. (2016), Hierarchical
    coupled-geometry analysis for neuronal structure and activity pattern discovery.

    Examples
    --------
    >>> from comanifold.trees import PartitionTree, tree_distances
    >>> tree = PartitionTree.from_labels([[0, 0, 1, 1]])
    >>> tree_distances([[4.0, 0.0, 0.0, 0.0], [0.0, 4.0, 0.0, 0.0], [0.0, 0.0, 4.0, 0.0]], tree)
    array([[0., 2., 4.],
           [2., 0., 4.],
           [4., 4., 0.]])
    """
    X = check_matrix(X, need_observed_rows=True)
    trees = _check_trees(tree, X.shape[1])
    alpha, beta = check_exponent("alpha", alpha), check_exponent("beta", beta)
    if Y is not None:
        if pairs is not None:
            raise ValueError("pairs are pairs of rows of X: leave out Y")
        Y = check_matrix(Y, name="Y", need_observed_rows=True)
        if X.shape[1] != Y.shape[1]:
            raise ValueError(
                f"X and Y must have as many columns, got {X.shape[1]} and {Y.shape[1]}"
            )
    if pairs is not None and not isinstance(pairs, Pairs):
        pairs = _check_pairs(pairs, len(X))
    total = np.zeros(len(pairs) if pairs is not None else (len(X), len(X if Y is None else Y)))
    with np.errstate(over="ignore", invalid="ignore"):  # refused below
        for one in trees:
            weights = folder_weights(one, alpha, beta)
            parts = _weighted_means(X, one, weights)
            if pairs is not None:
                for points in parts:
                    _add_differences(points, pairs.starts, pairs.others, total)
            elif Y is None:
                for points in parts:
                    _add_distances(points, points, True, total)
            else:
                for points, others in zip(parts, _weighted_means(Y, one, weights), strict=True):
                    _add_distances(points, others, False, total)
    total /= len(trees)
    if not np.isfinite(total).all():
        raise ValueError(
            f"alpha={alpha:g} and beta={beta:g} give infinite distances: use numbers nearer to 0 "
            "and 1, or divide X by a constant"
        )
    if pairs is not None:
        return pairs.matrix(total)
    return total + total.T if Y is None else total


def folder_means(X: Array, tree: PartitionTree) -> Array:
    """Return the mean of each row over the observed columns of each folder.

    Where a row has none of a folder, it is the mean of the folder above.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        NaN for missing entries, every row with an observed one.
    tree : PartitionTree

    Returns
    -------
    means : ndarray of shape (n_rows, n_folders)
        In the order of `PartitionTree.folders`.
    """
    observed = ~np.isnan(X)
    members = tree.membership
    folders = tree._folders
    # Sums over folders as sparse products, whose result has the folders in rows.
    means = (members @ np.where(observed, X, 0.0).T).T
    counts = (members @ observed.T.astype(float)).T
    with np.errstate(invalid="ignore"):
        means /= counts
    for level in range(2, tree.n_levels + 1):
        here = np.flatnonzero(folders.level == level)
        above = means[:, folders.parent[here]]
        means[:, here] = np.where(np.isnan(means[:, here]), above, means[:, here])
    return means


def _weighted_means(X: Array, tree: PartitionTree, weights: Array) -> Iterator[Array]:
    """Yield the weighted means of each row over a few folders at a time, C-contiguous.

    Those of complete rows are computed one part after the other, which saves memory.
    """
    means = folder_means(X, tree) if np.isnan(X).any() else None
    members, size = tree.membership, tree._folders.size
    for start in range(0, len(weights), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        here = (members[part] @ X.T).T / size[part] if means is None else means[:, part]
        yield np.ascontiguousarray(here * weights[part])


def folder_weights(tree: PartitionTree, alpha: float, beta: float) -> Array:
    """Return the weight of each folder in the distance, over all levels that it is a folder of."""
    folders = tree._folders
    of_levels = np.zeros(len(folders.size))
    with np.errstate(over="ignore"):
        for place, of_point in enumerate(folders.of_point):
            power = np.exp2(alpha * (1 - tree.n_levels + place))
            of_levels[np.unique(of_point)] += power
        weights = of_levels * (folders.size / tree.n_points) ** beta
    if not np.isfinite(weights).all():
        raise ValueError(
            f"alpha={alpha:g} and beta={beta:g} give folders of the tree infinite weights: use "
            "numbers nearer to 0 and 1"
        )
    return weights


# Sums may be taken in another order than written, which lets several be taken at once.
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _add_differences(X, starts, others, sums):
    """sums[p] += sum_c |x_ic - x_jc| for the pairs p = (i, j) of rows of X."""
    for i in range(X.shape[0]):
        for p in range(starts[i], starts[i + 1]):
            j = others[p]
            total = 0.0
            for c in range(X.shape[1]):
                total += abs(X[i, c] - X[j, c])
            sums[p] += total


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _add_distances(X, Y, is_within, total):
    """total[i, j] += sum_c |x_ic - y_jc|, for i < j only if `is_within`."""
    for first in range(0, Y.shape[0], 32):  # rows of Y that remain in the cache
        last = min(first + 32, Y.shape[0])
        for i in range(X.shape[0]):
            x = X[i]
            for j in range(max(first, i + 1) if is_within else first, last):
                y, apart = Y[j], 0.0
                for c in range(X.shape[1]):
                    apart += abs(x[c] - y[c])
                total[i, j] += apart


def check_exponent(name: str, value: Any) -> float:
    """Validate an exponent of the weights; return it as a float."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    if not is_number or not np.isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {value!r:.60}")
    return float(value)


def _check_trees(tree: Any, n_columns: int) -> list[PartitionTree]:
    """Validate one tree or several; return a list of them."""
    is_several = isinstance(tree, Iterable) and not isinstance(tree, str)
    trees = list(tree) if is_several else [tree]
    if not trees or not all(isinstance(one, PartitionTree) for one in trees):
        raise ValueError(f"tree must be a PartitionTree, or several, got {tree!r:.60}")
    for one in trees:
        if one.n_points != n_columns:
            raise ValueError(
                f"tree must have the columns of X for its points, {n_columns}, got {one.n_points}"
            )
    return trees


def _check_pairs(pairs: Any, n_rows: int) -> Pairs:
    """Validate an array of pairs of rows; return it as `Pairs`."""
    pairs = np.asarray(pairs)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or (pairs.size and pairs.dtype.kind not in "iu"):
        raise ValueError(
            f"pairs must be integers of shape (n_pairs, 2), got {pairs.dtype} of {pairs.shape}"
        )
    if pairs.size and not (pairs.min() >= 0 and pairs.max() < n_rows):
        raise ValueError(f"pairs must be rows from 0 to {n_rows - 1}")
    return Pairs.of(n_rows, *pairs.astype(np.intp).T)
