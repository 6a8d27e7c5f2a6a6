"""Co-manifold learning of annotated data, as scanpy and its relatives hold them."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors, sort_graph_by_row_values

from ._embedding.affinities import affinities, find_bandwidth
from ._validation import check_choice, expand_to_full, is_integer, restrict_to_observed
from .co_manifold import CoManifold
from .graphs import Pairs

if TYPE_CHECKING:
    from anndata import AnnData

__all__ = ["co_manifold"]

# Of each scale, what is written beside the parameters.
_OF_A_SCALE = ("l", "k", "n_row_clusters", "n_column_clusters", "objective", "weight", "status")


def co_manifold(
    adata: "AnnData",
    *,
    layer: str | None = None,
    key_added: str = "comanifold",
    zeros: str = "observed",
    n_connected: int = 15,
    copy: bool = False,
    **parameters: Any,
) -> "AnnData | None":
    """Embed the observations and the variables of annotated data, and fill in its matrix.

    The result is written to where scanpy looks for such things: after it,
    ``sc.pl.embedding(adata, basis="comanifold")``, ``sc.tl.umap(adata,
    neighbors_key="comanifold")``, ``sc.tl.leiden(adata, neighbors_key="comanifold")`` and the
    like work as they stand. What is there under the same names is replaced.

    Parameters
    ----------
    adata : AnnData
        Observations are rows, variables are columns. Entries that are NaN are missing.
    layer : str, optional
        The layer to read in place of ``adata.X``.
    key_added : str, default="comanifold"
        The name of what is written.
    zeros : {"observed", "missing"}, default="observed"
        What an entry of zero means, whether a sparse matrix stores it or leaves it out:
        "observed", a value like any other, or "missing", one that was not measured.
    n_connected : int, default=15
        Neighbours of each observation, and of each variable, in the graphs that are written,
        itself counted, as in scanpy. (`n_neighbors` is that of the graphs along which the
        matrix is smoothed.)
    copy : bool, default=False
        Whether to return a copy with the results, and leave `adata` as it is.
    **parameters
        Those of `CoManifold`.

    Returns
    -------
    adata : AnnData or None
        Only with `copy`.

    Notes
    -----
    Written are, for ``key_added="comanifold"``:

    - ``obsm["X_comanifold"]`` and ``varm["comanifold"]``, the embeddings;
    - ``obsp["comanifold_distances"]``, distances of each observation to its neighbours, and
      ``obsp["comanifold_connectivities"]``, affinities of neighbours, symmetric and from 0 to 1;
      the same of variables in ``varp``;
    - ``layers["comanifold_filled"]``, the matrix with missing entries filled in;
    - ``uns["comanifold"]``: where the graphs are and their parameters, in the form of scanpy;
      the parameters of the fit, eigenvalues, and the clusters at each pair of scales.

    Observations and variables without an observed entry have NaN for coordinates and no
    neighbours. Few tools take NaN: leave such observations out first.

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
    """
    _check_data(adata, key_added)
    if "absent" in parameters:
        raise ValueError('absent is not used here: set zeros="observed" or zeros="missing"')
    _check_connected(n_connected)
    model = CoManifold(**parameters).fit(_matrix(adata, layer, zeros))

    # All there is to write is made first, so that a failure leaves the data as they were.
    distances, connectivities = f"{key_added}_distances", f"{key_added}_connectivities"
    of_obs = _graphs(model, "row", n_connected)
    of_var = _graphs(model, "column", n_connected)
    about = {
        "connectivities_key": connectivities,
        "distances_key": distances,
        # Tools of scanpy that need coordinates take those of use_rep, and compare them by metric.
        "params": {
            "method": "comanifold",
            "n_neighbors": min(int(n_connected), int(model._rows.sum())),
            "metric": "euclidean",
            "use_rep": f"X_{key_added}",
        },
        **_about(model),
        "zeros": zeros,
        "layer": "X" if layer is None else layer,
    }
    target = adata.copy() if copy else adata
    import anndata

    with warnings.catch_warnings():
        # A view becomes data of its own when it is written to, and that is what is wanted.
        warnings.simplefilter("ignore", anndata.ImplicitModificationWarning)
        target.obsm[f"X_{key_added}"] = model.row_embedding_
        target.varm[key_added] = model.column_embedding_
        target.obsp[distances], target.obsp[connectivities] = of_obs
        target.varp[distances], target.varp[connectivities] = of_var
        target.layers[f"{key_added}_filled"] = model.filled_
        target.uns[key_added] = about
    return target if copy else None


def _check_data(adata: Any, key_added: Any) -> None:
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
    if not is_integer(n_connected) or n_connected < 2:
        raise ValueError(f"n_connected must be an integer of at least 2, got {n_connected!r:.60}")


def _matrix(adata: Any, layer: str | None, zeros: str) -> Any:
    """The matrix to fit, with NaN for missing entries."""
    check_choice("zeros", zeros, ["observed", "missing"])
    if layer is not None and layer not in adata.layers:
        there = ", ".join(repr(name) for name in adata.layers) or "none"
        raise ValueError(f"layer {layer!r} is not among the layers of adata: {there}")
    X = adata.X if layer is None else adata.layers[layer]
    if X is None:
        raise ValueError("adata.X is None: name the layer that holds the matrix")
    X = X.toarray() if sparse.issparse(X) else np.asarray(X)
    return np.where(X == 0, np.nan, X) if zeros == "missing" else X


def _graphs(model: CoManifold, mode: str, n_connected: int) -> tuple[Any, Any]:
    """Distances to the nearest, and affinities of those that are nearest to one another."""
    known = model._rows if mode == "row" else model._columns
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

    affinity = getattr(model, f"{mode}_affinity_")
    if affinity is None:  # only diffusion maps have one
        sigma = find_bandwidth(D, model.bandwidth)
        affinity = affinities(D, sigma, sigma)
    else:
        affinity = restrict_to_observed(affinity, known)
    pairs = Pairs.of(D.shape[0], *_places(near))
    values = np.asarray(affinity[pairs.firsts, pairs.others]).ravel()
    connected = pairs.matrix(values)
    connected.eliminate_zeros()
    return tuple(
        sparse.csr_matrix(expand_to_full(graph, known, known)) for graph in (near, connected)
    )


def _places(graph: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows and columns of what is stored, zeros as well: duplicates are at no distance."""
    entries = graph.tocoo()
    return entries.row, entries.col


def _about(model: CoManifold) -> dict[str, Any]:
    """Parameters and results in types that an h5ad file can hold."""
    parameters = {name: _plain(value) for name, value in model.get_params(deep=False).items()}
    about = {
        "parameters": {name: value for name, value in parameters.items() if value is not None},
        "scales": {
            name: np.array([getattr(scale, name) for scale in model.scales_])
            for name in _OF_A_SCALE
        },
    }
    if model.row_eigenvalues_ is not None:
        about["obs_eigenvalues"] = model.row_eigenvalues_
        about["var_eigenvalues"] = model.column_eigenvalues_
    return about


def _plain(value: Any) -> Any:
    """A number, text or array of numbers; None for None, and the text of anything else."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    is_pair = isinstance(value, (tuple, list)) and all(isinstance(part, int) for part in value)
    return np.array(value) if is_pair else str(value)
