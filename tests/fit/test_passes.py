"""Learned weights and later passes, against their definitions."""

from itertools import pairwise

import numpy as np
import pytest

from comanifold import CoManifold, Graph
from comanifold._fit.low_rank import LowRankCompletion
from comanifold._fit.passes import prepare_first_pass, run_passes
from comanifold._fit.progress import ProgressReporter
from comanifold._fit.settings import Execution, check_settings
from comanifold._fit.sweep import HeldOutWeights, sweep
from comanifold.model_selection import HeldOut


def standard_matrix(seed=0):
    rng = np.random.default_rng(seed)
    X = np.cos(np.linspace(0, 3, 30)[:, None] - np.linspace(0, 3, 20))
    X += 0.2 * rng.normal(size=X.shape)
    X[rng.random(X.shape) < 0.4] = np.nan
    return (X - np.nanmean(X)) / np.nanstd(X)


@pytest.mark.parametrize("first_graphs", ["low-rank", "masked"])
def test_learned_weights_are_powers_of_held_out_errors(first_graphs):
    X = standard_matrix()
    model = CoManifold(first_graphs=first_graphs, tol=1e-2, start_scale=(-3, -3))
    settings = check_settings(model)
    reporter = ProgressReporter()
    reporter.begin_pass("solving")
    execution = Execution(None, None, reporter)
    held_out = HeldOut(X)
    factors = LowRankCompletion(held_out).factors_of_rest if first_graphs == "low-rank" else None
    inputs = prepare_first_pass(held_out.rest(), factors, settings, 1)
    options = {"name": "test", "keep_scales": True, "with_metric": False}
    judged = sweep(inputs, HeldOutWeights(held_out), settings, execution, **options)
    errors = {}
    for scale, blocks in zip(judged.scales, judged.blocks, strict=True):
        U = blocks.values[blocks.row_labels][:, blocks.column_labels]
        errors[scale.l, scale.k] = np.mean((U - X)[held_out.rows, held_out.columns] ** 2)

    result = run_passes(X, settings, execution)
    found = {(s.l, s.k): s.weight for s in result.scales}
    shared = [place for place in found if place in errors]
    assert len(shared) >= 10
    expected = np.array([(errors[place] + held_out.floor) ** -10.0 for place in shared])
    ratio = np.array([found[place] for place in shared]) / expected
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)
    assert sum(found.values()) + result.low_rank_weight == pytest.approx(1.0)
    if first_graphs == "low-rank":
        A, B = factors
        error = np.mean((A @ B.T - X)[held_out.rows, held_out.columns] ** 2) + held_out.floor
        assert result.low_rank_weight == pytest.approx(ratio[0] * error**-10.0)


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
