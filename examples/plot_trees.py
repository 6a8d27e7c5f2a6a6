"""
Clusters at every scale: trees of rows and columns
==================================================

As the costs grow, rows fuse and columns fuse, from nothing fused to one cluster. With
``keep_scales=True`` a fit keeps the clusters of every scale. They are nested and form a tree, which
is available as a SciPy linkage matrix; ``trees.PartitionTree.from_linkage`` turns it into folders,
for distances over the tree and Haar bases.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.cluster.hierarchy import dendrogram
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
# Left: the tree of the rows; the height is the row cost at which they fuse. Right: ``scales_`` is a
# dict of arrays with one element per pair of costs.

options = {"layout": "constrained", "width_ratios": [2, 1]}
figure, (ax, grid) = plt.subplots(1, 2, figsize=(11, 3.8), **options)
costs = np.log2(model.row_linkage_[:, 2])
shown = model.row_linkage_.copy()
shown[:, 2] = costs - costs.min() + 1
dendrogram(shown, ax=ax, labels=np.array(list("abcdef"))[kind], color_threshold=0, leaf_font_size=8)
ax.set(title="rows: kinds a, b, c of one family, d, e, f of the other", yticks=[])
ax.set_ylabel("row cost at which they fuse, log scale")

scales = model.scales_
n_clusters = np.log2(scales["n_row_clusters"])
points = grid.scatter(scales["k"], scales["l"], c=n_clusters, marker="s", s=70, cmap="viridis")
grid.set(title="row clusters at each pair of costs", xlabel="k: columns", ylabel="l: rows")
powers = {"ticks": range(6), "format": lambda power, _: f"{2**power}"}
figure.colorbar(points, ax=grid, label="number of row clusters", **powers)

# %%
# How many clusters there is evidence for, and the trees cut into as many as were planted:

for mode in ("row", "column"):
    clusters = model.find_clusters(mode)
    print(f"{mode} clusters: {clusters.n_clusters}, with confidence {clusters.confidence:.2f}")
for name, mode, truth in (
    ("families of rows", "row", kind // 3),
    ("kinds of rows", "row", kind),
    ("groups of columns", "column", group),
):
    found = model.cut(mode, len(set(truth)))
    print(f"{name}: adjusted Rand index {adjusted_rand_score(truth, found):.2f}")
