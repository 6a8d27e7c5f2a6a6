"""The tree metric of a surface against its parts by hand, and what it is for."""

import io
import pickle

import numpy as np
import pytest
from oracles.damage import as_npy, edit_arrays, edit_json
from oracles.fits import holes
from oracles.hostile import assert_equal_bits
from scipy import sparse

from comanifold import CoManifold, DiffusionMap
from comanifold._embedding.out_of_sample import complete_rows
from comanifold._embedding.tree_metric import tree_distances_to_new
from comanifold.trees import PartitionTree, flexible_tree, tree_distances


def noisy_waves(n_rows=40, n_columns=60, missing=0.3, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    t, s = rng.uniform(0, 2 * np.pi, n_rows), rng.uniform(0, 2 * np.pi, n_columns)
    X = np.cos(t[:, None] - s) + noise * rng.normal(size=(n_rows, n_columns))
    X[rng.random(X.shape) < missing] = np.nan
    return t, s, X


def test_distances_are_over_the_trees_of_the_multi_scale_affinities():
    _, _, X = noisy_waves()
    plain, model = CoManifold().fit(X), CoManifold(metric="tree").fit(X)
    np.testing.assert_array_equal(model.filled_, plain.filled_)
    np.testing.assert_array_equal(model.row_labels_, plain.row_labels_)
    assert model.row_tree_ == flexible_tree(plain.row_affinity_)
    assert model.column_tree_ == flexible_tree(plain.column_affinity_)
    rows = tree_distances(model.filled_, model.column_tree_, beta=0.5)
    columns = tree_distances(model.filled_.T, model.row_tree_, beta=0.5)
    np.testing.assert_allclose(model.row_distances_, rows, rtol=1e-9)
    np.testing.assert_allclose(model.column_distances_, columns, rtol=1e-9)
    embedding = DiffusionMap(2, metric="precomputed").fit_transform(rows)
    np.testing.assert_allclose(model.row_embedding_, embedding, atol=1e-8)


def test_sparse_distances_are_some_of_all():
    _, _, X = noisy_waves(100, 80)
    dense = CoManifold(metric="tree", n_neighbors=4).fit(X)
    model = CoManifold(metric="tree", n_neighbors=4, distances="sparse").fit(X)
    D = model.row_distances_
    assert sparse.issparse(D)
    assert D.nnz < 100 * 100
    by_tree = tree_distances(model.filled_, model.column_tree_, beta=0.5)
    entries = D.tocoo()
    np.testing.assert_allclose(entries.data, by_tree[entries.row, entries.col], rtol=1e-9)
    assert np.corrcoef(entries.data, dense.row_distances_[entries.row, entries.col])[0, 1] > 0.9


@pytest.mark.parametrize("distances", ["dense", "sparse"])
def test_new_rows_and_columns_are_placed_near_their_neighbours(distances):
    t, s, X = noisy_waves(90, 80, noise=0.2)
    model = CoManifold(metric="tree", distances=distances).fit(X[:70, :60])
    np.testing.assert_array_equal(model.transform(X[:70, :60]), model.row_embedding_)
    np.testing.assert_array_equal(model.transform_columns(X[:70, :60]), model.column_embedding_)
    for placed, fitted, angle, known in (
        (model.transform(X[70:, :60]), model.row_embedding_, t[70:], t[:70]),
        (model.transform_columns(X[:70, 60:]), model.column_embedding_, s[60:], s[:60]),
    ):
        nearest = np.linalg.norm(placed[:, None] - fitted, axis=2).argmin(axis=1)
        assert np.mean(np.cos(angle - known[nearest])) > 0.9


def test_sparse_distances_of_new_rows_are_some_of_all():
    _, _, X = noisy_waves(60, 50)
    model = CoManifold(metric="tree", distances="sparse", n_neighbors=2).fit(X[:50])
    D, filled, tree = model.row_distances_, model.filled_, model.column_tree_
    # Of a matrix with fewer pairs, so that new rows have a distance to some rows only.
    upper = np.abs(np.subtract.outer(np.arange(50), np.arange(50))) < 4
    D = sparse.csr_array(D.toarray() * upper + upper)
    some = tree_distances_to_new(X[50:], filled, D, tree)
    dense = tree_distances_to_new(X[50:], filled, D.toarray(), tree)
    assert some.shape == dense.shape == (10, 50)
    nearest = complete_rows(X[50:], filled)[0]
    for i, near in enumerate(nearest):
        stored = some.indices[some.indptr[i] : some.indptr[i + 1]]
        np.testing.assert_array_equal(np.sort(stored), np.flatnonzero(upper[near].any(axis=0)))
        np.testing.assert_allclose(some[[i]].toarray()[0, stored], dense[i, stored], rtol=1e-9)


def test_it_finds_neighbours_in_noise_also_where_nothing_is_missing():
    found = {}
    for metric in ("multi-scale", "tree"):
        shares = []
        for seed in range(3):
            t, _, X = noisy_waves(80, 150, missing=0.0, noise=1.5, seed=seed)
            D = CoManifold(metric=metric, scale_weights="cost").fit(X).row_distances_
            apart = 1.0 - np.cos(t[:, None] - t)
            near, true = (np.argsort(d, axis=1)[:, 1:11] for d in (D, apart))
            shares += [len(set(a) & set(b)) / 10 for a, b in zip(near, true, strict=True)]
        found[metric] = np.mean(shares)
    assert found["tree"] > found["multi-scale"] + 0.05


def test_units_and_order_do_not_matter():
    _, _, X = noisy_waves(30, 25)
    model = CoManifold(metric="tree").fit(X)
    other = CoManifold(metric="tree").fit(7.0 * X - 3.0)
    np.testing.assert_allclose(other.row_distances_, 7.0 * model.row_distances_, rtol=1e-5)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(30), rng.permutation(25)
    permuted = CoManifold(metric="tree").fit(X[np.ix_(rows, columns)])
    expected = model.row_distances_[np.ix_(rows, rows)]
    np.testing.assert_allclose(permuted.row_distances_, expected, rtol=1e-5)
    transposed = CoManifold(metric="tree").fit(X.T)
    np.testing.assert_allclose(transposed.column_distances_, model.row_distances_, rtol=1e-5)


def test_rows_without_entries_are_left_out_of_the_trees():
    X = holes()
    X[3], X[:, 5] = np.nan, np.nan
    with pytest.warns(UserWarning, match="no observed entry"):
        model = CoManifold(metric="tree").fit(X)
    assert (model.row_tree_.n_points, model.column_tree_.n_points) == (29, X.shape[1] - 1)
    assert np.isnan(model.row_distances_[3]).all()
    assert np.isnan(model.row_embedding_[3]).all()


def test_a_refit_with_the_other_metric_has_no_trees():
    _, _, X = noisy_waves(20, 15)
    model = CoManifold(metric="tree", scale_weights="cost").fit(X)
    assert isinstance(model.row_tree_, PartitionTree)
    model.set_params(metric="multi-scale").fit(X)
    assert not hasattr(model, "row_tree_")
    assert not hasattr(model, "column_tree_")


@pytest.fixture(scope="module")
def fitted():
    return CoManifold(metric="tree").fit(noisy_waves(24, 18)[2])


def test_saved_and_pickled_models_are_the_same(fitted, tmp_path):
    new = noisy_waves(24, 18, seed=1)[2]
    fitted.save(tmp_path / "model")
    for other in (CoManifold.load(tmp_path / "model"), pickle.loads(pickle.dumps(fitted))):
        assert_equal_bits(other, fitted)
        assert other.metric == "tree"
        assert other.row_tree_ == fitted.row_tree_
        np.testing.assert_array_equal(other.transform(new), fitted.transform(new))


def test_damaged_trees_are_refused_by_name(fitted, tmp_path):
    def damage(name, change):
        directory = tmp_path / name
        fitted.save(directory)

        def change_member(members):
            tree = np.load(io.BytesIO(members["row.tree.npy"]))
            members["row.tree.npy"] = as_npy(change(tree))

        edit_arrays(directory, change_member)
        return directory

    changes = {
        "split": lambda tree: tree[[0, 2, 1, *range(3, len(tree))]],
        "negative": lambda tree: tree - 1,
        "renumbered": lambda tree: np.vstack([tree[:1, ::-1], tree[1:]]),
        "no root": lambda tree: tree[:-1],
    }
    for name, change in changes.items():
        with pytest.raises(ValueError, match=r"row\.tree is not a partition tree"):
            CoManifold.load(damage(name, change))
    one_sided = tmp_path / "one sided"
    fitted.save(one_sided)
    edit_json(one_sided, lambda d: d["state"]["column"].update(tree=None))
    with pytest.raises(ValueError, match="a tree of one mode and not of the other"):
        CoManifold.load(one_sided)
