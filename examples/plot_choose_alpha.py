"""
Which scales should count? Choosing alpha
=========================================

The distance between two rows is a weighted sum over all scales. The paper weighs a scale by the
power alpha of its two costs, with -1/2 throughout: the smaller alpha, the more fine scales count.
The default, ``alpha="auto"``, hides a tenth of the observed entries and lets each scale count by
how well it predicts them.
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
# The error of what is filled in, over alpha, for two matrices with 60% missing. Much depends on
# alpha for the curve, of which coarse scales know nothing, and little for the checkerboard. No one
# number is best for both; the learned weights are better than any for the first (they can also give
# some to a completion by a matrix of low rank), and close to the best for the second.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for ax, (name, data, noise) in zip(axes, kinds, strict=True):
    X = remove_entries(data.X, 0.6, random_state=1)
    missing = np.isnan(X)

    def error(alpha, X=X, missing=missing, truth=data.X):
        filled = CoManifold(alpha=alpha).fit(X).filled_
        return np.sqrt(np.mean((filled - truth)[missing] ** 2)) / truth.std()

    ax.plot(alphas, [error(alpha) for alpha in alphas], "o-", label="alpha as given")
    ax.axhline(error("auto"), color="tab:orange", label='alpha="auto"')
    ax.axhline(noise / data.X.std(), color="black", linestyle=":", label="the noise")
    ax.set(title=name, xlabel="alpha", ylabel="error, in standard deviations", ylim=(0, 1))
    ax.legend()
