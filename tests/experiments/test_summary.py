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
        "| comanifold | 0.250 ± 0.000 | 0.250 ± 0.000 |",
        "| mean of the column |  | 0.250 ± 0.000 |",
    ]


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
