"""One worker against two, on threads and in processes, and what is sent to the processes.

    python benchmarks/parallel.py

Ratios mean something on a machine with two idle processors only; the load is printed with them.
"""

import argparse
import os
import pickle

import numpy as np
from _problems import remove, stand_in, timed
from joblib import parallel_config

from comanifold import CoManifold
from comanifold._fit import sweep as _sweep

WORKERS = {"threads": "threading", "processes": "loky"}


def fit(X, backend, n_jobs):
    with parallel_config(backend, n_jobs=n_jobs):
        return CoManifold().fit(X)


def sent(X):
    """The sizes in bytes of what the tasks of a fit share, and of what each has of its own."""
    common, own = [], []
    original = _sweep.in_parallel

    def measured(calls, **options):
        def measure():
            for function, arguments in calls:
                if len(arguments) > 1:
                    common.append(len(pickle.dumps(arguments[0])))
                    own.append(len(pickle.dumps(arguments[1:])))
                yield function, arguments

        return original(measure(), **options)

    _sweep.in_parallel = measured
    try:
        CoManifold().fit(X)
    finally:
        _sweep.in_parallel = original
    return common, own


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--shape", type=int, nargs=2, default=(600, 400))
    parser.add_argument("--workers", choices=WORKERS, nargs="+", default=list(WORKERS))
    options = parser.parse_args()
    X = remove(stand_in(*options.shape), 0.5, 0)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(
        f"{X.shape[0]} x {X.shape[1]}, half missing; {os.cpu_count()} processors, load {load:.1f} "
        "before the run"
    )
    common, own = sent(X)
    print(
        f"  {len(own)} tasks: {common[0] / X.nbytes:.1f} times the matrix that all have in "
        f"common, and each {np.mean(own) / X.nbytes:.2f} times the matrix (mean), "
        f"{max(own) / X.nbytes:.2f} (most)"
    )
    for name in options.workers:
        backend = WORKERS[name]
        fit(X, backend, 2)  # starts the workers, compiles
        seconds = {}
        for n_jobs in (1, 2):
            model, seconds[n_jobs] = timed(lambda b=backend, n=n_jobs: fit(X, b, n), options.repeat)
        print(
            f"  {name}: {seconds[1]:.2f} s on one, {seconds[2]:.2f} s on two, "
            f"ratio {seconds[1] / seconds[2]:.2f} ({len(model.scales_)} scales)"
        )


if __name__ == "__main__":
    main()
