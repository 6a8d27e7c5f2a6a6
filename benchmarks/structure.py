"""The test for structure: its level on matrices without any, its power, and its share of a fit.

Level: the percentage of matrices without structure, of several kinds, sizes and fractions of
missing entries, that have a p-value of at most 0.05; it should be 5 or less, up to the sampling
error, which is printed. Power: the p-values of matrices with structure, or the percentage below
0.05 where they are drawn. The last kind, log(1 + counts), has effects that do not add up: these are
structure to the test.

    python benchmarks/structure.py                    # all of it, about half an hour
    python benchmarks/structure.py level --matrices 100
    python benchmarks/structure.py power time
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
from _problems import lung500, remove, synthetic
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from comanifold import CoManifold
from comanifold._embedding.structure import structure_p_values
from comanifold.datasets import load_lung500

SIZES = ((20, 10), (40, 200), (150, 60), (300, 300))
FRACTIONS = (0.0, 0.3, 0.8)


def noise(kind, shape, fraction_missing, rng):
    """Return a matrix of effects of rows and columns and independent noise."""
    a, b = rng.normal(size=(shape[0], 1)), rng.normal(size=shape[1])
    if kind == "normal":
        X = a + b + rng.normal(size=shape)
    elif kind == "scales of rows and columns":
        scales = np.exp(0.7 * rng.normal(size=(shape[0], 1)) + 0.7 * rng.normal(size=shape[1]))
        X = a + b + scales * rng.normal(size=shape)
    elif kind == "Student t, 3 degrees":
        X = a + b + rng.standard_t(3, size=shape)
    elif kind == "exponential":
        X = a + b + rng.exponential(size=shape)
    elif kind == "binary":
        X = (rng.logistic(size=shape) < a + b).astype(float)
    elif kind == "binary, 8% ones":
        X = (rng.logistic(size=shape) < a + b - 3.0).astype(float)
    elif kind == "answers 1 to 5":
        X = np.clip(np.round(3.0 + 0.8 * a + 0.6 * b + rng.normal(size=shape)), 1.0, 5.0)
    elif kind == "unevenly observed":
        X = a + b + rng.normal(size=shape)
        chances = rng.beta(0.7, 0.7, size=(shape[0], 1)) * rng.beta(1.0, 0.7, size=shape[1])
        return np.where(rng.random(shape) < 2.0 * (1.0 - fraction_missing) * chances, X, np.nan)
    else:
        X = np.log1p(rng.poisson(np.exp(0.5 * a + b)))
    return np.where(rng.random(shape) < fraction_missing, np.nan, X)


KINDS = (
    "normal",
    "scales of rows and columns",
    "Student t, 3 degrees",
    "exponential",
    "binary",
    "binary, 8% ones",
    "answers 1 to 5",
    "unevenly observed",
    "log(1 + counts)",
)


def print_level(n_matrices, sizes, n_draws):
    """Print the percentage of p-values up to 0.05, of rows / columns."""
    error = 100.0 * np.sqrt(0.05 * 0.95 / n_matrices)
    print(f"Level: % of p-values up to 0.05, rows/columns; 5 +- {error:.1f} expected")
    columns = [f"{n}x{m} {100 * part:.0f}%" for n, m in sizes for part in FRACTIONS]
    print(f"{'size, missing':28s}" + "".join(f"{column:>14s}" for column in columns))
    for kind in KINDS:
        print(f"{kind:28s}", end="", flush=True)
        for shape in sizes:
            for fraction in FRACTIONS:
                found = np.array(
                    [
                        structure_p_values(
                            noise(kind, shape, fraction, np.random.default_rng([seed, 7])),
                            n_draws=n_draws,
                            seed=seed,
                        )
                        for seed in range(n_matrices)
                    ]
                )
                rows, columns = 100.0 * (found <= 0.05).mean(axis=0)
                print(f"{rows:9.1f}/{columns:4.1f}", end="", flush=True)
        print(flush=True)


def tables():
    """Yield the names and values of tables with structure."""
    if (folder := os.environ.get("COMANIFOLD_DATA")) and (Path(folder) / "lung500.csv").exists():
        yield "lung500", load_lung500().X
    try:
        import scanpy

        yield "pbmc68k_reduced", np.asarray(scanpy.datasets.pbmc68k_reduced().X)
    except ImportError:
        print("pbmc68k_reduced needs scanpy")
    yield "digits", load_digits().data
    for name, load in (("wine", load_wine), ("breast cancer", load_breast_cancer)):
        X = load().data
        yield f"{name}, standardised", (X - X.mean(axis=0)) / X.std(axis=0)


def planted(kind, rng, shape=(100, 60)):
    """Return a matrix with little structure in noise of variance 1."""
    rows, columns = rng.uniform(size=shape[0]), rng.uniform(size=shape[1])
    signal = {
        "rank one, 5% of the variance": np.outer(
            rng.choice([-1.0, 1.0], shape[0]), rng.choice([-1.0, 1.0], shape[1])
        )
        * np.sqrt(0.05 / 0.95),
        "rank one, 10%": np.outer(
            rng.choice([-1.0, 1.0], shape[0]), rng.choice([-1.0, 1.0], shape[1])
        )
        * np.sqrt(0.1 / 0.9),
        "curve": np.cos(2.0 * np.pi * (rows[:, None] - columns)),
        "checkerboard, 3 x 4 groups": rng.normal(size=(3, 4))[
            rng.integers(3, size=shape[0])[:, None], rng.integers(4, size=shape[1])
        ],
        "bicluster, 20 x 15": 1.0 * np.outer(np.arange(shape[0]) < 20, np.arange(shape[1]) < 15),
        "50 pairs of rows, correlation 0.5": np.repeat(
            rng.normal(size=(shape[0] // 2, shape[1])), 2, axis=0
        ),
    }
    return signal[kind] + rng.normal(size=shape)


PLANTED = (
    "rank one, 5% of the variance",
    "rank one, 10%",
    "curve",
    "checkerboard, 3 x 4 groups",
    "bicluster, 20 x 15",
    "50 pairs of rows, correlation 0.5",
)


def print_power(n_matrices):
    """Print p-values of tables, and how often planted structure is found."""
    fractions = (0.0, 0.3, 0.7)
    print("\nPower: p-values, rows/columns" + "".join(f"{100 * f:13.0f}%" for f in fractions))
    for name, X in tables():
        print(f"{name:36s}", end="")
        for fraction in fractions:
            rows, columns = structure_p_values(remove(X, fraction, seed=0))
            print(f"{rows:9.3f}/{columns:.3f}", end="", flush=True)
        print(f"   {X.shape[0]} x {X.shape[1]}")
    print(f"% of {n_matrices} matrices, 100 x 60, with p-values up to 0.05")
    for kind in PLANTED:
        print(f"{kind:36s}", end="")
        for fraction in fractions:
            found = []
            for seed in range(n_matrices):
                X = remove(planted(kind, np.random.default_rng(seed)), fraction, seed)
                found.append(structure_p_values(X))
            rows, columns = 100.0 * (np.array(found) <= 0.05).mean(axis=0)
            print(f"{rows:9.0f}/{columns:4.0f}", end="", flush=True)
        print()


def print_time():
    """Print the time of the test and of a whole fit, in seconds of one processor."""
    print("\nTime of the test and of a fit, CPU seconds, the shortest of three")
    for name, X in (
        ("lung500, half missing", lung500()[0]),
        ("200 x 300, half missing", remove(synthetic(200, 300), 0.5, 0)),
    ):
        seconds = {}
        for step, call in (("test", structure_p_values), ("fit", CoManifold().fit)):
            times = []
            for _ in range(3):
                begin = time.process_time()
                call(X)
                times.append(time.process_time() - begin)
            seconds[step] = min(times)
        share = seconds["test"] / seconds["fit"]
        print(f"{name:28s}{seconds['test']:8.3f}{seconds['fit']:8.2f}{share:8.1%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=["level", "power", "time"])
    parser.add_argument("--matrices", type=int, default=400)
    parser.add_argument("--draws", type=int, default=99, help="of each test of the level")
    parser.add_argument("--sizes", default=",".join(f"{n}x{m}" for n, m in SIZES))
    options = parser.parse_args()
    sizes = [tuple(map(int, size.split("x"))) for size in options.sizes.split(",")]
    if "level" in options.parts:
        print_level(options.matrices, sizes, options.draws)
    if "power" in options.parts:
        print_power(min(options.matrices, 100))
    if "time" in options.parts:
        print_time()


if __name__ == "__main__":
    main()
