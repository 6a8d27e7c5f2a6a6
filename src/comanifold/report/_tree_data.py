"""The trees beside the matrix: the order of their leaves, and their upper parts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._packing import pack

Array = NDArray[np.float64]
Labels = NDArray[np.intp]


def tree_data(tree: Array | None, order: Labels, max_leaves: int = 200) -> dict[str, Any] | None:
    """Return a linkage matrix as the page draws it; None if there is none, or nothing to join.

    Branches are turned so that the leaves stay as close to the given order as the tree permits:
    at each node, the branch with the smaller mean place comes first.

    Parameters
    ----------
    tree : ndarray of shape (n_points - 1, 4), or None
        A SciPy linkage matrix.
    order : ndarray of int of shape (n_points,)
        The organised order, a permutation.
    max_leaves : int
        Only the last ``max_leaves - 1`` joins are drawn; branches below them are single leaves.

    Returns
    -------
    data : dict or None
        "order" has the places in the organised order, leaf by leaf; "ends" the first and the last
        leaf of each branch that is not drawn further; "joins" the two parts and the height of each
        join, in which parts are numbered as in SciPy: first the branches, then the joins.
    """
    n_points = len(order)
    if tree is None or n_points < 2:
        return None
    places = np.empty(n_points, dtype=np.intp)
    places[order] = np.arange(n_points)
    first, sizes, children = _layout(tree, places)
    leaves = np.empty(n_points, dtype=np.intp)
    leaves[first[:n_points]] = places
    # The joins that are drawn, and what they join, by the numbers of SciPy.
    joins = np.arange(n_points + max(0, n_points - max_leaves), 2 * n_points - 1)
    branches = np.setdiff1d(children[joins - n_points], joins)
    branches = branches[np.argsort(first[branches])]
    number = np.full(2 * n_points - 1, -1)
    number[branches] = np.arange(len(branches))
    number[joins] = len(branches) + np.arange(len(joins))
    return {
        "order": pack(leaves, "Int32Array"),
        "ends": np.transpose([first[branches], first[branches] + sizes[branches] - 1]).tolist(),
        "joins": [
            [*pair, height]
            for pair, height in zip(
                number[children[joins - n_points]].tolist(),
                tree[joins - n_points, 2].tolist(),
                strict=True,
            )
        ],
    }


def _layout(tree: Array, places: Labels) -> tuple[Labels, Labels, Labels]:
    """Return the first leaf and the size of each node, and the two parts of each join in order."""
    n_points = len(places)
    children = tree[:, :2].astype(np.intp)
    sizes = np.ones(2 * n_points - 1, dtype=np.intp)
    sums = np.concatenate([places.astype(float), np.zeros(n_points - 1)])
    for node, (a, b) in enumerate(children, start=n_points):
        sizes[node], sums[node] = sizes[a] + sizes[b], sums[a] + sums[b]
    means = sums / sizes
    is_turned = means[children[:, 0]] > means[children[:, 1]]
    children[is_turned] = children[is_turned][:, ::-1]
    first = np.zeros(2 * n_points - 1, dtype=np.intp)
    for node in range(2 * n_points - 2, n_points - 1, -1):
        a, b = children[node - n_points]
        first[a], first[b] = first[node], first[node] + sizes[a]
    return first, sizes, children
