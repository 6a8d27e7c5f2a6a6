"""
One cost zero: convex clustering, and what the other mode adds
==============================================================

With a linear penalty the objective is convex, and with one of its costs at zero it is convex
clustering of the other mode: each cluster has a path that leads, as the cost grows, from its points
to their common mean. What is gained by smoothing both modes at once is seen on missing entries.
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
    assert model.certificate_.gap <= 1e-4  # proved, not hoped
    return np.sqrt(np.mean((model.estimate_ - truth)[missing] ** 2))


# %%
# Every point of the curves comes with a certificate: no estimate has an objective lower by more
# than a ten-thousandth.

figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
ax.plot(costs, [error(cost, 0) for cost in costs], label="rows only: convex clustering")
ax.plot(costs, [error(0, cost) for cost in costs], label="columns only")
ax.plot(costs, [error(cost, cost) for cost in costs], label="both: convex biclustering")
ax.axhline(np.std(truth[missing]), color="grey", linestyle=":", label="the mean of everything")
ax.set(xscale="log", xlabel="cost", ylabel="error of missing entries", ylim=(0, None))
ax.legend()
