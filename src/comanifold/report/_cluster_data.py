"""The clusters that the page can show, and what distinguishes them in a very large matrix."""

from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from ._packing import pack

if TYPE_CHECKING:
    from ..co_manifold import CoManifold

# Numbers of clusters for which k-means is computed, and for how many entries at most: with their
# confidence, all of them take about as long as the rest of the page.
_K_MEANS = range(2, 11)
_MAX_K_MEANS = 100_000

# Columns that are listed for each cluster of a matrix that is too large for the page.
_N_LISTED = 50


def cluster_data(model: "CoManifold", mode: str) -> dict[str, Any]:
    """Return the clusters of the rows or columns, in the organised order.

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
        "tree": _tree(model, mode) if hasattr(model, f"{mode}_linkage_") else None,
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


def _tree(model: "CoManifold", mode: str) -> dict[str, str]:
    """Return the pairs of nodes that are joined; leaves are places in the organised order."""
    order = getattr(model, f"{mode}_order_")
    nodes = getattr(model, f"{mode}_linkage_")[:, :2].astype(np.intp)
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    is_leaf = nodes < len(order)
    return pack(np.where(is_leaf, place[np.where(is_leaf, nodes, 0)], nodes), "Int32Array")


def distinguishing_data(model: "CoManifold", mode: str) -> list[dict[str, list[Any]]]:
    """Return the columns (or rows) that best distinguish each cluster found, in their order.

    The tables are those of ``model.distinguishing(mode)``; "place" is where a column is in the
    organised order.
    """
    order = getattr(model, f"{'column' if mode == 'row' else 'row'}_order_")
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    table = model.distinguishing(mode)
    names = ("effect", "standard_error", "certain", "inside", "outside", "n_inside", "n_outside")
    found = []
    for cluster in range(model.find_clusters(mode).n_clusters):
        lines = np.flatnonzero(table["cluster"] == cluster)[:_N_LISTED]
        columns = {name: table[name][lines].tolist() for name in names}
        found.append({"place": place[table["index"][lines]].tolist(), **columns})
    return found
