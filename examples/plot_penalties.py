"""
Penalties compared: what is smoothed away, and what is left alone
=================================================================

The penalty says what it costs to keep two rows apart, by how far apart they are. A straight line
pulls large differences together as strongly as small ones, and so makes levels shrink towards each
other before noise is gone. Concave penalties let large differences be.
"""

import matplotlib.pyplot as plt
import numpy as np

from comanifold import Graph, co_cluster
from comanifold.penalties import MCP, Linear, Log, Snowflake

# A single column whose rows are steps, with noise; neighbours in the line are drawn together.
rng = np.random.default_rng(0)
steps = np.repeat([0.0, 3.0, 2.0, 5.0], 30)
x = steps + 0.4 * rng.normal(size=steps.size)
line = Graph(x.size, [[i, i + 1] for i in range(x.size - 1)])
nothing = Graph(1, [])
at = {"column_cost": 0.0, "tol": 1e-4}

# %%
# For each penalty the cost, out of a range, with which its estimate is nearest the truth: the
# straight line has to choose between noise and bias, and the others need not.

penalties = [Linear(), Log(), MCP(threshold=2.0), Snowflake()]
z = np.linspace(0, 4, 200)
figure, (shapes, fits) = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
fits.plot(x, ".", color="lightgrey")
for penalty in penalties:
    results = [
        co_cluster(x[:, None], line, nothing, **at, row_cost=cost, penalty=penalty)
        for cost in 2.0 ** np.arange(-3, 4)
    ]
    errors = [np.sqrt(np.mean((result.estimate[:, 0] - steps) ** 2)) for result in results]
    best = results[int(np.argmin(errors))]
    name = type(penalty).__name__
    shapes.plot(z, penalty.value(z), label=name)
    label = f"{name}: error {min(errors):.2f}, {best.n_row_clusters} levels"
    fits.plot(best.estimate[:, 0], label=label)
shapes.set(title="the penalty", xlabel="distance of two rows", ylabel="cost")
fits.set(title="estimates, each at its best cost", xlabel="rows", ylabel="value")
shapes.legend()
fits.legend(fontsize=8)
