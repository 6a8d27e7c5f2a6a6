"""Anything goes into a fit; out comes a finite result, or an error that names what is wrong."""

import itertools
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.fits import scales_of
from oracles.hostile import (
    BANDWIDTHS,
    NEIGHBORS,
    PENALTIES,
    assert_equal_bits,
    assert_finite,
    documented_warnings,
    fitted,
    forms_of,
    matrices,
    some_of,
)
from scipy.cluster.hierarchy import is_valid_linkage
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from comanifold import CoManifold

CO_MANIFOLD = {
    "n_components": st.integers(1, 4),
    "n_neighbors": NEIGHBORS,
    "penalty": PENALTIES,
    "start_scale": st.one_of(
        st.integers(-20, 20), st.tuples(st.integers(-9, 9), st.integers(-9, 9))
    ),
    "alpha": st.floats(-10, 10),
    "n_passes": st.integers(1, 3),
    "continuation": st.booleans(),
    "bandwidth": BANDWIDTHS,
    "distances": st.sampled_from(["dense", "sparse"]),
    "keep_scales": st.booleans(),
    "metric": st.sampled_from(["multi-scale", "tree"]),
    "first_graphs": st.sampled_from(["completed", "masked"]),
    "traversal": st.sampled_from(["symmetric", "paper"]),
    "tol": st.floats(1e-6, 0.5),
    "max_iter": st.integers(1, 1000),
}


def look_at_scales(model, X):
    if not model.keep_scales and hasattr(model, "scales_"):
        with pytest.raises(ValueError, match="keep_scales=True"):
            model.row_labels_at(0, 0)
        assert not hasattr(model, "row_linkage_")
        return
    scale = scales_of(model)[-1] if hasattr(model, "scales_") else None
    place = (0, 0) if scale is None else (scale.l, scale.k)
    labels = model.row_labels_at(*place), model.column_labels_at(*place)
    assert [labels[i].max() + 1 for i in (0, 1)] == [scale.n_row_clusters, scale.n_column_clusters]
    for name in ("estimate_at", "filled_at"):
        known = np.ix_(labels[0] >= 0, labels[1] >= 0)
        assert np.isfinite(getattr(model, name)(*place)[known]).all()
    for mode, size in zip(("row", "column"), X.shape, strict=True):
        tree = getattr(model, f"{mode}_linkage_")
        assert is_valid_linkage(tree)
        assert len(tree) == size - 1


def place_rows(model, X):
    new = np.concatenate([X, X[:1] * 0.5, X[:1] * 3.0])
    placed = model.transform(new)
    known = ~np.isnan(model.row_embedding_).any(axis=1)
    np.testing.assert_array_equal(np.isfinite(placed[: len(X)]).all(axis=1), known)
    assert np.isfinite(placed[len(X) :]).all() == known[0]


def place_columns(model, X):
    new = np.concatenate([X, X[:, :1] * 0.5, X[:, :1] * 3.0], axis=1)
    placed = model.transform_columns(new)
    known = ~np.isnan(model.column_embedding_).any(axis=1)
    np.testing.assert_array_equal(np.isfinite(placed[: X.shape[1]]).all(axis=1), known)
    assert np.isfinite(placed[X.shape[1] :]).all() == known[0]


def save_and_load(model, _):
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        assert_equal_bits(CoManifold.load(Path(folder) / "model"), model)


def pickle_it(model, _):
    check_is_fitted(model)
    assert_equal_bits(pickle.loads(pickle.dumps(model)), model)


def name_features(model, _):
    assert len(model.get_feature_names_out()) == model.n_components


CALLS = {
    "fit": None,
    "look at scales": look_at_scales,
    "place rows": place_rows,
    "place columns": place_columns,
    "save and load": save_and_load,
    "pickle": pickle_it,
    "name features": name_features,
}


# What has NaN in the places of rows and columns without an observed entry.
MAY_BE_LOST = {
    f"{mode}_{name}_"
    for mode, name in itertools.product(
        ("row", "column"), ("embedding", "distances", "affinity", "confidence")
    )
} | {"filled_", "filled_std_"}


def assert_all_but_lost_are_finite(model, X):
    rows, columns = ~np.isnan(X).all(axis=1), ~np.isnan(X).all(axis=0)
    for mode, known in (("row", rows), ("column", columns)):
        coordinates = getattr(model, f"{mode}_embedding_")
        assert coordinates.shape == (len(known), model.n_components)
        np.testing.assert_array_equal(np.isfinite(coordinates).all(axis=1), known)
        order = getattr(model, f"{mode}_order_")
        np.testing.assert_array_equal(np.sort(order), np.arange(len(known)))
        for name in ("distances", "affinity"):
            matrix = getattr(model, f"{mode}_{name}_")
            matrix = matrix.toarray() if hasattr(matrix, "toarray") else matrix
            assert np.isfinite(matrix[np.ix_(known, known)]).all(), name
    inside = model.filled_[np.ix_(rows, columns)]
    assert np.isfinite(inside).all()
    if not len(model.completions_["weight"]):  # a matrix of low rank may go beyond the data
        low, high = np.nanmin(X), np.nanmax(X)
        slack = 1e-6 * (high - low) + 1e-9 * max(abs(high), abs(low))
        assert low - slack <= inside.min() <= inside.max() <= high + slack
    all_known = rows.all() and columns.all()
    without_errors = set() if len(model.held_out_["value"]) else {"filled_std_"}
    # The ridge of a completion may be infinite.
    but = {"_X", "completions_"} | without_errors
    assert_finite(model, but=but if all_known else but | MAY_BE_LOST)


@given(X=matrices(), parameters=some_of(CO_MANIFOLD), data=st.data())
def test_every_matrix_has_a_finite_result_or_a_reason(X, parameters, data):
    given_as = data.draw(st.sampled_from(forms_of(X)))
    before = pickle.dumps(given_as)
    model = fitted(CoManifold(**parameters), given_as)
    assert pickle.dumps(given_as) == before
    if model is not None:
        read = np.ma.filled(np.ma.asarray(given_as).astype(float), np.nan)
        assert_all_but_lost_are_finite(model, read)


@given(X=matrices(4, 8), parameters=some_of(CO_MANIFOLD), other=matrices(4, 8))
def test_fitting_again_leaves_the_same_bits(X, parameters, other):
    model = fitted(CoManifold(**parameters), X)
    if model is None:
        return
    again = clone(model)
    fitted(again, other)  # what is left of it, also of an error, must not matter
    assert fitted(again, X) is again
    assert_equal_bits(model, again)


@given(
    X=matrices(4, 8),
    parameters=some_of(CO_MANIFOLD),
    calls=st.lists(st.sampled_from(sorted(CALLS)), max_size=6),
)
def test_calls_in_any_order(X, parameters, calls):
    model = CoManifold(**parameters)
    is_fitted = False
    for name in calls:
        if name == "fit":
            is_fitted = fitted(model, X) is not None
            if not is_fitted:
                return
        elif is_fitted:
            with documented_warnings():
                CALLS[name](model, X)
        else:
            with pytest.raises(NotFittedError):
                CALLS[name](model, X)
