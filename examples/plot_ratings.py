"""
People by questions: an attitude behind answers from 1 to 5
===========================================================

A questionnaire: 200 people, 60 questions, answers on a scale from 1 to 5, and two out of five
questions skipped. Behind the answers is one attitude, and each question asks about a certain point
of it: people agree with statements that are close to their own attitude.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import spearmanr

from comanifold import CoManifold
from comanifold.datasets import remove_entries

rng = np.random.default_rng(0)
person, question = rng.uniform(0, 1, 200), rng.uniform(0, 1, 60)
agreement = np.exp(-(((person[:, None] - question) / 0.35) ** 2))
answers = np.clip(np.round(1 + 4 * agreement + rng.normal(scale=0.7, size=agreement.shape)), 1, 5)
X = remove_entries(answers, 0.4, random_state=0)

# %%
# The method takes the answers as numbers. It recovers the order of both people and questions. In
# that order the matrix shows a band of agreement, which is invisible in the shuffled matrix.

model = CoManifold().fit(X)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
colours = plt.get_cmap("cividis").with_extremes(bad="white")
organised = X[model.row_order_][:, model.column_order_]
for ax, title, matrix in zip(axes, ("as given", "organised"), (X, organised), strict=False):
    ax.imshow(matrix, cmap=colours, aspect="auto", interpolation="nearest")
    ax.set(title=title, xlabel="questions", ylabel="people", xticks=[], yticks=[])
axes[2].scatter(*model.row_embedding_.T, c=person, cmap="plasma", s=14)
axes[2].set(title="people, coloured by attitude", xticks=[], yticks=[])

# %%
# Filled-in values are not whole numbers; round them to get answers. The fractions of skipped
# answers that are then exact, and off by at most one:

ranks = [
    spearmanr(model.row_order_.argsort(), person),
    spearmanr(model.column_order_.argsort(), question),
]
print("rank correlation with the true order:", *(f"{abs(rank.statistic):.2f}" for rank in ranks))
off = np.abs(np.clip(np.round(model.filled_), 1, 5) - answers)[np.isnan(X)]
print(f"exact {np.mean(off == 0):.0%}, off by at most one {np.mean(off <= 1):.0%}")
