"""Record the results of 36 fits, or compare with results that another version recorded.

    python benchmarks/recorded_fits.py record old.npz     # in the old checkout
    python benchmarks/recorded_fits.py compare old.npz    # in the new one

The fits cover all penalties, solvers, traversals, weights, dense and sparse distances, several
passes, cold starts, empty rows, outliers and complete data. For each fit the largest difference
of embeddings, distances, filled-in values and scales is printed, relative to the largest value,
and the ratio of the CPU times. lung500 is among them where COMANIFOLD_DATA names its folder.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from comanifold import CoManifold
from comanifold.datasets import remove_entries
from comanifold.penalties import Penalty, Snowflake

PAPER = {"scale_weights": "cost", "bandwidth": "median", "first_graphs": "masked"}


class Exponential(Penalty):
    """A penalty of a user: 1 - exp(-z)."""

    def value(self, z):
        return -np.expm1(-np.asarray(z))

    def derivative(self, z):
        return np.exp(-np.asarray(z))


def curve(n_rows, n_columns, noise, seed):
    rng = np.random.default_rng(seed)
    X = np.cos(np.linspace(0, 3, n_rows)[:, None] - np.linspace(0, 3, n_columns))
    return X + noise * rng.normal(size=X.shape)


def blocks(n_rows, n_columns, seed, noise=0.3):
    rng = np.random.default_rng(seed)
    levels = rng.normal(size=(4, 3))
    rows, columns = rng.integers(4, size=n_rows), rng.integers(3, size=n_columns)
    return levels[rows][:, columns] + noise * rng.normal(size=(n_rows, n_columns))


def cases():
    """Yield the name, the matrix and the parameters of every fit."""

    def holes(X, part, seed):
        return remove_entries(X, part, random_state=seed)

    wine, cancer = load_wine().data, load_breast_cancer().data[:200]
    digits = load_digits().data[:150]
    digits = digits[:, digits.std(axis=0) > 0]
    keep = {"keep_scales": True}
    yield "wine 30%", holes((wine - wine.mean(0)) / wine.std(0), 0.3, 2), keep
    yield "cancer 50%", holes((cancer - cancer.mean(0)) / cancer.std(0), 0.5, 3), {}
    yield "digits 50%", holes(digits, 0.5, 4), {}
    yield "digits 30%, median", holes(digits, 0.3, 4), {"bandwidth": "median"}
    yield "curve 50%", holes(curve(60, 40, 0.1, 0), 0.5, 5), keep
    yield "curve 80%, two passes", holes(curve(60, 40, 0.1, 1), 0.8, 6), {"n_passes": 2}
    yield "curve 80%, as in the paper", holes(curve(60, 40, 0.1, 1), 0.8, 6), {**PAPER, **keep}
    yield "curve, two workers", holes(curve(50, 30, 0.1, 2), 0.4, 7), {"n_jobs": 2}
    yield "curve, sparse", holes(curve(120, 50, 0.1, 3), 0.4, 8), {"distances": "sparse", **keep}
    yield "blocks, sparse", holes(blocks(200, 90, 4), 0.5, 9), {"distances": "sparse"}
    yield "blocks, 3 coordinates", holes(blocks(80, 50, 5), 0.3, 10), {"n_components": 3, **keep}
    yield "blocks, cold starts", holes(blocks(40, 30, 6), 0.3, 11), {"continuation": False, **keep}
    for seed, penalty in enumerate(("linear", "log", "mcp", Exponential(), Snowflake(1e-3)), 7):
        name = penalty if isinstance(penalty, str) else repr(penalty)
        yield (
            f"blocks, {name}",
            holes(blocks(40, 30, seed), 0.3, seed),
            {"penalty": penalty, **keep},
        )
    for penalty in ("snowflake", "linear"):
        options = {"solver": "paper", "penalty": penalty, "scale_weights": "cost"}
        yield f"blocks, paper's solver, {penalty}", holes(blocks(24, 18, 11), 0.3, 16), options
    options = {"traversal": "paper", **keep}
    yield "blocks, paper's traversal", holes(blocks(60, 40, 13), 0.5, 18), options
    yield "curve, start", holes(curve(40, 30, 0.1, 4), 0.4, 19), {"start_scale": (-3, -2), **keep}
    empty = holes(curve(40, 30, 0.2, 5), 0.4, 20)
    empty[3], empty[:, 7] = np.nan, np.nan
    yield "empty row and column", empty, keep
    outlier, wide = (holes(curve(40, 30, 0.2, seed), 0.3, seed) for seed in (6, 7))
    outlier[4, 5] = 1e9
    wide[:, 3] *= 1e8
    yield "outlier", outlier, {}
    yield "column in other units", wide, {}
    yield "complete", curve(50, 40, 0.3, 8), keep
    yield "noise", holes(np.random.default_rng(9).normal(size=(50, 40)), 0.4, 23), {}
    yield "tiny", holes(curve(8, 6, 0.2, 10), 0.2, 24), {}
    yield "whole numbers", holes(np.round(3 * curve(40, 30, 0.3, 11)), 0.3, 25), {}
    yield "other units", 1e6 * holes(curve(40, 30, 0.2, 12), 0.3, 26) + 1e7, {}
    yield "neighbours", holes(curve(60, 20, 0.2, 13), 0.5, 27), {"n_neighbors": (10, 4)}
    options = {"scale_weights": "cost", "alpha": 0.0}
    yield "equal weights", holes(np.exp(curve(30, 60, 0.5, 14)), 0.5, 28), options
    if "COMANIFOLD_DATA" in os.environ:
        path = Path(os.environ["COMANIFOLD_DATA"]) / "lung500.csv"
        lung = np.loadtxt(path, delimiter=",", skiprows=1, usecols=range(1, 57))
        for part in (0.0, 0.5, 0.9):
            yield f"lung500 {part:.0%}", holes(lung, part, 0), {}
        yield "lung500 50%, as in the paper", holes(lung, 0.5, 0), {**PAPER, "traversal": "paper"}


def results(X, parameters):
    """Return the results of a fit by name, and its CPU time."""
    start = time.process_time()
    model = CoManifold(**parameters).fit(X)
    seconds = time.process_time() - start
    found = {"filled": model.filled_, "seconds": np.array(seconds)}
    for mode in ("row", "column"):
        distances = getattr(model, f"{mode}_distances_")
        is_sparse = hasattr(distances, "toarray")
        found[f"{mode} distances"] = distances.toarray() if is_sparse else distances
        found[f"{mode} embedding"] = getattr(model, f"{mode}_embedding_")
        found[f"{mode} edges"] = getattr(model, f"{mode}_graph_").edges
    for name in ("l", "k", "n_row_clusters", "n_column_clusters", "objective", "weight"):
        found[f"scales, {name}"] = model.scales_[name]
    return found


def difference(a, b):
    """Return the largest difference relative to the largest value; inf for other shapes or gaps."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if a.shape != b.shape or (np.isnan(a) != np.isnan(b)).any():
        return np.inf
    largest = np.nanmax(np.abs(a), initial=0.0)
    return float(np.nanmax(np.abs(a - b), initial=0.0) / (largest or 1.0))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("file", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    CoManifold().fit(next(cases())[1])  # compiles
    if options.action == "record":
        arrays = {
            f"{name}/{key}": value
            for name, X, parameters in cases()
            for key, value in results(X, parameters).items()
        }
        np.savez_compressed(options.file, **arrays)
        return
    recorded = np.load(options.file)
    for name, X, parameters in cases():
        found = results(X, parameters)
        before = {key: recorded[f"{name}/{key}"] for key in found}
        ratio = found.pop("seconds") / before["seconds"]
        apart = {key: difference(before[key], value) for key, value in found.items()}
        worst = max(apart, key=apart.__getitem__)
        print(f"{name:32} {apart[worst]:8.1e} ({worst}); CPU time {ratio:.2f} of before")


if __name__ == "__main__":
    main()
