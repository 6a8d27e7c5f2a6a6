"""One worker against two, in threads, processes and a Dask cluster, and the bytes that are sent.

    python benchmarks/parallel.py

The ratio of the times is at most 2, and means something on two idle processors only: the load is
printed with it, and the ratio that two independent loops reach at the same time, which is the most
that a fit can. Bytes are given relative to those of the matrix. Those of Dask are what
`TCP.write` of distributed returns for each message, summed over this process, which has the client
and the scheduler, and the workers: a message counts once for each connection it goes over, so that
a result counts from the worker to the scheduler and from there to the client. With one worker of
Dask, joblib makes the calls in this process.
"""

import argparse
import multiprocessing
import os
import pickle
import time

import numpy as np
from _problems import remove, synthetic, timed
from joblib import parallel_config, register_parallel_backend
from joblib.parallel import BACKENDS

from comanifold import CoManifold

WORKERS = {"threads": "threading", "processes": "loky", "dask": "dask"}


def fit(X, backend, n_jobs, scale_weights="learned"):
    """Fit X with a backend of joblib."""
    with parallel_config(backend, n_jobs=n_jobs):
        return CoManifold(scale_weights=scale_weights).fit(X)


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


def spin(seconds, shares):
    """Put the share of a processor that a loop gets."""
    start, used = time.perf_counter(), time.process_time()
    while time.perf_counter() - start < seconds:
        pass
    shares.put((time.process_time() - used) / seconds)


def largest_ratio(seconds=1.0):
    """Return how much more processor time two loops get than one: 2 on an idle machine."""
    totals = []
    for n_loops in (1, 2):
        shares = multiprocessing.Queue()
        loops = [
            multiprocessing.Process(target=spin, args=(seconds, shares)) for _ in range(n_loops)
        ]
        for loop in loops:
            loop.start()
        totals.append(sum(shares.get() for _ in loops))
        for loop in loops:
            loop.join()
    return totals[1] / totals[0]


def count_sent_bytes():
    """Count what this process sends over the connections of Dask from now on."""
    from distributed.comm.tcp import TCP

    write = getattr(TCP, "write_uncounted", TCP.write)
    TCP.n_sent = 0

    async def counted(self, *arguments, **options):
        n_bytes = await write(self, *arguments, **options)
        TCP.n_sent += n_bytes
        return n_bytes

    TCP.write, TCP.write_uncounted = counted, write


def sent_bytes():
    """Return what this process has sent since `count_sent_bytes`."""
    from distributed.comm.tcp import TCP

    return TCP.n_sent


def compare_dask(X, repeat, scale_weights):
    """Print the times of clusters of one and two processes, and the bytes that are sent."""
    from distributed import Client, LocalCluster

    seconds = {}
    for n_workers in (1, 2):
        with (
            LocalCluster(
                n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
            ) as cluster,
            Client(cluster) as client,
        ):
            fit(X[:200, :150], "dask", None)  # loads the compiled kernels
            count_sent_bytes()
            client.run(count_sent_bytes)
            _, seconds[n_workers] = timed(lambda: fit(X, "dask", None, scale_weights), repeat)
            n_sent = sent_bytes() + sum(client.run(sent_bytes).values())
    print(
        f"  dask: {seconds[1]:.2f} s on one, {seconds[2]:.2f} s on two, "
        f"ratio {seconds[1] / seconds[2]:.2f}; with two, "
        f"{n_sent / repeat / X.nbytes:.1f} times the matrix sent for each fit"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--shape", type=int, nargs=2, default=(600, 400))
    parser.add_argument("--workers", choices=WORKERS, nargs="+", default=list(WORKERS))
    parser.add_argument(
        "--scale-weights", choices=["learned", "cost"], default="learned", help="for dask"
    )
    options = parser.parse_args()
    X = remove(synthetic(*options.shape), 0.5, 0)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(
        f"{X.shape[0]} x {X.shape[1]}, half missing; {os.cpu_count()} processors, load {load:.1f} "
        f"before the run, two loops reach a ratio of {largest_ratio():.2f}"
    )
    shared, own = sizes_of_tasks(X)
    print(
        f"  {len(own)} tasks: shared inputs up to {shared.max() / X.nbytes:.1f} times the matrix, "
        f"own inputs {own.mean() / X.nbytes:.2f} times (mean), {own.max() / X.nbytes:.2f} (most)"
    )
    for name in options.workers:
        if name == "dask":
            compare_dask(X, options.repeat, options.scale_weights)
            continue
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
