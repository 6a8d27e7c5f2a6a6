"""
A few rows with many columns: repair the distances
==================================================

If only distances between few rows are wanted, and nearly all of their many columns are missing,
filling in the matrix is a detour. ``RepairedDistances("kernel")`` measures distances over shared
columns and corrects them; here they are as close to the true ones as those of ``CoManifold``, in a
hundredth of the time. ``CoManifold`` still finds the neighbours better (printed below), and it
embeds the columns and predicts the missing values as well.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.manifold import trustworthiness

from comanifold import CoManifold, DiffusionMap, masked_distances
from comanifold.baselines import RepairedDistances
from comanifold.datasets import make_curve, remove_entries

data = make_curve(60, 1000, smoothness=0.3, noise=0.5, random_state=0)
X = remove_entries(data.X, 0.95, random_state=0)
pairs = np.triu_indices(len(X), 1)
complete = masked_distances(data.X)[pairs]
seen = ~np.isnan(X)
print(f"two rows share {np.median((seen @ seen.T.astype(int))[pairs]):.0f} of 1,000 columns")

# %%
# Distances over so few columns are noisy, and unknown for pairs that share none. "increase-only"
# raises them until the triangle inequality holds; "kernel" finds the nearest matrix of affinities
# that points can have.

methods = {
    "shared columns": masked_distances,
    '"increase-only"': lambda X: RepairedDistances("increase-only").fit(X).distances_,
    '"kernel"': lambda X: RepairedDistances("kernel").fit(X).distances_,
    "CoManifold": lambda X: CoManifold().fit(X).row_distances_,
}
figure, axes = plt.subplots(1, 4, figsize=(11, 3.3), layout="constrained", sharex=True, sharey=True)
for ax, (name, measure) in zip(axes, methods.items(), strict=True):
    started = time.perf_counter()
    distances = measure(X)
    seconds = time.perf_counter() - started
    known = np.isfinite(distances[pairs])
    found, truth = distances[pairs][known], complete[known]
    found = found * (found @ truth) / (found @ found)  # up to a factor
    error = np.linalg.norm(found - truth) / np.linalg.norm(truth)
    ax.plot(truth, found, ".", markersize=2)
    ax.axline((1, 1), slope=1, color="black", linewidth=1)
    ax.set(title=f"{name}:\nerror {error:.2f}, {seconds:.2f} s", xlabel="distance of complete rows")
    kept = trustworthiness(
        data.row_position, DiffusionMap(metric="precomputed").fit_transform(distances)
    )
    print(f"{name}: trustworthiness of a diffusion map {kept:.2f}")
axes[0].set_ylabel("measured distance, scaled")
