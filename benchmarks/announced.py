"""Announced time of a fit over the time that it takes: before the fit, and after its first tenth.

For each matrix, the seconds of `CoManifold.expected_seconds`, the total that `FitProgress` predicts
at the end of the first tenth of the fit (time so far plus `seconds_left` of the last report in it),
the seconds that the fit took, and the ratios of the two predictions to these. Seconds are those of
the clock on the wall, because that is what is announced: the load of the machine matters.

    python benchmarks/announced.py
    python benchmarks/announced.py --shapes 1000x600 lung500
    python benchmarks/announced.py --stages      # measured and expected seconds of each stage

With --stages, processor time is counted, and the last column is their ratio: to measure the model
of `comanifold/_fit/expected_time.py` again, change its constants until the ratios are near 1.

lung500 needs COMANIFOLD_DATA, and pbmc68k_reduced needs scanpy; without them, matrices of their
shape.
"""

import argparse
import time
import warnings
from collections import defaultdict

import numpy as np
from _problems import lung500, remove, synthetic

from comanifold import CoManifold
from comanifold._fit.expected_time import expected_steps, speed_factor
from comanifold._fit.settings import check_settings
from comanifold.model_selection import held_out_folds

SHAPES = ["lung500", "200x300", "pbmc68k_reduced", "1000x600", "3000x1000"]
SHAPES += ["12000x50", "10000x200", "30000x20"]


def matrix(name):
    """Return the matrix of a name, or a synthetic one of a shape, 60% missing."""
    if name == "lung500":
        return lung500()[0]
    if name == "pbmc68k_reduced":
        return remove(_single_cells(), 0.6, 0)
    return remove(synthetic(*map(int, name.split("x"))), 0.6, 0)


def _single_cells():
    try:
        import scanpy
    except ImportError:
        return synthetic(700, 765)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X = scanpy.datasets.pbmc68k_reduced().X
    return np.asarray(X.todense() if hasattr(X, "todense") else X, dtype=float)


def watched_fit(model, X, clock):
    """Fit a model; return all reports with their times since the start, and the time of the fit."""
    reports = []
    start = clock()
    model.fit(X, progress=lambda at: reports.append((clock() - start, at)))
    return reports, clock() - start


def predicted_total(reports, seconds, fraction=0.1):
    """Return the total that the last report in the first part of a fit predicts."""
    so_far, at = [pair for pair in reports if pair[0] <= fraction * seconds][-1]
    return so_far + at.seconds_left


def print_ratios(names, model):
    header = "announced", "at a tenth", "taken", "announced/taken", "at a tenth/taken"
    print(f"{'':16}" + "".join(f"{title:>18}" for title in header))
    for name in names:
        X = matrix(name)
        announced = model.expected_seconds(X.shape)
        reports, seconds = watched_fit(model, X, time.perf_counter)
        predicted = predicted_total(reports, seconds)
        values = announced, predicted, seconds, announced / seconds, predicted / seconds
        print(f"{name:16}" + "".join(f"{value:18.2f}" for value in values), flush=True)


def print_stages(names, model):
    print(f"speed factor of this machine: {speed_factor():.2f}")
    for name in names:
        X = matrix(name)
        n_folds = len(held_out_folds(X)) if model.scale_weights == "learned" else 0
        expected = defaultdict(float)
        for step in expected_steps(
            check_settings(model),
            X.shape,
            n_folds=n_folds,
            embedding=model.embedding,
            n_jobs=model.n_jobs,
        ):
            expected[step.stage] += step.seconds
        reports, seconds = watched_fit(model, X, time.process_time)
        measured = defaultdict(float)
        ends = [so_far for so_far, _ in reports[1:]] + [seconds]
        for (begin, at), end in zip(reports, ends, strict=True):
            measured[at.stage] += end - begin
        print(f"\n{name}, {X.shape[0]} x {X.shape[1]}, {n_folds} folds: {seconds:.2f} s")
        for stage, of_model in expected.items():
            taken = measured[stage]
            ratio = taken / of_model if of_model else np.nan
            print(
                f"    {stage:18} {taken:8.3f} s {of_model:8.3f} s expected {ratio:8.2f}", flush=True
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shapes", nargs="+", default=SHAPES, metavar="SHAPE")
    parser.add_argument("--stages", action="store_true")
    parser.add_argument("--keep-scales", action="store_true")
    parser.add_argument("--jobs", type=int)
    options = parser.parse_args()
    model = CoManifold(keep_scales=options.keep_scales, n_jobs=options.jobs)
    for size in (40, 200):  # load the compiled kernels
        model.fit(remove(synthetic(size, size), 0.5, 0))
    (print_stages if options.stages else print_ratios)(options.shapes, model)


if __name__ == "__main__":
    main()
