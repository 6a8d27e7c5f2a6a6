"""
Noise and nothing missing: the questionnaire and the tree metric
================================================================

Where nothing is missing, multi-scale distances are Euclidean ones, and noise in every column adds
to them. Distances over a partition tree of the columns compare means of similar columns, in which
noise cancels. ``baselines.Questionnaire`` builds such trees of rows and columns, each from the
other, and takes a fraction of the time; ``CoManifold(metric="tree")`` builds them from its own
distances. With half of the entries missing, the questionnaire loses most of its lead: it does not
fill them in.
"""

import matplotlib.pyplot as plt
import numpy as np

from comanifold import CoManifold
from comanifold.baselines import Questionnaire
from comanifold.datasets import remove_entries

# Neurons with places on a circle that they respond to, at 80 positions of an animal.
rng = np.random.default_rng(0)
position, place = (np.sort(rng.uniform(0, 2 * np.pi, n)) for n in (80, 150))
response = np.exp(1.5 * (np.cos(position[:, None] - place) - 1))
methods = {
    "CoManifold": lambda: CoManifold(scale_weights="cost"),
    'CoManifold, metric="tree"': lambda: CoManifold(scale_weights="cost", metric="tree"),
    "Questionnaire": Questionnaire,
}


def recall(distances):
    """The share of the ten nearest rows that are among the ten nearest positions."""
    apart = 1 - np.cos(position[:, None] - position)
    found, true = (np.argsort(d, axis=1)[:, 1:11] for d in (distances, apart))
    return np.mean([len(set(a) & set(b)) / 10 for a, b in zip(found, true, strict=True)])


# %%
# Noise grows from left to right, in standard deviations of the responses.

levels = [0.5, 1, 2, 3, 4]
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", sharey=True)
for ax, fraction in zip(axes, (0.0, 0.5), strict=True):
    for name, make in methods.items():
        shares = []
        for level in levels:
            noise = np.random.default_rng(1).normal(size=response.shape)
            X = response + level * response.std() * noise
            X = remove_entries(X, fraction, random_state=0) if fraction else X
            shares.append(recall(make().fit(X).row_distances_))
        ax.plot(levels, shares, marker="o", label=name)
    ax.set(title=f"{fraction:.0%} missing", xlabel="noise", ylim=(0, 1))
axes[0].set_ylabel("true neighbours found")
axes[0].legend()
