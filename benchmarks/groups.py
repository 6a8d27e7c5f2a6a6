"""Clusters and pictures: whether groups that are there are found, and none where there are none.

1. Matrices whose rows have known groups, 0 to 70% missing: the adjusted Rand index (ARI) of
   - found: the clusters of CoManifold, which finds their number;
   - Louvain, eigengap: two ways to find the number on the 15-neighbour graph of the rows filled in
     by SoftImpute: modularity (scikit-network), and spectral clustering at the largest gap of the
     eigenvalues, 2 to 20 clusters;
   - of k: CoManifold(n_clusters=k) with the true number, and k-means on the diffusion map of the
     rows filled in by SoftImpute, with one coordinate less than groups;
   - picture: k-means on two coordinates, ours and those of SoftImpute with the same embedding
     (diffusion map; with --umap also UMAP).
   "share" is the CPU time of clusters and confidence, relative to the whole fit.
2. Matrices without groups: how often more than one cluster is found, rows and columns, 20 to 70%
   missing. Noise; effects of rows and columns; rank one; curves (smooth random functions, and
   a cosine); surfaces (distances between a helix and a sheet, with noise).

    python benchmarks/groups.py --jobs 2               # all, 3 masks; half an hour
    python benchmarks/groups.py --masks 1 --matrices wine,lung500 --null 0
    python benchmarks/groups.py --matrices none --null 40

lung500 needs COMANIFOLD_DATA or a download, pbmc68k_reduced scanpy, Louvain scikit-network. The
constants were chosen on the first half of the matrices and on the first three kinds without
groups; the others were looked at while the method was developed, so they are not unseen.
"""

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from bandwidth import FIRST_HALF, MATRICES, agreement, embed
from joblib import Parallel, delayed
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.cluster import SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph
from threadpoolctl import threadpool_limits

from comanifold import CoManifold
from comanifold._embedding.clusters import find_groups, point_confidence
from comanifold._fit.completion import complete_for_graphs
from comanifold.baselines import SoftImpute
from comanifold.datasets import make_curve, make_linkage, remove_entries

FRACTIONS = (0.0, 0.3, 0.5, 0.7)
NULL_FRACTIONS = (0.2, 0.45, 0.7)
N_NEIGHBORS = 15
MOST_CLUSTERS = 20
LEVEL = 0.05


def noise(rng):
    return rng.normal(size=(150, 60))


def rank_one(rng):
    return rng.normal(size=(150, 1)) * rng.normal(size=60) + 0.5 * rng.normal(size=(150, 60))


def random_curve(rng):
    return make_curve(150, 60, noise=0.4, random_state=int(rng.integers(2**31))).X


def effects(rng):
    return rng.normal(size=(150, 1)) + rng.normal(size=60) + rng.normal(size=(150, 60))


def cosine(rng):
    t, u = rng.uniform(0, 3, size=(150, 1)), rng.uniform(0, 3, size=60)
    return np.cos(t - u) + 0.3 * rng.normal(size=(150, 60))


def surface(rng):
    return make_linkage(150, 60, noise=0.7, random_state=int(rng.integers(2**31))).X


NULLS = {
    "noise": noise,
    "rank one": rank_one,
    "random curve": random_curve,
    "effects": effects,
    "cosine curve": cosine,
    "surface": surface,
}


def neighbor_graph(X):
    """Return the symmetric 15-neighbour graph of points."""
    graph = kneighbors_graph(X, N_NEIGHBORS)
    return graph.maximum(graph.T)


def louvain(graph):
    """Return clusters of largest modularity."""
    from sknetwork.clustering import Louvain

    return Louvain(random_state=0).fit_predict(sparse.csr_matrix(graph))


def eigengap(graph):
    """Return spectral clusters, their number from the largest gap of the eigenvalues."""
    root = np.sqrt(np.asarray(graph.sum(axis=1)).ravel())
    values = np.linalg.eigvalsh(graph.toarray() / np.outer(root, root))[::-1]
    n_clusters = 2 + int(np.argmax(values[1:MOST_CLUSTERS] - values[2 : MOST_CLUSTERS + 1]))
    model = SpectralClustering(n_clusters, affinity="precomputed", random_state=0)
    return model.fit_predict(graph.toarray())


def umap_picture(X):
    from umap import UMAP

    return UMAP(random_state=0, n_jobs=1).fit_transform(X)


def labelled(name, fraction, seed, with_umap):
    """Return the indices of all methods on one mask."""
    complete, labels = MATRICES[name](seed)
    state = 1000 * seed + round(100 * fraction)
    X = remove_entries(complete, fraction, random_state=state) if fraction else complete
    n_groups = len(np.unique(labels))
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        CoManifold().fit(remove_entries(noise(np.random.default_rng(0))[:40], 0.3, random_state=0))
        start = time.process_time()
        model = CoManifold().fit(X)
        fit_seconds = time.process_time() - start
        filled = SoftImpute().fit_transform(X) if fraction else X
        graph = neighbor_graph(filled)
        euclidean = cdist(filled, filled)
        of_soft = embed((euclidean + euclidean.T) / 2, "auto", max(2, n_groups - 1))
        scores = {
            "found": adjusted_rand_score(labels, model.row_labels_),
            "number": model.row_labels_.max() + 1,
            "Louvain": adjusted_rand_score(labels, louvain(graph)),
            "eigengap": adjusted_rand_score(labels, eigengap(graph)),
            "of k": adjusted_rand_score(labels, model.find_clusters("row", n_groups).labels),
            "of k, SoftImpute": agreement(of_soft[:, : n_groups - 1], labels),
            "picture": agreement(model.row_embedding_, labels),
            "picture, SoftImpute": agreement(of_soft[:, :2], labels),
            "share": cluster_seconds(X, model) / fit_seconds,
        }
        if with_umap:
            scores["umap"] = agreement(model.embed("umap", random_state=0), labels)
            scores["umap, SoftImpute"] = agreement(umap_picture(filled), labels)
    return {"matrix": name, "missing": fraction, "mask": seed, **scores}


def cluster_seconds(X, model):
    """Return the CPU seconds of clusters and confidence of both modes."""
    linear = complete_for_graphs(X) if np.isnan(X).any() else X
    filled = model.filled_ if np.isnan(X).any() else linear
    seconds = 0.0
    for turn, p_value in ((np.asarray, model.row_p_value_), (np.transpose, model.column_p_value_)):
        matrix = turn(filled)
        of_linear = matrix if filled is linear else turn(linear)
        start = time.process_time()
        found, _ = find_groups(matrix, of_linear, p_value)
        point_confidence(matrix, found, 0)
        seconds += time.process_time() - start
    return seconds


def without_groups(kind, seed):
    """Return whether more than one cluster of rows, and of columns, is found."""
    rng = np.random.default_rng([seed, *kind.encode()])
    fraction = NULL_FRACTIONS[seed % len(NULL_FRACTIONS)]
    X = remove_entries(NULLS[kind](rng), fraction, random_state=seed)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        model = CoManifold().fit(X)
    return {
        "kind": kind,
        "missing": fraction,
        "rows": model.row_labels_.max() > 0,
        "columns": model.column_labels_.max() > 0,
    }


def print_labelled(rows):
    """Print means by cell, by matrix and by half."""
    table = pd.DataFrame(rows).drop(columns="mask")
    cells = table.groupby(["matrix", "missing"], sort=False).mean()
    print(cells.round(2).to_string(), "\n")
    matrices = cells.groupby("matrix", sort=False).mean()
    matrices["rivals"] = cells[["Louvain", "eigengap"]].groupby("matrix", sort=False).mean().max(1)
    matrices["gap"] = matrices["found"] - matrices["rivals"]
    print(matrices.round(3).to_string(), "\n")
    halves = {"first half": matrices.index.isin(FIRST_HALF)}
    halves["second half"] = ~halves["first half"]
    halves["all"] = np.ones(len(matrices), dtype=bool)
    means = {name: matrices[half].mean() for name, half in halves.items() if half.any()}
    print(pd.DataFrame(means).T.round(3).to_string(), "\n")


def print_null(rows):
    """Print how often clusters were found where there are none."""
    table = pd.DataFrame(rows)
    counts = table.groupby("kind", sort=False).agg(
        matrices=("rows", "size"), rows=("rows", "sum"), columns=("columns", "sum")
    )
    print(counts.to_string())
    share = (counts["rows"].sum() + counts["columns"].sum()) / (2 * counts["matrices"].sum())
    print(f"more than one cluster in {share:.1%} of all modes (bound: {LEVEL:.0%})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--masks", type=int, default=3, help="masks per matrix and fraction")
    parser.add_argument("--matrices", default=",".join(MATRICES), help="names, or none")
    parser.add_argument("--null", type=int, default=20, help="matrices of each kind without groups")
    parser.add_argument("--umap", action="store_true", help="also pictures of UMAP")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    names = [] if options.matrices == "none" else options.matrices.split(",")
    unknown = [name for name in names if name not in MATRICES]
    if unknown:
        parser.error(f"--matrices must be among {', '.join(MATRICES)}; got {', '.join(unknown)}")
    run = Parallel(options.jobs)
    rows = run(
        delayed(labelled)(name, fraction, seed, options.umap)
        for name in names
        for fraction in FRACTIONS
        for seed in range(options.masks)
    )
    if rows:
        print_labelled(rows)
    rows = run(
        delayed(without_groups)(kind, seed) for kind in NULLS for seed in range(options.null)
    )
    if rows:
        print_null(rows)


if __name__ == "__main__":
    main()
