"""
Noise and nothing missing: the questionnaire and the tree metric
================================================================

Where nothing is missing, multi-scale distances are Euclidean ones, and noise in every column adds
to them. Distances over a partition tree of the columns compare means of similar columns, in which
noise cancels. ``baselines.Questionnaire`` builds such trees of rows and columns, each from the
other, and takes a fraction of the time; ``CoManifold(metric="tree")`` builds them from its own
distances. With half of the entries missing, the questionnaire, which does not fill them in, finds
fewer neighbours than ``CoManifold()``, unless noise hides nearly everything.
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
    "CoManifold": CoManifold(),
    'CoManifold, metric="tree"': CoManifold(metric="tree"),
    "Questionnaire": Questionnaire(),
}


def recall(distances):
    """The share of the ten nearest rows that are among the ten nearest positions."""
    apart = 1 - np.cos(position[:, None] - position)
    found, true = (np.argsort(d, axis=1)[:, 1:11] for d in (distances, apart))
    return np.mean([len(set(a) & set(b)) / 10 for a, b in zip(found, true, strict=True)])


# %%
# Noise grows from left to right. Of ten neighbours, one in eight would be found by chance.

levels = [1, 2, 4]
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", sharey=True)
for ax, fraction in zip(axes, (0.0, 0.5), strict=True):
    for name, model in methods.items():
        shares = []
        for level in levels:
            noise = np.random.default_rng(1).normal(size=response.shape)
            X = response + level * response.std() * noise
            X = remove_entries(X, fraction, random_state=0) if fraction else X
            shares.append(recall(model.fit(X).row_distances_))
        ax.plot(levels, shares, marker="o", label=name)
    title = "half of the entries missing" if fraction else "nothing missing"
    ax.set(title=title, xlabel="noise, in standard deviations of the responses", ylim=(0, 1))
axes[0].set_ylabel("share of true neighbours found")
axes[0].legend()
