"""The smallest pieces of work of each experiment: each gives one tidy table."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.impute import KNNImputer
from sklearn.utils import Bunch

from .. import CoManifold, DiffusionMap
from ..baselines import FilledDiffusionMap, SoftImpute, choose_imputer
from ._cases import GROUPED, Case, complete, make_case
from ._methods import METHODS, OURS, PAPER
from ._scores import (
    distance_correlation,
    geodesic_correlation,
    neighbours_kept,
    rand_index,
    separation,
)

Array = NDArray[np.float64]

# The scales at which the paper shows filled-in matrices: l of the rows, k of the columns.
SHOWN_SCALES = {
    "linkage": ((-3, -2), (1, 0), (5, 2)),
    "linkage2": ((-4, -3), (-1, 1), (5, -3)),
    "lung500": ((-3, -3), (-2, 2), (-1, 4)),
}
# The numbers of coordinates that k-means is given: that of the pictures, and one more where it
# costs nothing.
_COORDINATES = (2, 3)

# In our units (entries of variance one) all of these are on the surface that starts here.
_FIRST_SHOWN = (-5, -5)

# The two subjects of lung500 whose distance Figure 1 takes apart.
_PAIR = ("Normal", "Colon")


def clustering(data_set: str, percent: int, realization: int, method: str) -> pd.DataFrame:
    """Adjusted Rand index of k-means on the embedding of the mode that has groups."""
    case = make_case(data_set, percent / 100, realization)
    mode, _ = GROUPED[data_set]
    tried = _COORDINATES if METHODS[method].is_nested else _COORDINATES[:1]
    points, seconds = _timed(METHODS[method].embed, case.X, [mode], tried[-1], case.seed)
    rows = []
    for n_components in tried:
        score = rand_index(points[mode][:, :n_components], case.labels)
        rows.append(
            {
                **case.tags(),
                "method": method,
                "n_components": n_components,
                "ari": score,
                "seconds": seconds,
            }
        )
    return pd.DataFrame(rows)


def geometry(data_set: str, percent: int, realization: int, method: str) -> pd.DataFrame:
    """How the embeddings of both modes compare with the points that the data were made from."""
    case = make_case(data_set, percent / 100, realization)
    modes = ["column"] if data_set == "lung500" else ["row", "column"]
    points = METHODS[method].embed(case.X, modes, 2, case.seed)
    rows = []
    for mode in modes:
        whole = DiffusionMap(10).fit_transform(case.data.X if mode == "row" else case.data.X.T)
        for name, value in _geometry_scores(case, mode, points[mode], whole):
            known = {"method": method, "mode": mode, "metric": name, "value": value}
            rows.append({**case.tags(), **known})
    return pd.DataFrame(rows)


def _geometry_scores(
    case: Case, mode: str, points: Array, whole: Array
) -> Iterator[tuple[str, float]]:
    yield "diffusion distances", distance_correlation(points, whole)
    if case.data_set == "lung500":
        normal = int(np.flatnonzero(case.data.label_names == "Normal")[0])
        yield "silhouette of Normal", separation(points, case.labels, normal)
        return
    truth = case.data[f"{mode}_points"]
    yield "trustworthiness", neighbours_kept(points, truth)
    if f"{mode}_position" in case.data:  # clouds have no geodesics
        yield "geodesic distances", geodesic_correlation(points, truth)


def filling(data_set: str, percent: int, realization: int, method: str) -> pd.DataFrame:
    """Error of the filled-in entries, in standard deviations of the observed ones."""
    case = make_case(data_set, percent / 100, realization)
    filled, seconds = _timed(FILLING[method], case.X)
    error = np.sqrt(np.mean((filled - case.data.X)[case.missing] ** 2)) / np.nanstd(case.X)
    return pd.DataFrame([{**case.tags(), "method": method, "error": error, "seconds": seconds}])


def _fill_narrow(X: Array) -> Array:
    """Regress each column on the others, or each row where there are fewer of them."""
    return _fill(X) if X.shape[1] <= X.shape[0] else _fill(X.T).T


def _fill(X: Array) -> Array:
    return choose_imputer("iterative", X.shape[1]).fit_transform(X)


def _knn(X: Array) -> Array:
    return KNNImputer(keep_empty_features=True).fit_transform(X)


FILLING: dict[str, Callable[[Array], Array]] = {
    OURS: lambda X: CoManifold().fit(X).filled_,
    PAPER: lambda X: CoManifold.as_in_the_paper().fit(X).filled_,
    "mean": lambda X: FilledDiffusionMap("mean").fit(X).filled_,
    "knn-rows": _knn,
    "knn-columns": lambda X: _knn(X.T).T,
    "soft": lambda X: SoftImpute().fit_transform(X),
    "iterative": _fill_narrow,
}


def embedding(data_set: str, percent: int, method: str) -> pd.DataFrame:
    """The points of both modes, with what is known of each."""
    case = make_case(data_set, percent / 100, 0)
    points = METHODS[method].embed(case.X, ["row", "column"], 2, case.seed)
    return pd.concat(
        [
            pd.DataFrame(
                {
                    **case.tags(),
                    "method": method,
                    "mode": mode,
                    "index": np.arange(len(embedded)),
                    "first": embedded[:, 0],
                    "second": embedded[:, 1],
                    **_known(case.data, mode),
                }
            )
            for mode, embedded in points.items()
        ],
        ignore_index=True,
    )


def _known(data: Bunch, mode: str) -> dict[str, Any]:
    """Group, position and place in space of the points of a mode, as far as they are known."""
    known: dict[str, Any] = {}
    if f"{mode}_labels" in data:
        labels = data[f"{mode}_labels"]
        known["label"] = data.label_names[labels] if "label_names" in data else labels
    if f"{mode}_position" in data:
        for number, values in enumerate(data[f"{mode}_position"].T, start=1):
            known[f"position_{number}"] = values
    if not known:  # where it would be if nothing were missing
        whole = DiffusionMap(1).fit_transform(data.X if mode == "row" else data.X.T)
        known["position_1"] = whole[:, 0]
    return known


def points(data_set: str) -> pd.DataFrame:
    """The points in space that linkage data are made from."""
    data = complete(data_set)
    frames = []
    for mode in ("row", "column"):
        frame = pd.DataFrame(data[f"{mode}_points"], columns=["x", "y", "z"])
        frame.insert(0, "mode", mode)
        frames.append(frame.assign(**_known(data, mode)))
    return pd.concat(frames, ignore_index=True).assign(data_set=data_set)


def matrices(data_set: str, percent: int) -> pd.DataFrame:
    """The matrix: complete, as given, and filled in at three scales; one line for each row.

    "given" is in no order, "complete" in that of the points it was made from where these are
    known, and all others in that of the embedding.
    """
    case = make_case(data_set, percent / 100, 0)
    model = _shown(case)
    order = (model.row_order_, model.column_order_)
    known = order if data_set == "lung500" else _true_order(case.data)
    frames = [
        _matrix("complete", case.data.X[np.ix_(*known)]),
        _matrix("given", case.X),
    ]
    for l, k in SHOWN_SCALES[data_set]:
        (scale,) = (scale for scale in model.scales_ if (scale.l, scale.k) == (l, k))
        clusters = (scale.n_row_clusters, scale.n_column_clusters)
        frames.append(_matrix(f"({l}, {k})", model.filled_at(l, k)[np.ix_(*order)], clusters))
    return pd.concat(frames, ignore_index=True).assign(**case.tags())


def _matrix(name: str, matrix: Array, clusters: tuple[int, int] | None = None) -> pd.DataFrame:
    n_rows, n_columns = clusters or matrix.shape
    head = {"matrix": name, "n_row_clusters": n_rows, "n_column_clusters": n_columns}
    values = pd.DataFrame(matrix, columns=[f"c{j}" for j in range(matrix.shape[1])])
    return pd.concat([pd.DataFrame(head, index=values.index), values], axis=1)


def _shown(case: Case) -> CoManifold:
    return CoManifold.as_in_the_paper(start_scale=_FIRST_SHOWN, keep_scales=True).fit(case.X)


def _true_order(data: Bunch) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows by group or along the curve; columns along the sheet, strip by strip."""
    rows = data.row_labels if "row_labels" in data else data.row_position[:, 0]
    along, across = data.column_position.T
    strip = np.floor(10 * along)
    columns = np.lexsort((np.where(strip % 2, -across, across), strip))
    return np.argsort(rows, kind="stable"), columns


def metric(data_set: str, percent: int) -> pd.DataFrame:
    """The distance between two columns, taken apart into the parts of all scales."""
    case = make_case(data_set, percent / 100, 0)
    model = _shown(case)
    one, other = _pair(case)
    rows = []
    for scale in model.scales_:
        filled = model.filled_at(scale.l, scale.k)
        rows.append(
            {
                **case.tags(),
                "first_column": case.data.column_names[one],
                "second_column": case.data.column_names[other],
                "l": scale.l,
                "k": scale.k,
                "weight": scale.weight,
                "distance": float(np.linalg.norm(filled[:, one] - filled[:, other])),
                "n_row_clusters": scale.n_row_clusters,
                "n_column_clusters": scale.n_column_clusters,
            }
        )
    return pd.DataFrame(rows)


def affinities(data_set: str, percent: int) -> pd.DataFrame:
    """Affinities and coordinates of the columns, in the order of the embedding."""
    case = make_case(data_set, percent / 100, 0)
    model = _shown(case)
    order = model.column_order_
    names = case.data.column_names[order]
    head = {
        "column": names,
        "in_pair": np.isin(order, _pair(case)),
        "first": model.column_embedding_[order, 0],
        "second": model.column_embedding_[order, 1],
        **{name: values[order] for name, values in _known(case.data, "column").items()},
    }
    values = pd.DataFrame(model.column_affinity_[np.ix_(order, order)], columns=names)
    return pd.concat([pd.DataFrame(head), values], axis=1).assign(**case.tags())


def _pair(case: Case) -> tuple[int, int]:
    """The first column of each of the two groups that Figure 1 compares."""
    groups = case.data.label_names[case.labels]
    one, other = (int(np.flatnonzero(groups == group)[0]) for group in _PAIR)
    return one, other


def _timed(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    result = function(*arguments)
    return result, time.perf_counter() - start
