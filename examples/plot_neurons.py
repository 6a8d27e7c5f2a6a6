"""
Neurons by trials: a ring in both modes
=======================================

Neurons of the visual cortex have a preferred direction, and a stimulus has a direction: both lie on
a circle. The recordings come from several sessions, in each of which only some of the neurons were
found, so that whole blocks of trials are missing for a neuron.
"""

import matplotlib.pyplot as plt
import numpy as np

from comanifold import CoManifold

rng = np.random.default_rng(0)
n_neurons, n_trials, n_sessions = 120, 160, 8
preferred, direction = rng.uniform(0, 2 * np.pi, n_neurons), rng.uniform(0, 2 * np.pi, n_trials)
rate = 12 * np.exp(2 * (np.cos(preferred[:, None] - direction) - 1))
counts = rng.poisson(rate + 1).astype(float)
session = np.sort(rng.integers(n_sessions, size=n_trials))
was_found = rng.random((n_neurons, n_sessions)) < 0.5
counts[~was_found[:, session]] = np.nan
print(f"{np.isnan(counts).mean():.0%} of the counts are missing")

# %%
# The variance of a count grows with its mean; the square root stabilises it. One fit then recovers
# both circles, without knowing that there are any.

model = CoManifold().fit(np.sqrt(counts))
figure, axes = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained")
for ax, title, points, angle in (
    (axes[0], "neurons, by preferred direction", model.row_embedding_, preferred),
    (axes[1], "trials, by direction of the stimulus", model.column_embedding_, direction),
):
    ax.scatter(*points.T, c=angle, cmap="twilight", s=20)
    ax.set(title=title, xticks=[], yticks=[], aspect="equal")


# %%
# How well the angle around the centre of the embedding agrees with the true one, up to rotation and
# reflection; 1 is perfect.


def agreement(points, angle):
    found = np.arctan2(*points.T)
    return max(abs(np.exp(1j * (sign * found - angle)).mean()) for sign in (1, -1))


print(f"neurons {agreement(model.row_embedding_, preferred):.2f}", end=", ")
print(f"trials {agreement(model.column_embedding_, direction):.2f}")
