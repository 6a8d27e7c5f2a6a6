"""
Penalties compared: bias of the linear one, and concave ones without it
=======================================================================

The penalty is the cost of the distance between two neighbouring rows. A linear penalty shrinks
large differences as strongly as small ones, so that the levels of the data move towards each other
before the noise is gone. Concave penalties shrink large differences less.
"""

import matplotlib.pyplot as plt
import numpy as np

from comanifold import Graph, co_cluster
from comanifold.penalties import MCP, Linear, Log, Snowflake

# A single column: noisy steps. Each row is a neighbour of the next one.
rng = np.random.default_rng(0)
steps = np.repeat([0.0, 3.0, 2.0, 5.0], 30)
x = steps + 0.4 * rng.normal(size=steps.size)
line = Graph(x.size, [[i, i + 1] for i in range(x.size - 1)])
one_column = Graph(1, [])
at = {"column_cost": 0.0, "tol": 1e-4}

# %%
# For each penalty, the estimate at the cost (out of a range) with the smallest error. The linear
# penalty has to trade noise against bias; the concave ones do not.

penalties = [Linear(), Log(), MCP(threshold=2.0), Snowflake()]
z = np.linspace(0, 4, 200)
figure, (shapes, fits) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
fits.plot(x, ".", color="lightgrey")
for penalty in penalties:
    results = [
        co_cluster(x[:, None], line, one_column, **at, row_cost=cost, penalty=penalty)
        for cost in 2.0 ** np.arange(-3, 4)
    ]
    errors = [np.sqrt(np.mean((result.estimate[:, 0] - steps) ** 2)) for result in results]
    best = results[int(np.argmin(errors))]
    name = type(penalty).__name__
    shapes.plot(z, penalty.value(z), label=name)
    label = f"{name}: error {min(errors):.2f}, {best.n_row_clusters} levels"
    fits.plot(best.estimate[:, 0], label=label)
shapes.set(title="the penalty", xlabel="distance between two rows", ylabel="cost")
fits.set(title="estimates, each at its best cost", xlabel="rows", ylabel="value")
shapes.legend()
fits.legend(fontsize=8)
