"""DataFrames are read column by column, not as Python objects."""

import tracemalloc

import numpy as np
import pytest

from comanifold import CoManifold
from comanifold._validation import missing_to_nan

pd = pytest.importorskip("pandas")


def mixed(n_rows, n_columns):
    """Columns of every kind that holds numbers, and the numbers."""
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 2, size=(n_rows, n_columns)).astype(float)
    columns = {}
    for j, column in enumerate(numbers.T):
        kind = ("float64", "int32", "bool", "Int64", "boolean", "Float32", "float32", "object")[
            j % 8
        ]
        columns[f"c{j}"] = pd.Series(column).astype(kind)
        if j % 8 not in (1, 2):
            column[j % n_rows] = np.nan
            columns[f"c{j}"].iloc[j % n_rows] = None if kind == "object" else pd.NA
    return pd.DataFrame(columns), numbers


@pytest.mark.filterwarnings("ignore:Setting an item of incompatible dtype")
def test_every_kind_of_number_is_read():
    frame, numbers = mixed(12, 16)
    read = missing_to_nan(frame, None)
    np.testing.assert_array_equal(read.to_numpy(), numbers)
    assert list(read.columns) == list(frame.columns)
    sparse = pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 1.0]), "b": [1, 2]})
    np.testing.assert_array_equal(missing_to_nan(sparse, None), [[0, 1], [1, 2]])
    twice = pd.DataFrame([[1, 2.0], [3, np.nan]], columns=["a", "a"])
    np.testing.assert_array_equal(missing_to_nan(twice, None), [[1, 2], [3, np.nan]])


@pytest.mark.parametrize("kind", ["float64", "Float64", "Int64"])
def test_a_frame_takes_no_more_than_three_times_its_numbers(kind):
    rng = np.random.default_rng(0)
    values = np.round(10 * rng.normal(size=(10_000, 100)))
    values[rng.random(values.shape) < 0.1] = np.nan
    frame = pd.DataFrame(values, columns=[f"c{j}" for j in range(100)]).astype(kind)
    tracemalloc.start()
    read = missing_to_nan(frame, None).to_numpy()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(read, values)
    assert peak < 3 * values.nbytes


@pytest.mark.parametrize(
    "column",
    [
        ["one", "two", None],
        [1j, 2j, None],
        pd.to_datetime(["2020-01-01", "2020-01-02", None]),
        pd.Categorical(["p", "q", None]),
        pd.array(["p", "q", None], dtype="string"),
    ],
)
def test_what_is_no_number_is_refused(column):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": column, "c": [1, 2, 3]})
    with pytest.raises((ValueError, TypeError)):
        CoManifold().fit(frame)
    with pytest.raises((ValueError, TypeError)):
        CoManifold().fit(frame.iloc[:2])


def test_a_fit_leaves_the_frame_as_it_was():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(20, 12))
    values[rng.random(values.shape) < 0.2] = np.nan
    frame = pd.DataFrame(values.copy(), columns=[f"c{j}" for j in range(12)])
    model = CoManifold().fit(frame)
    np.testing.assert_array_equal(frame, values)
    np.testing.assert_array_equal(model.filled_[~np.isnan(values)], values[~np.isnan(values)])
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame.rename(columns={"c0": "other"}))
