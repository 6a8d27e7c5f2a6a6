"""Many fits in one process: growth of memory and open files, and fits in threads.

    python benchmarks/soak.py

Fits small matrices one after the other, some with a checkpoint, some saved and loaded, and prints
memory and open files after a tenth of the fits, when everything is loaded, after half and after
all, and the ratio of the last two. Then two fits at once in threads are compared, bit for bit, with
the same fits in sequence. Exits with an error if memory grew by more than a tenth in the second
half, if a file was left open, or if the fits in threads differ. Linux only.
"""

import argparse
import gc
import os
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from _problems import remove, synthetic

from comanifold import CoManifold


def memory_and_files():
    """Return the memory of this process in megabytes, and its number of open files."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20, len(os.listdir("/proc/self/fd"))


def fit_all(n_fits, folder):
    """Fit many matrices; return memory and files after a tenth, a half, and all of them."""
    looks = {}
    for i in range(n_fits):
        X = remove(synthetic(24 + i % 7, 18 + i % 5, seed=i), 0.4, seed=i)
        way = i % 5
        checkpoint = folder / f"run{i}" if way == 1 else None
        model = CoManifold(checkpoint=checkpoint, keep_scales=way == 2, n_jobs=2 if way == 3 else 1)
        model.fit(X)
        model.transform(X[:2])
        if way == 4:
            model.save(folder / f"model{i}")
            CoManifold.load(folder / f"model{i}")
        if i + 1 in (max(n_fits // 10, 1), n_fits // 2, n_fits):
            looks[i + 1] = memory_and_files()
            megabytes, files = looks[i + 1]
            print(
                f"  after {i + 1:4d} fits: {megabytes:7.1f} MB, {files} open files, "
                f"{threading.active_count()} threads",
                flush=True,
            )
    return list(looks.values())


def threads_agree(n_pairs):
    """Return whether fits in two threads at once equal fits in sequence, bit for bit."""
    matrices = [remove(synthetic(40, 30, seed=i), 0.5, seed=i) for i in range(2 * n_pairs)]

    def numbers(X):
        model = CoManifold().fit(X)
        return [model.row_embedding_, model.column_distances_, model.filled_]

    alone = [numbers(X) for X in matrices]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(numbers, matrices))
    return all(
        np.array_equal(mine, yours)
        for one, other in zip(alone, together, strict=True)
        for mine, yours in zip(one, other, strict=True)
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--fits", type=int, default=500)
    parser.add_argument("--pairs", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        start, middle, end = fit_all(options.fits, Path(name))
    growth = end[0] - middle[0]
    print(
        f"  growth: {middle[0] - start[0]:+.1f} MB to the middle, {growth:+.1f} MB from there "
        f"({end[0] / middle[0]:.2f} times), {end[1] - start[1]:+d} open files"
    )
    agree = threads_agree(options.pairs)
    print(f"  {options.pairs} pairs of fits in two threads: {'same bits' if agree else 'DIFFER'}")
    if growth > 0.1 * middle[0] or end[1] > start[1] or not agree:
        raise SystemExit("memory or open files grow, or fits in threads differ")


if __name__ == "__main__":
    main()
