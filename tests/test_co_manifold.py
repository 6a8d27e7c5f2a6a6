"""What CoManifold promises about any matrix."""

import numpy as np
import pytest
from oracles import surface as slow_surface
from oracles.fits import permute, random_matrix, scales_of, shift_and_scale
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from comanifold import CoManifold, DiffusionMap, Graph, co_cluster


def complete(seed):
    return np.random.default_rng(seed).normal(size=(15, 12)).cumsum(axis=0)


class TestNothingMissing:
    @pytest.mark.parametrize(
        "parameters",
        [{}, {"scale_weights": "cost", "n_passes": 1}, {"scale_weights": "cost", "alpha": 0.3}],
    )
    @pytest.mark.parametrize("scale", [1e-150, 1.0, 1e6])
    def test_distances_are_euclidean_times_a_scalar(self, parameters, scale):
        X = scale * complete(0)
        model = CoManifold(**parameters).fit(X)
        for distances, points in ((model.row_distances_, X), (model.column_distances_, X.T)):
            expected = squareform(pdist(points))
            factor = (distances / scale).sum() / (expected / scale).sum()
            np.testing.assert_allclose(distances, factor * expected, rtol=1e-10)

    def test_the_embedding_is_the_diffusion_map_of_the_matrix(self):
        X = complete(1)
        for bandwidth in ("median", "local", "auto"):
            model = CoManifold(bandwidth=bandwidth).fit(X)
            for embedding, eigenvalues, points in (
                (model.row_embedding_, model.row_eigenvalues_, X),
                (model.column_embedding_, model.column_eigenvalues_, X.T),
            ):
                expected = DiffusionMap(bandwidth=bandwidth).fit(points)
                np.testing.assert_allclose(embedding, expected.embedding_, atol=1e-9)
                np.testing.assert_allclose(eigenvalues, expected.eigenvalues_, atol=1e-10)

    def test_the_filled_in_matrix_is_the_data(self):
        X = complete(2)
        np.testing.assert_array_equal(CoManifold().fit(X).filled_, X)


def distances_agree(first, second, rtol=1e-6):
    return all(
        np.allclose(a, b, rtol=0, atol=rtol * np.max(b)) for a, b in zip(first, second, strict=True)
    )


def equivariance(change, n_matrices=100, matrix=random_matrix, **parameters):
    """How many matrices keep their distances under a change; none may be far off."""
    agree = 0
    for seed in range(n_matrices):
        X = matrix(seed)
        model = CoManifold(1, **parameters).fit(X)
        changed, rows, columns, factor = change(X, np.random.default_rng(seed))
        other = CoManifold(1, **parameters).fit(changed)
        expected = [
            factor * model.row_distances_[np.ix_(rows, rows)],
            factor * model.column_distances_[np.ix_(columns, columns)],
        ]
        found = [other.row_distances_, other.column_distances_]
        agree += distances_agree(found, expected)
        for a, b in zip(found, expected, strict=True):
            assert np.abs(a - b).max() <= 0.2 * np.max(b)
    return agree


@pytest.mark.parametrize("change", [shift_and_scale, permute])
@pytest.mark.parametrize("parameters", [{}, {"scale_weights": "cost", "n_passes": 1}])
def test_equivariance(change, parameters):
    assert equivariance(change, **parameters) >= 95


@pytest.mark.parametrize("missing", [0.7, 0.85])
@pytest.mark.parametrize("change", [shift_and_scale, permute])
def test_equivariance_where_little_is_observed(change, missing):
    def matrix(seed):
        return random_matrix(seed, 20, 16, missing)

    assert equivariance(change, n_matrices=20, matrix=matrix) >= 19


def ratings(seed):
    """Whole numbers from 1 to 5, most of them many times."""
    rng = np.random.default_rng(seed)
    X = 3 + rng.normal(size=(24, 2)) @ rng.normal(size=(2, 17)) + 0.3 * rng.normal(size=(24, 17))
    return np.where(rng.random(X.shape) < 0.3, np.nan, np.clip(np.round(X), 1, 5))


@pytest.mark.parametrize("change", [shift_and_scale, permute])
def test_equivariance_of_ratings(change):
    # Rows at equal distances are neighbours by their position: not all agree.
    assert equivariance(change, n_matrices=20, matrix=ratings) >= 15


@pytest.mark.parametrize(
    ("matrix", "n_matrices", "least"), [(random_matrix, 100, 95), (ratings, 20, 15)]
)
def test_transposing_swaps_rows_and_columns(matrix, n_matrices, least):
    agree = 0
    for seed in range(n_matrices):
        X = matrix(seed)
        model, other = CoManifold(1).fit(X), CoManifold(1).fit(X.T)
        agree += distances_agree(
            [other.row_distances_, other.column_distances_],
            [model.column_distances_, model.row_distances_],
        )
    assert agree >= least


def test_the_same_bits_for_any_number_of_workers():
    X = random_matrix(5, 40, 30)
    alone = CoManifold(keep_scales=True).fit(X)
    for n_jobs in (2, 3):
        other = CoManifold(n_jobs=n_jobs, keep_scales=True).fit(X)
        for name in ("row_distances_", "column_distances_", "filled_", "row_embedding_"):
            np.testing.assert_array_equal(getattr(other, name), getattr(alone, name))
        assert [(s.l, s.k, s.objective) for s in scales_of(other)] == [
            (s.l, s.k, s.objective) for s in scales_of(alone)
        ]


class TestSurface:
    @pytest.mark.parametrize(
        ("traversal", "traverse"),
        [("paper", slow_surface.traverse), ("symmetric", slow_surface.traverse_symmetric)],
    )
    @pytest.mark.parametrize("seed", [11, 18])
    def test_scale_by_scale(self, traversal, traverse, seed):
        # Matrices on which both ways to continue a scale end in the same local minima.
        X = random_matrix(seed, 9, 8)
        X = (X - np.nanmean(X)) / np.nanstd(X)
        graphs = Graph.nearest_neighbors(X, 3), Graph.nearest_neighbors(X.T, 3)
        options = {"n_neighbors": 3, "start_scale": (-4, -3), "tol": 1e-8, "keep_scales": True}
        model = CoManifold.as_in_the_paper(1, traversal=traversal, **options).fit(X)
        expected = traverse(X, *graphs, (-4, -3), tol=1e-8)
        assert {(s.l, s.k) for s in scales_of(model)} == set(expected)
        for (l, k), U in expected.items():
            np.testing.assert_allclose(model.estimate_at(l, k), U, atol=1e-4)
        by_row = slow_surface.distances(X, expected, -0.5)
        by_column = slow_surface.distances(X.T, {s: U.T for s, U in expected.items()}, -0.5)
        np.testing.assert_allclose(model.row_distances_, by_row, rtol=1e-4)
        np.testing.assert_allclose(model.column_distances_, by_column, rtol=1e-4)

    @pytest.mark.parametrize("traversal", ["symmetric", "paper"])
    @pytest.mark.parametrize("seed", range(5))
    def test_every_path_ends_in_one_cluster(self, traversal, seed):
        model = CoManifold(traversal=traversal, scale_weights="cost").fit(random_matrix(seed))
        scales = {(s.l, s.k): s for s in scales_of(model)}
        assert len(scales) == len(scales_of(model))
        for l in {s.l for s in scales_of(model)}:
            last = scales[l, max(k for other, k in scales if other == l)]
            # In the symmetric one, scales that would repeat others are left out: there, one row
            # cluster ends what one column cluster would.
            fewest = last.n_column_clusters
            if traversal == "symmetric":
                fewest = min(fewest, last.n_row_clusters)
            assert fewest == 1
        end = scales[max(scales)]
        assert end.n_row_clusters == 1
        if traversal == "symmetric":
            by_column_cost = max(scales, key=lambda scale: scale[::-1])
            assert scales[by_column_cost].n_column_clusters == 1

    @pytest.mark.parametrize(
        ("penalty", "solver"),
        [(name, "fast") for name in ("snowflake", "linear", "log", "mcp")]
        + [(name, "paper") for name in ("snowflake", "linear")],
    )
    def test_every_penalty_and_solver_gets_to_the_end(self, penalty, solver):
        X = random_matrix(1, 8, 8)
        model = CoManifold(1, penalty=penalty, solver=solver, scale_weights="cost").fit(X)
        assert any(s.n_row_clusters == s.n_column_clusters == 1 for s in scales_of(model))
        assert all(s.status == "converged" for s in scales_of(model))
        for scale in scales_of(model):
            reached = scale.gap if penalty == "linear" else scale.stationarity
            assert reached <= 1e-3

    def test_a_penalty_that_levels_off_gets_to_the_end_with_the_solver_of_the_paper(self):
        X = random_matrix(1, 6, 6)
        model = CoManifold(
            1, penalty="mcp", solver="paper", scale_weights="cost", start_scale=1
        ).fit(X)
        assert any(s.n_row_clusters == s.n_column_clusters == 1 for s in scales_of(model))

    @pytest.mark.parametrize("traversal", ["symmetric", "paper"])
    @pytest.mark.parametrize("seed", range(5))
    def test_clusters_only_ever_join_along_a_path(self, traversal, seed):
        X = random_matrix(seed, 25, 20)
        model = CoManifold(traversal=traversal, keep_scales=True).fit(X)
        first = scales_of(model)[0]
        places = {(s.l, s.k) for s in scales_of(model)}
        n_steps = 0
        for l, k in places:
            offset = l - first.l, k - first.k
            before = (l - 1, k) if offset[0] > offset[1] else (l, k - 1)
            if offset[0] == offset[1]:
                before = l - 1, k - 1
            if traversal == "paper":
                before = (l, k - 1) if k > first.k else (l - 1, k)
            if before not in places:
                continue
            n_steps += 1
            for at in (model.row_labels_at, model.column_labels_at):
                coarse, fine = at(l, k), at(*before)
                assert coarse.max() <= fine.max()
                for label in range(fine.max() + 1):
                    assert np.ptp(coarse[fine == label]) == 0
        assert n_steps == len(places) - 1

    def test_without_continuation_every_scale_stands_alone(self):
        X = random_matrix(2, 12, 10)
        options = {"scale_weights": "cost", "n_passes": 1, "start_scale": (-3, -3), "tol": 1e-6}
        options["first_graphs"] = "masked"
        model = CoManifold(1, continuation=False, keep_scales=True, **options).fit(X)
        graphs = [Graph.nearest_neighbors(A, 5) for A in (X, X.T)]
        standard = (X - np.nanmean(X)) / np.nanstd(X)
        for scale in scales_of(model)[::5]:
            alone = co_cluster(
                standard, *graphs, row_cost=scale.row_cost, column_cost=scale.column_cost
            )
            assert scale.objective == pytest.approx(alone.objective, rel=1e-5)


SHAPES = {
    "square": random_matrix(0, 30, 30, 0.3),
    "tall": random_matrix(1, 200, 12, 0.3),
    "wide": random_matrix(2, 16, 150, 0.3),
    "large units": 1e8 * random_matrix(3, 40, 30, 0.3) + 1e9,
    "small units": 1e-120 * random_matrix(4, 40, 30, 0.3),
    "pure noise": np.random.default_rng(5).normal(size=(40, 40)),
    "noise, half missing": np.where(
        np.random.default_rng(6).random((50, 40)) < 0.5,
        np.nan,
        np.random.default_rng(7).normal(size=(50, 40)),
    ),
    "little noise": np.kron(np.eye(3), np.ones((10, 8)))
    + 1e-3 * np.random.default_rng(8).normal(size=(30, 24)),
    "smooth": np.cos(np.linspace(0, 3, 80)[:, None] * np.linspace(1, 2, 50))
    + 0.01 * np.random.default_rng(11).normal(size=(80, 50)),
    "heavy tails": np.random.default_rng(9).standard_t(1.5, size=(40, 30)),
    "three by three": np.random.default_rng(10).normal(size=(3, 3)),
}


@pytest.mark.filterwarnings("ignore:the affinities fall into")
@pytest.mark.parametrize("name", SHAPES)
def test_the_surface_starts_where_nothing_is_fused(name):
    X = SHAPES[name]
    model = CoManifold(1, scale_weights="cost", n_passes=1, keep_scales=True).fit(X)
    first = scales_of(model)[0]
    assert (first.n_row_clusters, first.n_column_clusters) == X.shape
    beyond = [s for s in scales_of(model) if (s.l, s.k) == (first.l + 1, first.k + 1)]
    assert beyond
    assert beyond[0].n_row_clusters + beyond[0].n_column_clusters < sum(X.shape)


def test_start_scale_sets_the_first_scale():
    X = random_matrix(0)
    for start, expected in ((-2, (-2, -2)), ((-1, -4), (-1, -4))):
        first = scales_of(CoManifold(start_scale=start).fit(X))[0]
        assert (first.l, first.k) == expected


def test_orders_put_groups_together():
    rng = np.random.default_rng(0)
    groups = rng.integers(4, size=60)
    X = rng.normal(size=(4, 40))[groups] * 3 + rng.normal(size=(60, 40))
    X[rng.random(X.shape) < 0.4] = np.nan
    model = CoManifold(3).fit(X)
    assert sorted(model.row_order_) == list(range(60))
    assert sorted(model.column_order_) == list(range(40))
    assert (np.diff(groups[model.row_order_]) != 0).sum() == 3


class TestLung500:
    def test_clusters_at_half_missing_are_those_of_the_complete_matrix(self, lung500_labelled):
        X, diagnoses = lung500_labelled

        def clusters(matrix):
            embedding = CoManifold().fit(matrix).column_embedding_
            return KMeans(4, n_init=20, random_state=0).fit_predict(embedding)

        complete = clusters(X)
        same, right = [], []
        for seed in range(10):
            rng = np.random.default_rng(seed)
            found = clusters(np.where(rng.random(X.shape) < 0.5, np.nan, X))
            same.append(adjusted_rand_score(complete, found))
            right.append(adjusted_rand_score(diagnoses, found))
        assert np.mean(same) >= 0.97
        assert np.mean(right) >= adjusted_rand_score(diagnoses, complete)
