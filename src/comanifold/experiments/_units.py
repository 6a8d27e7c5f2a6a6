"""The units of work of the experiments, and how they are run and resumed."""

import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import parallel_config
from numpy.typing import NDArray
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr
from sklearn.cluster import KMeans
from sklearn.manifold import trustworthiness
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.utils import Bunch
from threadpoolctl import threadpool_limits

from .. import CoManifold, DiffusionMap, Graph
from .._io import OwnedFolder
from .._parallel import in_parallel, single_threaded_blas
from ._methods import DATA_SETS, GROUPED, IMPUTATIONS, METHODS, Case, make_case

Array = NDArray[np.float64]
Labels = NDArray[np.int_]

_N_NEIGHBORS = 10

# The scales at which the paper shows filled-in matrices: l of the rows, k of the columns.
SHOWN_SCALES = {
    "linkage": ((-3, -2), (1, 0), (5, 2)),
    "linkage2": ((-4, -3), (-1, 1), (5, -3)),
    "lung500": ((-3, -3), (-2, 2), (-1, 4)),
}

# Numbers of coordinates for k-means: that of the figures, and one more where it needs no new fit.
_N_COMPONENTS = (2, 3)

# In our units (entries of variance one) the surface that starts here has all of these.
_START_SCALE = (-5, -5)

# The groups of the two subjects of lung500 whose distance Figure 1 shows by scale.
_PAIR = ("Normal", "Colon")


def clustering(data_set: str, percent: int, realization: int, method: str) -> pd.DataFrame:
    """Return the adjusted Rand index of k-means on the embedding of the mode that has groups."""
    case = make_case(data_set, percent / 100, realization)
    mode, _ = GROUPED[data_set]
    tried = _N_COMPONENTS if METHODS[method].is_nested else _N_COMPONENTS[:1]
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
    """Return scores of the embeddings against the points that the data were made from."""
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
    """Yield the names and values of the scores of one mode.

    `whole` is the diffusion map of the complete matrix.
    """
    yield "diffusion distances", distance_correlation(points, whole)
    if case.data_set == "lung500":
        normal = int(np.flatnonzero(case.data.label_names == "Normal")[0])
        yield "silhouette of Normal", separation(points, case.labels, normal)
        return
    truth = case.data[f"{mode}_points"]
    yield "trustworthiness", trustworthiness_score(points, truth)
    if f"{mode}_position" in case.data:  # clouds have no geodesics
        yield "geodesic distances", geodesic_correlation(points, truth)


def filling(data_set: str, percent: int, realization: int, method: str) -> pd.DataFrame:
    """Return the error of filled-in entries in standard deviations of the observed ones."""
    case = make_case(data_set, percent / 100, realization)
    filled, seconds = _timed(IMPUTATIONS[method].fill, case.X)
    error = np.sqrt(np.mean((filled - case.data.X)[case.missing] ** 2)) / np.nanstd(case.X)
    return pd.DataFrame([{**case.tags(), "method": method, "error": error, "seconds": seconds}])


def embedding(data_set: str, percent: int, method: str) -> pd.DataFrame:
    """Return the embedded points of both modes, with their groups or positions."""
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
    """Return the group and position of the points of a mode, as far as they are known."""
    known: dict[str, Any] = {}
    if f"{mode}_labels" in data:
        labels = data[f"{mode}_labels"]
        known["label"] = data.label_names[labels] if "label_names" in data else labels
    if f"{mode}_position" in data:
        for number, values in enumerate(data[f"{mode}_position"].T, start=1):
            known[f"position_{number}"] = values
    if not known:  # the position that the complete matrix gives
        whole = DiffusionMap(1).fit_transform(data.X if mode == "row" else data.X.T)
        known["position_1"] = whole[:, 0]
    return known


def points(data_set: str) -> pd.DataFrame:
    """Return the points in space that linkage data are made from."""
    data = DATA_SETS[data_set]()
    frames = []
    for mode in ("row", "column"):
        frame = pd.DataFrame(data[f"{mode}_points"], columns=["x", "y", "z"])
        frame.insert(0, "mode", mode)
        frames.append(frame.assign(**_known(data, mode)))
    return pd.concat(frames, ignore_index=True).assign(data_set=data_set)


def matrices(data_set: str, percent: int) -> pd.DataFrame:
    """Return the matrix: complete, as given, and filled in at three scales.

    "given" is permuted, "complete" in the order of the points it was made from where these are
    known, and the others in the order of the embedding.
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
        blocks = model.blocks_at(l, k)
        clusters = (len(np.unique(blocks.row_labels)), len(np.unique(blocks.column_labels)))
        frames.append(_matrix(f"({l}, {k})", model.filled_at(l, k)[np.ix_(*order)], clusters))
    return pd.concat(frames, ignore_index=True).assign(**case.tags())


def _matrix(name: str, matrix: Array, clusters: tuple[int, int] | None = None) -> pd.DataFrame:
    """Return a matrix as a table with one line for each row."""
    n_rows, n_columns = clusters or matrix.shape
    head = {"matrix": name, "n_row_clusters": n_rows, "n_column_clusters": n_columns}
    values = pd.DataFrame(matrix, columns=[f"c{j}" for j in range(matrix.shape[1])])
    return pd.concat([pd.DataFrame(head, index=values.index), values], axis=1)


def _shown(case: Case) -> CoManifold:
    """Return a model with the paper's settings and all scales that figures show."""
    return CoManifold.as_in_the_paper(start_scale=_START_SCALE, keep_scales=True).fit(case.X)


def _true_order(data: Bunch) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the order of rows by group or along the curve, and of columns along the sheet."""
    rows = data.row_labels if "row_labels" in data else data.row_position[:, 0]
    along, across = data.column_position.T
    strip = np.floor(10 * along)
    columns = np.lexsort((np.where(strip % 2, -across, across), strip))
    return np.argsort(rows, kind="stable"), columns


def metric(data_set: str, percent: int) -> pd.DataFrame:
    """Return the distance between two columns at each scale, and the weight of the scale."""
    case = make_case(data_set, percent / 100, 0)
    model = _shown(case)
    one, other = _pair(case)
    filled = [model.filled_at(index=i) for i in range(len(model.scales_["l"]))]
    scales = pd.DataFrame(model.scales_)
    table = pd.DataFrame(case.tags(), index=scales.index).assign(
        first_column=case.data.column_names[one],
        second_column=case.data.column_names[other],
        l=scales["l"],
        k=scales["k"],
        weight=scales["weight"],
        distance=[float(np.linalg.norm(F[:, one] - F[:, other])) for F in filled],
    )
    return table.join(scales[["n_row_clusters", "n_column_clusters"]])


def affinities(data_set: str, percent: int) -> pd.DataFrame:
    """Return affinities and coordinates of the columns in the order of the embedding."""
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
    """Return the first column of each of the two groups that Figure 1 compares."""
    groups = case.data.label_names[case.labels]
    one, other = (int(np.flatnonzero(groups == group)[0]) for group in _PAIR)
    return one, other


def _timed(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Return the result of a call and its seconds."""
    start = time.perf_counter()
    result = function(*arguments)
    return result, time.perf_counter() - start


def rand_index(points: Array, labels: Labels) -> float:
    """Return the adjusted Rand index of k-means with the true number of groups."""
    n_groups = len(np.unique(labels))
    found = KMeans(n_groups, n_init=20, random_state=0).fit_predict(points)
    return float(adjusted_rand_score(labels, found))


def separation(points: Array, labels: Labels, group: int) -> float:
    """Return the silhouette of one group against all others together."""
    return float(silhouette_score(points, labels == group))


def trustworthiness_score(points: Array, truth: Array) -> float:
    """Return the trustworthiness: whether neighbours in the embedding are true neighbours."""
    return float(trustworthiness(truth, points, n_neighbors=_N_NEIGHBORS))


def distance_correlation(points: Array, truth: Array) -> float:
    """Return the rank correlation of the distances in two embeddings."""
    return float(spearmanr(pdist(points), pdist(truth)).statistic)


def geodesic_correlation(points: Array, truth: Array) -> float:
    """Return the rank correlation of the geodesic distances in two embeddings."""
    return float(spearmanr(_geodesics(points), _geodesics(truth)).statistic)


def _geodesics(points: Array) -> Array:
    """Return the lengths of shortest paths between near neighbours, for all pairs."""
    distances = squareform(pdist(points))
    graph = Graph.from_distances(distances, _N_NEIGHBORS)  # connected, by its shortest links
    # The path solver takes a stored zero for an absent edge.
    least = np.finfo(float).tiny
    lengths = np.zeros_like(distances)
    lengths[tuple(graph.edges.T)] = np.maximum(distances[tuple(graph.edges.T)], least)
    paths = shortest_path(lengths, directed=False)
    return paths[np.triu_indices(len(points), 1)]


@dataclass(frozen=True)
class Unit:
    """A unit of work: a function of a few arguments that returns a table.

    The table is written to data/`table`/`name`.csv, and reused while that file exists.
    """

    table: str
    function: Callable[..., pd.DataFrame]
    arguments: tuple[Any, ...]

    @property
    def name(self) -> str:
        """The arguments, joined by hyphens."""
        parts = (f"{part:02d}" if isinstance(part, int) else str(part) for part in self.arguments)
        return "-".join(parts)

    @property
    def file(self) -> str:
        """The path of the table in the folder of results."""
        return f"data/{self.table}/{self.name}.csv"

    def is_done(self, folder: OwnedFolder) -> bool:
        """Return whether its table exists as it was written."""
        return folder.owns(self.file)


@dataclass(frozen=True)
class Failure:
    """A unit that failed, and why."""

    unit: Unit
    reason: str


def run_units(
    units: Sequence[Unit], folder: OwnedFolder, n_jobs: int | None = None
) -> Iterator[tuple[Unit, Failure | None]]:
    """Run the units that are not done; yield each when it is finished.

    They run in processes unless a `joblib.parallel_config` says otherwise.
    """
    todo = [unit for unit in units if not unit.is_done(folder)]
    with ExitStack() as stack:
        with _ignore_sigint():
            calls = ((_attempt, (unit,)) for unit in todo)
            results = stack.enter_context(in_parallel(calls, n_jobs=n_jobs))
        for unit, table, reason in results:
            if table is not None:
                # By this process, because workers may be on another machine, and because a full
                # disk ends the run and not one unit. Each file is written atomically, so that a
                # killed run loses unfinished units only.
                with folder.write(unit.file) as part:
                    table.to_csv(part, index=False)
            yield unit, None if reason is None else Failure(unit, reason)


def _attempt(unit: Unit) -> tuple[Unit, pd.DataFrame | None, str | None]:
    """Run a unit; return it with its table, or with the reason of its failure."""
    try:
        # A unit runs sequentially, even where workers could share its parts, and on one thread, so
        # that its sums have the same order in any process and with any number of processes.
        with (
            warnings.catch_warnings(),
            parallel_config("sequential"),
            single_threaded_blas(),
            threadpool_limits(1, user_api="openmp"),
        ):
            # The scores in the table tell how well each method converged.
            warnings.simplefilter("ignore")
            return unit, unit.function(*unit.arguments), None
    except Exception as error:
        return unit, None, f"{type(error).__name__}: {error}"


@contextmanager
def _ignore_sigint() -> Iterator[None]:
    """Start processes that ignore Ctrl-C: this one handles it and ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def collect(units: Sequence[Unit], folder: OwnedFolder) -> pd.DataFrame:
    """Return the concatenated tables of the units that are done."""
    done = [folder.path / unit.file for unit in units if unit.is_done(folder)]
    return pd.concat([pd.read_csv(file) for file in done], ignore_index=True)
