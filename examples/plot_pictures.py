"""
Which picture: diffusion map, UMAP, t-SNE or Isomap
===================================================

A fit measures distances. How they become a picture is a second question, and one fit can be drawn
in several ways: ``model.embed`` returns other coordinates of the same distances. Here are 400
pictures of handwritten digits, with 30% of their pixels removed.
"""

from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from comanifold import CoManifold
from comanifold.datasets import remove_entries

X, digit = load_digits(return_X_y=True)
X, digit = remove_entries(X[:400], 0.3, random_state=0), digit[:400]
X = X[:, (X > 0).any(axis=0)]  # without pixels that are always white
model = CoManifold(n_jobs=2).fit(X)

# %%
# Two diffusion coordinates show the slowest changes, which separate two or three groups from the
# rest. For ten groups, take UMAP or t-SNE: they keep neighbours together and use the whole plane,
# but how far apart their groups are, and how large, means little. Isomap keeps long paths, which is
# right for a flat surface and not for groups. The number in each title tells how well k-means finds
# the digits in the picture (adjusted Rand index, 1 is best).

titles = {"diffusion": "diffusion map", "isomap": "Isomap", "tsne": "t-SNE", "umap": "UMAP"}
if find_spec("umap") is None:  # pip install 'comanifold[umap]'
    del titles["umap"]

figure, axes = plt.subplots(2, 2, figsize=(8.5, 8), layout="constrained")
for ax, (name, title) in zip(axes.flat, titles.items(), strict=False):
    points = model.embed(name)
    found = KMeans(10, n_init=10, random_state=0).fit_predict(points)
    ax.scatter(*points.T, c=digit, cmap="tab10", s=10)
    for which in range(10):
        ax.text(*np.median(points[digit == which], axis=0), str(which), weight="bold")
    ax.set(title=f"{title}: {adjusted_rand_score(digit, found):.2f}", xticks=[], yticks=[])
for ax in axes.flat[len(titles) :]:
    ax.axis("off")

# %%
# Orders and continua are better seen in a diffusion map, whose coordinates are smooth functions on
# the data, and it places new points. ``embed("mds")`` shows the distances as they are.
