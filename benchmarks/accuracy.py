"""How well embeddings of incomplete matrices show what is known of the complete ones.

Ours against what one would do instead: fill in (by the mean, by nearest neighbours, by a matrix
of low rank), or measure distances on what two rows share, then embed by a diffusion map; or
Isomap on scikit-learn's nan_euclidean distances. The same masks for every method, the same
diffusion map (local scaling, 7th neighbour) and the same k-means for all but Isomap, which embeds
by itself. "comanifold, Isomap" is Isomap on our distances.

All embeddings have two coordinates, our default. Groups are scored by the adjusted Rand index of
k-means, curves and surfaces by the share of the 10 nearest points in the embedding that are among
the 10 nearest by what the points were made from; missing entries by the root mean square error,
in standard deviations. The last column is our default minus the best substitute.

    python benchmarks/accuracy.py                      # a quick look: 2 masks
    python benchmarks/accuracy.py --masks 10 --jobs 2  # the table in the documentation

lung500 needs COMANIFOLD_DATA.
"""

import argparse
import os
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.impute import KNNImputer
from sklearn.manifold import Isomap
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import nan_euclidean_distances

from comanifold import CoManifold, DiffusionMap, masked_distances
from comanifold.low_rank import LowRankCompletion
from comanifold.metrics import Hidden

OURS = "comanifold"
SUBSTITUTES = ("masked", "Isomap", "mean filled", "KNN imputed", "SoftImpute")


def lung500(_rng, _noise):
    lines = (Path(os.environ["COMANIFOLD_DATA"]) / "lung500.csv").read_text().splitlines()
    diagnoses = [name.strip('"').split("_")[0] for name in lines[0].split(",")[1:]]
    X = np.array([[float(x) for x in line.split(",")[1:]] for line in lines[1:]])
    return X, {"columns": np.unique(diagnoses, return_inverse=True)[1]}


def clusters(rng, noise):
    """Five groups of rows whose centres span three dimensions."""
    groups = rng.integers(5, size=200)
    centres = rng.normal(size=(5, 3)) @ rng.normal(size=(3, 100)) / np.sqrt(3)
    X = centres[groups] + {"low": 0.7, "high": 2.0}[noise] * rng.normal(size=(200, 100))
    return X, {"rows": groups}


def curve(rng, noise):
    """Rows along a curve: 150 smooth functions of one parameter."""
    t = np.sort(rng.random(200))
    covariance = np.exp(-0.5 * ((t[:, None] - t) / 0.15) ** 2) + 1e-8 * np.eye(200)
    X = np.linalg.cholesky(covariance) @ rng.normal(size=(200, 150))
    return X + {"low": 0.1, "high": 0.8}[noise] * rng.normal(size=X.shape), {"rows": t[:, None]}


def surface(rng, noise):
    """Distances between points of a helix (rows) and of a bent sheet (columns)."""
    t, u = rng.random(200), rng.random((150, 2))
    helix = np.column_stack([np.cos(6 * np.pi * t), np.sin(6 * np.pi * t), 3 * t - 1.5])
    radius, angle = 1.5 + 2 * u[:, 0], np.pi * u[:, 0]
    sheet = [radius * np.cos(angle), 4 * u[:, 1] - 2, radius * np.sin(angle)]
    X = cdist(helix, np.column_stack(sheet))
    X += {"low": 0.1, "high": 0.7}[noise] * X.std() * rng.normal(size=X.shape)
    return X, {"rows": t[:, None], "columns": u}


def checkerboard(rng, noise):
    """Four groups of rows by three of columns."""
    rows, columns = rng.integers(4, size=150), rng.integers(3, size=100)
    while True:
        levels = rng.normal(size=(4, 3))
        apart = [cdist(A, A)[np.triu_indices(len(A), 1)].min() for A in (levels, levels.T)]
        if min(apart) >= 1:
            break
    X = levels[np.ix_(rows, columns)]
    return X + {"low": 0.7, "high": 2.5}[noise] * rng.normal(size=X.shape), {
        "rows": rows,
        "columns": columns,
    }


KINDS = {
    "lung500": (lung500, ""),
    **{
        f"{make.__name__}, {noise} noise": (make, noise)
        for make in (clusters, curve, surface, checkerboard)
        for noise in ("low", "high")
    },
}


def remove(X, fraction, seed):
    """X without a part of its entries, at least two left in every row and column."""
    rng = np.random.default_rng([seed, int(1000 * fraction)])
    gone = rng.random(X.shape) < fraction
    for axis in (0, 1):
        view = gone if axis else gone.T
        for line in view:
            left = np.flatnonzero(~line)
            if len(left) < 2:
                line[rng.permutation(np.flatnonzero(line))[: 2 - len(left)]] = False
    return np.where(gone, np.nan, X)


def finite(distances):
    """Twice the largest distance between rows that share nothing."""
    known = distances[np.isfinite(distances)]
    return np.where(np.isfinite(distances), distances, 2 * known.max())


def diffusion(distances, n_components):
    return DiffusionMap(n_components, metric="precomputed").fit_transform(finite(distances))


def isomap(distances, n_components):
    return Isomap(n_components=n_components, metric="precomputed").fit_transform(finite(distances))


def methods(X):
    """Name -> for rows and columns, an embedding in as many coordinates as asked for."""
    mean, scale = np.nanmean(X), np.nanstd(X)
    standard = (X - mean) / scale
    low_rank = LowRankCompletion(Hidden(standard)).complete(standard)
    filled = {
        "mean filled": np.where(np.isnan(X), np.nanmean(X, axis=0), X),
        "KNN imputed": KNNImputer(keep_empty_features=True).fit_transform(X),
        "SoftImpute": scale * low_rank + mean,
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
    points = embed(distances, 2)
    if truth.ndim == 1:
        n_groups = len(np.unique(truth))
        found = KMeans(n_groups, n_init=20, random_state=0).fit_predict(points)
        return adjusted_rand_score(truth, found)
    near, truly = (np.argsort(cdist(A, A), axis=1)[:, 1:11] for A in (points, truth))
    return np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(near, truly, strict=True)])


def one(kind, fraction, seed):
    make, noise = KINDS[kind]
    complete, truth = make(np.random.default_rng(1000 + seed), noise)
    X = remove(complete, fraction, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by_distances, filled = methods(X)
        scores = {
            (name, mode): score(embed, rows if mode == "rows" else columns, labels)
            for name, (embed, rows, columns) in by_distances.items()
            for mode, labels in truth.items()
        }
    gone = np.isnan(X)
    for name, F in filled.items():
        scores[name, "error"] = np.sqrt(np.mean((F - complete)[gone] ** 2)) / np.nanstd(X)
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
                rivals = [sign * means[name] for name in shown if name in SUBSTITUTES]
                difference = sign * means[OURS] - max(rivals)
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
        f"\nOver {len(differences)} cells, the default minus the best of the substitutes in each: "
        f"mean {differences.mean():+.3f}, no worse than 0.01 below in "
        f"{(differences >= -0.01).mean():.0%}, worst {differences.min():+.3f}"
    )


if __name__ == "__main__":
    main()
