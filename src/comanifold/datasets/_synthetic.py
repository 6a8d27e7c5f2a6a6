"""Synthetic matrices with known structure, and removal of their entries."""

import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.utils import Bunch, check_random_state

from .._validation import check_choice, check_matrix

Array = NDArray[np.float64]

# An entry as a function of the distance between the points of its row and column.
_FUNCTIONS = {
    "distance": lambda distance: distance,
    "elastic": lambda distance: distance**2,
    "coulomb": lambda distance: 1.0 / distance,
}

# The helix winds once around the sheet, at some distance: points on one side only would give
# little more than the position along the line of sight, and the same horseshoe for both modes.
_RADIUS, _HEIGHT = 3.0, 5.0
_LENGTH, _WIDTH, _BEND = 1.5, 1.25, 0.8

# Two clouds on either side of the sheet and one at its end: enough directions to locate points of
# the sheet. With a larger spread the distance to the sheet would outweigh the cloud.
_CLOUDS = ((-0.5, -6.0, 0.0), (-0.5, 6.0, 0.5), (-6.0, 0.0, -0.5))
_SPREAD = 0.4

# Draws of levels with too small distances before their variance is raised: otherwise many groups
# of few columns would hardly ever be far enough apart.
_MAX_DRAWS = 1000


def make_linkage(
    n_rows: int = 200,
    n_columns: int = 300,
    *,
    function: str = "distance",
    noise: float = 0.0,
    random_state: Any = None,
) -> Bunch:
    r"""Make the "linkage" data of the paper: a curve against a surface.

    :math:`X_{ij} = g(\| z_i - y_j \|)` with the points :math:`z_i` on a helix and :math:`y_j`
    on a bent sheet inside it.

    Parameters
    ----------
    n_rows, n_columns : int
        Points on the helix and on the sheet.
    function : {"distance", "elastic", "coulomb"}, default="distance"
        g: the distance itself, its square, or its inverse.
    noise : float, default=0.0
        Standard deviation of Gaussian noise, relative to that of the entries.
    random_state : int, RandomState or None

    Returns
    -------
    data : Bunch
        With X, row_points and column_points (in space), row_position of shape (n_rows, 1),
        from 0 to 1 along the helix, and column_position of shape (n_columns, 2), from 0 to 1
        along and across the sheet. Rows and columns are in random order.

    References
    ----------
    Mishne, Chi and Coifman (2019), Co-manifold learning with missing data, section 4. Coifman
    and Gavish (2011), Harmonic analysis of digital data bases.

    Examples
    --------
    >>> from comanifold.datasets import make_linkage
    >>> data = make_linkage(50, 40, random_state=0)
    >>> data.X.shape, data.row_points.shape, data.column_position.shape
    ((50, 40), (50, 3), (40, 2))
    """
    rng = check_random_state(random_state)
    position = _evenly(rng, n_rows, 1)
    angle = 2.0 * np.pi * position[:, 0]
    helix = np.column_stack(
        [_RADIUS * np.cos(angle), _RADIUS * np.sin(angle), _HEIGHT * (position[:, 0] - 0.5)]
    )
    return _linkage(rng, helix, n_columns, function, noise, row_position=position)


def make_linkage2(
    n_rows: int = 200,
    n_columns: int = 300,
    *,
    function: str = "distance",
    noise: float = 0.0,
    random_state: Any = None,
) -> Bunch:
    """Make the "linkage2" data of the paper: three clouds against a surface.

    As `make_linkage`, with the points of the rows in three Gaussian clouds around the sheet.

    Parameters
    ----------
    n_rows, n_columns : int
        Points in the clouds and on the sheet.
    function, noise, random_state
        As in `make_linkage`.

    Returns
    -------
    data : Bunch
        As that of `make_linkage`, with row_labels, the cloud of each row, in place of
        row_position.

    Examples
    --------
    >>> from comanifold.datasets import make_linkage2
    >>> data = make_linkage2(60, 40, random_state=0)
    >>> sorted(set(data.row_labels.tolist()))
    [0, 1, 2]
    """
    rng = check_random_state(random_state)
    labels = rng.randint(3, size=n_rows)
    centers = np.array(_CLOUDS)
    clouds = centers[labels] + _SPREAD * rng.normal(size=(n_rows, 3))
    return _linkage(rng, clouds, n_columns, function, noise, row_labels=labels)


def _linkage(
    rng: np.random.RandomState,
    row_points: Array,
    n_columns: int,
    function: str,
    noise: float,
    **truth: Array,
) -> Bunch:
    """Return the linkage of given points of the rows with points on the sheet."""
    check_choice("function", function, sorted(_FUNCTIONS))
    position = _evenly(rng, n_columns, 2)
    along, across = 2.0 * position.T - 1.0
    sheet = np.column_stack([_LENGTH * along, _WIDTH * across, _BEND * (along**2 - across**2)])
    X = _FUNCTIONS[function](cdist(row_points, sheet))
    X += noise * X.std() * rng.normal(size=X.shape)
    return Bunch(X=X, row_points=row_points, column_points=sheet, column_position=position, **truth)


def _evenly(rng: np.random.RandomState, n_points: int, n_dimensions: int) -> Array:
    """Return points spread evenly over the unit interval or square, in random order.

    A randomly shifted Kronecker sequence with steps g^-1, ..., g^-d, where g^(d + 1) = g + 1.
    """
    g = {1: 1.618033988749895, 2: 1.324717957244746}[n_dimensions]
    steps = g ** -np.arange(1.0, n_dimensions + 1.0)
    points = (rng.uniform(size=n_dimensions) + np.outer(np.arange(n_points), steps)) % 1.0
    return points[rng.permutation(n_points)]


def make_checkerboard(
    n_rows: int = 150,
    n_columns: int = 100,
    *,
    n_row_groups: int = 4,
    n_column_groups: int = 3,
    noise: float = 0.7,
    random_state: Any = None,
) -> Bunch:
    """Make groups of rows by groups of columns: one level for each pair, and noise.

    The levels of any two groups are at least 1 apart, as vectors.

    Parameters
    ----------
    n_rows, n_columns : int
    n_row_groups, n_column_groups : int
    noise : float, default=0.7
        Standard deviation of Gaussian noise.
    random_state : int, RandomState or None

    Returns
    -------
    data : Bunch
        With X, row_labels, column_labels and levels, of shape (n_row_groups, n_column_groups).

    Examples
    --------
    >>> from comanifold.datasets import make_checkerboard
    >>> make_checkerboard(20, 10, random_state=0).levels.shape
    (4, 3)
    """
    rng = check_random_state(random_state)
    rows = rng.randint(n_row_groups, size=n_rows)
    columns = rng.randint(n_column_groups, size=n_columns)
    levels = rng.normal(size=(n_row_groups, n_column_groups))
    n_draws = 0
    while min(_min_distance(levels), _min_distance(levels.T)) < 1.0:
        levels = 1.1 ** (1 + n_draws // _MAX_DRAWS) * rng.normal(size=levels.shape)
        n_draws += 1
    X = levels[np.ix_(rows, columns)] + noise * rng.normal(size=(n_rows, n_columns))
    return Bunch(X=X, row_labels=rows, column_labels=columns, levels=levels)


def make_clusters(
    n_rows: int = 200,
    n_columns: int = 100,
    *,
    n_groups: int = 5,
    rank: int = 3,
    noise: float = 0.7,
    random_state: Any = None,
) -> Bunch:
    """Make groups of rows around centres in a low-dimensional space, and noise.

    Parameters
    ----------
    n_rows, n_columns : int
    n_groups : int, default=5
    rank : int, default=3
        Dimensions of the space that the centres lie in. Their entries have variance one.
    noise : float, default=0.7
        Standard deviation of Gaussian noise.
    random_state : int, RandomState or None

    Returns
    -------
    data : Bunch
        With X and row_labels.

    Examples
    --------
    >>> from comanifold.datasets import make_clusters
    >>> make_clusters(20, 10, n_groups=2, random_state=0).X.shape
    (20, 10)
    """
    rng = check_random_state(random_state)
    groups = rng.randint(n_groups, size=n_rows)
    centres = rng.normal(size=(n_groups, rank)) @ rng.normal(size=(rank, n_columns))
    X = centres[groups] / np.sqrt(rank) + noise * rng.normal(size=(n_rows, n_columns))
    return Bunch(X=X, row_labels=groups)


def make_curve(
    n_rows: int = 200,
    n_columns: int = 150,
    *,
    smoothness: float = 0.15,
    noise: float = 0.1,
    random_state: Any = None,
) -> Bunch:
    """Make rows along a curve: columns are smooth random functions of one parameter, and noise.

    Parameters
    ----------
    n_rows, n_columns : int
    smoothness : float, default=0.15
        Correlation length of the functions, on a curve of length 1. They have variance one.
    noise : float, default=0.1
        Standard deviation of Gaussian noise.
    random_state : int, RandomState or None

    Returns
    -------
    data : Bunch
        With X and row_position of shape (n_rows, 1), from 0 to 1 along the curve.

    Examples
    --------
    >>> from comanifold.datasets import make_curve
    >>> make_curve(20, 10, random_state=0).row_position.shape
    (20, 1)
    """
    rng = check_random_state(random_state)
    t = rng.uniform(size=n_rows)
    covariance = np.exp(-0.5 * ((t[:, None] - t) / smoothness) ** 2) + 1e-8 * np.eye(n_rows)
    X = np.linalg.cholesky(covariance) @ rng.normal(size=(n_rows, n_columns))
    X += noise * rng.normal(size=X.shape)
    return Bunch(X=X, row_position=t[:, None])


def _min_distance(points: Array) -> float:
    """Return the smallest distance between two points."""
    distances = cdist(points, points)[np.triu_indices(len(points), 1)]
    return float(distances.min(initial=np.inf))


def remove_entries(
    X: ArrayLike,
    fraction: float,
    *,
    pattern: str = "random",
    allow_empty: bool = False,
    random_state: Any = None,
) -> Array:
    """Return a copy of X with a fraction of its observed entries replaced by NaN.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        May have missing entries already.
    fraction : float
        The fraction of observed entries to remove, from 0 to less than 1. Fewer are removed if
        rows or columns would become empty.
    pattern : {"random", "block", "rows", "value"}, default="random"
        "random": uniformly. "block": one rectangle, its sides in proportion to those of
        the matrix, of rows and columns chosen at random. "rows": some rows lose much more than
        others. "value": the larger an entry, the more often it is missing.
    allow_empty : bool, default=False
        Whether a row or column may lose all its entries.
    random_state : int, RandomState or None

    Examples
    --------
    >>> import numpy as np
    >>> from comanifold.datasets import remove_entries
    >>> X = remove_entries(np.ones((10, 8)), 0.25, random_state=0)
    >>> int(np.isnan(X).sum())
    20
    """
    X = check_matrix(X)
    if isinstance(fraction, bool) or not isinstance(fraction, numbers.Real):
        raise ValueError(f"fraction must be a number, got {fraction!r}")
    if not 0 <= fraction < 1:
        raise ValueError(f"fraction must be at least 0 and less than 1, got {fraction!r}")
    check_choice("pattern", pattern, sorted(_PRIORITIES))
    rng = check_random_state(random_state)
    observed = ~np.isnan(X)
    n_removed = round(fraction * observed.sum())
    # Entries of the highest priority are removed first.
    priority = _PRIORITIES[pattern](X, rng)
    order = np.argsort(-priority[observed], kind="stable")
    rows, columns = (index[order] for index in np.nonzero(observed))
    if not allow_empty:
        rows, columns = _keep_last(rows, columns)
    X[rows[:n_removed], columns[:n_removed]] = np.nan
    return X


def _random(X: Array, rng: np.random.RandomState) -> Array:
    """Return uniform priorities."""
    return rng.uniform(size=X.shape)


def _block(X: Array, rng: np.random.RandomState) -> Array:
    """Return priorities that fall with the distance from a corner, in the larger direction."""
    ranks = [rng.permutation(size) / size for size in X.shape]
    return -np.maximum(ranks[0][:, None], ranks[1])


def _rows(X: Array, rng: np.random.RandomState) -> Array:
    """Return priorities that vary between rows as much as within a row."""
    return rng.uniform(size=(len(X), 1)) + rng.uniform(size=X.shape)


def _value(X: Array, rng: np.random.RandomState) -> Array:
    """Return priorities that rise with the value."""
    ranks = np.argsort(np.argsort(np.where(np.isnan(X), -np.inf, X), axis=None)).reshape(X.shape)
    return ranks / X.size + rng.uniform(size=X.shape)


_PRIORITIES = {"random": _random, "block": _block, "rows": _rows, "value": _value}


def _keep_last(
    rows: NDArray[np.intp], columns: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the entries that can be removed in this order, one of each row and column kept."""
    left_in_row, left_in_column = np.bincount(rows), np.bincount(columns)
    removed = np.zeros(len(rows), dtype=bool)
    for e, (i, j) in enumerate(zip(rows, columns, strict=True)):
        if left_in_row[i] > 1 and left_in_column[j] > 1:
            left_in_row[i] -= 1
            left_in_column[j] -= 1
            removed[e] = True
    return rows[removed], columns[removed]
