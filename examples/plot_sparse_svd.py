"""
A few rows and columns stand out: sparse SVD
============================================

Most rows and columns of this matrix are nothing but noise. CoManifold describes all of them, and
hardly sees the smaller of two blocks. ``SparseSVD`` looks for blocks: each of its layers has a few
rows and columns, and exact zeros elsewhere. (For blocks that overlap or cover the matrix prefer
CoManifold: layers are not the blocks then, but mixtures of them.)
"""

import matplotlib.pyplot as plt
import numpy as np

from comanifold import CoManifold
from comanifold.baselines import SparseSVD
from comanifold.datasets import remove_entries

rng = np.random.default_rng(0)
blocks = np.zeros((300, 200))
blocks[20:45, 30:45] = 2.0
blocks[100:140, 90:105] = -2.0
X = remove_entries(blocks + rng.normal(size=blocks.shape), 0.3, random_state=0)
missing = np.isnan(X)

# %%
# Both find what they can in 70% of the entries, and are compared on the others. The error is 1 for
# zeros.

model = SparseSVD(2).fit(X)
for k in range(2):
    print("bicluster {}: {} rows and {} columns".format(k, *model.get_shape(k)))

figure, axes = plt.subplots(1, 3, figsize=(9, 4), layout="constrained", sharey=True)
shown = {"given": X, "CoManifold": CoManifold().fit(X).filled_, "SparseSVD": model.filled_}
for ax, (name, matrix) in zip(axes, shown.items(), strict=True):
    title = "given, 30% missing"
    if name != "given":
        error = np.linalg.norm((matrix - blocks)[missing]) / np.linalg.norm(blocks[missing])
        title = f"missing entries, {name}\nerror {error:.2f}"
        matrix = np.where(missing, matrix, np.nan)
    image = ax.imshow(matrix, cmap="RdBu_r", vmin=-2.5, vmax=2.5, aspect="auto")
    ax.set(title=title, xlabel="columns")
axes[0].set_ylabel("rows")
figure.colorbar(image, ax=axes, shrink=0.7)
