"""GraphCompletion as an estimator: what graphs gain, units, sparse input, and errors."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from oracles.fits import holes
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from comanifold import Graph
from comanifold.baselines import GraphCompletion
from comanifold.baselines._graph_data import effects_of_matrix
from comanifold.datasets import remove_entries
from comanifold.model_selection import HeldOut

KINDS = [
    {},
    {"regularizer": "nuclear"},
    {"regularizer": "factors"},
    {"loss": "l1"},
    {"selection": "bic"},
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        GraphCompletion(),
        GraphCompletion("nuclear"),
        GraphCompletion("factors", rank=2),
        GraphCompletion("factors", rank=2, absent="missing"),
        GraphCompletion(loss="l1", absent="zero"),
        GraphCompletion(selection="bic"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def communities(seed=0, n_groups=(10, 10), observed=0.1, noise=0.1):
    """150 x 200 levels of pairs of groups, a tenth of them observed with noise, and both graphs.

    In the graphs every node is joined to ten others of its own group.
    """
    rng = np.random.default_rng(seed)
    labels = [rng.integers(n, size=size) for n, size in zip(n_groups, (150, 200), strict=True)]
    clean = rng.normal(size=n_groups)[np.ix_(*labels)]
    X = np.where(
        rng.random(clean.shape) < observed, clean + noise * rng.normal(size=clean.shape), np.nan
    )
    graphs = []
    for of_mode in labels:
        edges = set()
        for i, label in enumerate(of_mode):
            same = np.flatnonzero((of_mode == label) & (np.arange(len(of_mode)) != i))
            edges |= {(min(i, j), max(i, j)) for j in rng.permutation(same)[:10].tolist()}
        graphs.append(Graph(len(of_mode), sorted(edges)))
    return clean, X, {"row_graph": graphs[0], "column_graph": graphs[1]}


def error_of(model, clean, X):
    return np.sqrt(np.mean((model.fit(X).filled_ - clean)[np.isnan(X)] ** 2))


@pytest.mark.parametrize("regularizer", ["dirichlet", "nuclear", "factors"])
def test_graphs_of_communities_complete_what_low_rank_does_not(regularizer):
    clean, X, graphs = communities()
    model = GraphCompletion(regularizer, effects=False, **graphs)
    assert error_of(model, clean, X) < 0.05
    assert model.held_out_error_ < 0.2 < 0.9 < model.effects_error_
    if regularizer == "factors":
        without = GraphCompletion("factors", row_cost=0.0, column_cost=0.0)
        assert 0.53 < error_of(without, clean, X) < 0.63


def test_graphs_that_do_not_matter_do_no_harm():
    # Low rank, enough entries, and graphs of other rows and columns.
    X, clean, seen = ratings(2, (100, 80), observed=0.4)
    X = np.where(seen, X.toarray(), np.nan)
    rng = np.random.default_rng(0)
    graphs = {
        f"{mode}_graph": Graph.nearest_neighbors(rng.normal(size=(n, 5)))
        for mode, n in zip(("row", "column"), X.shape, strict=True)
    }
    with_graphs = error_of(GraphCompletion("factors", **graphs), clean, X)
    without = error_of(GraphCompletion("factors", row_cost=0.0, column_cost=0.0), clean, X)
    assert with_graphs < 1.1 * without


def test_effects_that_vary_between_neighbours_are_left_out():
    clean, X, graphs = communities(1)
    errors = {}
    for effects in ("auto", True, False):
        model = GraphCompletion(effects=effects, **graphs)
        errors[effects] = error_of(model, clean, X)
        assert model.row_effects_.any() == (effects is True)
    assert errors["auto"] == errors[False] < 0.05 < 0.1 < errors[True]
    # Effects that are all there is are kept.
    additive = np.add.outer(np.arange(30.0), np.arange(20.0) ** 1.5)
    additive += np.random.default_rng(0).normal(size=additive.shape)
    model = GraphCompletion().fit(remove_entries(additive, 0.5, random_state=0))
    assert model.row_effects_.std() > 5.0


def test_absolute_errors_withstand_outliers(lung500):
    rng = np.random.default_rng(0)
    X = lung500.copy()
    hit = rng.random(X.shape) < 0.1
    X[hit] += rng.choice([-1, 1], hit.sum()) * rng.uniform(5, 10, hit.sum()) * X.std()
    X = remove_entries(X, 0.3, random_state=0)
    of_squares, of_l1 = (
        error_of(GraphCompletion(loss=loss), lung500, X) for loss in ("squared", "l1")
    )
    assert of_l1 < 0.85 * of_squares
    # With the same graphs and costs, too.
    same = {
        "row_graph": Graph.nearest_neighbors(lung500),
        "column_graph": Graph.nearest_neighbors(lung500.T),
        "row_cost": 1.0,
        "column_cost": 1.0,
    }
    of_squares, of_l1 = (
        error_of(GraphCompletion(loss=loss, **same), lung500, X) for loss in ("squared", "l1")
    )
    assert of_l1 < 0.85 * of_squares


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_filled_in_matrices(kind):
    X = holes(40, 30, seed=1)
    wave = np.cos(np.linspace(0, 3, 40)[:, None] - np.linspace(0, 3, 30))
    model = GraphCompletion(**kind).fit(X)
    seen = ~np.isnan(X)
    np.testing.assert_array_equal(model.filled_[seen], X[seen])
    np.testing.assert_array_equal(model.filled_[~seen], model.estimate_[~seen])
    # BIC smooths more than predictions need.
    limit = 0.25 if "selection" in kind else 0.15
    assert error_of(model, wave, X) < limit < 0.5 * wave.std()
    np.testing.assert_array_equal(
        model.predict_entries([3, 5], [0, 7]), model.estimate_[[3, 5], [0, 7]]
    )
    assert min(model.row_cost_, model.column_cost_) > 0.0
    assert isinstance(model.row_graph_, Graph)
    assert hasattr(model, "bic_") == ("selection" in kind)
    assert hasattr(model, "held_out_error_") == ("selection" not in kind)
    assert hasattr(model, "rank_") == hasattr(model, "penalty_") == ("regularizer" in kind)
    assert hasattr(model, "row_embedding_") == ("loss" in kind)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.filled_, model.filled_)
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_units_do_not_matter(kind):
    X = holes(30, 20, seed=2)
    model, other = GraphCompletion(**kind).fit(X), GraphCompletion(**kind).fit(1e6 * X - 3e7)
    # Effects of a matrix far from zero have fewer digits.
    np.testing.assert_allclose((other.filled_ + 3e7) / 1e6, model.filled_, atol=2e-3)
    assert np.log(other.row_cost_ / model.row_cost_) == pytest.approx(0.0, abs=0.1)


@pytest.mark.parametrize("kind", KINDS[:4], ids=str)
def test_units_of_edge_weights_do_not_matter(kind):
    X = holes(20, 15, seed=3)
    graphs = [Graph.nearest_neighbors(A, 4) for A in (X, X.T)]
    fits = []
    for unit in (1.0, 1e4):
        rows, columns = (Graph(g.n_nodes, g.edges, unit * g.weights) for g in graphs)
        model = GraphCompletion(
            row_graph=rows, column_graph=columns, row_cost=0.3, column_cost=0.2, **kind
        )
        fits.append(model.fit(X).filled_)
    np.testing.assert_allclose(*fits, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS[:4], ids=str)
def test_the_order_of_rows_and_columns_does_not_matter(kind):
    X = holes(30, 20, seed=4)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(30), rng.permutation(20)
    model = GraphCompletion(tol=1e-7, max_iter=5000, **kind).fit(X)
    other = GraphCompletion(tol=1e-7, max_iter=5000, **kind).fit(X[rows][:, columns])
    np.testing.assert_allclose(other.filled_, model.filled_[rows][:, columns], atol=2e-3)


def test_embeddings_are_singular_vectors_of_the_smooth_part():
    X = holes(25, 15, seed=5)
    model = GraphCompletion(loss="l1", effects=True, n_components=3).fit(X)
    offsets = model.mean_ + np.add.outer(model.row_effects_, model.column_effects_)
    smooth = model.estimate_ - offsets
    values = np.linalg.svd(smooth, compute_uv=False)[:3]
    for embedding, size in ((model.row_embedding_, 25), (model.column_embedding_, 15)):
        assert embedding.shape == (size, 3)
        np.testing.assert_allclose(np.linalg.norm(embedding, axis=0), values, atol=1e-10)
    product = (model.row_embedding_ / values) @ model.column_embedding_.T
    assert np.linalg.norm(smooth - product, 2) <= values[2] * (1 + 1e-8)
    few = GraphCompletion(loss="l1", n_components=20).fit(X)
    assert few.row_embedding_.shape == (25, 20)
    assert not few.row_embedding_[:, 15:].any()


def ratings(seed=0, shape=(200, 150), observed=0.15):
    """Sparse ratings of rank three with effects, the clean matrix, and its mask."""
    rng = np.random.default_rng(seed)
    clean = 3.0 + 0.5 * np.add.outer(rng.normal(size=shape[0]), rng.normal(size=shape[1]))
    clean += 0.7 * rng.normal(size=(shape[0], 3)) @ rng.normal(size=(3, shape[1]))
    seen = rng.random(shape) < observed
    noisy = clean + 0.3 * rng.normal(size=shape)
    return sparse.csr_array((noisy[seen], np.nonzero(seen)), shape=shape), clean, seen


def test_sparse_ratings_are_those_of_the_dense_matrix():
    X, _, seen = ratings()
    dense = np.full(X.shape, np.nan)
    dense[seen] = X.toarray()[seen]
    settings = {"row_cost": 0.0, "column_cost": 0.0, "penalty": 3.0, "rank": 5}
    model = GraphCompletion("factors", absent="missing", **settings).fit(X)
    other = GraphCompletion("factors", **settings).fit(dense)
    places = np.nonzero(~seen)
    np.testing.assert_allclose(model.predict_entries(*places), other.filled_[places], atol=1e-6)
    assert not hasattr(model, "filled_")
    assert model.row_graph_ is None
    assert model.row_factors_.shape == (200, 5)


def test_settings_of_sparse_ratings_are_chosen():
    X, clean, seen = ratings(1)
    model = GraphCompletion("factors", absent="missing", rank=5).fit(X)
    assert (model.row_cost_, model.column_cost_) == (0.0, 0.0)
    error = model.predict_entries(*np.nonzero(~seen)) - clean[~seen]
    offsets = model.mean_ + np.add.outer(model.row_effects_, model.column_effects_)
    assert np.sqrt(np.mean(error**2)) < 0.6 * np.sqrt(np.mean((offsets - clean)[~seen] ** 2))
    assert model.held_out_error_ < 0.8 * model.effects_error_
    again = GraphCompletion("factors", absent="missing", rank=5).fit(X)
    np.testing.assert_array_equal(again.row_factors_, model.row_factors_)


def test_sparse_input_is_not_made_dense():
    # A dense matrix of this shape would need 80 gigabytes.
    rng = np.random.default_rng(0)
    shape, n_entries = (100_000, 100_000), 20_000
    places = rng.integers(300, size=n_entries) * 300, rng.integers(300, size=n_entries) * 300
    X = sparse.coo_array((rng.normal(size=n_entries), places), shape=shape)
    model = GraphCompletion("factors", absent="missing", rank=2).fit(X)
    assert np.isfinite(model.predict_entries([0, 99_999], [0, 5])).all()
    with pytest.raises(ValueError, match="filled in it would be dense: call fit and predict"):
        model.fit_transform(X)


def test_sparse_input_needs_to_know_what_absent_entries_are():
    X = ratings()[0]
    with pytest.raises(ValueError, match='absent="zero" or absent="missing", got None'):
        GraphCompletion("factors").fit(X)
    zeros = GraphCompletion(absent="zero", row_cost=0.1, column_cost=0.1).fit(X)
    np.testing.assert_array_equal(zeros.filled_, X.toarray())
    missing = GraphCompletion(absent="missing", row_cost=0.1, column_cost=0.1).fit(X)
    assert (missing.filled_ != 0.0).all()
    X.data[7] = np.inf
    with pytest.raises(ValueError, match="X has an infinite value"):
        GraphCompletion("factors", absent="missing").fit(X)
    X.data[:] = np.nan
    with pytest.raises(ValueError, match="X has no observed entry"):
        GraphCompletion("factors", absent="missing").fit(X)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_rows_and_columns_without_entries(kind):
    X = holes(24, 16, seed=6)
    X[3], X[:, 5] = np.nan, np.nan
    model = GraphCompletion(**kind).fit(X)
    assert np.isfinite(model.filled_).all()


def test_matrices_too_small_to_hold_entries_out():
    X = np.array([[1.0, np.nan], [2.0, 4.0], [np.nan, 5.0]])
    for kind in KINDS:
        model = GraphCompletion(**kind).fit(X)
        assert np.isfinite(model.filled_).all()
        assert not hasattr(model, "held_out_error_")
        if "regularizer" in kind:  # a tenth of the largest singular value
            offsets = model.mean_ + np.add.outer(model.row_effects_, model.column_effects_)
            residuals = np.nan_to_num((X - offsets) / model.scale_)
            assert model.penalty_ == pytest.approx(0.1 * np.linalg.norm(residuals, 2), rel=1e-3)


def test_a_refit_forgets_attributes_of_other_parameters():
    X = holes(20, 15)
    model = GraphCompletion(loss="l1").fit(X)
    assert hasattr(model, "row_embedding_")
    model.set_params(loss="squared", row_cost=0.1, column_cost=0.1).fit(X)
    assert not hasattr(model, "row_embedding_")
    assert not hasattr(model, "held_out_error_")


def test_data_frames_keep_their_names():
    X = pd.DataFrame(holes(12, 4), columns=list("abcd"))
    model = GraphCompletion().set_output(transform="pandas")
    filled = model.fit_transform(X)
    assert list(filled.columns) == list("abcd")
    assert filled.notna().all(axis=None)


@pytest.mark.parametrize("kind", KINDS[:4], ids=str)
def test_a_warning_says_that_iterations_did_not_converge(kind):
    X = holes(20, 15)
    model = GraphCompletion(max_iter=2, row_cost=0.3, column_cost=0.3, penalty=0.1, **kind)
    with pytest.warns(ConvergenceWarning, match="GraphCompletion stopped after 2 iterations"):
        model.fit(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"regularizer": "tv"}, "regularizer must be one of 'dirichlet', 'nuclear', 'factors'"),
        ({"loss": "huber"}, "loss must be one of 'squared', 'l1', got 'huber'"),
        ({"selection": "aic"}, "selection must be one of 'held-out', 'bic'"),
        ({"loss": "l1", "regularizer": "factors"}, 'loss="l1" needs regularizer="dirichlet"'),
        ({"selection": "bic", "loss": "l1"}, 'selection="bic" needs regularizer="dirichlet" and'),
        ({"row_cost": -1.0}, "row_cost must be a finite number of at least 0, got -1.0"),
        ({"column_cost": "best"}, "column_cost must be a finite number of at least 0, got 'best'"),
        ({"row_cost": 1e300}, r"row_cost must be at most 1e\+10, got 1e\+300: it is in units"),
        ({"regularizer": "nuclear", "penalty": 2e10}, r"penalty must be at most 1e\+10, got 2e"),
        ({"penalty": np.inf}, "penalty must be a finite number of at least 0, got inf"),
        ({"rank": 0}, "rank must be a positive integer, got 0"),
        ({"effects": "no"}, "effects must be one of 'auto' or a bool, got 'no'"),
        ({"n_neighbors": 0}, "n_neighbors must be a positive integer, got 0"),
        ({"n_components": 1.5}, "n_components must be a positive integer, got 1.5"),
        ({"absent": "nan"}, "absent must be one of 'missing', 'zero' or None, got 'nan'"),
        ({"max_iter": 0}, "max_iter must be a positive integer"),
        ({"tol": 2.0}, "tol must be a number between 0 and 1"),
        ({"row_graph": Graph(3, [])}, "row_graph has 3 nodes, but X has 20 rows"),
        ({"column_graph": "knn"}, "column_graph must be a comanifold.Graph or a matrix"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        GraphCompletion(**parameters).fit(holes(20, 15))


@pytest.mark.parametrize(
    "kind",
    [{}, {"effects": False}, KINDS[1], {"regularizer": "factors", "effects": True}, KINDS[3]],
    ids=str,
)
def test_nothing_is_judged_on_entries_it_was_fitted_to(kind):
    # A fit with the chosen settings to the other entries alone predicts the held-out ones as well.
    X = holes(40, 30, seed=8)
    model = GraphCompletion(**kind).fit(X)
    held_out = HeldOut(X, from_complete=True)
    rest = held_out.rest()
    fixed = {"row_cost": model.row_cost_, "column_cost": model.column_cost_}
    if "regularizer" in kind:
        fixed["penalty"] = model.penalty_
    if "factors" in kind.values():  # they depend on where iterations stop
        fixed["tol"] = 1e-3
    fixed["effects"] = bool(model.row_effects_.any())
    other = GraphCompletion(**{**kind, **fixed}).fit(rest)
    off = other.predict_entries(held_out.rows, held_out.columns) - held_out.values
    size = np.mean(np.abs(off)) if "loss" in kind else np.sqrt(np.mean(off**2))
    assert model.held_out_error_ == pytest.approx(size, rel=0.003)
    effects, _ = effects_of_matrix(rest, robust="loss" in kind)
    off = effects.at(held_out.rows, held_out.columns) - held_out.values
    size = np.mean(np.abs(off)) if "loss" in kind else np.sqrt(np.mean(off**2))
    assert model.effects_error_ == pytest.approx(size)


def test_nothing_is_judged_on_stored_entries_it_was_fitted_to():
    X, _, _ = ratings(5)
    model = GraphCompletion("factors", absent="missing", rank=4, random_state=3).fit(X)
    # The draw that is documented: a tenth of the entries, but for rows and columns with few.
    entries = X.tocoo()
    held = np.zeros(X.nnz, dtype=bool)
    held[np.random.RandomState(3).permutation(X.nnz)[: X.nnz // 10]] = True
    for places, size in zip((entries.row, entries.col), X.shape, strict=True):
        held &= np.bincount(places[~held], minlength=size)[places] >= 2
    rest = sparse.coo_array(
        (entries.data[~held], (entries.row[~held], entries.col[~held])), shape=X.shape
    )
    options = {"penalty": model.penalty_, "effects": bool(model.row_effects_.any())}
    other = GraphCompletion("factors", absent="missing", rank=4, **options).fit(rest)
    off = other.predict_entries(entries.row[held], entries.col[held]) - entries.data[held]
    assert model.held_out_error_ == pytest.approx(np.sqrt(np.mean(off**2)), rel=0.01)


def test_absolute_errors_withstand_outliers_of_a_smooth_matrix():
    clean = np.cos(np.linspace(0, 4, 60)[:, None] - np.linspace(0, 4, 40))
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = clean + 0.1 * rng.normal(size=clean.shape)
        hit = rng.random(X.shape) < 0.1
        X[hit] += rng.choice([-1, 1], hit.sum()) * rng.uniform(5, 10, hit.sum())
        X = remove_entries(X, 0.3, random_state=seed)
        of_squares, of_l1 = (
            error_of(GraphCompletion(loss=loss), clean, X) for loss in ("squared", "l1")
        )
        assert of_l1 < 0.6 * of_squares


@pytest.mark.parametrize("kind", KINDS[:4], ids=str)
@pytest.mark.parametrize("unit", [2.0**450, 2.0**-450])
def test_units_of_equal_entries_do_not_matter(kind, unit):
    # Which entries are held out depends on products of entries where some are equal.
    X = np.round(2.0 * holes(30, 20, seed=2))
    model, other = (GraphCompletion(**kind).fit(scale * X) for scale in (1.0, unit))
    np.testing.assert_allclose(other.filled_ / unit, model.filled_, atol=1e-8)


def test_transposing_transposes_the_estimate():
    X = holes(30, 20, seed=9)
    model = GraphCompletion(tol=1e-8, n_neighbors=(4, 3)).fit(X)
    other = GraphCompletion(tol=1e-8, n_neighbors=(3, 4)).fit(X.T)
    np.testing.assert_allclose(other.filled_.T, model.filled_, atol=2e-3)
    assert other.held_out_error_ == pytest.approx(model.held_out_error_, rel=1e-3)


@pytest.mark.parametrize("kind", [KINDS[4], KINDS[2]], ids=str)
def test_the_random_state_of_numpy_does_not_matter(kind):
    X = holes(24, 16, seed=6)
    fits = []
    for seed in (0, 1):
        np.random.seed(seed)  # noqa: NPY002
        before = np.random.get_state()[1].copy()  # noqa: NPY002
        fits.append(GraphCompletion(**kind).fit(X).filled_)
        np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    np.testing.assert_array_equal(*fits)
    given = [GraphCompletion(random_state=np.random.RandomState(5), **kind) for _ in range(2)]
    np.testing.assert_array_equal(*(model.fit(X).filled_ for model in given))


def in_formats(X):
    """The same entries in many sparse formats, with repeated ones and with stored NaN."""
    for format_ in ("csr", "csc", "coo", "lil", "dok"):
        yield X.asformat(format_)
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    yield wide
    entries = X.tocoo()
    places = np.tile(np.stack([entries.row, entries.col]), 2)
    yield sparse.coo_array((np.tile(0.5 * entries.data, 2), tuple(places)), shape=X.shape)
    i, j = np.argwhere(X.toarray() == 0.0)[0]
    places = np.append(entries.row, i), np.append(entries.col, j)
    yield sparse.csc_array((np.append(entries.data, np.nan), places), shape=X.shape)


def test_sparse_formats_do_not_matter():
    X, *_ = ratings(2, (60, 50))
    X.resize((63, 52))  # the last rows and columns are empty
    options = {"row_cost": 0.0, "column_cost": 0.0, "penalty": 2.0, "rank": 3}
    fits = [GraphCompletion("factors", absent="missing", **options).fit(Z) for Z in in_formats(X)]
    places = np.indices(X.shape)
    estimates = [model.predict_entries(*places) for model in fits]
    for other in estimates[1:]:
        np.testing.assert_allclose(other, estimates[0], atol=1e-6)
    # Of an empty row effects alone are known, and they are those of the columns.
    np.testing.assert_allclose(estimates[0][62], fits[0].mean_ + fits[0].column_effects_, atol=1e-9)
    rounded = X.copy()
    rounded.data = np.round(rounded.data)
    fits = [
        GraphCompletion("factors", absent="missing", **options).fit(rounded.astype(kind))
        for kind in (float, np.float32, np.int64, np.int8)
    ]
    for model in fits[1:]:
        np.testing.assert_array_equal(model.row_factors_, fits[0].row_factors_)


def test_stored_entries_that_are_all_equal():
    places = np.arange(4000) * 7 % 5000, np.arange(4000) * 11 % 4000
    X = sparse.coo_array((np.full(4000, 5.0), places), shape=(5000, 4000))
    model = GraphCompletion("factors", absent="missing").fit(X)
    np.testing.assert_allclose(model.predict_entries([0, 4999], [0, 3]), 5.0)


@pytest.mark.parametrize("absent", [None, "missing"])
def test_entries_to_predict(absent):
    X = ratings(0, (30, 20), observed=0.5)[0]
    model = GraphCompletion("factors", absent=absent, rank=2, penalty=1.0)
    model.set_params(row_cost=0.0, column_cost=0.0)
    model.fit(X if absent else np.where(X.toarray() == 0.0, np.nan, X.toarray()))
    whole = model.predict_entries(np.arange(30)[:, None], np.arange(20))
    assert whole.shape == (30, 20)
    assert model.predict_entries(4, 7) == whole[4, 7]
    assert model.predict_entries([], []).shape == (0,)
    np.testing.assert_array_equal(
        model.predict_entries(np.array([29, 0], dtype=np.uint8), [19, 0]), whole[[29, 0], [19, 0]]
    )
    for rows, columns, message in (
        ([0, -1], [0, 0], "rows must lie between 0 and 29, the last row of X, got -1"),
        ([30], [0], "rows must lie between 0 and 29, the last row of X, got 30"),
        ([0], [20], "columns must lie between 0 and 19, the last column of X, got 20"),
        ([0], [-20], "columns must lie between 0 and 19, the last column of X, got -20"),
        ([0.5], [1], "rows must be integers, got dtype float64"),
        ([1], [True], "columns must be integers, got dtype bool"),
        (["a"], [1], "rows must be integers"),
        ([0, 1], [0, 1, 2], r"rows and columns must have the same shape, got \(2,\) and \(3,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            model.predict_entries(rows, columns)


@pytest.mark.parametrize("kind", KINDS[:3], ids=str)
def test_the_largest_costs_give_the_mean_of_connected_rows_and_columns(kind):
    X = holes(20, 15)
    model = GraphCompletion(
        row_cost=1e10, column_cost=1e10, penalty=1e-6, effects=False, max_iter=5000, **kind
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    assert np.ptp(model.estimate_) < 0.05 * np.nanstd(X)
    assert np.abs(model.estimate_ - np.nanmean(X)).max() < 0.1 * np.nanstd(X)


@pytest.mark.parametrize("mode", ["row", "column"])
def test_bic_leaves_out_what_only_a_graph_of_cost_zero_reaches(mode):
    # Without costs along the rows, an empty row is no part of the problem.
    X = holes(24, 16, seed=6)
    fits = []
    for with_empty in (False, True):
        Z = np.insert(X, 3, np.nan, axis=0) if with_empty else X
        rows, columns = (Graph(n, [[i, i + 1] for i in range(n - 1)]) for n in Z.shape)
        model = GraphCompletion(selection="bic", effects=False)
        if mode == "row":
            model.set_params(row_cost=0.0, row_graph=rows, column_graph=columns).fit(Z)
        else:
            model.set_params(column_cost=0.0, row_graph=columns, column_graph=rows).fit(Z.T)
        fits.append(model.bic_)
    assert fits[1] == pytest.approx(fits[0], rel=0.05)  # the probes differ
