"""Sweeps over a surface: the weights of scales, and which scales are solved."""

import numpy as np
import pytest
from oracles.fits import holes

from comanifold import CoManifold
from comanifold._fit.prepare import prepare_first_pass
from comanifold._fit.progress import ProgressReporter
from comanifold._fit.settings import Execution, check_settings
from comanifold._fit.sweep import CostWeights, Outputs, ScaleWeights, sweep


def test_weights_by_cost():
    assert CostWeights(-0.5)(2, 4) == (4.0 * 16.0) ** -0.5
    assert CostWeights(0.0)(2, 4) == 1.0


@pytest.fixture(params=["symmetric", "paper"])
def run(request):
    """A function that sweeps a surface, and the first scale of it."""
    X = holes(14, 12)
    X = (X - np.nanmean(X)) / np.nanstd(X)
    settings = check_settings(CoManifold(traversal=request.param, start_scale=(-4, -5)))
    reporter = ProgressReporter()
    reporter.begin_step("solving")
    execution = Execution(None, None, reporter)
    inputs = prepare_first_pass(X, settings, 1)

    def run(weights, **outputs):
        return sweep(inputs, weights, settings, execution, name="x", outputs=Outputs(**outputs))

    def scale_weights(weights):
        return ScaleWeights(weights, (-4, -5), request.param, 1)

    return run, scale_weights


def weights_of(swept):
    return {(scale.l, scale.k): scale.weight for scale in swept.scales}


def test_only_the_ways_to_scales_with_a_weight_are_solved(run):
    run, scale_weights = run
    whole = weights_of(run(CostWeights(0.0)))
    chosen = list(whole)[3], list(whole)[-1], list(whole)[len(whole) // 2]
    weights = dict(zip(chosen, (0.5, 0.3, 0.2), strict=True))
    found, kept = (run(scale_weights(weights), keep_scales=keep) for keep in (False, True))
    assert len(found.scales) < len(whole)
    assert set(weights_of(kept)) == set(whole)
    for swept in (found, kept):
        assert {place: w for place, w in weights_of(swept).items() if w} == weights
    for one, other in zip(found.metric.distances(), kept.metric.distances(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)
    np.testing.assert_allclose(found.metric.filled, kept.metric.filled, rtol=1e-13)


def test_weights_past_the_end_go_to_the_nearest_scale(run):
    run, scale_weights = run
    whole = weights_of(run(CostWeights(0.0)))
    l, _ = next(iter(whole))
    farthest = max(place[1] for place in whole if place[0] == l)
    found = weights_of(run(scale_weights({(l, 40): 0.25, (l, farthest): 0.5, (30, 30): 0.25})))
    assert found[l, farthest] == 0.75
    assert sum(found.values()) == pytest.approx(1.0)


def test_there_is_a_scale_even_if_none_has_a_weight(run):
    run, scale_weights = run
    assert weights_of(run(scale_weights({}))) == {(-4, -5): 0.0}


def test_estimates_at_entries(run):
    run, _ = run
    entries = np.array([0, 3, 5]), np.array([2, 2, 7])
    swept = run(CostWeights(0.0), keep_scales=True, entries=entries, metric=False)
    for blocks, predicted in zip(swept.blocks, swept.predictions, strict=True):
        np.testing.assert_array_equal(predicted, blocks.expand()[entries])


def test_past_the_end_of_the_chain_only_the_mode_that_is_not_one_cluster_changes():
    weights = ScaleWeights({(6, 6): 0.5, (7, 4): 0.25, (4, 9): 0.25}, (0, 0), "symmetric", 1)
    assert weights.starts == {4, 6}
    ended = weights.from_start(4, (False, True), True)  # the columns are one cluster
    assert ended == {(1, 0): {0: 0.25, 2: 0.5, 3: 0.25}, (0, 1): {}}
    going_on = weights.from_start(4, (False, False), False)
    assert going_on == {(1, 0): {3: 0.25}, (0, 1): {5: 0.25}}
    both = weights.from_start(4, (True, True), True)
    assert both == {(1, 0): {0: 1.0}, (0, 1): {}}


def test_weights_of_later_paths_are_not_lost_in_the_traversal_of_the_paper(run):
    run, scale_weights = run
    weights = {(-4 + 14, -4): 0.5, (-4, -4): 0.5}
    for keep_scales in (False, True):
        swept = run(scale_weights(weights), keep_scales=keep_scales)
        assert swept.metric.total_weight == pytest.approx(1.0)
        assert np.isfinite(swept.metric.filled).all()


def test_other_weights_have_another_digest():
    one, other = (ScaleWeights({(0, 1): w}, (0, 0), "paper", 1) for w in (0.5, 0.25))
    assert one.digest != other.digest
