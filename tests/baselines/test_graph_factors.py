"""Factors along graphs: kernels, gradients, and an objective that never rises."""

import tracemalloc

import numpy as np
import pytest
from oracles import graph_completion as oracle
from scipy import sparse

from comanifold.baselines._graph_data import Entries, UnitGraph, neighbor_graph
from comanifold.baselines._graph_factors import (
    FactorCosts,
    FactorProblem,
    add_masked_product,
    hessian_diagonal,
    leading_value,
    lower_quadratic,
    masked_square,
    multiply_hessian,
    sum_squares,
)
from comanifold.baselines._graph_solvers import Stopping


def small(seed=0, shape=(14, 11), missing=0.4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(shape[0], 2)) @ rng.normal(size=(2, shape[1]))
    X += 0.3 * rng.normal(size=shape)
    X[rng.random(shape) < missing] = np.nan
    X[0], X[1, 1] = np.nan, 0.0  # a row with nothing observed, and an observed zero
    graphs = neighbor_graph(X, 3), neighbor_graph(X.T, 3)
    units = [UnitGraph.of(graph).laplacian for graph in graphs]
    factors = rng.normal(size=(shape[0], 3)), rng.normal(size=(shape[1], 3))
    return X, FactorProblem(Entries.of_matrix(X), *units), factors, graphs


COSTS = FactorCosts(0.3, 0.8, 0.2)


def matrices(graphs, costs):
    rows, columns = (oracle.laplacian(graph) for graph in graphs)
    return (
        costs.penalty * np.eye(len(rows)) + costs.row_cost * rows,
        costs.penalty * np.eye(len(columns)) + costs.column_cost * columns,
    )


def test_kernels():
    X, problem, (W, H), _ = small()
    start, place = problem.rows.start, problem.rows.place
    out = np.ones_like(W)
    add_masked_product(start, place, W, H, out)
    np.testing.assert_allclose(out, 1.0 + oracle.masked_product(X, W, H), atol=1e-12)
    square = masked_square(start, place, problem.X.data, W, H)
    assert square == pytest.approx(np.nansum((X - W @ H.T) ** 2))


def test_sums_of_squares():
    # Rows with any number of entries modulo four.
    X, problem, (_, H), _ = small()
    out = np.full((len(X), 3, 3), np.nan)
    sum_squares(problem.rows.start, problem.rows.place, H, out)
    counts = (~np.isnan(X)).sum(axis=1)
    assert set(counts % 4) == {0, 1, 2, 3}
    expected = [H[~np.isnan(row)].T @ H[~np.isnan(row)] for row in X]
    np.testing.assert_allclose(out, expected, atol=1e-12)


def with_and_without_blocks(problem, H):
    """The Hessian in W with its blocks, and the same without."""
    hessian = problem.rows.hessian(H, COSTS.penalty, COSTS.row_cost)
    assert len(hessian.blocks) == len(problem.rows.start) - 1
    return hessian, hessian._replace(blocks=hessian.blocks[:0])


def test_products_with_the_hessian():
    X, problem, (W, H), graphs = small()
    expected = oracle.factor_hessian(X, H, matrices(graphs, COSTS)[0])
    for hessian in with_and_without_blocks(problem, H):
        product, diagonal = np.full_like(W, np.nan), np.full_like(W, np.nan)
        multiply_hessian(hessian, W, product)
        np.testing.assert_allclose(product.ravel(), expected @ W.ravel(), atol=1e-12)
        hessian_diagonal(hessian, diagonal)
        np.testing.assert_allclose(diagonal.ravel(), np.diag(expected), atol=1e-12)


def test_conjugate_gradients_for_a_factor():
    X, problem, (W, H), graphs = small()
    dense = oracle.factor_hessian(X, H, matrices(graphs, COSTS)[0])
    right = np.nan_to_num(X) @ H
    solution = np.linalg.solve(dense, right.ravel()).reshape(W.shape)

    def value(U):
        return 0.5 * U.ravel() @ dense @ U.ravel() - np.vdot(U, right)

    for hessian in with_and_without_blocks(problem, H):
        values = [value(W)]
        for n_steps in (1, 2, 4, 8):
            U = W.copy()
            lower_quadratic(hessian, right, 1e-14, n_steps, U)
            values.append(value(U))
        assert (np.diff(values) < 0.0).all()
        U = W.copy()
        lower_quadratic(hessian, right, 1e-12, 1000, U)
        np.testing.assert_allclose(U, solution, atol=1e-9)
        stays = solution.copy()
        lower_quadratic(hessian, right, 1e-6, 5, stays)  # it is within the tolerance
        np.testing.assert_array_equal(stays, solution)


def test_a_factor_without_penalty_or_entries_stays():
    X, *_ = small()
    problem = FactorProblem(Entries.of_matrix(X), None, None)
    W, H = np.ones((len(X), 3)), np.zeros((X.shape[1], 3))
    np.testing.assert_array_equal(problem.rows.improve(W, H, 0.0, 0.0), W)
    assert problem.rows.improve(W, H, 0.5, 0.0) == pytest.approx(0.0, abs=1e-12)


def test_blocks_are_not_formed_where_products_are_cheaper():
    X, problem, *_ = small()
    for rank, are_formed in ((5, True), (40, False)):
        hessian = problem.rows.hessian(np.ones((X.shape[1], rank)), 1.0, 1.0)
        assert (len(hessian.blocks) > 0) == are_formed


def test_momentum_takes_fewer_rounds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4)) @ rng.normal(size=(4, 30))
    X[rng.random(X.shape) < 0.6] = np.nan
    problem = FactorProblem(Entries.of_matrix(X), None, None)
    costs, start = FactorCosts(1e-3, 0.0, 0.0), problem.start(6)
    found = problem.solve(costs, Stopping(1e-5, 1000), start)
    assert found.converged
    W, H = start
    for _ in range(2 * found.n_iter):
        W = problem.rows.improve(W, H, costs.penalty, 0.0)
        H = problem.columns.improve(H, W, costs.penalty, 0.0)
        W, H = problem.balance(W, H, costs)
    assert found.history[-1] < problem.objective(W, H, costs)


def test_objective_and_gradients():
    X, problem, (W, H), graphs = small(1)
    A, B = matrices(graphs, COSTS)

    def value(W, H):
        return oracle.factor_objective(X, W, H, A, B)

    assert problem.objective(W, H, COSTS) == pytest.approx(value(W, H))
    of_rows, of_columns = problem.gradients(W, H, COSTS)
    step = 1e-5
    for factor, gradient in ((W, of_rows), (H, of_columns)):
        expected = np.empty_like(factor)
        for place in np.ndindex(factor.shape):
            before = factor[place]
            factor[place] = before + step
            above = value(W, H)
            factor[place] = before - step
            expected[place] = (above - value(W, H)) / (2 * step)
            factor[place] = before
        np.testing.assert_allclose(gradient, expected, atol=1e-6)


@pytest.mark.parametrize("costs", [COSTS, FactorCosts(0.05, 0.0, 0.0), FactorCosts(0.0, 1.0, 1.0)])
def test_the_objective_never_rises_and_ends_at_a_stationary_point(costs):
    _, problem, factors, _ = small(2)
    found = problem.solve(costs, Stopping(1e-14, 20_000), factors)
    assert found.converged
    assert (np.diff(found.history) <= 1e-12 * found.history[0]).all()
    before = np.abs(np.concatenate(problem.gradients(*factors, costs))).max()
    after = np.abs(np.concatenate(problem.gradients(found.W, found.H, costs))).max()
    assert after < 1e-5 * before
    assert found.history[-1] == pytest.approx(problem.objective(found.W, found.H, costs))


def test_balanced_factors_have_the_same_product_and_no_better_scale():
    _, problem, (W, H), _ = small(5)
    W = W * [1.0, 30.0, 0.0]
    H = H * [1.0, 0.1, 0.0]
    balanced = problem.balance(W, H, COSTS)
    np.testing.assert_allclose(balanced[0] @ balanced[1].T, W @ H.T, atol=1e-12)
    value = problem.objective(*balanced, COSTS)
    assert value < problem.objective(W, H, COSTS)
    for factor in (0.99, 1.01):
        scales = np.array([1.0, factor, 1.0])
        other = problem.objective(balanced[0] * scales, balanced[1] / scales, COSTS)
        assert other > value


def test_without_graphs_the_minimum_is_that_of_the_nuclear_norm():
    # (|W|^2 + |H|^2) / 2 is the nuclear norm of W H' at best, so that with enough columns the
    # objective has the minimum of the convex one.
    X, *_, graphs = small(3)
    problem = FactorProblem(Entries.of_matrix(X), None, None)
    least, _ = oracle.convex_completion(X, *graphs, (0.0, 0.0), penalty=0.8)
    found = problem.solve(
        FactorCosts(0.8, 0.0, 0.0), Stopping(1e-12, 5000), problem.start(min(X.shape))
    )
    assert found.history[-1] == pytest.approx(least, rel=1e-5)


def test_the_start_has_the_leading_singular_vectors():
    # More than 100 rows and columns: by Lanczos iterations.
    rng = np.random.default_rng(0)
    for shape in ((12, 9), (130, 120), (110, 150)):
        X = rng.normal(size=(shape[0], 3)) @ rng.normal(size=(3, shape[1]))
        X += 0.01 * rng.normal(size=shape)
        X[rng.random(shape) < 0.05] = np.nan
        W, H = FactorProblem(Entries.of_matrix(X), None, None).start(3)
        U, values, Vt = np.linalg.svd(np.nan_to_num(X))
        np.testing.assert_allclose(W @ H.T, (U[:, :3] * values[:3]) @ Vt[:3], atol=0.02)
        assert leading_value((W, H)) == pytest.approx(values[0], rel=1e-3)


def test_rank_is_at_most_that_of_a_matrix():
    X, problem, *_ = small(4)
    W, H = problem.start(50)
    assert W.shape[1] == H.shape[1] == min(X.shape)


def test_with_graphs_the_minimum_is_that_of_a_weighted_nuclear_norm():
    # (tr(W' A W) + tr(H' B H)) / 2 is at best the nuclear norm of A^(1/2) W H' B^(1/2).
    X, problem, _, graphs = small(6, (9, 7))
    costs = FactorCosts(0.4, 1.5, 0.7)
    A, B = matrices(graphs, costs)
    least, U = oracle.weighted_nuclear_completion(X, A, B)
    found = problem.solve(costs, Stopping(1e-13, 20_000), problem.start(min(X.shape)))
    assert found.history[-1] == pytest.approx(least, rel=1e-6)
    np.testing.assert_allclose(found.W @ found.H.T, U, atol=1e-4)


def scattered(shape, groups, seed=0):
    """A few entries of a large matrix, in groups without common rows or columns."""
    rng = np.random.default_rng(seed)
    places = [rng.integers(3, size=(2, 8)) + 3 * group for group in range(groups)]
    rows, columns = np.concatenate(places, axis=1)
    X = sparse.csr_array((rng.normal(size=len(rows)), (rows, columns)), shape=shape)
    return Entries.of_sparse(X), X


@pytest.mark.parametrize("shape", [(300, 250), (250, 300)])
def test_the_start_of_scattered_entries(shape):
    # Products with the matrix lead from one group of entries to no other, and soon to zero.
    entries, X = scattered(shape, 4)
    U, values, Vt = np.linalg.svd(X.toarray())
    for rank in (2, 5, 30):
        starts = [FactorProblem(entries, None, None).start(rank) for _ in range(3)]
        W, H = starts[0]
        assert W.shape[1] == H.shape[1] == rank
        np.testing.assert_allclose(
            W @ H.T, (U[:, :rank] * values[:rank]) @ Vt[:rank], atol=1e-7 * values[0]
        )
        for other in starts[1:]:
            np.testing.assert_array_equal(np.concatenate(other), np.concatenate(starts[0]))


@pytest.mark.parametrize("shape", [(50_000, 90), (3000, 2900)])
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_the_start_forms_no_dense_matrix(shape, value):
    entries, _ = scattered(shape, 20)
    entries = entries._replace(values=value * entries.values)
    problem = FactorProblem(entries, None, None)
    problem.start(3)
    tracemalloc.start()
    W, H = problem.start(3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert W.any() == H.any() == bool(value)
    assert peak < 8 * np.prod(shape) / 4


def test_units_do_not_change_the_number_of_rounds():
    X, _, _, graphs = small(7)
    units = [UnitGraph.of(graph).laplacian for graph in graphs]
    fits = []
    for unit in (1.0, 256.0):
        problem = FactorProblem(Entries.of_matrix(unit * X), *units)
        costs = FactorCosts(0.3 * unit, 0.8 * unit, 0.2 * unit)
        fits.append(problem.solve(costs, Stopping(1e-4, 1000), problem.start(3)))
    assert fits[0].n_iter == fits[1].n_iter
    np.testing.assert_allclose(fits[1].W, 16.0 * fits[0].W, atol=1e-6)
