"""Which distances find the nearest neighbours if most entries are missing.

The graphs of the first pass of a fit are built from the matrix, filled in by a Gaussian model. Here
the five nearest rows and columns by distances between incomplete ones are compared with those in
the complete matrix: the share of them that is found, divided by the best share of the line, which
is in the last column.

- masked: over shared entries, as in the paper.
- raised, lowered, kernel: `RepairedDistances` that are increased only, decreased only, or of a
  corrected kernel matrix.
- completed: those of the filled-in matrix, as in a fit.

    python benchmarks/first_graphs.py                   # all, one mask each; three minutes
    python benchmarks/first_graphs.py --masks 3 --matrices linkage,curve --fractions 0.8

lung500 needs COMANIFOLD_DATA or a download.
"""

import argparse

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from comanifold import masked_distances
from comanifold._fit.completion import complete_for_graphs
from comanifold.baselines import RepairedDistances
from comanifold.datasets import (
    load_lung500,
    make_checkerboard,
    make_curve,
    make_linkage,
    make_linkage2,
    remove_entries,
)

N_NEIGHBORS = 5
REPAIRS = {"raised": "increase-only", "lowered": "decrease-only", "kernel": "kernel"}
METHODS = ("masked", *REPAIRS, "completed")


def digits():
    """Return 400 images by the pixels that vary."""
    X = load_digits().data[:400]
    return X[:, X.std(axis=0) > 0.25]


MATRICES = {
    "lung500": lambda _: load_lung500().X,
    "linkage": lambda seed: make_linkage(random_state=seed).X,
    "linkage2": lambda seed: make_linkage2(random_state=seed).X,
    "digits": lambda _: digits(),
    "curve": lambda seed: make_curve(300, 100, noise=0.3, random_state=seed).X,
    "checkerboard": lambda seed: make_checkerboard(noise=0.5, random_state=seed).X,
}


def nearest(distances):
    """Return which points are among the nearest of each, as a matrix of booleans."""
    D = np.array(distances)
    np.fill_diagonal(D, np.inf)
    found = np.zeros(D.shape, dtype=bool)
    np.put_along_axis(found, np.argsort(D, axis=1, kind="stable")[:, :N_NEIGHBORS], True, axis=1)
    return found


def distances_by_method(X, completed):
    """Return the distances between the rows of X by each method."""
    found = {"masked": masked_distances(X)}
    for name, method in REPAIRS.items():
        found[name] = RepairedDistances(method, 1).fit(X).distances_
    return found | {"completed": squareform(pdist(completed))}


def shares_found(name, fraction, seed):
    """Return the share of the neighbours that each method finds, for rows and columns."""
    complete = MATRICES[name](seed)
    complete = (complete - complete.mean()) / complete.std()
    X = remove_entries(complete, fraction, random_state=1000 * seed + round(100 * fraction))
    completed = complete_for_graphs(X)
    shares = []
    for Y, filled, whole in ((X, completed, complete), (X.T, completed.T, complete.T)):
        true = nearest(squareform(pdist(whole)))
        by_method = distances_by_method(Y, filled)
        shares.append([np.mean(nearest(by_method[method])[true]) for method in METHODS])
    return np.array(shares)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--masks", type=int, default=1)
    parser.add_argument("--matrices", default=",".join(MATRICES))
    parser.add_argument("--fractions", default="0.8,0.9,0.95")
    options = parser.parse_args()
    print(
        f"{'matrix':14s} missing  mode  ", *(f"{method:>9s}" for method in METHODS), " best found"
    )
    lines = []
    for name in options.matrices.split(","):
        for fraction in map(float, options.fractions.split(",")):
            masks = [shares_found(name, fraction, seed) for seed in range(options.masks)]
            for mode, shares in zip(("row", "column"), np.mean(masks, axis=0), strict=True):
                ratios = shares / shares.max()
                lines.append(ratios)
                numbers = " ".join(f"{ratio:9.2f}" for ratio in ratios)
                print(
                    f"{name:14s} {fraction:7.0%}  {mode:6s}", numbers, f"{shares.max():11.2f}",
                    flush=True,
                )  # fmt: skip
    for label, summary in (("mean", np.mean), ("worst", np.min)):
        numbers = " ".join(f"{value:9.2f}" for value in summary(lines, axis=0))
        print(f"{label:31s}", numbers)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
