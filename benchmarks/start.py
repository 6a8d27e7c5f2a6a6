"""Time of the first fit: import, compilation, and the first run.

    python benchmarks/start.py

In fresh processes: the import of the package, relative to that of NumPy; a first fit with nothing
compiled and one with compiled code in the cache, both relative to a second fit in the same process,
with CPU times in brackets. A matrix of 200 x 150, half missing.
"""

import os
import subprocess
import sys
import tempfile

IMPORT = """
import sys, time
began = time.perf_counter()
import {name}
{use}
heavy = ("matplotlib", "dask", "pandas", "rich", "click", "plotly")
loaded = [name for name in heavy if name in sys.modules]
print(time.perf_counter() - began, " and ".join(loaded) or "nothing")
"""

FITS = """
import time
import numpy as np
from comanifold import CoManifold
from comanifold.datasets import make_linkage, remove_entries
X = remove_entries(make_linkage(200, 150, noise=0.1, random_state=0).X, 0.5, random_state=0)
for _ in range(2):
    began = time.perf_counter(), time.process_time()
    CoManifold().fit(X)
    print(time.perf_counter() - began[0], time.process_time() - began[1])
"""


def run(code, **environment):
    """Return the lines that code prints in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split("\n")


def importing(name, use="", repeat=5):
    """Return the shortest time of an import, and the heavy modules that it loads."""
    lines = [run(IMPORT.format(name=name, use=use))[0].split(" ", 1) for _ in range(repeat)]
    return min(float(seconds) for seconds, _ in lines), lines[0][1]


def main():
    numpy, _ = importing("numpy")
    print(f"import numpy {numpy:.2f} s")
    for what, use in (("import comanifold", ""), ("and CoManifold", "comanifold.CoManifold")):
        seconds, loaded = importing("comanifold", use)
        print(f"{what:18} {seconds:.2f} s, {seconds / numpy:.1f} times; heavy modules: {loaded}")
    with tempfile.TemporaryDirectory() as cache:
        fits = {
            "nothing compiled": run(FITS, NUMBA_CACHE_DIR=cache),
            "compiled before": run(FITS, NUMBA_CACHE_DIR=cache),
        }
    for label, lines in fits.items():
        (first, of_first), (second, of_second) = (map(float, line.split()) for line in lines[:2])
        print(
            f"first fit, {label}: {first:.1f} s ({of_first:.1f} s); second {second:.2f} s "
            f"({of_second:.2f} s); {first - second:.1f} s more, {first / second:.1f} times"
        )


if __name__ == "__main__":
    main()
