"""Matrices that are quick to fit, changes of them, and what makes two fits the same."""

from types import SimpleNamespace

import numpy as np


def holes(n_rows=30, n_columns=20, *, seed=0, missing=0.4):
    """A smooth wave with some noise and entries missing."""
    rng = np.random.default_rng(seed)
    X = np.cos(np.linspace(0, 3, n_rows)[:, None] - np.linspace(0, 3, n_columns))
    X += 0.1 * rng.normal(size=X.shape)
    X[rng.random(X.shape) < missing] = np.nan
    return X


def random_matrix(seed, n_rows=None, n_columns=None, missing=0.4):
    """Groups of rows, smooth columns and noise, every row and column observed somewhere."""
    rng = np.random.default_rng(seed)
    n_rows = n_rows or rng.integers(6, 15)
    n_columns = n_columns or rng.integers(6, 15)
    levels = rng.normal(size=(3, 1 + n_columns))
    X = levels[rng.integers(3, size=n_rows)][:, rng.integers(n_columns // 2, size=n_columns)]
    X = X + 0.3 * rng.normal(size=X.shape)
    X[rng.random(X.shape) < missing] = np.nan
    X[np.arange(n_rows), rng.integers(n_columns, size=n_rows)] = rng.normal(size=n_rows)
    X[rng.integers(n_rows, size=n_columns), np.arange(n_columns)] = rng.normal(size=n_columns)
    return X


def incomplete(seed, shape, fraction=0.5):
    """Noise with entries missing in all columns but the first."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape)
    X[rng.random(shape) < fraction] = np.nan
    X[:, 0] = rng.normal(size=shape[0])
    return X


def random_blocks(rng, shape):
    """Values and labels of an estimate that is constant on blocks."""
    n_blocks = rng.integers(1, shape[0] + 1), rng.integers(1, shape[1] + 1)
    labels = [rng.integers(n, size=size) for n, size in zip(n_blocks, shape, strict=True)]
    return rng.normal(size=n_blocks), *labels


def shift_and_scale(X, rng):
    """Another matrix, which rows and columns of X it has, and what distances are multiplied by."""
    a, b = rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-6, 6), rng.normal() * 100.0
    return a * X + a * b, np.arange(X.shape[0]), np.arange(X.shape[1]), abs(a)


def permute(X, rng):
    """The same for another order."""
    rows, columns = rng.permutation(X.shape[0]), rng.permutation(X.shape[1])
    return X[rows][:, columns], rows, columns, 1.0


def assert_same_fit(model, other):
    """Bit for bit."""
    for name in ("row_distances_", "column_distances_", "filled_", "row_embedding_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(other, name))
    for mine, yours in zip(scales_of(model), scales_of(other), strict=True):
        assert (mine.l, mine.k, mine.objective, mine.weight) == (
            yours.l,
            yours.k,
            yours.objective,
            yours.weight,
        )


def scales_of(model):
    """The scales of a fitted model as records, in the order of `scales_`."""
    columns = model.scales_
    return [
        SimpleNamespace(**dict(zip(columns, row, strict=True)))
        for row in zip(*(column.tolist() for column in columns.values()), strict=True)
    ]
