"""
A few rows with thousands of columns: repair the distances
==========================================================

If rows have very many columns and only distances between the rows are wanted, filling in the matrix
is a detour. ``RepairedDistances`` measures them over shared columns and repairs what is wrong with
them, in a fraction of a second here. CoManifold takes much longer: it also embeds the columns and
predicts 400,000 values.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.manifold import trustworthiness

from comanifold import DiffusionMap, masked_distances
from comanifold.baselines import RepairedDistances
from comanifold.datasets import make_curve, remove_entries

data = make_curve(80, 5000, smoothness=0.3, noise=0.5, random_state=0)
X = remove_entries(data.X, 0.97, random_state=0)
pairs = np.triu_indices(len(X), 1)
complete = masked_distances(data.X)[pairs]
seen = ~np.isnan(X)
print(f"two rows share {np.median((seen @ seen.T.astype(int))[pairs]):.0f} of 5,000 columns")

# %%
# Distances over so few columns are noisy. "increase-only" raises them until the triangle inequality
# holds; "kernel" finds the nearest matrix of affinities that points can have.

distances = {"over shared columns": np.nan_to_num(masked_distances(X), posinf=np.nan)}
for method in ("increase-only", "kernel"):
    distances[f'"{method}"'] = RepairedDistances(method).fit(X).distances_

figure, axes = plt.subplots(1, 3, figsize=(9, 3.3), layout="constrained", sharex=True, sharey=True)
for ax, (name, matrix) in zip(axes, distances.items(), strict=True):
    known = np.isfinite(matrix[pairs])
    found, truth = matrix[pairs][known], complete[known]
    found = found * (found @ truth) / (found @ found)  # up to a factor
    error = np.linalg.norm(found - truth) / np.linalg.norm(truth)
    ax.plot(truth, found, ".", markersize=2)
    ax.axline((1, 1), slope=1, color="black", linewidth=1)
    ax.set(title=f"{name}: error {error:.2f}", xlabel="distance of complete rows")
    points = DiffusionMap(metric="precomputed").fit_transform(np.nan_to_num(matrix, nan=np.inf))
    kept = trustworthiness(data.row_position, points)
    print(f"{name}: trustworthiness of a diffusion map {kept:.2f}")
axes[0].set_ylabel("measured or repaired")
