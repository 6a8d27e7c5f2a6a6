"""The solution surface: its chain, its paths and its start. See also tests/test_co_manifold.py."""

import pickle

import numpy as np
import pytest
from oracles.problems import random_problem, standardised

from comanifold.graphs import Graph
from comanifold.penalties import Linear, Log, Snowflake
from comanifold.solvers import TRAVERSALS, SolverOptions, Surface, fast
from comanifold.solvers.problem import Problem


def surface(seed=0, penalty=None, *, transposed=False, solver="fast", **options):
    p = standardised(random_problem(seed, sizes=(7, 10), missing=(0.2, 0.4)))
    p = p.transposed() if transposed else p
    method = SolverOptions(penalty or Snowflake(), solver, 10_000, 1e-4)
    return Surface(*p.args, method, **{"continuation": True, **options}), p


def places(solved):
    return [(one.scale.l, one.scale.k) for one in solved]


@pytest.mark.parametrize("penalty", [Snowflake(), Linear(), Log()], ids=repr)
@pytest.mark.parametrize("solver", ["fast", "paper"])
def test_a_scale_records_its_estimate(penalty, solver):
    if solver == "paper" and isinstance(penalty, Snowflake):
        penalty = Snowflake(0.1)
    scales, p = surface(penalty=penalty, solver=solver)
    first = scales.solve(-2, -1)
    for solved in (first, scales.solve(-1, -1, first)):
        scale, iterate = solved.scale, solved.iterate
        costs = {"row_cost": scale.row_cost, "column_cost": scale.column_cost}
        problem = Problem.build(*p.args, **costs)
        expected = problem.objective(iterate.estimate, penalty)
        assert scale.objective == pytest.approx(expected, rel=1e-9)
        assert (scale.n_row_clusters, scale.n_column_clusters) == iterate.V.shape
        assert scale.status == "converged"
        assert scale.certificate.row_dual is None


@pytest.mark.parametrize("traversal", TRAVERSALS)
@pytest.mark.parametrize("stride", [1, 3])
def test_costs_grow_by_the_stride_until_one_cluster_is_left(traversal, stride):
    scales, _ = surface(stride=stride)
    chain_step, path_steps = TRAVERSALS[traversal]
    chain = list(scales.chain(scales.solve(-6, -5), traversal))
    expected = [tuple(np.array([-6, -5]) + i * stride * np.array(chain_step)) for i in range(99)]
    assert places(chain) == expected[: len(chain)]
    assert 1 in [chain[-1].iterate.V.shape[mode] for mode in range(2) if chain_step[mode]]
    for step in path_steps:
        path = list(scales.path(chain[0], step))
        mode = step.index(1)
        counts = [solved.iterate.V.shape[mode] for solved in path]
        assert counts[-1] == 1
        assert 1 not in counts[:-1]
        assert counts == sorted(counts, reverse=True)  # clusters are nested
        assert list(scales.path(path[-1], step)) == []


def test_the_start_is_the_last_scale_of_the_diagonal_with_nothing_fused():
    scales, p = surface(3)
    start = scales.start()
    assert start.iterate.V.shape == p.X.shape
    following = list(scales.chain(start, "symmetric"))[1]
    assert sum(following.iterate.V.shape) < sum(p.X.shape)


def test_scales_at_which_little_is_fused_are_skipped(monkeypatch):
    monkeypatch.setattr("comanifold.solvers.surface._MANY_BLOCKS", 1)
    p = surface(3)[1]
    method = SolverOptions(Snowflake(), "fast", 1000, 1e-4)
    plain, skipping = (
        Surface(p.X, p.row_graph, p.column_graph, method, continuation=True, skip=skip)
        for skip in (False, True)
    )
    start = plain.solve(-6, -6)
    everything = [scale.scale.l for scale in plain.path(start, (1, 0))]
    fewer = list(skipping.path(start, (1, 0)))
    assert len(fewer) < len(everything)
    before = start
    for after in fewer:
        n_steps = 2 if before.iterate.V.size >= 0.5 * p.X.size else 1
        assert after.scale.l == before.scale.l + n_steps
        before = after
    assert skipping.is_fused(fewer[-1], 0)
    # But not where a stop is asked for.
    stops = [scale.scale.l + 6 for scale in skipping.path(start, (1, 0), stops=[1, 4])]
    assert {1, 4} <= set(stops)
    chain = [scale.scale.l + 6 for scale in skipping.chain(start, "symmetric", stops=[3])]
    assert chain[0] == 0
    assert 3 in chain
    assert 2 in chain
    assert 1 not in chain


def test_transposing_the_matrix_transposes_the_scales():
    (one, _), (other, _) = surface(5), surface(5, transposed=True)
    for l, k in ((-5, -4), (-2, -3), (0, 1)):
        estimate = one.solve(l, k).iterate.estimate
        np.testing.assert_allclose(other.solve(k, l).iterate.estimate.T, estimate, atol=1e-6)


def test_components_of_a_graph_are_never_joined():
    scales, p = surface(2)
    n_rows = p.X.shape[0]
    pairs = [[i, i + 1] for i in range(n_rows - 1) if i != 2]
    method = SolverOptions(Snowflake(), "fast", 1000, 1e-4)
    scales = Surface(p.X, Graph(n_rows, pairs), p.column_graph, method, continuation=True)
    assert scales.fewest == (2, 1)
    *_, last = scales.path(scales.solve(-5, -5), (1, 0))
    assert last.scale.n_row_clusters == 2


@pytest.mark.parametrize("penalty", [Snowflake(), Log()], ids=repr)
def test_a_copy_from_another_process_solves_the_same(penalty):
    scales, _ = surface(4, penalty)
    start = scales.solve(-4, -4)
    again, copied = pickle.loads(pickle.dumps((scales, start)))
    for one, other in zip(scales.path(start, (0, 1)), again.path(copied, (0, 1)), strict=True):
        np.testing.assert_array_equal(one.iterate.estimate, other.iterate.estimate)


def test_the_problem_of_blocks_in_another_order_is_contracted_again(monkeypatch):
    monkeypatch.setattr(fast, "_MANY_BLOCKS", 1)
    scales, p = surface(3)
    start = scales.start()
    assert start.iterate.V.shape == p.X.shape
    assert start.iterate.row_labels.tolist() != list(range(len(p.X)))
    for solved in (start, scales.solve_from(-3, -3, start.iterate.estimate)):
        again = scales.rebased(solved).iterate
        assert again.objective(Snowflake()) == pytest.approx(solved.scale.objective, rel=1e-9)
        np.testing.assert_array_equal(again.estimate, solved.iterate.estimate)
    following = list(scales.chain(start, "symmetric"))
    monkeypatch.setattr(fast, "_MANY_BLOCKS", 10**9)
    plain, _ = surface(3)
    for one, other in zip(following, plain.chain(plain.start(), "symmetric"), strict=True):
        assert one.scale.objective == pytest.approx(other.scale.objective, rel=1e-6)
