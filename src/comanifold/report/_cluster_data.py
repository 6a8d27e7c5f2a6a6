"""The clusters that the page can show, and what distinguishes them in a very large matrix."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ._packing import pack

if TYPE_CHECKING:
    from ..co_manifold import CoManifold

Array = NDArray[np.float64]
Labels = NDArray[np.intp]

# Numbers of clusters for which k-means is computed, and for how many entries at most: with their
# confidence, all of them take about as long as the rest of the page.
_K_MEANS = range(2, 11)
_MAX_K_MEANS = 100_000

# Columns that are listed for each cluster of a matrix that is too large for the page.
_N_LISTED = 50


def cluster_data(model: "CoManifold", mode: str, linkage: Array | None) -> dict[str, Any]:
    """Return the clusters of the rows or columns, in the organised order.

    Parameters
    ----------
    model : CoManifold
    mode : {"row", "column"}
    linkage : ndarray or None
        ``model.row_linkage_`` or ``model.column_linkage_``, which take seconds for very many
        points; None if the scales were not kept.

    Returns
    -------
    clusters : dict
        "found": those of the fit. "k_means": those of ``model.find_clusters(mode, k)`` for several
        k, None for a large matrix. "tree": which nodes are joined, the first first, for
        ``model.cut``; None if the scales were not kept. Labels count from 0; -1 where nothing is
        observed.
    """
    order = getattr(model, f"{mode}_order_")
    found = model.find_clusters(mode)
    return {
        "found": {
            "labels": pack(found.labels[order], "Int32Array"),
            "confidence": found.confidence,
            "point_confidence": pack(found.point_confidence[order], "Float32Array"),
        },
        "k_means": _k_means(model, mode) if model.data_.size <= _MAX_K_MEANS else None,
        "tree": None if linkage is None else pack(_joined(linkage, order), "Int32Array"),
    }


def _k_means(model: "CoManifold", mode: str) -> dict[str, Any] | None:
    """Return the clusters for several numbers of them; None if there are too few points."""
    order = getattr(model, f"{mode}_order_")
    n_points = len(order) - len(getattr(model, f"unobserved_{mode}s_"))
    numbers = [k for k in _K_MEANS if k <= n_points]
    if not numbers:
        return None
    # Threads cost more than they save for small matrices.
    with threadpool_limits(1):
        clusters = [model.find_clusters(mode, k) for k in numbers]
    return {
        "numbers": numbers,
        "labels": pack([one.labels[order] for one in clusters], "Int32Array"),
        "confidence": [one.confidence for one in clusters],
    }


def _joined(linkage: Array, order: Labels) -> Labels:
    """Return the pairs of nodes that are joined; leaves are places in the organised order."""
    nodes = linkage[:, :2].astype(np.intp)
    is_leaf = nodes < len(order)
    return np.where(is_leaf, _places(order)[np.where(is_leaf, nodes, 0)], nodes)


def _places(order: Labels) -> Labels:
    """Return where each point is in an order."""
    places = np.empty(len(order), dtype=np.intp)
    places[order] = np.arange(len(order))
    return places


def distinguishing_data(model: "CoManifold", mode: str) -> list[dict[str, list[Any]]]:
    """Return the columns (or rows) that best distinguish each cluster found, in their order.

    The tables are those of ``model.distinguishing(mode)``; "place" is where a column is in the
    organised order.
    """
    order = getattr(model, f"{'column' if mode == 'row' else 'row'}_order_")
    places, table = _places(order), model.distinguishing(mode)
    names = ("effect", "standard_error", "certain", "inside", "outside", "n_inside", "n_outside")
    found = []
    for cluster in range(model.find_clusters(mode).n_clusters):
        lines = np.flatnonzero(table["cluster"] == cluster)[:_N_LISTED]
        columns = {name: table[name][lines].tolist() for name in names}
        found.append({"place": places[table["index"][lines]].tolist(), **columns})
    return found
