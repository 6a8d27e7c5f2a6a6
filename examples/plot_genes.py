"""
Genes by patients, where each hospital measured different genes
===============================================================

Three hospitals have measured the same kinds of tumour with gene panels that overlap only in part. A
gene that is not on the panel of a hospital is missing for all of its patients. If missing values
are filled with the mean of the gene, patients look alike because they were in the same hospital.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import kneighbors_graph

from comanifold import CoManifold
from comanifold.baselines import FilledDiffusionMap

rng = np.random.default_rng(1)
n_genes, n_patients = 240, 90
programme, tumour = rng.integers(6, size=n_genes), rng.integers(4, size=n_patients)
activity = rng.normal(size=(6, 4))
X = activity[np.ix_(programme, tumour)] + 0.8 * rng.normal(size=(n_genes, n_patients))

hospital = rng.integers(3, size=n_patients)
on_panel = rng.random((n_genes, 3)) < 0.45
X[~on_panel[:, hospital]] = np.nan
X = X[on_panel.any(axis=1)]
print(f"{X.shape[0]} genes by {X.shape[1]} patients, {np.isnan(X).mean():.0%} missing")

# %%
# Patients are the columns. Of the ten nearest patients in the embedding, how many are from the same
# hospital? If hospitals do not matter, about a third.

embeddings = {
    "comanifold": CoManifold(n_components=3).fit(X).column_embedding_,
    "filled with the mean": FilledDiffusionMap("mean", 3).fit_transform(X.T),
}


def share(points, groups):
    nearest = kneighbors_graph(points, 10).nonzero()
    return np.mean(groups[nearest[0]] == groups[nearest[1]])


figure, axes = plt.subplots(2, 2, figsize=(8, 7), layout="constrained")
for row, (name, points) in zip(axes, embeddings.items(), strict=True):
    for ax, what, groups in zip(row, ("tumour", "hospital"), (tumour, hospital), strict=True):
        ax.scatter(points[:, 0], points[:, 1], c=groups, cmap="tab10", vmax=9, s=22)
        title = f"{name}, by {what}:\n{share(points, groups):.0%} of neighbours from the same"
        ax.set(title=title, xticks=[], yticks=[])
