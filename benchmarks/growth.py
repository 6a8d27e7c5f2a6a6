"""Growth of time and memory with the size of the matrix, of shape 2 to 1, its sides doubled.

    python benchmarks/growth.py                       # up to 1,000 x 500
    python benchmarks/growth.py --largest 8000        # up to 8,000 x 4,000: hours
    python benchmarks/growth.py --tall 20000 2000     # one matrix of that shape

Every size is fitted in a process of its own, by default with sparse distances, with 70% of the
entries missing and kernels compiled before. For each the benchmark prints the time of the whole
fit, the CPU time of each solve of a scale and of other parts (of the main thread: with one job),
and the peak of memory beyond the imports; at the end the exponents e of the growth as (m n)^e, of
the CPU time of the fit over all sizes and of the others over the larger half of them, and their
ratio to the wanted ones: 1.15 for the fit, 1.1 for the solves of a scale, 1.0 for memory.
"""

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np
from _problems import remove, synthetic, time_of_parts

from comanifold import CoManifold


def peak():
    """Return the peak of memory of this process so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(n_rows, n_columns, options):
    """Fit one matrix and print time and memory, for the process that started this one."""
    parameters = {"distances": options.distances, "n_jobs": options.jobs}
    if options.alpha is not None:
        parameters |= {"scale_weights": "cost", "alpha": options.alpha}
    CoManifold(**parameters).fit(remove(synthetic(80, 60), options.missing, 0))
    before = peak()
    X = remove(synthetic(n_rows, n_columns), options.missing, 0)
    started, cpu_started = time.perf_counter(), time.process_time()
    model, parts = time_of_parts(lambda: CoManifold(**parameters).fit(X), time.thread_time)
    solving, n_solves = parts["solving scales"]
    print(
        json.dumps(
            {
                "rows": n_rows,
                "columns": n_columns,
                "scales": len(model.scales_["l"]),
                "seconds": time.perf_counter() - started,
                "cpu": time.process_time() - cpu_started,
                "solve": solving / n_solves,
                "megabytes": peak() - before,
                "parts": {part: seconds for part, (seconds, _) in parts.items()},
            }
        )
    )


def in_a_process(n_rows, n_columns, arguments):
    """Return the measurements of one size, from a process of its own."""
    command = [sys.executable, __file__, *arguments, "--one", str(n_rows), str(n_columns)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{n_rows} x {n_columns} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def report(found):
    """Print the measurements of one size."""
    print(
        f"{found['rows']} x {found['columns']}: {found['seconds']:.1f} s ({found['cpu']:.1f} s of "
        f"CPU), {found['scales']} scales, {1e3 * found['solve']:.1f} ms for each solve, "
        f"{found['megabytes']:.0f} MB"
    )
    for part, seconds in found["parts"].items():
        print(f"    {part:24} {seconds:9.2f} s")
    sys.stdout.flush()


def exponent(sizes, figures):
    """Return the slope on logarithmic scales."""
    return np.polyfit(np.log(sizes), np.log(figures), 1)[0]


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
        half = max(2, len(sizes) // 2 + 1)
        for name, key, n_sizes, wanted in (
            ("whole fit", "cpu", len(sizes), 1.15),
            ("solves of a scale", "solve", half, 1.1),
            ("memory", "megabytes", half, 1.0),
        ):
            e = exponent(sizes[-n_sizes:], [one[key] for one in found[-n_sizes:]])
            print(f"{name}: (m n)^{e:.2f}, {e / wanted:.2f} times the wanted exponent {wanted}")


if __name__ == "__main__":
    main()
