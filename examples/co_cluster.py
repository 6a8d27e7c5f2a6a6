"""Co-cluster a matrix with half of its entries missing.

A checkerboard of 4 groups of rows and 3 groups of columns, with noise, its rows and columns
shuffled and half of it removed. The groups are found again, and the missing entries filled in.
"""

import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from comanifold import CoCluster

OUT = Path("results") / "demo"


def make_checkerboard(rng, n_rows=120, n_columns=90):
    """A noisy checkerboard, shuffled, and the groups of its rows and columns."""
    levels = np.array([[0.0, 3.0, 1.0], [2.0, -1.0, 3.0], [-2.0, 1.0, 0.0], [3.0, 2.0, -2.0]])
    rows = rng.integers(4, size=n_rows)
    columns = rng.integers(3, size=n_columns)
    return levels[np.ix_(rows, columns)] + 0.6 * rng.normal(size=(n_rows, n_columns)), rows, columns


def draw(X, incomplete, model):
    """The data as given, and organised by cluster: with its holes, filled in, and complete."""
    by_row = np.argsort(model.row_labels_, kind="stable")
    by_column = np.argsort(model.column_labels_, kind="stable")
    organised = np.ix_(by_row, by_column)
    panels = {
        "the data, half missing": incomplete,
        "organised by cluster": incomplete[organised],
        "filled in": model.filled_[organised],
        "the truth (not shown to the method)": X[organised],
    }
    colours = plt.get_cmap("viridis").with_extremes(bad="white")
    low, high = np.nanpercentile(incomplete, [1, 99])
    figure, axes = plt.subplots(1, 4, figsize=(14, 5), layout="constrained")
    for ax, (title, matrix) in zip(axes, panels.items(), strict=True):
        image = ax.imshow(
            matrix, cmap=colours, vmin=low, vmax=high, aspect="auto", interpolation="nearest"
        )
        ax.set(title=title, xlabel="columns", xticks=[], yticks=[])
        if title != "the data, half missing":
            for boundary in np.flatnonzero(np.diff(model.row_labels_[by_row])):
                ax.axhline(boundary + 0.5, color="black", linewidth=0.8)
            for boundary in np.flatnonzero(np.diff(model.column_labels_[by_column])):
                ax.axvline(boundary + 0.5, color="black", linewidth=0.8)
    axes[0].set_ylabel("rows")
    figure.colorbar(image, ax=axes, shrink=0.8, label="value (white: missing)")
    return figure


def main():
    rng = np.random.default_rng(0)
    X, rows, columns = make_checkerboard(rng)
    missing = rng.random(X.shape) < 0.5
    incomplete = np.where(missing, np.nan, X)

    print("Compiling and solving (the first run compiles; later ones use the cache) ...")
    start = time.perf_counter()
    model = CoCluster(row_cost=4.0, column_cost=4.0).fit(incomplete)
    seconds = time.perf_counter() - start

    def error(estimate):
        return np.sqrt(np.mean((estimate - X)[missing] ** 2))

    print(f"{X.shape[0]} x {X.shape[1]} matrix, {missing.mean():.0%} missing: {seconds:.2f} s")
    print(
        f"row clusters    {model.row_labels_.max() + 1}, "
        f"agreement with the truth (ARI) {adjusted_rand_score(rows, model.row_labels_):.2f}"
    )
    print(
        f"column clusters {model.column_labels_.max() + 1}, "
        f"agreement with the truth (ARI) {adjusted_rand_score(columns, model.column_labels_):.2f}"
    )
    print(
        f"error of the filled-in entries {error(model.filled_):.2f} "
        f"(the noise alone: 0.60; filling in the mean: {error(np.nanmean(incomplete)):.2f})"
    )
    print(
        f"{model.status_} in {model.n_iter_} iterations, "
        f"stationarity residual {model.certificate_.stationarity:.0e}"
    )

    OUT.mkdir(parents=True, exist_ok=True)
    draw(X, incomplete, model).savefig(OUT / "co_clustering.png", dpi=120)
    np.savetxt(OUT / "filled.csv", model.filled_, delimiter=",", fmt="%.6g")
    print(f"\nThe picture: {OUT / 'co_clustering.png'}\nThe filled-in matrix: {OUT / 'filled.csv'}")


if __name__ == "__main__":
    main()
