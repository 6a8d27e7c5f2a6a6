"""Filled-in values and distances on many matrices, against what people use instead.

Entries are removed from matrices of many kinds, and the default of CoManifold is compared with
filling in by column means, by scikit-learn's KNNImputer and IterativeImputer and by SoftImpute,
and with distances over shared entries. The same masks for all methods, each with its defaults.
Rows and columns without an observed entry are dropped before anything is fitted. A cell is a
matrix and a missingness; its numbers are means over the masks, and "best rival" is the best in
that cell.

- ratio: root-mean-square error of missing entries, ours divided by that of the best rival.
- rows, columns: the share of the 10 nearest rows (columns) in the complete data, by Euclidean
  distances, that are among the 10 nearest by a method; ours minus the best rival. Not for fewer
  than 30 points.
- cover, width: the share of missing entries inside intervals meant to contain 90%, and the mean
  width divided by that of SoftImpute, whose intervals are of constant width (split conformal
  inference: residuals of a tenth of the observed entries, held out). "SoftI" is its share; there
  is none where fewer than 9 entries can be held out.

Small matrices: the correlation of our distances between rows with those in the complete data,
learned weights of the scales minus ``scale_weights="cost"``.

    python benchmarks/answers.py --jobs 2 --save answers.csv     # all; hours
    python benchmarks/answers.py --masks 1 --matrices wine,president --fractions 0.3,0.7
    python benchmarks/answers.py --masks 0                       # small matrices only

With --save, results are appended to the file as they come, and what is in it is not run again;
start a new file after a change of the method. The file has the errors in standard deviations of
the observed entries, the recalls, coverages, widths and CPU seconds of each method and mask.
lung500 and president need COMANIFOLD_DATA or a download, pbmc68k_reduced needs scanpy.
"""

import argparse
import os
import time
import warnings
from contextlib import suppress
from importlib import import_module

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.spatial.distance import cdist
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from comanifold import CoManifold, masked_distances
from comanifold.baselines import SoftImpute
from comanifold.datasets import (
    load_lung500,
    load_president,
    make_checkerboard,
    make_clusters,
    make_curve,
    make_linkage,
    make_linkage2,
    remove_entries,
)
from comanifold.model_selection import hold_out

OURS, SOFT = "comanifold", "SoftImpute"
FILLING = (OURS, "column means", "KNN", SOFT, "IterativeImputer")
RIVALS = (*FILLING[1:], "masked distances")

# IterativeImputer takes about 30 seconds of CPU time with 300 columns (200 rows), 70 with 500
# (56 rows). It is compared where it ends in a minute.
MAX_ITERATIVE_COLUMNS = 400

N_NEAREST = 10
MIN_POINTS = 30
COVERAGE = 0.9
PATTERN_FRACTION = 0.3  # of entries missing in patterns other than "random"

KEYS = ["matrix", "pattern", "fraction", "mask"]
SCORES = [
    *(f"{method} error" for method in FILLING),
    *(f"{method} {mode}" for mode in ("rows", "columns") for method in (OURS, *RIVALS)),
    *(f"{method} {kind}" for kind in ("coverage", "width", "cpu") for method in (OURS, SOFT)),
]


def digits():
    """Return 600 images by the pixels that vary: a standard deviation over 0.25 in all images."""
    X = load_digits().data
    return X[:600, X.std(axis=0) > 0.25]  # 54 pixels


def ratings(seed):
    """Return ratings from 1 to 5: effects of users and items, tastes (rank 4) and noise."""
    rng = np.random.default_rng(seed)
    users, items = rng.normal(size=(200, 4)), rng.normal(size=(120, 4))
    X = 3.4 + 0.5 * rng.normal(size=(200, 1)) + 0.5 * rng.normal(size=120)
    X = X + 0.35 * users @ items.T + 0.6 * rng.normal(size=(200, 120))
    return np.clip(np.round(X), 1, 5)


MATRICES = {
    "lung500": lambda _: load_lung500().X,
    "lung500 transposed": lambda _: load_lung500().X.T,
    "digits": lambda _: digits(),
    "wine": lambda _: scale(load_wine().data),
    "breast cancer": lambda _: scale(load_breast_cancer().data),
    "pbmc68k_reduced": lambda _: import_module("scanpy").datasets.pbmc68k_reduced().X,
    "president": lambda _: load_president().X,
    "linkage": lambda seed: make_linkage(random_state=seed).X,
    "linkage2": lambda seed: make_linkage2(random_state=seed).X,
    "clusters": lambda seed: make_clusters(random_state=seed).X,
    "curve": lambda seed: make_curve(noise=0.4, random_state=seed).X,
    "surface": lambda seed: make_linkage(n_columns=150, noise=0.7, random_state=seed).X,
    "checkerboard": lambda seed: make_checkerboard(noise=1.0, random_state=seed).X,
    "ratings": ratings,
}

# The constants of the default were chosen on the first half; the second is for reporting only.
CHOSEN_ON = {
    "lung500",
    "lung500 transposed",
    "wine",
    "linkage2",
    "curve",
    "checkerboard",
    "ratings",
}
REPORTED_ON = MATRICES.keys() - CHOSEN_ON
HALVES = {"chosen on": CHOSEN_ON, "reported on": REPORTED_ON}


def timed(function, *arguments):
    """Return the result of a function, and the CPU seconds it took."""
    start = time.process_time()
    result = function(*arguments)
    return result, time.process_time() - start


def rival_fillings(X):
    """Return the matrix as filled in by the rivals, and the CPU seconds of SoftImpute."""
    soft, seconds = timed(SoftImpute().fit_transform, X)
    filled = {
        "column means": np.where(np.isnan(X), np.nanmean(X, axis=0), X),
        "KNN": KNNImputer().fit_transform(X),
        SOFT: soft,
    }
    if X.shape[1] <= MAX_ITERATIVE_COLUMNS:
        with suppress(ValueError):  # its iterations may diverge; the cell is without it
            filled["IterativeImputer"] = IterativeImputer().fit_transform(X)
    return filled, seconds


def intervals(model, soft, X, mask):
    """Return lower and upper bounds, ours (if the model has them) and of SoftImpute."""
    bounds = {}
    if hasattr(model, "filled_interval"):
        bounds[OURS] = model.filled_interval(coverage=COVERAGE)
    held_out = hold_out(X, random_state=mask)
    n_held_out = 0 if held_out is None else len(held_out.values)
    if n_held_out >= 9:  # with fewer, no finite interval has the coverage
        filled = SoftImpute().fit_transform(held_out.rest())
        residuals = np.abs(filled[held_out.rows, held_out.columns] - held_out.values)
        level = min(1.0, (1 + 1 / n_held_out) * COVERAGE)
        half = np.quantile(residuals, level, method="inverted_cdf")
        bounds[SOFT] = soft - half, soft + half
    return bounds


def nearest(distances):
    """Return which points are among the nearest of each, itself not counted."""
    known = distances[np.isfinite(distances)]
    distances = np.where(np.isfinite(distances), distances, 2 * known.max())
    np.fill_diagonal(distances, np.inf)
    order = np.argsort(distances, axis=1, kind="stable")[:, :N_NEAREST]
    among = np.zeros(distances.shape, dtype=bool)
    np.put_along_axis(among, order, True, axis=1)
    return among


def run(name, pattern, fraction, mask):
    """Return the scores of all methods on one mask."""
    complete = np.asarray(MATRICES[name](mask), dtype=float)
    seed = 1000 * mask + round(100 * fraction)
    X = remove_entries(complete, fraction, pattern=pattern, allow_empty=True, random_state=seed)
    missing = np.isnan(X)
    kept = np.ix_(~missing.all(axis=1), ~missing.all(axis=0))
    complete, X, missing = complete[kept], X[kept], missing[kept]
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        # Compilation does not count in the times.
        CoManifold().fit(remove_entries(make_curve(20, 15, random_state=0).X, 0.3, random_state=0))
        model, seconds = timed(CoManifold().fit, X)
        filled, soft_seconds = rival_fillings(X)
        bounds = intervals(model, filled[SOFT], X, mask)
    scores = {f"{OURS} cpu": seconds, f"{SOFT} cpu": soft_seconds}
    spread = np.nanstd(X)
    for method, F in {OURS: model.filled_, **filled}.items():
        scores[f"{method} error"] = np.sqrt(np.mean((F - complete)[missing] ** 2)) / spread
    for mode, ours in (("rows", model.row_distances_), ("columns", model.column_distances_)):
        if len(ours) < MIN_POINTS:
            continue
        turn = np.asarray if mode == "rows" else np.transpose
        distances = {method: cdist(turn(F), turn(F)) for method, F in filled.items()}
        distances |= {OURS: ours, "masked distances": masked_distances(turn(X))}
        truly = nearest(cdist(turn(complete), turn(complete)))
        for method, D in distances.items():
            scores[f"{method} {mode}"] = (nearest(D) & truly).sum() / truly.sum()
    for method, (lower, upper) in bounds.items():
        inside = (lower <= complete) & (complete <= upper)
        scores[f"{method} coverage"] = inside[missing].mean()
        scores[f"{method} width"] = (upper - lower)[missing].mean() / spread
    return {**dict(zip(KEYS, (name, pattern, fraction, mask), strict=True)), **scores}


def run_all(cases, known, options):
    """Return a table of the scores of the cases; those that are not known yet are run."""
    parallel = Parallel(n_jobs=options.jobs, return_as="generator_unordered")
    for line in parallel(delayed(run)(*case) for case in cases if case not in known):
        known[tuple(line[key] for key in KEYS)] = line
        if options.save:
            header = not os.path.exists(options.save)
            table = pd.DataFrame([line], columns=KEYS + SCORES)
            table.to_csv(options.save, mode="a", header=header, index=False)
    return pd.DataFrame([known[case] for case in cases], columns=KEYS + SCORES)


def compare(masks):
    """Return ours against the best rival in a cell, from the scores on its masks.

    A method without a score on one of the masks is left out.
    """
    means = masks[SCORES].mean(skipna=False)
    errors = means[[f"{rival} error" for rival in FILLING[1:]]]
    cell = {
        "ratio": means[f"{OURS} error"] / errors.min(),
        "rival": errors.idxmin().removesuffix(" error"),
        "coverage": means[f"{OURS} coverage"],
        "coverage of SoftImpute": means[f"{SOFT} coverage"],
        "width": means[f"{OURS} width"] / means[f"{SOFT} width"],
    }
    for mode in ("rows", "columns"):
        cell[mode] = means[f"{OURS} {mode}"] - means[[f"{rival} {mode}" for rival in RIVALS]].max()
    return cell


def print_matrix(name, table):
    """Print the cells of a matrix, and return them."""
    print(f"\n{name}, {' x '.join(map(str, MATRICES[name](0).shape))}")
    print("missing       ratio     rows  columns    cover    SoftI    width  best rival")
    forms = {"ratio": ".3f", "rows": "+.3f", "columns": "+.3f"}
    forms |= {"coverage": ".3f", "coverage of SoftImpute": ".3f", "width": ".3f"}
    cells = []
    for (pattern, fraction), masks in table.groupby(["pattern", "fraction"], sort=False):
        label = f"{fraction:.0%}" + ("" if pattern == "random" else f" {pattern}")
        cell = {"matrix": name, "pattern": pattern, "missing": label, **compare(masks)}
        numbers = ("-" if np.isnan(cell[key]) else f"{cell[key]:{f}}" for key, f in forms.items())
        print(f"{label:<10} " + " ".join(f"{n:>8}" for n in numbers) + f"  {cell['rival']}")
        cells.append(cell)
    ours, soft = (table[f"{method} cpu"].mean() for method in (OURS, SOFT))
    print(f"CPU seconds of a fit: {OURS} {ours:.2f}, {SOFT} {soft:.2f}", flush=True)
    return cells


def print_summary(title, cells):
    """Print means over cells, and the worst ones."""
    print(f"\n{title}: {cells['matrix'].nunique()} of the matrices, {len(cells)} cells")

    def line(name, values, badness, form=".3f", more=""):
        if values.notna().any():
            at = badness.idxmax()
            where = f"{cells['matrix'][at]}, {cells['missing'][at]}"
            text = f"mean {values.mean():{form}}, worst {values[at]:{form}} ({where})"
            print(f"  {name:<17} {text}{more}")

    ratio = cells["ratio"]
    line("error ratio", ratio, ratio, more=f", at most 1.01 in {(ratio <= 1.01).mean():.0%}")
    for mode in ("rows", "columns"):
        line(f"recall, {mode}", cells[mode], -cells[mode], form="+.3f")
    for pattern, coverage in cells.groupby("pattern", sort=False)["coverage"]:
        line(f"coverage, {pattern}", coverage, (coverage - COVERAGE).abs())
    line("width ratio", cells["width"], cells["width"])


def small_matrix(kind, rng):
    """Return a matrix of 6 x 5 to 20 x 15 entries."""
    n_rows, n_columns = rng.integers(6, 21), rng.integers(5, 16)
    if kind == "curve":
        return make_curve(n_rows, n_columns, random_state=int(rng.integers(2**31))).X
    if kind == "rank 2":
        X = rng.normal(size=(n_rows, 2)) @ rng.normal(size=(2, n_columns))
    elif kind == "two clusters":
        X = rng.normal(size=(2, n_columns))[np.arange(n_rows) % 2]
    else:
        X = rng.normal(size=(n_rows, 1)) + rng.normal(size=n_columns)
    return X + 0.3 * rng.normal(size=X.shape)


SMALL_KINDS = ("rank 2", "two clusters", "curve", "row and column effects")


def run_small(draw):
    """Return the correlations with learned weights and with those of the paper, or None."""
    rng = np.random.default_rng(draw)
    complete = small_matrix(SMALL_KINDS[draw % len(SMALL_KINDS)], rng)
    X = remove_entries(complete, rng.uniform(0.2, 0.6), random_state=draw)
    upper = np.triu_indices(len(X), 1)
    truth = cdist(complete, complete)[upper]
    correlations = []
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for weights in ("learned", "cost"):
            try:
                distances = CoManifold(scale_weights=weights).fit(X).row_distances_[upper]
            except ValueError:  # too small
                return None
            # Distances that are all equal say nothing.
            correlations.append(np.nan_to_num(np.corrcoef(distances, truth)[0, 1]))
    return correlations


def print_small(n_draws, n_jobs):
    """Print how the two kinds of weights compare on small matrices."""
    found = Parallel(n_jobs=n_jobs)(delayed(run_small)(draw) for draw in range(n_draws))
    print(f"\nSmall matrices: {n_draws} draws, {found.count(None)} skipped (too small for a fit)")
    n_kinds = len(SMALL_KINDS)
    parts = {kind: found[i::n_kinds] for i, kind in enumerate(SMALL_KINDS)}
    for kind, pairs in {**parts, "all": found}.items():
        pairs = np.array([pair for pair in pairs if pair is not None])
        if len(pairs):
            difference = pairs[:, 0] - pairs[:, 1]
            print(
                f"  {kind:<22} learned {pairs[:, 0].mean():.3f}, cost {pairs[:, 1].mean():.3f}, "
                f"difference {difference.mean():+.3f} (worst {difference.min():+.3f}), "
                f"at least -0.05 in {(difference >= -0.05).mean():.1%}"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--masks", type=int, default=5)
    parser.add_argument("--first-mask", type=int, default=0)
    parser.add_argument("--fractions", default="0.1,0.3,0.5,0.7,0.8,0.9", help="missing at random")
    parser.add_argument("--patterns", default="random,block,value", help="the others at 30%%")
    parser.add_argument("--matrices", default=",".join(MATRICES), help="such as wine,president")
    parser.add_argument("--half", choices=["chosen", "reported", "all"], default="all")
    parser.add_argument("--small", type=int, default=200, help="number of small matrices")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--save", help="CSV file to append to and to resume from")
    options = parser.parse_args()
    wanted = set(options.matrices.split(","))
    if unknown := wanted - MATRICES.keys():
        parser.error(f"no matrix {', '.join(unknown)}: there are {', '.join(MATRICES)}")
    wanted &= HALVES.get(f"{options.half} on", MATRICES.keys())
    patterns = options.patterns.split(",")
    missing = [("random", float(f)) for f in options.fractions.split(",") if "random" in patterns]
    missing += [(pattern, PATTERN_FRACTION) for pattern in patterns if pattern != "random"]
    masks = range(options.first_mask, options.first_mask + options.masks)
    known = {}
    if options.save and os.path.exists(options.save):
        lines = pd.read_csv(options.save, float_precision="round_trip").to_dict("records")
        known = {tuple(line[key] for key in KEYS): line for line in lines}
    cells = []
    for name in [name for name in MATRICES if name in wanted and masks]:
        cases = [(name, *how, mask) for how in missing for mask in masks]
        cells += print_matrix(name, run_all(cases, known, options))
    cells = pd.DataFrame(cells)
    for title, names in (*HALVES.items(), ("all", MATRICES)):
        if len(cells) and cells["matrix"].isin(names).any():
            print_summary(title, cells[cells["matrix"].isin(names)])
    if options.small:
        print_small(options.small, options.jobs)


if __name__ == "__main__":
    main()
