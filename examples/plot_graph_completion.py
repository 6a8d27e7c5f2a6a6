"""
Graphs that are known: completing ratings from communities of users and items
=============================================================================

CoManifold finds the geometry of rows and columns in the matrix itself. Sometimes it is known from
elsewhere: users who are friends, items of the same kind. If so little is observed that the matrix
alone does not show it, :class:`~comanifold.baselines.GraphCompletion` with the known graphs is the
better choice.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from comanifold import CoManifold
from comanifold.baselines import GraphCompletion
from comanifold.datasets import remove_entries

rng = np.random.default_rng(0)
user, item = np.sort(rng.integers(8, size=90)), np.sort(rng.integers(8, size=80))
ratings = rng.normal(size=(8, 8))[np.ix_(user, item)]


def friends(group):
    """Join each member of a group to about six others, and one in twenty to anybody."""
    alike = group[:, None] == group
    chance = np.where(alike, 6 / alike.sum(axis=1, keepdims=True), 0.2 / len(group))
    return sparse.csr_array(np.triu(rng.random(alike.shape) < chance, 1) * 1.0)


users, items = friends(user), friends(item)
known = {"row_graph": users + users.T, "column_graph": items + items.T}

# %%
# The error on entries that are missing, in standard deviations. With a twentieth of the entries
# observed, only the graphs help; with a fifth, CoManifold finds as much in the matrix itself, and
# with more than that it does better than graphs with some wrong edges.

observed = [0.05, 0.1, 0.2, 0.4]
models = {
    "comanifold": CoManifold(),
    "factors, no graphs": GraphCompletion("factors", row_cost=0, column_cost=0),
    "factors, known graphs": GraphCompletion("factors", **known),
}
errors = {name: [] for name in models}
for share in observed:
    noisy = ratings + 0.2 * rng.normal(size=ratings.shape)
    X = remove_entries(noisy, 1 - share, random_state=0)
    for name, model in models.items():
        difference = (model.fit(X).filled_ - ratings)[np.isnan(X)]
        errors[name].append(np.sqrt(np.mean(difference**2)) / ratings.std())

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for name, values in errors.items():
    ax.plot(observed, values, marker="o", label=name)
ax.set(xscale="log", ylim=0, xlabel="share of entries observed", ylabel="error on missing entries")
ax.set_xticks(observed, [f"{share:.0%}" for share in observed], minor=False)
ax.minorticks_off()
ax.legend()
