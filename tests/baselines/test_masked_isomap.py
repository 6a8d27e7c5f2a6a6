"""Isomap of incomplete rows against scikit-learn on complete ones."""

import numpy as np
import pytest
from sklearn.manifold import Isomap
from sklearn.metrics.pairwise import nan_euclidean_distances
from sklearn.utils.estimator_checks import parametrize_with_checks

from comanifold.baselines import MaskedIsomap


@pytest.mark.filterwarnings("ignore:The number of connected components:UserWarning")
@parametrize_with_checks([MaskedIsomap(1)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def arc(missing, seed=0, n_rows=80, n_columns=12):
    rng = np.random.default_rng(seed)
    t = np.sort(rng.uniform(0, 1, n_rows))
    points = np.column_stack([np.cos(4 * t), np.sin(4 * t)])
    X = points @ rng.normal(size=(2, n_columns))
    X[rng.random(X.shape) < missing] = np.nan
    return t, X


def test_complete_rows_are_embedded_as_scikit_learn_does():
    _, X = arc(0.0)
    model = MaskedIsomap(2, n_neighbors=6).fit(X)
    other = Isomap(n_components=2, n_neighbors=6, eigen_solver="dense").fit(X)
    np.testing.assert_allclose(np.abs(model.embedding_), np.abs(other.embedding_), atol=1e-6)
    np.testing.assert_allclose(
        np.abs(model.transform(X[:9] + 0.01)), np.abs(other.transform(X[:9] + 0.01)), atol=1e-6
    )


def test_an_arc_with_missing_entries_is_unrolled():
    t, X = arc(0.3, n_columns=60)
    line = MaskedIsomap(1).fit_transform(X)[:, 0]
    assert abs(np.corrcoef(line, t)[0, 1]) > 0.98


def test_rows_that_share_no_column_are_twice_as_far_as_any():
    X = np.array([[0.0, 0.0, np.nan], [1.0, np.nan, np.nan], [np.nan, np.nan, 5.0]])
    far = 2 * np.nanmax(nan_euclidean_distances(X))
    geodesic = MaskedIsomap(1).fit(X).isomap_.dist_matrix_
    assert geodesic[0, 2] == geodesic[1, 2] == far
    # With a row that shares a column with both, the path through it is shorter.
    X = np.vstack([X, [2.0, np.nan, 4.0]])
    direct = nan_euclidean_distances(X)
    geodesic = MaskedIsomap(1).fit(X).isomap_.dist_matrix_
    assert geodesic[0, 2] == pytest.approx(direct[0, 3] + direct[3, 2])


def test_new_rows():
    t, X = arc(0.2, n_columns=20)
    model = MaskedIsomap(1).fit(X[::2])
    placed = model.transform(X[1::2])[:, 0]
    assert abs(np.corrcoef(placed, t[1::2])[0, 1]) > 0.98
    assert np.isnan(model.transform(np.full((1, 20), np.nan))).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components must be a positive integer, got 0"),
        ({"n_components": 80}, "n_components must be less than the number of rows, 80"),
        ({"n_neighbors": 0}, "n_neighbors must be a positive integer, got 0"),
        ({"n_neighbors": 2.5}, "n_neighbors must be a positive integer, got 2.5"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        MaskedIsomap(**parameters).fit(arc(0.1)[1])


def test_a_row_without_entries_is_refused():
    _, X = arc(0.1)
    X[7] = np.nan
    with pytest.raises(ValueError, match=r"rows with no observed entry.*7"):
        MaskedIsomap().fit(X)
