"""The geometry of the rows and of the columns of a matrix with half of its entries missing.

Every entry is the distance between a point of a spiral (a row) and a point of a bent sheet inside
it (a column), with noise. Rows and columns are in no order and half of the entries removed. From
what is left, the spiral is found again as a curve, the sheet as a surface, and the matrix is put in
order and filled in.
"""

import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.manifold import trustworthiness

from comanifold import CoManifold, plotting
from comanifold.datasets import make_linkage, remove_entries

OUT = Path("results") / "demo"


def draw(model, data):
    """The whole result, and the embeddings coloured by where the points truly are."""
    figure = plt.figure(figsize=(12, 11), layout="constrained")
    result, truth = figure.subfigures(2, 1, height_ratios=[2.2, 1.0])
    model.plot(figure=result, name="distance")
    truth.suptitle("the same points, coloured by what was not shown to it")
    along, across = data.column_position.T
    for ax, mode, name, values in zip(
        truth.subplots(1, 3),
        ["rows", "columns", "columns"],
        ["position on the spiral", "position along the sheet", "position across the sheet"],
        [data.row_position[:, 0], along, across],
        strict=True,
    ):
        plotting.embedding(model, mode=mode, values=values, name=name, ax=ax)
    return figure


def main():
    data = make_linkage(200, 150, noise=0.1, random_state=0)
    X = data.X
    incomplete = remove_entries(X, 0.5, random_state=0)
    missing = np.isnan(incomplete)

    print("Compiling and solving (the first run compiles; later ones use the cache) ...")
    start = time.perf_counter()
    model = CoManifold().fit(incomplete)
    seconds = time.perf_counter() - start

    def error(estimate):
        return np.sqrt(np.mean((estimate - X)[missing] ** 2)) / X.std()

    kept_rows = trustworthiness(data.row_position, model.row_embedding_)
    kept_columns = trustworthiness(data.column_position, model.column_embedding_)
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
    with plt.rc_context(plotting.STYLE):
        draw(model, data).savefig(OUT / "co_manifold.png", dpi=120)
    for name in ("row_embedding", "column_embedding", "filled"):
        np.savetxt(OUT / f"{name}.csv", getattr(model, f"{name}_"), delimiter=",", fmt="%.6g")
    print(f"\nThe picture: {OUT / 'co_manifold.png'}")
    print(f"Embeddings and the filled-in matrix: {OUT / '*.csv'}")


if __name__ == "__main__":
    main()
