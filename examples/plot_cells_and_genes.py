"""
Cells and genes of an AnnData object, side by side
==================================================

In single-cell data many transcripts escape detection, so that a zero may be a missing value. One
call embeds, groups and fills in cells and genes alike, and writes the results where scanpy looks
for them: those of the cells as usual, those of the genes in `varm`, `varp` and `var`.
"""

import anndata
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from comanifold import plotting
from comanifold.annotated import co_manifold

rng = np.random.default_rng(0)
kind, programme = rng.integers(4, size=300), rng.integers(5, size=120)
activity = rng.normal(1.5, 1.0, size=(4, 5))[kind] + rng.normal(0.0, 0.4, size=(300, 5))
X = np.log1p(rng.poisson(np.exp(activity[:, programme] + rng.normal(0.0, 0.3, size=120))))
X[rng.random(X.shape) < 0.5] = 0.0  # not detected
adata = anndata.AnnData(X)
adata.obs["kind"], adata.var["programme"] = kind, programme

# %%
# Zeros count as missing. Afterwards ``sc.pl.embedding(adata, basis="comanifold",
# color="comanifold_clusters")`` draws the cells, and the same with ``adata.T`` the genes; here they
# are drawn beside the filled-in matrix, which is ordered by the clusters of both.

co_manifold(adata, zeros="missing", embedding="tsne")
sides = {
    "cells": (adata.obsm["X_comanifold"], adata.obs, "kind"),
    "genes": (adata.varm["comanifold"], adata.var, "programme"),
}
plt.rcParams.update(plotting.STYLE)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
for ax, (name, (points, about, truth)) in zip(axes[::2], sides.items(), strict=True):
    clusters = about["comanifold_clusters"]
    plotting.embedding(points, labels=clusters, name="cluster", ax=ax)
    agreement = adjusted_rand_score(about[truth], clusters)
    ax.set_title(f"{len(points)} {name}\nagreement with the true {truth}s: {agreement:.2f}")

rows, columns = (
    np.lexsort((points[:, 0], about["comanifold_clusters"])) for points, about, _ in sides.values()
)
filled = adata.layers["comanifold_filled"][np.ix_(rows, columns)]
axes[1].imshow(filled, aspect="auto", interpolation="nearest")
share = np.mean(X == 0)
axes[1].set(
    title=f"filled in\n{share:.0%} of the entries were zero", xlabel="genes", ylabel="cells"
)
axes[1].set(xticks=[], yticks=[])
