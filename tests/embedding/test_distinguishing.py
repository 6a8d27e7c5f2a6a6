"""Columns that distinguish clusters, against means and variances computed one by one."""

import numpy as np
import pandas as pd
import pytest

from comanifold import CoManifold
from comanifold._embedding.distinguishing import distinguishing
from comanifold.datasets import make_checkerboard, remove_entries


@pytest.fixture(scope="module")
def holed():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 12)) * rng.uniform(0.5, 2.0, 12)
    X[rng.random(X.shape) < 0.4] = np.nan
    return X, rng.integers(0, 3, 40)


def test_effects_are_those_of_each_column_on_its_own(holed):
    X, labels = holed
    table = pd.DataFrame(distinguishing(X, labels))
    assert len(table) == 36
    for cluster, part in table.groupby("cluster"):
        pairs = [
            (
                column[(labels == cluster) & ~np.isnan(column)],
                column[(labels != cluster) & ~np.isnan(column)],
            )
            for column in X.T
        ]
        freedom = np.array([len(a) + len(b) - 2 for a, b in pairs])
        pooled = np.array(
            [
                ((len(a) - 1) * a.var(ddof=1) + (len(b) - 1) * b.var(ddof=1))
                / (len(a) + len(b) - 2)
                for a, b in pairs
            ]
        )
        for line in part.itertuples():
            a, b = pairs[line.index]
            nu = freedom[line.index]
            s = np.sqrt((nu * pooled[line.index] + 3 * np.median(pooled)) / (nu + 3))
            g = (1 - 3 / (4 * nu - 1)) * (a.mean() - b.mean()) / s
            se = np.sqrt(1 / len(a) + 1 / len(b) + g**2 / (2 * (len(a) + len(b))))
            assert line.effect == pytest.approx(g)
            assert line.standard_error == pytest.approx(se)
            assert line.certain == pytest.approx(max(abs(g) - 1.96 * se, 0))
            assert (line.inside, line.outside) == pytest.approx((a.mean(), b.mean()))
            assert (line.n_inside, line.n_outside) == (len(a), len(b))
        assert (np.diff(part["certain"]) <= 0).all()


def test_effects_do_not_depend_on_unit_and_origin(holed):
    X, labels = holed
    table, moved = distinguishing(X, labels), distinguishing(1e3 * X - 7.0, labels)
    np.testing.assert_allclose(moved["effect"], table["effect"])
    np.testing.assert_array_equal(moved["index"], table["index"])


def test_columns_with_hardly_any_entries_are_left_out(holed):
    X, labels = holed[0].copy(), holed[1]
    X[labels == 0, 3] = np.nan
    X[np.flatnonzero(labels == 0)[0], 3] = 1.0
    table = pd.DataFrame(distinguishing(X, labels))
    assert 3 not in table[table["cluster"] == 0]["index"].values
    assert 3 in table[table["cluster"] == 1]["index"].values


def test_constant_parts_come_first_with_a_finite_effect():
    X = np.zeros((10, 2))
    X[:5, 1] = 1.0
    table = distinguishing(X, np.repeat([0, 1], 5))
    assert table["index"].tolist() == [1, 0, 1, 0]
    assert np.isfinite(table["effect"]).all()
    assert table["effect"][1] == table["effect"][3] == 0.0


def test_a_model_names_what_distinguishes_its_clusters():
    data = make_checkerboard(40, 30, n_row_groups=2, n_column_groups=3, noise=0.1, random_state=0)
    X = remove_entries(data.X, 0.3, random_state=0)
    frame = pd.DataFrame(
        X, index=[f"r{i}" for i in range(40)], columns=[f"c{j}" for j in range(30)]
    )
    model = CoManifold().fit(frame)
    for mode, size in (("row", 30), ("column", 40)):
        table = pd.DataFrame(model.distinguishing(mode))
        labels = getattr(model, f"{mode}_labels_")
        assert set(table["cluster"]) == set(labels)
        assert set(table["name"]) == set(frame.columns if mode == "row" else frame.index)
        assert len(table) == size * (labels.max() + 1)
    of_columns = model.distinguishing("row")["name"]
    assert list(of_columns) == [f"c{j}" for j in model.distinguishing("row")["index"]]


def test_groups_may_be_texts_with_gaps():
    rng = np.random.default_rng(1)
    model = CoManifold(n_components=1).fit(rng.normal(size=(12, 8)))
    labels = ["a"] * 5 + [None] + ["b"] * 5 + [float("nan")]
    table = model.distinguishing(labels=labels)
    assert set(table["cluster"]) == {"a", "b"}
    assert set(table["n_inside"]) == set(table["n_outside"]) == {5}
    assert model.distinguishing(labels=np.full(12, -1))["index"].size == 0
    with pytest.raises(ValueError, match=r"one label for each of the 12 rows, got shape \(3,\)"):
        model.distinguishing(labels=[0, 1, 2])


def test_one_cluster_is_distinguished_by_nothing():
    table = distinguishing(np.random.default_rng(0).normal(size=(6, 4)), np.zeros(6, dtype=int))
    assert table["effect"].size == 0
