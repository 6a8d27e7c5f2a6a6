"""Learned weights and later passes, against their definitions."""

from itertools import pairwise

import numpy as np
import pytest

from comanifold import CoManifold, Graph
from comanifold._fit.combination import Stacking
from comanifold._fit.completion import PATH_KINDS, continue_path, predict_along_path
from comanifold._fit.passes import (
    _best_completion,
    _complete_fold,
    _without_effects,
    prepare_first_pass,
    run_passes,
)
from comanifold._fit.progress import ProgressReporter
from comanifold._fit.settings import Execution, check_settings
from comanifold._fit.sweep import CostWeights, Outputs, sweep
from comanifold.datasets import make_linkage2, remove_entries
from comanifold.model_selection import held_out_folds


def standard_matrix(seed=0, shape=(30, 20), missing=0.4):
    rng = np.random.default_rng(seed)
    X = np.cos(np.linspace(0, 3, shape[0])[:, None] - np.linspace(0, 3, shape[1]))
    X += 0.2 * rng.normal(size=X.shape)
    X[rng.random(X.shape) < missing] = np.nan
    return (X - np.nanmean(X)) / np.nanstd(X)


def execution():
    reporter = ProgressReporter()
    reporter.begin_step("solving")
    return Execution(None, None, reporter)


@pytest.mark.parametrize("first_graphs", ["completed", "masked"])
def test_learned_weights_combine_what_the_folds_have_not_seen(first_graphs):
    X = standard_matrix()
    model = CoManifold(first_graphs=first_graphs, tol=1e-2, start_scale=(-3, -3), keep_scales=True)
    settings = check_settings(model)
    folds = held_out_folds(X)
    assert len(folds) == 5
    predictions = {}
    paths = [{kind: predict_along_path(fold, kind) for kind in PATH_KINDS} for fold in folds]
    best, _ = _best_completion(paths)
    for fold, of_fold in zip(folds, paths, strict=True):
        at = fold.rows, fold.columns
        completed = of_fold[best].best.filled(fold.rest())
        inputs = prepare_first_pass(fold.rest(), settings, 1, lambda _, known=completed: known)
        swept = sweep(
            inputs, CostWeights(0.0), settings, execution(), name="x", outputs=Outputs(True, False)
        )
        for scale, blocks in zip(swept.scales, swept.blocks, strict=True):
            predictions.setdefault((scale.l, scale.k), []).append(blocks.expand()[at])
        for kind, path in of_fold.items():
            for step, predicted in enumerate(path.predictions):
                predictions.setdefault((kind, step), []).append(predicted)
    result = run_passes(X, settings, execution())
    found = {(s.l, s.k): s.weight for s in result.scales if s.weight > 0.0}
    for completion in result.completions:
        kind = next(
            kind
            for kind in PATH_KINDS
            if (kind.effects, kind.variance) == (completion.effects, completion.variance)
        )
        found[kind, completion.step] = completion.weight
    assert sum(found.values()) == pytest.approx(1.0)
    # The members of the fit are those that all folds have; of these it must be the best choice.
    shared = [member for member in predictions if len(predictions[member]) == len(folds)]
    assert set(found) <= set(shared)
    values = np.concatenate([fold.values for fold in folds])
    of_found = np.column_stack([np.concatenate(predictions[member]) for member in found])
    error = np.mean((of_found @ list(found.values()) - values) ** 2)
    everything = np.column_stack([np.concatenate(predictions[member]) for member in shared])
    prior = np.array([2.0 ** (-0.5 * sum(m)) if isinstance(m[0], int) else 0.0 for m in shared])
    prior /= prior.sum()
    weights = Stacking(everything, values, prior).weights()
    assert error < 1.02 * np.mean((everything @ weights - values) ** 2)


def test_filled_in_values_are_the_weighted_mean_of_the_members():
    X = standard_matrix(3)
    settings = check_settings(CoManifold(keep_scales=True))
    result = run_passes(X, settings, execution())
    expected = sum(
        scale.weight * blocks.expand()
        for scale, blocks in zip(result.scales, result.blocks, strict=True)
    )
    # Completions are solved from those of the first fold, one step after the other.
    fold = held_out_folds(X)[0]
    for kind in PATH_KINDS:
        of_kind = {
            one.step: one.weight
            for one in result.completions
            if (one.effects, one.variance) == (kind.effects, kind.variance)
        }
        if of_kind:
            path = continue_path(X, predict_along_path(fold, kind).best, min(of_kind))
            expected = expected + of_kind[min(of_kind)] * path.estimate()
            for step in range(min(of_kind) + 1, max(of_kind) + 1):
                path.solve(step)
                expected = expected + of_kind.get(step, 0.0) * path.estimate()
    missing = np.isnan(X)
    np.testing.assert_allclose(result.filled[missing], expected[missing], atol=1e-9)


def test_folds_hold_out_different_entries_and_leave_no_row_empty():
    X = standard_matrix(4, missing=0.7)
    X = X[~np.isnan(X).all(axis=1)][:, ~np.isnan(X).all(axis=0)]
    folds = held_out_folds(X)
    places = [set(zip(fold.rows, fold.columns, strict=True)) for fold in folds]
    assert sum(map(len, places)) == len(set.union(*places)) > 20
    for fold in folds:
        assert not np.isnan(fold.rest()).all(axis=0).any()
        assert not np.isnan(fold.rest()).all(axis=1).any()


def test_number_and_size_of_folds_follow_the_number_of_entries():
    rng = np.random.default_rng(0)

    def folds_of(n_rows, n_columns):
        X = rng.normal(size=(n_rows, n_columns))
        X[rng.random(X.shape) < 0.2] = np.nan
        return [len(fold.values) for fold in held_out_folds(X)]

    assert [len(folds_of(*shape)) for shape in ((40, 30), (100, 100), (200, 200))] == [5, 2, 1]
    (largest,) = folds_of(700, 600)
    assert 15_000 < largest <= 20_000
    assert held_out_folds(np.ones((4, 4))) == []


def test_later_passes_build_graphs_from_the_distances_of_the_one_before():
    X = standard_matrix(1)
    models = [
        CoManifold(scale_weights="cost", n_passes=n_passes, first_graphs="masked").fit(X)
        for n_passes in (1, 2, 3)
    ]
    for before, after in pairwise(models):
        for mode in ("row", "column"):
            expected = Graph.from_distances(getattr(before, f"{mode}_distances_"), 5)
            graph = getattr(after, f"{mode}_graph_")
            np.testing.assert_array_equal(graph.edges, expected.edges)


def test_passes_with_learned_weights_start_from_the_weights_of_the_paper():
    X = standard_matrix(2)
    before = CoManifold(scale_weights="cost", first_graphs="masked").fit(X)
    after = CoManifold(n_passes=2, first_graphs="masked").fit(X)
    expected = Graph.from_distances(before.row_distances_, 5)
    np.testing.assert_array_equal(after.row_graph_.edges, expected.edges)


def test_effects_are_left_out_where_means_predict_as_well():
    rng = np.random.default_rng(5)
    values = rng.normal(size=800)
    scale = values + rng.normal(size=800)
    plain = values + 0.3 * rng.normal(size=800)
    prior, has_effects = np.array([1.0, 0.0, 0.0]), np.array([False, False, True])

    def weight(effects):
        predictions = np.column_stack([scale, plain, effects])
        stacking, weights = _without_effects(Stacking(predictions, values, prior), has_effects)
        kept = weights if weights[2] > 0.0 else weights[:2]
        assert stacking.mean_square(kept) == pytest.approx(
            np.mean((predictions @ weights - values) ** 2)
        )
        return weights[2]

    assert weight(plain + 1e-4 * rng.normal(size=800)) == 0.0
    assert weight(values + 0.1 * rng.normal(size=800)) > 0.5


def test_paths_with_effects_are_tried_where_they_may_help():
    rng = np.random.default_rng(6)
    noise = rng.normal(size=(40, 30))
    noise[rng.random(noise.shape) < 0.3] = np.nan
    effects = noise + 2.0 * rng.normal(size=(40, 1)) + 2.0 * rng.normal(size=30)

    def kinds(X, **options):
        return list(_complete_fold(held_out_folds(X)[0], execution(), **options))

    assert kinds(noise, all_kinds=False) == [kind for kind in PATH_KINDS if not kind.effects]
    assert set(kinds(effects, all_kinds=False)) == set(PATH_KINDS)
    assert kinds(noise, all_kinds=True) == list(PATH_KINDS)


def test_a_block_of_a_matrix_without_noise_is_filled_in():
    truth = make_linkage2(60, 50, random_state=0).X
    X = remove_entries(truth, 0.3, pattern="block", random_state=0)
    filled = CoManifold().fit(X).filled_
    error = np.sqrt(np.mean((filled - truth)[np.isnan(X)] ** 2)) / truth.std()
    assert error < 0.005
