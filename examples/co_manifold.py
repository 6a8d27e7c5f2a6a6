"""The geometry of the rows and of the columns of a matrix with half of its entries missing.

Every entry is the distance between a point of a spiral (a row) and a point of a bent sheet inside
it (a column), with noise. Rows and columns are shuffled and half of the entries removed. From what
is left, the spiral is found again as a curve, the sheet as a surface, and the matrix is put in
order and filled in.
"""

import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.manifold import trustworthiness

from comanifold import CoManifold

OUT = Path("results") / "demo"


def make_linkage(rng, n_rows=200, noise=0.1):
    """Distances between a spiral and a sheet, and where on them the points are."""
    t = rng.uniform(size=n_rows)
    cells = np.indices((15, 10)).reshape(2, -1)[:, rng.permutation(150)]
    u, v = 2 * (cells + rng.uniform(size=cells.shape)) / [[15], [10]] - 1
    angle = 3 * np.pi * t
    spiral = np.column_stack([2 * np.cos(angle), 2 * np.sin(angle), 6 * t - 3])
    sheet = np.column_stack([1.5 * u, 1.5 * v, 0.5 * (u**2 - v**2)])
    X = np.linalg.norm(spiral[:, None] - sheet, axis=2)
    return X + noise * X.std() * rng.normal(size=X.shape), t, u, v


def draw(X, incomplete, model, t, u, v):
    """The matrix as given, organised and filled in, and both embeddings."""
    organised = np.ix_(model.row_order_, model.column_order_)
    panels = {
        "what was given: shuffled, half missing": incomplete,
        "organised": incomplete[organised],
        "organised and filled in": model.filled_[organised],
        "the truth in that order (not shown to it)": X[organised],
    }
    colours = plt.get_cmap("viridis").with_extremes(bad="white")
    figure = plt.figure(figsize=(14, 8.5), layout="constrained")
    top, bottom = figure.subfigures(2, 1, height_ratios=[1.0, 1.0])
    axes = top.subplots(1, 4)
    for ax, (title, matrix) in zip(axes, panels.items(), strict=True):
        image = ax.imshow(
            matrix,
            cmap=colours,
            vmin=X.min(),
            vmax=X.max(),
            aspect="auto",
            interpolation="nearest",
        )
        ax.set(title=title, xlabel="columns", xticks=[], yticks=[])
        ax.title.set_fontsize(10)
    axes[0].set_ylabel("rows")
    top.colorbar(image, ax=axes, shrink=0.8, label="value (white: missing)")

    scatters = [
        ("rows", model.row_embedding_, "position on the spiral", t),
        ("columns", model.column_embedding_, "position along the sheet", u),
        ("columns", model.column_embedding_, "position across the sheet", v),
    ]
    for ax, (mode, points, label, colour) in zip(bottom.subplots(1, 3), scatters, strict=True):
        shown = ax.scatter(*points.T, c=colour, cmap="plasma", s=18)
        ax.set(title=f"the {mode}", xlabel="first coordinate", ylabel="second coordinate")
        ax.set_xticks([])
        ax.set_yticks([])
        bottom.colorbar(shown, ax=ax, shrink=0.8, label=label)
    return figure


def main():
    rng = np.random.default_rng(0)
    X, t, u, v = make_linkage(rng)
    missing = rng.random(X.shape) < 0.5
    incomplete = np.where(missing, np.nan, X)

    print("Compiling and solving (the first run compiles; later ones use the cache) ...")
    start = time.perf_counter()
    model = CoManifold().fit(incomplete)
    seconds = time.perf_counter() - start

    def error(estimate):
        return np.sqrt(np.mean((estimate - X)[missing] ** 2)) / X.std()

    kept_rows = trustworthiness(t[:, None], model.row_embedding_)
    kept_columns = trustworthiness(np.column_stack([u, v]), model.column_embedding_)
    print(f"{X.shape[0]} x {X.shape[1]} matrix, {missing.mean():.0%} missing: {seconds:.2f} s")
    print(f"{len(model.scales_)} pairs of scales solved, from nothing fused to one cluster")
    print(f"neighbours kept (trustworthiness): rows {kept_rows:.3f}, columns {kept_columns:.3f}")
    print(
        f"error of the filled-in entries, in standard deviations: {error(model.filled_):.2f} "
        f"(the noise alone: 0.10; filling in the mean: {error(np.nanmean(incomplete)):.2f})"
    )
    worst = max(scale.certificate.stationarity for scale in model.scales_)
    print(f"largest stationarity residual over all scales {worst:.0e}")

    OUT.mkdir(parents=True, exist_ok=True)
    draw(X, incomplete, model, t, u, v).savefig(OUT / "co_manifold.png", dpi=120)
    for name in ("row_embedding", "column_embedding", "filled"):
        np.savetxt(OUT / f"{name}.csv", getattr(model, f"{name}_"), delimiter=",", fmt="%.6g")
    print(f"\nThe picture: {OUT / 'co_manifold.png'}")
    print(f"Embeddings and the filled-in matrix: {OUT / '*.csv'}")


if __name__ == "__main__":
    main()
