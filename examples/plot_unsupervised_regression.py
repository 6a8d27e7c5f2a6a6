"""
Rows on a smooth sheet: when unsupervised regression is better
==============================================================

300 robot arms with two joints, 15 sensors, half of the readings lost. Every sensor is a smooth
function of the two angles, and sensors have nothing else in common. So there is no geometry of the
columns to learn from, and the rank of the matrix is high. `baselines.UnsupervisedRegression`
assumes just this: a smooth map from a few coordinates to the row.
"""

import matplotlib.pyplot as plt
import numpy as np

from comanifold import CoManifold
from comanifold.baselines import SoftImpute, UnsupervisedRegression
from comanifold.datasets import make_checkerboard, remove_entries

rng = np.random.default_rng(0)
angles = rng.uniform(size=(300, 2))
waves = np.cos(angles @ rng.normal(size=(2, 60)) / 0.4 + rng.uniform(0, 2 * np.pi, 60))
sensors = waves @ rng.normal(size=(60, 15))

# %%
# The opposite is a matrix of groups of rows by groups of columns: nothing is smooth, and each mode
# says something about the other. There `CoManifold` is better.

groups = make_checkerboard(100, 80, noise=0.0, random_state=0).X
matrices = {"rows on a sheet": sensors, "groups of both modes": groups}
methods = {
    "CoManifold": CoManifold(),
    "SoftImpute": SoftImpute(),
    "unsupervised regression": UnsupervisedRegression(random_state=0),
}
noise = {"rows on a sheet": 0.05, "groups of both modes": 1.0}
figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), width_ratios=(3, 3, 2), layout="constrained")
for ax, (title, clean) in zip(axes, matrices.items(), strict=False):
    noisy = clean + noise[title] * clean.std() * rng.normal(size=clean.shape)
    X = remove_entries(noisy, 0.5, random_state=0)
    missing = np.isnan(X)
    for name, model in methods.items():
        error = np.sqrt(np.mean((model.fit(X).filled_ - clean)[missing] ** 2)) / clean.std()
        bar = ax.barh(name, error, color="#D55E00" if name[0] == "u" else "#0072B2")
        ax.bar_label(bar, fmt="%.2f", padding=3)
    if clean is sensors:
        axes[2].scatter(*model.embedding_.T, c=angles[:, 0], cmap="plasma", s=12)
    ax.set(title=title, xlabel="error of missing entries, in standard deviations", xlim=(0, 0.8))
axes[1].set_yticks([])
axes[2].set(title="the sheet, by one angle", xticks=[], yticks=[])
