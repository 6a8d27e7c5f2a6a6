"""
Many rows: sparse distances
===========================

All distances between 50,000 rows would take 20 gigabytes. With ``distances="sparse"``, the default
for more than 3,000 rows or columns, only the distances of each row to its nearest rows and to a few
others, at even steps from near to far, are computed.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import spearmanr

from comanifold import CoManifold
from comanifold.datasets import make_curve, remove_entries

data = make_curve(600, 50, noise=0.3, random_state=0)
X = remove_entries(data.X, 0.5, random_state=0)
models = {kind: CoManifold(distances=kind).fit(X) for kind in ("dense", "sparse")}

# %%
# The embedding is the same, with a fraction of the memory, which grows linearly with the number of
# rows and not with its square.

figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
for ax, (kind, model) in zip(axes, models.items(), strict=True):
    distances = model.row_distances_
    size = distances.nbytes if kind == "dense" else distances.data.nbytes + distances.indices.nbytes
    ax.scatter(*model.row_embedding_.T, c=data.row_position[:, 0], cmap="plasma", s=6)
    ax.set(title=f"{kind}: {size / 1e6:.1f} MB of distances", xticks=[], yticks=[])

# %%
# The distances that are computed are nearly those of the dense fit: the scales have similar
# weights, and the first graphs come from the same completed matrix.

kept = models["sparse"].row_distances_.tocoo()
of_all = models["dense"].row_distances_[kept.row, kept.col]
print(f"{kept.nnz / len(X) ** 2:.0%} of all pairs have a stored distance")
print(f"rank correlation with the dense distances: {spearmanr(kept.data, of_all).statistic:.4f}")
print(f"largest relative difference: {np.max(np.abs(kept.data - of_all)) / of_all.max():.1e}")
