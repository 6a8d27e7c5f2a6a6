"""Difficult matrices and parameters, and the results that are allowed for them."""

import re
import warnings
from contextlib import contextmanager

import numpy as np
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from comanifold.penalties import MCP, Snowflake

# Documented warnings; any other, such as a division by zero, is a failure.
DOCUMENTED = (
    (ConvergenceWarning, ""),
    (UserWarning, r".*with no observed entry get no coordinates"),
    (UserWarning, r"the affinities fall into \d+ connected components"),
    (UserWarning, r"the entry .* in row .* times as far from the median"),
    (UserWarning, r"the largest entries are .* times as far from the median"),
)


@contextmanager
def documented_warnings():
    with warnings.catch_warnings():
        for category, message in DOCUMENTED:
            warnings.filterwarnings("ignore", message, category)
        yield


@st.composite
def matrices(draw, smallest=1, largest=12):
    """Draw a matrix of one magnitude or many, with equal rows, outliers and missing entries."""
    shape = draw(st.integers(smallest, largest)), draw(st.integers(smallest, largest))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = _VALUES[draw(st.sampled_from(sorted(_VALUES)))](rng, shape)
    X *= 10.0 ** draw(st.one_of(st.just(0), st.integers(-8, 8), st.integers(-200, 200)))
    for change in draw(st.lists(st.sampled_from(_CHANGES), max_size=3)):
        change(X, rng)
    if np.isfinite(X).all():
        X += draw(st.sampled_from([0.0, 1.0, -1e6, 1e15])) * np.ptp(X)
    for gap in draw(st.lists(st.sampled_from(_GAPS), max_size=2)):
        gap(X, rng)
    return X


def _low_rank(rng, shape):
    return rng.normal(size=(shape[0], 2)) @ rng.normal(size=(2, shape[1]))


_VALUES = {
    "noise": lambda rng, shape: rng.normal(size=shape),
    "low rank": _low_rank,
    "ratings": lambda rng, shape: rng.integers(1, 4, size=shape).astype(float),
    "zeros and ones": lambda rng, shape: (rng.random(shape) < 0.3).astype(float),
    "constant": lambda rng, shape: np.full(shape, rng.normal()),
    "many sizes": lambda rng, shape: rng.normal(size=shape) * 10.0 ** rng.uniform(-9, 9, shape),
    "zeros": lambda _, shape: np.zeros(shape),
}


def _some(rng, size):
    return rng.random(size) < rng.choice([0.2, 0.6])


def _equal_rows(X, rng):
    X[_some(rng, len(X))] = X[0]


def _equal_columns(X, rng):
    X[:, _some(rng, X.shape[1])] = X[:, :1]


def _constant_rows(X, rng):
    X[_some(rng, len(X))] = X.flat[0]


def _outlier(X, rng):
    X[rng.integers(len(X)), rng.integers(X.shape[1])] *= 10.0 ** rng.integers(1, 16)


_CHANGES = [_equal_rows, _equal_columns, _constant_rows, _outlier]


def _scattered(X, rng):
    X[rng.random(X.shape) < rng.choice([0.1, 0.4, 0.7, 0.95])] = np.nan


def _whole_rows(X, rng):
    X[_some(rng, len(X))] = np.nan


def _whole_columns(X, rng):
    X[:, _some(rng, X.shape[1])] = np.nan


def _block(X, _):
    X[: len(X) // 2, : X.shape[1] // 2] = np.nan


def _two_blocks_apart(X, _):
    X[: len(X) // 2, : X.shape[1] // 2] = X[len(X) // 2 :, X.shape[1] // 2 :] = np.nan


def _all_but_one(X, rng):
    value = X.flat[at := rng.integers(X.size)]
    X[:] = np.nan
    X.flat[at] = value


_GAPS = [_scattered, _whole_rows, _whole_columns, _block, _two_blocks_apart, _all_but_one]


def forms_of(X):
    """Return the same matrix in all input formats."""
    forms = [
        X,
        np.asfortranarray(X),
        X.tolist(),
        np.ma.masked_invalid(X),
        np.where(np.isnan(X), None, X),
    ]
    if np.abs(np.nan_to_num(X)).max(initial=0.0) < 1e30:
        forms.append(X.astype(np.float32))
    if not np.isnan(X).any() and np.abs(X).max(initial=0.0) < 1e15:
        forms.append(X.astype(np.int64))
    return forms


PENALTIES = st.sampled_from(["snowflake", "linear", "log", "mcp", Snowflake(0.1), MCP(0.01)])
NEIGHBORS = st.one_of(st.integers(1, 15), st.tuples(st.integers(1, 9), st.integers(1, 9)))
BANDWIDTHS = st.one_of(
    st.sampled_from(["auto", "local", "median"]),
    st.tuples(st.just("local"), st.integers(1, 20)),
    st.floats(1e-200, 1e200),
)


def some_of(parameters):
    """Draw some of the parameters; the others have their defaults."""
    return st.fixed_dictionaries({}, optional=parameters)


def result_or_reason(call, names=()):
    """Return the result of a call, or None if its error names X, an array or a parameter."""
    try:
        with documented_warnings():
            return call()
    except ValueError as error:
        message = str(error)
    assert any(re.search(rf"\b{name}\b", message) for name in ("X", "array", *names)), message
    return None


def fitted(model, X):
    return result_or_reason(lambda: model.fit(X), model.get_params())


def numbers_of(result):
    """Yield the path and the value of all floating-point arrays and numbers of an object."""
    pending = [("", result)]
    while pending:
        where, value = pending.pop()
        if sparse.issparse(value):
            yield where, value.data
        elif isinstance(value, (float, np.floating, np.ndarray)):
            if np.asarray(value).dtype.kind == "f":
                yield where, np.asarray(value)
        elif isinstance(value, dict):
            pending += [(f"{where}[{key}]", part) for key, part in value.items()]
        elif isinstance(value, (list, tuple)):
            pending += [(f"{where}[{i}]", part) for i, part in enumerate(value)]
        elif type(value).__module__.startswith("comanifold"):
            pending += [(f"{where}.{key}", part) for key, part in vars(value).items()]


def assert_equal_bits(one, other):
    """Assert that all numbers of two results are equal, NaN included."""
    mine, yours = (dict(numbers_of(result)) for result in (one, other))
    assert mine.keys() == yours.keys()
    for where, value in mine.items():
        if "seconds" not in where:
            np.testing.assert_array_equal(value, yours[where], err_msg=where)


def assert_finite(model, but):
    """Assert that all numbers are finite, except in the attributes `but`."""
    but = {*but, "data_", "_state"}  # with the missing entries; the rest of it is public
    own = {name: value for name, value in vars(model).items() if name not in but}
    for where, value in numbers_of(own):
        assert np.isfinite(value).all(), where
