"""
Clusters at every scale: trees of rows and columns
==================================================

Along the scales rows fuse, and columns do: at the finest nothing, at the coarsest everything. With
``keep_scales=True`` a fit keeps all of that. As clusters are nested, they form a tree, which is
handed over as a linkage matrix of SciPy.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.cluster.hierarchy import dendrogram, fcluster
from sklearn.metrics import adjusted_rand_score

from comanifold import CoManifold
from comanifold.datasets import remove_entries

# Two families of three kinds each, and three groups of columns.
rng = np.random.default_rng(0)
kind, group = rng.integers(6, size=48), rng.integers(3, size=40)
levels = 2.0 * rng.normal(size=(2, 3))[[0, 0, 0, 1, 1, 1]] + 0.7 * rng.normal(size=(6, 3))
X = levels[np.ix_(kind, group)] + 0.6 * rng.normal(size=(48, 40))
X = remove_entries(X, 0.4, random_state=0)
model = CoManifold(keep_scales=True).fit(X)

# %%
# The rows from left to right, and the row cost at which they fuse upwards. Where the tree has no
# branching for long is a number of clusters that the data suggest.

figure, (ax, grid) = plt.subplots(
    1, 2, figsize=(11, 3.8), layout="constrained", width_ratios=[2, 1]
)
costs = np.log2(model.row_linkage_[:, 2])
shown = model.row_linkage_.copy()
shown[:, 2] = costs - costs.min() + 1
dendrogram(shown, ax=ax, labels=np.array(list("abcdef"))[kind], color_threshold=0, leaf_font_size=8)
ax.set(
    title="rows: kinds a, b, c of one family, d, e, f of the other",
    ylabel="doublings of the row cost",
    yticks=[],
)

l, k = (np.array([getattr(scale, name) for scale in model.scales_]) for name in "lk")
n_clusters = np.array([scale.n_row_clusters for scale in model.scales_])
points = grid.scatter(k, l, c=np.log2(n_clusters), marker="s", s=70, cmap="viridis")
grid.set(title="row clusters at each pair of costs", xlabel="k: columns", ylabel="l: rows")
figure.colorbar(points, ax=grid, label="number of row clusters, log2")

# %%
# Cut into as many clusters as there are families, kinds and groups:

for name, tree, truth in (
    ("families of rows", model.row_linkage_, kind // 3),
    ("kinds of rows", model.row_linkage_, kind),
    ("groups of columns", model.column_linkage_, group),
):
    found = fcluster(tree, len(set(truth)), "maxclust")
    print(f"{name}: adjusted Rand index {adjusted_rand_score(truth, found):.2f}")
