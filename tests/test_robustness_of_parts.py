"""Anything goes into the parts of a fit; a finite result, or an error that names what is wrong."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.hostile import (
    BANDWIDTHS,
    NEIGHBORS,
    PENALTIES,
    assert_equal_bits,
    assert_finite,
    documented_warnings,
    fitted,
    matrices,
    result_or_reason,
    some_of,
)
from scipy import sparse
from sklearn.base import clone

from comanifold import CoCluster, CoManifold, DiffusionMap, Graph, co_cluster, masked_distances

CO_CLUSTER = {
    "row_cost": st.one_of(st.just(0), st.floats(1e-300, 1e300)),
    "column_cost": st.one_of(st.just(0), st.floats(1e-300, 1e300)),
    "n_neighbors": NEIGHBORS,
    "penalty": PENALTIES,
    "solver": st.sampled_from(["fast", "paper"]),
    "tol": st.floats(1e-9, 0.5),
    "max_iter": st.integers(1, 300),
}

DIFFUSION_MAP = {
    "n_components": st.integers(1, 12),
    "bandwidth": BANDWIDTHS,
    "diffusion_time": st.one_of(st.just(0), st.floats(0, 1e6)),
    "density_normalization": st.floats(0, 1),
}


class TestCoCluster:
    @given(X=matrices(), parameters=some_of(CO_CLUSTER))
    def test_every_matrix_has_a_finite_result_or_a_reason(self, X, parameters):
        before = X.copy()
        model = fitted(CoCluster(**parameters), X)
        np.testing.assert_array_equal(X, before)
        if model is None:
            return
        assert_finite(model, but={})
        if model.status_ == "converged":
            assert_equal_bits(model, CoCluster(**parameters).fit(X))

    @given(X=matrices(), parameters=some_of(CO_CLUSTER), data=st.data())
    def test_graphs_of_any_kind(self, X, parameters, data):
        graphs = [data.draw(any_graph(size)) for size in X.shape]
        costs = {"row_cost": 1.0, "column_cost": 1.0}
        parameters = {**costs, **parameters}
        parameters.pop("n_neighbors", None)
        result = result_or_reason(lambda: co_cluster(X, *graphs, **parameters), parameters)
        if result is None:
            return
        assert_finite(result, but={})
        assert result.n_iter <= parameters.get("max_iter", 10_000)


class TestDiffusionMap:
    @given(X=matrices(), parameters=some_of(DIFFUSION_MAP), new=matrices())
    def test_every_matrix_has_a_finite_result_or_a_reason(self, X, parameters, new):
        before = X.copy()
        model = fitted(DiffusionMap(**parameters), X)
        np.testing.assert_array_equal(X, before)
        if model is None:
            return
        assert_finite(model, but={"_fit_X"})
        assert_equal_bits(model, fitted(clone(model), X))
        new = np.resize(new, (3, X.shape[1]))
        placed = result_or_reason(lambda: model.transform(new))
        if placed is None:
            return
        # A point that shares nothing observed with any other, or is too far, belongs nowhere.
        seen = (~np.isnan(new)[:, None] & ~np.isnan(X)).any(axis=(1, 2))
        assert not np.isfinite(placed[~seen]).any()
        with np.errstate(over="ignore"):
            steps = masked_distances(new, X).min(axis=1) / np.min(model.bandwidth_)
        assert np.isfinite(placed[seen & (steps < 1e100)]).all()

    @given(points=matrices(2, 12), parameters=some_of(DIFFUSION_MAP), data=st.data())
    def test_distances_of_any_kind(self, points, parameters, data):
        size = len(points)
        with np.errstate(all="ignore"):
            D = np.abs(points[:, :1] - points[:, 0])
        D[np.isnan(D)] = np.inf
        np.fill_diagonal(D, 0.0)
        if data.draw(st.booleans()):
            near = np.isfinite(D) & (np.arange(size)[:, None] - np.arange(size) < 3)
            near &= near.T
            D = sparse.csr_array((D[near], np.nonzero(near)), shape=D.shape)
        model = fitted(DiffusionMap(metric="precomputed", **parameters), D)
        if model is not None:
            assert_finite(model, but={})
            assert np.isfinite(model.transform(D)).all()


@st.composite
def any_graph(draw, n_nodes):
    """Trees, cycles, several parts, no edge at all; weights of any size."""
    pairs = [[i, j] for i in range(n_nodes) for j in range(i)]
    edges = draw(st.lists(st.sampled_from(pairs), unique_by=tuple, max_size=20)) if pairs else []
    weights = st.one_of(st.floats(0.1, 10), st.floats(1e-12, 1e12))
    return Graph(
        n_nodes,
        np.reshape(edges, (-1, 2)).astype(int),
        draw(st.lists(weights, min_size=len(edges), max_size=len(edges))),
    )


ODD = [None, "x", "", -1, 0, 1.5, np.nan, np.inf, True, [], [1, 2, 3], [[1], [2, 3]], {}, object()]
SMALL = np.random.default_rng(0).normal(size=(6, 5))


@pytest.mark.parametrize("kind", [CoManifold, CoCluster, DiffusionMap])
def test_odd_parameters_are_refused_by_name_or_make_sense(kind):
    for name, value in itertools.product(kind().get_params(), ODD):
        if name == "checkpoint" and isinstance(value, str):
            continue  # a directory
        model = kind(**{name: value})
        try:
            with documented_warnings():
                model.fit(SMALL)
        except (ValueError, TypeError) as error:
            told = str(error)
        else:
            assert_finite(model, but={name})
            continue
        assert re.search(rf"\b{name}\b", told), f"{name}={value!r}: {told}"
