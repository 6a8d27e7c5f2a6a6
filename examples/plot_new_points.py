"""
New rows and new columns in a fitted embedding
==============================================

A model is fitted to the data of today, and tomorrow there are new rows. ``transform`` places them,
with missing entries of their own, in the embedding of the rows, and ``transform_columns`` places
new columns in the embedding of the columns, without another fit. A row of the fitted matrix is
placed exactly where it was.
"""

import matplotlib.pyplot as plt
import numpy as np

from comanifold import CoManifold
from comanifold.datasets import make_linkage, remove_entries

data = make_linkage(150, 150, noise=0.05, random_state=0)
X = remove_entries(data.X, 0.5, random_state=0)
known_rows, known_columns = slice(0, 110), slice(0, 110)
model = CoManifold().fit(X[known_rows, known_columns])

rows = model.transform(X[110:, known_columns])
columns = model.transform_columns(X[known_rows, 110:])
same = np.allclose(model.transform(X[:1, known_columns]), model.row_embedding_[:1])
print("a fitted row is placed where it was:", same)

# %%
# Fitted points are small and new points large, all coloured by their true positions. New points lie
# among fitted ones of the same colour.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for ax, title, old, new, colour in (
    (axes[0], "rows", model.row_embedding_, rows, data.row_position[:, 0]),
    (axes[1], "columns", model.column_embedding_, columns, data.column_position[:, 0]),
):
    style = {"cmap": "plasma", "vmin": 0, "vmax": 1}
    ax.scatter(*old.T, c=colour[:110], s=12, **style)
    ax.scatter(*new.T, c=colour[110:], s=60, edgecolors="black", linewidths=0.6, **style)
    ax.set(title=f"{title}: 110 fitted, {len(new)} new", xticks=[], yticks=[])
