"""
A curve and a surface, from half of the distances between them
==============================================================

The paper's first data set: every row is a point of a helix, every column a point of a bent sheet,
and an entry is the distance between the two. The method gets nothing else: no coordinates, no
distances within either set, and half of the entries are missing.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.manifold import trustworthiness

from comanifold import CoManifold
from comanifold.datasets import make_linkage, remove_entries

data = make_linkage(150, 200, noise=0.05, random_state=0)
X = remove_entries(data.X, 0.5, random_state=0)
model = CoManifold().fit(X)

# %%
# The rows form a curve and the columns a surface. Colours are the true positions, which the method
# has not seen. Trustworthiness is one if all neighbours in the embedding are true neighbours.

along, across = data.column_position.T
panels = [
    ("rows: where on the helix", model.row_embedding_, data.row_position[:, 0]),
    ("columns: where along the sheet", model.column_embedding_, along),
    ("columns: where across the sheet", model.column_embedding_, across),
]
figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
for ax, (title, points, colour) in zip(axes, panels, strict=True):
    ax.scatter(*points.T, c=colour, cmap="plasma", s=14)
    ax.set(title=title, xticks=[], yticks=[])

rows = trustworthiness(data.row_position, model.row_embedding_)
columns = trustworthiness(data.column_position, model.column_embedding_)
print(f"trustworthiness: rows {rows:.2f}, columns {columns:.2f}")

# %%
# The missing distances are estimated as well. Compare their error with the noise, 5% of the
# standard deviation: no method can do better.

missing = np.isnan(X)
error = np.sqrt(np.mean((model.filled_ - data.X)[missing] ** 2)) / data.X.std()
print(f"error of the filled-in entries, in standard deviations: {error:.2f}")
