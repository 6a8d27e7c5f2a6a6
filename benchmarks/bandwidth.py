"""Groups in diffusion maps of the same distances at different bandwidths.

Entries are removed from matrices whose rows have known groups, and CoManifold is fitted with its
defaults. Diffusion maps of its distances between rows, at different bandwidths, are compared by
the adjusted Rand index (ARI) of k-means with the true number of groups: on two coordinates, and
on as many as groups less one. "SoftImpute" are Euclidean distances of the matrix filled in by
SoftImpute, with the default bandwidth.

- auto: the default of DiffusionMap and CoManifold.
- local: the distance to the 7th to 10th neighbour.
- n/20: the distance to neighbour n/20, at least the 7th.
- median: one bandwidth, the median distance.

"gap" is the ARI of the default minus the best of local, n/20 and median in that cell. The second
table has points given by Euclidean distances, without missing entries: outliers, heavy tails,
points that have fused, unequal groups (ARI), and curves (rank correlation of the first coordinate
with the position along the curve). Means over the masks, or draws.

    python benchmarks/bandwidth.py                     # all, 5 masks; half an hour
    python benchmarks/bandwidth.py --masks 1 --matrices wine,linkage2 --fractions 0.5,0.9
    python benchmarks/bandwidth.py --masks 0           # second table only

lung500 needs COMANIFOLD_DATA or a download, pbmc68k_reduced needs scanpy.
"""

import argparse
import warnings
from importlib import import_module

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from comanifold import CoManifold, DiffusionMap
from comanifold.baselines import SoftImpute
from comanifold.datasets import (
    load_lung500,
    make_checkerboard,
    make_clusters,
    make_linkage2,
    remove_entries,
)

DEFAULT = "auto"
RIVALS = ("local", "n/20", "median")
SOFT = "SoftImpute"
N_DRAWS = 4


def lung500():
    bunch = load_lung500()
    return bunch.X.T, bunch.column_labels


def digits():
    """Return 600 images by the pixels that vary: a standard deviation over 0.25 in all images."""
    X, labels = load_digits(return_X_y=True)
    return X[:600, X.std(axis=0) > 0.25], labels[:600]


def pbmc():
    cells = import_module("scanpy").datasets.pbmc68k_reduced()
    return np.asarray(cells.X, dtype=float), cells.obs["bulk_labels"].to_numpy()


def standardised(load):
    X, labels = load(return_X_y=True)
    return scale(X), labels


def generated(bunch):
    return bunch.X, bunch.row_labels


MATRICES = {
    "lung500": lambda _: lung500(),
    "wine": lambda _: standardised(load_wine),
    "linkage2": lambda seed: generated(make_linkage2(random_state=seed)),
    "checkerboard": lambda seed: generated(make_checkerboard(noise=1.0, random_state=seed)),
    "digits": lambda _: digits(),
    "breast cancer": lambda _: standardised(load_breast_cancer),
    "pbmc68k_reduced": lambda _: pbmc(),
    "clusters": lambda seed: generated(make_clusters(random_state=seed)),
}

# The least neighbour and the low quantile of the default were chosen on the first half. The second
# was not unseen: the form of the rule, and the 25th neighbour as the farthest, were chosen with the
# results of both halves in view.
FIRST_HALF = ("lung500", "wine", "linkage2", "checkerboard")

FRACTIONS = dict.fromkeys(MATRICES, (0.0, 0.3, 0.5, 0.7))
FRACTIONS["lung500"] = FRACTIONS["linkage2"] = (0.0, 0.3, 0.5, 0.7, 0.9)


def embed(distances, bandwidth, n_components):
    """Return the coordinates of a diffusion map of precomputed distances."""
    if bandwidth == "n/20":
        bandwidth = ("local", max(7, len(distances) // 20))
    model = DiffusionMap(n_components, metric="precomputed", bandwidth=bandwidth)
    return model.fit_transform(distances)


def agreement(coordinates, labels):
    """Return the ARI of k-means with the true number of groups."""
    n_groups = len(np.unique(labels))
    found = KMeans(n_groups, n_init=20, random_state=0).fit_predict(coordinates)
    return adjusted_rand_score(labels, found)


def agreements(distances, bandwidth, labels):
    """Return the ARI on two coordinates, and on as many as groups less one."""
    n_less_one = len(np.unique(labels)) - 1
    coordinates = embed(distances, bandwidth, max(2, n_less_one))
    return [agreement(coordinates[:, :n], labels) for n in (2, n_less_one)]


def one_mask(name, fraction, seed):
    """Return the two indices of each method on one mask."""
    complete, labels = MATRICES[name](seed)
    state = 1000 * seed + round(100 * fraction)
    X = remove_entries(complete, fraction, random_state=state) if fraction else complete
    distances = CoManifold().fit(X).row_distances_
    filled = SoftImpute().fit_transform(X) if fraction else X
    euclidean = cdist(filled, filled)
    scores = [agreements(distances, bandwidth, labels) for bandwidth in (DEFAULT, *RIVALS)]
    return np.array([*scores, agreements((euclidean + euclidean.T) / 2, DEFAULT, labels)])


def print_matrices(names, fractions, n_masks):
    """Print a row for each matrix and missingness, and means over those of each half."""
    methods = (DEFAULT, *RIVALS, SOFT)
    print("ARI on two coordinates / on groups less one\n")
    print(f"{'matrix':16s} missing", *(f"{method:>11s}" for method in (*methods, "gap")))
    halves = {"first half": [], "second half": []}
    for name in names:
        for fraction in fractions or FRACTIONS[name]:
            masks = [one_mask(name, fraction, seed) for seed in range(n_masks)]
            scores = np.mean(masks, axis=0)
            gap = scores[0] - scores[1 : 1 + len(RIVALS)].max(axis=0)
            print(f"{name:16s} {fraction:7.0%}", *map(pair, scores), pair(gap, "+"), flush=True)
            halves["first half" if name in FIRST_HALF else "second half"].append([*scores, gap])
    for half, cells in halves.items():
        if cells:
            print(f"{half + ', mean':24s}", *map(pair, np.mean(cells, axis=0)))
            print(f"{half + ', worst gap':24s}", pair(np.min(cells, axis=0)[-1], "+"))


def pair(values, sign=""):
    return f"{values[0]:{sign}.2f}/{values[1]:{sign}.2f}".rjust(11)


def groups(seed, n_points=300, n_groups=4, n_features=20, apart=1.0, shares=None):
    """Return points of normal groups, and their labels."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(n_groups, n_points, p=shares)
    centres = apart * rng.normal(size=(n_groups, n_features))
    return centres[labels] + rng.normal(size=(n_points, n_features)), labels


def with_outliers(seed, n_outliers):
    X, labels = groups(seed, n_points=200)
    X[:n_outliers] += 8.0 * np.random.default_rng(seed + 1).normal(size=(n_outliers, X.shape[1]))
    return X, labels


def heavy_tails(seed):
    X, labels = groups(seed, apart=1.3)
    rng = np.random.default_rng(seed + 1)
    centres = np.array([X[labels == label].mean(axis=0) for label in labels])
    return centres + rng.standard_t(3, size=X.shape), labels


def fused(seed, n_alike):
    """Return groups in which half of the points are equal to others but for a thousandth."""
    X, labels = groups(seed, n_points=240, n_groups=3, n_features=10, apart=1.3)
    rng = np.random.default_rng(seed + 1)
    for label in range(3):
        members = np.flatnonzero(labels == label)
        half = members[: len(members) // 2]
        for start in range(0, len(half), n_alike):
            some = half[start : start + n_alike]
            X[some] = X[some[0]] + 1e-4 * rng.normal(size=(len(some), X.shape[1]))
    return X, labels


def curve(seed, n_points, turns, radius=None):
    """Return points along an arc (or a spiral, if the radius grows), and their positions."""
    rng = np.random.default_rng(seed)
    t = np.sort(rng.uniform(size=n_points))
    angle = 2 * np.pi * turns * t
    r = 1.0 if radius is None else 1.0 + radius * t
    X = np.zeros((n_points, 20))
    X[:, 0], X[:, 1] = r * np.cos(angle), r * np.sin(angle)
    return X + 0.02 * rng.normal(size=X.shape), t


POINTS = {
    "10 groups": lambda seed: groups(seed, n_points=400, n_groups=10, apart=1.2),
    "3 groups, 40 points": lambda seed: groups(seed, 40, 3, n_features=30, apart=0.7),
    "shares .70 .20 .10": lambda seed: groups(seed, n_groups=3, shares=[0.7, 0.2, 0.1]),
    "shares .80 .17 .03": lambda seed: groups(seed, n_groups=3, shares=[0.8, 0.17, 0.03]),
    "heavy tails": heavy_tails,
    "3 outliers": lambda seed: with_outliers(seed, 3),
    "10 outliers": lambda seed: with_outliers(seed, 10),
    "half fused, sets of 9": lambda seed: fused(seed, 9),
    "half fused, sets of 12": lambda seed: fused(seed, 12),
    "half fused, sets of 20": lambda seed: fused(seed, 20),
}

CURVES = {
    "arc, 60 points": lambda seed: curve(seed, 60, turns=0.85),
    "arc, 300 points": lambda seed: curve(seed, 300, turns=0.85),
    "arc, 900 points": lambda seed: curve(seed, 900, turns=0.85),
    "spiral, 300 points": lambda seed: curve(seed, 300, turns=1.5, radius=2.0),
    "spiral, 900 points": lambda seed: curve(seed, 900, turns=1.5, radius=2.0),
}


def print_points():
    """Print the means over draws of points without missing entries."""
    methods = (DEFAULT, *RIVALS)
    print(f"\n{'points':24s}", *(f"{method:>11s}" for method in methods))
    for name, draw in POINTS.items():
        drawn = [draw(seed) for seed in range(N_DRAWS)]
        scores = [
            np.mean([agreements(cdist(X, X), method, labels) for X, labels in drawn], axis=0)
            for method in methods
        ]
        print(f"{name:24s}", *map(pair, scores), flush=True)
    for name, draw in CURVES.items():
        drawn = [draw(seed) for seed in range(N_DRAWS)]
        scores = [
            np.mean([in_order(cdist(X, X), method, t) for X, t in drawn]) for method in methods
        ]
        print(f"{name:24s}", *(f"{score:11.2f}" for score in scores), flush=True)


def in_order(distances, bandwidth, positions):
    """Return the rank correlation of the first coordinate with the positions, without sign."""
    return abs(spearmanr(embed(distances, bandwidth, 1)[:, 0], positions).statistic)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--masks", type=int, default=5, help="masks per matrix and fraction")
    parser.add_argument("--matrices", default=",".join(MATRICES), help="names, with commas")
    parser.add_argument("--fractions", default="", help="missing fractions, with commas")
    options = parser.parse_args()
    names = options.matrices.split(",")
    unknown = [name for name in names if name not in MATRICES]
    if unknown:
        parser.error(f"--matrices must be among {', '.join(MATRICES)}; got {', '.join(unknown)}")
    fractions = [float(part) for part in options.fractions.split(",") if part]
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # disconnected affinities, empty rows
        if options.masks > 0:
            print_matrices(names, fractions, options.masks)
        print_points()


if __name__ == "__main__":
    main()
