"""What is sent to a cluster: it is small, and arrives as it was."""

import pickle

import numpy as np
import pytest
from oracles.fits import holes

from comanifold import CoManifold
from comanifold._fit.messages import PackedMatrix, SentBlocks, SentStart, SentSurface, SharedMatrix
from comanifold._fit.prepare import prepare_first_pass
from comanifold._fit.settings import check_settings


def sent(value):
    return pickle.loads(pickle.dumps(value))


@pytest.fixture
def inputs():
    X = holes(24, 17)
    return prepare_first_pass(X, check_settings(CoManifold()), 1)


def test_a_matrix_is_sent_as_its_observed_entries():
    X = holes(40, 31, missing=0.8)
    packed = pickle.dumps(PackedMatrix(X))
    assert len(packed) < 0.3 * X.nbytes
    np.testing.assert_array_equal(pickle.loads(packed).X, X)


@pytest.mark.parametrize("n_clusters", [(4, 3), (300, 3), (4, 5)])
def test_blocks_arrive_as_they_were(n_clusters):
    rng = np.random.default_rng(0)
    values = rng.normal(size=n_clusters)
    labels = [np.arange(2 * n) % n for n in n_clusters]
    if n_clusters == (4, 5):  # nothing is fused
        labels = [np.arange(n) for n in n_clusters]
    blocks = SentBlocks.pack(values, *labels)
    for one, other in zip(sent(blocks).unpack(), (values, *labels), strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
    assert blocks.nbytes <= values.nbytes + 2 * sum(len(some) for some in labels)


def test_a_surface_is_rebuilt_from_the_shared_matrix(inputs):
    whole = inputs.X.copy()
    whole[np.isnan(whole)] = 1.0
    left_out = SharedMatrix(whole).left_out(inputs.X)
    graphs = inputs.row_graph, inputs.column_graph
    surface = sent(SentSurface(inputs.surface, left_out, graphs, inputs.first))
    X, rebuilt, first = surface.unpack(PackedMatrix(whole))
    np.testing.assert_array_equal(X, inputs.X)
    start = inputs.surface.rebased(inputs.first)
    for one, other in zip(
        rebuilt.path(first, (1, 0)), inputs.surface.path(start, (1, 0)), strict=True
    ):
        assert one.scale.objective == other.scale.objective
        np.testing.assert_array_equal(one.iterate.estimate, other.iterate.estimate)
    assert surface.unpack(PackedMatrix(whole))[1] is rebuilt
    # What was rebuilt is not sent on to another worker.
    assert len(pickle.dumps(surface)) < len(pickle.dumps(inputs.surface))


@pytest.mark.parametrize("with_problem", [True, False])
def test_a_start_arrives_with_its_problem(inputs, with_problem):
    *_, solved = (s for s in inputs.surface.path(inputs.first, (0, 1)) if s.iterate.V.size > 20)
    start = sent(SentStart.pack(solved, with_problem=with_problem)).unpack(inputs.surface)
    assert start.scale.objective == solved.scale.objective
    for one, other in zip(start.iterate.problem[:4], solved.iterate.problem[:4], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    for mode in ("rows", "columns"):
        one, other = (getattr(s.iterate.problem, mode) for s in (start, solved))
        np.testing.assert_array_equal(one.pairs, other.pairs)
        np.testing.assert_allclose(one.weights, other.weights, rtol=1e-12)
    constants = start.iterate.problem.constant, solved.iterate.problem.constant
    np.testing.assert_allclose(*constants, rtol=1e-9, atol=1e-12)
