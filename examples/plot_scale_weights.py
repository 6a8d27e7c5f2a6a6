"""
Which scales should count? Learned weights and weights by cost
==============================================================

The distance between two rows is a weighted sum over all scales. The paper gives a scale the weight
(row cost times column cost)^alpha with alpha = -1/2: the smaller alpha, the more fine scales count.
In comanifold this is ``scale_weights="cost"``. The default, ``scale_weights="learned"``, holds out
observed entries and finds the combination of scales, and of completions by a Gaussian model, that
predicts them best.
"""

import matplotlib.pyplot as plt
import numpy as np

from comanifold import CoManifold
from comanifold.datasets import make_checkerboard, make_curve, remove_entries

alphas = [-1.5, -1.0, -0.5, 0.0]
kinds = [
    ("a curve, little noise", make_curve(80, 60, noise=0.1, random_state=0), 0.1),
    ("a checkerboard, much noise", make_checkerboard(80, 60, noise=1.0, random_state=0), 1.0),
]

# %%
# The error of the filled-in entries against alpha, for two matrices with 60% missing. For the
# curve, which coarse scales do not resolve, much depends on alpha; for the checkerboard, little. No
# single alpha is best for both. The learned weights are better than any alpha for the curve (to
# which completions contribute), and close to the best for the checkerboard.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for ax, (name, data, noise) in zip(axes, kinds, strict=True):
    X = remove_entries(data.X, 0.6, random_state=1)
    missing = np.isnan(X)

    def error(model, X=X, missing=missing, truth=data.X):
        filled = model.fit(X).filled_
        return np.sqrt(np.mean((filled - truth)[missing] ** 2)) / truth.std()

    by_cost = [error(CoManifold(scale_weights="cost", alpha=alpha)) for alpha in alphas]
    ax.plot(alphas, by_cost, "o-", label='scale_weights="cost"')
    ax.axhline(error(CoManifold()), color="tab:orange", label='scale_weights="learned"')
    ax.axhline(noise / data.X.std(), color="black", linestyle=":", label="noise level")
    ax.set(title=name, xlabel="alpha", ylabel="error, in standard deviations", ylim=(0, 1))
    ax.legend()
