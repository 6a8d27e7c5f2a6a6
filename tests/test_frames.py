"""Data frames of polars and tables of pyarrow, in and out."""

import subprocess
import sys

import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline

from comanifold import CoCluster, CoManifold, DiffusionMap, masked_distances
from comanifold.baselines import SoftImpute
from comanifold.datasets import make_checkerboard, remove_entries
from comanifold.preprocessing import Preprocessor

NAMES = [f"gene {j}" for j in range(18)]


@pytest.fixture(scope="module")
def X():
    X = make_checkerboard(24, 18, noise=0.4, random_state=0).X
    X[:, 0] = np.round(X[:, 0])
    X[:, 1] = X[:, 1] > 0
    return remove_entries(X, 0.3, random_state=0)


def of_polars(X, names=NAMES):
    """A polars frame with a column of integers, one of truth values, one of single precision."""
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({name: X[:, j] for j, name in enumerate(names)}).fill_nan(None)
    kinds = {names[0]: pl.Int64, names[1]: pl.Boolean}
    return frame.cast({name: kind for name, kind in kinds.items() if name in frame.columns})


def of_arrow(X, names=NAMES):
    pa = pytest.importorskip("pyarrow")
    columns = [pa.array(column, mask=np.isnan(column)) for column in X.T]
    columns[0] = columns[0].cast(pa.int16())
    columns[1] = columns[1].cast(pa.int8()).cast(pa.bool_())
    return pa.table(columns, names=names)


def of_batch(X, names=NAMES):
    return of_arrow(X, names).to_batches()[0]


FORMS = [of_polars, of_arrow, of_batch]


@pytest.fixture(params=FORMS)
def frame(request, X):
    return request.param(X)


def test_a_fit_to_a_frame_is_that_to_the_array(frame, X):
    model, plain = CoManifold().fit(frame), CoManifold().fit(X)
    np.testing.assert_array_equal(model.data_, X)
    np.testing.assert_array_equal(model.row_embedding_, plain.row_embedding_)
    assert list(model.feature_names_in_) == NAMES
    assert not hasattr(model, "row_names_in_")
    np.testing.assert_array_equal(model.transform(frame), plain.row_embedding_)
    assert model.score(frame, random_state=0) == plain.score(X, random_state=0)


@pytest.mark.parametrize("form", FORMS)
def test_names_of_columns_are_checked(form, X):
    model = CoManifold().fit(form(X))
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(form(X, NAMES[::-1]))
    with pytest.raises(ValueError, match="now missing:\n- gene 17"):
        model.transform(form(X[:, :17], NAMES[:17]))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("container", ["pandas", "polars", "default"])
def test_both_modes_come_in_the_container_that_is_set(form, container, X):
    if container != "default":
        pytest.importorskip(container)
    frame = form(X)
    model = CoManifold().set_output(transform=container)
    plain = CoManifold().fit(X)
    placed = {
        "rows": (model.fit_transform(frame), plain.row_embedding_),
        "new rows": (model.transform(frame), plain.row_embedding_),
        "columns": (model.transform_columns(frame), plain.column_embedding_),
    }
    with sklearn.config_context(transform_output=container):
        again = CoManifold().fit(frame)
        placed["configured"] = again.transform_columns(frame), plain.column_embedding_
    for found, expected in placed.values():
        np.testing.assert_array_equal(np.asarray(found), expected)
        if container == "default":
            assert type(found) is np.ndarray
        else:
            assert type(found).__module__.split(".")[0] == container
            assert list(found.columns) == ["comanifold0", "comanifold1"]
    if container == "pandas":
        assert list(placed["columns"][0].index) == NAMES


def test_other_estimators_and_functions_take_frames(frame, X):
    np.testing.assert_array_equal(masked_distances(frame), masked_distances(X))
    np.testing.assert_array_equal(CoCluster().fit(frame).filled_, CoCluster().fit(X).filled_)
    np.testing.assert_array_equal(
        DiffusionMap().fit_transform(frame), DiffusionMap().fit_transform(X)
    )
    np.testing.assert_array_equal(SoftImpute().fit_transform(frame), SoftImpute().fit_transform(X))
    both = make_pipeline(Preprocessor(standardize=True), CoManifold())
    np.testing.assert_array_equal(both.fit_transform(frame), both.fit_transform(X))


@pytest.mark.parametrize("form", FORMS)
def test_text_is_refused_by_its_column_even_if_it_looks_like_numbers(form, X):
    pa, pl = pytest.importorskip("pyarrow"), sys.modules.get("polars")
    text = [str(i) for i in range(24)]
    frame = form(X)
    if form is of_polars:
        frame = frame.with_columns(pl.Series("labels", text))
    else:
        frame = frame.append_column("labels", pa.array(text))
    with pytest.raises(
        ValueError, match=r"X must hold numbers, got .* in column 'labels'.*set_names"
    ):
        CoManifold().fit(frame)
    with pytest.raises(ValueError, match="in column 'labels'"):
        masked_distances(frame)


def test_a_lazy_frame_is_to_be_collected(X):
    frame = of_polars(X).lazy()
    for fit in (CoManifold().fit, CoCluster().fit, masked_distances):
        with pytest.raises(ValueError, match=r"X is a polars LazyFrame: pass X.collect\(\)"):
            fit(frame)


def test_decimals_large_integers_and_empty_columns():
    pa = pytest.importorskip("pyarrow")
    from decimal import Decimal

    values = [Decimal("1.5"), None, Decimal("-2.25")]
    table = pa.table(
        {
            "decimal": pa.array(values, pa.decimal128(8, 3)),
            "large": pa.array([2**60 + 1, None, -3]),
            "null": pa.nulls(3),
            "nan": pa.array([1.0, float("nan"), None]),
        }
    )
    from comanifold._frames import frame_to_floats

    expected = [[1.5, 2.0**60, np.nan, 1.0], [np.nan] * 4, [-2.25, -3.0, np.nan, np.nan]]
    np.testing.assert_array_equal(frame_to_floats(table, "X"), expected)
    pl = pytest.importorskip("polars")
    np.testing.assert_array_equal(frame_to_floats(pl.from_arrow(table), "X"), expected)


def test_polars_is_not_imported_for_arrays():
    code = (
        "import sys, numpy as np; from comanifold import CoManifold; "
        "CoManifold().fit(np.random.default_rng(0).normal(size=(8, 6))); "
        "print('polars' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
