"""
Users by items: a sparse matrix whose absent entries are missing
================================================================

Ratings come as a sparse matrix. An entry that it does not store may mean zero, as with counts, or
missing, as here. The matrix alone cannot tell, so ``absent`` is required.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from comanifold import CoManifold

rng = np.random.default_rng(0)
n_users, n_items = 300, 120
taste = rng.dirichlet([0.4, 0.4, 0.4], size=n_users)  # each user a mixture of three
quality = 0.4 * rng.normal(size=n_items)
ratings = 3 + taste @ rng.normal(size=(3, n_items)) + quality
ratings += 0.5 * rng.normal(size=ratings.shape)
known = rng.random(ratings.shape) < 0.2
rows, columns = np.nonzero(known)
X = sparse.csr_array((ratings[known], (rows, columns)), shape=ratings.shape)
print(f"{X.nnz} ratings, {1 - X.nnz / ratings.size:.0%} missing")

# %%
# A second pass, with graphs rebuilt from the distances of the first, can help if so little is
# observed. The predictions are compared with the mean of all ratings and with that of the item.

model = CoManifold(absent="missing", n_passes=2).fit(X)


def error(predicted):
    return np.sqrt(np.mean((predicted - ratings)[~known] ** 2))


incomplete = np.where(known, ratings, np.nan)
predictions = {
    "mean": np.nanmean(incomplete),
    "mean of the item": np.nanmean(incomplete, axis=0),
    "comanifold": model.filled_,
}
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", width_ratios=[1, 1.2])
axes[0].scatter(*model.row_embedding_.T, c=taste, s=14)
axes[0].set(title="users, coloured by the mixture of tastes", xticks=[], yticks=[])
axes[1].barh(list(predictions), [error(predicted) for predicted in predictions.values()])
axes[1].axvline(0.5, color="black", linestyle=":")
axes[1].set(title="error on missing ratings (dotted: noise level)", xlabel="root mean square")
