"""
Convex clustering of one mode, and the gain of smoothing both
=============================================================

With a linear penalty the objective is convex. If one of its costs is zero, it is convex clustering
of the other mode; with both costs positive, it is convex biclustering. The error on missing entries
shows the gain of smoothing both modes at once.
"""

import matplotlib.pyplot as plt
import numpy as np

from comanifold import CoCluster
from comanifold.datasets import make_checkerboard, remove_entries

data = make_checkerboard(60, 50, noise=0.8, random_state=0)
X = remove_entries(data.X, 0.5, random_state=0)
truth = data.levels[np.ix_(data.row_labels, data.column_labels)]
missing = np.isnan(X)
costs = 2.0 ** np.arange(-4, 4.5, 0.5)


def error(row_cost, column_cost):
    model = CoCluster(row_cost, column_cost, penalty="linear", tol=1e-4).fit(X)
    assert model.certificate_.gap <= 1e-4  # a proof, not an estimate
    return np.sqrt(np.mean((model.estimate_ - truth)[missing] ** 2))


# %%
# Every point of the curves has a certificate: its objective is at most 0.01% above the minimum.

figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
ax.plot(costs, [error(cost, 0) for cost in costs], label="rows only: convex clustering")
ax.plot(costs, [error(0, cost) for cost in costs], label="columns only")
ax.plot(costs, [error(cost, cost) for cost in costs], label="both: convex biclustering")
ax.axhline(np.std(truth[missing]), color="grey", linestyle=":", label="mean of all entries")
ax.set(xscale="log", xlabel="cost", ylabel="error of missing entries", ylim=(0, None))
ax.legend()
