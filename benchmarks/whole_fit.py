"""A whole fit, against the distance products that it cannot avoid: two for every scale.

The bound is one product of the filled-in matrix with its transpose for the rows and one for the
columns, for each scale whose distances are added up, on one BLAS thread as the fit uses it. The
rest is solving the scales, turning products into distances, completing the matrix for the first
graphs, and embedding.

    python benchmarks/whole_fit.py

lung500 needs COMANIFOLD_DATA; without it, a matrix of its size.
"""

import argparse
import time

import numpy as np
from _problems import lung500, remove, stand_in, timed
from threadpoolctl import threadpool_limits

from comanifold import CoManifold, _embedded, _pipeline
from comanifold._fit.low_rank import LowRankCompletion
from comanifold._fit.sweep import MultiScaleMetric
from comanifold.diffusion_map import DiffusionMap
from comanifold.solvers import Surface

PARTS = {
    "solving scales": (Surface, "solve"),
    "adding up distances": (MultiScaleMetric, "add"),
    "completing by low rank": (LowRankCompletion, "__init__"),
    "completing again": (LowRankCompletion, "factors"),
    "neighbour graphs": (_pipeline.Graph, "nearest_neighbors"),
    "diffusion maps": (DiffusionMap, "fit"),
    "orders": (_embedded, "embedding_order"),
}


class Stopwatch:
    """Adds up the time spent in a function while it is installed."""

    def __init__(self, owner, name, clock=time.perf_counter):
        self.owner, self.name, self.seconds, self.calls = owner, name, 0.0, 0
        self.clock = clock
        self.original = vars(owner)[name]

    def __enter__(self):
        function = getattr(self.owner, self.name)
        bound = isinstance(self.original, classmethod)

        def timed_call(*args, **kwargs):
            began = self.clock()
            result = function(*args, **kwargs)
            self.seconds += self.clock() - began
            self.calls += 1
            return result

        setattr(self.owner, self.name, staticmethod(timed_call) if bound else timed_call)
        return self

    def __exit__(self, *_):
        setattr(self.owner, self.name, self.original)


def products(X, n_scales):
    filled = np.where(np.isnan(X), 0.0, X)
    with threadpool_limits(1):
        for _ in range(n_scales):
            filled @ filled.T
            filled.T @ filled


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    lung, name = lung500()
    matrices = {name: lung, "a stand-in of 200 x 300": remove(stand_in(200, 300), 0.5, 0)}
    settings = {
        "as in the paper": CoManifold.as_in_the_paper(),
        "weights of the paper": CoManifold(alpha=-0.5),
        "default": CoManifold(),
    }
    for title, X in matrices.items():
        print(f"\n{title}, {X.shape[0]} x {X.shape[1]}, {np.isnan(X).mean():.0%} missing")
        for setting, model in settings.items():
            model.fit(X)  # compiles
            _, seconds = timed(lambda m=model, A=X: m.fit(A), options.repeat)
            n_scales = len(model.scales_)
            _, bound = timed(lambda A=X, n=n_scales: products(A, n), options.repeat)
            print(
                f"  {setting}: {seconds:.2f} s for {n_scales} scales, "
                f"{seconds / bound:.0f} times their products ({bound:.3f} s)"
            )
            watches = {part: Stopwatch(*where) for part, where in PARTS.items()}
            began = time.perf_counter()
            for watch in watches.values():
                watch.__enter__()
            model.fit(X)
            for watch in watches.values():
                watch.__exit__()
            whole = time.perf_counter() - began
            for part, watch in watches.items():
                if watch.calls:
                    share = watch.seconds / whole
                    print(
                        f"      {part:24} {share:5.0%}  {watch.seconds:.3f} s, {watch.calls} calls"
                    )


if __name__ == "__main__":
    main()
