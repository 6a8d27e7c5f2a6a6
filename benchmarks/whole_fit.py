"""Time of a whole fit, relative to the matrix products that it needs: two for every member.

The bound is one product of the filled-in matrix with its transpose for the rows and one for the
columns, for each scale or completion whose distances are added up, on one BLAS thread as the fit
uses it. The rest is solving the scales, turning products into distances, completing the matrix, and
embedding; the benchmark prints the share of each. "default, all scales" solves the whole surface
instead of only the ways to the scales that have a weight, with the same result.

    python benchmarks/whole_fit.py

lung500 needs COMANIFOLD_DATA; without it, a matrix of its size.
"""

import argparse

import numpy as np
from _problems import lung500, remove, synthetic, time_of_parts, timed
from threadpoolctl import threadpool_limits

from comanifold import CoManifold


def products(X, n_members):
    """Form the products of the rows and of the columns of X once for every member."""
    filled = np.where(np.isnan(X), 0.0, X)
    with threadpool_limits(1):
        for _ in range(n_members):
            filled @ filled.T
            filled.T @ filled


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    lung, name = lung500()
    matrices = {name: lung, "a synthetic matrix": remove(synthetic(200, 300), 0.5, 0)}
    settings = {
        "as in the paper": CoManifold.as_in_the_paper(),
        "weights of the paper": CoManifold(scale_weights="cost"),
        "default": CoManifold(),
        "default, all scales": CoManifold(keep_scales=True),
    }
    for title, X in matrices.items():
        print(f"\n{title}, {X.shape[0]} x {X.shape[1]}, {np.isnan(X).mean():.0%} missing")
        for setting, model in settings.items():
            model.fit(X)  # compiles
            _, seconds = timed(lambda m=model, A=X: m.fit(A), options.repeat)
            n_scales = len(model.scales_["l"])
            n_weights = int((model.scales_["weight"] > 0).sum()) + len(model.completions_["weight"])
            _, bound = timed(lambda A=X, n=n_weights: products(A, n), options.repeat)
            print(
                f"  {setting}: {seconds:.2f} s, {n_scales} scales of the whole matrix solved; "
                f"{seconds / bound:.0f} times the products of {n_weights} members ({bound:.3f} s)"
            )
            (_, whole), parts = time_of_parts(lambda m=model, A=X: timed(lambda: m.fit(A)))
            for part, (part_seconds, n_calls) in parts.items():
                share = part_seconds / whole
                print(f"      {part:24} {share:5.0%}  {part_seconds:.3f} s, {n_calls} calls")


if __name__ == "__main__":
    main()
