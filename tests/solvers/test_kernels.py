"""Each compiled loop against a plain NumPy version of it."""

import numpy as np
import pytest
from oracles import slow
from oracles.problems import PENALTIES, Exponential, Uncompiled, random_graph

from comanifold.graphs._components import chosen_components
from comanifold.penalties import Snowflake, compile_penalty
from comanifold.solvers.kernels import blocks
from comanifold.solvers.kernels import merge as merge_kernels
from comanifold.solvers.kernels import quadratic as quadratic_kernels
from comanifold.solvers.problem import Edges


@pytest.fixture(params=range(6))
def rng(request):
    return np.random.default_rng(request.param)


@pytest.fixture
def edges(rng):
    n_nodes = int(rng.integers(1, 14))
    graph = random_graph(rng, n_nodes, 2 * n_nodes)
    return Edges.build(n_nodes, graph.edges, graph.weights)


def test_edge_norms(rng, edges):
    V = rng.normal(size=(edges.n_nodes, 5))
    sizes = rng.uniform(1, 4, size=5)
    i, j = edges.pairs.T
    expected = np.sqrt(((V[i] - V[j]) ** 2 * sizes).sum(axis=1))
    np.testing.assert_allclose(blocks.edge_norms(V, edges.pairs, sizes), expected, rtol=1e-13)


@pytest.mark.parametrize("shape", [(1, 1), (7, 8), (8, 16), (19, 33)])
def test_transpose(rng, shape):
    V = rng.normal(size=shape)
    out = np.empty(shape[::-1])
    blocks.transpose(V, out)
    np.testing.assert_array_equal(out, V.T)


def test_laplacian(rng, edges):
    V = rng.normal(size=(edges.n_nodes, 6))
    out = np.full_like(V, np.nan)
    blocks.laplacian(V, edges.adjacency, edges.weights, out)
    L = slow.graph_laplacian(edges.n_nodes, edges.pairs, edges.weights)
    np.testing.assert_allclose(out, L @ V, atol=1e-12)


@pytest.mark.parametrize("n_rows", [1, 7, 8, 30, 75])
def test_columns_by_tiles_of_rows(rng, edges, n_rows):
    n = edges.n_nodes
    V, sizes = rng.normal(size=(n_rows, n)), rng.uniform(1, 4, size=n_rows)
    tile = blocks.new_tile(n_rows, n)
    assert tile.shape[0] == n
    assert tile.shape[1] % 8 == 0
    i, j = edges.pairs.T
    expected = np.sqrt(((V[:, i] - V[:, j]) ** 2 * sizes[:, None]).sum(axis=0))
    found = blocks.column_edge_norms(V, edges.pairs, sizes, tile)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    image, out = np.empty_like(tile), np.empty((tile.shape[1], n))
    L = slow.graph_laplacian(n, edges.pairs, edges.weights)
    for first in range(0, n_rows, tile.shape[1]):
        blocks.column_laplacian(V, first, edges.adjacency, edges.weights, tile, image, out)
        expected = V[first : first + tile.shape[1]] @ L
        np.testing.assert_allclose(out[: len(expected)], expected, atol=1e-12)


def test_some_rows_of_a_laplacian(rng, edges):
    V = rng.normal(size=(edges.n_nodes, 6))
    first, stop = edges.n_nodes // 3, edges.n_nodes
    out = np.empty((stop - first, 6))
    blocks.row_laplacian(V, first, stop, edges.adjacency, edges.weights, out, first)
    L = slow.graph_laplacian(edges.n_nodes, edges.pairs, edges.weights)
    np.testing.assert_allclose(out, (L @ V)[first:], atol=1e-12)


def test_norms_of_gradients_by_which_mergers_are_excluded(rng, edges):
    m = edges.n_nodes
    graph = random_graph(rng, 5, 8)
    columns = Edges.build(5, graph.edges, graph.weights)
    V, means = rng.normal(size=(2, m, 5))
    counts = rng.integers(0, 3, size=(m, 5)).astype(float)
    row_sizes, column_sizes = rng.uniform(1, 4, size=m), rng.uniform(1, 4, size=5)
    F = np.empty_like(V)
    found = merge_kernels.gradient_norms(
        V,
        counts,
        means,
        row_sizes,
        column_sizes,
        edges.adjacency,
        columns.adjacency,
        edges.weights,
        columns.weights,
        F,
    )
    data = counts * (V - means)
    by_rows = slow.graph_laplacian(m, edges.pairs, edges.weights) @ V * column_sizes
    by_columns = row_sizes[:, None] * V @ slow.graph_laplacian(5, columns.pairs, columns.weights)
    expected = (
        np.sqrt(((data + by_rows) ** 2 / column_sizes).sum(axis=1)),
        np.sqrt(((data + by_columns) ** 2 / row_sizes[:, None]).sum(axis=0)),
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    np.testing.assert_allclose(F, data + by_rows, atol=1e-12)
    merge_kernels.to_gradients(V, counts, means, column_sizes, edges.adjacency, edges.weights)
    np.testing.assert_allclose(means, F, atol=1e-12)


def test_laplacian_keeps_the_digits_of_small_differences_under_large_weights():
    edges = Edges.build(2, np.array([[0, 1]]), np.array([1e12]))
    V = np.array([[1.0 + 2**-40], [1.0]])
    out = np.empty_like(V)
    blocks.laplacian(V, edges.adjacency, edges.weights, out)
    np.testing.assert_array_equal(out[:, 0], [1e12 * 2**-40, -1e12 * 2**-40])


def test_component_labels(rng, edges):
    chosen = rng.random(edges.n_edges) < 0.4
    labels = chosen_components(edges.n_nodes, edges.pairs, chosen)
    # By repeatedly spreading the smallest label.
    expected = np.arange(edges.n_nodes)
    for _ in range(edges.n_nodes):
        for i, j in edges.pairs[chosen]:
            expected[[i, j]] = min(expected[i], expected[j])
    expected = np.unique(expected, return_inverse=True)[1]
    np.testing.assert_array_equal(labels, expected)


def test_adjacency_lists(edges):
    start, neighbor, edge = blocks.adjacency_lists(edges.n_nodes, edges.pairs)
    assert start[0] == 0
    assert start[-1] == 2 * edges.n_edges
    for i in range(edges.n_nodes):
        found = set(
            zip(neighbor[start[i] : start[i + 1]], edge[start[i] : start[i + 1]], strict=True)
        )
        expected = {(b if a == i else a, e) for e, (a, b) in enumerate(edges.pairs) if i in (a, b)}
        assert found == expected


def test_contract_edges(rng, edges):
    labels = rng.integers(4, size=edges.n_nodes)
    expected = {}
    for (i, j), weight in zip(labels[edges.pairs], edges.weights, strict=True):
        if i != j:
            pair = min(i, j), max(i, j)
            expected[pair] = expected.get(pair, 0.0) + weight
    pairs, weights = blocks.contract_edges(edges.pairs, edges.weights, labels, 4)
    assert [tuple(pair) for pair in pairs] == sorted(expected)
    np.testing.assert_allclose(weights, [expected[pair] for pair in sorted(expected)])


def test_contract_blocks(rng):
    V, means = rng.normal(size=(2, 7, 9))
    counts = rng.integers(0, 3, size=(7, 9)).astype(float)
    row_sizes, column_sizes = rng.uniform(1, 3, size=7), rng.uniform(1, 3, size=9)
    row_labels = rng.permutation([0, 1, 2, 0, 1, 2, 0])
    column_labels = rng.permutation([0, 1, 2, 3, 0, 1, 2, 3, 0])
    counts[np.ix_(row_labels == 1, column_labels == 2)] = 0.0
    found = blocks.contract_blocks(counts, means, row_labels, column_labels, 3, 4)
    values = np.full((3, 4), np.nan)
    blocks.block_means(V, row_sizes, column_sizes, row_labels, column_labels, values)
    spread = 0.0
    for a in range(3):
        for b in range(4):
            block = np.ix_(row_labels == a, column_labels == b)
            sizes = np.outer(row_sizes, column_sizes)[block]
            assert found[0][a, b] == counts[block].sum()
            assert values[a, b] == pytest.approx(np.average(V[block], weights=sizes))
            if counts[block].sum() == 0:
                assert found[1][a, b] == 0.0
                continue
            mean = np.average(means[block], weights=counts[block])
            assert found[1][a, b] == pytest.approx(mean)
            spread += 0.5 * (counts[block] * (means[block] - mean) ** 2).sum()
    assert found[2] == pytest.approx(spread)


def system(rng, edges, other_edges):
    """A random linear system, as the arguments of the kernel and as a dense matrix."""
    m, n = edges.n_nodes, other_edges.n_nodes
    counts = rng.integers(0, 3, size=(m, n)).astype(float)
    counts[0, 0] = 1.0
    row_sizes, column_sizes = rng.integers(1, 4, size=m) * 1.0, rng.integers(1, 4, size=n) * 1.0
    A = (
        np.diag(counts.ravel())
        + np.kron(slow.graph_laplacian(m, edges.pairs, edges.weights), np.diag(column_sizes))
        + np.kron(
            np.diag(row_sizes), slow.graph_laplacian(n, other_edges.pairs, other_edges.weights)
        )
    )
    args = (
        counts, row_sizes, column_sizes, edges.adjacency, other_edges.adjacency,
        edges.weights, other_edges.weights,
    )  # fmt: skip
    return A, args


def conjugate_gradients(V, rhs, args, n_steps, reduction):
    counts, row_sizes, column_sizes, *edges = args
    R, zeros = np.empty_like(V), np.zeros_like(V)
    quadratic_kernels.quadratic_residual(V, zeros, counts, row_sizes, column_sizes, *edges, R)
    quadratic_kernels.lower_quadratic(V, R + rhs, *args, n_steps, reduction)


def test_quadratic_residual(rng, edges):
    graph = random_graph(rng, 6, 4)
    A, args = system(rng, edges, Edges.build(6, graph.edges, graph.weights))
    V, means = rng.normal(size=(2, edges.n_nodes, 6))
    R = np.empty_like(V)
    counts, row_sizes, column_sizes, *others = args
    quadratic_kernels.quadratic_residual(V, means, counts, row_sizes, column_sizes, *others, R)
    expected = (counts * means).ravel() - A @ V.ravel()
    np.testing.assert_allclose(R.ravel(), expected, atol=1e-12)


def test_conjugate_gradients_solve_the_system(rng, edges):
    graph = random_graph(rng, 6, 4)
    other_edges = Edges.build(6, graph.edges, graph.weights)
    A, args = system(rng, edges, other_edges)
    rhs = rng.normal(size=(edges.n_nodes, 6))
    V = np.zeros_like(rhs)
    conjugate_gradients(V, rhs, args, 500, 1e-13)
    expected = np.linalg.solve(A, rhs.ravel()).reshape(rhs.shape)
    np.testing.assert_allclose(V, expected, atol=1e-8 * np.abs(expected).max())


def test_every_step_of_conjugate_gradients_lowers_the_quadratic(rng, edges):
    graph = random_graph(rng, 6, 4)
    A, args = system(rng, edges, Edges.build(6, graph.edges, graph.weights))
    rhs = rng.normal(size=(edges.n_nodes, 6))
    start = rng.normal(size=rhs.shape)
    values = []
    for n_steps in range(8):
        V = start.copy()
        conjugate_gradients(V, rhs, args, n_steps, 0.0)
        values.append(0.5 * V.ravel() @ A @ V.ravel() - rhs.ravel() @ V.ravel())
    assert np.all(np.diff(values) <= 1e-9 * np.abs(values[0]))
    assert values[-1] < values[0]


def test_divergence(rng, edges):
    vectors = rng.normal(size=(edges.n_edges, 4))
    factors = rng.uniform(size=edges.n_edges)
    out = np.full((edges.n_nodes, 4), np.nan)
    blocks.divergence(vectors, factors, edges.pairs, edges.adjacency, out)
    D = slow.incidence(edges.n_nodes, edges.pairs)
    np.testing.assert_allclose(out, D.T @ (factors[:, None] * vectors), atol=1e-13)


def shortened(vectors, caps):
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors * np.minimum(1.0, caps[:, None] / np.maximum(lengths, 1e-300))


def test_shrink_factors(rng, edges):
    V, vectors = rng.normal(size=(edges.n_nodes, 4)), rng.normal(size=(edges.n_edges, 4))
    D = slow.incidence(edges.n_nodes, edges.pairs)
    target = vectors + 0.7 * D @ V
    factors = blocks.shrink_factors(V, vectors, edges.pairs, edges.weights, 0.7)
    np.testing.assert_allclose(
        factors[:, None] * target, shortened(target, edges.weights), atol=1e-13
    )


def test_advance_multipliers(rng, edges):
    V = rng.normal(size=(edges.n_nodes, 4))
    vectors, leading = rng.normal(size=(2, edges.n_edges, 4))
    D = slow.incidence(edges.n_nodes, edges.pairs)
    new = shortened(leading + 0.7 * D @ V, edges.weights)
    new_leading = new + 0.3 * (new - vectors)
    step = ((new - leading) ** 2).sum()
    moved, inside = blocks.advance_multipliers(
        V, vectors, leading, edges.pairs, edges.weights, 0.7, 0.3
    )
    np.testing.assert_allclose(vectors, new, atol=1e-13)
    np.testing.assert_allclose(leading, new_leading, atol=1e-13)
    assert moved == pytest.approx(step)
    np.testing.assert_array_equal(inside, np.linalg.norm(new, axis=1) < edges.weights * (1 - 1e-12))


def test_ascend_dual(rng, edges):
    V = rng.normal(size=(edges.n_nodes, 4))
    vectors, leading = rng.normal(size=(2, edges.n_edges, 4))
    steps = rng.uniform(0.1, 1.0, size=edges.n_edges)
    D = slow.incidence(edges.n_nodes, edges.pairs)
    new = shortened(leading + steps[:, None] * (D @ V), edges.weights)
    new_leading = new + 0.3 * (new - vectors)
    product = ((leading - new) * (new - vectors) / steps[:, None]).sum()
    wrong_way = blocks.ascend_dual(V, vectors, leading, edges.pairs, edges.weights, steps, 0.3)
    np.testing.assert_allclose(vectors, new, atol=1e-13)
    np.testing.assert_allclose(leading, new_leading, atol=1e-13)
    assert wrong_way == pytest.approx(product, abs=1e-12)


def test_independent_edges_are_neither_touching_nor_adjacent(rng, edges):
    bounds = rng.normal(size=edges.n_edges)
    taken, total = merge_kernels.independent_edges(bounds, 0.1, edges)
    adjacent = np.abs(slow.graph_laplacian(edges.n_nodes, edges.pairs, edges.weights)) > 0
    chosen = edges.pairs[taken]
    for e, first in enumerate(chosen):
        for second in chosen[e + 1 :]:
            assert not adjacent[np.ix_(first, second)].any()
    assert np.all(bounds[taken] < -0.1)
    assert total == pytest.approx(bounds[taken].sum())
    if edges.n_edges and bounds.min() < -0.1:
        assert taken[bounds.argmin()]


def test_values_below_a_bound_are_sorted_and_ties_keep_their_order(rng):
    values = rng.integers(-5, 5, size=int(rng.integers(0, 60))).astype(float)
    below = np.flatnonzero(values < 2.0)
    expected = below[np.argsort(values[below], kind="stable")]
    np.testing.assert_array_equal(merge_kernels._sorted_below(values, 2.0), expected)


def test_n_labels(rng):
    labels = np.concatenate([rng.permutation(5), rng.integers(5, size=7)])
    assert blocks.n_labels(labels) == 5


@pytest.mark.parametrize("penalty", [*PENALTIES, Exponential(2.0), Uncompiled(2.0)], ids=repr)
def test_costs_and_majoriser_weights_of_edges(rng, penalty):
    norms = np.concatenate([[0.0], 10.0 ** rng.uniform(-30, 6, size=100)])
    weights = rng.uniform(1, 2, size=norms.size)
    compiled = compile_penalty(penalty)
    costs = blocks.edge_costs(norms, weights, compiled.kernel)
    np.testing.assert_allclose(costs, weights * penalty.value(norms), rtol=1e-10)
    found = blocks.majoriser_weights(norms, weights, compiled.kernel)
    assert found[0] == 0.0
    expected = weights[1:] * penalty.derivative(norms[1:]) / norms[1:]
    np.testing.assert_allclose(found[1:], expected, rtol=1e-12)


def test_no_majoriser_weight_is_infinite():
    kernel = compile_penalty(Snowflake(1e-300)).kernel
    weights = blocks.majoriser_weights(np.array([1e-5]), np.array([1e300]), kernel)
    assert np.isfinite(weights).all()
