"""Summaries and claims against numbers by hand."""

import numpy as np
import pandas as pd
import pytest

from comanifold.experiments._summary import Claim, _widest_gap, as_markdown, summarise


def test_a_missing_score_leaves_its_cell_empty():
    of_all = {"data_set": "linkage", "fraction": [0.1, 0.5], "realization": 0, "error": 0.25}
    ours = pd.DataFrame({**of_all, "method": "comanifold"})
    table = pd.concat([ours, pd.DataFrame({**of_all, "method": "mean"}).iloc[1:]])
    lines = summarise({"filling": table}).splitlines()
    assert lines[-2:] == [
        "| comanifold | **0.250** | **0.250** |",
        "| mean of the column |  | **0.250** |",
    ]


def scores(column, **of_method):
    """A table of one setting, with the scores of each method on the masks 0, 1, ..."""
    parts = [
        pd.DataFrame({"method": name, "realization": range(len(values)), column: values})
        for name, values in of_method.items()
    ]
    setting = {"data_set": "lung500", "n_components": 2, "fraction": 0.5}
    return pd.concat(parts, ignore_index=True).assign(**setting)


def best_line(table, name):
    lines = summarise({name: table}).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("### Best methods"))
    found = [line for line in lines[start + 6 :] if line.startswith("| lung500")]
    assert len(found) <= 1
    return [cell.strip() for cell in found[0].split("|")[1:-1]] if found else None


def test_the_best_other_method_and_the_paired_difference():
    ours = np.array([0.80, 0.60, 0.70, 0.90])
    better = ours + np.array([0.1, 0.1, 0.1, 0.14])
    table = scores("ari", comanifold=ours, nlpca=ours - 0.3, convex=better)
    assert best_line(table, "clustering") == [
        "lung500, 2 coordinates, 50%",
        "one-sided convex clustering, diffusion map",
        "0.86",
        "0.75",
        "-0.11 ± 0.01",
        "worse",
    ]
    assert "Of 1 settings, comanifold is worse in 1." in summarise({"clustering": table})


@pytest.mark.parametrize(
    ("shift", "verdict"),
    [
        ([-0.1, -0.1, -0.1, -0.12], "better"),
        ([0.1, 0.1, 0.1, 0.12], "worse"),
        ([0.2, -0.1, 0.1, -0.19], "within noise"),
        ([0.0, 0.0, 0.0, 0.0], "within noise"),
        # More than two standard errors, which is not enough with four masks.
        ([0.0, 0.1, 0.2, 0.1], "within noise"),
    ],
)
def test_differences_within_noise_do_not_count(shift, verdict):
    """Masks differ by more than the methods: only paired differences can tell them apart."""
    ours = np.array([0.1, 0.9, 0.3, 0.6])
    # Less error is better, a higher index is better.
    indices = scores("ari", comanifold=ours, convex=ours + shift)
    assert best_line(indices, "clustering")[-1] == verdict
    errors = scores("error", comanifold=1 - ours, soft=1 - ours - shift)
    assert best_line(errors, "filling")[-1] == verdict


def test_the_best_of_errors_is_the_least():
    table = scores("error", comanifold=[0.5, 0.5], soft=[0.4, 0.6], mean=[0.9, 0.9])
    assert best_line(table, "filling")[1:3] == ["SoftImpute", "0.500"]
    assert "| SoftImpute | **0.500 ± 0.100** |" in summarise({"filling": table})
    assert "| mean of the column | 0.900 ± 0.000 |" in summarise({"filling": table})


def test_equal_means_share_the_first_place():
    table = scores("ari", comanifold=[1.0, 1.0], nlpca=[1.0, 1.0], kernel=[1.0, 1.0])
    assert best_line(table, "clustering")[1] == "non-linear PCA and 1 more"


def test_one_mask_decides_nothing():
    table = scores("error", comanifold=[1.0], soft=[2e-6])
    assert best_line(table, "filling")[2:] == ["2e-06", "1.000", "+1.000", "not tested (one mask)"]


def test_methods_are_compared_on_the_masks_of_ours():
    table = scores("ari", comanifold=[0.5, 0.6], convex=[0.4, 0.5, 1.0])
    assert best_line(table, "clustering")[2:5] == ["0.45", "0.55", "+0.10 ± 0.00"]


@pytest.mark.parametrize("names", [["comanifold"], ["convex", "nlpca"]])
def test_without_ours_or_without_others_there_is_nothing_to_compare(names):
    table = scores("ari", **{name: [0.5, 0.6] for name in names})
    assert best_line(table, "clustering") is None
    assert "0.55" in summarise({"clustering": table})


def test_the_widest_gap_is_between_groups_not_to_outliers():
    x = np.sort(np.random.default_rng(0).uniform(0, 1, size=100))

    def gap(x):
        return _widest_gap(np.column_stack([x, np.zeros(100)]))

    assert gap(x) < 0.1
    assert gap(x + (np.arange(100) >= 50)) == pytest.approx(0.5, abs=0.05)
    assert gap(x + (np.arange(100) >= 99)) < 0.05


def test_claims_as_a_table():
    text = as_markdown([Claim("a", True, "1"), Claim("b", False, "2")])
    assert text.splitlines()[2:] == ["| a | true | 1 |", "| b | not true | 2 |"]
