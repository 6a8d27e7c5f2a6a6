"""
When missingness depends on the value
=====================================

A detector saturates, people do not report a high income: entries are missing *because* they are
large. No method can know that from the matrix alone. The embedding is still good, but filled-in
values are too low, and nothing in the data says so.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.manifold import trustworthiness

from comanifold import CoManifold
from comanifold.datasets import make_linkage, remove_entries

data = make_linkage(120, 120, noise=0.05, random_state=0)
spread = data.X.std()

# %%
# The same matrix with half of its entries removed, at random or with a probability that grows with
# the value. Filled-in values against the truth: points below the line are too low.

figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained", sharex=True, sharey=True)
for ax, pattern in zip(axes, ("random", "value"), strict=True):
    X = remove_entries(data.X, 0.5, pattern=pattern, random_state=0)
    missing = np.isnan(X)
    model = CoManifold().fit(X)
    off = (model.filled_ - data.X)[missing]
    ax.plot(data.X[missing], model.filled_[missing], ".", markersize=2)
    ax.axline((data.X.mean(),) * 2, slope=1, color="black", linewidth=1)
    ax.set(title=f'pattern="{pattern}"', xlabel="truth", ylabel="filled in", aspect="equal")
    kept = trustworthiness(data.row_position, model.row_embedding_)
    bias, error = off.mean() / spread, np.sqrt(np.mean(off**2)) / spread
    print(f"{pattern}: bias {bias:+.2f} and error {error:.2f}, in standard deviations;", end=" ")
    print(f"trustworthiness of the rows {kept:.3f}")
