"""CPU time of a whole default fit over that of what one would do instead: SoftImpute and UMAP.

    python benchmarks/instead.py [--shapes 1000x600 3000x1000] [--no-cells] [--peer qolmat]

The rival fills in the matrix by SoftImpute and embeds its rows and its columns by UMAP. Both run on
one thread, after runs on small matrices that compile everything. The matrices are synthetic, and
cells (pbmc68k_reduced, which needs scanpy), with 60% missing. A ratio below 1 means that the fit
takes less time than the rival.

--peer also compares our SoftImpute with those of other packages, where installed: with their
defaults, and on the same problem, at the penalty that ours has found. `qolmat` 0.2.0 is maintained;
its rank has to be given, and it makes 100 iterations. `fancyimpute` 0.7.0, of 2021, is faster, and
needs scikit-learn older than 1.8. f is the objective that our estimator minimises, after one step
of shrinkage from the filled-in matrix: times of the same f can be compared.
"""

# ruff: noqa: E402

import argparse
import importlib
import os
import time
import warnings

# Before NumPy and Numba are imported: they read these once.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
from _problems import remove, synthetic
from umap import UMAP

from comanifold import CoManifold
from comanifold.baselines import SoftImpute

# For dense distances, and for sparse distances and the approximate neighbours of UMAP.
SHAPES_TO_COMPILE = "120x80", "4200x20"

SHAPES = ("1000x600", "3000x1000", "10000x200", "30000x20")
FRACTION_MISSING = 0.6


def matrices(shapes, with_cells):
    """Yield names and matrices."""
    for shape in shapes:
        n_rows, n_columns = map(int, shape.split("x"))
        yield shape, remove(synthetic(n_rows, n_columns), FRACTION_MISSING, 0)
    if with_cells:
        X = importlib.import_module("scanpy").datasets.pbmc68k_reduced().X
        yield "pbmc68k_reduced", remove(np.asarray(X, dtype=float), FRACTION_MISSING, 0)


def timed(call):
    """Return the result of a call, and the CPU seconds it took."""
    start = time.process_time()
    result = call()
    return result, time.process_time() - start


def embed(X):
    """Return the embedding of rows by UMAP."""
    return UMAP(random_state=0, n_jobs=1).fit_transform(X)


def compare(X):
    """Return the CPU seconds of a whole fit, and of the parts of the rival."""
    _, ours = timed(lambda: CoManifold().fit(X))
    filled, soft = timed(lambda: SoftImpute().fit_transform(X))
    _, rows = timed(lambda: embed(filled))
    _, columns = timed(lambda: embed(filled.T))
    return ours, soft, rows, columns


def objective(X, filled, penalty):
    """Return the objective of SoftImpute one step of shrinkage from a filled-in matrix."""
    U, values, Vt = np.linalg.svd(filled, full_matrices=False)
    values = np.maximum(values - penalty, 0.0)
    return 0.5 * np.nansum((X - (U * values) @ Vt) ** 2) + penalty * values.sum()


def fancyimpute(X, **same):
    """Return X filled in by fancyimpute."""
    from fancyimpute import SoftImpute

    options = {"shrinkage_value": same["penalty"]} if same else {}
    return SoftImpute(verbose=False, **options).fit_transform(X)


def qolmat(X, **same):
    """Return X filled in by qolmat."""
    from qolmat.imputations.softimpute import SoftImpute

    options = {"tau": same["penalty"], "rank": same["rank"]} if same else {}
    observed = ~np.isnan(X)
    low_rank, _ = SoftImpute(random_state=0, **options).decompose(X, observed)
    return np.where(observed, X, low_rank)


PEERS = {"fancyimpute": fancyimpute, "qolmat": qolmat}


def compare_peers(X, names):
    """Print times and objectives of our SoftImpute and of others."""
    X = X - np.nanmean(X, axis=0)  # as our estimator does
    model, seconds = timed(lambda: SoftImpute().fit(X))
    same = {"penalty": model.penalty_, "rank": model.rank_}
    runs = {
        "ours, default": (model.filled_, seconds),
        "ours, this penalty": timed(lambda: SoftImpute(penalty=model.penalty_).fit_transform(X)),
    }
    for name in names:
        runs[f"{name}, default"] = timed(lambda fill=PEERS[name]: fill(X))
        runs[f"{name}, this penalty"] = timed(lambda fill=PEERS[name]: fill(X, **same))
    for name, (filled, seconds) in runs.items():
        print(f"    {name:26} {seconds:8.2f} s   f = {objective(X, filled, model.penalty_):.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shapes", nargs="*", default=SHAPES, metavar="ROWSxCOLUMNS")
    parser.add_argument("--no-cells", action="store_true", help="without pbmc68k_reduced")
    parser.add_argument("--peer", choices=PEERS, nargs="+", default=[], help="other SoftImputes")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for _, X in matrices(SHAPES_TO_COMPILE, with_cells=False):
        compare(X)
    print("CPU seconds on one thread\n")
    print(f"{'matrix':>16} {'fit':>8} {'SoftImpute':>11} {'rows':>7} {'columns':>8} {'ratio':>7}")
    for name, X in matrices(options.shapes, not options.no_cells):
        ours, *parts = compare(X)
        soft, rows, columns = parts
        print(
            f"{name:>16} {ours:8.2f} {soft:11.2f} {rows:7.2f} {columns:8.2f} "
            f"{ours / sum(parts):7.2f}",
            flush=True,
        )
        if options.peer:
            compare_peers(X, options.peer)


if __name__ == "__main__":
    main()
