"""Co-manifold learning of AnnData and MuData objects, as scanpy and related packages use them."""

import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors, sort_graph_by_row_values

from ._embedding.affinities import affinities
from ._embedding.bandwidths import find_bandwidth
from ._validation import check_choice, expand_to_full, is_integer, restrict_to_observed
from .co_manifold import CoManifold
from .graphs import Pairs

if TYPE_CHECKING:
    from anndata import AnnData
    from mudata import MuData

__all__ = ["co_manifold"]

# Columns of `scales_` that are written.
_SCALE_COLUMNS = ("l", "k", "n_row_clusters", "n_column_clusters", "objective", "weight", "status")


def co_manifold(
    adata: "AnnData | MuData",
    *,
    layer: str | None = None,
    modality: str | None = None,
    key_added: str = "comanifold",
    zeros: str = "observed",
    n_connected: int = 15,
    copy: bool = False,
    **parameters: Any,
) -> "AnnData | MuData | None":
    """Embed the observations and the variables of an AnnData object, and fill in its matrix.

    Results are written where scanpy expects them: ``sc.pl.embedding(adata,
    basis="comanifold")``, ``sc.tl.umap(adata, neighbors_key="comanifold")``,
    ``sc.tl.leiden(adata, neighbors_key="comanifold")`` and the like work on them. With ``adata.T``
    in place of ``adata`` they work on the variables, such as genes. Existing results with the same
    keys are replaced.

    Parameters
    ----------
    adata : AnnData or MuData
        Observations are rows, variables are columns. Entries that are NaN are missing. Each
        modality of a MuData object is fitted on its own.
    layer : str, optional
        The layer to use instead of ``adata.X``.
    modality : str, optional
        The modality of a MuData object to fit; by default all of them.
    key_added : str, default="comanifold"
        The key under which results are written.
    zeros : {"observed", "missing"}, default="observed"
        Whether entries of zero, stored or not, are observed values or missing.
    n_connected : int, default=15
        Neighbours of each observation and each variable in the graphs that are written,
        including itself, as in scanpy. (`n_neighbors` is a parameter of `CoManifold`: that of
        the graphs along which the matrix is smoothed.)
    copy : bool, default=False
        Whether to return a copy with the results and leave `adata` unchanged.
    **parameters
        Parameters of `CoManifold`.

    Returns
    -------
    adata : AnnData, MuData or None
        The copy, with ``copy=True``.

    Notes
    -----
    With ``key_added="comanifold"``, these are written:

    - ``obsm["X_comanifold"]``, the embedding of the observations, and ``varm["comanifold"]``, that
      of the variables; the latter also as ``varm["X_comanifold"]``, which is where scanpy looks for
      it in ``adata.T``;
    - ``obs["comanifold_clusters"]`` and ``var["comanifold_clusters"]``, the clusters, as categories
      "1", "2", ... in the order of the organised matrix, for ``color="comanifold_clusters"`` in the
      plots of scanpy; and ``obs["comanifold_confidence"]`` and ``var["comanifold_confidence"]``,
      how sure each is, from 0 to 1 (see `CoManifold.find_clusters`);
    - ``obsp["comanifold_distances"]``, distances of each observation to its neighbours, and
      ``obsp["comanifold_connectivities"]``, affinities of neighbours, symmetric and from 0 to 1;
      the same of variables in ``varp``;
    - ``layers["comanifold_filled"]``, the matrix with missing entries filled in;
    - ``uns["comanifold"]``: the keys and parameters of the graphs, as scanpy writes them; the
      parameters of the fit, eigenvalues, p-values of structure, and the number of clusters at each
      scale.

    Observations and variables without an observed entry have NaN coordinates, no neighbours, no
    cluster and no confidence.
    Few tools accept NaN: remove such observations first.

    Results of a MuData object are in its modalities, and nothing else of it changes: call its
    ``update`` or ``pull_obs`` to see clusters in its own ``obs``.

    Examples
    --------
    >>> import anndata
    >>> from comanifold.annotated import co_manifold
    >>> from comanifold.datasets import make_checkerboard, remove_entries
    >>> X = remove_entries(make_checkerboard(40, 30, random_state=0).X, 0.5, random_state=0)
    >>> adata = anndata.AnnData(X)
    >>> co_manifold(adata)
    >>> adata.obsm["X_comanifold"].shape, adata.varm["comanifold"].shape
    ((40, 2), (30, 2))
    >>> adata.obs["comanifold_clusters"].cat.categories.tolist()
    ['1', '2', '3', '4']
    """
    parts = _parts(adata, modality)
    for part in parts.values():
        _check_data(part, key_added)
    if "absent" in parameters:
        raise ValueError('absent is not used here: set zeros="observed" or zeros="missing"')
    _check_connected(n_connected)
    # Compute everything before writing, so that a failure leaves adata unchanged.
    results = {}
    for name, part in parts.items():
        model = CoManifold(**parameters).fit(_matrix(part, layer, zeros))
        about = {"zeros": zeros, "layer": "X" if layer is None else layer}
        results[name] = _results(model, key_added, n_connected, about)
    target = adata.copy() if copy else adata
    for name, part in _parts(target, modality).items():
        _write(part, results[name])
    return target if copy else None


def _parts(adata: Any, modality: str | None) -> dict[str | None, Any]:
    """Return the objects to fit by modality; an AnnData has none."""
    # Not imported: where there is such an object, mudata is loaded.
    mudata = sys.modules.get("mudata")
    if mudata is None or not isinstance(adata, mudata.MuData):
        if modality is not None:
            raise ValueError(
                f"modality is for MuData, got modality={modality!r:.60} and {type(adata).__name__}"
            )
        return {None: adata}
    if modality is None:
        return dict(adata.mod)
    if modality not in adata.mod:
        there = ", ".join(repr(name) for name in adata.mod) or "none"
        raise ValueError(f"modality {modality!r:.60} is not among those of adata: {there}")
    return {modality: adata.mod[modality]}


def _results(
    model: CoManifold, key: str, n_connected: int, about: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return what is written: the values by key, by the part of an AnnData object."""
    distances, connectivities = f"{key}_distances", f"{key}_connectivities"
    graphs = {
        part: dict(zip((distances, connectivities), _graphs(model, mode, n_connected), strict=True))
        for part, mode in (("obsp", "row"), ("varp", "column"))
    }
    frames = {
        part: {f"{key}_{name}": values for name, values in _clusters(model, mode).items()}
        for part, mode in (("obs", "row"), ("var", "column"))
    }
    n_observed = len(model.data_) - len(model.unobserved_rows_)
    description = {
        "connectivities_key": connectivities,
        "distances_key": distances,
        # Used by tools of scanpy that need coordinates.
        "params": {
            "method": "comanifold",
            "n_neighbors": min(int(n_connected), n_observed),
            "metric": "euclidean",
            "use_rep": f"X_{key}",
        },
        **_description(model),
        **about,
    }
    return {
        "obsm": {f"X_{key}": model.row_embedding_},
        "varm": {key: model.column_embedding_, f"X_{key}": model.column_embedding_},
        **graphs,
        **frames,
        "layers": {f"{key}_filled": model.filled_},
        "uns": {key: description},
    }


def _write(adata: Any, results: dict[str, dict[str, Any]]) -> None:
    """Write results to an AnnData object."""
    import anndata

    with warnings.catch_warnings():
        # Writing to a view makes it an object of its own, as intended.
        warnings.simplefilter("ignore", anndata.ImplicitModificationWarning)
        for part, named in results.items():
            for name, values in named.items():
                getattr(adata, part)[name] = values


def _check_data(adata: Any, key_added: Any) -> None:
    """Raise an error unless adata is an AnnData in memory and key_added a name."""
    try:
        from anndata import AnnData
    except ImportError as error:
        raise ImportError(
            "annotated data need the package anndata: pip install 'comanifold[anndata]'"
        ) from error
    if not isinstance(adata, AnnData):
        raise ValueError(
            f"adata must be an AnnData, got {type(adata).__name__}: use CoManifold for arrays and "
            "DataFrames"
        )
    if adata.isbacked:
        raise ValueError(
            "adata is backed by a file, and its matrix is needed as a whole: read it into memory, "
            "adata = adata.to_memory()"
        )
    if not isinstance(key_added, str) or not key_added:
        raise ValueError(f"key_added must be a name, got {key_added!r}")


def _check_connected(n_connected: Any) -> None:
    """Raise an error unless n_connected is an integer of at least 2."""
    if not is_integer(n_connected) or n_connected < 2:
        raise ValueError(f"n_connected must be an integer of at least 2, got {n_connected!r:.60}")


def _matrix(adata: Any, layer: str | None, zeros: str) -> Any:
    """Return the matrix to fit, with NaN for missing entries."""
    check_choice("zeros", zeros, ["observed", "missing"])
    if layer is not None and layer not in adata.layers:
        there = ", ".join(repr(name) for name in adata.layers) or "none"
        raise ValueError(f"layer {layer!r} is not among the layers of adata: {there}")
    X = adata.X if layer is None else adata.layers[layer]
    if X is None:
        raise ValueError("adata.X is None: name the layer that holds the matrix")
    X = X.toarray() if sparse.issparse(X) else np.asarray(X)
    return np.where(X == 0, np.nan, X) if zeros == "missing" else X


def _clusters(model: CoManifold, mode: str) -> dict[str, Any]:
    """Return the clusters as a categorical, missing where nothing is observed, and confidence."""
    from pandas import Categorical

    found = model.find_clusters(mode)
    names = [str(number) for number in range(1, found.n_clusters + 1)]
    return {
        "clusters": Categorical.from_codes(found.labels, categories=names),
        "confidence": found.point_confidence,
    }


def _graphs(model: CoManifold, mode: str, n_connected: int) -> tuple[Any, Any]:
    """Return sparse graphs of the nearest neighbours: their distances and their affinities."""
    known = ~np.isnan(getattr(model, f"{mode}_embedding_")).any(axis=1)
    D = restrict_to_observed(getattr(model, f"{mode}_distances_"), known)
    n_others = min(n_connected, D.shape[0]) - 1
    if sparse.issparse(D):
        D = sort_graph_by_row_values(D, copy=True, warn_when_not_sorted=False)
        n_kept = int(np.diff(D.indptr).min())
        if n_others >= n_kept:
            raise ValueError(
                f"n_connected={n_connected} is more than the {n_kept} distances that every point "
                'has: use at most as many, or distances="dense"'
            )
    search = NearestNeighbors(n_neighbors=n_others, metric="precomputed").fit(D)
    near = search.kneighbors_graph(mode="distance")

    affinity = getattr(model, f"{mode}_affinity_", None)
    if affinity is None:  # not a diffusion map
        sigma = find_bandwidth(D, model.bandwidth)
        affinity = affinities(D, sigma, sigma)
    else:
        affinity = restrict_to_observed(affinity, known)
    pairs = Pairs.of(D.shape[0], *_stored(near))
    values = np.asarray(affinity[pairs.firsts, pairs.others]).ravel()
    connected = pairs.matrix(values)
    connected.eliminate_zeros()
    return tuple(
        sparse.csr_matrix(expand_to_full(graph, known, known)) for graph in (near, connected)
    )


def _stored(graph: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return rows and columns of the stored entries; zeros (duplicates) are stored too."""
    entries = graph.tocoo()
    return entries.row, entries.col


def _description(model: CoManifold) -> dict[str, Any]:
    """Return parameters and results in types that an H5AD file can store."""
    parameters = {name: _plain(value) for name, value in model.get_params(deep=False).items()}
    description = {
        "parameters": {name: value for name, value in parameters.items() if value is not None},
        "scales": {name: model.scales_[name] for name in _SCALE_COLUMNS},
        "obs_p_value": model.row_p_value_,
        "var_p_value": model.column_p_value_,
    }
    if hasattr(model, "row_eigenvalues_"):
        description["obs_eigenvalues"] = model.row_eigenvalues_
        description["var_eigenvalues"] = model.column_eigenvalues_
    return description


def _plain(value: Any) -> Any:
    """Return a value as a number, text, array of integers or None; anything else as its text."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    is_pair = isinstance(value, (tuple, list)) and all(isinstance(part, int) for part in value)
    return np.array(value) if is_pair else str(value)
