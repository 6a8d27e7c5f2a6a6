"""
Sensors by time: filling in outages
===================================

Sensors along a river measure its temperature every hour. When one fails, it fails for days. Linear
interpolation misses the days and nights in the gap; other sensors have recorded them.
"""

import matplotlib.pyplot as plt
import numpy as np

from comanifold import CoManifold

rng = np.random.default_rng(0)
n_sensors, hours = 40, np.arange(24 * 8)
along = rng.uniform(size=n_sensors)[:, None]
day = np.sin(2 * np.pi * (hours / 24 - 0.4 * along)) * (2.5 - 1.5 * along)
weather = np.cumsum(rng.normal(scale=0.15, size=len(hours)))
truth = 12 + 3 * along + day + weather
X = truth + rng.normal(scale=0.2, size=truth.shape)
for sensor in range(n_sensors):
    for start in rng.integers(len(hours) - 40, size=2):
        X[sensor, start : start + 40] = np.nan
missing = np.isnan(X)
print(f"{missing.mean():.0%} missing, 40 hours at a time")

# %%
# The rows are sensors, the columns hours. Linear interpolation against the filled-in values:

straight = X.copy()
for series in straight:
    gap = np.isnan(series)
    series[gap] = np.interp(hours[gap], hours[~gap], series[~gap])
filled = CoManifold().fit(X).filled_

one = np.argmax(missing.sum(axis=1))
gap = np.ma.masked_where(~missing[one], hours)
figure, ax = plt.subplots(figsize=(9, 3.4), layout="constrained")
ax.plot(hours, truth[one], color="lightgrey", linewidth=5, label="truth")
ax.plot(hours, X[one], color="black", label="measured")
ax.plot(gap, straight[one], color="tab:orange", label="linear interpolation")
ax.plot(gap, filled[one], color="tab:blue", label="filled in by comanifold")
ax.set(xlabel="hours", ylabel="temperature", title="one of the sensors")
ax.legend(ncols=4, fontsize=8)

for name, guess in (("interpolation", straight), ("comanifold", filled)):
    print(f"{name}: error {np.sqrt(np.mean((guess - truth)[missing] ** 2)):.2f} degrees")
