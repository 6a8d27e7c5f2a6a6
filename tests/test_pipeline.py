"""Weights that are learned, against their definition."""

from itertools import pairwise

import numpy as np
import pytest

from comanifold._fit import passes
from comanifold._fit.held_out import HeldOut
from comanifold._fit.low_rank import LowRankCompletion
from comanifold._fit.scale_weights import HeldOutWeights
from comanifold._fit.settings import check_settings
from comanifold.co_manifold import CoManifold


def standard_matrix(seed=0):
    rng = np.random.default_rng(seed)
    X = np.cos(np.linspace(0, 3, 30)[:, None] - np.linspace(0, 3, 20))
    X += 0.2 * rng.normal(size=X.shape)
    X[rng.random(X.shape) < 0.4] = np.nan
    return (X - np.nanmean(X)) / np.nanstd(X)


def quiet(*_):
    pass


@pytest.mark.parametrize("first_graphs", ["low-rank", "masked"])
def test_scales_count_by_their_error_on_hidden_entries(first_graphs):
    X = standard_matrix()
    settings = check_settings(CoManifold(first_graphs=first_graphs, tol=1e-2, start_scale=(-3, -3)))
    hidden = HeldOut(X)
    rest = hidden.rest()
    factors = LowRankCompletion(hidden).factors_of_rest if first_graphs == "low-rank" else None
    beginning = passes.begin(rest, factors, settings)
    options = {"report": quiet, "keep_scales": True}
    judged = passes._passes(rest, beginning, settings, [HeldOutWeights(hidden)], "", **options)[
        -1
    ].sweep
    errors = {}
    for scale, blocks in zip(judged.scales, judged.blocks, strict=True):
        U = blocks.values[blocks.row_labels][:, blocks.column_labels]
        errors[scale.l, scale.k] = np.mean((U - X)[hidden.rows, hidden.columns] ** 2)

    done = passes.run_passes(X, settings, keep_scales=False, report=quiet)
    found = {(s.l, s.k): s.weight for s in done.sweep.scales}
    shared = [place for place in found if place in errors]
    assert len(shared) >= 10
    expected = np.array([(errors[place] + hidden.floor) ** -10.0 for place in shared])
    ratio = np.array([found[place] for place in shared]) / expected
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)
    assert sum(found.values()) + done.low_rank_weight == pytest.approx(1.0)
    if first_graphs == "low-rank":
        A, B = factors
        error = np.mean((A @ B.T - X)[hidden.rows, hidden.columns] ** 2) + hidden.floor
        assert done.low_rank_weight == pytest.approx(ratio[0] * error**-10.0)


def test_later_passes_use_the_distances_of_the_one_before():
    X = standard_matrix(1)
    settings = check_settings(CoManifold(alpha=-0.5, n_passes=3, first_graphs="masked"))
    weights = [passes.CostWeights(-0.5)] * 3
    beginning = passes.begin(X, None, settings)
    done = passes._passes(X, beginning, settings, weights, "", report=quiet)
    for before, after in pairwise(done):
        by_row, by_column = before.sweep.metric.distances()
        for graph, distances in ((after.row_graph, by_row), (after.column_graph, by_column)):
            expected = passes.Graph.from_distances(distances, 5)
            np.testing.assert_array_equal(graph.edges, expected.edges)
