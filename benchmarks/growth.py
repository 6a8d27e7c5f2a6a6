"""How time and memory grow with the matrix, its shape 2 to 1 and its sides doubled at each size.

    python benchmarks/growth.py                       # up to 1,000 x 500
    python benchmarks/growth.py --largest 8000        # up to 8,000 x 4,000: hours
    python benchmarks/growth.py --tall 20000 2000     # one matrix of that shape

Every size is fitted in a process of its own, with sparse distances unless told otherwise, 70% of
the entries missing, and what has to be compiled compiled before. Of each the benchmark prints the
time of the whole fit, that of processors in each solve of a scale and in other parts, which a busy
machine changes least, and the peak of memory beyond what the imports take; at the end the
exponents e with which they grow as (m n)^e, fitted to the larger half of the sizes. Wanted: at
most 1.1 for the solves of a scale, 1.0 for memory.
"""

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np
from _problems import remove, stand_in
from whole_fit import PARTS, Stopwatch

from comanifold import CoManifold
from comanifold.graphs import CandidatePairs

_PARTS = {**PARTS, "candidate pairs": (CandidatePairs, "__init__")}


def peak():
    """The most memory that this process has held so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(n_rows, n_columns, options):
    """Fit one matrix and print what it took, for the process that started this one."""
    alpha = "auto" if options.alpha is None else options.alpha
    parameters = {"distances": options.distances, "n_jobs": options.jobs, "alpha": alpha}
    CoManifold(**parameters).fit(remove(stand_in(80, 60), options.missing, 0))
    before = peak()
    X = remove(stand_in(n_rows, n_columns), options.missing, 0)
    watches = {part: Stopwatch(*where, time.thread_time) for part, where in _PARTS.items()}
    for watch in watches.values():
        watch.__enter__()
    began, cpu_began = time.perf_counter(), time.process_time()
    model = CoManifold(**parameters).fit(X)
    solving = watches["solving scales"]
    print(
        json.dumps(
            {
                "rows": n_rows,
                "columns": n_columns,
                "scales": len(model.scales_),
                "seconds": time.perf_counter() - began,
                "cpu": time.process_time() - cpu_began,
                "solve": solving.seconds / solving.calls,
                "megabytes": peak() - before,
                "parts": {part: watch.seconds for part, watch in watches.items() if watch.calls},
            }
        )
    )


def in_a_process(n_rows, n_columns, arguments):
    command = [sys.executable, __file__, *arguments, "--one", str(n_rows), str(n_columns)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{n_rows} x {n_columns} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def report(found):
    print(
        f"{found['rows']} x {found['columns']}: {found['seconds']:.1f} s ({found['cpu']:.1f} s of "
        f"processors), {found['scales']} scales, {1e3 * found['solve']:.1f} ms for each solve, "
        f"{found['megabytes']:.0f} MB"
    )
    for part, seconds in found["parts"].items():
        print(f"    {part:24} {seconds:9.2f} s")
    sys.stdout.flush()


def exponent(sizes, figures):
    """The slope of the larger half on logarithmic scales: small sizes show what is constant."""
    half = max(2, len(sizes) // 2 + 1)
    return np.polyfit(np.log(sizes[-half:]), np.log(figures[-half:]), 1)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--largest", type=int, default=1000, help="rows of the largest size")
    parser.add_argument("--tall", type=int, nargs=2, metavar=("ROWS", "COLUMNS"))
    parser.add_argument("--missing", type=float, default=0.7)
    parser.add_argument("--distances", default="sparse", choices=["auto", "dense", "sparse"])
    parser.add_argument("--alpha", type=float, help="weights by cost: one surface, not two")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--one", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        measure(*options.one, options)
        return
    if options.tall:
        report(in_a_process(*options.tall, sys.argv[1:]))
        return
    found = []
    n_rows = 250
    while n_rows <= options.largest:
        found.append(in_a_process(n_rows, n_rows // 2, sys.argv[1:]))
        report(found[-1])
        n_rows *= 2
    if len(found) > 1:
        sizes = [one["rows"] * one["columns"] for one in found]
        for name, key in (("the solves of a scale", "solve"), ("memory", "megabytes")):
            print(f"{name}: (m n)^{exponent(sizes, [one[key] for one in found]):.2f}")


if __name__ == "__main__":
    main()
