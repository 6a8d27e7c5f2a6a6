"""One worker against two, in threads and in processes, and the bytes sent to each task.

    python benchmarks/parallel.py

The ratio of the times is at most 2, and means something on two idle processors only: the load is
printed with it. Bytes are given relative to those of the matrix.
"""

import argparse
import os
import pickle

import numpy as np
from _problems import remove, synthetic, timed
from joblib import parallel_config, register_parallel_backend
from joblib.parallel import BACKENDS

from comanifold import CoManifold

WORKERS = {"threads": "threading", "processes": "loky"}


def fit(X, backend, n_jobs):
    """Fit X with a backend of joblib."""
    with parallel_config(backend, n_jobs=n_jobs):
        return CoManifold().fit(X)


class MeasuringBackend(BACKENDS["threading"]):
    """Threads that record the pickled size of the first argument of each task and of the others."""

    shared, own = [], []

    def submit(self, func, callback=None):
        for _, arguments, _ in func.items:
            if len(arguments) > 1:
                self.shared.append(len(pickle.dumps(arguments[0])))
                self.own.append(len(pickle.dumps(arguments[1:])))
        return super().submit(func, callback)


def sizes_of_tasks(X):
    """Return the bytes of the inputs that the tasks of a fit share, and of each task's own."""
    register_parallel_backend("measuring", MeasuringBackend)
    fit(X, "measuring", 2)
    return np.array(MeasuringBackend.shared), np.array(MeasuringBackend.own)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--shape", type=int, nargs=2, default=(600, 400))
    parser.add_argument("--workers", choices=WORKERS, nargs="+", default=list(WORKERS))
    options = parser.parse_args()
    X = remove(synthetic(*options.shape), 0.5, 0)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(
        f"{X.shape[0]} x {X.shape[1]}, half missing; {os.cpu_count()} processors, load {load:.1f} "
        "before the run"
    )
    shared, own = sizes_of_tasks(X)
    print(
        f"  {len(own)} tasks: shared inputs up to {shared.max() / X.nbytes:.1f} times the matrix, "
        f"own inputs {own.mean() / X.nbytes:.2f} times (mean), {own.max() / X.nbytes:.2f} (most)"
    )
    for name in options.workers:
        backend = WORKERS[name]
        fit(X, backend, 2)  # starts the workers, compiles
        seconds = {}
        for n_jobs in (1, 2):
            model, seconds[n_jobs] = timed(lambda b=backend, n=n_jobs: fit(X, b, n), options.repeat)
        print(
            f"  {name}: {seconds[1]:.2f} s on one, {seconds[2]:.2f} s on two, "
            f"ratio {seconds[1] / seconds[2]:.2f} ({len(model.scales_['l'])} scales)"
        )


if __name__ == "__main__":
    main()
