"""The test for structure: its level, its power, its invariances, and matrices too small for it."""

import numpy as np
import pytest
from scipy.stats import binom

from comanifold import CoManifold
from comanifold._embedding.structure import (
    structure_p_values,
    structure_summary,
    structure_warnings,
)
from comanifold.datasets import make_checkerboard, make_curve, remove_entries

N_MATRICES = 300


def without_structure(kind, shape, missing, seed):
    """A matrix of effects of rows and columns and independent noise."""
    rng = np.random.default_rng([seed, 3])
    a, b = rng.normal(size=(shape[0], 1)), rng.normal(size=shape[1])
    if kind == "normal":
        X = 3 * a + 3 * b + rng.normal(size=shape)
    elif kind == "scales":
        X = a + b + np.exp(a[::-1] + b[::-1]) * rng.normal(size=shape)
    elif kind == "heavy tails":
        X = a + b + rng.standard_t(3, size=shape)
    elif kind == "skewed":
        X = a + b + rng.exponential(size=shape)
    elif kind == "binary":
        X = (rng.logistic(size=shape) < a + b).astype(float)
    else:
        X = np.clip(np.round(3 + 0.8 * a + 0.6 * b + rng.normal(size=shape)), 1, 5)
    return np.where(rng.random(shape) < missing, np.nan, X)


@pytest.mark.parametrize("missing", [0.0, 0.6])
@pytest.mark.parametrize("kind", ["normal", "scales", "heavy tails", "skewed", "binary", "answers"])
def test_few_matrices_without_structure_have_small_p_values(kind, missing):
    shape = (25, 50) if missing else (40, 15)
    found = np.array(
        [
            structure_p_values(without_structure(kind, shape, missing, seed), n_draws=59, seed=seed)
            for seed in range(N_MATRICES)
        ]
    )
    assert ((found > 0) & (found <= 1)).all()
    for level in (0.05, 0.2):
        most = binom.ppf(0.999, N_MATRICES, level)
        assert ((found <= level).sum(axis=0) <= most).all()
    if kind == "normal":
        # Not a test that never rejects.
        least = binom.ppf(0.001, N_MATRICES, 0.2)
        assert ((found <= 0.2).sum(axis=0) >= least).all()


def rank_one(rng):
    signs = [rng.choice([-1.0, 1.0], size) for size in (80, 60)]
    return 0.5 * np.outer(*signs) + rng.normal(size=(80, 60))


def many_factors(rng):
    factors = rng.normal(size=(80, 12)) @ rng.normal(size=(12, 60))
    return 0.15 * factors + rng.normal(size=(80, 60))


def bicluster(rng):
    X = rng.normal(size=(80, 60))
    X[:20, :15] += 1.5
    return X


def similar_answers(rng):
    groups = rng.normal(size=(3, 30))[rng.integers(3, size=90)]
    return np.clip(np.round(3 + 0.7 * groups + 0.7 * rng.normal(size=(90, 30))), 1, 5)


@pytest.mark.parametrize("make", [rank_one, many_factors, bicluster, similar_answers])
def test_structure_in_noise_is_found(make):
    for seed in range(10):
        X = make(np.random.default_rng(seed))
        assert structure_p_values(X) == (0.005, 0.005)


@pytest.mark.parametrize("missing", [0.0, 0.3, 0.7])
def test_groups_and_curves_are_found_with_few_entries(missing):
    board = make_checkerboard(60, 45, random_state=0).X
    curve = make_curve(80, 40, random_state=0).X
    for X in (board, curve):
        X = remove_entries(X, missing, random_state=1) if missing else X
        assert structure_p_values(X) == (0.005, 0.005)


def test_effects_of_any_size_are_no_structure():
    X = np.random.default_rng(2).normal(size=(30, 20))
    effects = np.random.default_rng(3).normal(size=(30, 1)) + np.arange(20.0)
    before, after = structure_p_values(X), structure_p_values(X + 100 * effects)
    assert min(before) > 0.05
    # Signs are drawn in the order of the means: the draws differ.
    np.testing.assert_allclose(after, before, atol=0.15)


@pytest.mark.parametrize("shape", [(30, 20), (25, 25), (170, 210)])
@pytest.mark.parametrize("kind", ["normal", "answers"])
def test_neither_order_nor_units_nor_transposition_matter(shape, kind):
    rng = np.random.default_rng(5)
    X = without_structure(kind, shape, 0.3, seed=1)
    expected = structure_p_values(X)
    rows, columns = rng.permutation(shape[0]), rng.permutation(shape[1])
    assert structure_p_values(X[rows][:, columns]) == expected
    assert structure_p_values(1e-3 * X + 7) == expected
    assert structure_p_values(X.T) == expected[::-1]
    assert structure_p_values(X) == expected


def test_similar_rows_beyond_those_of_the_draws_decide():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(60, 40))
    assert min(structure_p_values(X)) > 0.05
    X[:30] += rng.normal(size=40)
    assert max(structure_p_values(X)) == 0.005
    assert max(structure_p_values(X, n_draws=19)) == 0.05


@pytest.mark.parametrize(
    "X",
    [
        np.ones((10, 8)),
        np.arange(10.0)[:, None] + np.arange(8.0),
        np.full((5, 5), np.nan),
        np.where(np.eye(12) > 0, np.arange(12.0), np.nan),
        np.random.default_rng(0).normal(size=(2, 50)),
        np.random.default_rng(0).normal(size=(50, 2)),
        np.random.default_rng(0).normal(size=(1, 1)),
        np.eye(15),
        np.empty((0, 3)),
    ],
)
def test_nothing_can_be_told_of_matrices_without_residuals(X):
    assert structure_p_values(X) == (1.0, 1.0)


def test_constant_and_empty_lines_are_left_out():
    rng = np.random.default_rng(4)
    X = rank_one(rng)
    X[3], X[:, 5] = 1.0, np.nan
    X[7, 1:] = np.nan
    assert structure_p_values(X) == (0.005, 0.005)
    X = rng.normal(size=(20, 15))
    with_lines = np.vstack([X, np.full((30, 15), 0.5), np.full((4, 15), np.nan)])
    assert min(structure_p_values(with_lines)) > 0.05


def test_large_matrices_are_thinned_to_those_with_most_entries():
    rng = np.random.default_rng(6)
    X = np.where(rng.random((2000, 1500)) < 0.004, rng.normal(size=(2000, 1500)), np.nan)
    assert min(structure_p_values(X)) > 0.05
    signs = rng.choice([-1.0, 1.0], 140), rng.choice([-1.0, 1.0], 140)
    rows, columns = rng.permutation(2000)[:140], rng.permutation(1500)[:140]
    X[np.ix_(rows, columns)] = np.outer(*signs) + rng.normal(size=(140, 140))
    assert structure_p_values(X) == (0.005, 0.005)


def test_p_values_of_a_fit_are_those_of_the_observed_matrix(tmp_path):
    X = without_structure("normal", (30, 24), 0.3, seed=2)
    X[4], X[:, 2] = np.nan, np.nan
    with pytest.warns(UserWarning, match="no observed entry"):
        model = CoManifold().fit(X)
    observed = np.delete(np.delete(X, 4, axis=0), 2, axis=1)
    expected = structure_p_values(observed)
    assert (model.row_p_value_, model.column_p_value_) == expected
    outlier = X.copy()
    outlier[0, np.flatnonzero(np.isnan(X[0]))[-1]] = 1e9
    with (
        pytest.warns(UserWarning, match="no observed entry"),
        pytest.warns(UserWarning, match="1e\\+09"),
    ):
        assert CoManifold().fit(outlier).row_p_value_ == expected[0]
    model.save(tmp_path / "model")
    loaded = CoManifold.load(tmp_path / "model")
    assert (loaded.row_p_value_, loaded.column_p_value_) == expected


def test_words():
    assert structure_summary(0.005, 0.42) == {
        "rows": "rows: yes (p = 0.005)",
        "columns": "columns: none found beyond row and column effects (p = 0.42)",
    }
    assert structure_warnings(0.05, 0.9) == []
    (warning,) = structure_warnings(0.06, 0.9)
    assert "p = 0.06 and 0.9" in warning
