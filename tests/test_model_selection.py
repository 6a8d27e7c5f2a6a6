"""Held-out entries, at random or by their values, errors on them, and `CoManifold.score`."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.fits import random_matrix
from sklearn.exceptions import NotFittedError
from sklearn.impute import KNNImputer
from sklearn.model_selection import GridSearchCV, KFold, cross_validate

from comanifold import CoManifold, model_selection
from comanifold.baselines import SoftImpute
from comanifold.datasets import make_curve, remove_entries
from comanifold.model_selection import (
    HeldOut,
    HeldOutErrors,
    compare_held_out,
    held_out_errors,
    hold_out,
)


def curve(missing=0.4, seed=0):
    return remove_entries(make_curve(60, 40, random_state=seed).X, missing, random_state=seed)


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 0.9), st.integers(1, 4))
def test_rows_and_columns_keep_enough_entries(seed, missing, min_observed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 15))
    X[rng.random(X.shape) < missing] = np.nan
    held_out = hold_out(X, min_observed=min_observed, random_state=seed)
    if held_out is None:
        return
    rows, columns, rest = held_out.rows, held_out.columns, held_out.rest()
    np.testing.assert_array_equal(held_out.values, X[rows, columns])
    assert not np.isnan(held_out.values).any()
    assert np.isnan(rest[rows, columns]).all()
    rest[rows, columns] = X[rows, columns]
    np.testing.assert_array_equal(rest, X)
    for axis, places in ((1, rows), (0, columns)):
        left = (~np.isnan(held_out.rest())).sum(axis=axis)
        assert (left[places] >= min_observed).all()


def test_a_tenth_is_held_out_and_the_seed_decides_which():
    X = np.random.default_rng(0).normal(size=(100, 100))
    one, same, other = (hold_out(X, random_state=seed) for seed in (0, 0, 1))
    assert 900 < len(one.values) < 1100
    np.testing.assert_array_equal(one.rest(), same.rest())
    assert not np.array_equal(one.rest(), other.rest(), equal_nan=True)
    assert hold_out(X, min_held_out=5000, random_state=0) is None


@pytest.mark.parametrize("fraction", [0.0, 1.0, -1, "a", True, None])
def test_an_invalid_fraction_is_named(fraction):
    with pytest.raises(ValueError, match="fraction must be a number between 0 and 1"):
        hold_out(np.ones((5, 5)), fraction)


def test_errors_against_their_definition():
    X = curve()
    held_out = hold_out(X, random_state=0)
    i, j, truth, rest = held_out.rows, held_out.columns, held_out.values, held_out.rest()
    filled = np.nan_to_num(rest)
    errors = held_out_errors(held_out, filled)

    def error(predicted):
        return np.sqrt(np.mean((predicted - truth) ** 2)) / truth.std()

    assert errors.n_held_out == len(truth)
    assert errors.model == pytest.approx(error(np.zeros(len(truth))))
    assert errors.row_means == pytest.approx(error(np.nanmean(rest, axis=1)[i]))
    assert errors.column_means == pytest.approx(error(np.nanmean(rest, axis=0)[j]))
    assert errors.knn == pytest.approx(error(KNNImputer().fit_transform(rest)[i, j]))
    assert errors.soft_impute == pytest.approx(error(SoftImpute().fit_transform(rest)[i, j]))
    filled[i[0], j[0]] = np.nan
    assert held_out_errors(held_out, filled) is None
    constant = hold_out(np.ones((20, 20)), random_state=0)
    assert held_out_errors(constant, np.ones((20, 20))) is None


class TestComparison:
    @pytest.mark.filterwarnings("ignore:the entry")
    def test_all_methods_predict_each_fold_without_it(self):
        X = 1e6 + curve(0.3)  # not in standard units
        X[3, 3] = 1e13
        model = CoManifold().fit(X)
        assert model.ignored_entries_.tolist() == [[3, 3]]
        found, errors = model.held_out_, compare_held_out(model)
        assert len(np.unique(found["fold"])) > 1
        X[3, 3] = np.nan
        predicted = {"row_means": [], "column_means": [], "knn": [], "soft_impute": []}
        for fold in np.unique(found["fold"]):
            i, j = (found[name][found["fold"] == fold] for name in ("row", "column"))
            rest = X - model.mean_
            rest[i, j] = np.nan
            predicted["row_means"].append(np.nanmean(rest, axis=1)[i])
            predicted["column_means"].append(np.nanmean(rest, axis=0)[j])
            predicted["knn"].append(KNNImputer().fit_transform(rest)[i, j])
            predicted["soft_impute"].append(SoftImpute().fit_transform(rest)[i, j])
        order = np.argsort(found["fold"], kind="stable")
        truth = found["value"][order] - model.mean_
        predicted["model"] = [found["predicted"][order] - model.mean_]
        for name, parts in predicted.items():
            error = np.sqrt(np.mean((np.concatenate(parts) - truth) ** 2)) / truth.std()
            assert getattr(errors, name) == pytest.approx(error, rel=1e-5), name
        assert errors.n_held_out == len(truth)

    def test_means_alone(self):
        model = CoManifold().fit(curve())
        whole, quick = compare_held_out(model), compare_held_out(model, only_means=True)
        assert quick == HeldOutErrors(
            whole.n_held_out, whole.model, whole.row_means, whole.column_means
        )
        assert list(quick.others) == ["row means", "column means"]
        assert whole.others["KNN"] == whole.knn

    def test_slow_methods_are_left_out_for_large_matrices(self, monkeypatch):
        model = CoManifold().fit(curve())
        monkeypatch.setattr(model_selection, "_MAX_ROWS_FOR_KNN", 59)
        errors = compare_held_out(model)
        assert errors.knn is None
        assert errors.soft_impute > 0
        monkeypatch.setattr(model_selection, "_MAX_SIDE_FOR_SOFT_IMPUTE", 39)
        assert list(compare_held_out(model).others) == ["row means", "column means"]

    @pytest.mark.parametrize(
        "X",
        [
            np.random.default_rng(0).normal(size=(9, 8)),  # nothing is missing
            np.where(np.eye(9, 8) > 0, np.nan, 1.0),  # constant
        ],
    )
    def test_nothing_to_compare(self, X):
        assert compare_held_out(CoManifold().fit(X)) is None

    def test_it_needs_a_fit_that_holds_out(self):
        assert compare_held_out(CoManifold(scale_weights="cost").fit(curve())) is None
        with pytest.raises(NotFittedError):
            compare_held_out(CoManifold())


class TestScore:
    def test_it_is_the_error_of_a_fit_without_the_entries(self):
        X = curve()
        held_out = hold_out(X, min_observed=2, random_state=3)
        filled = CoManifold().fit(held_out.rest()).filled_
        expected = held_out.relative_error(filled[held_out.rows, held_out.columns])
        score = CoManifold().fit(X).score(X, random_state=3)
        assert score == pytest.approx(-expected, rel=1e-9)
        assert -0.5 < score < 0

    def test_every_call_draws_anew_unless_there_is_a_seed(self):
        X = curve()
        model = CoManifold().fit(X)
        assert model.score(X) != model.score(X)
        seeded = CoManifold(random_state=5).fit(X)
        assert seeded.score(X) == seeded.score(X) == model.score(X, random_state=5)

    @pytest.mark.filterwarnings("ignore:.*no observed entry")
    def test_new_rows_are_predicted_with_the_help_of_the_fitted_ones(self):
        X = curve(0.6)
        few, others = X[::6], np.delete(X, np.s_[::6], axis=0)
        alone = CoManifold(1).fit(few).score(few, random_state=0)
        together = CoManifold(1).fit(others).score(few, random_state=0)
        assert together > alone + 0.1

    def test_too_few_entries_are_refused(self):
        X = random_matrix(0)
        model = CoManifold().fit(X)
        few = np.full((2, X.shape[1]), np.nan)
        few[:, 0] = 1.0
        with pytest.raises(ValueError, match="too few observed entries"):
            model.score(few)

    def test_in_a_grid_search_and_in_cross_validation(self):
        X = curve()
        grid = {"scale_weights": ["learned", "cost"]}
        folds = KFold(2, shuffle=True, random_state=0)
        search = GridSearchCV(CoManifold(random_state=0), grid, cv=folds).fit(X)
        assert search.best_params_ == {"scale_weights": "learned"}
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        scores = cross_validate(CoManifold(random_state=0), X, cv=folds)["test_score"]
        assert (scores > -0.5).all()


def matrix(seed=0, missing=0.4, shape=(30, 20)):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape)
    X[rng.random(X.shape) < missing] = np.nan
    return X


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_a_tenth_is_held_out_at_even_steps_of_the_values(missing):
    X = matrix(missing=missing)
    held_out = HeldOut(X, from_complete=True)
    n_observed = (~np.isnan(X)).sum()
    assert 0.07 * n_observed <= len(held_out.values) <= 0.11 * n_observed
    np.testing.assert_array_equal(held_out.values, X[held_out.rows, held_out.columns])
    assert np.isnan(held_out.rest()[held_out.rows, held_out.columns]).all()
    others = np.ones(X.shape, dtype=bool)
    others[held_out.rows, held_out.columns] = False
    np.testing.assert_array_equal(held_out.rest()[others], X[others])
    ranks = np.searchsorted(np.sort(X[~np.isnan(X)]), held_out.values)
    # Every tenth from both ends, the outermost left alone.
    assert set(np.minimum(ranks, n_observed - 1 - ranks) % 10) == {5}
    ranks = ranks / n_observed
    assert np.abs(np.sort(ranks) - np.linspace(0, 1, len(ranks))).max() < 0.1


def test_every_row_and_column_keeps_two():
    for seed in range(20):
        X = matrix(seed, missing=0.85)
        before, after = ~np.isnan(X), ~np.isnan(HeldOut(X).rest())
        for axis in (0, 1):
            assert (after.sum(axis) >= np.minimum(before.sum(axis), 2)).all()


def test_the_choice_depends_on_neither_order_nor_units():
    X = matrix(1)
    rng = np.random.default_rng(2)
    rows, columns = rng.permutation(30), rng.permutation(20)
    chosen = np.isnan(HeldOut(X).rest())
    changed = np.isnan(HeldOut(-3.0 * X[rows][:, columns] + 5.0).rest())
    np.testing.assert_array_equal(changed, chosen[rows][:, columns])
    np.testing.assert_array_equal(np.isnan(HeldOut(X.T).rest()), chosen.T)


def test_the_choice_is_the_same_in_parts():
    for shape in ((300, 270), (270, 300)):
        X = np.round(matrix(3, shape=shape))  # many ties
        one, other = HeldOut(X), HeldOut(X, in_parts=True)
        np.testing.assert_array_equal(one.rest(), other.rest())


def test_nothing_is_held_out_of_a_complete_or_tiny_matrix():
    assert len(HeldOut(np.random.default_rng(0).normal(size=(9, 9))).values) == 0
    tiny = np.array([[1.0, 2.0, np.nan], [np.nan, 3.0, 4.0], [8.0, np.nan, 9.0]])
    assert len(HeldOut(tiny).values) == 0


@pytest.mark.filterwarnings("ignore:the entry")
def test_the_score_does_not_depend_on_entries_that_the_fit_ignores():
    X = random_matrix(0, 20, 15)
    X[3, 3] = 1e9
    without = X.copy()
    without[3, 3] = np.nan
    # Found by search: it holds out that entry, if it may.
    seed = next(seed for seed in range(99) if 1e9 in hold_out(X, random_state=seed).values)
    score = CoManifold().fit(X).score(X, random_state=seed)
    expected = CoManifold().fit(without).score(without, random_state=seed)
    assert score == pytest.approx(expected, rel=1e-9)
