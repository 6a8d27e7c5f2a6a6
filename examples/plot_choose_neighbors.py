"""
Choosing a parameter by its score on held-out entries
=====================================================

``CoManifold.score`` holds out a tenth of the observed entries, fits to the rest, and returns minus
the error on the held-out entries, so that higher is better. Here it finds that ``n_neighbors``
should not exceed the size of the groups, which are of about eight rows and eight columns.
"""

import matplotlib.pyplot as plt
import numpy as np

from comanifold import CoManifold
from comanifold.datasets import make_checkerboard, remove_entries

data = make_checkerboard(80, 60, n_row_groups=10, n_column_groups=8, noise=0.5, random_state=0)
X = remove_entries(data.X, 0.5, random_state=0)
missing = np.isnan(X)
numbers = [2, 3, 5, 10, 20]

# %%
# Every number of neighbours is scored on the same two draws of held-out entries, given by
# ``random_state``; the bars are their standard deviations. From 2 to 5 neighbours the
# differences are much smaller than these and mean nothing. The error of the missing entries, which
# is known here but not in practice, grows in the same way. It is a little smaller, since that fit
# has more observed entries.

scores, errors = [], []
for n_neighbors in numbers:
    model = CoManifold(n_neighbors=n_neighbors).fit(X)
    scores.append([model.score(X, random_state=seed) for seed in range(2)])
    error = np.sqrt(np.mean((model.filled_ - data.X)[missing] ** 2))
    errors.append(error / data.X[missing].std())

held_out = -np.array(scores)
figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
ax.errorbar(numbers, held_out.mean(axis=1), held_out.std(axis=1), fmt="o-", label="minus the score")
ax.plot(numbers, errors, "s--", label="error of missing entries")
ax.set(xscale="log", xlabel="n_neighbors", ylabel="error, in standard deviations", ylim=(0, None))
ax.set_xticks(numbers, numbers)
ax.minorticks_off()
ax.legend()

# %%
# ``GridSearchCV(CoManifold(random_state=0), {"n_neighbors": numbers})`` does the same over folds of
# the rows.
