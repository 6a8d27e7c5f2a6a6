"""Accuracy of embeddings of incomplete matrices, against baselines.

The baselines fill in the matrix (by the mean, by nearest neighbours, by a low-rank matrix) or use
distances over shared columns, then embed by a diffusion map; or use Isomap on scikit-learn's
nan_euclidean distances. The same masks for every method, the same
diffusion map (local scaling) and the same k-means for all but Isomap, which embeds by itself.
"comanifold, Isomap" is Isomap on our distances.

All embeddings have two coordinates, our default. Groups are scored by the adjusted Rand index of
k-means, curves and surfaces by the share of the 10 nearest points in the embedding that are among
the 10 nearest by their true positions; missing entries by the root mean square error,
in standard deviations. The last column is our default minus the best baseline.

    python benchmarks/accuracy.py                     # 2 masks
    python benchmarks/accuracy.py --masks 5 --jobs 2  # the table in the documentation

lung500 needs COMANIFOLD_DATA.
"""

import argparse
import os
import warnings

import numpy as np
from joblib import Parallel, delayed
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.impute import KNNImputer
from sklearn.manifold import Isomap
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import nan_euclidean_distances

from comanifold import CoManifold, DiffusionMap, masked_distances
from comanifold.baselines import SoftImpute
from comanifold.datasets import (
    load_lung500,
    make_checkerboard,
    make_clusters,
    make_curve,
    make_linkage,
    remove_entries,
)

OURS = "comanifold"
BASELINES = ("masked", "Isomap", "mean filled", "KNN imputed", "SoftImpute")

# How to make each kind of matrix, and with how much noise.
KINDS = {
    "lung500": (load_lung500, {}),
    "clusters, low noise": (make_clusters, {"noise": 0.7}),
    "clusters, high noise": (make_clusters, {"noise": 2.0}),
    "curve, low noise": (make_curve, {"noise": 0.1}),
    "curve, high noise": (make_curve, {"noise": 0.8}),
    "surface, low noise": (make_linkage, {"n_columns": 150, "noise": 0.1}),
    "surface, high noise": (make_linkage, {"n_columns": 150, "noise": 0.7}),
    "checkerboard, low noise": (make_checkerboard, {"noise": 0.7}),
    "checkerboard, high noise": (make_checkerboard, {"noise": 2.5}),
}


def truths(data):
    """Return the groups or positions of the rows and of the columns, as far as known."""
    found = {}
    for mode in ("row", "column"):
        for kind in ("labels", "position"):
            if f"{mode}_{kind}" in data:
                found[f"{mode}s"] = data[f"{mode}_{kind}"]
    return found


def finite(distances):
    """Return the distances, with twice the largest for rows that share no column."""
    known = distances[np.isfinite(distances)]
    return np.where(np.isfinite(distances), distances, 2 * known.max())


def diffusion(distances, n_components):
    return DiffusionMap(n_components, metric="precomputed").fit_transform(finite(distances))


def isomap(distances, n_components):
    return Isomap(n_components=n_components, metric="precomputed").fit_transform(finite(distances))


def methods(X):
    """Return distances of rows and columns by method, and filled-in matrices by method."""
    filled = {
        "mean filled": np.where(np.isnan(X), np.nanmean(X, axis=0), X),
        "KNN imputed": KNNImputer(keep_empty_features=True).fit_transform(X),
        "SoftImpute": SoftImpute().fit_transform(X),
    }
    ours = CoManifold().fit(X)
    paper = CoManifold.as_in_the_paper().fit(X)
    nan_euclidean = [np.nan_to_num(nan_euclidean_distances(A), nan=np.inf) for A in (X, X.T)]
    by_distances = {
        OURS: (diffusion, ours.row_distances_, ours.column_distances_),
        "comanifold, Isomap": (isomap, ours.row_distances_, ours.column_distances_),
        "as in the paper": (diffusion, paper.row_distances_, paper.column_distances_),
        "masked": (diffusion, masked_distances(X), masked_distances(X.T)),
        "Isomap": (isomap, *nan_euclidean),
        **{name: (diffusion, cdist(F, F), cdist(F.T, F.T)) for name, F in filled.items()},
    }
    errors = {OURS: ours.filled_, "as in the paper": paper.filled_, **filled}
    return by_distances, errors


def score(embed, distances, truth):
    """Return the adjusted Rand index of groups, or the fraction of true neighbours."""
    points = embed(distances, 2)
    if truth.ndim == 1:
        n_groups = len(np.unique(truth))
        found = KMeans(n_groups, n_init=20, random_state=0).fit_predict(points)
        return adjusted_rand_score(truth, found)
    near, truly = (np.argsort(cdist(A, A), axis=1)[:, 1:11] for A in (points, truth))
    return np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(near, truly, strict=True)])


def one(kind, fraction, seed):
    """Return the scores of all methods on one mask."""
    make, parameters = KINDS[kind]
    data = make(**parameters) if kind == "lung500" else make(**parameters, random_state=seed)
    complete, truth = data.X, truths(data)
    X = remove_entries(complete, fraction, random_state=1000 * seed + round(100 * fraction))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by_distances, filled = methods(X)
        scores = {
            (name, mode): score(embed, rows if mode == "rows" else columns, labels)
            for name, (embed, rows, columns) in by_distances.items()
            for mode, labels in truth.items()
        }
    missing = np.isnan(X)
    for name, F in filled.items():
        scores[name, "error"] = np.sqrt(np.mean((F - complete)[missing] ** 2)) / np.nanstd(X)
    return scores


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--masks", type=int, default=2)
    parser.add_argument("--first-mask", type=int, default=0)
    parser.add_argument("--fractions", default="0.1,0.3,0.5,0.7,0.8,0.9")
    parser.add_argument("--kinds", default=None, help="such as lung500,curve")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    fractions = [float(fraction) for fraction in options.fractions.split(",")]
    kinds = [k for k in KINDS if k != "lung500" or os.environ.get("COMANIFOLD_DATA")]
    if options.kinds:
        kinds = [k for k in kinds if any(k.startswith(part) for part in options.kinds.split(","))]
    masks = range(options.first_mask, options.first_mask + options.masks)
    differences = []
    for kind in kinds:
        cases = [(kind, fraction, seed) for fraction in fractions for seed in masks]
        results = Parallel(n_jobs=options.jobs)(delayed(one)(*case) for case in cases)
        names = list(dict.fromkeys(name for name, _ in results[0]))
        for mode in dict.fromkeys(mode for _, mode in results[0]):
            shown = [name for name in names if (name, mode) in results[0]]
            print(f"\n{kind}: {mode} ({options.masks} masks)")
            print("missing  " + "  ".join(f"{name:>12}" for name in shown) + "   difference")
            for fraction in fractions:
                of = [r for c, r in zip(cases, results, strict=True) if c[1] == fraction]
                means = {name: np.mean([r[name, mode] for r in of]) for name in shown}
                sign = -1 if mode == "error" else 1
                of_baselines = [sign * means[name] for name in shown if name in BASELINES]
                difference = sign * means[OURS] - max(of_baselines)
                if mode != "error":
                    differences.append(difference)
                print(
                    f"{fraction:7.0%}  "
                    + "  ".join(f"{means[n]:{max(12, len(n))}.3f}" for n in shown)
                    + f"   {difference:+10.3f}",
                    flush=True,
                )
    differences = np.array(differences)
    print(
        f"\nOver {len(differences)} cells, the default minus the best baseline in each: "
        f"mean {differences.mean():+.3f}, no worse than 0.01 below in "
        f"{(differences >= -0.01).mean():.0%}, worst {differences.min():+.3f}"
    )


if __name__ == "__main__":
    main()
