"""Embeddings by name: diffusion map, UMAP, t-SNE, Isomap and MDS of given distances.

`make_embedding` is the one place in which a name becomes an estimator. All estimators have
`fit_transform` of square distances, dense or sparse; those that place new points have `transform`.

Coordinates depend on nothing but the distances and the seed: UMAP and t-SNE start from classical
MDS or from a diffusion map, plus a little noise, and run on one thread. The largest distance is one
unit, so that single precision, in which both of them compute, does for data in any units.
"""

import threading
import warnings
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import shortest_path
from scipy.sparse.linalg import ArpackError, eigsh
from sklearn.base import clone
from sklearn.manifold import TSNE, smacof
from sklearn.neighbors import sort_graph_by_row_values
from sklearn.utils import check_random_state, get_tags
from threadpoolctl import threadpool_limits

from .._validation import check_choice
from ..diffusion_map import DiffusionMap
from ..graphs import N_SPREAD, Graph
from .affinities import with_zero_diagonal
from .eigenvectors import largest_eigenpairs
from .out_of_sample import stored_distances

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# The names, and what their coordinates are called in pictures.
TITLES = {
    "diffusion": "coordinate",
    "umap": "UMAP",
    "tsne": "t-SNE",
    "isomap": "Isomap",
    "mds": "MDS",
}

# The defaults of umap-learn and of scikit-learn. UMAP counts a point among its neighbours.
_UMAP_NEIGHBORS = 15
_PERPLEXITY = 30
_ISOMAP_NEIGHBORS = 5

# Of how many nearest neighbours sparse distances are needed. None: all distances are.
_NEIGHBORS = {
    "diffusion": 0,
    "umap": _UMAP_NEIGHBORS,
    "tsne": 3 * _PERPLEXITY + 1,
    "isomap": _ISOMAP_NEIGHBORS,
    "mds": None,
}

# More coordinates than these have no Barnes-Hut approximation, which sparse distances need.
_MOST_BARNES_HUT = 3

# The standard deviation of the first coordinate at the start of t-SNE, as in scikit-learn, and
# that of the noise relative to it, without which equal points would stay on top of each other.
_TSNE_START = 1e-4
_NOISE = 0.01

# Up to this many points, classical MDS computes eigenvectors by a dense solver.
_DENSE = 1500

# UMAP is compiled for threads, and where these are Numba's own, two calls at a time abort.
_umap_lock = threading.Lock()


def check_embedding(embedding: Any, n_components: int) -> int | None:
    """Validate an embedding; return how many nearest neighbours it needs of sparse distances.

    None means that it takes dense distances only, 0 that it does not say.
    """
    if isinstance(embedding, str):
        check_choice("embedding", embedding, list(TITLES), "an estimator of distances")
        if embedding == "tsne" and n_components > _MOST_BARNES_HUT:
            return None
        return _NEIGHBORS[embedding]
    if isinstance(embedding, type) or not all(
        hasattr(embedding, method) for method in ("fit_transform", "get_params")
    ):
        names = ", ".join(f'"{name}"' for name in TITLES)
        raise ValueError(
            f"embedding must be one of {names} or an estimator of scikit-learn's kind, with "
            "fit_transform and get_params, that takes precomputed distances, got "
            f"{embedding!r:.60}"
        )
    meanings = {
        name: value
        for name, value in embedding.get_params().items()
        if name.split("__")[-1] in ("metric", "dissimilarity", "affinity", "kernel")
    }
    if meanings and "precomputed" not in meanings.values():
        name = next(iter(meanings))
        raise ValueError(
            f'embedding is given distances: set {name}="precomputed" in '
            f"{type(embedding).__name__}, got {name}={meanings[name]!r}"
        )
    return 0 if get_tags(embedding).input_tags.sparse else None


def refuse_sparse(embedding: Any, n_components: int, advice: str) -> None:
    """Raise ValueError if an embedding does not take sparse distances; `advice` ends the error."""
    if check_embedding(embedding, n_components) is not None:
        return
    which = type(embedding).__name__
    if isinstance(embedding, str):
        which = f'"{embedding}"'
        if embedding == "tsne":
            which += f" with more than {_MOST_BARNES_HUT} components"
    raise ValueError(
        'distances="sparse" needs an embedding that takes sparse distances, which '
        f"{which} does not: {advice}"
    )


def check_installed(embedding: Any) -> None:
    """Raise ImportError if an embedding needs a package that is not installed."""
    if isinstance(embedding, str) and embedding == "umap" and find_spec("umap") is None:
        raise ImportError(
            "embedding=\"umap\" needs the package umap-learn: pip install 'comanifold[umap]'"
        )


def make_embedding(
    embedding: Any, *, n_components: int | None, bandwidth: Any, random_state: Any
) -> Any:
    """Return a new estimator of distances, by name or as a clone of an estimator.

    Parameters
    ----------
    embedding : str or estimator
        Validated by `check_embedding`.
    n_components : int or None
        None leaves the number of an estimator as it is.
    bandwidth : "local", ("local", int), "median" or float
        Of a diffusion map.
    random_state : int, RandomState or None
        Of a named embedding, where None is 0, and of an estimator that takes one and has none.
    """
    if isinstance(embedding, str):
        if embedding == "diffusion":
            return DiffusionMap(n_components, metric="precomputed", bandwidth=bandwidth)
        kind = IsomapLayout if embedding == "isomap" else Layout
        return kind(embedding, n_components, random_state)
    estimator = clone(embedding)
    if n_components is not None:
        estimator.set_params(n_components=n_components)
    if estimator.get_params().get("random_state", 0) is None:
        estimator.set_params(random_state=random_state)
    return estimator


def embedding_name(estimator: Any) -> str:
    """Return the name of an estimator that `make_embedding` made; else that of its class."""
    if isinstance(estimator, DiffusionMap):
        return "diffusion"
    return estimator.name if isinstance(estimator, Layout) else type(estimator).__name__


class Layout:
    """UMAP, t-SNE or MDS of distances, without a place for new points.

    Parameters
    ----------
    name : {"umap", "tsne", "mds"}
    n_components : int
    random_state : int, RandomState or None
        None is 0.
    """

    def __init__(self, name: str, n_components: int, random_state: Any = None):
        self.name = name
        self.n_components = n_components
        self.random_state = random_state

    def fit_transform(self, distances: Any) -> Array:
        """Return the coordinates of points with these distances, dense or sparse."""
        distances, unit = _in_units(distances)
        if self.name == "mds":
            return unit * mds(distances, self.n_components)
        seed = check_random_state(0 if self.random_state is None else self.random_state)
        return {"umap": umap, "tsne": tsne}[self.name](distances, self.n_components, seed)


class IsomapLayout(Layout):
    """Isomap of distances: classical MDS of the lengths of shortest paths between neighbours.

    It is that of scikit-learn, with two differences: components of the graph of neighbours are
    joined by their shortest links, also in sparse distances, and the eigenvectors do not depend
    on a random start. New points are placed by their path lengths, as there.
    """

    def fit_transform(self, distances: Any) -> Array:
        """Return the coordinates of points with these distances, dense or sparse."""
        self.graph = Graph.from_distances(distances, _ISOMAP_NEIGHBORS)
        self._distances = distances
        for name in ("_unit", "_geodesics"):
            vars(self).pop(name, None)  # of an earlier fit
        self._coordinates = self._unit * classical_mds(self._geodesics, self.n_components)
        return self._coordinates

    def restore(self, distances: Any, graph: Graph, coordinates: Array) -> None:
        """Set the fitted state to that of `fit_transform`, whose result is known.

        The graph is given as well: which of several neighbours at the same distance it has may
        differ between machines.
        """
        self.graph, self._distances, self._coordinates = graph, distances, coordinates

    @cached_property
    def _unit(self) -> float:
        """The largest distance."""
        return _in_units(self._distances)[1]

    @cached_property
    def _geodesics(self) -> Array:
        """Path lengths between the fitted points, in units of the largest distance."""
        return geodesics(_in_units(self._distances)[0], self.graph)

    def transform(self, distances: Any) -> Array:
        """Return the coordinates of new points, by their distances to the fitted ones."""
        lengths = [
            self._path_lengths(*stored_distances(distances, i)) for i in range(distances.shape[0])
        ]
        return self._project(np.stack(lengths))

    def residual(self) -> float:
        """Return how far the coordinates are from eigenvectors, relative to the largest one."""
        Y = self._coordinates
        size = np.abs(Y).max(initial=0.0) or 1.0
        products = (Y / size).T @ (Y / size)
        parts = (
            (self._project(self._geodesics) - Y) / size,
            Y.mean(axis=0) / size,
            products - np.diag(np.diag(products)),
        )
        return float(np.max([np.abs(part).max() for part in parts]))

    def _path_lengths(self, places: Indices, apart: Array) -> Array:
        """Return path lengths from a new point, by its distances to some of the fitted ones."""
        nearest = np.argsort(apart, kind="stable")[:_ISOMAP_NEIGHBORS]
        first_steps = apart[nearest, None] / self._unit
        return (first_steps + self._geodesics[places[nearest]]).min(axis=0)

    def _project(self, lengths: Array) -> Array:
        """Return coordinates of points by their path lengths to the fitted ones.

        With the coordinates Y, each of squared length L, these are B Y / L, where B are the
        squares of the lengths, centred and times -1/2. The terms of B that are constant along a
        row have no effect, because the columns of Y sum to zero.
        """
        Y = self._coordinates / self._unit
        squares = (self._geodesics**2).mean(axis=0) - lengths**2
        found, eigenvalues = 0.5 * (squares @ Y), (Y**2).sum(axis=0)
        placed = np.divide(found, eigenvalues, out=np.zeros_like(found), where=eigenvalues > 0.0)
        return self._unit * placed


def umap(distances: Any, n_components: int, seed: np.random.RandomState) -> Array:
    """Return UMAP coordinates (McInnes, Healy and Melville 2018)."""
    n_points = distances.shape[0]
    start = _start(distances, n_components, seed)
    if n_points == 2:  # UMAP needs two neighbours
        return start
    if sparse.issparse(distances):
        distances = sparse.csr_matrix(distances)  # UMAP does not read sparse arrays
    return run_umap(
        distances,
        n_neighbors=max(min(_UMAP_NEIGHBORS, _n_near(distances) + 1, n_points - 1), 2),
        n_components=n_components,
        metric="precomputed",
        init=start.astype(np.float32),
        random_state=seed.randint(2**31 - 1),
    )


def run_umap(X: Any, **parameters: Any) -> Array:
    """Return UMAP coordinates of X on one thread, one call at a time."""
    with warnings.catch_warnings():
        # That there is no TensorFlow, that there will be no inverse transform, and what newer
        # versions of scikit-learn or Numba deprecate: nothing that a user could change.
        warnings.simplefilter("ignore")
        from umap import UMAP

        # One job is all it can do with a seed, and it warns of any other number.
        model = UMAP(n_jobs=1, **parameters)
        with _umap_lock:
            return np.asarray(model.fit_transform(X), dtype=float)


def tsne(distances: Any, n_components: int, seed: np.random.RandomState) -> Array:
    """Return t-SNE coordinates (van der Maaten and Hinton 2008)."""
    start = _TSNE_START * _start(distances, n_components, seed)
    if sparse.issparse(distances):
        distances = sort_graph_by_row_values(distances, copy=True, warn_when_not_sorted=False)
    model = TSNE(
        n_components,
        # A third of the neighbours, because scikit-learn looks at three times the perplexity.
        perplexity=max(min(_PERPLEXITY, _n_near(distances) / 3), 1),
        metric="precomputed",
        init=start.astype(np.float32),
        method="barnes_hut" if n_components <= _MOST_BARNES_HUT else "exact",
        random_state=0,  # without effect: the start is given
        n_jobs=1,
    )
    # Sums over several threads are rounded differently, and t-SNE multiplies that.
    with threadpool_limits(limits=1, user_api="openmp"):
        return np.asarray(model.fit_transform(distances), dtype=float)


def mds(distances: Array, n_components: int) -> Array:
    """Return coordinates of least stress (SMACOF), from those of classical MDS."""
    start = classical_mds(distances, n_components)
    if not start.any():  # all points are equal
        return start
    return smacof(distances, n_components=n_components, init=start, n_init=1, eps=1e-6)[0]


def classical_mds(distances: Array, n_components: int) -> Array:
    """Return the principal coordinates of points with these distances, largest first.

    The entry of largest magnitude of each coordinate is positive. Coordinates of eigenvalues
    that are not positive, which distances in no Euclidean space have, are zero.
    """
    squares = distances**2
    means = squares.mean(axis=0)
    B = -0.5 * (squares - means - means[:, None] + means.mean())
    values, vectors = _largest(B, n_components)
    values, vectors = values[::-1], vectors[:, ::-1]
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(n_components)]
    # Zero up to rounding errors.
    values = np.where(values > 1e-12 * max(values[0], 0.0), values, 0.0)
    return vectors * np.where(largest < 0.0, -1.0, 1.0) * np.sqrt(values)


def _largest(B: Array, n_components: int) -> tuple[Array, Array]:
    """Return the largest eigenpairs in ascending order."""
    if len(B) > _DENSE and 4 * n_components < len(B):
        start = np.random.RandomState(0).uniform(-1.0, 1.0, len(B))
        try:
            values, vectors = eigsh(B, k=n_components, which="LA", v0=start)
        except ArpackError:
            pass
        else:
            order = np.argsort(values)
            return values[order], vectors[:, order]
    return largest_eigenpairs(B, n_components)


def geodesics(distances: Any, graph: Graph) -> Array:
    """Return the lengths of shortest paths between all points along the edges of a graph."""
    i, j = graph.edges.T
    lengths = np.asarray(distances[i, j]).ravel()
    # Both directions, since a path of length zero is one as well.
    places = np.concatenate([i, j]), np.concatenate([j, i])
    steps = sparse.csr_array((np.concatenate([lengths, lengths]), places), shape=distances.shape)
    return shortest_path(steps, method="D", directed=True)


def _start(distances: Any, n_components: int, seed: np.random.RandomState) -> Array:
    """Return coordinates of standard deviation one to start from, with noise.

    Classical MDS needs all distances: for sparse ones it is a diffusion map.
    """
    if sparse.issparse(distances):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of components
            start = DiffusionMap(n_components, metric="precomputed").fit_transform(distances)
    else:
        start = classical_mds(distances, n_components)
    start = start / (start[:, 0].std() or 1.0)
    return start + _NOISE * seed.standard_normal(start.shape)


def _in_units(distances: Any) -> tuple[Any, float]:
    """Return distances in units of the largest, and that; sparse ones with a zero diagonal."""
    unit = float(distances.max()) or 1.0
    return with_zero_diagonal(distances / unit), unit


def _n_near(distances: Any) -> int:
    """Return of how many nearest neighbours every point has the distance, and at least 2.

    Beyond the nearest ones, sparse distances have those of some farther points.
    """
    n_others = distances.shape[0] - 1
    if not sparse.issparse(distances):
        return n_others
    n_stored = int(np.diff(distances.indptr).min()) - 1
    return n_others if n_stored == n_others else max(n_stored - N_SPREAD, 2)
