"""`compare`: how well methods fill in a matrix, and find neighbours in it, side by side."""

import math
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from ._comparison_text import as_dict, conclusions, table_lines
from ._validation import check_count, check_matrix
from .model_selection import (
    HeldOut,
    fill_with_knn,
    fill_with_means,
    fill_with_soft_impute,
    hold_out,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .co_manifold import CoManifold

__all__ = ["Comparison", "ComparisonProgress", "compare"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

OURS = "comanifold"
UMAP = "SoftImpute, UMAP"

# What is measured of each method: the name in the table, and whether less of it is better.
MEASURES = {"error": True, "row_agreement": False, "column_agreement": False}

# The entries to hold out are drawn with this seed: not a usual one, with which users may have
# removed just these entries.
_SEED = 2_718_459_013

# The fewest entries that are held out each time.
_FEWEST_HELD_OUT = 20

# A method that is expected to take longer in all is left out, unless it is asked for.
_MAX_SECONDS = 600.0

# Seconds of KNN for each pair of points and each coordinate, of SoftImpute for each entry and each
# point of the shorter side, and of UMAP for any matrix and each point.
_KNN, _SOFT_IMPUTE, _UMAP = 5e-9, 5e-9, (1.0, 4e-3)

# The default of UMAP.
_UMAP_NEIGHBORS = 15

# Distances that are sorted at the same time.
_AT_ONCE = 2**22


class ComparisonProgress(NamedTuple):
    """Progress of `compare`: which method runs, in which repeat, and how much of it is done."""

    method: str
    repeat: int
    n_repeats: int
    fraction: float


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`.

    Attributes
    ----------
    table : dict of ndarray
        Made for `pandas.DataFrame`: one line for each method, with its name, "method"; the means
        over the repeats, "error", "row_agreement" and "column_agreement"; their standard errors,
        with "_se" after the name; and the "seconds" that it took each time. NaN for what a method
        does not have. Ours comes first, then the others by their errors.
    repeats : dict of ndarray of shape (n_methods, n_repeats)
        What was measured in each repeat, by the names of the table.
    n_held_out : ndarray of int of shape (n_repeats,)
    n_neighbors : dict of int
        The numbers of neighbours of rows and of columns, by "row" and "column".
    fraction : float
        The part of the observed entries that was held out.
    skipped : dict of str
        Methods that were left out, and why.
    """

    table: dict[str, NDArray[Any]]
    repeats: dict[str, Array]
    n_held_out: NDArray[np.int_]
    n_neighbors: dict[str, int]
    fraction: float
    skipped: dict[str, str] = field(default_factory=dict)

    @property
    def n_repeats(self) -> int:
        """How often entries were held out."""
        return len(self.n_held_out)

    def noise(self, measure: str, first: str, second: str) -> float:
        """Return the difference of two methods below which it may be chance.

        Half the width of the 95% confidence interval of their mean difference over the repeats,
        in each of which both had the same entries.
        """
        methods = self.table["method"].tolist()
        one, other = (self.repeats[measure][methods.index(name)] for name in (first, second))
        quantile = float(stats.t.ppf(0.975, self.n_repeats - 1))
        return quantile * float(_standard_error(one - other, self.fraction))

    def conclusions(self) -> list[str]:
        """Return what the numbers say, in a sentence for filling in, for rows and for columns."""
        return conclusions(self)

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers and sentences as values that JSON can store; None for NaN."""
        return as_dict(self)

    def plot(self) -> "Figure":
        """Draw a bar for each method and measure, with the standard errors; return the figure."""
        from .plotting._comparison import draw_comparison

        return draw_comparison(self)

    def __str__(self) -> str:
        return "\n".join([*table_lines(self), "", *self.conclusions()])


def compare(
    X: ArrayLike,
    model: "CoManifold | None" = None,
    *,
    methods: Sequence[str] | None = None,
    n_repeats: int = 5,
    fraction: float = 0.1,
    n_neighbors: int = 10,
    random_state: Any = None,
    progress: Callable[[ComparisonProgress], None] | None = None,
) -> Comparison:
    r"""Compare ways to fill in a matrix, and to find neighbours in it, on its own entries.

    A tenth of the observed entries is held out, several times, and every method gets the same
    rest. The *error* is the root-mean-square error of the filled-in values on the held-out
    entries, in their standard deviations: 1 is that of their mean, 0 is perfect.

    The *agreement* of rows says whether the rows that a method takes as nearest are alike in what
    it has not seen: the correlation of the held-out entries :math:`x_{ic}` with the observed
    entries :math:`x_{jc}` of the neighbours :math:`j` of row :math:`i` in the same column,

    .. math:: \frac{\sum a b}{\sqrt{\sum a^2 \sum b^2}}, \qquad
              a = x_{ic} - \bar x_c, \quad b = x_{jc} - \bar x_c,

    with the mean :math:`\bar x_c` of the other entries of the column. It is 0 for neighbours by
    chance, whichever they are, and 1 if neighbours are equal, which noise in the entries prevents
    for every method. Columns alike, with the transpose. Neighbours are the nearest by the distances
    of `CoManifold`, by the Euclidean distance in the filled-in matrix, or, with UMAP, in the plane.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        NaN for missing entries. Rows and columns without any other are left out.
    model : CoManifold, optional
        The model to compare, fitted or not, by its parameters; by default `CoManifold()`.
    methods : sequence of str, optional
        Which other methods to compare with, by the names of the table. By default "SoftImpute",
        "KNN of rows", "KNN of columns", "row means", "column means" and, where umap-learn is
        installed, "SoftImpute, UMAP" (neighbours alone), without those that would take more than
        ten minutes.
    n_repeats : int, default=5
        How often entries are held out, at least twice.
    fraction : float, default=0.1
        The part of the observed entries that is held out.
    n_neighbors : int, default=10
        Neighbours of each row and each column, at most half of the others.
    random_state : int, RandomState or None, default=None
        Which entries are held out: None for the same in each call.
    progress : callable, optional
        Called with a `ComparisonProgress`.

    Returns
    -------
    comparison : Comparison
        Print it, or see `table`, `conclusions` and `plot`.

    Notes
    -----
    Held-out entries are like the observed ones. Where whether an entry is missing depends on its
    value, the errors on the missing ones may be larger, and the order of the methods another.

    Standard errors are those of Nadeau and Bengio (2003), which take into account that the repeats
    share most of their entries. They say how much depends on which entries were held out, and not
    how other data would turn out.

    Agreement is in the units of the matrix, like the distances of all methods: columns with large
    numbers count more, unless they are standardised before. It judges near neighbours alone; a map
    may be good at large distances and bad at small ones. Between rows that differ by an offset it
    is high for neighbours with the same offset.

    Examples
    --------
    >>> from comanifold import compare
    >>> from comanifold.datasets import make_checkerboard, remove_entries
    >>> board = make_checkerboard(60, 40, noise=0.5, random_state=0)
    >>> X = remove_entries(board.X, 0.4, random_state=0)
    >>> found = compare(X, methods=["SoftImpute", "row means"], n_repeats=3)
    >>> found.table["method"].tolist()
    ['comanifold', 'SoftImpute', 'row means']
    >>> bool(found.table["error"][0] < found.table["error"][1])
    True
    """
    from .co_manifold import CoManifold

    check_count("n_neighbors", n_neighbors)
    check_count("n_repeats", n_repeats)
    if n_repeats < 2:
        raise ValueError(
            f"n_repeats must be at least 2, to see differences by chance, got {n_repeats}"
        )
    X = _standardised(X)
    model = clone(CoManifold() if model is None else model)
    model.set_params(checkpoint=None, keep_scales=False)
    chosen, skipped = choose_methods(X.shape, methods, n_repeats=n_repeats)
    k = {
        mode: min(n_neighbors, (size - 1) // 2) for mode, size in zip(_MODES, X.shape, strict=True)
    }
    folds = _hold_out(X, n_repeats, fraction, random_state)
    names = [OURS, *chosen]
    repeats = {name: np.full((len(names), n_repeats), np.nan) for name in (*MEASURES, "seconds")}
    for repeat, held_out in enumerate(folds):
        known: dict[str, Array] = {}
        for place, name in enumerate(names):
            report = _Report(progress, name, repeat, n_repeats)
            started = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = _run(name, held_out.rest(), model, k, known, report)
            repeats["seconds"][place, repeat] = time.perf_counter() - started
            for measure, value in _measure(X, held_out, found).items():
                repeats[measure][place, repeat] = value
    order = _by_error(repeats["error"].mean(axis=1))
    return Comparison(
        _table(np.array(names), repeats, order, fraction),
        {name: values[order] for name, values in repeats.items()},
        np.array([len(held_out.values) for held_out in folds]),
        k,
        fraction,
        skipped,
    )


# Methods

_MODES = ("row", "column")


class Found(NamedTuple):
    """A filled-in matrix, None where a method has none, and the neighbours by mode."""

    filled: Array | None
    neighbors: dict[str, Indices]


class _Report:
    """Calls a callable with the progress of one method in one repeat."""

    def __init__(self, progress: Callable | None, *where: Any):
        self._progress, self._where = progress, where
        self(0.0)

    def __call__(self, fraction: float) -> None:
        if self._progress is not None:
            self._progress(ComparisonProgress(*self._where, fraction))


_FILL: dict[str, Callable[[Array], Array]] = {
    "SoftImpute": fill_with_soft_impute,
    "KNN of rows": fill_with_knn,
    "KNN of columns": lambda X: fill_with_knn(X.T).T,
    "row means": lambda X: fill_with_means(X, axis=1),
    "column means": lambda X: fill_with_means(X, axis=0),
}


def choose_methods(
    shape: tuple[int, int], wanted: Sequence[str] | None = None, *, n_repeats: int = 5
) -> tuple[list[str], dict[str, str]]:
    """Return the methods to compare with, and those that are left out with the reason."""
    every = [*_FILL, UMAP]
    if wanted is not None:
        unknown = [name for name in wanted if name not in every]
        if unknown or isinstance(wanted, str):
            raise ValueError(
                f"methods must be some of {', '.join(map(repr, every))}, got {wanted!r:.100}"
            )
        if UMAP in wanted and find_spec("umap") is None:
            raise ImportError(f"{UMAP!r} needs umap-learn: pip install 'comanifold[umap]'")
        return [name for name in every if name in wanted], {}
    skipped = {}
    for name in every:
        if name == UMAP and find_spec("umap") is None:
            skipped[name] = "umap-learn is not installed: pip install 'comanifold[umap]'"
        elif n_repeats * expected_seconds(name, shape) > _MAX_SECONDS:
            skipped[name] = "it would take more than ten minutes"
    return [name for name in every if name not in skipped], skipped


def expected_seconds(method: str, shape: tuple[int, int]) -> float:
    """Return about how long one of the other methods takes, once."""
    from ._fit.expected_time import speed_factor

    n_rows, n_columns = shape
    soft_impute = _SOFT_IMPUTE * n_rows * n_columns * min(shape)
    constant, point = _UMAP
    seconds = {
        "SoftImpute": soft_impute,
        "KNN of rows": _KNN * n_rows**2 * n_columns,
        "KNN of columns": _KNN * n_columns**2 * n_rows,
        UMAP: constant + point * sum(shape),  # the filled-in matrix is there
    }
    return speed_factor() * (seconds.get(method, 0.0) + 0.02)


def _run(
    name: str,
    X: Array,
    model: "CoManifold",
    k: dict[str, int],
    known: dict[str, Array],
    report: _Report,
) -> Found:
    """Return what a method finds in a matrix; `known` has what other methods have filled in."""
    if name == OURS:
        fitted = clone(model).fit(X, progress=lambda at: report(at.fraction))
        distances = {mode: getattr(fitted, f"{mode}_distances_") for mode in _MODES}
        return Found(fitted.filled_, {m: nearest(d, k[m]) for m, d in distances.items()})
    if name == UMAP:
        if "SoftImpute" not in known:
            known["SoftImpute"] = fill_with_soft_impute(X)
        filled = known["SoftImpute"]
        return Found(None, {m: _near_points(_in_plane(P), k[m]) for m, P in _by_mode(filled)})
    known[name] = filled = np.array(_FILL[name](X))
    # A method of means returns them for all entries.
    filled = np.where(np.isnan(X), filled, X)
    return Found(filled, {m: _near_points(P, k[m]) for m, P in _by_mode(filled)})


def _by_mode(filled: Array) -> Iterable[tuple[str, Array]]:
    return zip(_MODES, (filled, filled.T), strict=True)


def _in_plane(points: Array) -> Array:
    from ._embedding.layouts import run_umap

    n_near = min(_UMAP_NEIGHBORS, len(points) - 1)
    return run_umap(points, n_neighbors=n_near, n_components=2, random_state=0)


def _near_points(points: Array, k: int) -> Indices:
    """Return the k nearest other points of each."""
    return NearestNeighbors(n_neighbors=k).fit(points).kneighbors(return_distance=False)


def nearest(distances: Any, k: int) -> Indices:
    """Return the k nearest other points of each, by a matrix of distances; -1 for unknown ones.

    Of a sparse matrix, the pairs that it does not store are the farthest.
    """
    n = distances.shape[0]
    chosen = np.full((n, k), -1, dtype=np.intp)
    if sparse.issparse(distances):
        stored = sparse.csr_array(distances)
        for i in range(n):
            part = slice(stored.indptr[i], stored.indptr[i + 1])
            others = stored.indices[part] != i
            near = stored.indices[part][others][
                np.argsort(stored.data[part][others], kind="stable")[:k]
            ]
            chosen[i, : len(near)] = near
        return chosen
    n_at_once = max(_AT_ONCE // n, 1)
    for start in range(0, n, n_at_once):
        block = np.array(distances[start : start + n_at_once])
        places = np.arange(len(block))
        block[places, start + places] = np.inf
        chosen[start : start + n_at_once] = np.argsort(block, axis=1, kind="stable")[:, :k]
    return chosen


# Measures


def _standardised(X: ArrayLike) -> Array:
    """Validate a matrix; return its observed rows and columns with mean 0 and variance 1."""
    X = check_matrix(X)
    observed = ~np.isnan(X)
    X = X[observed.any(axis=1)][:, observed.any(axis=0)]
    if min(X.shape) < 3:
        raise ValueError(f"X must have at least 3 rows and 3 columns with entries, got {X.shape}")
    # First to at most 1, so that squares of tiny numbers are not 0.
    X = X / np.nanmax(np.abs(X), initial=1e-300)
    spread = np.nanstd(X)
    if not spread > 1e-12:
        raise ValueError("all observed entries of X are equal: there is nothing to compare")
    return (X - np.nanmean(X)) / spread


def _hold_out(X: Array, n_repeats: int, fraction: float, random_state: Any) -> list[HeldOut]:
    """Return the entries that are held out in each repeat."""
    if random_state is None:
        random_state = np.random.RandomState(np.random.PCG64(_SEED))
    random_state = check_random_state(random_state)
    folds = []
    for _ in range(n_repeats):
        held_out = hold_out(X, fraction, min_held_out=_FEWEST_HELD_OUT, random_state=random_state)
        if held_out is None or not held_out.values.std() > 0.0:
            raise ValueError(
                f"X has too few observed entries to hold out a part of {fraction:g}: at least "
                f"{_FEWEST_HELD_OUT} different ones are needed, and rows and columns keep 3 each"
            )
        folds.append(held_out)
    return folds


def _measure(X: Array, held_out: HeldOut, found: Found) -> dict[str, float]:
    """Return the measures of what a method has found without the held-out entries."""
    rows, columns = held_out.rows, held_out.columns
    measures = {
        "row_agreement": agreement(X, rows, columns, found.neighbors["row"]),
        "column_agreement": agreement(X.T, columns, rows, found.neighbors["column"]),
    }
    if found.filled is not None:
        measures["error"] = held_out.relative_error(found.filled[rows, columns])
    return measures


def agreement(X: Array, rows: Indices, columns: Indices, neighbors: Indices) -> float:
    """Return the correlation of some entries with those of neighbours in the same column.

    See `compare`. All entries have the same weight, whether many of their neighbours have an
    observed entry or few. NaN if there is none, or if there are no differences.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
    rows, columns : ndarray of int of shape (n_entries,)
        Entries of X.
    neighbors : ndarray of int of shape (n_rows, n_neighbors)
        -1 for none.
    """
    values, near = X[rows, columns], neighbors[rows]
    others = np.where(near < 0, np.nan, X[near, columns[:, None]])
    # The mean of the column without the entry itself, which would be on both sides.
    n_others = (~np.isnan(X)).sum(axis=0)[columns] - 1
    mean = (np.nansum(X, axis=0)[columns] - values) / np.maximum(n_others, 1)
    is_known = ~np.isnan(others)
    weights = is_known / np.maximum(is_known.sum(axis=1, keepdims=True), 1)
    a = (values - mean)[:, None]
    b = np.where(is_known, others - mean[:, None], 0.0)
    squares = float((weights * a**2).sum() * (weights * b**2).sum())
    return float((weights * a * b).sum()) / math.sqrt(squares) if squares > 0.0 else math.nan


def _standard_error(values: Array, fraction: float) -> Any:
    """Return the standard error of means over the last axis, corrected for shared entries."""
    n = values.shape[-1]
    return np.sqrt(1.0 / n + fraction / (1.0 - fraction)) * values.std(axis=-1, ddof=1)


def _by_error(errors: Array) -> Indices:
    """Return the order of the lines: ours, then by error, then methods without one."""
    return np.concatenate([[0], 1 + np.argsort(errors[1:], kind="stable")]).astype(np.intp)


def _table(
    names: NDArray[Any], repeats: dict[str, Array], order: Indices, fraction: float
) -> dict[str, NDArray[Any]]:
    table: dict[str, NDArray[Any]] = {"method": names[order]}
    for name in MEASURES:
        table[name] = repeats[name].mean(axis=1)[order]
        table[f"{name}_se"] = _standard_error(repeats[name], fraction)[order]
    table["seconds"] = repeats["seconds"].mean(axis=1)[order]
    return table
